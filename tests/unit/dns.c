// SPDX-License-Identifier: Apache-2.0
#include "lib/dns/dns.h"
#include "tests/harness/harness.h"

#include <arpa/inet.h>

/* Messages are written as strings: the size is that of the literal. */
#define BYTES(s)  (const uint8_t *)(s), sizeof(s) - 1
#define ONE_QUERY "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define A_IN      "\x00\x01\x00\x01"
#define TTL(s)    "\x00\x00" s
#define V4(s)     "\x00\x04" s

static struct dns_query q;

TEST(a_query)
{
    ASSERT_EQ(dns_query_parse(BYTES(ONE_QUERY "\3API\4good\4test\0" A_IN), &q), 0);
    EXPECT_EQ(q.id, 0x1234);
    EXPECT_TRUE(q.wants_recursion && !q.has_edns);
    EXPECT_STR(q.name, "API.good.test");
    EXPECT_EQ(q.type, DNS_TYPE_A);
    EXPECT_EQ(q.question_size, 19);
    ASSERT_EQ(dns_query_parse(BYTES(ONE_QUERY "\0" A_IN), &q), 0);
    EXPECT_STR(q.name, "");
}

TEST(a_query_with_an_option)
{
    ASSERT_EQ(dns_query_parse(BYTES("\0\1\0\0\0\1\0\0\0\0\0\1"
                                    "\1a\0" A_IN "\0\0\x29\4\xd0\0\0\0\0\0\0"),
                              &q),
              0);
    EXPECT_TRUE(q.has_edns && !q.wants_recursion);
}

TEST(queries_that_are_refused)
{
    static const struct {
        const char *bytes;
        size_t size;
        int result;
    } cases[] = {
#define CASE(s, r) {s, sizeof(s) - 1, r}
        CASE("", -EBADMSG),
        CASE("\0\1\0\0\0\1\0\0\0\0\0", -EBADMSG),
        CASE("\0\1\x80\0\0\1\0\0\0\0\0\0\1a\0" A_IN, -EBADMSG),
        CASE("\0\1\x28\0\0\1\0\0\0\0\0\0\1a\0" A_IN, DNS_NOTIMPL),
        CASE("\0\1\0\0\0\2\0\0\0\0\0\0\1a\0" A_IN "\1a\0" A_IN, DNS_FORMERR),
        CASE("\0\1\0\0\0\0\0\0\0\0\0\0", DNS_FORMERR),
        CASE("\0\1\0\0\0\1\0\1\0\0\0\0\1a\0" A_IN, DNS_FORMERR),
        CASE(ONE_QUERY "\1a\0\0\1\0", DNS_FORMERR),
        CASE(ONE_QUERY "\1a\0" A_IN "x", DNS_FORMERR),
        CASE(ONE_QUERY "\5a", DNS_FORMERR),
        CASE(ONE_QUERY "\1a\xc0\x0c" A_IN, DNS_FORMERR),
        CASE(ONE_QUERY "\1a\x40" A_IN, DNS_FORMERR),
        CASE(ONE_QUERY "\3a.b\4test\0" A_IN, DNS_FORMERR),
        CASE(ONE_QUERY "\3a\0b\4test\0" A_IN, DNS_FORMERR),
        CASE(ONE_QUERY "\3a\x80"
                       "b\4test\0" A_IN,
             DNS_FORMERR),
        CASE("\0\1\0\0\0\1\0\0\0\0\0\1\1a\0" A_IN "\0\0\x29\4\xd0\0\1\0\0\0\0", DNS_FORMERR),
        CASE("\0\1\0\0\0\1\0\0\0\0\0\1\1a\0" A_IN "\0\0\x29\4\xd0\0\0\0\0\0\1", DNS_FORMERR),
        CASE("\0\1\0\0\0\1\0\0\0\0\0\1\1a\0" A_IN "\0\0\1\4\xd0\0\0\0\0\0\0", DNS_FORMERR),
#undef CASE
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (dns_query_parse((const uint8_t *)cases[i].bytes, cases[i].size, &q) != cases[i].result)
            harness_fail(__FILE__, __LINE__, "case %zu", i);
}

TEST(a_name_has_at_most_253_bytes)
{
    uint8_t message[400];
    const size_t labels[] = {63, 63, 63, 61};
    for (size_t last = 61; last <= 62; last++) {
        size_t at = DNS_HEADER_BYTES;
        memcpy(message, ONE_QUERY, at);
        for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
            size_t size = i == 3 ? last : labels[i];
            message[at++] = (uint8_t)size;
            memset(message + at, 'a', size);
            at += size;
        }
        memcpy(message + at, "\0" A_IN, 5);
        EXPECT_EQ(dns_query_parse(message, at + 5, &q), last == 61 ? 0 : DNS_FORMERR);
    }
    EXPECT_EQ(strlen(q.name) <= 253, 1);
}

/* ---- answers of an upstream ---- */

#define ANSWER(count) "\0\1\x81\x80\0\1\0" count "\0\0\0\0\1a\4test\0" A_IN

static struct dns_addresses found;

static void expect_addresses(const uint8_t *message, size_t size, const char *expected)
{
    char text[256] = "", one[64];
    ASSERT_EQ(dns_addresses_parse(message, size, "a.test", DNS_TYPE_A, &found), 0);
    for (size_t i = 0; i < found.count; i++) {
        ASSERT_TRUE(IN6_IS_ADDR_V4MAPPED(&found.list[i].address));
        inet_ntop(AF_INET, found.list[i].address.s6_addr + 12, one, sizeof(one));
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s/%u ", one,
                 found.list[i].ttl);
    }
    EXPECT_STR(text, expected);
}

TEST(addresses_of_the_name)
{
    expect_addresses(BYTES(ANSWER("\2") "\xc0\x0c" A_IN TTL("\0\x3c")
                               V4("\1\2\3\4") "\1A\4TEST\0" A_IN TTL("\0\x1e") V4("\5\6\7\x8")),
                     "1.2.3.4/60 5.6.7.8/30 ");
}

TEST(addresses_of_others_are_left_out)
{
    expect_addresses(
        BYTES(ANSWER("\3") "\4bank\xc0\x0e" A_IN TTL("\0\x3c") V4("\1\2\3\4") "\xc0\x0c" A_IN TTL(
            "\0\x3c") V4("\5\6\7\x8") "\xc0\x0c\0\x1c\0\1" TTL("\0\x3c") V4("\1\1\1\1")),
        "5.6.7.8/60 ");
}

#define AAAA_IN "\0\x1c\0\1"
#define V6(s)   "\0\x10" s

/* One that holds an IPv4 address is none of IPv6, and one of four bytes is malformed, not IPv4. */
TEST(addresses_of_ipv6)
{
    static const char message[] = ANSWER("\4") "\xc0\x0c" AAAA_IN TTL("\0\x3c")
        V6("\x2a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1") "\xc0\x0c" A_IN TTL("\0\x3c")
            V4("\1\2\3\4") "\xc0\x0c" AAAA_IN TTL("\0\x3c")
                V6("\0\0\0\0\0\0\0\0\0\0\xff\xff\1\2\3\4") "\xc0\x0c" AAAA_IN TTL("\0\x3c")
                    V4("\1\1\1\1");
    char text[INET6_ADDRSTRLEN];
    ASSERT_EQ(dns_addresses_parse(BYTES(message), "a.test", DNS_TYPE_AAAA, &found), 0);
    ASSERT_EQ(found.count, 1);
    inet_ntop(AF_INET6, &found.list[0].address, text, sizeof(text));
    EXPECT_STR(text, "2a00::1");
}

TEST(an_alias_is_followed_in_any_order)
{
    expect_addresses(BYTES(ANSWER("\3") "\1c\xc0\x0e" A_IN TTL("\1\0")
                               V4("\1\2\3\4") "\1b\xc0\x0e\0\5\0\1" TTL(
                                   "\0\x9") "\0\4\1c\xc0\x0e"
                                            "\xc0\x0c\0\5\0\1" TTL("\1\0") "\0\4\1b\xc0\x0e"),
                     "1.2.3.4/9 ");
}

TEST(nothing_but_a_code)
{
    ASSERT_EQ(dns_addresses_parse(BYTES("\0\1\x81\x83\0\1\0\0\0\0\0\0\1a\4test\0" A_IN), "a.test",
                                  DNS_TYPE_A, &found),
              0);
    EXPECT_EQ(found.rcode, DNS_NXDOMAIN);
    EXPECT_EQ(found.count, 0);
}

TEST(answers_that_are_none)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
#define CASE(s) {s, sizeof(s) - 1}
        CASE("\0\1\x01\x80\0\0\0\0\0\0\0\0"),
        CASE(ANSWER("\1")),
        CASE(ANSWER("\1") "\xc0\x0c" A_IN TTL("\0\x3c") "\0\5\1\2\3\4"),
        CASE(ANSWER("\1") "\xc0\x19" A_IN TTL("\0\x3c") V4("\1\2\3\4")),    /* to itself */
        CASE(ANSWER("\1") "\xc0\xff" A_IN TTL("\0\x3c") V4("\1\2\3\4")),    /* forwards */
        CASE(ANSWER("\1") "\xc0\x0c\0\5\0\1" TTL("\0\x3c") "\0\2\xc0\x0c"), /* round */
        CASE(ANSWER("\1") "\xc0\x0c\0\5\0\1" TTL("\0\x3c") "\0\3\xc0\x0e\0"),
#undef CASE
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (dns_addresses_parse((const uint8_t *)cases[i].bytes, cases[i].size, "a.test",
                                DNS_TYPE_A, &found) != -EBADMSG)
            harness_fail(__FILE__, __LINE__, "case %zu", i);
}

/* ---- our own ---- */

TEST(an_answer_is_read_back)
{
    static const char query[] = ONE_QUERY "\1a\4test\0" A_IN;
    uint8_t answer[DNS_ANSWER_MAX];
    struct dns_address addresses[DNS_ADDRESSES_MAX] = {{.ttl = 77}, {.ttl = 78}};
    memcpy(addresses[0].address.s6_addr + 12, "\1\2\3\4", 4);
    ASSERT_EQ(dns_query_parse(BYTES(query), &q), 0);
    const struct dns_answer a = {.addresses = addresses, .address_count = 2};
    size_t size = dns_answer_write((const uint8_t *)query, &q, &a, answer);
    EXPECT_EQ(memcmp(answer, "\x12\x34\x81\x80\0\1\0\2\0\0\0\0", 12), 0);
    expect_addresses(answer, size, "1.2.3.4/77 0.0.0.0/78 ");
}

TEST(an_answer_of_ipv6_is_read_back_as_far_as_it_fits)
{
    static const char query[] = ONE_QUERY "\1a\4test\0" AAAA_IN;
    uint8_t answer[DNS_ANSWER_MAX];
    struct dns_address addresses[DNS_FOUND_MAX] = {{.ttl = 77}};
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
        addresses[i].address.s6_addr[0] = (uint8_t)(0x20 + i);
    ASSERT_EQ(dns_query_parse(BYTES(query), &q), 0);
    const struct dns_answer a = {.addresses = addresses, .address_count = DNS_FOUND_MAX};
    size_t size = dns_answer_write((const uint8_t *)query, &q, &a, answer);
    ASSERT_EQ(dns_addresses_parse(answer, size, "a.test", DNS_TYPE_AAAA, &found), 0);
    ASSERT_EQ(found.count, DNS_ADDRESSES_MAX);
    for (size_t i = 0; i < found.count; i++)
        EXPECT_EQ(found.list[i].address.s6_addr[0], 0x20 + i);
    EXPECT_EQ(found.list[0].ttl, 77);
}

TEST(words_come_only_to_who_knows_them_and_are_cut)
{
    static const char plain[] = ONE_QUERY "\1a\4test\0" A_IN;
    static const char edns[] =
        "\x12\x34\1\0\0\1\0\0\0\0\0\1\1a\4test\0" A_IN "\0\0\x29\2\0\0\0\0\0\0\0";
    uint8_t answer[DNS_ANSWER_MAX];
    char words[1000];
    memset(words, 'w', sizeof(words) - 1);
    words[sizeof(words) - 1] = '\0';
    const struct dns_answer a = {.rcode = DNS_NXDOMAIN, .blocked = words};
    ASSERT_EQ(dns_query_parse(BYTES(plain), &q), 0);
    EXPECT_EQ(dns_answer_write((const uint8_t *)plain, &q, &a, answer), sizeof(plain) - 1);
    EXPECT_EQ(answer[3] & 15, DNS_NXDOMAIN);
    ASSERT_EQ(dns_query_parse(BYTES(edns), &q), 0);
    EXPECT_EQ(q.udp_size, 512);
    EXPECT_EQ(dns_answer_write((const uint8_t *)edns, &q, &a, answer), 512);
    EXPECT_EQ(memcmp(answer + 508, "wwww", 4), 0);
}
