// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/image/known_hosts.h"

#include "kernel/core/kernel.h"

#define FOLDER "/etc/ssh"

static bool is_there(const struct walk_base *base, const char *path)
{
    struct path p;
    if (walk_path(base, path, 0, &p, NULL) < 0)
        return false;
    path_put(&p);
    return true;
}

static int add(const struct walk_base *base, const char *text, struct super *s)
{
    const char *name =
        is_there(base, FOLDER "/ssh_known_hosts") ? "ssh_known_hosts2" : "ssh_known_hosts";
    struct path p;
    int r = vfs_mkdir(base, FOLDER, S_IFDIR | 0755);
    if (r < 0 && r != -EEXIST)
        return r;
    r = walk_path(base, FOLDER, WALK_FOLLOW | WALK_DIRECTORY, &p, NULL);
    if (r < 0)
        return r;
    r = -EXDEV;
    if (p.dentry->super == s)
        r = layer_add_file(p.dentry, name, 0644, text, strlen(text));
    path_put(&p);
    return r;
}

int image_known_hosts_add(const char *text, struct super *s)
{
    struct path root = {vfs_root_mount, vfs_root_mount->root};
    const struct walk_base base = {.root = root, .base = root, .cred = &cred_kernel};
    int r = add(&base, text, s);
    if (r < 0 && r != -ENOMEM)
        kernel_log("the keys of SSH servers: %s: %s; clients ask whether a server's key is right, "
                   "give them an image where it can be made",
                   FOLDER, strerror(-r));
    return r == -ENOMEM ? r : 0;
}
