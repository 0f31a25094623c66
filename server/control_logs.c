// SPDX-License-Identifier: Apache-2.0
/*
 * /sandboxes/ID/logs: what has happened to a sandbox and what its programs printed, as lines, also
 * of one that has ended. What was printed is asked of its keeper while it runs, and of the launcher
 * behind its end:
 *
 *   request -> events are put into the page -> link_open(), EXEC_LOGS -> EXEC_LOGGED... -> answer
 *                                                  \-> it has ended: LAUNCH_OPEN, KEPT -> answer
 */
#include "server/control.h"
#include "server/events.h"
#include "server/limits.h"
#include "server/log_printed.h"

#include "lib/db/db.h"
#include "sandbox/journal.h"

#include <stdio.h>
#include <unistd.h>

/* Of a journal with pieces as small as they come. */
#define RECORDS_MAX_BYTES (4 * JOURNAL_KEPT_BYTES)

static size_t readers;

struct reader {
    struct request *request;
    char id[64];
    struct log_wish wish;
    struct log_page page;
    struct link link; /* to the keeper */
    struct ask ask;   /* KEPT */
    struct buf records;
};

static void answer(struct reader *l)
{
    char next[LOG_CURSOR_SIZE];
    int r = l->records.failed ? -ENOMEM
                              : log_printed_put(&l->page, l->records.data ? l->records.data : "",
                                                l->records.size);
    json_t *value = r == 0 ? log_page_make(&l->page, next) : NULL;
    if (value && next[0])
        request_add_field(l->request, "x-next-token", next);
    control_answer(l->request, 200, value);
}

/* ---- what has happened ---- */

static bool was_asked_for(const char *cause)
{
    return !strcmp(cause, "request") || !strcmp(cause, "timeout");
}

/* An end that nobody asked for is a warning; one that is no fault of its programs an error. */
static const char *level_of(struct db_query *q, const json_t *data)
{
    const char *cause = json_string_value(json_object_get(data, "cause"));
    if (strcmp(event_name(q), "killed") != 0 || !cause || was_asked_for(cause))
        return "info";
    bool is_own = !strcmp(cause, "kernel-failure") || !strcmp(cause, "host-failure") ||
                  !strcmp(cause, "lost");
    return is_own ? "error" : "warn";
}

static void write_message(struct db_query *q, const json_t *data, char *ret, size_t size)
{
    const char *name = event_name(q), *key;
    const char *cause = json_string_value(json_object_get(data, "cause"));
    const char *reason = json_string_value(json_object_get(data, "reason"));
    json_t *value;
    snprintf(ret, size, "sandbox %s", name);
    if (!strcmp(name, "killed") && cause)
        snprintf(ret, size, "sandbox ended: %s", reason && *reason ? reason : cause);
    else if (!strcmp(name, "updated"))
        json_object_foreach((json_t *)data, key, value)
        {
            const char *to = json_string_value(value);
            snprintf(ret, size, "sandbox updated: %s%s%s", key, to ? " " : "", to ? to : "");
        }
}

static void put_event(struct log_page *p, struct db_query *q)
{
    char message[512];
    json_t *data = event_data(q);
    const struct log_line l = {
        .place = {.at_ms = event_at_ms(q), .kind = LOG_EVENT, .number = (uint64_t)event_number(q)},
        .level = level_of(q, data),
        .event = event_name(q),
        .tag = "",
        .text = message,
    };
    write_message(q, data, message, sizeof(message));
    log_page_put(p, &l);
    json_decref(data);
}

/* 1; 0: there are none that the key covers; or negative errno. */
static int put_events(struct reader *l)
{
    struct db_query q;
    const struct event_filter f = {.key = l->request->key,
                                   .sandbox = l->id,
                                   .types = EVENT_TYPES_ALL,
                                   .is_rising = !l->wish.is_backward,
                                   .limit = EVENTS_MAX};
    bool has_rows = false;
    int r = events_begin(&q, &f);
    while (r == 0 && (r = db_next(&q)) == 1) {
        has_rows = true;
        put_event(&l->page, &q);
        r = 0;
    }
    db_end(&q);
    return r < 0 ? r : has_rows;
}

/* ---- what was printed ---- */

/* What is not there any more was not kept, or is too old. */
static void on_kept(struct ask *a, int error, const char *data _unused_, size_t size _unused_,
                    int fd)
{
    struct reader *l = container_of(a, struct reader, ask);
    char *room;
    ssize_t n = 0;
    buf_reset(&l->records);
    while (fd >= 0 && (room = buf_room(&l->records, READ_BYTES)) &&
           (n = read(fd, room, READ_BYTES)) > 0)
        buf_extend(&l->records, (size_t)n);
    base_closep(&fd);
    if ((error && error != ENOENT) || n < 0)
        request_fail(l->request, 503, "what was printed can't be read now; try again later");
    else
        answer(l);
}

static void on_message(struct link *link, const struct exec_message *m)
{
    struct reader *l = container_of(link, struct reader, link);
    if (request_is_answered(l->request))
        return;
    if (m->packet.type == EXEC_LOGGED)
        buf_append(&l->records, m->text, m->packet.text_size);
    else if (m->packet.type == EXEC_ANSWER && m->packet.status == 0)
        answer(l);
    else if (m->packet.type == EXEC_ANSWER)
        request_fail(l->request, 503, "what was printed can't be read now; try again later");
}

static void ask_kept(struct reader *l)
{
    if (launcher_ask(&l->ask, LAUNCH_OPEN, LAUNCH_KEPT, l->id, strlen(l->id)) < 0)
        request_fail(l->request, 429, "too much is asked at once; try again");
}

/* It has ended, perhaps in the middle: then what is kept of it is read from the start. */
static void on_closed(struct link *link, int error)
{
    struct reader *l = container_of(link, struct reader, link);
    if (error == EAGAIN || error == EMFILE)
        request_fail(l->request, 429, "too many are connected to this sandbox; try again later");
    else if (!request_is_answered(l->request))
        ask_kept(l);
}

static void on_opened(struct link *link)
{
    struct exec_packet p = {.type = EXEC_LOGS};
    struct reader *l = container_of(link, struct reader, link);
    if (link_send(link, &p, NULL, 0, -1) == 0)
        return;
    link_close(link, NULL);
    ask_kept(l); /* it is ending */
}

static void ask(struct reader *l)
{
    if (l->wish.limit == 0 || strlen(l->id) != LAUNCH_NAME_SIZE)
        answer(l);
    else if (link_open(&l->link, l->id) < 0)
        request_fail(l->request, 429, "too much is asked at once; try again");
}

/* ---- the request ---- */

static void release(struct watch *w)
{
    struct reader *l = container_of(w, struct reader, link.watch);
    log_page_done(&l->page);
    log_wish_done(&l->wish);
    buf_done(&l->records);
    free(l);
}

static void over_reader(struct request *r)
{
    struct reader *l = r->state;
    if (!l)
        return;
    readers--;
    launcher_forget(&l->ask);
    link_close(&l->link, release);
}

/* From when r->state is no path any more. */
static const struct handler reading = {.over = over_reader};

static struct reader *begin(struct request *r, const char *id)
{
    struct reader *l = readers < LOG_READERS_MAX ? calloc(1, sizeof(*l)) : NULL;
    free(r->state);
    r->state = l;
    r->handler = &reading;
    if (!l)
        return NULL;
    readers++;
    l->request = r;
    snprintf(l->id, sizeof(l->id), "%s", id);
    l->link = (struct link){
        .watch.fd = -1, .opened = on_opened, .message = on_message, .closed = on_closed};
    l->ask = (struct ask){.answered = on_kept};
    l->records = BUF_INIT(RECORDS_MAX_BYTES);
    log_page_init(&l->page, &l->wish);
    return l;
}

static void logs(struct request *r)
{
    char id[64];
    const char *text = r->state;
    if (!text_read_id(text, strlen(text), id)) {
        request_fail(r, 400, "invalid sandbox ID; send the one that was answered");
        return;
    }
    struct reader *l = begin(r, id);
    if (!l) {
        request_fail(r, 429, "too many logs are read at once; try again later");
        return;
    }
    const char *wrong = log_wish_read(r->head->query, &l->wish);
    int found = wrong ? 0 : put_events(l);
    if (wrong)
        request_fail(r, 400, "%s", wrong);
    else if (found < 0)
        request_fail(r, 503, "the server is short of memory; try again later");
    else if (found == 0)
        request_fail(r, 404, "Sandbox \"%s\" doesn't exist or you don't have access to it", id);
    else
        ask(l);
}

const struct handler control_logs = {
    .body_max_bytes = CONTROL_BODY_MAX,
    .ready = logs,
    .over = control_over,
};
