// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/secret_support.h"

#define A_PERCENT "s3cret%2FValue%2Bof%20%22A%22"
#define A_JSON    "s3cret/Value+of \\\"A\\\""

enum { A = 1, B = 2 };

static uint64_t allowed(const char *a, struct secrets_request request)
{
    struct vault v = vault_new(a, "");
    struct secrets_exchange x;
    secrets_begin(&x, v.secrets, &request);
    uint64_t bits = x.allowed;
    secrets_end(&x);
    vault_done(&v);
    return bits;
}

TEST(a_secret_goes_to_its_hosts_over_verified_tls)
{
    struct secrets_request r = request_to("a.test");
    EXPECT_EQ(allowed("", r), A);
    EXPECT_EQ(allowed("", request_to("b.test")), B);
    EXPECT_EQ(allowed("", request_to("x.a.test")), 0);
    EXPECT_EQ(allowed("", request_to(NULL)), 0);
    r.port = 8443;
    EXPECT_EQ(allowed("", r), 0);
    EXPECT_EQ(allowed(",'allow':{'hosts':['.a.test'],'ports':['8000-9000']}", r), A);
    r = request_to("a.test");
    r.is_verified_tls = false; /* row G1 */
    EXPECT_EQ(allowed("", r), 0);
    EXPECT_EQ(allowed(",'require_tls':false", r), A);
    r.host = NULL;
    EXPECT_EQ(allowed(",'require_tls':false", r), 0);
}

#define NARROW ",'allow':{'hosts':['a.test'],'methods':['GET','POST'],'paths':[{'prefix':'/v1/'}]}"

TEST(methods_and_paths_narrow_it)
{
    struct secrets_request r = request_to("a.test");
    EXPECT_EQ(allowed(NARROW, r), 0);
    r.path = "/v1/x";
    EXPECT_EQ(allowed(NARROW, r), A);
    r.path = "/v1/../admin";
    EXPECT_EQ(allowed(NARROW, r), 0);
    r.path = "/v1/x";
    r.method = "DELETE";
    EXPECT_EQ(allowed(NARROW, r), 0);
    /* Row G10: what would send it back. */
    r.method = "TRACE";
    EXPECT_EQ(allowed("", r), 0);
    r.method = "CONNECT";
    EXPECT_EQ(allowed("", r), 0);
}

/* What a field becomes at HOST with A and B as `a` and `b` say; NULL: it stays. To be freed. */
static char *filled(const char *a, const char *host, const char *name, const char *value)
{
    struct vault v = vault_new(a, "");
    struct secrets_request request = request_to(host);
    struct secrets_exchange x;
    struct buf out = BUF_INIT(SECRET_FIELD_MAX_BYTES);
    secrets_begin(&x, v.secrets, &request);
    int r = name ? secrets_fill_field(&x, name, value, &out) : secrets_fill_query(&x, value, &out);
    EXPECT_EQ(r, out.size > 0);
    EXPECT_EQ(x.used, r == 1 ? A : 0);
    secrets_end(&x);
    vault_done(&v);
    return out.data;
}

static void expect_filled(const char *a, const char *name, const char *value, const char *expected)
{
    char *got = filled(a, "a.test", name, value);
    EXPECT_STR(got ? got : "(as it is)", expected ? expected : "(as it is)");
    free(got);
    got = filled(a, "b.test", name, value);
    EXPECT_TRUE(!got);
    free(got);
}

TEST(placeholders_in_fields_are_replaced)
{
    expect_filled("", "Authorization", "Bearer " A_PLACEHOLDER, "Bearer " A_VALUE);
    expect_filled("", "X-Key", A_PLACEHOLDER "," A_PLACEHOLDER, A_VALUE "," A_VALUE);
    expect_filled("", "X-Key", "nothing", NULL);
    expect_filled(",'inject':{'headers':false}", "X-Key", A_PLACEHOLDER, NULL);
}

#define INJECT_QUERY ",'inject':{'query':true}"

/* Row G6; and G16: the value can't divide what it stands in. */
TEST(placeholders_in_a_query_are_replaced_when_asked)
{
    expect_filled("", NULL, "key=" A_PLACEHOLDER "&x=1", NULL);
    expect_filled(INJECT_QUERY, NULL, "key=" A_PLACEHOLDER "&x=1", "key=" A_PERCENT "&x=1");
}

/* Row G5: "user:placeholder-AAAA-0001" in base 64, and the value. */
#define BASIC_PLACEHOLDER "dXNlcjpwbGFjZWhvbGRlci1BQUFBLTAwMDE="
#define BASIC_VALUE       "dXNlcjpzM2NyZXQvVmFsdWUrb2YgIkEi"

TEST(basic_credentials_are_decoded_and_encoded_anew)
{
    expect_filled("", "authorization", "Basic " BASIC_PLACEHOLDER, "Basic " BASIC_VALUE);
    expect_filled("", "Authorization", "bAsIc   " BASIC_PLACEHOLDER, "Basic " BASIC_VALUE);
    expect_filled("", "X-Other", "Basic " BASIC_PLACEHOLDER, NULL);
    expect_filled("", "Authorization", "Basic !" BASIC_PLACEHOLDER, NULL);
    expect_filled(",'inject':{'basic':false}", "Authorization", "Basic " BASIC_PLACEHOLDER, NULL);
    /* Credentials that are a secret as a whole. */
    expect_filled("", "Authorization", "Basic " A_PLACEHOLDER, "Basic " A_VALUE);
}

/* The actions of those that are violated by a text in a request to host: -1: none. */
static int violation(const char *a, const char *host, const char *name, const char *value)
{
    struct vault v = vault_new(a, "");
    struct secrets_request request = request_to(host);
    struct secrets_exchange x;
    struct secrets_violation violated = {NULL};
    secrets_begin(&x, v.secrets, &request);
    secrets_check_field(&x, name, value);
    bool is_one = secrets_get_violation(&x, &violated);
    if (is_one)
        EXPECT_STR(violated.name, "A");
    EXPECT_EQ(x.used, 0);
    secrets_end(&x);
    vault_done(&v);
    return is_one ? (int)violated.action : -1;
}

/* Rows G3 and G5: A's placeholder on its way to B. */
TEST(placeholders_that_go_elsewhere_are_found_however_they_are_written)
{
    static const char *const written[] = {
        A_PLACEHOLDER,
        "x" A_PLACEHOLDER "x",
        "placeholder%2DAAAA%2d0001",
        "%70%6c%61%63%65%68%6F%6C%64%65%72-AAAA-0001",
        "%%70laceholder-AAAA-0001",
        "%7%70laceholder-AAAA-0001",
        "placeholder\\u002dAAAA\\u002D0001",
        "\\u0070laceholder-\\u0041AAA-0001",
        "\\\\u00\\u0070laceholder-AAAA-0001",
        "cGxhY2Vob2xkZXItQUFBQS0wMDAx",
        "eyJrIjoicGxhY2Vob2xkZXItQUFBQS0wMDAxIn0=",
        "eHBsYWNlaG9sZGVyLUFBQUEtMDAwMQ",
        "%ab" A_PLACEHOLDER,
        "%placeholder-AAAA%2D0001",
        "\\u00placeholder-AAAA\\u002d0001",
        "\\u12" A_PLACEHOLDER,
    };
    for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
        int at_b = violation("", "b.test", "X-Any", written[i]);
        if (at_b != POLICY_VIOLATION_BLOCK)
            harness_fail(__FILE__, __LINE__, "%s: %d", written[i], at_b);
        EXPECT_EQ(violation("", "a.test", "X-Any", written[i]), -1);
    }
    EXPECT_EQ(violation("", "b.test", "Authorization", "Basic " BASIC_PLACEHOLDER),
              POLICY_VIOLATION_BLOCK);
    EXPECT_EQ(violation("", "b.test", A_PLACEHOLDER, "in a name"), POLICY_VIOLATION_BLOCK);
    EXPECT_EQ(violation("", "b.test", "X-Any", "placeholder-AAAA-000"), -1);
    EXPECT_EQ(violation("", "b.test", "X-Any", B_PLACEHOLDER), -1);
}

TEST(what_follows_from_a_violation_is_as_the_policy_says)
{
    EXPECT_EQ(violation(",'on_violation':'terminate'", "b.test", "X", A_PLACEHOLDER),
              POLICY_VIOLATION_TERMINATE);
    EXPECT_EQ(violation(",'on_violation':'block_log'", "c.test", "X", A_PLACEHOLDER),
              POLICY_VIOLATION_BLOCK_LOG);
    EXPECT_EQ(violation(",'on_violation':'passthrough'", "b.test", "X", A_PLACEHOLDER), -1);
    EXPECT_EQ(violation(",'passthrough_hosts':['b.test']", "b.test", "X", A_PLACEHOLDER), -1);
    EXPECT_EQ(violation(",'passthrough_hosts':['b.test']", "c.test", "X", A_PLACEHOLDER),
              POLICY_VIOLATION_BLOCK);
}

TEST(the_gravest_violation_counts)
{
    struct vault v = vault_new("", ",'on_violation':'terminate'");
    struct secrets_request request = request_to("c.test");
    struct secrets_exchange x;
    struct secrets_violation violated = {NULL};
    secrets_begin(&x, v.secrets, &request);
    EXPECT_TRUE(!secrets_get_violation(&x, &violated));
    secrets_check(&x, A_PLACEHOLDER B_PLACEHOLDER, strlen(A_PLACEHOLDER B_PLACEHOLDER));
    ASSERT_TRUE(secrets_get_violation(&x, &violated));
    EXPECT_STR(violated.name, "B");
    EXPECT_EQ(violated.action, POLICY_VIOLATION_TERMINATE);
    EXPECT_EQ(x.violated, A | B);
    secrets_end(&x);
    vault_done(&v);
}

static void expect_expanded(const char *a, const char *host, const char *value,
                            const char *expected)
{
    struct vault v = vault_new(a, "");
    struct secrets_request request = request_to(host);
    struct secrets_exchange x;
    struct secrets_violation violated;
    struct buf out = BUF_INIT(SECRET_FIELD_MAX_BYTES);
    secrets_begin(&x, v.secrets, &request);
    EXPECT_EQ(secrets_expand(&x, value, &out), expected ? 0 : -EACCES);
    EXPECT_STR(out.size ? out.data : "", expected ? expected : "");
    EXPECT_EQ(secrets_get_violation(&x, &violated), !expected);
    buf_done(&out);
    secrets_end(&x);
    vault_done(&v);
}

TEST(fields_of_the_policy_get_values_where_they_may_go)
{
    expect_expanded("", "a.test", "Bearer ${secret.A}!", "Bearer " A_VALUE "!");
    expect_expanded("", "a.test", "plain", "plain");
    expect_expanded("", "a.test", "", "");
    expect_expanded("", "b.test", "Bearer ${secret.A}", NULL);
    expect_expanded("", "a.test", "${secret.A} ${secret.B}", NULL);
    expect_expanded("", "a.test", "$ {secret.A} $", "$ {secret.A} $");
    /* They need no placeholder, and so no place for one. */
    expect_expanded(",'inject':{'headers':false}", "a.test", "${secret.A}", A_VALUE);
    expect_expanded(",'on_violation':'passthrough'", "b.test", "${secret.A}", NULL);
}

TEST(what_becomes_too_long_is_an_error_without_a_rest)
{
    struct vault v = vault_new("", "");
    struct secrets_request request = request_to("a.test");
    struct secrets_exchange x;
    struct buf out = BUF_INIT(24);
    secrets_begin(&x, v.secrets, &request);
    buf_append_str(&out, "before");
    EXPECT_EQ(secrets_fill_field(&x, "X", A_PLACEHOLDER, &out), -E2BIG);
    EXPECT_EQ(out.size, 6);
    buf_reset(&out);
    EXPECT_EQ(secrets_expand(&x, "Bearer ${secret.A}", &out), -E2BIG);
    EXPECT_EQ(out.size, 0);
    EXPECT_TRUE(!memmem(out.data, out.capacity, "s3cret", 6));
    buf_done(&out);
    secrets_end(&x);
    vault_done(&v);
}

/* The content after all pieces; 0, or the error with which it ended. */
static int send_content(const char *a, const char *host, const char *type, bool is_encoded,
                        const char *content, size_t piece, struct buf *out)
{
    struct vault v = vault_new(a, "");
    struct secrets_request request = request_to(host);
    struct secrets_exchange x;
    struct secrets_body b;
    int r = 0;
    secrets_begin(&x, v.secrets, &request);
    secrets_body_begin(&b, &x, type, is_encoded);
    for (size_t at = 0, size = strlen(content); at < size && r == 0; at += piece)
        r = secrets_body_take(&b, content + at, MIN(piece, size - at), out);
    if (r == 0)
        r = secrets_body_end(&b, out);
    secrets_end(&x);
    vault_done(&v);
    return r;
}

static void expect_content(const char *a, const char *type, const char *content,
                           const char *expected)
{
    for (size_t piece = 1; piece <= strlen(content); piece++) {
        struct buf out = BUF_INIT(4096);
        EXPECT_EQ(send_content(a, "a.test", type, false, content, piece, &out), 0);
        EXPECT_STR(out.data, expected);
        buf_done(&out);
    }
}

#define INJECT_BODY ",'inject':{'body':true}"

/* Row G4: wherever it is cut. */
TEST(placeholders_in_content_are_replaced_when_asked)
{
    expect_content("", NULL, "key=" A_PLACEHOLDER ".", "key=" A_PLACEHOLDER ".");
    expect_content(INJECT_BODY, NULL, "key=" A_PLACEHOLDER ".", "key=" A_VALUE ".");
    expect_content(INJECT_BODY, "text/plain", A_PLACEHOLDER A_PLACEHOLDER, A_VALUE A_VALUE);
    expect_content(INJECT_BODY, "application/json", "{\"k\":\"" A_PLACEHOLDER "\"}",
                   "{\"k\":\"" A_JSON "\"}");
    expect_content(INJECT_BODY, "application/vnd.api+json; charset=utf-8", A_PLACEHOLDER, A_JSON);
    expect_content(INJECT_BODY, "Application/X-WWW-Form-URLencoded", "k=" A_PLACEHOLDER "&l=1",
                   "k=" A_PERCENT "&l=1");
}

TEST(content_that_is_encoded_keeps_its_placeholders)
{
    struct buf out = BUF_INIT(4096);
    EXPECT_EQ(send_content(INJECT_BODY, "a.test", NULL, true, A_PLACEHOLDER, 100, &out), 0);
    EXPECT_STR(out.data, A_PLACEHOLDER);
    buf_done(&out);
}

TEST(a_body_is_framed_anew_only_where_it_can_change)
{
    struct vault v = vault_new(INJECT_BODY, "");
    struct secrets_request to_a = request_to("a.test"), to_b = request_to("b.test");
    struct secrets_exchange x;
    struct secrets_body b;
    secrets_begin(&x, v.secrets, &to_a);
    EXPECT_TRUE(secrets_body_begin(&b, &x, NULL, false));
    EXPECT_TRUE(!secrets_body_begin(&b, &x, NULL, true));
    secrets_end(&x);
    secrets_begin(&x, v.secrets, &to_b);
    EXPECT_TRUE(!secrets_body_begin(&b, &x, NULL, false));
    secrets_end(&x);
    vault_done(&v);
}

TEST(content_with_a_placeholder_that_may_not_go_is_cut_off_before_it)
{
    static const char *const contents[] = {
        "before " A_PLACEHOLDER " after",
        "{\"k\":\"\\u0070laceholder-AAAA-000\\u0031\"}",
        "k=%70laceholder-AAAA-000%31&",
        "....eHBsYWNlaG9sZGVyLUFBQUEtMDAwMQ....",
    };
    for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
        for (size_t piece = 1; piece <= strlen(contents[i]); piece++) {
            struct buf out = BUF_INIT(4096);
            EXPECT_EQ(send_content(INJECT_BODY, "b.test", NULL, false, contents[i], piece, &out),
                      -EACCES);
            EXPECT_TRUE(!out.size || !strstr(out.data, "AAAA-0001"));
            EXPECT_TRUE(!out.size || i > 0 || !strchr(out.data, 'p'));
            buf_done(&out);
        }
    }
}

TEST(without_secrets_everything_goes_as_it_is)
{
    struct secrets_request request = request_to("a.test");
    struct secrets_exchange x;
    struct secrets_violation violated;
    struct secrets_body b;
    struct secrets_scrub c;
    struct buf out = BUF_INIT(100);
    secrets_begin(&x, NULL, &request);
    secrets_check_field(&x, "Authorization", "Basic " BASIC_PLACEHOLDER);
    EXPECT_TRUE(!secrets_get_violation(&x, &violated));
    EXPECT_EQ(secrets_fill_field(&x, "Authorization", "Basic " BASIC_PLACEHOLDER, &out), 0);
    EXPECT_EQ(secrets_fill_query(&x, A_PLACEHOLDER, &out), 0);
    EXPECT_EQ(secrets_scrub_text(&x, A_VALUE, &out), 0);
    EXPECT_EQ(secrets_expand(&x, "plain ", &out), 0);
    EXPECT_EQ(secrets_expand(&x, "${secret.A}", &out), -EACCES);
    EXPECT_TRUE(!secrets_body_begin(&b, &x, NULL, false));
    EXPECT_EQ(secrets_body_take(&b, "body ", 5, &out), 0);
    EXPECT_EQ(secrets_body_end(&b, &out), 0);
    secrets_scrub_begin(&c, &x);
    EXPECT_EQ(secrets_scrub_take(&c, "answer", 6, &out), 0);
    EXPECT_EQ(secrets_scrub_end(&c, &out), 0);
    EXPECT_STR(out.data, "plain body answer");
    secrets_end(&x);
    buf_done(&out);
}

/* Row G24: who began with the old value keeps it. */
TEST(a_request_keeps_the_value_that_it_began_with)
{
    struct vault v = vault_new("", "");
    struct secrets_request request = request_to("a.test");
    struct secrets_exchange x;
    struct secrets *next = NULL;
    struct secret_error e;
    struct buf out = BUF_INIT(100);
    const struct secret_value values[] = {
        {"A", A_PLACEHOLDER, "a new value", 11},
        {"B", B_PLACEHOLDER, B_VALUE, strlen(B_VALUE)},
    };
    ASSERT_EQ(secrets_new(policy_get_document(v.policy), values, 2, &next, &e), 0);
    secrets_begin(&x, v.secrets, &request);
    secrets_put(v.secrets);
    v.secrets = next;
    EXPECT_EQ(secrets_fill_field(&x, "X", A_PLACEHOLDER, &out), 1);
    EXPECT_STR(out.data, A_VALUE);
    secrets_end(&x);
    buf_reset(&out);
    secrets_begin(&x, v.secrets, &request);
    EXPECT_EQ(secrets_fill_field(&x, "X", A_PLACEHOLDER, &out), 1);
    EXPECT_STR(out.data, "a new value");
    secrets_end(&x);
    secret_wipe_buf(&out);
    vault_done(&v);
}
