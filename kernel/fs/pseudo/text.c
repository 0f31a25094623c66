// SPDX-License-Identifier: Apache-2.0
/*
 * Reading and writing of generated text. A file that has been read owns a struct text; all of them
 * are on one list, oldest first, so that a guest that opens many large files costs
 * LIMIT_PSEUDO_BYTES and not more.
 *
 * Of a text in parts it has one, which begins at `start`, and what `more` needs to go on: also when
 * the part is dropped, so that many who look for far places at once all get there. What lies before
 * `start` is made from the beginning, again a part at a time.
 */
#include "kernel/fs/pseudo/pseudo.h"

#include "kernel/core/kernel.h"

struct text {
    struct buf buf;
    struct list age_link;
    size_t counted; /* what it adds to text_bytes */
    /* Of one in parts: */
    size_t start;
    bool is_last;
    void *state;
};

/* How long one look makes parts before others get their turn. */
#define LOOK_NS NSEC_PER_MSEC

static struct list texts = {&texts, &texts};
static size_t text_bytes;

size_t pseudo_text_bytes(void)
{
    return text_bytes;
}

static void text_drop(struct text *t)
{
    list_remove(&t->age_link);
    text_bytes -= t->counted;
    t->counted = 0;
    t->start += t->buf.size;
    buf_done(&t->buf);
}

static void text_keep(struct text *t)
{
    t->counted = t->buf.capacity;
    text_bytes += t->counted;
    list_append(&texts, &t->age_link);
    while (text_bytes > LIMIT_PSEUDO_BYTES) {
        struct text *oldest = list_first(&texts, struct text, age_link);
        if (oldest == t)
            return;
        text_drop(oldest);
    }
}

static int text_fill(const struct pseudo_node *n, struct text *t, int flags)
{
    if (n->entry->more)
        return n->entry->more(n, &t->state, flags & READ_IN_PARTS, &t->buf);
    return n->entry->show ? n->entry->show(n, &t->buf) : buf_append_str(&t->buf, n->entry->text);
}

static int text_make(const struct pseudo_node *n, struct text *t, int flags)
{
    text_drop(t);
    int r = text_fill(n, t, flags);
    if (r >= 0 && t->buf.failed)
        r = -ENOMEM;
    t->is_last = r != READ_WAITS && (r <= 0 || !n->entry->more);
    if (r < 0) {
        buf_done(&t->buf);
        return r;
    }
    /* An empty text has no memory yet; without any it would be made again by each read. */
    if (!t->buf.data && buf_append(&t->buf, "", 0) < 0)
        return -ENOMEM;
    text_keep(t);
    return 0;
}

static int text_open(struct file *f)
{
    const struct pseudo_node *n = f->inode->private;
    if (f->can_write && !n->entry->store)
        return -EACCES;
    return n->entry->check ? n->entry->check(n) : 0;
}

static void text_forget(const struct pseudo_node *n, struct text *t)
{
    text_drop(t);
    if (t->state)
        n->entry->forget(t->state);
    t->state = NULL;
    t->start = 0;
}

/* Makes the part that *pos is in. 0, READ_GOES_ON, READ_WAITS or -errno. */
static int text_move_to(const struct pseudo_node *n, struct text *t, size_t pos, int flags)
{
    int64_t until_ns = 0;
    if (pos < t->start || (pos == 0 && t->buf.data))
        text_forget(n, t);
    while (!t->buf.data || (pos >= t->start + t->buf.size && !t->is_last)) {
        if (until_ns == 0)
            until_ns = clock_monotonic_ns() + LOOK_NS;
        else if ((flags & READ_IN_PARTS) && clock_monotonic_ns() >= until_ns)
            return READ_GOES_ON;
        /* Behind the last part there is none: one that was dropped is found again. */
        if (!t->buf.data && t->is_last)
            text_forget(n, t);
        int r = text_make(n, t, flags);
        if (r < 0)
            return r;
    }
    return 0;
}

static void text_release(struct file *f)
{
    struct text *t = f->private;
    if (!t)
        return;
    text_forget(f->inode->private, t);
    free(t);
    f->private = NULL;
}

static ssize_t text_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    const struct pseudo_node *n = f->inode->private;
    struct text *t = f->private;
    if (!n->entry->show && !n->entry->more && !n->entry->text)
        return -EINVAL;
    if (!t) {
        t = calloc(1, sizeof(*t));
        if (!t)
            return -ENOMEM;
        list_init(&t->age_link);
        t->buf = BUF_INIT(PSEUDO_TEXT_MAX);
        f->private = t;
    }
    int r = text_move_to(n, t, (size_t)*pos, flags);
    if (r < 0)
        return r;
    size_t skipped = (size_t)*pos - t->start;
    if (skipped >= t->buf.size)
        return 0;
    size_t size = MIN(t->buf.size - skipped, u->left);
    ssize_t copied = uio_copy_out(u, t->buf.data + skipped, size);
    if (copied > 0)
        *pos += copied;
    return copied;
}

static ssize_t text_write(struct file *f, struct uio *u, off_t *pos, int flags)
{
    const struct pseudo_node *n = f->inode->private;
    char text[PSEUDO_WRITE_MAX + 1];
    if (!n->entry->store)
        return -EPERM;
    if (u->left > PSEUDO_WRITE_MAX)
        return -EINVAL;
    if (u->left == 0)
        return 0;
    ssize_t size = uio_copy_in(u, text, u->left);
    if (size < 0)
        return size;
    text[size] = '\0';
    int r = n->entry->store(n, text, (size_t)size);
    if (r < 0)
        return r;
    *pos += size;
    return size;
}

static off_t text_lseek(struct file *f, off_t offset, int whence)
{
    if (whence == SEEK_CUR) {
        if (__builtin_add_overflow(f->pos, offset, &offset))
            return -EINVAL;
    } else if (whence != SEEK_SET) {
        return -EINVAL;
    }
    if (offset < 0)
        return -EINVAL;
    f->pos = offset;
    return offset;
}

/* Readable at any time; EPOLLPRI and EPOLLERR would tell of a change. */
static uint32_t text_poll(struct file *f, struct poll_table *table)
{
    return EPOLLIN | EPOLLRDNORM;
}

#define TEXT_OPS                                                                        \
    .open = text_open, .release = text_release, .read = text_read, .write = text_write, \
    .lseek = text_lseek

const struct file_ops pseudo_text_ops = {TEXT_OPS};
const struct file_ops pseudo_apart_text_ops = {TEXT_OPS, .reads_apart = true, .writes_apart = true};
const struct file_ops pseudo_polled_text_ops = {TEXT_OPS, .poll = text_poll};
