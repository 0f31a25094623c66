// SPDX-License-Identifier: Apache-2.0
#include "sandbox/socket_file.h"

#include "lib/base/passed.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

/* By way of the folder's descriptor: its path may be longer than a socket's address takes. */
static struct sockaddr_un make_address(const struct registry *r, const char *name,
                                       const char *suffix)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/.%s%s", r->sandboxes, name, suffix);
    return a;
}

static int new_socket(int flags)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
    return fd < 0 ? -errno : fd;
}

int socket_file_listen_as(const struct registry *r, const char *suffix, int backlog)
{
    const struct sockaddr_un a = make_address(r, r->name, suffix);
    int fd = new_socket(SOCK_NONBLOCK);
    if (fd < 0)
        return fd;
    /* The name is ours, so that whoever left one of it is dead. */
    unlink(a.sun_path);
    mode_t before = umask(077);
    int error = bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ? errno : 0;
    umask(before);
    if (!error && listen(fd, backlog) < 0)
        error = errno;
    if (!error)
        return fd;
    close(fd);
    return -error;
}

int socket_file_accept(int listener)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    _cleanup_close_ int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return -errno;
    return peer.uid == geteuid() ? TAKE_FD(fd) : -EPERM;
}

bool socket_file_is_short(int error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS;
}

/* limit_ms: of waiting for a place in its queue; 0: none. */
static int connect_with(const struct registry *r, const char *name, const char *suffix, int flags,
                        int limit_ms)
{
    const struct sockaddr_un a = make_address(r, name, suffix);
    const struct timeval limit = {limit_ms / 1000, limit_ms % 1000 * 1000};
    int fd = new_socket(flags);
    if (fd < 0)
        return fd;
    if ((limit_ms == 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0) &&
        connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0)
        return fd;
    int error = errno;
    close(fd);
    return -error;
}

int socket_file_connect_as(const struct registry *r, const char *name, const char *suffix)
{
    return connect_with(r, name, suffix, 0, 0);
}

int socket_file_connect_at_once(const struct registry *r, const char *name, const char *suffix)
{
    return connect_with(r, name, suffix, SOCK_NONBLOCK, 0);
}

int socket_file_connect_within(const struct registry *r, const char *name, const char *suffix,
                               int limit_ms)
{
    if (limit_ms <= 0)
        return -ETIMEDOUT;
    int fd = connect_with(r, name, suffix, 0, limit_ms);
    return fd == -EAGAIN ? -ETIMEDOUT : fd;
}

int socket_file_reach(const char *name, const char *suffix, struct sandbox_error *e)
{
    struct registry registry;
    char *record;
    int r = registry_open(&registry, e);
    if (r < 0)
        return r;
    r = registry_read(&registry, name, &record);
    if (r == 0) {
        free(record);
        r = socket_file_connect_as(&registry, name, suffix);
    }
    registry_close(&registry);
    if (r == -ENOENT || r == -ECONNREFUSED)
        return sandbox_error_set(
            e, -ENOENT,
            "%.*s: no sandbox of this name is running; glovebox ps lists those "
            "that are",
            REGISTRY_NAME_MAX_BYTES, name);
    return r >= 0
               ? r
               : sandbox_error_set(e, r, "%s: %s; is it yours, and running?", name, strerror(-r));
}

int socket_file_send(int socket, const void *data, size_t size, int fd)
{
    union passed room;
    struct iovec part = {(void *)data, size};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};
    passed_put(&h, &room, fd);
    ssize_t n;
    do
        n = sendmsg(socket, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

ssize_t socket_file_receive(int socket, void *data, size_t size, int *ret_fd)
{
    union passed room;
    struct iovec part = {data, size};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};
    passed_expect(&h, &room);
    ssize_t n;
    do
        n = recvmsg(socket, &h, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    *ret_fd = passed_take(&h);
    return n;
}
