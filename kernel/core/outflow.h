// SPDX-License-Identifier: Apache-2.0
/*
 * How fast bytes may leave the sandbox over its standard streams and terminals, those of all its
 * programs together: kernel.config.output_rate in bytes a second, 0: as fast as they are taken.
 *
 * What may go is in a bucket that fills at that rate and holds a tenth of a second's, at least
 * PIPE_BUF. A write takes what is there, or PIPE_BUF where there is less, which a pipe takes whole
 * (pipe(7)); then nothing goes until that has come in. Streams that wait for it have their turns:
 *
 *   A finds no room ──▶ waits [A] ──▶ B does, too [A B] ──▶ there is some: A's turn [B] ──▶ A finds
 *   no room again [B A] ──▶ ...
 *
 * One whose turn it was and that did not come until there was some again has to wait anew.
 */
#pragma once

#include "kernel/core/waitq.h"

/* A pipe or a terminal; all zero bytes at first. */
struct outflow_turn {
    struct list link;
    bool is_waiting;
};

/* Bytes that may go now; 0: none, and outflow_queue() is woken (EPOLLOUT) when that changes. */
size_t outflow_room(struct outflow_turn *t);

/* So many of them have gone: its turn is over. */
void outflow_take(struct outflow_turn *t, size_t size);

/* It is about to be freed. */
void outflow_leave(struct outflow_turn *t);

/* Whoever is woken looks for itself: entries are those of all streams. */
struct waitq *outflow_queue(void);
