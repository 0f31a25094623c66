// SPDX-License-Identifier: Apache-2.0
#include "lib/text/capture.h"

#include "lib/text/utf8.h"

#include <inttypes.h>

void text_capture_init(struct text_capture *c, size_t limit_bytes)
{
    size_t tail_max = limit_bytes / 2;
    *c = (struct text_capture){.head = BUF_INIT(limit_bytes - tail_max), .tail_max = tail_max};
}

void text_capture_done(struct text_capture *c)
{
    buf_done(&c->head);
    free(c->tail);
    c->tail = NULL;
}

/* size is at most tail_max. */
static void tail_write(struct text_capture *c, const char *data, size_t size)
{
    size_t at = c->tail_total % c->tail_max;
    size_t first = MIN(size, c->tail_max - at);
    memcpy(c->tail + at, data, first);
    memcpy(c->tail, data + first, size - first);
    c->tail_total += size;
}

void text_capture_take(struct text_capture *c, const char *data, size_t size)
{
    c->total_bytes += size;
    size_t to_head = MIN(size, c->head.max_bytes - c->head.size);
    if (buf_append(&c->head, data, to_head) < 0)
        c->is_failed = true;
    data += to_head;
    size -= to_head;
    if (size == 0 || c->tail_max == 0 || c->is_failed)
        return;
    if (!c->tail)
        c->tail = malloc(c->tail_max);
    if (!c->tail) {
        c->is_failed = true;
        return;
    }
    while (size > 0) {
        size_t piece = MIN(size, c->tail_max);
        tail_write(c, data, piece);
        data += piece;
        size -= piece;
    }
}

/* The ring, in order. */
static void append_tail(const struct text_capture *c, struct buf *b)
{
    if (c->tail_total <= c->tail_max) {
        buf_append(b, c->tail, (size_t)c->tail_total);
        return;
    }
    size_t start = c->tail_total % c->tail_max;
    buf_append(b, c->tail + start, c->tail_max - start);
    buf_append(b, c->tail, start);
}

int text_capture_end(struct text_capture *c, struct text_excerpt *ret)
{
    struct text_excerpt e = {.total_bytes = c->total_bytes, .kept = c->head};
    c->head = BUF_INIT(c->head.max_bytes);
    e.kept.max_bytes += c->tail_max;
    e.gap_at = e.kept.size;
    bool is_cut = e.kept.size + MIN(c->tail_total, (uint64_t)c->tail_max) < c->total_bytes;
    if (is_cut) {
        e.gap_at -= text_utf8_cut_end(e.kept.data, e.gap_at);
        e.kept.size = e.gap_at;
    }
    append_tail(c, &e.kept);
    bool is_failed = c->is_failed || e.kept.failed;
    text_capture_done(c);
    if (is_failed) {
        text_excerpt_done(&e);
        return -ENOMEM;
    }
    if (is_cut) {
        size_t cut = text_utf8_cut_start(e.kept.data + e.gap_at, e.kept.size - e.gap_at);
        e.kept.size -= cut;
        memmove(e.kept.data + e.gap_at, e.kept.data + e.gap_at + cut, e.kept.size - e.gap_at);
    }
    e.omitted_bytes = e.total_bytes - e.kept.size;
    *ret = e;
    return 0;
}

void text_excerpt_done(struct text_excerpt *e)
{
    buf_done(&e->kept);
}

void text_excerpt_append_gap(const struct text_excerpt *e, struct buf *b)
{
    if (e->omitted_bytes > 0)
        buf_printf(b, "\n[... %" PRIu64 " bytes left out ...]\n", e->omitted_bytes);
}

void text_excerpt_append_valid(const struct text_excerpt *e, struct buf *b)
{
    size_t head_size = e->omitted_bytes > 0 ? e->gap_at : e->kept.size;
    text_utf8_append_valid(b, e->kept.data, head_size);
    text_excerpt_append_gap(e, b);
    text_utf8_append_valid(b, e->kept.data + head_size, e->kept.size - head_size);
}
