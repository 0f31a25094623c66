// SPDX-License-Identifier: Apache-2.0
/*
 * The program of one context, over a link of its own to the sandbox's keeper.
 *
 *   link_open() -> EXEC_START -> EXEC_STARTED -> its texts and cells: EXEC_INPUT, one at a time
 *                            \-> EXEC_FAILED
 *              -> EXEC_OUTPUT: through frames_take() to the context -> EXEC_ENDED
 *
 * Who is killed stays linked until the keeper has told its end, since a question over a connection
 * that is closed need not be heard.
 */
#include "sandbox/outcome.h"
#include "server/envd_process.h"
#include "server/interpreter_parts.h"

#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/wait.h>

/* As E2B's interpreter: root, which is nobody outside, at home where files of envd go. */
#define USER "root"
#define HOME "/home/user"

#define SHELL_FOUND_NOTHING 127 /* its status, POSIX sh: what it was to start is not there */

struct driver {
    struct list all;
    struct link link;
    struct context *context; /* NULL: it is being killed */
    struct frames streams[2];
    struct buf input; /* not yet sent */
    char tag[sizeof(INTERPRETER_TAG) + CONTEXT_ID_SIZE];
    bool is_left; /* it is looked for, not started */
    bool is_asked_for, is_started, is_feeding;
    size_t message_bytes; /* of what it has begun to say, as they were counted last */
};

static struct list all = LIST_INIT(all); /* of all sandboxes */
static size_t drivers, message_bytes;    /* likewise */

static struct driver *driver_of(struct link *l)
{
    return container_of(l, struct driver, link);
}

/* ---- what was begun to be said ---- */

static void count_messages(struct driver *d)
{
    struct interpreter *i = d->context->box->interpreter;
    size_t now = d->streams[0].message.capacity + d->streams[1].message.capacity;
    message_bytes += now - d->message_bytes;
    i->message_bytes += now - d->message_bytes;
    d->message_bytes = now;
}

static void drop_messages(struct driver *d)
{
    for (size_t i = 0; i < ARRAY_SIZE(d->streams); i++)
        if (d->streams[i].message.capacity > 0)
            frames_drop(&d->streams[i]);
    count_messages(d);
}

/* Each may be as long as the longest result, and there are many: whose sandbox has begun most gives
 * way. */
static void make_room(void)
{
    struct driver *d, *most = NULL;
    if (message_bytes <= INTERPRETER_MESSAGES_MAX_BYTES)
        return;
    list_for_each(d, &all, all)
    {
        if (d->context && (!most || d->context->box->interpreter->message_bytes >
                                        most->context->box->interpreter->message_bytes))
            most = d;
    }
    const struct box *b = most ? most->context->box : NULL;
    list_for_each(d, &all, all)
    {
        if (b && d->context && d->context->box == b)
            drop_messages(d);
    }
}

/* ---- its life ---- */

/* It is nobody's from now on. */
static void disown(struct driver *d)
{
    drop_messages(d);
    d->context->driver = NULL;
    d->context->is_started = false;
    d->context = NULL;
}

static void release(struct watch *w)
{
    struct driver *d = container_of(w, struct driver, link.watch);
    list_remove(&d->all);
    frames_done(&d->streams[0]);
    frames_done(&d->streams[1]);
    buf_done(&d->input);
    drivers--;
    free(d);
}

/* It is gone, whoever's it is. */
static void forget(struct driver *d)
{
    if (d->context)
        disown(d);
    link_close(&d->link, release);
}

/* ---- input ---- */

static void feed(struct driver *d)
{
    struct exec_packet p = {.type = EXEC_INPUT};
    size_t size = MIN(d->input.size, (size_t)EXEC_TEXT_MAX_BYTES);
    if (size == 0 || d->is_feeding || !d->is_started)
        return;
    /* A failure is that of the connection, whose end comes by itself. */
    d->is_feeding = link_send(&d->link, &p, d->input.data, size, -1) == 0;
    buf_consume(&d->input, size);
    if (d->input.size == 0)
        buf_done(&d->input);
}

static int make_mark(char mark[FRAME_MARK_SIZE + 1])
{
    uint8_t random[FRAME_MARK_SIZE / 2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    text_hex(random, sizeof(random), mark);
    return 0;
}

int driver_run(struct driver *d, uint32_t number, const json_t *variables, const char *code,
               size_t code_size)
{
    char mark[FRAME_MARK_SIZE + 1];
    int r = make_mark(mark);
    if (r < 0)
        return r;
    language_add_cell(d->context->language, &d->input, mark, number, variables, code, code_size);
    if (d->input.failed)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(d->streams); i++)
        frames_begin(&d->streams[i], mark);
    count_messages(d);
    feed(d);
    return 0;
}

bool driver_is_fed(const struct driver *d)
{
    return d->input.size == 0;
}

/* ---- signals ---- */

static void send_signal(struct driver *d, int sig, uint32_t whom)
{
    struct exec_packet p = {.type = EXEC_SIGNAL, .status = sig, .flags = whom};
    if (d->is_started)
        link_send(&d->link, &p, NULL, 0, -1);
}

void driver_interrupt(struct driver *d)
{
    send_signal(d, SIGINT, 0);
}

void driver_listen(struct driver *d, bool is_listening)
{
    link_listen(&d->link, is_listening);
}

void driver_kill(struct driver *d)
{
    disown(d);
    if (!d->is_left && (!d->is_asked_for || !d->link.is_open)) {
        forget(d);
        return;
    }
    link_listen(&d->link, true);
    send_signal(d, SIGKILL, EXEC_TO_SESSION);
}

/* ---- what it writes ---- */

static void on_out(void *userdata, const char *data, size_t size)
{
    struct driver *d = userdata;
    if (d->context)
        context_wrote(d->context, false, data, size);
}

static void on_err(void *userdata, const char *data, size_t size)
{
    struct driver *d = userdata;
    if (d->context)
        context_wrote(d->context, true, data, size);
}

static void on_out_said(void *userdata, const char *data, size_t size)
{
    struct driver *d = userdata;
    if (d->context)
        context_said(d->context, false, data, size);
}

static void on_err_said(void *userdata, const char *data, size_t size)
{
    struct driver *d = userdata;
    if (d->context)
        context_said(d->context, true, data, size);
}

/* ---- what the keeper says ---- */

static void describe_end(const struct exec_packet *p, char *out, size_t size)
{
    unsigned reason = p->flags & CONTROL_REASON_MASK;
    if (reason == CONTROL_BY_MEMORY)
        snprintf(out, size,
                 "the interpreter was killed for want of memory: the sandbox's limit was reached");
    else if (control_is_by_host(reason))
        snprintf(out, size, "the interpreter was ended by SIGKILL%s", outcome_sender(reason));
    else if (WIFEXITED(p->status))
        snprintf(out, size, "the interpreter has ended with status %d", WEXITSTATUS(p->status));
    else
        snprintf(out, size, "the interpreter was ended by signal %d (%s)", WTERMSIG(p->status),
                 strsignal(WTERMSIG(p->status)));
}

static void on_end(struct driver *d, const struct exec_packet *p)
{
    struct context *c = d->context;
    bool is_missing = WIFEXITED(p->status) && WEXITSTATUS(p->status) == SHELL_FOUND_NOTHING;
    char how[256];
    describe_end(p, how, sizeof(how));
    for (size_t i = 0; c && i < ARRAY_SIZE(d->streams); i++)
        frames_begin(&d->streams[i], NULL); /* what was held back is text */
    forget(d);
    if (c && p->flags & EXEC_WITH_SANDBOX)
        context_cut(c);
    else if (c && c->is_awaited)
        context_not_begun(c, is_missing, how);
    else if (c)
        context_ended(c, how);
}

static void on_failed(struct driver *d, const struct exec_message *m)
{
    struct context *c = d->context;
    bool is_missing = m->packet.status != SANDBOX_STATUS_FAILED; /* the image has none */
    char words[512];
    snprintf(words, sizeof(words), "%s: %.*s", c ? c->language->name : "", (int)m->packet.text_size,
             m->text);
    forget(d);
    if (c)
        context_failed(c, is_missing ? 501 : 400, words);
}

static void on_started(struct driver *d)
{
    if (d->is_started)
        return;
    d->is_started = true;
    if (!d->context) {
        send_signal(d, SIGKILL, EXEC_TO_SESSION);
        return;
    }
    feed(d);
    context_started(d->context);
}

static void on_answer(struct driver *d, const struct exec_packet *p)
{
    struct context *c = d->context;
    if (p->flags == EXEC_INPUT) {
        bool was_fed = driver_is_fed(d);
        d->is_feeding = false;
        feed(d);
        if (c && !was_fed && driver_is_fed(d))
            context_fed(c);
    } else if (d->is_left && !d->is_started && p->status) {
        forget(d);
        if (c)
            context_not_left(c);
    }
}

static void on_output(struct driver *d, const struct exec_message *m)
{
    if (d->context)
        frames_take(&d->streams[!!(m->packet.flags & EXEC_ERR)], m->text, m->packet.text_size);
    if (d->context)
        count_messages(d);
    make_room();
}

static void on_message(struct link *l, const struct exec_message *m)
{
    struct driver *d = driver_of(l);
    switch (m->packet.type) {
    case EXEC_STARTED:
        on_started(d);
        break;
    case EXEC_OUTPUT:
        on_output(d, m);
        break;
    case EXEC_ANSWER:
        on_answer(d, &m->packet);
        break;
    case EXEC_ENDED:
        on_end(d, &m->packet);
        break;
    case EXEC_FAILED:
        on_failed(d, m);
        break;
    default:
        break;
    }
}

static void on_closed(struct link *l, int error)
{
    struct driver *d = driver_of(l);
    struct context *c = d->context;
    bool was_started = d->is_started;
    forget(d);
    if (c && (was_started || error == ENOENT || error == EPIPE || error == ECONNREFUSED))
        context_cut(c);
    else if (c)
        context_failed(c, 503, strerror(error));
}

/* ---- the start ---- */

static int ask_for_left(struct driver *d)
{
    struct exec_packet p = {.type = EXEC_ATTACH, .offset = EXEC_FROM_NOW};
    return link_send(&d->link, &p, d->tag, strlen(d->tag), -1);
}

static int ask(struct driver *d)
{
    struct context *c = d->context;
    struct exec_command e = {
        .user = USER, .workdir = c->workdir ? c->workdir : HOME, .tag = d->tag};
    struct sandbox_error error;
    int r = language_add_command(c->language, &e.args);
    if (r == 0)
        r = process_make_environment(c->box, NULL, USER, &e.env);
    if (r == 0)
        r = strv_env_set(&e.env, "HOME", HOME);
    if (r == 0)
        r = exec_ask_start(d->link.watch.fd, &e, &error);
    strv_done(&e.args);
    strv_done(&e.env);
    return r;
}

static void on_opened(struct link *l)
{
    struct driver *d = driver_of(l);
    struct context *c = d->context;
    int r = d->is_left ? ask_for_left(d) : c ? ask(d) : -ECANCELED;
    d->is_asked_for = r == 0;
    if (r == 0)
        return;
    forget(d);
    if (c)
        context_failed(c, 503, strerror(-r));
}

struct driver *driver_start(struct context *c, bool is_left)
{
    struct driver *d = drivers < INTERPRETER_DRIVERS_MAX ? calloc(1, sizeof(*d)) : NULL;
    if (!d)
        return NULL;
    drivers++;
    list_append(&all, &d->all);
    d->context = c;
    d->is_left = is_left;
    snprintf(d->tag, sizeof(d->tag), INTERPRETER_TAG "%s", c->id);
    d->link = (struct link){
        .watch.fd = -1, .opened = on_opened, .message = on_message, .closed = on_closed};
    d->input = BUF_INIT(INTERPRETER_INPUT_MAX);
    d->streams[0] = (struct frames){.text = on_out, .said = on_out_said, .userdata = d};
    d->streams[1] = (struct frames){.text = on_err, .said = on_err_said, .userdata = d};
    for (size_t i = 0; i < ARRAY_SIZE(d->streams); i++)
        frames_begin(&d->streams[i], NULL);
    if (!is_left)
        language_add_texts(c->language, &d->input);
    if (d->input.failed || link_open(&d->link, c->box->id) < 0) {
        forget(d);
        return NULL;
    }
    return d;
}

void driver_kill_left(struct context *c)
{
    struct driver *d = driver_start(c, true);
    if (d)
        driver_kill(d);
}
