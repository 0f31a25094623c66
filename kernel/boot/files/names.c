// SPDX-License-Identifier: Apache-2.0
/*
 * Questions about one name that are answered at once.
 */
#include "kernel/boot/files/client.h"
#include "kernel/fs/notify.h"

#define DIRECTORY_MODE 0755
#define PERMISSION_MAX 0777

/* What such a question works with: does it, and appends to the reply. */
typedef int (*do_name)(const struct files_asked *a, const struct files_identity *i,
                       const char *path);

static void ask(struct files_client *c, const struct files_asked *a, do_name what)
{
    char path[FILES_PATH_MAX_BYTES + 1];
    struct files_identity i = {0};
    files_activity_end(c);
    int r = files_identity_find(a, &i);
    if (r == 0)
        r = files_path_resolve(&i, a->path, path);
    if (r == 0)
        r = what(a, &i, path);
    files_identity_done(&i);
    files_answer(c, r, 0);
}

static int do_stat(const struct files_asked *a _unused_, const struct files_identity *i,
                   const char *path)
{
    return files_append_path(i, path);
}

void files_ask_stat(struct files_client *c, const struct files_asked *a)
{
    ask(c, a, do_stat);
}

static int make_parents(const struct files_asked *a, const struct files_identity *i,
                        const char *path)
{
    return a->q.flags & FILES_PARENTS ? files_make_parents(i, path) : 0;
}

/* Whether what is in the way is what was to be made. */
static int explain_existing(const struct walk_base *base, const char *path)
{
    struct path p;
    int r = walk_path(base, path, WALK_FOLLOW, &p, NULL);
    if (r < 0)
        return r == -ENOENT ? -ENOTDIR : r;
    r = S_ISDIR(p.dentry->inode->mode) ? -EEXIST : -ENOTDIR;
    path_put(&p);
    return r;
}

static int do_make_directory(const struct files_asked *a, const struct files_identity *i,
                             const char *path)
{
    const struct walk_base base = files_root(i);
    mode_t mode = a->q.mode ? a->q.mode & PERMISSION_MAX : DIRECTORY_MODE;
    int r = make_parents(a, i, path);
    if (r == 0)
        r = vfs_mkdir(&base, path, mode);
    if (r == -EEXIST)
        r = explain_existing(&base, path);
    return r < 0 ? r : files_append_path(i, path);
}

void files_ask_make_directory(struct files_client *c, const struct files_asked *a)
{
    ask(c, a, do_make_directory);
}

static int do_move(const struct files_asked *a, const struct files_identity *i, const char *path)
{
    char to[FILES_PATH_MAX_BYTES + 1];
    const struct walk_base base = files_root(i);
    if (strlen(a->more) != a->q.more_size)
        return -EINVAL;
    int r = files_path_resolve(i, a->more, to);
    if (r == 0)
        r = make_parents(a, i, to);
    if (r == 0)
        r = vfs_rename(&base, path, &base, to, 0);
    return r < 0 ? r : files_append_path(i, to);
}

void files_ask_move(struct files_client *c, const struct files_asked *a)
{
    ask(c, a, do_move);
}

static int do_link(const struct files_asked *a, const struct files_identity *i, const char *path)
{
    const struct walk_base base = files_root(i);
    if (strlen(a->more) != a->q.more_size || a->q.more_size > FILES_PATH_MAX_BYTES)
        return -EINVAL;
    int r = make_parents(a, i, path);
    if (r == 0)
        r = vfs_symlink(&base, path, a->more);
    if (r == -EEXIST) {
        r = vfs_unlink(&base, path);
        if (r == 0)
            r = vfs_symlink(&base, path, a->more);
    }
    return r < 0 ? r : files_append_path(i, path);
}

void files_ask_link(struct files_client *c, const struct files_asked *a)
{
    ask(c, a, do_link);
}

static int do_set_metadata(const struct files_asked *a, const struct files_identity *i,
                           const char *path)
{
    const struct walk_base base = files_root(i);
    struct path p;
    if (!files_metadata_is_valid(a->more, a->q.more_size))
        return -EINVAL;
    int r = walk_path(&base, path, WALK_FOLLOW | WALK_NO_MAGICLINKS, &p, NULL);
    if (r < 0)
        return r;
    struct inode *inode = p.dentry->inode;
    if (p.mount->read_only)
        r = -EROFS;
    else if (!S_ISREG(inode->mode) && !S_ISDIR(inode->mode))
        r = -EPERM; /* xattr(7) */
    else
        r = inode_permission(inode, i->cred, MAY_WRITE);
    if (r == 0)
        r = files_set_metadata(inode, a->more, a->q.more_size);
    if (r == 0) {
        inode_touch_changed(inode);
        notify_dentry(p.dentry, IN_ATTRIB);
    }
    path_put(&p);
    return r < 0 ? r : files_append_path(i, path);
}

void files_ask_set_metadata(struct files_client *c, const struct files_asked *a)
{
    ask(c, a, do_set_metadata);
}
