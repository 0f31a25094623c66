// SPDX-License-Identifier: Apache-2.0
/*
 * process.Process, the plain calls: each opens a link to the sandbox's keeper, asks, and answers.
 * A program that is meant by its tag is looked for in the list first.
 */
#include "server/envd_process.h"

#include "server/interpreter.h"
#include "server/json.h"
#include "server/limits.h"

#include <signal.h>
#include <stdio.h>

struct call {
    struct request *request;
    struct box_stream box_stream;
    struct link link;
    json_t *message;
    json_t *list; /* being collected */
    size_t list_bytes;
    const struct method *method;
    struct process_selector which;
    struct buf input; /* of which at bytes were sent */
    size_t at;
};

struct method {
    const char *path;
    /* Checks the message: false when it is answered. */
    bool (*check)(struct call *c);
    /* Asks for program c->which.pid; 0 or negative errno. */
    int (*ask)(struct call *c);
    /* The code for what the keeper could not do. */
    const char *refused;
};

static void fail(struct call *c, const char *code, const char *words)
{
    envd_fail_unary(c->request, code, "%s", words);
}

static void answer_empty(struct call *c)
{
    request_answer(c->request, 200, "application/json", "{}", 2);
}

static void fail_no_process(struct call *c)
{
    char words[EXEC_TAG_MAX_BYTES + 64];
    process_name_missing(&c->which, words, sizeof(words));
    fail(c, "not_found", words);
}

static int send_packet(struct call *c, struct exec_packet *p, const char *text, size_t size)
{
    p->value = c->which.pid;
    return link_send(&c->link, p, text, size, -1);
}

/* ---- the methods ---- */

static bool check_selector(struct call *c)
{
    if (process_read_selector(c->message, &c->which))
        return true;
    fail(c, "unimplemented", "process: give a pid or a tag");
    return false;
}

static bool check_signal(struct call *c)
{
    const char *name = json_string_value(json_object_get(c->message, "signal"));
    if (name && (!strcmp(name, "SIGNAL_SIGKILL") || !strcmp(name, "SIGNAL_SIGTERM")))
        return check_selector(c);
    fail(c, "unimplemented", "signal: give SIGNAL_SIGTERM or SIGNAL_SIGKILL");
    return false;
}

static int ask_signal(struct call *c)
{
    const char *name = json_string_value(json_object_get(c->message, "signal"));
    struct exec_packet p = {.type = EXEC_SIGNAL,
                            .status = !strcmp(name, "SIGNAL_SIGKILL") ? SIGKILL : SIGTERM,
                            .flags = EXEC_TO_PROCESS};
    return send_packet(c, &p, NULL, 0);
}

static bool check_input(struct call *c)
{
    const json_t *input = json_object_get(c->message, "input");
    const json_t *data = json_object_get(input, "stdin");
    if (!json_is_string(data))
        data = json_object_get(input, "pty");
    c->input = BUF_INIT(ENVD_BODY_MAX);
    int r = json_is_string(data)
                ? text_base64_read(json_string_value(data), json_string_length(data), &c->input)
                : -EINVAL;
    if (r == 0)
        return check_selector(c);
    fail(c, "invalid_argument", "input: give stdin or pty, in base 64");
    return false;
}

/* A piece at a time: each is answered when there is room for more. */
static int ask_input(struct call *c)
{
    size_t size = MIN(c->input.size - c->at, (size_t)EXEC_TEXT_MAX_BYTES);
    struct exec_packet p = {.type = EXEC_INPUT};
    int r = send_packet(c, &p, c->input.data + c->at, size);
    c->at += size;
    return r;
}

static int ask_input_end(struct call *c)
{
    struct exec_packet p = {.type = EXEC_INPUT_END};
    return send_packet(c, &p, NULL, 0);
}

static bool check_size(struct call *c)
{
    unsigned rows, columns;
    if (process_read_size(json_object_get(c->message, "pty"), &rows, &columns))
        return check_selector(c);
    fail(c, "invalid_argument", "pty.size: give cols and rows as numbers");
    return false;
}

static int ask_window(struct call *c)
{
    unsigned rows = 0, columns = 0;
    process_read_size(json_object_get(c->message, "pty"), &rows, &columns);
    struct exec_packet p = {.type = EXEC_WINDOW, .offset = (uint64_t)rows << 16 | columns};
    return send_packet(c, &p, NULL, 0);
}

static const struct method methods[] = {
    {"/process.Process/List", NULL, NULL, "internal"},
    {"/process.Process/SendSignal", check_signal, ask_signal, "internal"},
    {"/process.Process/SendInput", check_input, ask_input, "internal"},
    {"/process.Process/CloseStdin", check_selector, ask_input_end, "unknown"},
    {"/process.Process/Update", check_size, ask_window, "internal"},
};

/* ---- the keeper's answers ---- */

static void go_on(struct call *c)
{
    int r = c->method->ask(c);
    if (r < 0)
        fail(c, "internal", strerror(-r));
}

static void take_item(struct call *c, const struct exec_message *m)
{
    /* Contexts are listed where they are made. */
    if (m->packet.text_size > strlen(INTERPRETER_TAG) &&
        !memcmp(m->text, INTERPRETER_TAG, strlen(INTERPRETER_TAG)))
        return;
    json_t *item = process_make_item(m);
    c->list_bytes += m->packet.text_size;
    if (!item || c->list_bytes > OUTPUT_MAX / 4)
        json_decref(item);
    else
        json_array_append_new(c->list, item);
}

/* The list is whole: it was asked for, or a tag is looked for in it. */
static void use_list(struct call *c)
{
    size_t i;
    json_t *item;
    if (!c->method->ask) {
        envd_answer_unary(c->request, json_pack("{sO}", "processes", c->list));
        return;
    }
    json_array_foreach(c->list, i, item)
    {
        const char *tag = json_string_value(json_object_get(item, "tag"));
        if (tag && !strcmp(tag, c->which.tag))
            c->which.pid = json_integer_value(json_object_get(item, "pid"));
    }
    json_decref(c->list);
    c->list = NULL;
    if (c->which.pid)
        go_on(c);
    else
        fail_no_process(c);
}

static void take_answer(struct call *c, const struct exec_message *m)
{
    if (m->packet.status == ESRCH)
        fail_no_process(c);
    else if (m->packet.status)
        envd_fail_unary(c->request, c->method->refused, "%.*s", (int)m->packet.text_size, m->text);
    else if (c->list)
        use_list(c);
    else if (c->at < c->input.size)
        go_on(c);
    else
        answer_empty(c);
}

static void on_message(struct link *l, const struct exec_message *m)
{
    struct call *c = container_of(l, struct call, link);
    if (request_is_answered(c->request))
        return;
    if (m->packet.type == EXEC_ITEM && c->list)
        take_item(c, m);
    else if (m->packet.type == EXEC_ANSWER)
        take_answer(c, m);
}

static void on_opened(struct link *l)
{
    struct call *c = container_of(l, struct call, link);
    struct exec_packet p = {.type = EXEC_LIST};
    if (c->which.pid) {
        go_on(c);
        return;
    }
    c->list = json_array();
    int r = c->list ? link_send(l, &p, NULL, 0, -1) : -ENOMEM;
    if (r < 0)
        fail(c, "internal", strerror(-r));
}

static void on_closed(struct link *l, int error)
{
    struct call *c = container_of(l, struct call, link);
    if (error == EAGAIN || error == EMFILE)
        fail(c, "resource_exhausted", "too much is asked at once; try again");
    else
        fail(c, "unavailable", "the sandbox has ended");
}

/* ---- the request ---- */

static const struct method *find_method(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
        if (!strcmp(methods[i].path, path))
            return &methods[i];
    return NULL;
}

static void begin(struct call *c)
{
    const char *why = NULL;
    struct box *b = c->request->box;
    c->message = envd_read_message(c->request, false, &why);
    if (!c->message) {
        fail(c, why ? "invalid_argument" : "resource_exhausted",
             why ? why : "the server is short of memory; try again later");
        return;
    }
    if (c->method->check && !c->method->check(c))
        return;
    box_add_stream(b, &c->box_stream, c->request);
    if (link_open(&c->link, b->id) < 0)
        fail(c, "resource_exhausted", "too much is asked at once; try again");
}

static void release(struct watch *w)
{
    struct call *c = container_of(w, struct call, link.watch);
    json_decref(c->message);
    json_decref(c->list);
    buf_done(&c->input);
    free(c);
}

static void ready(struct request *r)
{
    struct call *c = calloc(1, sizeof(*c));
    r->state = c;
    if (!c) {
        envd_fail_unary(r, "resource_exhausted", "the server is short of memory; try again later");
        return;
    }
    list_init(&c->box_stream.link);
    c->request = r;
    c->method = find_method(r->head->path);
    c->link = (struct link){
        .watch.fd = -1, .opened = on_opened, .message = on_message, .closed = on_closed};
    begin(c);
}

static void over(struct request *r)
{
    struct call *c = r->state;
    if (!c)
        return;
    box_remove_stream(&c->box_stream);
    link_close(&c->link, release);
}

static const struct handler call_handler = {
    .body_max_bytes = ENVD_BODY_MAX,
    .ready = ready,
    .over = over,
};

const struct envd_route envd_process_routes[] = {
    {"POST", "/process.Process/Start", ENVD_TOKEN, &process_start},
    {"POST", "/process.Process/Connect", ENVD_TOKEN, &process_connect},
    {"POST", "/process.Process/List", ENVD_TOKEN, &call_handler},
    {"POST", "/process.Process/SendSignal", ENVD_TOKEN, &call_handler},
    {"POST", "/process.Process/SendInput", ENVD_TOKEN, &call_handler},
    {"POST", "/process.Process/CloseStdin", ENVD_TOKEN, &call_handler},
    {"POST", "/process.Process/Update", ENVD_TOKEN, &call_handler},
    {0},
};
