// SPDX-License-Identifier: Apache-2.0
#include "sandbox/outcome.h"

#include "lib/text/shown.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

const char *sandbox_cause_name(enum sandbox_cause cause)
{
    static const char *const names[] = {
        [SANDBOX_EXITED] = "exited",
        [SANDBOX_SIGNALED] = "signaled",
        [SANDBOX_TIMED_OUT] = "timeout",
        [SANDBOX_LIFETIME] = "lifetime",
        [SANDBOX_IDLE] = "idle",
        [SANDBOX_MEMORY] = "memory",
        [SANDBOX_DISK] = "disk",
        [SANDBOX_BUDGET] = "budget",
        [SANDBOX_POLICY] = "policy",
        [SANDBOX_KILLED] = "killed",
        [SANDBOX_NOT_STARTED] = "not-started",
        [SANDBOX_KERNEL_FAILURE] = "kernel-failure",
        [SANDBOX_HOST_FAILURE] = "host-failure",
    };
    return names[cause];
}

/* "SIGSEGV (Segmentation fault)"; realtime signals have a number only. */
static void format_signal(int sig, char *ret, size_t size)
{
    const char *name = sigabbrev_np(sig), *words = sigdescr_np(sig);
    if (name && words)
        snprintf(ret, size, "SIG%s (%s)", name, words);
    else
        snprintf(ret, size, "signal %d", sig);
}

/* "memory limit of 256 MiB reached", and how to have more. */
static void set_limit(struct sandbox_outcome *o, enum sandbox_cause cause, enum sandbox_limit which)
{
    const struct limit_row *row = &sandbox_limit_rows[which];
    char value[64];
    sandbox_limit_format(which, o->limits.value[which], value, sizeof(value));
    o->cause = cause;
    snprintf(o->words, sizeof(o->words), "%s of %s reached", row->words, value);
    sandbox_error_set(&o->message, 0, "%s; raise it with --%s", o->words, row->name);
}

void outcome_note_limit(struct sandbox_outcome *o, enum sandbox_limit which)
{
    set_limit(o,
              which == LIMIT_LIFETIME ? SANDBOX_LIFETIME
              : which == LIMIT_IDLE   ? SANDBOX_IDLE
                                      : SANDBOX_TIMED_OUT,
              which);
    o->signal = SIGKILL;
}

void outcome_note_program(struct sandbox_outcome *o, int wait_status)
{
    o->exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    if (o->cause != SANDBOX_KILLED)
        o->signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}

void outcome_note_policy(struct sandbox_outcome *o, const char *secret, size_t size)
{
    char name[64];
    text_line(secret, size, name, sizeof(name));
    o->cause = SANDBOX_POLICY;
    o->signal = SIGKILL;
    snprintf(o->words, sizeof(o->words), "secret %s was to go where it may not", name);
    sandbox_error_set(
        &o->message, 0,
        "%s, for which its policy ends the sandbox; see glovebox egress, and let it go "
        "there or set another on_violation",
        o->words);
}

void outcome_note_signal(struct sandbox_outcome *o, int sig, const char *sender)
{
    char name[64];
    format_signal(sig, name, sizeof(name));
    o->cause = SANDBOX_KILLED;
    o->signal = sig;
    snprintf(o->words, sizeof(o->words), "ended by %s%s%s", name, sender[0] ? " from " : "",
             sender);
}

const char *outcome_sender(uint32_t reason)
{
    return reason == CONTROL_BY_HOST_UNTOLD ? ", or otherwise, as when a stack overflows: Linux "
                                              "before 6.15 does not tell which"
           : reason == CONTROL_BY_HOST_LATE ? ", or otherwise, as when a stack overflows: the host "
                                              "did not tell which in time"
           : reason == CONTROL_BY_HOST      ? " from outside of the sandbox"
                                            : "";
}

/* SIGKILL that came neither from within nor from the sandbox's kernel. */
static void note_kill_by_host(struct sandbox_outcome *o, const struct end_facts *f)
{
    if (f->is_out_of_memory && f->is_at_limit) {
        set_limit(o, SANDBOX_MEMORY, LIMIT_MEMORY);
        return;
    }
    if (!f->is_out_of_memory) {
        o->cause = SANDBOX_SIGNALED;
        snprintf(o->words, sizeof(o->words), "ended by SIGKILL%s", outcome_sender(f->reason));
        return;
    }
    o->cause = SANDBOX_HOST_FAILURE;
    snprintf(o->words, sizeof(o->words),
             "the machine, or a cgroup around the sandbox, ran out of "
             "memory");
    sandbox_error_set(&o->message, 0, "%s and killed the program; free memory and try again",
                      o->words);
}

/* The limit is an errno that programs see; what ends one is the machine's disk. */
static void note_full_disk(struct sandbox_outcome *o)
{
    o->cause = SANDBOX_DISK;
    snprintf(o->words, sizeof(o->words), "the disk with the sandbox's private files is full");
    sandbox_error_set(&o->message, 0,
                      "%s; free some of it, or set TMPDIR to a directory on another one", o->words);
}

/* What the sandbox's kernel says is its own word: a limit that isn't there ended nothing. */
static void note_by_reason(struct sandbox_outcome *o, const struct end_facts *f)
{
    static const struct {
        enum control_reason reason;
        enum sandbox_cause cause;
        enum sandbox_limit which;
    } rows[] = {
        {CONTROL_BY_MEMORY, SANDBOX_MEMORY, LIMIT_MEMORY},
        {CONTROL_BY_CPU_BUDGET, SANDBOX_BUDGET, LIMIT_CPU_BUDGET},
        {CONTROL_BY_WRITE_BUDGET, SANDBOX_BUDGET, LIMIT_WRITE_BUDGET},
        {CONTROL_BY_SEND_BUDGET, SANDBOX_BUDGET, LIMIT_SEND_BUDGET},
        {CONTROL_BY_IDLE, SANDBOX_IDLE, LIMIT_IDLE},
    };
    o->cause = SANDBOX_SIGNALED;
    if (control_is_by_host(f->reason))
        note_kill_by_host(o, f);
    if (f->reason == CONTROL_BY_DISK)
        note_full_disk(o);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (f->reason == rows[i].reason && o->limits.value[rows[i].which])
            set_limit(o, rows[i].cause, rows[i].which);
    if (o->cause == SANDBOX_MEMORY)
        o->memory_kills++;
}

void outcome_note_exit(struct sandbox_outcome *o, const struct end_facts *f)
{
    if (WIFSIGNALED(f->wait_status)) {
        o->signal = WTERMSIG(f->wait_status);
        note_by_reason(o, f);
        return;
    }
    o->cause = SANDBOX_EXITED;
    o->exit_code = WEXITSTATUS(f->wait_status);
}

void outcome_note_kernel(struct sandbox_outcome *o, const struct end_facts *f, const char *log)
{
    struct rlimit time;
    bool is_signal = WIFSIGNALED(f->wait_status);
    int number = is_signal ? WTERMSIG(f->wait_status) : WEXITSTATUS(f->wait_status);
    if (is_signal && number == SIGKILL && f->is_out_of_memory) {
        o->signal = SIGKILL;
        note_kill_by_host(o, f);
        return;
    }
    if (is_signal && number == SIGKILL) {
        o->cause = SANDBOX_HOST_FAILURE;
        o->signal = SIGKILL;
        snprintf(o->words, sizeof(o->words), "the sandbox's kernel was killed from outside");
        if (getrlimit(RLIMIT_CPU, &time) == 0 && time.rlim_max != RLIM_INFINITY)
            sandbox_error_set(&o->message, 0,
                              "%s; programs of this machine have %llu s of processor time each: "
                              "raise that (ulimit -t), or start it again",
                              o->words, (unsigned long long)time.rlim_max);
        else
            sandbox_error_set(&o->message, 0, "%s; start it again", o->words);
        return;
    }
    o->cause = SANDBOX_KERNEL_FAILURE;
    if (is_signal && number == SIGSYS)
        snprintf(o->words, sizeof(o->words),
                 "the sandbox's kernel was ended by its seccomp filter (SIGSYS)");
    else
        snprintf(o->words, sizeof(o->words), "the sandbox's kernel ended unexpectedly: %s %d",
                 is_signal ? "signal" : "status", number);
    sandbox_error_set(&o->message, 0, "%s%s%s%s%s; this is a bug of Glovebox, please report it",
                      o->words, log[0] ? ": " : "", log, o->report[0] ? "; report " : "",
                      o->report);
}

/* What to do next, when the sandbox's kernel has said only what is wrong. */
static const char *advice(int status)
{
    switch (status) {
    case 126:
        return "give a program or script that can be executed";
    case 127:
        return "give its path in the sandbox, or an image that has it";
    default:
        return "check the options";
    }
}

void outcome_note_failure(struct sandbox_outcome *o, int status, const char *text, size_t size)
{
    o->cause = SANDBOX_NOT_STARTED;
    o->words[0] = '\0';
    o->exit_status = status >= 125 && status <= 127 ? status : SANDBOX_STATUS_FAILED;
    size_t used = text_line(text, size, o->message.text, sizeof(o->message.text) - 64);
    if (!strchr(o->message.text, ';'))
        snprintf(o->message.text + used, sizeof(o->message.text) - used, "; %s",
                 advice(o->exit_status));
}

void outcome_describe_casualty(const struct sandbox_limits *l, const struct end_facts *f, int pid,
                               char *ret, size_t size)
{
    char limit[64];
    bool is_in_doubt =
        !f->is_out_of_memory && f->reason != CONTROL_BY_HOST && control_is_by_host(f->reason);
    sandbox_limit_format(LIMIT_MEMORY, l->value[LIMIT_MEMORY], limit, sizeof(limit));
    if (f->is_at_limit)
        snprintf(ret, size, "memory limit of %s reached, killed process %d: ", limit, pid);
    else
        snprintf(ret, size, "process %d was %s%s: ", pid,
                 is_in_doubt ? "ended by SIGKILL" : "killed",
                 f->is_out_of_memory            ? " since the machine ran out of memory"
                 : f->reason == CONTROL_BY_DISK ? " since the disk with its private files is full"
                                                : outcome_sender(f->reason));
}

void outcome_note_totals(struct sandbox_outcome *o, const struct control_packet *p)
{
    o->wall_ns = p->wall_ns;
    o->user_ns = p->user_ns;
    o->system_ns = p->system_ns;
    o->peak_memory_bytes = p->peak_memory_bytes;
    o->written_bytes = p->written_bytes;
}

static int choose_status(const struct sandbox_outcome *o)
{
    switch (o->cause) {
    case SANDBOX_EXITED:
        return o->exit_code;
    case SANDBOX_SIGNALED:
    case SANDBOX_KILLED:
    case SANDBOX_DISK:
        return 128 + o->signal;
    case SANDBOX_MEMORY:
    case SANDBOX_BUDGET:
    case SANDBOX_POLICY:
        return 128 + SIGKILL;
    case SANDBOX_TIMED_OUT:
    case SANDBOX_LIFETIME:
    case SANDBOX_IDLE:
        return SANDBOX_STATUS_TIMEOUT;
    case SANDBOX_NOT_STARTED:
        return o->exit_status;
    default:
        return SANDBOX_STATUS_FAILED;
    }
}

static void choose_words(struct sandbox_outcome *o)
{
    char name[64];
    switch (o->cause) {
    case SANDBOX_EXITED:
        snprintf(o->words, sizeof(o->words), "exited with status %d", o->exit_code);
        break;
    case SANDBOX_SIGNALED:
        format_signal(o->signal, name, sizeof(name));
        snprintf(o->words, sizeof(o->words), "ended by %s", name);
        break;
    case SANDBOX_NOT_STARTED:
        snprintf(o->words, sizeof(o->words), "the program could not be started");
        break;
    case SANDBOX_HOST_FAILURE:
        snprintf(o->words, sizeof(o->words), "Glovebox or the machine failed");
        break;
    default:
        break;
    }
}

void outcome_finish(struct sandbox_outcome *o)
{
    o->exit_status = choose_status(o);
    if (!o->words[0])
        choose_words(o);
}
