// SPDX-License-Identifier: Apache-2.0
#include "sandbox/usage_ask.h"

#include "sandbox/exec_ask.h"
#include "sandbox/socket_file.h"

#include <poll.h>

int usage_ask(const struct registry *r, const char *name)
{
    const struct exec_packet p = {.version = EXEC_VERSION, .type = EXEC_USAGE};
    _cleanup_close_ int fd = socket_file_connect_at_once(r, name, SOCKET_FILE_EXECS);
    if (fd < 0)
        return fd;
    int error = exec_ask(fd, &p, NULL);
    return error < 0 ? error : TAKE_FD(fd);
}

int usage_ask_take(int socket, struct exec_usage *ret)
{
    struct exec_message m;
    ssize_t n = exec_receive(socket, &m);
    if (n <= 0)
        return n < 0 ? (int)n : -EPIPE;
    if (m.packet.type == EXEC_ANSWER && m.packet.status > 0)
        return m.packet.status == EAGAIN ? -EBUSY : -m.packet.status;
    if (m.packet.type != EXEC_USED || m.packet.text_size != sizeof(*ret))
        return -EPROTO;
    memcpy(ret, m.text, sizeof(*ret));
    return 0;
}

int usage_ask_wait(const struct registry *r, const char *name, int limit_ms, struct exec_usage *ret)
{
    _cleanup_close_ int fd = usage_ask(r, name);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (fd < 0)
        return fd;
    int n = poll(&p, 1, limit_ms);
    return n > 0 ? usage_ask_take(fd, ret) : n == 0 ? -ETIMEDOUT : -errno;
}
