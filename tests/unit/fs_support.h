// SPDX-License-Identifier: Apache-2.0
/*
 * A file system without a kernel around it: the fs rooms linked with stand-ins for the host, for
 * notification and for locks. Each case calls fs_start() first.
 */
#pragma once

#include "kernel/fs/fdtable.h"
#include "kernel/fs/filesystems.h"
#include "kernel/fs/layer/content.h"
#include "tests/harness/harness.h"

extern struct storage_budget fs_budget;
extern struct super *fs_root_super;
extern struct walk_base fs_user;  /* uid 1000, at the root */
extern struct walk_base fs_super; /* uid 0 */

/*
 * A store in ./store and an empty layer as root, writable by everyone. With lower: over ./lower,
 * which the case has filled.
 */
void fs_start(void);
void fs_start_over(const char *lower);

/* Shorthand on fs_user, from the root. Negative errno as the VFS answers. */
int fs_open(const char *name, int flags, mode_t mode, struct file **ret);
int fs_try_open(const char *name, int flags, mode_t mode); /* closes it at once */
int fs_mkdir(const char *name);
int fs_write_file(const char *name, const char *text);
/* The whole of a file as a string, in static memory; "" with a failure noted when it can't be read.
 */
const char *fs_read_file(const char *name);
int fs_stat(const char *name, struct stat *ret); /* follows links */
int fs_lstat(const char *name, struct stat *ret);
int fs_rename(const char *from, const char *to, unsigned flags);
int fs_link(const char *from, const char *to);
int fs_unlink(const char *name);
int fs_rmdir(const char *name);
int fs_symlink(const char *target, const char *name);
int fs_chmod(const char *name, mode_t mode);

ssize_t fs_pread(struct file *f, void *data, size_t size, off_t pos);
ssize_t fs_pwrite(struct file *f, const void *data, size_t size, off_t pos);

/* The names of a directory but the dots, in their order, separated by spaces. */
const char *fs_list(const char *name);

/* What the hooks of notify.h were told since the last call, e.g. "CREATE:a MOVED_FROM:b". */
const char *fs_events(void);
/* How often lock_release() and lock_close() were called. */
extern unsigned fs_lock_releases, fs_lock_closes;

/* Host files for what lies below. */
void host_write(const char *name, const char *text);
struct hostfd host_directory(const char *name);
