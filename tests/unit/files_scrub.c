// SPDX-License-Identifier: Apache-2.0
#include "sandbox/files_scrub.h"

#include "lib/secret/file.h"
#include "sandbox/memory_file.h"
#include "sandbox/secrets.h"
#include "tests/harness/harness.h"

#include <stdio.h>

#define VALUE "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
#define OTHER "/t/correct horse/./battery"
#define LATER "glpat-000000000000000000000000000000000000000000000000000000"

#define DOCUMENT                                                                                 \
    "{\"version\":1,\"secrets\":{"                                                               \
    "\"A\":{\"source\":{\"literal\":\"" VALUE                                                    \
    "\"},\"env\":[\"A\"],\"allow\":{\"hosts\":[\"a.test\"]}},"                                   \
    "\"B\":{\"source\":{\"literal\":\"" OTHER "\"},\"placeholder\":\"a..b..cdefghijklmnopqrs\"," \
    "\"env\":[\"B\"],\"allow\":{\"hosts\":[\"a.test\"]}}}}"

static struct sandbox_spec spec;
static struct scrubber *scrubber;

static void begin(void)
{
    struct sandbox_error e;
    spec.policy = strdup(DOCUMENT);
    ASSERT_EQ(sandbox_secrets_load(&spec, &e), 0);
    ASSERT_EQ(scrubber_new(&spec, &scrubber, &e), 0);
}

static void end(void)
{
    scrubber_free(scrubber);
    sandbox_spec_done(&spec);
}

static void renew(void)
{
    struct sandbox_error e;
    const struct secret_value v = {.name = "A",
                                   .placeholder = strv_env_get(&spec.env, "A"),
                                   .value = LATER,
                                   .size = strlen(LATER)};
    char file[4096];
    size_t size = secret_file_size(&v, 1);
    ASSERT_TRUE(size <= sizeof(file));
    secret_file_write(&v, 1, file);
    int fd = memory_file_new("renewed", file, size);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(scrubber_renew(scrubber, fd, &e), 0);
    close(fd);
}

/* ---- bytes ---- */

static char content[4096], shown[4096], got[4096];
static size_t content_size, got_size;

static void add(const char *text)
{
    ASSERT_TRUE(content_size + strlen(text) <= sizeof(content));
    memcpy(content + content_size, text, strlen(text));
    content_size += strlen(text);
}

/* Of bytes that are read in pieces of at most max. */
static void read_part(int64_t offset, size_t size, size_t max, bool is_renewed_between)
{
    struct files_scrub f;
    int64_t at;
    size_t next, pieces = 0;
    got_size = 0;
    files_scrub_begin(&f, scrubber, offset, size);
    for (;;) {
        files_scrub_next(&f, max, &at, &next);
        ASSERT_TRUE(next <= max);
        if (next == 0)
            break;
        size_t there =
            at < (int64_t)content_size ? MIN(next, content_size - (size_t)at) : (size_t)0;
        ASSERT_EQ(files_scrub_take(&f, content + (there ? at : 0), there, there < next), 0);
        ASSERT_TRUE(got_size + f.found.size <= size);
        if (f.found.size > 0)
            memcpy(got + got_size, f.found.data, f.found.size);
        got_size += f.found.size;
        ASSERT_TRUE(pieces++ < 10000u);
        if (pieces == 2 && is_renewed_between)
            renew();
    }
    files_scrub_end(&f);
}

static void expect_part(size_t offset, size_t size, size_t max)
{
    size_t there = offset < content_size ? MIN(size, content_size - offset) : 0;
    read_part((int64_t)offset, size, max, false);
    ASSERT_EQ(got_size, there);
    ASSERT_TRUE(!memcmp(got, shown + (there ? offset : 0), there));
}

TEST(every_part_is_what_the_whole_has_there)
{
    begin();
    content_size = 0;
    add(VALUE "." OTHER "," VALUE VALUE ";ghp_" VALUE "glp" VALUE);
    memcpy(shown, content, content_size);
    ASSERT_EQ(scrubber_replace_in_place(scrubber, shown, content_size), 0);
    ASSERT_TRUE(!memmem(shown, content_size, VALUE, strlen(VALUE)));
    for (size_t offset = 0; offset < content_size + 3; offset++)
        for (size_t size = 1; size < content_size + 3; size += size < 45 ? 1 : 37)
            expect_part(offset, size, size % 3 == 0 ? 7 : sizeof(content));
    expect_part(0, sizeof(got), 1);
    expect_part(1, sizeof(got), 4096);
    read_part(INT64_MAX, 100, 10, false);
    EXPECT_EQ(got_size, 0u);
    end();
}

TEST(a_new_value_reaches_further)
{
    begin();
    size_t before = scrubber_reach(scrubber);
    content_size = 0;
    for (unsigned i = 0; i < 40; i++)
        add("................................................................");
    add(LATER);
    read_part(0, content_size - 30, 1000, true);
    EXPECT_GT(scrubber_reach(scrubber), before + strlen(LATER));
    ASSERT_EQ(got_size, content_size - 30);
    EXPECT_TRUE(!memmem(got, got_size, "glpat-0000000000", 16));
    for (size_t offset = content_size - strlen(LATER); offset < content_size; offset++) {
        read_part((int64_t)offset, 8, 4096, false);
        EXPECT_TRUE(!memmem(got, got_size, "000000", 6) || got_size < 8);
    }
    end();
}

/* ---- records ---- */

static struct buf records = {.max_bytes = 1 << 16};

static void add_entry(const char *name, const char *target, const char *owner, const char *metadata,
                      size_t metadata_size)
{
    const struct files_entry e = {.name_size = (uint16_t)strlen(name),
                                  .target_size = (uint16_t)strlen(target),
                                  .owner_size = (uint16_t)strlen(owner),
                                  .metadata_size = (uint16_t)metadata_size};
    ASSERT_EQ(buf_append(&records, &e, sizeof(e)), 0);
    ASSERT_EQ(buf_append_str(&records, name), 0);
    ASSERT_EQ(buf_append_str(&records, target), 0);
    ASSERT_EQ(buf_append_str(&records, owner), 0);
    ASSERT_EQ(buf_append(&records, metadata, metadata_size), 0);
}

static int scrub(bool is_events)
{
    return files_scrub_records(scrubber, is_events, records.data, records.size);
}

/* What is at *at, and goes on behind it. */
static void expect_text(size_t *at, const char *text, size_t size)
{
    ASSERT_TRUE(*at + size <= records.size);
    EXPECT_TRUE(!memcmp(records.data + *at, text, size));
    *at += size;
}

TEST(all_texts_of_entries)
{
    static const char metadata[] = "a\0" VALUE "\0b";
    size_t at = sizeof(struct files_entry);
    begin();
    const char *placeholder = strv_env_get(&spec.env, "A");
    add_entry("x" VALUE, "/" VALUE "/y", VALUE, metadata, sizeof(metadata));
    add_entry("plain", "", "me", "", 0);
    ASSERT_EQ(scrub(false), 0);
    expect_text(&at, "x", 1);
    expect_text(&at, placeholder, strlen(VALUE));
    expect_text(&at, "/", 1);
    expect_text(&at, placeholder, strlen(VALUE));
    expect_text(&at, "/y", 2);
    expect_text(&at, placeholder, strlen(VALUE));
    expect_text(&at, "a\0", 2);
    expect_text(&at, placeholder, strlen(VALUE));
    expect_text(&at, "\0b\0", 3);
    at += sizeof(struct files_entry);
    expect_text(&at, "plainme", 7);
    EXPECT_EQ(at, records.size);
    /* A value that begins at the end of one text is none. */
    buf_reset(&records);
    add_entry("ghp_aB3dE5gH7jK9mN1p", "Q3sT5vW7yZ9bC1dE3fG5", "", "", 0);
    ASSERT_EQ(scrub(false), 0);
    EXPECT_TRUE(memmem(records.data, records.size, VALUE, strlen(VALUE)));
    end();
}

TEST(names_stay_names)
{
    char path[] = OTHER "/x", name[] = "correct%20horse%2F.%2Fbattery" VALUE;
    begin();
    ASSERT_EQ(scrubber_replace_name(scrubber, path, strlen(path)), 0);
    EXPECT_STR(path, "/x/b..cdefghijkl/n/pqrsxxx/x");
    ASSERT_EQ(scrubber_replace_name(scrubber, name, strlen(name)), 0);
    EXPECT_TRUE(!strchr(name, '/') && !strstr(name, VALUE));
    end();
}

TEST(events)
{
    const struct files_event e = {.type = FILES_CREATED, .name_size = 2 + sizeof(VALUE) - 1};
    begin();
    buf_append(&records, &e, sizeof(e));
    buf_append_str(&records, "d/" VALUE);
    ASSERT_EQ(scrub(true), 0);
    EXPECT_TRUE(!memmem(records.data, records.size, VALUE, strlen(VALUE)));
    EXPECT_TRUE(!memcmp(records.data + sizeof(e), "d/", 2));
    end();
}

TEST(what_is_no_record_is_refused)
{
    struct files_entry bad = {.metadata_size = 1};
    const struct files_event event = {.name_size = 5};
    begin();
    buf_append(&records, &event, sizeof(event));
    buf_append(&records, "four", 4);
    EXPECT_EQ(scrub(true), -EPROTO);
    EXPECT_EQ(scrub(false), -EPROTO);
    buf_reset(&records);
    buf_append(&records, &bad, sizeof(bad));
    EXPECT_EQ(scrub(false), -EPROTO);
    bad = (struct files_entry){.name_size = FILES_PATH_MAX_BYTES + 1};
    buf_reset(&records);
    buf_append(&records, &bad, sizeof(bad));
    for (unsigned i = 0; i <= FILES_PATH_MAX_BYTES; i++)
        buf_append(&records, "n", 1);
    EXPECT_EQ(scrub(false), -EPROTO);
    buf_reset(&records);
    EXPECT_EQ(files_scrub_records(scrubber, false, NULL, 0), 0);
    end();
}
