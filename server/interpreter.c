// SPDX-License-Identifier: Apache-2.0
#include "server/interpreter_parts.h"

#include "server/json.h"
#include "server/ports.h"
#include "server/route.h"

#include <stdarg.h>
#include <stdio.h>

#define BODY_MAX 65536

/* ---- answers ---- */

void interpreter_fail(struct request *r, unsigned status, const char *format, ...)
{
    char words[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    request_answer(r, status, "text/plain; charset=utf-8", words, strlen(words));
}

void interpreter_fail_new(struct request *r, int error)
{
    if (error == -EAGAIN)
        interpreter_fail(r, 429, "a sandbox has at most %d contexts; remove some",
                         INTERPRETER_CONTEXTS_MAX);
    else if (error == -ENOMEM)
        interpreter_fail(r, 503, INTERPRETER_NO_MEMORY);
    else
        interpreter_fail(r, error == -ENOSPC ? 507 : 503,
                         "the context can't be recorded: %s; see the state folder",
                         strerror(-error));
}

static json_t *describe(const struct context *c)
{
    return json_pack("{ss ss ss}", "id", c->id, "language", c->language->name, "cwd",
                     c->workdir ? c->workdir : "/home/user");
}

/* value is released; NULL: no memory. */
static void answer_json(struct request *r, json_t *value)
{
    struct buf text = BUF_INIT(1024 * 1024);
    if (!value || json_write(&text, value) < 0)
        interpreter_fail(r, 503, INTERPRETER_NO_MEMORY);
    else
        request_answer(r, 200, "application/json", text.data, text.size);
    buf_done(&text);
    json_decref(value);
}

void interpreter_answer_created(struct context *c)
{
    answer_json(c->creator, describe(c));
    context_forget_creator(c);
}

static void answer_null(struct request *r)
{
    request_answer(r, 200, "application/json", "null", 4);
}

/* ---- GET /health ---- */

static void answer_health(struct request *r)
{
    request_answer(r, 200, "application/json", "\"OK\"", 4);
}

static const struct handler health = {.ready = answer_health};

/* ---- POST /contexts ---- */

static void create(struct request *r, const json_t *message)
{
    const char *wrong = NULL;
    struct context *c;
    json_t *language = json_member(message, "language", JSON_STRING, &wrong);
    json_t *cwd = json_member(message, "cwd", JSON_STRING, &wrong);
    if (wrong) {
        interpreter_fail(r, 400, "%s: give it as text", wrong);
        return;
    }
    const struct language *l = language_find(language ? json_string_value(language) : "python");
    if (!l) {
        interpreter_fail(r, 400, INTERPRETER_NO_LANGUAGE, json_string_value(language));
        return;
    }
    struct box *b = r->box;
    int error = contexts_of(b) ? context_new(b, l, json_string_value(cwd), false, &c) : -ENOMEM;
    if (error < 0) {
        interpreter_fail_new(r, error);
        return;
    }
    r->state = c;
    c->creator = r;
    box_add_stream(b, &c->creator_stream, r);
    context_advance(c);
}

static void ready_create(struct request *r)
{
    const char *why;
    json_t *message = json_read_object(r->body.data, r->body.size, &why);
    if (message)
        create(r, message);
    else
        interpreter_fail(r, why ? 400 : 503, "%s", why ? why : INTERPRETER_NO_MEMORY);
    json_decref(message);
}

/* The client has left; what it asked for is made nevertheless. */
static void over_create(struct request *r)
{
    struct context *c = r->state;
    if (c)
        context_forget_creator(c);
}

static const struct handler create_context = {
    .body_max_bytes = BODY_MAX, .ready = ready_create, .over = over_create};

/* ---- GET /contexts ---- */

static void ready_list(struct request *r)
{
    const struct interpreter *i = contexts_of(r->box);
    json_t *list = i ? json_array() : NULL;
    struct context *c;
    if (list)
        list_for_each(c, &i->contexts, all)
        {
            if (json_array_append_new(list, describe(c)) < 0) {
                json_decref(list);
                list = NULL;
                break;
            }
        }
    answer_json(r, list);
}

static const struct handler list_contexts = {.ready = ready_list};

/* ---- DELETE /contexts/ID, POST /contexts/ID/restart ---- */

/* Whose path it is: /contexts/ID, perhaps with more. NULL: it is answered. */
static struct context *find_by_path(struct request *r)
{
    char id[CONTEXT_ID_SIZE + 1] = "";
    const char *text = r->head->path + sizeof("/contexts");
    size_t size = strcspn(text, "/");
    struct interpreter *i = contexts_of(r->box);
    if (size <= CONTEXT_ID_SIZE)
        memcpy(id, text, size);
    struct context *c = i && size <= CONTEXT_ID_SIZE ? context_find(i, id) : NULL;
    if (!i)
        interpreter_fail(r, 503, INTERPRETER_NO_MEMORY);
    else if (!c)
        interpreter_fail(r, 404, "Context %.*s not found", (int)MIN(size, (size_t)64), text);
    return c;
}

static void ready_remove(struct request *r)
{
    struct context *c = find_by_path(r);
    if (!c)
        return;
    context_remove(c);
    answer_null(r);
}

static const struct handler remove_context = {.ready = ready_remove};

static void ready_restart(struct request *r)
{
    struct context *c = find_by_path(r);
    if (!c)
        return;
    context_end_program(c, "ContextRestarting", "the context was restarted");
    c->is_wanted = true;
    context_advance(c);
    answer_null(r);
}

static const struct handler restart_context = {.body_max_bytes = BODY_MAX, .ready = ready_restart};

/* ---- which is meant ---- */

/*
 * FREE; CODE: X-Access-Token; TRAFFIC: that, or what all ports need, since SDKs send X-Access-Token
 * with code only.
 */
static const struct interpreter_route {
    const char *method, *path;
    const struct handler *handler;
    enum { FREE, TRAFFIC, CODE } access;
} routes[] = {
    {"GET", "/health", &health, FREE},
    {"POST", "/execute", &interpreter_execute, CODE},
    {"POST", "/contexts", &create_context, TRAFFIC},
    {"GET", "/contexts", &list_contexts, TRAFFIC},
    {"DELETE", "/contexts/*", &remove_context, TRAFFIC},
    {"POST", "/contexts/*/restart", &restart_context, TRAFFIC},
};

static const struct interpreter_route *find_route(struct request *r)
{
    const char *id;
    size_t size;
    bool is_known = false;
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        if (!route_path_matches(routes[i].path, r->head->path, &id, &size))
            continue;
        is_known = true;
        if (!strcmp(routes[i].method, r->head->method))
            return &routes[i];
    }
    if (is_known)
        interpreter_fail(r, 405, "%s: not for this path; docs/api.md lists what is",
                         r->head->method);
    else
        interpreter_fail(r, 404, "no such path; docs/api.md lists what is served");
    return NULL;
}

const struct handler *interpreter_find(struct request *r, struct box *b)
{
    const char *token = request_field(r, "x-access-token");
    const struct interpreter_route *route = find_route(r);
    if (!route)
        return NULL;
    r->route = route->path;
    /* Whoever sends a token means this sandbox by it. */
    if ((route->access == CODE && !token) || (token && !text_equal_secretly(token, b->token))) {
        interpreter_fail(r, 401,
                         "the sandbox's access token is missing or wrong; send the one "
                         "that its creation was answered with in X-Access-Token");
        return NULL;
    }
    if (route->access == TRAFFIC && !token && !ports_let_in(r, b))
        return NULL;
    r->box = b;
    return route->handler;
}

void interpreter_prepare(struct box *b)
{
    struct interpreter *i = contexts_of(b);
    struct context *c = i ? context_find_default(i, language_find("python")) : NULL;
    if (!c || c->driver)
        return;
    c->is_wanted = true;
    context_advance(c);
}
