// SPDX-License-Identifier: Apache-2.0
/*
 * Documents made of command lines, and warnings.
 */
#include "lib/policy/compose.h"
#include "lib/policy/lint.h"
#include "tests/harness/harness.h"
#include "tests/unit/policy_support.h"

static int compose(const char *word, struct buf *json, struct policy_error *e)
{
    return policy_compose(&(struct policy_words){.allow = &word, .allow_count = 1}, json, e);
}

/* The policy of one word. */
static struct policy *composed(const char *word)
{
    struct policy_error e = {.line = 0};
    struct buf json = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    int r = compose(word, &json, &e);
    struct policy *p = r == 0 ? policy_parse(json.data, json.size, &e) : NULL;
    buf_done(&json);
    if (!p) {
        harness_fail(__FILE__, __LINE__, "%s: %s", word, e.text);
        harness_end_case();
    }
    return p;
}

TEST(words_become_rules)
{
    struct policy *p = composed("api.test:443,*.pkg.test,7.7.7.0/24:5432,2001:4860::1,"
                                "[2a00::/16]:8000-8099,1.2.3.4");
    EXPECT_EQ(policy_get_document(p)->rule_count, 6);
    EXPECT_TRUE(!policy_get_document(p)->allows_by_default);
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 from=api.test", "allow rule:allow-1 api.test");
    expect_verdict(p, NULL, "tcp 20.1.1.1 80 from=api.test", "deny default");
    expect_verdict(p, NULL, "udp 20.1.1.1 443 from=api.test", "deny default");
    expect_verdict(p, NULL, "tcp 20.1.1.1 22 from=a.pkg.test", "allow rule:allow-2 a.pkg.test");
    expect_verdict(p, NULL, "udp 7.7.7.7 5432", "allow rule:allow-3 address");
    expect_verdict(p, NULL, "udp 7.7.7.7 5433", "deny default");
    expect_verdict(p, NULL, "udp 2001:4860::1 1", "allow rule:allow-4");
    expect_verdict(p, NULL, "udp 2a00::7 8099", "allow rule:allow-5");
    expect_verdict(p, NULL, "udp 2a00::7 8100", "deny default");
    expect_verdict(p, NULL, "udp 1.2.3.4 8100", "allow rule:allow-6");
    expect_query(p, "api.test", "A", "allow");
    expect_query(p, "evil.test", "A", "deny dns_name");
    policy_free(p);
}

TEST(words_for_all)
{
    static const char *const words[] = {"any", "public"};
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        struct policy *p = composed(words[i]);
        expect_verdict(p, NULL, "udp 20.1.1.1 123", "allow rule:allow-1 address");
        expect_verdict(p, NULL, "tcp 10.0.0.1 80", "deny floor:private");
        expect_query(p, "evil.test", "A", "allow rule:allow-1");
        policy_free(p);
    }
    struct policy *p = composed("host:8080");
    EXPECT_EQ(policy_get_document(p)->rules[0].groups, 1U << POLICY_GROUP_HOST);
    EXPECT_EQ(policy_get_document(p)->rules[0].ports[0].first, 8080);
    policy_free(p);
}

TEST(words_that_make_no_rule)
{
    static const struct {
        const char *word, *text;
    } rows[] = {
        {"", ",: has nothing beside it; "},
        {"a.test,", ",: has nothing beside it; "},
        {"a.test:99999", "a.test:99999: is no port; "},
        {"a.test:", "a.test:: is no port; "},
        {"*.com", "*.com: \"*.com\" reaches over a whole top-level domain; "},
        {"b.test,https://a.test", "https://a.test: "},
        {"a b", "a b: \"a b\" has a character"},
        {"1.2.3.4/33", "1.2.3.4/33: \"1.2.3.4/33\" has a character"},
        {"a:b:c", "a:b:c: "},
        {"\xff", "�: is not UTF-8; "},
        {"a\",\"x", "a\": "},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct policy_error e = {.line = 0};
        struct buf json = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
        EXPECT_EQ(compose(rows[i].word, &json, &e), -EINVAL);
        if (strncmp(e.text, rows[i].text, strlen(rows[i].text)) || !strstr(e.text, "; "))
            harness_fail(__FILE__, __LINE__, "%s: \"%s\"", rows[i].word, e.text);
        EXPECT_EQ(json.size, 0);
        buf_done(&json);
    }
}

TEST(more_words_than_rules)
{
    char word[2 * POLICY_RULES_MAX + 4] = "a";
    for (size_t i = 1; i <= POLICY_RULES_MAX; i++)
        memcpy(word + 2 * i - 1, ",a", 3);
    struct policy_error e;
    struct buf json = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    EXPECT_EQ(compose(word, &json, &e), -EINVAL);
    EXPECT_TRUE(strstr(e.text, "1000") != NULL);
    buf_done(&json);
}

TEST(a_buffer_that_is_too_small)
{
    struct policy_error e;
    struct buf json = BUF_INIT(16);
    const char *word = "a.test";
    EXPECT_EQ(compose(word, &json, &e), -E2BIG);
    buf_done(&json);
}

static void append_warning(const struct policy_warning *w, void *context)
{
    char *text = context;
    EXPECT_TRUE(strstr(w->text, "; ") && !strchr(w->text, '\n'));
    sprintf(text + strlen(text), "%s:%d ", w->code, w->rule);
}

#define DOCUMENT(rest, rules) "{'version':1," rest "'rules':[" rules "]}"
#define RULE(id, action, to)  "{'id':'" id "','action':'" action "','to':" to

TEST(warnings)
{
    static const struct {
        const char *document, *warnings;
    } rows[] = {
        {DOCUMENT("", RULE("a", "allow", "{'domain':['a.test']}") "}"), ""},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['*.a.test']}") "}," RULE(
                          "b", "deny", "{'domain':['x.a.test']}") "}"),
         "unreachable_rule:1 "},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['*.a.test']}") ",'ports':[443]}," RULE(
                          "b", "deny", "{'domain':['x.a.test']}") "}"),
         ""},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['*.a.test']}") ",'ports':['80-500']}," RULE(
                          "b", "allow", "{'domain':['x.a.test']}") ",'ports':[80,443]}"),
         "unreachable_rule:1 "},
        {DOCUMENT("",
                  RULE("a", "allow", "{'domain':['a.test']}") ",'http':{'method':['GET']}}," RULE(
                      "b", "allow", "{'domain':['a.test']}") "}"),
         ""},
        {DOCUMENT("",
                  RULE("a", "deny", "'any'") "}," RULE("b", "allow", "{'cidr':['7.7.7.7']}") "}"),
         "unreachable_rule:1 "},
        {DOCUMENT("", RULE("a", "allow", "{'cidr':['7.0.0.0/8']}") "}," RULE(
                          "b", "allow", "{'cidr':['7.7.7.7','8.0.0.1']}") "}"),
         ""},
        {DOCUMENT("'default':'allow',", RULE("a", "deny", "{'domain':['a.test']}") "}"),
         "deny_by_name_under_default_allow:0 "},
        {DOCUMENT("'default':'allow','nameless':'deny',",
                  RULE("a", "deny", "{'domain':['a.test']}") "}"),
         ""},
        {DOCUMENT("'default':'allow',", RULE("a", "allow", "{'domain':['a.test']}") "}"),
         "no_effect_allow:0 "},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['github.com']}") "}"),
         "broad_multi_tenant_host:0 "},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['*.amazonaws.com']}") "}"),
         "broad_multi_tenant_host:0 "},
        {DOCUMENT("", RULE("a", "allow",
                           "{'domain':['github.com']}") ",'http':{'path':{'prefix':'/acme/'}}}"),
         ""},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['*']}") "}"), "wildcard_too_broad:0 "},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['*.co.uk']}") "}"), "wildcard_too_broad:0 "},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['glob:*pkg.test']}") "}"),
         "wildcard_too_broad:0 "},
        {DOCUMENT("", RULE("a", "allow", "{'cidr':['10.0.0.0/8']}") "}"), "floor_overlap:0 "},
        {DOCUMENT("", RULE("a", "allow", "{'group':['host']}") "}"), "floor_overlap:0 "},
        {DOCUMENT("", RULE("a", "allow", "{'group':['public']}") "}"), ""},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['a.test:22']}") "}"), "tunnel_host:0 "},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['a.test']}") ",'connect':'allow'}"),
         "tunnel_host:0 "},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['аpi.a.test']}") "}"),
         "mixed_script_label:0 "},
        {DOCUMENT("", RULE("a", "deny", "{'domain':['*.bücher.test','пример.test']}") "}"), ""},
        {"{'version':1,'dns':{'mode':'open'}}", "dns_open:-1 "},
        {"{'version':1,'secrets':{'K':{'source':{'env':'A'},'allow':{'hosts':['a.test']},"
         "'require_tls':false}}}",
         "plain_http_secret:-1 "},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char text[512] = "";
        struct policy *p = policy_of(rows[i].document);
        policy_lint(p, append_warning, text);
        if (strcmp(text, rows[i].warnings))
            harness_fail(__FILE__, __LINE__, "%s: \"%s\" and \"%s\"", rows[i].document, text,
                         rows[i].warnings);
        policy_free(p);
    }
}
