// SPDX-License-Identifier: Apache-2.0
/*
 * POST /files: what comes is put into the memory of a connection to the sandbox's kernel, which
 * takes it when that is full, or the file ends; meanwhile no more is read from the client. A file
 * has its name when it is whole: of one that broke off nothing is left.
 *
 *   pump(): source -> memory -> ask() -> on_answer() -> pump() ...
 */
#include "lib/base/map.h"
#include "server/envd_files_parts.h"
#include "server/files_json.h"
#include "server/limits.h"
#include "server/upload_source.h"

#include <stdio.h>
#include <strings.h>

#define FILES_OF_UPLOAD_MAX 10000
#define METADATA_PREFIX     "x-metadata-"
#define METADATA_KEY_MAX    246
#define METADATA_TOTAL_MAX  4096

struct upload {
    struct request *request;
    struct files_link *link;
    struct box_stream stream;
    struct upload_source source;
    bool has_source;
    char *user, *path; /* path NULL: those of the parts */
    struct buf metadata;
    struct buf answer;
    size_t count;
    struct buf names;   /* of all files until now, each with a NUL */
    struct map by_name; /* from what map_hash_bytes() makes of a name: its place in names, + 1 */
    const char *name;   /* of the one that is written */
    size_t filled;      /* bytes in the memory */
    int64_t offset;
    bool is_opening; /* what is asked is of no file */
    bool is_open;    /* the kernel has it open */
    bool is_last;    /* what is asked ends it */
    bool is_over;    /* answered */
};

static void pump(struct upload *u);

static void fail(struct upload *u, unsigned status, const char *why)
{
    u->is_over = true;
    request_fail(u->request, status, "%s", why);
}

/* ---- metadata ---- */

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

/* X-Metadata-KEY: VALUE. False: it can't be kept. */
static bool read_metadata(const struct http_request *head, struct buf *out)
{
    for (size_t i = 0; i < head->field_count; i++) {
        const struct http_field *f = &head->fields[i];
        char key[METADATA_KEY_MAX + 1];
        if (strncasecmp(f->name, METADATA_PREFIX, strlen(METADATA_PREFIX)) != 0)
            continue;
        const char *name = f->name + strlen(METADATA_PREFIX);
        size_t size = strlen(name);
        if (size == 0 || size > METADATA_KEY_MAX || !is_printable(name) || !is_printable(f->value))
            return false;
        for (size_t n = 0; n <= size; n++)
            key[n] = (char)(name[n] >= 'A' && name[n] <= 'Z' ? name[n] | 0x20 : name[n]);
        buf_append(out, key, size + 1);
        buf_append(out, f->value, strlen(f->value) + 1);
    }
    return !out->failed && out->size <= METADATA_TOTAL_MAX;
}

/* ---- files ---- */

static bool is_named_twice(const struct upload *u, const char *name)
{
    uintptr_t at = (uintptr_t)map_get(&u->by_name, map_hash_bytes(name, strlen(name)));
    return at && !strcmp(u->names.data + at - 1, name);
}

/* Where it stands in u->names; or -ENOMEM. */
static ssize_t note_name(struct upload *u, const char *name)
{
    size_t at = u->names.size, size = strlen(name);
    if (buf_append(&u->names, name, size + 1) < 0 ||
        map_set(&u->by_name, map_hash_bytes(name, size), (void *)(uintptr_t)(at + 1)) < 0)
        return -ENOMEM;
    return (ssize_t)at;
}

/* False: it is answered. */
static bool begin_file(struct upload *u)
{
    const char *filename = upload_source_filename(&u->source);
    const char *name = u->path ? u->path : filename;
    if (!name || !*name) {
        fail(u, 400, "a file has no path; give it as its filename, or one in the query");
        return false;
    }
    if (u->count == FILES_OF_UPLOAD_MAX || is_named_twice(u, name)) {
        fail(u, 400,
             u->count == FILES_OF_UPLOAD_MAX ? "too many files at once"
                                             : "you cannot upload multiple files to the same path");
        return false;
    }
    ssize_t at = note_name(u, name);
    if (at < 0) {
        fail(u, 500, "out of memory");
        return false;
    }
    u->name = u->names.data + at;
    u->filled = 0;
    u->offset = 0;
    u->is_open = false;
    return true;
}

/* Gives the kernel what is in the memory. */
static void ask(struct upload *u, bool is_last)
{
    const struct files_call call = {
        .user = u->user,
        .path = u->is_open ? "" : u->name,
        .more = u->is_open ? "" : u->metadata.data,
        .more_size = u->is_open ? 0 : u->metadata.size,
        .question = {.type = u->is_open ? FILES_WRITE : FILES_WRITE_OPEN,
                     .flags = ENVD_FILES_FLAGS | FILES_WITH_DATA | (is_last ? FILES_AND_COMMIT : 0),
                     .offset = u->offset,
                     .size = u->filled},
    };
    u->is_last = is_last;
    int r = files_link_ask(u->link, &call);
    if (r < 0) {
        u->is_over = true;
        envd_files_fail_plain(u->request, -r, u->user, u->name);
    }
}

/* Its entry, for the answer to all. False: it is answered. */
static bool note_written(struct upload *u, struct files_records records)
{
    struct files_info *info = malloc(sizeof(*info));
    bool is_right = info && files_read_info(&records, info) == 1;
    if (is_right) {
        buf_append_str(&u->answer, u->count++ ? "," : "[");
        files_json_written(&u->answer, info);
    } else {
        fail(u, 500, "the file could not be written");
    }
    free(info);
    return is_right;
}

static void on_answer(struct files_link *l, int error, const struct files_result *result)
{
    struct upload *u = l->userdata;
    if (u->is_over)
        return;
    if (!result) {
        fail(u, 502, "the sandbox does not answer");
        return;
    }
    error = result->error;
    if (error) {
        u->is_over = true;
        envd_files_fail_plain(u->request, error, u->user, u->is_opening ? "" : u->name);
        return;
    }
    if (u->is_opening) {
        u->is_opening = false;
        pump(u);
        return;
    }
    u->offset += (int64_t)u->filled;
    u->filled = 0;
    u->is_open = true;
    if (u->is_last && !note_written(u, result->records))
        return;
    pump(u);
}

static void answer_all(struct upload *u)
{
    u->is_over = true;
    if (u->count == 0)
        buf_append_str(&u->answer, "[");
    buf_append_str(&u->answer, "]");
    if (u->answer.failed)
        request_fail(u->request, 500, "out of memory");
    else
        request_answer(u->request, 200, "application/json", u->answer.data, u->answer.size);
    struct files_link *l = u->link;
    u->link = NULL;
    files_link_put(l);
}

/* Until the kernel, or the client, is waited for. */
static void pump(struct upload *u)
{
    while (!u->is_over && !u->link->is_asked) {
        const char *data;
        size_t size, room = u->link->connection.memory_size - u->filled;
        if (u->link->is_open && room == 0) {
            ask(u, false);
            return;
        }
        switch (upload_source_next(&u->source, room, &data, &size)) {
        case UPLOAD_BEGIN:
            begin_file(u);
            break;
        case UPLOAD_DATA:
            memcpy(u->link->connection.memory + u->filled, data, size);
            u->filled += size;
            break;
        case UPLOAD_END:
            ask(u, true);
            break;
        case UPLOAD_MORE:
            request_resume(u->request);
            return;
        case UPLOAD_OVER:
            answer_all(u);
            break;
        case UPLOAD_BAD:
            fail(u, 400, u->source.why);
            break;
        }
    }
}

/* ---- the request ---- */

/* The connection is there when its first answer comes: one that changes nothing. */
static int open_link(struct upload *u, struct box *b)
{
    const struct files_call call = {.question = {.type = FILES_CLOSE}};
    u->link = files_link_get(b->id, on_answer, u);
    if (!u->link)
        return -ENOMEM;
    box_add_stream(b, &u->stream, u->request);
    u->is_opening = !u->link->is_open;
    return u->is_opening ? files_link_ask(u->link, &call) : 0;
}

static bool read_head(struct upload *u)
{
    const struct http_request *head = u->request->head;
    const char *type = request_field(u->request, "content-type");
    int r = text_query_get(head->query, "path", &u->path);
    if (r >= 0)
        r = envd_get_user(u->request, &u->user);
    if (r == 0 && !read_metadata(head, &u->metadata)) {
        fail(u, 400, "metadata: printable ASCII, keys of at most 246 bytes, 4096 in all");
        return false;
    }
    if (r == 0) {
        r = upload_source_init(&u->source, type ? type : "",
                               request_field(u->request, "content-encoding"));
        u->has_source = true;
    }
    if (r == 0 && !u->source.is_form && !u->path) {
        fail(u, 400, "path: is missing in the query");
        return false;
    }
    if (r < 0)
        fail(u, r == -EINVAL ? 400 : 500,
             r == -EINVAL ? "the content type or encoding, user or path can't be read"
                          : "out of memory");
    return r == 0;
}

/* NULL: it is answered. */
static struct upload *begin(struct request *r)
{
    struct upload *u = calloc(1, sizeof(*u));
    if (!u) {
        request_fail(r, 500, "out of memory");
        return NULL;
    }
    r->state = u;
    u->request = r;
    list_init(&u->stream.link);
    u->metadata = BUF_INIT(FILES_METADATA_MAX_BYTES);
    u->answer = BUF_INIT(OUTPUT_MAX - 65536);
    u->names = BUF_INIT(4 * 1024 * 1024);
    if (read_head(u) && open_link(u, r->box) < 0)
        fail(u, 500, "out of memory");
    return u;
}

static struct upload *upload_of(struct request *r)
{
    return r->state ? r->state : request_is_answered(r) ? NULL : begin(r);
}

static void take(struct request *r, const char *data, size_t size)
{
    struct upload *u = upload_of(r);
    if (!u || u->is_over)
        return;
    if (upload_source_give(&u->source, data, size) < 0) {
        fail(u, 500, "out of memory");
        return;
    }
    request_pause(r);
    pump(u);
}

static void ready(struct request *r)
{
    struct upload *u = upload_of(r);
    if (!u || u->is_over)
        return;
    upload_source_end(&u->source);
    pump(u);
}

static void over(struct request *r)
{
    struct upload *u = r->state;
    if (!u)
        return;
    box_remove_stream(&u->stream);
    files_link_close(u->link);
    if (u->has_source)
        upload_source_done(&u->source);
    buf_done(&u->metadata);
    buf_done(&u->answer);
    buf_done(&u->names);
    map_done(&u->by_name);
    free(u->user);
    free(u->path);
    free(u);
}

const struct handler envd_upload = {
    .body_max_bytes = UINT64_MAX,
    .take = take,
    .ready = ready,
    .over = over,
};
