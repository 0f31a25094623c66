// SPDX-License-Identifier: Apache-2.0
/*
 * AF_UNIX: unix(7).
 *
 * Peers. A connected socket counts its `peer` until it is closed itself, so that the peer's name
 * and state can still be asked after the peer was closed (`dead`). It is linked into the peer's
 * `peers`, through which a receiver wakes those who wait for room in its queue. Streams and
 * sequenced packets are peers of each other; a datagram socket need not be the peer of its peer.
 *
 * Memory. A message counts against its sender's buffer until it is received. Queues of datagrams
 * also have a length (net.unix.max_dgram_qlen), which a peer that is connected back does not mind.
 */
#pragma once

#include "kernel/net/socket.h"

#define UNIX_DATAGRAM_QUEUE 512
#define UNIX_PATH_MAX       (sizeof(((struct sockaddr_un *)0)->sun_path))

struct unix_name { /* shared by a listener and its connections */
    size_t refs;
    size_t size; /* of path; of a pathname with its NUL */
    char path[UNIX_PATH_MAX + 1];
};

struct unix_socket {
    struct socket socket;
    struct unix_name *name;
    struct path path;               /* of a pathname socket: counted */
    bool abstract;                  /* it is in the table of abstract names */
    struct unix_socket *next_alike; /* with the same hash there */
    struct unix_socket *peer;
    struct list peers, peer_link;
    struct waitq space; /* those that wait for room in the queue */
};

static inline struct unix_socket *unix_of(struct socket *s)
{
    return (struct unix_socket *)s;
}

/* unix_name.c */
void unix_name_put(struct unix_name *name);
int unix_bind(struct socket *s, struct thread *t, const struct net_address *a);
/* Gives u an abstract name of the kernel's choice if it has none: unix(7), autobind. */
int unix_autobind(struct unix_socket *u);
/* Drops u's name from the table or its inode. */
void unix_unbind(struct unix_socket *u);
/* -EINVAL unless a is an AF_UNIX address with a name. */
int unix_check_address(const struct net_address *a);
/* The socket that a names, borrowed: -ECONNREFUSED, -EPROTOTYPE, or what the path walk answers. */
int unix_find(const struct unix_socket *u, struct thread *t, const struct net_address *a,
              struct unix_socket **ret);
void unix_fill_name(const struct unix_socket *u, struct net_address *ret);

/*
 * A stream socket of the kernel's own that listens at path, which is made with that mode; *ret is
 * the caller's. unix_take_connection(): the end that no program has, the caller's; NULL: nobody
 * waits. At the end of each: socket_release().
 */
int unix_listen_at(const struct walk_base *base, const char *path, mode_t mode, size_t backlog,
                   struct socket **ret);
struct socket *unix_take_connection(struct socket *listener);
/* In unix_name.c, for that. */
int unix_bind_at(struct unix_socket *u, const struct walk_base *base, const char *path,
                 mode_t mode);

/* unix.c */
void unix_set_peer(struct unix_socket *u, struct unix_socket *peer); /* NULL: none */
/* Datagrams: the queue of `to` is too long for one more from u. */
bool unix_queue_is_full(const struct unix_socket *to);

/* `old` is no longer the peer of u, a datagram socket: what u has received is lost. */
void unix_drop_datagrams(struct unix_socket *u, struct unix_socket *old);

/* unix_send.c, unix_receive.c */
ssize_t unix_send_stream(struct socket *s, struct uio *u, int flags, struct sending *m);
ssize_t unix_send_packet(struct socket *s, struct uio *u, int flags, struct sending *m);
ssize_t unix_send_datagram(struct socket *s, struct uio *u, int flags, struct sending *m);
ssize_t unix_receive_stream(struct socket *s, struct uio *u, int flags, struct received *m);
ssize_t unix_receive_packet(struct socket *s, struct uio *u, int flags, struct received *m);
ssize_t unix_receive_datagram(struct socket *s, struct uio *u, int flags, struct received *m);
