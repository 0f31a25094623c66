// SPDX-License-Identifier: Apache-2.0
/*
 * The messages of PostgreSQL's protocol by which a connection begins, read strictly and written.
 * Without I/O. Source: PostgreSQL's documentation, "Frontend/Backend Protocol", version 3.0.
 */
#pragma once

#include "lib/base/buf.h"

#define POSTGRES_PACKET_MAX_BYTES  10000 /* of a client's first packets, as the server has it */
#define POSTGRES_MESSAGE_MAX_BYTES 30000 /* of a server's, while it asks who is there: as libpq */
#define POSTGRES_PARAMETERS_MAX    64

/* ---- of a client ---- */

enum postgres_packet_kind {
    POSTGRES_STARTUP,
    POSTGRES_CANCEL,   /* ends a query of another connection */
    POSTGRES_ASKS_TLS, /* SSLRequest */
    POSTGRES_ASKS_GSS, /* GSSENCRequest */
};

struct postgres_parameter {
    const char *name, *value; /* borrowed from the packet */
};

struct postgres_packet {
    enum postgres_packet_kind kind;
    size_t size; /* of all of it */
    /* of STARTUP: */
    struct postgres_parameter parameters[POSTGRES_PARAMETERS_MAX];
    size_t parameter_count;
    const char *user;
    const char *database;    /* the user's name where none is given */
    const char *replication; /* NULL: not given */
};

/*
 * Reads a client's packet before it is logged in. 1 and *ret, which borrows from data; 0: more of
 * it has to come; -EPROTO and why not. What stands behind the packet is not looked at.
 *
 * A startup packet has protocol 3.0, no parameter twice, a user, and its end where its length says.
 */
int postgres_packet_parse(const void *data, size_t size, struct postgres_packet *ret,
                          const char **ret_why);

/* Append the packet as it would be sent. They fail as buf_append() does. */
int postgres_write_startup(struct buf *out, const struct postgres_packet *p);
int postgres_write_tls_request(struct buf *out);

/* ---- of a server ---- */

struct postgres_message {
    char type;
    const char *body; /* borrowed */
    size_t body_size;
    size_t size; /* of all of it */
};

/* As postgres_packet_parse(). */
int postgres_message_parse(const void *data, size_t size, struct postgres_message *ret,
                           const char **ret_why);

int postgres_write_message(struct buf *out, char type, const void *body, size_t size);

/* ErrorResponse: a FATAL one, with five letters of SQLSTATE. text is cut at a newline. */
int postgres_write_error(struct buf *out, const char *state, const char *text);
