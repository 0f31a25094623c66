// SPDX-License-Identifier: Apache-2.0
/*
 * Connections to ports of a sandbox that has secrets. The kernel gets one end of a pair instead of
 * the socket of who connected, and bytes are carried between the two: those that come out are
 * relieved of secrets' values (sandbox/scrubber.h), each place keeping its size, so that lengths
 * that were told before them stay true; those that go in are not looked at.
 *
 *   who connected --- asker | in --> | program --- the kernel's end of the pair
 *                           | <- out |
 *
 *   ASKED -> CARRIED -> over: both ways have ended, one by one, as the programs end them
 *       \          \
 *        +----------+-> CUT: its asker has gone, or reset it; the kernel is told to cut it
 *                         \-> over: the kernel has let go of its end
 *
 * What may be the beginning of a value waits for the next bytes, PORT_SEARCH_HOLD_MS at most while
 * none come; then it is let out. So a program that writes a value in pieces, with pauses, gets all
 * of it out. While who connected doesn't read, nothing is read of the program, and nothing is let
 * out either.
 *
 * Of each way at most one piece and what is kept back lie here, and a way is not read before they
 * have gone. In one step so much is done as others in the starter's loop can wait for.
 *
 * A reset by who connected is one for the program, and the other way round, where he came by TCP;
 * an end of a pair only sees an end.
 */
#pragma once

#include "lib/base/list.h"
#include "lib/base/ports.h"
#include "sandbox/scrubber.h"
#include "sandbox/start.h"

#define PORT_SEARCH_HOLD_MS 20
/* How long the last bytes of a program that has gone wait for somebody who takes none. */
#define PORT_SEARCH_LEAVE_MS 60000

struct port_searched;

struct port_search {
    int epoll; /* -1 */
    struct sandbox *sandbox;
    struct scrubber *scrubber;
    struct list all;           /* struct port_searched; below by its `timer` */
    struct list held, leaving; /* who has a deadline, the first one first */
    struct list untold;        /* CUT, of which the kernel could not be told yet */
    struct list over;
    size_t count, max;
    int32_t last_number;
};

void port_search_init(struct port_search *s);

/* Both are borrowed until port_search_close(). 0 or negative errno. */
int port_search_open(struct port_search *s, struct sandbox *sandbox, struct scrubber *scrubber);

/*
 * Between *fd, which is taken and becomes -1, and *ret_end, which is for the kernel; it is the
 * caller's to close. *ret_number: who asks, for the kernel; below 0. client: who it ends with, or
 * NULL. 0; or, and *fd stays the caller's, -EUSERS: there are too many; as ports_look_at(); or
 * -EAGAIN, -ENOMEM.
 */
int port_search_begin(struct port_search *s, int *fd, const void *client,
                      struct port_searched **ret, int32_t *ret_number, int *ret_end);

/* What the kernel has answered: an errno, or 0. is_refusal: of an error, he who connected is told
 * by a reset. Only with 0 there is a connection from now on. */
void port_search_answer(struct port_searched *c, int error, bool is_refusal);

/* All of this client's are cut off. */
void port_search_cut(struct port_search *s, const void *client);

/* For a loop: readable when there is something to do; until when to wait at most (CLOCK_MONOTONIC
 * ns, 0: no matter). */
int port_search_poll_descriptor(const struct port_search *s);
int64_t port_search_deadline(const struct port_search *s);
void port_search_step(struct port_search *s);

/* The kernel is gone: who is connected is told by a reset. */
void port_search_close(struct port_search *s);
