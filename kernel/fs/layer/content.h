// SPDX-License-Identifier: Apache-2.0
/*
 * The bytes of a regular file that the sandbox wrote.
 *
 * A content starts in memory and stays there while its data ends below CONTENT_MEMORY_FILE and all
 * of them together are small; then it becomes a file of the store (kernel.store_dir), which never
 * has a name that a guest chose: unnamed, or a number when its descriptor must be closed. A content
 * that is mapped is always such a file, and reads and writes go through it, so that both see the
 * same bytes.
 *
 * Holes stay holes. What is charged is pages of 4 KiB that hold data (or were reserved by
 * fallocate): blocks and budget agree. A content that was handed out for shared writable mappings
 * is charged for its whole size, since page faults are not seen here; what it really takes is asked
 * of the host.
 *
 * Invariants: bytes of the memory past the size are zero; a store file's size is the content's
 * size.
 */
#pragma once

#include "kernel/core/memory.h"
#include "kernel/fs/filesystems.h"
#include "kernel/fs/layer/fdcache.h"
#include "kernel/fs/layer/pageset.h"

#define CONTENT_MEMORY_FILE (64UL * 1024)   /* a larger one goes to the store */
#define CONTENT_SIZE_MAX    0xffffffff000LL /* as ext4: 16 TiB less a page */

/* What a file system may take: a share of the sandbox's budget. */
struct content_account {
    struct storage_budget *budget; /* NULL: no limit but max_bytes */
    uint64_t max_bytes, used_bytes;
};

struct content {
    struct content_account *account; /* borrowed */
    off_t size;
    struct pageset pages; /* what is charged, unless `shared` */
    uint64_t charged_bytes;
    char *data; /* in memory: bytes 0..capacity; what is above is a hole */
    size_t capacity;
    bool in_store; /* else in memory */
    bool named;    /* the store file has the name `number` */
    bool shared;   /* was handed out for shared writable mappings */
    uint64_t number;
    struct cached_fd file; /* read-write */
    struct cached_fd reader;
};

/* An empty content. NULL when out of memory. */
struct content *content_new(struct content_account *account);
void content_free(struct content *c);

/* As read(2) and write(2) at pos: bytes, or -EFAULT, -ENOSPC, -EFBIG, -EIO. */
ssize_t content_read(struct content *c, struct uio *u, off_t pos);
ssize_t content_write(struct content *c, struct uio *u, off_t pos);

/* Appends what host descriptor fd holds (size bytes from its start) to an empty content. */
int content_copy_from(struct content *c, int fd, off_t size);

int content_truncate(struct content *c, off_t size);

/* fallocate(2): mode 0, KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE; others -EOPNOTSUPP. */
int content_fallocate(struct content *c, int mode, off_t offset, off_t size);

/* SEEK_DATA or SEEK_HOLE of lseek(2): the position, or -ENXIO. */
off_t content_seek(struct content *c, off_t offset, int whence);

/* In units of 512 bytes, as st_blocks. */
uint64_t content_blocks(struct content *c);

/*
 * A host descriptor for mmap, read-only unless writable; it stays open until content_unmap() was
 * called as often. -ENOMEM, -ENFILE or what the store answers.
 */
int content_map(struct content *c, bool writable, struct hostfd *ret);
void content_unmap(struct content *c, bool writable);

/* What moves between host files and tasks goes through here; its content lives until the next call.
 */
#define CONTENT_BOUNCE_BYTES (64UL * 1024)
extern char content_bounce[CONTENT_BOUNCE_BYTES];

/* Copies [pos, end) of a host descriptor to u; a file that is shorter there reads as zeros. */
ssize_t content_read_host(int fd, struct uio *u, off_t pos, off_t end);
