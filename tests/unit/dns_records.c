// SPDX-License-Identifier: Apache-2.0
/* Records of an upstream's answer that are no addresses: what is copied, what of it is left out,
 * and what is malformed. */
#include "lib/dns/dns.h"
#include "tests/harness/harness.h"

#include <endian.h>

#define ONE_QUERY   "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define MESSAGE_MAX 65535

/* What an upstream says: a question for a.test of a type, and records. */
struct message {
    uint8_t bytes[MESSAGE_MAX];
    size_t size;
};

static struct message message;
static struct dns_records found;

static void add(const void *bytes, size_t size)
{
    memcpy(message.bytes + message.size, bytes, size);
    message.size += size;
}

static void add16(unsigned value)
{
    uint16_t wire = htobe16((uint16_t)value);
    add(&wire, sizeof(wire));
}

static void begin(uint16_t type)
{
    message.size = 0;
    add("\0\1\x81\x80\0\1\0\0\0\0\0\0\1a\4test", 20); /* the name is at 12 */
    add16(type);
    add16(DNS_CLASS_IN);
}

static void add_record(const char *owner, size_t owner_size, uint16_t type, const void *data,
                       size_t size)
{
    message.bytes[7]++;
    add(owner, owner_size);
    add16(type);
    add16(DNS_CLASS_IN);
    add16(0);
    add16(60);
    add16((unsigned)size);
    add(data, size);
}

/* Any name that does not begin with "evil". */
static bool is_allowed(const char *name)
{
    return strncmp(name, "evil", 4) != 0;
}

static int parse(uint16_t type)
{
    const struct dns_records_wanted wanted = {"a.test", type, is_allowed};
    return dns_records_parse(message.bytes, message.size, &wanted, &found);
}

struct row {
    uint16_t type;
    const char *data;
    size_t size;
    const char *expected; /* NULL: malformed; LEFT_OUT */
    size_t expected_size;
};

#define LEFT_OUT    "left out"
#define BOTH(bytes) bytes, sizeof(bytes) - 1
#define SAME(type, bytes)              \
    {                                  \
        type, BOTH(bytes), BOTH(bytes) \
    }
#define BECOMES(type, a, b)    \
    {                          \
        type, BOTH(a), BOTH(b) \
    } /* type, as it comes, as it is given */
#define MALFORMED(type, a)     \
    {                          \
        type, BOTH(a), NULL, 0 \
    }
#define WITHOUT(type, a)           \
    {                              \
        type, BOTH(a), LEFT_OUT, 0 \
    }

static void try_row(const struct row *row, size_t n)
{
    begin(row->type);
    add_record("\xc0\x0c", 2, row->type, row->data, row->size);
    int r = parse(row->type);
    bool is_right =
        !row->expected ? r == -EBADMSG
        : row->expected_size == 0 && !strcmp(row->expected, LEFT_OUT)
            ? r == 0 && found.count == 0
            : r == 0 && found.count == 1 && found.list[0].size == row->expected_size &&
                  !memcmp(found.bytes + found.list[0].data, row->expected, row->expected_size);
    if (!is_right)
        harness_fail(__FILE__, __LINE__, "row %zu, type %u: %d, %zu records, the first of %u bytes",
                     n, row->type, r, r == 0 ? found.count : 0, r == 0 ? found.list[0].size : 0);
}

static void try_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        try_row(&rows[i], i);
}

enum {
    NS = 2,
    SOA = 6,
    PTR = 12,
    HINFO = 13,
    MX = 15,
    TXT = 16,
    RP = 17,
    SRV = 33,
    NAPTR = 35,
    DS = 43,
    RRSIG = 46,
    TLSA = 52,
    UNKNOWN = 9999,
    CAA = 257,
};

TEST(data_is_taken_apart)
{
    static const struct row rows[] = {
        SAME(TXT, "\5hello\0\3a\0b"),
        MALFORMED(TXT, ""),
        MALFORMED(TXT, "\5hell"),
        MALFORMED(TXT, "\4hello"),
        BECOMES(MX, "\0\12\2mx\xc0\x0c", "\0\12\2mx\1a\4test\0"),
        BECOMES(MX, "\0\12\xc0\x0e", "\0\12\4test\0"),
        SAME(MX, "\0\0\0"),
        MALFORMED(MX, "\0\12"),
        MALFORMED(MX, "\0\12\1a"),
        MALFORMED(MX, "\0\12\1a\0x"),
        MALFORMED(MX, "\0\12\xc0"),
        MALFORMED(MX, "\0\12\xc0\x25"), /* to itself */
        MALFORMED(MX, "\0\12\xc3\xff"), /* forwards */
        MALFORMED(MX, "\0\12\2mx\x80\x0c"),
        MALFORMED(MX, "\0\12\3m x\0"),
        MALFORMED(MX, "\0\12\3m\0x\0"),
        MALFORMED(MX, "\0\12\3m\x1bx\0"),
        MALFORMED(MX, "\0\12\3m\xffx\0"),
        BECOMES(SRV, "\0\1\0\2\0\x50\xc0\x0c", "\0\1\0\2\0\x50\1a\4test\0"),
        MALFORMED(SRV, "\0\1\0\2\0"),
        BECOMES(NS, "\2ns\xc0\x0c", "\2ns\1a\4test\0"),
        BECOMES(PTR, "\xc0\x0c", "\1a\4test\0"),
        BECOMES(DNS_TYPE_CNAME, "\1b\xc0\x0e", "\1b\4test\0"),
        BECOMES(SOA,
                "\xc0\x0c\3a.b\xc0\x0e"
                "0001"
                "0002"
                "0003"
                "0004"
                "0005",
                "\1a\4test\0\3a.b\4test\0"
                "0001"
                "0002"
                "0003"
                "0004"
                "0005"),
        MALFORMED(SOA, "\xc0\x0c\xc0\x0e"
                       "0001"
                       "0002"
                       "0003"
                       "0004"
                       "000"),
        MALFORMED(SOA, "\xc0\x0c\xc0\x0e"
                       "0001"
                       "0002"
                       "0003"
                       "0004"
                       "0005x"),
        BECOMES(RP, "\xc0\x0c\0", "\1a\4test\0\0"),
        SAME(HINFO, "\3cpu\2os"),
        BECOMES(NAPTR, "\0\1\0\2\1u\0\3a!b\xc0\x0c", "\0\1\0\2\1u\0\3a!b\1a\4test\0"),
        SAME(CAA, "\0\5issueca.test; x=y"),
        SAME(CAA, "\x80\5iodefmailto:a@b"),
        SAME(CAA, "\0\5issue"),
        MALFORMED(CAA, "\0"),
        MALFORMED(CAA, "\0\0value"),
        MALFORMED(CAA, "\0\5iss e!"),
        MALFORMED(CAA, "\0\5issu"),
        SAME(DS, "\0\1\2\3digest"),
        MALFORMED(DS, "\0\1\2"),
        SAME(TLSA, "\3\1\1digest"),
        BECOMES(RRSIG,
                "\0\1\2\3"
                "0001"
                "0002"
                "0003"
                "ab"
                "\xc0\x0c"
                "signature",
                "\0\1\2\3"
                "0001"
                "0002"
                "0003"
                "ab"
                "\1a\4test\0"
                "signature"),
        SAME(UNKNOWN, ""),
        SAME(UNKNOWN, "\xc0\x0c\0\xff any bytes"),
    };
    try_rows(rows, ARRAY_SIZE(rows));
}

#define ALPN(size, list) "\0\1\0" size list
#define PORT             "\0\3\0\2\x20\xfb"
#define HINT4            "\0\4\0\4\1\2\3\4"
#define ECH              "\0\5\0\3ech"
#define HINT6    \
    "\0\6\0\x10" \
    "0123456789abcdef"
#define SELF "\0\1\0" /* priority 1, target "." */

TEST(parameters_that_lead_past_the_policy_are_removed)
{
    static const struct row rows[] = {
        SAME(DNS_TYPE_HTTPS, SELF),
        SAME(DNS_TYPE_HTTPS, SELF ALPN("\3", "\2h2") PORT),
        BECOMES(DNS_TYPE_HTTPS, SELF ALPN("\6", "\2h2\2h3") HINT4 ECH HINT6,
                SELF ALPN("\3", "\2h2")),
        BECOMES(DNS_TYPE_SVCB, SELF ALPN("\x11", "\2h3\5h3-29\2h2\4h3x!") PORT HINT4 "\0\7\0\1/",
                SELF ALPN("\x8", "\2h2\4h3x!") PORT "\0\7\0\1/"),
        BECOMES(DNS_TYPE_HTTPS, SELF ALPN("\3", "\2h3") PORT, SELF PORT),
        WITHOUT(DNS_TYPE_HTTPS, SELF ALPN("\3", "\2h3") "\0\2\0\0"),
        SAME(DNS_TYPE_HTTPS, SELF ALPN("\3", "\2h2") "\0\2\0\0"),
        SAME(DNS_TYPE_HTTPS, SELF "\xff\x00\0\2xy"), /* of private use */
    };
    try_rows(rows, ARRAY_SIZE(rows));
}

TEST(what_is_mandatory_and_removed_takes_the_record_along)
{
    static const struct row rows[] = {
        SAME(DNS_TYPE_HTTPS, SELF "\0\0\0\2\0\1" ALPN("\3", "\2h2")),
        BECOMES(DNS_TYPE_HTTPS, SELF "\0\0\0\2\0\1" ALPN("\6", "\2h2\2h3"),
                SELF "\0\0\0\2\0\1" ALPN("\3", "\2h2")),
        WITHOUT(DNS_TYPE_HTTPS, SELF "\0\0\0\2\0\1" ALPN("\3", "\2h3")),
        WITHOUT(DNS_TYPE_HTTPS, SELF "\0\0\0\2\0\5" ECH),
        WITHOUT(DNS_TYPE_HTTPS, SELF "\0\0\0\4\0\1\0\4" ALPN("\3", "\2h2") HINT4),
        WITHOUT(DNS_TYPE_HTTPS, SELF "\0\0\0\2\0\6" HINT6),
        BECOMES(DNS_TYPE_HTTPS, SELF "\0\0\0\2\0\3" PORT HINT4, SELF "\0\0\0\2\0\3" PORT),
    };
    try_rows(rows, ARRAY_SIZE(rows));
}

TEST(targets_are_judged)
{
    static const struct row rows[] = {
        SAME(DNS_TYPE_HTTPS, "\0\0\4good\4test\0"),
        WITHOUT(DNS_TYPE_HTTPS, "\0\0\4evil\4test\0"),
        SAME(DNS_TYPE_SVCB, "\0\1\4good\4test\0" PORT),
        WITHOUT(DNS_TYPE_SVCB, "\0\1\4evil\4test\0" PORT),
        SAME(DNS_TYPE_HTTPS, "\0\0\0"), /* there is no such service */
        BECOMES(DNS_TYPE_HTTPS, "\0\0\4good\4test\0" ECH "anything", "\0\0\4good\4test\0"),
    };
    try_rows(rows, ARRAY_SIZE(rows));
}

TEST(service_records_that_are_none)
{
    static const struct row rows[] = {
        MALFORMED(DNS_TYPE_HTTPS, ""),
        MALFORMED(DNS_TYPE_HTTPS, "\0\1"),
        MALFORMED(DNS_TYPE_HTTPS, "\0\1\xc0\x0c"), /* compressed */
        MALFORMED(DNS_TYPE_HTTPS, "\0\1\1a\xc0\x0c"),
        MALFORMED(DNS_TYPE_HTTPS, "\0\1\3a.b\0"),
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0"),
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0\3\0\3\1\1"),
        MALFORMED(DNS_TYPE_HTTPS, SELF PORT ALPN("\3", "\2h2")), /* keys fall */
        MALFORMED(DNS_TYPE_HTTPS, SELF PORT PORT),
        MALFORMED(DNS_TYPE_HTTPS, SELF "\xff\xff\0\0"),
        MALFORMED(DNS_TYPE_HTTPS, SELF ALPN("\0", "")),
        MALFORMED(DNS_TYPE_HTTPS, SELF ALPN("\1", "\0")),
        MALFORMED(DNS_TYPE_HTTPS, SELF ALPN("\3", "\3h2")),
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0\2\0\0"), /* no default, and nothing else */
        MALFORMED(DNS_TYPE_HTTPS, SELF ALPN("\3", "\2h2") "\0\2\0\1x"),
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0\3\0\1\1"),
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0\4\0\0"),
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0\4\0\5\1\2\3\4\5"),
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0\6\0\4\1\2\3\4"),
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0\0\0\0"),
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0\0\0\1\0" PORT),
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0\0\0\2\0\1" PORT), /* is not there */
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0\0\0\2\0\0" PORT), /* itself */
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0\0\0\4\0\3\0\1" ALPN("\3", "\2h2") PORT), /* falls */
        MALFORMED(DNS_TYPE_HTTPS, SELF "\0\0\0\4\0\3\0\3" PORT),
    };
    try_rows(rows, ARRAY_SIZE(rows));
}

TEST(only_records_of_the_name_or_its_alias)
{
    begin(TXT);
    add_record("\4bank\xc0\x0e", 7, TXT, "\3bad", 4);
    add_record("\1b\xc0\x0e", 4, TXT, "\4good", 5);
    add_record("\xc0\x0c", 2, DNS_TYPE_CNAME, "\1b\xc0\x0e", 4);
    ASSERT_EQ(parse(TXT), 0);
    ASSERT_EQ(found.count, 1);
    EXPECT_EQ(memcmp(found.bytes + found.list[0].data, "\4good", 5), 0);
    ASSERT_EQ(parse(DNS_TYPE_CNAME), 0);
    ASSERT_EQ(found.count, 1);
    EXPECT_EQ(memcmp(found.bytes + found.list[0].data, "\1b\4test", 8), 0);
    ASSERT_EQ(parse(MX), 0);
    EXPECT_EQ(found.count, 0);
}

TEST(types_that_are_never_copied)
{
    static const uint16_t types[] = {0,   DNS_TYPE_A, DNS_TYPE_NULL, DNS_TYPE_AAAA, DNS_TYPE_OPT,
                                     128, 249,        251,           252,           255};
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        begin(types[i]);
        add_record("\xc0\x0c", 2, types[i], "\1\2\3\4", 4);
        EXPECT_TRUE(!dns_type_is_copied(types[i]));
        EXPECT_EQ(parse(types[i]), -EBADMSG);
    }
}

TEST(names_have_at_most_255_bytes)
{
    uint8_t data[300];
    for (size_t last = 61; last <= 62; last++) {
        size_t at = 0;
        for (int i = 0; i < 4; i++) {
            size_t size = i == 3 ? last : 63;
            data[at++] = (uint8_t)size;
            memset(data + at, 'a', size);
            at += size;
        }
        data[at++] = 0;
        begin(NS);
        add_record("\xc0\x0c", 2, NS, data, at);
        EXPECT_EQ(parse(NS), last == 61 ? 0 : -EBADMSG);
    }
}

TEST(more_than_an_answer_holds)
{
    static const uint8_t data[DNS_ANSWER_MAX + 1];
    begin(UNKNOWN);
    add_record("\xc0\x0c", 2, UNKNOWN, data, DNS_ANSWER_MAX);
    EXPECT_EQ(parse(UNKNOWN), 0);
    add_record("\xc0\x0c", 2, UNKNOWN, data, 1);
    EXPECT_EQ(parse(UNKNOWN), -EMSGSIZE);
    begin(UNKNOWN);
    for (int i = 0; i <= DNS_RECORDS_MAX; i++) {
        EXPECT_EQ(i == 0 || parse(UNKNOWN) == 0, 1);
        add_record("\xc0\x0c", 2, UNKNOWN, data, 1);
    }
    EXPECT_EQ(parse(UNKNOWN), -EMSGSIZE);
}

/* ---- our own ---- */

static const char plain[] = ONE_QUERY "\1a\4test\0\0\x10\0\1";
static const char edns[] =
    "\x12\x34\1\0\0\1\0\0\0\0\0\1\1a\4test\0\0\x10\0\1\0\0\x29\4\xd0\0\0\0\0\0\0"; /* 1232 */
static uint8_t answer[DNS_ANSWER_MAX];

/* Of so many TXT records, each of 200 bytes with what an answer adds to it. */
static size_t write_answer(const char *query, size_t size, unsigned count, bool is_stream)
{
    static const uint8_t data[188] = {187};
    struct dns_query q;
    begin(TXT);
    for (unsigned i = 0; i < count; i++)
        add_record("\xc0\x0c", 2, TXT, data, sizeof(data));
    ASSERT_EQ(parse(TXT), 0);
    ASSERT_EQ(dns_query_parse((const uint8_t *)query, size, &q), 0);
    const struct dns_answer a = {.records = &found, .is_stream = is_stream};
    return dns_answer_write((const uint8_t *)query, &q, &a, answer);
}

TEST(an_answer_with_records)
{
    EXPECT_EQ(write_answer(plain, sizeof(plain) - 1, 2, false), 24 + 400);
    EXPECT_EQ(memcmp(answer, "\x12\x34\x81\x80\0\1\0\2\0\0\0\0", 12), 0);
    EXPECT_EQ(memcmp(answer + 24, "\xc0\x0c\0\x10\0\1\0\0\0\x3c\0\xbc\xbb", 13), 0);
}

TEST(a_datagram_is_as_long_as_the_client_takes)
{
    EXPECT_EQ(write_answer(plain, sizeof(plain) - 1, 3, false), 24);
    EXPECT_EQ(memcmp(answer, "\x12\x34\x83\x80\0\1\0\0\0\0\0\0", 12), 0);
    EXPECT_EQ(write_answer(edns, sizeof(edns) - 1, 5, false), 24 + 1000 + 11);
    EXPECT_EQ(memcmp(answer, "\x12\x34\x81\x80\0\1\0\5\0\0\0\1", 12), 0);
    EXPECT_EQ(write_answer(edns, sizeof(edns) - 1, 6, false), 24 + 11);
    EXPECT_EQ(memcmp(answer, "\x12\x34\x83\x80\0\1\0\0\0\0\0\1", 12), 0);
}

TEST(a_stream_takes_more_and_says_when_that_is_not_enough)
{
    EXPECT_EQ(write_answer(plain, sizeof(plain) - 1, 20, true), 24 + 4000);
    EXPECT_EQ(answer[7], 20);
    EXPECT_EQ(write_answer(plain, sizeof(plain) - 1, 21, true), 24);
    EXPECT_EQ(memcmp(answer, "\x12\x34\x81\x82\0\1\0\0\0\0\0\0", 12), 0);
}
