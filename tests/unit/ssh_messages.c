// SPDX-License-Identifier: Apache-2.0
#include "lib/ssh/agent.h"
#include "lib/ssh/known_hosts.h"
#include "lib/ssh/public_key.h"
#include "tests/harness/harness.h"

#define ED25519_TEXT \
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDx5RTl0Dt3GFpT1zb2zLGFv0xQv2P9T8oLQ8mVgq1Zs"

static struct buf b;

static void begin(uint8_t type)
{
    b = BUF_INIT(65536);
    ssh_put_byte(&b, type);
}

static bool parse(struct ssh_agent_message *ret)
{
    return ssh_agent_parse(b.data, b.size, ret);
}

/* That what was parsed is only that, with all of its bytes. */
static void expect_exact(void)
{
    struct ssh_agent_message m;
    for (size_t size = 0; size < b.size; size++)
        EXPECT_TRUE(!ssh_agent_parse(b.data, size, &m));
    ssh_put_byte(&b, 0);
    EXPECT_TRUE(!parse(&m));
    buf_done(&b);
}

TEST(identities_are_asked_for_by_one_byte)
{
    struct ssh_agent_message m;
    begin(11);
    ASSERT_TRUE(parse(&m));
    EXPECT_EQ(m.request, SSH_ASK_IDENTITIES);
    expect_exact();
}

TEST(a_request_to_sign)
{
    struct ssh_agent_message m;
    begin(13);
    ssh_put_text(&b, "key");
    ssh_put_text(&b, "data");
    ssh_put_u32(&b, 4);
    ASSERT_TRUE(parse(&m));
    EXPECT_EQ(m.request, SSH_ASK_SIGN);
    EXPECT_TRUE(ssh_is_text(m.key, "key"));
    EXPECT_TRUE(ssh_is_text(m.data, "data"));
    EXPECT_EQ(m.flags, 4);
    expect_exact();
}

TEST(a_bind)
{
    struct ssh_agent_message m;
    begin(27);
    ssh_put_text(&b, "session-bind@openssh.com");
    ssh_put_text(&b, "host key");
    ssh_put_text(&b, "session");
    ssh_put_text(&b, "signature");
    ssh_put_byte(&b, 1);
    ASSERT_TRUE(parse(&m));
    EXPECT_EQ(m.request, SSH_ASK_BIND);
    EXPECT_TRUE(ssh_is_text(m.host_key, "host key"));
    EXPECT_TRUE(ssh_is_text(m.session, "session"));
    EXPECT_TRUE(ssh_is_text(m.signature, "signature"));
    EXPECT_TRUE(m.is_forwarding);
    b.data[b.size - 1] = 2;
    EXPECT_TRUE(!parse(&m));
    b.data[b.size - 1] = 0;
    expect_exact();
}

TEST(other_requests_are_known_to_be_others)
{
    struct ssh_agent_message m;
    for (int type = 0; type < 256; type++) {
        if (type == 11 || type == 13 || type == 27)
            continue;
        begin((uint8_t)type);
        ssh_put_text(&b, "anything");
        ASSERT_TRUE(parse(&m));
        EXPECT_EQ(m.request, SSH_ASK_OTHER);
        buf_done(&b);
    }
    begin(27);
    ssh_put_text(&b, "restrict-destination-v00@openssh.com");
    ssh_put_text(&b, "anything");
    ASSERT_TRUE(parse(&m));
    EXPECT_EQ(m.request, SSH_ASK_OTHER);
    buf_done(&b);
    begin(27);
    ssh_put_text(&b, "query");
    ASSERT_TRUE(parse(&m));
    EXPECT_EQ(m.request, SSH_ASK_QUERY);
    expect_exact();
}

/* ---- a login ---- */

struct draft {
    const char *service, *method;
    uint8_t type, is_signed;
    bool has_host_key;
};

static bool parse_draft(const struct draft *d, struct ssh_login *ret)
{
    b = BUF_INIT(65536);
    ssh_put_text(&b, "session");
    ssh_put_byte(&b, d->type);
    ssh_put_text(&b, "git");
    ssh_put_text(&b, d->service);
    ssh_put_text(&b, d->method);
    ssh_put_byte(&b, d->is_signed);
    ssh_put_text(&b, "ssh-ed25519");
    ssh_put_text(&b, "key");
    if (d->has_host_key)
        ssh_put_text(&b, "host key");
    return ssh_login_parse((struct ssh_bytes){(const uint8_t *)b.data, b.size}, ret);
}

#define HOST_BOUND "publickey-hostbound-v00@openssh.com"

TEST(a_login_by_a_key)
{
    struct ssh_login l;
    for (int bound = 0; bound < 2; bound++) {
        const struct draft d = {"ssh-connection", bound ? HOST_BOUND : "publickey", 50, 1, bound};
        ASSERT_TRUE(parse_draft(&d, &l));
        EXPECT_TRUE(ssh_is_text(l.session, "session"));
        EXPECT_TRUE(ssh_is_text(l.user, "git"));
        EXPECT_TRUE(ssh_is_text(l.algorithm, "ssh-ed25519"));
        EXPECT_TRUE(ssh_is_text(l.key, "key"));
        EXPECT_EQ(l.is_host_bound, bound);
        EXPECT_EQ(ssh_is_text(l.host_key, "host key"), bound);
        for (size_t size = 0; size < b.size; size++)
            EXPECT_TRUE(!ssh_login_parse((struct ssh_bytes){(const uint8_t *)b.data, size}, &l));
        buf_done(&b);
    }
}

TEST(what_is_no_login_by_a_key)
{
    static const struct draft drafts[] = {
        {"ssh-userauth", "publickey", 50, 1, false},
        {"ssh-connection", "password", 50, 1, false},
        {"ssh-connection", "hostbased", 50, 1, false},
        {"ssh-connection", "publickey", 51, 1, false},
        {"ssh-connection", "publickey", 50, 0, false},
        {"ssh-connection", "publickey", 50, 2, false},
        {"ssh-connection", "publickey", 50, 1, true},
        {"ssh-connection", HOST_BOUND, 50, 1, false},
    };
    struct ssh_login l;
    for (size_t i = 0; i < ARRAY_SIZE(drafts); i++) {
        EXPECT_TRUE(!parse_draft(&drafts[i], &l));
        buf_done(&b);
    }
    /* What git signs of a commit, and an empty text. */
    static const char sshsig[] = "SSHSIG\0\0\0\3git\0\0\0\0\0\0\0\6sha512\0\0\0\0";
    EXPECT_TRUE(
        !ssh_login_parse((struct ssh_bytes){(const uint8_t *)sshsig, sizeof(sshsig) - 1}, &l));
    EXPECT_TRUE(!ssh_login_parse((struct ssh_bytes){NULL, 0}, &l));
}

/* ---- numbers and text ---- */

TEST(numbers_have_one_form)
{
    static const struct {
        uint8_t bytes[8];
        size_t size, expected; /* SIZE_MAX: none */
    } rows[] = {
        {{0, 0, 0, 0}, 4, 0},
        {{0, 0, 0, 1, 0x7f}, 5, 1},
        {{0, 0, 0, 2, 0, 0x80}, 6, 1},
        {{0, 0, 0, 1, 0x80}, 5, SIZE_MAX},
        {{0, 0, 0, 2, 0, 0x7f}, 6, SIZE_MAX},
        {{0, 0, 0, 1, 0}, 5, SIZE_MAX},
        {{0, 0, 0, 9, 1, 1}, 6, SIZE_MAX},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ssh_reader r = SSH_READER(rows[i].bytes, rows[i].size);
        struct ssh_bytes n = ssh_read_unsigned(&r);
        EXPECT_EQ(ssh_reader_is_done(&r), rows[i].expected != SIZE_MAX);
        if (!r.failed)
            EXPECT_EQ(n.size, rows[i].expected);
    }
}

TEST(base_64_has_one_form)
{
    uint8_t bytes[4];
    EXPECT_EQ(ssh_base64_decode("QUJD", 4, bytes, 4), 3);
    EXPECT_EQ(memcmp(bytes, "ABC", 3), 0);
    EXPECT_EQ(ssh_base64_decode("QUI=", 4, bytes, 4), 2);
    EXPECT_EQ(ssh_base64_decode("QQ==", 4, bytes, 4), 1);
    EXPECT_EQ(ssh_base64_decode("", 0, bytes, 4), 0);
    for (const char *const *bad =
             (const char *const[]){"QUJ", "Q===", "QUK=", "QR==", "QU D", "QQ=a", "QUJDQUJD", NULL};
         *bad; bad++)
        EXPECT_EQ(ssh_base64_decode(*bad, strlen(*bad), bytes, 4), -1);
}

TEST(public_keys_as_text)
{
    uint8_t blob[SSH_BLOB_MAX];
    const char *why = NULL;
    size_t text_size;
    const char *text = ED25519_TEXT " me@home";
    EXPECT_EQ(ssh_public_key_read(text, strlen(text), blob, &text_size, &why), 51);
    EXPECT_EQ(text_size, strlen(ED25519_TEXT));
    for (const char *const *bad =
             (const char *const[]){
                 "", "ssh-ed25519", "ssh-ed25519 ", "ssh-dss AAAA",
                 "ssh-rsa"
                 "AAAAC3NzaC1lZDI1NTE5",
                 "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIDx5RTl0Dt3GFpT1zb2zLGFv0xQv2P9T8oLQ8mVgq1Zs",
                 "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDx5RTl0Dt3GFpT1zb2zLGFv0xQv2P9T8oLQ8mVgq1Z",
                 NULL};
         *bad; bad++) {
        why = NULL;
        EXPECT_EQ(ssh_public_key_read(*bad, strlen(*bad), blob, NULL, &why), 0);
        EXPECT_TRUE(why && strstr(why, "; "));
    }
}

/* ---- known hosts ---- */

static size_t find(const char *file, const char *name)
{
    struct ssh_known_key keys[4];
    size_t count = ssh_known_hosts_find(file, strlen(file), name, keys, ARRAY_SIZE(keys));
    for (size_t i = 0; i < count; i++)
        EXPECT_TRUE(keys[i].size == strlen(ED25519_TEXT) &&
                    !memcmp(keys[i].text, ED25519_TEXT, keys[i].size));
    return count;
}

TEST(known_hosts_by_name)
{
    const char *file = "# a comment\n\nother.test,Git.test,192.0.2.1 " ED25519_TEXT " comment\r\n"
                       "[git.test]:2222 " ED25519_TEXT "\n*.test " ED25519_TEXT;
    char name[64];
    EXPECT_EQ(find(file, "git.test"), 1);
    EXPECT_EQ(find(file, "other.test"), 1);
    EXPECT_EQ(find(file, "it.test"), 0);
    EXPECT_EQ(find(file, "[git.test]:2223"), 0);
    ssh_known_host_name("git.test", 2222, name, sizeof(name));
    EXPECT_EQ(find(file, name), 1);
    ssh_known_host_name("git.test", 22, name, sizeof(name));
    EXPECT_STR(name, "git.test");
    EXPECT_EQ(find("git.test " ED25519_TEXT "\ngit.test " ED25519_TEXT, "git.test"), 1);
}

/* As ssh-keygen -H leaves it. */
TEST(known_hosts_by_hash)
{
    const char *file = "|1|AAECAwQFBgcICQoLDA0ODxAREhM=|PG9jsXF23+Yn4eyPxEx0UT4ZePg= " ED25519_TEXT;
    EXPECT_EQ(find(file, "git.test"), 1);
    EXPECT_EQ(find(file, "git.tesu"), 0);
}

TEST(known_hosts_that_are_not_pinned)
{
    EXPECT_EQ(find("@cert-authority git.test " ED25519_TEXT, "git.test"), 0);
    EXPECT_EQ(find("git.test " ED25519_TEXT "\n@revoked * " ED25519_TEXT, "git.test"), 0);
    EXPECT_EQ(find("git.test ssh-dss AAAA", "git.test"), 0);
    EXPECT_EQ(find("git.test", "git.test"), 0);
    EXPECT_EQ(find("git.test ", "git.test"), 0);
}
