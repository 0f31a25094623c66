// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for bodies of uploads (server/upload_source.c,
 * multipart.c): the first byte says which type and encoding, the second how
 * large the pieces are.
 *
 * What must hold: the outcome does not depend on the pieces; files begin and
 * end in turn; no more comes out of what is not compressed than went in.
 */
#include "server/upload_source.h"
#include "tests/fuzz/input.h"

static void note(struct buf *out, enum upload_event event, const char *text)
{
    buf_printf(out, "%d%s", (int)event, text ? text : "");
}

static void read_all(const uint8_t *data, size_t size, uint8_t what, size_t piece, struct buf *out)
{
    struct upload_source s;
    const char *type = what & 1 ? "multipart/form-data; boundary=b" : "application/octet-stream";
    const char *bytes;
    size_t got, at = 0, total = 0;
    bool is_in_file = false;
    CHECK(upload_source_init(&s, type, what & 2 ? "gzip" : NULL) == 0);
    for (;;) {
        enum upload_event event = upload_source_next(&s, 1 + piece, &bytes, &got);
        if (event == UPLOAD_MORE && at == size) {
            upload_source_end(&s);
        } else if (event == UPLOAD_MORE) {
            size_t part = MIN(piece, size - at);
            CHECK(upload_source_give(&s, (const char *)data + at, part) == 0);
            at += part;
        } else if (event == UPLOAD_DATA) {
            CHECK(is_in_file && got >= 1 && got <= 1 + piece);
            total += got;
            CHECK(what & 2 || total <= size);
            buf_append(out, bytes, got);
        } else if (event == UPLOAD_BEGIN) {
            CHECK(!is_in_file);
            is_in_file = true;
            note(out, event, upload_source_filename(&s));
        } else if (event == UPLOAD_END) {
            CHECK(is_in_file);
            is_in_file = false;
            note(out, event, NULL);
        } else {
            CHECK(event == UPLOAD_OVER ? !is_in_file && !s.why : s.why != NULL);
            note(out, event, s.why);
            break;
        }
    }
    upload_source_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    uint8_t what = input_byte(&in), piece = input_byte(&in);
    struct buf whole = BUF_INIT(1 << 24), pieces = BUF_INIT(1 << 24);
    read_all(in.data, in.size, what, in.size + 1, &whole);
    read_all(in.data, in.size, what, 1U + piece, &pieces);
    CHECK(whole.failed || pieces.failed ||
          (whole.size == pieces.size && !memcmp(whole.data, pieces.data, whole.size)));
    buf_done(&whole);
    buf_done(&pieces);
    return 0;
}
