// SPDX-License-Identifier: Apache-2.0
/*
 * The image "host": the root of a sandbox that has the machine's own programs and libraries, and
 * nothing else of the machine.
 *
 *   usr bin sbin lib lib32 lib64 libx32   the host's, where it has them: directories show through,
 *                                         links (usr-merge) are made up as links
 *   etc                                   made up; of the host's own only what is listed in etc.c,
 *                                         and only what everybody on the host may read
 *   home/NAME root tmp run var ...        made up, empty
 *   proc sys dev                          empty, to be mounted on
 *
 * Never: the host's /home, /root, /var, /run, /opt, /srv, /boot, /etc/shadow, private keys, tokens
 * (netrc, npmrc, pip.conf, gitconfig), what is set for all logins (environment, profile,
 * profile.d).
 */
#pragma once

#include "kernel/fs/filesystems.h"
#include "lib/base/buf.h"

struct image_options {
    /* Directory (O_PATH, borrowed) with the host's usr, bin, lib, ... and etc as it has them. */
    struct hostfd root;
    const char *hostname;
    const char *user_name; /* [a-z_][a-z0-9_-]*, at most 32 characters */
    uid_t uid;
    gid_t gid;
    bool has_authority; /* image_trust_add() follows: sudo keeps its variables */
};

/*
 * Fills root, the empty root of a layer super. 0; -EINVAL for bad options, -ENOENT when the host
 * has no /usr, -ENOMEM, -ENOSPC. Whatever else the host lacks is left out.
 */
int image_host_build(const struct image_options *options, struct dentry *root);

/*
 * Calls shown for each file and directory (whole: all below it) of the host's /etc that the image
 * may show, with an O_PATH descriptor that is closed afterwards, until it answers an error.
 */
int image_etc_visit(struct hostfd etc, int (*shown)(struct hostfd fd, bool whole, void *context),
                    void *context);

/* ---- between host.c, etc.c and directory.c ---- */

/* Both names end up in files of one line an entry, with ':' or blanks between the fields. */
bool image_options_are_valid(const struct image_options *options);

/* Makes /etc in root. */
int image_etc_build(const struct image_options *options, struct dentry *root);

/* In /etc itself: hostname, hosts and resolv.conf of the sandbox. 0, -ENOMEM, -ENOSPC. */
int image_etc_add_names(const char *hostname, struct dentry *etc);

/* Lines of sudoers(5): which variables root keeps. A failure is the buffer's. */
void image_etc_keep_variables(const struct image_options *options, struct buf *b);

/*
 * Opens the directory at path below dir (O_PATH), through no link, if everybody may read it.
 * HOSTFD_NONE if not.
 */
struct hostfd image_open_public_directory(struct hostfd dir, const char *path);
