// SPDX-License-Identifier: Apache-2.0
/*
 * Requests of one connection with what follows them: the same whatever the pieces. And each head,
 * when it is written anew, is read again as the same.
 */
#include "lib/http/write.h"
#include "tests/fuzz/http_talk.h"

static void add_head(struct buf *account, const struct http_request *r)
{
    buf_printf(account, "%s %s %s?%s form %d version %d flags %d%d upgrade %s\n", r->method,
               r->target, r->path, r->query ? r->query : "-", r->form, r->version, r->persists,
               r->expects_continue, r->upgrade ? r->upgrade : "-");
    buf_printf(account, "%s://%s:%u\n", r->scheme ? r->scheme : "-",
               r->authority.host ? r->authority.host : "-", (unsigned)r->authority.port);
    talk_fields(account, r->fields, r->field_count);
    talk_framing(account, &r->framing);
}

static bool same_string(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static void check_written(struct http_request *r)
{
    struct buf out = BUF_INIT(TALK_MAX_BYTES), before = BUF_INIT(TALK_MAX_BYTES);
    struct buf after = BUF_INIT(TALK_MAX_BYTES);
    struct http_request_parser again;
    size_t taken;
    r->field_count = http_fields_forward(r->fields, r->field_count);
    struct http_request_head head = http_request_head_of(r);
    if (!r->authority.host) {
        CHECK(http_request_write(&out, &head) == -EINVAL);
        head.authority.host = "name.test";
    }
    CHECK(http_request_write(&out, &head) == 0);
    http_request_init(&again, &TALK_LIMITS_OF_WRITTEN);
    CHECK(http_request_take(&again, out.data, out.size, &taken) == HTTP_DONE);
    CHECK(taken == out.size);
    struct http_request *w = &again.request;
    CHECK(same_string(w->method, r->method) && same_string(w->path, r->path));
    CHECK(same_string(w->query, r->query) && same_string(w->upgrade, r->upgrade));
    CHECK(same_string(w->authority.host, head.authority.host));
    CHECK(w->authority.port == head.authority.port && w->persists == r->persists);
    w->field_count = http_fields_forward(w->fields, w->field_count);
    talk_fields(&before, r->fields, r->field_count);
    talk_framing(&before, &r->framing);
    talk_fields(&after, w->fields, w->field_count);
    talk_framing(&after, &w->framing);
    talk_check_same(&before, &after);
    http_request_done(&again);
    buf_done(&out);
}

struct talk {
    struct http_request_parser head;
    struct http_body body;
    bool is_in_body, is_over;
    unsigned messages;
};

/* A head or a body is complete: what is read next. */
static void advance(struct talk *t, struct buf *account, enum http_progress progress)
{
    if (progress == HTTP_FAILED) {
        t->is_over = true;
    } else if (t->is_in_body) {
        http_body_done(&t->body);
        http_request_reset(&t->head);
        t->is_in_body = false;
        t->is_over = ++t->messages == TALK_MESSAGES_MAX;
    } else {
        size_t taken;
        add_head(account, &t->head.request);
        http_body_init(&t->body, &t->head.request.framing, 100000);
        check_written(&t->head.request);
        t->is_in_body = true;
        progress = talk_body(account, &t->body, NULL, 0, &taken);
        if (progress != HTTP_MORE)
            advance(t, account, progress);
    }
}

static void read_all(const char *data, size_t size, size_t piece, struct buf *account)
{
    struct talk t = {0};
    size_t at = 0, end = 0;
    http_request_init(&t.head, NULL);
    while (!t.is_over && at < size) {
        size_t taken;
        enum http_progress progress;
        if (at == end)
            end = at + MIN(piece, size - at);
        if (t.is_in_body)
            progress = talk_body(account, &t.body, data + at, end - at, &taken);
        else
            progress = http_request_take(&t.head, data + at, end - at, &taken);
        at += taken;
        if (!t.is_in_body)
            CHECK(progress != HTTP_MORE || at == end);
        if (progress != HTTP_MORE)
            advance(&t, account, progress);
    }
    buf_printf(account, "at %zu, %s\n", at, http_error_words(t.head.error));
    http_request_done(&t.head);
    http_body_done(&t.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = BUF_INIT(TALK_MAX_BYTES), pieces = BUF_INIT(TALK_MAX_BYTES);
    if (size < 1)
        return 0;
    read_all((const char *)data + 1, size - 1, SIZE_MAX, &whole);
    read_all((const char *)data + 1, size - 1, 1 + data[0] % 64, &pieces);
    talk_check_same(&whole, &pieces);
    return 0;
}
