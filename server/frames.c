// SPDX-License-Identifier: Apache-2.0
#include "server/frames.h"

#include <stdio.h>

enum fit { NO_FRAME, PART_OF_A_FRAME, WHOLE_FRAME };

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What data, which begins with an escape, is; of a whole one its payload. */
static enum fit look(const struct frames *f, const char *data, size_t size, size_t *ret_payload)
{
    char start[2 + FRAME_MARK_SIZE] = {'\033', '_'};
    size_t payload = 0;
    if (!f->mark[0])
        return NO_FRAME;
    memcpy(start + 2, f->mark, FRAME_MARK_SIZE);
    if (memcmp(data, start, MIN(size, sizeof(start))) != 0)
        return NO_FRAME;
    if (size > sizeof(start) && !memchr("=<+>", data[sizeof(start)], 4))
        return NO_FRAME;
    for (size_t i = sizeof(start) + 1; i < MIN(size, (size_t)FRAME_HEAD_BYTES); i++) {
        int digit = hex_digit(data[i]);
        if (digit < 0)
            return NO_FRAME;
        payload = payload << 4 | (size_t)digit;
    }
    if (size < FRAME_HEAD_BYTES)
        return PART_OF_A_FRAME;
    if (payload > FRAME_PAYLOAD_MAX)
        return NO_FRAME;
    *ret_payload = payload;
    return size < FRAME_HEAD_BYTES + payload ? PART_OF_A_FRAME : WHOLE_FRAME;
}

static void forget_message(struct frames *f)
{
    buf_done(&f->message);
    f->message = BUF_INIT(FRAMES_MESSAGE_MAX_BYTES);
    f->has_begun = false;
}

static void take_frame(struct frames *f, char kind, const char *payload, size_t size)
{
    if (kind == '=' || kind == '<') {
        forget_message(f); /* one that was interrupted is never ended */
        f->has_begun = true;
    }
    if (!f->has_begun)
        return;
    buf_append(&f->message, payload, size);
    if (kind != '=' && kind != '>')
        return;
    struct buf message = f->message;
    f->message = BUF_INIT(FRAMES_MESSAGE_MAX_BYTES);
    f->has_begun = false;
    f->said(f->userdata, message.failed ? NULL : message.data ? message.data : "", message.size);
    buf_done(&message);
}

static void take_text(struct frames *f, const char *data, size_t size)
{
    if (size)
        f->text(f->userdata, data, size);
}

/* How much of data is dealt with; what is left may be the beginning of a frame. */
static size_t take_some(struct frames *f, const char *data, size_t size)
{
    size_t text = 0, at = 0, payload;
    while (at < size) {
        const char *escape = memchr(data + at, '\033', size - at);
        if (!escape) {
            at = size;
            break;
        }
        at = (size_t)(escape - data);
        enum fit fit = look(f, escape, size - at, &payload);
        if (fit == NO_FRAME) {
            at++;
            continue;
        }
        take_text(f, data + text, at - text);
        if (fit == PART_OF_A_FRAME)
            return at;
        take_frame(f, escape[FRAME_HEAD_BYTES - 5], escape + FRAME_HEAD_BYTES, payload);
        text = at += FRAME_HEAD_BYTES + payload;
    }
    take_text(f, data + text, at - text);
    return at;
}

void frames_take(struct frames *f, const char *data, size_t size)
{
    /* What is held is one beginning: bytes are added until it is decided. */
    while (f->held_size && size) {
        size_t more = MIN(size, sizeof(f->held) - f->held_size);
        memcpy(f->held + f->held_size, data, more);
        size_t all = f->held_size + more;
        f->held_size = 0;
        size_t taken = take_some(f, f->held, all);
        data += more;
        size -= more;
        memmove(f->held, f->held + taken, all - taken);
        f->held_size = all - taken;
    }
    size_t taken = take_some(f, data, size);
    memcpy(f->held + f->held_size, data + taken, size - taken);
    f->held_size += size - taken;
}

void frames_begin(struct frames *f, const char *mark)
{
    take_text(f, f->held, f->held_size);
    f->held_size = 0;
    forget_message(f);
    snprintf(f->mark, sizeof(f->mark), "%s", mark ? mark : "");
}

void frames_drop(struct frames *f)
{
    buf_done(&f->message);
    f->message.failed = true;
}

void frames_done(struct frames *f)
{
    buf_done(&f->message);
}
