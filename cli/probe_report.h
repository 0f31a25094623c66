// SPDX-License-Identifier: Apache-2.0
/*
 * Reads what glovebox-probes wrote, probes/report.h: bytes out of a sandbox in which hostile
 * programs have run. Every line is checked, its parts are bounded and printable, and what breaks
 * the rules makes the report as a whole a failure. Nothing of it is believed beyond that: that the
 * token is nowhere in it is looked for here.
 */
#pragma once

#include "probes/report.h"

#define PROBE_ROWS_MAX 1000
#define PROBE_TEXT_MAX 512 /* of one part of a line, still escaped */
#define PROBE_WORD_MAX 64

struct probe_row {
    char control[PROBE_WORD_MAX + 1], name[PROBE_WORD_MAX + 1];
    enum probe_result result;
    enum probe_outside outside;
    unsigned ms;
    char expected[PROBE_TEXT_MAX + 1], after[PROBE_TEXT_MAX + 1], reason[PROBE_TEXT_MAX + 1];
};

struct probe_report {
    struct probe_row *rows;
    size_t count, capacity;
    size_t announced; /* by its first line */
    bool has_begun, has_ended, has_token;
    char problem[160]; /* what is wrong with the report, or "" */
    const char *token; /* that must not be in it; NULL: not looked for */
    char line[REPORT_LINE_BYTES];
    size_t line_size;
};

/* token is borrowed. */
void probe_report_init(struct probe_report *r, const char *token);
void probe_report_done(struct probe_report *r);

/* A relay_take_fn: bytes in pieces of any size. */
void probe_report_take(void *report, const char *data, size_t size);

/* All has come: true when the report is whole and keeps the rules; else `problem` says why not. */
bool probe_report_finish(struct probe_report *r);

/* Appends a row of our own; false when memory runs out or there are too many. */
bool probe_report_add(struct probe_report *r, const struct probe_row *row);

/* "contained", "ESCAPED", "skipped", "unproved" */
const char *probe_result_name(enum probe_result result);
