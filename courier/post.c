// SPDX-License-Identifier: Apache-2.0
#include "courier/courier.h"

#include "lib/http/write.h"
#include "lib/tls/session.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#define FIELDS_MAX  16
#define REQUEST_MAX (COURIER_ORDER_MAX + 8192)
#define ANSWER_MAX  32768 /* bytes of its head, with what TLS adds; what follows is not read */
#define PIECE_BYTES 4096

static struct tls_roots *roots;

struct exchange {
    const struct courier *courier;
    int fd;
    struct tls_session *tls; /* NULL: plain */
    struct buf out;
    struct http_response_parser answer;
    size_t received;
};

int post_start(const struct courier *c, const char *bundle)
{
    const char *what;
    if (!c->url.is_secure)
        return 0;
    int r = tls_roots_load(*bundle ? bundle : NULL, NULL, 0, &roots, &what);
    return r < 0 ? courier_fail(c, r, "%s: %s; install ca-certificates", what, strerror(-r)) : 0;
}

/* ---- the request ---- */

static int write_request(struct exchange *x)
{
    const struct courier *c = x->courier;
    struct http_field fields[FIELDS_MAX];
    size_t count = 0;
    const char *at = c->fields;
    while (*at && count < FIELDS_MAX) {
        const char *value = at + strlen(at) + 1;
        fields[count++] = (struct http_field){at, value};
        at = value + strlen(value) + 1;
    }
    if (*at)
        return courier_fail(c, -E2BIG, "the order has more than %d fields", FIELDS_MAX);
    const struct http_request_head head = {
        .method = "POST",
        .form = HTTP_TARGET_ORIGIN,
        .authority = {c->url.host, c->url.port},
        .path = c->url.path,
        .query = c->url.query,
        .fields = fields,
        .field_count = count,
        .framing = {.kind = HTTP_BODY_LENGTH, .length = c->content_size},
        .closes = true,
    };
    if (http_request_write(&x->out, &head) < 0 ||
        buf_append(&x->out, c->content, c->content_size) < 0)
        return courier_fail(c, -EINVAL, "the order can't be written as a request");
    return 0;
}

/* ---- bytes ---- */

static int wait_for(struct exchange *x, short events)
{
    struct pollfd p = {.fd = x->fd, .events = events};
    int left = courier_left_ms(x->courier);
    if (left <= 0 || poll(&p, 1, left) == 0)
        return courier_fail(x->courier, -ETIMEDOUT, "%s: no answer in %d s", x->courier->url.host,
                            COURIER_S);
    return 0;
}

static int send_all(struct exchange *x, const void *data, size_t size, size_t *ret_sent)
{
    *ret_sent = 0;
    while (*ret_sent < size) {
        ssize_t n = send(x->fd, (const char *)data + *ret_sent, size - *ret_sent, MSG_NOSIGNAL);
        if (n >= 0) {
            *ret_sent += (size_t)n;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return courier_fail(x->courier, -errno, "%s: %s", x->courier->url.host,
                                strerror(errno));
        int r = wait_for(x, POLLOUT);
        if (r < 0)
            return r;
    }
    return 0;
}

/* All that there is to be sent now. */
static int flush(struct exchange *x)
{
    const uint8_t *data;
    size_t size, sent;
    int r = 0;
    if (!x->tls) {
        r = send_all(x, x->out.data, x->out.size, &sent);
        buf_consume(&x->out, sent);
        return r;
    }
    do {
        if (x->out.size > 0)
            buf_consume(&x->out, tls_session_write(x->tls, x->out.data, x->out.size));
        tls_session_pending(x->tls, &data, &size);
        r = send_all(x, data, size, &sent);
        tls_session_sent(x->tls, sent);
    } while (r == 0 && size > 0);
    return r;
}

/* Some bytes from the peer; 0: it sends no more. */
static ssize_t receive(struct exchange *x, char *to, size_t size)
{
    for (;;) {
        ssize_t n = recv(x->fd, to, size, MSG_DONTWAIT);
        if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
            x->received += (size_t)MAX(n, (ssize_t)0);
            return n >= 0 ? n
                          : courier_fail(x->courier, -errno, "%s: %s", x->courier->url.host,
                                         strerror(errno));
        }
        int r = wait_for(x, POLLIN);
        if (r < 0)
            return r;
    }
}

/* ---- the answer ---- */

/* 1: its head is here; 0: not yet; or negative errno. */
static int take(struct exchange *x, const char *data, size_t size)
{
    size_t taken;
    while (size > 0) {
        enum http_progress p = http_response_take(&x->answer, data, size, &taken);
        if (p == HTTP_FAILED)
            return courier_fail(x->courier, -EPROTO, "%s: the answer is no HTTP",
                                x->courier->url.host);
        data += taken;
        size -= taken;
        if (p != HTTP_DONE)
            continue;
        if (!http_response_is_interim(&x->answer.response))
            return 1;
        http_response_next(&x->answer);
    }
    return 0;
}

static int take_encrypted(struct exchange *x, const char *data, size_t size)
{
    char plain[PIECE_BYTES];
    size_t taken, n;
    int r = 0;
    if (size == 0)
        tls_session_end(x->tls);
    for (size_t at = 0; at < size && r == 0; at += taken) {
        tls_session_take(x->tls, data + at, size - at, &taken);
        while (r == 0 && (n = tls_session_read(x->tls, plain, sizeof(plain))) > 0)
            r = take(x, plain, n);
        if (taken == 0)
            break;
    }
    if (r == 0 && tls_session_progress(x->tls) == TLS_FAILED) {
        flush(x);
        return courier_fail(x->courier, -EPROTO, "%s: %s", x->courier->url.host,
                            tls_session_error(x->tls));
    }
    return r;
}

static int exchange(struct exchange *x)
{
    char piece[PIECE_BYTES];
    int r = write_request(x);
    while (r == 0 && x->received <= ANSWER_MAX) {
        r = flush(x);
        ssize_t n = r == 0 ? receive(x, piece, sizeof(piece)) : r;
        if (n < 0)
            return (int)n;
        r = x->tls ? take_encrypted(x, piece, (size_t)n) : take(x, piece, (size_t)n);
        if (r == 0 && n == 0)
            return courier_fail(x->courier, -EPIPE, "%s: it hung up without an answer",
                                x->courier->url.host);
    }
    if (r < 0)
        return r;
    if (r == 0)
        return courier_fail(x->courier, -E2BIG, "%s: the answer's head is too long",
                            x->courier->url.host);
    return (int)x->answer.response.status;
}

/* Without the brackets of an IPv6 address. */
static void write_identity(const char *host, char *ret, size_t size)
{
    snprintf(ret, size, "%s", host + (host[0] == '['));
    ret[strcspn(ret, "]")] = '\0';
}

int post(const struct courier *c, int fd)
{
    char name[HTTP_HOST_MAX_BYTES + 1];
    struct exchange x = {.courier = c, .fd = fd, .out = BUF_INIT(REQUEST_MAX)};
    write_identity(c->url.host, name, sizeof(name));
    if (c->url.is_secure) {
        x.tls = tls_session_connect(roots, name, TLS_VERSION_1_2, time(NULL));
        if (!x.tls)
            return courier_fail(c, -errno, "%s: %s", c->url.host, strerror(errno));
    }
    http_response_init(&x.answer, NULL);
    http_response_expect(&x.answer, "POST", false);
    int r = exchange(&x);
    http_response_done(&x.answer);
    tls_session_free(x.tls);
    buf_done(&x.out);
    return r;
}
