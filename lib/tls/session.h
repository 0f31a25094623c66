// SPDX-License-Identifier: Apache-2.0
/*
 * One end of one TLS connection, without doing I/O: ciphertext goes in and comes out as bytes, and
 * so does what it protects. Towards a program in the sandbox it is the server
 * (tls_session_accept()), towards a real server it is the client (tls_session_connect()).
 *
 *   on readable:  n = recv(fd, bytes, MIN(sizeof(bytes), tls_session_room(s)))
 *                 n == 0: tls_session_end(s)     n > 0: tls_session_take(s, bytes, n)
 *                 while (tls_session_read(s, ...) > 0) ...
 *   on writable:  tls_session_pending(s, &data, &size); n = send(fd, data, size);
 *                 tls_session_sent(s, n)
 *   after either: look at tls_session_progress(), at what is pending, and at the room
 *
 * A client has something pending from the start. Whatever happens, what is pending is to be sent
 * before the connection is closed: it may be the alert that says why.
 *
 * Protocol: TLS 1.2 and 1.3. No renegotiation (asking for it is answered with no_renegotiation), no
 * compression, no early data either way (RFC 8446, 8: it can be replayed), no client certificates.
 * Key updates of TLS 1.3 are followed. ALPN is "http/1.1", or "h2" where the caller says so:
 *   - a program that offers protocols without it is refused with no_application_protocol(120), as
 *     RFC 7301, 3.2 wants it. With no answer instead, a program that speaks only "h2" would send
 *     HTTP/2 to a reader of HTTP/1.1 and get an error that says nothing, or wait.
 *   - a server is offered "http/1.1", behind "h2" if it may choose; one that answers with another
 *     has failed, one that does not answer has not.
 * Programs can resume their sessions, of the same name only: the authority keeps the last of them.
 * Towards servers sessions are resumed where the caller keeps tickets
 * (tickets.h); each other connection is verified.
 *
 * Memory: tls_session_take() holds back what it can't pass on, at most TLS_SESSION_IN_MAX_BYTES,
 * and tls_session_write() stops at TLS_SESSION_OUT_MAX_BYTES of ciphertext. Buffers go when they
 * are empty and the handshake is over; then a server takes 15 KiB, a client 36 KiB and more with a
 * longer chain. What OpenSSL frees is wiped.
 *
 * What OpenSSL asks of the system once there is an authority or roots are loaded: getrandom(2);
 * getpid(2), by which it notices forks; futex(2), to wake nobody when something was initialized;
 * brk(2), mmap(2), munmap(2), mremap(2); and the time: clock_gettime(2), gettimeofday(2), time(2)
 * where there is no vDSO. It reads no configuration and no environment, opens nothing, has no
 * threads.
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/tls/authority.h"
#include "lib/tls/roots.h"
#include "lib/tls/tickets.h"

/* Just below a power of two: what a struct buf of that size holds. */
#define TLS_SESSION_IN_MAX_BYTES  ((64u << 10) - 1)
#define TLS_SESSION_OUT_MAX_BYTES ((64u << 10) - 1)
#define TLS_NAME_MAX_BYTES        253
#define TLS_ALERT_RECORD_BYTES    7

#define TLS_VERSION_1_2 0x0303
#define TLS_VERSION_1_3 0x0304

/* RFC 8446, 6; RFC 7301 */
enum tls_alert_level { TLS_ALERT_WARNING = 1, TLS_ALERT_FATAL = 2 };
enum tls_alert {
    TLS_ALERT_CLOSE_NOTIFY = 0,
    TLS_ALERT_HANDSHAKE_FAILURE = 40,
    TLS_ALERT_BAD_CERTIFICATE = 42,
    TLS_ALERT_ACCESS_DENIED = 49,
    TLS_ALERT_PROTOCOL_VERSION = 70,
    TLS_ALERT_INTERNAL_ERROR = 80,
    TLS_ALERT_UNRECOGNIZED_NAME = 112,
    TLS_ALERT_CERTIFICATE_REQUIRED = 116,
    TLS_ALERT_NO_APPLICATION_PROTOCOL = 120,
};

enum tls_progress {
    TLS_HANDSHAKE,
    TLS_OPEN,
    TLS_CLOSED,    /* the peer has said that it writes no more; one may still write */
    TLS_TRUNCATED, /* the connection ended without that: what was read may not be all */
    TLS_FAILED,    /* see tls_session_error() */
};

struct tls_session;

/*
 * name: an IP address, or the host name that the program asked for, as A-labels without a dot at
 * the end. It gets a certificate for exactly that, whatever its hello says: whether to accept
 * has been decided before (hello.h reads the hello). Give the session the hello's bytes too.
 *
 * NULL with errno: EINVAL for a name that can't stand in a certificate, ENOMEM.
 */
struct tls_session *tls_session_accept(struct tls_authority *a, const char *name, int64_t now_s);

/* The same, and what is agreed on is HTTP/2. */
struct tls_session *tls_session_accept_http2(struct tls_authority *a, const char *name,
                                             int64_t now_s);

/*
 * name: what the server is asked for (SNI, unless it is an address) and what its certificate must
 * be for, in its subjectAltName (RFC 6125; a wildcard stands for one label). min_version:
 * TLS_VERSION_*. The chain must end at one of the roots, and all of it be valid at now_s; whether
 * it was revoked is not asked.
 *
 * NULL with errno, as above.
 */
struct tls_session *tls_session_connect(const struct tls_roots *roots, const char *name,
                                        unsigned min_version, int64_t now_s);

struct tls_server {
    const char *name; /* and the port, by which its tickets are found */
    uint16_t port;
    unsigned min_version;
    bool offers_http2; /* it may choose */
};

/*
 * The same, and a session that tickets have for this name and port is continued, if the server
 * wants to: then it has been verified before, not longer ago than tickets.h says. What tickets the
 * server gives are kept there. tickets: borrowed for as long as the session lives; NULL: none.
 */
struct tls_session *tls_session_resume(const struct tls_roots *roots, struct tls_tickets *tickets,
                                       const struct tls_server *server, int64_t now_s);

/*
 * The same for PostgreSQL in place of HTTP: its ALPN is "postgresql" (which servers before 17 don't
 * answer).
 */
struct tls_session *tls_session_accept_postgres(struct tls_authority *a, const char *name,
                                                int64_t now_s);
struct tls_session *tls_session_connect_postgres(const struct tls_roots *roots, const char *name,
                                                 unsigned min_version, int64_t now_s);

/* s may be NULL. */
void tls_session_free(struct tls_session *s);

/* How much tls_session_take() would take. 0: read, or send what is pending, first. */
size_t tls_session_room(const struct tls_session *s);

/*
 * Takes ciphertext from the peer, and goes on with the handshake; *ret_taken is size, or the room
 * when that is less. What was in it is for tls_session_read(), also before the handshake is over
 * as seen from here: a program may send its request along with its last message of it.
 *
 * Returns how things stand, as tls_session_progress() does. After TLS_OPEN that changes as
 * tls_session_read() gets there.
 */
enum tls_progress tls_session_take(struct tls_session *s, const void *data, size_t size,
                                   size_t *ret_taken);

/* The connection has ended on the peer's side: no more comes. What was taken can still be read. */
void tls_session_end(struct tls_session *s);

enum tls_progress tls_session_progress(const struct tls_session *s);

/*
 * What the peer has written: up to max bytes of it. 0: nothing for now, or for ever; the progress
 * tells. Call until it is 0, or the end of the connection is not seen.
 */
size_t tls_session_read(struct tls_session *s, char *to, size_t max);

/*
 * Writes for the peer. Returns how much was taken: less than size, or 0, while too much is pending,
 * before the handshake is over, after tls_session_close(), or when the session has failed.
 */
size_t tls_session_write(struct tls_session *s, const void *data, size_t size);

/* The ciphertext to send: borrowed until the next call on s, of size 0 when there is none. */
void tls_session_pending(const struct tls_session *s, const uint8_t **ret_data, size_t *ret_size);

/* The first size bytes of that were sent. */
void tls_session_sent(struct tls_session *s, size_t size);

/* All of it goes to the end of to, by buf_move() (buf.h), which also says what can fail. */
int tls_session_move_pending(struct tls_session *s, struct buf *to);

/* The memory of what waits in it, on its way in or out. */
size_t tls_session_held_bytes(const struct tls_session *s);

/* Says that nothing more will be written (close_notify); reading goes on. */
void tls_session_close(struct tls_session *s);

/*
 * Ends a handshake to which nothing was answered yet with a fatal alert (TLS_ALERT_*), which is
 * pending then. -EALREADY when something was: then close the connection, without
 * tls_session_close(), which the peer sees as an error too.
 */
int tls_session_alert(struct tls_session *s, unsigned description);

/*
 * What went wrong, in one line of printable text: "the certificate has expired". "" when nothing
 * did. Valid as long as s.
 */
const char *tls_session_error(const struct tls_session *s);

/*
 * Whether it failed since the server's certificate, or its name, is not to be trusted, rather than
 * for the protocol.
 */
bool tls_session_is_untrusted(const struct tls_session *s);

/* After the handshake: the protocol (ALPN) that both agreed on, or ""; the version, TLS_VERSION_*;
 * whether it continued an earlier session. */
const char *tls_session_protocol(const struct tls_session *s);
bool tls_session_is_http2(const struct tls_session *s);
unsigned tls_session_version(const struct tls_session *s);
bool tls_session_was_resumed(const struct tls_session *s);

/* A record with an alert for a connection that is refused before any handshake. */
void tls_alert_write(uint8_t ret[TLS_ALERT_RECORD_BYTES], enum tls_alert_level level,
                     unsigned description);
