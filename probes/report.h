// SPDX-License-Identifier: Apache-2.0
/*
 * What glovebox-probes writes, one line a probe:
 *
 *   glovebox-probes TAB 1 TAB COUNT
 *   probe TAB CONTROL TAB NAME TAB RESULT TAB OUTSIDE TAB MS TAB EXPECTED TAB AFTER TAB REASON
 *   ...
 *   end TAB COUNT
 *
 * CONTROL and NAME are lower-case words, RESULT one of contained, ESCAPED, skipped, unproved,
 * OUTSIDE one of never, maybe, escapes (see probe.h), MS milliseconds. The last three are text, in
 * which everything but printable ASCII, and the backslash, is \xNN. No line is longer than
 * REPORT_LINE_BYTES.
 *
 * Whoever reads it reads what a stranger wrote, see cli/probe_report.h.
 */
#pragma once

#include "probes/probe.h"

#define REPORT_MAGIC        "glovebox-probes"
#define REPORT_VERSION      "1"
#define REPORT_REASON_BYTES 200
#define REPORT_LINE_BYTES   2048

struct report_row {
    const char *control, *name, *expected, *after;
    enum probe_result result;
    enum probe_outside outside;
    unsigned ms;
    char reason[REPORT_REASON_BYTES];
};

void report_write_begin(FILE *out, unsigned count);
void report_write_row(FILE *out, const struct report_row *row);
void report_write_end(FILE *out, unsigned count);
