// SPDX-License-Identifier: Apache-2.0
#include "lib/tls/roots.h"

#include "lib/tls/internal.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>

/* One certificate of the index. */
struct root {
    uint32_t subject_hash;
    uint32_t at, size; /* in der */
    bool was_added;    /* to the store, or can't be */
};

/* What the store looks authorities up in; the store owns it. */
struct index {
    struct root *roots;
    size_t count;
    uint8_t *der;
    size_t der_size;
};

struct tls_roots {
    SSL_CTX *context;
    size_t count;
};

static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

static void index_free(struct index *x)
{
    if (!x)
        return;
    free(x->roots);
    free(x->der);
    free(x);
}

/* ---- looking up, called by OpenSSL while it builds a chain ---- */

static bool hash_subject(const X509_NAME *name, uint32_t *ret)
{
    int is_done = 0;
    unsigned long hash = X509_NAME_hash_ex(name, NULL, NULL, &is_done);
    *ret = (uint32_t)hash;
    return is_done;
}

static void add_to_store(X509_STORE *store, struct index *x, struct root *r)
{
    const uint8_t *der = x->der + r->at;
    X509 *certificate = d2i_X509(NULL, &der, (long)r->size);
    if (certificate)
        X509_STORE_add_cert(store, certificate);
    X509_free(certificate);
    r->was_added = true;
}

/*
 * Parses those of this subject, since of several one may have expired; the store keeps them, and
 * gives itself what it has without asking here again.
 */
static int look_up(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name,
                   X509_OBJECT *ret)
{
    struct index *x = X509_LOOKUP_get_method_data(lookup);
    X509_STORE *store = X509_LOOKUP_get_store(lookup);
    uint32_t hash;
    if (type != X509_LU_X509 || !hash_subject(name, &hash))
        return 0;
    for (size_t i = 0; i < x->count; i++)
        if (x->roots[i].subject_hash == hash && !x->roots[i].was_added)
            add_to_store(store, x, &x->roots[i]);
    const X509_OBJECT *found =
        X509_OBJECT_retrieve_by_subject(X509_STORE_get0_objects(store), type, name);
    X509 *certificate = found ? X509_OBJECT_get0_X509(found) : NULL;
    if (!certificate || !X509_OBJECT_set1_X509(ret, certificate))
        return 0;
    X509_free(certificate); /* the store's is borrowed: who asks takes a reference of his own */
    return 1;
}

static void lookup_free(X509_LOOKUP *lookup)
{
    index_free(X509_LOOKUP_get_method_data(lookup));
}

static X509_LOOKUP_METHOD *lookup_method(void)
{
    static X509_LOOKUP_METHOD *method;
    if (method)
        return method;
    X509_LOOKUP_METHOD *m = X509_LOOKUP_meth_new("index");
    if (!m || !X509_LOOKUP_meth_set_get_by_subject(m, look_up) ||
        !X509_LOOKUP_meth_set_free(m, lookup_free)) {
        X509_LOOKUP_meth_free(m);
        return NULL;
    }
    return method = m;
}

/* ---- loading ---- */

/* Goes over one value of DER, into it when it is to be opened. False when it is another one. */
static bool walk(const uint8_t **at, const uint8_t *end, int tag, bool is_opened)
{
    int found, class;
    long size;
    const uint8_t *next = *at;
    int form = ASN1_get_object(&next, &size, &found, &class, end - next);
    if ((form & 0x81) != 0 || class != V_ASN1_UNIVERSAL || found != tag)
        return false;
    *at = is_opened ? next : next + size;
    return true;
}

/*
 * The subject of a certificate (RFC 5280, 4.1) and no more of it: to parse a bundle takes a
 * program longer than all else that it does at its start.
 */
static X509_NAME *read_subject(const uint8_t *der, size_t size)
{
    static const uint8_t version[] = {0xa0, 3, 2, 1}; /* before its last byte */
    const uint8_t *at = der, *end = der + size;
    if (!walk(&at, end, V_ASN1_SEQUENCE, true) || !walk(&at, end, V_ASN1_SEQUENCE, true))
        return NULL;
    if ((size_t)(end - at) > sizeof(version) && !memcmp(at, version, sizeof(version)))
        at += sizeof(version) + 1;
    if (!walk(&at, end, V_ASN1_INTEGER, false) ||  /* serial number */
        !walk(&at, end, V_ASN1_SEQUENCE, false) || /* signature's algorithm */
        !walk(&at, end, V_ASN1_SEQUENCE, false) || /* issuer */
        !walk(&at, end, V_ASN1_SEQUENCE, false))   /* validity */
        return NULL;
    return d2i_X509_NAME(NULL, &at, end - at);
}

/* 0, also for what isn't a certificate; or -ENOMEM, -E2BIG. */
static int index_add(struct index *x, const uint8_t *der, size_t size)
{
    struct root r = {.at = (uint32_t)x->der_size, .size = (uint32_t)size};
    X509_NAME *subject = read_subject(der, size);
    bool is_hashed = subject && hash_subject(subject, &r.subject_hash);
    X509_NAME_free(subject);
    if (!is_hashed)
        return 0;
    if (x->count == TLS_ROOTS_MAX)
        return -E2BIG;
    struct root *more = reallocarray(x->roots, x->count + 1, sizeof(*more));
    if (!more)
        return -ENOMEM;
    x->roots = more;
    more[x->count++] = r;
    memcpy(x->der + x->der_size, der, size);
    x->der_size += size;
    return 0;
}

/*
 * x->der has room for what is in text, of which DER is three quarters. 0 also when there is none
 * in it.
 */
static int index_add_text(struct index *x, const char *text, size_t size)
{
    int r = 0;
    BIO *in = BIO_new_mem_buf(text, (int)size);
    if (!in)
        return -ENOMEM;
    while (r == 0) {
        char *kind, *header;
        uint8_t *der;
        long der_size;
        ERR_clear_error();
        if (!PEM_read_bio(in, &kind, &header, &der, &der_size)) {
            if (ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE)
                break;
            continue; /* behind what it could not read */
        }
        if (!strcmp(kind, PEM_STRING_X509) || !strcmp(kind, PEM_STRING_X509_OLD))
            r = index_add(x, der, (size_t)der_size);
        OPENSSL_free(kind);
        OPENSSL_free(header);
        OPENSSL_free(der);
    }
    ERR_clear_error();
    BIO_free(in);
    return r;
}

static int read_file(int fd, char **ret, size_t *ret_size)
{
    _cleanup_free_ char *text = malloc(TLS_BUNDLE_MAX_BYTES + 1);
    size_t size = 0;
    ssize_t n;
    if (!text)
        return -ENOMEM;
    while ((n = read(fd, text + size, TLS_BUNDLE_MAX_BYTES + 1 - size)) > 0)
        size += (size_t)n;
    if (n < 0)
        return -errno;
    if (size > TLS_BUNDLE_MAX_BYTES)
        return -E2BIG;
    *ret = TAKE_PTR(text);
    *ret_size = size;
    return 0;
}

/* An open bundle, or -errno. */
static int open_bundle(const char *file)
{
    if (file) {
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
    }
    for (size_t i = 0; i < ARRAY_SIZE(bundles); i++) {
        int fd = open(bundles[i], O_RDONLY | O_CLOEXEC);
        if (fd >= 0 || errno != ENOENT)
            return fd < 0 ? -errno : fd;
    }
    return -ENOENT;
}

static int add_bundle(struct index *x, const char *file)
{
    _cleanup_close_ int fd = open_bundle(file);
    _cleanup_free_ char *text = NULL;
    size_t size = 0;
    if (fd < 0)
        return fd;
    int r = read_file(fd, &text, &size);
    if (r < 0)
        return r;
    x->der = malloc(size + 1);
    r = x->der ? index_add_text(x, text, size) : -ENOMEM;
    return r < 0 ? r : x->count == 0 ? -EINVAL : 0;
}

static int add_extra(struct index *x, const char *text)
{
    size_t count = x->count, size = strlen(text), wanted;
    if (size > TLS_BUNDLE_MAX_BYTES)
        return -E2BIG;
    if (!size_add(x->der_size, size + 1, &wanted))
        return -E2BIG;
    uint8_t *der = realloc(x->der, wanted);
    if (!der)
        return -ENOMEM;
    x->der = der;
    int r = index_add_text(x, text, size);
    return r < 0 ? r : x->count == count ? -EINVAL : 0;
}

/* Takes x, also on failure. */
static SSL_CTX *new_context(struct index *x)
{
    SSL_CTX *context = tls_openssl_new_context(TLS_client_method());
    X509_LOOKUP_METHOD *method = lookup_method();
    X509_LOOKUP *lookup = NULL;
    if (context && method)
        lookup = X509_STORE_add_lookup(SSL_CTX_get_cert_store(context), method);
    if (!lookup) {
        index_free(x);
        SSL_CTX_free(context);
        return NULL;
    }
    X509_LOOKUP_set_method_data(lookup, x);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, tls_session_take_ticket);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    /* An operator may trust what signs for one service, without who signed for that. */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
    return context;
}

static int fill(struct index *x, const char *file, const char *const *extra, size_t extra_count,
                const char **ret_what)
{
    *ret_what = file ? file : "the certificates of this machine";
    int r = add_bundle(x, file);
    if (r < 0)
        return r;
    *ret_what = "the certificates in tls.extra_ca_pem";
    for (size_t i = 0; i < extra_count; i++)
        if ((r = add_extra(x, extra[i])) < 0)
            return r;
    /* To its size: less than what it was made for. */
    uint8_t *der = realloc(x->der, x->der_size);
    if (der)
        x->der = der;
    return 0;
}

int tls_roots_load(const char *file, const char *const *extra, size_t extra_count,
                   struct tls_roots **ret, const char **ret_what)
{
    const char *what = "TLS";
    struct tls_roots *roots = calloc(1, sizeof(*roots));
    struct index *x = calloc(1, sizeof(*x));
    int r = roots && x ? tls_openssl_start() : -ENOMEM;
    if (r == 0)
        r = fill(x, file, extra, extra_count, &what);
    if (r == 0) {
        roots->count = x->count;
        roots->context = new_context(TAKE_PTR(x));
        r = roots->context ? 0 : -ENOMEM;
    }
    if (r < 0) {
        index_free(x);
        free(roots);
        *ret_what = what;
        return r;
    }
    *ret = roots;
    return 0;
}

void tls_roots_free(struct tls_roots *r)
{
    if (!r)
        return;
    SSL_CTX_free(r->context);
    free(r);
}

size_t tls_roots_count(const struct tls_roots *r)
{
    return r->count;
}

SSL *tls_roots_new_client(const struct tls_roots *r)
{
    SSL *ssl = SSL_new(r->context);
    if (ssl)
        SSL_set_connect_state(ssl);
    return ssl;
}
