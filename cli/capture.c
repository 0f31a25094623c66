// SPDX-License-Identifier: Apache-2.0
#include "cli/capture.h"

#include <inttypes.h>

/* Three bytes for each that is not valid, and the line in the middle. */
#define TEXT_MAX_BYTES (3 * (CAPTURE_HEAD_BYTES + CAPTURE_TAIL_BYTES) + 128)
#define REPLACEMENT    "\xef\xbf\xbd"

void capture_init(struct capture *c)
{
    *c = (struct capture){.head = BUF_INIT(CAPTURE_HEAD_BYTES)};
}

void capture_done(struct capture *c)
{
    buf_done(&c->head);
    free(c->tail);
    c->tail = NULL;
}

/* size is at most CAPTURE_TAIL_BYTES. */
static void tail_write(struct capture *c, const char *data, size_t size)
{
    size_t at = c->tail_total % CAPTURE_TAIL_BYTES;
    size_t first = MIN(size, CAPTURE_TAIL_BYTES - at);
    memcpy(c->tail + at, data, first);
    memcpy(c->tail, data + first, size - first);
    c->tail_total += size;
}

void capture_take(void *capture, const char *data, size_t size)
{
    struct capture *c = capture;
    c->total_bytes += size;
    size_t to_head = MIN(size, CAPTURE_HEAD_BYTES - c->head.size);
    if (buf_append(&c->head, data, to_head) < 0)
        c->failed = true;
    data += to_head;
    size -= to_head;
    if (size == 0 || c->failed)
        return;
    if (!c->tail)
        c->tail = malloc(CAPTURE_TAIL_BYTES);
    if (!c->tail) {
        c->failed = true;
        return;
    }
    while (size > 0) {
        size_t piece = MIN(size, (size_t)CAPTURE_TAIL_BYTES);
        tail_write(c, data, piece);
        data += piece;
        size -= piece;
    }
}

/*
 * Bytes of the UTF-8 sequence at the start of data (Unicode 15, table 3-7): 1 to 4, 0 when it is
 * not valid, or -1 when it is the beginning of a valid one that size cuts off.
 */
static int utf8_sequence(const unsigned char *data, size_t size)
{
    unsigned char c = data[0], low = 0x80, high = 0xbf;
    int length;
    if (c < 0x80)
        return 1;
    if (c < 0xc2 || c > 0xf4)
        return 0;
    length = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (c == 0xe0)
        low = 0xa0; /* no overlong forms */
    else if (c == 0xed)
        high = 0x9f; /* no surrogates */
    else if (c == 0xf0)
        low = 0x90;
    else if (c == 0xf4)
        high = 0x8f; /* nothing past U+10FFFF */
    for (int i = 1; i < length; i++) {
        if ((size_t)i >= size)
            return -1;
        if (data[i] < low || data[i] > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return length;
}

static void append_text(struct buf *b, const char *data, size_t size)
{
    size_t at = 0;
    while (at < size) {
        int length = utf8_sequence((const unsigned char *)data + at, size - at);
        if (length > 0)
            buf_append(b, data + at, (size_t)length);
        else
            buf_append_str(b, REPLACEMENT);
        at += length > 0 ? (size_t)length : 1;
    }
}

/* How many bytes at the end of data are a character that was cut in two. */
static size_t cut_end(const char *data, size_t size)
{
    for (size_t i = 1; i <= MIN(size, (size_t)3); i++) {
        const unsigned char *start = (const unsigned char *)data + size - i;
        if ((*start & 0xc0) != 0x80)
            return utf8_sequence(start, i) < 0 ? i : 0;
    }
    return 0;
}

/* How many bytes at the start may be the rest of such a character. */
static size_t cut_start(const char *data, size_t size)
{
    size_t i = 0;
    while (i < MIN(size, (size_t)3) && ((unsigned char)data[i] & 0xc0) == 0x80)
        i++;
    return i;
}

/* The ring in order, in memory of its own. */
static char *copy_tail(const struct capture *c, size_t *ret_size)
{
    size_t size = (size_t)MIN(c->tail_total, (uint64_t)CAPTURE_TAIL_BYTES);
    size_t start = c->tail_total > CAPTURE_TAIL_BYTES ? c->tail_total % CAPTURE_TAIL_BYTES : 0;
    char *copy = malloc(size + 1);
    if (!copy)
        return NULL;
    memcpy(copy, c->tail + start, size - start);
    memcpy(copy + size - start, c->tail, start);
    *ret_size = size;
    return copy;
}

int capture_text(const struct capture *c, struct buf *ret, bool *ret_truncated)
{
    _cleanup_free_ char *tail = NULL;
    size_t head_size = c->head.size, tail_size = 0, tail_start = 0;
    *ret = BUF_INIT(TEXT_MAX_BYTES);
    if (c->tail) {
        tail = copy_tail(c, &tail_size);
        if (!tail)
            return -ENOMEM;
    }
    bool truncated = head_size + tail_size < c->total_bytes;
    if (truncated) {
        head_size -= cut_end(c->head.data, head_size);
        tail_start = tail ? cut_start(tail, tail_size) : 0;
        append_text(ret, c->head.data, head_size);
        buf_printf(ret, "\n[... %" PRIu64 " bytes left out ...]\n",
                   c->total_bytes - head_size - (tail_size - tail_start));
        append_text(ret, tail + tail_start, tail_size - tail_start);
    } else if (tail) {
        /* A character may lie across the border. */
        struct buf whole = BUF_INIT(CAPTURE_HEAD_BYTES + CAPTURE_TAIL_BYTES);
        buf_append(&whole, c->head.data, head_size);
        buf_append(&whole, tail, tail_size);
        if (whole.failed)
            ret->failed = true;
        else
            append_text(ret, whole.data, whole.size);
        buf_done(&whole);
    } else {
        append_text(ret, c->head.data, head_size);
    }
    if (ret->failed) {
        buf_done(ret);
        return -ENOMEM;
    }
    *ret_truncated = truncated;
    return 0;
}
