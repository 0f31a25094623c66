// SPDX-License-Identifier: Apache-2.0
#include "server/upload_source.h"

#include <strings.h>

#define FILE_PART "file"

static bool is_type(const char *text, const char *type)
{
    size_t size = strlen(type);
    return !strncasecmp(text, type, size) && strchr("; \t", text[size]);
}

static int start_inflater(struct upload_source *s)
{
    s->plain = malloc(UPLOAD_PLAIN_BYTES);
    /* 16: a gzip header is required. */
    if (!s->plain || inflateInit2(&s->inflater, 16 + MAX_WBITS) != Z_OK)
        return -ENOMEM;
    s->has_inflater = true;
    return 0;
}

int upload_source_init(struct upload_source *s, const char *content_type,
                       const char *content_encoding)
{
    *s = (struct upload_source){.given = BUF_INIT(4 * 1024 * 1024)};
    const char *encoding = content_encoding ? content_encoding : "identity";
    s->is_gzip = !strcasecmp(encoding, "gzip");
    s->is_form = is_type(content_type, "multipart/form-data");
    if ((!s->is_gzip && strcasecmp(encoding, "identity") != 0) ||
        (!s->is_form && !is_type(content_type, "application/octet-stream")))
        return -EINVAL;
    int r = s->is_form ? multipart_init(&s->form, content_type) : 0;
    return r == 0 && s->is_gzip ? start_inflater(s) : r;
}

void upload_source_done(struct upload_source *s)
{
    if (s->is_form)
        multipart_done(&s->form);
    if (s->has_inflater)
        inflateEnd(&s->inflater);
    free(s->plain);
    buf_done(&s->given);
}

int upload_source_give(struct upload_source *s, const char *data, size_t size)
{
    if (s->is_gzip)
        return buf_append(&s->given, data, size);
    buf_consume(&s->given, s->given.size - s->size);
    int r = buf_append(&s->given, data, size);
    s->at = s->given.data;
    s->size = s->given.size;
    return r;
}

void upload_source_end(struct upload_source *s)
{
    s->is_ended = true;
}

const char *upload_source_filename(const struct upload_source *s)
{
    return s->is_form ? s->form.filename : NULL;
}

/* ---- inflating ---- */

/* Makes s->at from s->given. False: there is nothing to make it of, or it is broken. */
static bool inflate_more(struct upload_source *s)
{
    z_stream *z = &s->inflater;
    if (s->is_inflated) {
        if (s->given.size)
            s->why = "the body goes on behind its compressed content";
        return false;
    }
    z->next_in = (unsigned char *)s->given.data;
    z->avail_in = (unsigned)s->given.size;
    z->next_out = (unsigned char *)s->plain;
    z->avail_out = UPLOAD_PLAIN_BYTES;
    int r = inflate(z, Z_NO_FLUSH);
    buf_consume(&s->given, s->given.size - z->avail_in);
    if (r == Z_STREAM_END)
        s->is_inflated = true;
    else if (r != Z_OK && r != Z_BUF_ERROR)
        s->why = r == Z_MEM_ERROR ? "out of memory" : "the body is no gzip";
    s->at = s->plain;
    s->size = UPLOAD_PLAIN_BYTES - z->avail_out;
    return !s->why && s->size > 0;
}

/* What is not compressed is read where it was given. */
static bool refill(struct upload_source *s)
{
    return s->is_gzip && inflate_more(s);
}

/* ---- events ---- */

/* All that was given is read. */
static enum upload_event at_end(struct upload_source *s)
{
    if (s->why)
        return UPLOAD_BAD;
    if (!s->is_ended)
        return UPLOAD_MORE;
    if (s->is_gzip && !s->is_inflated)
        s->why = "the body is cut off";
    else if (s->is_form && !multipart_is_over(&s->form))
        s->why = "the form is cut off";
    return s->why ? UPLOAD_BAD : UPLOAD_OVER;
}

static enum upload_event next_plain(struct upload_source *s, size_t data_max, const char **ret,
                                    size_t *ret_size)
{
    if (!s->has_begun) {
        s->has_begun = true;
        return UPLOAD_BEGIN;
    }
    if (s->size == 0 && !refill(s)) {
        enum upload_event event = at_end(s);
        if (event != UPLOAD_OVER || s->is_skipping)
            return event;
        s->is_skipping = true; /* its end is told once */
        return UPLOAD_END;
    }
    *ret = s->at;
    *ret_size = MIN(s->size, data_max);
    s->at += *ret_size;
    s->size -= *ret_size;
    return UPLOAD_DATA;
}

static enum upload_event next_of_form(struct upload_source *s, size_t data_max, const char **ret,
                                      size_t *ret_size)
{
    for (;;) {
        switch (multipart_next(&s->form, &s->at, &s->size, data_max, ret, ret_size)) {
        case MULTIPART_BAD:
            s->why = "the form is malformed";
            return UPLOAD_BAD;
        case MULTIPART_BEGIN:
            s->is_skipping = strcmp(s->form.name, FILE_PART) != 0;
            if (!s->is_skipping)
                return UPLOAD_BEGIN;
            break;
        case MULTIPART_DATA:
            if (!s->is_skipping)
                return UPLOAD_DATA;
            break;
        case MULTIPART_END:
            if (!s->is_skipping)
                return UPLOAD_END;
            break;
        case MULTIPART_MORE:
            if (s->size == 0 && !refill(s))
                return at_end(s);
        }
    }
}

enum upload_event upload_source_next(struct upload_source *s, size_t data_max, const char **ret,
                                     size_t *ret_size)
{
    return s->is_form ? next_of_form(s, data_max, ret, ret_size)
                      : next_plain(s, data_max, ret, ret_size);
}
