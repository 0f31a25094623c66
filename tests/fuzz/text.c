// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for lib/text (tests/suites/fuzz.py runs it; tests/fuzz/replay.c has the inputs
 * that are kept): the first two bytes of an input choose a style, a limit and
 * where the rest is cut, the rest is a program's output.
 *
 * What must hold for any of it: the result does not depend on the cuts and fits into the room that
 * was promised; it is UTF-8 without anything that acts or hides; plain text of it is itself; and
 * what a capture kept and left out is all there was, between lines that it can't forge.
 */
#include "lib/text/capture.h"
#include "lib/text/shown.h"
#include "lib/text/unseen.h"
#include "lib/text/wrap.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX_BYTES 4096
#define CHECK(x)                                                              \
    do {                                                                      \
        if (!(x)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x); \
            abort();                                                          \
        }                                                                     \
    } while (0)

static const struct text_style short_lines = {
    .sequences = TEXT_SEQUENCES_COLOURS,
    .is_rewritten = true,
    .line_max_bytes = 256,
};

static const struct text_style *const styles[] = {
    &text_style_terminal,
    &text_style_plain,
    &text_style_model,
    &short_lines,
};

static size_t feed(struct text_shown *s, const char *data, size_t size, char *out)
{
    size_t n = text_shown_feed(s, data, size, out);
    CHECK(n <= TEXT_SHOWN_MAX_BYTES(size));
    return n;
}

/* In pieces of 1 to most bytes, whose sizes come of rule; 0: in one. */
static size_t show(const struct text_style *style, const char *data, size_t size, unsigned rule,
                   size_t most, char *out)
{
    struct text_shown s;
    size_t n = 0;
    text_shown_init(&s, style);
    for (size_t at = 0; at < size;) {
        rule = rule * 1103515245 + 12345;
        size_t piece = most ? MIN(1 + (rule >> 16) % most, size - at) : size;
        n += feed(&s, data + at, piece, out + n);
        at += piece;
    }
    size_t end = text_shown_end(&s, out + n);
    CHECK(end <= TEXT_SHOWN_MAX_BYTES(0));
    return n + end;
}

/* An SGR that keeps everything visible; returns its length. */
static size_t check_colours(const char *text, size_t size)
{
    size_t at = 2;
    unsigned numbers[300], count = 0;
    CHECK(size >= 4 && text[1] == '[');
    while (at < size && text[at] != 'm') {
        unsigned value = 0;
        for (; at < size && text[at] >= '0' && text[at] <= '9'; at++)
            value = value * 10 + (unsigned)(text[at] - '0');
        CHECK(at < size && (text[at] == ';' || text[at] == 'm'));
        at += text[at] == ';' ? 1 : 0;
        CHECK(count < ARRAY_SIZE(numbers) && value <= 255);
        numbers[count++] = value;
    }
    CHECK(at < size && count > 0);
    for (unsigned i = 0; i < count; i++) {
        if (numbers[i] == 38 || numbers[i] == 48) {
            CHECK(i + 2 < count && (numbers[i + 1] == 5 || numbers[i + 1] == 2));
            i += numbers[i + 1] == 5 ? 2 : 4;
            CHECK(i < count);
        } else {
            CHECK(numbers[i] != 5 && numbers[i] != 6 && numbers[i] != 8 && numbers[i] != 58);
        }
    }
    return at + 1;
}

static bool is_visible(uint32_t code)
{
    bool is_in_use = code == TEXT_ZWJ || code == TEXT_ZWNJ || code == TEXT_TEXT_SELECTOR ||
                     code == TEXT_EMOJI_SELECTOR;
    return code == '\n' || code == '\t' ||
           (code >= ' ' && (code < 0x7f || code > 0x9f) && (is_in_use || !text_is_hidden(code)));
}

static void check_shown(const struct text_style *style, const char *text, size_t size)
{
    static const char rewrite[] = "\r\x1b[K\\r";
    bool has_colours = style->sequences == TEXT_SEQUENCES_COLOURS;
    size_t line_start = 0;
    for (size_t at = 0; at < size;) {
        uint32_t code;
        if (has_colours && size - at >= 6 && !memcmp(text + at, rewrite, 6)) {
            line_start = at;
            at += 6;
            continue;
        }
        if (has_colours && text[at] == '\x1b') {
            at += check_colours(text + at, size - at);
            continue;
        }
        int length = text_utf8_decode(text + at, size - at, &code);
        CHECK(length > 0 && is_visible(code));
        at += (size_t)length;
        line_start = code == '\n' ? at : line_start;
        CHECK(!style->line_max_bytes || at - line_start <= style->line_max_bytes + 80);
    }
}

static void check_wrapped(const struct text_excerpt *e, const char *data, size_t size)
{
    static const char tag[] = "</untrusted-output-";
    struct buf b = BUF_INIT(1 << 20);
    struct text_block block = {"stdout", e};
    CHECK(e->total_bytes == size && e->kept.size + e->omitted_bytes == size);
    if (e->kept.size > 0) {
        size_t tail = e->kept.size - e->gap_at;
        CHECK(!memcmp(e->kept.data, data, e->gap_at));
        CHECK(!memcmp(e->kept.data + e->gap_at, data + size - tail, tail));
    }
    CHECK(text_wrap(&block, 1, &b) == 0);
    const char *id = strstr(b.data, tag) + sizeof(tag) - 1;
    const char *first = memmem(id + 32, b.size - (size_t)(id + 32 - b.data), id, 32);
    const char *last = b.data + b.size - 32 - 2;
    CHECK(first && !memcmp(last, id, 32));
    const char *second = memmem(first + 1, b.size - (size_t)(first + 1 - b.data), id, 32);
    CHECK(second == last);
    buf_done(&b);
}

static void check_capture(const char *data, size_t size, size_t limit)
{
    struct text_capture c;
    struct text_excerpt e;
    struct buf b = BUF_INIT(1 << 20);
    uint32_t code;
    text_capture_init(&c, limit);
    text_capture_take(&c, data, size / 3);
    text_capture_take(&c, data + size / 3, size - size / 3);
    CHECK(text_capture_end(&c, &e) == 0);
    text_excerpt_append_valid(&e, &b);
    CHECK(!b.failed);
    for (size_t at = 0; at < b.size;) {
        int length = text_utf8_decode(b.data + at, b.size - at, &code);
        CHECK(length > 0);
        at += (size_t)length;
    }
    check_wrapped(&e, data, size);
    text_excerpt_done(&e);
    buf_done(&b);
}

static void check_line(const char *data, size_t size, size_t capacity)
{
    char line[512];
    size_t n = text_line(data, size, line, capacity);
    CHECK(n < capacity && line[n] == '\0' && !memchr(line, '\n', n) && !memchr(line, '\t', n));
    check_shown(&text_style_plain, line, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char whole[TEXT_SHOWN_MAX_BYTES(INPUT_MAX_BYTES) * 4];
    static char pieces[sizeof(whole)];
    if (size < 2 || size > INPUT_MAX_BYTES)
        return 0;
    const struct text_style *style = styles[bytes[0] % ARRAY_SIZE(styles)];
    const char *data = (const char *)bytes + 2;
    size -= 2;
    size_t n = show(style, data, size, 0, 0, whole);
    check_shown(style, whole, n);
    CHECK(show(style, data, size, bytes[1], 1, pieces) == n && !memcmp(whole, pieces, n));
    CHECK(show(style, data, size, bytes[1], 9, pieces) == n && !memcmp(whole, pieces, n));
    if (style == &text_style_plain)
        CHECK(show(style, whole, n, bytes[1], 99, pieces) == n && !memcmp(whole, pieces, n));
    check_capture(data, size, 1 + bytes[1]);
    check_line(data, size, 16 + bytes[1]);
    return 0;
}
