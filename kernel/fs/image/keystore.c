// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/image/keystore.h"

#include "lib/base/sha1.h"
#include "lib/base/trust.h"

#define ALIAS "glovebox-ca"

static void write_number(struct buf *b, uint64_t value, unsigned bytes)
{
    while (bytes-- > 0) {
        uint8_t byte = (uint8_t)(value >> (8 * bytes));
        buf_append(b, &byte, 1);
    }
}

/* The certificate that PEM (RFC 7468) has between its two lines. */
static void write_der(struct buf *b, const char *pem)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    unsigned count = 0;
    for (pem += strcspn(pem, "\n"); *pem && *pem != '-'; pem++) {
        const char *digit = strchr(digits, *pem);
        if (!digit)
            continue;
        bits = bits << 6 | (uint32_t)(digit - digits);
        if (++count % 4 == 0)
            write_number(b, bits, 3);
    }
    if (count % 4 >= 2)
        write_number(b, bits >> (count % 4 == 2 ? 4 : 2), count % 4 - 1);
}

/* ---- JKS: sun.security.provider.JavaKeyStore of OpenJDK says what is in it ---- */

#define JKS_MAGIC   "\xfe\xed\xfe\xed\0\0\0\2" /* and the version */
#define JKS_HEADER  12                         /* these and the number of entries */
#define JKS_TRUSTED 2
#define JKS_KEY     "\0c\0h\0a\0n\0g\0e\0i\0tMighty Aphrodite" /* "changeit" */

static void jks_digest(const void *data, size_t size, uint8_t ret[SHA1_BYTES])
{
    struct sha1 s;
    sha1_init(&s);
    sha1_add(&s, JKS_KEY, sizeof(JKS_KEY) - 1);
    sha1_add(&s, data, size);
    sha1_finish(&s, ret);
}

static bool is_jks(const uint8_t *store, size_t size)
{
    uint8_t digest[SHA1_BYTES];
    if (size < JKS_HEADER + SHA1_BYTES || memcmp(store, JKS_MAGIC, sizeof(JKS_MAGIC) - 1) != 0)
        return false;
    jks_digest(store, size - SHA1_BYTES, digest);
    return memcmp(digest, store + size - SHA1_BYTES, SHA1_BYTES) == 0;
}

/* A string of DataOutput.writeUTF(). */
static void write_utf(struct buf *b, const char *text)
{
    write_number(b, strlen(text), 2);
    buf_append_str(b, text);
}

static void add_to_jks(const uint8_t *store, size_t size, const struct buf *der, struct buf *ret)
{
    uint8_t digest[SHA1_BYTES];
    uint32_t count =
        (uint32_t)store[8] << 24 | (uint32_t)store[9] << 16 | (uint32_t)store[10] << 8 | store[11];
    buf_append(ret, JKS_MAGIC, sizeof(JKS_MAGIC) - 1);
    write_number(ret, count + 1, 4);
    buf_append(ret, store + JKS_HEADER, size - JKS_HEADER - SHA1_BYTES);
    write_number(ret, JKS_TRUSTED, 4);
    write_utf(ret, ALIAS);
    write_number(ret, 0, 8); /* when it was added */
    write_utf(ret, "X.509");
    write_number(ret, der->size, 4);
    buf_append(ret, der->data, der->size);
    if (ret->failed)
        return;
    jks_digest(ret->data, ret->size, digest);
    buf_append(ret, digest, sizeof(digest));
}

/* ---- PKCS #12 (RFC 7292) without encryption and checksum, as JDK 18 and later bring it ---- */

#define SEQUENCE     0x30
#define OCTET_STRING 0x04
#define EXPLICIT_0   0xa0

#define VERSION_3 "\x02\x01\x03"
#define OID_DATA  "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"
#define OID_BAG   "\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01\x03" /* certBag */
#define OID_X509  "\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x09\x16\x01"     /* x509Certificate */
#define ATTRIBUTES                                                                              \
    "\x31\x3f"                                                                                  \
    "\x30\x16\x06\x0c\x60\x86\x48\x01\x86\xf9\x66\xad\xca\x7b\x01\x01" /* trustedKeyUsage, */   \
    "\x31\x06\x06\x04\x55\x1d\x25\x00"                                 /* any; OpenJDK's own */ \
    "\x30\x25\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x14"             /* friendlyName */       \
    "\x31\x18\x1e\x16\0g\0l\0o\0v\0e\0b\0o\0x\0-\0c\0a"

#define LITERAL(bytes) (bytes), sizeof(bytes) - 1

struct span {
    const uint8_t *data;
    size_t size;
};

/* A value of this tag to the very end of s: s becomes its content. */
static bool enter(struct span *s, uint8_t tag)
{
    if (s->size < 2 || s->data[0] != tag)
        return false;
    size_t length = s->data[1], at = 2;
    if (length > 0x80 && length <= 0x84) {
        size_t bytes = length - 0x80;
        if (s->size < at + bytes)
            return false;
        for (length = 0; bytes > 0; bytes--)
            length = length << 8 | s->data[at++];
    } else if (length >= 0x80) {
        return false;
    }
    if (length != s->size - at)
        return false;
    *s = (struct span){s->data + at, length};
    return true;
}

static bool skip(struct span *s, const char *bytes, size_t size)
{
    if (s->size < size || memcmp(s->data, bytes, size) != 0)
        return false;
    *s = (struct span){s->data + size, s->size - size};
    return true;
}

/* b becomes the value with this tag that holds `before` and b. */
static void enclose(struct buf *b, uint8_t tag, const void *before, size_t before_size)
{
    struct buf whole = BUF_INIT(b->max_bytes);
    size_t size = before_size + b->size;
    unsigned bytes = 0;
    for (size_t left = size; size >= 0x80 && left > 0; left >>= 8)
        bytes++;
    write_number(&whole, tag, 1);
    write_number(&whole, bytes ? 0x80 + bytes : size, 1);
    write_number(&whole, size, bytes);
    buf_append(&whole, before, before_size);
    buf_append(&whole, b->data, b->size);
    whole.failed |= b->failed;
    buf_done(b);
    *b = whole;
}

static void enclose_as_data(struct buf *b)
{
    enclose(b, OCTET_STRING, "", 0);
    enclose(b, EXPLICIT_0, "", 0);
    enclose(b, SEQUENCE, LITERAL(OID_DATA));
}

/* What has the bags, in s: all that ends with the file, so that there is no checksum. */
static bool find_safes(struct span *s)
{
    return enter(s, SEQUENCE) && skip(s, LITERAL(VERSION_3)) && enter(s, SEQUENCE) &&
           skip(s, LITERAL(OID_DATA)) && enter(s, EXPLICIT_0) && enter(s, OCTET_STRING) &&
           enter(s, SEQUENCE);
}

static void add_to_pkcs12(struct span safes, const struct buf *der, struct buf *ret)
{
    buf_append(ret, der->data, der->size);
    enclose(ret, OCTET_STRING, "", 0);
    enclose(ret, EXPLICIT_0, "", 0);
    enclose(ret, SEQUENCE, LITERAL(OID_X509));
    enclose(ret, EXPLICIT_0, "", 0);
    buf_append(ret, LITERAL(ATTRIBUTES));
    enclose(ret, SEQUENCE, LITERAL(OID_BAG));
    enclose(ret, SEQUENCE, "", 0);
    enclose_as_data(ret);
    enclose(ret, SEQUENCE, safes.data, safes.size);
    enclose_as_data(ret);
    enclose(ret, SEQUENCE, LITERAL(VERSION_3));
}

int keystore_add(const void *store, size_t size, const char *certificate, struct buf *ret)
{
    struct buf der = BUF_INIT(TRUST_PEM_MAX_BYTES);
    struct span safes = {store, size};
    int r = 0;
    write_der(&der, certificate);
    if (is_jks(store, size))
        add_to_jks(store, size, &der, ret);
    else if (find_safes(&safes))
        add_to_pkcs12(safes, &der, ret);
    else
        r = -EINVAL;
    if (r == 0 && (ret->failed || der.failed))
        r = size < ret->max_bytes / 2 ? -ENOMEM : -E2BIG;
    buf_done(&der);
    return r;
}
