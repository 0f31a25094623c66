// SPDX-License-Identifier: Apache-2.0
/*
 * Chunked content: the same whatever the pieces; and content and trailer, when they are written in
 * chunks of another size, are read again as the same.
 */
#include "lib/http/write.h"
#include "tests/fuzz/http_talk.h"

static const struct http_framing chunked = {.kind = HTTP_BODY_CHUNKED};

/* *b is still there afterwards. */
static enum http_progress read_all(struct http_body *b, const char *data, size_t size, size_t piece,
                                   uint64_t max_bytes, struct buf *account)
{
    enum http_progress progress = HTTP_MORE;
    size_t at = 0, end = 0, taken;
    http_body_init(b, &chunked, max_bytes);
    while (progress == HTTP_MORE && at < size) {
        if (at == end)
            end = at + MIN(piece, size - at);
        progress = talk_body(account, b, data + at, end - at, &taken);
        at += taken;
    }
    CHECK(b->content_bytes <= max_bytes);
    buf_printf(account, "at %zu of %llu\n", at, (unsigned long long)b->content_bytes);
    return progress;
}

static void write_chunks(struct buf *out, const char *content, size_t size, size_t chunk)
{
    char head[HTTP_CHUNK_HEAD_MAX_BYTES + 1];
    for (size_t at = 0; at < size;) {
        size_t n = MIN(chunk, size - at);
        buf_append(out, head, http_chunk_head(head, n));
        buf_append(out, content + at, n);
        buf_append_str(out, "\r\n");
        at += n;
    }
}

/* account: of b, which begins with its content. */
static void check_written(const struct http_body *b, const struct buf *account, size_t chunk)
{
    struct buf out = BUF_INIT(TALK_MAX_BYTES), again_account = BUF_INIT(TALK_MAX_BYTES);
    struct http_body again;
    write_chunks(&out, account->data, b->content_bytes, chunk);
    CHECK(http_chunks_end(&out, b->trailers, b->trailer_count) == 0);
    CHECK(read_all(&again, out.data, out.size, chunk + 1, HTTP_BODY_ANY_LENGTH, &again_account) ==
          HTTP_DONE);
    CHECK(again.content_bytes == b->content_bytes && again.trailer_count == b->trailer_count);
    CHECK(!memcmp(again_account.data, account->data, b->content_bytes));
    for (size_t i = 0; i < b->trailer_count; i++)
        CHECK(!strcmp(again.trailers[i].name, b->trailers[i].name) &&
              !strcmp(again.trailers[i].value, b->trailers[i].value));
    http_body_done(&again);
    buf_done(&again_account);
    buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = BUF_INIT(TALK_MAX_BYTES), pieces = BUF_INIT(TALK_MAX_BYTES);
    struct http_body b, b_pieces;
    if (size < 2)
        return 0;
    const char *text = (const char *)data + 2;
    size_t piece = 1 + data[0] % 64;
    uint64_t max_bytes = data[1] == 255 ? HTTP_BODY_ANY_LENGTH : 16u * data[1];
    enum http_progress progress = read_all(&b, text, size - 2, SIZE_MAX, max_bytes, &whole);
    CHECK(read_all(&b_pieces, text, size - 2, piece, max_bytes, &pieces) == progress);
    if (progress == HTTP_DONE)
        check_written(&b, &whole, piece);
    talk_check_same(&whole, &pieces);
    http_body_done(&b);
    http_body_done(&b_pieces);
    return 0;
}
