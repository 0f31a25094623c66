// SPDX-License-Identifier: Apache-2.0
#include "lib/tls/internal.h"

#include <openssl/rand.h>
#include <openssl/x509v3.h>

#define DAY_S                 (24 * 3600)
#define SERIAL_BYTES          16
#define COMMON_NAME_MAX_BYTES 64 /* RFC 5280, appendix A: ub-common-name */
#define ORGANIZATION          "Glovebox"

/* An extension as OpenSSL's configuration files write it. */
struct extension {
    int nid;
    const char *value;
};

static bool add_extensions(X509 *certificate, X509 *issuer, const struct extension *list,
                           size_t count)
{
    X509V3_CTX context = {0};
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    for (size_t i = 0; i < count; i++) {
        X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &context, list[i].nid, list[i].value);
        bool is_added = e && X509_add_ext(certificate, e, -1);
        X509_EXTENSION_free(e);
        if (!is_added)
            return false;
    }
    return true;
}

static bool set_serial(X509 *certificate)
{
    uint8_t bytes[SERIAL_BYTES];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    BIGNUM *number = BN_bin2bn(bytes, sizeof(bytes), NULL);
    bool is_set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    return is_set;
}

static bool set_validity(X509 *certificate, int64_t begin_s, int64_t end_s)
{
    return ASN1_TIME_set(X509_getm_notBefore(certificate), begin_s) &&
           ASN1_TIME_set(X509_getm_notAfter(certificate), end_s);
}

static bool add_name(X509_NAME *name, int nid, const char *text)
{
    return X509_NAME_add_entry_by_NID(name, nid, MBSTRING_ASC, (const unsigned char *)text, -1, -1,
                                      0) == 1;
}

/* All that is the same for both kinds. common_name: NULL when it has none. */
static X509 *begin(EVP_PKEY *key, const char *common_name, int64_t begin_s, int64_t end_s)
{
    X509 *certificate = X509_new();
    if (!certificate)
        return NULL;
    X509_NAME *subject = X509_get_subject_name(certificate);
    if (X509_set_version(certificate, X509_VERSION_3) && set_serial(certificate) &&
        set_validity(certificate, begin_s, end_s) && X509_set_pubkey(certificate, key) &&
        add_name(subject, NID_organizationName, ORGANIZATION) &&
        (!common_name || add_name(subject, NID_commonName, common_name)))
        return certificate;
    X509_free(certificate);
    return NULL;
}

X509 *tls_certificate_new_authority(EVP_PKEY *key, const char *sandbox_name, int64_t now_s)
{
    static const struct extension extensions[] = {
        {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
        {NID_key_usage, "critical,keyCertSign,cRLSign"},
        {NID_subject_key_identifier, "hash"},
    };
    char name[COMMON_NAME_MAX_BYTES + 1];
    int64_t begin_s = now_s - TLS_AUTHORITY_BACKDATED_S;
    snprintf(name, sizeof(name), "Glovebox sandbox %s", sandbox_name);
    for (char *c = name; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    X509 *root = begin(key, name, begin_s, now_s + (int64_t)TLS_AUTHORITY_DAYS * DAY_S);
    if (root && X509_set_issuer_name(root, X509_get_subject_name(root)) &&
        add_extensions(root, root, extensions, ARRAY_SIZE(extensions)) &&
        X509_sign(root, key, EVP_sha256()) > 0)
        return root;
    X509_free(root);
    return NULL;
}

/* Not through a line of configuration: a name is data there, whatever is in it. */
static bool add_alternative_name(X509 *leaf, const struct tls_identity *identity)
{
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    GENERAL_NAME *name = GENERAL_NAME_new();
    bool is_address = identity->address_size > 0;
    const void *data = is_address ? (const void *)identity->address : identity->name;
    size_t size = is_address ? identity->address_size : strlen(identity->name);
    ASN1_STRING *text = is_address ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
    bool is_added = false;
    if (names && name && text && ASN1_STRING_set(text, data, (int)size)) {
        GENERAL_NAME_set0_value(name, is_address ? GEN_IPADD : GEN_DNS, text);
        text = NULL; /* transferred */
        if (sk_GENERAL_NAME_push(names, name) > 0) {
            name = NULL; /* transferred */
            is_added = X509_add1_ext_i2d(leaf, NID_subject_alt_name, names, 0, 0) == 1;
        }
    }
    ASN1_STRING_free(text);
    GENERAL_NAME_free(name);
    GENERAL_NAMES_free(names);
    return is_added;
}

/* It is not to outlive who signed it: some clients look at the whole chain's dates at once. */
static bool limit_end(X509 *leaf, const X509 *authority)
{
    const ASN1_TIME *end = X509_get0_notAfter(authority);
    return ASN1_TIME_compare(X509_get0_notAfter(leaf), end) <= 0 || X509_set1_notAfter(leaf, end);
}

X509 *tls_certificate_new_leaf(EVP_PKEY *key, const struct tls_identity *identity, X509 *authority,
                               EVP_PKEY *authority_key, int64_t now_s)
{
    static const struct extension extensions[] = {
        {NID_basic_constraints, "CA:FALSE"},
        {NID_key_usage, "critical,digitalSignature"},
        {NID_ext_key_usage, "serverAuth"},
        {NID_subject_key_identifier, "hash"},
        {NID_authority_key_identifier, "keyid:always"},
    };
    const char *common_name =
        strlen(identity->name) <= COMMON_NAME_MAX_BYTES ? identity->name : NULL;
    X509 *leaf = begin(key, common_name, now_s - TLS_LEAF_BACKDATED_S,
                       now_s + (int64_t)TLS_LEAF_DAYS * DAY_S);
    if (leaf && limit_end(leaf, authority) &&
        X509_set_issuer_name(leaf, X509_get_subject_name(authority)) &&
        add_extensions(leaf, authority, extensions, ARRAY_SIZE(extensions)) &&
        add_alternative_name(leaf, identity) && X509_sign(leaf, authority_key, EVP_sha256()) > 0)
        return leaf;
    X509_free(leaf);
    return NULL;
}
