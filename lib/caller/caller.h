// SPDX-License-Identifier: Apache-2.0
/*
 * One HTTP request over a connection of its own, with TLS or without, and its answer: for a process
 * that has nothing else to do meanwhile, so it waits. Who answers is a stranger: what he sends is
 * bounded, read strictly, and no redirection is followed.
 */
#pragma once

#include "lib/http/write.h"
#include "lib/tls/roots.h"

#define CALLER_HEAD_MAX 32768 /* of the answer, as bytes come in: with what TLS adds */
#define CALLER_WHY_MAX  200

struct caller {
    int fd;                        /* connected; borrowed */
    const char *host;              /* of the URL: for words, and with roots for the certificate */
    const struct tls_roots *roots; /* NULL: no TLS */
    int64_t deadline_ns;           /* CLOCK_MONOTONIC */
    char *why;                     /* CALLER_WHY_MAX bytes, for words */
};

int64_t caller_now_ns(void);

/* Milliseconds to the deadline, at least 0. */
int caller_left_ms(const struct caller *c);

/*
 * Sends the request, whose framing is LENGTH with size, or NONE with 0. The status of the answer,
 * and its content at the end of answer, which is not read where that is NULL; or negative errno
 * with words.
 */
int caller_ask(const struct caller *c, const struct http_request_head *head, const void *content,
               size_t size, struct buf *answer);
