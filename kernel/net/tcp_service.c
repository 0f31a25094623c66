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

static int give_answer(struct tcp_socket *t, const uint8_t *query, size_t size)
{
    uint8_t answer[RESOLVER_ANSWER_MAX];
    size_t answer_size = resolver_answer(query, size, answer);
    if (answer_size == 0)
        return 0;
    struct message *m = message_new(PREFIX_BYTES + answer_size);
    if (!m)
        return -ENOBUFS;
    m->data[0] = (char)(answer_size >> 8);
    m->data[1] = (char)answer_size;
    memcpy(m->data + PREFIX_BYTES, answer, answer_size);
    m->end = PREFIX_BYTES + answer_size;
    message_queue_append(&tcp_socket(t)->receive, m);
    socket_wake(tcp_socket(t), SOCKET_READABLE);
    return 0;
}

/* Answers the message that input begins with. False: it is not complete. */
static bool answer_one(struct tcp_socket *t, int *error)
{
    struct tcp_service *v = t->service;
    if (v->size < PREFIX_BYTES)
        return false;
    size_t size = (size_t)v->input[0] << 8 | v->input[1];
    if (v->size < PREFIX_BYTES + size)
        return false;
    *error = give_answer(t, v->input + PREFIX_BYTES, size);
    v->size -= PREFIX_BYTES + size;
    memmove(v->input, v->input + PREFIX_BYTES + size, v->size);
    return true;
}

ssize_t tcp_service_take(struct tcp_socket *t, struct uio *u)
{
    struct tcp_service *v = t->service;
    struct socket *s = tcp_socket(t);
    int error = 0;
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
    while (error == 0 && answer_one(t, &error))
        ;
    return error < 0 ? error : n;
}
