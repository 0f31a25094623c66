// SPDX-License-Identifier: Apache-2.0
/*
 * The first task: the init of the tasks' PID namespace, from which all others are forked. It
 * carries the filter that all of them inherit.
 */
#pragma once

#include "kernel/boot/setup.h"

/*
 * Starts it, in the middle of what confines this process (boot/jail.h). Afterwards it waits in its
 * execve for the kernel's answer; *ret_listener is where the notifications come, *ret_host_pid its
 * pid in the kernel's namespace.
 */
int init_start(struct world *world, struct hostfd *ret_listener, pid_t *ret_host_pid,
               struct setup_error *e);
