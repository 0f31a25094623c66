// SPDX-License-Identifier: Apache-2.0
/*
 * The jail around this process: what it gives up before it looks at the first byte that does not
 * come from its starter. It parses everything that programs send, so it is what an attack aims at;
 * an attack that succeeds must find a process that can do no more than serve its own sandbox.
 *
 *   by the starter        own user, PID, mount, IPC, UTS, network and cgroup namespaces; nothing of
 *                         its environment, no descriptors but those of lib/base/control.h
 *   1 jail_begin()        core scheduling, and speculation when it is asked for. First, since the
 *                         tasks are to inherit them
 *   2 setup_world()       a root of its own. What is bound there is allowed with jail_allow(); the
 *                         host's tree is detached
 *   3 init_begin()        enters the tasks' mount namespace, jail_confine(), makes the first task,
 *                         and comes back
 *   4 jail_drop_rights()  capabilities, resource limits, a look into its memory
 *   5 jail_close()        system calls; tells the starter what is in force
 *
 * and then a foreign image and mounted folders are looked at, and the first task goes on.
 *
 * Why in the middle of 3: a process in a Landlock domain can mount nothing, and may touch the
 * memory of tasks only if they are in the same domain. So the tasks' mount namespace is made
 * before, and the first task is cloned after it. And why seccomp after 3: the tasks must not have
 * this filter.
 *
 * What the host can't give ends the start, but for what the specification allows to be missing.
 */
#pragma once

#include "kernel/boot/setup.h"

int jail_begin(const struct spec *spec, struct setup_error *e);

/* Lets the process use what fd is open on, and all below: enum seal_access. */
int jail_allow(int fd, unsigned access, struct setup_error *e);

/* No way to more privileges, and Landlock: for this process and for all tasks that it makes. */
int jail_confine(struct setup_error *e);

int jail_drop_rights(struct setup_error *e);

/* The last step. Afterwards each call that is not in host_calls.def ends the process. */
int jail_close(struct setup_error *e);
