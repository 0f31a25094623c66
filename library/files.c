// SPDX-License-Identifier: Apache-2.0
/*
 * The files of a sandbox, over one connection to its kernel (lib/base/files.h). A call is a
 * question, or several; where it has to stop for want of time, it is known which one is under way,
 * and the same call takes it up again.
 */
#include "lib/base/buf.h"
#include "library/library.h"
#include "sandbox/files_ask.h"
#include "sandbox/files_listing.h"

#include <stdio.h>

#define ENTRIES_MAX     100000
#define ASKED_MAX_BYTES 16384 /* more than can be asked */
#define CHANGES_MAX     (FILES_ANSWER_MAX_BYTES / sizeof(struct files_event)) /* of one answer */

_Static_assert(GLOVEBOX_READ_MAX == FILES_MEMORY_MAX_BYTES, "one piece, one question");

struct glovebox_files {
    struct files_connection connection;
    char *user;
    struct buf asked; /* path and more of the call that is under way */
    int timeout_ms;
    struct files_info info; /* of the last stat */
    struct files_listing *listing;
    struct glovebox_file *listed;
    struct glovebox_change *changes; /* CHANGES_MAX, or NULL */
    struct buf names;                /* of them */
    char sandbox[GLOVEBOX_NAME_SIZE];
};

_public_ int glovebox_files_open(const char *sandbox, const char *user, struct glovebox_files **ret,
                                 struct glovebox_error *e)
{
    struct sandbox_error s;
    struct glovebox_files *f = calloc(1, sizeof(*f));
    int r = f && (!user || (f->user = strdup(user))) ? 0 : -ENOMEM;
    if (r < 0)
        sandbox_error_set(&s, r, "%s: out of memory; free some and try again", sandbox);
    else
        r = files_connect(sandbox, FILES_MEMORY_MAX_BYTES, &f->connection, &s);
    if (r < 0) {
        if (f)
            free(f->user);
        free(f);
        return library_fail(e, r, &s);
    }
    f->timeout_ms = -1;
    f->asked = BUF_INIT(ASKED_MAX_BYTES);
    f->names = BUF_INIT(2 * FILES_ANSWER_MAX_BYTES);
    snprintf(f->sandbox, sizeof(f->sandbox), "%s", sandbox);
    *ret = f;
    return 0;
}

static void forget_list(struct glovebox_files *f)
{
    files_listing_free(f->listing);
    free(f->listed);
    f->listing = NULL;
    f->listed = NULL;
}

_public_ void glovebox_files_close(struct glovebox_files *f)
{
    if (!f)
        return;
    forget_list(f);
    files_disconnect(&f->connection);
    buf_done(&f->asked);
    buf_done(&f->names);
    free(f->changes);
    free(f->user);
    free(f);
}

_public_ int glovebox_files_fd(const struct glovebox_files *f)
{
    return f->connection.socket;
}

_public_ void glovebox_files_set_timeout(struct glovebox_files *f, int timeout_ms)
{
    f->timeout_ms = timeout_ms;
}

/* ---- one question ---- */

/* What was not answered, or not as it must be. */
static int fail_connection(struct glovebox_files *f, int error, struct glovebox_error *e)
{
    if (error != -EAGAIN && error != -ENAMETOOLONG && error != -EINVAL)
        files_disconnect(&f->connection);
    return library_fail_with(e, error,
                             error == -EAGAIN ? "%s: no answer yet; make the same call again"
                             : error == -ENAMETOOLONG ? "%s: a path or name is too long; shorten it"
                             : error == -EINVAL
                                 ? "%s: no offset is negative and no piece so large; "
                                   "see glovebox.h"
                             : error == -EPROTO ? "%s: its kernel says what it must not; stop "
                                                  "it, a guest may have taken it over"
                                                : "%s: it has ended; see glovebox ps",
                             f->sandbox);
}

/* ---- which call is under way ---- */

/* A list that goes on has no path in its questions. */
static int remember(struct glovebox_files *f, const struct files_call *call)
{
    if (call->question.type == FILES_LIST_NEXT)
        return 0;
    if (!files_call_fits(call))
        return -ENAMETOOLONG;
    buf_reset(&f->asked);
    buf_append_str(&f->asked, call->path ? call->path : "");
    buf_append(&f->asked, "", 1);
    buf_append(&f->asked, call->more, call->more_size);
    return f->asked.failed ? -ENOMEM : 0;
}

/* Another one would be given the answer to this. */
static bool is_under_way(const struct glovebox_files *f, const struct files_call *call)
{
    const struct files_question *a = &f->connection.asked, *b = &call->question;
    const char *path = call->path ? call->path : "";
    size_t size = strlen(path) + 1;
    return a->type == b->type && a->flags == b->flags && a->mode == b->mode &&
           a->depth == b->depth && a->offset == b->offset && a->size == b->size &&
           f->asked.size == size + call->more_size && !memcmp(f->asked.data, path, size) &&
           (call->more_size == 0 || !memcmp(f->asked.data + size, call->more, call->more_size));
}

/* 0: result->error is 0; negative errno with the sentence. what: a path for people, or NULL. */
static int ask(struct glovebox_files *f, struct files_call *call, const char *what,
               struct files_result *result, struct glovebox_error *e)
{
    struct files_connection *c = &f->connection;
    int64_t deadline_ms = library_deadline(f->timeout_ms);
    if (c->socket < 0)
        return fail_connection(f, -ECONNRESET, e);
    if (c->is_waiting && !is_under_way(f, call))
        return library_fail_with(e, -EBUSY,
                                 "%s: another call is under way; make that one again "
                                 "first",
                                 f->sandbox);
    call->user = f->user;
    int r = c->is_waiting ? 0 : remember(f, call);
    if (r == -ENOMEM)
        return library_fail_with(e, r, "%s: out of memory; free some and try again", f->sandbox);
    if (r == 0 && !c->is_waiting)
        r = files_send(c, call);
    while (r == 0) {
        r = files_receive(c, result);
        if (r != -EAGAIN)
            break;
        r = library_wait(c->socket, deadline_ms);
    }
    if (r < 0)
        return fail_connection(f, r, e);
    if (result->error == 0)
        return 0;
    if (result->error == ESRCH)
        return library_fail_with(e, -ESRCH, "%s: there is no user %s in it; see its /etc/passwd",
                                 f->sandbox, f->user ? f->user : "");
    if (result->error == EUSERS)
        return library_fail_with(e, -EUSERS, "%s: too many connections at once; close some",
                                 f->sandbox);
    return library_fail_with(e, -result->error, "%s: %s; look at it in the sandbox",
                             what ? what : f->sandbox, strerror(result->error));
}

/* The same, of which nothing is told. */
static int ask_only(struct glovebox_files *f, struct files_call *call, struct glovebox_error *e)
{
    struct files_result result;
    return ask(f, call, call->path, &result, e);
}

/* ---- names ---- */

_public_ int glovebox_files_stat(struct glovebox_files *f, const char *path,
                                 struct glovebox_file *ret, struct glovebox_error *e)
{
    struct files_call call = {.path = path, .question = {.type = FILES_STAT}};
    struct files_result result;
    const struct files_info *i = &f->info;
    int r = ask(f, &call, path, &result, e);
    if (r < 0)
        return r;
    if (files_read_info(&result.records, &f->info) != 1)
        return fail_connection(f, -EPROTO, e);
    *ret = (struct glovebox_file){.path = i->name,
                                  .target = i->target,
                                  .owner = i->owner,
                                  .group = i->group,
                                  .mode = i->mode,
                                  .target_mode = i->target_mode,
                                  .uid = i->uid,
                                  .gid = i->gid,
                                  .size_bytes = i->size,
                                  .mtime_s = i->mtime_s,
                                  .mtime_ns = i->mtime_ns};
    return 0;
}

static int end_list(struct glovebox_files *f, const struct glovebox_file **ret, size_t *ret_count,
                    struct glovebox_error *e)
{
    const char *root;
    size_t count;
    const struct files_listed *all = files_listing_end(f->listing, &count, &root);
    f->listed = calloc(MAX(count, (size_t)1), sizeof(*f->listed));
    if (!f->listed)
        return library_fail_with(e, -ENOMEM, "%s: out of memory; free some and try again",
                                 f->sandbox);
    for (size_t i = 0; i < count; i++)
        f->listed[i] = (struct glovebox_file){.path = all[i].path,
                                              .target = all[i].target,
                                              .owner = all[i].owner,
                                              .group = all[i].group,
                                              .mode = all[i].mode,
                                              .target_mode = all[i].target_mode,
                                              .uid = all[i].uid,
                                              .gid = all[i].gid,
                                              .size_bytes = all[i].size,
                                              .mtime_s = all[i].mtime_s,
                                              .mtime_ns = all[i].mtime_ns};
    *ret = f->listed;
    *ret_count = count;
    return 0;
}

static int fail_list(struct glovebox_files *f, int error, const char *path,
                     struct glovebox_error *e)
{
    forget_list(f);
    return error == -EPROTO ? fail_connection(f, error, e)
           : error == -E2BIG
               ? library_fail_with(e, error, "%s: more than %d files; list parts of it", path,
                                   ENTRIES_MAX)
               : library_fail_with(e, error, "%s: out of memory; free some and try again", path);
}

_public_ int glovebox_files_list(struct glovebox_files *f, const char *path, unsigned depth,
                                 const struct glovebox_file **ret, size_t *ret_count,
                                 struct glovebox_error *e)
{
    bool goes_on = f->connection.is_waiting && (f->connection.asked.type == FILES_LIST ||
                                                f->connection.asked.type == FILES_LIST_NEXT);
    struct files_call call = {.path = path,
                              .question = {.type = FILES_LIST, .depth = MAX(depth, 1U)}};
    struct files_result result = {.value = 0};
    if (goes_on)
        call.question.type = f->connection.asked.type;
    else
        forget_list(f);
    if (!goes_on && !(f->listing = files_listing_new(ENTRIES_MAX)))
        return fail_list(f, -ENOMEM, path, e);
    for (;;) {
        int r = ask(f, &call, path, &result, e);
        if (r < 0 && !f->connection.is_waiting)
            forget_list(f);
        if (r < 0)
            return r;
        r = files_listing_take(f->listing, result.records);
        if (r < 0)
            return fail_list(f, r, path, e);
        if (result.value == 1)
            return end_list(f, ret, ret_count, e);
        call.question.type = FILES_LIST_NEXT;
        call.path = NULL;
    }
}

_public_ int glovebox_files_make_directory(struct glovebox_files *f, const char *path,
                                           unsigned mode, int parents, struct glovebox_error *e)
{
    struct files_call call = {.path = path,
                              .question = {.type = FILES_MAKE_DIRECTORY,
                                           .flags = parents ? FILES_PARENTS : 0,
                                           .mode = mode & 0777}};
    return ask_only(f, &call, e);
}

_public_ int glovebox_files_move(struct glovebox_files *f, const char *from, const char *to,
                                 struct glovebox_error *e)
{
    struct files_call call = {
        .path = from, .more = to, .more_size = strlen(to), .question = {.type = FILES_MOVE}};
    return ask_only(f, &call, e);
}

_public_ int glovebox_files_remove(struct glovebox_files *f, const char *path,
                                   struct glovebox_error *e)
{
    struct files_call call = {.path = path, .question = {.type = FILES_REMOVE}};
    return ask_only(f, &call, e);
}

/* ---- contents ---- */

_public_ int glovebox_files_read_open(struct glovebox_files *f, const char *path,
                                      int64_t *ret_size_bytes, struct glovebox_error *e)
{
    struct files_call call = {.path = path, .question = {.type = FILES_READ_OPEN}};
    struct files_result result;
    int r = ask(f, &call, path, &result, e);
    if (r < 0)
        return r;
    if (files_read_info(&result.records, &f->info) != 1)
        return fail_connection(f, -EPROTO, e);
    if (ret_size_bytes)
        *ret_size_bytes = f->info.size;
    return 0;
}

_public_ ssize_t glovebox_files_read(struct glovebox_files *f, void *data, size_t size,
                                     int64_t offset, struct glovebox_error *e)
{
    struct files_call call = {.question = {.type = FILES_READ,
                                           .offset = offset,
                                           .size = MIN(size, (size_t)FILES_MEMORY_MAX_BYTES)}};
    struct files_result result;
    int r = ask(f, &call, NULL, &result, e);
    if (r < 0)
        return r;
    memcpy(data, f->connection.memory, MIN((size_t)result.value, size));
    return (ssize_t)MIN((size_t)result.value, size);
}

_public_ int glovebox_files_write_open(struct glovebox_files *f, const char *path, unsigned mode,
                                       struct glovebox_error *e)
{
    struct files_call call = {
        .path = path,
        .question = {.type = FILES_WRITE_OPEN, .flags = FILES_PARENTS, .mode = mode & 0777}};
    return ask_only(f, &call, e);
}

_public_ ssize_t glovebox_files_write(struct glovebox_files *f, const void *data, size_t size,
                                      int64_t offset, struct glovebox_error *e)
{
    struct files_call call = {.question = {.type = FILES_WRITE,
                                           .offset = offset,
                                           .size = MIN(size, (size_t)FILES_MEMORY_MAX_BYTES)}};
    struct files_result result;
    /* Not while the kernel takes from it. */
    if (f->connection.socket >= 0 && !f->connection.is_waiting)
        memcpy(f->connection.memory, data, call.question.size);
    int r = ask(f, &call, NULL, &result, e);
    return r < 0 ? r : (ssize_t)result.value;
}

_public_ int glovebox_files_commit(struct glovebox_files *f, struct glovebox_error *e)
{
    struct files_call call = {.question = {.type = FILES_COMMIT}};
    return ask_only(f, &call, e);
}

/* ---- watching ---- */

_public_ int glovebox_files_watch(struct glovebox_files *f, const char *path, int recursive,
                                  struct glovebox_error *e)
{
    struct files_call call = {
        .path = path, .question = {.type = FILES_WATCH, .flags = recursive ? FILES_RECURSIVE : 0}};
    return ask_only(f, &call, e);
}

/* How many there are; or negative errno. Names first move with their buffer, then stay. */
static ssize_t take_changes(struct glovebox_files *f, struct files_records records)
{
    struct files_change change;
    size_t count = 0;
    int r;
    buf_reset(&f->names);
    while ((r = files_read_change(&records, &change)) == 1 && count < CHANGES_MAX) {
        f->changes[count++].type = (int)change.type;
        buf_append(&f->names, change.name, strlen(change.name) + 1);
    }
    if (r < 0 || f->names.failed)
        return r < 0 ? r : -ENOMEM;
    const char *name = f->names.data;
    for (size_t i = 0; i < count; i++, name += strlen(name) + 1)
        f->changes[i].name = name;
    return (ssize_t)count;
}

_public_ int glovebox_files_changes(struct glovebox_files *f, const struct glovebox_change **ret,
                                    size_t *ret_count, struct glovebox_error *e)
{
    struct files_call call = {.question = {.type = FILES_EVENTS}};
    struct files_result result;
    if (!f->changes && !(f->changes = calloc(CHANGES_MAX, sizeof(*f->changes))))
        return library_fail_with(e, -ENOMEM, "%s: out of memory; free some and try again",
                                 f->sandbox);
    int r = ask(f, &call, NULL, &result, e);
    if (r < 0)
        return r;
    ssize_t count = take_changes(f, result.records);
    if (count < 0)
        return fail_connection(f, (int)count, e);
    *ret = f->changes;
    *ret_count = (size_t)count;
    return 0;
}
