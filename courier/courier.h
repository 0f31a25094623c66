// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox-courier: delivers one message of a server that must not connect anywhere itself
 * (docs/decisions/webhooks-go-by-courier.md). It lives for one delivery, is told by nobody else,
 * and in steps has less and less:
 *
 *   main.c   reads the order                                            all that its starter had
 *   dial.c   makes ready to look names up
 *   seal.c   ---- no files, no privileges, no new programs ----
 *   dial.c   looks the name up, connects to an address that is allowed  sockets, the host's network
 *   seal.c   ---- no sockets but the one that is connected ----
 *   post.c   TLS, the request, the head of the answer                   two descriptors
 *   main.c   reports
 *
 * The URL is a tenant's and the answer a stranger's. Addresses are judged after the name was looked
 * up, and the same ones are connected to: only public ones, and networks that the operator named.
 * Redirections are answers like others.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/base/courier.h"
#include "lib/http/url.h"
#include "lib/policy/policy.h"

struct courier {
    struct http_url url;
    const char *fields; /* of the order: names and values */
    const char *content;
    size_t content_size;
    struct policy_operator operator;
    int64_t deadline_ns; /* CLOCK_MONOTONIC */
    char *error;         /* COURIER_TEXT_MAX bytes, for words */
};

/* Milliseconds to the deadline, at least 0. */
int courier_left_ms(const struct courier *c);

/* Sets the words; returns error. */
int courier_fail(const struct courier *c, int error, const char *format, ...) _printf_(3, 4);

/* dial.c: before the first seal. 0 or negative errno with words, as all below. */
int dial_start(const struct courier *c);

/* A connected socket, which does not block; or negative errno. */
int dial(const struct courier *c);

/* seal.c */
int courier_seal_files(const struct courier *c);
int courier_seal_sockets(const struct courier *c);

/* post.c: reads the roots, before the first seal. bundle: of PEM; "": the machine's. */
int post_start(const struct courier *c, const char *bundle);

/* The status of the answer; or negative errno. */
int post(const struct courier *c, int fd);
