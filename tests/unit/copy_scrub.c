// SPDX-License-Identifier: Apache-2.0
#include "sandbox/copy_scrub.h"
#include "sandbox/secrets.h"
#include "tests/harness/harness.h"

#define VALUE "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
#define OTHER "correct horse/battery"

#define DOCUMENT                                               \
    "{\"version\":1,\"secrets\":{"                             \
    "\"A\":{\"source\":{\"literal\":\"" VALUE                  \
    "\"},\"env\":[\"A\"],\"allow\":{\"hosts\":[\"a.test\"]}}," \
    "\"B\":{\"source\":{\"literal\":\"" OTHER                  \
    "\"},\"env\":[\"B\"],\"allow\":{\"hosts\":[\"a.test\"]}}}}"

static struct sandbox_spec spec;
static struct scrubber *scrubber;
static struct copy_scrub *scrub;
static struct buf packet = {.max_bytes = 1 << 20};
static struct buf told = {.max_bytes = 1 << 20}; /* the bytes of the file that was told last */
static struct copy_record last;                  /* record that was told */
static char name[COPY_LINK_TEXT_BYTES + 1];      /* of the last one that has one */

static void begin(void)
{
    struct sandbox_error e;
    spec.policy = strdup(DOCUMENT);
    ASSERT_EQ(sandbox_secrets_load(&spec, &e), 0);
    ASSERT_EQ(scrubber_new(&spec, &scrubber, &e), 0);
    scrub = copy_scrub_new(scrubber);
    ASSERT_TRUE(scrub != NULL);
}

static void end(void)
{
    copy_scrub_free(scrub);
    scrubber_free(scrubber);
    sandbox_spec_done(&spec);
    buf_done(&packet);
    buf_done(&told);
}

static const char *placeholder(const char *env)
{
    const char *text = strv_env_get(&spec.env, env);
    ASSERT_TRUE(text != NULL);
    return text;
}

static void add(enum copy_type type, int64_t value, const char *text, size_t size)
{
    const struct copy_record r = {.type = type, .value = value, .text_size = (uint32_t)size};
    ASSERT_EQ(buf_append(&packet, &r, sizeof(r)), 0);
    ASSERT_EQ(buf_append(&packet, text, size), 0);
}

/* What belongs where; between is zeros. */
static void note_data(const struct copy_record *r, const char *text)
{
    ASSERT_TRUE(r->text_size > 0 && r->value >= (int64_t)told.size);
    while ((int64_t)told.size < r->value)
        ASSERT_EQ(buf_append(&told, "", 1), 0);
    ASSERT_EQ(buf_append(&told, text, r->text_size), 0);
}

static void note(const char *records, size_t size)
{
    while (size > 0) {
        ASSERT_GE(size, sizeof(last));
        memcpy(&last, records, sizeof(last));
        records += sizeof(last);
        size -= sizeof(last);
        ASSERT_GE(size, last.text_size);
        if (last.type == COPY_FILE)
            buf_reset(&told);
        if (last.type == COPY_DATA) {
            note_data(&last, records);
        } else if (last.text_size > 0) {
            memcpy(name, records, last.text_size);
            name[last.text_size] = '\0';
        }
        records += last.text_size;
        size -= last.text_size;
    }
}

/* Sends the packet that was put together, on the heap and of its size. */
static int pass(void)
{
    const char *records;
    char *copy = malloc(packet.size + 1);
    ASSERT_TRUE(copy != NULL);
    if (packet.size)
        memcpy(copy, packet.data, packet.size);
    int r = copy_scrub_take(scrub, copy, packet.size);
    free(copy);
    buf_reset(&packet);
    for (size_t size; (size = copy_scrub_next(scrub, &records)) > 0;) {
        EXPECT_LE(size, (size_t)COPY_ANSWER_MAX);
        note(records, size);
    }
    return r;
}

static void expect_told(const char *before, const char *text, const char *after)
{
    struct buf all = BUF_INIT(1 << 20);
    buf_printf(&all, "%s%s%s", before, text, after);
    EXPECT_EQ(told.size, all.size);
    EXPECT_TRUE(told.size == all.size && !memcmp(told.data, all.data, all.size));
    buf_done(&all);
}

TEST(a_value_in_a_file_is_replaced_however_it_is_cut)
{
    static const char text[] = "key=" VALUE "\n";
    size_t size = strlen(text);
    begin();
    for (size_t cut = 1; cut < size; cut++)
        for (int is_one_packet = 0; is_one_packet < 2; is_one_packet++) {
            add(COPY_FILE, (int64_t)size, "f", 1);
            add(COPY_DATA, 0, text, cut);
            if (!is_one_packet)
                ASSERT_EQ(pass(), 0);
            add(COPY_DATA, (int64_t)cut, text + cut, size - cut);
            if (!is_one_packet)
                ASSERT_EQ(pass(), 0);
            add(COPY_FILE_END, (int64_t)size, "", 0);
            ASSERT_EQ(pass(), 0);
            EXPECT_EQ(last.type, (uint32_t)COPY_FILE_END);
            EXPECT_EQ(last.value, (int64_t)size);
            expect_told("key=", placeholder("A"), "\n");
        }
    end();
}

/* The placeholder has less to escape than the value. */
TEST(a_file_keeps_its_size)
{
    static const char text[] = "u=correct%20horse%2Fbattery&v=1";
    begin();
    add(COPY_FILE, (int64_t)strlen(text), "f", 1);
    add(COPY_DATA, 0, text, strlen(text));
    add(COPY_FILE_END, (int64_t)strlen(text), "", 0);
    ASSERT_EQ(pass(), 0);
    EXPECT_EQ(told.size, strlen(text));
    EXPECT_TRUE(told.size > 6 && !memcmp(told.data + told.size - 6, "xx&v=1", 6));
    EXPECT_TRUE(!memmem(told.data, told.size, "horse", 5));
    end();
}

TEST(holes_stay_where_they_are)
{
    begin();
    add(COPY_FILE, 9000, "f", 1);
    add(COPY_DATA, 0, "ghp_aB3dE5g", 11);
    add(COPY_DATA, 8192, VALUE, strlen(VALUE));
    ASSERT_EQ(pass(), 0);
    add(COPY_FILE_END, 9000, "", 0);
    ASSERT_EQ(pass(), 0);
    ASSERT_EQ(told.size, 8192 + strlen(VALUE));
    EXPECT_TRUE(!memcmp(told.data, "ghp_aB3dE5g\0", 12));
    EXPECT_TRUE(!memcmp(told.data + 8192, placeholder("A"), strlen(VALUE)));
    end();
}

TEST(a_packet_stays_one_when_bytes_wait_for_it)
{
    size_t most = COPY_ANSWER_MAX - sizeof(struct copy_record);
    char *text = malloc(most);
    ASSERT_TRUE(text != NULL);
    begin();
    add(COPY_FILE, 1 << 20, "f", 1);
    add(COPY_DATA, 0, VALUE, strlen(VALUE) - 1);
    ASSERT_EQ(pass(), 0);
    memset(text, 'y', most);
    add(COPY_DATA, (int64_t)strlen(VALUE) - 1, text, most);
    ASSERT_EQ(pass(), 0);
    add(COPY_FILE_END, (int64_t)(strlen(VALUE) - 1 + most), "", 0);
    ASSERT_EQ(pass(), 0);
    EXPECT_EQ(told.size, strlen(VALUE) - 1 + most);
    end();
    free(text);
}

TEST(names_and_targets_are_searched_too)
{
    static const char link[] = "l\0../" VALUE;
    begin();
    add(COPY_DIRECTORY, 0, "a" VALUE, strlen(VALUE) + 1);
    ASSERT_EQ(pass(), 0);
    EXPECT_EQ(strlen(name), strlen(VALUE) + 1);
    EXPECT_STR(name + 1, placeholder("A"));
    add(COPY_LINK, 0, link, sizeof(link) - 1);
    ASSERT_EQ(pass(), 0);
    EXPECT_STR(name, "l");
    EXPECT_STR(name + 5, placeholder("A"));
    add(COPY_LEFT_OUT, 0, VALUE, strlen(VALUE));
    ASSERT_EQ(pass(), 0);
    EXPECT_STR(name, placeholder("A"));
    add(COPY_LEAVE, 0, "", 0);
    add(COPY_END, 0, "", 0);
    ASSERT_EQ(pass(), 0);
    EXPECT_EQ(last.type, (uint32_t)COPY_END);
    end();
}

/* Its reader is given something to refuse. */
static void expect_refused(void)
{
    last.type = COPY_END;
    EXPECT_EQ(pass(), -EPROTO);
    EXPECT_EQ(last.type, 0u);
}

TEST(what_is_no_packet_is_refused)
{
    static const char text[COPY_LINK_TEXT_BYTES + 1];
    begin();
    expect_refused();
    buf_append(&packet, "too short", 9);
    expect_refused();
    add(COPY_DATA, 0, "of no file", 10);
    expect_refused();
    add(COPY_FILE_END, 0, "", 0);
    expect_refused();
    add(COPY_LINK, 0, text, sizeof(text));
    expect_refused();
    add(COPY_FILE, 100, "f", 1);
    ((struct copy_record *)packet.data)->text_size = 2;
    expect_refused();
    end();
}

TEST(what_is_no_file_is_refused)
{
    begin();
    add(COPY_FILE, 100, "f", 1);
    add(COPY_FILE, 100, "in it", 5);
    expect_refused();
    add(COPY_DATA, 10, "0123456789", 10);
    ASSERT_EQ(pass(), 0);
    add(COPY_DATA, 19, "backwards", 9);
    expect_refused();
    add(COPY_DATA, COPY_FILE_SIZE_MAX + 1, "far", 3);
    expect_refused();
    end();
}
