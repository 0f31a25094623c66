// SPDX-License-Identifier: Apache-2.0
/*
 * Documents: what is read, what is filled in, and what is refused and how.
 */
#include "tests/harness/harness.h"
#include "tests/unit/policy_support.h"

#define RULE(rest)   "{'version':1,'rules':[{'id':'r'," rest "}]}"
#define ALLOW(to)    RULE("'action':'allow','to':" to)
#define A_RULE       "'action':'allow','to':{'domain':['a.test']}"
#define SECRET(rest) "{'version':1,'secrets':{'K':{" rest "}}}"
#define HOSTS        "'allow':{'hosts':['a.test']}"

TEST(what_holds_when_nothing_is_said)
{
    struct policy *p = policy_of("{'version':1}");
    const struct policy_document *d = policy_get_document(p);
    EXPECT_TRUE(!d->allows_by_default && !d->denies_nameless && !d->is_audit);
    EXPECT_TRUE(!d->spares_live_flows && !d->upstream && !d->secret_count && !d->rule_count);
    EXPECT_EQ(d->dns.type_count, 5);
    EXPECT_EQ(d->dns.max_qps, 50);
    EXPECT_EQ(d->dns.ttl_most_s, 300);
    EXPECT_EQ(d->limits.max_flows, 1024);
    EXPECT_EQ(d->limits.first_flight_ms, 10000);
    EXPECT_TRUE(d->limits.bytes_up == POLICY_LIMIT_NONE);
    EXPECT_EQ(d->tls.mode, POLICY_TLS_AUTO);
    EXPECT_TRUE(d->tls.installs_ca && d->log.redacts_query && d->ingress.is_public);
    policy_free(p);
}

TEST(all_of_it)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'allow','nameless':'deny','mode':'audit','on_update':'new_only',"
        "'rules':[{'id':'a.b_c-1','action':'allow','to':{'domain':['*.A.test']},"
        "'proto':['tcp','udp'],'ports':[443,'8000-8099'],'identity':'pinned','tls':'terminate',"
        "'l7':'http','connect':'allow','dns_types':['SRV','TYPE99'],"
        "'http':{'method':['GET'],'path':{'prefix':'/"
        "x'},'query':[{'name':'q','value':{'exact':''}}],"
        "'headers':[{'name':'X-Y','value':{'glob':'*z*'}}]},"
        "'transforms':[{'match':{'method':['POST']},'set_headers':{'Host':'b.test','X':'${secret.K}"
        "'},"
        "'remove_headers':['Cookie'],'forward':{'url':'https://b.test:8443/in?x=1'},"
        "'scrub':'strict'}]}],"
        "'dns':{'mode':'open','answer':'virtual','virtual_pool':'10.9.0.0/16','types':['A'],"
        "'max_qps':7,'max_unique_names':8,'ttl_shown':[1,2],'resolvers':['1.2.3.4','::2'],"
        "'hosts':{'Db.test':['10.0.0.1','fd00::1']}},"
        "'tls':{'mode':'auto','ports':[443],'install_ca':false,"
        "'extra_ca_pem':['-----BEGIN CERTIFICATE-----\\nx'],"
        "'client_certs':{'m.test':{'cert_ref':'c','key_ref':'k'}},'min_version':'1.3'},"
        "'secrets':{'K':{'source':{'exec':['pass','show']},'placeholder':'ghp_0123456789',"
        "'env':['TOKEN'],'allow':{'hosts':['.a.test'],'ports':[443],'methods':['GET'],"
        "'paths':[{'prefix':'/"
        "'}]},'inject':{'headers':true,'basic':false,'query':true,'body':true},"
        "'on_violation':'terminate','passthrough_hosts':['b.test'],'require_tls':false,"
        "'scrub':'off'}},"
        "'upstream':{'type':'socks5','address':'[::5]:1080','username':'u','password_ref':'p',"
        "'no_proxy':['*.c.test'],'resolve':'remote'},"
        "'limits':{'max_flows':1,'bytes_up':0,'rate_down':null},"
        "'log':{'level':'requests','redact_query':false,'on_full':'drop'},"
        "'ingress':{'public':false,'token_header':'X-Token','host_mask':null}}");
    const struct policy_document *d = policy_get_document(p);
    const struct policy_rule *r = &d->rules[0];
    EXPECT_STR(r->id, "a.b_c-1");
    EXPECT_STR(r->patterns.below[0], "a.test");
    EXPECT_EQ(r->protocols, 3);
    EXPECT_EQ(r->ports[1].last, 8099);
    EXPECT_EQ(r->dns_types[1], 99);
    EXPECT_STR(r->http->headers[0].name, "x-y");
    EXPECT_STR(r->transforms[0].set[0].name, "host");
    EXPECT_STR(r->transforms[0].remove[0], "cookie");
    EXPECT_STR(r->transforms[0].forward_url, "https://b.test:8443/in?x=1");
    EXPECT_EQ(d->dns.virtual_pool.prefix_bits, 96 + 16);
    EXPECT_STR(d->dns.hosts[0].name, "db.test");
    EXPECT_EQ(d->dns.hosts[0].address_count, 2);
    EXPECT_EQ(d->dns.resolver_count, 2);
    EXPECT_STR(d->secrets[0].source_words[1], "show");
    EXPECT_EQ(d->secrets[0].on_violation, POLICY_VIOLATION_TERMINATE);
    EXPECT_EQ(d->upstream->port, 1080);
    EXPECT_EQ(d->upstream->host.kind, POLICY_HOST_ADDRESS);
    EXPECT_EQ(d->tls.min_version, 0x0304);
    EXPECT_TRUE(d->limits.bytes_up == 0 && d->limits.rate_down == POLICY_LIMIT_NONE);
    EXPECT_STR(d->ingress.token_header, "x-token");
    policy_free(p);
}

TEST(protocols_when_none_are_given)
{
    static const struct {
        const char *action, *to;
        unsigned protocols;
    } rows[] = {
        {"allow", "{'domain':['a.test']}", 1},
        {"allow", "{'cidr':['1.2.3.4']}", 3},
        {"allow", "'any'", 3},
        {"deny", "{'domain':['a.test']}", 7},
        {"deny", "'any'", 7},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char text[256];
        snprintf(text, sizeof(text), RULE("'action':'%s','to':%s"), rows[i].action, rows[i].to);
        struct policy *p = policy_of(text);
        EXPECT_EQ(policy_get_document(p)->rules[0].protocols, rows[i].protocols);
        policy_free(p);
    }
}

TEST(ports_in_names)
{
    struct policy *p = policy_of(ALLOW("{'domain':['a.test:443','*.b.test:443']}"));
    const struct policy_rule *r = &policy_get_document(p)->rules[0];
    EXPECT_EQ(r->port_count, 1);
    EXPECT_EQ(r->ports[0].first, 443);
    EXPECT_STR(r->patterns.below[0], "b.test");
    policy_free(p);
    expect_refused(ALLOW("{'domain':['a.test:443','b.test']}"), "/rules/0/to/domain/1",
                   "another port");
    expect_refused(ALLOW("{'domain':['a.test:443'],'x':1}"), "/rules/0/to", "neither");
    expect_refused(RULE("'action':'allow','ports':[1],'to':{'domain':['a.test:443']}"), "/rules/0",
                   "in its names");
    expect_refused(ALLOW("{'domain':['a.test:0']}"), "/rules/0/to/domain/0", "1 to 65535");
    expect_refused(ALLOW("{'domain':['https://a.test']}"), "/rules/0/to/domain/0",
                   "without a scheme");
}

TEST(names_that_a_rule_cannot_have)
{
    static const struct {
        const char *name, *words;
    } rows[] = {
        {"", "is empty"},
        {"*.com", "two labels"},
        {".com", "two labels"},
        {"*.*.com", "two labels"},
        {"www.*", "two labels"},
        {"a*.test.org", "whole label"},
        {"*.a*.test.org", "whole label"},
        {"**.a.test", "whole label"},
        {"1.2.3.4", "write it in \"cidr\""},
        {"127.1", "address"},
        {"::1", "address"},
        {"[::1]", "address"},
        {"[::1]:80", "address"},
        {"256.1.1.1", "IPv4"},
        {"a..b", "empty label"},
        {"a.*..b.c", "empty label"},
        {"a b.test", "character"},
        {"a.test/x", "character"},
        {"glob:", "is empty"},
        {"glob:a b", "character"},
        {"glob:ü*", "character"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char text[256];
        snprintf(text, sizeof(text), ALLOW("{'domain':['%s']}"), rows[i].name);
        expect_refused(text, "/rules/0/to/domain/0", rows[i].words);
    }
}

TEST(fields_that_are_wrong)
{
    expect_refused("{}", "", "has no \"version\"");
    expect_refused("[]", "", "is not an object");
    expect_refused("{'version':2}", "/version", "write 1");
    expect_refused("{'version':'1'}", "/version", "write 1");
    expect_refused("{'version':1,'rule':[]}", "/rule",
                   "there is no such field; those that may stand "
                   "here are version, default");
    expect_refused("{'version':1,'a/b~c':[]}", "/a~1b~0c", "no such field");
    expect_refused("{'version':1,'default':true}", "/default", "\"deny\", \"allow\"");
    expect_refused("{'version':1,'default':'Deny'}", "/default", "\"deny\", \"allow\"");
    expect_refused("{'version':1,'nameless':'deny'}", "", "\"nameless\"");
    expect_refused("{'version':1,'rules':{}}", "/rules", "not a list");
    expect_refused("{'version':1,'rules':[1]}", "/rules/0", "not an object");
    expect_refused("{'version':1,'limits':{'max_flows':0}}", "/limits/max_flows", "1 to 1000000");
    expect_refused("{'version':1,'limits':{'max_flows':1.5}}", "/limits/max_flows", "whole number");
    expect_refused("{'version':1,'limits':{'max_flows':-1}}", "/limits/max_flows", "whole number");
    expect_refused("{'version':1,'limits':{'max_flows':null}}", "/limits/max_flows", "whole");
    expect_refused("{'version':1,'dns':{'types':['ANY']}}", "/dns/types/0", "DNS record");
    expect_refused("{'version':1,'dns':{'types':['TYPE255']}}", "/dns/types/0", "DNS record");
    expect_refused("{'version':1,'dns':{'types':['TYPE65536']}}", "/dns/types/0", "DNS record");
    expect_refused("{'version':1,'dns':{'ttl_shown':[9,3]}}", "/dns/ttl_shown", "LEAST");
    expect_refused("{'version':1,'dns':{'virtual_pool':'fd00::/64'}}", "/dns/virtual_pool", "IPv4");
    expect_refused("{'version':1,'dns':{'hosts':{'1.2.3.4':['1.2.3.4']}}}", "/dns/hosts/1.2.3.4",
                   "is an address");
    expect_refused("{'version':1,'dns':{'resolvers':['system','1.2.3.4']}}", "/dns/resolvers/0",
                   "no address");
    expect_refused("{'version':1,'log':null}", "/log", "not an object");
    expect_refused("{'version':1,'upstream':{'type':'http','address':'a.test'}}",
                   "/upstream/address", "no port");
    expect_refused("{'version':1,'upstream':{'address':'a.test:1'}}", "/upstream", "\"type\"");
    expect_refused("{'version':1,'upstream':{'type':'http','address':'a:1','password_ref':'x'}}",
                   "/upstream", "without a username");
    expect_refused("{'version':1,'tls':{'extra_ca_pem':['x']}}", "/tls/extra_ca_pem/0", "PEM");
}

TEST(rules_that_are_wrong)
{
    expect_refused(RULE("'to':'any'"), "/rules/0", "\"action\"");
    expect_refused(RULE("'action':'allow'"), "/rules/0", "\"to\"");
    expect_refused("{'version':1,'rules':[{'action':'deny','to':'any'}]}", "/rules/0", "\"id\"");
    expect_refused("{'version':1,'rules':[{'id':'a b','action':'deny','to':'any'}]}", "/rules/0/id",
                   "no id");
    expect_refused("{'version':1,'rules':[{'id':'a','action':'deny','to':'any'},"
                   "{'id':'b','action':'deny','to':'any'},{'id':'a','action':'deny','to':'any'}]}",
                   "/rules/2/id", "id of rule 0");
    expect_refused(ALLOW("'all'"), "/rules/0/to", "neither");
    expect_refused(ALLOW("{}"), "/rules/0/to", "neither");
    expect_refused(ALLOW("{'domain':['a.test'],'cidr':['1.2.3.4']}"), "/rules/0/to", "neither");
    expect_refused(ALLOW("{'hosts':['a.test']}"), "/rules/0/to/hosts", "domain, cidr, group");
    expect_refused(ALLOW("{'domain':[]}"), "/rules/0/to/domain", "list of host names");
    expect_refused(ALLOW("{'cidr':[]}"), "/rules/0/to/cidr", "is empty");
    expect_refused(ALLOW("{'cidr':['1.2.3.4/33']}"), "/rules/0/to/cidr/0", "no address");
    expect_refused(ALLOW("{'cidr':['a.test']}"), "/rules/0/to/cidr/0", "no address");
    expect_refused(ALLOW("{'group':['intern']}"), "/rules/0/to/group/0", "metadata, loopback");
    expect_refused(RULE(A_RULE ",'proto':['sctp']"), "/rules/0/proto/0", "no protocol");
    expect_refused(RULE(A_RULE ",'ports':[]"), "/rules/0/ports", "is empty");
    expect_refused(RULE(A_RULE ",'ports':[0]"), "/rules/0/ports/0", "no port");
    expect_refused(RULE(A_RULE ",'ports':['9-3']"), "/rules/0/ports/0", "no port");
    expect_refused(RULE(A_RULE ",'ports':['1-65536']"), "/rules/0/ports/0", "no port");
    expect_refused(RULE(A_RULE ",'ports':['80']"), "/rules/0/ports/0", "no port");
    expect_refused(RULE(A_RULE ",'reason':'x'"), "/rules/0", "\"reason\"");
    expect_refused(RULE("'action':'deny','to':'any','reason':'a\\nb'"), "/rules/0/reason",
                   "control character");
    expect_refused(RULE("'action':'deny','to':'any','transforms':[{'scrub':'strict'}]"), "/rules/0",
                   "denies");
    expect_refused(RULE("'action':'allow','to':'any','identity':'pinned'"), "/rules/0", "of names");
    expect_refused(RULE(A_RULE ",'proto':['udp'],'tls':'terminate'"), "/rules/0", "add \"tcp\"");
    expect_refused(RULE("'action':'allow','to':'any','proto':['icmp'],'ports':[1]"), "/rules/0",
                   "ICMP");
    expect_refused(RULE(A_RULE ",'l7':'raw','http':{'method':['GET']}"), "/rules/0", "\"raw\"");
}

TEST(http_that_is_wrong)
{
    expect_refused(RULE(A_RULE ",'http':{}"), "/rules/0/http", "asks nothing");
    expect_refused(RULE(A_RULE ",'http':{'method':['get']}"), "/rules/0/http/method/0", "capitals");
    expect_refused(RULE(A_RULE ",'http':{'method':['GE T']}"), "/rules/0/http/method/0", "method");
    expect_refused(RULE(A_RULE ",'http':{'path':'/x'}"), "/rules/0/http/path", "\"exact\"");
    expect_refused(RULE(A_RULE ",'http':{'path':{'exact':'/','prefix':'/'}}"), "/rules/0/http/path",
                   "one of");
    expect_refused(RULE(A_RULE ",'http':{'path':{'regex':'^/x$'}}"), "/rules/0/http/path/regex",
                   "regular expressions are not supported");
    expect_refused(RULE(A_RULE ",'http':{'path':{'prefix':'x'}}"), "/rules/0/http/path", "'/'");
    expect_refused(RULE(A_RULE ",'http':{'method':['GET']},'tls':'passthrough'"), "/rules/0",
                   "pass unopened");
    expect_refused("{'version':1,'tls':{'mode':'passthrough'},'rules':[{'id':'r'," A_RULE
                   ",'http':{'method':['GET']}}]}",
                   "/rules/0", "pass unopened");
    expect_refused(RULE(A_RULE ",'transforms':[{}]"), "/rules/0/transforms/0", "does nothing");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_headers':{'Host':'b'}}]"),
                   "/rules/0/transforms/0", "\"host\"");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_headers':{'Content-Length':'1'}}]"),
                   "/rules/0/transforms/0/set_headers/Content-Length", "frames messages");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_headers':{'Proxy-X':'1'}}]"),
                   "/rules/0/transforms/0/set_headers/Proxy-X", "frames messages");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_headers':{'x y':'1'}}]"),
                   "/rules/0/transforms/0/set_headers/x y", "no name of a header field");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_headers':{'x':'a\\r\\ny: b'}}]"),
                   "/rules/0/transforms/0/set_headers/x", "control character");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_headers':{'x':'a','X':'b'}}]"),
                   "/rules/0/transforms/0/set_headers", "twice");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_headers':{'x-a':'a','X_A':'b'}}]"),
                   "/rules/0/transforms/0/set_headers", "twice");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_headers':{'Transfer_Encoding':'1'}}]"),
                   "/rules/0/transforms/0/set_headers/Transfer_Encoding", "frames messages");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_basic':'nobody'}]"),
                   "/rules/0/transforms/0/set_basic", "no ':'");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_basic':'a:${secret.NO}'}]"),
                   "/rules/0/transforms/0/set_basic", "names no secret");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_query':{'a b':'1'}}]"),
                   "/rules/0/transforms/0/set_query/a b", "no name of a parameter");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_query':{'a':'${secret.NO}'}}]"),
                   "/rules/0/transforms/0/set_query/a", "names no secret");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_query':[]}]"),
                   "/rules/0/transforms/0/set_query", "not an object");
    expect_refused(RULE(A_RULE ",'transforms':[{'remove_headers':['proxy_x']}]"),
                   "/rules/0/transforms/0/remove_headers/0", "frames messages");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_headers':{'x':'${secret.NO}'}}]"),
                   "/rules/0/transforms/0/set_headers/x", "names no secret");
    expect_refused(RULE(A_RULE ",'transforms':[{'set_headers':{'x':'${secret.K'}}]"),
                   "/rules/0/transforms/0/set_headers/x", "names no secret");
    expect_refused(RULE(A_RULE ",'transforms':[{'forward':{'url':'ftp://a.test/'}}]"),
                   "/rules/0/transforms/0/forward/url", "no URL");
    expect_refused(RULE(A_RULE ",'transforms':[{'forward':{'url':'https://u@a.test/'}}]"),
                   "/rules/0/transforms/0/forward/url", "no URL");
}

TEST(secrets_that_are_wrong)
{
    expect_refused(SECRET(HOSTS), "/secrets/K", "\"source\"");
    expect_refused(SECRET("'source':{'env':'A'}"), "/secrets/K", "\"allow\"");
    expect_refused(SECRET("'source':{'env':'A'},'allow':{}"), "/secrets/K/allow", "\"hosts\"");
    expect_refused(SECRET("'source':{'env':'A'},'allow':{'hosts':[]}"), "/secrets/K/allow/hosts",
                   "is empty");
    static const char *const of_all[] = {"*", "glob:*", "glob:**", "glob:*.*"};
    for (size_t i = 0; i < ARRAY_SIZE(of_all); i++) {
        char document[256];
        snprintf(document, sizeof(document),
                 SECRET("'source':{'env':'A'},'allow':{'hosts':['a.test','%s']}"), of_all[i]);
        expect_refused(document, "/secrets/K/allow/hosts/1", "every host");
    }
    expect_refused(SECRET("'source':{'env':'A','file':'/x'}," HOSTS), "/secrets/K/source",
                   "one of");
    expect_refused(SECRET("'source':{'env':'A=B'}," HOSTS), "/secrets/K/source/env", "variable");
    expect_refused(SECRET("'source':{'file':'x'}," HOSTS), "/secrets/K/source/file", "absolute");
    expect_refused(SECRET("'source':{'fd':2}," HOSTS), "/secrets/K/source/fd", "descriptor");
    expect_refused(SECRET("'source':{'literal':'a\\r\\nb'}," HOSTS), "/secrets/K/source/literal",
                   "control character");
    expect_refused(SECRET("'source':{'env':'A'},'placeholder':'short'," HOSTS),
                   "/secrets/K/placeholder", "write 8 to 256");
    expect_refused(SECRET("'source':{'env':'A'},'placeholder':'has spaces in it'," HOSTS),
                   "/secrets/K/placeholder", "changed on the way");
    expect_refused("{'version':1,'secrets':{'a-b':{'source':{'env':'A'}," HOSTS "}}}",
                   "/secrets/a-b", "name of a secret");
}

#define AWS_ID "'ID':{'source':{'env':'I'}," HOSTS "},"
#define AWS(rest)                                                                               \
    "{'version':1,'secrets':{" AWS_ID "'K':{'source':{'env':'A'}," HOSTS ",'sign':{" rest "}}}" \
    "}"

TEST(a_secret_is_for_one_thing)
{
    struct policy *p = policy_of(AWS("'type':'aws_sigv4','access_key_id_ref':'ID'"));
    const struct policy_secret *s = &policy_get_document(p)->secrets[1];
    EXPECT_EQ(s->use, POLICY_SECRET_SIGNS);
    EXPECT_EQ(s->ports[0].first, 443);
    EXPECT_TRUE(!s->in_headers && !s->in_basic && !s->aws.session_token_ref);
    policy_free(p);
    p = policy_of(SECRET("'source':{'env':'A'}," HOSTS ",'postgres':{'user':'app'}"));
    s = &policy_get_document(p)->secrets[0];
    EXPECT_EQ(s->use, POLICY_SECRET_POSTGRES);
    EXPECT_EQ(s->ports[0].first, 5432);
    EXPECT_TRUE(s->postgres.has_tls && !s->postgres.database && !s->in_headers);
    EXPECT_TRUE(policy_find_postgres(policy_get_document(p), "a.test", 5432) == s);
    EXPECT_TRUE(!policy_find_postgres(policy_get_document(p), "a.test", 443) &&
                !policy_find_postgres(policy_get_document(p), "b.test", 5432));
    policy_free(p);
}

TEST(uses_that_are_wrong)
{
    expect_refused(AWS("'type':'hmac','access_key_id_ref':'ID'"), "/secrets/K/sign/type",
                   "aws_sigv4");
    expect_refused(AWS("'type':'aws_sigv4'"), "/secrets/K/sign", "access_key_id_ref");
    expect_refused(AWS("'type':'aws_sigv4','access_key_id_ref':'K'"),
                   "/secrets/K/sign/access_key_id_ref", "names no other secret");
    expect_refused(AWS("'type':'aws_sigv4','access_key_id_ref':'ID','session_token_ref':'NO'"),
                   "/secrets/K/sign/session_token_ref", "names no other secret");
    expect_refused(AWS("'type':'aws_sigv4','access_key_id_ref':'ID'},'inject':{'body':true"),
                   "/secrets/K/inject", "no meaning");
    expect_refused(AWS("'type':'aws_sigv4','access_key_id_ref':'ID'},'postgres':{'user':'u'"),
                   "/secrets/K", "leave one out");
#define PG(rest) SECRET("'source':{'env':'A'}," HOSTS "," rest)
    expect_refused(PG("'postgres':{}"), "/secrets/K/postgres", "\"user\"");
    expect_refused(PG("'postgres':{'user':'u','tls':'prefer'}"), "/secrets/K/postgres/tls",
                   "verify");
    expect_refused(PG("'postgres':{'user':'u'},'require_tls':false"), "/secrets/K/require_tls",
                   "no meaning");
    expect_refused(SECRET("'source':{'env':'A'},'postgres':{'user':'u'},'allow':{'hosts':['a.test'"
                          "],'methods':['GET']}"),
                   "/secrets/K/allow/methods", "no meaning");
    expect_refused("{'version':1,'secrets':{'K':{'source':{'env':'A'}," HOSTS
                   ",'postgres':{'user':'u'}}},'rules':[{'id':'r'," A_RULE
                   ",'transforms':[{'set_headers':{'x':'${secret.K}'}}]}]}",
                   "/rules/0/transforms/0/set_headers/x", "names no secret");
}

/* The sentence for a text of any bytes; "" when it is taken. */
static const char *refusal_of(const char *text, size_t size)
{
    static struct policy_error e;
    char *copy = malloc(size ? size : 1);
    ASSERT_TRUE(copy != NULL);
    memcpy(copy, text, size);
    struct policy *p = policy_parse(copy, size, &e);
    free(copy);
    if (p)
        e.text[0] = '\0';
    policy_free(p);
    return e.text;
}

TEST(texts_that_are_no_json)
{
    static const struct {
        const char *text;
        size_t size;
        const char *words;
    } rows[] = {
        {"", 0, "line 1, column 0"},
        {"{", 1, "line 1, column 1"},
        {"{\"version\":1}x", 14, "end of file expected"},
        {"{\"version\":1,\n \"version\":1}", 27,
         "line 2, column 10: is not JSON as it is read "
         "here: duplicate object key"},
        {"{\"version\":1,}", 14, "line 1"},
        {"{\"version\":1 /* x */}", 21, "line 1"},
        {"{\"version\":\"\xff\"}", 15, "unable to decode byte 0xff"},
        {"{\"version\":\"\\u0000\"}", 20, "line 1"},
        {"{\"ver\0sion\":1}", 14, "line 1"},
        {"{\"version\":\"\\ud800\"}", 20, "line 1"},
        {"{\"version\":1e999}", 17, "line 1"},
        {"{\"version\":99999999999999999999}", 32, "line 1"},
        {"\"x\"", 3, "line 1"},
        {"null", 4, "line 1"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *got = refusal_of(rows[i].text, rows[i].size);
        if (!strstr(got, rows[i].words) || !strstr(got, "; ") || strchr(got, '\n'))
            harness_fail(__FILE__, __LINE__, "%s: \"%s\"", rows[i].text, got);
    }
}

static char *repeat(const char *before, const char *text, size_t count, const char *behind)
{
    size_t size = strlen(text);
    char *all = malloc(strlen(before) + count * size + strlen(behind) + 1);
    ASSERT_TRUE(all != NULL);
    char *end = stpcpy(all, before);
    for (size_t i = 0; i < count; i++, end += size)
        memcpy(end, text, size);
    strcpy(end, behind);
    return all;
}

TEST(documents_that_are_too_much)
{
    char *text = repeat("{\"version\":1", " ", POLICY_DOCUMENT_MAX_BYTES - 13, "}");
    EXPECT_EQ(strlen(text), POLICY_DOCUMENT_MAX_BYTES);
    EXPECT_STR(refusal_of(text, strlen(text)), "");
    free(text);
    text = repeat("{\"version\":1", " ", POLICY_DOCUMENT_MAX_BYTES - 12, "}");
    EXPECT_TRUE(strstr(refusal_of(text, strlen(text)), "has 262145 bytes; write at most 262144"));
    free(text);
    text = repeat("", "[", 100000, "");
    EXPECT_TRUE(strstr(refusal_of(text, strlen(text)), "maximum parsing depth"));
    free(text);
    text = repeat("", "{\"a\":", 50000, "");
    EXPECT_TRUE(strstr(refusal_of(text, strlen(text)), "maximum parsing depth"));
    free(text);
    text = repeat("{\"version\":1,\"", "k", 100000, "\":1}");
    EXPECT_TRUE(strstr(refusal_of(text, strlen(text)), "no such field"));
    free(text);
}

TEST(where_a_mistake_is)
{
    static const struct {
        const char *text;
        unsigned line, column;
    } rows[] = {
        {"{\"version\": 2}", 1, 13},
        {" \n []", 2, 2},
        {"{\"version\":1,\n \"rules\": [\n{\"id\": \"a]\\\"}\", \"action\": true}]}", 3, 8},
        {"{\"version\":1, \"log\" :{\"level\": [{\"}\": \"]\"}]} }", 1, 32},
        {"{\"upstream\":{\"username\":\"ü\",\"type\":1}, \"version\":1}", 1, 36},
        {"{\"dns\":{\"hosts\":{\"a/b~c\":1}},\"version\":1}", 1, 26},
        {"{\"version\":1,\"\\u0061\":1}", 0, 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct policy_error e;
        EXPECT_TRUE(!policy_parse(rows[i].text, strlen(rows[i].text), &e));
        if (e.line != rows[i].line || e.column != rows[i].column)
            harness_fail(__FILE__, __LINE__, "%s: %u, %u: %s", rows[i].text, e.line, e.column,
                         e.text);
    }
}

static char *number_rules(size_t count)
{
    char *text = malloc(POLICY_DOCUMENT_MAX_BYTES);
    ASSERT_TRUE(text != NULL);
    char *end = stpcpy(text, "{\"version\":1,\"rules\":[");
    for (size_t i = 0; i < count; i++)
        end +=
            sprintf(end, "%s{\"id\":\"r%zu\",\"action\":\"deny\",\"to\":\"any\"}", i ? "," : "", i);
    strcpy(end, "]}");
    return text;
}

TEST(as_many_rules_and_secrets_as_may_be)
{
    char *text = number_rules(POLICY_RULES_MAX);
    EXPECT_STR(refusal_of(text, strlen(text)), "");
    free(text);
    text = number_rules(POLICY_RULES_MAX + 1);
    EXPECT_TRUE(strstr(refusal_of(text, strlen(text)), "/rules: has 1001 elements; at most 1000"));
    free(text);
    for (size_t count = POLICY_SECRETS_MAX; count <= POLICY_SECRETS_MAX + 1; count++) {
        char all[16384], *end = stpcpy(all, "{\"version\":1,\"secrets\":{");
        for (size_t i = 0; i < count; i++)
            end += sprintf(
                end, "%s\"K%zu\":{\"source\":{\"env\":\"A\"},\"allow\":{\"hosts\":[\"a.b\"]}}",
                i ? "," : "", i);
        strcpy(end, "}}");
        EXPECT_EQ(refusal_of(all, strlen(all))[0] == '\0', count == POLICY_SECRETS_MAX);
    }
}

/* What a document says is shown without what could act on a terminal. */
TEST(what_a_refusal_quotes)
{
    static const char text[] =
        "{\"version\":1,\"rules\":[{\"id\":\"r\",\"action\":\"allow\",\"to\":"
        "{\"domain\":[\"\xe2\x80\xae"
        "a.test\"]}}]}";
    const char *got = refusal_of(text, strlen(text));
    EXPECT_TRUE(strstr(got, "\\u202ea.test") != NULL);
    static const char key[] = "{\"version\":1,\"\\u001b[2J\":1}";
    got = refusal_of(key, strlen(key));
    EXPECT_TRUE(!strchr(got, 033) && strstr(got, "\\x1b[2J"));
}

TEST(networks_become_ranges)
{
    struct policy *p = policy_of(ALLOW("{'cidr':['10.0.0.0/9','10.128.0.0/9','10.1.2.3',"
                                       "'11.0.0.0/8','::/0','0.0.0.1','2001:db8::/32']}"));
    const struct policy_rule *r = &policy_get_document(p)->rules[0];
    char text[POLICY_ADDRESS_TEXT_BYTES];
    ASSERT_EQ(r->range_count, 3);
    EXPECT_STR(policy_address_print(&r->ranges[0].first, text), "0.0.0.1");
    EXPECT_STR(policy_address_print(&r->ranges[1].first, text), "10.0.0.0");
    EXPECT_STR(policy_address_print(&r->ranges[1].last, text), "11.255.255.255");
    EXPECT_STR(policy_address_print(&r->ranges[2].first, text), "::");
    policy_free(p);
}
