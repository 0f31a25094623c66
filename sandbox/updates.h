// SPDX-License-Identifier: Apache-2.0
/*
 * A new policy for a running sandbox, on its way from glovebox policy set by way of the starter to
 * the gateway, and the answer back: lib/base/update.h. Beside that, what the gateway tells.
 *
 * Who asks comes over a socket in the registry's private folder, and is of the same user, as the
 * host says (SO_PEERCRED). The starter looks whether what comes is a sealed memory file of at
 * most a document's size: what it says is judged by who enforces it. What it says of secrets the
 * starter takes in first: before the gateway is told of a value, all that comes back is searched
 * for it. While such a change is under way, others wait. Nobody is waited for, and nobody who waits
 * keeps others out: of more than UPDATES_CLIENTS_MAX, the one that came first and has not asked for
 * anything is dropped.
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/base/update.h"
#include "sandbox/listener.h"
#include "sandbox/registry.h"
#include "sandbox/strv.h"

#include <poll.h>

#define UPDATES_CLIENTS_MAX 4
#define UPDATES_POLL_MAX    (2 + UPDATES_CLIENTS_MAX)
#define UPDATES_ASKED_MAX   16 /* documents that the gateway has not answered to */

/* A decision of the gateway's, as it wrote it: any bytes, borrowed. */
typedef void (*updates_line_fn)(void *userdata, const char *line, size_t size);

/* The policy wants the sandbox ended: what for, the name of a secret, any bytes, borrowed. */
typedef void (*updates_violation_fn)(void *userdata, const char *secret, size_t size);

struct scrubber;

struct updates {
    struct listener listener;
    int gateway; /* -1 */
    struct update_client {
        int fd;                     /* -1: free */
        uint64_t number;            /* of what it asked; 0: nothing yet */
    } clients[UPDATES_CLIENTS_MAX]; /* those that came first, first */
    uint64_t last_number;
    updates_line_fn take_line;
    updates_violation_fn take_violation;
    void *userdata;
    struct scrubber *scrubber; /* gets new values before the gateway has them; borrowed */
    /* There is a first value to search for: from now on nothing may come back unsearched. */
    void (*begin_search)(void *userdata);
    /* ... which takes its time: before this is true the gateway is not told of the value, and when
     * it does not become so within 5 s the change is refused. */
    bool (*is_searched)(void *userdata);
    const char *policy; /* of the start; borrowed */
    int document;       /* a memory file of that in force; -1: it is policy */
    uint64_t generation;
    struct update_asked {
        uint64_t number;
        int document;
    } asked[UPDATES_ASKED_MAX]; /* in the order of their answers */
    size_t asked_count;
    uint64_t changing; /* number of what changes secrets; 0: nothing does */
    struct update_packet
        kept; /* ... which is to go to the gateway with kept_fd, unless that is -1 */
    int kept_fd;
    int64_t kept_until_ns;     /* ... or is refused */
    struct strv env, next_env; /* of programs that are started now, and when that is in force */
};

void updates_init(struct updates *u, updates_line_fn take_line, updates_violation_fn take_violation,
                  void *userdata);

/*
 * Listens for the sandbox that r has entered. gateway: the socket to it; stays the caller's. env:
 * what its programs have, copied. 0, or negative errno with the sentence.
 */
int updates_open(struct updates *u, const struct registry *r, int gateway, const struct strv *env,
                 struct sandbox_error *e);

/* For the loop: what to wait for, until when at most (CLOCK_MONOTONIC ns, 0: no matter), and what
 * to do then. */
size_t updates_fill_poll(struct updates *u, struct pollfd p[UPDATES_POLL_MAX]);
int64_t updates_deadline(const struct updates *u);
void updates_step(struct updates *u, const struct pollfd *p, size_t count);

/* Takes what the gateway has said by now. */
void updates_hear(struct updates *u);

/* The gateway has ended: takes all that it has said, and tells those who wait. */
void updates_gateway_gone(struct updates *u);

/* The gateway is about to end: takes all that it says until then, for at most so long. */
void updates_drain(struct updates *u, int limit_ms);

/* Tells those who wait that there is no gateway any more. */
void updates_close(struct updates *u);

/* Of programs that are started from now on: with the placeholders of secrets that came. */
const struct strv *updates_env(const struct updates *u);

/* ---- the other side ---- */

/* One packet, with a descriptor unless fd is -1. 0 or negative errno; does not wait. */
int updates_send(int socket, const struct update_packet *p, int fd);

struct update {
    const char *json; /* NULL: the document that is in force */
    size_t size;
    bool has_file;       /* of json some secrets are new: their values are behind it in file */
    int file;            /* a sealed memory file of both (lib/base/update.h); borrowed */
    const char *phase;   /* NULL: the one that it is in, or its first */
    uint64_t generation; /* that is to be replaced, 0: whichever */
};

/*
 * Puts a document, or another phase of it, in force in the running sandbox of that name. 0 and the
 * new generation, when no flow is open that it does not allow; or negative errno with the sentence:
 * -EINVAL, -EOPNOTSUPP, -E2BIG: of the document; -ESTALE: of generation; -ENOENT: no such sandbox
 * runs; -ENOTCONN: it was started without a policy; -ETIMEDOUT: no answer for ten seconds;
 * -ECONNRESET: its starter hung up; -EPROTO: it is of another version: with these three it may have
 * come into force, or still do. ret_generation: may be NULL.
 */
int updates_set_policy(const char *name, const struct update *update, uint64_t *ret_generation,
                       struct sandbox_error *e);

/*
 * The document in force in the running sandbox of that name, appended to ret, and its generation.
 * 0; or as above.
 */
int updates_get_policy(const char *name, struct buf *ret, uint64_t *ret_generation,
                       struct sandbox_error *e);

/*
 * Another value for a secret of that sandbox: fd is a sealed memory file (lib/secret/file.h) that
 * stays the caller's. 0; or as above, -ENOENT: it has no such secret.
 */
int updates_set_secret(const char *name, int fd, struct sandbox_error *e);
