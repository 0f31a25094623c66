// SPDX-License-Identifier: Apache-2.0
/*
 * process.Process, the streams: Start and Connect. The program's output comes over a link of its
 * own to the sandbox's keeper, and is taken from there only while the client takes it: a client
 * that doesn't read holds its program up, as a full pipe would. A client that goes away does not
 * end it.
 *
 *   request -> link_open() -> EXEC_START or EXEC_ATTACH -> EXEC_STARTED: the first message
 *                                                      \-> EXEC_FAILED: an error in the last frame
 *           -> EXEC_OUTPUT: a message each -> EXEC_ENDED: its end, and the last frame
 */
#include "server/envd_process.h"

#include "lib/base/control.h"
#include "lib/text/base64.h"
#include "server/json.h"
#include "server/limits.h"
#include "server/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>

#define MESSAGE_BYTES_MAX (2 * EXEC_TEXT_MAX_BYTES)

static size_t streams; /* open, of all sandboxes */

struct stream {
    struct request *request;
    struct box_stream box_stream;
    struct box *box;   /* until the link is open */
    int64_t memory_mb; /* its limit */
    struct link link;
    struct timer keepalive, deadline;
    int64_t keepalive_ns, timeout_ns; /* timeout 0: none */
    char *user;
    json_t *message; /* what was asked for; of Start, until it has been passed on */
    bool starts;     /* Start, else Connect */
    bool has_tty, has_started;
};

static struct stream *stream_of_link(struct link *l)
{
    return container_of(l, struct stream, link);
}

/* ---- what the client gets ---- */

static void rest(struct stream *s)
{
    timer_set(&s->keepalive, server_now_ns() + s->keepalive_ns);
}

static void send_event(struct stream *s, const struct buf *text)
{
    bool has_room = false;
    if (text->failed)
        request_cut(s->request);
    else
        has_room = envd_send_message(s->request, text->data, text->size);
    if (!has_room)
        link_listen(&s->link, false);
    rest(s);
}

static void on_keepalive(struct timer *t)
{
    static const char text[] = "{\"event\":{\"keepalive\":{}}}";
    struct stream *s = container_of(t, struct stream, keepalive);
    if (s->has_started && request_has_room(s->request))
        envd_send_message(s->request, text, sizeof(text) - 1);
    rest(s);
}

static void fail(struct stream *s, const char *code, const char *words)
{
    timer_clear(&s->keepalive);
    timer_clear(&s->deadline);
    envd_end_stream(s->request, code, "%s", words);
}

/* Of Connect: the program goes on. That of Start is killed by the sandbox's keeper. */
static void on_deadline(struct timer *t)
{
    fail(container_of(t, struct stream, deadline), "deadline_exceeded",
         "the time of this call was up, the command goes on; give it a longer timeout");
}

static void send_start(struct stream *s, int64_t pid)
{
    struct buf text = BUF_INIT(256);
    envd_begin_stream(s->request);
    s->has_started = true;
    buf_printf(&text, "{\"event\":{\"start\":{\"pid\":%" PRId64 "}}}", pid);
    send_event(s, &text);
    buf_done(&text);
}

static void send_output(struct stream *s, const struct exec_message *m)
{
    struct buf text = BUF_INIT(MESSAGE_BYTES_MAX);
    const char *name = s->has_tty ? "pty" : m->packet.flags & EXEC_ERR ? "stderr" : "stdout";
    buf_printf(&text, "{\"event\":{\"data\":{\"%s\":\"", name);
    text_base64_append(&text, m->text, m->packet.text_size);
    buf_append_str(&text, "\"}}}");
    send_event(s, &text);
    buf_done(&text);
}

/* As Go's os/exec words it, which is what programs compare with. */
static void describe_end(int status, char *out, size_t size)
{
    if (WIFEXITED(status)) {
        snprintf(out, size, "exit status %d", WEXITSTATUS(status));
        return;
    }
    const char *words = strsignal(WTERMSIG(status));
    snprintf(out, size, "signal: %s", words ? words : "unknown");
    out[strlen("signal: ")] |= 0x20;
}

/* The error is all that JavaScript's SDK has for the message of what it throws. memory_mb: the
 * limit that ended it, or 0. */
static void write_end(struct buf *text, int status, int64_t memory_mb)
{
    char words[128];
    bool has_exited = WIFEXITED(status);
    describe_end(status, words, sizeof(words));
    buf_printf(text, "{\"event\":{\"end\":{\"exitCode\":%d,\"exited\":%s,\"status\":",
               has_exited ? WEXITSTATUS(status) : -1, has_exited ? "true" : "false");
    json_append_string(text, words);
    if (status != 0) {
        size_t size = strlen(words);
        if (memory_mb)
            snprintf(words + size, sizeof(words) - size,
                     ": memory limit of %" PRId64 " MiB reached", memory_mb);
        buf_append_str(text, ",\"error\":");
        json_append_string(text, words);
    }
    buf_append_str(text, "}}}");
}

static void send_end(struct stream *s, const struct exec_packet *p)
{
    struct buf text = BUF_INIT(1024);
    if (p->flags & EXEC_WITH_SANDBOX) {
        request_cut(s->request); /* by which clients see that the sandbox is gone */
        return;
    }
    if (p->value == 1) {
        fail(s, "deadline_exceeded", "the command's time was up; give it a longer timeout");
        return;
    }
    write_end(&text, p->status, p->flags == CONTROL_BY_MEMORY ? s->memory_mb : 0);
    send_event(s, &text);
    buf_done(&text);
    fail(s, NULL, "");
}

/* ---- what the keeper says ---- */

/* The kernel says in words alone what was wrong. Clients take it for another kind of error. */
static bool is_about_user(const struct stream *s, const char *words)
{
    size_t size = strlen(s->user);
    return !strncmp(words, "user ", 5) && !strncmp(words + 5, s->user, size) &&
           !strncmp(words + 5 + size, " is not in ", 11);
}

static void send_failure(struct stream *s, const struct exec_message *m)
{
    char words[EXEC_TAG_MAX_BYTES + 512];
    snprintf(words, sizeof(words), "%.*s", (int)m->packet.text_size, m->text);
    fail(s, is_about_user(s, words) ? "unauthenticated" : "invalid_argument", words);
}

static void send_missing(struct stream *s)
{
    struct process_selector which;
    char words[EXEC_TAG_MAX_BYTES + 64];
    process_read_selector(s->message, &which);
    process_name_missing(&which, words, sizeof(words));
    fail(s, "not_found", words);
}

static void on_message(struct link *l, const struct exec_message *m)
{
    struct stream *s = stream_of_link(l);
    switch (m->packet.type) {
    case EXEC_STARTED:
        s->has_tty = m->packet.flags & EXEC_TTY;
        if (!s->has_started)
            send_start(s, m->packet.value);
        break;
    case EXEC_OUTPUT:
        if (s->has_started)
            send_output(s, m);
        break;
    case EXEC_ENDED:
        if (s->has_started)
            send_end(s, &m->packet);
        break;
    case EXEC_FAILED:
        send_failure(s, m);
        break;
    case EXEC_ANSWER: /* only to EXEC_ATTACH, and that there is none */
        if (m->packet.status && !s->has_started)
            send_missing(s);
        break;
    default:
        break;
    }
}

/* sandbox/execs.c closes the connections that it has no room for. */
static void fail_to_ask(struct stream *s, int error, const char *words)
{
    if (error == ECONNRESET || error == EPIPE)
        fail(s, "resource_exhausted",
             "too many are connected to programs of this sandbox; close some of the streams");
    else if (error == E2BIG)
        fail(s, "invalid_argument", words);
    else
        fail(s, error == EAGAIN || error == EMFILE ? "resource_exhausted" : "internal", words);
}

static void on_closed(struct link *l, int error)
{
    struct stream *s = stream_of_link(l);
    if (s->has_started || error == ENOENT || error == EPIPE || error == ECONNREFUSED)
        request_cut(s->request); /* the sandbox is gone, which /health then says */
    else
        fail_to_ask(s, error, strerror(error));
}

static void start(struct stream *s)
{
    struct process_command c;
    struct sandbox_error e;
    const char *why;
    int r = process_command_read(s->message, s->box, s->user, &c, &why);
    if (r < 0) {
        fail(s, r == -EINVAL ? "invalid_argument" : "resource_exhausted",
             r == -EINVAL ? why : "the server is short of memory; try again later");
    } else {
        c.exec.timeout_ns = s->timeout_ns;
        r = exec_ask_start(s->link.watch.fd, &c.exec, &e);
        if (r < 0)
            fail_to_ask(s, -r, e.text);
    }
    process_command_done(&c);
}

static void attach(struct stream *s)
{
    struct process_selector which;
    struct exec_packet p = {.type = EXEC_ATTACH, .offset = EXEC_FROM_NOW};
    if (!process_read_selector(s->message, &which)) {
        fail(s, "unimplemented", "process: give a pid or a tag");
        return;
    }
    p.value = which.pid;
    int r = link_send(&s->link, &p, which.tag, which.tag ? strlen(which.tag) : 0, -1);
    if (r < 0)
        fail_to_ask(s, -r, strerror(-r));
}

static void on_opened(struct link *l)
{
    struct stream *s = stream_of_link(l);
    if (s->starts) {
        start(s);
        json_decref(s->message);
        s->message = NULL;
    } else {
        attach(s);
    }
    s->box = NULL;
}

/* ---- the request ---- */

/* False: it is answered. */
static bool read_request(struct stream *s, const char *user_why)
{
    const char *why = NULL;
    int r = envd_get_user(s->request, &s->user);
    if (r == 0)
        s->message = envd_read_message(s->request, true, &why);
    if (s->message)
        return true;
    if (r == -EINVAL)
        fail(s, "unauthenticated", user_why);
    else if (why)
        fail(s, "invalid_argument", why);
    else
        fail(s, "resource_exhausted", "the server is short of memory; try again later");
    return false;
}

static void release(struct watch *w)
{
    struct stream *s = container_of(w, struct stream, link.watch);
    free(s->user);
    json_decref(s->message);
    free(s);
}

static void begin(struct request *r, bool starts)
{
    struct stream *s = streams < STREAMS_MAX ? calloc(1, sizeof(*s)) : NULL;
    if (!s) {
        envd_end_stream(r, "resource_exhausted",
                        "too many streams are open, or memory is short; end some");
        return;
    }
    streams++;
    r->state = s;
    s->request = r;
    s->starts = starts;
    s->link = (struct link){
        .watch.fd = -1, .opened = on_opened, .message = on_message, .closed = on_closed};
    s->keepalive.fire = on_keepalive;
    s->deadline.fire = on_deadline;
    s->keepalive_ns = envd_read_keepalive(r);
    s->box = r->box;
    s->memory_mb = s->box->memory_mb;
    box_add_stream(s->box, &s->box_stream, r);
    if (!read_request(s, "invalid username"))
        return;
    if (!envd_read_timeout(r, &s->timeout_ns)) {
        fail(s, "invalid_argument", ENVD_BAD_TIMEOUT);
        return;
    }
    if (!starts && s->timeout_ns)
        timer_set(&s->deadline, server_now_ns() + s->timeout_ns);
    int error = link_open(&s->link, s->box->id);
    if (error < 0)
        fail(s, "resource_exhausted", "too much is asked at once; try again");
}

static void ready_start(struct request *r)
{
    begin(r, true);
}

static void ready_connect(struct request *r)
{
    begin(r, false);
}

static void drained(struct request *r)
{
    struct stream *s = r->state;
    if (s)
        link_listen(&s->link, true);
}

static void over(struct request *r)
{
    struct stream *s = r->state;
    if (!s)
        return;
    streams--;
    timer_clear(&s->keepalive);
    timer_clear(&s->deadline);
    box_remove_stream(&s->box_stream);
    link_close(&s->link, release);
}

const struct handler process_start = {
    .body_max_bytes = ENVD_BODY_MAX,
    .ready = ready_start,
    .drained = drained,
    .over = over,
};

const struct handler process_connect = {
    .body_max_bytes = ENVD_BODY_MAX,
    .ready = ready_connect,
    .drained = drained,
    .over = over,
};
