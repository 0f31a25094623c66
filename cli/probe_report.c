// SPDX-License-Identifier: Apache-2.0
#include "cli/probe_report.h"

#include <ctype.h>

#define FIELDS_MAX 9

static const char *const result_names[PROBE_RESULT_COUNT] = {
    [PROBE_CONTAINED] = "contained",
    [PROBE_ESCAPED] = "ESCAPED",
    [PROBE_SKIPPED] = "skipped",
    [PROBE_UNPROVED] = "unproved",
};

static const char *const outside_names[] = {
    [OUTSIDE_NEVER] = "never",
    [OUTSIDE_MAYBE] = "maybe",
    [OUTSIDE_ESCAPES] = "escapes",
};

const char *probe_result_name(enum probe_result result)
{
    return result_names[result];
}

void probe_report_init(struct probe_report *r, const char *token)
{
    *r = (struct probe_report){.token = token};
}

void probe_report_done(struct probe_report *r)
{
    free(r->rows);
    r->rows = NULL;
}

/* The first thing that is wrong is the one that is told. */
static void complain(struct probe_report *r, const char *what)
{
    if (!r->problem[0])
        snprintf(r->problem, sizeof(r->problem), "%s", what);
}

bool probe_report_add(struct probe_report *r, const struct probe_row *row)
{
    if (r->count >= PROBE_ROWS_MAX)
        return false;
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? r->capacity * 2 : 64;
        struct probe_row *rows = reallocarray(r->rows, capacity, sizeof(*rows));
        if (!rows)
            return false;
        r->rows = rows;
        r->capacity = capacity;
    }
    r->rows[r->count++] = *row;
    return true;
}

static bool take_number(const char *text, unsigned max, unsigned *ret)
{
    unsigned value = 0;
    size_t size = strlen(text);
    if (size == 0 || size > 9)
        return false;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text))
            return false;
        value = value * 10 + (unsigned)(*text - '0');
    }
    *ret = value;
    return value <= max;
}

static bool take_word(const char *text, char ret[static PROBE_WORD_MAX + 1])
{
    size_t size = strlen(text);
    if (size == 0 || size > PROBE_WORD_MAX)
        return false;
    for (size_t i = 0; i < size; i++)
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) &&
            text[i] != '_' && text[i] != '-')
            return false;
    memcpy(ret, text, size + 1);
    return true;
}

static bool take_text(const char *text, char ret[static PROBE_TEXT_MAX + 1])
{
    size_t size = strlen(text);
    if (size > PROBE_TEXT_MAX)
        return false;
    for (size_t i = 0; i < size; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    memcpy(ret, text, size + 1);
    return true;
}

static bool take_name(const char *text, const char *const *names, size_t count, unsigned *ret)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], text)) {
            *ret = (unsigned)i;
            return true;
        }
    return false;
}

static bool has_row(const struct probe_report *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (!strcmp(r->rows[i].name, name))
            return true;
    return false;
}

static void take_probe(struct probe_report *r, char **fields)
{
    struct probe_row row = {0};
    unsigned result, outside;
    if (!take_word(fields[1], row.control) || !take_word(fields[2], row.name) ||
        !take_name(fields[3], result_names, ARRAY_SIZE(result_names), &result) ||
        !take_name(fields[4], outside_names, ARRAY_SIZE(outside_names), &outside) ||
        !take_number(fields[5], UINT32_MAX, &row.ms) || !take_text(fields[6], row.expected) ||
        !take_text(fields[7], row.after) || !take_text(fields[8], row.reason)) {
        complain(r, "a line of a probe has a part that is not allowed");
        return;
    }
    row.result = (enum probe_result)result;
    row.outside = (enum probe_outside)outside;
    if (has_row(r, row.name))
        complain(r, "a probe is there twice");
    else if (!probe_report_add(r, &row))
        complain(r, "it is longer than any report");
}

static void take_line(struct probe_report *r, char *line)
{
    char *fields[FIELDS_MAX];
    size_t count = 0;
    unsigned number;
    for (char *at = line; at && count < FIELDS_MAX; count++) {
        fields[count] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
        if (at && count + 1 == FIELDS_MAX)
            count = FIELDS_MAX; /* more than there can be */
    }
    if (r->has_ended) {
        complain(r, "it goes on after its end");
    } else if (!r->has_begun) {
        r->has_begun = count == 3 && !strcmp(fields[0], REPORT_MAGIC) &&
                       !strcmp(fields[1], REPORT_VERSION) &&
                       take_number(fields[2], PROBE_ROWS_MAX, &number);
        if (r->has_begun)
            r->announced = number;
        else
            complain(r, "it does not begin as a report of probes");
    } else if (count == 2 && !strcmp(fields[0], "end") &&
               take_number(fields[1], PROBE_ROWS_MAX, &number)) {
        r->has_ended = true;
        if (number != r->announced || r->count != r->announced)
            complain(r, "probes are missing in it");
    } else if (count == FIELDS_MAX && !strcmp(fields[0], "probe")) {
        take_probe(r, fields);
    } else {
        complain(r, "it has a line that is none of a report");
    }
}

/* A whole line, or the last of all without its end. */
static void end_line(struct probe_report *r)
{
    size_t size = r->line_size;
    if (r->token && memmem(r->line, size, r->token, strlen(r->token)))
        r->has_token = true;
    if (size > 0 && r->line[size - 1] == '\r') /* through a terminal */
        size--;
    r->line_size = 0;
    if (memchr(r->line, '\0', size)) {
        complain(r, "it has a NUL byte");
        return;
    }
    r->line[size] = '\0';
    take_line(r, r->line);
}

void probe_report_take(void *report, const char *data, size_t size)
{
    struct probe_report *r = report;
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '\n') {
            end_line(r);
        } else if (r->line_size + 1 < sizeof(r->line)) {
            r->line[r->line_size++] = data[i];
        } else {
            complain(r, "it has a line that is too long");
        }
    }
}

bool probe_report_finish(struct probe_report *r)
{
    if (r->line_size > 0) {
        complain(r, "its last line has no end");
        end_line(r);
    }
    if (!r->has_begun)
        complain(r, "there is none");
    else if (!r->has_ended)
        complain(r, "it breaks off");
    return !r->problem[0];
}
