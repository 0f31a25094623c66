// SPDX-License-Identifier: Apache-2.0
/* Heads and trailers for nghttp2, which copies them: into memory that is wiped when it is freed. */
#include "gateway/h2_parts.h"
#include "lib/secret/secrets.h"

#include <inttypes.h>
#include <stdio.h>

#define OWN_FIELDS_MAX 8 /* besides those of the message: pseudo fields, length, te */

struct list_of_fields {
    nghttp2_nv *list;
    size_t count;
    char *names; /* in lower case, one behind the other */
    size_t names_size;
};

/* Room for count fields, whose names are copied. */
static bool fields_init(struct list_of_fields *l, const struct http_field *fields, size_t count)
{
    size_t size = 1;
    for (size_t i = 0; i < count; i++)
        size += strlen(fields[i].name);
    *l = (struct list_of_fields){.list = calloc(count + OWN_FIELDS_MAX, sizeof(*l->list)),
                                 .names = malloc(size)};
    return l->list && l->names;
}

static void fields_done(struct list_of_fields *l)
{
    free(l->list);
    free(l->names);
}

/* nghttp2 has them, in a copy, until they are sent. */
static void note_unsent(struct h2_side *side, const struct list_of_fields *l)
{
    for (size_t i = 0; i < l->count; i++)
        side->unsent_bytes += l->list[i].namelen + l->list[i].valuelen;
}

static void add_sized(struct list_of_fields *l, const char *name, size_t name_size,
                      const char *value, bool is_hidden)
{
    l->list[l->count++] = (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)name,
        .namelen = name_size,
        .value = (uint8_t *)(uintptr_t)value,
        .valuelen = strlen(value),
        .flags = is_hidden ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE,
    };
}

static void add(struct list_of_fields *l, const char *name, const char *value, bool is_hidden)
{
    add_sized(l, name, strlen(name), value, is_hidden);
}

static void add_field(struct list_of_fields *l, const struct http_field *f, bool is_hidden)
{
    size_t size = strlen(f->name);
    char *name = l->names + l->names_size;
    for (size_t i = 0; i < size; i++)
        name[i] = f->name[i] >= 'A' && f->name[i] <= 'Z' ? (char)(f->name[i] | 0x20) : f->name[i];
    l->names_size += size;
    add_sized(l, name, size, f->value, is_hidden);
}

static ssize_t read_content(nghttp2_session *session, int32_t id, uint8_t *to, size_t size,
                            uint32_t *flags, nghttp2_data_source *source, void *context)
{
    struct h2_side *side = context;
    if (side->updates_left < H2_IDLE_FRAMES_MAX)
        side->updates_left += H2_UPDATES_PER_DATA;
    return h2_stream_read(source->ptr, side, to, size, flags);
}

static nghttp2_data_provider content_of(struct h2_stream *s)
{
    return (nghttp2_data_provider){.source.ptr = s, .read_callback = read_content};
}

/* ---- requests ---- */

/* The parts of a request that have names of their own. */
static int write_target(const struct http_request_head *h, struct buf *authority, struct buf *path)
{
    int e = buf_append_str(authority, h->authority.host);
    if (e == 0 && h->authority.port)
        e = buf_printf(authority, ":%u", (unsigned)h->authority.port);
    if (e == 0)
        e = buf_append_str(path, h->path);
    if (e == 0 && h->query)
        e = buf_printf(path, "?%s", h->query);
    return e;
}

/* Which of the fields hold what was put in here. */
static void add_request_fields(struct list_of_fields *l, const struct h2_stream *s,
                               const struct http_request_head *h,
                               const struct exchange_fields *fields)
{
    for (size_t i = 0; i < h->field_count; i++)
        add_field(l, &h->fields[i], s->is_hidden || fields->values[i].size > 0);
    if (s->takes_trailers)
        add(l, "te", "trailers", false);
}

static int submit_request(struct h2_stream *s, const struct list_of_fields *l, bool has_content)
{
    struct h2_side *side = &s->h2->server;
    nghttp2_data_provider content = content_of(s);
    int32_t id = side->session && !side->has_ended
                     ? nghttp2_submit_request(side->session, NULL, l->list, l->count,
                                              has_content ? &content : NULL, s)
                     : NGHTTP2_ERR_START_STREAM_NOT_ALLOWED;
    if (id >= 0) {
        note_unsent(side, l);
        s->server.id = id;
        s->server.is_open = true;
        s->server.out_has_ended = !has_content;
        return 0;
    }
    /* A server that takes no more requests on this connection: the program begins another one. */
    s->is_cut = true;
    s->cut_code = NGHTTP2_REFUSED_STREAM;
    return -EPIPE;
}

static int write_request(void *stream, const struct http_request_head *h,
                         const struct exchange_fields *fields, bool hides_query)
{
    struct h2_stream *s = stream;
    struct buf authority = BUF_INIT(HTTP_HOST_MAX_BYTES + 8),
               path = BUF_INIT(2 * SECRET_FIELD_MAX_BYTES + HTTP_HEAD_MAX_BYTES);
    struct list_of_fields l;
    char length[24];
    bool has_content = h->framing.kind == HTTP_BODY_CHUNKED || h->framing.length > 0;
    int e =
        fields_init(&l, h->fields, h->field_count) ? write_target(h, &authority, &path) : -ENOMEM;
    if (e == 0) {
        add(&l, ":method", h->method, false);
        add(&l, ":scheme", "https", false);
        add(&l, ":authority", authority.data, false);
        add(&l, ":path", path.data, s->is_hidden || hides_query);
        add_request_fields(&l, s, h, fields);
        snprintf(length, sizeof(length), "%" PRIu64, h->framing.length);
        if (h->framing.kind == HTTP_BODY_LENGTH)
            add(&l, "content-length", length, false);
        e = submit_request(s, &l, has_content);
    }
    fields_done(&l);
    secret_wipe_buf(&path);
    buf_done(&authority);
    return e;
}

/* ---- responses ---- */

static int submit_response(struct h2_stream *s, const struct http_response_head *h,
                           const struct list_of_fields *l)
{
    nghttp2_session *session = s->h2->guest.session;
    nghttp2_data_provider content = content_of(s);
    bool has_content = h->framing.kind != HTTP_BODY_NONE && !s->is_head;
    note_unsent(&s->h2->guest, l);
    if (h->status < 200)
        return nghttp2_submit_headers(session, NGHTTP2_FLAG_NONE, s->guest.id, NULL, l->list,
                                      l->count, NULL);
    s->guest.out_has_ended = !has_content;
    return nghttp2_submit_response(session, s->guest.id, l->list, l->count,
                                   has_content ? &content : NULL);
}

static int write_response(void *stream, const struct http_response_head *h)
{
    struct h2_stream *s = stream;
    struct list_of_fields l;
    char status[8], length[24];
    if (s->is_cut || !s->guest.is_open)
        return -EPIPE;
    bool has_memory = fields_init(&l, h->fields, h->field_count);
    if (has_memory) {
        snprintf(status, sizeof(status), "%u", h->status);
        add(&l, ":status", status, false);
        for (size_t i = 0; i < h->field_count; i++)
            add_field(&l, &h->fields[i], s->hides_response);
        snprintf(length, sizeof(length), "%" PRIu64, h->framing.length);
        if (h->framing.has_length && h->status >= 200)
            add(&l, "content-length", length, false);
    }
    int e = has_memory && submit_response(s, h, &l) == 0 ? 0 : -ENOMEM;
    fields_done(&l);
    return e;
}

/* ---- their ends ---- */

static int keep_trailer(struct h2_half *half, const struct http_field *trailers, size_t count)
{
    half->out_has_ended = true;
    half->out_trailer_count = count;
    for (size_t i = 0; i < count; i++) {
        buf_append(&half->out_trailer, trailers[i].name, strlen(trailers[i].name) + 1);
        buf_append(&half->out_trailer, trailers[i].value, strlen(trailers[i].value) + 1);
    }
    return half->out_trailer.failed ? -ENOMEM : 0;
}

static int end_request(void *stream, const struct http_field *trailers, size_t count)
{
    struct h2_stream *s = stream;
    return keep_trailer(&s->server, trailers, count);
}

static int end_response(void *stream, const struct http_field *trailers, size_t count)
{
    struct h2_stream *s = stream;
    return keep_trailer(&s->guest, trailers, count);
}

int h2_write_trailer(struct h2_stream *s, struct h2_side *side)
{
    const struct h2_half *half = h2_half_of(s, side);
    struct http_field *fields = calloc(half->out_trailer_count, sizeof(*fields));
    struct list_of_fields l = {0};
    const char *at = half->out_trailer.data;
    for (size_t i = 0; fields && i < half->out_trailer_count; i++) {
        fields[i].name = at;
        fields[i].value = at + strlen(at) + 1;
        at = fields[i].value + strlen(fields[i].value) + 1;
    }
    int e = fields && fields_init(&l, fields, half->out_trailer_count) ? 0 : -ENOMEM;
    for (size_t i = 0; e == 0 && i < half->out_trailer_count; i++)
        add_field(&l, &fields[i], side->is_guest ? s->hides_response : s->is_hidden);
    note_unsent(side, &l);
    if (e == 0 && nghttp2_submit_trailer(side->session, half->id, l.list, l.count) != 0)
        e = -ENOMEM;
    fields_done(&l);
    free(fields);
    return e;
}

const struct exchange_wire h2_wire = {
    .request = write_request,
    .response = write_response,
    .request_end = end_request,
    .response_end = end_response,
};
