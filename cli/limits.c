// SPDX-License-Identifier: Apache-2.0
#include "cli/limits.h"

#include "cli/values.h"

#include <ctype.h>
#include <stdio.h>

#define RLIMIT_VALUE_MAX_BYTES 64

static int parse_number(const char *text, uint64_t *ret, struct sandbox_error *e)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || errno)
        return sandbox_error_set(e, -EINVAL, "'%s' is not a whole number; for example 64", text);
    *ret = value;
    return 0;
}

/* "2", "0.5", "1.125": thousandths. */
static int parse_thousandths(const char *text, uint64_t *ret, struct sandbox_error *e)
{
    uint64_t value = 0;
    int decimals = -1; /* before the point */
    const char *s = text;
    for (; isdigit((unsigned char)*s) || (*s == '.' && decimals < 0); s++) {
        if (*s == '.') {
            decimals = 0;
            continue;
        }
        decimals += decimals >= 0 ? 1 : 0;
        if (decimals > 3 || value > UINT32_MAX)
            break;
        value = value * 10 + (uint64_t)(*s - '0');
    }
    if (*s || s == text || s[-1] == '.' || text[0] == '.')
        return sandbox_error_set(e, -EINVAL,
                                 "'%s' is not a number of processors; write for example 2, 0.5 or "
                                 "1.25",
                                 text);
    for (int i = MAX(decimals, 0); i < 3; i++)
        value *= 10;
    *ret = value;
    return 0;
}

static int parse_time(const char *text, uint64_t *ret, struct sandbox_error *e)
{
    int64_t ns;
    int r = cli_parse_time(text, &ns, e);
    if (r == 0)
        *ret = (uint64_t)ns;
    return r;
}

static int parse_value(const struct limit_row *row, const char *text, uint64_t *ret,
                       struct sandbox_error *e)
{
    /* A time of nothing makes sense only where one may have to wait. */
    if (!strcmp(text, "0") && row->unit == LIMIT_NS && row->least == 0) {
        *ret = 0;
        return 0;
    }
    switch (row->unit) {
    case LIMIT_BYTES:
        return cli_parse_size(text, ret, e);
    case LIMIT_NS:
        return parse_time(text, ret, e);
    case LIMIT_THOUSANDTHS:
        return parse_thousandths(text, ret, e);
    default:
        return parse_number(text, ret, e);
    }
}

int limit_take(struct limit_layer *l, enum sandbox_limit which, const char *text,
               struct sandbox_error *e)
{
    const struct limit_row *row = &sandbox_limit_rows[which];
    char bound[64];
    uint64_t value = 0;
    bool is_none = !strcmp(text, "none");
    if (is_none && !row->may_be_none)
        return sandbox_error_set(e, -EINVAL, "there must be a %s; give a value, be it a large one",
                                 row->words);
    int r = is_none ? 0 : parse_value(row, text, &value, e);
    if (r < 0)
        return r;
    if (!is_none && (value < row->least || value > row->most)) {
        bool is_less = value < row->least;
        sandbox_limit_format(which, is_less ? row->least : row->most, bound, sizeof(bound));
        return sandbox_error_set(e, -EINVAL, "%s than %s, the %s that works; give %s",
                                 is_less ? "less" : "more", bound, is_less ? "least" : "most",
                                 is_less ? "more" : "less");
    }
    l->limits.value[which] = value;
    l->is_given[which] = true;
    return 0;
}

static bool parse_rlimit_value(const char *text, rlim_t *ret)
{
    struct sandbox_error ignored;
    uint64_t value = RLIM_INFINITY;
    if (strcmp(text, "unlimited") && strcmp(text, "-1") && parse_number(text, &value, &ignored) < 0)
        return false;
    *ret = value;
    return true;
}

int limit_take_rlimit(struct limit_layer *l, const char *text, struct sandbox_error *e)
{
    char copy[RLIMIT_VALUE_MAX_BYTES];
    struct rlimit value;
    const char *equals = strchr(text, '=');
    if (!equals || (size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
        return sandbox_error_set(e, -EINVAL, "write NAME=SOFT[:HARD], for example nofile=1024");
    copy[equals - text] = '\0';
    char *soft = copy + (equals - text) + 1, *hard = strchr(soft, ':');
    if (hard)
        *hard++ = '\0';
    int resource = sandbox_rlimit_find(copy);
    if (resource < 0)
        return sandbox_error_set(e, -EINVAL,
                                 "no such resource; use cpu, fsize, data, stack, core, rss, nproc, "
                                 "nofile, memlock, as, locks, sigpending, msgqueue, nice, rtprio "
                                 "or rttime");
    if (!parse_rlimit_value(soft, &value.rlim_cur) ||
        !parse_rlimit_value(hard ? hard : soft, &value.rlim_max))
        return sandbox_error_set(
            e, -EINVAL, "'%s' is not a limit; write whole numbers, or unlimited", equals + 1);
    if (value.rlim_cur > value.rlim_max)
        return sandbox_error_set(e, -EINVAL,
                                 "the soft limit is above the hard one; write NAME=SOFT:HARD with "
                                 "the smaller number first");
    sandbox_limits_set_rlimit(&l->limits, resource, value);
    return 0;
}

/* none is more than any number. */
static bool is_more(uint64_t value, uint64_t most)
{
    return value == 0 || value > most;
}

static int resolve_one(enum sandbox_limit which, const struct limit_layer *const *layers,
                       const char *const *sources, size_t count, const struct limit_layer *most,
                       const char *most_source, uint64_t *ret, struct sandbox_error *e)
{
    const struct limit_row *row = &sandbox_limit_rows[which];
    size_t i = 0;
    while (i < count && !layers[i]->is_given[which])
        i++;
    uint64_t value = i < count ? layers[i]->limits.value[which] : row->standard;
    /* No grace at all is the least of it. */
    bool is_over = most->is_given[which] && !(which == LIMIT_GRACE && value == 0) &&
                   is_more(value, most->limits.value[which]);
    if (is_over && i < count) {
        char text[64];
        sandbox_limit_format(which, most->limits.value[which], text, sizeof(text));
        return sandbox_error_set(e, -EPERM,
                                 "%s%s: more than %s, the most that %s allows; give less",
                                 sources[i], row->name, text, most_source);
    }
    *ret = is_over ? most->limits.value[which] : value;
    return 0;
}

static void add_rlimits(struct sandbox_limits *to, const struct sandbox_limits *from)
{
    for (size_t i = 0; i < from->rlimit_count; i++)
        sandbox_limits_set_rlimit(to, from->rlimits[i].resource, from->rlimits[i].value);
}

int limit_resolve(const struct limit_layer *const *layers, const char *const *sources, size_t count,
                  const struct limit_layer *most, const char *most_source,
                  struct sandbox_limits *ret, struct sandbox_error *e)
{
    struct sandbox_limits limits = {0};
    for (int i = 0; i < LIMIT_COUNT; i++) {
        int r = resolve_one((enum sandbox_limit)i, layers, sources, count, most, most_source,
                            &limits.value[i], e);
        if (r < 0)
            return r;
    }
    for (size_t i = count; i > 0; i--)
        add_rlimits(&limits, &layers[i - 1]->limits);
    *ret = limits;
    return 0;
}
