// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/trace.h"

#include "kernel/boot/control.h"
#include "kernel/boot/trace_arguments.h"
#include "kernel/proc/process.h"
#include "kernel/sys/table.h"
#include "lib/base/buf.h"

#include <inttypes.h>
#include <stdio.h>

/* The longest line fits on top of that. */
#define FLUSH_BYTES 16384
#define PATIENCE_MS 1000

#define LINES_MAX 65000
_Static_assert(FLUSH_BYTES + TRACE_ARGUMENTS_MAX + 1000 < LINES_MAX, "the longest line fits");

static struct buf lines = {.max_bytes = LINES_MAX};
static uint64_t missing; /* calls that were not recorded */
static bool is_behind;   /* the starter did not read in time */

static void show_result(long result)
{
    if (result == CALL_HOST)
        buf_append_str(&lines, "host");
    else if (result == CALL_DROP)
        buf_append_str(&lines, "dropped");
    else if (result == -ERESTARTSYS)
        buf_append_str(&lines, "restarts");
    else if (result < 0 && result >= -4095)
        buf_printf(&lines, "-1 %s (%s)",
                   strerrorname_np((int)-result) ? strerrorname_np((int)-result) : "?",
                   strerror((int)-result));
    else if (result > 0xffff)
        buf_printf(&lines, "%#lx", result);
    else
        buf_printf(&lines, "%ld", result);
}

void trace_call(const struct call *c, long result)
{
    const struct thread *t = c->thread;
    if (lines.size > FLUSH_BYTES)
        trace_flush();
    if (lines.size > FLUSH_BYTES) {
        missing++;
        return;
    }
    buf_printf(&lines, "%d %s(", t->tid, syscall_row(c->nr)->name);
    trace_show_arguments(c, result, &lines);
    buf_append_str(&lines, ") = ");
    show_result(result);
    buf_printf(&lines, " <%.6f>\n",
               (double)(clock_monotonic_ns() - c->started_ns) / (double)NSEC_PER_SEC);
}

static void show_missing(void)
{
    if (missing > 0)
        buf_printf(&lines, "(%" PRIu64 " calls are missing here: nobody read the trace)\n",
                   missing);
    missing = 0;
}

void trace_flush(void)
{
    if (lines.size == 0)
        return;
    is_behind = !control_offer_trace(lines.data, lines.size, is_behind ? 0 : PATIENCE_MS);
    if (is_behind)
        return;
    buf_reset(&lines);
    show_missing();
}

void trace_finish(void)
{
    show_missing();
    if (lines.size > 0)
        control_send(CONTROL_TRACE, 0, lines.data, lines.size);
    buf_reset(&lines);
}
