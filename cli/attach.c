// SPDX-License-Identifier: Apache-2.0
#include "cli/attach.h"

#include "cli/say.h"
#include "lib/base/control.h"
#include "sandbox/exec_ask.h"
#include "sandbox/outcome.h"
#include "sandbox/outlet.h"
#include "sandbox/signals.h"
#include "sandbox/terminal.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { POLL_SOCKET, POLL_INPUT, POLL_SIGNALS, POLL_OUTPUT, POLL_ERRORS, POLL_COUNT };

/* One of our streams, and what it has not taken yet. */
struct sink {
    struct outlet outlet;
    uint32_t stream; /* EXEC_OUT, EXEC_ERR */
    int error;       /* that ended it; 0 */
    bool is_given_up;
    const struct text_style *style;
    struct text_shown shown;
    struct buf data;
};

struct attach {
    const struct attach_options *options;
    int socket;
    bool is_started, is_over, is_asked; /* is_asked: a piece of input is under way */
    bool input_is_over;
    int early_signal; /* for a program that has not started yet; 0: none */
    bool is_told;     /* to end, while a stream took nothing */
    bool is_given_up; /* who reads is not waited for any more */
    uint64_t offset;  /* of the output that comes next */
    uint64_t lost;
    int status;
    struct sink output, errors;
    struct signals signals;
    struct sandbox_error *error;
};

static void open_sink(struct sink *s, int fd, uint32_t stream, bool is_raw)
{
    *s = (struct sink){.stream = stream,
                       .data = BUF_INIT(TEXT_SHOWN_MAX_BYTES(EXEC_TEXT_MAX_BYTES)),
                       .style = is_raw ? NULL : cli_choose_style(fd)};
    outlet_open(&s->outlet, fd);
    if (s->style)
        text_shown_init(&s->shown, s->style);
}

static void drain(struct sink *s, bool polled)
{
    while (s->data.size > 0) {
        ssize_t n = outlet_write(&s->outlet, s->data.data, s->data.size, polled);
        if (n == -EAGAIN)
            return;
        if (n < 0) {
            s->error = (int)n;
            buf_reset(&s->data);
            return;
        }
        buf_consume(&s->data, (size_t)n);
        polled = false;
    }
}

static void put(struct sink *s, const char *data, size_t size)
{
    if (s->error)
        return;
    if (s->style)
        text_shown_append_some(&s->shown, &s->data, data, size);
    else
        buf_append(&s->data, data, size);
    drain(s, false);
}

static void ask(struct attach *a, enum exec_type type, int32_t status, uint64_t offset,
                const char *text, size_t size, uint32_t flags)
{
    const struct exec_packet p = {.version = EXEC_VERSION,
                                  .type = type,
                                  .flags = flags,
                                  .status = status,
                                  .offset = offset,
                                  .text_size = (uint32_t)size};
    exec_ask(a->socket, &p, text);
}

static void leave(struct attach *a, int status)
{
    a->is_over = true;
    a->status = status;
}

static void give_up(struct attach *a, int sig)
{
    leave(a, 128 + sig);
    a->is_given_up = true;
    buf_reset(&a->output.data);
    buf_reset(&a->errors.data);
}

/* Of a stream that nobody reads any more, or that takes nothing, our own program is to know. */
static void look_at_sink(struct attach *a, struct sink *s)
{
    if (!s->error || s->is_given_up)
        return;
    s->is_given_up = true;
    if (a->options->is_own)
        ask(a, EXEC_OUTPUT_END, 0, 0, NULL, 0, s->stream);
    else if (s->stream == EXEC_OUT)
        leave(a, 128 + SIGPIPE);
}

static bool is_readers_doing(const struct sink *s)
{
    return s->error == -EPIPE || s->error == -ECONNRESET ||
           (s->error == -EIO && isatty(s->stream == EXEC_OUT ? STDOUT_FILENO : STDERR_FILENO));
}

/* As with glovebox run: what could not be written is not passed over in silence. */
static void check_sink(struct attach *a, const struct sink *s, const char *what)
{
    if (!s->error || is_readers_doing(s) || a->error->text[0])
        return;
    a->status = SANDBOX_STATUS_FAILED;
    sandbox_error_set(a->error, s->error, "%s: %s; the program's output is incomplete", what,
                      strerror(-s->error));
}

static void send_window(struct attach *a)
{
    unsigned rows, columns;
    terminal_get_size(STDIN_FILENO, &rows, &columns);
    ask(a, EXEC_WINDOW, 0, (uint64_t)rows << 16 | (columns & 0xffff), NULL, 0, 0);
}

static void read_input(struct attach *a)
{
    char data[EXEC_TEXT_MAX_BYTES];
    ssize_t n = read(STDIN_FILENO, data, sizeof(data));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    a->is_asked = true;
    if (n > 0) {
        ask(a, EXEC_INPUT, 0, 0, data, (size_t)n, 0);
        return;
    }
    a->input_is_over = true;
    ask(a, EXEC_INPUT_END, 0, 0, NULL, 0, 0);
}

static bool is_full(const struct attach *a)
{
    return a->output.data.size > 0 || a->errors.data.size > 0;
}

/* A sandbox that does not answer, or a reader that takes nothing, is not to hold us for ever: the
 * second time we go. */
static void pass_signal(struct attach *a, int sig)
{
    if (a->is_started && a->is_told && signals_is_ending(sig))
        give_up(a, sig);
    else if (a->is_started) {
        a->is_told = is_full(a) && signals_is_ending(sig);
        ask(a, EXEC_SIGNAL, sig, 0, NULL, 0, 0);
    } else if (a->early_signal)
        leave(a, 128 + sig);
    else
        a->early_signal = sig;
}

/* The next one; what is one with another is passed by. False: none has come. */
static bool read_signal(struct attach *a, int *ret)
{
    struct signalfd_siginfo info;
    struct timespec now;
    while (read(a->signals.fd, &info, sizeof(info)) == sizeof(info)) {
        *ret = (int)info.ssi_signo;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (!signals_is_ending(*ret) ||
            !signals_is_echo(&a->signals, &info, now.tv_sec * NSEC_PER_SEC + now.tv_nsec))
            return true;
    }
    return false;
}

static void read_signals(struct attach *a)
{
    int sig;
    while (read_signal(a, &sig)) {
        if (sig == SIGWINCH) {
            if (a->options->tty)
                send_window(a);
        } else if (sig == SIGTSTP) {
            terminal_restore();
            raise(SIGSTOP);
            if (a->options->tty)
                terminal_enter_raw(STDIN_FILENO);
        } else if (sig != SIGCONT) {
            pass_signal(a, sig);
        }
    }
}

/* The rest of what the program said, unless we are told to end. */
static void close_sink(struct attach *a, struct sink *s)
{
    int sig;
    if (s->style && !a->is_given_up) {
        char rest[TEXT_SHOWN_MAX_BYTES(0)];
        buf_append(&s->data, rest, text_shown_end(&s->shown, rest));
    }
    while (s->data.size > 0) {
        struct pollfd p[] = {{.fd = s->outlet.fd, .events = POLLOUT},
                             {.fd = a->signals.fd, .events = POLLIN}};
        poll(p, ARRAY_SIZE(p), 1000);
        drain(s, p[0].revents);
        while (read_signal(a, &sig))
            if (signals_is_ending(sig))
                give_up(a, sig);
    }
    outlet_close(&s->outlet);
    buf_done(&s->data);
}

static int status_of(const struct exec_packet *p)
{
    if (p->value == 1)
        return SANDBOX_STATUS_TIMEOUT;
    return WIFEXITED(p->status) ? WEXITSTATUS(p->status) : 128 + WTERMSIG(p->status);
}

static void note_start(struct attach *a, const struct exec_packet *p)
{
    a->is_started = true;
    a->offset = p->offset;
    if (a->early_signal)
        pass_signal(a, a->early_signal);
    if (!a->options->detach)
        return;
    printf("%d\n", (int)p->value);
    a->is_over = true;
}

static void note_failure(struct attach *a, const struct exec_message *m, int status)
{
    char line[SANDBOX_ERROR_MAX_BYTES];
    text_line(m->text, m->packet.text_size, line, sizeof(line));
    leave(a, status);
    sandbox_error_set(a->error, -ECANCELED, "%s: %s", a->options->name, line);
}

static void note_sandbox_end(struct attach *a, int error)
{
    leave(a, SANDBOX_STATUS_FAILED);
    sandbox_error_set(a->error, error, "%s: the sandbox has ended, and the program with it",
                      a->options->name);
}

static void note_end(struct attach *a, const struct exec_packet *p)
{
    leave(a, status_of(p));
    if (p->flags & EXEC_WITH_SANDBOX && p->value != 1)
        note_sandbox_end(a, -EPIPE);
    else if (p->flags == CONTROL_BY_MEMORY)
        sandbox_error_set(a->error, 0,
                          "%s: the program was killed since the sandbox's memory was used up; give "
                          "it more with --memory",
                          a->options->name);
    else if (p->value == 1)
        sandbox_error_set(a->error, 0, "%s: the program's time was up; see --timeout",
                          a->options->name);
}

static void note_answer(struct attach *a, const struct exec_message *m)
{
    const struct exec_packet *p = &m->packet;
    if (!a->is_started)
        note_failure(a, m, SANDBOX_STATUS_FAILED);
    if (p->flags == EXEC_INPUT) {
        a->is_asked = false;
        a->input_is_over |= p->status != 0; /* nobody reads it any more */
    }
    /* Others read on: it is not ours alone. */
    if (p->flags == EXEC_OUTPUT_END && p->status == EBUSY)
        leave(a, 128 + SIGPIPE);
}

static void take(struct attach *a, const struct exec_message *m)
{
    const struct exec_packet *p = &m->packet;
    switch (p->type) {
    case EXEC_STARTED:
        note_start(a, p);
        break;
    case EXEC_FAILED:
        note_failure(a, m, p->status >= 125 && p->status <= 127 ? p->status : 125);
        break;
    case EXEC_OUTPUT:
        a->lost += p->offset > a->offset ? p->offset - a->offset : 0;
        a->offset = p->offset + p->text_size;
        put(p->flags == EXEC_ERR ? &a->errors : &a->output, m->text, p->text_size);
        break;
    case EXEC_ENDED:
        note_end(a, p);
        break;
    case EXEC_ANSWER:
        note_answer(a, m);
        break;
    default:
        break;
    }
}

static void read_socket(struct attach *a)
{
    static struct exec_message m;
    ssize_t n = exec_receive(a->socket, &m);
    if (n > 0) {
        take(a, &m);
        return;
    }
    note_sandbox_end(a, n < 0 ? (int)n : -EPIPE);
}

static void watch(struct pollfd *p, int fd, short events)
{
    *p = (struct pollfd){.fd = events ? fd : -1, .events = events};
}

static void step(struct attach *a)
{
    struct pollfd p[POLL_COUNT];
    a->is_told &= is_full(a);
    bool takes_input = a->options->input && a->is_started && !a->input_is_over && !a->is_asked;
    watch(&p[POLL_SOCKET], a->socket, is_full(a) ? 0 : POLLIN);
    watch(&p[POLL_INPUT], STDIN_FILENO, takes_input ? POLLIN : 0);
    watch(&p[POLL_SIGNALS], a->signals.fd, POLLIN);
    watch(&p[POLL_OUTPUT], a->output.outlet.fd, a->output.data.size ? POLLOUT : 0);
    watch(&p[POLL_ERRORS], a->errors.outlet.fd, a->errors.data.size ? POLLOUT : 0);
    if (poll(p, POLL_COUNT, -1) < 0)
        return;
    if (p[POLL_OUTPUT].revents)
        drain(&a->output, true);
    if (p[POLL_ERRORS].revents)
        drain(&a->errors, true);
    if (p[POLL_SIGNALS].revents)
        read_signals(a);
    if (p[POLL_SOCKET].revents)
        read_socket(a);
    if (p[POLL_INPUT].revents && !a->is_over)
        read_input(a);
    look_at_sink(a, &a->output);
    look_at_sink(a, &a->errors);
}

int attach_run(int socket, const struct attach_options *o, struct sandbox_error *e)
{
    struct attach a = {.options = o, .socket = socket, .error = e};
    e->text[0] = '\0';
    open_sink(&a.output, STDOUT_FILENO, EXEC_OUT, o->raw || o->tty);
    open_sink(&a.errors, STDERR_FILENO, EXEC_ERR, o->raw || o->tty);
    signals_block(&a.signals);
    if (o->tty && !o->detach && terminal_enter_raw(STDIN_FILENO) < 0) {
        a.is_over = true;
        a.status = SANDBOX_STATUS_FAILED;
        sandbox_error_set(e, -ENOTTY, "--tty: standard input is not a terminal; leave -t out");
    }
    while (!a.is_over)
        step(&a);
    close_sink(&a, &a.output);
    close_sink(&a, &a.errors);
    check_sink(&a, &a.output, "standard output");
    check_sink(&a, &a.errors, "standard error");
    terminal_restore();
    signals_restore(&a.signals);
    if (a.lost > 0 && !e->text[0])
        sandbox_error_set(e, 0,
                          "%s: %llu bytes of its output came before somebody read, and are not "
                          "kept any more",
                          o->name, (unsigned long long)a.lost);
    return a.status;
}
