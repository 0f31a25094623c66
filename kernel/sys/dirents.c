// SPDX-License-Identifier: Apache-2.0
/*
 * getdents(2), getdents64(2). The position of an open directory is the cookie of the last name that
 * was given out; d_off of a name is its own cookie, so that seekdir(3) to it goes on behind it.
 */
#include "kernel/fs/notify.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"

#include <dirent.h>
#include <limits.h>

/* No listing gives more at once: programs ask again until they are answered 0. */
#define LISTING_MAX_BYTES (64UL << 10)

#define RECORD_ALIGNMENT 8

/* struct linux_dirent of getdents(2): d_type stands in the record's last byte. */
struct old_dirent {
    uint64_t d_ino;
    uint64_t d_off;
    uint16_t d_reclen;
    char d_name[];
};

struct listing {
    struct dir_emit emit;
    char *buffer;
    size_t size, used;
    uint64_t last; /* cookie of the last name in the buffer */
    uint64_t end;  /* names from this cookie on are not shown; 0: all are */
    bool old_format;
    bool too_small; /* a name did not fit an empty buffer */
};

static size_t record_size(const struct listing *l, size_t name_length)
{
    size_t size = l->old_format ? offsetof(struct old_dirent, d_name) + name_length + 2
                                : offsetof(struct dirent64, d_name) + name_length + 1;
    return (size + RECORD_ALIGNMENT - 1) & ~(size_t)(RECORD_ALIGNMENT - 1);
}

static bool emit_record(struct dir_emit *e, const char *name, size_t length, uint64_t ino,
                        uint8_t d_type, uint64_t cookie)
{
    struct listing *l = container_of(e, struct listing, emit);
    size_t size = record_size(l, length);
    if (l->end && cookie >= l->end)
        return false;
    if (size > l->size - l->used) {
        l->too_small = l->used == 0;
        return false;
    }
    char *at = l->buffer + l->used;
    memset(at, 0, size);
    if (l->old_format) {
        struct old_dirent head = {.d_ino = ino, .d_off = cookie, .d_reclen = (uint16_t)size};
        memcpy(at, &head, offsetof(struct old_dirent, d_name));
        memcpy(at + offsetof(struct old_dirent, d_name), name, length);
        at[size - 1] = (char)d_type;
    } else {
        memcpy(at + offsetof(struct dirent64, d_ino), &ino, sizeof(ino));
        memcpy(at + offsetof(struct dirent64, d_off), &cookie, sizeof(cookie));
        uint16_t record = (uint16_t)size;
        memcpy(at + offsetof(struct dirent64, d_reclen), &record, sizeof(record));
        at[offsetof(struct dirent64, d_type)] = (char)d_type;
        memcpy(at + offsetof(struct dirent64, d_name), name, length);
    }
    l->used += size;
    l->last = cookie;
    return true;
}

/* Forgets the names that end behind `size` bytes. */
static void cut_listing(struct listing *l, size_t size)
{
    size_t end = 0;
    while (end < size) {
        struct old_dirent head; /* both formats begin like this */
        memcpy(&head, l->buffer + end, offsetof(struct old_dirent, d_name));
        if (head.d_reclen > size - end)
            break;
        l->last = head.d_off;
        end += head.d_reclen;
    }
    l->used = end;
}

static long finish_listing(struct call *c, struct file *dir, struct listing *l)
{
    if (l->used == 0)
        return l->too_small ? -EINVAL : 0;
    ssize_t written = guest_write_some(call_memory(c), call_addr(c, 1), l->buffer, l->used);
    if (written < 0)
        return written;
    if ((size_t)written < l->used)
        cut_listing(l, (size_t)written);
    if (l->used == 0)
        return -EFAULT;
    dir->pos = (off_t)l->last;
    file_accessed(dir);
    notify_file(dir, IN_ACCESS);
    return (long)l->used;
}

/*
 * A listing that began ends with the names that there were then: a program that renames or replaces
 * what it reads would see its own work for ever, since a new name comes behind all others.
 */
static int run_list(struct file *dir, struct listing *l)
{
    const struct inode_ops *ops = dir->inode->ops;
    if (ops->list)
        return ops->list(dir, &l->emit);
    bool begins = dir->pos == 0;
    l->end = begins ? 0 : dir->list_end;
    int r = dentry_list(dir, &l->emit);
    if (begins)
        dir->list_end = dir->path.dentry->next_seq;
    return r;
}

static long list_directory(struct call *c, bool old_format)
{
    struct file *dir = args_held_file(c, call_int(c, 0));
    if (!dir)
        return -EBADF;
    if (!S_ISDIR(dir->inode->mode))
        return -ENOTDIR;
    if (dir->path.dentry->unlinked)
        return -ENOENT;
    size_t size = call_uint(c, 2);
    if (size > INT_MAX) /* Linux takes it for a negative int */
        size = 0;
    struct listing l = {
        .emit = {.emit = emit_record, .after = (uint64_t)dir->pos, .in_parts = true},
        .size = MIN(size, LISTING_MAX_BYTES),
        .old_format = old_format,
    };
    _cleanup_free_ char *buffer = malloc(MAX(l.size, (size_t)1));
    if (!buffer)
        return -ENOMEM;
    l.buffer = buffer;
    int r = run_list(dir, &l);
    if (r == -EAGAIN && l.used == 0)
        return args_yield(c, dir, false);
    return r < 0 && l.used == 0 ? r : finish_listing(c, dir, &l);
}

long sys_getdents(struct call *c)
{
    return list_directory(c, true);
}

long sys_getdents64(struct call *c)
{
    return list_directory(c, false);
}
