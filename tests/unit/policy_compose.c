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

/* The document's secrets of one word; NULL, and e. */
static struct policy *secret_of(const char *word, const char *folder, struct policy_error *e)
{
    struct buf json = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    const struct policy_words words = {.secrets = &word, .secret_count = 1, .folder = folder};
    int r = policy_compose(&words, &json, e);
    struct policy *p = r == 0 ? policy_parse(json.data, json.size, e) : NULL;
    EXPECT_EQ(r == 0, p != NULL);
    buf_done(&json);
    return p;
}

TEST(words_become_secrets)
{
    static const struct {
        const char *word;
        enum policy_secret_source source;
        const char *last; /* word of the source */
        const char *host;
        uint16_t port;
        const char *method, *path;
        enum policy_text_kind kind;
    } rows[] = {
        {"K=env:TOKEN@a.test", POLICY_SECRET_ENV, "TOKEN", "a.test", 443, NULL, NULL, 0},
        {"_K1=file:/a@b/c:d@a.test:8443", POLICY_SECRET_FILE, "/a@b/c:d", "a.test", 8443, NULL,
         NULL, 0},
        {"K=file:c@a.test", POLICY_SECRET_FILE, "/folder/c", "a.test", 443, NULL, NULL, 0},
        {"K=cmd:pass show 'x@y' | head -1@a.test,B.test:GET /v1/x", POLICY_SECRET_EXEC,
         "pass show 'x@y' | head -1", "b.test", 443, "GET", "/v1/x", POLICY_TEXT_EXACT},
        {"K=cmd:a=b c@*.a.test:1-2:GET,POST /v1/*/x:y", POLICY_SECRET_EXEC, "a=b c", "x.a.test", 2,
         "POST", "/v1/*/x:y", POLICY_TEXT_GLOB},
        {"K=env:K@a.test:* /", POLICY_SECRET_ENV, "K", "a.test", 443, NULL, "/", POLICY_TEXT_EXACT},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct policy_error e = {.line = 0};
        struct policy *p = secret_of(rows[i].word, "/folder", &e);
        if (!p)
            harness_fail(__FILE__, __LINE__, "%s: %s", rows[i].word, e.text);
        ASSERT_TRUE(p != NULL);
        const struct policy_document *d = policy_get_document(p);
        ASSERT_EQ(d->secret_count, 1);
        const struct policy_secret *s = d->secrets;
        EXPECT_EQ(d->rule_count, 0);
        EXPECT_TRUE(!strncmp(rows[i].word, s->name, strlen(s->name)));
        EXPECT_STR(s->env[0], s->name);
        EXPECT_EQ(s->source, rows[i].source);
        EXPECT_STR(s->source_words[s->source_word_count - 1], rows[i].last);
        EXPECT_TRUE(policy_patterns_match(&s->hosts, rows[i].host));
        EXPECT_EQ(s->ports[0].last, rows[i].port);
        EXPECT_EQ(s->method_count > 0, rows[i].method != NULL);
        if (rows[i].method)
            EXPECT_STR(s->methods[s->method_count - 1], rows[i].method);
        EXPECT_EQ(s->path_count, rows[i].path != NULL);
        if (rows[i].path)
            EXPECT_STR(s->paths[0].text, rows[i].path);
        if (rows[i].path)
            EXPECT_EQ(s->paths[0].kind, rows[i].kind);
        EXPECT_TRUE(s->requires_tls && s->scrub == POLICY_SCRUB_BEST_EFFORT);
        policy_free(p);
    }
}

TEST(words_that_make_no_secret)
{
    static const struct {
        const char *word, *reason;
    } rows[] = {
        {"", "it has no '='"},
        {"K", "it has no '='"},
        {"K=env:K", "it has no '@'"},
        {"a@b=env:K", "it has no '@'"},
        {"=env:K@a.test", "it has no name"},
        {"k=env:K@a.test", "capital letters"},
        {"1K=env:K@a.test", "capital letters"},
        {"K-L=env:K@a.test", "capital letters"},
        {"K\nL=env:K@a.test", "capital letters"},
        {"K=K@a.test", "its source is none of"},
        {"K=ENV:K@a.test", "its source is none of"},
        {"K=literal:x@a.test", "its source is none of"},
        {"K=env:@a.test", "is no name of a variable"},
        {"K=env:A=B@a.test", "is no name of a variable"},
        {"K=file:@a.test", ""},
        {"K=file:x@a.test", "is no absolute path"},
        {"K=cmd:@a.test", ""},
        {"K=env:K@", ""},
        {"K=env:K@,a.test", ""},
        {"K=env:K@a.test,", ""},
        {"K=env:K@*", "every host"},
        {"K=env:K@*.com", "top-level"},
        {"K=env:K@https://a.test", "no METHOD"},
        {"K=env:K@a.test/x", ""},
        {"K=env:K@127.0.0.1", ""},
        {"K=env:K@[::1]", ""},
        {"K=env:K@a.test:", "no METHOD"},
        {"K=env:K@a.test:0", ""},
        {"K=env:K@a.test:65536", ""},
        {"K=env:K@a.test:443:", "no METHOD"},
        {"K=env:K@a.test:443:444", "no METHOD"},
        {"K=env:K@a.test:GET", "no METHOD"},
        {"K=env:K@a.test:GET ", "no METHOD"},
        {"K=env:K@a.test:GET x", "no METHOD"},
        {"K=env:K@a.test: /x", "no METHOD"},
        {"K=env:K@a.test:get /x", "small letters"},
        {"K=env:K@a.test:GET,, /x", "no HTTP method"},
        {"K=env:K@a.test:GET /users/@me", "is no name of a variable"},
        {"K=env:K@\xff", "is not UTF-8"},
        {"K=env:K@a\",\"x", ""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct policy_error e = {.line = 0};
        struct policy *p = secret_of(rows[i].word, NULL, &e);
        if (p || !strstr(e.text, rows[i].reason) || !strstr(e.text, "; ") || strchr(e.text, '\n') ||
            strcmp(e.pointer, "/secrets"))
            harness_fail(__FILE__, __LINE__, "%s: \"%s\" \"%s\"", rows[i].word, e.text, e.pointer);
        policy_free(p);
    }
}

TEST(secrets_have_bounds)
{
    static char long_word[16384], names[65][32];
    const char *many[65];
    struct policy_error e;
    struct buf json = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    memset(long_word, 'a', sizeof(long_word) - 1);
    memcpy(long_word, "K=cmd:", 6);
    memcpy(long_word + sizeof(long_word) - 9, "@a.test", 7);
    EXPECT_TRUE(!secret_of(long_word, NULL, &e) && strstr(e.text, "longer than 8192"));
    for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
        snprintf(names[i], sizeof(names[i]), "K%zu=env:K@a.test", i);
        many[i] = names[i];
    }
    EXPECT_EQ(
        policy_compose(&(struct policy_words){.secrets = many, .secret_count = 65}, &json, &e),
        -EINVAL);
    EXPECT_TRUE(strstr(e.text, "K64=env:K@a.test: it is one secret more than the 64"));
    many[1] = many[0];
    EXPECT_EQ(policy_compose(&(struct policy_words){.secrets = many, .secret_count = 2}, &json, &e),
              -EINVAL);
    EXPECT_TRUE(strstr(e.text, "given twice"));
    EXPECT_EQ(json.size, 0);
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
        {DOCUMENT("", RULE("a", "allow", "{'domain':['a.test']}") ",'tls':'passthrough'}"),
         "fronting:0 "},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['a.test']}") ",'tls':'terminate'}"), ""},
        {DOCUMENT("", RULE("a", "deny", "{'domain':['a.test']}") ",'tls':'passthrough'}"), ""},
        {DOCUMENT("", RULE("a", "allow", "{'cidr':['7.7.7.7']}") ",'tls':'passthrough'}"), ""},
        {DOCUMENT("'tls':{'mode':'passthrough'},",
                  RULE("a", "allow", "{'domain':['a.test']}") "}," RULE(
                      "b", "allow", "{'domain':['b.test']}") ",'tls':'passthrough'}"),
         "fronting:1 fronting:-1 "},
        {DOCUMENT("'tls':{'mode':'passthrough'},",
                  RULE("a", "allow", "{'domain':['a.test']}") ",'tls':'terminate'}"),
         ""},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['d1.cloudfront.net']}") "}"), "fronting:0 "},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['a.test','www.*.edgekey.net']}") "}"),
         "fronting:0 "},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['notcloudfront.net']}") "}"), ""},
        {DOCUMENT("", RULE("a", "allow", "{'domain':['d1.cloudfront.net']}") ",'proto':['udp']}"),
         ""},
        {DOCUMENT("", RULE("a", "allow",
                           "{'domain':['d1.cloudfront.net']}") ",'http':{'method':['GET']}}"),
         ""},
        {DOCUMENT("'tls':{'mode':'terminate'},",
                  RULE("a", "allow", "{'domain':['d1.cloudfront.net']}") "}"),
         ""},
        {DOCUMENT("'secrets':{'K':{'source':{'env':'A'},'allow':{'hosts':['*.cloudfront.net']}}},",
                  RULE("a", "allow", "{'domain':['d1.cloudfront.net']}") "}"),
         ""},
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
