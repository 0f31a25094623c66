// SPDX-License-Identifier: Apache-2.0
#include "sandbox/port_ask.h"

#include "sandbox/socket_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

int port_reach(const char *name, struct sandbox_error *e)
{
    int fd = socket_file_reach(name, SOCKET_FILE_PORTS, e);
    if (fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
        int error = errno;
        close(fd);
        return sandbox_error_set(e, -error, "%s: %s; try again", name, strerror(error));
    }
    return fd;
}

int port_ask_connect(int socket, uint64_t number, uint16_t port, unsigned wait_ms, int fd)
{
    const struct port_question q = {.version = PORT_VERSION,
                                    .type = PORT_CONNECT,
                                    .number = number,
                                    .wait_ms = wait_ms,
                                    .port = port};
    return socket_file_send(socket, &q, sizeof(q), fd);
}

int port_ask_pair(int socket, uint64_t number, uint16_t port, unsigned wait_ms, int *ret_fd)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -errno;
    int r = port_ask_connect(socket, number, port, wait_ms, pair[1]);
    close(pair[1]);
    if (r < 0)
        close(pair[0]);
    else
        *ret_fd = pair[0];
    return r;
}

static int ask(int socket, uint32_t type, uint64_t number)
{
    const struct port_question q = {.version = PORT_VERSION, .type = type, .number = number};
    ssize_t n;
    do
        n = send(socket, &q, sizeof(q), MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

int port_ask_list(int socket, uint64_t number)
{
    return ask(socket, PORT_LIST, number);
}

int port_ask_published(int socket, uint64_t number)
{
    return ask(socket, PORT_PUBLISHED, number);
}

static bool is_listener(const struct ports_listener *l)
{
    return l->port && memchr(l->program, '\0', sizeof(l->program));
}

/* What the sandbox's kernel says may be a guest's. */
static bool is_whole(struct port_message *m, size_t size)
{
    const struct port_answer *a = &m->answer;
    if (size < sizeof(*a) || a->version != PORT_VERSION || a->text_size != size - sizeof(*a) ||
        a->error < 0 || a->error > EHWPOISON)
        return false;
    size_t record = a->type == PORT_LIST        ? sizeof(m->listeners[0])
                    : a->type == PORT_PUBLISHED ? sizeof(m->published[0])
                                                : 0;
    if (record == 0) {
        m->count = 0;
        return a->type == PORT_CONNECT && a->text_size == 0;
    }
    m->count = a->text_size / record;
    if (m->count * record != a->text_size)
        return false;
    for (size_t i = 0; a->type == PORT_LIST && i < m->count; i++)
        if (!is_listener(&m->listeners[i]))
            return false;
    return true;
}

int port_receive(int socket, struct port_message *m)
{
    const size_t room = offsetof(struct port_message, count);
    ssize_t n;
    do
        n = recv(socket, m, room, MSG_DONTWAIT | MSG_TRUNC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : -ECONNRESET;
    return (size_t)n <= room && is_whole(m, (size_t)n) ? 0 : -EPROTO;
}

int port_receive_wait(int socket, int limit_ms, struct port_message *m)
{
    int r;
    while ((r = port_receive(socket, m)) == -EAGAIN) {
        struct pollfd p = {.fd = socket, .events = POLLIN};
        int n = poll(&p, 1, limit_ms);
        if (n == 0)
            return -ETIMEDOUT;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
    return r;
}

const char *port_error_words(int error)
{
    switch (error) {
    case ECONNREFUSED:
        return "nothing listens there";
    case ETIMEDOUT:
        return "the program there accepts no connections";
    case EUSERS:
        return "the sandbox has as many connections as it may have";
    case EMFILE:
        return "the sandbox's kernel may have no more descriptors";
    case EAGAIN:
        return "the sandbox has too much to do";
    case ENOTCONN:
        return "who connected has gone";
    default:
        return strerror(error);
    }
}
