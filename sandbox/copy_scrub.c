// SPDX-License-Identifier: Apache-2.0
#include "sandbox/copy_scrub.h"

/* A packet, all that searches may have kept back before it, and a head for each of its records. */
#define RECORDS_MAX_BYTES (4u << 20)
#define DATA_MAX_BYTES    (COPY_ANSWER_MAX - sizeof(struct copy_record))

struct copy_scrub {
    struct scrubber *scrubber;
    struct scrub_stream stream; /* while is_in_file: of the bytes since the last hole */
    bool is_in_file;
    int64_t taken_to, told_to; /* places in the file */
    struct buf found;          /* bytes of it that are decided */
    struct buf records;        /* whole ones, of which the first sent_bytes have gone */
    size_t sent_bytes;
};

struct copy_scrub *copy_scrub_new(struct scrubber *scrubber)
{
    struct copy_scrub *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->scrubber = scrubber;
    c->found = BUF_INIT(RECORDS_MAX_BYTES);
    c->records = BUF_INIT(RECORDS_MAX_BYTES);
    return c;
}

void copy_scrub_free(struct copy_scrub *c)
{
    if (!c)
        return;
    if (c->is_in_file)
        scrub_stream_done(&c->stream);
    buf_done(&c->found);
    buf_done(&c->records);
    free(c);
}

static int append(struct copy_scrub *c, const struct copy_record *r, const char *text)
{
    int error = buf_append(&c->records, r, sizeof(*r));
    return error < 0 ? error : buf_append(&c->records, text, r->text_size);
}

/* ---- contents ---- */

static int tell_found(struct copy_scrub *c)
{
    int r = 0;
    for (size_t at = 0; at < c->found.size && r == 0;) {
        size_t size = MIN(c->found.size - at, DATA_MAX_BYTES);
        const struct copy_record data = {
            .type = COPY_DATA, .value = c->told_to, .text_size = (uint32_t)size};
        r = append(c, &data, c->found.data + at);
        c->told_to += (int64_t)size;
        at += size;
    }
    buf_reset(&c->found);
    return r;
}

static void begin_bytes(struct copy_scrub *c, int64_t place)
{
    scrub_stream_begin_file(&c->stream, c->scrubber);
    c->taken_to = c->told_to = place;
}

static int end_bytes(struct copy_scrub *c)
{
    int r = scrub_stream_end(&c->stream, &c->found);
    scrub_stream_done(&c->stream);
    return r < 0 ? r : tell_found(c);
}

static int take_data(struct copy_scrub *c, const struct copy_record *r, const char *text)
{
    int error = 0;
    if (r->value < c->taken_to || r->value > COPY_FILE_SIZE_MAX)
        return -EPROTO;
    if (r->value > c->taken_to) { /* a hole */
        error = end_bytes(c);
        begin_bytes(c, r->value);
    }
    if (error == 0)
        error = scrub_stream_take(&c->stream, text, r->text_size, &c->found);
    c->taken_to += r->text_size;
    return error < 0 ? error : tell_found(c);
}

/* ---- records ---- */

static int take_named(struct copy_scrub *c, const struct copy_record *r, const char *text)
{
    char copy[COPY_LINK_TEXT_BYTES];
    if (r->text_size > sizeof(copy))
        return -EPROTO;
    memcpy(copy, text, r->text_size);
    int error = scrubber_replace_name(c->scrubber, copy, r->text_size);
    return error < 0 ? error : append(c, r, copy);
}

static int take_record(struct copy_scrub *c, const struct copy_record *r, const char *text)
{
    int error = 0;
    bool is_of_file = r->type == COPY_DATA || r->type == COPY_FILE_END;
    if (is_of_file != c->is_in_file)
        return -EPROTO;
    if (r->type == COPY_DATA)
        return take_data(c, r, text);
    if (r->type == COPY_FILE_END) {
        c->is_in_file = false;
        error = end_bytes(c);
    }
    if (error == 0)
        error = take_named(c, r, text);
    if (error == 0 && r->type == COPY_FILE) {
        begin_bytes(c, 0);
        c->is_in_file = true;
    }
    return error;
}

static int take_all(struct copy_scrub *c, const char *records, size_t size)
{
    struct copy_record r;
    int error = size > 0 ? 0 : -EPROTO;
    while (size > 0 && error == 0) {
        if (size < sizeof(r))
            return -EPROTO;
        memcpy(&r, records, sizeof(r));
        records += sizeof(r);
        size -= sizeof(r);
        if (r.text_size > size)
            return -EPROTO;
        error = take_record(c, &r, records);
        records += r.text_size;
        size -= r.text_size;
    }
    return error;
}

int copy_scrub_take(struct copy_scrub *c, const char *records, size_t size)
{
    static const struct copy_record none = {.type = 0};
    int r = take_all(c, records, size);
    return r == -EPROTO && append(c, &none, "") < 0 ? -ENOMEM : r;
}

size_t copy_scrub_next(struct copy_scrub *c, const char **ret)
{
    const char *from = c->records.size ? c->records.data + c->sent_bytes : "";
    size_t left = c->records.size - c->sent_bytes, size = 0;
    struct copy_record r;
    if (left == 0) {
        buf_reset(&c->records);
        c->sent_bytes = 0;
        return 0;
    }
    while (size < left) {
        memcpy(&r, from + size, sizeof(r));
        if (size + sizeof(r) + r.text_size > COPY_ANSWER_MAX)
            break;
        size += sizeof(r) + r.text_size;
    }
    c->sent_bytes += size;
    *ret = from;
    return size;
}
