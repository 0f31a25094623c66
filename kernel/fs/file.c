// SPDX-License-Identifier: Apache-2.0
#include "kernel/core/kernel.h"
#include "kernel/fs/change.h"
#include "kernel/fs/locks.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/vfs.h"

#include <linux/magic.h>
#include <stdio.h>

/* What concerns only the moment of opening. */
#define OPEN_ONLY_FLAGS (O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_CLOEXEC)

void (*file_epoll_release)(struct file *f);
void (*file_async_release)(struct file *f);

static size_t file_total;

size_t file_count(void)
{
    return file_total;
}

/* Files that can do nothing: O_PATH, and FIFOs that wait for their other side. */
static const struct file_ops path_ops;
static const struct file_ops plain_ops;
const struct file_ops file_half_open_ops = {.stream = true};

bool file_is_half_open(const struct file *f)
{
    return f->ops == &file_half_open_ops;
}

static bool file_tells(const struct file *f)
{
    return f->path.mount && !(f->flags & O_PATH) && !file_is_half_open(f);
}

static void file_set_access(struct file *f)
{
    if (f->flags & O_PATH)
        return;
    int access = f->flags & O_ACCMODE;
    f->can_read = access == O_RDONLY || access == O_RDWR;
    f->can_write = access == O_WRONLY || access == O_RDWR;
}

static int file_make(struct path path, struct inode *inode, int flags, const struct file_ops *ops,
                     void *private, struct file **ret)
{
    static uint64_t next_id = 1;
    if (file_total >= LIMIT_FILES)
        return -ENFILE;
    struct file *f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    if (flags & O_PATH)
        ops = &path_ops;
    else if (!ops)
        ops = inode->file_ops ? inode->file_ops : &plain_ops;
    *f = (struct file){
        .refs = 1,
        .ops = ops,
        .inode = inode_get(inode),
        .path = path_get(path),
        .flags = flags,
        .id = next_id++,
        .private = private,
    };
    file_set_access(f);
    list_init(&f->epoll_items);
    int r = f->ops->open ? f->ops->open(f) : 0;
    if (r < 0) {
        path_put(&f->path);
        inode_put(f->inode);
        free(f);
        return r;
    }
    f->flags &= ~OPEN_ONLY_FLAGS;
    f->is_writer = f->can_write && S_ISREG(inode->mode);
    inode->writers += f->is_writer;
    file_total++;
    if (file_tells(f))
        notify_file(f, IN_OPEN);
    *ret = f;
    return 0;
}

void file_uncount_writer(struct file *f)
{
    f->inode->writers -= f->is_writer;
    f->is_writer = false;
}

int file_new(struct path path, struct inode *inode, int flags, const struct file_ops *ops,
             struct file **ret)
{
    return file_make(path, inode, flags, ops, NULL, ret);
}

/* No single digit: netstat(8) takes "socket:[1]" for no socket. */
#define FIRST_ANONYMOUS_INO 16

static struct super *anonymous_super_new(const char *type_name, long magic)
{
    struct super *s = super_new(type_name, magic);
    if (s)
        s->next_ino = FIRST_ANONYMOUS_INO;
    return s;
}

/* Where Linux keeps such files; fstatfs(2) and st_dev tell them apart. */
static struct super *anonymous_super(mode_t mode)
{
    static struct super *pipes, *sockets, *others;
    if (S_ISFIFO(mode))
        return pipes ? pipes : (pipes = anonymous_super_new("pipefs", PIPEFS_MAGIC));
    if (S_ISSOCK(mode))
        return sockets ? sockets : (sockets = anonymous_super_new("sockfs", SOCKFS_MAGIC));
    return others ? others : (others = anonymous_super_new("anon_inodefs", ANON_INODE_FS_MAGIC));
}

int file_new_anonymous(const char *name_format, mode_t mode, int flags, const struct file_ops *ops,
                       void *private, struct file **ret)
{
    struct super *s = anonymous_super(mode);
    if (!s)
        return -ENOMEM;
    struct inode *i = inode_new(s, mode);
    if (!i)
        return -ENOMEM;
    char name[NAME_LENGTH_MAX + 1];
    snprintf(name, sizeof(name), name_format, (unsigned long long)i->ino);
    struct path path = {NULL, dentry_new_anonymous(i, name)};
    int r = path.dentry ? file_make(path, i, flags, ops, private, ret) : -ENOMEM;
    dentry_put(path.dentry);
    inode_put(i);
    return r;
}

struct file *file_get(struct file *f)
{
    f->refs++;
    return f;
}

void file_put(struct file *f)
{
    if (!f || --f->refs > 0)
        return;
    if (!list_is_empty(&f->epoll_items) && file_epoll_release)
        file_epoll_release(f);
    if (f->async && file_async_release)
        file_async_release(f);
    if (file_tells(f))
        notify_file(f, f->can_write ? IN_CLOSE_WRITE : IN_CLOSE_NOWRITE);
    if (!(f->flags & O_PATH))
        lock_release(f);
    if (f->ops->release)
        f->ops->release(f);
    f->inode->writers -= f->is_writer;
    path_put(&f->path);
    inode_put(f->inode);
    free(f);
    file_total--;
}

uint32_t file_poll(struct file *f, struct poll_table *table)
{
    if (!f->ops->poll)
        return EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLWRNORM;
    return f->ops->poll(f, table);
}

struct park_table {
    struct poll_table table;
    struct call *call;
    int error;
};

static void park_add(struct poll_table *table, struct waitq *q)
{
    struct park_table *p = container_of(table, struct park_table, table);
    int r = call_wait_on(p->call, q);
    if (r < 0)
        p->error = r;
}

long file_park(struct file *f, struct call *c, uint32_t events, enum call_restart restart)
{
    struct park_table p = {{park_add}, c, 0};
    int64_t timeout_ns = events & EPOLLIN ? f->read_timeout_ns : f->write_timeout_ns;
    if (c->timed_out)
        return -EAGAIN;
    file_poll(f, &p.table);
    if (p.error < 0)
        return p.error;
    if (timeout_ns > 0) {
        call_set_timeout(c, timeout_ns);
        restart = RESTART_NEVER; /* signal(7): sockets with a time-out */
    }
    return call_park(c, restart);
}

ssize_t file_read_kernel(struct file *f, void *data, size_t size, off_t pos)
{
    if (!f->ops->read || pos < 0)
        return -EINVAL;
    size_t done = 0;
    while (done < size) {
        struct uio u;
        uio_init_kernel(&u, (char *)data + done, size - done);
        ssize_t n = f->ops->read(f, &u, &pos, 0);
        if (n < 0 && done == 0)
            return n;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (done > 0)
        notify_file(f, IN_ACCESS);
    return (ssize_t)done;
}

off_t file_lseek_generic(struct file *f, off_t offset, int whence)
{
    struct inode *i = f->inode;
    off_t base = 0;
    switch (whence) {
    case SEEK_SET:
        break;
    case SEEK_CUR:
        base = f->pos;
        break;
    case SEEK_END:
        base = i->size;
        break;
    case SEEK_DATA:
    case SEEK_HOLE:
        if (offset < 0 || offset >= i->size)
            return -ENXIO;
        return f->pos = whence == SEEK_DATA ? offset : i->size;
    default:
        return -EINVAL;
    }
    off_t pos;
    if (__builtin_add_overflow(base, offset, &pos) || pos < 0)
        return -EINVAL;
    return f->pos = pos;
}
