// SPDX-License-Identifier: Apache-2.0
/* host calls: close fstat lseek newfstatat sync_file_range */
#include "kernel/fs/hostdir/hostdir.h"
#include "kernel/fs/layer/content.h"
#include "kernel/fs/host_io.h"

#include <fcntl.h>
#include <limits.h>

static struct hostfile *hostfile_of(struct file *f)
{
    return f->private;
}

/* With access mode 3 a file can do nothing, but it is opened for both (open(2)). */
static int host_access(int flags)
{
    static const int modes[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR};
    return modes[flags & O_ACCMODE];
}

static int file_open(struct file *f)
{
    struct hostnode *n = hostnode_of(f->inode);
    int access = host_access(f->flags);
    if (access != O_RDONLY && f->inode->super->read_only)
        return -EROFS;
    struct hostfile *h = calloc(1, sizeof(*h));
    if (!h)
        return -ENOMEM;
    int r = hostdir_fd_charge();
    if (r == 0) {
        h->fd = hostnode_take_born(n);
        if (h->fd < 0)
            h->fd = hostnode_open(n, access);
        if (h->fd >= 0) {
            list_append(&n->open_files, &h->link);
            f->private = h;
            return 0;
        }
        r = h->fd;
        hostdir_fd_refund();
    }
    free(h);
    return r;
}

static void file_release(struct file *f)
{
    struct hostfile *h = hostfile_of(f);
    if (!h)
        return;
    list_remove(&h->link);
    close(h->fd);
    hostdir_fd_refund();
    free(h);
}

/* The host knows where the file ends by now; so that no zeros are made up, only what it gives. */
static ssize_t file_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    ssize_t done = 0;
    while (u->left > 0) {
        size_t want = MIN(u->left, CONTENT_BOUNCE_BYTES);
        ssize_t got = host_io_read(hostfile_of(f)->fd, content_bounce, want, *pos);
        if (got < 0)
            return done > 0 ? done : got;
        ssize_t n = uio_copy_out(u, content_bounce, (size_t)got);
        if (n < 0)
            return done > 0 ? done : n;
        done += n;
        *pos += n;
        if (got == 0 || n < got || (size_t)got < want)
            break;
    }
    return done;
}

static ssize_t file_write(struct file *f, struct uio *u, off_t *pos, int flags)
{
    int fd = hostfile_of(f)->fd;
    bool append = f->flags & O_APPEND || flags & RWF_APPEND;
    ssize_t done = 0;
    while (u->left > 0) {
        ssize_t n = uio_copy_in(u, content_bounce, MIN(u->left, CONTENT_BOUNCE_BYTES));
        if (n <= 0)
            return done > 0 ? done : n;
        ssize_t put = host_io_write(fd, content_bounce, (size_t)n, *pos, append ? RWF_APPEND : 0);
        if (put < 0)
            return done > 0 ? done : put;
        done += put;
        struct stat st;
        *pos = append && fstat(fd, &st) == 0 ? st.st_size : *pos + put;
        if (put < n)
            break;
    }
    return done;
}

static off_t file_lseek(struct file *f, off_t offset, int whence)
{
    struct stat st;
    if (whence == SEEK_DATA || whence == SEEK_HOLE) {
        off_t pos = lseek(hostfile_of(f)->fd, offset, whence);
        return pos < 0 ? -errno : (f->pos = pos);
    }
    if (whence == SEEK_END && fstat(hostfile_of(f)->fd, &st) == 0)
        f->inode->size = st.st_size;
    return file_lseek_generic(f, offset, whence);
}

/* Starts to write and does not wait for the disk: the kernel never blocks for a task. */
static int file_fsync(struct file *f)
{
    sync_file_range(hostfile_of(f)->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return 0;
}

static int file_fallocate(struct file *f, int mode, off_t offset, off_t size)
{
    return host_io_allocate(hostfile_of(f)->fd, mode, offset, size);
}

static int file_map(struct file *f, bool shared_writable, struct hostfd *ret)
{
    if (!f->can_read || (shared_writable && !f->can_write))
        return -EACCES;
    *ret = (struct hostfd){hostfile_of(f)->fd};
    return 0;
}

const struct file_ops hostdir_file_ops = {
    .open = file_open,
    .release = file_release,
    .read = file_read,
    .write = file_write,
    .lseek = file_lseek,
    .fsync = file_fsync,
    .fallocate = file_fallocate,
    .map = file_map,
};

static int special_open(struct file *f)
{
    return -EACCES;
}

const struct file_ops hostdir_special_ops = {.open = special_open};
