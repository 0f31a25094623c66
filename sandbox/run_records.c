// SPDX-License-Identifier: Apache-2.0
#include "sandbox/run_parts.h"

#include "sandbox/ended.h"
#include "sandbox/events.h"
#include "sandbox/reports.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

/* What is known beside the message, for whoever looks into the failure. */
static void keep_report(struct run *r)
{
    struct sandbox_outcome *o = r->outcome;
    struct buf text = BUF_INIT(REPORT_MAX_BYTES);
    int status = r->sandbox->wait_status;
    buf_printf(&text, "glovebox " GLOVEBOX_VERSION ": the kernel of sandbox %s failed\n", o->name);
    buf_printf(&text, "wait status: 0x%x\nran for: %lld ms\nwas ready: %s\nlast words: %s\n",
               status, (long long)(o->wall_ns / NSEC_PER_MSEC), r->is_ready ? "yes" : "no",
               r->notices.last_line);
    record_write(&r->place.record, &text);
    record_write_started(&r->place.record, &text);
    if (text.failed || reports_keep(r->place.registry.folder, &text, o->report) < 0)
        o->report[0] = '\0';
    buf_done(&text);
}

static void note_kernel_end(struct run *r)
{
    struct end_facts facts = {.wait_status = r->sandbox->wait_status};
    facts.is_out_of_memory = place_ran_out_of_memory(&r->place, &facts.is_at_limit);
    if (!WIFSIGNALED(facts.wait_status) || WTERMSIG(facts.wait_status) != SIGKILL)
        keep_report(r);
    outcome_note_kernel(r->outcome, &facts, r->notices.last_line);
}

void run_note_start(const struct run *r)
{
    const struct event e = {.type = "start",
                            .sandbox = r->place.registry.name,
                            .command = r->place.record.command,
                            .status = -1,
                            .wall_ns = -1};
    events_note(r->place.registry.folder, &e);
}

static void note_end(const struct run *r)
{
    const struct sandbox_outcome *o = r->outcome;
    const struct event e = {.type = "end",
                            .sandbox = r->place.registry.name,
                            .command = r->place.record.command,
                            .cause = sandbox_cause_name(o->cause),
                            .words = o->words,
                            .status = o->exit_status,
                            .wall_ns = o->wall_ns};
    events_note(r->place.registry.folder, &e);
}

void run_finish_outcome(struct run *r, int64_t end_ns)
{
    struct sandbox_outcome *o = r->outcome;
    o->kernel_ns = sandbox_kernel_ns(r->sandbox);
    if (!r->has_totals) {
        o->wall_ns = end_ns - r->start_ns;
        o->user_ns = o->system_ns = -1;
    } else {
        o->user_ns = MAX(o->user_ns, r->seen_user_ns);
        o->system_ns = MAX(o->system_ns, r->seen_system_ns);
    }
    if (!r->has_outcome && !r->is_ended_by_us)
        note_kernel_end(r);
    if (r->is_output_lost && (o->cause == SANDBOX_EXITED || o->cause == SANDBOX_SIGNALED)) {
        o->cause = SANDBOX_HOST_FAILURE;
        o->words[0] = '\0';
    }
    if (r->io->wants_memory || !r->spec->forget)
        place_measure(&r->place, &o->total_memory_bytes, &o->memory_kills);
    outcome_finish(o);
    struct buf output = BUF_INIT(ENDED_OUTPUT_MAX_BYTES);
    journal_write(&r->execs.journal, &output, ENDED_OUTPUT_MAX_BYTES);
    int error = place_keep(&r->place, o, &output);
    buf_done(&output);
    if (error < 0) {
        char line[256];
        snprintf(line, sizeof(line), "what came of the sandbox can't be kept: %s",
                 strerror(-error));
        r->io->say(line);
    }
    note_end(r);
}
