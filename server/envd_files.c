// SPDX-License-Identifier: Apache-2.0
/*
 * GET /files: the bytes of a file, as they are read: a piece is asked for when the client has room
 * for it.
 */
#include "server/envd_files_parts.h"

#include "server/json.h"

#include <stdio.h>
#include <sys/stat.h>

struct download {
    struct request *request;
    struct files_link *link;
    struct box_stream stream;
    char *user, *path;
    uint64_t left; /* of what was promised */
    int64_t offset;
    bool has_begun;
};

void envd_files_fail_plain(struct request *r, int error, const char *user, const char *path)
{
    switch (error) {
    case ENOENT:
        request_fail(r, 404, "path '%s' does not exist", path);
        break;
    case ESRCH:
        request_fail(r, 401, "invalid username: '%s'", user);
        break;
    case EISDIR:
        request_fail(r, 400, "path '%s' is a directory", path);
        break;
    case EACCES:
    case EPERM:
    case EROFS:
        request_fail(r, 403, "path '%s': %s", path, strerror(error));
        break;
    case ENOSPC:
    case EDQUOT:
        request_fail(r, 507, "not enough disk space available");
        break;
    case ENOTDIR:
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case EOPNOTSUPP:
        request_fail(r, 400, "path '%s': %s", path, strerror(error));
        break;
    default:
        request_fail(r, 500, "path '%s': %s", path, strerror(error));
    }
}

/* ---- GET ---- */

static int ask_piece(struct download *d)
{
    const struct files_call call = {
        .question = {.type = FILES_READ,
                     .offset = d->offset,
                     .size = MIN(d->left, (uint64_t)FILES_MEMORY_MAX_BYTES)}};
    return files_link_ask(d->link, &call);
}

static void finish(struct download *d)
{
    struct files_link *l = d->link;
    d->link = NULL;
    files_link_put(l);
    request_end(d->request);
}

/* Sends what is in the memory, and asks for more when there is room. */
static void send_piece(struct download *d, uint64_t size)
{
    bool has_room = size == 0 || request_send(d->request, d->link->connection.memory, (size_t)size);
    d->left -= size;
    d->offset += (int64_t)size;
    if (d->left == 0)
        finish(d);
    else if (has_room && ask_piece(d) < 0)
        request_cut(d->request);
}

/* inline; filename="..." with what a field can hold; the name itself for those who know RFC 8187.
 */
static void add_disposition(struct request *r, const char *path)
{
    struct buf text = BUF_INIT(4096);
    const char *name = strrchr(path, '/') + 1;
    buf_append_str(&text, "inline; filename*=UTF-8''");
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        bool is_plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
                        (*c >= 'A' && *c <= 'Z') || strchr("-._~", *c);
        buf_printf(&text, is_plain ? "%c" : "%%%02X", *c);
    }
    if (!text.failed)
        request_add_field(r, "Content-Disposition", text.data);
    buf_done(&text);
}

/* What is shorter than asked for is whole, whatever its size says: files of /proc have none. */
static void begin(struct download *d, const struct files_result *result)
{
    struct files_records records = result->records;
    struct files_info *info = malloc(sizeof(*info));
    if (!info || files_read_info(&records, info) != 1) {
        request_fail(d->request, 500, "the file could not be read");
        free(info);
        return;
    }
    uint64_t size = (uint64_t)result->value;
    d->left = size < FILES_MEMORY_MAX_BYTES ? size : MAX((uint64_t)info->size, size);
    add_disposition(d->request, info->name);
    request_add_field(d->request, "Vary", "Accept-Encoding");
    free(info);
    d->has_begun = true;
    request_begin(d->request, 200, "application/octet-stream", d->left);
    if (!strcmp(d->request->head->method, "HEAD"))
        finish(d);
    else
        send_piece(d, size);
}

static void on_piece(struct files_link *l, int error, const struct files_result *result)
{
    struct download *d = l->userdata;
    if (!error)
        error = result->error;
    if (d->has_begun && (error || result->value == 0))
        request_cut(d->request); /* it is shorter than it was */
    else if (d->has_begun)
        send_piece(d, (uint64_t)result->value);
    else if (!result)
        request_fail(d->request, 502, "the sandbox does not answer");
    else if (error)
        envd_files_fail_plain(d->request, error, d->user, d->path);
    else
        begin(d, result);
}

static int ask_open(struct download *d, struct box *b)
{
    int r = text_query_get(d->request->head->query, "path", &d->path);
    if (r == 0)
        d->path = strdup("");
    if (r < 0 || !d->path)
        return r < 0 ? r : -ENOMEM;
    r = envd_get_user(d->request, &d->user);
    if (r < 0)
        return r;
    const struct files_call call = {.user = d->user,
                                    .path = d->path,
                                    .question = {.type = FILES_READ_OPEN,
                                                 .flags = FILES_AS_ROOT,
                                                 .size = FILES_MEMORY_MAX_BYTES}};
    d->link = files_link_get(b->id, on_piece, d);
    if (!d->link)
        return -ENOMEM;
    box_add_stream(b, &d->stream, d->request);
    return files_link_ask(d->link, &call);
}

static void ready(struct request *r)
{
    struct download *d = calloc(1, sizeof(*d));
    r->state = d;
    if (!d) {
        request_fail(r, 500, "out of memory");
        return;
    }
    d->request = r;
    list_init(&d->stream.link);
    int error = ask_open(d, r->box);
    if (error == -EINVAL)
        request_fail(r, 400, "the query can't be decoded");
    else if (error < 0)
        envd_files_fail_plain(r, -error, d->user ? d->user : "", d->path ? d->path : "");
}

static void drained(struct request *r)
{
    struct download *d = r->state;
    if (d && d->has_begun && d->link && !d->link->is_asked && ask_piece(d) < 0)
        request_cut(r);
}

static void over(struct request *r)
{
    struct download *d = r->state;
    if (!d)
        return;
    box_remove_stream(&d->stream);
    files_link_close(d->link);
    free(d->user);
    free(d->path);
    free(d);
}

static const struct handler get_handler = {
    .body_max_bytes = 0,
    .ready = ready,
    .drained = drained,
    .over = over,
};

const struct envd_route envd_files_routes[] = {
    {"GET", "/files", ENVD_SIGNED, &get_handler},
    {"POST", "/files", ENVD_SIGNED, &envd_upload},
    {0},
};
