// SPDX-License-Identifier: Apache-2.0
/* PostgreSQL's first messages, and the client's side of its logins. */
#include "lib/postgres/auth.h"
#include "tests/harness/harness.h"

#define BYTES(text)          text, sizeof(text) - 1
#define STARTUP(size, words) "\0\0\0" size "\0\3\0\0" words "\0"

static struct postgres_packet packet;
static const char *why;

static int parse(const char *data, size_t size)
{
    why = "";
    return postgres_packet_parse(data, size, &packet, &why);
}

static void expect_refused(const char *data, size_t size, const char *words)
{
    EXPECT_EQ(parse(data, size), -EPROTO);
    EXPECT_TRUE(strstr(why, words));
}

TEST(a_startup_packet_in_any_pieces)
{
    static const char text[] = STARTUP("\x1e", "user\0app\0database\0db\0");
    struct buf out = BUF_INIT(100);
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        EXPECT_EQ(parse(text, i), 0);
    EXPECT_EQ(parse(text, sizeof(text) - 1), 1);
    EXPECT_EQ(packet.kind, POSTGRES_STARTUP);
    EXPECT_EQ(packet.size, sizeof(text) - 1);
    EXPECT_STR(packet.user, "app");
    EXPECT_STR(packet.database, "db");
    EXPECT_TRUE(!packet.replication);
    EXPECT_EQ(postgres_write_startup(&out, &packet), 0);
    EXPECT_TRUE(out.size == packet.size && !memcmp(out.data, text, out.size));
    buf_done(&out);
    EXPECT_EQ(parse(BYTES(STARTUP("\x12", "user\0app\0"))), 1);
    EXPECT_STR(packet.database, "app");
}

TEST(startup_packets_that_are_none)
{
    expect_refused(BYTES("\0\0\0\7"), "a length");
    expect_refused(BYTES("\x7f\xff\xff\xff"), "a length");
    expect_refused(BYTES("\0\0\x27\x11"), "a length");
    expect_refused(BYTES("GET "), "a length");
    expect_refused(BYTES("\0\0\0\x09\0\2\0\0\0"), "version 3.0");
    expect_refused(BYTES("\0\0\0\x09\0\3\0\2\0"), "version 3.0");
    expect_refused(BYTES(STARTUP("\x09", "")), "no user");
    expect_refused(BYTES(STARTUP("\x0f", "user\0\0")), "no user");
    expect_refused(BYTES(STARTUP("\x1b", "user\0app\0user\0app\0")), "twice");
    expect_refused(BYTES(STARTUP("\x13", "user\0app\0\0")), "behind its end");
    expect_refused(BYTES("\0\0\0\x10\0\3\0\0user\0app"), "without a value");
    expect_refused(BYTES("\0\0\0\x0c\0\3\0\0user"), "no end");
    expect_refused(BYTES(STARTUP("\x19", "_pq_.x\0y\0user\0a\0")), "extensions");
    expect_refused(BYTES("\0\0\0\x09\x04\xd2\x16\x2f\0"), "wrong length");
    expect_refused(BYTES("\0\0\0\x0c\x04\xd2\x16\x2e\0\0\0\0"), "wrong length");
    EXPECT_EQ(parse(BYTES("\0\0\0\x08\x04\xd2\x16\x2f")), 1);
    EXPECT_EQ(packet.kind, POSTGRES_ASKS_TLS);
    EXPECT_EQ(parse(BYTES("\0\0\0\x08\x04\xd2\x16\x30")), 1);
    EXPECT_EQ(packet.kind, POSTGRES_ASKS_GSS);
    EXPECT_EQ(parse(BYTES("\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\1\0\0\0\2")), 1);
    EXPECT_EQ(packet.kind, POSTGRES_CANCEL);
}

TEST(more_parameters_than_anybody_has)
{
    struct buf b = BUF_INIT(POSTGRES_PACKET_MAX_BYTES);
    buf_append(&b, "\0\0\0\0\0\3\0\0", 8);
    for (int i = 0; i < POSTGRES_PARAMETERS_MAX + 1; i++) {
        buf_printf(&b, "name%d", i);
        buf_append(&b, "\0v\0", 3);
    }
    buf_append(&b, "", 1);
    b.data[2] = (char)(b.size >> 8);
    b.data[3] = (char)b.size;
    expect_refused(b.data, b.size, "more than 64");
    buf_done(&b);
}

TEST(messages_of_a_server)
{
    struct postgres_message m;
    struct buf out = BUF_INIT(200);
    EXPECT_EQ(postgres_message_parse(BYTES("R\0\0\0\x08\0\0\0"), &m, &why), 0);
    EXPECT_EQ(postgres_message_parse(BYTES("R\0\0\0\x08\0\0\0\0Z"), &m, &why), 1);
    EXPECT_TRUE(m.type == 'R' && m.body_size == 4 && m.size == 9);
    EXPECT_EQ(postgres_message_parse(BYTES("R\0\0\0\3"), &m, &why), -EPROTO);
    EXPECT_EQ(postgres_message_parse(BYTES("HTTP/1.1"), &m, &why), -EPROTO);
    EXPECT_EQ(postgres_write_error(&out, "28000", "no\nmore"), 0);
    static const char error[] = "E\0\0\0\x1eSFATAL\0VFATAL\0C28000\0Mno\0";
    EXPECT_TRUE(out.size == sizeof(error) && !memcmp(out.data, error, sizeof(error)));
    buf_done(&out);
}

static const unsigned char random18[18] = {1, 2, 3};
static struct postgres_auth auth;
static struct buf out;

static void begin(bool is_verified)
{
    postgres_auth_begin(&auth, "app", is_verified, random18);
    buf_done(&out);
    out = BUF_INIT(4096);
}

static int take(const char *body, size_t size)
{
    why = "";
    buf_reset(&out);
    return postgres_auth_take(&auth, body, size, "pencil", 6, &out, &why);
}

#define SASL     \
    "\0\0\0\x0a" \
    "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0"
#define NONCE "AQIDAAAAAAAAAAAAAAAAAAAA"
#define SALT  "W22ZaJ0SNY7soEsUEjb6gQ=="
#define FIRST(nonce, salt, count) \
    "\0\0\0\x0b"                  \
    "r=" nonce ",s=" salt ",i=" count

#define PROOF     "PZ6q/9Q7GiarKoZHeTIVSvSxIQ1bsj04YnYMbtFhduI="
#define SIGNATURE "v3bamQnpTxx6u7sD0/Qyrw3MtYZWYfYE1Z2Yvv6EZ1I="
#define MD5       "md52afb5b311168c70c7e1783b3f1da0ac3"

/* The numbers are those of Python's hashlib and hmac. */
TEST(scram_as_others_calculate_it)
{
    begin(false);
    EXPECT_EQ(take(BYTES(SASL)), 0);
    static const char first[] = "p\0\0\0\x36SCRAM-SHA-256\0\0\0\0\x20n,,n=,r=" NONCE;
    EXPECT_TRUE(out.size == sizeof(first) - 1 && !memcmp(out.data, first, out.size));
    EXPECT_EQ(take(BYTES(FIRST(NONCE "srv", SALT, "4096"))), 0);
    EXPECT_STR(out.data + 5, "c=biws,r=" NONCE "srv,p=" PROOF);
    EXPECT_EQ(take(BYTES("\0\0\0\x0cv=" SIGNATURE)), 0);
    EXPECT_EQ(take(BYTES("\0\0\0\0")), 1);
    postgres_auth_end(&auth);
}

static void expect_first_refused(const char *message, size_t size, const char *words)
{
    begin(true);
    EXPECT_EQ(take(BYTES(SASL)), 0);
    EXPECT_EQ(take(message, size), -EPROTO);
    EXPECT_TRUE(strstr(why, words));
    EXPECT_EQ(out.size, 0);
}

TEST(what_a_server_may_not_say)
{
    expect_first_refused(BYTES(FIRST(NONCE, SALT, "4096")), "answers another");
    expect_first_refused(BYTES(FIRST("xQIDAAAAAAAAAAAAAAAAAAAAsrv", SALT, "4096")), "another one");
    expect_first_refused(BYTES(FIRST(NONCE "s", SALT, "2147483648")), "100000 iterations");
    expect_first_refused(BYTES(FIRST(NONCE "s", SALT, "99999999999999999999")), "100000");
    expect_first_refused(BYTES(FIRST(NONCE "s", SALT, "4095")), "less than 4096");
    expect_first_refused(BYTES(FIRST(NONCE "s", SALT, "-1")), "can't be read");
    expect_first_refused(BYTES(FIRST(NONCE "s", SALT, "")), "can't be read");
    expect_first_refused(BYTES(FIRST(NONCE "s", SALT, "4096,x=1")), "can't be read");
    expect_first_refused(BYTES(FIRST(NONCE "s", "", "4096")), "can't be read");
    expect_first_refused(BYTES(FIRST(NONCE "s", "a=b=", "4096")), "can't be read");
    expect_first_refused(BYTES(FIRST(NONCE "s", "a===", "4096")), "can't be read");
    expect_first_refused(BYTES("\0\0\0\x0bm=x,r=" NONCE "s,s=" SALT ",i=4096"), "can't be read");
    expect_first_refused(BYTES(SASL), "twice");
    expect_first_refused(BYTES("\0\0\0\3"), "twice");
    expect_first_refused(BYTES("\0\0\0\5salt"), "twice");
    expect_first_refused(BYTES("\0\0\0\0"), "without showing");
    expect_first_refused(BYTES("\0\0\0\x0cv=" SIGNATURE), "not begun");
}

TEST(a_server_has_to_know_the_password)
{
    begin(true);
    EXPECT_EQ(take(BYTES(SASL)), 0);
    EXPECT_EQ(take(BYTES(FIRST(NONCE "srv", SALT, "4096"))), 0);
    EXPECT_EQ(take(BYTES("\0\0\0\0")), -EPROTO);
    EXPECT_EQ(take(BYTES("\0\0\0\x0c"
                         "e=other-error")),
              -EPROTO);
    EXPECT_EQ(take(BYTES("\0\0\0\x0cv=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")), -EPROTO);
    EXPECT_TRUE(strstr(why, "does not know"));
    EXPECT_EQ(take(BYTES("\0\0\0\0")), -EPROTO);
}

TEST(the_password_itself_only_to_a_server_that_is_verified)
{
    static const char *const open[] = {"\0\0\0\3", "\0\0\0\5salt"};
    for (size_t i = 0; i < ARRAY_SIZE(open); i++) {
        begin(false);
        EXPECT_EQ(take(open[i], i ? 8 : 4), -EPROTO);
        EXPECT_TRUE(out.size == 0 && strstr(why, "over TLS"));
        begin(true);
        EXPECT_EQ(take(open[i], i ? 8 : 4), 0);
        EXPECT_EQ(take(open[i], i ? 8 : 4), -EPROTO);
        EXPECT_EQ(take(BYTES("\0\0\0\0")), 1);
    }
    begin(true);
    EXPECT_EQ(take(BYTES("\0\0\0\3")), 0);
    EXPECT_TRUE(out.size == 12 && !memcmp(out.data, "p\0\0\0\x0bpencil", 12));
    begin(true);
    EXPECT_EQ(take(BYTES("\0\0\0\5salt")), 0);
    EXPECT_STR(out.data + 5, MD5);
    begin(false);
    EXPECT_EQ(take(BYTES("\0\0\0\0")), -EPROTO);
    begin(true);
    EXPECT_EQ(take(BYTES("\0\0\0\7")), -EPROTO);
    EXPECT_EQ(take(BYTES("\0\0\0\x0aSCRAM-SHA-1\0\0")), -EPROTO);
    EXPECT_EQ(take(BYTES("\0\0\0\3x")), -EPROTO);
    EXPECT_EQ(take(BYTES("\0\0\0\0x")), -EPROTO);
    EXPECT_EQ(take(BYTES("\0\0\0\x0aSCRAM-SHA-256")), -EPROTO);
    EXPECT_EQ(take(BYTES("\0\0")), -EPROTO);
    buf_done(&out);
}
