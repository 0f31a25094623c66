// SPDX-License-Identifier: Apache-2.0
#include "cli/learn.h"
#include "lib/policy/enforced.h"
#include "tests/harness/harness.h"

#include <stdio.h>

static struct learn l;

static void take(const char *line)
{
    learn_take(&l, line, strlen(line));
}

static void look_up(const char *name, const char *address)
{
    char line[512];
    snprintf(line, sizeof(line),
             "{\"event\":\"dns\",\"name\":\"%s\",\"decision\":\"allow\",\"resolved\":[\"%s\"]}",
             name, address);
    take(line);
}

static void connect_to(const char *address, int port)
{
    char line[512];
    snprintf(line, sizeof(line),
             "{\"event\":\"connect\",\"proto\":\"tcp\",\"dst\":\"%s\",\"port\":%d,"
             "\"decision\":\"allow\",\"would_deny\":true,\"reason\":\"default\"}",
             address, port);
    take(line);
}

/* The document without blanks; every one is a policy that can be enforced. */
static const char *written(void)
{
    static char text[POLICY_DOCUMENT_MAX_BYTES];
    struct buf b = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    struct policy_error e;
    EXPECT_EQ(learn_write(&l, &b), 0);
    struct policy *p = policy_parse(b.data, b.size, &e);
    EXPECT_TRUE(p != NULL);
    if (p)
        EXPECT_EQ(policy_check_enforced(policy_get_document(p), &e), 0);
    policy_free(p);
    char *to = text;
    for (size_t i = 0; i < b.size; i++)
        if (!strchr(" \n", b.data[i]))
            *to++ = b.data[i];
    *to = '\0';
    buf_done(&b);
    return text;
}

TEST(nothing_was_done)
{
    ASSERT_EQ(learn_init(&l), 0);
    EXPECT_STR(written(), "{\"version\":1,\"default\":\"deny\",\"rules\":[]}");
    learn_done(&l);
}

TEST(the_name_that_was_looked_up_last_is_meant)
{
    ASSERT_EQ(learn_init(&l), 0);
    look_up("one.test", "20.0.0.1");
    connect_to("20.0.0.1", 443);
    look_up("two.test", "20.0.0.1");
    connect_to("20.0.0.1", 443);
    look_up("unused.test", "20.0.0.2");
    EXPECT_STR(written(), "{\"version\":1,\"default\":\"deny\",\"rules\":[{\"id\":\"learned-1\","
                          "\"action\":\"allow\",\"to\":{\"domain\":[\"one.test\",\"two.test\"]},"
                          "\"ports\":[443]}]}");
    EXPECT_EQ(json_object_size(l.unused), 1);
    EXPECT_TRUE(json_object_get(l.unused, "unused.test") != NULL);
    learn_done(&l);
}

TEST(rules_are_sorted_and_few)
{
    ASSERT_EQ(learn_init(&l), 0);
    look_up("z.test", "20.0.0.1");
    connect_to("20.0.0.1", 443);
    connect_to("20.0.0.1", 80);
    look_up("b.test", "20.0.0.2");
    connect_to("20.0.0.2", 80);
    connect_to("20.0.0.2", 443);
    look_up("a.test", "20.0.0.3");
    connect_to("20.0.0.3", 9000);
    connect_to("20.0.0.9", 22);
    connect_to("2a00::9", 22);
    EXPECT_STR(written(),
               "{\"version\":1,\"default\":\"deny\",\"rules\":["
               "{\"id\":\"learned-1\",\"action\":\"allow\",\"to\":{\"domain\":"
               "[\"a.test\"]},\"ports\":[9000]},"
               "{\"id\":\"learned-2\",\"action\":\"allow\",\"to\":{\"domain\":"
               "[\"b.test\",\"z.test\"]},\"ports\":[80,443]},"
               "{\"id\":\"learned-3\",\"action\":\"allow\",\"to\":{\"cidr\":"
               "[\"20.0.0.9/32\",\"2a00::9/128\"]},\"proto\":[\"tcp\"],\"ports\":[22]}]}");
    learn_done(&l);
}

TEST(what_is_denied_is_left_out_and_told)
{
    ASSERT_EQ(learn_init(&l), 0);
    take("{\"event\":\"connect\",\"proto\":\"tcp\",\"dst\":\"10.0.0.1\",\"port\":80,"
         "\"decision\":\"deny\",\"reason\":\"floor:private\"}");
    take("{\"event\":\"dns\",\"name\":\"lan.test\",\"decision\":\"deny\","
         "\"reason\":\"resolved:private\",\"resolved\":[\"10.0.0.1\"]}");
    take("{\"event\":\"dns\",\"name\":\"a.test\",\"type\":\"TYPE65\",\"decision\":\"deny\","
         "\"reason\":\"dns_type\"}");
    EXPECT_STR(written(), "{\"version\":1,\"default\":\"deny\",\"rules\":[]}");
    EXPECT_EQ(json_object_size(l.closed), 2);
    EXPECT_STR(json_string_value(json_object_get(l.closed, "10.0.0.1:80")), "floor:private");
    EXPECT_STR(json_string_value(json_object_get(l.closed, "lan.test")), "resolved:private");
    learn_done(&l);
}

TEST(lines_that_are_none)
{
    static const char *const lines[] = {
        "",
        "{",
        "[]",
        "7",
        "null",
        "{}",
        "\xff\xfe",
        "{\"event\":7}",
        "{\"event\":\"dns\"}",
        "{\"event\":\"dns\",\"name\":\"a..b\",\"resolved\":[\"20.0.0.1\"]}",
        "{\"event\":\"dns\",\"name\":\"a.test\",\"resolved\":\"20.0.0.1\"}",
        "{\"event\":\"dns\",\"name\":\"a.test\",\"resolved\":[7,\"x\",\"20.0.0.0/8\"]}",
        "{\"event\":\"connect\",\"proto\":\"tcp\",\"dst\":\"20.0.0.0/8\",\"port\":80}",
        "{\"event\":\"connect\",\"proto\":\"sctp\",\"dst\":\"20.0.0.1\",\"port\":80}",
        "{\"event\":\"connect\",\"proto\":\"tcp\",\"dst\":\"20.0.0.1\",\"port\":0}",
        "{\"event\":\"connect\",\"proto\":\"tcp\",\"dst\":\"20.0.0.1\",\"port\":65536}",
        "{\"event\":\"connect\",\"proto\":\"tcp\",\"name\":\"*.test\",\"dst\":\"\",\"port\":80}",
    };
    ASSERT_EQ(learn_init(&l), 0);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        take(lines[i]);
    EXPECT_STR(written(), "{\"version\":1,\"default\":\"deny\",\"rules\":[]}");
    EXPECT_TRUE(!l.is_incomplete && !l.is_too_much);
    take("{\"event\":\"lost\",\"count\":3}");
    EXPECT_TRUE(l.is_incomplete);
    learn_done(&l);
}

TEST(more_places_than_a_policy_can_name)
{
    char name[32];
    ASSERT_EQ(learn_init(&l), 0);
    for (int i = 0; i < LEARN_PLACES_MAX; i++) {
        snprintf(name, sizeof(name), "20.0.%d.%d", i / 250, i % 250);
        connect_to(name, 80);
    }
    EXPECT_TRUE(!l.is_too_much);
    connect_to("30.0.0.1", 80);
    EXPECT_TRUE(l.is_too_much);
    written();
    learn_done(&l);
}
