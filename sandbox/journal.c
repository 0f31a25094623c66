// SPDX-License-Identifier: Apache-2.0
#include "sandbox/journal.h"

#include "sandbox/exec_messages.h"

#include <time.h>

/* A program that writes a byte at a time is not to cost a piece of memory for each. */
#define ENTRY_MIN_BYTES 512
#define LINE_MIN_BYTES  64
/* Of one piece, so that what is driven out is not all at once. */
#define ENTRY_MAX_BYTES 16384
/* Pieces are half empty where programs take turns. */
#define MEMORY_MAX_BYTES (2 * (size_t)JOURNAL_KEPT_BYTES)
/* Bytes that come so soon behind others are of the same piece, and of its time. Those who go on
 * behind the latest time that they have seen are not to miss a line that was written later. */
#define SAME_PIECE_NS NSEC_PER_SEC
#define SAME_TIME_NS  NSEC_PER_MSEC

struct entry {
    struct list link;
    struct journal_head head;
    size_t capacity; /* of the bytes, behind the tag */
    char text[];
};

void journal_init(struct journal *j)
{
    *j = (struct journal){0};
    list_init(&j->entries);
}

static size_t memory_of(const struct entry *e)
{
    return sizeof(*e) + e->head.tag_size + e->capacity;
}

static void drop_first(struct journal *j)
{
    struct entry *e = list_first(&j->entries, struct entry, link);
    j->memory -= memory_of(e);
    list_remove(&e->link);
    free(e);
    e = list_first(&j->entries, struct entry, link);
    j->start = e ? e->head.offset : j->end;
}

void journal_done(struct journal *j)
{
    while (!list_is_empty(&j->entries))
        drop_first(j);
}

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* The last one, if it has room for what comes now. */
static struct entry *last_of(const struct journal *j, const struct journal_source *from,
                             int64_t now)
{
    if (list_is_empty(&j->entries))
        return NULL;
    struct entry *e = container_of(j->entries.prev, struct entry, link);
    const struct journal_head *h = &e->head;
    bool is_same = h->pid == from->pid && h->stream == from->stream &&
                   h->tag_size == strlen(from->tag) && !memcmp(e->text, from->tag, h->tag_size);
    bool is_at_end = is_same && h->offset + h->size == j->end && h->size < e->capacity;
    if (!is_at_end)
        return NULL;
    bool is_line = e->text[h->tag_size + h->size - 1] == '\n';
    bool is_now = is_line ? h->time_ns / SAME_TIME_NS == now / SAME_TIME_NS
                          : now - h->time_ns < SAME_PIECE_NS;
    return is_now ? e : NULL;
}

/* is_whole: it ends with a line. */
static struct entry *add(struct journal *j, const struct journal_source *from, int64_t now,
                         size_t size, bool is_whole)
{
    size_t tag = strlen(from->tag);
    size_t capacity = MAX(size, is_whole ? (size_t)LINE_MIN_BYTES : (size_t)ENTRY_MIN_BYTES);
    struct entry *e = tag <= JOURNAL_TAG_MAX ? malloc(sizeof(*e) + tag + capacity) : NULL;
    if (!e)
        return NULL;
    *e = (struct entry){.head = {.time_ns = now,
                                 .offset = j->end,
                                 .pid = from->pid,
                                 .stream = from->stream,
                                 .tag_size = (uint32_t)tag},
                        .capacity = capacity};
    memcpy(e->text, from->tag, tag);
    list_append(&j->entries, &e->link);
    j->memory += memory_of(e);
    return e;
}

/* How much of it went into one piece. */
static size_t append_some(struct journal *j, const struct journal_source *from, const char *data,
                          size_t size)
{
    int64_t now = now_ns();
    struct entry *e = last_of(j, from, now);
    size_t part = MIN(size, (size_t)ENTRY_MAX_BYTES);
    if (!e)
        e = add(j, from, now, part, data[part - 1] == '\n');
    if (e) {
        part = MIN(part, e->capacity - e->head.size);
        memcpy(e->text + e->head.tag_size + e->head.size, data, part);
        e->head.size += (uint32_t)part;
    }
    j->end += part;
    return part;
}

void journal_append(struct journal *j, const struct journal_source *from, const char *data,
                    size_t size)
{
    /* More than is kept need not be copied. */
    if (size > JOURNAL_KEPT_BYTES) {
        j->end += size - JOURNAL_KEPT_BYTES;
        data += size - JOURNAL_KEPT_BYTES;
        size = JOURNAL_KEPT_BYTES;
    }
    while (size > 0) {
        size_t part = append_some(j, from, data, size);
        data += part;
        size -= part;
        while (!list_is_empty(&j->entries) &&
               (j->end - j->start > JOURNAL_KEPT_BYTES || j->memory > MEMORY_MAX_BYTES))
            drop_first(j);
    }
}

static struct journal_piece piece_of(const struct entry *e, uint64_t offset)
{
    struct journal_piece p = {.head = e->head, .tag = e->text};
    size_t skipped = (size_t)(offset - e->head.offset);
    p.head.offset = offset;
    p.head.size -= (uint32_t)skipped;
    p.data = e->text + e->head.tag_size + skipped;
    return p;
}

bool journal_at(const struct journal *j, uint64_t *offset, struct journal_piece *ret)
{
    const struct entry *e;
    list_for_each(e, &j->entries, link)
    {
        if (*offset < e->head.offset + e->head.size) {
            *offset = MAX(*offset, e->head.offset);
            *ret = piece_of(e, *offset);
            return true;
        }
    }
    return false;
}

void journal_write(const struct journal *j, struct buf *b, size_t max)
{
    const struct list *at = j->entries.prev;
    size_t size = 0;
    for (; at != &j->entries; at = at->prev) {
        const struct entry *e = container_of(at, struct entry, link);
        size_t own = sizeof(e->head) + e->head.tag_size + e->head.size;
        if (size + own > max)
            break;
        size += own;
    }
    for (at = at->next; at != &j->entries; at = at->next) {
        const struct entry *e = container_of(at, struct entry, link);
        buf_append(b, &e->head, sizeof(e->head));
        buf_append(b, e->text, e->head.tag_size + e->head.size);
    }
}

size_t journal_read(const char *text, size_t size, struct journal_piece *ret)
{
    struct journal_piece p;
    if (size < sizeof(p.head))
        return 0;
    memcpy(&p.head, text, sizeof(p.head));
    size -= sizeof(p.head);
    bool is_fine = p.head.tag_size <= JOURNAL_TAG_MAX && p.head.size > 0 &&
                   p.head.tag_size <= size && p.head.size <= size - p.head.tag_size &&
                   p.head.pid >= 0 && (p.head.stream == EXEC_OUT || p.head.stream == EXEC_ERR);
    if (!is_fine)
        return 0;
    p.tag = text + sizeof(p.head);
    p.data = p.tag + p.head.tag_size;
    *ret = p;
    return sizeof(p.head) + p.head.tag_size + p.head.size;
}
