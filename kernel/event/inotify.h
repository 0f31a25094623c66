// SPDX-License-Identifier: Apache-2.0
/*
 * The file of inotify(7); watches and events are fs/notify.
 */
#pragma once

#include "kernel/fs/notify.h"

/* flags: IN_NONBLOCK. -EMFILE, -ENOMEM. */
int inotify_create_file(int flags, struct file **ret);

/* The instance of a file, or NULL when it is none. */
struct notify_group *inotify_group_of(const struct file *f);
