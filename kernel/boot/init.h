// SPDX-License-Identifier: Apache-2.0
/*
 * The first task: the init of the tasks' PID namespace, from which all others are forked. It
 * carries the filter that all of them inherit.
 */
#pragma once

#include "kernel/boot/setup.h"

/*
 * Begins to make it, in the middle of what confines this process (boot/jail.h). It gets ready by
 * itself; nothing may touch it until init_finish().
 */
int init_begin(struct world *world, struct setup_error *e);

/*
 * Waits until it is ready. Then it waits in its execve for the kernel's answer; *ret_listener is
 * where the notifications come, *ret_host_pid its pid in the kernel's namespace.
 */
int init_finish(struct hostfd *ret_listener, pid_t *ret_host_pid, struct setup_error *e);
