// SPDX-License-Identifier: Apache-2.0
#include "server/interpreter_parts.h"

#include "lib/db/db.h"
#include "lib/text/utf8.h"
#include "server/envd_process.h"
#include "server/interpreter_events.h"
#include "server/server.h"

#include <stdio.h>

#define FLUSH_NS         (10 * NSEC_PER_MSEC)
#define TEXT_EVENT_BYTES 32768
#define INTERRUPT_NS     NSEC_PER_SEC
#define INTERRUPTS_MAX   5 /* a second apart; then the program is killed */
#define START_NS         (120 * NSEC_PER_SEC)
#define LAST_WORDS_BYTES 300 /* that are told of a program that has not begun */
#define LAST_KEPT_BYTES  ((size_t)4 * LAST_WORDS_BYTES)

/* ---- output ---- */

static void send_lines(struct context *c, struct buf *lines)
{
    if (c->running && lines->size > 0)
        cell_send(c->running, lines);
    buf_done(lines);
}

/* is_all: also what may be the beginning of a character. */
static void flush_one(struct context *c, bool is_err, bool is_all)
{
    struct buf *text = &c->text[is_err], lines = BUF_INIT(INTERPRETER_LINE_MAX_BYTES);
    size_t size = text->size;
    if (size > 0 && !is_all)
        size -= text_utf8_cut_end(text->data, size);
    if (size == 0)
        return;
    events_add_text(&lines, is_err, text->data, size, server_wall_ms() * NSEC_PER_MSEC);
    send_lines(c, &lines);
    buf_consume(text, size);
    if (text->size == 0)
        buf_reset(text);
}

static void flush(struct context *c, bool is_all)
{
    flush_one(c, false, is_all);
    flush_one(c, true, is_all);
    timer_clear(&c->flush);
}

static void on_flush(struct timer *t)
{
    flush(container_of(t, struct context, flush), false);
}

static void forget_text(struct context *c)
{
    for (size_t i = 0; i < ARRAY_SIZE(c->text); i++) {
        buf_done(&c->text[i]);
        c->text[i] = BUF_INIT(4 * TEXT_EVENT_BYTES);
    }
    timer_clear(&c->flush);
}

/* Some more: what makes lines whole is sent at once, the rest when no more comes soon. */
static void add_text(struct context *c, bool is_err, const char *data, size_t size)
{
    struct buf *text = &c->text[is_err];
    const char *end = memrchr(data, '\n', size);
    size_t lines = end ? (size_t)(end - data) + 1 : 0;
    if (lines > 0) {
        buf_append(text, data, lines);
        flush_one(c, is_err, false);
    }
    buf_append(text, data + lines, size - lines);
    if (text->size >= TEXT_EVENT_BYTES)
        flush_one(c, is_err, false);
}

/* Of a program that has not begun the end of what it says on stderr, in case it never does. */
static void keep_last(struct context *c, const char *data, size_t size)
{
    struct buf *text = &c->text[1];
    buf_append(text, data, size);
    if (text->size > LAST_KEPT_BYTES)
        buf_consume(text, text->size - LAST_KEPT_BYTES);
}

void context_wrote(struct context *c, bool is_err, const char *data, size_t size)
{
    if (c->is_awaited && is_err)
        keep_last(c, data, size);
    if (!c->running || !cell_is_heard(c->running))
        return;
    flush_one(c, !is_err, true); /* so that they stay in order */
    for (size_t at = 0; at < size; at += TEXT_EVENT_BYTES)
        add_text(c, is_err, data + at, MIN(size - at, (size_t)TEXT_EVENT_BYTES));
    if (c->text[is_err].size > 0 && !c->flush.place &&
        timer_set(&c->flush, server_now_ns() + FLUSH_NS) < 0)
        flush(c, false);
}

/* Words of the server's own, on stderr. */
static void note(struct context *c, const char *words)
{
    struct buf lines = BUF_INIT(4096);
    events_add_text(&lines, true, words, strlen(words), server_wall_ms() * NSEC_PER_MSEC);
    send_lines(c, &lines);
}

/* ---- one cell after the other ---- */

static void finish(struct context *c, const char *name, const char *words)
{
    struct cell *cell = c->running;
    flush(c, true);
    forget_text(c);
    timer_clear(&c->interrupt);
    c->running = NULL;
    cell_end(cell, name, words);
    /* Behind it: what its client has no room for holds up nobody who comes after it. */
    if (c->driver)
        driver_listen(c->driver, true);
}

static void begin(struct context *c, struct cell *cell)
{
    forget_text(c);
    c->running = cell;
    c->number++;
    c->interrupts = 0;
    c->has_error = c->has_ended[0] = c->has_ended[1] = false;
    int r = cell_run(cell);
    if (c->lost)
        note(c, "glovebox: the interpreter of this context has ended since its last cell; what "
                "earlier cells made is lost\n");
    c->lost = false;
    if (r < 0) /* perhaps a part of the cell is on its way */
        context_end_program(c, "InterpreterError",
                            "the server is short of memory, and the context's state is lost; try "
                            "again later");
}

/* What waits for a program that there is not. */
static void refuse_all(struct context *c, unsigned status, const char *words)
{
    struct cell *cell;
    while ((cell = context_first_cell(c)))
        cell_refuse(cell, status, words);
}

static void start(struct context *c)
{
    if (!c->is_left &&
        db_run(server.db, "UPDATE contexts SET is_started = 1 WHERE id = ?", "s", c->id) < 0)
        server_say("context %s: its record can't be changed; a server after this one does not find "
                   "its program",
                   c->id);
    c->driver = driver_start(c, c->is_left);
    if (!c->driver)
        context_failed(c, 429, "too much is asked at once; try again");
}

void context_advance(struct context *c)
{
    struct cell *cell;
    while (c->is_started && !c->is_finding_out && !c->running && (cell = context_first_cell(c)))
        begin(c, cell);
    if (c->driver || (!c->creator && !c->is_wanted && list_is_empty(&c->cells)))
        return;
    c->is_wanted = false;
    start(c);
}

static void stop_waiting(struct context *c)
{
    c->is_awaited = false;
    timer_clear(&c->start);
}

/* Its program runs, and cells may. */
static void admit(struct context *c)
{
    struct cell *cell;
    stop_waiting(c);
    forget_text(c);
    c->is_started = true;
    if (c->creator)
        interpreter_answer_created(c);
    list_for_each(cell, &c->cells, link) cell_begin_answer(cell);
}

static bool is_waiting_for_end(const struct context *c)
{
    return c->running || c->is_finding_out || c->is_awaited;
}

/*
 * Goes on when the program has said on both streams that all is over. Before it was given all of
 * the cell it can't know: else the next ones would pile up before a program that reads nothing.
 */
static void end_when_over(struct context *c)
{
    if (!c->has_ended[0] || !c->has_ended[1] || !driver_is_fed(c->driver))
        return;
    if (c->is_finding_out) {
        c->is_finding_out = false;
        c->number = c->said_number;
        timer_clear(&c->interrupt);
    }
    if (c->is_awaited)
        admit(c);
    if (c->running)
        finish(c, NULL, NULL);
    context_advance(c);
}

void context_said(struct context *c, bool is_err, const char *text, size_t size)
{
    struct buf lines = BUF_INIT(INTERPRETER_LINE_MAX_BYTES);
    if (!is_waiting_for_end(c))
        return;
    enum events_said what = events_add_message(&lines, text, size, &c->said_number);
    flush(c, true);
    c->has_error |= what == EVENTS_ERROR;
    c->has_ended[is_err] |= what == EVENTS_END;
    if (what == EVENTS_NONE || lines.failed)
        note(c, "glovebox: a result is too large, or can't be read, and is left out\n");
    else
        send_lines(c, &lines);
    buf_done(&lines);
    if (what == EVENTS_END)
        end_when_over(c);
}

void context_fed(struct context *c)
{
    if (is_waiting_for_end(c))
        end_when_over(c);
}

/* ---- interrupts ---- */

static void on_interrupt(struct timer *t)
{
    struct context *c = container_of(t, struct context, interrupt);
    if (c->interrupts++ < INTERRUPTS_MAX) {
        driver_interrupt(c->driver);
        timer_set(t, server_now_ns() + INTERRUPT_NS);
        return;
    }
    context_end_program(c, "ContextKilled", "the cell did not end when it was interrupted");
    c->lost = true;
    context_advance(c);
}

void context_interrupt(struct context *c)
{
    driver_listen(c->driver, true);
    on_interrupt(&c->interrupt);
}

/* ---- the program's life ---- */

void context_forget_creator(struct context *c)
{
    if (!c->creator)
        return;
    box_remove_stream(&c->creator_stream);
    c->creator->state = NULL;
    c->creator = NULL;
}

/* One that was left may still run a cell, to which nobody listens. */
static void find_out(struct context *c)
{
    c->is_left = false;
    c->interrupts = 0;
    c->has_ended[0] = c->has_ended[1] = false;
    c->is_finding_out = driver_run(c->driver, 0, NULL, NULL, 0) == 0;
    on_interrupt(&c->interrupt);
}

void context_not_left(struct context *c)
{
    c->is_left = false;
    c->lost = true;
    context_advance(c);
}

/* Has it say that it is there. */
static void await(struct context *c)
{
    c->has_ended[0] = c->has_ended[1] = false;
    c->is_awaited = driver_run(c->driver, 0, NULL, NULL, 0) == 0;
    if (c->is_awaited) /* without memory for a timer as long as it takes */
        timer_set(&c->start, server_now_ns() + START_NS);
}

void context_started(struct context *c)
{
    bool was_left = c->is_left;
    if (was_left)
        find_out(c);
    else if (c->language->is_begun_by_shell)
        await(c);
    if (c->is_awaited)
        return;
    admit(c);
    context_advance(c);
}

void context_failed(struct context *c, unsigned status, const char *words)
{
    refuse_all(c, status, words);
    if (!c->creator)
        return;
    interpreter_fail(c->creator, status, "%s", words);
    context_forget_creator(c);
    context_remove(c);
}

/* The last line of what it wrote: a stranger's words. */
static void add_last_words(struct buf *out, const struct buf *text)
{
    size_t end = text->size;
    while (end > 0 && (unsigned char)text->data[end - 1] <= ' ')
        end--;
    const char *newline = end > 0 ? memrchr(text->data, '\n', end) : NULL;
    size_t begin = newline ? (size_t)(newline - text->data) + 1 : 0;
    size_t size = MIN(end - begin, (size_t)LAST_WORDS_BYTES);
    if (size > 0)
        text_utf8_append_valid(out, text->data + begin,
                               size - text_utf8_cut_end(text->data + begin, size));
    for (size_t i = 0; i < out->size; i++)
        if ((unsigned char)out->data[i] < ' ' || out->data[i] == 0x7f)
            out->data[i] = ' ';
}

void context_not_begun(struct context *c, bool is_missing, const char *how)
{
    struct buf said = BUF_INIT(4 * LAST_WORDS_BYTES), words = BUF_INIT(8 * LAST_WORDS_BYTES);
    add_last_words(&said, &c->text[1]);
    buf_printf(&words, "%s: ", c->language->name);
    if (!is_missing || said.size == 0)
        buf_printf(&words, "%s, before any cell%s", how, said.size > 0 ? "; it said: " : "");
    buf_append(&words, said.data, said.size);
    buf_append(&words, "", 1);
    stop_waiting(c);
    forget_text(c);
    context_failed(c, is_missing ? 501 : 500, words.failed ? INTERPRETER_NO_MEMORY : words.data);
    buf_done(&said);
    buf_done(&words);
}

static void on_start_late(struct timer *t)
{
    struct context *c = container_of(t, struct context, start);
    driver_kill(c->driver);
    context_not_begun(c, false, "the interpreter was killed, since it had taken too long");
}

void context_ended(struct context *c, const char *how)
{
    char words[400];
    bool is_told = c->running && cell_is_heard(c->running);
    snprintf(words, sizeof(words),
             "%s; what the context's cells made is lost, the next one begins "
             "anew",
             how);
    c->lost = (c->number > 0 && !is_told) || c->is_finding_out;
    c->is_finding_out = false;
    c->number = 0;
    timer_clear(&c->interrupt); /* the next one is not what was to be interrupted */
    if (c->running)
        finish(c, c->has_error ? NULL : "UnexpectedEndOfExecution", words);
    context_advance(c);
}

void context_end_program(struct context *c, const char *error, const char *words)
{
    if (c->driver)
        driver_kill(c->driver);
    else if (c->is_left)
        driver_kill_left(c);
    stop_waiting(c);
    c->number = 0;
    c->lost = c->is_left = c->is_finding_out = false;
    timer_clear(&c->interrupt);
    if (c->running)
        finish(c, error, words);
}

void context_cut(struct context *c)
{
    struct cell *cell;
    c->running = NULL;
    c->lost |= c->number > 0 || c->is_finding_out;
    c->is_finding_out = false; /* whoever could have said so is gone */
    c->number = 0;
    timer_clear(&c->interrupt);
    stop_waiting(c);
    forget_text(c);
    while ((cell = context_first_cell(c)))
        cell_cut(cell);
    if (c->creator)
        request_cut(c->creator);
}

/* ---- the contexts of a sandbox ---- */

static void release(struct context *c)
{
    context_cut(c);
    if (c->driver)
        driver_kill(c->driver);
    context_forget_creator(c);
    timer_clear(&c->interrupt);
    timer_clear(&c->flush);
    for (size_t i = 0; i < ARRAY_SIZE(c->text); i++)
        buf_done(&c->text[i]);
    list_remove(&c->all);
    free(c->workdir);
    free(c);
}

void interpreter_free(struct interpreter *i)
{
    struct context *c;
    if (!i)
        return;
    while ((c = list_first(&i->contexts, struct context, all)))
        release(c);
    free(i);
}

static struct context *add(struct box *b, const struct language *l, bool is_default)
{
    struct context *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->box = b;
    c->language = l;
    c->is_default = is_default;
    c->flush.fire = on_flush;
    c->start.fire = on_start_late;
    c->interrupt.fire = on_interrupt;
    forget_text(c);
    list_init(&c->cells);
    list_init(&c->creator_stream.link);
    list_append(&b->interpreter->contexts, &c->all);
    b->interpreter->count++;
    return c;
}

static void drop(struct context *c)
{
    c->box->interpreter->count--;
    release(c);
}

static int record(const struct context *c)
{
    return db_run(server.db,
                  "INSERT INTO contexts (id, sandbox, language, workdir, is_default) "
                  "VALUES (?, ?, ?, ?, ?)",
                  "ssssi", c->id, c->box->id, c->language->name, c->workdir,
                  (int64_t)c->is_default);
}

int context_new(struct box *b, const struct language *l, const char *workdir, bool is_default,
                struct context **ret)
{
    if (b->interpreter->count >= INTERPRETER_CONTEXTS_MAX)
        return -EAGAIN;
    struct context *c = add(b, l, is_default);
    if (!c)
        return -ENOMEM;
    int r = text_make_token(c->id);
    if (r == 0 && workdir)
        r = process_resolve_folder(workdir, "user", &c->workdir);
    if (r == 0)
        r = record(c);
    if (r < 0)
        drop(c);
    else
        *ret = c;
    return r;
}

void context_remove(struct context *c)
{
    context_end_program(c, "ContextRemoved", "the context was removed");
    refuse_all(c, 404, "the context was removed");
    if (db_run(server.db, "DELETE FROM contexts WHERE id = ?", "s", c->id) < 0)
        server_say("context %s: its record can't be removed; a server after this one has it again",
                   c->id);
    drop(c);
}

/* Those that are there from the start; their programs begin with their first cells. */
static int make_first(struct box *b)
{
    static const char *const names[] = {"python", "javascript"};
    struct context *c;
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++)
        r = context_new(b, language_find(names[i]), NULL, true, &c);
    return r;
}

/* One row. 0 or -ENOMEM. */
static int recover(struct box *b, struct db_query *q)
{
    const struct language *l = language_find(db_text(q, 1));
    struct context *c = l ? add(b, l, db_number(q, 3)) : NULL;
    if (!c)
        return l ? -ENOMEM : 0;
    snprintf(c->id, sizeof(c->id), "%s", db_text(q, 0));
    c->is_left = db_number(q, 4);
    c->workdir = db_is_null(q, 2) ? NULL : strdup(db_text(q, 2));
    return c->workdir || db_is_null(q, 2) ? 0 : -ENOMEM;
}

static int recover_all(struct box *b)
{
    struct db_query q;
    int r = db_begin(server.db, &q,
                     "SELECT id, language, workdir, is_default, is_started FROM contexts "
                     "WHERE sandbox = ? ORDER BY number",
                     "s", b->id);
    if (r == 0)
        r = db_next(&q);
    while (r == 1) {
        r = recover(b, &q);
        if (r == 0)
            r = db_next(&q);
    }
    db_end(&q);
    return r;
}

struct interpreter *contexts_of(struct box *b)
{
    if (b->interpreter)
        return b->interpreter;
    b->interpreter = calloc(1, sizeof(*b->interpreter));
    if (!b->interpreter)
        return NULL;
    list_init(&b->interpreter->contexts);
    int r = recover_all(b);
    if (r == 0 && b->interpreter->count == 0)
        r = make_first(b);
    if (r < 0) {
        interpreter_free(b->interpreter);
        b->interpreter = NULL;
    }
    return b->interpreter;
}

struct context *context_find(struct interpreter *i, const char *id)
{
    struct context *c;
    list_for_each(c, &i->contexts, all)
    {
        if (!strcmp(c->id, id))
            return c;
    }
    return NULL;
}

struct context *context_find_default(struct interpreter *i, const struct language *l)
{
    struct context *c;
    list_for_each(c, &i->contexts, all)
    {
        if (c->is_default && c->language == l)
            return c;
    }
    return NULL;
}
