// SPDX-License-Identifier: Apache-2.0
#include "lib/postgres/scram.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define NO_BINDING "n,,"    /* neither side's */
#define BINDING    "c=biws" /* the same in base 64 */
#define BASE64     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
#define FINAL_MAX  (SCRAM_MESSAGE_MAX_BYTES + 64)

static int refuse(const char **ret_why, const char *why)
{
    *ret_why = why;
    return -EPROTO;
}

/* The whole of text, which is strict base 64. False: it is none, or does not fit. */
static bool decode(const char *text, size_t size, unsigned char *ret, size_t capacity,
                   size_t *ret_size)
{
    size_t plain = strspn(text, BASE64), padding = size - MIN(plain, size);
    if (size == 0 || size % 4 != 0 || padding > 2 || size / 4 * 3 > capacity ||
        strncmp(text + plain, "==", padding) != 0)
        return false;
    int n = EVP_DecodeBlock(ret, (const unsigned char *)text, (int)size);
    *ret_size = (size_t)n - padding;
    return n > 0;
}

void scram_begin(struct scram *s, const unsigned char random[18])
{
    *s = (struct scram){.iterations = 0};
    EVP_EncodeBlock((unsigned char *)s->nonce, random, 18);
}

int scram_write_first(const struct scram *s, struct buf *out)
{
    return buf_printf(out, NO_BINDING "n=,r=%s", s->nonce);
}

/* ---- server-first-message ---- */

/* "X=" and what is behind it up to the next comma, or the end; *at is behind that then. */
static const char *take_attribute(const char **at, char name, size_t *ret_size)
{
    const char *text = *at;
    if (text[0] != name || text[1] != '=')
        return NULL;
    *ret_size = strcspn(text + 2, ",");
    *at = text + 2 + *ret_size;
    *at += **at == ',';
    return text + 2;
}

static bool is_printable(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] < 0x21 || text[i] > 0x7e)
            return false;
    return true;
}

static int take_iterations(struct scram *s, const char *text, size_t size, const char **ret_why)
{
    int count = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return refuse(ret_why, "the server's SCRAM message can't be read");
        count = count * 10 + (text[i] - '0');
        if (count > SCRAM_ITERATIONS_MAX)
            return refuse(ret_why, "the server asks for more than 100000 iterations of SCRAM; "
                                   "lower scram_iterations and set the password again");
    }
    if (count < SCRAM_ITERATIONS_LEAST)
        return refuse(ret_why, "the server asks for less than 4096 iterations of SCRAM; raise "
                               "scram_iterations and set the password again");
    s->iterations = count;
    return 0;
}

int scram_take_first(struct scram *s, const char *message, size_t size, const char **ret_why)
{
    size_t nonce_size, salt_size, count_size;
    if (size > SCRAM_MESSAGE_MAX_BYTES || !is_printable(message, size))
        return refuse(ret_why, "the server's SCRAM message can't be read");
    memcpy(s->server_first, message, size);
    s->server_first[size] = 0;
    const char *at = s->server_first;
    const char *nonce = take_attribute(&at, 'r', &nonce_size);
    const char *salt = nonce ? take_attribute(&at, 's', &salt_size) : NULL;
    const char *iterations = salt ? take_attribute(&at, 'i', &count_size) : NULL;
    if (!iterations || *at || nonce_size >= sizeof(s->server_nonce) || count_size == 0 ||
        !decode(salt, salt_size, s->salt, sizeof(s->salt), &s->salt_size))
        return refuse(ret_why, "the server's SCRAM message can't be read");
    if (nonce_size <= SCRAM_NONCE_BYTES || memcmp(nonce, s->nonce, SCRAM_NONCE_BYTES) != 0)
        return refuse(ret_why, "the server's SCRAM message answers another one");
    memcpy(s->server_nonce, nonce, nonce_size);
    s->server_nonce[nonce_size] = 0;
    return take_iterations(s, iterations, count_size, ret_why);
}

/* ---- client-final-message ---- */

static bool mac(const unsigned char *key, const char *text, size_t size,
                unsigned char ret[SCRAM_HASH_BYTES])
{
    return HMAC(EVP_sha256(), key, SCRAM_HASH_BYTES, (const unsigned char *)text, size, ret, NULL);
}

/* The proof, and what the server's has to be. */
static bool make_proof(struct scram *s, const char *password, size_t password_size,
                       const char *message, size_t size, unsigned char ret[SCRAM_HASH_BYTES])
{
    unsigned char salted[SCRAM_HASH_BYTES], key[SCRAM_HASH_BYTES], stored[SCRAM_HASH_BYTES];
    bool is_made = PKCS5_PBKDF2_HMAC(password, (int)password_size, s->salt, (int)s->salt_size,
                                     s->iterations, EVP_sha256(), sizeof(salted), salted) &&
                   mac(salted, "Client Key", 10, key) &&
                   EVP_Digest(key, sizeof(key), stored, NULL, EVP_sha256(), NULL) &&
                   mac(stored, message, size, ret);
    for (size_t i = 0; is_made && i < SCRAM_HASH_BYTES; i++)
        ret[i] ^= key[i];
    is_made = is_made && mac(salted, "Server Key", 10, key) &&
              mac(key, message, size, s->server_signature);
    explicit_bzero(salted, sizeof(salted));
    explicit_bzero(key, sizeof(key));
    explicit_bzero(stored, sizeof(stored));
    return is_made;
}

int scram_write_final(struct scram *s, const char *password, size_t size, struct buf *out)
{
    struct buf message = BUF_INIT(2 * FINAL_MAX);
    unsigned char proof[SCRAM_HASH_BYTES];
    char text[64];
    int r = buf_printf(&message, "n=,r=%s,%s," BINDING ",r=%s", s->nonce, s->server_first,
                       s->server_nonce);
    if (r == 0 && !make_proof(s, password, size, message.data, message.size, proof))
        r = -ENOMEM;
    buf_done(&message);
    if (r < 0)
        return r;
    EVP_EncodeBlock((unsigned char *)text, proof, sizeof(proof));
    return buf_printf(out, BINDING ",r=%s,p=%s", s->server_nonce, text);
}

int scram_take_final(const struct scram *s, const char *message, size_t size, const char **ret_why)
{
    char text[SCRAM_MESSAGE_MAX_BYTES + 1];
    unsigned char signature[SCRAM_HASH_BYTES + 4];
    size_t value_size, signature_size;
    if (size > SCRAM_MESSAGE_MAX_BYTES || !is_printable(message, size))
        return refuse(ret_why, "the server's SCRAM message can't be read");
    memcpy(text, message, size);
    text[size] = 0;
    const char *at = text, *value = take_attribute(&at, 'v', &value_size);
    if (!value || *at || !decode(value, value_size, signature, sizeof(signature), &signature_size))
        return refuse(ret_why, "the server's SCRAM message can't be read");
    if (signature_size != SCRAM_HASH_BYTES ||
        CRYPTO_memcmp(signature, s->server_signature, SCRAM_HASH_BYTES) != 0)
        return refuse(ret_why, "the server does not know the password, so it is not the one that "
                               "it is taken for");
    return 0;
}
