// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_report.h"

#include "cli/doctor.h"
#include "cli/say.h"
#include "cli/verbs.h"

#include <jansson.h>

enum verdict { GOOD, NEUTRAL, BAD };

struct counts {
    unsigned good, neutral, bad;
};

static void json_freep(json_t **j)
{
    json_decref(*j);
}

/* Whether a row is as it must be, and the word for it. */
static enum verdict judge(const struct doctor_result *r, const struct probe_row *row,
                          const char **ret_word)
{
    *ret_word = probe_result_name(row->result);
    if (r->is_inside)
        return row->result == PROBE_CONTAINED ? GOOD : row->result == PROBE_SKIPPED ? NEUTRAL : BAD;
    if (row->result == PROBE_ESCAPED) {
        *ret_word = "sees";
        return GOOD;
    }
    if (row->outside == OUTSIDE_ESCAPES && row->result != PROBE_SKIPPED) {
        *ret_word = "BLIND";
        return BAD;
    }
    *ret_word = "skipped";
    return NEUTRAL;
}

/* Why, for a row that is not simply good. */
static const char *get_reason(const struct probe_row *row, enum verdict v)
{
    if (row->reason[0])
        return row->reason;
    return v == GOOD                        ? ""
           : row->result == PROBE_CONTAINED ? "this machine refuses it anyway"
                                            : "no reason given";
}

static void count(struct counts *c, enum verdict v)
{
    *(v == GOOD ? &c->good : v == NEUTRAL ? &c->neutral : &c->bad) += 1;
}

static const char *get_trouble(const struct doctor_result *r)
{
    if (r->report.has_token)
        return "the host's secret is in the output of the probes";
    return r->trouble;
}

static int get_status(const struct doctor_result *r, const struct counts *c)
{
    bool good = c->bad == 0 && c->good > 0 && !r->report.problem[0] && !get_trouble(r)[0];
    return good ? 0 : DOCTOR_STATUS_BAD;
}

static void print_widths(const struct probe_report *report, int *ret_control, int *ret_name)
{
    *ret_control = (int)strlen("CONTROL");
    *ret_name = (int)strlen("PROBE");
    for (size_t i = 0; i < report->count; i++) {
        *ret_control = MAX(*ret_control, (int)strlen(report->rows[i].control));
        *ret_name = MAX(*ret_name, (int)strlen(report->rows[i].name));
    }
}

static int print_table(const struct doctor_result *r)
{
    struct counts counts = {0};
    int control_width, name_width;
    print_widths(&r->report, &control_width, &name_width);
    printf("%-*s  %-*s  RESULT\n", control_width, "CONTROL", name_width, "PROBE");
    for (size_t i = 0; i < r->report.count; i++) {
        const struct probe_row *row = &r->report.rows[i];
        const char *word;
        enum verdict v = judge(r, row, &word);
        count(&counts, v);
        printf("%-*s  %-*s  %s", control_width, row->control, name_width, row->name, word);
        if (v != GOOD)
            printf(": %s", get_reason(row, v));
        if (v == BAD)
            printf(" (must follow: %s)", row->expected);
        putchar('\n');
    }
    if (r->is_inside)
        printf("\n%u contained, %u not, %u skipped\n", counts.good, counts.bad, counts.neutral);
    else
        printf("\n%u see, %u are blind, %u skipped\n", counts.good, counts.bad, counts.neutral);
    if (get_trouble(r)[0])
        printf("trouble: %s\n", get_trouble(r));
    if (r->report.problem[0])
        printf("the report of the probes can't be trusted: %s\n", r->report.problem);
    return get_status(r, &counts);
}

static json_t *make_text(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

static json_t *make_row(const struct doctor_result *r, const struct probe_row *row,
                        struct counts *counts)
{
    const char *word;
    enum verdict v = judge(r, row, &word);
    count(counts, v);
    json_t *object = json_object();
    int bad = 0;
    bad |= json_object_set_new(object, "control", json_string(row->control));
    bad |= json_object_set_new(object, "probe", json_string(row->name));
    bad |= json_object_set_new(object, "result", json_string(word));
    bad |= json_object_set_new(object, "reason", make_text(get_reason(row, v)));
    bad |= json_object_set_new(object, "expected", json_string(row->expected));
    bad |= json_object_set_new(object, "after", make_text(row->after));
    bad |= json_object_set_new(object, "ms", json_integer(row->ms));
    if (!bad)
        return object;
    json_decref(object);
    return NULL;
}

static int print_json(const struct doctor_result *r, int *ret_status)
{
    struct counts counts = {0};
    __attribute__((cleanup(json_freep))) json_t *object = json_object();
    json_t *rows = json_array();
    int bad = 0;
    for (size_t i = 0; i < r->report.count; i++)
        bad |= json_array_append_new(rows, make_row(r, &r->report.rows[i], &counts));
    bad |= json_object_set_new(object, "probes", rows);
    int status = get_status(r, &counts);
    bad |= json_object_set_new(object, "passed", json_boolean(status == 0));
    bad |= json_object_set_new(object, r->is_inside ? "contained" : "seeing",
                               json_integer(counts.good));
    bad |= json_object_set_new(object, r->is_inside ? "not_contained" : "blind",
                               json_integer(counts.bad));
    bad |= json_object_set_new(object, "skipped", json_integer(counts.neutral));
    bad |= json_object_set_new(object, "trouble", make_text(get_trouble(r)));
    bad |= json_object_set_new(object, "problem", make_text(r->report.problem));
    if (bad || json_dumpf(object, stdout, JSON_COMPACT) < 0 || putchar('\n') == EOF)
        return -ENOMEM;
    *ret_status = status;
    return 0;
}

int doctor_report(const struct doctor_result *r, bool json)
{
    int status = DOCTOR_STATUS_BAD;
    errno = 0;
    int error = json ? print_json(r, &status) : 0;
    if (!json)
        status = print_table(r);
    if (error == 0 && fflush(stdout) == 0)
        return status;
    struct sandbox_error e;
    sandbox_error_set(&e, -EIO, "doctor: %s; the report is incomplete",
                      errno ? strerror(errno) : "out of memory");
    cli_say_error(&e);
    return CLI_STATUS_BAD_USE;
}
