// SPDX-License-Identifier: Apache-2.0
#include "lib/tls/hello.h"
#include "tests/harness/harness.h"
#include "tests/unit/hello_bytes.h"

#define INPUT_MAX_BYTES (256 * 1024)

/* A hello under construction. */
struct draft {
    uint8_t data[INPUT_MAX_BYTES];
    size_t size;
};

static struct draft message, input;
static struct tls_hello_parser p;
static size_t taken_total;

static void put(struct draft *d, const void *data, size_t size)
{
    ASSERT_TRUE(size <= sizeof(d->data) - d->size);
    memcpy(d->data + d->size, data, size);
    d->size += size;
}

static void put_number(struct draft *d, size_t size, uint64_t n)
{
    while (size-- > 0)
        put(d, &(uint8_t){(uint8_t)(n >> (8 * size))}, 1);
}

static void set_number(struct draft *d, size_t at, size_t size, uint64_t n)
{
    for (size_t i = 0; i < size; i++)
        d->data[at + i] = (uint8_t)(n >> (8 * (size - 1 - i)));
}

static size_t extensions_at;

/* A ClientHello up to where its extensions begin. */
static void begin(void)
{
    message.size = 0;
    put_number(&message, 4, 1u << 24);
    put_number(&message, 2, 0x0303);
    for (int i = 0; i < 32; i++)
        put_number(&message, 1, (uint64_t)i);
    put_number(&message, 1, 0);       /* session */
    put_number(&message, 4, 0x21301); /* one suite */
    put_number(&message, 2, 0x0100);  /* compression */
    extensions_at = message.size;
    put_number(&message, 2, 0);
}

static void extension(unsigned type, const void *data, size_t size)
{
    put_number(&message, 2, type);
    put_number(&message, 2, size);
    put(&message, data, size);
}

static void server_name(const char *name)
{
    static struct draft body;
    size_t size = strlen(name);
    body.size = 0;
    put_number(&body, 2, size + 3);
    put_number(&body, 1, 0);
    put_number(&body, 2, size);
    put(&body, name, size);
    extension(0, body.data, body.size);
}

/* The lengths of message and extensions. */
static void complete(void)
{
    set_number(&message, extensions_at, 2, message.size - extensions_at - 2);
    set_number(&message, 1, 3, message.size - 4);
}

/* input: message in records of at most this size. */
static void in_records(size_t record_size)
{
    input.size = 0;
    for (size_t at = 0; at < message.size;) {
        size_t n = MIN(record_size, message.size - at);
        put_number(&input, 3, 0x160301);
        put_number(&input, 2, n);
        put(&input, message.data + at, n);
        at += n;
    }
}

static enum tls_hello_progress take(const void *data, size_t size, size_t piece)
{
    enum tls_hello_progress progress = TLS_HELLO_MORE;
    tls_hello_done(&p);
    tls_hello_init(&p);
    taken_total = 0;
    while (progress == TLS_HELLO_MORE && taken_total < size) {
        size_t n = MIN(piece, size - taken_total), taken;
        uint8_t *copy = malloc(n); /* of its exact size, for ASan */
        memcpy(copy, (const uint8_t *)data + taken_total, n);
        progress = tls_hello_take(&p, copy, n, &taken);
        free(copy);
        taken_total += taken;
        if (progress == TLS_HELLO_MORE)
            EXPECT_EQ(taken, n);
    }
    return progress;
}

static enum tls_hello_progress take_input(void)
{
    return take(input.data, input.size, SIZE_MAX);
}

static enum tls_hello_progress take_message(void)
{
    complete();
    in_records(TLS_RECORD_MAX_BYTES);
    return take_input();
}

static void expect_wrong(const char *words)
{
    EXPECT_EQ(take_message(), TLS_HELLO_MALFORMED);
    if (p.wrong)
        EXPECT_STR(p.wrong, words);
    EXPECT_EQ(p.hello.name_kind, TLS_NAME_NONE);
}

TEST(recorded_hellos)
{
    ASSERT_EQ(take(hello_tls12, sizeof(hello_tls12), SIZE_MAX), TLS_HELLO_DONE);
    EXPECT_EQ(taken_total, sizeof(hello_tls12));
    EXPECT_EQ(p.hello.name_kind, TLS_NAME_HOST);
    EXPECT_STR(p.hello.server_name, "api.good.test");
    EXPECT_EQ(p.hello.version, 0x0303);
    EXPECT_TRUE(tls_hello_offers(&p.hello, "h2") && tls_hello_offers(&p.hello, "http/1.1"));
    EXPECT_TRUE(!tls_hello_offers(&p.hello, "http/1") && !p.hello.has_ech);

    ASSERT_EQ(take(hello_tls13, sizeof(hello_tls13), SIZE_MAX), TLS_HELLO_DONE);
    EXPECT_STR(p.hello.server_name, "api.good.test");
    EXPECT_EQ(p.hello.version, 0x0304);
    EXPECT_EQ(p.hello.versions_size, 4);

    ASSERT_EQ(take(hello_nameless, sizeof(hello_nameless), SIZE_MAX), TLS_HELLO_DONE);
    EXPECT_EQ(p.hello.name_kind, TLS_NAME_NONE);
    EXPECT_STR(p.hello.server_name, "");
    EXPECT_EQ(p.hello.protocols_size, 0);
    EXPECT_TRUE(!tls_hello_offers(&p.hello, "h2"));

    ASSERT_EQ(take(hello_s_client, sizeof(hello_s_client), SIZE_MAX), TLS_HELLO_DONE);
    EXPECT_STR(p.hello.server_name, "files.good.test");
    size_t at = 0, size = 0;
    const char *first = tls_hello_next_protocol(&p.hello, &at, &size);
    ASSERT_TRUE(first && size == 8 && !memcmp(first, "http/1.1", 8));
    EXPECT_TRUE(!tls_hello_next_protocol(&p.hello, &at, &size));
}

TEST(pieces_make_no_difference)
{
    for (size_t piece = 1; piece < 40; piece++) {
        ASSERT_EQ(take(hello_tls13, sizeof(hello_tls13), piece), TLS_HELLO_DONE);
        EXPECT_EQ(taken_total, sizeof(hello_tls13));
        EXPECT_STR(p.hello.server_name, "api.good.test");
    }
}

TEST(what_follows_is_not_taken)
{
    in_records(1);
    memcpy(input.data, hello_tls13, sizeof(hello_tls13));
    memset(input.data + sizeof(hello_tls13), 0x17, 100);
    ASSERT_EQ(take(input.data, sizeof(hello_tls13) + 100, SIZE_MAX), TLS_HELLO_DONE);
    EXPECT_EQ(taken_total, sizeof(hello_tls13));
    size_t taken = 9;
    EXPECT_EQ(tls_hello_take(&p, input.data, 10, &taken), TLS_HELLO_DONE);
    EXPECT_EQ(taken, 0);
}

/* C14. A key share as large as post-quantum ones are, or larger, and the name behind it. */
TEST(c14_large_hellos_over_records)
{
    static const uint8_t share[16000];
    static const size_t shares[] = {1216, 4096, 16000}, records[] = {1, 5, 63, 1400, 16384};
    for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
        begin();
        extension(51, share, shares[i]);
        server_name("api.good.test");
        complete();
        for (size_t k = 0; k < ARRAY_SIZE(records); k++) {
            in_records(records[k]);
            for (size_t piece = 1; piece <= 2000; piece = piece * 11 + 3) {
                ASSERT_EQ(take(input.data, input.size, piece), TLS_HELLO_DONE);
                EXPECT_STR(p.hello.server_name, "api.good.test");
                EXPECT_EQ(taken_total, input.size);
            }
        }
    }
}

TEST(c14_the_longest_hello_and_one_byte_more)
{
    static const uint8_t padding[TLS_HELLO_MAX_BYTES];
    begin();
    server_name("a.test");
    size_t room = TLS_HELLO_MAX_BYTES + 4 - message.size - 4;
    extension(21, padding, room);
    EXPECT_EQ(take_message(), TLS_HELLO_DONE);
    EXPECT_LE(p.message.capacity, 2 * (TLS_HELLO_MAX_BYTES + 4));
    begin();
    server_name("a.test");
    extension(21, padding, room + 1);
    complete();
    in_records(1000);
    EXPECT_EQ(take_input(), TLS_HELLO_MALFORMED);
    EXPECT_STR(p.wrong, "it is too long");
    EXPECT_EQ(taken_total, 9); /* known from its header: the rest is not waited for */
}

/* C13. */
TEST(c13_an_encrypted_hello_shows)
{
    static const uint8_t outer[] = {0, 0, 1, 0, 1, 7, 0, 2, 1, 2, 0, 3, 1, 2, 3};
    begin();
    extension(0xfe0d, outer, sizeof(outer));
    server_name("front.test");
    ASSERT_EQ(take_message(), TLS_HELLO_DONE);
    EXPECT_TRUE(p.hello.has_ech);
    EXPECT_STR(p.hello.server_name, "front.test");
    begin();
    extension(0xfe0d, "\1", 1);
    ASSERT_EQ(take_message(), TLS_HELLO_DONE);
    EXPECT_TRUE(p.hello.has_ech);
    for (size_t size = 0; size < sizeof(outer); size++) {
        begin();
        extension(0xfe0d, outer, size);
        expect_wrong("its encrypted hello is malformed");
    }
    begin();
    extension(0xfe0d, (uint8_t[]){0, 0, 1, 0, 1, 7, 0, 0, 0, 0}, 10); /* nothing is encrypted */
    expect_wrong("its encrypted hello is malformed");
    begin();
    extension(0xfe0d, "\1\0", 2);
    expect_wrong("an extension has bytes behind its end");
    begin();
    extension(0xfe0d, "\2", 1);
    expect_wrong("its encrypted hello is malformed");
}

/* C16. */
TEST(c16_old_versions_are_told)
{
    static const struct {
        uint16_t legacy;
        const char *list;
        uint16_t version;
    } cases[] = {
        {0x0300, NULL, 0x0300},
        {0x0301, NULL, 0x0301},
        {0x0302, NULL, 0x0302},
        {0x0304, NULL, 0x0303}, /* without the list there is no 1.3 */
        {0x0303, "\4\3\2\3\1", 0x0302},
        {0x0301, "\4\3\3\3\4", 0x0304},
        {0x0303, "\6\x7a\x7a\3\4\3\3", 0x0304}, /* GREASE */
        {0x0303, "\2\x7f\x1c", 0},              /* a draft alone */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        begin();
        set_number(&message, 4, 2, cases[i].legacy);
        if (cases[i].list)
            extension(43, cases[i].list, 1 + (size_t)cases[i].list[0]);
        ASSERT_EQ(take_message(), TLS_HELLO_DONE);
        EXPECT_EQ(p.hello.version, cases[i].version);
    }
}

TEST(c16_hellos_of_ssl_2)
{
    static const uint8_t v2[] = {0x80, 0x2e, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10};
    static const uint8_t v2_to_tls[] = {0x80, 0x2e, 1, 3, 1, 0, 0x15, 0, 0, 0, 0x10};
    for (size_t piece = 1; piece < sizeof(v2); piece++) {
        EXPECT_EQ(take(v2, sizeof(v2), piece), TLS_HELLO_MALFORMED);
        EXPECT_STR(p.wrong, "it is a hello of SSL 2");
        EXPECT_EQ(take(v2_to_tls, sizeof(v2_to_tls), piece), TLS_HELLO_MALFORMED);
        EXPECT_EQ(taken_total, 5);
    }
}

/* C28 to C30. */
TEST(c29_other_protocols_are_known_by_their_first_byte)
{
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {"GET / HTTP/1.1\r\n", 16},
        {"SSH-2.0-OpenSSH_9.2\r\n", 21},
        {"EHLO me\r\n", 9},
        {"\0\0\0\x08\x04\xd2\x16\x2f", 8}, /* SSLRequest of PostgreSQL */
        {"\5\1\0", 3},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        EXPECT_EQ(take(cases[i].bytes, cases[i].size, SIZE_MAX), TLS_HELLO_NOT_TLS);
        EXPECT_EQ(taken_total, 1);
    }
    EXPECT_EQ(take("\x80\1\2", 3, 1), TLS_HELLO_NOT_TLS);
    EXPECT_EQ(take("\x80\1\1\1", 4, 1), TLS_HELLO_NOT_TLS);
    EXPECT_EQ(take("\x80\1\1\0\3", 5, 1), TLS_HELLO_NOT_TLS);
    EXPECT_EQ(take("\x80\1\1", 3, 1), TLS_HELLO_MORE);
    EXPECT_EQ(take("\x15\4", 2, 1), TLS_HELLO_NOT_TLS);
    EXPECT_EQ(take("\x13\3\3", 3, 1), TLS_HELLO_NOT_TLS);
}

/* TLS, but no beginning of it; a server may go on to the hello. */
TEST(A10_C13_what_stands_before_a_hello_does_not_hide_it)
{
    static const char *const records[] = {"\x15\3\1\0\2\1\x64", "\x14\3\3\0\1\1", "\x17\3\3\0\1",
                                          "\x18\3\3\0"};
    for (size_t i = 0; i < ARRAY_SIZE(records); i++)
        for (size_t piece = 1; piece < 3; piece++) {
            EXPECT_EQ(take(records[i], 1, piece), TLS_HELLO_MORE);
            EXPECT_EQ(take(records[i], 4, piece), TLS_HELLO_MALFORMED);
        }
}

TEST(records_that_are_wrong)
{
    static const struct {
        const char *bytes, *words;
    } cases[] = {
        {"\x16\2\1\0\5", "a record's version is none of TLS"},
        {"\x16\3\1\0\0", "a record is empty or too long"},
        {"\x16\3\1\x40\1", "a record is empty or too long"},
        {"\x16\3\1\0\4\2\0\0\0", "the first message is not a client's hello"},
        {"\x16\3\1\0\1\1\x17\3\1\0\1", "a record of another type is within it"},
        {"\x16\3\1\0\1\1\x80\3\1\0\1\1\1\1", "a record of another type is within it"},
        {"\x16\3\1\0\1\1\x16\3\1\0\0", "a record is empty or too long"},
    };
    static const size_t sizes[] = {5, 5, 5, 9, 11, 14, 11};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        EXPECT_EQ(take(cases[i].bytes, sizes[i], SIZE_MAX), TLS_HELLO_MALFORMED);
        EXPECT_STR(p.wrong ? p.wrong : "", cases[i].words);
        size_t taken = taken_total;
        EXPECT_EQ(take(cases[i].bytes, sizes[i], 1), TLS_HELLO_MALFORMED);
        EXPECT_EQ(taken, taken_total);
    }
}

TEST(another_message_in_the_last_record)
{
    begin();
    complete();
    put_number(&message, 4, 0x14000000);
    in_records(TLS_RECORD_MAX_BYTES);
    EXPECT_EQ(take_input(), TLS_HELLO_MALFORMED);
    EXPECT_STR(p.wrong, "its last record goes on behind it");
}

/* Each length of a real hello, one more and one less than it is. */
TEST(lengths_are_met_exactly)
{
    static uint8_t bytes[sizeof(hello_tls12)];
    /* of the record, the message, session, suites, compression, extensions, name's list, name */
    static const size_t places[] = {4, 8, 43, 45, 76, 79, 83, 85, 88};
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        for (int by = -1; by <= 1; by += 2) {
            memcpy(bytes, hello_tls12, sizeof(bytes));
            bytes[places[i]] = (uint8_t)(bytes[places[i]] + by);
            if (take(bytes, sizeof(bytes), SIZE_MAX) == TLS_HELLO_DONE)
                harness_fail(__FILE__, __LINE__, "byte %zu %+d", places[i], by);
        }
    }
}

TEST(a_hello_that_is_cut_is_none)
{
    begin();
    server_name("a.test");
    complete();
    size_t whole = message.size;
    for (size_t size = 5; size < whole; size++) {
        message.size = size;
        set_number(&message, 1, 3, size - 4);
        in_records(TLS_RECORD_MAX_BYTES);
        /* Without any extensions it may end. */
        EXPECT_EQ(take_input(), size == extensions_at ? TLS_HELLO_DONE : TLS_HELLO_MALFORMED);
    }
}

/* The fixed part: places are those of begin(). */
TEST(heads_that_are_wrong)
{
    static const struct {
        size_t at, size;
        uint64_t n;
        const char *words;
    } cases[] = {
        {4, 2, 0x0203, "its version is none of TLS"},
        {4, 2, 0x0403, "its version is none of TLS"},
        {38, 1, 33, "its session is malformed"},
        {39, 2, 0, "its list of cipher suites is malformed"},
        {39, 2, 3, "its list of cipher suites is malformed"},
        {43, 1, 0, "its list of compression methods is malformed"},
    };
    static const uint8_t padding[64];
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        begin();
        extension(21, padding, sizeof(padding));
        set_number(&message, cases[i].at, cases[i].size, cases[i].n);
        expect_wrong(cases[i].words);
    }
    begin();
    server_name("a.test");
    complete();
    put_number(&message, 1, 0);
    set_number(&message, 1, 3, message.size - 4);
    in_records(TLS_RECORD_MAX_BYTES);
    EXPECT_EQ(take_input(), TLS_HELLO_MALFORMED);
    EXPECT_STR(p.wrong, "its extensions don't end where it does");
}

TEST(names_that_are_wrong)
{
    static const char one[] = "its server name is not one host name";
    static const char bytes[] = "its server name has bytes that no host name has";
    static const char size[] = "its server name is empty, too long or has a NUL in it";
    static const struct {
        const char *body;
        size_t size;
        const char *words;
    } cases[] = {
        {"", 0, one},
        {"\0\0", 2, one},
        {"\0\4\0\0\1a\0\0\0\0", 10, "an extension has bytes behind its end"},
        {"\0\4\1\0\1a", 6, one},           /* another kind of name */
        {"\0\x08\0\0\1a\0\0\1b", 10, one}, /* two */
        {"\0\5\0\0\1aa", 7, one},
        {"\0\3\0\0\0", 5, size},
        {"\0\6\0\0\3a\0b", 8, size},
        {"\0\6\0\0\3a b", 8, bytes},
        {"\0\6\0\0\3a\xc3\xa4", 8, bytes},
        {"\0\6\0\0\3a:1", 8, bytes},
        {"\0\6\0\0\3a%b", 8, bytes},
        {"\0\4\0\0\1*", 6, bytes},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        begin();
        extension(0, cases[i].body, cases[i].size);
        expect_wrong(cases[i].words);
    }
    char name[258];
    memset(name, 'a', 257);
    name[256] = '\0';
    begin();
    server_name(name);
    expect_wrong(size);
    name[255] = '\0';
    begin();
    server_name(name);
    EXPECT_EQ(take_message(), TLS_HELLO_DONE);
    EXPECT_STR(p.hello.server_name, name);
}

TEST(addresses_are_told_apart)
{
    static const char *const addresses[] = {"192.0.2.7", "2001:db8::1", "::", "[2001:db8::1]",
                                            "::ffff:192.0.2.7"};
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        begin();
        server_name(addresses[i]);
        ASSERT_EQ(take_message(), TLS_HELLO_DONE);
        EXPECT_EQ(p.hello.name_kind, TLS_NAME_ADDRESS);
        EXPECT_STR(p.hello.server_name, addresses[i]);
    }
    begin();
    server_name("192.0.2.7.test");
    ASSERT_EQ(take_message(), TLS_HELLO_DONE);
    EXPECT_EQ(p.hello.name_kind, TLS_NAME_HOST);
}

TEST(lists_that_are_wrong)
{
    static const char protocols[] = "its list of application protocols is malformed";
    static const char versions[] = "its list of versions is malformed";
    static const char behind[] = "an extension has bytes behind its end";
    static const struct {
        unsigned type;
        const char *body;
        size_t size;
        const char *words;
    } cases[] = {
        {16, "", 0, protocols},        {16, "\0\0", 2, protocols},
        {16, "\0\1\0", 3, protocols}, /* an empty protocol */
        {16, "\0\3\2h", 4, protocols}, {16, "\0\3\3h2", 5, protocols},
        {16, "\0\3\2h2x", 6, behind},  {43, "", 0, versions},
        {43, "\0", 1, versions},       {43, "\1\3", 2, versions},
        {43, "\3\3\4\3", 4, versions}, {43, "\2\3\4\0", 4, behind},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        begin();
        extension(cases[i].type, cases[i].body, cases[i].size);
        expect_wrong(cases[i].words);
    }
}

TEST(an_extension_twice)
{
    begin();
    server_name("api.good.test");
    server_name("api.evil.test");
    expect_wrong("it has an extension twice");
    begin();
    extension(0xffff, "", 0);
    extension(0xffff, "", 0);
    expect_wrong("it has an extension twice");
}
