// SPDX-License-Identifier: Apache-2.0
/*
 * How fast bytes may leave the sandbox over its standard streams and terminals, those of all its
 * programs together: kernel.config.output_rate in bytes a second, 0: as fast as they are taken.
 *
 * What may go is in a bucket that fills at that rate and holds a tenth of a second's, at least
 * PIPE_BUF. A write takes what is there, or PIPE_BUF where there is less, which a pipe takes whole
 * (pipe(7)); then nothing goes until that has come in.
 */
#pragma once

#include "kernel/core/waitq.h"

/* Bytes that may go now; 0: none, and outflow_queue() is woken (EPOLLOUT) when some may. */
size_t outflow_room(void);

/* So many of them have gone. */
void outflow_take(size_t size);

struct waitq *outflow_queue(void);
