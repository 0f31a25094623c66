// SPDX-License-Identifier: Apache-2.0
/*
 * Keys by their numbers: EVP_PKEY_fromdata(3), which checks that a point is on its curve.
 */
#include "lib/ssh/key_internal.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>

#define NUMBERS_MAX 8

/* Numbers have to live until the parameters are made of them. */
struct builder {
    OSSL_PARAM_BLD *params;
    BIGNUM *numbers[NUMBERS_MAX];
    size_t count;
    bool failed;
};

static BIGNUM *add_number(struct builder *b, const char *name, BIGNUM *n)
{
    if (!n || b->count == NUMBERS_MAX) {
        b->failed = true;
        BN_clear_free(n);
        return NULL;
    }
    b->numbers[b->count++] = n;
    b->failed |= !OSSL_PARAM_BLD_push_BN(b->params, name, n);
    return n;
}

static BIGNUM *add(struct builder *b, const char *name, struct ssh_bytes n)
{
    return add_number(b, name, BN_bin2bn(n.data, (int)n.size, NULL));
}

/* d mod (prime - 1) */
static void add_exponent(struct builder *b, const char *name, const BIGNUM *d, const BIGNUM *prime)
{
    BN_CTX *context = BN_CTX_secure_new();
    BIGNUM *less = prime ? BN_dup(prime) : NULL, *n = BN_new();
    bool is_done = context && less && n && d && BN_sub_word(less, 1) && BN_mod(n, d, less, context);
    BN_clear_free(less);
    BN_CTX_free(context);
    if (!is_done) {
        BN_clear_free(n);
        n = NULL;
    }
    add_number(b, name, n);
}

static void fill_rsa(struct builder *b, const struct ssh_key_parts *k)
{
    add(b, OSSL_PKEY_PARAM_RSA_N, k->public.modulus);
    add(b, OSSL_PKEY_PARAM_RSA_E, k->public.exponent);
    if (k->secret.size == 0)
        return;
    const BIGNUM *d = add(b, OSSL_PKEY_PARAM_RSA_D, k->secret);
    const BIGNUM *p = add(b, OSSL_PKEY_PARAM_RSA_FACTOR1, k->p);
    const BIGNUM *q = add(b, OSSL_PKEY_PARAM_RSA_FACTOR2, k->q);
    add_exponent(b, OSSL_PKEY_PARAM_RSA_EXPONENT1, d, p);
    add_exponent(b, OSSL_PKEY_PARAM_RSA_EXPONENT2, d, q);
    add(b, OSSL_PKEY_PARAM_RSA_COEFFICIENT1, k->inverse);
}

static void fill_curve(struct builder *b, const struct ssh_key_parts *k)
{
    static const char *const groups[] = {
        [SSH_KEY_P256] = "P-256", [SSH_KEY_P384] = "P-384", [SSH_KEY_P521] = "P-521"};
    const struct ssh_bytes *point = &k->public.point;
    b->failed |= !OSSL_PARAM_BLD_push_utf8_string(b->params, OSSL_PKEY_PARAM_GROUP_NAME,
                                                  groups[k->public.type], 0) ||
                 !OSSL_PARAM_BLD_push_octet_string(b->params, OSSL_PKEY_PARAM_PUB_KEY, point->data,
                                                   point->size);
    if (k->secret.size > 0)
        add(b, OSSL_PKEY_PARAM_PRIV_KEY, k->secret);
}

static EVP_PKEY *from_parameters(const char *name, OSSL_PARAM_BLD *built, bool has_secret)
{
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(built);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, name, NULL);
    EVP_PKEY *key = NULL;
    int selection = has_secret ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY;
    if (params && context && EVP_PKEY_fromdata_init(context) > 0 &&
        EVP_PKEY_fromdata(context, &key, selection, params) <= 0)
        key = NULL;
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    return key;
}

static EVP_PKEY *new_of_numbers(const struct ssh_key_parts *k)
{
    struct builder b = {.params = OSSL_PARAM_BLD_new()};
    EVP_PKEY *key = NULL;
    bool is_rsa = k->public.type == SSH_KEY_RSA;
    if (!b.params)
        return NULL;
    if (is_rsa)
        fill_rsa(&b, k);
    else
        fill_curve(&b, k);
    if (!b.failed)
        key = from_parameters(is_rsa ? "RSA" : "EC", b.params, k->secret.size > 0);
    OSSL_PARAM_BLD_free(b.params);
    for (size_t i = 0; i < b.count; i++)
        BN_clear_free(b.numbers[i]);
    return key;
}

EVP_PKEY *ssh_evp_new(const struct ssh_key_parts *k)
{
    const struct ssh_bytes *point = &k->public.point;
    if (k->public.type != SSH_KEY_ED25519)
        return new_of_numbers(k);
    if (k->secret.size > 0)
        return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, k->secret.data, k->secret.size);
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, point->data, point->size);
}
