// SPDX-License-Identifier: Apache-2.0
/*
 * epoll(7).
 *
 * An epoll instance is a file; its items are keyed by (file description, descriptor number), so two
 * numbers of one description are two items, and an item lives until the description goes, whatever
 * becomes of the number.
 *
 * An item is on its instance's ready list when something woke it and nobody has looked since; being
 * on it says "look", not "ready". Looking (epoll_wait, or polling the instance from outside) asks
 * the file, and drops the item if it has nothing.
 *
 * Nesting. Instances may watch instances; the graph has no cycle and no path of more than
 * LIMIT_EPOLL_DEPTH instances, both checked when an edge is added: so wake-ups and looks recurse no
 * deeper.
 */
#pragma once

#include "kernel/fs/vfs.h"

int epoll_create_file(struct file **ret);

bool epoll_is(const struct file *f);

/*
 * epoll_ctl(2). event is not looked at for EPOLL_CTL_DEL. -EEXIST, -ENOENT, -ELOOP, -EPERM,
 * -EINVAL, -ENOSPC, -ENOMEM.
 */
int epoll_control(struct file *epoll, int operation, struct file *target, int fd,
                  const struct epoll_event *event);

/* Delivers up to max events that are true now to the task: how many, 0, or -EFAULT. */
long epoll_deliver(struct file *epoll, struct guest_memory memory, struct gaddr events, size_t max);

/* Woken when epoll_deliver() may have something. */
struct waitq *epoll_wait_queue(struct file *epoll);
