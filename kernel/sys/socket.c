// SPDX-License-Identifier: Apache-2.0
/*
 * socket(2), bind(2), listen(2), accept(2), connect(2) and what asks about sockets. Sending and
 * receiving: socket_transfer.c.
 */
#include "kernel/sys/socket_call.h"

#include "kernel/core/limits.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/new_fd.h"

#define TYPE_MASK  0xf
#define TYPE_FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK)

int socket_call_begin(struct call *c, struct socket_call *ret)
{
    if (c->state) {
        *ret = *(struct socket_call *)c->state;
        return 0;
    }
    struct file *f = args_file(c, call_int(c, 0));
    if (!f)
        return -EBADF;
    struct socket *s = socket_of(f);
    if (!s)
        return -ENOTSOCK;
    *ret = (struct socket_call){.file = f, .socket = s, .deadline_ns = CALL_NO_DEADLINE};
    return 0;
}

static void release_call(struct call *c)
{
    struct socket_call *sc = c->state;
    if (sc->part)
        received_done(&sc->part->received);
    free(sc->part);
    file_put(sc->file);
    free(sc);
}

static int keep(struct call *c, const struct socket_call *sc)
{
    if (!c->state) {
        struct socket_call *kept = malloc(sizeof(*kept));
        if (!kept)
            return -ENOMEM;
        file_get(sc->file);
        c->state = kept;
        c->release = release_call;
    }
    *(struct socket_call *)c->state = *sc;
    return 0;
}

long socket_call_yield(struct call *c, const struct socket_call *sc)
{
    int r = keep(c, sc);
    return r < 0 ? r : args_yield(c, sc->file, false);
}

long socket_call_park(struct call *c, const struct socket_call *sc, struct waitq *q,
                      int64_t timeout_ns)
{
    int r = keep(c, sc);
    if (r < 0)
        return r;
    if (timeout_ns > 0)
        call_set_timeout(c, timeout_ns);
    r = call_wait_on(c, q);
    if (r < 0)
        return r;
    /* signal(7): with a time-out set, these calls are not restarted. */
    return call_park(c, timeout_ns > 0 ? RESTART_NEVER : RESTART_SYS);
}

int socket_read_address(const struct call *c, struct gaddr from, int size, struct net_address *ret)
{
    if (size < 0 || (size_t)size > sizeof(ret->bytes))
        return -EINVAL;
    *ret = (struct net_address){.size = (socklen_t)size};
    return call_read(c, ret->bytes, from, (size_t)size);
}

int socket_write_address(const struct call *c, struct gaddr to, struct gaddr size_at,
                         const struct net_address *a)
{
    int size, full = (int)a->size;
    int r = call_read(c, &size, size_at, sizeof(size));
    if (r < 0)
        return r;
    if (size < 0)
        return -EINVAL;
    r = call_write(c, to, a->bytes, (size_t)MIN(size, full));
    return r < 0 ? r : call_write(c, size_at, &full, sizeof(full));
}

/* ---- making ---- */

/* The descriptor of a new socket, whose reference is taken over in any case. */
static long install(struct call *c, struct socket *s, int flags)
{
    struct file *f;
    int r = socket_file_new(s, flags & SOCK_NONBLOCK ? O_NONBLOCK : 0, &f);
    if (r < 0) {
        socket_release(s);
        return r;
    }
    return new_fd_install(c, f, flags & SOCK_CLOEXEC);
}

long sys_socket(struct call *c)
{
    int type = call_int(c, 1);
    struct socket *s;
    if (type & ~TYPE_MASK & ~TYPE_FLAGS)
        return -EINVAL;
    int r = socket_create(c->thread, call_int(c, 0), type & TYPE_MASK, call_int(c, 2), &s);
    return r < 0 ? r : install(c, s, type);
}

long sys_socketpair(struct call *c)
{
    int type = call_int(c, 1), fds[2];
    struct socket *pair[2];
    struct fdtable *table = c->thread->files;
    if (type & ~TYPE_MASK & ~TYPE_FLAGS)
        return -EINVAL;
    int r = socket_create_pair(c->thread, call_int(c, 0), type & TYPE_MASK, call_int(c, 2), pair);
    if (r < 0)
        return r;
    long first = install(c, pair[0], type);
    if (first < 0) {
        socket_release(pair[1]);
        return first;
    }
    fds[0] = (int)first;
    long second = install(c, pair[1], type);
    if (second < 0) {
        fdtable_close(table, fds[0], table);
        return second;
    }
    fds[1] = (int)second;
    r = call_write(c, call_addr(c, 3), fds, sizeof(fds));
    if (r < 0) {
        fdtable_close(table, fds[0], table);
        fdtable_close(table, fds[1], table);
    }
    return r;
}

long sys_bind(struct call *c)
{
    struct socket_call sc;
    struct net_address a;
    int r = socket_call_begin(c, &sc);
    if (r == 0)
        r = socket_read_address(c, call_addr(c, 1), call_int(c, 2), &a);
    return r < 0 ? r : sc.socket->ops->bind(sc.socket, c->thread, &a);
}

long sys_listen(struct call *c)
{
    struct socket_call sc;
    int r = socket_call_begin(c, &sc);
    if (r < 0)
        return r;
    uint32_t backlog = MIN(call_uint(c, 1), (uint32_t)LIMIT_SOCKET_BACKLOG);
    return sc.socket->ops->listen(sc.socket, c->thread, (int)backlog);
}

/* ---- connections ---- */

/* Gives a connection its descriptor; where that can't be had it goes back into the queue. */
static long install_connection(struct call *c, struct socket *listener, struct socket *connection,
                               int flags)
{
    struct file *f;
    size_t limit = process_limit(c->thread->process, RLIMIT_NOFILE);
    long r = socket_file_new(connection, flags & SOCK_NONBLOCK ? O_NONBLOCK : 0, &f);
    if (r == 0) {
        f->read_timeout_ns = connection->receive_timeout_ns;
        f->write_timeout_ns = connection->send_timeout_ns;
        r = fdtable_install(c->thread->files, f, 0, limit, flags & SOCK_CLOEXEC);
        if (r >= 0)
            return r;
        f->private = NULL;
        connection->file = NULL;
        file_put(f);
    }
    listener->ops->accept_undo(listener, connection);
    return r;
}

static long tell_address(struct call *c, struct socket *connection, long fd)
{
    struct net_address a = {0};
    struct fdtable *table = c->thread->files;
    int r = 0;
    if (c->arg[1] == 0)
        return fd;
    if (connection->ops->name(connection, ACCEPTED_END, &a) < 0)
        r = -ECONNABORTED;
    if (r == 0)
        r = socket_write_address(c, call_addr(c, 1), call_addr(c, 2), &a);
    if (r == 0)
        return fd;
    fdtable_close(table, (int)fd, table);
    return r;
}

static long accept_connection(struct call *c, int flags)
{
    struct socket_call sc;
    struct socket *connection;
    if (flags & ~TYPE_FLAGS)
        return -EINVAL;
    int r = socket_call_begin(c, &sc);
    if (r == 0)
        r = sc.socket->ops->accept(sc.socket, &connection);
    if (r == -EAGAIN && socket_call_waits(c, &sc))
        return socket_call_park(c, &sc, &sc.socket->wait, sc.socket->receive_timeout_ns);
    if (r < 0)
        return r;
    long fd = install_connection(c, sc.socket, connection, flags);
    return fd < 0 ? fd : tell_address(c, connection, fd);
}

long sys_accept(struct call *c)
{
    return accept_connection(c, 0);
}

long sys_accept4(struct call *c)
{
    return accept_connection(c, call_int(c, 3));
}

long sys_connect(struct call *c)
{
    struct socket_call sc;
    struct net_address a;
    struct waitq *wait = NULL;
    int r = socket_call_begin(c, &sc);
    if (r == 0)
        r = socket_read_address(c, call_addr(c, 1), call_int(c, 2), &a);
    if (r < 0)
        return r;
    bool may_wait = !(sc.file->flags & O_NONBLOCK);
    r = sc.socket->ops->connect(sc.socket, c->thread, &a, may_wait, &wait);
    if (r == 0 || !wait)
        return r;
    if (!sc.first_error)
        sc.first_error = r;
    if (!socket_call_waits(c, &sc))
        return sc.first_error;
    return socket_call_park(c, &sc, wait, sc.socket->send_timeout_ns);
}

static long get_name(struct call *c, enum socket_end end)
{
    struct socket_call sc;
    struct net_address a = {0};
    int r = socket_call_begin(c, &sc);
    if (r == 0)
        r = sc.socket->ops->name(sc.socket, end, &a);
    return r < 0 ? r : socket_write_address(c, call_addr(c, 1), call_addr(c, 2), &a);
}

long sys_getsockname(struct call *c)
{
    return get_name(c, OWN_END);
}

long sys_getpeername(struct call *c)
{
    return get_name(c, PEER_END);
}

long sys_shutdown(struct call *c)
{
    struct socket_call sc;
    unsigned how = call_uint(c, 1);
    int r = socket_call_begin(c, &sc);
    if (r < 0)
        return r;
    if (how > SHUT_RDWR)
        return -EINVAL;
    /* SHUT_RD, SHUT_WR, SHUT_RDWR are 0, 1, 2: one less than the bits. */
    return sc.socket->ops->shutdown(sc.socket, how + 1);
}

/* ---- options ---- */

long sys_setsockopt(struct call *c)
{
    struct socket_call sc;
    struct socket_option o = {.call = c, .value = call_addr(c, 3), .size = call_int(c, 4)};
    int r = socket_call_begin(c, &sc);
    if (r < 0)
        return r;
    if (o.size < 0)
        return -EINVAL;
    return socket_set_option(sc.socket, call_int(c, 1), call_int(c, 2), &o);
}

long sys_getsockopt(struct call *c)
{
    struct socket_call sc;
    struct socket_option o = {.call = c, .value = call_addr(c, 3), .size_address = call_addr(c, 4)};
    int r = socket_call_begin(c, &sc);
    if (r == 0)
        r = call_read(c, &o.size, o.size_address, sizeof(o.size));
    if (r < 0)
        return r;
    if (o.size < 0)
        return -EINVAL;
    return socket_get_option(sc.socket, call_int(c, 1), call_int(c, 2), &o);
}
