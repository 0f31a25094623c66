// SPDX-License-Identifier: Apache-2.0
/*
 * filesystem.Filesystem: what is answered at once. envd_files_watch.c has the watches, and
 * envd_files.c the bytes of files.
 */
#include "server/envd_files_parts.h"
#include "server/files_json.h"
#include "server/json.h"
#include "server/limits.h"

#define LIST_ENTRIES_MAX 100000
#define LIST_BYTES_MAX   (OUTPUT_MAX - 65536)

struct method {
    const char *path;
    enum files_type type;
    const char *first, *second; /* names of the members that are paths */
};

static const struct method methods[] = {
    {"/filesystem.Filesystem/Stat", FILES_STAT, "path", NULL},
    {"/filesystem.Filesystem/MakeDir", FILES_MAKE_DIRECTORY, "path", NULL},
    {"/filesystem.Filesystem/Move", FILES_MOVE, "source", "destination"},
    {"/filesystem.Filesystem/ListDir", FILES_LIST, "path", NULL},
    {"/filesystem.Filesystem/Remove", FILES_REMOVE, "path", NULL},
};

struct task {
    struct request *request;
    const struct method *method;
    struct files_link *link;
    struct box_stream stream;
    struct files_listing *listing;
    char *user;
    json_t *message; /* holds the texts of the call */
    const char *path;
};

/* ---- failures ---- */

static const char *code_of(int error)
{
    switch (error) {
    case ENOENT:
        return "not_found";
    case EEXIST:
        return "already_exists";
    case ESRCH:
        return "unauthenticated";
    case EACCES:
    case EPERM:
    case EROFS:
        return "permission_denied";
    case ENOTDIR:
    case EISDIR:
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case EOPNOTSUPP:
        return "invalid_argument";
    case EUSERS:
        return "resource_exhausted";
    default:
        return "internal";
    }
}

void envd_files_fail_call(struct request *r, int error, const char *user, const char *path)
{
    if (error == ESRCH)
        envd_fail_unary(r, code_of(error), "invalid username: '%s'", user);
    else if (error == ENOENT)
        envd_fail_unary(r, code_of(error), "path '%s' does not exist", path);
    else
        envd_fail_unary(r, code_of(error), "path '%s': %s", path, strerror(error));
}

void envd_files_fail_stream(struct request *r, int error, const char *user, const char *path)
{
    if (error == ESRCH)
        envd_end_stream(r, code_of(error), "invalid username: '%s'", user);
    else if (error == ENOENT)
        envd_end_stream(r, code_of(error), "path '%s' does not exist", path);
    else
        envd_end_stream(r, code_of(error), "path '%s': %s", path, strerror(error));
}

static void fail(struct task *t, int error)
{
    envd_files_fail_call(t->request, error, t->user, t->path);
}

/* ---- answers ---- */

static void answer(struct task *t, struct buf *out)
{
    if (out->failed)
        envd_fail_unary(t->request, "internal", "too much to tell; ask for a part of it");
    else
        request_answer(t->request, 200, "application/json", out->data, out->size);
    buf_done(out);
}

static void answer_entry(struct task *t, struct files_records records)
{
    struct buf out = BUF_INIT(ENVD_BODY_MAX);
    struct files_info *info = malloc(sizeof(*info));
    if (!info || files_read_info(&records, info) != 1) {
        envd_fail_unary(t->request, "internal",
                        info ? "the sandbox's kernel answers what it must not" : "out of memory");
        free(info);
        return;
    }
    buf_append_str(&out, "{\"entry\":");
    files_json_info(&out, info);
    buf_append_str(&out, "}");
    free(info);
    answer(t, &out);
}

static void answer_list(struct task *t)
{
    struct buf out = BUF_INIT(LIST_BYTES_MAX);
    size_t count;
    const char *root;
    const struct files_listed *all = files_listing_end(t->listing, &count, &root);
    buf_append_str(&out, "{\"entries\":[");
    for (size_t i = 0; i < count && !out.failed; i++) {
        buf_append_str(&out, i ? "," : "");
        files_json_listed(&out, &all[i]);
    }
    buf_append_str(&out, "]}");
    answer(t, &out);
}

/* True when that was all of the list. */
static bool take_list(struct task *t, const struct files_result *result)
{
    const struct files_call next = {.question = {.type = FILES_LIST_NEXT}};
    int r = files_listing_take(t->listing, result->records);
    if (r == 0 && result->value == 0)
        r = files_link_ask(t->link, &next);
    else if (r == 0)
        answer_list(t);
    if (r < 0)
        envd_fail_unary(t->request, "internal",
                        r == -E2BIG ? "too many entries; list a part of them"
                                    : "the list could not be read");
    return r < 0 || result->value;
}

static void on_answer(struct files_link *l, int error, const struct files_result *result)
{
    struct task *t = l->userdata;
    if (!result)
        envd_fail_unary(t->request, "unavailable", "the sandbox does not answer: %s",
                        strerror(error));
    else if (result->error)
        fail(t, result->error);
    else if (t->method->type == FILES_LIST) {
        if (!take_list(t, result))
            return;
    } else if (t->method->type == FILES_REMOVE)
        request_answer(t->request, 200, "application/json", "{}", 2);
    else
        answer_entry(t, result->records);
    t->link = NULL;
    files_link_put(l);
}

/* ---- questions ---- */

static const struct method *find_method(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
        if (!strcmp(methods[i].path, path))
            return &methods[i];
    return NULL;
}

/* The texts are borrowed from t->message. NULL, or the name of what is of a wrong type. */
static const char *read_call(struct task *t, struct files_call *ret)
{
    const char *wrong = NULL;
    const struct method *m = t->method;
    json_t *first = json_member(t->message, m->first, JSON_STRING, &wrong);
    json_t *second = m->second ? json_member(t->message, m->second, JSON_STRING, &wrong) : NULL;
    json_t *depth = json_member(t->message, "depth", JSON_INTEGER, &wrong);
    t->path = first ? json_string_value(first) : "";
    *ret = (struct files_call){
        .user = t->user,
        .path = t->path,
        .more = second ? json_string_value(second) : "",
        .question = {.type = m->type, .flags = ENVD_FILES_FLAGS, .depth = 1},
    };
    ret->more_size = strlen(ret->more);
    if (depth && json_integer_value(depth) > 0)
        ret->question.depth =
            (uint32_t)MIN(json_integer_value(depth), (json_int_t)FILES_LIST_DEPTH_MAX);
    return wrong;
}

static int begin(struct task *t)
{
    struct files_call call;
    struct box *b = t->request->box;
    const char *why = NULL, *wrong;
    int r = envd_get_user(t->request, &t->user);
    if (r == -EINVAL)
        envd_fail_unary(t->request, "unauthenticated", "invalid username");
    if (r < 0)
        return r == -EINVAL ? 0 : r;
    t->message = envd_read_message(t->request, false, &why);
    if (!t->message && !why)
        return -ENOMEM;
    if (!t->message || (wrong = read_call(t, &call))) {
        envd_fail_unary(t->request, "invalid_argument", "%s%s", t->message ? wrong : why,
                        t->message ? ": is of another type" : "");
        return 0;
    }
    t->listing = t->method->type == FILES_LIST ? files_listing_new(LIST_ENTRIES_MAX) : NULL;
    t->link = files_link_get(b->id, on_answer, t);
    if (!t->link || (t->method->type == FILES_LIST && !t->listing))
        return -ENOMEM;
    box_add_stream(b, &t->stream, t->request);
    return files_link_ask(t->link, &call);
}

static void ready(struct request *r)
{
    struct task *t = calloc(1, sizeof(*t));
    r->state = t;
    if (t) {
        list_init(&t->stream.link);
        t->request = r;
        t->method = find_method(r->head->path);
        t->path = "";
    }
    int error = t ? begin(t) : -ENOMEM;
    if (error == -ENAMETOOLONG)
        fail(t, ENAMETOOLONG);
    else if (error < 0)
        envd_fail_unary(r, "internal", "%s", strerror(-error));
}

static void over(struct request *r)
{
    struct task *t = r->state;
    if (!t)
        return;
    box_remove_stream(&t->stream);
    files_link_close(t->link);
    files_listing_free(t->listing);
    json_decref(t->message);
    free(t->user);
    free(t);
}

static const struct handler call_handler = {
    .body_max_bytes = ENVD_BODY_MAX,
    .ready = ready,
    .over = over,
};

const struct envd_route envd_filesystem_routes[] = {
    {"POST", "/filesystem.Filesystem/Stat", ENVD_TOKEN, &call_handler},
    {"POST", "/filesystem.Filesystem/MakeDir", ENVD_TOKEN, &call_handler},
    {"POST", "/filesystem.Filesystem/Move", ENVD_TOKEN, &call_handler},
    {"POST", "/filesystem.Filesystem/ListDir", ENVD_TOKEN, &call_handler},
    {"POST", "/filesystem.Filesystem/Remove", ENVD_TOKEN, &call_handler},
    {"POST", "/filesystem.Filesystem/WatchDir", ENVD_TOKEN, &envd_watch_dir},
    {"POST", "/filesystem.Filesystem/CreateWatcher", ENVD_TOKEN, &envd_create_watcher},
    {"POST", "/filesystem.Filesystem/GetWatcherEvents", ENVD_TOKEN, &envd_get_watcher_events},
    {"POST", "/filesystem.Filesystem/RemoveWatcher", ENVD_TOKEN, &envd_remove_watcher},
    {0},
};
