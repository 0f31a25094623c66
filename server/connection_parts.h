// SPDX-License-Identifier: Apache-2.0
/*
 * A connection's insides, for connection.c (input and life) and answer.c (output).
 *
 *   HEAD ----> BODY ----> BUSY ----> HEAD         the answer is sent, and the next request may come
 *     |          |          |
 *     |          |          \-----> TUNNEL -> gone: it changed the protocol; bytes go both ways
 *     |          |          |
 *     \----------+----------+-----> LINGER -> gone: the answer is sent; what the client still sends
 *                                            is read and dropped for a while, so that the host does
 *                                            not take the answer back by a reset
 *
 * Input is read only in HEAD, BODY and TUNNEL (while the handler takes it) and LINGER, and in HEAD
 * only when no answer is waiting to be sent. So a client that doesn't read is not read from. Where
 * it is read, its end is found by reading, behind all that came before it.
 */
#pragma once

#include "lib/http/body.h"
#include "lib/http/write.h"
#include "lib/tls/session.h"
#include "server/connection.h"
#include "server/limits.h"
#include "server/loop.h"

#include <netinet/in.h>

enum phase { PHASE_HEAD, PHASE_BODY, PHASE_BUSY, PHASE_TUNNEL, PHASE_LINGER };

struct connection {
    struct watch watch;
    struct list all, changed;
    enum phase phase;
    int64_t since_ns;        /* what the phase waits for, it waits for since then */
    int64_t output_since_ns; /* bytes wait to be taken since then; 0: none do */
    size_t lingered_bytes;
    bool is_first;   /* no request has come yet */
    bool peer_ended; /* the client sends nothing more */
    bool is_read_up; /* ... and all of it was read */
    bool is_shut;    /* of a tunnel: nothing more is sent to the client */
    bool is_gone;    /* cut off: nothing can be sent */
    bool closes;     /* after this answer */
    bool is_broken;  /* ... which is less than all */
    struct buf in;   /* read and not yet taken, from in_at */
    size_t in_at;
    struct buf out;          /* to be sent */
    size_t held;             /* bytes of bodies and answers, as they were counted last */
    struct tls_session *tls; /* NULL: what is read and sent is HTTP itself */
    struct http_request_parser parser;
    struct http_body body;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } client;
    /* of the request that is being answered */
    uint64_t number; /* in this process; 0: none yet */
    int64_t began_ns, began_ms;
    unsigned status; /* of the answer; 0: none yet */
    uint64_t sent_bytes;
    bool has_request;
    bool has_begun, has_ended; /* its answer */
    bool is_head_only, is_chunked, is_stream;
    bool rests; /* the handler was told that there is no room */
    bool is_paused;
    uint64_t length_left; /* of an answer with a length: what the handler still owes */
    struct request request;
    struct http_field fields[ANSWER_FIELDS_MAX];
    size_t field_count;
};

static inline struct connection *connection_of(struct request *r)
{
    return container_of(r, struct connection, request);
}

/* Bytes that the client has not been sent yet. */
static inline size_t connection_waiting(const struct connection *c)
{
    const uint8_t *data;
    size_t size = 0;
    if (c->tls)
        tls_session_pending(c->tls, &data, &size);
    return c->out.size + size;
}

/* It is looked at before this turn ends. */
void connection_changed(struct connection *c);

/* What the request is called in answers and in the log. */
#define REQUEST_ID_SIZE 32
void connection_name_request(struct connection *c, char ret[REQUEST_ID_SIZE]);

/* answer.c */
void answer_forget(struct connection *c); /* of the last request */
/* An answer to what is no request; ends the connection. */
void answer_refuse(struct connection *c, unsigned status, const char *words);
