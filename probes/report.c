// SPDX-License-Identifier: Apache-2.0
#include "probes/report.h"

static const char *const result_names[] = {
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

static void write_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c > '~' || c == '\\')
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
}

void report_write_begin(FILE *out, unsigned count)
{
    fprintf(out, REPORT_MAGIC "\t" REPORT_VERSION "\t%u\n", count);
}

void report_write_row(FILE *out, const struct report_row *row)
{
    fprintf(out, "probe\t%s\t%s\t%s\t%s\t%u\t", row->control, row->name, result_names[row->result],
            outside_names[row->outside], row->ms);
    write_text(out, row->expected);
    fputc('\t', out);
    write_text(out, row->after);
    fputc('\t', out);
    write_text(out, row->reason);
    fputc('\n', out);
}

void report_write_end(FILE *out, unsigned count)
{
    fprintf(out, "end\t%u\n", count);
}
