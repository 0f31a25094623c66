// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/socket.h"

#include "kernel/core/kernel.h"

#include <linux/capability.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#define SOCKET_TYPE_LAST SOCK_PACKET
#define FAMILY_COUNT     46 /* NPROTO of Linux */

static struct list all_sockets = {&all_sockets, &all_sockets};
static size_t socket_total;

struct socket *socket_new(size_t size, const struct socket_ops *ops, int family, int type)
{
    if (socket_total >= LIMIT_SOCKETS)
        return NULL;
    struct socket *s = calloc(1, size);
    if (!s)
        return NULL;
    s->refs = 1;
    s->ops = ops;
    s->family = family;
    s->type = type;
    s->receive_low = 1;
    s->send_buffer = SOCKET_SEND_BUFFER;
    s->receive_buffer = SOCKET_RECEIVE_BUFFER;
    waitq_init(&s->wait);
    message_queue_init(&s->receive);
    list_init(&s->accept_queue);
    list_init(&s->accept_link);
    list_init(&s->flight_link);
    list_init(&s->collect_link);
    list_append(&all_sockets, &s->all_link);
    socket_total++;
    return s;
}

int socket_new_error(int no_memory)
{
    return socket_total >= LIMIT_SOCKETS ? -ENFILE : no_memory;
}

void socket_set_owner(struct socket *s, const struct thread *t)
{
    s->uid = t->cred->fsuid;
    s->owner = (struct ucred){t->process->pid, t->cred->uid, t->cred->gid};
}

/* What an accepted connection takes over from its listener (sk_clone_lock() of Linux). */
void socket_inherit(struct socket *s, const struct socket *parent)
{
    s->protocol = parent->protocol;
    s->uid = parent->uid;
    s->owner = parent->owner;
    s->reuse_address = parent->reuse_address;
    s->reuse_port = parent->reuse_port;
    s->keep_alive = parent->keep_alive;
    s->oob_inline = parent->oob_inline;
    s->dont_route = parent->dont_route;
    s->linger = parent->linger;
    s->linger_seconds = parent->linger_seconds;
    s->receive_low = parent->receive_low;
    s->priority = parent->priority;
    s->mark = parent->mark;
    s->send_buffer = parent->send_buffer;
    s->send_buffer_set = parent->send_buffer_set;
    s->receive_buffer = parent->receive_buffer;
    s->receive_buffer_set = parent->receive_buffer_set;
    s->send_timeout_ns = parent->send_timeout_ns;
    s->receive_timeout_ns = parent->receive_timeout_ns;
}

struct socket *socket_get(struct socket *s)
{
    s->refs++;
    return s;
}

void socket_put(struct socket *s)
{
    if (--s->refs > 0)
        return;
    if (s->ops->done)
        s->ops->done(s);
    message_queue_purge(&s->receive);
    socket_waitq_done(&s->wait);
    list_remove(&s->all_link);
    list_remove(&s->flight_link);
    if (s->peer_cred)
        cred_put(s->peer_cred);
    socket_total--;
    free(s);
}

void socket_release(struct socket *s)
{
    s->file = NULL;
    s->ops->release(s);
    s->dead = true;
    socket_wake(s, SOCKET_CHANGED);
    socket_put(s);
}

void socket_waitq_done(struct waitq *q)
{
    waitq_wake(q, SOCKET_CHANGED);
    while (!list_is_empty(&q->entries))
        list_remove(q->entries.next);
}

void socket_fail(struct socket *s, int error)
{
    s->error = error;
    socket_wake(s, SOCKET_CHANGED);
}

int socket_take_error(struct socket *s)
{
    int error = s->error;
    s->error = 0;
    return -error;
}

bool socket_has_room(const struct socket *s)
{
    return s->send_used * 4 <= s->send_buffer;
}

void socket_uncharge(struct socket *s, size_t size)
{
    s->send_used -= size;
    if (s->dead || !s->no_space || !socket_has_room(s))
        return;
    s->no_space = false;
    socket_wake(s, SOCKET_WRITABLE);
}

size_t socket_receive_target(const struct socket *s, const struct uio *u, int flags)
{
    size_t target = MIN((size_t)s->receive_low, u->left);
    if (flags & MSG_DONTWAIT)
        return 1;
    if ((flags & MSG_PEEK) && (flags & MSG_WAITALL))
        target = u->left;
    return MAX(target, (size_t)1);
}

void received_done(struct received *r)
{
    rights_free(r->rights);
    r->rights = NULL;
}

void socket_accept_push(struct socket *listener, struct socket *connection)
{
    list_append(&listener->accept_queue, &connection->accept_link);
    listener->accept_count++;
    socket_wake(listener, SOCKET_READABLE);
}

struct socket *socket_accept_pop(struct socket *listener)
{
    struct socket *s = list_first(&listener->accept_queue, struct socket, accept_link);
    if (!s)
        return NULL;
    list_remove(&s->accept_link);
    listener->accept_count--;
    return s;
}

void socket_accept_undo(struct socket *listener, struct socket *connection)
{
    list_prepend(&listener->accept_queue, &connection->accept_link);
    listener->accept_count++;
}

void socket_set_peer_cred(struct socket *s, struct cred *cred, pid_t pid)
{
    if (cred)
        cred_get(cred);
    if (s->peer_cred)
        cred_put(s->peer_cred);
    s->peer_cred = cred;
    s->peer_pid = pid;
}

/* ---- making ---- */

static int check_kind(int family, int type)
{
    if (family < 0 || family >= FAMILY_COUNT)
        return -EAFNOSUPPORT;
    if (type <= 0 || type > SOCKET_TYPE_LAST)
        return -EINVAL;
    /* Raw packets are for whoever owns a network; here nobody does. */
    if (family == AF_PACKET || (family == AF_INET && type == SOCK_PACKET))
        return -EPERM;
    return 0;
}

int socket_create(struct thread *t, int family, int type, int protocol, struct socket **ret)
{
    int r = check_kind(family, type);
    if (r < 0)
        return r;
    switch (family) {
    case AF_UNIX:
        r = unix_create(type, protocol, ret);
        break;
    case AF_INET:
    case AF_INET6:
        r = inet_create(family, type, protocol, ret);
        break;
    case AF_NETLINK:
        r = netlink_create(type, protocol, ret);
        break;
    default:
        r = -EAFNOSUPPORT;
        break;
    }
    if (r == 0)
        socket_set_owner(*ret, t);
    return r;
}

int socket_create_pair(struct thread *t, int family, int type, int protocol, struct socket *ret[2])
{
    if (family == AF_UNIX)
        return unix_create_pair(t, type, protocol, ret);
    struct socket *s;
    int r = socket_create(t, family, type, protocol, &s);
    if (r < 0)
        return r;
    socket_release(s);
    return -EOPNOTSUPP;
}

/* ---- the open file ---- */

static ssize_t file_op_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct socket *s = f->private;
    struct received m = {0};
    if (u->left == 0)
        return 0;
    ssize_t n = s->ops->receive(s, u, f->flags & O_NONBLOCK ? MSG_DONTWAIT : 0, &m);
    received_done(&m);
    return n;
}

/* Who writes, for SCM_CREDENTIALS: copies that the kernel makes itself have no caller's memory. */
static struct thread *writer(const struct uio *u)
{
    if (u->memory.host_tid == 0)
        return call_current ? call_current->thread : NULL;
    return thread_find_host(u->memory.host_tid);
}

static ssize_t file_op_write(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct socket *s = f->private;
    struct sending m = {.thread = writer(u)};
    return s->ops->send(s, u, 0, &m);
}

static uint32_t file_op_poll(struct file *f, struct poll_table *table)
{
    struct socket *s = f->private;
    poll_table_add(table, &s->wait);
    return s->ops->poll(s, table);
}

static long file_op_ioctl(struct file *f, struct call *c, unsigned request, struct gaddr argument)
{
    struct socket *s = f->private;
    long r = s->ops->ioctl(s, c, request, argument);
    return r == -ENOTTY ? interface_ioctl(c, s->family, request, argument) : r;
}

static void file_op_flush(struct file *f)
{
    if (((struct socket *)f->private)->family == AF_UNIX)
        rights_collect_soon();
}

static void file_op_release(struct file *f)
{
    if (f->private)
        socket_release(f->private);
}

/* Of these a blocking write goes on until all is written, and EPIPE comes with SIGPIPE. */
static const struct file_ops stream_file_ops = {
    .read = file_op_read,
    .write = file_op_write,
    .poll = file_op_poll,
    .ioctl = file_op_ioctl,
    .flush = file_op_flush,
    .release = file_op_release,
    .stream = true,
    .write_all = true,
    .tells_by_signal = true,
};

static const struct file_ops datagram_file_ops = {
    .read = file_op_read,
    .write = file_op_write,
    .poll = file_op_poll,
    .ioctl = file_op_ioctl,
    .flush = file_op_flush,
    .release = file_op_release,
    .stream = true,
    .tells_by_signal = true,
};

struct socket *socket_of(const struct file *f)
{
    if (f->ops != &stream_file_ops && f->ops != &datagram_file_ops)
        return NULL;
    return f->private;
}

int socket_file_new(struct socket *s, int flags, struct file **ret)
{
    const struct file_ops *ops = s->type == SOCK_STREAM ? &stream_file_ops : &datagram_file_ops;
    int r = file_new_anonymous("socket:[%llu]", S_IFSOCK | 0777, O_RDWR | flags, ops, s, ret);
    if (r < 0)
        return r;
    s->file = *ret;
    s->ino = (*ret)->inode->ino;
    (*ret)->inode->uid = s->uid;
    (*ret)->inode->gid = s->owner.gid;
    return 0;
}

void net_for_each_socket(void (*visit)(void *context, const struct net_socket_info *info),
                         void *context)
{
    struct socket *s;
    list_for_each(s, &all_sockets, all_link)
    {
        if (s->dead)
            continue;
        struct net_socket_info info = {
            .family = s->family,
            .type = s->type,
            .protocol = s->protocol,
            .ino = s->ino,
            .uid = s->uid,
            .refs = s->refs,
            .pid = s->owner.pid,
            .listening = s->state == SOCKET_LISTENING,
            .rx_bytes = s->state == SOCKET_LISTENING ? s->accept_count : s->receive.bytes,
            .tx_bytes = s->state == SOCKET_LISTENING ? s->backlog : s->send_used,
        };
        s->ops->describe(s, &info);
        visit(context, &info);
    }
}
