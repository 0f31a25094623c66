// SPDX-License-Identifier: Apache-2.0
/* host calls: close copy_file_range fstat ftruncate lseek newfstatat pwrite64 */
#include "kernel/fs/layer/content.h"

#include "kernel/core/limits.h"
#include "kernel/fs/host_io.h"
#include "kernel/fs/layer/store.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>

#define PAGE_BYTES   4096ULL
#define CAPACITY_MIN 512UL

char content_bounce[CONTENT_BOUNCE_BYTES];

static size_t memory_total;

static uint64_t page_of(off_t pos)
{
    return (uint64_t)pos / PAGE_BYTES;
}

static uint64_t page_up(off_t pos)
{
    return ((uint64_t)pos + PAGE_BYTES - 1) / PAGE_BYTES;
}

/* ---- charges ---- */

static uint64_t left_of(uint64_t max, uint64_t used)
{
    return max > used ? max - used : 0;
}

static int charge(struct content *c, uint64_t bytes)
{
    struct content_account *a = c->account;
    struct storage_budget *b = a->budget;
    if (bytes > left_of(a->max_bytes, a->used_bytes))
        return -ENOSPC;
    if (b && bytes > left_of(b->max_bytes, b->used_bytes))
        return -ENOSPC;
    a->used_bytes += bytes;
    if (b)
        b->used_bytes += bytes;
    c->charged_bytes += bytes;
    return 0;
}

static void refund(struct content *c, uint64_t bytes)
{
    c->account->used_bytes -= bytes;
    if (c->account->budget)
        c->account->budget->used_bytes -= bytes;
    c->charged_bytes -= bytes;
}

/*
 * Charges for the pages of [from, to) that hold nothing yet. Of a shared content no pages are noted
 * any more: nothing would bound their number but the largest size.
 */
static int reserve(struct content *c, off_t from, off_t to)
{
    uint64_t first = page_of(from), end = page_up(to);
    uint64_t missing = c->shared ? 0 : pageset_count_missing(&c->pages, first, end);
    if (missing == 0)
        return 0;
    uint64_t before = c->pages.count;
    uint64_t wanted = missing * PAGE_BYTES;
    int r = charge(c, wanted);
    if (r < 0)
        return r;
    r = pageset_add(&c->pages, first, end);
    if (r < 0)
        refund(c, wanted - (c->pages.count - before) * PAGE_BYTES);
    return r;
}

/* Gives back the pages that lie wholly in [from, to). */
static void release(struct content *c, off_t from, off_t to)
{
    uint64_t before = c->pages.count;
    pageset_remove(&c->pages, page_up(from), to == CONTENT_SIZE_MAX ? page_up(to) : page_of(to));
    if (!c->shared)
        refund(c, (before - c->pages.count) * PAGE_BYTES);
}

/* A shared content is charged for its size, whatever it holds. */
static int charge_size(struct content *c, off_t size)
{
    uint64_t wanted = page_up(size) * PAGE_BYTES;
    if (wanted > c->charged_bytes)
        return charge(c, wanted - c->charged_bytes);
    refund(c, c->charged_bytes - wanted);
    return 0;
}

/* ---- store file ---- */

static bool prepare_close(struct cached_fd *f)
{
    struct content *c = container_of(f, struct content, file);
    if (!c->named)
        c->named = store_name(f->n, c->number);
    return c->named;
}

static int file_fd(struct content *c)
{
    if (c->file.n >= 0) {
        fdcache_touch(&c->file);
        return c->file.n;
    }
    int fd = store_open(c->number, O_RDWR);
    if (fd >= 0)
        fdcache_opened(&c->file, fd);
    return fd;
}

static int reader_fd(struct content *c)
{
    if (c->reader.n >= 0) {
        fdcache_touch(&c->reader);
        return c->reader.n;
    }
    int fd = file_fd(c);
    if (fd < 0)
        return fd;
    fd = store_reopen_read_only(fd);
    if (fd >= 0)
        fdcache_opened(&c->reader, fd);
    return fd;
}

static int write_all(int fd, const char *data, size_t size, off_t pos)
{
    while (size > 0) {
        ssize_t n = pwrite(fd, data, size, pos);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        data += n;
        size -= (size_t)n;
        pos += n;
    }
    return 0;
}

/* Writes the pages of memory that hold data to fd. */
static int spill(const struct content *c, int fd)
{
    size_t end = MIN(c->capacity, (size_t)c->size);
    for (size_t at = 0; at < end; at += PAGE_BYTES) {
        if (!pageset_has(&c->pages, at / PAGE_BYTES))
            continue;
        int r = write_all(fd, c->data + at, MIN((size_t)PAGE_BYTES, end - at), (off_t)at);
        if (r < 0)
            return r;
    }
    return ftruncate(fd, c->size) < 0 ? -errno : 0;
}

static void memory_drop(struct content *c)
{
    free(c->data);
    memory_total -= c->capacity;
    c->data = NULL;
    c->capacity = 0;
}

static int move_to_store(struct content *c)
{
    if (c->in_store)
        return 0;
    uint64_t number = store_next_number();
    bool named;
    int fd = store_create(number, &named);
    if (fd < 0)
        return fd;
    int r = spill(c, fd);
    if (r < 0) {
        close(fd);
        if (named)
            store_unlink(number);
        return r;
    }
    memory_drop(c);
    c->in_store = true;
    c->named = named;
    c->number = number;
    fdcache_opened(&c->file, fd);
    return 0;
}

/* ---- memory ---- */

/* Room for bytes 0..end in memory; -ENOSPC when it should be a store file instead. */
static int memory_reserve(struct content *c, size_t end)
{
    if (end <= c->capacity)
        return 0;
    if (end > CONTENT_MEMORY_FILE)
        return -ENOSPC;
    size_t capacity = MAX(c->capacity * 2, CAPACITY_MIN);
    while (capacity < end)
        capacity *= 2;
    capacity = MIN(capacity, CONTENT_MEMORY_FILE);
    if (memory_total + capacity - c->capacity > LIMIT_CONTENT_BYTES)
        return -ENOSPC;
    char *data = realloc(c->data, capacity);
    if (!data)
        return -ENOSPC;
    memset(data + c->capacity, 0, capacity - c->capacity);
    memory_total += capacity - c->capacity;
    c->data = data;
    c->capacity = capacity;
    return 0;
}

static void memory_zero(struct content *c, off_t from, off_t to)
{
    off_t end = MIN(to, (off_t)c->capacity);
    if (from < end)
        memset(c->data + from, 0, (size_t)(end - from));
}

/* ---- life ---- */

struct content *content_new(struct content_account *account)
{
    struct content *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->account = account;
    fdcache_init(&c->file, prepare_close);
    fdcache_init(&c->reader, NULL);
    return c;
}

void content_free(struct content *c)
{
    if (!c)
        return;
    fdcache_done(&c->reader);
    fdcache_done(&c->file);
    if (c->named)
        store_unlink(c->number);
    memory_drop(c);
    refund(c, c->charged_bytes);
    pageset_done(&c->pages);
    free(c);
}

/* ---- reading ---- */

ssize_t content_read_host(int fd, struct uio *u, off_t pos, off_t end)
{
    ssize_t done = 0;
    while (u->left > 0 && pos < end) {
        size_t want = MIN(u->left, CONTENT_BOUNCE_BYTES);
        want = MIN(want, (size_t)(end - pos));
        ssize_t got = host_io_read(fd, content_bounce, want, pos);
        if (got < 0)
            return done > 0 ? done : got;
        if ((size_t)got < want) /* cut since it was looked at */
            memset(content_bounce + got, 0, want - (size_t)got);
        ssize_t n = uio_copy_out(u, content_bounce, want);
        if (n < 0)
            return done > 0 ? done : n;
        done += n;
        pos += n;
        if ((size_t)n < want)
            break;
    }
    return done;
}

ssize_t content_read(struct content *c, struct uio *u, off_t pos)
{
    if (pos >= c->size || u->left == 0)
        return 0;
    if (c->in_store) {
        int fd = file_fd(c);
        return fd < 0 ? fd : content_read_host(fd, u, pos, c->size);
    }
    ssize_t done = 0;
    off_t end = MIN(c->size, (off_t)c->capacity);
    if (pos < end) {
        size_t size = MIN(u->left, (size_t)(end - pos));
        done = uio_copy_out(u, c->data + pos, size);
        if (done < (ssize_t)size)
            return done;
    }
    off_t at = pos + done;
    if (u->left == 0 || at >= c->size)
        return done;
    ssize_t zeros = uio_zero_out(u, (size_t)MIN((off_t)u->left, c->size - at));
    return zeros < 0 ? (done > 0 ? done : zeros) : done + zeros;
}

/* ---- writing ---- */

static int write_piece(struct content *c, const char *data, size_t size, off_t pos)
{
    int r = reserve(c, pos, pos + (off_t)size);
    if (r < 0)
        return r;
    if (!c->in_store) {
        memcpy(c->data + pos, data, size);
        return 0;
    }
    int fd = file_fd(c);
    return fd < 0 ? fd : write_all(fd, data, size, pos);
}

ssize_t content_write(struct content *c, struct uio *u, off_t pos)
{
    if (u->left == 0)
        return 0;
    if (pos >= CONTENT_SIZE_MAX)
        return -EFBIG;
    size_t left = MIN(u->left, (size_t)(CONTENT_SIZE_MAX - pos));
    if (!c->in_store && memory_reserve(c, (size_t)pos + left) < 0) {
        int r = move_to_store(c);
        if (r < 0)
            return r;
    }
    ssize_t done = 0;
    while (left > 0) {
        size_t want = MIN(left, CONTENT_BOUNCE_BYTES);
        ssize_t n = uio_copy_in(u, content_bounce, want);
        if (n <= 0)
            return done > 0 ? done : n;
        int r = c->shared ? charge_size(c, MAX(c->size, pos + n)) : 0;
        if (r == 0)
            r = write_piece(c, content_bounce, (size_t)n, pos);
        if (r < 0)
            return done > 0 ? done : r;
        done += n;
        pos += n;
        left -= (size_t)n;
        c->size = MAX(c->size, pos);
        if ((size_t)n < want)
            break;
    }
    return done;
}

/* One stretch of data of a host file, copied by the host where it can, else through our memory. */
static int copy_range(struct content *c, int fd, off_t from, off_t to)
{
    int r = reserve(c, from, to);
    if (r < 0)
        return r;
    int out = file_fd(c);
    if (out < 0)
        return out;
    while (from < to) {
        off_t in_pos = from, out_pos = from;
        ssize_t n = copy_file_range(fd, &in_pos, out, &out_pos, (size_t)(to - from), 0);
        if (n <= 0) {
            size_t size = MIN(CONTENT_BOUNCE_BYTES, (size_t)(to - from));
            n = host_io_read(fd, content_bounce, size, from);
            if (n <= 0)
                return (int)n;
            r = write_all(out, content_bounce, (size_t)n, from);
            if (r < 0)
                return r;
        }
        from += n;
    }
    return 0;
}

static int copy_to_memory(struct content *c, int fd, off_t size)
{
    int r = reserve(c, 0, size);
    if (r < 0)
        return r;
    ssize_t n = host_io_read(fd, c->data, (size_t)size, 0);
    return n < 0 ? (int)n : 0;
}

int content_copy_from(struct content *c, int fd, off_t size)
{
    if (size == 0)
        return 0;
    if (size > CONTENT_SIZE_MAX)
        return -EFBIG;
    if (memory_reserve(c, (size_t)size) == 0) {
        int r = copy_to_memory(c, fd, size);
        if (r == 0)
            c->size = size;
        return r;
    }
    int r = move_to_store(c);
    off_t from = 0;
    while (r == 0 && from < size) {
        off_t data = lseek(fd, from, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break;
        data = MAX(data, from);
        off_t hole = lseek(fd, data, SEEK_HOLE);
        hole = hole < 0 || hole > size ? size : hole;
        r = data < hole ? copy_range(c, fd, data, hole) : 0;
        from = MAX(hole, from + 1);
    }
    if (r == 0 && ftruncate(file_fd(c), size) < 0)
        r = -errno;
    if (r == 0)
        c->size = size;
    return r;
}

/* ---- sizes and holes ---- */

int content_truncate(struct content *c, off_t size)
{
    if (size > CONTENT_SIZE_MAX)
        return -EFBIG;
    if (c->shared) {
        int r = charge_size(c, size);
        if (r < 0)
            return r;
    }
    if (c->in_store) {
        int fd = file_fd(c);
        if (fd < 0)
            return fd;
        if (ftruncate(fd, size) < 0)
            return -errno;
    } else {
        memory_zero(c, size, c->size);
    }
    if (size < c->size)
        release(c, size, CONTENT_SIZE_MAX);
    c->size = size;
    if (size == 0 && !c->in_store)
        memory_drop(c);
    return 0;
}

static int punch_hole(struct content *c, off_t from, off_t to)
{
    if (!c->in_store) {
        memory_zero(c, from, to);
        return 0;
    }
    int fd = file_fd(c);
    if (fd < 0)
        return fd;
    int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    return host_io_allocate(fd, mode, from, to - from);
}

/* The new size that an allocation up to `end` gives the file. */
static int grow_to(struct content *c, off_t end)
{
    return end > c->size ? content_truncate(c, end) : 0;
}

int content_fallocate(struct content *c, int mode, off_t offset, off_t size)
{
    off_t end;
    if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        return -EOPNOTSUPP;
    if (mode & FALLOC_FL_PUNCH_HOLE &&
        (!(mode & FALLOC_FL_KEEP_SIZE) || mode & FALLOC_FL_ZERO_RANGE))
        return -EOPNOTSUPP;
    if (offset < 0 || size <= 0)
        return -EINVAL;
    if (__builtin_add_overflow(offset, size, &end) || end > CONTENT_SIZE_MAX)
        return -EFBIG;
    if (mode & FALLOC_FL_PUNCH_HOLE) {
        int r = punch_hole(c, offset, end);
        if (r == 0)
            release(c, offset, end);
        return r;
    }
    int r = reserve(c, offset, end);
    if (r == 0 && mode & FALLOC_FL_ZERO_RANGE)
        r = punch_hole(c, offset, end);
    if (r == 0 && !(mode & FALLOC_FL_KEEP_SIZE))
        r = grow_to(c, end);
    return r;
}

static off_t memory_seek(const struct content *c, off_t offset, bool wants_data)
{
    for (off_t at = offset; at < c->size; at = (off_t)((page_of(at) + 1) * PAGE_BYTES)) {
        /* Above what memory holds there is nothing but what fallocate reserved. */
        if (at >= (off_t)CONTENT_MEMORY_FILE)
            return wants_data ? -ENXIO : at;
        if (pageset_has(&c->pages, page_of(at)) == wants_data)
            return at;
    }
    return wants_data ? -ENXIO : c->size;
}

off_t content_seek(struct content *c, off_t offset, int whence)
{
    if (offset < 0 || offset >= c->size)
        return -ENXIO;
    if (!c->in_store)
        return memory_seek(c, offset, whence == SEEK_DATA);
    int fd = file_fd(c);
    if (fd < 0)
        return fd;
    off_t pos = lseek(fd, offset, whence);
    return pos < 0 ? -errno : pos;
}

uint64_t content_blocks(struct content *c)
{
    struct stat st;
    if (c->shared && c->in_store) {
        int fd = file_fd(c);
        if (fd >= 0 && fstat(fd, &st) == 0)
            return (uint64_t)st.st_blocks;
    }
    return c->pages.count * (PAGE_BYTES / 512);
}

/* ---- mapping ---- */

int content_map(struct content *c, bool writable, struct hostfd *ret)
{
    int r = move_to_store(c);
    if (r == 0 && writable && !c->shared) {
        r = charge_size(c, MAX(c->size, (off_t)c->charged_bytes));
        c->shared = r == 0;
    }
    if (r < 0)
        return r == -ENOSPC ? -ENOMEM : r;
    int fd = writable ? file_fd(c) : reader_fd(c);
    if (fd < 0)
        return fd;
    r = fdcache_pin(writable ? &c->file : &c->reader);
    if (r == 0)
        *ret = (struct hostfd){fd};
    return r;
}

void content_unmap(struct content *c, bool writable)
{
    fdcache_unpin(writable ? &c->file : &c->reader);
}
