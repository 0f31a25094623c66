// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/message.h"

#include "kernel/core/kernel.h"
#include "kernel/core/timer.h"
#include "kernel/net/socket.h"

/* Room that a small piece of a stream gets, so that the next small ones need no message of their
 * own. */
#define STREAM_MESSAGE_BYTES 2048

size_t message_total_bytes;

size_t message_memory(const struct message *m)
{
    return sizeof(*m) + m->capacity;
}

struct message *message_new(size_t capacity)
{
    size_t size;
    if (!size_add(sizeof(struct message), capacity, &size) ||
        size > LIMIT_SOCKET_BYTES - MIN(message_total_bytes, (size_t)LIMIT_SOCKET_BYTES))
        return NULL;
    struct message *m = malloc(size);
    if (!m)
        return NULL;
    memset(m, 0, sizeof(*m));
    list_init(&m->link);
    m->capacity = capacity;
    message_total_bytes += size;
    return m;
}

void message_free(struct message *m)
{
    if (m->charged)
        socket_uncharge(m->sender, message_memory(m));
    if (m->sender)
        socket_put(m->sender);
    rights_free(m->rights);
    message_total_bytes -= message_memory(m);
    free(m);
}

void message_set_sender(struct message *m, struct socket *sender, bool charged)
{
    m->sender = socket_get(sender);
    m->charged = charged;
    if (charged)
        sender->send_used += message_memory(m);
}

int message_fill(struct message *m, struct uio *u, size_t size)
{
    ssize_t n = uio_copy_in(u, m->data + m->end, size);
    if (n < 0 || (size_t)n != size)
        return -EFAULT;
    m->end += size;
    return 0;
}

void message_queue_init(struct message_queue *q)
{
    *q = (struct message_queue){.count = 0};
    list_init(&q->messages);
}

void message_queue_purge(struct message_queue *q)
{
    struct message *m;
    while ((m = message_queue_first(q))) {
        message_queue_remove(q, m);
        message_free(m);
    }
}

void message_queue_append(struct message_queue *q, struct message *m)
{
    list_append(&q->messages, &m->link);
    q->count++;
    q->bytes += message_size(m);
    q->charge += message_memory(m);
}

struct message *message_queue_first(const struct message_queue *q)
{
    return list_first(&q->messages, struct message, link);
}

void message_queue_remove(struct message_queue *q, struct message *m)
{
    list_remove(&m->link);
    q->count--;
    q->bytes -= message_size(m);
    q->charge -= message_memory(m);
}

bool message_queue_consume(struct message_queue *q, struct message *m, size_t size)
{
    m->start += size;
    q->bytes -= size;
    if (message_size(m) > 0)
        return false;
    message_queue_remove(q, m);
    message_free(m);
    return true;
}

void message_queue_grown(struct message_queue *q, size_t size)
{
    q->bytes += size;
}

ssize_t message_queue_write(struct message_queue *q, struct uio *u, size_t size, bool merge,
                            struct message **ret_new)
{
    struct message *tail = q->count ? list_entry(q->messages.prev, struct message, link) : NULL;
    *ret_new = NULL;
    if (merge && tail && tail->end < tail->capacity) {
        ssize_t n = uio_copy_in(u, tail->data + tail->end, MIN(size, tail->capacity - tail->end));
        if (n < 0)
            return n;
        tail->end += (size_t)n;
        message_queue_grown(q, (size_t)n);
        return n;
    }
    struct message *m = message_new(MAX(size, (size_t)STREAM_MESSAGE_BYTES));
    if (!m)
        return -ENOBUFS;
    ssize_t n = uio_copy_in(u, m->data, size);
    if (n < 0) {
        message_free(m);
        return n;
    }
    m->end = (size_t)n;
    *ret_new = m;
    return n;
}
