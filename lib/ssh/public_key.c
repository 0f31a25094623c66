// SPDX-License-Identifier: Apache-2.0
#include "lib/ssh/public_key.h"

#define ED25519_BYTES 32
#define UNCOMPRESSED  4 /* SEC 1, 2.3.3 */
#define EXPONENT_MAX  8

static const struct {
    const char *name, *curve;
    size_t coordinate_bytes;
} types[SSH_KEY_TYPES] = {
    [SSH_KEY_ED25519] = {"ssh-ed25519", NULL, 0},
    [SSH_KEY_P256] = {"ecdsa-sha2-nistp256", "nistp256", 32},
    [SSH_KEY_P384] = {"ecdsa-sha2-nistp384", "nistp384", 48},
    [SSH_KEY_P521] = {"ecdsa-sha2-nistp521", "nistp521", 66},
    [SSH_KEY_RSA] = {"ssh-rsa", NULL, 0},
};

const char *ssh_key_type_name(enum ssh_key_type type)
{
    return types[type].name;
}

const char *ssh_key_curve_name(enum ssh_key_type type)
{
    return types[type].curve;
}

size_t ssh_key_coordinate_bytes(enum ssh_key_type type)
{
    return types[type].coordinate_bytes;
}

static bool find_type(struct ssh_bytes name, enum ssh_key_type *ret)
{
    for (int i = 0; i < SSH_KEY_TYPES; i++) {
        if (!ssh_is_text(name, types[i].name))
            continue;
        *ret = (enum ssh_key_type)i;
        return true;
    }
    return false;
}

static size_t count_bits(struct ssh_bytes n)
{
    return n.size ? 8 * n.size - (size_t)(__builtin_clz(n.data[0]) - 24) : 0;
}

static bool is_rsa(const struct ssh_public_key *k)
{
    size_t bits = count_bits(k->modulus);
    return bits >= SSH_RSA_LEAST_BITS && bits <= SSH_RSA_MOST_BITS && k->exponent.size > 0 &&
           k->exponent.size <= EXPONENT_MAX && k->exponent.data[k->exponent.size - 1] & 1 &&
           k->modulus.data[k->modulus.size - 1] & 1;
}

static bool is_sound(const struct ssh_public_key *k, struct ssh_bytes curve)
{
    size_t bytes = types[k->type].coordinate_bytes;
    if (k->type == SSH_KEY_RSA)
        return is_rsa(k);
    if (k->type == SSH_KEY_ED25519)
        return k->point.size == ED25519_BYTES;
    return ssh_is_text(curve, types[k->type].curve) && k->point.size == 1 + 2 * bytes &&
           k->point.data[0] == UNCOMPRESSED;
}

bool ssh_public_key_parse(struct ssh_bytes blob, struct ssh_public_key *ret)
{
    struct ssh_reader r = SSH_READER(blob.data, blob.size);
    struct ssh_public_key k = {0};
    struct ssh_bytes curve = {NULL, 0};
    if (blob.size > SSH_BLOB_MAX || !find_type(ssh_read_string(&r), &k.type))
        return false;
    if (k.type == SSH_KEY_RSA) {
        k.exponent = ssh_read_unsigned(&r);
        k.modulus = ssh_read_unsigned(&r);
    } else {
        if (types[k.type].curve)
            curve = ssh_read_string(&r);
        k.point = ssh_read_string(&r);
    }
    if (!ssh_reader_is_done(&r) || !is_sound(&k, curve))
        return false;
    *ret = k;
    return true;
}

/* ---- text ---- */

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

ssize_t ssh_base64_decode(const char *text, size_t size, uint8_t *ret, size_t capacity)
{
    size_t digits = size, used = 0;
    uint32_t bits = 0;
    while (digits > 0 && size - digits < 2 && text[digits - 1] == '=')
        digits--;
    if (size % 4 != 0)
        return -1;
    for (size_t i = 0; i < digits; i++) {
        int digit = digit_of(text[i]);
        if (digit < 0)
            return -1;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 == 0)
            continue;
        if (used == capacity)
            return -1;
        ret[used++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    /* What the last digit has beyond the last byte. */
    uint32_t rest = digits % 4 == 2 ? 0xf : digits % 4 == 3 ? 3 : 0;
    return bits & rest ? -1 : (ssize_t)used;
}

static size_t refuse(const char **ret_why, const char *why)
{
    *ret_why = why;
    return 0;
}

size_t ssh_public_key_read(const char *text, size_t size, uint8_t ret[SSH_BLOB_MAX],
                           size_t *ret_text_size, const char **ret_why)
{
    static const char shape[] = "is no public key; write \"TYPE BASE64\", as in a file *.pub";
    const char *end = text + size, *blank = memchr(text, ' ', size);
    struct ssh_public_key key;
    enum ssh_key_type type;
    if (!blank)
        return refuse(ret_why, shape);
    const char *next = memchr(blank + 1, ' ', (size_t)(end - blank - 1));
    const char *digits_end = next ? next : end;
    struct ssh_bytes name = {(const uint8_t *)text, (size_t)(blank - text)};
    if (!find_type(name, &type))
        return refuse(ret_why, "is of a type that can't be used; give one of ssh-ed25519, "
                               "ecdsa-sha2-nistp256, -nistp384, -nistp521 and ssh-rsa");
    ssize_t n = ssh_base64_decode(blank + 1, (size_t)(digits_end - blank - 1), ret, SSH_BLOB_MAX);
    if (n <= 0 || !ssh_public_key_parse((struct ssh_bytes){ret, (size_t)n}, &key) ||
        key.type != type)
        return refuse(ret_why, "is damaged, or RSA of less than 2048 or more than 8192 bits; copy "
                               "the whole of it, as ssh-keyscan(1) prints it");
    if (ret_text_size)
        *ret_text_size = (size_t)(digits_end - text);
    return (size_t)n;
}
