// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/lint.h"
#include "tests/harness/harness.h"
#include "tests/unit/policy_support.h"

static const char document[] =
    "{'version': 1, 'phases': ['install', 'run'], 'rules': ["
    "{'id': 'pkgs', 'action': 'allow', 'to': {'domain': ['*.pkg.test']}, 'phases': ['install']},"
    "{'id': 'api', 'action': 'allow', 'to': {'domain': ['api.test']}, 'phases': ['run']},"
    "{'id': 'both', 'action': 'allow', 'to': {'cidr': ['45.33.32.0/24']}, 'phases': ['run', "
    "'install']},"
    "{'id': 'always', 'action': 'allow', 'to': {'domain': ['log.test']}}]}";

static void expect_phase(const struct policy *p, bool is_install)
{
    expect_query(p, "a.pkg.test", "A", is_install ? "allow rule:pkgs" : "deny dns_name");
    expect_query(p, "api.test", "A", is_install ? "deny dns_name" : "allow rule:api");
    expect_query(p, "log.test", "A", "allow rule:always");
    expect_verdict(p, NULL, "tcp 45.33.40.1 443 from=a.pkg.test sni=- host=- http=-",
                   is_install ? "allow rule:pkgs a.pkg.test" : "deny default");
    expect_verdict(p, NULL, "tcp 45.33.40.1 443 from=api.test sni=- host=- http=-",
                   is_install ? "deny default" : "allow rule:api api.test");
    expect_verdict(p, NULL, "tcp 45.33.32.1 443 sni=- host=- http=-", "allow rule:both address");
}

TEST(rules_hold_in_their_phases)
{
    struct policy *p = policy_of(document);
    EXPECT_EQ(policy_get_document(p)->phase_count, 2);
    expect_phase(p, true);
    EXPECT_EQ(policy_set_phase(p, "run"), 0);
    expect_phase(p, false);
    EXPECT_EQ(policy_set_phase(p, "none"), -ENOENT);
    expect_phase(p, false);
    EXPECT_EQ(policy_set_phase(p, "install"), 0);
    expect_phase(p, true);
    policy_free(p);
}

TEST(a_document_without_phases_has_none)
{
    struct policy *p = policy_of("{'version': 1}");
    EXPECT_EQ(policy_set_phase(p, "install"), -ENOENT);
    policy_free(p);
}

TEST(phases_that_contradict_each_other)
{
    expect_refused("{'version': 1, 'phases': []}", "/phases", "");
    expect_refused("{'version': 1, 'phases': ['a', 'a']}", "/phases/1", "there already");
    expect_refused("{'version': 1, 'phases': ['A']}", "/phases/0", "is no phase");
    expect_refused("{'version': 1, 'rules': [{'id': 'x', 'action': 'allow', 'to': 'any', "
                   "'phases': ['install']}]}",
                   "/rules/0/phases/0", "no phase of this document");
    expect_refused("{'version': 1, 'phases': ['a'], 'rules': [{'id': 'x', 'action': 'allow', "
                   "'to': 'any', 'phases': []}]}",
                   "/rules/0/phases", "");
    expect_refused("{'version': 1, 'phases': ['a'], 'rules': [{'id': 'x', 'action': 'allow', "
                   "'to': 'any', 'phases': ['a', 'a']}]}",
                   "/rules/0/phases/1", "there already");
}

static void count(const struct policy_warning *w, void *context)
{
    if (!strcmp(w->code, "unreachable_rule"))
        ++*(int *)context;
}

static int count_unreachable(const char *first, const char *second)
{
    char text[512];
    int found = 0;
    snprintf(text, sizeof(text),
             "{'version': 1, 'phases': ['a', 'b'], 'rules': ["
             "{'id': 'x', 'action': 'allow', 'to': {'domain': ['a.test']}%s},"
             "{'id': 'y', 'action': 'deny', 'to': {'domain': ['a.test']}, 'proto': ['tcp']%s}]}",
             first, second);
    struct policy *p = policy_of(text);
    policy_lint(p, count, &found);
    policy_free(p);
    return found;
}

TEST(a_rule_of_another_phase_hides_none)
{
    EXPECT_EQ(count_unreachable("", ""), 1);
    EXPECT_EQ(count_unreachable("", ", 'phases': ['a']"), 1);
    EXPECT_EQ(count_unreachable(", 'phases': ['a']", ", 'phases': ['a']"), 1);
    EXPECT_EQ(count_unreachable(", 'phases': ['a']", ", 'phases': ['b']"), 0);
    EXPECT_EQ(count_unreachable(", 'phases': ['a']", ""), 0);
    EXPECT_EQ(count_unreachable(", 'phases': ['a']", ", 'phases': ['a', 'b']"), 0);
}
