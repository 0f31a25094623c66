// SPDX-License-Identifier: Apache-2.0
#include "sandbox/copy_in.h"

#include "lib/text/shown.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

/* A starter may be stopped, and a disk be slow; else it takes moments. */
#define ANSWER_MS 60000

int copy_in_init(struct copy_in *c, const char *sandbox, void (*say)(const char *line),
                 struct sandbox_error *e)
{
    *c = (struct copy_in){.sandbox = sandbox, .say = say};
    return files_connect(sandbox, FILES_MEMORY_MAX_BYTES, &c->connection, e);
}

void copy_in_done(struct copy_in *c)
{
    files_disconnect(&c->connection);
}

/* ---- what is left out ---- */

void copy_in_leave_out(struct copy_in *c, const char *name, const char *reason)
{
    char shown[512], line[1024];
    if (c->left_out++ >= COPY_IN_LINES_MAX)
        return;
    text_line(name, strlen(name), shown, sizeof(shown));
    snprintf(line, sizeof(line), "%s: left out: %s", shown, reason);
    c->say(line);
}

void copy_in_end(struct copy_in *c)
{
    char line[128];
    if (c->left_out <= COPY_IN_LINES_MAX)
        return;
    snprintf(line, sizeof(line), "%" PRIu64 " more left out", c->left_out - COPY_IN_LINES_MAX);
    c->say(line);
}

/* ---- questions ---- */

/* Of one entry, not of all: it is left out, and the others may come. */
static bool is_of_entry(int error)
{
    return error == EISDIR || error == ENOTDIR || error == EEXIST || error == EACCES ||
           error == EPERM || error == EBUSY || error == ELOOP || error == ENAMETOOLONG ||
           error == ENOENT || error == EOPNOTSUPP || error == ESTALE || error == EROFS;
}

/* 0, a positive errno of the entry, or negative errno with the sentence. */
static int ask(struct copy_in *c, const struct files_call *call, struct files_result *result,
               struct sandbox_error *e)
{
    int r = files_ask(&c->connection, call, ANSWER_MS, result);
    if (r == -ECONNRESET)
        return sandbox_error_set(e, r, "%s: it has ended; look with glovebox ps", c->sandbox);
    if (r == -EPROTO)
        return sandbox_error_set(e, r,
                                 "%s: its kernel says what it must not; what has come there is "
                                 "its own to answer for, stop it",
                                 c->sandbox);
    if (r == -ENAMETOOLONG)
        return ENAMETOOLONG;
    if (r < 0)
        return sandbox_error_set(e, r, "%s: no answer: %s; is its glovebox stopped?", c->sandbox,
                                 strerror(-r));
    if (result->error == 0 || is_of_entry(result->error))
        return result->error;
    return sandbox_error_set(
        e, -result->error, "%s: %s; make room there, the copy is not complete", c->sandbox,
        result->error == EUSERS ? "too many connections at once" : strerror(result->error));
}

static const char *reason_of(int error)
{
    return error == EISDIR       ? "a directory of this name is in its place"
           : error == ENOTDIR    ? "something that is no directory is in its place or on the way"
           : error == EOPNOTSUPP ? "something that is no file is in its place"
                                 : strerror(error);
}

static int leave_out_if(struct copy_in *c, int r, const char *path)
{
    if (r > 0)
        copy_in_leave_out(c, path, reason_of(r));
    return r;
}

static int count_entry(struct copy_in *c, struct sandbox_error *e)
{
    if (!c->entries_max || ++c->entries <= c->entries_max)
        return 0;
    return sandbox_error_set(e, -E2BIG,
                             "more than %" PRIu64 " files, the rest is left out; allow more with "
                             "--max-files",
                             c->entries_max);
}

static int count_bytes(struct copy_in *c, uint64_t size, struct sandbox_error *e)
{
    c->bytes += size;
    if (!c->bytes_max || c->bytes <= c->bytes_max)
        return 0;
    return sandbox_error_set(e, -EFBIG,
                             "more than %" PRIu64 " bytes, the rest is left out; allow more with "
                             "--max-size",
                             c->bytes_max);
}

/* ---- entries ---- */

static uint32_t standard_flags(const struct copy_in *c)
{
    return FILES_AS_ROOT | (c->makes_parents ? FILES_PARENTS : 0);
}

/* Fills the memory as far as the file goes. */
static ssize_t fill(struct copy_in *c, copy_in_read_fn read, void *userdata,
                    struct sandbox_error *e)
{
    size_t size = 0;
    while (size < c->connection.memory_size) {
        ssize_t n =
            read(userdata, c->connection.memory + size, c->connection.memory_size - size, e);
        if (n < 0)
            return n;
        if (n == 0)
            break;
        size += (size_t)n;
    }
    int r = count_bytes(c, size, e);
    return r < 0 ? r : (ssize_t)size;
}

int copy_in_file(struct copy_in *c, const struct copy_in_file *f, copy_in_read_fn read,
                 void *userdata, struct sandbox_error *e)
{
    struct files_call call = {.path = f->path};
    struct files_question *q = &call.question;
    struct files_result result;
    bool is_first = true, is_last = false;
    const uint32_t flags =
        standard_flags(c) | FILES_EXACT_MODE | FILES_WITH_TIME | FILES_NO_FOLLOW | FILES_WITH_DATA;
    int64_t offset = 0;
    int r = count_entry(c, e);
    while (r == 0 && !is_last) {
        ssize_t size = fill(c, read, userdata, e);
        if (size < 0)
            return (int)size;
        is_last = (size_t)size < c->connection.memory_size;
        *q = (struct files_question){.type = is_first ? FILES_WRITE_OPEN : FILES_WRITE,
                                     .flags = flags | (is_last ? FILES_AND_COMMIT : 0),
                                     .mode = f->mode & 0777,
                                     .offset = offset,
                                     .size = (uint64_t)size,
                                     .mtime_s = f->mtime_s,
                                     .mtime_ns = f->mtime_ns};
        call.path = is_first ? f->path : NULL;
        r = ask(c, &call, &result, e);
        is_first = false;
        offset += size;
    }
    return leave_out_if(c, r, f->path);
}

int copy_in_directory(struct copy_in *c, const struct copy_in_file *f, struct sandbox_error *e)
{
    const struct files_call call = {
        .path = f->path,
        .question = {.type = FILES_MAKE_DIRECTORY, .flags = FILES_AS_ROOT, .mode = f->mode & 0777}};
    struct files_result result;
    int r = count_entry(c, e);
    if (r == 0)
        r = ask(c, &call, &result, e);
    return r == EEXIST ? 0 : leave_out_if(c, r, f->path);
}

int copy_in_link(struct copy_in *c, const char *path, const char *target, struct sandbox_error *e)
{
    const struct files_call call = {
        .path = path,
        .more = target,
        .more_size = strlen(target),
        .question = {.type = FILES_LINK, .flags = standard_flags(c)},
    };
    struct files_result result;
    int r = count_entry(c, e);
    if (r == 0)
        r = ask(c, &call, &result, e);
    return leave_out_if(c, r, path);
}

/* ---- where to ---- */

int copy_in_stat(struct copy_in *c, const char *path, mode_t *ret_mode, struct sandbox_error *e)
{
    const struct files_call call = {.path = path,
                                    .question = {.type = FILES_STAT, .flags = FILES_AS_ROOT}};
    struct files_result result;
    struct files_info *info = malloc(sizeof(*info));
    int r = info ? ask(c, &call, &result, e)
                 : sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    if (r == 0 && files_read_info(&result.records, info) != 1)
        r = sandbox_error_set(e, -EPROTO, "%s: its kernel says what it must not; stop it",
                              c->sandbox);
    if (r == 0)
        *ret_mode = info->target_mode ? info->target_mode : info->mode;
    free(info);
    return r;
}
