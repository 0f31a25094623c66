// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for the reader of probe reports (cli/probe_report.c). What must hold: the
 * verdict does not depend on the pieces in which it comes, and what was accepted is printable.
 */
#include "cli/probe_report.h"
#include "tests/fuzz/input.h"

#define TOKEN "token-0123"

static void check_text(const char *text)
{
    for (; *text; text++)
        CHECK(*text >= ' ' && *text < 0x7f);
}

static bool feed(struct probe_report *r, const char *data, size_t size, size_t piece)
{
    probe_report_init(r, TOKEN);
    for (size_t at = 0; at < size; at += piece)
        probe_report_take(r, data + at, MIN(piece, size - at));
    return probe_report_finish(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct probe_report whole, cut;
    struct input in = {data, size};
    size_t piece = 1 + input_byte(&in) % 50;
    const char *text = (const char *)in.data;
    bool is_good = feed(&whole, text, in.size, in.size ? in.size : 1);
    CHECK(feed(&cut, text, in.size, piece) == is_good);
    CHECK(whole.count == cut.count && whole.count <= PROBE_ROWS_MAX);
    CHECK(!strcmp(whole.problem, cut.problem) && whole.has_token == cut.has_token);
    CHECK(is_good == !whole.problem[0]);
    if (in.size && memmem(text, in.size, TOKEN, strlen(TOKEN)))
        CHECK(!is_good || whole.has_token);
    check_text(whole.problem);
    for (size_t i = 0; i < whole.count; i++) {
        const struct probe_row *row = &whole.rows[i];
        check_text(row->control);
        check_text(row->name);
        check_text(row->expected);
        check_text(row->after);
        check_text(row->reason);
    }
    probe_report_done(&whole);
    probe_report_done(&cut);
    return 0;
}
