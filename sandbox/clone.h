// SPDX-License-Identifier: Apache-2.0
/*
 * Makes a child that shares this process's memory until it has executed its program: clone(2) with
 * CLONE_VM and CLONE_VFORK, on a stack of its own.
 */
#pragma once

#include "lib/base/base.h"

/*
 * Runs fn(argument), which never returns, in a child with these flags (CLONE_NEW*), and waits until
 * it has executed its program or ended. All signals are blocked meanwhile, so that no handler of
 * ours runs in it, on our memory.
 *
 * cgroup: the directory of a cgroup of version 2 that the child is born in, or -1. The child's pid
 * and *ret_pidfd, or negative errno and no child; -ENOSYS when the host can't put it there.
 */
pid_t clone_child(int (*fn)(void *), void *argument, uint64_t flags, int cgroup, int *ret_pidfd);
