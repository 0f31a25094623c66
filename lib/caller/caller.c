// SPDX-License-Identifier: Apache-2.0
#include "lib/caller/caller.h"

#include "lib/http/body.h"
#include "lib/tls/session.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#define REQUEST_HEAD_MAX 73728
#define PIECE_BYTES      4096

struct exchange {
    const struct caller *caller;
    struct tls_session *tls; /* NULL: plain */
    struct buf out;
    struct http_response_parser head;
    struct http_body body;
    struct buf *answer; /* NULL: its content is not read */
    bool has_head, is_whole;
    size_t received; /* until the head is here */
};

int64_t caller_now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

int caller_left_ms(const struct caller *c)
{
    return (int)MAX((c->deadline_ns - caller_now_ns()) / NSEC_PER_MSEC, (int64_t)0);
}

_printf_(3, 4) static int fail(const struct exchange *x, int error, const char *format, ...)
{
    char words[CALLER_WHY_MAX - 102];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    snprintf(x->caller->why, CALLER_WHY_MAX, "%.100s: %s", x->caller->host, words);
    return error;
}

/* ---- bytes ---- */

static int wait_for(const struct exchange *x, short events)
{
    struct pollfd p = {.fd = x->caller->fd, .events = events};
    int left = caller_left_ms(x->caller);
    if (left <= 0 || poll(&p, 1, left) == 0)
        return fail(x, -ETIMEDOUT, "no answer in time");
    return 0;
}

static int send_all(const struct exchange *x, const void *data, size_t size, size_t *ret_sent)
{
    *ret_sent = 0;
    while (*ret_sent < size) {
        ssize_t n = send(x->caller->fd, (const char *)data + *ret_sent, size - *ret_sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            *ret_sent += (size_t)n;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return fail(x, -errno, "%s", strerror(errno));
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
static ssize_t receive(const struct exchange *x, char *to, size_t size)
{
    for (;;) {
        ssize_t n = recv(x->caller->fd, to, size, MSG_DONTWAIT);
        if (n >= 0)
            return n;
        if (errno != EAGAIN && errno != EINTR)
            return fail(x, -errno, "%s", strerror(errno));
        int r = wait_for(x, POLLIN);
        if (r < 0)
            return r;
    }
}

/* ---- the answer ---- */

static int take_body(struct exchange *x, const char *data, size_t size)
{
    struct http_slice slice;
    size_t taken;
    enum http_progress p;
    do {
        p = http_body_take(&x->body, data, size, &taken, &slice);
        if (p == HTTP_FAILED)
            return fail(x, x->body.error == HTTP_ERROR_BODY_LONG ? -E2BIG : -EPROTO, "%s",
                        x->body.error == HTTP_ERROR_BODY_LONG ? "the answer is too long"
                                                              : "the answer is no HTTP");
        if (slice.size > 0 && buf_append(x->answer, slice.data, slice.size) < 0)
            return fail(x, -E2BIG, "the answer is too long");
        data += taken;
        size -= taken;
    } while (p == HTTP_MORE && size > 0);
    x->is_whole = p == HTTP_DONE;
    return 0;
}

static void begin_body(struct exchange *x)
{
    x->has_head = true;
    if (x->answer)
        http_body_init(&x->body, &x->head.response.framing, x->answer->max_bytes);
    else
        x->is_whole = true;
}

static int take(struct exchange *x, const char *data, size_t size)
{
    size_t taken;
    while (size > 0 && !x->has_head) {
        enum http_progress p = http_response_take(&x->head, data, size, &taken);
        if (p == HTTP_FAILED)
            return fail(x, -EPROTO, "the answer is no HTTP");
        data += taken;
        size -= taken;
        if (p != HTTP_DONE)
            continue;
        if (http_response_is_interim(&x->head.response))
            http_response_next(&x->head);
        else
            begin_body(x);
    }
    return x->has_head && !x->is_whole ? take_body(x, data, size) : 0;
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
        return fail(x, -EPROTO, "%s", tls_session_error(x->tls));
    }
    return r;
}

/* The peer sends no more. */
static int take_end(struct exchange *x)
{
    bool is_cut = x->tls && tls_session_progress(x->tls) != TLS_CLOSED;
    if (!x->has_head)
        return fail(x, -EPIPE, "it hung up without an answer");
    if (!x->is_whole && (is_cut || http_body_end(&x->body) != HTTP_DONE))
        return fail(x, -EPIPE, "it hung up in the middle of its answer");
    x->is_whole = true;
    return 0;
}

static int exchange(struct exchange *x)
{
    char piece[PIECE_BYTES];
    int r = 0;
    while (r == 0 && !x->is_whole) {
        r = flush(x);
        ssize_t n = r == 0 ? receive(x, piece, sizeof(piece)) : r;
        if (n < 0)
            return (int)n;
        r = x->tls ? take_encrypted(x, piece, (size_t)n) : take(x, piece, (size_t)n);
        if (r == 0 && n == 0 && !x->is_whole)
            r = take_end(x);
        x->received += x->has_head ? 0 : (size_t)n;
        if (r == 0 && x->received > CALLER_HEAD_MAX)
            r = fail(x, -E2BIG, "the answer's head is too long");
    }
    return r < 0 ? r : (int)x->head.response.status;
}

/* Without the brackets of an IPv6 address. */
static void write_identity(const char *host, char *ret, size_t size)
{
    snprintf(ret, size, "%s", host + (host[0] == '['));
    ret[strcspn(ret, "]")] = '\0';
}

int caller_ask(const struct caller *c, const struct http_request_head *head, const void *content,
               size_t size, struct buf *answer)
{
    char name[HTTP_HOST_MAX_BYTES + 1];
    struct exchange x = {.caller = c, .out = BUF_INIT(REQUEST_HEAD_MAX + size), .answer = answer};
    write_identity(c->host, name, sizeof(name));
    if (c->roots) {
        x.tls = tls_session_connect(c->roots, name, TLS_VERSION_1_2, time(NULL));
        if (!x.tls)
            return fail(&x, -errno, "%s", strerror(errno));
    }
    http_response_init(&x.head, NULL);
    http_response_expect(&x.head, head->method, false);
    int r = http_request_write(&x.out, head) < 0 || buf_append(&x.out, content, size) < 0
                ? fail(&x, -EINVAL, "this can't be written as a request")
                : exchange(&x);
    if (x.has_head && answer)
        http_body_done(&x.body);
    http_response_done(&x.head);
    tls_session_free(x.tls);
    buf_wipe(&x.out);
    return r;
}
