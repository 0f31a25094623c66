// SPDX-License-Identifier: Apache-2.0
/*
 * A program may write any character of a placeholder as an escape or not, so escapes can't be
 * needles: they are decoded, and what they come to is looked at besides what was written.
 */
#include "lib/secret/forms.h"
#include "lib/secret/internal.h"

/* 1: a whole escape, *ret; 0: the beginning of one; -1: the first byte begins none. */
typedef int escape_reader(const unsigned char *bytes, unsigned count, unsigned char *ret);

static int read_percent(const unsigned char *bytes, unsigned count, unsigned char *ret)
{
    if (bytes[0] != '%')
        return -1;
    for (unsigned i = 1; i < count; i++)
        if (form_hex_digit(bytes[i]) < 0)
            return -1;
    if (count < 3)
        return 0;
    *ret = (unsigned char)(16 * form_hex_digit(bytes[1]) + form_hex_digit(bytes[2]));
    return 1;
}

/* RFC 8259, section 7. Placeholders are ASCII, other characters are all alike. */
static int read_json(const unsigned char *bytes, unsigned count, unsigned char *ret)
{
    unsigned code = 0;
    if (bytes[0] != '\\')
        return -1;
    if (count == 1)
        return 0;
    if (bytes[1] != 'u') {
        *ret = bytes[1];
        return 1;
    }
    for (unsigned i = 2; i < count; i++) {
        int digit = form_hex_digit(bytes[i]);
        if (digit < 0)
            return -1;
        code = 16 * code + (unsigned)digit;
    }
    if (count < 6)
        return 0;
    *ret = code < 0x80 ? (unsigned char)code : 0xff;
    return 1;
}

static void take_escaped(struct finder_stream *s, struct secrets_escape *e, escape_reader *read,
                         unsigned char byte)
{
    unsigned char decoded;
    int r = -1;
    e->bytes[e->count++] = byte;
    while (e->count > 0 && (r = read(e->bytes, e->count, &decoded)) < 0) {
        finder_take(s, e->bytes, 1, NULL);
        memmove(e->bytes, e->bytes + 1, --e->count);
    }
    if (e->count > 0 && r > 0) {
        finder_take(s, &decoded, 1, NULL);
        e->count = 0;
    }
}

static void take_decoded(struct finder_stream *s, struct secrets_escape *e, escape_reader *read,
                         char start, const unsigned char *data, size_t size)
{
    while (size > 0) {
        size_t used = 1;
        if (e->count > 0 || *data == (unsigned char)start) {
            take_escaped(s, e, read, *data);
        } else {
            const unsigned char *next = memchr(data, start, size);
            used = next ? (size_t)(next - data) : size;
            finder_take(s, data, used, NULL);
        }
        data += used;
        size -= used;
    }
}

void secrets_watch_begin(struct secrets_watch *w, const struct secrets *s)
{
    *w = (struct secrets_watch){.percent_escape.count = 0};
    finder_begin(&w->plain, s->watch, NULL, 0);
    finder_begin(&w->percent, s->watch, NULL, 0);
    finder_begin(&w->json, s->watch, NULL, 0);
}

void secrets_watch_take(struct secrets_watch *w, const void *data, size_t size)
{
    finder_take(&w->plain, data, size, NULL);
    take_decoded(&w->percent, &w->percent_escape, read_percent, '%', data, size);
    take_decoded(&w->json, &w->json_escape, read_json, '\\', data, size);
}

uint64_t secrets_watch_seen(const struct secrets_watch *w)
{
    return w->plain.seen | w->percent.seen | w->json.seen;
}
