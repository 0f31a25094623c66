// SPDX-License-Identifier: Apache-2.0
/*
 * Texts that are names, texts that are addresses, and texts that are neither.
 */
#include "tests/harness/harness.h"
#include "tests/unit/policy_support.h"

#include <locale.h>

/* The canonical form, or "!" and what is wrong. On the heap, so that ASan sees what is read behind.
 */
static const char *parse_bytes(const void *bytes, size_t size)
{
    static char text[POLICY_NAME_MAX_BYTES + 64];
    struct policy_host host;
    const char *why = NULL;
    char *copy = malloc(size ? size : 1);
    ASSERT_TRUE(copy != NULL);
    memcpy(copy, bytes, size);
    int r = policy_host_parse(copy, size, &host, &why);
    free(copy);
    if (r == 0 && host.kind == POLICY_HOST_NAME) {
        EXPECT_TRUE(policy_host_is_canonical(host.name));
        snprintf(text, sizeof(text), "%s", host.name);
    } else if (r == 0) {
        EXPECT_STR(host.name, "");
        policy_address_print(&host.address, text);
    } else {
        EXPECT_EQ(r, -EINVAL);
        snprintf(text, sizeof(text), "! %s", why ? why : "");
    }
    return text;
}

static const char *parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

TEST(names)
{
    EXPECT_STR(parse("api.good.test"), "api.good.test");
    EXPECT_STR(parse("API.Good.Test"), "api.good.test");
    EXPECT_STR(parse("api.good.test."), "api.good.test");
    EXPECT_STR(parse("_dmarc.pkg.test"), "_dmarc.pkg.test");
    EXPECT_STR(parse("r3---sn-a.video.test"), "r3---sn-a.video.test");
    EXPECT_STR(parse("localhost"), "localhost");
    EXPECT_STR(parse("3com.test"), "3com.test");
    EXPECT_STR(parse("1.2.3.4.test"), "1.2.3.4.test");
    EXPECT_STR(parse("0x.test"), "0x.test");
    EXPECT_STR(parse("a.0xg"), "a.0xg");
    EXPECT_STR(parse("xn--80ak6aa92e.test"), "xn--80ak6aa92e.test");
}

TEST(internationalized_names)
{
    EXPECT_STR(parse("bücher.test"), "xn--bcher-kva.test");
    EXPECT_STR(parse("BÜCHER.test"), "xn--bcher-kva.test");
    EXPECT_STR(parse("bu\u0308cher.test"), "xn--bcher-kva.test");
    /* Non-transitional: the sharp s stays one. */
    EXPECT_STR(parse("straße.test"), "xn--strae-oqa.test");
    EXPECT_STR(parse("_a.bücher.test"), "_a.xn--bcher-kva.test");
    EXPECT_STR(parse("ａｐｉ.good.test"), "api.good.test");
    EXPECT_STR(parse("api。good．test"), "api.good.test");
    /* Looks the same, is another name: Cyrillic. */
    EXPECT_STR(parse("аpi.good.test"), "xn--pi-6kc.good.test");
    EXPECT_STR(parse("a\u00adpi.good.test"), "api.good.test");
}

TEST(the_locale_has_no_say)
{
    setlocale(LC_ALL, "C");
    EXPECT_STR(parse("bücher.test"), "xn--bcher-kva.test");
    setlocale(LC_ALL, "tr_TR.UTF-8");
    EXPECT_STR(parse("MINI.test"), "mini.test");
}

TEST(numbers_that_are_addresses)
{
    static const char *const loopback[] = {
        "127.0.0.1",       "2130706433",        "0x7f000001",      "0x7f.0.0.1",
        "017700000001",    "0177.0.0.1",        "127.1",           "127.0.1",
        "127.0.0.1.",      "00000000177.0.0.1", "0X7F.1",          "①②⑦.0.0.1",
        "127。0。0。1",    "１２７.0.0.1",      "127.0x0.000.0x1", "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
    };
    for (size_t i = 0; i < ARRAY_SIZE(loopback); i++)
        EXPECT_STR(parse(loopback[i]), "127.0.0.1");
    EXPECT_STR(parse("0"), "0.0.0.0");
    EXPECT_STR(parse("0x"), "0.0.0.0");
    EXPECT_STR(parse("0127.0.0.1"), "87.0.0.1");
    EXPECT_STR(parse("4294967295"), "255.255.255.255");
    EXPECT_STR(parse("1.16777215"), "1.255.255.255");
    EXPECT_STR(parse("[2001:DB8::1]"), "2001:db8::1");
}

TEST(numbers_that_are_none)
{
    static const char *const texts[] = {
        "256.0.0.1",
        "1.2.3.4.5",
        "1.2.65536",
        "4294967296",
        "a.1",
        "a.0x1",
        "1..2",
        "08",
        "1.2.3.09",
        "1.16777216",
        "a.test.007",
        "0xfffffffff1",
        "99999999999999999999999999",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        EXPECT_STR(parse(texts[i]), strstr(texts[i], "..")
                                        ? "! has an empty label"
                                        : "! ends in a number and is no IPv4 address");
}

TEST(texts_that_are_no_host)
{
    static const char *const texts[] = {
        "",
        ".",
        "..",
        ".api.test",
        "api.test..",
        "a..b",
        "a b.test",
        " api.test",
        "api.test ",
        "127.0.0.1 ",
        "api.test\r\nx: y",
        "api%2etest",
        "user@api.test",
        "api.test/x",
        "api.test\\x",
        "[api.test]",
        "[[::1]]",
        "[::1",
        "::1]",
        "::1",
        "[fe80::1%eth0]",
        "fe80::1%eth0",
        "::ffff:1.2.3.4%x.pkg.test",
        "[127.0.0.1]",
        "[]",
        "api.test:443",
        "a,b.test",
        "*.test",
        "api.test\x7f",
        "\xff\xfe.test",
        "a\xc0\xae.test",
        "\xed\xa0\x80.test",
        "％６１.test",
        "a／b.test",
        "a：b.test",
        "\u202eapi.test",
        "\U000e0061.test",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const char *got = parse(texts[i]);
        if (got[0] != '!')
            harness_fail(__FILE__, __LINE__, "\"%s\" became \"%s\"", texts[i], got);
    }
}

/* Some resolvers stop at a NUL, so that the name before it would be asked for. */
TEST(a_nul_in_a_name)
{
    EXPECT_TRUE(parse_bytes("evil.test\0.pkg.test", 19)[0] == '!');
    EXPECT_TRUE(parse_bytes("127.0.0.1\0.ok", 13)[0] == '!');
    EXPECT_TRUE(parse_bytes("api.test\0", 9)[0] == '!');
    EXPECT_TRUE(parse_bytes("[::1\0]", 6)[0] == '!');
}

TEST(lengths)
{
    char text[2 * POLICY_HOST_MAX_BYTES];
    memset(text, 'a', sizeof(text));
    strcpy(text + 63, ".test");
    EXPECT_EQ(strlen(parse(text)), 68);
    memset(text, 'a', sizeof(text));
    strcpy(text + 64, ".test");
    EXPECT_STR(parse(text), "! has a label of more than 63 bytes");
    /* 253 bytes, and with the dot that is left out; then one more. */
    for (size_t size = 253; size <= 255; size++) {
        for (size_t i = 0; i < size; i++)
            text[i] = i % 50 == 49 ? '.' : 'a';
        if (size == 254)
            text[253] = '.';
        EXPECT_EQ(parse_bytes(text, size)[0] == '!', size == 255);
    }
    /* 130 labels are too many bytes. */
    for (size_t i = 0; i < 260; i++)
        text[i] = i % 2 ? '.' : 'a';
    EXPECT_STR(parse_bytes(text, 260), "! is longer than 253 bytes");
    EXPECT_TRUE(parse_bytes(text, sizeof(text))[0] == '!');
    /* Long in UTF-8, short as A-labels, and the other way round. */
    char wide[POLICY_HOST_MAX_BYTES + 8] = "";
    for (size_t i = 0; i < 300; i++)
        strcat(wide, "ü");
    EXPECT_TRUE(parse(wide)[0] == '!');
}

TEST(ports)
{
    static const struct {
        const char *text;
        int port; /* -1: malformed */
    } rows[] = {
        {"api.test", 0},
        {"api.test:443", 443},
        {"api.test:65535", 65535},
        {"api.test:0", -1},
        {"api.test:65536", -1},
        {"api.test:", -1},
        {"api.test:+5", -1},
        {"api.test:0443", -1},
        {"api.test:443x", -1},
        {"[::1]:80", 80},
        {"[::1]", 0},
        {"[::1]:", -1},
        {"[::1]x", -1},
        {"::1:80", -1},
        {"[::1]:80:90", -1},
        {"a:1:2", -1},
        {":80", -1},
        {"127.1:22", 22},
        {"api.test:99999999999999999999", -1},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct policy_host host;
        uint16_t port = 0;
        int r = policy_host_parse_with_port(rows[i].text, strlen(rows[i].text), &host, &port, NULL);
        if ((r == 0 ? port : -1) != rows[i].port)
            harness_fail(__FILE__, __LINE__, "%s: %d, port %d", rows[i].text, r, port);
    }
}

TEST(networks)
{
    static const struct {
        const char *net, *inside, *outside;
    } rows[] = {
        {"10.0.0.0/8", "10.255.0.1", "11.0.0.0"},
        {"10.1.2.3/8", "10.0.0.0", "9.255.255.255"},
        {"255.255.255.0/24", "255.255.255.255", "255.255.254.255"},
        {"1.2.3.4", "1.2.3.4", "1.2.3.5"},
        {"0.0.0.0/0", "255.255.255.255", "::1"},
        {"::/0", "2001:db8::1", "1.2.3.4"},
        {"::ffff:0:0/96", "1.2.3.4", "::1"},
        {"2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::"},
        {"::1/128", "::1", "::"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct policy_net net = net_of(rows[i].net), inside = net_of(rows[i].inside),
                          outside = net_of(rows[i].outside);
        EXPECT_TRUE(policy_net_contains(&net, &inside.address));
        EXPECT_TRUE(!policy_net_contains(&net, &outside.address));
    }
}

TEST(texts_that_are_no_network)
{
    static const char *const texts[] = {
        "",          "1.2.3",    "1.2.3.4/33", "1.2.3.4/", "1.2.3.4/-1", "1.2.3.4/08",
        "01.2.3.4",  "1.2.3.4 ", "::1%lo",     "::1/129",  "[::1]",      "1.2.3.4/1/2",
        "0x1.2.3.4", "/8",       "1.2.3.4/8x", "::/0000",
    };
    struct policy_net net;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        EXPECT_EQ(policy_net_parse(texts[i], strlen(texts[i]), &net), -EINVAL);
    EXPECT_EQ(policy_net_parse("1.2.3.4\0/8", 10, &net), -EINVAL);
}
