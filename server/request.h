// SPDX-License-Identifier: Apache-2.0
/*
 * One request and its answer, as a handler sees them.
 *
 *   head parsed -> a handler is found -> (body: collected, or take() piece by piece) -> ready()
 *               -> request_answer(), or request_begin(), request_send()..., request_end()
 *               -> over()
 *
 * A handler may answer at any time from take() on, also after ready() has returned, and in no case
 * twice. over() comes exactly once, whether all was sent or the client went away; until then `r`
 * stays where it is. After it nobody may know r.
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/http/head.h"

struct request;
struct key;

struct handler {
    uint64_t body_max_bytes; /* more is 413 */
    /* Another server answers: relay.h. The body is taken on while the answer is sent. */
    bool is_relay;
    /* Some of the body. NULL: it is collected in r->body. */
    void (*take)(struct request *r, const char *data, size_t size);
    void (*ready)(struct request *r);   /* all of the body is here */
    void (*drained)(struct request *r); /* a stream that was told to rest may go on; may be NULL */
    void (*ended)(struct request *r);   /* of a relay: the client will send nothing more */
    void (*over)(struct request *r);    /* may be NULL */
};

struct request {
    const struct http_request *head;
    const struct handler *handler;
    struct buf body;
    void *state; /* the handler's, to be freed in over() */
    /* In ready() and take(), and looked up anew for each: nobody may keep them. */
    void *box;       /* struct box: the sandbox it is for, or NULL */
    struct key *key; /* of the control plane, or NULL */
    /* of them, for the log: */
    int64_t key_id; /* 0: none */
    char box_id[64];
    const char *route; /* a constant: the path that its handler is for; NULL: none */
};

/* A field of the answer beside those that are always there; name is a constant, value is copied. */
void request_add_field(struct request *r, const char *name, const char *value);

/* The whole answer. type: of the content, may be NULL when size is 0. */
void request_answer(struct request *r, unsigned status, const char *type, const void *data,
                    size_t size);

/* {"code":STATUS,"message":"..."} */
void request_fail(struct request *r, unsigned status, const char *format, ...) _printf_(3, 4);

/* Begins an answer that comes piece by piece; length: UINT64_MAX when nobody knows it yet. */
#define REQUEST_STREAM UINT64_MAX
void request_begin(struct request *r, unsigned status, const char *type, uint64_t length);

/*
 * A piece of it, sent as soon as possible. False: enough is waiting to be sent, drained() will be
 * called; the piece was taken nevertheless.
 */
bool request_send(struct request *r, const void *data, size_t size);

/* Whether more may be sent now. */
bool request_has_room(const struct request *r);
void request_end(struct request *r);

/* Cuts the connection in the middle, as when a sandbox is gone. */
void request_cut(struct request *r);

/* take() is not called until resumed, nor is more read from the client. */
void request_pause(struct request *r);
void request_resume(struct request *r);

bool request_is_answered(const struct request *r);
const char *request_field(const struct request *r, const char *name); /* or NULL */
