// SPDX-License-Identifier: Apache-2.0
/*
 * filesystem.Filesystem: watches. Of one that is a stream nobody is asked for events while the
 * client takes none: they wait in the sandbox's kernel, in a bounded queue, whose overflow ends the
 * stream with an error. One that is asked for now and then keeps the latest WATCHER_EVENTS_MAX
 * here.
 */
#include "server/envd_files_parts.h"
#include "server/files_json.h"
#include "server/json.h"
#include "server/limits.h"
#include "server/server.h"

#define WATCHERS_MAX        256 /* at once, of all sandboxes */
#define WATCHERS_OF_BOX_MAX 32
#define WATCHER_EVENTS_MAX  4096
#define EVENTS_BYTES_MAX    (4 * 1024 * 1024)

struct question {
    char *user, *path;
    bool is_recursive, wants_entry;
};

/* What a stream and a kept one have in common. */
struct source {
    struct question question;
    char box[FILES_LINK_NAME_MAX];
    struct files_link *link, *stats; /* stats: for entries; NULL until one is wanted */
    struct files_change *changes;    /* of the last answer, one after the other */
    size_t count, at;
    bool is_settling; /* stats was asked for no entry, but to be answered */
    /* entry: what it is now, or NULL. False: there is no more to be done with this source. */
    bool (*take)(struct source *s, const struct files_change *c, const struct files_info *entry);
    void (*took_all)(struct source *s);
    /* What had happened when it was asked to settle has come; may free s. */
    void (*settled)(struct source *s);
};

static const char *type_name(enum files_event_type type)
{
    static const char *const names[] = {
        [FILES_CREATED] = "EVENT_TYPE_CREATE", [FILES_WRITTEN] = "EVENT_TYPE_WRITE",
        [FILES_REMOVED] = "EVENT_TYPE_REMOVE", [FILES_RENAMED] = "EVENT_TYPE_RENAME",
        [FILES_CHANGED] = "EVENT_TYPE_CHMOD",
    };
    return type < ARRAY_SIZE(names) && names[type] ? names[type] : NULL;
}

static void question_done(struct question *q)
{
    free(q->user);
    free(q->path);
}

static void source_done(struct source *s)
{
    files_link_close(s->link);
    files_link_close(s->stats);
    free(s->changes);
    question_done(&s->question);
}

static bool member_is_true(const json_t *message, const char *name, const char **wrong)
{
    return json_is_true(json_member(message, name, JSON_TRUE, wrong));
}

/* 0; -ENOMEM; -EINVAL and *ret_code, *ret_why. */
static int read_question(const struct request *r, bool is_stream, struct question *ret,
                         const char **ret_code, const char **ret_why)
{
    const char *wrong = NULL;
    int error = envd_get_user(r, &ret->user);
    *ret_code = error == -EINVAL ? "unauthenticated" : "invalid_argument";
    *ret_why = "invalid username";
    if (error < 0)
        return error;
    *ret_why = NULL;
    json_t *message = envd_read_message(r, is_stream, ret_why);
    if (!message)
        return *ret_why ? -EINVAL : -ENOMEM;
    json_t *path = json_member(message, "path", JSON_STRING, &wrong);
    ret->is_recursive = member_is_true(message, "recursive", &wrong);
    ret->wants_entry = member_is_true(message, "includeEntry", &wrong);
    *ret_why = wrong;
    ret->path = wrong ? NULL : strdup(path ? json_string_value(path) : "");
    json_decref(message);
    return wrong ? -EINVAL : ret->path ? 0 : -ENOMEM;
}

static int ask_watch(struct source *s)
{
    const struct files_call call = {
        .user = s->question.user,
        .path = s->question.path,
        .question = {.type = FILES_WATCH,
                     .flags = FILES_AS_ROOT | (s->question.is_recursive ? FILES_RECURSIVE : 0)},
    };
    return files_link_ask(s->link, &call);
}

static int ask_events(struct source *s)
{
    const struct files_call call = {.question = {.type = FILES_EVENTS}};
    return files_link_ask(s->link, &call);
}

/* The changes of an answer, which go into s->changes. 0, -EPROTO, -ENOMEM. */
static int take_changes(struct source *s, struct files_records records)
{
    size_t most = records.size / (sizeof(struct files_event) + 1);
    free(s->changes);
    s->count = s->at = 0;
    s->changes = calloc(MAX(most, (size_t)1), sizeof(*s->changes));
    if (!s->changes)
        return -ENOMEM;
    int r = 1;
    while (r > 0 && s->count < most) {
        r = files_read_change(&records, &s->changes[s->count]);
        s->count += r > 0;
    }
    return r < 0 ? r : 0;
}

/* {"name":...,"type":...,"entry":...} */
static void append_change(struct buf *out, const struct files_change *c,
                          const struct files_info *entry)
{
    buf_append_str(out, "{\"name\":");
    json_append_string(out, c->name);
    buf_printf(out, ",\"type\":\"%s\"", type_name(c->type));
    if (entry) {
        buf_append_str(out, ",\"entry\":");
        files_json_info(out, entry);
    }
    buf_append_str(out, "}");
}

/* ---- entries ---- */

static void source_go_on(struct source *s);

/* The entry of a change, which may be gone again: then it is told without. It comes without a
 * question, too, when the sandbox has ended. */
static void on_stat(struct files_link *l, int error, const struct files_result *result)
{
    struct source *s = l->userdata;
    if (error) {
        files_link_close(l);
        s->stats = NULL;
    }
    if (s->is_settling) {
        s->is_settling = false;
        s->settled(s);
        return;
    }
    if (s->at == s->count)
        return;
    struct files_info *info = malloc(sizeof(*info));
    struct files_records records = result ? result->records : (struct files_records){0};
    bool is_there = !error && result->error == 0 && info && files_read_info(&records, info) == 1;
    bool goes_on = s->take(s, &s->changes[s->at++], is_there ? info : NULL);
    free(info);
    if (goes_on)
        source_go_on(s);
}

static bool wants_entry(const struct source *s, const struct files_change *c)
{
    return s->question.wants_entry &&
           (c->type == FILES_CREATED || c->type == FILES_WRITTEN || c->type == FILES_CHANGED);
}

static bool ask_stat(struct source *s, const char *path)
{
    if (!s->stats)
        s->stats = files_link_get(s->box, on_stat, s);
    const struct files_call call = {.user = s->question.user,
                                    .path = path,
                                    .question = {.type = FILES_STAT, .flags = FILES_AS_ROOT}};
    return s->stats && files_link_ask(s->stats, &call) == 0;
}

/* False: it is told without. */
static bool ask_entry(struct source *s, const struct files_change *c)
{
    char path[2 * FILES_PATH_MAX_BYTES + 2];
    snprintf(path, sizeof(path), "%s/%s", s->question.path, c->name);
    return ask_stat(s, *s->question.path ? path : c->name);
}

/*
 * Who has done something and then asks what happened expects to be told of it. The kernel answers
 * one question after another: when it has answered this one, it has told what was before. False:
 * it can't be asked.
 */
static bool source_settle(struct source *s)
{
    s->is_settling = ask_stat(s, s->question.path);
    return s->is_settling;
}

/* Until an entry is waited for, or all were taken. */
static void source_go_on(struct source *s)
{
    while (s->at < s->count) {
        const struct files_change *c = &s->changes[s->at];
        if (s->is_settling || (wants_entry(s, c) && ask_entry(s, c)))
            return;
        s->at++;
        if (!s->take(s, c, NULL))
            return;
    }
    s->took_all(s);
}

/* ---- WatchDir ---- */

struct stream {
    struct request *request;
    struct box_stream cut;
    struct source source;
    struct timer timer, deadline;
    int64_t keepalive_ns;
    bool has_begun;
};

static void end(struct stream *s, int error)
{
    timer_clear(&s->timer);
    timer_clear(&s->deadline);
    s->has_begun = true;
    envd_files_fail_stream(s->request, error, s->source.question.user, s->source.question.path);
}

static void send_text(struct stream *s, const char *text, size_t size)
{
    envd_send_message(s->request, text, size);
    timer_set(&s->timer, server_now_ns() + s->keepalive_ns);
}

static void send_change(struct stream *s, const struct files_change *c,
                        const struct files_info *entry)
{
    struct buf out = BUF_INIT(EVENTS_BYTES_MAX);
    buf_append_str(&out, "{\"filesystem\":");
    append_change(&out, c, entry);
    buf_append_str(&out, "}");
    if (!out.failed)
        send_text(s, out.data, out.size);
    buf_done(&out);
}

static bool stream_take(struct source *source, const struct files_change *c,
                        const struct files_info *entry)
{
    struct stream *s = container_of(source, struct stream, source);
    if (c->type == FILES_OVERFLOW) {
        end(s, EOVERFLOW);
        return false;
    }
    send_change(s, c, entry);
    return true;
}

/* While the client takes nothing, what comes waits in the kernel. */
static void stream_took_all(struct source *source)
{
    struct stream *s = container_of(source, struct stream, source);
    int r = request_has_room(s->request) ? ask_events(source) : 0;
    if (r < 0)
        end(s, -r);
}

static void on_events(struct files_link *l, int error, const struct files_result *result)
{
    struct stream *s = l->userdata;
    if (!error)
        error = result->error;
    if (!error && s->has_begun)
        error = -take_changes(&s->source, result->records);
    if (error) {
        end(s, error);
        return;
    }
    if (!s->has_begun) {
        static const char start[] = "{\"start\":{}}";
        envd_begin_stream(s->request);
        s->has_begun = true;
        send_text(s, start, strlen(start));
    }
    source_go_on(&s->source);
}

static void on_keepalive(struct timer *t)
{
    static const char keepalive[] = "{\"keepalive\":{}}";
    send_text(container_of(t, struct stream, timer), keepalive, strlen(keepalive));
}

static void on_deadline(struct timer *t)
{
    struct stream *s = container_of(t, struct stream, deadline);
    timer_clear(&s->timer);
    envd_end_stream(s->request, "deadline_exceeded",
                    "the time of this watch was up; give it a longer timeout, or none");
}

static void stream_ready(struct request *r)
{
    const char *code = "internal", *why = NULL;
    int64_t timeout_ns = 0;
    struct box *b = r->box;
    struct stream *s = calloc(1, sizeof(*s));
    r->state = s;
    if (!s) {
        envd_end_stream(r, code, "out of memory");
        return;
    }
    s->request = r;
    list_init(&s->cut.link);
    s->timer.fire = on_keepalive;
    s->deadline.fire = on_deadline;
    s->keepalive_ns = envd_read_keepalive(r);
    s->source.take = stream_take;
    s->source.took_all = stream_took_all;
    snprintf(s->source.box, sizeof(s->source.box), "%s", b->id);
    int error = read_question(r, true, &s->source.question, &code, &why);
    if (error == 0 && !envd_read_timeout(r, &timeout_ns)) {
        error = -EINVAL;
        why = ENVD_BAD_TIMEOUT;
    }
    if (error < 0) {
        envd_end_stream(r, error == -EINVAL ? code : "internal", "%s",
                        why ? why : strerror(-error));
        return;
    }
    box_add_stream(b, &s->cut, r);
    s->source.link = files_link_get(s->source.box, on_events, s);
    error = s->source.link ? ask_watch(&s->source) : -ENOMEM;
    if (error < 0)
        end(s, -error);
    else if (timeout_ns)
        timer_set(&s->deadline, server_now_ns() + timeout_ns);
}

/* Room again: whatever came meanwhile waits in the kernel. */
static void stream_drained(struct request *r)
{
    struct stream *s = r->state;
    if (s->has_begun && s->source.at == s->source.count && !s->source.link->is_asked)
        source_go_on(&s->source);
}

static void stream_over(struct request *r)
{
    struct stream *s = r->state;
    if (!s)
        return;
    timer_clear(&s->timer);
    timer_clear(&s->deadline);
    box_remove_stream(&s->cut);
    source_done(&s->source);
    free(s);
}

const struct handler envd_watch_dir = {
    .body_max_bytes = CONTROL_BODY_MAX,
    .ready = stream_ready,
    .drained = stream_drained,
    .over = stream_over,
};

/* ---- watchers that are asked now and then ---- */

struct watcher {
    struct list all;
    char id[BOX_ID_SIZE + 1];
    struct source source;
    struct request *creator; /* who waits for it to be there; NULL */
    struct request *asker;   /* who waits for the entries of what came; NULL */
    struct buf events;       /* without the brackets around */
    size_t count;
};

static struct list watchers = {&watchers, &watchers};
static size_t watcher_count;

static void watcher_free(struct watcher *w)
{
    if (w->asker) {
        w->asker->state = NULL;
        envd_fail_unary(w->asker, "not_found", "watcher with id %s not found", w->id);
    }
    list_remove(&w->all);
    watcher_count--;
    source_done(&w->source);
    buf_done(&w->events);
    free(w);
}

static struct watcher *find_watcher(const char *box, const char *id)
{
    struct watcher *w;
    list_for_each(w, &watchers,
                  all) if (!strcmp(w->id, id) && !strcmp(w->source.box, box)) return w;
    return NULL;
}

static bool watcher_take(struct source *s, const struct files_change *c,
                         const struct files_info *entry)
{
    struct watcher *w = container_of(s, struct watcher, source);
    if (!type_name(c->type) || w->count >= WATCHER_EVENTS_MAX)
        return true;
    buf_append_str(&w->events, w->count++ ? "," : "");
    append_change(&w->events, c, entry);
    return true;
}

static void answer_events(struct watcher *w, struct request *r)
{
    struct buf out = BUF_INIT(EVENTS_BYTES_MAX + 64);
    buf_append_str(&out, "{\"events\":[");
    if (!w->events.failed && w->events.size)
        buf_append(&out, w->events.data, w->events.size);
    buf_append_str(&out, "]}");
    if (out.failed)
        envd_fail_unary(r, "internal", "out of memory");
    else
        request_answer(r, 200, "application/json", out.data, out.size);
    buf_done(&out);
    buf_reset(&w->events);
    w->count = 0;
}

static void answer_asker(struct watcher *w)
{
    struct request *r = w->asker;
    if (!r)
        return;
    w->asker = NULL;
    r->state = NULL;
    answer_events(w, r);
}

/* One that nobody asks goes on in the kernel's queue. */
static void watcher_took_all(struct source *s)
{
    struct watcher *w = container_of(s, struct watcher, source);
    answer_asker(w);
    if (w->count < WATCHER_EVENTS_MAX && ask_events(s) < 0)
        watcher_free(w);
}

static void answer_creator(struct watcher *w)
{
    struct buf out = BUF_INIT(256);
    struct request *r = w->creator;
    w->creator = NULL;
    r->state = NULL;
    buf_printf(&out, "{\"watcherId\":\"%s\"}", w->id);
    request_answer(r, 200, "application/json", out.data, out.size);
    buf_done(&out);
}

static void watcher_settled(struct source *s)
{
    struct watcher *w = container_of(s, struct watcher, source);
    if (s->at < s->count) {
        source_go_on(s);
        return;
    }
    if (files_link_look(s->link))
        return; /* which has answered, or waits for entries */
    answer_asker(w);
    if (!s->link->is_asked && ask_events(s) < 0)
        watcher_free(w);
}

static void on_watched(struct files_link *l, int error, const struct files_result *result)
{
    struct watcher *w = l->userdata;
    if (!error)
        error = result->error;
    if (error && w->creator) {
        struct request *r = w->creator;
        r->state = NULL;
        envd_files_fail_call(r, error, w->source.question.user, w->source.question.path);
    }
    if (!error && !w->creator)
        error = -take_changes(&w->source, result->records);
    if (error) {
        watcher_free(w);
        return;
    }
    if (w->creator)
        answer_creator(w);
    source_go_on(&w->source);
}

static bool has_too_many(const char *box)
{
    const struct watcher *w;
    size_t own = 0;
    list_for_each(w, &watchers, all) own += !strcmp(w->source.box, box);
    return watcher_count >= WATCHERS_MAX || own >= WATCHERS_OF_BOX_MAX;
}

static struct watcher *watcher_new(const char *box)
{
    struct watcher *w = has_too_many(box) ? NULL : calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->events = BUF_INIT(EVENTS_BYTES_MAX);
    w->source.take = watcher_take;
    w->source.took_all = watcher_took_all;
    w->source.settled = watcher_settled;
    snprintf(w->source.box, sizeof(w->source.box), "%s", box);
    list_append(&watchers, &w->all);
    watcher_count++;
    if (text_make_id("", w->id) == 0)
        return w;
    watcher_free(w);
    return NULL;
}

static void create_ready(struct request *r)
{
    const char *code, *why = NULL;
    struct box *b = r->box;
    struct watcher *w = watcher_new(b->id);
    if (!w) {
        envd_fail_unary(r, "resource_exhausted", "too many watchers; remove some");
        return;
    }
    int error = read_question(r, false, &w->source.question, &code, &why);
    if (error == 0) {
        w->source.link = files_link_get(b->id, on_watched, w);
        error = w->source.link ? ask_watch(&w->source) : -ENOMEM;
    }
    if (error < 0) {
        watcher_free(w);
        envd_fail_unary(r, error == -EINVAL && why ? code : "internal", "%s",
                        why ? why : strerror(-error));
        return;
    }
    w->creator = r;
    r->state = w;
}

/* The client went away before its watcher was there. */
static void create_over(struct request *r)
{
    if (r->state)
        watcher_free(r->state);
}

const struct handler envd_create_watcher = {
    .body_max_bytes = CONTROL_BODY_MAX,
    .ready = create_ready,
    .over = create_over,
};

/* The watcher that a request names; NULL: it is answered. */
static struct watcher *named_watcher(struct request *r)
{
    const char *why = "out of memory", *wrong = NULL;
    const struct box *b = r->box;
    json_t *message = envd_read_message(r, false, &why);
    json_t *id = message ? json_member(message, "watcherId", JSON_STRING, &wrong) : NULL;
    struct watcher *w = id ? find_watcher(b->id, json_string_value(id)) : NULL;
    if (!message)
        envd_fail_unary(r, "invalid_argument", "%s", why ? why : "out of memory");
    else if (!w)
        envd_fail_unary(r, "not_found", "watcher with id %s not found",
                        id ? json_string_value(id) : "''");
    json_decref(message);
    return w;
}

/* Who asks waits for what happened before, and for its entries; one at a time. */
static void events_ready(struct request *r)
{
    struct watcher *w = named_watcher(r);
    if (!w)
        return;
    bool waits = w->source.is_settling || w->source.at < w->source.count;
    answer_asker(w);
    w->asker = r;
    r->state = w;
    if (!waits && !source_settle(&w->source))
        watcher_settled(&w->source);
}

static void events_over(struct request *r)
{
    struct watcher *w = r->state;
    if (w)
        w->asker = NULL;
}

static void remove_ready(struct request *r)
{
    struct watcher *w = named_watcher(r);
    if (!w)
        return;
    watcher_free(w);
    request_answer(r, 200, "application/json", "{}", 2);
}

const struct handler envd_get_watcher_events = {
    .body_max_bytes = CONTROL_BODY_MAX,
    .ready = events_ready,
    .over = events_over,
};

const struct handler envd_remove_watcher = {
    .body_max_bytes = CONTROL_BODY_MAX,
    .ready = remove_ready,
};
