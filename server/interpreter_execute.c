// SPDX-License-Identifier: Apache-2.0
/*
 * POST /execute: one cell. Its answer begins when its context's program runs, also while it waits
 * for cells before it, so that a client who leaves is seen; it then is taken out of the queue, or
 * interrupted.
 */
#include "server/interpreter_parts.h"

#include "server/interpreter_events.h"
#include "server/json.h"
#include "server/server.h"

#define KEEPALIVE_NS (5 * NSEC_PER_SEC)

static size_t cells, waiting_bytes; /* of all sandboxes */

static void free_cell(struct cell *cell)
{
    cells--;
    waiting_bytes -= cell->body_bytes;
    timer_clear(&cell->keepalive);
    json_decref(cell->message);
    json_decref(cell->variables);
    free(cell);
}

/* Takes it out of its context. */
static void leave(struct cell *cell)
{
    list_remove(&cell->link);
    cell->context->cell_count--;
    cell->context = NULL;
    timer_clear(&cell->keepalive);
    if (!cell->request)
        free_cell(cell);
}

/* ---- the answer ---- */

bool cell_is_heard(const struct cell *cell)
{
    return cell->request != NULL;
}

static void rest(struct cell *cell)
{
    timer_set(&cell->keepalive, server_now_ns() + KEEPALIVE_NS);
}

void cell_send(struct cell *cell, const struct buf *lines)
{
    if (!cell->request)
        return;
    if (lines->failed)
        request_cut(cell->request);
    else if (!request_send(cell->request, lines->data, lines->size) && cell->context->driver)
        driver_listen(cell->context->driver, false);
    rest(cell);
}

static void on_keepalive(struct timer *t)
{
    struct cell *cell = container_of(t, struct cell, keepalive);
    struct buf lines = BUF_INIT(256);
    events_add_keepalive(&lines);
    if (cell->request && request_has_room(cell->request))
        request_send(cell->request, lines.data, lines.size);
    buf_done(&lines);
    rest(cell);
}

void cell_begin_answer(struct cell *cell)
{
    if (!cell->request || request_is_answered(cell->request))
        return;
    request_begin(cell->request, 200, "application/x-ndjson", REQUEST_STREAM);
    rest(cell);
}

int cell_run(struct cell *cell)
{
    struct context *c = cell->context;
    struct buf lines = BUF_INIT(256);
    const json_t *code = json_object_get(cell->message, "code");
    cell_begin_answer(cell);
    events_add_count(&lines, c->number);
    cell_send(cell, &lines);
    buf_done(&lines);
    int r = driver_run(c->driver, c->number, cell->variables, json_string_value(code),
                       json_string_length(code));
    json_decref(cell->message);
    cell->message = NULL;
    return r;
}

void cell_end(struct cell *cell, const char *name, const char *words)
{
    struct buf lines = BUF_INIT(8192);
    if (cell->request) {
        if (name)
            events_add_error(&lines, name, words, words);
        events_add_end(&lines);
        cell_begin_answer(cell);
        cell_send(cell, &lines);
        request_end(cell->request);
    }
    buf_done(&lines);
    leave(cell);
}

void cell_refuse(struct cell *cell, unsigned status, const char *words)
{
    if (!cell->request || request_is_answered(cell->request)) {
        cell_end(cell, "InterpreterError", words);
        return;
    }
    interpreter_fail(cell->request, status, "%s", words);
    leave(cell);
}

void cell_cut(struct cell *cell)
{
    if (cell->request)
        request_cut(cell->request);
    leave(cell);
}

/* ---- the request ---- */

/* What env_vars has, without those that are null. NULL: out of memory, or *ret_why. */
static json_t *read_variables(const json_t *given, const char **ret_why)
{
    const char *name;
    json_t *value, *variables = json_object();
    json_object_foreach((json_t *)given, name, value)
    {
        if (!json_is_null(value) && json_object_set(variables, name, value) < 0) {
            json_decref(variables);
            return NULL;
        }
    }
    if (!variables || language_are_variables(variables))
        return variables;
    json_decref(variables);
    *ret_why = "env_vars: names are of letters, digits and _, values are text";
    return NULL;
}

/* The context that is meant. NULL: the request is answered. */
static struct context *find_context(struct request *r, const char *id, const char *name)
{
    struct box *b = r->box;
    struct context *c = NULL;
    struct interpreter *i = contexts_of(b);
    if (i && id) {
        c = context_find(i, id);
        if (!c)
            interpreter_fail(r, 404, "Context %.64s not found", id);
        return c;
    }
    const struct language *l = language_find(name ? name : "python");
    if (!l) {
        interpreter_fail(r, 400, INTERPRETER_NO_LANGUAGE, name);
        return NULL;
    }
    c = i ? context_find_default(i, l) : NULL;
    int error = !i ? -ENOMEM : c ? 0 : context_new(b, l, NULL, true, &c);
    if (error < 0)
        interpreter_fail_new(r, error);
    return error < 0 ? NULL : c;
}

/* Checks the message. NULL: it is answered. */
static struct context *read_message(struct request *r, struct cell *cell)
{
    const char *wrong = NULL;
    json_t *code = json_member(cell->message, "code", JSON_STRING, &wrong);
    json_t *id = json_member(cell->message, "context_id", JSON_STRING, &wrong);
    json_t *language = json_member(cell->message, "language", JSON_STRING, &wrong);
    json_t *given = json_member(cell->message, "env_vars", JSON_OBJECT, &wrong);
    if (wrong || !code) {
        interpreter_fail(r, 400, "%s: it is missing, or not of its type; docs/api.md says which",
                         wrong ? wrong : "code");
        return NULL;
    }
    if (id && language) {
        interpreter_fail(r, 400, "context_id and language: give one of them");
        return NULL;
    }
    wrong = NULL;
    cell->variables = read_variables(given, &wrong);
    if (!cell->variables) {
        interpreter_fail(r, wrong ? 400 : 503, "%s", wrong ? wrong : INTERPRETER_NO_MEMORY);
        return NULL;
    }
    return find_context(r, json_string_value(id), json_string_value(language));
}

/* One sandbox leaves room for others. */
static bool has_room(const struct box *b, size_t body_bytes)
{
    const struct context *c;
    const struct cell *cell;
    size_t own = 0, own_bytes = 0;
    if (b->interpreter)
        list_for_each(c, &b->interpreter->contexts, all) list_for_each(cell, &c->cells, link)
        {
            own++;
            own_bytes += cell->body_bytes;
        }
    return cells < INTERPRETER_CELLS_MAX && own < INTERPRETER_CELLS_OF_BOX_MAX &&
           waiting_bytes + body_bytes <= INTERPRETER_WAITING_MAX_BYTES &&
           own_bytes + body_bytes <= INTERPRETER_WAITING_OF_BOX_MAX_BYTES;
}

static struct cell *make_cell(struct request *r)
{
    const char *why;
    struct cell *cell = has_room(r->box, r->body.size) ? calloc(1, sizeof(*cell)) : NULL;
    if (!cell) {
        interpreter_fail(r, 429, "too many cells are waiting or run; wait for some");
        return NULL;
    }
    cells++;
    cell->body_bytes = r->body.size;
    waiting_bytes += cell->body_bytes;
    list_init(&cell->link);
    list_init(&cell->box_stream.link);
    cell->request = r;
    cell->keepalive.fire = on_keepalive;
    r->state = cell;
    cell->message = json_read_object(r->body.data, r->body.size, &why);
    buf_done(&r->body);
    if (cell->message)
        return cell;
    interpreter_fail(r, why ? 400 : 503, "%s", why ? why : INTERPRETER_NO_MEMORY);
    return NULL;
}

static void ready(struct request *r)
{
    struct box *b = r->box;
    struct cell *cell = make_cell(r);
    struct context *c = cell ? read_message(r, cell) : NULL;
    if (!c)
        return;
    if (c->cell_count >= INTERPRETER_QUEUE_MAX) {
        interpreter_fail(r, 429, "too many cells wait for this context; wait for some");
        return;
    }
    cell->context = c;
    c->cell_count++;
    list_append(&c->cells, &cell->link);
    box_add_stream(b, &cell->box_stream, r);
    if (c->is_started)
        cell_begin_answer(cell);
    context_advance(c);
}

static void drained(struct request *r)
{
    struct cell *cell = r->state;
    if (cell && cell->context && cell->context->running == cell && cell->context->driver)
        driver_listen(cell->context->driver, true);
}

/* The client has all, or has left. */
static void over(struct request *r)
{
    struct cell *cell = r->state;
    if (!cell)
        return;
    struct context *c = cell->context;
    box_remove_stream(&cell->box_stream);
    cell->request = NULL;
    if (!c)
        free_cell(cell);
    else if (c->running == cell)
        context_interrupt(c);
    else
        leave(cell);
}

const struct handler interpreter_execute = {
    .body_max_bytes = INTERPRETER_BODY_MAX,
    .ready = ready,
    .drained = drained,
    .over = over,
};
