// SPDX-License-Identifier: Apache-2.0
#include "lib/text/sgr.h"

#include <stdio.h>

#define PARAMS_MAX 128
#define VALUE_MAX  9999u /* larger ones mean nothing */

struct param {
    unsigned value;
    bool is_sub; /* stands behind a colon: belongs to the one before it */
};

struct writer {
    char *out;
    size_t size;
    bool is_changed;
};

static ssize_t split(const char *text, size_t size, struct param *params)
{
    size_t count = 1;
    params[0] = (struct param){0};
    for (size_t i = 0; i < size; i++) {
        struct param *last = &params[count - 1];
        if (text[i] >= '0' && text[i] <= '9') {
            last->value = MIN(last->value * 10 + (unsigned)(text[i] - '0'), VALUE_MAX);
            continue;
        }
        if ((text[i] != ';' && text[i] != ':') || count == PARAMS_MAX)
            return -EINVAL;
        params[count++] = (struct param){.is_sub = text[i] == ':'};
    }
    return (ssize_t)count;
}

static void write_number(struct writer *w, unsigned value)
{
    w->size += (size_t)sprintf(w->out + w->size, "%s%u", w->size ? ";" : "\x1b[", value);
}

static bool is_harmless(unsigned value)
{
    static const unsigned char single[] = {0, 1, 2, 3, 4, 7, 9, 21, 22, 23, 24, 27, 29, 53, 55};
    return memchr(single, (int)value, value < 256 ? sizeof(single) : 0) ||
           (value >= 30 && value <= 37) || value == 39 || (value >= 40 && value <= 47) ||
           value == 49 || (value >= 90 && value <= 97) || (value >= 100 && value <= 107);
}

/*
 * A colour by number or by its three parts, in any of the ways it is written:
 *   38;5;N   38;2;R;G;B   38:5:N   38:2:R:G:B   38:2:SPACE:R:G:B
 * Returns how many parameters it takes, or -EINVAL.
 */
static ssize_t take_colour(struct writer *w, const struct param *p, size_t count)
{
    bool by_colon = count > 1 && p[1].is_sub;
    size_t used = 1;
    if (count < 3)
        return -EINVAL;
    size_t values = p[1].value == 5 ? 1 : p[1].value == 2 ? 3 : 0;
    while (used < count && p[used].is_sub)
        used++;
    if (!by_colon)
        used = 2 + values;
    if (values == 0 || used < 2 + values || used > count)
        return -EINVAL;
    const struct param *value = p + used - values;
    for (size_t i = 0; i < values; i++)
        if (value[i].value > 255 || value[i].is_sub != by_colon)
            return -EINVAL;
    if (p[0].value == 58)
        return (ssize_t)used;
    write_number(w, p[0].value);
    write_number(w, p[1].value);
    for (size_t i = 0; i < values; i++)
        write_number(w, value[i].value);
    w->is_changed = true;
    return (ssize_t)used;
}

/* One that may have parts of its own; of these only the kinds of underline are known. */
static size_t take_single(struct writer *w, const struct param *p, size_t count)
{
    size_t used = 1;
    unsigned value = p[0].value;
    while (used < count && p[used].is_sub)
        used++;
    if (used > 1 && value != 4)
        return used;
    if (used > 1 && p[1].value == 0)
        value = 24;
    if (is_harmless(value)) {
        write_number(w, value);
        w->is_changed = value != 0;
    }
    return used;
}

ssize_t text_sgr_clean(const char *text, size_t size, char *out, bool *ret_changed)
{
    struct param params[PARAMS_MAX];
    struct writer w = {.out = out, .is_changed = false};
    ssize_t count = split(text, size, params);
    if (count < 0)
        return count;
    for (size_t at = 0; at < (size_t)count;) {
        unsigned value = params[at].value;
        bool is_colour = value == 38 || value == 48 || value == 58;
        ssize_t used = is_colour ? take_colour(&w, params + at, (size_t)count - at)
                                 : (ssize_t)take_single(&w, params + at, (size_t)count - at);
        if (used < 0)
            return used;
        at += (size_t)used;
    }
    if (w.size == 0)
        return 0;
    out[w.size++] = 'm';
    *ret_changed = w.is_changed;
    return (ssize_t)w.size;
}
