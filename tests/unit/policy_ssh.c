// SPDX-License-Identifier: Apache-2.0
/*
 * Secrets that log in by SSH, in documents and on command lines.
 */
#include "lib/policy/compose.h"
#include "lib/policy/same.h"
#include "tests/harness/harness.h"
#include "tests/unit/policy_support.h"

#define KEY_A "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDx5RTl0Dt3GFpT1zb2zLGFv0xQv2P9T8oLQ8mVgq1Zs"
#define KEY_B "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDx5RTl0Dt3GFpT1zb2zLGFv0xQv2P9T8oLQ8mVgq1Zt"
#define SECRET(allow, ssh, more)                                                                   \
    "{'version':1,'secrets':{'K':{'source':{'file':'/k'},'allow':{" allow "},'ssh':{" ssh "}" more \
    "}}}"
#define HOSTS "'hosts':['git.test']"
#define KEYS  "'host_keys':['" KEY_A "']"

TEST(a_key_for_ssh)
{
    struct policy *p =
        policy_of(SECRET(HOSTS, "'host_keys':['" KEY_A " me@home','" KEY_B "']", ""));
    const struct policy_document *d = policy_get_document(p);
    const struct policy_secret *s = d->secrets;
    EXPECT_EQ(s->use, POLICY_SECRET_SSH);
    EXPECT_EQ(s->ports[0].first, 22);
    EXPECT_EQ(s->scrub, POLICY_SCRUB_OFF);
    EXPECT_STR(s->ssh.user, "git");
    EXPECT_EQ(s->ssh.host_key_count, 2);
    EXPECT_STR(s->ssh.host_keys[0].text, KEY_A);
    EXPECT_EQ(s->ssh.host_keys[1].blob_size, 51);
    EXPECT_TRUE(policy_has_ssh(d) && !policy_secret_is_for_requests(s));
    EXPECT_TRUE(!s->in_headers && !s->in_basic);
    policy_free(p);
}

TEST(what_clients_find_as_known_hosts)
{
    struct buf b = BUF_INIT(65536);
    struct policy *p =
        policy_of(SECRET("'hosts':['b.test','A.test'],'ports':[22,2222]", "'user':'u'," KEYS, ""));
    EXPECT_EQ(policy_write_known_hosts(policy_get_document(p), &b), 0);
    EXPECT_STR(b.data, "a.test " KEY_A "\nb.test " KEY_A "\n[a.test]:2222 " KEY_A
                       "\n[b.test]:2222 " KEY_A "\n");
    buf_done(&b);
    policy_free(p);
}

TEST(keys_for_ssh_that_are_wrong)
{
    expect_refused(SECRET(HOSTS, "", ""), "/secrets/K/ssh", "host_keys");
    expect_refused(SECRET(HOSTS, "'host_keys':[]", ""), "/secrets/K/ssh/host_keys", "");
    expect_refused(SECRET(HOSTS, "'host_keys':['ssh-ed25519 AAAA']", ""),
                   "/secrets/K/ssh/host_keys/0", "damaged");
    expect_refused(SECRET(HOSTS, "'host_keys':['git.test " KEY_A "']", ""),
                   "/secrets/K/ssh/host_keys/0", "type");
    expect_refused(SECRET(HOSTS, "'user':''," KEYS, ""), "/secrets/K/ssh/user", "");
    expect_refused(SECRET("'hosts':['*.git.test']", KEYS, ""), "/secrets/K/ssh", "in full");
    expect_refused(SECRET("'hosts':['git.test'],'ports':['22-23']", KEYS, ""), "/secrets/K/ssh",
                   "by itself");
    expect_refused(SECRET("'hosts':['git.test'],'methods':['GET']", KEYS, ""),
                   "/secrets/K/allow/methods", "no meaning");
    static const struct {
        const char *field, *value;
    } rows[] = {{"placeholder", "'auto'"},
                {"env", "['K']"},
                {"inject", "{}"},
                {"scrub", "'strict'"},
                {"passthrough_hosts", "['a.test']"},
                {"on_violation", "'block'"},
                {"require_tls", "true"}};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char document[512], pointer[64];
        snprintf(document, sizeof(document), SECRET(HOSTS, KEYS, ",'%s':%s"), rows[i].field,
                 rows[i].value);
        snprintf(pointer, sizeof(pointer), "/secrets/K/%s", rows[i].field);
        expect_refused(document, pointer, "no meaning in a secret with \"ssh\"");
    }
}

/* Its hosts are not where TLS is opened. */
TEST(a_key_for_ssh_opens_no_tls)
{
    struct policy *p =
        policy_of("{'version':1,'rules':[{'id':'r','action':'allow','to':{'domain':['git.test']}}],"
                  "'secrets':{'K':{'source':{'file':'/k'},'allow':{" HOSTS
                  ",'ports':[22,443]},'ssh':{" KEYS "}}}}");
    struct policy_operator op = {.exempt = NULL};
    expect_verdict(p, &op, "tcp 45.33.32.10 443 from=git.test sni=git.test",
                   "allow rule:r git.test");
    policy_free(p);
}

/* The first secret of a word; the policy is the caller's. NULL, and e. */
static struct policy *of_word(const char *word, const char *known_hosts, struct policy_error *e)
{
    struct buf json = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    const struct policy_words words = {
        .secrets = &word, .secret_count = 1, .folder = "/folder", .known_hosts = known_hosts};
    int r = policy_compose(&words, &json, e);
    struct policy *p = r == 0 ? policy_parse(json.data, json.size, e) : NULL;
    EXPECT_EQ(r == 0, p != NULL);
    buf_done(&json);
    return p;
}

TEST(words_become_keys_for_ssh)
{
    struct policy_error e = {.line = 0};
    const char *known = "git.test " KEY_A "\nb.test,x " KEY_B "\n[git.test]:2222 " KEY_B "\n";
    struct policy *p = of_word("K=ssh:file:k@Git.test,b.test", known, &e);
    ASSERT_TRUE(p);
    const struct policy_secret *s = policy_get_document(p)->secrets;
    EXPECT_EQ(s->use, POLICY_SECRET_SSH);
    EXPECT_STR(s->source_words[0], "/folder/k");
    EXPECT_EQ(s->env_count, 0);
    EXPECT_EQ(s->ports[0].first, 22);
    ASSERT_EQ(s->ssh.host_key_count, 2);
    EXPECT_STR(s->ssh.host_keys[0].text, KEY_A);
    EXPECT_STR(s->ssh.host_keys[1].text, KEY_B);
    policy_free(p);
    p = of_word("K=ssh:env:X@git.test:2222", known, &e);
    ASSERT_TRUE(p);
    s = policy_get_document(p)->secrets;
    EXPECT_EQ(s->ports[0].first, 2222);
    EXPECT_STR(s->ssh.host_keys[0].text, KEY_B);
    policy_free(p);
}

TEST(words_that_become_none)
{
    static const struct {
        const char *word, *words;
    } rows[] = {
        {"K=ssh:file:k@c.test", "ssh-keyscan"},
        {"K=ssh:file:k@git.test,c.test", "ssh-keyscan"},
        {"K=ssh:file:k@*.test", "ssh-keyscan"},
        {"K=ssh:file:k@git.test:23", "ssh-keyscan"},
        {"K=ssh:file:k@git.test:GET /x", "leave them out"},
        {"K=ssh:k@git.test", "its source is none of"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct policy_error e = {.line = 0};
        struct policy *p = of_word(rows[i].word, "git.test " KEY_A, &e);
        if (p || !strstr(e.text, rows[i].words))
            harness_fail(__FILE__, __LINE__, "%s: %s", rows[i].word, e.text);
        policy_free(p);
    }
    struct policy_error e = {.line = 0};
    EXPECT_TRUE(!of_word("K=ssh:file:k@git.test", NULL, &e));
}

#define OF(name, more) \
    "'" name "':{'source':{'env':'" name "'},'allow':{'hosts':['a.test']}" more "}"
#define WITH(secrets) "{'version':1,'secrets':{" secrets "}}"
#define SSH_OF(name) \
    "'" name "':{'source':{'file':'/k'},'allow':{'hosts':['git.test']},'ssh':{" KEYS "}}"

TEST(secrets_may_come_and_go_but_for_those_of_ssh)
{
    static const struct {
        const char *before, *after;
        bool is_other;
    } rows[] = {
        {"{'version':1}", "{'version':1}", false},
        {"{'version':1}", WITH(OF("A", "")), false},
        {WITH(OF("A", "")), WITH(OF("A", "") "," OF("B", "")), false},
        {WITH(OF("A", "") "," OF("B", "")), WITH(OF("B", "") "," OF("A", "")), false},
        {WITH(OF("A", "")), WITH(""), false},
        {WITH(OF("A", "")), WITH(OF("B", "")), false},
        {WITH(OF("A", "")), "{'version':1}", true},
        {WITH(OF("A", "")), WITH(OF("A", ",'scrub':'off'")), true},
        {WITH(OF("A", "")), WITH(OF("A", ",'env':['A']")), true},
        {WITH(OF("A", "")), WITH(OF("A", "") "," SSH_OF("B")), true},
        {WITH(SSH_OF("B")), WITH(OF("A", "") "," SSH_OF("B")), false},
        {WITH(SSH_OF("B")), WITH(OF("A", "")), true},
        {WITH(SSH_OF("B")), WITH(SSH_OF("B") "," SSH_OF("C")), true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct policy *a = policy_of(rows[i].before), *b = policy_of(rows[i].after);
        const char *place =
            policy_find_lasting_change(policy_get_document(a), policy_get_document(b));
        EXPECT_EQ(place != NULL, rows[i].is_other);
        if (place)
            EXPECT_STR(place, "/secrets");
        policy_free(a);
        policy_free(b);
    }
}

TEST(another_key_for_ssh_is_another_policy)
{
    static const char *const documents[] = {
        SECRET(HOSTS, KEYS, ""),
        SECRET(HOSTS, "'user':'u'," KEYS, ""),
        SECRET(HOSTS, "'host_keys':['" KEY_B "']", ""),
        SECRET(HOSTS, "'host_keys':['" KEY_A "','" KEY_B "']", ""),
    };
    for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
        struct policy *a = policy_of(documents[0]), *b = policy_of(documents[i]);
        const char *place =
            policy_find_lasting_change(policy_get_document(a), policy_get_document(b));
        EXPECT_EQ(place != NULL, i > 0);
        policy_free(a);
        policy_free(b);
    }
}
