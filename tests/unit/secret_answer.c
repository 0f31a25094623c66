// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/secret_support.h"

/* An answer's content in pieces; 0: whole. To be freed. */
static char *scrubbed(const struct vault *v, const char *content, size_t piece)
{
    struct secrets_request request = request_to("a.test");
    struct secrets_exchange x;
    struct secrets_scrub c;
    struct buf out = BUF_INIT(1 << 16);
    size_t size = strlen(content);
    secrets_begin(&x, v->secrets, &request);
    secrets_scrub_begin(&c, &x);
    for (size_t at = 0; at < size;) {
        size_t n = piece ? MIN(piece, size - at) : size;
        EXPECT_EQ(secrets_scrub_take(&c, content + at, n, &out), 0);
        at += n;
    }
    EXPECT_EQ(secrets_scrub_end(&c, &out), 0);
    secrets_end(&x);
    return out.data ? out.data : strdup("");
}

static void expect_scrubbed(const struct vault *v, const char *content, const char *expected)
{
    for (size_t piece = 0; piece < strlen(content); piece++) {
        char *got = scrubbed(v, content, piece);
        EXPECT_STR(got, expected);
        free(got);
    }
}

/* Row G11. */
TEST(values_are_taken_out_of_answers_in_every_form)
{
    struct vault v = vault_new("", "");
    expect_scrubbed(&v, "{" A_VALUE "," B_VALUE "}", "{" A_PLACEHOLDER "," B_PLACEHOLDER "}");
    expect_scrubbed(&v, "x=s3cret%2FValue%2Bof%20%22A%22&", "x=" A_PLACEHOLDER "&");
    expect_scrubbed(&v, "x=s3cret%2fValue%2bof%20%22A%22&", "x=" A_PLACEHOLDER "&");
    expect_scrubbed(&v, "x=s3cret%2FValue%2Bof+%22A%22&", "x=" A_PLACEHOLDER "&");
    expect_scrubbed(&v, "x=s3cret/Value%2Bof%20%22A%22&", "x=" A_PLACEHOLDER "&");
    expect_scrubbed(&v, "\"s3cret/Value+of \\\"A\\\"\"", "\"" A_PLACEHOLDER "\"");
    expect_scrubbed(&v, "\"s3cret\\/Value+of \\\"A\\\"\"", "\"" A_PLACEHOLDER "\"");
    expect_scrubbed(&v, "7333637265742f56616c75652b6f6620224122",
                    "706c616365686f6c6465722d414141412d30303031");
    expect_scrubbed(&v, "7333637265742F56616C75652B6F6620224122",
                    "706C616365686F6C6465722D414141412D30303031");
    expect_scrubbed(&v, "s3cret/Value", "s3cret/Value");
    vault_done(&v);
}

/* Nothing that decodes to more than a byte of the value at each end is left. */
TEST(values_are_taken_out_of_base_64_at_each_alignment)
{
    static const char *const texts[] = {
        "czNjcmV0L1ZhbHVlK29mICJBIg==",
        "YXMzY3JldC9WYWx1ZStvZiAiQSI=",
        "YWFzM2NyZXQvVmFsdWUrb2YgIkEi",
    };
    static const char *const cores[] = {"NjcmV0L1ZhbHVlK29m", "Y3JldC9WYWx1ZStv",
                                        "M2NyZXQvVmFsdWUr"};
    struct vault v = vault_new("", "");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        for (size_t piece = 0; piece < strlen(texts[i]); piece++) {
            char *got = scrubbed(&v, texts[i], piece);
            EXPECT_TRUE(strstr(texts[i], cores[i]) && !strstr(got, cores[i]));
            EXPECT_TRUE(!strstr(got, "ZhbHV") && !strstr(got, "WYWx1Z") && !strstr(got, "VmFsdW"));
            free(got);
        }
    }
    vault_done(&v);
}

/* Where a placeholder is as long as its value, what is left can be decoded. */
TEST(base_64_with_a_placeholder_in_it_stays_base_64)
{
    struct policy *p = policy_of("{'version':1,'secrets':{'A':{'source':{'env':'A'},"
                                 "'allow':{'hosts':['a.test']}}}}");
    const struct secret_value values[] = {{"A", "ghp_123456789", "ghp_abcdefghi", 13}};
    struct secret_error e;
    struct vault v = {.policy = p};
    ASSERT_EQ(secrets_new(policy_get_document(p), values, 1, &v.secrets, &e), 0);
    expect_scrubbed(&v, "dXNlcjpnaHBfYWJjZGVmZ2hp", "dXNlcjpnaHBfMTIzNDU2Nzg5");
    vault_done(&v);
}

TEST(secrets_that_are_not_to_be_scrubbed_stay)
{
    struct vault v = vault_new(",'scrub':'off'", "");
    expect_scrubbed(&v, A_VALUE " " B_VALUE, A_VALUE " " B_PLACEHOLDER);
    vault_done(&v);
}

TEST(what_is_done_to_an_answer_is_what_the_secrets_of_its_host_ask)
{
    static const struct {
        const char *a, *host;
        enum policy_scrub scrub;
    } rows[] = {
        {"", "a.test", POLICY_SCRUB_BEST_EFFORT},
        {"", "c.test", POLICY_SCRUB_OFF},
        {",'scrub':'off'", "a.test", POLICY_SCRUB_OFF},
        {",'scrub':'strict'", "a.test", POLICY_SCRUB_STRICT},
        /* It may have had the secret from another request. */
        {",'allow':{'hosts':['a.test'],'methods':['POST']}", "a.test", POLICY_SCRUB_BEST_EFFORT},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct vault v = vault_new(rows[i].a, "");
        struct secrets_request request = request_to(rows[i].host);
        struct secrets_exchange x;
        secrets_begin(&x, v.secrets, &request);
        EXPECT_EQ(x.scrub, rows[i].scrub);
        secrets_end(&x);
        vault_done(&v);
    }
}

TEST(fields_of_answers_are_scrubbed)
{
    struct vault v = vault_new("", "");
    struct secrets_request request = request_to("a.test");
    struct secrets_exchange x;
    struct buf out = BUF_INIT(100);
    secrets_begin(&x, v.secrets, &request);
    EXPECT_EQ(secrets_scrub_text(&x, "nothing in it", &out), 0);
    EXPECT_EQ(out.size, 0);
    EXPECT_EQ(secrets_scrub_text(&x, "key=" B_VALUE "; Secure", &out), 1);
    EXPECT_STR(out.data, "key=" B_PLACEHOLDER "; Secure");
    out.max_bytes = out.size;
    EXPECT_EQ(secrets_scrub_text(&x, B_VALUE, &out), -E2BIG);
    secrets_end(&x);
    buf_done(&out);
    vault_done(&v);
}
