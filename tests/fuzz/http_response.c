// SPDX-License-Identifier: Apache-2.0
/*
 * The responses to one request, interim ones too, with the content: the same whatever the pieces.
 * And each head, when it is written anew, is read again as the same.
 */
#include "lib/http/write.h"
#include "tests/fuzz/http_talk.h"

static const char *const methods[] = {"GET", "HEAD", "CONNECT", "POST"};

static void add_head(struct buf *account, const struct http_response *r)
{
    buf_printf(account, "%u %s version %d persists %d upgrade %s\n", r->status, r->reason,
               r->version, r->persists, r->upgrade ? r->upgrade : "-");
    talk_fields(account, r->fields, r->field_count);
    talk_framing(account, &r->framing);
}

static void check_written(struct http_response *r, const char *method)
{
    struct buf out = BUF_INIT(TALK_MAX_BYTES), before = BUF_INIT(TALK_MAX_BYTES);
    struct buf after = BUF_INIT(TALK_MAX_BYTES);
    struct http_response_parser again;
    size_t taken;
    r->field_count = http_fields_forward(r->fields, r->field_count);
    struct http_response_head head = http_response_head_of(r);
    CHECK(http_response_write(&out, &head) == 0);
    http_response_init(&again, &TALK_LIMITS_OF_WRITTEN);
    http_response_expect(&again, method, true);
    CHECK(http_response_take(&again, out.data, out.size, &taken) == HTTP_DONE);
    CHECK(taken == out.size);
    struct http_response *w = &again.response;
    CHECK(w->status == r->status && !strcmp(w->reason, r->reason) && w->persists == r->persists);
    CHECK(!r->upgrade == !w->upgrade && (!r->upgrade || !strcmp(r->upgrade, w->upgrade)));
    w->field_count = http_fields_forward(w->fields, w->field_count);
    talk_fields(&before, r->fields, r->field_count);
    talk_framing(&before, &r->framing);
    talk_fields(&after, w->fields, w->field_count);
    talk_framing(&after, &w->framing);
    talk_check_same(&before, &after);
    http_response_done(&again);
    buf_done(&out);
}

/* How a request is answered: by interim heads, a final one, and its content. */
static void read_all(const char *data, size_t size, size_t piece, uint8_t how, struct buf *account)
{
    struct http_response_parser p;
    struct http_body body = {0};
    const char *method = methods[how % ARRAY_SIZE(methods)];
    size_t at = 0, end = 0, taken;
    bool is_in_body = false;
    enum http_progress progress = HTTP_MORE;
    http_response_init(&p, NULL);
    http_response_expect(&p, method, how & 4);
    while (progress == HTTP_MORE && at < size) {
        if (at == end)
            end = at + MIN(piece, size - at);
        if (is_in_body)
            progress = talk_body(account, &body, data + at, end - at, &taken);
        else
            progress = http_response_take(&p, data + at, end - at, &taken);
        at += taken;
        if (is_in_body || progress != HTTP_DONE)
            continue;
        bool is_interim = http_response_is_interim(&p.response);
        add_head(account, &p.response);
        check_written(&p.response, method);
        is_in_body = !is_interim;
        if (is_interim) {
            http_response_next(&p);
            progress = HTTP_MORE;
        } else {
            http_body_init(&body, &p.response.framing, 100000);
            progress = talk_body(account, &body, NULL, 0, &taken);
        }
    }
    buf_printf(account, "at %zu, %s, end %d\n", at, http_error_words(p.error),
               is_in_body ? (int)http_body_end(&body) : -1);
    http_response_done(&p);
    http_body_done(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = BUF_INIT(TALK_MAX_BYTES), pieces = BUF_INIT(TALK_MAX_BYTES);
    if (size < 2)
        return 0;
    read_all((const char *)data + 2, size - 2, SIZE_MAX, data[1], &whole);
    read_all((const char *)data + 2, size - 2, 1 + data[0] % 64, data[1], &pieces);
    talk_check_same(&whole, &pieces);
    return 0;
}
