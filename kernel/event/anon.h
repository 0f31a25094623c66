// SPDX-License-Identifier: Apache-2.0
/*
 * What the files without a name (eventfd, timerfd, signalfd, inotify, epoll) have in common.
 */
#pragma once

#include "kernel/fs/vfs.h"

#define ANON_MODE 0600 /* fstat(2) of them shows no file type */

/* lseek(2) of them succeeds and changes nothing (noop_llseek of Linux). */
off_t anon_lseek(struct file *f, off_t offset, int whence);
