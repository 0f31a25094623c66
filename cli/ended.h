// SPDX-License-Identifier: Apache-2.0
/*
 * Sandboxes that have ended (sandbox/ended.h), as ps and inspect show them.
 */
#pragma once

#include "sandbox/record.h"

#include <jansson.h>
#include <stdio.h>

/* A row of ps -a; what: "running" or the cause, and so on. Texts need not be safe. */
struct ps_row {
    const char *name, *state, *status, *ended, *ran, *why, *command;
};

void ended_print_head(FILE *out);
void ended_print_row(const struct ps_row *row, FILE *out);

void ended_print(const char *name, const struct record *r, FILE *out);
json_t *ended_make_object(const char *name, const struct record *r);
void ended_print_text(const char *name, const struct record *r, FILE *out);

/* "12 s", "3 min", "2 h", "5 d": as exact as a glance needs. */
void ended_format_age(int64_t ns, char *ret, size_t size);

/* CLOCK_REALTIME; and as "2026-01-31T12:00:00.000Z". */
int64_t ended_now_ns(void);
void ended_format_time(int64_t ns, char ret[static 32]);

/* Labels (sandbox/label.h), as an object and as lines. */
json_t *ended_make_labels(const char *labels);
void ended_print_labels(const char *labels, FILE *out);
