// SPDX-License-Identifier: Apache-2.0
#include "lib/secret/file.h"
#include "lib/secret/placeholder.h"
#include "tests/unit/secret_support.h"

#include <sys/mman.h>

static struct policy *one(const char *more)
{
    char text[512];
    snprintf(text, sizeof(text),
             "{'version':1,'secrets':{'KEY':{'source':{'env':'A'},'allow':{'hosts':['a.test']}%s}}"
             "}",
             more);
    return policy_of(text);
}

/* 0, or the error, whose text has those words and not the value. */
static int load(const char *more, const char *placeholder, const char *value, size_t size,
                const char *words)
{
    struct policy *p = one(more);
    struct secrets *s = NULL;
    struct secret_error e = {.name = NULL};
    const struct secret_value v = {"KEY", placeholder, value, size};
    int r = secrets_new(policy_get_document(p), &v, 1, &s, &e);
    EXPECT_EQ(r == 0, s != NULL);
    if (r < 0 &&
        (strncmp(e.text, "secret KEY: ", 12) || !strstr(e.text, words) || !strstr(e.text, "; ") ||
         e.reason != 12 || strcmp(e.name, "KEY") || (size > 4 && strstr(e.text, value))))
        harness_fail(__FILE__, __LINE__, "%s", e.text);
    secrets_put(s);
    policy_free(p);
    return r;
}

#define GOOD "placeholder-1"

/* Row G7. */
TEST(values_that_could_not_stand_in_a_field_are_refused)
{
    EXPECT_EQ(load("", GOOD, "12345678", 8, ""), 0);
    EXPECT_EQ(load("", GOOD, "1234 \xc3\xa4 678", 11, ""), 0);
    EXPECT_EQ(load("", GOOD, "", 0, "empty"), -EINVAL);
    EXPECT_EQ(load("", GOOD, "1234\r\n5678", 10, "one line"), -EINVAL);
    EXPECT_EQ(load("", GOOD, "12345678\n", 9, "one line"), -EINVAL);
    EXPECT_EQ(load("", GOOD, "1234\0005678", 9, "control character (0x00) at byte 5"), -EINVAL);
    EXPECT_EQ(load("", GOOD, "12345678\x7f", 9, "control"), -EINVAL);
    EXPECT_EQ(load("", GOOD, "1234\t5678", 9, "control"), -EINVAL);
    EXPECT_EQ(load("", GOOD, " 12345678", 9, "blank"), -EINVAL);
    EXPECT_EQ(load("", GOOD, "12345678 ", 9, "blank"), -EINVAL);
}

TEST(values_have_a_least_and_a_greatest_size)
{
    static char big[SECRET_VALUE_MAX_BYTES + 2];
    memset(big, 'x', sizeof(big) - 1);
    EXPECT_EQ(load("", GOOD, "1234567", 7, "less than 8"), -EINVAL);
    EXPECT_EQ(load(",'scrub':'off'", GOOD, "1", 1, ""), 0);
    EXPECT_EQ(load("", GOOD, big, SECRET_VALUE_MAX_BYTES, ""), 0);
    EXPECT_EQ(load("", GOOD, big, SECRET_VALUE_MAX_BYTES + 1, "more than 8192"), -EINVAL);
}

TEST(placeholders_that_tell_or_are_ambiguous_are_refused)
{
    EXPECT_EQ(load("", "short", "12345678", 8, "placeholder"), -EINVAL);
    EXPECT_EQ(load("", "with a blank", "12345678", 8, "placeholder"), -EINVAL);
    EXPECT_EQ(load("", "cr\r\nlf-and-more", "12345678", 8, "placeholder"), -EINVAL);
    EXPECT_EQ(load("", "12345678", "12345678", 8, "part of each other"), -EINVAL);
    EXPECT_EQ(load("", "my-12345678", "12345678", 8, "part of each other"), -EINVAL);
    EXPECT_EQ(load("", "12345678", "x12345678x", 10, "part of each other"), -EINVAL);
}

TEST(secrets_know_of_each_other)
{
    struct policy *p =
        policy_of("{'version':1,'secrets':{'A':{'source':{'env':'A'},'allow':{'hosts':['a.test']}},"
                  "'B':{'source':{'env':'B'},'allow':{'hosts':['a.test']}}}}");
    struct secret_value values[] = {
        {"A", "placeholder-1", A_VALUE, strlen(A_VALUE)},
        {"B", "placeholder-12", B_VALUE, strlen(B_VALUE)},
    };
    struct secret_error e;
    struct secrets *s = NULL;
    const struct policy_document *d = policy_get_document(p);
    EXPECT_EQ(secrets_new(d, values, 2, &s, &e), -EINVAL);
    EXPECT_TRUE(strstr(e.text, "secret A: its placeholder is part of that of B;"));
    values[1].placeholder = "placeholder-1";
    EXPECT_EQ(secrets_new(d, values, 2, &s, &e), -EINVAL);
    values[1].placeholder = "other-placeholder";
    EXPECT_EQ(secrets_new(d, values, 1, &s, &e), -EINVAL);
    EXPECT_TRUE(strstr(e.text, "secret B: the value is missing;"));
    values[1].name = "C";
    EXPECT_EQ(secrets_new(d, values, 2, &s, &e), -EINVAL);
    values[1].name = "B";
    values[1].value = values[0].value;
    values[1].size = values[0].size;
    ASSERT_EQ(secrets_new(d, values, 2, &s, &e), 0);
    EXPECT_EQ(secrets_count(s), 2);
    secrets_put(s);
    policy_free(p);
}

TEST(all_values_together_have_a_greatest_size)
{
    static char text[16384], big[SECRET_VALUE_MAX_BYTES];
    static char names[9][8], placeholders[9][32];
    struct secret_value values[9];
    struct secret_error e;
    struct secrets *s = NULL;
    int used = snprintf(text, sizeof(text), "{'version':1,'secrets':{");
    memset(big, 'x', sizeof(big));
    for (int i = 0; i < 9; i++) {
        snprintf(names[i], sizeof(names[i]), "N%d", i);
        snprintf(placeholders[i], sizeof(placeholders[i]), "placeholder-%d", i);
        values[i] = (struct secret_value){names[i], placeholders[i], big, sizeof(big)};
        used += snprintf(text + used, sizeof(text) - (size_t)used,
                         "%s'N%d':{'source':{'env':'A'},'allow':{'hosts':['a.test']}}",
                         i ? "," : "", i);
    }
    snprintf(text + used, sizeof(text) - (size_t)used, "}}");
    struct policy *p = policy_of(text);
    EXPECT_EQ(secrets_new(policy_get_document(p), values, 9, &s, &e), -EINVAL);
    EXPECT_TRUE(strstr(e.text, "secret N8: all values together have more than 64 KiB;"));
    policy_free(p);
}

static void draw(unsigned char random[PLACEHOLDER_RANDOM], unsigned *seed)
{
    for (size_t i = 0; i < PLACEHOLDER_RANDOM; i++)
        random[i] = (unsigned char)(rand_r(seed) >> 7);
}

static const char *placeholder_of(const char *value, unsigned seed)
{
    static char text[PLACEHOLDER_MAX_BYTES + 1];
    unsigned char random[PLACEHOLDER_RANDOM];
    draw(random, &seed);
    placeholder_make(value, strlen(value), random, text);
    return text;
}

#define UUID "01234567-89ab-cdef-0123-456789abcdef"

TEST(placeholders_look_like_the_value)
{
    static const struct {
        const char *value, *kept, *characters;
    } rows[] = {
        {"ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5", "ghp_", NULL},
        {"sk-ant-abcdefghij0123456789ABCDEFGHIJ", "sk-ant-", NULL},
        {"0123456789012345678901234567890123456789", "", "0123456789"},
        {"0123456789abcdef0123456789abcdef", "", "0123456789abcdef"},
        {"0123456789ABCDEF0123456789ABCDEF", "", "0123456789ABCDEF"},
        {"onlysmalllettersinthisone", "", "abcdefghijklmnopqrstuvwxyz"},
        {"with/other+characters=and!more", "", "abcdefghijklmnopqrstuvwxyz"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *text = placeholder_of(rows[i].value, (unsigned)i);
        size_t kept = strlen(rows[i].kept);
        EXPECT_EQ(strlen(text), strlen(rows[i].value));
        EXPECT_TRUE(!strncmp(text, rows[i].kept, kept) && strcmp(text, rows[i].value));
        if (rows[i].characters)
            EXPECT_EQ(strspn(text + kept, rows[i].characters), strlen(text + kept));
    }
    const char *uuid = placeholder_of(UUID, 1);
    EXPECT_TRUE(uuid[8] == '-' && uuid[13] == '-' && uuid[18] == '-' && uuid[23] == '-');
    EXPECT_EQ(strspn(uuid, "0123456789abcdef-"), strlen(UUID));
}

/* Where the value is too short for 64 bits, or of too few kinds, or too long. */
TEST(placeholders_of_other_values_have_a_fixed_form)
{
    char big[PLACEHOLDER_MAX_BYTES + 2];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = 0;
    static const char *const values[] = {"short", "0123456789012345678", "abcdefghijklm",
                                         "------------------------"};
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        EXPECT_TRUE(!strncmp(placeholder_of(values[i], 1), "glovebox-secret-", 16));
    EXPECT_TRUE(!strncmp(placeholder_of("ghp_short", 1), "ghp_glovebox-secret-", 20));
    EXPECT_EQ(strlen(placeholder_of("short", 1)), 16 + 32);
    EXPECT_TRUE(!strncmp(placeholder_of(big, 1), "glovebox-secret-", 16));
    EXPECT_TRUE(strncmp(placeholder_of("01234567890123456789", 1), "glovebox-secret-", 16));
    EXPECT_TRUE(strncmp(placeholder_of("abcdefghijklmn", 1), "glovebox-secret-", 16));
}

TEST(placeholders_tell_nothing_of_the_characters)
{
    static const char one_value[] = "mmmmmmmmmmmmmmmmmmmmmmmm1",
                      other[] = "9zzzzzzzzzzzzzzzzzzzzzzzz";
    char first[PLACEHOLDER_MAX_BYTES + 1];
    snprintf(first, sizeof(first), "%s", placeholder_of(one_value, 7));
    EXPECT_STR(first, placeholder_of(other, 7));
    EXPECT_TRUE(strcmp(first, placeholder_of(other, 8)));
}

/* What secret_file_write() makes of one secret KEY. */
static struct buf make_file(void)
{
    const struct secret_value v = {"KEY", GOOD, "the value", 9};
    struct buf b = BUF_INIT(SECRET_FILE_MAX_BYTES);
    char file[256];
    ASSERT_EQ(secret_file_size(&v, 1), 8 + 8 + 12 + 3 + strlen(GOOD) + 9);
    secret_file_write(&v, 1, file);
    ASSERT_EQ(buf_append(&b, file, secret_file_size(&v, 1)), 0);
    return b;
}

static int parse(const void *data, size_t size)
{
    struct policy *p = one("");
    struct secrets *s = NULL;
    struct secret_error e = {.name = NULL};
    /* On the heap, so that ASan sees what is read behind its end. */
    void *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    int r = secret_file_parse(copy, size, policy_get_document(p), &s, &e);
    EXPECT_EQ(r<0, strlen(e.text)> 0);
    free(copy);
    secrets_put(s);
    policy_free(p);
    return r;
}

TEST(a_file_is_read_whole_or_not_at_all)
{
    struct buf b = make_file();
    EXPECT_EQ(parse(b.data, b.size), 0);
    for (size_t size = 0; size < b.size; size++)
        EXPECT_EQ(parse(b.data, size), -EINVAL);
    EXPECT_EQ(parse(b.data, b.size + 1), -EINVAL);
    for (size_t i = 0; i < b.size - 9; i++) { /* what is not the value */
        b.data[i] ^= 0x40;
        EXPECT_TRUE(parse(b.data, b.size) == -EINVAL || i >= b.size - 9 - strlen(GOOD));
        b.data[i] ^= 0x40;
    }
    memset(b.data + 16, 0xff, 4);
    EXPECT_EQ(parse(b.data, b.size), -EINVAL);
    secret_wipe_buf(&b);
}

TEST(a_memory_file_is_read_from_its_start)
{
    struct buf b = make_file();
    struct policy *p = one("");
    struct secrets *s = NULL;
    struct secret_error e;
    int fd = memfd_create("test", 0);
    EXPECT_EQ(secret_file_read(fd, policy_get_document(p), &s, &e), -EINVAL);
    ASSERT_EQ(write(fd, b.data, b.size), (ssize_t)b.size);
    EXPECT_EQ(secret_file_read(fd, policy_get_document(p), &s, &e), 0);
    EXPECT_EQ(secrets_count(s), 1);
    EXPECT_EQ(secret_file_read(-1, policy_get_document(p), &s, &e), -EBADF);
    EXPECT_EQ(ftruncate(fd, SECRET_FILE_MAX_BYTES + 1), 0);
    EXPECT_EQ(secret_file_read(fd, policy_get_document(p), &s, &e), -EINVAL);
    secrets_put(s);
    policy_free(p);
    close(fd);
    secret_wipe_buf(&b);
}
