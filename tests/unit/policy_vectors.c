// SPDX-License-Identifier: Apache-2.0
/*
 * What policies say of flows and of addresses that names lead to. The cases were agreed on with a
 * model of the language in another programming language, and are data: see policy_support.h for how
 * flows and verdicts are written.
 */
#include "tests/harness/harness.h"
#include "tests/unit/policy_support.h"

/* What stands first wins, for IPv6 too. */
TEST(one_address_before_a_deny_of_all)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'allow','rules':["
        "{'id':'a','action':'allow','to':{'cidr':['8.8.8.8/32']},'proto':['tcp','udp','icmp']},"
        "{'id':'x','action':'deny','to':{'cidr':['0.0.0.0/0','::/0']}}]}");
    expect_verdict(p, NULL, "tcp 8.8.8.8 53", "allow");
    expect_verdict(p, NULL, "tcp 1.1.1.1 443", "deny rule:x");
    expect_verdict(p, NULL, "tcp 2606:4700::1111 443", "deny rule:x");
    policy_free(p);
}

/* Names are known from the resolver, the SNI or the authority, on the ports of the rule. */
TEST(names_before_a_deny_of_all)
{
    struct policy *p = policy_of("{'version':1,'default':'allow','rules':["
                                 "{'id':'d','action':'allow','to':{'domain':['api.svc.test','*.cdn."
                                 "test']},'proto':['tcp'],'ports':[80,443]},"
                                 "{'id':'x','action':'deny','to':{'cidr':['0.0.0.0/0','::/0']}}]}");
    expect_verdict(p, NULL, "tcp 5.6.7.8 443", "wait");
    expect_verdict(p, NULL, "tcp 5.6.7.8 443 sni=api.svc.test host=- http=-",
                   "allow rule:d api.svc.test");
    expect_verdict(p, NULL, "tcp 5.6.7.8 443 sni=evil.test host=- http=-", "deny rule:x");
    expect_verdict(p, NULL, "tcp 5.6.7.8 443 sni=- host=- http=-", "deny");
    expect_verdict(p, NULL, "tcp 5.6.7.8 22 from=api.svc.test", "deny");
    expect_verdict(p, NULL, "udp 5.6.7.8 443 from=api.svc.test", "deny");
    expect_verdict(p, NULL, "tcp 5.6.7.8 443 from=api.svc.test", "allow rule:d api.svc.test");
    expect_verdict(p, NULL, "tcp 5.6.7.8 80 sni=- host=a.b.cdn.test http=GET:/",
                   "allow rule:d a.b.cdn.test");
    expect_verdict(p, NULL, "tcp 5.6.7.8 80 sni=- host=cdn.test http=GET:/", "deny");
    policy_free(p);
}

TEST(a_broad_allow_before_a_narrow_deny)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'allow','rules':["
        "{'id':'a','action':'allow','to':{'cidr':['1.0.0.0/8']},'proto':['tcp','udp','icmp']},"
        "{'id':'x','action':'deny','to':{'cidr':['1.1.1.1/32']}}]}");
    expect_verdict(p, NULL, "tcp 1.1.1.1 443", "allow");
    policy_free(p);
}

TEST(an_allow_under_a_default_of_allow)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'allow','rules':["
        "{'id':'a','action':'allow','to':{'cidr':['1.1.1.1/32']},'proto':['tcp','udp','icmp']}]}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443", "allow");
    policy_free(p);
}

TEST(an_address_and_nothing_else)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'allow','rules':["
        "{'id':'a','action':'allow','to':{'cidr':['1.1.1.1/32']},'proto':['tcp','udp','icmp']},"
        "{'id':'x','action':'deny','to':{'cidr':['0.0.0.0/0','::/0']}}]}");
    expect_verdict(p, NULL, "tcp 1.1.1.1 443", "allow");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443", "deny");
    policy_free(p);
}

TEST(a_deny_under_a_default_of_allow)
{
    struct policy *p = policy_of("{'version':1,'default':'allow','rules':["
                                 "{'id':'x','action':'deny','to':{'cidr':['9.8.7.6/32']}}]}");
    expect_verdict(p, NULL, "udp 9.8.7.6 53", "deny");
    expect_verdict(p, NULL, "udp 5.6.7.8 53", "allow");
    policy_free(p);
}

TEST(an_allow_inside_of_the_floor)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'allow','rules':["
        "{'id':'a','action':'allow','to':{'cidr':['10.0.0.0/8']},'proto':['tcp','udp','icmp']},"
        "{'id':'x','action':'deny','to':{'cidr':['0.0.0.0/0','::/0']}}]}");
    expect_verdict(p, NULL, "tcp 10.1.2.3 443", "deny floor:private");
    policy_free(p);
}

TEST(a_deny_of_all)
{
    struct policy *p = policy_of("{'version':1,'default':'allow','rules':["
                                 "{'id':'x','action':'deny','to':{'cidr':['0.0.0.0/0','::/0']}}]}");
    expect_verdict(p, NULL, "tcp 5.6.7.8 443", "deny");
    policy_free(p);
}

TEST(nothing_but_a_default_of_allow)
{
    struct policy *p = policy_of("{'version':1,'default':'allow','rules':[]}");
    expect_verdict(p, NULL, "tcp 169.254.169.254 80", "deny floor:metadata");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443", "allow");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443", "allow");
    policy_free(p);
}

TEST(a_name_that_leads_back_to_the_machine)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'allow','rules':["
        "{'id':'d','action':'allow','to':{'domain':['app.test']},'proto':['tcp'],'ports':[80,443]},"
        "{'id':'x','action':'deny','to':{'cidr':['0.0.0.0/0','::/0']}}]}");
    expect_verdict(p, NULL, "tcp 5.6.7.8 443 dial=app.test@127.0.0.1", "deny");
    expect_verdict(p, NULL, "tcp 5.6.7.8 443 dial=app.test@169.254.169.254", "deny");
    expect_verdict(p, NULL, "tcp 5.6.7.8 443 dial=app.test@::ffff:10.0.0.1", "deny");
    expect_verdict(p, NULL, "tcp 5.6.7.8 443 dial=app.test@5.6.7.8", "allow");
    policy_free(p);
}

/* A network that is denied is so for what names lead to as well. */
TEST(networks_before_names)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'deny','rules':["
        "{'id':'sd','action':'deny','to':{'cidr':['5.6.7.0/24']}},"
        "{'id':'sa','action':'allow','to':{'cidr':['9.8.7.0/24']},'proto':['tcp','udp','icmp']},"
        "{'id':'a0','action':'allow','to':{'domain':['api.svc.test']},'proto':['tcp','udp','icmp']}"
        "]}");
    expect_verdict(p, NULL, "tcp 5.6.7.8 443 from=api.svc.test", "deny");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 dial=api.svc.test@5.6.7.8", "deny");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 dial=api.svc.test@4.4.4.4", "allow");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 sni=evil.test host=- http=-", "allow rule:sa address");
    expect_verdict(p, NULL, "tcp 4.4.4.4 6380 sni=api.svc.test host=- http=-", "allow");
    policy_free(p);
}

/* Whether a rule with transforms applies has to be known before one that allows all. */
TEST(a_transform_before_any)
{
    struct policy *p =
        policy_of("{'version':1,'default':'deny','rules':["
                  "{'id':'a1','action':'allow','to':{'domain':['api.svc.test']},'proto':['tcp','"
                  "udp','icmp'],'transforms':[{'set_headers':{'x':'y'}}]},"
                  "{'id':'a0','action':'allow','to':'any','proto':['tcp','udp','icmp']}]}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 22 sni=- host=- http=-", "allow");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443", "wait");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 sni=api.svc.test host=- http=-", "allow rule:a1");
    policy_free(p);
}

TEST(nothing_at_all)
{
    struct policy *p = policy_of("{'version':1,'default':'deny','rules':[]}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443", "deny");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443", "deny");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443", "deny");
    policy_free(p);
}

TEST(globs_cross_dots)
{
    struct policy *p =
        policy_of("{'version':1,'default':'deny','rules':["
                  "{'id':'d0','action':'deny','to':{'domain':['glob:mail.brand.test']}},"
                  "{'id':'a0','action':'allow','to':{'domain':['glob:brand.*']},'proto':['tcp','"
                  "udp','icmp']}]}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=brand.co.test", "allow");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=mail.brand.test", "deny");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=brand.co.test sni=mail.brand.test host=- http=-",
                   "deny");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=svc.test", "deny");
    policy_free(p);
}

TEST(one_plain_glob)
{
    struct policy *p = policy_of("{'version':1,'default':'deny','rules':["
                                 "{'id':'a0','action':'allow','to':{'domain':['glob:app.test']},'"
                                 "proto':['tcp','udp','icmp']}]}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=web.test", "deny");
    policy_free(p);
}

TEST(a_deny_of_any_above_all)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'deny','rules':["
        "{'id':'d0','action':'deny','to':'any','proto':['tcp']},"
        "{'id':'a0','action':'allow','to':{'domain':['api.svc.test']},'proto':['tcp']}]}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=api.svc.test", "deny");
    policy_free(p);
}

TEST(a_name_denied_below_a_wildcard)
{
    struct policy *p =
        policy_of("{'version':1,'default':'deny','rules':["
                  "{'id':'d0','action':'deny','to':{'domain':['bad.svc.test']},'proto':['tcp']},"
                  "{'id':'a0','action':'allow','to':{'domain':['*.svc.test']},'proto':['tcp'],'"
                  "ports':[443]}]}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=ok.svc.test", "allow");
    expect_verdict(p, NULL, "tcp 9.8.7.6 8443 from=ok.svc.test", "deny");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=bad.svc.test", "deny");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=svc.test", "deny");
    policy_free(p);
}

TEST(networks_and_names)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'deny','rules':["
        "{'id':'c','action':'allow','to':{'cidr':['9.8.7.0/24']},'proto':['tcp','udp','icmp']},"
        "{'id':'d','action':'allow','to':{'domain':['*.svc.test']},'proto':['tcp'],'ports':[443]}]"
        "}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 25", "deny floor:smtp");
    expect_verdict(p, NULL, "tcp 9.8.7.6 22", "allow");
    expect_verdict(p, NULL, "tcp 5.6.7.8 443 sni=a.svc.test host=- http=-",
                   "allow rule:d a.svc.test");
    expect_verdict(p, NULL, "tcp 5.6.7.8 8443 from=a.svc.test", "deny");
    policy_free(p);
}

TEST(one_network)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'deny','rules':["
        "{'id':'c','action':'allow','to':{'cidr':['9.8.7.0/24']},'proto':['tcp','udp','icmp']}]}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443", "allow");
    policy_free(p);
}

TEST(names_on_every_port)
{
    struct policy *p = policy_of("{'version':1,'default':'deny','rules':["
                                 "{'id':'d','action':'allow','to':{'domain':['*.svc.test']},'proto'"
                                 ":['tcp','udp','icmp']}]}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 5432 from=db.svc.test", "allow");
    policy_free(p);
}

/* Evidence in all its stages, and names that don't agree. */
TEST(a_policy_as_people_write_it)
{
    struct policy *p = policy_of("{'version':1,'default':'deny','rules':["
                                 "{'id':'no','action':'deny','to':{'domain':['bad.pkg.test']}},"
                                 "{'id':'api','action':'allow','to':{'domain':['api.good.test']},'"
                                 "proto':['tcp'],'ports':[443],'tls':'terminate'},"
                                 "{'id':'pkg','action':'allow','to':{'domain':['*.pkg.test']},'"
                                 "proto':['tcp'],'ports':[443]},"
                                 "{'id':'git','action':'allow','to':{'domain':['git.good.test']},'"
                                 "proto':['tcp'],'ports':[22]},"
                                 "{'id':'pg','action':'allow','to':{'cidr':['7.7.7.0/"
                                 "24']},'proto':['tcp'],'ports':[5432]}]}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 sni=api.good.test host=api.good.test http=GET:/",
                   "allow rule:api api.good.test");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 sni=- host=- http=-", "deny default");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 sni=api.good.test host=evil.test http=GET:/",
                   "deny name_conflict");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=a.pkg.test sni=api.good.test host=- http=-",
                   "deny name_conflict");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 sni=bad.pkg.test host=- http=-", "deny rule:no");
    expect_verdict(p, NULL, "tcp 9.8.7.6 22 from=git.good.test", "allow");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=a.pkg.test sni=bad.pkg.test host=- http=-",
                   "deny rule:no");
    expect_verdict(p, NULL, "tcp 9.8.7.6 22 sni=- host=- http=-", "deny default");
    expect_verdict(p, NULL, "tcp 7.7.7.7 5432 sni=- host=- http=-", "allow rule:pg address");
    expect_verdict(p, NULL, "tcp 7.7.7.7 5432 sni=- host=- http=-", "allow rule:pg address");
    expect_verdict(p, NULL, "tcp 2002:707:707::1 5432 sni=- host=- http=-", "deny");
    expect_verdict(p, NULL, "tcp 7.7.7.7 5432 sni=!", "deny");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=a.pkg.test,b.pkg.test sni=- host=- http=-",
                   "allow");
    expect_verdict(p, NULL,
                   "tcp 9.8.7.6 443 from=bad.pkg.test,ok.pkg.test sni=ok.pkg.test host=- http=-",
                   "allow rule:pkg");
    expect_verdict(p, NULL,
                   "tcp 9.8.7.6 443 from=a.pkg.test,b.pkg.test sni=b.pkg.test host=- http=-",
                   "allow rule:pkg b.pkg.test");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=pkg.test sni=pkg.test host=- http=-", "deny");
    policy_free(p);
}

/* Which name is meant matters when TLS is opened, and never opens more than one of them. */
TEST(several_names_on_one_address)
{
    struct policy *p = policy_of("{'version':1,'default':'deny','rules':["
                                 "{'id':'t','action':'allow','to':{'domain':['*.svc.test']},'proto'"
                                 ":['tcp'],'ports':[443],'tls':'terminate'},"
                                 "{'id':'s','action':'allow','to':{'domain':['git.svc.test']},'"
                                 "proto':['tcp','udp','icmp'],'ports':[22]}]}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=a.svc.test,b.svc.test sni=- host=- http=-",
                   "deny name_missing");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=a.svc.test,b.svc.test", "wait");
    expect_verdict(p, NULL, "tcp 9.8.7.6 22 from=gist.svc.test,git.svc.test",
                   "allow rule:s git.svc.test");
    expect_verdict(p, NULL,
                   "tcp 9.8.7.6 22 from=gist.svc.test,git.svc.test sni=gist.svc.test host=- http=-",
                   "deny");
    expect_verdict(p, NULL,
                   "tcp 9.8.7.6 443 from=a.svc.test,b.svc.test sni=c.svc.test host=- http=-",
                   "deny name_conflict");
    policy_free(p);
}

/* Either alone is not enough. */
TEST(exempt_by_operator_and_rule)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'deny','rules':["
        "{'id':'d','action':'allow','to':{'domain':['db.corp.test']},'proto':['tcp','udp','icmp']},"
        "{'id':'c','action':'allow','to':{'cidr':['10.1.2.0/"
        "24']},'proto':['tcp','udp','icmp'],'ports':[5432]}]}");
    struct policy_net exempt = net_of("10.1.0.0/16");
    struct policy_operator op = {.exempt = &exempt, .exempt_count = 1};
    expect_verdict(p, &op, "tcp 10.1.2.3 5432 sni=- host=- http=-", "allow rule:c");
    expect_verdict(p, &op, "tcp 9.8.7.6 443 dial=db.corp.test@10.1.2.3", "deny");
    expect_verdict(p, &op, "tcp 9.8.7.6 5432 dial=db.corp.test@10.1.2.3", "allow");
    expect_verdict(p, &op, "tcp 9.8.7.6 5432 dial=db.corp.test@10.1.9.9", "deny");
    policy_free(p);
}

TEST(a_group_without_the_operator)
{
    struct policy *p = policy_of(
        "{'version':1,'default':'deny','rules':["
        "{'id':'g','action':'allow','to':{'group':['metadata']},'proto':['tcp','udp','icmp']}]}");
    expect_verdict(p, NULL, "tcp 169.254.169.254 80", "deny floor:metadata");
    policy_free(p);
}

TEST(a_rule_that_looks_at_requests)
{
    struct policy *p =
        policy_of("{'version':1,'default':'deny','rules':["
                  "{'id':'r','action':'allow','to':{'domain':['api.svc.test']},'proto':['tcp'],'"
                  "ports':[443],'http':{'method':['GET'],'path':{'prefix':'/v1/'}}}]}");
    expect_verdict(p, NULL, "tcp 9.8.7.6 443 from=api.svc.test", "wait");
    expect_verdict(
        p, NULL,
        "tcp 9.8.7.6 443 from=api.svc.test sni=api.svc.test host=api.svc.test http=GET:/v1/a",
        "allow");
    expect_verdict(
        p, NULL,
        "tcp 9.8.7.6 443 from=api.svc.test sni=api.svc.test host=api.svc.test http=POST:/v1/a",
        "deny");
    policy_free(p);
}

TEST(classes_of_addresses)
{
    static const struct {
        const char *address, *class;
    } rows[] = {
        {"::ffff:169.254.169.254", "metadata"},
        {"64:ff9b::a9fe:a9fe", "metadata"},
        {"64:ff9b:1::1", "reserved"},
        {"2002:7f00:1::", "loopback"},
        {"::7f00:1", "loopback"},
        {"::ffff:0:7f00:1", "loopback"},
        {"fe80::1", "link_local"},
        {"100.64.0.1", "private"},
        {"240.0.0.1", "reserved"},
        {"255.255.255.255", "broadcast"},
        {"2001:0:1::1", "reserved"},
        {"2606:4700::1", "public"},
        {"1.1.1.1", "public"},
        {"::1", "loopback"},
        {"::", "unspecified"},
        {"2a00::5efe:10.0.0.1", "private"},
        {"2a00::200:5efe:a00:1", "private"},
        {"192.0.0.192", "metadata"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct policy_net net = net_of(rows[i].address);
        EXPECT_STR(policy_address_class(NULL, &net.address), rows[i].class);
    }
}

TEST(patterns_of_names)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } rows[] = {
        {"www.*.test", "www.app.test", true},
        {"www.*.test", "www.a.web.test", false},
        {"example.com", "example.com", true},
        {"*.example.com", "a.b.example.com", true},
        {"*.example.com", "example.com", false},
        {".example.com", "example.com", true},
        {".example.com", "x.example.com", true},
        {"*.example.com", "evilexample.com", false},
        {".example.com", "evilexample.com", false},
        {"glob:brand.*", "brand.co.test", true},
        {"*", "anything", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_pattern(rows[i].pattern, rows[i].name, rows[i].matches);
}
