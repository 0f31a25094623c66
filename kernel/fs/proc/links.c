// SPDX-License-Identifier: Apache-2.0
/*
 * The magic links of a process: exe, cwd, root, fd/N, and fdinfo beside them. Following one leads
 * to the object itself, whatever its name has become; the text is for people.
 */
#include "kernel/fs/locks.h"
#include "kernel/fs/proc/proc.h"

void proc_append_path(struct buf *b, struct path p)
{
    static const char unreachable[] = "(unreachable)";
    struct thread *caller = proc_caller();
    struct path top = {vfs_root_mount, vfs_root_mount ? vfs_root_mount->root : NULL};
    struct path root = caller && caller->fs ? caller->fs->root : top;
    char text[GUEST_PATH_MAX];
    ssize_t length = path_text(p, root, text, sizeof(text));
    /* Linux's d_path() shows what lies outside of the reader's root from the very top. */
    if (length >= 0 && p.mount && !strncmp(text, unreachable, strlen(unreachable)))
        length = path_text(p, top, text, sizeof(text));
    if (length < 0)
        b->failed = true;
    else
        buf_append(b, text, (size_t)length);
}

/* The checks that all links have in common; 0 with the thread, -EACCES, -ENOENT. */
static int link_thread(const struct pseudo_node *n, struct thread **ret)
{
    if (!proc_process(n))
        return -ENOENT;
    if (!proc_may_access(n))
        return -EACCES;
    struct thread *t = proc_thread(n);
    if (!t)
        return -ENOENT;
    *ret = t;
    return 0;
}

static int exe_path(const struct pseudo_node *n, struct path *ret)
{
    struct thread *t;
    int r = link_thread(n, &t);
    if (r < 0)
        return r;
    struct address_space *space = proc_space(n);
    if (!space || !space->exe.dentry)
        return -ENOENT;
    *ret = space->exe;
    return 0;
}

static int cwd_path(const struct pseudo_node *n, struct path *ret)
{
    struct thread *t;
    int r = link_thread(n, &t);
    if (r < 0)
        return r;
    if (!t->fs)
        return -ENOENT;
    *ret = t->fs->cwd;
    return 0;
}

static int root_path(const struct pseudo_node *n, struct path *ret)
{
    struct thread *t;
    int r = link_thread(n, &t);
    if (r < 0)
        return r;
    if (!t->fs)
        return -ENOENT;
    *ret = t->fs->root;
    return 0;
}

static int fd_path(const struct pseudo_node *n, struct path *ret)
{
    struct thread *t;
    int r = link_thread(n, &t);
    if (r < 0)
        return r;
    struct file *f = t->files ? fdtable_file(t->files, n->number) : NULL;
    if (!f)
        return -ENOENT;
    *ret = f->path;
    return 0;
}

static int show_link(const struct pseudo_node *n, struct buf *b,
                     int (*find)(const struct pseudo_node *, struct path *))
{
    struct path p;
    int r = find(n, &p);
    if (r < 0)
        return r;
    proc_append_path(b, p);
    return 0;
}

static int follow_link(const struct pseudo_node *n, struct path *ret,
                       int (*find)(const struct pseudo_node *, struct path *))
{
    struct path p;
    int r = find(n, &p);
    if (r < 0)
        return r;
    *ret = path_get(p);
    return 0;
}

int proc_show_exe(const struct pseudo_node *n, struct buf *b)
{
    return show_link(n, b, exe_path);
}

int proc_show_cwd(const struct pseudo_node *n, struct buf *b)
{
    return show_link(n, b, cwd_path);
}

int proc_show_root(const struct pseudo_node *n, struct buf *b)
{
    return show_link(n, b, root_path);
}

int proc_follow_exe(const struct pseudo_node *n, struct path *ret)
{
    return follow_link(n, ret, exe_path);
}

int proc_follow_cwd(const struct pseudo_node *n, struct path *ret)
{
    return follow_link(n, ret, cwd_path);
}

int proc_follow_root(const struct pseudo_node *n, struct path *ret)
{
    return follow_link(n, ret, root_path);
}

static int show_fd(const struct pseudo_node *n, struct buf *b)
{
    return show_link(n, b, fd_path);
}

static int follow_fd(const struct pseudo_node *n, struct path *ret)
{
    return follow_link(n, ret, fd_path);
}

/* ---- the directories fd and fdinfo ---- */

static struct fdtable *table_of(const struct pseudo_node *n)
{
    struct thread *t = proc_thread(n);
    return t ? t->files : NULL;
}

static ssize_t collect_fds(const struct pseudo_node *dir, uint32_t **ret_keys)
{
    struct fdtable *table = table_of(dir);
    struct pseudo_keys keys = {0};
    if (!table)
        return proc_process(dir) ? pseudo_keys_take(&keys, ret_keys) : -ENOENT;
    for (size_t i = 0; i < table->capacity; i++)
        if (fdtable_file(table, (int)i) && pseudo_keys_add(&keys, (uint32_t)i) < 0)
            return -ENOMEM;
    return pseudo_keys_take(&keys, ret_keys);
}

static int find_fd(const struct pseudo_node *dir, uint32_t key, struct pseudo_node *n)
{
    struct fdtable *table = table_of(dir);
    if (!table || !fdtable_file(table, (int)key))
        return -ENOENT;
    n->number = (int)key;
    return 0;
}

void proc_refresh_fd_link(const struct pseudo_node *n, struct inode *i)
{
    struct fdtable *table = table_of(n);
    struct file *f = table ? fdtable_file(table, n->number) : NULL;
    if (!f)
        return;
    bool path_only = f->flags & O_PATH;
    i->mode =
        S_IFLNK | (f->can_read && !path_only ? 0500 : 0) | (f->can_write && !path_only ? 0300 : 0);
    i->size = 64; /* as Linux says, whatever the text is */
}

static int show_fdinfo(const struct pseudo_node *n, struct buf *b)
{
    struct thread *t;
    int r = link_thread(n, &t);
    if (r < 0)
        return r;
    struct fd_entry *e = t->files ? fdtable_entry(t->files, n->number) : NULL;
    if (!e || !e->file)
        return -ENOENT;
    struct file *f = e->file;
    buf_printf(b, "pos:\t%lld\nflags:\t0%o\nmnt_id:\t%d\nino:\t%lu\n", (long long)f->pos,
               (unsigned)f->flags | (e->cloexec ? O_CLOEXEC : 0),
               f->path.mount ? f->path.mount->id : 0, f->inode->ino);
    lock_describe_file(f, t->files, b);
    if (f->ops->describe)
        f->ops->describe(f, b);
    return 0;
}

static const struct pseudo_entry fd_entry = {
    .name = "fd",
    .mode = S_IFLNK | 0700,
    .show = show_fd,
    .follow = follow_fd,
};

static const struct pseudo_entry fdinfo_entry = {
    .name = "fdinfo",
    .mode = S_IFREG | 0400,
    .show = show_fdinfo,
};

const struct pseudo_names proc_fd_names = {
    .prefix = "",
    .entry = &fd_entry,
    .collect = collect_fds,
    .find = find_fd,
};

const struct pseudo_names proc_fdinfo_names = {
    .prefix = "",
    .entry = &fdinfo_entry,
    .collect = collect_fds,
    .find = find_fd,
};
