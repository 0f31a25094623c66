// SPDX-License-Identifier: Apache-2.0
/*
 * What stands beside the vectors: other names than those of the flow, the default, secrets, audit,
 * what is near, and questions to the resolver.
 */
#include "tests/harness/harness.h"
#include "tests/unit/policy_support.h"

#define RULE(id, action, to)  "{'id':'" id "','action':'" action "','to':" to
#define DOCUMENT(rest, rules) "{'version':1," rest "'rules':[" rules "]}"

TEST(flows_without_sense)
{
    struct policy *p = policy_of(DOCUMENT("'default':'allow',", ""));
    expect_verdict(p, NULL, "tcp 20.1.1.1 0", "deny malformed");
    expect_verdict(p, NULL, "udp 20.1.1.1 0", "deny malformed");
    expect_verdict(p, NULL, "icmp 20.1.1.1 7", "deny malformed");
    expect_verdict(p, NULL, "icmp 20.1.1.1 0", "allow default");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 sni=#", "deny malformed");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 sni=Api.Test", "deny malformed");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 sni=a..b", "deny malformed");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 sni=127.1", "deny malformed");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 target=!", "deny malformed");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 from=a.test.", "deny malformed");
    policy_free(p);
}

TEST(an_address_in_place_of_a_name)
{
    struct policy *p = policy_of(DOCUMENT("", RULE("n", "allow", "{'domain':['a.test']}") "}," RULE(
                                                  "c", "allow", "{'cidr':['7.7.7.7']}") "}"));
    expect_verdict(p, NULL, "tcp 20.1.1.1 80 from=a.test sni=- host=# http=GET:/",
                   "deny name_conflict");
    expect_verdict(p, NULL, "tcp 20.1.1.1 80 sni=- host=# http=GET:/", "deny default +near:n");
    expect_verdict(p, NULL, "tcp 7.7.7.7 80 sni=- host=# http=GET:/", "allow rule:c address");
    policy_free(p);
}

TEST(a_name_has_to_be_looked_up_where_it_is_pinned)
{
    struct policy *p = policy_of(
        DOCUMENT("", RULE("p", "allow", "{'domain':['a.test']}") ",'identity':'pinned'}"));
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 sni=a.test host=- http=-", "deny default +near:p");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 from=a.test sni=a.test host=- http=-",
                   "allow rule:p a.test");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 dial=a.test@20.2.2.2", "allow");
    policy_free(p);
}

TEST(what_a_denied_flow_missed_by)
{
    struct policy *p = policy_of(DOCUMENT(
        "",
        RULE("w", "allow", "{'domain':['a.test']}") ",'ports':[443]}," RULE(
            "u", "allow",
            "{'cidr':['7.7.7.7']}") ",'proto':['udp']}," RULE("h", "allow",
                                                              "{'domain':['h.test']}") ",'http':{'"
                                                                                       "method':['"
                                                                                       "GET']}}"));
    expect_verdict(p, NULL, "tcp 20.1.1.1 22 from=a.test", "deny default +near:w");
    expect_verdict(p, NULL, "udp 20.1.1.1 443 from=a.test", "deny default +near:w");
    expect_verdict(p, NULL, "udp 20.1.1.1 53 from=a.test", "deny default");
    EXPECT_TRUE(!strstr(verdict_of(p, NULL, "udp 20.1.1.1 53 from=a.test"), "+near"));
    expect_verdict(p, NULL, "tcp 7.7.7.7 80 sni=- host=- http=-", "deny default +near:u");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 from=b.test sni=h.test host=h.test http=POST:/",
                   "deny default");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 from=h.test sni=h.test host=h.test http=POST:/",
                   "deny default +near:h");
    policy_free(p);
}

TEST(the_default_and_flows_without_a_name)
{
    struct policy *p = policy_of(DOCUMENT("'default':'allow','nameless':'deny',",
                                          RULE("n", "deny", "{'domain':['bad.test']}") "}"));
    expect_verdict(p, NULL, "tcp 20.1.1.1 443", "wait pending +bytes");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 sni=- host=- http=-", "deny name_missing");
    expect_verdict(p, NULL, "udp 20.1.1.1 123", "deny name_missing");
    expect_verdict(p, NULL, "tcp 20.1.1.1 22 from=ok.test", "allow default address");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 sni=ok.test host=- http=-", "allow default address");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 sni=bad.test host=- http=-", "deny rule:n");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 sni=!", "deny unreadable");
    policy_free(p);
}

TEST(other_resolvers_under_a_default_of_allow)
{
    struct policy *p = policy_of(DOCUMENT("'default':'allow',", ""));
    expect_verdict(p, NULL, "tcp 8.8.8.8 443", "deny rule:builtin:doh-resolvers");
    expect_verdict(p, NULL, "udp 2606:4700:4700::1111 443", "deny rule:builtin:doh-resolvers");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 from=dns.google", "deny rule:builtin:doh-resolvers");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 sni=mozilla.cloudflare-dns.com host=- http=-",
                   "deny rule:builtin:doh-resolvers");
    expect_verdict(p, NULL, "tcp 20.1.1.1 853", "deny proto");
    expect_verdict(p, NULL, "udp 20.1.1.1 853", "deny proto");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443", "allow default address");
    policy_free(p);
    p = policy_of(
        DOCUMENT("'default':'allow',", RULE("o", "allow", "{'domain':['dns.google']}") "}," RULE(
                                           "d", "deny", "{'group':['doh-resolvers']}") "}"));
    expect_verdict(p, NULL, "tcp 20.1.1.1 853 from=dns.google", "allow rule:o dns.google");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 from=dns.quad9.net", "deny rule:d");
    expect_verdict(p, NULL, "udp 9.9.9.9 443", "deny rule:d");
    policy_free(p);
    p = policy_of(DOCUMENT("'default':'allow','dns':{'mode':'open'},", ""));
    expect_verdict(p, NULL, "tcp 8.8.8.8 443", "allow default address");
    policy_free(p);
}

TEST(a_deny_without_protocols_is_of_all)
{
    struct policy *p = policy_of(DOCUMENT(
        "'default':'allow',", RULE("n", "deny", "{'domain':['bad.test']}") "}," RULE(
                                  "c", "deny", "{'cidr':['7.7.7.0/24']}") ",'ports':[443]}"));
    expect_verdict(p, NULL, "udp 20.1.1.1 443 from=bad.test", "deny rule:n");
    expect_verdict(p, NULL, "icmp 20.1.1.1 0 from=bad.test", "deny rule:n");
    expect_verdict(p, NULL, "udp 7.7.7.1 443", "deny rule:c");
    expect_verdict(p, NULL, "tcp ::ffff:7.7.7.1 443", "deny rule:c");
    /* NAT64 leads there as well. */
    expect_verdict(p, NULL, "tcp 64:ff9b::707:701 443", "deny rule:c");
    policy_free(p);
}

TEST(an_operators_exemption_does_not_open_metadata)
{
    struct policy_net exempt[] = {net_of("169.254.0.0/16"), net_of("::/0"), net_of("0.0.0.0/0")};
    struct policy_operator op = {.exempt = exempt, .exempt_count = ARRAY_SIZE(exempt)};
    struct policy *p =
        policy_of(DOCUMENT("", RULE("l", "allow", "{'cidr':['0.0.0.0/0','::/0']}") "}"));
    expect_verdict(p, &op, "tcp 169.254.1.1 80 sni=- host=- http=-", "allow rule:l address");
    expect_verdict(p, &op, "tcp 169.254.169.254 80", "deny floor:metadata");
    expect_verdict(p, &op, "tcp 64:ff9b::a9fe:a9fe 80", "deny floor:metadata");
    expect_verdict(p, &op, "tcp 20.1.1.1 80 dial=a.test@169.254.169.254", "deny");
    struct policy_net metadata = net_of("169.254.169.254");
    op = (struct policy_operator){.exempt = &metadata, .exempt_count = 1};
    expect_verdict(p, &op, "tcp 169.254.169.254 80", "allow rule:l address");
    policy_free(p);
}

TEST(what_the_operator_says_of_the_machine)
{
    struct policy_net host[] = {net_of("20.1.1.1"), net_of("192.168.7.1")};
    struct policy_net broadcast = net_of("20.1.1.255"), nat64 = net_of("2a00:64::/96");
    struct policy_operator op = {.host = host,
                                 .host_count = 2,
                                 .broadcast = &broadcast,
                                 .broadcast_count = 1,
                                 .nat64 = &nat64,
                                 .nat64_count = 1};
    struct policy *p = policy_of(DOCUMENT(
        "'default':'allow',", RULE("h", "allow", "{'group':['host']}") ",'ports':[8080]}"));
    expect_verdict(p, &op, "tcp 20.1.1.1 443", "deny floor:host");
    expect_verdict(p, &op, "tcp 20.1.1.2 443", "allow default");
    expect_verdict(p, &op, "tcp 20.1.1.255 443", "deny floor:broadcast");
    expect_verdict(p, &op, "tcp 2a00:64::a01:203 443", "deny floor:private");
    expect_verdict(p, NULL, "tcp 2a00:64::a01:203 443", "allow default");
    expect_verdict(p, &op, "tcp 20.1.1.1 25", "deny floor:smtp");
    op.allows_smtp = true;
    expect_verdict(p, &op, "tcp 20.1.1.2 25", "allow default");
    op.exempt = host;
    op.exempt_count = 2;
    expect_verdict(p, &op, "tcp 20.1.1.1 8080", "allow rule:h address");
    expect_verdict(p, &op, "tcp 192.168.7.1 8080", "allow rule:h address");
    expect_verdict(p, &op, "tcp 192.168.7.1 22", "deny floor:private");
    policy_free(p);
}

TEST(secrets_open_tls_for_their_hosts)
{
    struct policy *p =
        policy_of(DOCUMENT("'secrets':{'K':{'source':{'env':'K'},'allow':{'hosts':['api.test']}}},",
                           RULE("a", "allow", "{'domain':['api.test','b.test']}") "}," RULE(
                               "c", "allow", "{'cidr':['7.7.7.7']}") "}"));
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 from=api.test", "allow rule:a api.test +tls");
    EXPECT_TRUE(!strstr(verdict_of(p, NULL, "tcp 20.1.1.1 80 from=api.test"), "+tls"));
    EXPECT_TRUE(!strstr(verdict_of(p, NULL, "tcp 20.1.1.1 443 from=b.test"), "+tls"));
    /* The name may still show that the rule with the secret is the one. */
    expect_verdict(p, NULL, "tcp 7.7.7.7 443", "wait pending +bytes");
    expect_verdict(p, NULL, "tcp 7.7.7.7 443 sni=- host=- http=-", "allow rule:c address");
    policy_free(p);
}

TEST(tls_of_the_whole_document)
{
    struct policy *p =
        policy_of(DOCUMENT("'tls':{'mode':'terminate','ports':[443]},",
                           RULE("a", "allow", "{'domain':['a.test']}") "}," RULE(
                               "b", "allow", "{'domain':['b.test']}") ",'tls':'passthrough'}"));
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 from=a.test", "allow rule:a a.test +tls");
    EXPECT_TRUE(!strstr(verdict_of(p, NULL, "tcp 20.1.1.1 22 from=a.test"), "+tls"));
    EXPECT_STR(verdict_of(p, NULL, "tcp 20.1.1.1 443 from=b.test"), "allow rule:b b.test");
    /* Which of the two it is decides about TLS. */
    expect_verdict(p, NULL, "tcp 20.1.1.1 443", "wait pending");
    policy_free(p);
}

TEST(audit_logs_and_lets_pass)
{
    struct policy *p =
        policy_of(DOCUMENT("'mode':'audit',", RULE("a", "allow", "{'domain':['a.test']}") "}," RULE(
                                                  "d", "deny", "{'cidr':['7.7.7.7']}") "}"));
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 from=b.test", "allow default address +audit");
    expect_verdict(p, NULL, "udp 7.7.7.7 443", "allow rule:d address +audit");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 from=a.test sni=b.test host=- http=-",
                   "allow name_conflict address +audit");
    expect_verdict(p, NULL, "tcp 10.0.0.1 443 from=a.test", "deny floor:private");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 dial=a.test@7.7.7.7", "allow");
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 dial=a.test@127.0.0.1", "deny");
    expect_query(p, "b.test", "A", "allow dns_name");
    expect_query(p, "metadata.google.internal", "A", "deny floor:metadata");
    EXPECT_TRUE(policy_allows_anything(p));
    policy_free(p);
}

TEST(requests_one_by_one)
{
    struct policy *p = policy_of(DOCUMENT(
        "", RULE("r", "allow",
                 "{'domain':['a.test']}") ",'http':{'method':['GET','HEAD'],'path':{'glob':'/repos/"
                                          "*/raw'},"
                                          "'query':[{'name':'ref','value':{'exact':'main'}}]}}"));
    expect_verdict(p, NULL, "tcp 20.1.1.1 443 from=a.test sni=a.test",
                   "wait pending +tls +request");
    expect_verdict(p, NULL,
                   "tcp 20.1.1.1 443 from=a.test sni=a.test host=a.test "
                   "http=GET:/repos/x/y/raw?x=1&ref=main",
                   "allow rule:r a.test +tls");
    expect_verdict(p, NULL,
                   "tcp 20.1.1.1 443 from=a.test sni=a.test host=a.test "
                   "http=GET:/repos/x/y/raw?ref=mainx",
                   "deny default");
    expect_verdict(p, NULL,
                   "tcp 20.1.1.1 443 from=a.test sni=a.test host=a.test "
                   "http=GET:/repos/x/y/raw",
                   "deny default");
    expect_verdict(p, NULL,
                   "tcp 20.1.1.1 443 from=a.test sni=a.test host=a.test "
                   "http=get:/repos/x/y/raw?ref=main",
                   "deny default");
    expect_verdict(p, NULL,
                   "tcp 20.1.1.1 443 from=a.test sni=a.test host=b.test "
                   "http=GET:/repos/x/y/raw?ref=main",
                   "deny name_conflict");
    policy_free(p);
}

TEST(paths_that_servers_read_differently)
{
    static const struct {
        const char *path;
        bool is_plain;
    } rows[] = {
        {"/", true},          {"/a/b", true},     {"/a/", true},        {"/a%20b", true},
        {"/a..b/...", true},  {"/.hidden", true}, {"/%c3%bc", true},    {"*", true},
        {"/a:b@c;d=e", true}, {"/a/../b", false}, {"/a/..", false},     {"/./a", false},
        {"//a", false},       {"/a//b", false},   {"/%2e%2e/b", false}, {"/a/.%2E/b", false},
        {"/%61", false},      {"/a%2fb", false},  {"/a%5Cb", false},    {"/a\\b", false},
        {"/a/..;/b", false},  {"/..;x=y", false}, {"/a/.;/b", false},   {"/a/;x/b", false},
        {"/a;x/b;y", true},   {"/...;/b", true},  {"/a%00", false},     {"/a%", false},
        {"/a%2", false},      {"/a%zz", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (policy_path_is_plain(rows[i].path) != rows[i].is_plain)
            harness_fail(__FILE__, __LINE__, "%s", rows[i].path);
    struct policy *p = policy_of(DOCUMENT(
        "",
        RULE("d", "deny", "{'domain':['a.test']}") ",'http':{'path':{'prefix':'/x/admin'}}}," RULE(
            "a", "allow",
            "{'domain':['a.test']}") ",'http':{'path':{'prefix':'/x/'}}}," RULE("b", "allow",
                                                                                "{'domain':['b."
                                                                                "test']}") ",'http'"
                                                                                           ":{'"
                                                                                           "path':{"
                                                                                           "'prefix"
                                                                                           "':'/x/"
                                                                                           "'}}}"));
    expect_verdict(p, NULL, "tcp 20.1.1.1 80 from=a.test sni=- host=a.test http=GET:/x/y",
                   "allow rule:a");
    expect_verdict(p, NULL, "tcp 20.1.1.1 80 from=a.test sni=- host=a.test http=GET:/x/%61dmin",
                   "deny rule:d");
    expect_verdict(p, NULL, "tcp 20.1.1.1 80 from=b.test sni=- host=b.test http=GET:/x/../y",
                   "deny default");
    expect_verdict(p, NULL, "tcp 20.1.1.1 80 from=b.test sni=- host=b.test http=GET:/x/..;/y",
                   "deny default");
    policy_free(p);
}

TEST(fields_of_a_request)
{
    static const struct policy_field fields[] = {{"Accept", "x"}, {"X-Mode", "read"}};
    struct policy *p = policy_of(DOCUMENT(
        "", RULE("r", "allow", "{'domain':['a.test']}") ",'http':{'headers':[{'name':'x-mode','"
                                                        "value':{'prefix':'re'}}]}}"));
    const struct policy_http *http = policy_get_document(p)->rules[0].http;
    struct policy_request request = {.state = POLICY_NAME_GIVEN,
                                     .method = "GET",
                                     .path = "/",
                                     .fields = fields,
                                     .field_count = 2};
    EXPECT_TRUE(policy_http_matches(http, &request));
    request.field_count = 1;
    EXPECT_TRUE(!policy_http_matches(http, &request));
    policy_free(p);
}

#define REF  "'http':{'query':[{'name':'ref','value':{'exact':'main'}}]}"
#define MODE "'http':{'headers':[{'name':'X-Mode','value':{'exact':'read'}}]}"

/* A request as a query, or as a field, and what it does to rules that have ref=main and X-Mode:
 * read. */
TEST(what_is_said_twice_or_can_be_read_in_two_ways)
{
    static const struct {
        const char *query;
        bool matches, could_match;
    } queries[] = {
        {"ref=main", true, true},
        {"x=1&ref=main", true, true},
        {"ref=main&ref=main", true, true},
        {"ref=evil", false, false},
        {"xref=main&ref", false, false},
        {"ref=main&ref=evil", false, true},
        {"ref=evil&ref=main", false, true},
        {"ref=main&%72ef=evil", false, true},
        {"ref=main&r%65%66=evil", false, true},
        {"ref=main&REF=evil", false, true},
        {"ref=main&x=1;ref=evil", false, true},
        {"ref=main;x", false, true},
        {"x=1;ref=main", false, true}, /* most have no ref in it */
        {"REF=main", false, true},     /* likewise */
        {"REF=main&ref=main", true, true},
        {"ref=main&ref", false, true},
        {"ref=m%61in", false, true},
        {"ref=ma%69n&ref=x", false, true},
        {"%72ef=main", true, true},
        {"ref=main&ref[]=evil", false, true},
        {"ref=main&ref%5B0]=evil", false, true},
        {"ref=main&+ref=evil", false, true},
        {"ref=main&ref%00x=evil", false, true},
        {"ref[]=main", false, true},
        {"ref=main&reff=evil&re=evil", true, true},
        {"ref=main&%00=evil", true, true},
        {"ref=main%", false, false},
        {"ref=main%0", false, false},
        {"ref=main%00", false, false},
        {"", false, false},
        {"&&;;==&", false, false},
        {NULL, false, false},
    };
    static const struct {
        struct policy_field fields[2];
        bool matches, could_match;
    } heads[] = {
        {{{"X-Mode", "read"}, {"A", "b"}}, true, true},
        {{{"X-Mode", "read"}, {"x-mode", "read"}}, true, true},
        {{{"X-Mode", "write"}, {"A", "b"}}, false, false},
        {{{"X-Mode", "read"}, {"X-Mode", "write"}}, false, true},
        {{{"X-Mode", "read"}, {"X_Mode", "write"}}, false, true},
        {{{"x_mode", "write"}, {"X-Mode", "read"}}, false, true},
        {{{"X.Mode", "write"}, {"X-Mode", "read"}}, false, true},
        {{{"X_Mode", "read"}, {"XMode", "write"}}, false, true}, /* most have no X-Mode in it */
        {{{"X_Mode", "read"}, {"x-mode", "read"}}, true, true},
    };
    struct policy *p =
        policy_of(DOCUMENT("", RULE("q", "allow", "{'domain':['a.test']}") "," REF "}," RULE(
                                   "h", "allow", "{'domain':['a.test']}") "," MODE "}"));
    const struct policy_rule *rules = policy_get_document(p)->rules;
    struct policy_request r = {.state = POLICY_NAME_GIVEN, .method = "GET", .path = "/"};
    for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
        r.query = queries[i].query;
        if (policy_http_matches(rules[0].http, &r) != queries[i].matches ||
            policy_http_could_match(rules[0].http, &r) != queries[i].could_match)
            harness_fail(__FILE__, __LINE__, "%s", r.query ?: "(none)");
    }
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        r.fields = heads[i].fields;
        r.field_count = 2;
        if (policy_http_matches(rules[1].http, &r) != heads[i].matches ||
            policy_http_could_match(rules[1].http, &r) != heads[i].could_match)
            harness_fail(__FILE__, __LINE__, "row %zu", i);
    }
    policy_free(p);
}

TEST(parameters_that_are_one_variable_to_a_server)
{
    struct policy *p = policy_of(DOCUMENT(
        "",
        RULE("q", "allow",
             "{'domain':['a.test']}") ",'http':{'query':[{'name':'a_b','value':{'exact':'1'}}]}}"));
    const struct policy_http *http = policy_get_document(p)->rules[0].http;
    struct policy_request r = {.state = POLICY_NAME_GIVEN, .method = "GET", .path = "/"};
    static const char *const doubtful[] = {"a_b=1&a.b=2", "a_b=1&a+b=2", "a_b=1&a[b=2",
                                           "a_b=1&%20A%2eb=2"};
    for (size_t i = 0; i < ARRAY_SIZE(doubtful); i++) {
        r.query = doubtful[i];
        EXPECT_TRUE(!policy_http_matches(http, &r));
        EXPECT_TRUE(policy_http_could_match(http, &r));
    }
    r.query = "a_b=1&a-b=2";
    EXPECT_TRUE(policy_http_matches(http, &r));
    policy_free(p);
}

/* A piece of a glob that is found only across the end of an escape is not there for a server. */
TEST(globs_hold_for_what_is_meant)
{
    struct policy *p = policy_of(DOCUMENT(
        "", RULE("q", "allow",
                 "{'domain':['a.test']}") ",'http':{'path':{'glob':'/f/*20'},"
                                          "'query':[{'name':'v','value':{'glob':'1.*20'}}]}}"));
    const struct policy_http *http = policy_get_document(p)->rules[0].http;
    static const struct {
        const char *path, *query;
        bool matches;
    } requests[] = {
        {"/f/120", "v=1.20", true},
        {"/f/a%20b20", "v=1.%20x20", true},
        {"/f/evil%20", "v=1.20", false},
        {"/f/120", "v=1.evil%20", false},
    };
    struct policy_request r = {.state = POLICY_NAME_GIVEN, .method = "GET"};
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        r.path = requests[i].path;
        r.query = requests[i].query;
        EXPECT_EQ(policy_http_matches(http, &r), requests[i].matches);
    }
    policy_free(p);
}

TEST(denies_hold_however_a_request_is_written)
{
    struct policy *p = policy_of(DOCUMENT(
        "'default':'allow',",
        RULE("d", "deny", "{'domain':['a.test']}") ",'http':{'method':['DELETE'],'query':"
                                                   "[{'name':'q','value':{'exact':'x'}}]}}"));
    expect_verdict(p, NULL, "tcp 20.1.1.1 80 from=a.test sni=- host=a.test http=GET:/y?q=x",
                   "allow default");
    expect_verdict(p, NULL, "tcp 20.1.1.1 80 from=a.test sni=- host=a.test http=DELETE:/y?q=x",
                   "deny rule:d");
    expect_verdict(p, NULL, "tcp 20.1.1.1 80 from=a.test sni=- host=a.test http=delete:/y?q=%78",
                   "deny rule:d");
    expect_verdict(p, NULL, "tcp 20.1.1.1 80 from=a.test sni=- host=a.test http=DELETE:/y?Q=x&q=1",
                   "deny rule:d");
    policy_free(p);
}

TEST(globs_of_text)
{
    static const struct {
        const char *glob, *text;
        bool matches;
    } rows[] = {
        {"", "", true},          {"", "a", false},         {"*", "", true},
        {"*", "a/b", true},      {"a*", "a", true},        {"a*", "ba", false},
        {"*a", "ba", true},      {"*a", "ab", false},      {"a*b", "ab", true},
        {"a*b", "a", false},     {"a*a", "a", false},      {"*ab*", "xabx", true},
        {"*ab*", "axb", false},  {"a**b", "axb", true},    {"*aab", "aaaab", true},
        {"a*b*c", "abbc", true}, {"a*bc*c", "abc", false}, {"*aa*aa*", "aaa", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct policy_text t = {POLICY_TEXT_GLOB, rows[i].glob};
        if (policy_text_matches(&t, rows[i].text, strlen(rows[i].text)) != rows[i].matches)
            harness_fail(__FILE__, __LINE__, "%s on %s", rows[i].glob, rows[i].text);
    }
}

TEST(several_names_and_which_one_is_dialled)
{
    struct policy *p =
        policy_of(DOCUMENT("", RULE("a", "allow", "{'domain':['*.a.test']}") "}," RULE(
                                   "d", "deny", "{'domain':['*.b.test']}") "}"));
    expect_verdict(p, NULL, "tcp 20.1.1.1 22 from=y.a.test,z.b.test,x.a.test",
                   "allow rule:a x.a.test +ambiguous");
    expect_verdict(p, NULL, "tcp 20.1.1.1 22 from=y.a.test,z.b.test", "allow rule:a y.a.test");
    expect_verdict(p, NULL, "tcp 20.1.1.1 22 from=z.b.test,q.test", "deny default");
    expect_verdict(p, NULL, "tcp 20.1.1.1 22 target=y.a.test from=q.test,z.b.test",
                   "deny name_conflict");
    policy_free(p);
}

TEST(more_names_than_are_looked_at)
{
    struct policy *p = policy_of(DOCUMENT("", RULE("a", "allow", "{'domain':['old.test']}") "}"));
    const char *names[POLICY_RESOLVED_MAX + 1];
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        names[i] = i ? "new.test" : "old.test";
    struct in6_addr address = net_of("20.1.1.1").address;
    struct policy_flow flow = policy_flow_init(POLICY_UDP, &address, 443);
    struct policy_verdict v;
    flow.protocol = POLICY_TCP;
    flow.resolved = names;
    flow.resolved_count = POLICY_RESOLVED_MAX;
    policy_judge(p, NULL, &flow, &v);
    EXPECT_EQ(v.action, POLICY_ALLOW);
    flow.resolved_count++;
    policy_judge(p, NULL, &flow, &v);
    EXPECT_EQ(v.action, POLICY_DENY);
    policy_free(p);
}

TEST(questions_that_go_no_further)
{
    struct policy *p = policy_of(DOCUMENT(
        "", RULE("no", "deny", "{'domain':['x.a.test']}") "}," RULE(
                "cond", "deny",
                "{'domain':['y.a.test']}") ",'ports':[80]}," RULE("a", "allow",
                                                                  "{'domain':['.a.test','intranet']"
                                                                  "}") ",'dns_types':['TXT']}"
                                                                       "," RULE("c", "allow",
                                                                                "{'cidr':['7.7.7.0/"
                                                                                "24']}") "}"));
    expect_query(p, "a.test", "A", "allow rule:a");
    expect_query(p, "deep.er.a.test", "AAAA", "allow rule:a");
    expect_query(p, "a.test", "TXT", "allow rule:a");
    expect_query(p, "a.test", "MX", "deny dns_type");
    expect_query(p, "a.test", "TYPE99", "deny dns_type");
    expect_query(p, "x.a.test", "A", "deny rule:no");
    expect_query(p, "y.a.test", "A", "allow rule:a");
    expect_query(p, "ba.test", "A", "deny dns_name");
    expect_query(p, "mzxw6ytb.t.evil.test", "A", "deny dns_name");
    expect_query(p, "intranet", "A", "allow rule:a");
    expect_query(p, "printer", "A", "deny dns_name");
    expect_query(p, "localhost", "A", "deny floor:loopback");
    expect_query(p, "foo.localhost", "A", "deny floor:loopback");
    expect_query(p, "A.test", "A", "deny malformed");
    policy_free(p);
}

TEST(types_of_records_have_the_names_that_policies_take)
{
    char name[POLICY_DNS_TYPE_SIZE];
    for (uint32_t type = 0; type <= UINT16_MAX; type++) {
        uint16_t number = 0;
        policy_dns_type_name((uint16_t)type, name);
        if (policy_dns_type_parse(name, &number) == 0)
            ASSERT_EQ(number, type);
        else /* there are no data of these */
            ASSERT_TRUE(type == 0 || type == 41 || (type >= 128 && type <= 255) || type > 65279);
    }
    policy_dns_type_name(16, name);
    ASSERT_EQ(strcmp(name, "TXT"), 0);
    policy_dns_type_name(65000, name);
    ASSERT_EQ(strcmp(name, "TYPE65000"), 0);
}

TEST(questions_under_a_default_of_allow)
{
    struct policy *p = policy_of(DOCUMENT("'default':'allow',", ""));
    expect_query(p, "a.test", "A", "allow default");
    expect_query(p, "printer", "A", "deny dns_name");
    expect_query(p, "dns.google", "A", "deny rule:builtin:doh-resolvers");
    expect_query(p, "metadata.google.internal", "A", "deny floor:metadata");
    expect_query(p, "instance-data", "A", "deny floor:metadata");
    expect_query(p, "a.test", "TXT", "deny dns_type");
    policy_free(p);
    /* What can reach nothing has nothing to ask. */
    static const char *const all[] = {
        "{'cidr':['0.0.0.0/0','::/0']}",
        "{'cidr':['::/1','8000::/1','0.0.0.0/1','128.0.0.0/1']}",
        "{'group':['public']}",
        "'any'",
        "{'domain':['*']}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        char text[512];
        snprintf(
            text, sizeof(text),
            DOCUMENT("'default':'allow',",
                     RULE("a", "allow", "{'domain':['a.test']}") "}," RULE("d", "deny", "%s") "}"),
            all[i]);
        p = policy_of(text);
        expect_query(p, "a.test", "A", "allow rule:a");
        expect_query(p, "b.test", "A", "deny rule:d");
        policy_free(p);
    }
    p = policy_of(DOCUMENT("'default':'allow',", RULE("d", "deny", "{'cidr':['0.0.0.0/0']}") "}"));
    expect_query(p, "b.test", "A", "allow default");
    policy_free(p);
}

TEST(questions_when_all_may_be_asked)
{
    struct policy *p = policy_of(DOCUMENT("'dns':{'mode':'open'},", ""));
    expect_query(p, "b.test", "A", "allow default");
    expect_query(p, "b.test", "TXT", "deny dns_type");
    expect_query(p, "metadata.google.internal", "A", "deny floor:metadata");
    policy_free(p);
    p = policy_of(DOCUMENT("", RULE("a", "allow", "'any'") ",'ports':[443]}"));
    expect_query(p, "b.test", "A", "allow rule:a");
    policy_free(p);
}

TEST(addresses_that_are_shown)
{
    struct policy *p = policy_of(DOCUMENT(
        "'default':'allow',", RULE("c", "allow", "{'cidr':['10.1.0.0/16']}") ",'ports':[5432]}"));
    struct policy_net exempt = net_of("10.0.0.0/8");
    struct policy_operator op = {.exempt = &exempt, .exempt_count = 1};
    static const struct {
        const char *address;
        const char *reason, *reason_exempt;
    } rows[] = {
        {"20.1.1.1", "default", "default"},
        {"10.1.2.3", "resolved:private", "default"},
        {"10.2.2.3", "resolved:private", "resolved:private"},
        {"::ffff:127.0.0.1", "resolved:loopback", "resolved:loopback"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct policy_verdict v;
        struct in6_addr address = net_of(rows[i].address).address;
        policy_judge_shown(p, NULL, &address, &v);
        EXPECT_STR(v.reason, rows[i].reason);
        policy_judge_shown(p, &op, &address, &v);
        EXPECT_STR(v.reason, rows[i].reason_exempt);
        EXPECT_EQ(v.action == POLICY_ALLOW, !strcmp(v.reason, "default"));
    }
    policy_free(p);
}

TEST(whether_anybody_has_to_carry_anything)
{
    static const struct {
        const char *document;
        bool allows;
    } rows[] = {
        {"{'version':1}", false},
        {"{'version':1,'rules':[]}", false},
        {"{'version':1,'rules':[" RULE("d", "deny", "'any'") "}]}", false},
        {"{'version':1,'rules':[" RULE("d", "allow", "'any'") "}]}", true},
        {"{'version':1,'default':'allow'}", true},
        {"{'version':1,'dns':{'mode':'open'}}", true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct policy *p = policy_of(rows[i].document);
        EXPECT_EQ(policy_allows_anything(p), rows[i].allows);
        policy_free(p);
    }
}

TEST(words_for_the_guest)
{
    struct policy *p = policy_of(
        DOCUMENT("", RULE("d", "deny",
                          "{'domain':['admin.test']}") ",'reason':'ask for api.test instead'}"));
    struct in6_addr address = net_of("20.1.1.1").address;
    const char *name = "admin.test";
    struct policy_flow flow = policy_flow_init(POLICY_TCP, &address, 443);
    struct policy_verdict v;
    flow.resolved = &name;
    flow.resolved_count = 1;
    policy_judge(p, NULL, &flow, &v);
    EXPECT_STR(v.words, "ask for api.test instead");
    policy_judge_query(p, name, 1, &v);
    EXPECT_STR(v.words, "ask for api.test instead");
    policy_free(p);
}

TEST(the_answer_of_one_rule)
{
    struct policy *p = policy_of(DOCUMENT("", RULE("n", "allow", "{'domain':['a.test']}") "}," RULE(
                                                  "c", "allow", "{'cidr':['7.7.7.7']}") "}"));
    struct in6_addr address = net_of("7.7.7.7").address;
    struct policy_flow flow = policy_flow_init(POLICY_TCP, &address, 443);
    EXPECT_EQ(policy_answer(p, NULL, &flow, 0), POLICY_UNKNOWN);
    EXPECT_EQ(policy_answer(p, NULL, &flow, 1), POLICY_YES);
    flow.sni = flow.authority = (struct policy_name){.state = POLICY_NAME_ABSENT};
    EXPECT_EQ(policy_answer(p, NULL, &flow, 0), POLICY_NO);
    EXPECT_EQ(policy_answer(p, NULL, &flow, 2), POLICY_NO);
    EXPECT_EQ(policy_answer(p, NULL, &flow, -1), POLICY_NO);
    policy_free(p);
}
