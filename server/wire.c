// SPDX-License-Identifier: Apache-2.0
#include "server/wire.h"

#include "server/server.h"

#include <sys/socket.h>

/* With what was left of a record before, no more than WIRE_READ_MIN when it is opened. */
#define CIPHERTEXT_BYTES 32768

bool wire_is_shaking_hands(const struct connection *c)
{
    return c->tls && tls_session_progress(c->tls) == TLS_HANDSHAKE;
}

bool wire_has_failed(const struct connection *c)
{
    return c->tls && tls_session_progress(c->tls) == TLS_FAILED;
}

bool wire_has_ended(const struct connection *c)
{
    return c->tls && tls_session_progress(c->tls) == TLS_CLOSED;
}

/* ---- output ---- */

/* What is to be sent next, after encrypting some more. */
static size_t next_piece(struct connection *c, const void **ret)
{
    const uint8_t *data;
    size_t size;
    if (!c->tls) {
        *ret = c->out.data;
        return c->out.size;
    }
    if (c->out.size > 0) {
        size = tls_session_write(c->tls, c->out.data, c->out.size);
        buf_consume(&c->out, size);
        c->sent_bytes += size;
    }
    tls_session_pending(c->tls, &data, &size);
    *ret = data;
    return size;
}

static void note_sent(struct connection *c, size_t size)
{
    c->output_since_ns = server_now_ns();
    if (c->tls) {
        tls_session_sent(c->tls, size);
        return;
    }
    buf_consume(&c->out, size);
    c->sent_bytes += size;
}

int wire_flush(struct connection *c)
{
    const void *data;
    size_t size;
    while ((size = next_piece(c, &data)) > 0) {
        ssize_t n = send(c->watch.fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN && !c->output_since_ns)
            c->output_since_ns = server_now_ns();
        if (n < 0)
            return -errno;
        note_sent(c, (size_t)n);
    }
    c->output_since_ns = 0;
    if (c->out.capacity > READ_BYTES)
        buf_done(&c->out);
    /* What can't be encrypted will never be. */
    return wire_has_failed(c) ? -EPROTO : 0;
}

void wire_end(struct connection *c)
{
    if (c->tls) {
        tls_session_close(c->tls);
        wire_flush(c);
    }
    shutdown(c->watch.fd, SHUT_WR);
}

/* ---- input ---- */

static ssize_t receive(const struct connection *c, char *to, size_t size)
{
    ssize_t n = recv(c->watch.fd, to, size, MSG_DONTWAIT);
    return n >= 0 ? n : errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t open_records(struct connection *c, char *to, size_t size)
{
    size_t n, all = 0;
    while (all < size && (n = tls_session_read(c->tls, to + all, size - all)) > 0)
        all += n;
    return all > 0 ? (ssize_t)all : -EAGAIN;
}

ssize_t wire_read(struct connection *c, char *to, size_t size)
{
    static char ciphertext[CIPHERTEXT_BYTES];
    size_t taken;
    if (!c->tls)
        return receive(c, to, size);
    ssize_t n = receive(c, ciphertext, MIN(sizeof(ciphertext), tls_session_room(c->tls)));
    if (n <= 0) {
        if (n == 0)
            tls_session_end(c->tls);
        return n;
    }
    tls_session_take(c->tls, ciphertext, (size_t)n, &taken);
    n = open_records(c, to, size);
    if (!wire_has_failed(c))
        return n;
    /* The alert says why, if it goes out. */
    wire_flush(c);
    return -EPROTO;
}
