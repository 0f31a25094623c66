// SPDX-License-Identifier: Apache-2.0
/*
 * A program in a sandbox, as one connection to the sandbox's starter follows it
 * (sandbox/exec_messages.h).
 *
 * Each question on it is answered with one EXEC_ANSWER, between the events, which says what kind it
 * was of. What was asked and is not answered yet stands in `asked`; of input never more than one
 * piece is under way.
 */
#include "lib/base/control.h"
#include "lib/text/shown.h"
#include "library/library.h"
#include "sandbox/exec_ask.h"
#include "sandbox/outcome.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>

#define ASKED_MAX 64 /* a peer that does not answer gets no more */

_Static_assert(GLOVEBOX_WRITE_MAX == EXEC_TEXT_MAX_BYTES, "one piece, one packet");
_Static_assert(GLOVEBOX_FROM_NOW == EXEC_FROM_NOW, "passed on as it is");

struct glovebox_command {
    struct exec_command command;
    char *user, *workdir, *tag;
    bool failed;       /* no memory for one of its words */
    bool has_bad_name; /* of an environment variable */
};

struct glovebox_exec {
    int socket; /* non-blocking */
    bool is_started, is_over, is_input_closed;
    uint8_t asked[ASKED_MAX]; /* enum exec_type, in no order */
    size_t asked_count;
    char sandbox[GLOVEBOX_NAME_SIZE];
    char text[GLOVEBOX_ERROR_SIZE];
    struct exec_message message;
};

/* ---- commands ---- */

_public_ struct glovebox_command *glovebox_command_new(const char *program)
{
    struct glovebox_command *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->command.flags = EXEC_NULL_INPUT;
    if (strv_append(&c->command.args, program) < 0) {
        free(c);
        return NULL;
    }
    return c;
}

_public_ void glovebox_command_free(struct glovebox_command *c)
{
    if (!c)
        return;
    strv_done(&c->command.args);
    strv_done(&c->command.env);
    free(c->user);
    free(c->workdir);
    free(c->tag);
    free(c);
}

static int note(struct glovebox_command *c, int r)
{
    c->failed |= r < 0;
    return r;
}

static int copy(struct glovebox_command *c, char **to, const char *value)
{
    char *text = strdup(value);
    if (!text)
        return note(c, -ENOMEM);
    free(*to);
    *to = text;
    return 0;
}

_public_ int glovebox_command_add_argument(struct glovebox_command *c, const char *word)
{
    return note(c, strv_append(&c->command.args, word));
}

_public_ int glovebox_command_set_env(struct glovebox_command *c, const char *name,
                                      const char *value)
{
    c->has_bad_name |= !name[0] || strchr(name, '=');
    return note(c, strv_env_set(&c->command.env, name, value));
}

_public_ int glovebox_command_set_user(struct glovebox_command *c, const char *user)
{
    return copy(c, &c->user, user);
}

_public_ int glovebox_command_set_workdir(struct glovebox_command *c, const char *path)
{
    return copy(c, &c->workdir, path);
}

_public_ int glovebox_command_set_tag(struct glovebox_command *c, const char *tag)
{
    return copy(c, &c->tag, tag);
}

_public_ void glovebox_command_set_input(struct glovebox_command *c, int has_input)
{
    c->command.flags &= ~EXEC_NULL_INPUT;
    if (!has_input)
        c->command.flags |= EXEC_NULL_INPUT;
}

_public_ void glovebox_command_set_logged(struct glovebox_command *c, int is_logged)
{
    c->command.flags &= ~EXEC_LOG;
    if (is_logged)
        c->command.flags |= EXEC_LOG;
}

_public_ void glovebox_command_set_terminal(struct glovebox_command *c, unsigned rows,
                                            unsigned columns)
{
    c->command.flags &= ~EXEC_NULL_INPUT;
    c->command.flags |= EXEC_TTY;
    c->command.rows = rows & 0xffff;
    c->command.columns = columns & 0xffff;
}

static int64_t to_ns(int64_t ms)
{
    return MAX(MIN(ms, INT64_MAX / NSEC_PER_MSEC), (int64_t)0) * NSEC_PER_MSEC;
}

_public_ void glovebox_command_set_timeout(struct glovebox_command *c, int64_t timeout_ms,
                                           int64_t grace_ms)
{
    c->command.timeout_ns = to_ns(timeout_ms);
    c->command.grace_ns = to_ns(grace_ms);
}

/* ---- connections ---- */

/* fd is taken over, also when it fails. */
static int new_exec(const char *sandbox, int fd, struct glovebox_exec **ret,
                    struct glovebox_error *e)
{
    struct glovebox_exec *x = calloc(1, sizeof(*x));
    int r = !x ? -ENOMEM : fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
    if (r < 0) {
        close(fd);
        free(x);
        return library_fail_with(e, r, "%s: %s; free some and try again", sandbox, strerror(-r));
    }
    x->socket = fd;
    snprintf(x->sandbox, sizeof(x->sandbox), "%s", sandbox);
    *ret = x;
    return 0;
}

_public_ int glovebox_exec(const char *sandbox, const struct glovebox_command *c,
                           struct glovebox_exec **ret, struct glovebox_error *e)
{
    struct exec_command command = c->command;
    struct sandbox_error s;
    command.user = c->user;
    command.workdir = c->workdir;
    command.tag = c->tag;
    if (c->failed)
        return library_fail_with(e, -ENOMEM,
                                 "exec: the command is incomplete for want of memory; "
                                 "free some and make it anew");
    if (c->has_bad_name)
        return library_fail_with(e, -EINVAL,
                                 "exec: the name of an environment variable is empty or has '=' in "
                                 "it; give another");
    _cleanup_close_ int fd = exec_connect(sandbox, &s);
    int r = fd < 0 ? fd : exec_ask_start(fd, &command, &s);
    return r < 0 ? library_fail(e, r, &s) : new_exec(sandbox, TAKE_FD(fd), ret, e);
}

_public_ int glovebox_attach(const char *sandbox, int64_t pid, const char *tag, uint64_t offset,
                             struct glovebox_exec **ret, struct glovebox_error *e)
{
    struct sandbox_error s;
    if (pid < 0 || (pid == 0 && (!tag || !tag[0] || strlen(tag) > EXEC_TAG_MAX_BYTES)))
        return library_fail_with(e, -EINVAL,
                                 "attach: no program can be so; give its process id, "
                                 "or 0 and its tag");
    _cleanup_close_ int fd = exec_connect(sandbox, &s);
    int r = fd < 0 ? fd : exec_ask_attach(fd, pid, pid ? NULL : tag, offset);
    if (fd >= 0 && r < 0)
        sandbox_error_set(&s, r, "%s: %s; does the sandbox still run?", sandbox, strerror(-r));
    return r < 0 ? library_fail(e, r, &s) : new_exec(sandbox, TAKE_FD(fd), ret, e);
}

_public_ void glovebox_exec_free(struct glovebox_exec *x)
{
    if (!x)
        return;
    close(x->socket);
    free(x);
}

_public_ int glovebox_exec_fd(const struct glovebox_exec *x)
{
    return x->socket;
}

/* ---- events ---- */

static void set_failure(struct glovebox_exec *x, int status, struct glovebox_event *ret)
{
    const struct exec_message *m = &x->message;
    size_t size = text_line(m->text, m->packet.text_size, x->text, sizeof(x->text));
    x->is_over = true;
    *ret = (struct glovebox_event){
        .type = GLOVEBOX_FAILED, .data = x->text, .size = size, .status = status};
}

static void set_end(struct glovebox_exec *x, struct glovebox_event *ret)
{
    const struct exec_packet *p = &x->message.packet;
    x->is_over = true;
    *ret = (struct glovebox_event){
        .type = GLOVEBOX_ENDED,
        .offset = p->offset,
        .data = "",
        .signal = WIFSIGNALED(p->status) ? WTERMSIG(p->status) : 0,
        .was_timed_out = p->value == 1,
        .was_out_of_memory = p->flags == CONTROL_BY_MEMORY,
    };
    ret->status = ret->was_timed_out     ? SANDBOX_STATUS_TIMEOUT
                  : WIFEXITED(p->status) ? WEXITSTATUS(p->status)
                                         : 128 + ret->signal;
}

/* Before the start it is the refusal of what was asked. Whether that is an event. */
static bool take_answer(struct glovebox_exec *x, struct glovebox_event *ret)
{
    uint32_t asked = x->message.packet.flags;
    uint8_t *at = asked <= UINT8_MAX ? memchr(x->asked, (int)asked, x->asked_count) : NULL;
    if (!x->is_started) {
        set_failure(x, SANDBOX_STATUS_FAILED, ret);
        return true;
    }
    if (at)
        *at = x->asked[--x->asked_count];
    if (!at || asked != EXEC_INPUT)
        return false;
    x->is_input_closed |= x->message.packet.status != 0;
    *ret = (struct glovebox_event){.type = GLOVEBOX_INPUT, .data = ""};
    return true;
}

/* Whether the message is an event. */
static bool take(struct glovebox_exec *x, struct glovebox_event *ret)
{
    const struct exec_packet *p = &x->message.packet;
    switch (p->type) {
    case EXEC_STARTED:
        x->is_started = true;
        *ret = (struct glovebox_event){
            .type = GLOVEBOX_STARTED, .pid = p->value, .offset = p->offset, .data = ""};
        return true;
    case EXEC_FAILED:
        set_failure(x, p->status >= 125 && p->status <= 127 ? p->status : SANDBOX_STATUS_FAILED,
                    ret);
        return true;
    case EXEC_OUTPUT:
        *ret = (struct glovebox_event){.type = GLOVEBOX_OUTPUT,
                                       .stream = p->flags == EXEC_ERR ? 2 : 1,
                                       .offset = p->offset,
                                       .data = x->message.text,
                                       .size = p->text_size};
        return true;
    case EXEC_ENDED:
        set_end(x, ret);
        return true;
    case EXEC_ANSWER:
        return take_answer(x, ret);
    default:
        return false;
    }
}

static int next(struct glovebox_exec *x, int64_t deadline_ms, struct glovebox_event *ret,
                struct glovebox_error *e)
{
    if (x->is_over)
        return library_fail_with(e, -EPIPE, "%s: all is told of the program; free the object",
                                 x->sandbox);
    for (;;) {
        ssize_t n = exec_receive(x->socket, &x->message);
        int r = n == -EAGAIN ? library_wait(x->socket, deadline_ms) : 0;
        if (r < 0)
            return library_fail_with(e, r, "%s: nothing has happened yet; call again", x->sandbox);
        if (n > 0 && take(x, ret))
            return 0;
        if (n == 0 || (n < 0 && n != -EAGAIN)) {
            x->is_over = true;
            return library_fail_with(e, n < 0 ? (int)n : -EPIPE,
                                     "%s: the sandbox has ended, and the program with it; see "
                                     "glovebox ps",
                                     x->sandbox);
        }
    }
}

_public_ int glovebox_exec_next(struct glovebox_exec *x, int timeout_ms, struct glovebox_event *ret,
                                struct glovebox_error *e)
{
    return next(x, library_deadline(timeout_ms), ret, e);
}

_public_ int glovebox_exec_wait(struct glovebox_exec *x, int timeout_ms, struct glovebox_event *ret,
                                struct glovebox_error *e)
{
    int64_t deadline_ms = library_deadline(timeout_ms);
    struct glovebox_event event;
    int r;
    do
        r = next(x, deadline_ms, &event, e);
    while (r == 0 && !x->is_over);
    if (r == 0)
        *ret = event;
    return r;
}

/* ---- questions ---- */

static int ask(struct glovebox_exec *x, const struct exec_packet *p, const void *text,
               struct glovebox_error *e)
{
    if (x->is_over || !x->is_started)
        return library_fail_with(e, x->is_over ? -EPIPE : -EBUSY,
                                 x->is_over ? "%s: the program has ended; see its last event"
                                            : "%s: the program has not started yet; wait for its "
                                              "first event",
                                 x->sandbox);
    if (x->asked_count >= ASKED_MAX)
        return library_fail_with(e, -EAGAIN,
                                 "%s: earlier questions are not answered yet; read "
                                 "events first",
                                 x->sandbox);
    int r = exec_ask(x->socket, p, text);
    if (r < 0)
        return library_fail_with(e, r,
                                 r == -EAGAIN ? "%s: its starter is busy; read events first (%s)"
                                              : "%s: %s; does the sandbox still run?",
                                 x->sandbox, strerror(-r));
    x->asked[x->asked_count++] = (uint8_t)p->type;
    return 0;
}

_public_ ssize_t glovebox_exec_write(struct glovebox_exec *x, const void *data, size_t size,
                                     struct glovebox_error *e)
{
    struct exec_packet p = {.version = EXEC_VERSION, .type = EXEC_INPUT};
    if (x->is_input_closed)
        return library_fail_with(e, -EPIPE,
                                 "%s: nobody reads the program's input any more; leave "
                                 "the rest out",
                                 x->sandbox);
    if (memchr(x->asked, EXEC_INPUT, x->asked_count))
        return library_fail_with(e, -EAGAIN,
                                 "%s: the last piece of input is under way; wait for "
                                 "GLOVEBOX_INPUT",
                                 x->sandbox);
    p.text_size = (uint32_t)MIN(size, (size_t)EXEC_TEXT_MAX_BYTES);
    int r = p.text_size ? ask(x, &p, data, e) : 0;
    return r < 0 ? r : (ssize_t)p.text_size;
}

_public_ int glovebox_exec_end_input(struct glovebox_exec *x, struct glovebox_error *e)
{
    const struct exec_packet p = {.version = EXEC_VERSION, .type = EXEC_INPUT_END};
    int r = ask(x, &p, NULL, e);
    if (r == 0)
        x->is_input_closed = true;
    return r;
}

_public_ int glovebox_exec_signal(struct glovebox_exec *x, int signal, struct glovebox_error *e)
{
    const struct exec_packet p = {.version = EXEC_VERSION, .type = EXEC_SIGNAL, .status = signal};
    if (signal < 1 || signal > 64)
        return library_fail_with(e, -EINVAL, "%d: no such signal; see signal(7)", signal);
    return ask(x, &p, NULL, e);
}

_public_ int glovebox_exec_resize(struct glovebox_exec *x, unsigned rows, unsigned columns,
                                  struct glovebox_error *e)
{
    const struct exec_packet p = {.version = EXEC_VERSION,
                                  .type = EXEC_WINDOW,
                                  .offset = (uint64_t)(rows & 0xffff) << 16 | (columns & 0xffff)};
    return ask(x, &p, NULL, e);
}

_public_ int glovebox_exec_end_output(struct glovebox_exec *x, int stream, struct glovebox_error *e)
{
    const struct exec_packet p = {.version = EXEC_VERSION,
                                  .type = EXEC_OUTPUT_END,
                                  .flags = stream == 2 ? EXEC_ERR : EXEC_OUT};
    if (stream != 1 && stream != 2)
        return library_fail_with(e, -EINVAL, "%d: no such stream; give 1 or 2", stream);
    return ask(x, &p, NULL, e);
}
