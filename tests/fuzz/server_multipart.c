// SPDX-License-Identifier: Apache-2.0
/*
 * Bodies of type multipart/form-data: the same parts whatever the pieces they come in, no part
 * without a name, data in parts alone and within its bounds. The input is a byte for the size of
 * pieces, a Content-Type in a line of its own, and the body.
 */
#include "server/multipart.h"
#include "tests/fuzz/input.h"

#define ACCOUNT_MAX (1 << 20)

struct reading {
    struct multipart m;
    struct buf account;
    bool is_in_part, is_over, is_bad;
};

/* One event. False: the piece is used up, or nothing more is read. */
static bool step(struct reading *r, const char **at, size_t *size, size_t data_max)
{
    const char *from = *at, *data;
    size_t before = *size, data_size;
    enum multipart_event event = multipart_next(&r->m, at, size, data_max, &data, &data_size);
    CHECK(*size <= before && *at == from + (before - *size));
    switch (event) {
    case MULTIPART_MORE:
        CHECK(*size == 0);
        return false;
    case MULTIPART_BEGIN:
        CHECK(!r->is_in_part && r->m.name);
        r->is_in_part = true;
        buf_printf(&r->account, "\n[%s][%s]\n", r->m.name, r->m.filename ? r->m.filename : "");
        return true;
    case MULTIPART_DATA:
        CHECK(r->is_in_part && data_size > 0 && data_size <= data_max);
        buf_append(&r->account, data, data_size);
        return true;
    case MULTIPART_END:
        CHECK(r->is_in_part);
        r->is_in_part = false;
        return true;
    default:
        r->is_bad = true;
        return false;
    }
}

static void read_all(struct reading *r, const char *type, const char *body, size_t size,
                     size_t piece)
{
    *r = (struct reading){.account = BUF_INIT(ACCOUNT_MAX)};
    if (multipart_init(&r->m, type) < 0) {
        r->is_bad = true;
        return;
    }
    while (size > 0 && !r->is_bad) {
        size_t rest = MIN(piece, size);
        body += rest;
        size -= rest;
        const char *at = body - rest;
        while (step(r, &at, &rest, piece))
            ;
    }
    r->is_over = multipart_is_over(&r->m);
    CHECK(!r->is_over || !r->is_in_part);
    multipart_done(&r->m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading whole, pieces;
    struct input in = {data, size};
    size_t piece = 1 + input_byte(&in) % 64;
    const uint8_t *line_end = in.size ? memchr(in.data, '\n', in.size) : NULL;
    if (!line_end)
        return 0;
    char *type = input_string(&in, (size_t)(line_end - in.data));
    input_byte(&in);
    read_all(&whole, type, (const char *)in.data, in.size, SIZE_MAX);
    read_all(&pieces, type, (const char *)in.data, in.size, piece);
    CHECK(whole.is_bad == pieces.is_bad && whole.is_over == pieces.is_over);
    CHECK(whole.is_bad || whole.account.size == pieces.account.size);
    CHECK(whole.is_bad || whole.account.size == 0 ||
          !memcmp(whole.account.data, pieces.account.data, whole.account.size));
    buf_done(&whole.account);
    buf_done(&pieces.account);
    free(type);
    return 0;
}
