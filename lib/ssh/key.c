// SPDX-License-Identifier: Apache-2.0
#include "lib/ssh/key.h"

#include "lib/ssh/agent.h"
#include "lib/ssh/key_internal.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#define COORDINATE_MAX 66

struct ssh_key {
    EVP_PKEY *evp;
    enum ssh_key_type type;
    size_t blob_size;
    uint8_t blob[SSH_BLOB_MAX];
};

/* ---- reading ---- */

static const char unknown[] = "it is no private key; give the file of one, without a passphrase, "
                              "as ssh-keygen(1) writes it";

static int no_passphrase(char *ret, int size, int is_writing, void *is_asked)
{
    *(bool *)is_asked = true;
    return -1;
}

static EVP_PKEY *read_pem(const char *text, size_t size, const char **ret_why)
{
    bool is_asked = false;
    BIO *bio = BIO_new_mem_buf(text, (int)size);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, &is_asked) : NULL;
    BIO_free(bio);
    *ret_why = is_asked ? "it has a passphrase; give a key without one (a copy made with "
                          "ssh-keygen -p), or one made for this alone"
                        : unknown;
    return key;
}

static bool find_curve(EVP_PKEY *key, enum ssh_key_type *ret)
{
    static const struct {
        const char *group;
        enum ssh_key_type type;
    } rows[] = {
        {"prime256v1", SSH_KEY_P256}, {"secp384r1", SSH_KEY_P384}, {"secp521r1", SSH_KEY_P521}};
    char name[32];
    size_t size;
    if (!EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof(name), &size))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (strcmp(rows[i].group, name) != 0)
            continue;
        *ret = rows[i].type;
        return true;
    }
    return false;
}

static bool find_type(EVP_PKEY *key, enum ssh_key_type *ret)
{
    switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_ED25519:
        *ret = SSH_KEY_ED25519;
        return true;
    case EVP_PKEY_RSA:
        *ret = SSH_KEY_RSA;
        return true;
    case EVP_PKEY_EC:
        return find_curve(key, ret);
    default:
        return false;
    }
}

static void put_number(EVP_PKEY *key, const char *name, struct buf *b)
{
    uint8_t bytes[SSH_RSA_MOST_BITS / 8];
    BIGNUM *n = NULL;
    if (EVP_PKEY_get_bn_param(key, name, &n) && (size_t)BN_num_bytes(n) <= sizeof(bytes))
        ssh_put_unsigned(b, bytes, (size_t)BN_bn2bin(n, bytes));
    else
        b->failed = true;
    BN_free(n);
}

static void put_point(const struct ssh_key *k, struct buf *b)
{
    uint8_t point[1 + 2 * COORDINATE_MAX], x[COORDINATE_MAX], y[COORDINATE_MAX];
    size_t bytes = ssh_key_coordinate_bytes(k->type);
    BIGNUM *bx = NULL, *by = NULL;
    if (EVP_PKEY_get_bn_param(k->evp, OSSL_PKEY_PARAM_EC_PUB_X, &bx) &&
        EVP_PKEY_get_bn_param(k->evp, OSSL_PKEY_PARAM_EC_PUB_Y, &by) &&
        BN_bn2binpad(bx, x, (int)bytes) > 0 && BN_bn2binpad(by, y, (int)bytes) > 0) {
        point[0] = 4;
        memcpy(point + 1, x, bytes);
        memcpy(point + 1 + bytes, y, bytes);
        ssh_put_string(b, point, 1 + 2 * bytes);
    } else {
        b->failed = true;
    }
    BN_free(bx);
    BN_free(by);
}

static bool make_blob(struct ssh_key *k)
{
    struct ssh_public_key parsed;
    struct buf b = BUF_INIT(SSH_BLOB_MAX);
    uint8_t raw[32];
    size_t size = sizeof(raw);
    ssh_put_text(&b, ssh_key_type_name(k->type));
    if (k->type == SSH_KEY_RSA) {
        put_number(k->evp, OSSL_PKEY_PARAM_RSA_E, &b);
        put_number(k->evp, OSSL_PKEY_PARAM_RSA_N, &b);
    } else if (k->type == SSH_KEY_ED25519) {
        b.failed |= EVP_PKEY_get_raw_public_key(k->evp, raw, &size) != 1;
        ssh_put_string(&b, raw, size);
    } else {
        ssh_put_text(&b, ssh_key_curve_name(k->type));
        put_point(k, &b);
    }
    struct ssh_bytes blob = {(const uint8_t *)b.data, b.size};
    bool is_made = !b.failed && ssh_public_key_parse(blob, &parsed);
    if (is_made) {
        memcpy(k->blob, b.data, b.size);
        k->blob_size = b.size;
    }
    buf_done(&b);
    return is_made;
}

/* Takes key over. A file whose halves are of different keys is none. */
static struct ssh_key *wrap(EVP_PKEY *evp, const char **ret_why)
{
    struct ssh_key *k = calloc(1, sizeof(*k));
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, evp, NULL);
    *ret_why = "memory ran out; free some and try again";
    if (!k || !context) {
        EVP_PKEY_CTX_free(context);
        EVP_PKEY_free(evp);
        free(k);
        return NULL;
    }
    k->evp = evp;
    *ret_why = "it is of a type that can't be used; give a key of Ed25519, of ECDSA on a NIST "
               "curve, or of RSA with 2048 to 8192 bits";
    bool is_good = find_type(evp, &k->type) && make_blob(k);
    if (is_good && EVP_PKEY_pairwise_check(context) != 1) {
        *ret_why = "its public and its private half are of different keys; give the file as "
                   "ssh-keygen(1) has written it";
        is_good = false;
    }
    EVP_PKEY_CTX_free(context);
    if (is_good)
        return k;
    ssh_key_free(k);
    return NULL;
}

struct ssh_key *ssh_key_read(const char *text, size_t size, const char **ret_why)
{
    static const char openssh[] = "-----BEGIN OPENSSH PRIVATE KEY-----";
    bool is_openssh = size >= strlen(openssh) && !memcmp(text, openssh, strlen(openssh));
    EVP_PKEY *evp =
        is_openssh ? ssh_key_file_read(text, size, ret_why) : read_pem(text, size, ret_why);
    struct ssh_key *k = evp ? wrap(evp, ret_why) : NULL;
    ERR_clear_error();
    return k;
}

void ssh_key_free(struct ssh_key *k)
{
    if (!k)
        return;
    EVP_PKEY_free(k->evp);
    free(k);
}

struct ssh_bytes ssh_key_blob(const struct ssh_key *k)
{
    return (struct ssh_bytes){k->blob, k->blob_size};
}

/* ---- signing ---- */

const char *ssh_key_algorithm(const struct ssh_key *k, uint32_t flags)
{
    if (k->type != SSH_KEY_RSA)
        return flags == 0 ? ssh_key_type_name(k->type) : NULL;
    return flags == SSH_AGENT_RSA_SHA2_256   ? "rsa-sha2-256"
           : flags == SSH_AGENT_RSA_SHA2_512 ? "rsa-sha2-512"
                                             : NULL;
}

static const EVP_MD *find_digest(enum ssh_key_type type, bool is_sha512)
{
    switch (type) {
    case SSH_KEY_P256:
        return EVP_sha256();
    case SSH_KEY_P384:
        return EVP_sha384();
    case SSH_KEY_P521:
        return EVP_sha512();
    case SSH_KEY_RSA:
        return is_sha512 ? EVP_sha512() : EVP_sha256();
    default:
        return NULL; /* Ed25519 has its own */
    }
}

/* RFC 5656, 3.1.2: two numbers, of which OpenSSL makes a DER. */
static bool put_curve_signature(const uint8_t *der, size_t size, struct buf *ret)
{
    uint8_t bytes[COORDINATE_MAX];
    struct buf inner = BUF_INIT(SSH_SIGNATURE_MAX);
    ECDSA_SIG *s = d2i_ECDSA_SIG(NULL, &der, (long)size);
    if (s) {
        const BIGNUM *both[] = {ECDSA_SIG_get0_r(s), ECDSA_SIG_get0_s(s)};
        for (size_t i = 0; i < ARRAY_SIZE(both); i++)
            if ((size_t)BN_num_bytes(both[i]) <= sizeof(bytes))
                ssh_put_unsigned(&inner, bytes, (size_t)BN_bn2bin(both[i], bytes));
        ssh_put_string(ret, inner.data, inner.size);
    }
    bool is_put = s && !inner.failed;
    ECDSA_SIG_free(s);
    buf_done(&inner);
    return is_put;
}

int ssh_key_sign(const struct ssh_key *k, const char *algorithm, struct ssh_bytes data,
                 struct buf *ret)
{
    uint8_t signature[SSH_SIGNATURE_MAX];
    size_t size = sizeof(signature);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const EVP_MD *digest = find_digest(k->type, !strcmp(algorithm, "rsa-sha2-512"));
    if (!context)
        return -ENOMEM;
    bool is_signed = EVP_DigestSignInit(context, NULL, digest, NULL, k->evp) == 1 &&
                     EVP_DigestSign(context, signature, &size, data.data, data.size) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    if (!is_signed)
        return -EIO;
    ssh_put_text(ret, algorithm);
    if (ssh_key_curve_name(k->type))
        is_signed = put_curve_signature(signature, size, ret);
    else
        ssh_put_string(ret, signature, size);
    return ret->failed ? -ENOMEM : is_signed ? 0 : -EIO;
}

/* ---- verifying ---- */

/* The other way round; the number of bytes of the DER in *ret, which OpenSSL made; or 0. */
static size_t make_der(struct ssh_bytes signature, uint8_t **ret)
{
    struct ssh_reader r = SSH_READER(signature.data, signature.size);
    struct ssh_bytes numbers[] = {ssh_read_unsigned(&r), ssh_read_unsigned(&r)};
    if (!ssh_reader_is_done(&r) || numbers[0].size > COORDINATE_MAX ||
        numbers[1].size > COORDINATE_MAX)
        return 0;
    ECDSA_SIG *s = ECDSA_SIG_new();
    BIGNUM *a = BN_bin2bn(numbers[0].data, (int)numbers[0].size, NULL);
    BIGNUM *b = BN_bin2bn(numbers[1].data, (int)numbers[1].size, NULL);
    int size = 0;
    if (s && a && b && ECDSA_SIG_set0(s, a, b)) {
        a = b = NULL; /* taken */
        size = i2d_ECDSA_SIG(s, ret);
    }
    BN_free(a);
    BN_free(b);
    ECDSA_SIG_free(s);
    return size > 0 ? (size_t)size : 0;
}

static bool verify(EVP_PKEY *evp, const EVP_MD *digest, struct ssh_bytes signature,
                   struct ssh_bytes data)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_good =
        context && EVP_DigestVerifyInit(context, NULL, digest, NULL, evp) == 1 &&
        EVP_DigestVerify(context, signature.data, signature.size, data.data, data.size) == 1;
    EVP_MD_CTX_free(context);
    return is_good;
}

static bool is_algorithm_of(enum ssh_key_type type, struct ssh_bytes name)
{
    if (type == SSH_KEY_RSA)
        return ssh_is_text(name, "rsa-sha2-256") || ssh_is_text(name, "rsa-sha2-512");
    return ssh_is_text(name, ssh_key_type_name(type));
}

bool ssh_verify(struct ssh_bytes blob, struct ssh_bytes signature, struct ssh_bytes data)
{
    struct ssh_key_parts parts = {0};
    struct ssh_reader r = SSH_READER(signature.data, signature.size);
    struct ssh_bytes algorithm = ssh_read_string(&r), bytes = ssh_read_string(&r);
    uint8_t *der = NULL;
    if (!ssh_reader_is_done(&r) || !ssh_public_key_parse(blob, &parts.public) ||
        !is_algorithm_of(parts.public.type, algorithm))
        return false;
    if (ssh_key_curve_name(parts.public.type))
        bytes = (struct ssh_bytes){NULL, make_der(bytes, &der)};
    if (der)
        bytes.data = der;
    EVP_PKEY *evp = bytes.size > 0 ? ssh_evp_new(&parts) : NULL;
    const EVP_MD *digest = find_digest(parts.public.type, ssh_is_text(algorithm, "rsa-sha2-512"));
    bool is_good = evp && verify(evp, digest, bytes, data);
    EVP_PKEY_free(evp);
    OPENSSL_free(der);
    ERR_clear_error();
    return is_good;
}
