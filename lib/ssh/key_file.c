// SPDX-License-Identifier: Apache-2.0
/*
 * OpenSSH's own format of private keys: PROTOCOL.key.
 */
#include "lib/ssh/key_internal.h"

#define BEGIN    "-----BEGIN OPENSSH PRIVATE KEY-----"
#define END      "-----END OPENSSH PRIVATE KEY-----"
#define MAGIC    "openssh-key-v1" /* with its NUL */
#define FILE_MAX 8192

#define ED25519_SEED 32
#define PADDING_MAX  16

static const char damaged[] = "it is damaged; give the file as ssh-keygen(1) has written it";

/* The lines between the first and the last one, without their ends. */
static ssize_t decode_lines(const char *text, size_t size, uint8_t *ret, size_t capacity)
{
    const char *begin = memmem(text, size, BEGIN, strlen(BEGIN));
    const char *end = memmem(text, size, END, strlen(END));
    char *digits = malloc(size + 1);
    size_t count = 0;
    ssize_t n = -1;
    if (digits && begin == text && end) {
        for (const char *at = text + strlen(BEGIN); at < end; at++)
            if (*at != '\n' && *at != '\r')
                digits[count++] = *at;
        n = ssh_base64_decode(digits, count, ret, capacity);
    }
    if (digits)
        explicit_bzero(digits, size);
    free(digits);
    return n;
}

static bool read_padding(struct ssh_reader *r)
{
    size_t count = r->left;
    for (size_t i = 1; i <= count; i++)
        if (ssh_read_byte(r) != i)
            return false;
    return count < PADDING_MAX;
}

/* Behind the type: what the blob has, once more, and the secret. */
static bool read_parts(struct ssh_reader *r, struct ssh_key_parts *k)
{
    const struct ssh_public_key *p = &k->public;
    bool is_same;
    if (p->type == SSH_KEY_RSA) {
        is_same = ssh_is_same(ssh_read_unsigned(r), p->modulus);
        is_same &= ssh_is_same(ssh_read_unsigned(r), p->exponent);
        k->secret = ssh_read_unsigned(r);
        k->inverse = ssh_read_unsigned(r);
        k->p = ssh_read_unsigned(r);
        k->q = ssh_read_unsigned(r);
        return is_same && k->inverse.size > 0 && k->p.size > 0 && k->q.size > 0;
    }
    if (p->type == SSH_KEY_ED25519) {
        is_same = ssh_is_same(ssh_read_string(r), p->point);
        struct ssh_bytes both = ssh_read_string(r);
        if (both.size != ED25519_SEED + p->point.size)
            return false;
        k->secret = (struct ssh_bytes){both.data, ED25519_SEED};
        return is_same && !memcmp(both.data + ED25519_SEED, p->point.data, p->point.size);
    }
    is_same = ssh_is_text(ssh_read_string(r), ssh_key_curve_name(p->type));
    is_same &= ssh_is_same(ssh_read_string(r), p->point);
    k->secret = ssh_read_unsigned(r);
    return is_same;
}

/* Of a seed OpenSSL makes the public half itself. */
static EVP_PKEY *make_key(const struct ssh_key_parts *k)
{
    uint8_t made[ED25519_SEED];
    size_t size = sizeof(made);
    EVP_PKEY *key = ssh_evp_new(k);
    if (!key || k->public.type != SSH_KEY_ED25519)
        return key;
    if (EVP_PKEY_get_raw_public_key(key, made, &size) == 1 &&
        ssh_is_same((struct ssh_bytes){made, size}, k->public.point))
        return key;
    EVP_PKEY_free(key);
    return NULL;
}

static EVP_PKEY *read_private(struct ssh_bytes private, struct ssh_key_parts *k)
{
    struct ssh_reader r = SSH_READER(private.data, private.size);
    uint32_t check = ssh_read_u32(&r);
    bool is_good = ssh_read_u32(&r) == check;
    is_good &= ssh_is_text(ssh_read_string(&r), ssh_key_type_name(k->public.type));
    is_good = is_good && read_parts(&r, k) && k->secret.size > 0;
    ssh_read_string(&r); /* the comment */
    return is_good && !r.failed && read_padding(&r) ? make_key(k) : NULL;
}

static EVP_PKEY *read_whole(const uint8_t *data, size_t size, const char **ret_why)
{
    struct ssh_reader r = SSH_READER(data, size);
    struct ssh_key_parts k = {0};
    *ret_why = damaged;
    if (size < sizeof(MAGIC) || memcmp(data, MAGIC, sizeof(MAGIC)) != 0)
        return NULL;
    r.at += sizeof(MAGIC);
    r.left -= sizeof(MAGIC);
    bool is_plain = ssh_is_text(ssh_read_string(&r), "none");
    is_plain &= ssh_is_text(ssh_read_string(&r), "none");
    ssh_read_string(&r); /* of the derivation of a key from a passphrase */
    bool is_one = ssh_read_u32(&r) == 1;
    struct ssh_bytes blob = ssh_read_string(&r), private = ssh_read_string(&r);
    if (!ssh_reader_is_done(&r) || !is_one)
        return NULL;
    if (!is_plain) {
        *ret_why = "it has a passphrase; give a key without one (a copy made with ssh-keygen -p), "
                   "or one made for this alone";
        return NULL;
    }
    if (!ssh_public_key_parse(blob, &k.public)) {
        *ret_why = "it is of a type that can't be used; give a key of Ed25519, of ECDSA on a NIST "
                   "curve, or of RSA with 2048 to 8192 bits";
        return NULL;
    }
    return read_private(private, &k);
}

EVP_PKEY *ssh_key_file_read(const char *text, size_t size, const char **ret_why)
{
    uint8_t data[FILE_MAX];
    ssize_t n = decode_lines(text, size, data, sizeof(data));
    *ret_why = damaged;
    EVP_PKEY *key = n < 0 ? NULL : read_whole(data, (size_t)n, ret_why);
    explicit_bzero(data, sizeof(data));
    return key;
}
