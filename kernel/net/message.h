// SPDX-License-Identifier: Apache-2.0
/*
 * What lies in a socket's receive queue: messages, which are datagrams, or pieces of a stream.
 *
 * Every message counts three times: against LIMIT_SOCKET_BYTES of the whole sandbox (at its
 * making), against its sender's send buffer if message_charge() said so (until it is freed:
 * AF_UNIX), and against the receiver's buffer, through the queue's `charge` (inet, netlink).
 */
#pragma once

#include "kernel/core/memory.h"
#include "kernel/net/rights.h"
#include "lib/base/list.h"

#include <netinet/in.h>
#include <sys/socket.h>

struct socket;

/* Address and port of inet sockets; IPv4 addresses are mapped ones, the port is in host order. */
struct inet_endpoint {
    struct in6_addr address;
    uint16_t port;
};

struct message {
    struct list link;
    size_t start, end, capacity; /* data[start..end) is still to be read */
    struct socket *sender;       /* counted, or NULL */
    bool charged;                /* to the sender */
    bool has_creds;
    struct ucred creds;
    struct rights *rights; /* in flight, or NULL */
    struct inet_endpoint source, destination;
    uint8_t hop_limit, traffic_class;
    int64_t time_ns; /* CLOCK_REALTIME, for SO_TIMESTAMP */
    char data[];
};

struct message_queue {
    struct list messages;
    size_t count;
    size_t bytes;  /* unread data */
    size_t charge; /* memory */
};

/* A message with room for capacity bytes. NULL: -ENOBUFS, the sandbox's sockets hold too much. */
struct message *message_new(size_t capacity);
/* Also drops its rights. */
void message_free(struct message *m);

/* Notes who sent it; `charged`: its memory counts against the sender's buffer until it is freed. */
void message_set_sender(struct message *m, struct socket *sender, bool charged);

/* Copies exactly size bytes from u to the end of m's data. -EFAULT. */
int message_fill(struct message *m, struct uio *u, size_t size);

static inline size_t message_size(const struct message *m)
{
    return m->end - m->start;
}

/* Memory that m takes. */
size_t message_memory(const struct message *m);

void message_queue_init(struct message_queue *q);
/* Frees all messages. */
void message_queue_purge(struct message_queue *q);
/* Takes m over. */
void message_queue_append(struct message_queue *q, struct message *m);
/* The first message, borrowed, or NULL. */
struct message *message_queue_first(const struct message_queue *q);
/* Takes m out of q: it is the caller's. */
void message_queue_remove(struct message_queue *q, struct message *m);
/* Drops size bytes from the front of m; frees m when nothing is left of it. True: it was freed. */
bool message_queue_consume(struct message_queue *q, struct message *m, size_t size);
/* Bytes were added to the end of a message that is queued. */
void message_queue_grown(struct message_queue *q, size_t size);

/*
 * Appends up to size bytes of a stream from u: to the spare room of the last message when `merge`
 * allows that, else as a new message, which *ret_new then names (NULL: merged) for the caller to
 * complete and queue. Bytes, -EFAULT, -ENOBUFS.
 */
ssize_t message_queue_write(struct message_queue *q, struct uio *u, size_t size, bool merge,
                            struct message **ret_new);

/* Bytes in all messages of the sandbox. */
extern size_t message_total_bytes;
