// SPDX-License-Identifier: Apache-2.0
/*
 * A program and a server that speak HTTP/2 to each other through the gateway's. What each hears is
 * kept as lines:
 *
 *   1 :status: 200     a field of stream 1; "!" behind the name: it came as one never to be indexed
 *   1 head             the head, or the trailer, is complete
 *   1 data 3 abc       content, as it came
 *   1 end              nothing more
 *   1 reset 8          RST_STREAM
 *   goaway 0
 */
#pragma once

#include "gateway/h2.h"

struct peer {
    struct nghttp2_session *session;
    struct buf heard;
    bool is_server;
    bool never_was;     /* of a server, before begin(): it can't be had */
    bool is_deaf;       /* reads nothing */
    bool is_brief;      /* keeps of fields those alone that begin with a colon */
    bool opens_windows; /* takes content; false: it is left lying there */
    size_t got_bytes;   /* of content */
    const char *answer; /* a server's, to each request: fields, one a line; NULL: none */
    const char *content;
    const char *trailer;
    size_t content_size; /* of what is sent instead, if it is not 0 */
};

extern struct peer guest, server;
extern struct buf records;
extern struct h2 *h2;
extern int64_t now_ns;

/* A policy with ' for ". secrets: as exchange_support.h has it, or NULL. */
void begin(const char *policy, const char *const *secrets);
void finish(void);

/* Until nothing moves any more. */
void run(void);

/* A request, or a response to id: fields, one a line; content NULL: none; trailer may be NULL.
 * Nothing is checked. The stream's number. */
int32_t ask(const char *fields, const char *content, const char *trailer);
/* Content of so many bytes. */
int32_t ask_much(const char *fields, size_t size);
/* Content will be open: to be ended by end_content(). */
int32_t ask_open(const char *fields);
void say_content(struct peer *p, int32_t id, const char *content);
void end_content(struct peer *p, int32_t id);
void reply(int32_t id, const char *fields, const char *content, const char *trailer);
void reply_open(int32_t id, const char *fields);
/* A head before the response's: a 1xx. */
void say_interim(int32_t id, const char *fields);
void reset(struct peer *p, int32_t id, uint32_t code);

/* A frame as it is, of whatever makes none. */
void frame(struct peer *from, unsigned type, unsigned flags, uint32_t id, const void *payload,
           size_t size);

/* Whether text was heard, and how often. */
size_t count(const struct peer *p, const char *text);

#define EXPECT_HEARD(p, text)                                                    \
    do {                                                                         \
        if (!count(&(p), text))                                                  \
            harness_fail(__FILE__, __LINE__, "not heard: \"%s\" but:\n%s", text, \
                         (p).heard.data ? (p).heard.data : "");                  \
    } while (0)
#define EXPECT_NOT_HEARD(p, text)                                                            \
    do {                                                                                     \
        if (count(&(p), text))                                                               \
            harness_fail(__FILE__, __LINE__, "heard: \"%s\" in:\n%s", text, (p).heard.data); \
    } while (0)
