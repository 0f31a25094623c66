// SPDX-License-Identifier: Apache-2.0
/*
 * Port 49983 of a sandbox: what E2B's envd serves there, of which docs/api.md says what is offered.
 * Routes are rows of tables; each family of them has a file of its own.
 *
 * A new family: write `const struct envd_route NAME[]` in server/envd_NAME.c, declare it here, and
 * add it to the list in envd.c. Its handlers find the sandbox in r->box (struct box of boxes.h),
 * which may be gone once ready() has returned: whoever answers later holds a struct box_stream, so
 * that the answer is cut when the sandbox ends.
 */
#pragma once

#include "server/boxes.h"
#include "server/request.h"

enum envd_access {
    ENVD_FREE,   /* no credentials */
    ENVD_TOKEN,  /* X-Access-Token */
    ENVD_SIGNED, /* that, or a signature in the query; without either it is refused */
};

struct envd_route {
    const char *method; /* NULL: the table's end */
    const char *path;   /* of all of the request's, undecoded */
    enum envd_access access;
    const struct handler *handler;
};

extern const struct envd_route envd_plain_routes[], /* /health, /envs */
    envd_process_routes[], envd_files_routes[], envd_filesystem_routes[];

/* The handler of a request to b, or NULL: it is answered. */
const struct handler *envd_find(struct request *r, struct box *b);

/* Whether a signature in the query is made with b's token; it may have expired. */
bool envd_is_signed_by(const struct request *r, const struct box *b);

/*
 * The user whom a call is for: of Authorization: Basic (with the token only, not with a signature),
 * or of the query (username=), else "user". 0 and *ret, to be freed; -EINVAL; -ENOMEM.
 */
int envd_get_user(const struct request *r, char **ret);

/* ---- Connect: https://connectrpc.com/docs/protocol ---- */

/* {"code":CODE,"message":...} with the status that goes with the code ("not_found"). */
void envd_fail_unary(struct request *r, const char *code, const char *format, ...) _printf_(3, 4);

/* The answer of a call, which is released; NULL: out of memory. */
void envd_answer_unary(struct request *r, json_t *value);

/* Begins a stream: 200, application/connect+json. */
void envd_begin_stream(struct request *r);

/* One message of it; false as request_send(). text: JSON. */
bool envd_send_message(struct request *r, const char *text, size_t size);

/* The last frame, with an error or (code NULL) without; ends the answer. Begins it first when it
 * has not begun. */
void envd_end_stream(struct request *r, const char *code, const char *format, ...) _printf_(3, 4);

/*
 * The JSON object of a request: of a stream (application/connect+json) in its one envelope, else
 * all of the body. NULL: *ret_why is a sentence, or NULL for no memory.
 */
json_t *envd_read_message(const struct request *r, bool is_stream, const char **ret_why);

/*
 * Connect-Timeout-Ms (https://connectrpc.com/docs/protocol#timeouts) in nanoseconds; 0: there is
 * none. False: it is no number.
 */
bool envd_read_timeout(const struct request *r, int64_t *ret_ns);
#define ENVD_BAD_TIMEOUT "Connect-Timeout-Ms: give whole milliseconds"

/* How long a stream may be silent, in nanoseconds: Keepalive-Ping-Interval, or the default. */
int64_t envd_read_keepalive(const struct request *r);
