// SPDX-License-Identifier: Apache-2.0
/*
 * Content of requests and of answers, with two secrets: what comes out does not depend on the
 * pieces; a placeholder never goes where it may not, and no value comes back.
 *
 *   byte 0: bytes of a piece, less 1; then the content
 */
#include "lib/secret/secrets.h"
#include "tests/fuzz/input.h"

#define A_VALUE       "s3cret/\"A\""
#define A_PLACEHOLDER "fake-AAAA"
#define B_VALUE       "~value~B"
#define B_PLACEHOLDER "fake-BBBB"
#define OUT_MAX_BYTES (1 << 22)

static const struct secrets_request to_a = {"a.test", 443, "POST", "/", true};

static struct secrets *make(struct policy **ret)
{
    static const char document[] =
        "{\"version\":1,\"secrets\":{"
        "\"A\":{\"source\":{\"env\":\"A\"},\"allow\":{\"hosts\":[\"a.test\"]},"
        "\"inject\":{\"body\":true,\"query\":true}},"
        "\"B\":{\"source\":{\"env\":\"B\"},\"allow\":{\"hosts\":[\"b.test\"]}}}}";
    static const struct secret_value values[] = {
        {"A", A_PLACEHOLDER, A_VALUE, sizeof(A_VALUE) - 1},
        {"B", B_PLACEHOLDER, B_VALUE, sizeof(B_VALUE) - 1},
    };
    struct policy_error wrong;
    struct secret_error e;
    struct secrets *s = NULL;
    *ret = policy_parse(document, strlen(document), &wrong);
    CHECK(*ret && secrets_new(policy_get_document(*ret), values, 2, &s, &e) == 0);
    return s;
}

static bool has(const void *data, size_t size, const char *word)
{
    return size > 0 && memmem(data, size, word, strlen(word));
}

static int send_content(struct secrets *s, const char *type, const struct input *in, size_t piece,
                        struct buf *out)
{
    struct secrets_exchange x;
    struct secrets_body b;
    int r = 0;
    secrets_begin(&x, s, &to_a);
    secrets_body_begin(&b, &x, type, false);
    for (size_t at = 0; at < in->size && r == 0; at += piece)
        r = secrets_body_take(&b, in->data + at, MIN(piece, in->size - at), out);
    if (r == 0)
        r = secrets_body_end(&b, out);
    CHECK(r == 0 || r == -EACCES);
    CHECK(!has(out->data, out->size, B_PLACEHOLDER) && x.allowed == 1);
    CHECK(!(x.used & ~x.allowed));
    secrets_end(&x);
    return r;
}

static void check_sent(struct secrets *s, const char *type, const struct input *in, size_t piece)
{
    struct buf whole = BUF_INIT(OUT_MAX_BYTES), pieces = BUF_INIT(OUT_MAX_BYTES);
    struct secrets_exchange x;
    struct secrets_violation violation;
    int r = send_content(s, type, in, SIZE_MAX / 2, &whole);
    CHECK(send_content(s, type, in, piece, &pieces) == r);
    CHECK(r < 0 || (whole.size == pieces.size &&
                    (whole.size == 0 || !memcmp(whole.data, pieces.data, whole.size))));
    secrets_begin(&x, s, &to_a);
    secrets_check(&x, (const char *)in->data, in->size);
    CHECK(secrets_get_violation(&x, &violation) == (r < 0));
    CHECK(r < 0 || !has(in->data, in->size, B_PLACEHOLDER));
    secrets_end(&x);
    buf_done(&whole);
    buf_done(&pieces);
}

static void scrub(struct secrets *s, const struct input *in, size_t piece, struct buf *out)
{
    struct secrets_exchange x;
    struct secrets_scrub c;
    secrets_begin(&x, s, &to_a);
    secrets_scrub_begin(&c, &x);
    for (size_t at = 0; at < in->size; at += piece)
        CHECK(secrets_scrub_take(&c, in->data + at, MIN(piece, in->size - at), out) == 0);
    CHECK(secrets_scrub_end(&c, out) == 0);
    CHECK(!has(out->data, out->size, A_VALUE) && !has(out->data, out->size, B_VALUE));
    secrets_end(&x);
}

/* A field or query: filled in, it holds no more than it did but values. */
static void check_field(struct secrets *s, const struct input *in)
{
    struct input copy = *in;
    char *text = input_string(&copy, 4096);
    struct secrets_exchange x;
    struct buf out = BUF_INIT(OUT_MAX_BYTES);
    secrets_begin(&x, s, &to_a);
    secrets_check_field(&x, "authorization", text);
    int r = secrets_fill_field(&x, "authorization", text, &out);
    CHECK(r == -E2BIG || r == (out.size > 0));
    buf_reset(&out);
    r = secrets_fill_query(&x, text, &out);
    CHECK(r == -E2BIG || r == (out.size > 0));
    CHECK(!(x.used & ~x.allowed));
    secrets_end(&x);
    buf_done(&out);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {NULL, "application/json",
                                        "application/x-www-form-urlencoded"};
    struct input in = {data, size};
    struct policy *p;
    struct secrets *s = make(&p);
    size_t piece = 1 + (size_t)input_byte(&in);
    struct buf whole = BUF_INIT(OUT_MAX_BYTES), pieces = BUF_INIT(OUT_MAX_BYTES);
    check_sent(s, types[piece % 3], &in, piece);
    check_field(s, &in);
    scrub(s, &in, SIZE_MAX / 2, &whole);
    scrub(s, &in, piece, &pieces);
    CHECK(whole.size == pieces.size &&
          (whole.size == 0 || !memcmp(whole.data, pieces.data, whole.size)));
    buf_done(&whole);
    buf_done(&pieces);
    secrets_put(s);
    policy_free(p);
    return 0;
}
