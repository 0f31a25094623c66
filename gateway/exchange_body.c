// SPDX-License-Identifier: Apache-2.0
#include "gateway/exchange_body.h"

static int begin_chunk(struct exchange_body *b, struct buf *out, uint64_t size)
{
    char head[HTTP_CHUNK_HEAD_MAX_BYTES + 1];
    b->chunk_left_bytes = size;
    return buf_append(out, head, http_chunk_head(head, size));
}

int exchange_body_pass(struct exchange_body *b, struct buf *out, const struct http_slice *slice,
                       uint64_t left_bytes)
{
    int r = 0;
    if (slice->size == 0)
        return 0;
    if (b->kind != HTTP_BODY_CHUNKED)
        return buf_append(out, slice->data, slice->size);
    if (b->chunk_left_bytes == 0)
        r = begin_chunk(b, out, slice->size + left_bytes);
    if (r == 0)
        r = buf_append(out, slice->data, slice->size);
    b->chunk_left_bytes -= slice->size;
    if (r == 0 && b->chunk_left_bytes == 0)
        r = buf_append_str(out, "\r\n");
    return r;
}

int exchange_body_write(struct exchange_body *b, struct buf *out, const char *data, size_t size)
{
    return exchange_body_pass(b, out, &(struct http_slice){data, size}, 0);
}

int exchange_body_finish(struct exchange_body *b, struct buf *out,
                         const struct http_field *trailers, size_t count)
{
    return b->kind == HTTP_BODY_CHUNKED ? http_chunks_end(out, trailers, count) : 0;
}
