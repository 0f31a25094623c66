// SPDX-License-Identifier: Apache-2.0
/*
 * Keys as ssh-keygen(1) and openssl(1) write them.
 */
#include "lib/ssh/agent.h"
#include "lib/ssh/key.h"
#include "tests/harness/harness.h"

#include <stdarg.h>

static char text[16384];

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void run(const char *format, ...)
{
    char command[512];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    if (system("command -v ssh-keygen openssl >/dev/null") != 0)
        SKIP("needs ssh-keygen and openssl");
    ASSERT_EQ(system(command), 0);
}

static size_t read_file(const char *name)
{
    FILE *f = fopen(name, "r");
    ASSERT_TRUE(f);
    size_t size = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[size] = '\0';
    return size;
}

/* Of the file "key"; NULL with the reason. */
static struct ssh_key *load(const char **ret_why)
{
    size_t size = read_file("key");
    /* As secrets come: without the newline at the end. */
    return ssh_key_read(text, size - 1, ret_why);
}

static struct ssh_bytes bytes_of(const char *s)
{
    return (struct ssh_bytes){(const uint8_t *)s, strlen(s)};
}

static void expect_public(const struct ssh_key *k)
{
    uint8_t blob[SSH_BLOB_MAX];
    const char *why;
    size_t size = read_file("key.pub");
    size_t n = ssh_public_key_read(text, size - 1, blob, NULL, &why);
    ASSERT_TRUE(n > 0);
    EXPECT_TRUE(ssh_is_same(ssh_key_blob(k), (struct ssh_bytes){blob, n}));
}

static void expect_signs(const struct ssh_key *k, uint32_t flags, const char *algorithm)
{
    struct buf b = BUF_INIT(65536);
    const char *name = ssh_key_algorithm(k, flags);
    ASSERT_TRUE(name);
    EXPECT_STR(name, algorithm);
    ASSERT_EQ(ssh_key_sign(k, name, bytes_of("data"), &b), 0);
    struct ssh_bytes signature = {(const uint8_t *)b.data, b.size};
    EXPECT_TRUE(ssh_verify(ssh_key_blob(k), signature, bytes_of("data")));
    EXPECT_TRUE(!ssh_verify(ssh_key_blob(k), signature, bytes_of("datb")));
    for (size_t i = 0; i < b.size; i += 7) {
        b.data[i] ^= 1;
        EXPECT_TRUE(!ssh_verify(ssh_key_blob(k), signature, bytes_of("data")));
        b.data[i] ^= 1;
    }
    for (size_t size = 0; size < b.size; size++)
        EXPECT_TRUE(!ssh_verify(ssh_key_blob(k), (struct ssh_bytes){signature.data, size},
                                bytes_of("data")));
    buf_done(&b);
}

static void check(const char *arguments, const char *algorithm)
{
    const char *why = "";
    run("rm -f key key.pub; ssh-keygen -q -N '' -C me %s -f key", arguments);
    struct ssh_key *k = load(&why);
    if (!k)
        harness_fail(__FILE__, __LINE__, "%s: %s", arguments, why);
    ASSERT_TRUE(k);
    expect_public(k);
    if (algorithm) {
        expect_signs(k, 0, algorithm);
        EXPECT_TRUE(!ssh_key_algorithm(k, SSH_AGENT_RSA_SHA2_256));
    } else {
        expect_signs(k, SSH_AGENT_RSA_SHA2_256, "rsa-sha2-256");
        expect_signs(k, SSH_AGENT_RSA_SHA2_512, "rsa-sha2-512");
        EXPECT_TRUE(!ssh_key_algorithm(k, 0)); /* SHA-1 */
        EXPECT_TRUE(!ssh_key_algorithm(k, 6));
    }
    ssh_key_free(k);
}

TEST(keys_of_openssh)
{
    check("-t ed25519", "ssh-ed25519");
    check("-t ecdsa -b 256", "ecdsa-sha2-nistp256");
    check("-t ecdsa -b 384", "ecdsa-sha2-nistp384");
    check("-t ecdsa -b 521", "ecdsa-sha2-nistp521");
    check("-t rsa -b 2048", NULL);
}

TEST(keys_in_pem)
{
    check("-t rsa -b 3072 -m PEM", NULL);
    check("-t rsa -b 2048 -m PKCS8", NULL);
    check("-t ecdsa -b 256 -m PEM", "ecdsa-sha2-nistp256");
    check("-t ecdsa -b 521 -m PKCS8", "ecdsa-sha2-nistp521");
    run("openssl genpkey -algorithm ED25519 -out key 2>/dev/null");
    const char *why = "";
    struct ssh_key *k = load(&why);
    ASSERT_TRUE(k);
    expect_signs(k, 0, "ssh-ed25519");
    ssh_key_free(k);
}

static void expect_refused(const char *words)
{
    const char *why = NULL;
    struct ssh_key *k = load(&why);
    EXPECT_TRUE(!k);
    ssh_key_free(k);
    if (!why || !strstr(why, words) || !strstr(why, "; "))
        harness_fail(__FILE__, __LINE__, "'%s' does not say '%s'", why ? why : "", words);
}

TEST(keys_with_a_passphrase)
{
    run("ssh-keygen -q -N secret -t ed25519 -f key");
    expect_refused("it has a passphrase");
    run("rm -f key; ssh-keygen -q -N secret -t rsa -b 2048 -m PEM -f key");
    expect_refused("it has a passphrase");
    run("rm -f key; ssh-keygen -q -N secret -t ecdsa -m PKCS8 -f key");
    expect_refused("it has a passphrase");
}

TEST(keys_that_can_t_be_used)
{
    run("ssh-keygen -q -N '' -t rsa -b 1024 -f key");
    expect_refused("2048 to 8192 bits");
    run("openssl genpkey -algorithm X25519 -out key 2>/dev/null");
    expect_refused("can't be used");
    run("openssl ecparam -name secp256k1 -genkey -noout -out key 2>/dev/null");
    expect_refused("can't be used");
    run("rm key; ssh-keygen -q -N '' -t ed25519 -f key; cp key.pub key");
    expect_refused("no private key");
    run("echo a password >key");
    expect_refused("no private key");
}

/* Any one digit of the file changed: another key, if any at all, but never half of one. */
TEST(keys_that_are_damaged)
{
    const char *why = "";
    run("ssh-keygen -q -N '' -C '' -t ed25519 -f key");
    size_t size = read_file("key") - 1, begin = strlen("-----BEGIN OPENSSH PRIVATE KEY-----\n");
    size_t end = (size_t)(strstr(text, "\n-----END") - text), taken = 0;
    for (size_t i = begin; i < end; i++) {
        char was = text[i];
        text[i] = was == 'A' ? 'B' : 'A';
        struct ssh_key *k = ssh_key_read(text, size, &why);
        taken += k != NULL;
        ssh_key_free(k);
        text[i] = was;
    }
    EXPECT_EQ(taken, 0);
    for (size_t i = 0; i < size; i += 13) {
        struct ssh_key *k = ssh_key_read(text, i, &why);
        EXPECT_TRUE(!k);
        ssh_key_free(k);
    }
}
