// SPDX-License-Identifier: Apache-2.0
#include "sandbox/stream_pair.h"

#include <fcntl.h>
#include <sys/socket.h>

/* What may lie between program and terminal: enough for a screen, little enough for a quick Ctrl-C.
 */
#define TERMINAL_BUFFER_BYTES (16 * 1024)

/* Only this end: the other one is a file description of its own. */
static bool set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool stream_pair_pipe(int *ret_ours, int *ret_theirs, bool we_read)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return false;
    *ret_ours = fds[we_read ? 0 : 1];
    *ret_theirs = fds[we_read ? 1 : 0];
    return true;
}

bool stream_pair_sockets(int type, int *ret_ours, int *ret_theirs)
{
    int fds[2];
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) < 0)
        return false;
    *ret_ours = fds[0];
    *ret_theirs = fds[1];
    return set_nonblocking(*ret_ours);
}

bool stream_pair_terminal(int *ret_input, int *ret_output, int *ret_theirs)
{
    int size = TERMINAL_BUFFER_BYTES;
    if (!stream_pair_sockets(SOCK_STREAM, ret_output, ret_theirs) ||
        setsockopt(*ret_theirs, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0)
        return false;
    *ret_input = fcntl(*ret_output, F_DUPFD_CLOEXEC, 0);
    return *ret_input >= 0;
}
