// SPDX-License-Identifier: Apache-2.0
/*
 * Files on their way out, as far as the starter goes: it passes questions of glovebox cp on to the
 * kernel, and the kernel's answers back (lib/base/copy.h). Where the sandbox has secrets their
 * values are taken out of these (copy_scrub.h), else it does not look into them.
 *
 * Who asks comes over a socket in the registry's private folder, and is of the same user, as the
 * host says. Nobody is waited for: a question is passed on when the one before it was answered, and
 * an answer that its asker has no room for ends the copy. Of more than CONTROL_COPIES_MAX askers
 * the last one is turned away.
 *
 *   FREE --connects--> IDLE --COPY_OPEN--> ASKED --answer--> OPEN --COPY_NEXT--> ASKED
 */
#pragma once

#include "lib/base/control.h"
#include "sandbox/listener.h"
#include "sandbox/registry.h"
#include "sandbox/start.h"

#include <poll.h>

#define COPIES_POLL_MAX (1 + CONTROL_COPIES_MAX)

struct copies {
    struct listener listener;
    struct sandbox *sandbox;
    struct scrubber *scrubber; /* borrowed; NULL: there are no secrets */
    struct copy_client {
        int fd;                   /* -1: free */
        int32_t number;           /* of its copy; 0: not opened */
        bool is_waiting;          /* for an answer */
        struct copy_scrub *scrub; /* NULL: nothing is looked into */
    } clients[CONTROL_COPIES_MAX];
    int32_t last_number;
};

void copies_init(struct copies *c);

/* Listens for the sandbox that r has entered. 0, or negative errno with the sentence. */
int copies_open(struct copies *c, const struct registry *r, struct sandbox *s,
                struct sandbox_error *e);

/* For the loop: what to wait for, and what to do then. */
void copies_fill_poll(struct copies *c, struct pollfd p[COPIES_POLL_MAX]);
void copies_step(struct copies *c, const struct pollfd p[COPIES_POLL_MAX]);

/* What came as CONTROL_COPIED: any bytes, of any number. */
void copies_take(struct copies *c, int32_t number, const char *records, size_t size);

/* There is a first secret: what is copied by those that are not looked into ends. */
void copies_begin_search(struct copies *c);

/* The kernel answers no more: who waits is told by the end of the socket. */
void copies_close(struct copies *c);
