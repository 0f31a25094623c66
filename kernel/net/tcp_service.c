// SPDX-License-Identifier: Apache-2.0
/*
 * A TCP connection to the resolver: RFC 1035, 4.2.2. Each message has its size before it, two
 * bytes.
 */
#include "kernel/net/tcp.h"

#define PREFIX_BYTES 2

struct tcp_service {
    size_t size; /* of input */
    uint8_t input[PREFIX_BYTES + RESOLVER_QUERY_MAX];
};

int tcp_service_start(struct tcp_socket *t)
{
    t->service = calloc(1, sizeof(*t->service));
    return t->service ? 0 : -ENOMEM;
}

void tcp_service_stop(struct tcp_socket *t)
{
    free(t->service);
    t->service = NULL;
}

static void give_answer(struct socket *s, const struct resolver_ends *ends, const uint8_t *answer,
                        size_t size)
{
    /* The connection may be another one by now, or none. */
    if (!tcp_of(s)->service || !inet_is_same(&ends->source, &tcp_of(s)->inet.local))
        return;
    struct message *m = message_new(PREFIX_BYTES + size);
    if (!m)
        return;
    m->data[0] = (char)(size >> 8);
    m->data[1] = (char)size;
    memcpy(m->data + PREFIX_BYTES, answer, size);
    m->end = PREFIX_BYTES + size;
    message_queue_append(&s->receive, m);
    socket_wake(s, SOCKET_READABLE);
}

/* Answers the message that input begins with. False: it is not complete. */
static bool answer_one(struct tcp_socket *t)
{
    struct tcp_service *v = t->service;
    if (v->size < PREFIX_BYTES)
        return false;
    size_t size = (size_t)v->input[0] << 8 | v->input[1];
    if (v->size < PREFIX_BYTES + size)
        return false;
    struct resolver_ends ends = {t->inet.local, t->inet.remote};
    resolver_ask(tcp_socket(t), &ends, v->input + PREFIX_BYTES, size, give_answer);
    v->size -= PREFIX_BYTES + size;
    memmove(v->input, v->input + PREFIX_BYTES + size, v->size);
    return true;
}

ssize_t tcp_service_take(struct tcp_socket *t, struct uio *u)
{
    struct tcp_service *v = t->service;
    struct socket *s = tcp_socket(t);
    /* A client that asks and never reads, or announces more than a query can be, is cut off. */
    bool too_long = v->size >= sizeof(v->input);
    if (too_long || s->receive.charge > s->receive_buffer) {
        size_t size = u->left;
        tcp_receive_reset(t);
        return (ssize_t)size;
    }
    ssize_t n = uio_copy_in(u, v->input + v->size, MIN(u->left, sizeof(v->input) - v->size));
    if (n < 0)
        return n;
    v->size += (size_t)n;
    while (answer_one(t))
        ;
    return n;
}
