// SPDX-License-Identifier: Apache-2.0
#include "lib/tls/session.h"

#include "lib/base/buf.h"
#include "lib/tls/internal.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

/* In the form of a list (RFC 7301, 3.1), the one that is liked better in front. */
#define HTTP_1_1         "\x08http/1.1"
#define HTTP_2           "\x02h2"
#define PLAIN_MAX_BYTES  16384 /* of what a record protects (RFC 8446, 5.1) */
#define RECORD_OVERHEAD  256   /* and more than that is never added (5.2) */
#define ALERT_RECORD     21
#define ERROR_MAX_BYTES  160
#define OUT_SLACK_FACTOR 2

/* Where a client's tickets come from and go to. */
struct place {
    struct tls_tickets *tickets; /* NULL: nothing is resumed */
    uint64_t generation;
    char *name;
    uint16_t port;
    int64_t now_s, until_s; /* when it was connected; of the session that it tried to resume */
};

struct tls_session {
    SSL *ssl;
    struct place place;
    enum tls_progress progress;
    struct buf in, out;
    bool is_server, has_written, has_ended;
    bool is_http2;   /* a server's: what it agrees to */
    int write_error; /* -E2BIG: there was more to answer than a peer that does not read is owed */
    bool is_untrusted;
    char error[ERROR_MAX_BYTES];
};

/* The memory goes with the last of them. */
static void drop(struct buf *b, size_t size)
{
    buf_consume(b, size);
    if (b->size == 0)
        buf_done(b);
}

/* ---- what OpenSSL reads from and writes to ---- */

static int bio_read(BIO *bio, char *to, int max)
{
    struct tls_session *s = BIO_get_data(bio);
    size_t n = MIN((size_t)max, s->in.size);
    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(to, s->in.data, n);
    drop(&s->in, n);
    return (int)n;
}

static int bio_write(BIO *bio, const char *data, int size)
{
    struct tls_session *s = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (s->write_error == 0)
        s->write_error = buf_append(&s->out, data, (size_t)size);
    if (s->write_error < 0)
        return -1;
    s->has_written = true;
    return size;
}

static long bio_control(BIO *bio, int command, long number, void *data)
{
    return command == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

static const BIO_METHOD *bio_method(void)
{
    static BIO_METHOD *method;
    if (method)
        return method;
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "session");
    if (!m)
        return NULL;
    BIO_meth_set_read(m, bio_read);
    BIO_meth_set_write(m, bio_write);
    BIO_meth_set_ctrl(m, bio_control);
    BIO_meth_set_create(m, bio_create);
    return method = m;
}

/* ---- failures, in words ---- */

static const char *peer(const struct tls_session *s)
{
    return s->is_server ? "the program" : "the server";
}

/* Where OpenSSL's own words would not tell a person what the matter is. */
static const char *verification_text(long code)
{
    switch (code) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return "the certificate is for another name";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return "the certificate is not from an authority that is trusted here";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        return "the certificate is self-signed, and not trusted here";
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        return "the certificate is from a self-signed authority that is not trusted here";
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return "the certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return "the certificate is not valid yet";
    default:
        return NULL;
    }
}

static const char *alert_text(int alert)
{
    switch (alert) {
    case TLS_ALERT_CERTIFICATE_REQUIRED:
        return "certificate required";
    case TLS_ALERT_NO_APPLICATION_PROTOCOL:
        return "no application protocol";
    default:
        return SSL_alert_desc_string_long(alert);
    }
}

static const char *reason_text(int reason)
{
    switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
        return "what came is not TLS";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
        return "no version of TLS that both speak is new enough";
    case SSL_R_NO_APPLICATION_PROTOCOL:
        return "of the protocols that it offers (ALPN) none is spoken here and by the server";
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
        return "no cipher, group or signature that both know";
    default:
        return NULL;
    }
}

static void fail(struct tls_session *s, const char *format, ...) _printf_(2, 3);

static void fail(struct tls_session *s, const char *format, ...)
{
    va_list args;
    if (s->progress == TLS_HANDSHAKE && s->place.tickets)
        tls_tickets_forget(s->place.tickets, s->place.name, s->place.port);
    s->progress = TLS_FAILED;
    va_start(args, format);
    vsnprintf(s->error, sizeof(s->error), format, args);
    va_end(args);
    drop(&s->in, SIZE_MAX);
}

/* A call of OpenSSL has failed for good. */
static void fail_as_openssl_says(struct tls_session *s)
{
    unsigned long code = ERR_peek_error();
    int reason = ERR_GET_REASON(code);
    long verdict = SSL_get_verify_result(s->ssl);
    const char *text;
    if (s->write_error == -E2BIG) {
        fail(s, "%s asks for more than it reads", peer(s));
    } else if (!s->is_server && verdict != X509_V_OK) {
        s->is_untrusted = true;
        text = verification_text(verdict);
        fail(s, "%s%s", text ? "" : "the certificate is not accepted: ",
             text ? text : X509_verify_cert_error_string(verdict));
    } else if (ERR_GET_LIB(code) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET) {
        int alert = reason - SSL_AD_REASON_OFFSET;
        fail(s, "%s refuses: %s (alert %d)", peer(s), alert_text(alert), alert);
    } else {
        text = ERR_GET_LIB(code) == ERR_LIB_SSL ? reason_text(reason) : NULL;
        if (!text)
            text = ERR_reason_error_string(code);
        fail(s, "TLS with %s: %s", peer(s), text ? text : "no memory");
    }
    ERR_clear_error();
}

/* ---- birth and death ---- */

static bool attach(struct tls_session *s)
{
    const BIO_METHOD *method = bio_method();
    BIO *bio = method ? BIO_new(method) : NULL;
    if (!bio)
        return false;
    BIO_set_data(bio, s);
    SSL_set_app_data(s->ssl, s);
    SSL_set_bio(s->ssl, bio, bio);
    return true;
}

/* Takes ssl, also on failure. */
static struct tls_session *session_new(SSL *ssl, bool is_server)
{
    struct tls_session *s = ssl ? calloc(1, sizeof(*s)) : NULL;
    if (!s) {
        SSL_free(ssl);
        errno = ENOMEM;
        return NULL;
    }
    s->ssl = ssl;
    s->is_server = is_server;
    s->in = BUF_INIT(TLS_SESSION_IN_MAX_BYTES);
    s->out = BUF_INIT(OUT_SLACK_FACTOR * TLS_SESSION_OUT_MAX_BYTES);
    if (attach(s))
        return s;
    tls_session_free(s);
    errno = ENOMEM;
    return NULL;
}

static struct tls_session *accept_for(struct tls_authority *a, const char *name, int64_t now_s,
                                      const char *protocol)
{
    struct tls_identity identity;
    if (!tls_identity_parse(name, &identity)) {
        errno = EINVAL;
        return NULL;
    }
    ERR_clear_error();
    SSL *ssl = tls_authority_new_server(a, &identity, now_s);
    if (ssl && protocol && !tls_openssl_set_protocol(ssl, protocol)) {
        SSL_free(ssl);
        ssl = NULL;
    }
    return session_new(ssl, true);
}

struct tls_session *tls_session_accept(struct tls_authority *a, const char *name, int64_t now_s)
{
    return accept_for(a, name, now_s, NULL);
}

struct tls_session *tls_session_accept_postgres(struct tls_authority *a, const char *name,
                                                int64_t now_s)
{
    return accept_for(a, name, now_s, "postgresql");
}

struct tls_session *tls_session_accept_http2(struct tls_authority *a, const char *name,
                                             int64_t now_s)
{
    return accept_for(a, name, now_s, "h2");
}

struct tls_session *tls_session_accept_with(struct tls_credentials *c)
{
    ERR_clear_error();
    return session_new(tls_credentials_new_server(c), true);
}

static bool expect_identity(SSL *ssl, const struct tls_identity *identity)
{
    X509_VERIFY_PARAM *verify = SSL_get0_param(ssl);
    /* Never the common name: it is a text for people, which authorities don't vouch for. */
    X509_VERIFY_PARAM_set_hostflags(verify, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT |
                                                X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (identity->address_size > 0)
        return X509_VERIFY_PARAM_set1_ip(verify, identity->address, identity->address_size);
    return SSL_set_tlsext_host_name(ssl, identity->name) &&
           X509_VERIFY_PARAM_set1_host(verify, identity->name, 0);
}

static bool prepare_client(SSL *ssl, const struct tls_identity *identity,
                           const struct tls_server *server, int64_t now_s)
{
    const char *protocols = server->offers_http2 ? HTTP_2 HTTP_1_1 : HTTP_1_1;
    X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl), now_s);
    return expect_identity(ssl, identity) &&
           SSL_set_min_proto_version(ssl, (int)server->min_version) &&
           /* 0 is success, here alone. */
           SSL_set_alpn_protos(ssl, (const uint8_t *)protocols, (unsigned)strlen(protocols)) == 0;
}

/* ---- sessions that are continued ---- */

/* Whether all that was verified is still valid then. */
static bool is_valid_until(const SSL *ssl, int64_t until_s)
{
    STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);
    time_t end = until_s;
    for (int i = 0; i < sk_X509_num(chain); i++)
        if (X509_cmp_time(X509_get0_notAfter(sk_X509_value(chain, i)), &end) <= 0)
            return false;
    return sk_X509_num(chain) > 0;
}

static bool is_worth_keeping(SSL *ssl, SSL_SESSION *session)
{
    const unsigned char *ticket;
    size_t size = 0;
    bool is_v13 = SSL_version(ssl) >= TLS1_3_VERSION;
    SSL_SESSION_get0_ticket(session, &ticket, &size);
    return size <= TLS_TICKET_MAX_BYTES && SSL_SESSION_is_resumable(session) &&
           SSL_get_verify_result(ssl) == X509_V_OK &&
           (is_v13 ? SSL_SESSION_get_ticket_lifetime_hint(session) > 0
                   : SSL_get_extms_support(ssl) == 1);
}

/* Whether session is the tickets' now. */
static bool keep_session(const struct tls_session *s, SSL_SESSION *session)
{
    const struct place *p = &s->place;
    SSL *ssl = s->ssl;
    if (!p->tickets || p->generation != tls_tickets_generation(p->tickets) ||
        !is_worth_keeping(ssl, session))
        return false;
    int64_t until_s = p->until_s;
    if (!SSL_session_reused(ssl)) {
        until_s = p->now_s + TLS_TICKET_MAX_S;
        if (!is_valid_until(ssl, until_s))
            return false;
    }
    return tls_tickets_put(p->tickets, p->name, p->port, session, until_s);
}

/* One of TLS 1.2 comes before OpenSSL tells how its keys were made: keep_old_session(). */
int tls_session_take_ticket(SSL *ssl, SSL_SESSION *session)
{
    return SSL_version(ssl) >= TLS1_3_VERSION && keep_session(SSL_get_app_data(ssl), session);
}

static void keep_old_session(const struct tls_session *s)
{
    SSL_SESSION *session = SSL_version(s->ssl) < TLS1_3_VERSION ? SSL_get1_session(s->ssl) : NULL;
    if (session && !keep_session(s, session))
        SSL_SESSION_free(session);
}

/* Without memory it is a session like the first. */
static void resume(struct tls_session *s, struct tls_tickets *tickets, const char *name,
                   uint16_t port, int64_t now_s)
{
    struct place *p = &s->place;
    p->name = strdup(name);
    if (!p->name)
        return;
    p->tickets = tickets;
    p->generation = tls_tickets_generation(tickets);
    p->port = port;
    p->now_s = now_s;
    SSL_clear_options(s->ssl, SSL_OP_NO_TICKET);
    SSL_SESSION *session = tls_tickets_take(tickets, name, port, now_s, &p->until_s);
    if (session)
        SSL_set_session(s->ssl, session);
    SSL_SESSION_free(session);
}

static void shake_hands(struct tls_session *s);

struct tls_session *tls_session_connect(const struct tls_roots *roots, const char *name,
                                        unsigned min_version, int64_t now_s)
{
    const struct tls_server server = {.name = name, .min_version = min_version};
    return tls_session_resume(roots, NULL, &server, now_s);
}

struct tls_session *tls_session_resume(const struct tls_roots *roots, struct tls_tickets *tickets,
                                       const struct tls_server *server, int64_t now_s)
{
    struct tls_identity identity;
    if (!tls_identity_parse(server->name, &identity)) {
        errno = EINVAL;
        return NULL;
    }
    ERR_clear_error();
    SSL *ssl = tls_roots_new_client(roots);
    if (ssl && !prepare_client(ssl, &identity, server, now_s)) {
        SSL_free(ssl);
        ssl = NULL;
    }
    struct tls_session *s = session_new(ssl, false);
    if (!s)
        return NULL;
    if (tickets)
        resume(s, tickets, server->name, server->port, now_s);
    shake_hands(s);
    return s;
}

struct tls_session *tls_session_connect_postgres(const struct tls_roots *roots, const char *name,
                                                 unsigned min_version, int64_t now_s)
{
    static const uint8_t protocols[] = "\x0a"
                                       "postgresql";
    struct tls_identity identity;
    if (!tls_identity_parse(name, &identity)) {
        errno = EINVAL;
        return NULL;
    }
    ERR_clear_error();
    SSL *ssl = tls_roots_new_client(roots);
    const struct tls_server server = {.name = name, .min_version = min_version};
    if (ssl && (!prepare_client(ssl, &identity, &server, now_s) ||
                SSL_set_alpn_protos(ssl, protocols, sizeof(protocols) - 1) != 0)) {
        SSL_free(ssl);
        ssl = NULL;
    }
    struct tls_session *s = session_new(ssl, false);
    if (s)
        shake_hands(s);
    return s;
}

void tls_session_free(struct tls_session *s)
{
    if (!s)
        return;
    /* Else the last ticket would count as broken. That a connection was cut off says nothing about
     * its keys (RFC 8446, 6.1; RFC 5246, 7.2.1). */
    if (s->progress != TLS_FAILED)
        SSL_set_shutdown(s->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(s->ssl);
    free(s->place.name);
    buf_done(&s->in);
    buf_done(&s->out);
    free(s);
}

/* ---- the handshake ---- */

static void shake_hands(struct tls_session *s)
{
    ERR_clear_error();
    int r = SSL_do_handshake(s->ssl);
    if (r == 1 && s->write_error == 0) {
        s->progress = TLS_OPEN;
        /* Idle connections hold no buffers. */
        SSL_set_mode(s->ssl, SSL_MODE_RELEASE_BUFFERS);
        SSL_free_buffers(s->ssl);
        keep_old_session(s);
    } else if (s->write_error < 0 || SSL_get_error(s->ssl, r) != SSL_ERROR_WANT_READ)
        fail_as_openssl_says(s);
    else if (s->has_ended)
        fail(s, "%s ended the connection during the handshake", peer(s));
}

/* ---- what comes in ---- */

size_t tls_session_room(const struct tls_session *s)
{
    if (s->progress == TLS_FAILED || s->has_ended)
        return 0;
    /* Beyond what was written there are answers to what the peer keeps asking for. */
    if (s->out.size > TLS_SESSION_OUT_MAX_BYTES)
        return 0;
    return TLS_SESSION_IN_MAX_BYTES - s->in.size;
}

enum tls_progress tls_session_take(struct tls_session *s, const void *data, size_t size,
                                   size_t *ret_taken)
{
    size_t n = MIN(size, tls_session_room(s));
    *ret_taken = n;
    /* Behind its close_notify there is nothing that means anything (RFC 8446, 6.1). */
    if (n == 0 || s->progress == TLS_CLOSED)
        return s->progress;
    if (buf_append(&s->in, data, n) < 0)
        fail(s, "TLS with %s: no memory", peer(s));
    if (s->progress == TLS_HANDSHAKE)
        shake_hands(s);
    return s->progress;
}

void tls_session_end(struct tls_session *s)
{
    s->has_ended = true;
    if (s->progress == TLS_HANDSHAKE)
        shake_hands(s);
}

enum tls_progress tls_session_progress(const struct tls_session *s)
{
    return s->progress;
}

size_t tls_session_read(struct tls_session *s, char *to, size_t max)
{
    size_t size = 0;
    if (s->progress != TLS_OPEN || max == 0)
        return 0;
    /* OpenSSL would take a buffer to find that out. */
    if (s->in.size == 0 && !s->has_ended && !SSL_has_pending(s->ssl))
        return 0;
    ERR_clear_error();
    int r = SSL_read_ex(s->ssl, to, max, &size);
    if (s->write_error < 0) {
        fail_as_openssl_says(s);
        return 0;
    }
    if (r == 1)
        return size;
    switch (SSL_get_error(s->ssl, r)) {
    case SSL_ERROR_WANT_READ:
        if (s->has_ended)
            s->progress = TLS_TRUNCATED;
        break;
    case SSL_ERROR_ZERO_RETURN:
        s->progress = TLS_CLOSED;
        drop(&s->in, SIZE_MAX);
        break;
    default:
        fail_as_openssl_says(s);
    }
    return 0;
}

/* ---- what goes out ---- */

static bool can_write(const struct tls_session *s)
{
    return (s->progress == TLS_OPEN || s->progress == TLS_CLOSED) &&
           !(SSL_get_shutdown(s->ssl) & SSL_SENT_SHUTDOWN);
}

size_t tls_session_write(struct tls_session *s, const void *data, size_t size)
{
    size_t taken = 0;
    ERR_clear_error();
    while (taken < size && can_write(s)) {
        size_t n = MIN(size - taken, (size_t)PLAIN_MAX_BYTES), written;
        if (s->out.size + n + RECORD_OVERHEAD > TLS_SESSION_OUT_MAX_BYTES)
            break;
        if (SSL_write_ex(s->ssl, (const char *)data + taken, n, &written) != 1) {
            fail_as_openssl_says(s);
            break;
        }
        taken += written;
    }
    return taken;
}

void tls_session_pending(const struct tls_session *s, const uint8_t **ret_data, size_t *ret_size)
{
    *ret_size = s->out.size;
    *ret_data = *ret_size > 0 ? (const uint8_t *)s->out.data : NULL;
}

void tls_session_sent(struct tls_session *s, size_t size)
{
    drop(&s->out, size);
}

int tls_session_move_pending(struct tls_session *s, struct buf *to)
{
    int r = buf_move(to, &s->out);
    if (s->out.size == 0)
        buf_done(&s->out);
    return r;
}

size_t tls_session_held_bytes(const struct tls_session *s)
{
    return s->in.capacity + s->out.capacity;
}

void tls_session_close(struct tls_session *s)
{
    if (!can_write(s))
        return;
    ERR_clear_error();
    if (SSL_shutdown(s->ssl) < 0)
        fail_as_openssl_says(s);
}

int tls_session_alert(struct tls_session *s, unsigned description)
{
    uint8_t record[TLS_ALERT_RECORD_BYTES];
    if (s->progress != TLS_HANDSHAKE || s->has_written)
        return -EALREADY;
    tls_alert_write(record, TLS_ALERT_FATAL, description);
    if (buf_append(&s->out, record, sizeof(record)) < 0)
        return -ENOMEM;
    fail(s, "refused: %s (alert %u)", alert_text((int)description), description);
    return 0;
}

void tls_alert_write(uint8_t ret[TLS_ALERT_RECORD_BYTES], enum tls_alert_level level,
                     unsigned description)
{
    /* TLS 1.2 stands in the records of every version since (RFC 8446, 5.1). */
    const uint8_t record[TLS_ALERT_RECORD_BYTES] = {
        ALERT_RECORD, 3, 3, 0, 2, (uint8_t)level, (uint8_t)description,
    };
    memcpy(ret, record, sizeof(record));
}

/* ---- what it is ---- */

const char *tls_session_error(const struct tls_session *s)
{
    return s->error;
}

bool tls_session_is_untrusted(const struct tls_session *s)
{
    return s->is_untrusted;
}

/* Of those that were offered: OpenSSL has checked what a server answered. */
bool tls_session_is_http2(const struct tls_session *s)
{
    const unsigned char *name;
    unsigned size;
    SSL_get0_alpn_selected(s->ssl, &name, &size);
    return size == 2;
}

const char *tls_session_protocol(const struct tls_session *s)
{
    const unsigned char *name;
    unsigned size;
    SSL_get0_alpn_selected(s->ssl, &name, &size);
    return size == 0 ? "" : size == 2 ? "h2" : size == 8 ? "http/1.1" : "postgresql";
}

unsigned tls_session_version(const struct tls_session *s)
{
    return (unsigned)SSL_version(s->ssl);
}

bool tls_session_was_resumed(const struct tls_session *s)
{
    return SSL_session_reused(s->ssl) != 0;
}
