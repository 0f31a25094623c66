// SPDX-License-Identifier: Apache-2.0
/*
 * Logging in to a PostgreSQL server with a password: the client's side of its authentication
 * requests. SCRAM-SHA-256; over TLS to a server that is verified also MD5 and the password itself,
 * and none at all.
 */
#pragma once

#include "lib/postgres/message.h"
#include "lib/postgres/scram.h"

struct postgres_auth {
    const char *user;
    bool is_verified; /* the server is, and nobody else can read or change what is said */
    enum {
        POSTGRES_AUTH_ASKED,
        POSTGRES_AUTH_FIRST,
        POSTGRES_AUTH_FINAL,
        POSTGRES_AUTH_PROVED,
        POSTGRES_AUTH_SENT
    } state;
    struct scram scram;
};

/* random: for this login alone. user is borrowed. */
void postgres_auth_begin(struct postgres_auth *a, const char *user, bool is_verified,
                         const unsigned char random[18]);
/* Wipes it. */
void postgres_auth_end(struct postgres_auth *a);

/*
 * Takes the body of an authentication request ('R'), and appends what answers it. 1: logged in; 0:
 * more has to come; -EPROTO and why it can't go on, -ENOMEM. out may hold the password then.
 */
int postgres_auth_take(struct postgres_auth *a, const char *body, size_t size, const char *password,
                       size_t password_size, struct buf *out, const char **ret_why);
