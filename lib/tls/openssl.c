// SPDX-License-Identifier: Apache-2.0
#include "lib/tls/internal.h"

#include <arpa/inet.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <time.h>

#define PROTOCOL       "http/1.1" /* where no other is wanted */
#define NAME_MAX_BYTES 253        /* RFC 1035, 2.3.4, as text without the last dot */
/* Of TLS 1.3. Nobody breaks either AES; the hash of the first takes a fraction of the time, and a
 * handshake is hashing for a tenth of it. */
#define SUITES "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

/*
 * SSL_free() leaves traffic secrets in what it gives back, and so do buffers of plaintext. Wiping
 * everything is cheaper than to know what to wipe.
 */
static void wiping_free(void *p, const char *file, int line)
{
    if (p)
        explicit_bzero(p, malloc_usable_size(p));
    free(p);
}

static void *plain_malloc(size_t size, const char *file, int line)
{
    return malloc(size);
}

static void *wiping_realloc(void *p, size_t size, const char *file, int line)
{
    size_t had = p ? malloc_usable_size(p) : 0;
    if (p && size > 0 && size <= had)
        return p;
    void *more = size > 0 ? malloc(size) : NULL;
    if (size > 0 && !more)
        return NULL;
    if (more && p)
        memcpy(more, p, MIN(had, size));
    wiping_free(p, file, line);
    return more;
}

int tls_openssl_start(void)
{
    static bool is_started;
    if (is_started)
        return 0;
    /* Refused only when something has been allocated already: then the program is wrong. */
    if (!CRYPTO_set_mem_functions(plain_malloc, wiping_realloc, wiping_free))
        abort();
    if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL))
        return -ENOMEM;
    /* gmtime_r(3), for the dates of certificates, reads /etc/localtime when nobody has before. */
    tzset();
    is_started = true;
    return 0;
}

SSL_CTX *tls_openssl_new_context(const SSL_METHOD *method)
{
    SSL_CTX *context = SSL_CTX_new(method);
    if (!context)
        return NULL;
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    /* Without the groups whose arithmetic is slow: they are ours to calculate for a stranger. */
    if (!SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) ||
        !SSL_CTX_set_ciphersuites(context, SUITES) ||
        !SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384")) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

static bool is_host_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
}

bool tls_identity_parse(const char *name, struct tls_identity *ret)
{
    struct tls_identity identity = {.name = name};
    size_t size = strnlen(name, NAME_MAX_BYTES + 1);
    if (size == 0 || size > NAME_MAX_BYTES)
        return false;
    if (inet_pton(AF_INET, name, identity.address) == 1)
        identity.address_size = 4;
    else if (inet_pton(AF_INET6, name, identity.address) == 1)
        identity.address_size = 16;
    for (size_t i = 0; i < size && identity.address_size == 0; i++)
        if (!is_host_byte(name[i]))
            return false;
    *ret = identity;
    return true;
}

/* Of what a session has besides what OpenSSL keeps of it. */
static int protocol_index(void)
{
    static int index = -1;
    if (index < 0)
        index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    return index;
}

bool tls_openssl_set_protocol(SSL *ssl, const char *protocol)
{
    return SSL_set_ex_data(ssl, protocol_index(), (void *)protocol) == 1;
}

const char *tls_openssl_protocol(const SSL *ssl)
{
    return SSL_get_ex_data(ssl, protocol_index());
}

int tls_openssl_choose_protocol(SSL *ssl, const uint8_t **ret, uint8_t *ret_size,
                                const uint8_t *list, unsigned size, void *unused)
{
    const char *protocol = tls_openssl_protocol(ssl) ?: PROTOCOL;
    for (unsigned at = 0; at < size; at += 1 + list[at])
        if (list[at] == strlen(protocol) && !memcmp(list + at + 1, protocol, list[at])) {
            *ret = list + at + 1;
            *ret_size = list[at];
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}
