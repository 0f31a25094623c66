// SPDX-License-Identifier: Apache-2.0
/*
 * Conversations through an exchange, in a notation that is short enough for tests:
 *
 *   talk(&scene, ">GET / HTTP/1.1\r\n...", "<HTTP/1.1 200 OK\r\n...", "<|", NULL);
 *
 * Behind '>' is what the guest sends, behind '<' what the server does; "|" is the end of a side,
 * "!" the time when the exchange's deadline is, "#REASON" that there is no server,
 * "@" a TLS hello of the guest for api.good.test. Each
 * conversation is held whole, byte by byte, and in pieces of chance, and has to come out the same:
 * what came out is in the variables below.
 */
#pragma once

#include "gateway/exchange.h"

struct scene {
    const char *policy; /* with ' for " */
    const char *name;   /* NULL: by address */
    const char *sni;    /* NULL: none */
    const char *address;
    uint16_t port;
    bool is_tls, is_not_dialled;
    const char *dialled; /* NULL: as address */
    /* NAME, PLACEHOLDER, VALUE, NAME, ...: of each secret of the policy. */
    const char *const *secrets;
    bool is_content_alike; /* content that is made here may be cut in chunks as it comes */
    /* Before step number `at`, this policy is put in the place of the first, without secrets. */
    const char *other_policy;
    int at;
};

extern struct buf said_to_server, said_to_guest;
/* "METHOD PATH STATUS allow|deny|audit REASON [secrets=A,B] [violation=A]\n" for each request. */
extern struct buf records;
extern uint64_t last_guest_tx, last_guest_rx;
extern const char *ends; /* "GUEST SERVER": open, shut, close, reset */
extern const char *dial; /* "", "name NAME", "address" */
extern int64_t now_ns;

void talk(const struct scene *scene, ...) __attribute__((sentinel));

/* The status of the first answer to the guest, and "" or the reason of our own. */
unsigned status_to_guest(void);
const char *denied_reason(void);

/* What was said has these words in it, or has not. */
#define EXPECT_HAS(b, words)   expect_words(__FILE__, __LINE__, &(b), words, true)
#define EXPECT_LACKS(b, words) expect_words(__FILE__, __LINE__, &(b), words, false)
void expect_words(const char *file, int line, const struct buf *b, const char *words, bool has);
