// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/denied.h"
#include "kernel/net/gateway.h"
#include "kernel/net/resolver.h"
#include "kernel/net/socket.h"

#include <arpa/nameser.h>

/* A query that the gateway was asked. */
struct question {
    struct gateway_request request;
    struct socket *socket; /* counted */
    struct resolver_ends ends;
    resolver_give_fn give;
    size_t size;
    uint8_t answer[RESOLVER_ANSWER_MAX]; /* when there is none of the gateway's */
};

static void on_answer(struct gateway_request *r, int error, const struct gateway_message *m,
                      struct hostfd fd)
{
    struct question *q = container_of(r, struct question, request);
    size_t size = error == 0 ? m->packet.data_size : 0;
    bool is_answer = size >= NS_HFIXEDSZ && size <= GATEWAY_DATA_MAX;
    hostfd_close(&fd);
    if (!q->socket->dead && is_answer)
        q->give(q->socket, &q->ends, m->data, size);
    else if (!q->socket->dead)
        q->give(q->socket, &q->ends, q->answer, q->size);
    socket_put(q->socket);
    free(q);
}

/* Whose socket it is: a program that has ended since has no name. */
static const struct thread *find_program(const struct socket *s)
{
    struct process *p = process_find(s->owner.pid);
    return p ? process_leader(p) : NULL;
}

void resolver_ask(struct socket *s, const struct resolver_ends *ends, const uint8_t *query,
                  size_t size, resolver_give_fn give)
{
    bool is_foreign;
    struct question *q = calloc(1, sizeof(*q));
    if (!q)
        return;
    q->size = resolver_answer(query, size, q->answer, &is_foreign);
    if (is_foreign && gateway_exists()) {
        q->request.done = on_answer;
        q->socket = socket_get(s);
        q->ends = *ends;
        q->give = give;
        resolver_fail(q->answer);
        /* Of what is longer than a query can be the beginning is enough, to refuse and log it. */
        uint8_t protocol = s->type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
        if (gateway_resolve(&q->request, protocol, query, MIN(size, GATEWAY_QUERY_MAX),
                            find_program(s)) == 0)
            return;
        socket_put(s);
    }
    if (is_foreign && !gateway_exists())
        denied_query(query, size);
    if (q->size > 0)
        give(s, ends, q->answer, q->size);
    free(q);
}
