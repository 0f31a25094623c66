// SPDX-License-Identifier: Apache-2.0
#include "lib/text/shown.h"

#include "lib/text/sgr.h"
#include "lib/text/unseen.h"

#include <inttypes.h>
#include <stdio.h>

#define ESC 0x1b
#define BEL 0x07
#define DEL 0x7f
#define DCS 0x90
#define SOS 0x98
#define CSI 0x9b
#define ST  0x9c
#define OSC 0x9d
#define PM  0x9e
#define APC 0x9f

#define REPLACEMENT 0xfffd
#define PIECE_BYTES 1024

const struct text_style text_style_terminal = {
    .sequences = TEXT_SEQUENCES_COLOURS,
    .is_rewritten = true,
    .line_max_bytes = 64 * 1024,
};

const struct text_style text_style_plain = {.sequences = TEXT_SEQUENCES_SHOWN};

const struct text_style text_style_model = {
    .sequences = TEXT_SEQUENCES_REMOVED,
    .line_max_bytes = 4 * 1024,
};

static const struct text_style style_line = {
    .sequences = TEXT_SEQUENCES_SHOWN,
    .is_one_line = true,
};

/* One unit of the input. */
struct item {
    uint32_t code;
    enum { ITEM_CHARACTER, ITEM_C1_BYTE, ITEM_ILL_FORMED } kind;
    const char *bytes;
    size_t size;
};

void text_shown_init(struct text_shown *s, const struct text_style *style)
{
    memset(s, 0, sizeof(*s));
    s->style = style;
}

static void put(struct text_shown *s, const char *text, size_t size)
{
    memcpy(s->out + s->out_size, text, size);
    s->out_size += size;
}

static void put_str(struct text_shown *s, const char *text)
{
    put(s, text, strlen(text));
}

static void end_colours(struct text_shown *s)
{
    if (s->is_coloured)
        put_str(s, "\x1b[0m");
    s->is_coloured = false;
}

/* Text that stands for used bytes of the input. */
static void show(struct text_shown *s, const char *text, size_t size, size_t used)
{
    size_t max = s->style->line_max_bytes;
    if (max && s->cut_bytes == 0 && s->line_bytes + size > max) {
        end_colours(s);
        put_str(s, " [...");
        s->cut_bytes = used;
    } else if (s->cut_bytes > 0) {
        s->cut_bytes += used;
    } else {
        put(s, text, size);
        s->line_bytes += size;
    }
}

static void end_line(struct text_shown *s)
{
    char text[64];
    if (s->cut_bytes > 0) {
        int size = snprintf(text, sizeof(text), " %" PRIu64 " bytes of this line left out ...]",
                            s->cut_bytes);
        put(s, text, (size_t)size);
    }
    s->omitted_bytes += s->cut_bytes;
    s->cut_bytes = 0;
    s->line_bytes = 0;
    s->last = 0;
}

static void show_escape(struct text_shown *s, char letter, int digits, uint32_t code, size_t used)
{
    static const char hex[] = "0123456789abcdef";
    char text[10] = {'\\', letter};
    for (int i = 0; i < digits; i++)
        text[1 + digits - i] = hex[code >> (4 * i) & 15];
    show(s, text, (size_t)digits + 2, used);
    s->last = 0;
}

static void show_hidden(struct text_shown *s, uint32_t code, size_t used)
{
    if (code > 0xffff)
        show_escape(s, 'U', 8, code, used);
    else
        show_escape(s, 'u', 4, code, used);
}

static void take_newline(struct text_shown *s)
{
    if (s->style->is_one_line) {
        show_escape(s, 'n', 0, 0, 1);
        return;
    }
    end_line(s);
    put(s, "\n", 1);
}

static void take_return(struct text_shown *s)
{
    if (s->style->is_rewritten) {
        end_line(s);
        put_str(s, "\r\x1b[K");
    }
    show_escape(s, 'r', 0, 0, 1);
}

/* What is to become of the character that waited for this one. */
static void settle_pending(struct text_shown *s, uint32_t next)
{
    char bytes[TEXT_UTF8_MAX_BYTES];
    uint32_t code = s->pending;
    s->pending = 0;
    if (code == '\r') {
        if (next != '\n')
            take_return(s);
        return;
    }
    size_t size = text_utf8_encode(code, bytes);
    if (!text_joins(s->last, code, next)) {
        show_hidden(s, code, size);
        return;
    }
    show(s, bytes, size, size);
    s->last = code;
}

static void show_control(struct text_shown *s, const struct item *item)
{
    if (item->code == '\n')
        take_newline(s);
    else if (item->code == '\t' && !s->style->is_one_line)
        show(s, "\t", 1, 1);
    else if (item->code == '\t')
        show_escape(s, 't', 0, 0, 1);
    else if (item->size == 1)
        show_escape(s, 'x', 2, item->code, 1);
    else
        show_escape(s, 'u', 4, item->code, item->size);
}

/* One that begins no sequence, or whose sequence is to be seen. */
static void show_item(struct text_shown *s, const struct item *item)
{
    uint32_t code = item->code;
    if (s->pending) {
        /* Several carriage returns count as one: terminals add one to each newline. */
        if (s->pending == '\r' && code == '\r')
            return;
        settle_pending(s, code);
    }
    if (item->kind == ITEM_ILL_FORMED) {
        show(s, TEXT_UTF8_REPLACEMENT, strlen(TEXT_UTF8_REPLACEMENT), item->size);
        s->last = 0;
    } else if (code == '\r' || text_may_join(s->last, code)) {
        s->pending = code;
    } else if (code < ' ' || (code >= DEL && code <= APC)) {
        show_control(s, item);
    } else if (text_is_hidden(code) && !text_selects(s->last, code)) {
        show_hidden(s, code, item->size);
    } else {
        show(s, item->bytes, item->size, item->size);
        s->last = code;
    }
}

static struct item next_item(const char *data, int length, uint32_t code)
{
    struct item item = {.code = code, .bytes = data, .size = (size_t)abs(length)};
    unsigned char first = (unsigned char)data[0];
    if (length > 0)
        return item;
    bool is_c1 = length == -1 && first >= 0x80 && first <= APC;
    item.kind = is_c1 ? ITEM_C1_BYTE : ITEM_ILL_FORMED;
    item.code = is_c1 ? first : REPLACEMENT;
    return item;
}

static void hold(struct text_shown *s, const struct item *item)
{
    memcpy(s->held + s->held_size, item->bytes, item->size);
    s->held_size += item->size;
}

/* It is no sequence that is kept or removed: all of it is text. */
static void show_held(struct text_shown *s)
{
    s->state = TEXT_STATE_TEXT;
    for (size_t at = 0; at < s->held_size;) {
        uint32_t code = 0;
        int length = text_utf8_decode(s->held + at, s->held_size - at, &code);
        struct item item = next_item(s->held + at, length, code);
        show_item(s, &item);
        at += item.size;
    }
    s->held_size = 0;
}

static enum text_state state_after(const struct text_shown *s, const struct item *item)
{
    if (s->style->sequences == TEXT_SEQUENCES_SHOWN || item->kind == ITEM_ILL_FORMED)
        return TEXT_STATE_TEXT;
    switch (item->code) {
    case ESC:
        return TEXT_STATE_ESCAPE;
    case CSI:
        return TEXT_STATE_CSI;
    case DCS:
    case SOS:
    case OSC:
    case PM:
    case APC:
        /* The other style shows them all, and may do so at once. */
        return s->style->sequences == TEXT_SEQUENCES_REMOVED ? TEXT_STATE_STRING : TEXT_STATE_TEXT;
    default:
        return TEXT_STATE_TEXT;
    }
}

enum verdict { GOES_ON, COMPLETE, MALFORMED };

/* ESC, then bytes from 2/0 to 2/15, then one from 3/0 to 7/14 (ECMA-35, 13.2). */
static enum verdict judge_escape(struct text_shown *s, uint32_t code)
{
    bool is_first = s->held_size == 1;
    if (is_first && code == '[') {
        s->state = TEXT_STATE_CSI;
        return GOES_ON;
    }
    if (s->style->sequences != TEXT_SEQUENCES_REMOVED)
        return MALFORMED;
    if (is_first && code && code < DEL && strchr("]PX^_", (int)code)) {
        s->state = TEXT_STATE_STRING;
        return GOES_ON;
    }
    if (code >= 0x20 && code <= 0x2f)
        return GOES_ON;
    return code >= 0x30 && code < DEL ? COMPLETE : MALFORMED;
}

/* Terminals end a string with BEL too. */
static enum verdict judge_string(struct text_shown *s, const struct item *item)
{
    if (item->kind == ITEM_ILL_FORMED)
        return MALFORMED;
    if (item->code == BEL || item->code == ST)
        return COMPLETE;
    if (item->code == ESC) {
        s->state = TEXT_STATE_STRING_ESCAPE;
        return GOES_ON;
    }
    return item->code >= ' ' && (item->code < DEL || item->code > APC) ? GOES_ON : MALFORMED;
}

static enum verdict judge(struct text_shown *s, const struct item *item)
{
    switch (s->state) {
    case TEXT_STATE_ESCAPE:
        return judge_escape(s, item->code);
    case TEXT_STATE_CSI:
        if (item->code >= 0x20 && item->code <= 0x3f)
            return GOES_ON;
        return item->code >= 0x40 && item->code < DEL ? COMPLETE : MALFORMED;
    case TEXT_STATE_STRING:
        return judge_string(s, item);
    default:
        return item->code == '\\' ? COMPLETE : MALFORMED;
    }
}

/*
 * Erasing to the end of the line (EL, what grep and gcc write behind colours) does nothing where
 * the cursor is always at the end. Erasing all of it is what the carriage return before it does.
 */
static bool erases_nothing(const struct text_shown *s, const char *params, size_t size)
{
    return size == 0 || (size == 1 && params[0] == '0') ||
           (size == 1 && params[0] == '2' && s->pending == '\r');
}

/* held is a control sequence with its final byte. False when it must be seen. */
static bool keep_colours(struct text_shown *s)
{
    char out[TEXT_SGR_MAX_BYTES(TEXT_SEQUENCE_MAX_BYTES)];
    size_t start = s->held[0] == (char)CSI ? 1 : 2; /* of the three introducers */
    const char *params = s->held + start;
    size_t size = s->held_size - start - 1;
    char final = s->held[s->held_size - 1];
    bool is_coloured = s->is_coloured;
    if (final == 'K')
        return erases_nothing(s, params, size);
    ssize_t written = final == 'm' ? text_sgr_clean(params, size, out, &is_coloured) : -EINVAL;
    if (written < 0)
        return false;
    show(s, out, (size_t)written, s->held_size);
    if (s->cut_bytes == 0)
        s->is_coloured = is_coloured;
    return true;
}

static void end_sequence(struct text_shown *s)
{
    if (s->style->sequences == TEXT_SEQUENCES_REMOVED) {
        s->removed_bytes += s->held_size;
    } else if (!keep_colours(s)) {
        show_held(s);
        return;
    }
    s->state = TEXT_STATE_TEXT;
    s->held_size = 0;
}

static void take_item(struct text_shown *s, const struct item *item)
{
    static const struct item escape = {.code = ESC, .bytes = "\x1b", .size = 1};
    bool is_string_ending = s->state == TEXT_STATE_STRING_ESCAPE;
    if (s->state != TEXT_STATE_TEXT) {
        enum verdict verdict = judge(s, item);
        if (verdict != MALFORMED && s->held_size + item->size <= sizeof(s->held)) {
            hold(s, item);
            if (verdict == COMPLETE)
                end_sequence(s);
            return;
        }
        /* The escape that did not end the string begins another sequence. */
        s->held_size -= is_string_ending ? 1 : 0;
        show_held(s);
        if (is_string_ending) {
            take_item(s, &escape);
            take_item(s, item);
            return;
        }
    }
    s->state = state_after(s, item);
    if (s->state == TEXT_STATE_TEXT)
        show_item(s, item);
    else
        hold(s, item);
}

/* How many bytes at the start are printable ASCII: eight at a time, each of them below 0x80, not
 * below 0x20 (no borrow), and not 0x7f (no carry). */
static size_t printable_run(const char *data, size_t size)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t run = 0;
    for (; run + 8 <= size; run += 8) {
        uint64_t word;
        memcpy(&word, data + run, 8);
        if (((word - ones * 0x20) | (word + ones) | word) & (ones * 0x80))
            break;
    }
    while (run < size && data[run] >= ' ' && data[run] < DEL)
        run++;
    return run;
}

/*
 * As take_item() for each byte, but fast: printable ASCII, and the newline behind it. Returns how
 * many were taken.
 */
static size_t take_run(struct text_shown *s, const char *data, size_t size)
{
    if (s->state != TEXT_STATE_TEXT || s->pending)
        return 0;
    size_t max = s->style->line_max_bytes;
    size_t room = max ? max - s->line_bytes : SIZE_MAX;
    size_t run = printable_run(data, size);
    if (s->cut_bytes > 0) {
        s->cut_bytes += run;
    } else {
        run = MIN(run, room);
        put(s, data, run);
        s->line_bytes += run;
    }
    if (run < size && data[run] == '\n') {
        take_newline(s);
        return run + 1;
    }
    if (run > 0)
        s->last = (unsigned char)data[run - 1];
    return run;
}

/* The rest of a character that was begun before. Returns how many bytes were taken. */
static size_t take_partial(struct text_shown *s, const char *data, size_t size)
{
    size_t at = 0;
    while (s->partial_size > 0 && at < size) {
        uint32_t code = 0;
        s->partial[s->partial_size] = data[at];
        int length = text_utf8_decode(s->partial, s->partial_size + 1, &code);
        if (length >= 0) {
            s->partial_size++;
            at++;
        }
        if (length == 0)
            continue;
        /* When it is ill-formed, the byte that made it so begins another. */
        struct item item = next_item(s->partial, length, code);
        s->partial_size = 0;
        take_item(s, &item);
    }
    return at;
}

size_t text_shown_feed(struct text_shown *s, const char *data, size_t size, char *out)
{
    s->out = out;
    s->out_size = 0;
    size_t at = take_partial(s, data, size);
    while (at < size) {
        size_t run = take_run(s, data + at, size - at);
        at += run;
        if (at == size)
            break;
        uint32_t code = 0;
        int length = text_utf8_decode(data + at, size - at, &code);
        if (length == 0) {
            s->partial_size = size - at;
            memcpy(s->partial, data + at, s->partial_size);
            break;
        }
        struct item item = next_item(data + at, length, code);
        take_item(s, &item);
        at += item.size;
    }
    return s->out_size;
}

size_t text_shown_end(struct text_shown *s, char *out)
{
    s->out = out;
    s->out_size = 0;
    if (s->partial_size > 0) {
        struct item item = next_item(s->partial, -(int)s->partial_size, 0);
        s->partial_size = 0;
        take_item(s, &item);
    }
    show_held(s);
    if (s->pending == '\r') {
        /* Nothing is written over any more. */
        s->pending = 0;
        show_escape(s, 'r', 0, 0, 1);
    } else if (s->pending) {
        settle_pending(s, 0);
    }
    end_line(s);
    end_colours(s);
    return s->out_size;
}

void text_shown_append_some(struct text_shown *s, struct buf *b, const char *data, size_t size)
{
    char out[TEXT_SHOWN_MAX_BYTES(PIECE_BYTES)];
    for (size_t at = 0; at < size;) {
        size_t piece = MIN(size - at, (size_t)PIECE_BYTES);
        buf_append(b, out, text_shown_feed(s, data + at, piece, out));
        at += piece;
    }
}

void text_shown_append(struct text_shown *s, struct buf *b, const char *data, size_t size)
{
    char out[TEXT_SHOWN_MAX_BYTES(0)];
    text_shown_append_some(s, b, data, size);
    buf_append(b, out, text_shown_end(s, out));
}

size_t text_line(const char *text, size_t size, char *ret, size_t capacity)
{
    static const char more[] = "...";
    char out[TEXT_SHOWN_MAX_BYTES(1)];
    struct text_shown s;
    size_t written = 0;
    text_shown_init(&s, &style_line);
    /* One at a time, so that what does not fit is one character or one escape. */
    for (size_t at = 0; at <= size; at++) {
        size_t piece = at < size ? text_shown_feed(&s, text + at, 1, out) : text_shown_end(&s, out);
        if (written + piece + sizeof(more) > capacity) {
            memcpy(ret + written, more, sizeof(more));
            return written + sizeof(more) - 1;
        }
        memcpy(ret + written, out, piece);
        written += piece;
    }
    ret[written] = '\0';
    return written;
}
