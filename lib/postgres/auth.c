// SPDX-License-Identifier: Apache-2.0
#include "lib/postgres/auth.h"

#include <openssl/evp.h>
#include <stdio.h>

#define MECHANISM     "SCRAM-SHA-256"
#define MD5_BYTES     16
#define MD5_SALT      4
#define MD5_TEXT_SIZE (2 * MD5_BYTES)

/* What follows an 'R'. */
enum request {
    REQUEST_OK = 0,
    REQUEST_PASSWORD = 3,
    REQUEST_MD5 = 5,
    REQUEST_SASL = 10,
    REQUEST_SASL_CONTINUE = 11,
    REQUEST_SASL_FINAL = 12,
};

/* Of one request: what it says, and what it is answered with. */
struct step {
    const char *body;
    size_t size;
    const char *password;
    size_t password_size;
    struct buf *out;
    const char **why;
};

void postgres_auth_begin(struct postgres_auth *a, const char *user, bool is_verified,
                         const unsigned char random[18])
{
    *a = (struct postgres_auth){.user = user, .is_verified = is_verified};
    scram_begin(&a->scram, random);
}

void postgres_auth_end(struct postgres_auth *a)
{
    explicit_bzero(a, sizeof(*a));
}

static int refuse(const struct step *s, const char *why)
{
    *s->why = why;
    return -EPROTO;
}

static const char unreadable[] = "the server's request can't be read";

static int take_ok(struct postgres_auth *a, const struct step *s)
{
    if (s->size > 0)
        return refuse(s, unreadable);
    if (a->state == POSTGRES_AUTH_PROVED ||
        (a->is_verified && (a->state == POSTGRES_AUTH_ASKED || a->state == POSTGRES_AUTH_SENT)))
        return 1;
    return refuse(s, "the server lets it in without showing that it knows the password");
}

/* A password that anybody on the way could read, or take for their own. */
static int check_open(const struct postgres_auth *a, const struct step *s)
{
    if (a->state != POSTGRES_AUTH_ASKED)
        return refuse(s, "the server asks twice for a password");
    return a->is_verified ? 0
                          : refuse(s, "the server asks for the password in a way that is only "
                                      "answered over TLS; use scram-sha-256 there");
}

static int take_password(struct postgres_auth *a, const struct step *s)
{
    int r = check_open(a, s);
    if (r < 0)
        return r;
    if (s->size > 0)
        return refuse(s, unreadable);
    a->state = POSTGRES_AUTH_SENT;
    struct buf text = BUF_INIT(POSTGRES_PACKET_MAX_BYTES);
    r = buf_append(&text, s->password, s->password_size);
    if (r == 0)
        r = buf_append(&text, "", 1);
    if (r == 0)
        r = postgres_write_message(s->out, 'p', text.data, text.size);
    buf_wipe(&text);
    return r;
}

/* The digest of two pieces, in hexadecimal. */
static bool digest(const char *a, size_t a_size, const char *b, size_t b_size,
                   char ret[MD5_TEXT_SIZE + 1])
{
    unsigned char hash[MD5_BYTES];
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_made = context && EVP_DigestInit_ex(context, EVP_md5(), NULL) &&
                   EVP_DigestUpdate(context, a, a_size) && EVP_DigestUpdate(context, b, b_size) &&
                   EVP_DigestFinal_ex(context, hash, NULL);
    EVP_MD_CTX_free(context);
    for (size_t i = 0; is_made && i < MD5_BYTES; i++)
        snprintf(ret + 2 * i, 3, "%02x", hash[i]);
    return is_made;
}

static int take_md5(struct postgres_auth *a, const struct step *s)
{
    char inner[MD5_TEXT_SIZE + 1], text[3 + MD5_TEXT_SIZE + 1] = "md5";
    int r = check_open(a, s);
    if (r < 0)
        return r;
    if (s->size != MD5_SALT)
        return refuse(s, unreadable);
    a->state = POSTGRES_AUTH_SENT;
    if (!digest(s->password, s->password_size, a->user, strlen(a->user), inner) ||
        !digest(inner, MD5_TEXT_SIZE, s->body, MD5_SALT, text + 3))
        return -ENOMEM;
    explicit_bzero(inner, sizeof(inner));
    return postgres_write_message(s->out, 'p', text, sizeof(text));
}

/* Names, each with a NUL, and one more behind them. */
static bool offers(const struct step *s, const char *mechanism)
{
    const char *at = s->body, *end = s->body + s->size;
    while (at < end && *at) {
        const char *zero = memchr(at, 0, (size_t)(end - at));
        if (!zero)
            return false;
        if (!strcmp(at, mechanism))
            return true;
        at = zero + 1;
    }
    return false;
}

static int take_sasl(struct postgres_auth *a, const struct step *s)
{
    if (a->state != POSTGRES_AUTH_ASKED)
        return refuse(s, "the server asks twice for a password");
    if (!offers(s, MECHANISM))
        return refuse(s, "the server does not offer " MECHANISM);
    a->state = POSTGRES_AUTH_FIRST;
    struct buf first = BUF_INIT(SCRAM_MESSAGE_MAX_BYTES), text = BUF_INIT(SCRAM_MESSAGE_MAX_BYTES);
    int r = scram_write_first(&a->scram, &first);
    if (r == 0) {
        uint32_t size = htobe32((uint32_t)first.size);
        buf_append(&text, MECHANISM, sizeof(MECHANISM));
        buf_append(&text, &size, sizeof(size));
        r = buf_append(&text, first.data, first.size);
    }
    if (r == 0)
        r = postgres_write_message(s->out, 'p', text.data, text.size);
    buf_done(&first);
    buf_done(&text);
    return r;
}

static int take_continue(struct postgres_auth *a, const struct step *s)
{
    if (a->state != POSTGRES_AUTH_FIRST)
        return refuse(s, "the server goes on with what it has not begun");
    int r = scram_take_first(&a->scram, s->body, s->size, s->why);
    if (r < 0)
        return r;
    a->state = POSTGRES_AUTH_FINAL;
    struct buf text = BUF_INIT(SCRAM_MESSAGE_MAX_BYTES);
    r = scram_write_final(&a->scram, s->password, s->password_size, &text);
    if (r == 0)
        r = postgres_write_message(s->out, 'p', text.data, text.size);
    buf_done(&text);
    return r;
}

static int take_final(struct postgres_auth *a, const struct step *s)
{
    if (a->state != POSTGRES_AUTH_FINAL)
        return refuse(s, "the server ends what it has not begun");
    int r = scram_take_final(&a->scram, s->body, s->size, s->why);
    if (r == 0)
        a->state = POSTGRES_AUTH_PROVED;
    return r;
}

int postgres_auth_take(struct postgres_auth *a, const char *body, size_t size, const char *password,
                       size_t password_size, struct buf *out, const char **ret_why)
{
    uint32_t number;
    if (size < sizeof(number)) {
        *ret_why = unreadable;
        return -EPROTO;
    }
    memcpy(&number, body, sizeof(number));
    const struct step s = {
        body + sizeof(number), size - sizeof(number), password, password_size, out, ret_why};
    switch (be32toh(number)) {
    case REQUEST_OK:
        return take_ok(a, &s);
    case REQUEST_PASSWORD:
        return take_password(a, &s);
    case REQUEST_MD5:
        return take_md5(a, &s);
    case REQUEST_SASL:
        return take_sasl(a, &s);
    case REQUEST_SASL_CONTINUE:
        return take_continue(a, &s);
    case REQUEST_SASL_FINAL:
        return take_final(a, &s);
    default:
        return refuse(&s, "the server asks for another proof than a password");
    }
}
