// SPDX-License-Identifier: Apache-2.0
/*
 * A pipe's capacity is counted as Linux counts it, in pages: each write fills the last page up when
 * it fits there whole, and takes new pages for the rest; a page counts until its last byte is read.
 * So a pipe is full, and a small write atomic, at the same places as on Linux. The bytes themselves
 * lie in one ring of as many bytes as there are pages for, so that a transfer is one or two copies.
 *
 * Invariants: slot_count <= slot_limit; consumed + size <= GUEST_PAGE_SIZE and size > 0 of each
 * slot in use; `bytes` is the sum of the sizes, so it never exceeds the ring.
 */
#include "kernel/fs/pipe.h"

#include "kernel/core/kernel.h"

#include <limits.h>
#include <sys/ioctl.h>

#define PIPE_SLOTS     16 /* pages of a new pipe: 64 KiB */
#define PIPE_SLOTS_MIN 2  /* of one that is made when the soft limit is reached */

struct slot {
    uint16_t consumed; /* bytes of this page that were read already */
    uint16_t size;     /* bytes that are left of it */
    bool packet;       /* O_DIRECT: read at most this page, drop the rest of it */
};

struct pipe {
    struct inode *inode; /* uncounted: each end's file counts it */
    bool anonymous;      /* from pipe(2): opening it again never waits */
    size_t ends;
    size_t readers, writers;
    uint64_t reader_opens, writer_opens; /* ever, so that a waiting open notices a short visit */
    struct waitq read_wait, write_wait, open_wait;

    char *ring; /* NULL until the first write */
    size_t head, bytes;
    struct slot *slots;
    size_t slot_limit, slot_first, slot_count;
};

/* file->private. */
struct pipe_end {
    struct pipe *pipe;
    bool waiting;        /* a blocking open that has not met the other side yet */
    uint64_t seen_opens; /* opens of the other side when this end was opened alone */
};

static size_t pages_total;

static size_t capacity_bytes(const struct pipe *p)
{
    return p->slot_limit * GUEST_PAGE_SIZE;
}

static struct slot *slot_at(const struct pipe *p, size_t i)
{
    return &p->slots[(p->slot_first + i) & (p->slot_limit - 1)];
}

static bool is_full(const struct pipe *p)
{
    return p->slot_count >= p->slot_limit;
}

/* ret: -ENFILE past the limit of all pipes together, or -ENOMEM. */
static int pipe_new(bool anonymous, struct pipe **ret)
{
    size_t slots = pages_total + PIPE_SLOTS > LIMIT_PIPE_PAGES_SOFT ? PIPE_SLOTS_MIN : PIPE_SLOTS;
    if (pages_total + slots > LIMIT_PIPE_PAGES)
        return -ENFILE;
    struct pipe *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->slots = calloc(slots, sizeof(*p->slots));
    if (!p->slots) {
        free(p);
        return -ENOMEM;
    }
    p->anonymous = anonymous;
    p->slot_limit = slots;
    pages_total += slots;
    waitq_init(&p->read_wait);
    waitq_init(&p->write_wait);
    waitq_init(&p->open_wait);
    *ret = p;
    return 0;
}

static void pipe_free(struct pipe *p)
{
    if (p->inode)
        p->inode->pipe = NULL;
    pages_total -= p->slot_limit;
    free(p->ring);
    free(p->slots);
    free(p);
}

static struct pipe_end *end_of(const struct file *f)
{
    return f->private;
}

/* ---- opening ---- */

static void add_end(struct pipe *p, const struct file *f)
{
    p->ends++;
    if (f->can_read) {
        p->readers++;
        p->reader_opens++;
    }
    if (f->can_write) {
        p->writers++;
        p->writer_opens++;
    }
}

/* fifo(7): the side that comes first waits for the other, unless it opens both or would not wait.
 */
static void decide_waiting(struct pipe_end *end, const struct file *f)
{
    const struct pipe *p = end->pipe;
    if (p->anonymous || (f->can_read && f->can_write))
        return;
    if (f->can_read && p->writers == 0) {
        end->seen_opens = p->writer_opens;
        end->waiting = !(f->flags & O_NONBLOCK);
    }
    if (f->can_write && p->readers == 0) {
        end->seen_opens = p->reader_opens;
        end->waiting = true;
    }
}

static int end_open(struct file *f)
{
    struct pipe *p = f->inode->pipe;
    if (f->private) /* pipe_create() has made the end */
        return 0;
    bool readers = p && p->readers > 0;
    bool only_writes = f->can_write && !f->can_read;
    if (only_writes && (f->flags & O_NONBLOCK) && !readers && !(p && p->anonymous))
        return -ENXIO;
    struct pipe_end *end = calloc(1, sizeof(*end));
    if (!end)
        return -ENOMEM;
    if (!p) {
        int r = pipe_new(false, &p);
        if (r < 0) {
            free(end);
            return r;
        }
        p->inode = f->inode;
        f->inode->pipe = p;
    }
    end->pipe = p;
    f->private = end;
    add_end(p, f);
    decide_waiting(end, f);
    waitq_wake(&p->open_wait, 0);
    return 0;
}

static void end_release(struct file *f)
{
    struct pipe_end *end = f->private;
    if (!end)
        return;
    struct pipe *p = end->pipe;
    f->private = NULL;
    free(end);
    if (f->can_read)
        p->readers--;
    if (f->can_write)
        p->writers--;
    if (--p->ends == 0) {
        pipe_free(p);
        return;
    }
    if ((p->readers == 0) != (p->writers == 0)) {
        waitq_wake(&p->read_wait, 0);
        waitq_wake(&p->write_wait, 0);
    }
}

bool pipe_open_is_complete(const struct file *f)
{
    if (f->ops != &pipe_file_ops)
        return true;
    struct pipe_end *end = end_of(f);
    const struct pipe *p = end->pipe;
    if (end->waiting && end->seen_opens == (f->can_read ? p->writer_opens : p->reader_opens))
        return false;
    end->waiting = false;
    return true;
}

int pipe_open_fifo(struct path path, int flags, uint64_t *state, struct file **ret)
{
    struct file *f = (struct file *)(uintptr_t)*state;
    if (!f) {
        int r = file_new(path, path.dentry->inode, flags, &pipe_file_ops, &f);
        if (r < 0)
            return r;
    }
    if (!pipe_open_is_complete(f)) {
        *state = (uintptr_t)f;
        return -EAGAIN;
    }
    *state = 0;
    *ret = f;
    return 0;
}

void pipe_open_cancel(uint64_t *state)
{
    struct file *f = (struct file *)(uintptr_t)*state;
    *state = 0;
    if (f)
        file_put(f);
}

struct waitq *pipe_open_queue(struct inode *i)
{
    return &((struct pipe *)i->pipe)->open_wait;
}

int pipe_create(int flags, struct file **ret_read, struct file **ret_write)
{
    struct file *reader, *writer;
    struct pipe *p;
    int r = pipe_new(true, &p);
    if (r < 0)
        return r;
    struct pipe_end *end = calloc(1, sizeof(*end));
    if (!end) {
        pipe_free(p);
        return -ENOMEM;
    }
    end->pipe = p;
    flags &= O_NONBLOCK | O_DIRECT;
    r = file_new_anonymous("pipe:[%llu]", S_IFIFO | 0600, O_RDONLY | (flags & O_NONBLOCK),
                           &pipe_file_ops, end, &reader);
    if (r < 0) {
        free(end);
        pipe_free(p);
        return r;
    }
    add_end(p, reader);
    p->inode = reader->inode;
    reader->inode->pipe = p;
    reader->inode->file_ops = &pipe_file_ops;
    r = file_new(reader->path, reader->inode, O_WRONLY | flags, &pipe_file_ops, &writer);
    if (r < 0) {
        file_put(reader);
        return r;
    }
    *ret_read = reader;
    *ret_write = writer;
    return 0;
}

/* ---- the ring ---- */

/* The longest piece that lies in one row from a place of the ring. */
static size_t ring_piece(const struct pipe *p, size_t at, size_t size)
{
    return MIN(size, capacity_bytes(p) - at);
}

static size_t ring_at(const struct pipe *p, size_t offset)
{
    return (p->head + offset) & (capacity_bytes(p) - 1);
}

/* Bytes copied to the reader, fewer than size at a bad address of its. */
static size_t ring_copy_out(const struct pipe *p, struct uio *u, size_t size)
{
    size_t piece = ring_piece(p, p->head, size);
    ssize_t n = uio_copy_out(u, p->ring + p->head, piece);
    if (n < (ssize_t)piece || piece == size)
        return n < 0 ? 0 : (size_t)n;
    n = uio_copy_out(u, p->ring, size - piece);
    return n < 0 ? piece : piece + (size_t)n;
}

/* The same from the writer, behind what is there. */
static size_t ring_copy_in(struct pipe *p, struct uio *u, size_t size)
{
    size_t at = ring_at(p, p->bytes);
    size_t piece = ring_piece(p, at, size);
    ssize_t n = uio_copy_in(u, p->ring + at, piece);
    if (n < (ssize_t)piece || piece == size)
        return n < 0 ? 0 : (size_t)n;
    n = uio_copy_in(u, p->ring, size - piece);
    return n < 0 ? piece : piece + (size_t)n;
}

/* Takes size bytes (no more than there are) off the front. */
static void take(struct pipe *p, size_t size)
{
    p->head = ring_at(p, size);
    p->bytes -= size;
    while (size > 0) {
        struct slot *s = slot_at(p, 0);
        size_t part = MIN(size, s->size);
        s->consumed += part;
        s->size -= part;
        size -= part;
        if (s->size == 0) {
            p->slot_first = (p->slot_first + 1) & (p->slot_limit - 1);
            p->slot_count--;
        }
    }
    if (p->bytes == 0)
        p->head = 0; /* a pipe with little in it touches little of its ring */
}

static void wake_writers(struct pipe *p, bool was_full)
{
    if (was_full && !is_full(p))
        waitq_wake(&p->write_wait, EPOLLOUT | EPOLLWRNORM);
}

/* ---- reading ---- */

/*
 * Bytes of the first slots that one copy can take: up to `room`, not across packets. A packet comes
 * alone.
 */
static size_t readable_run(const struct pipe *p, size_t room)
{
    size_t size = 0;
    for (size_t i = 0; i < p->slot_count && size < room; i++) {
        const struct slot *s = slot_at(p, i);
        if (s->packet && i > 0)
            break;
        size += MIN((size_t)s->size, room - size);
        if (s->packet)
            break;
    }
    return size;
}

/* The part of a copy of `copied` out of `wanted` bytes that ends with a whole slot. */
static size_t whole_slots(const struct pipe *p, size_t copied, size_t wanted)
{
    size_t size = 0;
    if (copied == wanted)
        return wanted;
    for (size_t i = 0; i < p->slot_count && size + slot_at(p, i)->size <= copied; i++)
        size += slot_at(p, i)->size;
    return size;
}

static ssize_t end_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct pipe *p = end_of(f)->pipe;
    ssize_t done = 0;
    if (u->left == 0)
        return 0;
    if (p->slot_count == 0)
        return p->writers ? -EAGAIN : 0;
    bool was_full = is_full(p);
    while (p->slot_count > 0 && u->left > 0) {
        struct slot *first = slot_at(p, 0);
        bool packet = first->packet;
        size_t wanted = readable_run(p, u->left);
        size_t copied = ring_copy_out(p, u, wanted);
        /* Linux takes a page off the pipe only when all that was wanted of it could be copied. */
        size_t taken = whole_slots(p, copied, wanted);
        done += (ssize_t)taken;
        if (packet && taken > 0)
            take(p, first->size);
        else
            take(p, taken);
        if (packet || taken < wanted)
            break;
    }
    wake_writers(p, was_full);
    return done > 0 ? done : -EFAULT;
}

/* ---- writing ---- */

/* Bytes of a write of `total` that go behind those in the last page: all that exceed whole pages.
 */
static size_t mergeable(const struct pipe *p, size_t total)
{
    size_t odd = total & (GUEST_PAGE_SIZE - 1);
    if (odd == 0 || p->slot_count == 0)
        return 0;
    const struct slot *last = slot_at(p, p->slot_count - 1);
    if (last->packet || last->consumed + last->size + odd > GUEST_PAGE_SIZE)
        return 0;
    return odd;
}

/* Notes that merge bytes went to the last page and the rest to new ones. */
static void put_slots(struct pipe *p, size_t size, size_t merge, bool packet)
{
    if (merge > 0)
        slot_at(p, p->slot_count - 1)->size += merge;
    for (size_t left = size - merge; left > 0;) {
        size_t part = MIN(left, GUEST_PAGE_SIZE);
        *slot_at(p, p->slot_count++) = (struct slot){.size = part, .packet = packet};
        left -= part;
    }
    p->bytes += size;
}

/* Bytes, -EAGAIN when nothing fits (a write of up to PIPE_BUF: unless all fits), -EFAULT, -ENOMEM.
 */
static ssize_t put(struct pipe *p, struct uio *u, bool packet)
{
    size_t total = u->left;
    size_t merge = mergeable(p, total);
    size_t pages = (p->slot_limit - p->slot_count) * GUEST_PAGE_SIZE;
    size_t wanted = merge + MIN(total - merge, pages);
    if (wanted == 0)
        return -EAGAIN;
    if (!p->ring) {
        p->ring = malloc(capacity_bytes(p));
        if (!p->ring)
            return -ENOMEM;
    }
    size_t copied = ring_copy_in(p, u, wanted);
    if (copied < wanted) {
        /* A page that could not be filled whole is not written: see pipe_write() of Linux. */
        if (copied < merge)
            return -EFAULT;
        wanted = merge + ((copied - merge) & ~(GUEST_PAGE_SIZE - 1));
        if (wanted == 0)
            return -EFAULT;
    }
    put_slots(p, wanted, merge, packet);
    waitq_wake(&p->read_wait, EPOLLIN | EPOLLRDNORM);
    return (ssize_t)wanted;
}

static ssize_t end_write(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct pipe *p = end_of(f)->pipe;
    if (u->left == 0)
        return 0;
    if (p->readers == 0)
        return -EPIPE;
    ssize_t n = put(p, u, f->flags & O_DIRECT);
    if (n > 0)
        inode_touch_modified(f->inode);
    return n;
}

static uint32_t end_poll(struct file *f, struct poll_table *table)
{
    const struct pipe_end *end = end_of(f);
    struct pipe *p = end->pipe;
    uint32_t events = 0;
    if (f->can_read) {
        poll_table_add(table, &p->read_wait);
        if (p->slot_count > 0)
            events |= EPOLLIN | EPOLLRDNORM;
        /* One that was opened without waiting sees no hang-up before there was a writer. */
        if (p->writers == 0 && end->seen_opens != p->writer_opens)
            events |= EPOLLHUP;
    }
    if (f->can_write) {
        poll_table_add(table, &p->write_wait);
        if (!is_full(p))
            events |= EPOLLOUT | EPOLLWRNORM;
        if (p->readers == 0)
            events |= EPOLLERR;
    }
    return events;
}

static long end_ioctl(struct file *f, struct call *c, unsigned request, struct gaddr argument)
{
    if (request != FIONREAD)
        return -ENOTTY;
    int bytes = (int)end_of(f)->pipe->bytes;
    return call_write(c, argument, &bytes, sizeof(bytes));
}

const struct file_ops pipe_file_ops = {
    .open = end_open,
    .release = end_release,
    .read = end_read,
    .write = end_write,
    .poll = end_poll,
    .ioctl = end_ioctl,
    .stream = true,
    .write_all = true,
    .tells_by_signal = true,
};

/* ---- for fcntl and splice ---- */

struct pipe *pipe_of(const struct file *f)
{
    return f->ops == &pipe_file_ops ? end_of(f)->pipe : NULL;
}

long pipe_size(struct pipe *p)
{
    return (long)capacity_bytes(p);
}

static size_t slots_for(size_t bytes)
{
    size_t slots = 1;
    while (slots * GUEST_PAGE_SIZE < bytes)
        slots *= 2;
    return slots;
}

long pipe_set_size(struct pipe *p, size_t bytes, bool privileged)
{
    if (bytes > (1u << 31))
        return -EINVAL;
    size_t slots = slots_for(bytes);
    if (slots > p->slot_limit) {
        size_t total = pages_total - p->slot_limit + slots;
        if (!privileged && (bytes > LIMIT_PIPE_BYTES || total > LIMIT_PIPE_PAGES_SOFT))
            return -EPERM;
        if (total > LIMIT_PIPE_PAGES)
            return -EPERM;
    }
    if (slots < p->slot_count)
        return -EBUSY;
    _cleanup_free_ struct slot *new_slots = calloc(slots, sizeof(*new_slots));
    if (!new_slots)
        return -ENOMEM;
    char *ring = NULL;
    if (p->bytes > 0) {
        ring = malloc(slots * GUEST_PAGE_SIZE);
        if (!ring)
            return -ENOMEM;
        pipe_peek(p, 0, ring, p->bytes);
    }
    for (size_t i = 0; i < p->slot_count; i++)
        new_slots[i] = *slot_at(p, i);
    free(p->ring);
    free(p->slots);
    p->ring = ring;
    p->slots = TAKE_PTR(new_slots);
    pages_total += slots - p->slot_limit;
    bool was_full = is_full(p);
    p->slot_limit = slots;
    p->slot_first = p->head = 0;
    wake_writers(p, was_full);
    return pipe_size(p);
}

size_t pipe_readable_bytes(const struct pipe *p)
{
    return p->bytes;
}

size_t pipe_writable_bytes(const struct pipe *p)
{
    return (p->slot_limit - p->slot_count) * GUEST_PAGE_SIZE;
}

bool pipe_has_writer(const struct pipe *p)
{
    return p->writers > 0;
}

bool pipe_has_reader(const struct pipe *p)
{
    return p->readers > 0;
}

size_t pipe_peek(const struct pipe *p, size_t offset, void *data, size_t size)
{
    if (offset >= p->bytes)
        return 0;
    size = MIN(size, p->bytes - offset);
    size_t at = ring_at(p, offset);
    size_t piece = ring_piece(p, at, size);
    memcpy(data, p->ring + at, piece);
    memcpy((char *)data + piece, p->ring, size - piece);
    return size;
}

void pipe_consume(struct pipe *p, size_t size)
{
    bool was_full = is_full(p);
    take(p, MIN(size, p->bytes));
    wake_writers(p, was_full);
}

ssize_t pipe_append(struct pipe *p, const void *data, size_t size)
{
    struct uio u;
    if (p->readers == 0)
        return -EPIPE;
    if (size == 0)
        return 0;
    uio_init_kernel(&u, (void *)data, size);
    return put(p, &u, false);
}
