// SPDX-License-Identifier: Apache-2.0
/* Java's stores of roots with one certificate more, and the checksum that one kind of them has. */
#include "kernel/fs/image/keystore.h"
#include "lib/base/sha1.h"
#include "tests/harness/harness.h"

#include <stdio.h>

#define CERTIFICATE "-----BEGIN CERTIFICATE-----\nT3Vy\ncw==\n-----END CERTIFICATE-----\n"
#define EMPTY_JKS   "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\0"
#define ENTRY       "\0\0\0\2\0\x0bglovebox-ca\0\0\0\0\0\0\0\0\0\5X.509\0\0\0\4Ours"
#define KEY         "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite"

/* No bags in it. */
#define EMPTY_PKCS12                                                   \
    "\x30\x18\x02\x01\x03\x30\x13\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01" \
    "\x07\x01\xa0\x06\x04\x04\x30\x02\x30\x00"
/* A ContentInfo with a bag with "Ours" and its attributes. */
#define BAG                                                                            \
    "\x30\x79\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01\xa0\x6c\x04\x6a\x30\x68"     \
    "\x30\x66\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01\x03"                     \
    "\xa0\x16\x30\x14\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x09\x16\x01\xa0\x06\x04\x04" \
    "Ours"                                                                             \
    "\x31\x3f\x30\x16\x06\x0c\x60\x86\x48\x01\x86\xf9\x66\xad\xca\x7b\x01\x01"         \
    "\x31\x06\x06\x04\x55\x1d\x25\x00"                                                 \
    "\x30\x25\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x14\x31\x18\x1e\x16"             \
    "\0g\0l\0o\0v\0e\0b\0o\0x\0-\0c\0a"
#define PKCS12_WITH_ONE                                                                        \
    "\x30\x81\x95\x02\x01\x03\x30\x81\x8f\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01\xa0\x81" \
    "\x81\x04\x7f\x30\x7d\x30\x00" BAG

static const char *digest_of(const char *text, size_t times)
{
    static char hex[2 * SHA1_BYTES + 1];
    uint8_t digest[SHA1_BYTES];
    struct sha1 s;
    sha1_init(&s);
    for (size_t i = 0; i < times; i++)
        sha1_add(&s, text, strlen(text));
    sha1_finish(&s, digest);
    for (size_t i = 0; i < SHA1_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    return hex;
}

/* RFC 3174, 7.3. */
TEST(sha1_of_known_texts)
{
    EXPECT_STR(digest_of("abc", 1), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_STR(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1),
               "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    EXPECT_STR(digest_of("a", 1000000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    EXPECT_STR(digest_of("0123456701234567012345670123456701234567012345670123456701234567", 10),
               "dea356a2cddd90c7a7ecedc5ebb563934f460452");
    EXPECT_STR(digest_of("", 1), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

static void close_jks(struct buf *b)
{
    uint8_t digest[SHA1_BYTES];
    struct sha1 s;
    sha1_init(&s);
    sha1_add(&s, KEY, sizeof(KEY) - 1);
    sha1_add(&s, b->data, b->size);
    sha1_finish(&s, digest);
    buf_append(b, digest, sizeof(digest));
}

static struct buf empty_jks(void)
{
    struct buf b = BUF_INIT(4096);
    buf_append(&b, EMPTY_JKS, sizeof(EMPTY_JKS) - 1);
    close_jks(&b);
    return b;
}

static struct buf added(const struct buf *store)
{
    struct buf b = BUF_INIT(8192);
    EXPECT_EQ(keystore_add(store->data, store->size, CERTIFICATE, &b), 0);
    return b;
}

TEST(jks)
{
    struct buf store = empty_jks(), expected = BUF_INIT(4096);
    struct buf one = added(&store), two = added(&one);
    buf_append(&expected, "\xfe\xed\xfe\xed\0\0\0\2\0\0\0\2", 12);
    buf_append(&expected, ENTRY, sizeof(ENTRY) - 1);
    buf_append(&expected, ENTRY, sizeof(ENTRY) - 1);
    close_jks(&expected);
    ASSERT_EQ(two.size, expected.size);
    EXPECT_EQ(memcmp(two.data, expected.data, expected.size), 0);
    buf_done(&store);
    buf_done(&one);
    buf_done(&two);
    buf_done(&expected);
}

TEST(jks_with_another_password)
{
    struct buf store = empty_jks(), b = BUF_INIT(4096);
    store.data[store.size - 1] ^= 1;
    EXPECT_EQ(keystore_add(store.data, store.size, CERTIFICATE, &b), -EINVAL);
    buf_done(&store);
    buf_done(&b);
}

TEST(pkcs12)
{
    static char empty[] = EMPTY_PKCS12;
    struct buf store = {.data = empty, .size = sizeof(empty) - 1};
    struct buf one = added(&store), two = added(&one);
    ASSERT_EQ(one.size, sizeof(PKCS12_WITH_ONE) - 1);
    EXPECT_EQ(memcmp(one.data, PKCS12_WITH_ONE, one.size), 0);
    ASSERT_GT(two.size, one.size + sizeof(BAG) - 1);
    EXPECT_EQ(memcmp(two.data + two.size - (sizeof(BAG) - 1), BAG, sizeof(BAG) - 1), 0);
    buf_done(&one);
    buf_done(&two);
}

/* A checksum behind the bags would not hold any more. */
TEST(pkcs12_with_a_checksum)
{
    static const char closed[] = "\x30\x1a\x02\x01\x03\x30\x13\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01"
                                 "\x07\x01\xa0\x06\x04\x04\x30\x02\x30\x00\x30\x00";
    struct buf b = BUF_INIT(4096);
    EXPECT_EQ(keystore_add(closed, sizeof(closed) - 1, CERTIFICATE, &b), -EINVAL);
    buf_done(&b);
}

/* Each is read from a block of its size, whose end the sanitizer guards. */
TEST(what_is_cut_or_changed)
{
    static const char whole[] = PKCS12_WITH_ONE;
    for (size_t size = 0; size < sizeof(whole) - 1; size++) {
        char *part = malloc(size + 1);
        memcpy(part + 1, whole, size);
        struct buf b = BUF_INIT(4096);
        EXPECT_EQ(keystore_add(part + 1, size, CERTIFICATE, &b), -EINVAL);
        buf_done(&b);
        free(part);
    }
    /* Up to where the bags begin each byte counts. */
    for (size_t at = 0; at < sizeof(PKCS12_WITH_ONE) - sizeof(BAG) - 2; at++) {
        char *changed = malloc(sizeof(whole) - 1);
        memcpy(changed, whole, sizeof(whole) - 1);
        changed[at] ^= 0x04;
        struct buf b = BUF_INIT(4096);
        EXPECT_EQ(keystore_add(changed, sizeof(whole) - 1, CERTIFICATE, &b), -EINVAL);
        buf_done(&b);
        free(changed);
    }
}

TEST(no_room)
{
    struct buf store = empty_jks(), b = BUF_INIT(40);
    EXPECT_EQ(keystore_add(store.data, store.size, CERTIFICATE, &b), -E2BIG);
    buf_done(&store);
    buf_done(&b);
}
