// SPDX-License-Identifier: Apache-2.0
/*
 * The socket object: what all families share, and the table of operations each of them fills in.
 *
 * Life. A socket is counted: by its open file, by the queue of a listener it waits in, by the
 * messages it has sent, by a peer. `release` is called once, when its file is closed (or the
 * listener that it waited in): it lets go of the peer, purges the queues and wakes whoever waits;
 * `dead` is set. The memory goes with the last reference.
 *
 * Waiting. Operations never park: they answer -EAGAIN and name in *ret_wait the queue whose wake-up
 * makes another try worth it. The system-call layer waits, or not.
 *
 * Errors. `error` is what SO_ERROR would tell: a positive errno that the next operation takes and
 * reports (socket_take_error()).
 */
#pragma once

#include "kernel/net/message.h"
#include "kernel/net/net.h"
#include "kernel/net/rights.h"
#include "kernel/proc/process.h"

#include <linux/netlink.h>
#include <sys/un.h>

#define SOCKET_SEND_BUFFER    212992 /* net.core.wmem_default, wmem_max */
#define SOCKET_RECEIVE_BUFFER 212992
#define SOCKET_STREAM_PIECE   65536 /* the most one message of a stream holds */

struct net_address {
    socklen_t size; /* bytes of the union that are meant; 0: no address */
    union {
        struct sockaddr any;
        struct sockaddr_un un;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_nl nl;
        unsigned char bytes[sizeof(struct sockaddr_storage)];
    };
};

/* Whose name: ACCEPTED_END is the peer of a connection that may have been closed since. */
enum socket_end { OWN_END, PEER_END, ACCEPTED_END };

enum socket_state { SOCKET_IDLE, SOCKET_CONNECTING, SOCKET_CONNECTED, SOCKET_LISTENING };

#define SHUTDOWN_RECEIVE 1u
#define SHUTDOWN_SEND    2u
#define SHUTDOWN_BOTH    3u

#define SOCKET_READABLE (EPOLLIN | EPOLLRDNORM)
#define SOCKET_WRITABLE (EPOLLOUT | EPOLLWRNORM)
#define SOCKET_CHANGED \
    (SOCKET_READABLE | SOCKET_WRITABLE | EPOLLPRI | EPOLLHUP | EPOLLRDHUP | EPOLLERR)

struct socket;

/* One message to send. */
struct sending {
    const struct net_address *to; /* NULL: where it is connected to */
    struct thread *thread;        /* who sends; NULL: the kernel itself (sendfile, splice) */
    struct rights *rights;        /* not in flight yet; set to NULL when taken over */
    bool has_creds;
    struct ucred creds;            /* checked */
    bool has_hop_limit, has_class; /* given for this message, not the socket's */
    int hop_limit, traffic_class;
    bool signals;       /* ret: EPIPE is to be told by SIGPIPE too */
    struct waitq *wait; /* ret, with -EAGAIN */
};

/* What came with a message that was received; zero at first, received_done() at the end. */
struct received {
    struct net_address from;
    int flags;             /* MSG_TRUNC, MSG_OOB */
    size_t full_size;      /* of a datagram */
    struct rights *rights; /* landed, or a copy */
    bool has_creds, has_time, has_hop_limit, has_class;
    bool is_v4; /* came over IPv4, maybe to a socket of IPv6 */
    bool has_destination4, has_destination6;
    bool stop; /* of a stream: nothing more may be added to this read */
    struct ucred creds;
    int64_t time_ns;
    struct inet_endpoint destination;
    int hop_limit, traffic_class;
    struct waitq *wait; /* with -EAGAIN */
};

void received_done(struct received *r);

/* The value argument of a socket option, in the caller's memory. */
struct socket_option {
    struct call *call;
    struct gaddr value;
    int size;                  /* optlen, not negative */
    struct gaddr size_address; /* getsockopt */
};

struct socket_ops {
    int (*bind)(struct socket *s, struct thread *t, const struct net_address *a);
    /*
     * 0, or an error. -EAGAIN and -EINPROGRESS with *ret_wait: a blocking caller waits and calls
     * again (then also -EALREADY). wait: false for a non-blocking socket.
     */
    int (*connect)(struct socket *s, struct thread *t, const struct net_address *a, bool wait,
                   struct waitq **ret_wait);
    int (*listen)(struct socket *s, struct thread *t, int backlog);
    /* Takes a connection out of the queue: its reference is the caller's. -EAGAIN: wait on s->wait.
     */
    int (*accept)(struct socket *s, struct socket **ret);
    /* The connection could not be given out: back to the front of the queue. */
    void (*accept_undo)(struct socket *s, struct socket *connection);
    int (*name)(struct socket *s, enum socket_end end, struct net_address *ret);
    int (*shutdown)(struct socket *s, unsigned how);
    ssize_t (*send)(struct socket *s, struct uio *u, int flags, struct sending *m);
    ssize_t (*receive)(struct socket *s, struct uio *u, int flags, struct received *m);
    uint32_t (*poll)(struct socket *s, struct poll_table *table);
    /* Levels other than SOL_SOCKET: -ENOPROTOOPT for unknown ones. NULL: none. */
    int (*set_option)(struct socket *s, int level, int name, const struct socket_option *o);
    int (*get_option)(struct socket *s, int level, int name, const struct socket_option *o);
    long (*ioctl)(struct socket *s, struct call *c, unsigned request, struct gaddr argument);
    void (*describe)(struct socket *s, struct net_socket_info *info);
    void (*release)(struct socket *s);
    void (*done)(struct socket *s); /* the memory goes; may be NULL */
};

struct socket {
    size_t refs;
    const struct socket_ops *ops;
    int family, type, protocol;
    struct file *file; /* borrowed; NULL: not accepted yet, or closed */
    uint64_t ino;
    enum socket_state state;
    unsigned shutdown; /* SHUTDOWN_* */
    int error;
    bool dead;
    bool no_space; /* somebody found no room to send: wake when there is */
    struct waitq wait;
    struct message_queue receive;
    size_t send_used;
    struct list all_link;

    /* of a listener */
    struct list accept_queue; /* accept_link */
    struct list accept_link;
    size_t accept_count, backlog;

    /* options */
    bool reuse_address, reuse_port, keep_alive, broadcast, oob_inline, pass_creds, dont_route;
    bool timestamp, timestamp_ns, debug, no_check, drop_count, zero_copy, pass_security;
    bool linger;
    int linger_seconds;
    int receive_low, priority, busy_poll;
    uint32_t mark;
    bool send_buffer_set, receive_buffer_set, to_loopback;
    size_t send_buffer, receive_buffer;
    int64_t send_timeout_ns, receive_timeout_ns; /* 0: none */

    /* who made it; who is at the other end (SO_PEERCRED), NULL: unknown */
    uid_t uid;
    struct ucred owner;
    struct cred *peer_cred;
    pid_t peer_pid;

    /* rights.c; of AF_UNIX */
    size_t in_flight, outside_references;
    struct list flight_link, collect_link;
    bool suspect;
};

/*
 * A zeroed socket of `size` bytes that begins with struct socket; refs 1. t: its maker, NULL for a
 * connection that a listener gets (then the options are copied from `parent`). NULL: LIMIT_SOCKETS
 * is reached or memory is out.
 */
struct socket *socket_new(size_t size, const struct socket_ops *ops, int family, int type);
/* Why socket_new() gave NULL: -ENFILE at the limit, as socket(2) says; else no_memory. */
int socket_new_error(int no_memory);
void socket_set_owner(struct socket *s, const struct thread *t);
void socket_inherit(struct socket *s, const struct socket *parent);
struct socket *socket_get(struct socket *s);
void socket_put(struct socket *s);

/* Calls release and drops the caller's reference. */
void socket_release(struct socket *s);

/* socket(2): checks family, type and protocol. */
int socket_create(struct thread *t, int family, int type, int protocol, struct socket **ret);
/* socketpair(2): -EOPNOTSUPP for families without. */
int socket_create_pair(struct thread *t, int family, int type, int protocol, struct socket *ret[2]);

/* The open file of s, which takes its reference over (on success only). flags: O_NONBLOCK or 0. */
int socket_file_new(struct socket *s, int flags, struct file **ret);

static inline void socket_wake(struct socket *s, uint32_t events)
{
    waitq_wake(&s->wait, events);
}

/* Sets the pending error (positive errno) and wakes. */
void socket_fail(struct socket *s, int error);
/* The pending error as negative errno, which is cleared; 0: none. */
int socket_take_error(struct socket *s);

/* A message's memory no longer counts against s: wakes its writers when there is room again. */
void socket_uncharge(struct socket *s, size_t size);
/* Room for EPOLLOUT, as sock_writeable() and unix_writable() of Linux: a quarter may be used. */
bool socket_has_room(const struct socket *s);

/*
 * What must be there before a read of a stream gets any of it: SO_RCVLOWAT, all for a peek with
 * MSG_WAITALL (other reads collect in pieces). Whoever does not wait gets what there is.
 */
size_t socket_receive_target(const struct socket *s, const struct uio *u, int flags);

/* Waits of whoever still waits end: before a waitq's memory goes. */
void socket_waitq_done(struct waitq *q);

/* The listener's queue: takes over a reference (push), gives it back (pop; NULL: empty). */
void socket_accept_push(struct socket *listener, struct socket *connection);
struct socket *socket_accept_pop(struct socket *listener);
void socket_accept_undo(struct socket *listener, struct socket *connection);

/* Who is at the other end, for SO_PEERCRED. */
void socket_set_peer_cred(struct socket *s, struct cred *cred, pid_t pid);

/* SOL_SOCKET and dispatch to the family: options.c. */
int socket_set_option(struct socket *s, int level, int name, const struct socket_option *o);
int socket_get_option(struct socket *s, int level, int name, const struct socket_option *o);

/* Option values: reads exactly size bytes (-EINVAL when optlen is less), an int, or gives one back.
 */
int option_read(const struct socket_option *o, void *data, size_t size);
int option_read_int(const struct socket_option *o, int *ret);
int option_write(const struct socket_option *o, const void *data, size_t size);
int option_write_int(const struct socket_option *o, int value);

/* What each family provides. type has no flags. */
int unix_create(int type, int protocol, struct socket **ret);
int unix_create_pair(struct thread *t, int type, int protocol, struct socket *ret[2]);
int inet_create(int family, int type, int protocol, struct socket **ret);
int netlink_create(int type, int protocol, struct socket **ret);

/* SIOCGIF* about the loopback interface: interface.c. -ENOTTY for others. */
long interface_ioctl(struct call *c, int family, unsigned request, struct gaddr argument);
