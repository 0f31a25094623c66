// SPDX-License-Identifier: Apache-2.0
#include "sandbox/run_parts.h"

#include "sandbox/ended.h"
#include "sandbox/events.h"
#include "sandbox/exec_messages.h"
#include "sandbox/input_left.h"
#include "sandbox/remains.h"
#include "sandbox/reports.h"
#include "sandbox/terminal.h"
#include "sandbox/updates.h"
#include "lib/base/rlimit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

/* How often a background job looks whether the terminal is its own again. */
#define BACKGROUND_CHECK_MS 200
/* How long the program has to stop before we do. */
#define SUSPEND_MS 200
/* How often it is looked whether those who were killed come to their end. */
#define DYING_LOOK_MS 100

/* Places in the poll list. */
enum watched {
    WATCH_CONTROL,
    WATCH_PIDFD,
    WATCH_SIGNALS,
    WATCH_TRACE,
    WATCH_INPUT_SOURCE,
    WATCH_INPUT_SINK,
    WATCH_OUTPUT_SOURCE,
    WATCH_OUTPUT_SINK,
    WATCH_ERRORS_SOURCE,
    WATCH_ERRORS_SINK,
    WATCH_LOG,
    WATCH_EXECS,
    WATCH_PORTS,
    WATCH_GATEWAY,
    WATCH_UPDATES,
    WATCH_COPIES = WATCH_UPDATES + UPDATES_POLL_MAX,
    WATCH_FILES = WATCH_COPIES + COPIES_POLL_MAX,
    WATCH_COUNT = WATCH_FILES + FILES_POLL_MAX,
};

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* Of two times that may be none (0). */
static int64_t earlier(int64_t a, int64_t b)
{
    return a == 0 ? b : b == 0 ? a : MIN(a, b);
}

static void set_state(struct run *r, enum state state, int64_t limit_ms)
{
    r->state = state;
    r->deadline_ns = limit_ms ? now_ns() + limit_ms * NSEC_PER_MSEC : 0;
}

static void start_dying(struct run *r)
{
    execs_expect_end(&r->execs);
    cgroup_unthrottle(&r->place.record.cgroup);
    sandbox_kill(r->sandbox);
    r->idle_looks = 0;
    r->dying_until_ns = now_ns() + SANDBOX_DYING_MAX_MS * NSEC_PER_MSEC;
    set_state(r, DYING, DYING_LOOK_MS);
}

static void start_killing(struct run *r)
{
    execs_expect_end(&r->execs);
    cgroup_unthrottle(&r->place.record.cgroup);
    if (sandbox_send(r->sandbox, CONTROL_KILL, 0))
        set_state(r, KILLING, SANDBOX_KILL_MS);
    else
        start_dying(r);
}

/* It ends at once where it obeys. What it should have ended does so also where it doesn't. */
static void start_telling(struct run *r)
{
    /* Of those that are gone the kernel process learns nothing any more. */
    if (!r->has_totals)
        remains_measure(r->sandbox->pid, &r->seen_user_ns, &r->seen_system_ns);
    sandbox_kill_programs(r->sandbox);
    set_state(r, TELLING, SANDBOX_TELLING_MS);
}

/* A reason of ours to end the sandbox: whether it is the first one, which is the cause. */
static bool take_reason(struct run *r)
{
    bool is_first = !r->is_ended_by_us && !r->has_outcome && r->state != GONE;
    if (is_first)
        r->is_ended_by_us = true;
    return is_first;
}

/* Ends the sandbox. The second time at once. */
static void end_sandbox(struct run *r, int sig)
{
    uint64_t grace_ns = r->spec->limits.value[LIMIT_GRACE];
    if (r->state == GONE) {
        r->is_abandoned = true;
        return;
    }
    if (r->state == TELLING || r->state == LEAVING || r->state == DYING)
        return;
    execs_refuse(&r->execs);
    bool is_idle = r->spec->waits && !execs_signal_all(&r->execs, sig);
    if (r->state == ENDING || !r->is_ready || grace_ns == 0 || is_idle) {
        start_killing(r);
        return;
    }
    if (r->state != RUNNING)
        return;
    r->state = ENDING;
    r->deadline_ns = now_ns() + (int64_t)grace_ns;
    if (r->spec->waits)
        return;
    sandbox_send(r->sandbox, CONTROL_SIGNAL, sig);
    sandbox_send(r->sandbox, CONTROL_SIGNAL, SIGCONT);
}

static void end_for_limit(struct run *r, enum sandbox_limit which)
{
    if (!take_reason(r))
        return;
    outcome_note_limit(r->outcome, which);
    end_sandbox(r, SIGTERM);
}

static void end_for_signal(struct run *r, int sig, const char *sender)
{
    if (take_reason(r))
        outcome_note_signal(r->outcome, sig, sender);
    end_sandbox(r, sig);
}

/* An updates_violation_fn. Without a grace: what broke out once would use it for more. */
static void end_for_policy(void *userdata, const char *secret, size_t size)
{
    struct run *r = userdata;
    if (r->sandbox->pid <= 0) /* its kernel has ended before, for a reason of its own */
        return;
    if (take_reason(r))
        outcome_note_policy(r->outcome, secret, size);
    if (r->state != RUNNING && r->state != ENDING)
        return;
    start_killing(r);
}

/* The two of struct execs_owner. */
static void end_for_question(void *userdata, bool at_once, const char *who)
{
    struct run *r = userdata;
    end_for_signal(r, SIGTERM, who);
    if (at_once && r->state == ENDING)
        start_killing(r);
}

static void set_lifetime(void *userdata, int64_t ns)
{
    struct run *r = userdata;
    if (r->state == RUNNING)
        r->lifetime_ns = ns > 0 ? now_ns() + MIN(ns, (int64_t)INT64_MAX / 4) : 0;
}

static uint64_t count_delivered(const struct run *r)
{
    return r->execs.delivered_bytes + r->output.total_bytes - (r->output.end - r->output.start) +
           r->errors.total_bytes - (r->errors.end - r->errors.start);
}

/* Whoever reads the output has until the deadline, and longer while something moves. */
static void wait_for_readers(struct run *r)
{
    r->delivered_bytes = count_delivered(r);
    set_state(r, GONE, SANDBOX_DELIVERY_MS);
}

static void give_up_readers(struct run *r)
{
    if (count_delivered(r) > r->delivered_bytes) {
        wait_for_readers(r);
        return;
    }
    r->is_abandoned = true;
    if (!r->output.done || !r->errors.done)
        r->io->say("output: its reader takes nothing; the end of it is left out");
}

/* No program runs any more, and what they wrote has come, but for what it may still hold. */
static void give_up_kernel(struct run *r)
{
    r->is_abandoned = r->is_held_up = true;
    r->io->say("the machine holds up the end of the sandbox's kernel (a slow disk or a mounted "
               "folder?), it ends when that lets go");
}

/* To take apart what many processes have mapped takes the machine a while. */
static void look_at_the_dying(struct run *r)
{
    r->idle_looks = remains_are_at_work(r->sandbox->pid) ? 0 : r->idle_looks + 1;
    if (r->idle_looks < SANDBOX_DYING_MS / DYING_LOOK_MS && now_ns() < r->dying_until_ns)
        set_state(r, DYING, DYING_LOOK_MS);
    else
        give_up_kernel(r);
}

static void on_deadline(struct run *r)
{
    r->deadline_ns = 0;
    if (r->state == ENDING)
        start_killing(r);
    else if (r->state == KILLING)
        start_telling(r);
    else if (r->state == TELLING || r->state == LEAVING)
        start_dying(r);
    else if (r->state == DYING)
        look_at_the_dying(r);
    else if (r->state == GONE)
        give_up_readers(r);
}

static void send_window_size(struct run *r)
{
    unsigned rows, columns;
    terminal_get_size(r->io->input, &rows, &columns);
    sandbox_send(r->sandbox, CONTROL_WINDOW_SIZE, (int32_t)(rows << 16 | (columns & 0xffff)));
}

/* When the sandbox's time is up; 0: never. */
static int64_t end_of_time(const struct run *r)
{
    return earlier(r->timeout_ns, r->lifetime_ns);
}

static bool is_time_up(const struct run *r)
{
    int64_t until = end_of_time(r);
    return until && now_ns() >= until;
}

/* In the background who changes the terminal is stopped: not when there is an end to be made. */
static bool may_take_terminal(const struct run *r)
{
    return !(r->is_ended_by_us || is_time_up(r)) || !terminal_is_in_background(r->io->input);
}

static void resume(struct run *r)
{
    r->suspend_ns = 0;
    if (r->spec->tty && may_take_terminal(r)) {
        terminal_enter_raw(r->io->input);
        send_window_size(r);
    }
    /* Else it goes on with what ends it. */
    if (!is_time_up(r))
        sandbox_send(r->sandbox, CONTROL_SIGNAL, SIGCONT);
}

/* Comes when the clock has something to end. */
static void set_alarm(const struct run *r, timer_t alarm)
{
    int64_t until = earlier(r->deadline_ns, end_of_time(r));
    const struct itimerspec when = {
        .it_value = {.tv_sec = until / NSEC_PER_SEC, .tv_nsec = until % NSEC_PER_SEC}};
    timer_settime(alarm, TIMER_ABSTIME, &when, NULL);
}

/*
 * Stops this process as Ctrl-Z would, so that the caller's shell takes over, until somebody
 * continues it, or the sandbox's time is up: a program that stops must not stop the clock of those
 * that it leaves running. In raw mode the terminal has told nobody else of our process group, so
 * that we do. Without a shell that does job control the host ignores the signal, and the program
 * goes on at once instead of hanging.
 */
void run_suspend(struct run *r)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    sigset_t stop;
    timer_t alarm;
    terminal_restore();
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    if (timer_create(CLOCK_MONOTONIC, &event, &alarm) == 0) {
        if (r->spec->tty)
            kill(0, SIGTSTP);
        else
            raise(SIGTSTP);
        /* Not earlier: a SIGCONT that came before would be forgotten with that. */
        set_alarm(r, alarm);
        sigprocmask(SIG_UNBLOCK, &stop, NULL);
        sigprocmask(SIG_BLOCK, &stop, NULL);
        timer_delete(alarm);
    }
    resume(r);
}

static void on_signal(struct run *r, const struct signalfd_siginfo *info)
{
    int sig = (int)info->ssi_signo;
    if (signals_is_ending(sig)) {
        char sender[128];
        if (signals_is_echo(&r->signals, info, now_ns()))
            return;
        signals_describe_sender(info, sender, sizeof(sender));
        end_for_signal(r, sig, sender);
        return;
    }
    switch (sig) {
    case SIGCONT:
        resume(r);
        break;
    case SIGWINCH:
        if (r->spec->tty)
            send_window_size(r);
        break;
    case SIGTSTP:
        if (r->spec->tty) {
            run_suspend(r);
            break;
        }
        r->suspend_ns = now_ns() + SUSPEND_MS * NSEC_PER_MSEC;
        sandbox_send(r->sandbox, CONTROL_SIGNAL, sig);
        break;
    default:
        sandbox_send(r->sandbox, CONTROL_SIGNAL, sig);
    }
}

static void read_signals(struct run *r)
{
    struct signalfd_siginfo info;
    while (read(r->signals.fd, &info, sizeof(info)) == sizeof(info))
        on_signal(r, &info);
}

/* The main program is no more; what else runs in the sandbox ends with it. */
void run_start_leaving(struct run *r)
{
    r->has_outcome = true;
    if (r->state == GONE || r->state == DYING)
        return;
    execs_expect_end(&r->execs);
    if (r->state == KILLING)
        start_telling(r);
    int64_t before_ns = r->deadline_ns;
    set_state(r, LEAVING, SANDBOX_LEAVING_MS);
    /* What is left of a grace is not prolonged. */
    if (r->is_ended_by_us)
        r->deadline_ns = earlier(before_ns, r->deadline_ns);
    cgroup_unthrottle(&r->place.record.cgroup);
    sandbox_send(r->sandbox, CONTROL_KILL, 0);
    /* A disk takes its time for that, and so does the kernel process to end. */
    store_remove_empty(&r->sandbox->store);
    place_expect_end(&r->place);
}

/* A reader that went away is the program's business: it gets SIGPIPE or EPIPE when it writes on. */
static void check_output(struct run *r, struct relay *relay, int *source, int sink,
                         const char *what)
{
    if (!relay->done || *source < 0)
        return;
    if (r->spec->tty)
        shutdown(*source, SHUT_RDWR);
    close(*source);
    *source = -1;
    if (relay->error == 0 || relay->error == -EPIPE || relay->error == -ECONNRESET ||
        (relay->error == -EIO && isatty(sink)))
        return;
    r->is_output_lost = true;
    sandbox_error_set(&r->outcome->message, 0, "%s: %s; the program's output is incomplete", what,
                      strerror(-relay->error));
}

/* A raw terminal ends only when it is hung up. */
static void check_input(struct run *r)
{
    if (!r->input.done || r->sandbox->input < 0)
        return;
    if (r->spec->tty) {
        shutdown(r->sandbox->input, SHUT_WR);
        end_for_signal(r, SIGHUP, "the terminal");
    }
    close(r->sandbox->input);
    r->sandbox->input = -1;
}

static void watch(struct pollfd *p, int fd, short events)
{
    *p = (struct pollfd){.fd = events ? fd : -1, .events = events};
}

/* Returns whether it wants to be called again soon. */
static bool fill_poll_list(struct run *r, struct pollfd *p)
{
    short input = r->state == GONE ? 0 : relay_source_events(&r->input);
    bool waits =
        input && r->is_input_terminal && !r->spec->tty && terminal_is_in_background(r->io->input);
    bool is_trace_full = notices_trace_is_full(&r->notices);
    watch(&p[WATCH_CONTROL], r->sandbox->control,
          r->is_control_open && !is_trace_full ? POLLIN : 0);
    watch(&p[WATCH_PIDFD], r->sandbox->pidfd, r->state != GONE ? POLLIN : 0);
    watch(&p[WATCH_SIGNALS], r->signals.fd, POLLIN);
    watch(&p[WATCH_TRACE], r->notices.trace.fd, is_trace_full ? POLLOUT : 0);
    watch(&p[WATCH_INPUT_SOURCE], r->input.source, waits ? 0 : input);
    watch(&p[WATCH_INPUT_SINK], r->input.sink.fd, relay_sink_events(&r->input));
    watch(&p[WATCH_OUTPUT_SOURCE], r->output.source, relay_source_events(&r->output));
    watch(&p[WATCH_OUTPUT_SINK], r->output.sink.fd, relay_sink_events(&r->output));
    watch(&p[WATCH_ERRORS_SOURCE], r->errors.source, relay_source_events(&r->errors));
    watch(&p[WATCH_ERRORS_SINK], r->errors.sink.fd, relay_sink_events(&r->errors));
    watch(&p[WATCH_LOG], r->log.source, relay_source_events(&r->log));
    watch(&p[WATCH_EXECS], execs_poll_descriptor(&r->execs), POLLIN);
    watch(&p[WATCH_PORTS], ports_poll_descriptor(&r->ports), POLLIN);
    watch(&p[WATCH_GATEWAY], r->sandbox->gateway.pidfd, r->state != GONE ? POLLIN : 0);
    updates_fill_poll(&r->updates, &p[WATCH_UPDATES]);
    copies_fill_poll(&r->copies, &p[WATCH_COPIES]);
    files_fill_poll(&r->files, &p[WATCH_FILES]);
    return waits;
}

static void step_streams(struct run *r, const struct pollfd *p)
{
    relay_step(&r->input, p[WATCH_INPUT_SOURCE].revents, p[WATCH_INPUT_SINK].revents);
    relay_step(&r->output, p[WATCH_OUTPUT_SOURCE].revents, p[WATCH_OUTPUT_SINK].revents);
    relay_step(&r->errors, p[WATCH_ERRORS_SOURCE].revents, p[WATCH_ERRORS_SINK].revents);
    relay_step(&r->log, p[WATCH_LOG].revents, 0);
    check_input(r);
    check_output(r, &r->output, &r->sandbox->output, r->io->output, "standard output");
    check_output(r, &r->errors, &r->sandbox->errors, r->io->errors, "standard error");
}

/* Relay_take_fns. */
static void keep_output(void *userdata, const char *data, size_t size)
{
    const struct journal_source from = {.stream = EXEC_OUT, .tag = ""};
    execs_keep_output(userdata, &from, data, size);
}

static void keep_errors(void *userdata, const char *data, size_t size)
{
    const struct journal_source from = {.stream = EXEC_ERR, .tag = ""};
    execs_keep_output(userdata, &from, data, size);
}

/* Who reads the log of a sandbox that has ended is told when that was all. */
static void look_for_end_of_output(struct run *r)
{
    if (r->state == GONE && r->output.done && r->errors.done && !r->execs.is_over &&
        !execs_have_rest(&r->execs))
        execs_end_output(&r->execs);
}

/* Who is attached to a program is not waited for without end: the sandbox is not his alone. */
static void limit_the_attached(struct run *r)
{
    if (r->state == GONE && r->deadline_ns == 0 && r->output.done && r->errors.done &&
        r->log.done && !execs_is_quiet(&r->execs))
        wait_for_readers(r);
}

static bool is_over(const struct run *r)
{
    return r->is_abandoned || (r->state == GONE && r->output.done && r->errors.done &&
                               r->log.done && !r->is_control_open && execs_is_quiet(&r->execs));
}

/* Without those at the end that are none: the host takes no more than there may be descriptors. */
static nfds_t count_watched(struct pollfd *p)
{
    nfds_t count = WATCH_COUNT;
    for (; count > 0 && p[count - 1].fd < 0; count--)
        p[count - 1].revents = 0;
    return count;
}

/* Of those who let nobody in, for want of descriptors, and of a secret that waits. */
static int64_t end_of_rests(const struct run *r)
{
    return earlier(updates_deadline(&r->updates), earlier(listener_deadline(&r->copies.listener),
                                                          listener_deadline(&r->files.listener)));
}

static void wait_for_events(struct run *r, struct pollfd *p)
{
    struct timespec ts, *timeout = NULL;
    bool soon = fill_poll_list(r, p);
    int64_t now = now_ns();
    int64_t until = earlier(earlier(r->deadline_ns, r->suspend_ns), end_of_time(r));
    until = earlier(until, earlier(execs_deadline(&r->execs), ports_deadline(&r->ports)));
    until = earlier(until, end_of_rests(r));
    if (r->is_sweeping)
        until = now;
    if (soon)
        until = earlier(until, now + BACKGROUND_CHECK_MS * NSEC_PER_MSEC);
    if (until) {
        int64_t left = MAX(until - now, (int64_t)0);
        ts = (struct timespec){.tv_sec = left / NSEC_PER_SEC, .tv_nsec = left % NSEC_PER_SEC};
        timeout = &ts;
    }
    if (ppoll(p, count_watched(p), timeout, NULL) < 0)
        for (int i = 0; i < WATCH_COUNT; i++)
            p[i].revents = 0;
}

static void check_clock(struct run *r)
{
    int64_t now = now_ns();
    if (r->timeout_ns && now >= r->timeout_ns) {
        r->timeout_ns = 0;
        end_for_limit(r, LIMIT_TIMEOUT);
    }
    if (r->lifetime_ns && now >= r->lifetime_ns) {
        r->lifetime_ns = 0;
        end_for_limit(r, LIMIT_LIFETIME);
    }
    if (r->deadline_ns && now >= r->deadline_ns)
        on_deadline(r);
    if (r->suspend_ns && now >= r->suspend_ns)
        run_suspend(r);
}

/* The end of the sandbox is its end, too. */
static void take_end_of_gateway(struct run *r)
{
    siginfo_t info;
    char how[64];
    bool has_failed = sandbox_gateway_has_failed(&r->sandbox->gateway, &info);
    const char *name = sigabbrev_np(info.si_status);
    if (info.si_code == CLD_EXITED)
        snprintf(how, sizeof(how), "ended with status %d", info.si_status);
    else
        snprintf(how, sizeof(how), "was killed by SIG%s", name ? name : "?");
    updates_gateway_gone(&r->updates);
    if (has_failed && (r->state == RUNNING || r->state == ENDING))
        decisions_add_gateway_gone(&r->decisions, how);
    sandbox_gateway_end(&r->sandbox->gateway, 0); /* no sooner: who sees it gone may read why */
}

static void run_loop(struct run *r)
{
    while (!is_over(r)) {
        struct pollfd p[WATCH_COUNT];
        wait_for_events(r, p);
        if (p[WATCH_SIGNALS].revents)
            read_signals(r);
        check_clock(r);
        if (p[WATCH_TRACE].revents)
            notices_write_trace(&r->notices, true);
        if (p[WATCH_CONTROL].revents)
            run_read_control(r);
        step_streams(r, p);
        execs_step(&r->execs);
        look_for_end_of_output(r);
        limit_the_attached(r);
        if (r->state == ENDING && r->spec->waits && r->execs.running == 0)
            start_killing(r);
        updates_step(&r->updates, &p[WATCH_UPDATES], UPDATES_POLL_MAX);
        if (p[WATCH_GATEWAY].revents)
            take_end_of_gateway(r);
        copies_step(&r->copies, &p[WATCH_COPIES]);
        files_step(&r->files, &p[WATCH_FILES]);
        ports_step(&r->ports);
        if (r->is_sweeping)
            r->is_sweeping = store_sweep_step(&r->sandbox->store);
        if (p[WATCH_PIDFD].revents) {
            while (run_read_control(r)) /* its last words */
                ;
            sandbox_reap(r->sandbox);
            /* The last lines of its log, whose end all wait for. */
            updates_drain(&r->updates, SANDBOX_GATEWAY_END_MS);
            updates_close(&r->updates);
            copies_close(&r->copies);
            files_close(&r->files);
            ports_close(&r->ports);
            execs_kernel_gone(&r->execs);
            sandbox_gateway_end(&r->sandbox->gateway, SANDBOX_GATEWAY_END_MS);
            set_state(r, GONE, 0);
            if (r->is_ended_by_us)
                wait_for_readers(r);
            r->timeout_ns = r->lifetime_ns = 0;
        }
    }
}

/* An updates_line_fn. */
static void take_decision(void *userdata, const char *text, size_t size)
{
    struct run *r = userdata;
    const char *line = scrubber_replace(r->scrubber, text, &size);
    if (decisions_add(&r->decisions, line, size) && r->io->take_decision)
        r->io->take_decision(r->io->decision_userdata, line, size);
}

/* Of struct updates. */
static void begin_search(void *userdata)
{
    static const char words[] = "the first secret came: connections to ports that were open are "
                                "cut; connect again";
    struct run *r = userdata;
    copies_begin_search(&r->copies);
    files_begin_search(&r->files);
    if (ports_begin_search(&r->ports))
        notices_say(&r->notices, "", words, strlen(words));
}

/* Likewise. */
static bool is_searched(void *userdata)
{
    const struct run *r = userdata;
    return ports_are_searched(&r->ports);
}

static int open_streams(struct run *r)
{
    const struct sandbox_io *io = r->io;
    struct sandbox *s = r->sandbox;
    int error = relay_init_own(&r->input, io->input, s->input);
    r->is_input_terminal = io->input >= 0 && isatty(io->input);
    if (io->input < 0)
        r->input.done = true;
    if (!r->spec->tty)
        r->input_left = input_left_open(io->input, s->input);
    if (error == 0)
        error = relay_init(&r->output, s->output, io->output, io->take_output, io->output_userdata);
    if (error == 0 && s->errors >= 0)
        error = relay_init(&r->errors, s->errors, io->errors, io->take_errors, io->errors_userdata);
    if (error == 0)
        error = relay_init(&r->log, s->log, -1, notices_take_log, &r->notices);
    relay_let_see(&r->output, keep_output, &r->execs);
    relay_let_see(&r->errors, keep_errors, &r->execs);
    relay_show(&r->output, io->output_style);
    relay_show(&r->errors, io->errors_style);
    relay_scrub(&r->output, r->scrubber);
    relay_scrub(&r->errors, r->scrubber);
    relay_scrub(&r->log, r->scrubber);
    return error;
}

static void run_done(struct run *r)
{
    updates_close(&r->updates);
    copies_close(&r->copies);
    files_close(&r->files);
    ports_close(&r->ports);
    if (r->is_held_up)
        sandbox_forget(r->sandbox);
    else
        sandbox_free(r->sandbox);
    decisions_close(&r->decisions);
    place_leave(&r->place);
    /* Who was told finds nothing of it any more, and its name free. */
    execs_close(&r->execs, r->outcome->exit_status, sandbox_cause_name(r->outcome->cause),
                r->outcome->words);
    base_closep(&r->input_left);
    relay_done(&r->input);
    relay_done(&r->output);
    relay_done(&r->errors);
    relay_done(&r->log);
    scrubber_free(r->scrubber);
    notices_done(&r->notices);
    signals_restore(&r->signals);
}

static void set_clock(struct run *r)
{
    const uint64_t *limits = r->spec->limits.value;
    if (limits[LIMIT_TIMEOUT])
        r->timeout_ns = now_ns() + (int64_t)limits[LIMIT_TIMEOUT];
    if (limits[LIMIT_LIFETIME])
        r->lifetime_ns = r->start_ns + (int64_t)limits[LIMIT_LIFETIME];
}

static int run_started(struct run *r)
{
    int error = open_streams(r);
    if (error == 0 && r->signals.fd < 0)
        error = -EMFILE;
    if (error == 0 && r->spec->tty)
        error = terminal_enter_raw(r->io->input);
    if (error < 0)
        return error;
    run_note_start(r);
    set_clock(r);
    check_input(r);
    store_sweep_begin(&r->sandbox->store);
    r->is_sweeping = true;
    run_loop(r);
    terminal_restore();
    notices_end_log(&r->notices);
    input_left_give_back(r->input_left, r->io->input, &r->input);
    run_finish_outcome(r, now_ns());
    return 0;
}

static int start(struct run *r, struct sandbox_error *e)
{
    struct sandbox_outcome *o = r->outcome;
    int error = scrubber_new(r->spec, &r->scrubber, e);
    if (error == 0)
        error = ports_publish(&r->ports, r->spec, e);
    if (error == 0)
        error = sandbox_start(r->spec, &r->place, &r->sandbox, e);
    if (error == -ENOSYS && place_forgo_unified(&r->place))
        error = sandbox_start(r->spec, &r->place, &r->sandbox, e);
    if (error == 0) {
        r->place.record.seal = r->sandbox->seal;
        r->place.record.gateway = r->sandbox->gateway.pid;
        snprintf(r->place.record.egress, sizeof(r->place.record.egress), "%s",
                 r->spec->policy_words);
        error = place_started(&r->place, r->sandbox->pid, e);
    }
    /* What follows takes disks their time, as the kernel process takes its own meanwhile. */
    if (error == 0)
        error = decisions_open(&r->decisions, &r->place.registry, e);
    if (error == 0) {
        decisions_sweep(&r->decisions);
        r->updates.scrubber = r->scrubber;
        r->updates.policy = r->spec->policy;
        error = updates_open(&r->updates, &r->place.registry, r->sandbox->gateway.control,
                             &r->spec->env, e);
    }
    r->copies.scrubber = r->scrubber;
    if (error == 0)
        error = copies_open(&r->copies, &r->place.registry, r->sandbox, e);
    r->files.scrubber = r->scrubber;
    if (error == 0)
        error = files_open(&r->files, &r->place.registry, r->sandbox, e);
    r->ports.scrubber = r->scrubber;
    if (error == 0)
        error = ports_open(&r->ports, &r->place.registry, r->sandbox, e);
    if (error == 0) {
        r->execs.scrubber = r->scrubber;
        r->execs.env = updates_env(&r->updates);
        error = execs_open(&r->execs, &r->place.registry, r->sandbox, r->spec, e);
    }
    snprintf(o->name, sizeof(o->name), "%s", r->place.registry.name);
    o->limits = r->spec->limits;
    o->controls = r->place.record.controls;
    return error;
}

/* No room for one more, or its name is taken: nothing went wrong, but there is no sandbox. */
static int refuse(const struct sandbox_spec *spec, struct sandbox_outcome *ret, int error,
                  const struct sandbox_error *e)
{
    if (error != -EUSERS && error != -EEXIST)
        return error;
    *ret = (struct sandbox_outcome){.cause = SANDBOX_NOT_STARTED,
                                    .exit_status = SANDBOX_STATUS_FAILED,
                                    .exit_code = -1,
                                    .refused = error,
                                    .limits = spec->limits,
                                    .message = *e};
    outcome_finish(ret);
    return 0;
}

int sandbox_run(const struct sandbox_spec *spec, const struct sandbox_io *io,
                struct sandbox_outcome *ret, struct sandbox_error *e)
{
    struct sandbox_outcome outcome = {.exit_code = -1};
    struct relay closed = {.source = -1, .sink = OUTLET_CLOSED, .done = true};
    struct run r = {
        .spec = spec,
        .io = io,
        .outcome = &outcome,
        .start_ns = now_ns(),
        .is_control_open = true,
        .input_left = -1,
        .input = closed,
        .output = closed,
        .errors = closed,
        .log = closed,
        .decisions = DECISIONS_CLOSED,
    };
    /* Each program has three descriptors, and each who is attached one. */
    rlimit_raise(RLIMIT_NOFILE);
    rlimit_raise(RLIMIT_CPU);
    rlimit_raise(RLIMIT_FSIZE);
    updates_init(&r.updates, take_decision, end_for_policy, &r);
    r.updates.begin_search = begin_search;
    r.updates.is_searched = is_searched;
    copies_init(&r.copies);
    files_init(&r.files);
    execs_init(&r.execs);
    ports_init(&r.ports);
    r.execs.owner = (struct execs_owner){end_for_question, set_lifetime, &r};
    signals_block(&r.signals);
    int error = place_take(&r.place, spec, e);
    if (error < 0) {
        signals_restore(&r.signals);
        return refuse(spec, ret, error, e);
    }
    notices_init(&r.notices, io->say, io->trace);
    error = start(&r, e);
    if (error == 0) {
        error = run_started(&r);
        if (error < 0)
            sandbox_error_set(e, error, "start: %s; free memory or descriptors and try again",
                              strerror(-error));
    }
    run_done(&r);
    if (error == 0)
        *ret = outcome;
    return error;
}
