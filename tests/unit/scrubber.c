// SPDX-License-Identifier: Apache-2.0
#include "lib/secret/file.h"
#include "sandbox/memory_file.h"
#include "sandbox/relay.h"
#include "sandbox/scrubber.h"
#include "sandbox/secrets.h"
#include "tests/harness/harness.h"

#include <fcntl.h>

#define VALUE  "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
#define BASE64 "Z2hwX2FCM2RFNWdIN2pLOW1OMXBRM3NUNXZXN3laOWJDMWRFM2ZHNQ"
#define OTHER  "correct horse/battery"

#define DOCUMENT                                               \
    "{\"version\":1,\"secrets\":{"                             \
    "\"A\":{\"source\":{\"literal\":\"" VALUE                  \
    "\"},\"env\":[\"A\"],\"allow\":{\"hosts\":[\"a.test\"]}}," \
    "\"B\":{\"source\":{\"literal\":\"" OTHER                  \
    "\"},\"env\":[\"B\"],\"allow\":{\"hosts\":[\"a.test\"]}}}}"

static struct sandbox_spec spec;
static struct sandbox_error error;

static struct scrubber *new_scrubber(void)
{
    struct scrubber *s = NULL;
    spec.policy = strdup(DOCUMENT);
    ASSERT_EQ(sandbox_secrets_load(&spec, &error), 0);
    ASSERT_EQ(scrubber_new(&spec, &s, &error), 0);
    ASSERT_TRUE(s != NULL);
    return s;
}

static void free_scrubber(struct scrubber *s)
{
    scrubber_free(s);
    sandbox_spec_done(&spec);
}

static const char *placeholder(const char *name)
{
    const char *text = strv_env_get(&spec.env, name);
    ASSERT_TRUE(text != NULL);
    return text;
}

/* What comes of text in pieces of those sizes, which are taken in turn. */
static void scrub(struct scrubber *s, const char *text, bool is_awaited, const size_t sizes[2],
                  struct buf *out)
{
    struct scrub_stream stream;
    size_t left = strlen(text);
    buf_reset(out);
    scrub_stream_begin(&stream, s, is_awaited);
    for (int i = 0; left > 0; i ^= 1) {
        size_t size = MIN(sizes[i], left);
        ASSERT_EQ(scrub_stream_take(&stream, text, size, out), 0);
        text += size;
        left -= size;
    }
    ASSERT_EQ(scrub_stream_end(&stream, out), 0);
    scrub_stream_done(&stream);
}

static void expect_scrubbed(struct scrubber *s, const char *text, const char *expected)
{
    struct buf out = BUF_INIT(1 << 20);
    for (size_t a = 1; a <= strlen(text); a++)
        for (size_t b = 1; b <= 7; b += 3) {
            const size_t sizes[2] = {a, b};
            scrub(s, text, false, sizes, &out);
            EXPECT_STR(out.data ? out.data : "", expected);
            scrub(s, text, true, sizes, &out);
            EXPECT_EQ(out.size, strlen(expected));
            EXPECT_TRUE(!strstr(out.data, VALUE) && !strstr(out.data, OTHER) &&
                        !strstr(out.data, BASE64));
        }
    buf_done(&out);
}

TEST(a_value_never_comes_out_however_it_is_cut)
{
    struct scrubber *s = new_scrubber();
    char text[512], expected[512];
    snprintf(text, sizeof(text), "<%s|%s>\n%s%s", VALUE, OTHER, VALUE, VALUE);
    snprintf(expected, sizeof(expected), "<%s|%s>\n%s%s", placeholder("A"), placeholder("B"),
             placeholder("A"), placeholder("A"));
    expect_scrubbed(s, text, expected);
    free_scrubber(s);
}

TEST(beginnings_of_values_come_out_in_the_end)
{
    struct scrubber *s = new_scrubber();
    expect_scrubbed(s, "ghp_aB3dE5g", "ghp_aB3dE5g");
    expect_scrubbed(s, "ghp_ghp_aB3dE5gH7jK ghp", "ghp_ghp_aB3dE5gH7jK ghp");
    expect_scrubbed(s, "ccorrect horse/batter!", "ccorrect horse/batter!");
    expect_scrubbed(s, "", "");
    free_scrubber(s);
}

TEST(other_forms_are_found_too)
{
    struct scrubber *s = new_scrubber();
    struct buf out = BUF_INIT(1 << 20);
    static const char *const forms[] = {BASE64, "correct%20horse%2Fbattery",
                                        "correct+horse%2Fbattery", "correct horse\\/battery",
                                        "636f727265637420686f7273652f62617474657279"};
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        for (size_t size = 1; size < strlen(forms[i]); size++) {
            const size_t sizes[2] = {size, 1};
            scrub(s, forms[i], true, sizes, &out);
            EXPECT_TRUE(!strstr(out.data, forms[i]));
        }
    buf_done(&out);
    free_scrubber(s);
}

/* Who is slow gets no more of it than the first bytes. */
TEST(only_the_first_bytes_come_before_it_is_decided)
{
    struct scrubber *s = new_scrubber();
    struct buf out = BUF_INIT(1 << 20);
    struct scrub_stream stream;
    scrub_stream_begin(&stream, s, true);
    ASSERT_EQ(scrub_stream_take(&stream, "Password: g", 11, &out), 0);
    EXPECT_STR(out.data, "Password: g");
    for (size_t i = 1; i + 1 < strlen(VALUE); i++)
        ASSERT_EQ(scrub_stream_take(&stream, VALUE + i, 1, &out), 0);
    EXPECT_STR(out.data, "Password: ghp");
    ASSERT_EQ(scrub_stream_take(&stream, "!", 1, &out), 0);
    EXPECT_EQ(out.size, strlen("Password: ") + strlen(VALUE));
    scrub_stream_done(&stream);
    buf_reset(&out);
    scrub_stream_begin(&stream, s, false);
    ASSERT_EQ(scrub_stream_take(&stream, "Password: g", 11, &out), 0);
    EXPECT_STR(out.data, "Password: ");
    scrub_stream_done(&stream);
    buf_done(&out);
    free_scrubber(s);
}

/* Feeds text, of which all that waits is let out behind the first `at` bytes, and `again`. */
static void let_out_at(struct scrubber *s, const char *text, size_t at, size_t again,
                       struct buf *out)
{
    struct scrub_stream stream;
    size_t size = strlen(text);
    buf_reset(out);
    scrub_stream_begin_connection(&stream, s);
    for (size_t i = 0; i < size; i++) {
        ASSERT_EQ(scrub_stream_take(&stream, text + i, 1, out), 0);
        EXPECT_TRUE(out->size <= i + 1);
        if (i + 1 != at && i + 1 != again)
            continue;
        ASSERT_EQ(scrub_stream_let_out(&stream, out), 0);
        EXPECT_EQ(out->size, i + 1);
    }
    ASSERT_EQ(scrub_stream_end(&stream, out), 0);
    EXPECT_EQ(out->size, size);
    scrub_stream_done(&stream);
}

TEST(what_waits_on_a_connection_is_let_out_and_the_rest_is_replaced)
{
    struct scrubber *s = new_scrubber();
    struct buf out = BUF_INIT(1 << 20);
    const char *text = "<" VALUE ">" VALUE "|" OTHER "." BASE64 "ghp_aB3correct hors";
    const size_t whole = 1 + strlen(VALUE); /* bytes, and the first value is */
    for (size_t at = 0; at <= strlen(text); at++) {
        let_out_at(s, text, at, at / 2, &out);
        /* What was let out of a value is its beginning, and what is behind that is replaced. */
        size_t told = at < whole ? at : at / 2 < whole ? at / 2 : 0;
        told = MAX(told, 1 + (size_t)SCRUB_EARLY_BYTES);
        EXPECT_EQ(memcmp(out.data, text, told), 0);
        EXPECT_EQ(memcmp(out.data + told, placeholder("A") + told - 1, whole - told), 0);
        EXPECT_EQ(out.data[whole], '>');
        EXPECT_STR(out.data + out.size - strlen("ghp_aB3correct hors"), "ghp_aB3correct hors");
    }
    let_out_at(s, text, 0, 0, &out);
    EXPECT_TRUE(!strstr(out.data, VALUE) && !strstr(out.data, OTHER) && !strstr(out.data, BASE64));
    buf_done(&out);
    free_scrubber(s);
}

TEST(texts_are_replaced_whole)
{
    struct scrubber *s = new_scrubber();
    size_t size = strlen("x" VALUE);
    const char *text = scrubber_replace(s, "x" VALUE, &size);
    EXPECT_EQ(size, strlen(placeholder("A")) + 1);
    EXPECT_TRUE(!memcmp(text + 1, placeholder("A"), size - 1));
    size = 3;
    EXPECT_STR(scrubber_replace(NULL, "abc", &size), "abc");
    EXPECT_EQ(size, 3u);
    free_scrubber(s);
}

static void renew(struct scrubber *s, const char *value)
{
    const struct secret_value v = {
        .name = "A", .placeholder = placeholder("A"), .value = value, .size = strlen(value)};
    char file[4096];
    size_t size = secret_file_size(&v, 1);
    ASSERT_TRUE(size <= sizeof(file));
    secret_file_write(&v, 1, file);
    int fd = memory_file_new("renewed", file, size);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(scrubber_renew(s, fd, &error), 0);
    close(fd);
    scrubber_settle(s, true);
}

/* Each value in two pieces, with the renewal of another one between them. */
TEST(a_new_value_is_found_and_the_old_one_still)
{
    struct scrubber *s = new_scrubber();
    struct buf out = BUF_INIT(1 << 20);
    struct scrub_stream stream;
    scrub_stream_begin(&stream, s, true);
    ASSERT_EQ(scrub_stream_take(&stream, VALUE, 20, &out), 0);
    for (int i = 0; i < 2 * SCRUB_GENERATIONS_MAX; i++) {
        char value[64];
        snprintf(value, sizeof(value), "ghp_%032dnew", i);
        renew(s, value);
        if (i == 0)
            ASSERT_EQ(scrub_stream_take(&stream, VALUE + 20, strlen(VALUE) - 20, &out), 0);
        ASSERT_EQ(scrub_stream_take(&stream, value, strlen(value), &out), 0);
        size_t size = strlen(value);
        EXPECT_TRUE(!memmem(scrubber_replace(s, value, &size), size, value, strlen(value)));
    }
    ASSERT_EQ(scrub_stream_take(&stream, OTHER, strlen(OTHER), &out), 0);
    ASSERT_EQ(scrub_stream_end(&stream, &out), 0);
    scrub_stream_done(&stream);
    EXPECT_TRUE(!strstr(out.data, VALUE) && !strstr(out.data, OTHER));
    /* Of the new ones; placeholders are random, and no three letters are safe from them. */
    EXPECT_TRUE(!strstr(out.data, "00000000000000000000"));
    buf_done(&out);
    size_t size = 1;
    EXPECT_LT(scrubber_renew(s, -1, &error), 0);
    EXPECT_STR(scrubber_replace(s, "x", &size), "x");
    free_scrubber(s);
}

#define SECRETS_MAX 8

/* A document with those first of N0 to N7, and those of which is_there has a bit of. */
static void make_document(unsigned is_there, struct buf *ret)
{
    const char *comma = "";
    buf_reset(ret);
    buf_printf(ret, "{\"version\":1,\"secrets\":{");
    for (unsigned i = 0; i < SECRETS_MAX; i++) {
        if (!(is_there & 1u << i))
            continue;
        buf_printf(ret,
                   "%s\"N%u\":{\"source\":{\"env\":\"N%u\"},\"allow\":{\"hosts\":[\"a.test\"]}}",
                   comma, i, i);
        comma = ",";
    }
    buf_printf(ret, "}}");
}

static const char *value_of(unsigned i)
{
    static char text[32];
    snprintf(text, sizeof(text), "%u-value-of-this-one-%u", i, i);
    return text;
}

/* Asks for a document, with the values of those of which is_new has a bit. */
static int change(struct scrubber *s, unsigned is_there, unsigned is_new)
{
    struct buf document = BUF_INIT(1 << 16);
    struct secret_value values[SECRETS_MAX];
    char names[SECRETS_MAX][8], placeholders[SECRETS_MAX][32], texts[SECRETS_MAX][32];
    char file[4096];
    size_t count = 0;
    make_document(is_there, &document);
    for (unsigned i = 0; i < SECRETS_MAX; i++) {
        if (!(is_new & 1u << i))
            continue;
        snprintf(names[i], sizeof(names[i]), "N%u", i);
        snprintf(placeholders[i], sizeof(placeholders[i]), "placeholder-%u", i);
        snprintf(texts[i], sizeof(texts[i]), "%s", value_of(i));
        values[count++] =
            (struct secret_value){names[i], placeholders[i], texts[i], strlen(texts[i])};
    }
    size_t size = count ? secret_file_size(values, count) : 0;
    ASSERT_TRUE(size <= sizeof(file));
    if (count)
        secret_file_write(values, count, file);
    int r = scrubber_change(s, document.data, document.size, file, size, &error);
    buf_done(&document);
    return r;
}

static struct scrubber *new_idle(void)
{
    struct scrubber *s = NULL;
    spec.policy = strdup("{\"version\":1}");
    ASSERT_EQ(sandbox_secrets_load(&spec, &error), 0);
    ASSERT_EQ(scrubber_new(&spec, &s, &error), 0);
    ASSERT_TRUE(s && scrubber_is_idle(s) && scrubber_is_idle(NULL));
    return s;
}

static bool is_found(struct scrubber *s, unsigned i)
{
    char text[32];
    size_t size = (size_t)snprintf(text, sizeof(text), "%s", value_of(i));
    size_t before = size;
    const char *said = scrubber_replace(s, text, &size);
    return size != before || memcmp(said, text, size) != 0;
}

/* The i-th value on a stream, of which the others know. */
static bool is_found_on(struct scrub_stream *stream, unsigned i)
{
    struct buf out = BUF_INIT(1 << 16);
    const char *value = value_of(i);
    size_t half = strlen(value) / 2;
    ASSERT_EQ(scrub_stream_take(stream, value, half, &out), 0);
    ASSERT_EQ(scrub_stream_take(stream, value + half, strlen(value) - half, &out), 0);
    ASSERT_EQ(scrub_stream_take(stream, "||||||||||||||||||||||||||||||||||||||||", 40, &out), 0);
    bool is_found = !memmem(out.data, out.size, value_of(i), strlen(value_of(i)));
    buf_done(&out);
    return is_found;
}

TEST(secrets_come_one_by_one_and_all_are_found)
{
    struct scrubber *s = new_idle();
    struct scrub_stream stream;
    scrub_stream_begin(&stream, s, false);
    for (unsigned i = 0; i < SECRETS_MAX; i++) {
        EXPECT_TRUE(!is_found(s, i) && !is_found_on(&stream, i));
        ASSERT_EQ(change(s, (2u << i) - 1, 1u << i), 1);
        EXPECT_TRUE(is_found(s, i) && is_found_on(&stream, i));
        scrubber_settle(s, true);
        EXPECT_TRUE(!scrubber_is_idle(s));
        for (unsigned k = 0; k <= i; k++)
            EXPECT_TRUE(is_found(s, k) && is_found_on(&stream, k));
    }
    scrub_stream_done(&stream);
    free_scrubber(s);
}

/* What it says of the old ones may already be known of the new ones: the beginning of a value. */
TEST(a_value_that_comes_while_it_is_said)
{
    struct scrubber *s = new_idle();
    struct scrub_stream stream;
    struct buf out = BUF_INIT(1 << 16);
    scrub_stream_begin(&stream, s, false);
    ASSERT_EQ(change(s, 1, 1), 1);
    scrubber_settle(s, true);
    for (unsigned i = 1; i < SECRETS_MAX; i++) {
        ASSERT_EQ(scrub_stream_take(&stream, value_of(0), 8, &out), 0);
        ASSERT_EQ(change(s, (2u << i) - 1, 1u << i), 1);
        scrubber_settle(s, true);
        ASSERT_EQ(scrub_stream_take(&stream, value_of(0) + 8, strlen(value_of(0)) - 8, &out), 0);
    }
    ASSERT_EQ(scrub_stream_end(&stream, &out), 0);
    EXPECT_TRUE(!memmem(out.data, out.size, value_of(0), strlen(value_of(0))));
    EXPECT_EQ(out.size, (SECRETS_MAX - 1) * strlen("placeholder-0"));
    scrub_stream_done(&stream);
    buf_done(&out);
    free_scrubber(s);
}

TEST(what_is_refused_is_forgotten)
{
    struct scrubber *s = new_idle();
    struct scrub_stream stream;
    scrub_stream_begin(&stream, s, false);
    ASSERT_EQ(change(s, 1, 1), 1);
    scrubber_settle(s, true);
    for (int turn = 0; turn < 2 * SCRUB_STAGES_MAX; turn++) {
        ASSERT_EQ(change(s, 3, 2), 1);
        EXPECT_TRUE(is_found(s, 1) && is_found_on(&stream, 1));
        EXPECT_TRUE(scrubber_secrets(s, true) != scrubber_secrets(s, false));
        scrubber_settle(s, false);
        EXPECT_TRUE(scrubber_secrets(s, true) == NULL);
        EXPECT_TRUE(!is_found(s, 1) && is_found(s, 0) && is_found_on(&stream, 0));
    }
    ASSERT_EQ(change(s, 3, 2), 1);
    scrubber_settle(s, true);
    EXPECT_TRUE(is_found(s, 1) && is_found_on(&stream, 1) && is_found(s, 0));
    scrub_stream_done(&stream);
    free_scrubber(s);
}

TEST(what_is_taken_away_is_found_still)
{
    struct scrubber *s = new_idle();
    struct scrub_stream stream;
    scrub_stream_begin(&stream, s, false);
    ASSERT_EQ(change(s, 3, 3), 1);
    scrubber_settle(s, true);
    ASSERT_EQ(change(s, 2, 0), 1);
    scrubber_settle(s, true);
    for (unsigned i = 2; i < SECRETS_MAX; i++) {
        ASSERT_EQ(change(s, (2u << i) - 2, 1u << i), 1);
        scrubber_settle(s, true);
        EXPECT_TRUE(is_found(s, 0) && is_found_on(&stream, 0));
    }
    ASSERT_EQ(change(s, 0, 0), 1);
    scrubber_settle(s, true);
    EXPECT_TRUE(scrubber_secrets(s, false) == NULL);
    for (unsigned i = 0; i < SECRETS_MAX; i++)
        EXPECT_TRUE(is_found(s, i) && is_found_on(&stream, i));
    scrub_stream_done(&stream);
    free_scrubber(s);
}

TEST(changes_that_can_not_be)
{
    struct scrubber *s = new_idle();
    EXPECT_EQ(change(s, 0, 0), 0);
    EXPECT_EQ(change(s, 1, 0), -EINVAL); /* without a value */
    EXPECT_EQ(change(s, 1, 3), -EINVAL); /* with one more */
    EXPECT_EQ(scrubber_change(s, "{", 1, NULL, 0, &error), -EINVAL);
    EXPECT_TRUE(scrubber_is_idle(s));
    ASSERT_EQ(change(s, 1, 1), 1);
    scrubber_settle(s, true);
    EXPECT_EQ(change(s, 1, 0), 0);
    EXPECT_EQ(change(s, 3, 3), -EINVAL); /* with one that it has */
    EXPECT_EQ(change(s, 3, 0), -EINVAL);
    scrubber_settle(s, true); /* there is nothing to settle */
    EXPECT_TRUE(is_found(s, 0) && !is_found(s, 1));
    scrubber_settle(NULL, true);
    free_scrubber(s);
}

TEST(without_secrets_there_is_no_scrubber)
{
    struct sandbox_spec none = {0};
    struct scrubber *s = (struct scrubber *)&none;
    ASSERT_EQ(scrubber_new(&none, &s, &error), 0);
    EXPECT_TRUE(s == NULL);
    struct relay r;
    ASSERT_EQ(relay_init(&r, -1, -1, NULL, NULL), 0);
    relay_scrub(&r, NULL);
    EXPECT_TRUE(r.scrubber == NULL);
    relay_done(&r);
}

static void step(struct relay *r)
{
    struct pollfd p[2] = {{.fd = r->source, .events = relay_source_events(r)},
                          {.fd = r->sink.fd, .events = relay_sink_events(r)}};
    poll(p, 2, 0);
    relay_step(r, p[0].events ? p[0].revents : 0, p[1].events ? p[1].revents : 0);
}

/* More than a pipe holds, to a reader who comes late, and the end of what is shown behind it. */
static void relay_much(const struct text_style *style)
{
    struct scrubber *s = new_scrubber();
    struct relay r;
    struct buf got = BUF_INIT(1 << 24);
    int in[2], out[2];
    char piece[70000];
    size_t sent = 0, total = 3000;
    ASSERT_EQ(pipe2(in, O_NONBLOCK), 0);
    ASSERT_EQ(pipe2(out, O_NONBLOCK), 0);
    ASSERT_EQ(relay_init(&r, in[0], out[1], NULL, NULL), 0);
    relay_show(&r, style);
    relay_scrub(&r, s);
    while (!r.done) {
        for (; sent < total && write(in[1], VALUE "\n", strlen(VALUE) + 1) > 0; sent++)
            ;
        if (sent == total && in[1] >= 0 && write(in[1], "ghp_aB3", 7) == 7) {
            close(in[1]);
            in[1] = -1;
        }
        for (int i = 0; i < 100; i++)
            step(&r);
        ssize_t n = read(out[0], piece, sizeof(piece));
        if (n > 0)
            buf_append(&got, piece, (size_t)n);
    }
    for (ssize_t n; relay_done(&r), (n = read(out[0], piece, sizeof(piece))) > 0;)
        buf_append(&got, piece, (size_t)n);
    EXPECT_TRUE(!strstr(got.data, "ghp_aB3d"));
    size_t lines = 0;
    for (const char *at = got.data; (at = strstr(at, placeholder("A"))) != NULL; at++)
        lines++;
    EXPECT_EQ(lines, total);
    EXPECT_TRUE(strstr(got.data, "\nghp_aB3") != NULL);
    buf_done(&got);
    free_scrubber(s);
}

TEST(a_relay_scrubs_what_it_carries)
{
    relay_much(NULL);
}

TEST(a_relay_scrubs_before_it_shows)
{
    relay_much(&text_style_plain);
}
