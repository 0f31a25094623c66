// SPDX-License-Identifier: Apache-2.0
/*
 * The starter's standard input, output and error as files of the sandbox: a pipe of which the other
 * end is on the host.
 *
 * Nothing is buffered here, so nothing is to be flushed when the sandbox ends. The host's
 * descriptor is watched only while somebody in the sandbox waits for it.
 */
#pragma once

#include "kernel/fs/vfs.h"

/*
 * An open file "pipe:[N]" (S_IFIFO, 0600, owned by uid) over a non-blocking end of a host pipe,
 * which is taken over on success. write: it is the writing end. The descriptor is closed when the
 * last file of the inode is: opening /proc/self/fd/N makes one more. The process must ignore
 * SIGPIPE. 0 or -errno.
 */
int hostpipe_file(struct hostfd fd, bool write, uid_t uid, struct file **ret);
