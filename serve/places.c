// SPDX-License-Identifier: Apache-2.0
#include "serve/serve.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define BACKLOG 1024

/* A predecessor that was killed holds its address a moment longer. */
#define BIND_TRIES    25
#define BIND_PAUSE_US 20000

struct place {
    struct sockaddr_storage address;
    socklen_t size;
    bool is_public;
};

static bool read_port(const char *text, in_port_t *ret)
{
    char *end;
    unsigned long port = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || port > 65535)
        return false;
    *ret = htons((in_port_t)port);
    return true;
}

static bool read_v6(const char *address, in_port_t port, struct place *ret)
{
    struct sockaddr_in6 *a = (struct sockaddr_in6 *)&ret->address;
    *a = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
    ret->size = sizeof(*a);
    if (inet_pton(AF_INET6, address, &a->sin6_addr) != 1)
        return false;
    ret->is_public = !IN6_IS_ADDR_LOOPBACK(&a->sin6_addr);
    return true;
}

static bool read_v4(const char *address, in_port_t port, struct place *ret)
{
    struct sockaddr_in *a = (struct sockaddr_in *)&ret->address;
    *a = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
    ret->size = sizeof(*a);
    if (inet_pton(AF_INET, address, &a->sin_addr) != 1)
        return false;
    ret->is_public = ntohl(a->sin_addr.s_addr) >> 24 != 127;
    return true;
}

static bool read_place(const char *where, struct place *ret)
{
    char text[64];
    in_port_t port;
    if (strlen(where) >= sizeof(text))
        return false;
    strcpy(text, where);
    char *colon = strrchr(text, ':');
    if (!colon)
        return read_port(text, &port) && read_v4("127.0.0.1", port, ret);
    *colon = '\0';
    if (!read_port(colon + 1, &port))
        return false;
    if (text[0] == '[' && colon > text + 2 && colon[-1] == ']') {
        colon[-1] = '\0';
        return read_v6(text + 1, port, ret);
    }
    return read_v4(text, port, ret);
}

static int bind_patiently(int fd, const struct place *p)
{
    for (int i = 1;; i++) {
        if (bind(fd, (const struct sockaddr *)&p->address, p->size) == 0)
            return 0;
        if (errno != EADDRINUSE || i == BIND_TRIES)
            return -1;
        usleep(BIND_PAUSE_US);
    }
}

int serve_listen(const char *where, bool *ret_is_public, struct sandbox_error *e)
{
    const int on = 1;
    struct place place = {0};
    if (!read_place(where, &place))
        return sandbox_error_set(e, -EINVAL,
                                 "--listen '%s': not an address; write PORT, ADDRESS:PORT or "
                                 "[ADDRESS]:PORT, with numbers",
                                 where);
    _cleanup_close_ int fd =
        socket(place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind_patiently(fd, &place) < 0 || listen(fd, BACKLOG) < 0)
        return sandbox_error_set(e, -errno, "--listen %s: %s; choose another port or address",
                                 where, strerror(errno));
    *ret_is_public = place.is_public;
    return TAKE_FD(fd);
}

/* All folders on the way to it, for this user alone. */
static int make_folders(const char *path)
{
    _cleanup_free_ char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return mkdir(copy, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int serve_open_state(const char *path, struct sandbox_error *e)
{
    struct stat st;
    int r = make_folders(path);
    _cleanup_close_ int fd =
        r < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r == 0 && (fd < 0 || fstat(fd, &st) < 0))
        r = -errno;
    if (r < 0)
        return sandbox_error_set(e, r, "--state '%s': %s; give a folder of your own", path,
                                 strerror(-r));
    if (st.st_uid != geteuid() || (st.st_mode & 077))
        return sandbox_error_set(e, -EPERM,
                                 "--state '%s': others can reach into it; make it yours alone: "
                                 "chmod 700",
                                 path);
    return TAKE_FD(fd);
}

void serve_write_place(int listener, char text[SERVE_PLACE_SIZE])
{
    struct sockaddr_storage a = {0};
    socklen_t size = sizeof(a);
    char address[INET6_ADDRSTRLEN] = "127.0.0.1";
    getsockname(listener, (struct sockaddr *)&a, &size);
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a;
    bool is_v6 = a.ss_family == AF_INET6 && !IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
    if (is_v6)
        inet_ntop(AF_INET6, &v6->sin6_addr, address, sizeof(address));
    else if (a.ss_family == AF_INET && v4->sin_addr.s_addr != htonl(INADDR_ANY))
        inet_ntop(AF_INET, &v4->sin_addr, address, sizeof(address));
    /* The port is at the same place in both. */
    snprintf(text, SERVE_PLACE_SIZE, is_v6 ? "[%s]:%u" : "%s:%u", address, ntohs(v4->sin_port));
}
