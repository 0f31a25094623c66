// SPDX-License-Identifier: Apache-2.0
#include "sandbox/exec.h"

#include "sandbox/exec_records.h"
#include "sandbox/stream_pair.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define PIECE_BYTES        32768
#define INPUT_KEPT_BYTES   65536 /* more than that is not taken */
#define SCRUBBED_MAX_BYTES (4u << 20)
/* When a kernel that took no signal is told again. */
#define SIGNAL_AGAIN_NS (10 * NSEC_PER_MSEC)
/* That the kernel may take to tell an end, after SIGKILL. */
#define SILENCE_NS (5 * NSEC_PER_SEC)

/* ---- input ---- */

bool exec_has_input_room(const struct exec *x)
{
    return x->input_data.size <= INPUT_KEPT_BYTES;
}

static void close_input(struct exec *x)
{
    if (x->flags & EXEC_TTY && x->input.fd >= 0)
        shutdown(x->input.fd, SHUT_WR);
    exec_source_close(x->execs, &x->input);
    buf_reset(&x->input_data);
}

static void on_input(struct execs *execs, struct exec_source *s, uint32_t events)
{
    struct exec *x = container_of(s, struct exec, input);
    while (x->input_data.size > 0) {
        ssize_t n = write(s->fd, x->input_data.data, x->input_data.size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) { /* nobody reads it any more */
            close_input(x);
            break;
        }
        buf_consume(&x->input_data, (size_t)n);
    }
    if (s->fd >= 0 && x->input_data.size == 0 && (x->input_ends || (events & EPOLLERR)))
        close_input(x);
    if (s->fd >= 0)
        exec_source_watch(execs, s, x->input_data.size > 0 ? EPOLLOUT : 0);
    execs_wake(execs, x);
}

int exec_feed(struct exec *x, const char *data, size_t size)
{
    if (x->input.fd < 0 || x->input_ends)
        return -EPIPE;
    int r = buf_append(&x->input_data, data, size);
    if (r == 0)
        r = exec_source_watch(x->execs, &x->input, EPOLLOUT);
    return r;
}

/* The end of a terminal's input is a key, which whoever sits there has to send (termios(3)). */
void exec_end_input(struct exec *x)
{
    if (x->flags & EXEC_TTY)
        return;
    x->input_ends = true;
    if (x->input.fd >= 0)
        exec_source_watch(x->execs, &x->input, EPOLLOUT);
}

/* ---- output ---- */

/* All that it wrote itself has been read. */
static void look_for_end(struct exec *x)
{
    bool is_empty = true;
    for (size_t i = 0; i < ARRAY_SIZE(x->streams); i++)
        is_empty &= x->streams[i].source.fd < 0 || x->streams[i].is_empty;
    if (x->state == EXEC_OVER_WITH && is_empty && !x->is_end_known) {
        x->end = x->log.end;
        x->is_end_known = true;
        exec_resume(x);
    }
}

/* False: no memory, nothing appended. */
static bool append(struct exec_stream *s, const char *data, size_t size)
{
    struct exec *x = s->exec;
    const struct journal_source from = {.pid = x->pid, .stream = s->stream, .tag = x->tag};
    if (!exec_log_append(&x->log, s->stream, data, size))
        return false;
    if (x->flags & EXEC_LOG)
        execs_keep_output(x->execs, &from, data, size);
    return true;
}

/* What the search for secrets has kept back comes out. */
static void flush(struct exec_stream *s)
{
    struct exec *x = s->exec;
    if (x->execs->scrubber && scrub_stream_end(&s->scrub, &s->scrubbed) == 0 &&
        s->scrubbed.size > 0)
        append(s, s->scrubbed.data, s->scrubbed.size);
    buf_reset(&s->scrubbed);
}

static void end_stream(struct exec_stream *s)
{
    flush(s);
    buf_done(&s->scrubbed);
    exec_source_close(s->exec->execs, &s->source);
}

void exec_end_output(struct exec *x, uint32_t streams)
{
    /* A terminal's two ways are one socket. */
    if (x->flags & EXEC_TTY && streams && x->streams[0].source.fd >= 0)
        shutdown(x->streams[0].source.fd, SHUT_RDWR);
    for (size_t i = 0; i < ARRAY_SIZE(x->streams); i++)
        if (streams & x->streams[i].stream)
            end_stream(&x->streams[i]);
    look_for_end(x);
}

/* All that its program can have written is read: what follows is of those that it left behind. */
static void note_empty(struct exec_stream *s)
{
    struct execs *execs = s->exec->execs;
    s->is_empty = true;
    flush(s);
    if (!execs->scrubber)
        return;
    scrub_stream_done(&s->scrub);
    scrub_stream_begin(&s->scrub, execs->scrubber, true);
}

/* Those wait until the end is known, so that nothing of theirs stands before it. */
static bool has_to_wait(const struct exec_stream *s)
{
    return s->is_empty && !s->exec->is_end_known;
}

/* False: it can't go on. */
static bool keep(struct exec_stream *s, const char *data, size_t size)
{
    if (!s->exec->execs->scrubber)
        return append(s, data, size);
    bool is_kept = scrub_stream_take(&s->scrub, data, size, &s->scrubbed) == 0 &&
                   (s->scrubbed.size == 0 || append(s, s->scrubbed.data, s->scrubbed.size));
    buf_reset(&s->scrubbed);
    return is_kept;
}

static void on_output(struct execs *execs, struct exec_source *source, uint32_t events)
{
    struct exec_stream *s = container_of(source, struct exec_stream, source);
    struct exec *x = s->exec;
    static char piece[PIECE_BYTES];
    for (int i = 0; i < 4 && source->fd >= 0; i++) {
        size_t room = exec_log_room(&x->log, execs_needed(execs, x));
        if (s->left > 0)
            room = MIN(room, (size_t)s->left);
        if (room == 0 || has_to_wait(s)) {
            exec_source_watch(execs, source, 0);
            break;
        }
        ssize_t n = read(source->fd, piece, MIN(room, sizeof(piece)));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0 || !keep(s, piece, (size_t)n)) {
            end_stream(s);
        } else if (s->left > 0) {
            s->left -= (int)n;
            if (s->left == 0)
                note_empty(s);
        }
    }
    look_for_end(x);
    execs_wake(execs, x);
}

void exec_resume(struct exec *x)
{
    /* Whose output it is, is known when it has started. */
    if (x->state == EXEC_STARTING)
        return;
    if (exec_log_room(&x->log, execs_needed(x->execs, x)) == 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(x->streams); i++)
        if (x->streams[i].source.fd >= 0 && !has_to_wait(&x->streams[i]))
            exec_source_watch(x->execs, &x->streams[i].source, EPOLLIN);
}

/* ---- the beginning ---- */

struct ends {
    int input, output, errors; /* the kernel's */
};

static void ends_done(struct ends *e)
{
    base_closep(&e->input);
    base_closep(&e->output);
    base_closep(&e->errors);
}

static bool make_streams(struct exec *x, struct ends *e)
{
    int *output = &x->streams[0].source.fd, *errors = &x->streams[1].source.fd;
    if (x->flags & EXEC_TTY)
        return stream_pair_terminal(&x->input.fd, output, &e->input);
    if (!(x->flags & EXEC_NULL_INPUT) && !stream_pair_pipe(&x->input.fd, &e->input, false))
        return false;
    return stream_pair_pipe(output, &e->output, true) && stream_pair_pipe(errors, &e->errors, true);
}

static bool ask_kernel(struct execs *execs, const struct exec *x, int records, const struct ends *e)
{
    int fds[CONTROL_DESCRIPTORS_MAX] = {records};
    const int all[] = {e->input, e->output, e->errors};
    size_t count = 1;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (all[i] >= 0)
            fds[count++] = all[i];
    const struct control_packet p = {.type = CONTROL_EXEC, .value = x->number};
    return sandbox_send_descriptors(execs->sandbox, &p, fds, count);
}

static int64_t later(int64_t ns, int64_t by_ns)
{
    int64_t then;
    return __builtin_add_overflow(ns, by_ns, &then) ? INT64_MAX : then;
}

static struct exec *new_exec(struct execs *execs, const struct exec_order *o)
{
    struct exec *x = calloc(1, sizeof(*x));
    if (!x)
        return NULL;
    x->execs = execs;
    x->flags = o->flags;
    x->input = (struct exec_source){.fd = -1, .ready = on_input};
    x->input_data = BUF_INIT(INPUT_KEPT_BYTES + 2 * EXEC_TEXT_MAX_BYTES);
    exec_log_init(&x->log);
    for (size_t i = 0; i < ARRAY_SIZE(x->streams); i++) {
        struct exec_stream *s = &x->streams[i];
        *s = (struct exec_stream){.source = {.fd = -1, .ready = on_output},
                                  .exec = x,
                                  .stream = i == 0 ? EXEC_OUT : EXEC_ERR,
                                  .scrubbed = BUF_INIT(SCRUBBED_MAX_BYTES)};
        if (execs->scrubber)
            scrub_stream_begin(&s->scrub, execs->scrubber, true);
    }
    memcpy(x->tag, o->tag, MIN(o->tag_size, sizeof(x->tag) - 1));
    x->deadline_ns = o->timeout_ns > 0 ? execs_in_ns(o->timeout_ns) : 0;
    x->grace_ns = o->grace_ns;
    execs->last_number = execs->last_number == INT32_MAX ? 1 : execs->last_number + 1;
    x->number = execs->last_number;
    x->started_ns = execs_now_ns();
    list_append(&execs->programs, &x->link);
    execs->running++;
    return x;
}

static int fail(struct exec *x, struct sandbox_error *e, int error, const char *what)
{
    exec_free(x);
    return sandbox_error_set(e, error, "exec: %s: %s; free some and try again", what,
                             strerror(-error));
}

int exec_start(struct execs *execs, const struct exec_order *o, struct exec **ret,
               struct sandbox_error *e)
{
    struct ends ends = {-1, -1, -1};
    struct exec *x = new_exec(execs, o);
    if (!x)
        return sandbox_error_set(e, -ENOMEM, "exec: out of memory; free some and try again");
    _cleanup_close_ int records = -1;
    const struct exec_base base = {.spec = execs->spec,
                                   .env = execs->env,
                                   .trusts_gateway = execs->spec->installs_ca &&
                                                     execs->sandbox->gateway.ca.size > 0};
    int r = exec_records_make(&base, o->records, o->flags, &records, &x->records, &x->records_size);
    if (r < 0) {
        exec_free(x);
        return sandbox_error_set(e, r, "exec: arguments and environment: %s; %s", strerror(-r),
                                 r == -E2BIG ? "make them shorter" : "free some and try again");
    }
    bool is_made = make_streams(x, &ends);
    int error = errno;
    bool is_asked = is_made && ask_kernel(execs, x, records, &ends);
    ends_done(&ends);
    if (!is_made)
        return fail(x, e, -error, "streams");
    if (!is_asked)
        return fail(x, e, -EAGAIN, "the sandbox's kernel is busy");
    *ret = x;
    return 0;
}

void exec_free(struct exec *x)
{
    struct execs *execs = x->execs;
    if (x->state == EXEC_OVER_WITH)
        execs->ended--;
    else
        execs->running--;
    list_remove(&x->link);
    execs_forget(execs, x);
    exec_source_close(execs, &x->input);
    buf_done(&x->input_data);
    for (size_t i = 0; i < ARRAY_SIZE(x->streams); i++) {
        struct exec_stream *s = &x->streams[i];
        exec_source_close(execs, &s->source);
        buf_done(&s->scrubbed);
        if (execs->scrubber)
            scrub_stream_done(&s->scrub);
    }
    exec_log_done(&x->log);
    free(x->records);
    free(x->failure);
    free(x);
}

/* ---- its time and its end ---- */

static bool signal_number(struct execs *execs, int32_t number, int sig, uint32_t whom)
{
    const struct control_packet p = {
        .type = CONTROL_EXEC_SIGNAL, .value = number, .reason = (uint32_t)sig | whom};
    return sandbox_send_text(execs->sandbox, &p, "");
}

bool exec_signal(struct exec *x, int sig, uint32_t flags)
{
    uint32_t whom = flags & EXEC_TO_SESSION   ? CONTROL_TO_SESSION
                    : flags & EXEC_TO_PROCESS ? CONTROL_TO_PROCESS
                                              : CONTROL_TO_GROUP;
    return signal_number(x->execs, x->number, sig, whom);
}

void exec_end_late(struct execs *execs, int32_t number)
{
    signal_number(execs, number, SIGKILL, CONTROL_TO_SESSION);
}

/*
 * Whoever waits does not so for a kernel that was starved or taken over, or for a process that the
 * machine holds up. What comes of it later is nobody's, and ended (execs_take()).
 */
static void give_up(struct exec *x)
{
    static const char words[] = "the sandbox's kernel does not answer; end the sandbox";
    x->is_timed_out = true;
    if (x->state == EXEC_STARTING)
        exec_note_failed(x, SANDBOX_STATUS_FAILED, words, sizeof(words) - 1);
    else
        exec_note_ended(x, SIGKILL, CONTROL_BY_ITSELF);
}

/* The kernel's time to obey begins when it is told, not before: whoever tells it may have been held
 * up, too. */
static void end_in_time(struct exec *x, int64_t now_ns)
{
    bool has_grace = !x->is_timed_out && x->grace_ns > 0;
    int64_t given_up_ns = later(later(now_ns, has_grace ? x->grace_ns : 0), SILENCE_NS);
    if (!x->given_up_ns)
        x->given_up_ns = given_up_ns;
    /* One that is not there yet would not get the signal. */
    if (x->state != EXEC_RUNNING)
        return;
    if (!exec_signal(x, has_grace ? SIGTERM : SIGKILL, EXEC_TO_SESSION)) {
        x->deadline_ns = now_ns + SIGNAL_AGAIN_NS;
        return;
    }
    x->is_timed_out = true;
    x->given_up_ns = given_up_ns;
    x->deadline_ns = has_grace ? later(now_ns, x->grace_ns) : 0;
}

void exec_check_clock(struct exec *x, int64_t now_ns)
{
    if (x->state == EXEC_OVER_WITH)
        return;
    if (x->given_up_ns && now_ns >= x->given_up_ns)
        give_up(x);
    else if (x->deadline_ns && now_ns >= x->deadline_ns)
        end_in_time(x, now_ns);
}

int64_t exec_deadline(const struct exec *x)
{
    /* Of one that is not there yet nothing comes of its time but the end of waiting. */
    bool has_passed = x->state != EXEC_RUNNING && x->given_up_ns;
    if (!x->deadline_ns || has_passed)
        return x->given_up_ns;
    return x->given_up_ns ? MIN(x->deadline_ns, x->given_up_ns) : x->deadline_ns;
}

static void note_over(struct exec *x)
{
    if (x->state == EXEC_OVER_WITH)
        return;
    x->state = EXEC_OVER_WITH;
    x->execs->running--;
    x->execs->ended++;
    x->deadline_ns = x->given_up_ns = 0;
    exec_source_close(x->execs, &x->input);
    buf_done(&x->input_data);
    exec_tell_end(x);
}

/* What it wrote before is in its streams by now. */
void exec_note_ended(struct exec *x, int32_t status, uint32_t reason)
{
    x->status = status;
    x->reason = control_is_by_host(reason) && x->ran_out_of_memory ? CONTROL_BY_MEMORY : reason;
    note_over(x);
    for (size_t i = 0; i < ARRAY_SIZE(x->streams); i++) {
        struct exec_stream *s = &x->streams[i];
        if (s->source.fd >= 0 && (ioctl(s->source.fd, FIONREAD, &s->left) < 0 || s->left <= 0))
            note_empty(s);
    }
    look_for_end(x);
    exec_resume(x);
    execs_wake(x->execs, x);
}

void exec_note_failed(struct exec *x, int32_t status, const char *text, size_t size)
{
    x->failed_status = status;
    x->is_failed = true;
    x->failure = strndup(text, MIN(size, (size_t)SANDBOX_ERROR_MAX_BYTES));
    for (size_t i = 0; i < ARRAY_SIZE(x->streams); i++)
        exec_source_close(x->execs, &x->streams[i].source);
    note_over(x);
    look_for_end(x);
    execs_wake(x->execs, x);
}
