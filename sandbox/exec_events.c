// SPDX-License-Identifier: Apache-2.0
#include "sandbox/events.h"
#include "sandbox/exec.h"
#include "sandbox/outcome.h"

#include <sys/wait.h>

#define COMMAND_MAX_BYTES 512

/* Of the records that are kept: its arguments, apart by blanks. */
static void write_command(const struct exec *x, struct buf *b)
{
    const char *at = x->records, *end = x->records + x->records_size;
    while (at < end && b->size < COMMAND_MAX_BYTES) {
        size_t size = strnlen(at, (size_t)(end - at));
        if (size > 4 && !memcmp(at, "arg=", 4)) {
            buf_append(b, " ", b->size > 0);
            buf_append(b, at + 4, MIN(size - 4, COMMAND_MAX_BYTES - b->size));
        }
        at += size + 1;
    }
}

static void note(const struct exec *x, struct event *e)
{
    struct buf command = BUF_INIT(2 * COMMAND_MAX_BYTES);
    write_command(x, &command);
    e->sandbox = x->execs->registry->name;
    e->pid = x->pid;
    e->tag = x->tag;
    e->command = command.size > 0 ? command.data : NULL;
    events_note(x->execs->registry->folder, e);
    buf_done(&command);
}

void exec_tell_start(const struct exec *x)
{
    struct event e = {.type = "exec-start", .status = -1, .wall_ns = -1};
    note(x, &e);
}

static const char *cause_of(const struct exec *x)
{
    return x->is_failed                     ? "not-started"
           : x->is_timed_out                ? "timeout"
           : x->reason & EXEC_WITH_SANDBOX  ? "sandbox-ended"
           : x->reason == CONTROL_BY_MEMORY ? "memory"
           : WIFEXITED(x->status)           ? "exited"
                                            : "signaled";
}

void exec_tell_end(const struct exec *x)
{
    int status = x->is_failed           ? x->failed_status
                 : x->is_timed_out      ? SANDBOX_STATUS_TIMEOUT
                 : WIFEXITED(x->status) ? WEXITSTATUS(x->status)
                                        : 128 + WTERMSIG(x->status);
    struct event e = {.type = "exec-end",
                      .cause = cause_of(x),
                      .words = x->failure,
                      .status = status,
                      .wall_ns = execs_now_ns() - x->started_ns};
    note(x, &e);
}
