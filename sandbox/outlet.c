// SPDX-License-Identifier: Apache-2.0
#include "sandbox/outlet.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* A terminal is said to be writable from 256 free bytes on. */
#define TERMINAL_PIECE_BYTES 256

/* A file description of our own of the same pipe or terminal, or -1. */
static int open_again(int fd)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static void write_pieces(struct outlet *o, bool is_terminal)
{
    o->must_poll = true;
    o->is_terminal = is_terminal;
    o->max_bytes = is_terminal ? TERMINAL_PIECE_BYTES : PIPE_BUF;
}

void outlet_open_sealed(struct outlet *o, int fd)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);
    *o = (struct outlet){.fd = fd, .max_bytes = SIZE_MAX};
    if (fstat(fd, &st) < 0)
        return;
    o->is_socket = S_ISSOCK(st.st_mode);
    bool is_device = S_ISCHR(st.st_mode);
    if ((is_device || S_ISFIFO(st.st_mode)) && (flags < 0 || !(flags & O_NONBLOCK)))
        write_pieces(o, is_device);
}

void outlet_open(struct outlet *o, int fd)
{
    struct stat st;
    *o = (struct outlet){.fd = fd, .max_bytes = SIZE_MAX};
    if (fstat(fd, &st) < 0)
        return;
    bool is_terminal = S_ISCHR(st.st_mode) && isatty(fd);
    o->is_socket = S_ISSOCK(st.st_mode);
    if (!is_terminal && !S_ISFIFO(st.st_mode))
        return;
    int again = open_again(fd);
    if (again >= 0) {
        o->fd = again;
        o->is_own = true;
        return;
    }
    write_pieces(o, is_terminal);
}

void outlet_close(struct outlet *o)
{
    if (o->is_own)
        base_closep(&o->fd);
    *o = OUTLET_CLOSED;
}

/*
 * A terminal takes a run of characters at once, and those that it makes others of one by one. Each
 * of the two asks for room anew, and after the first may wait for it, whatever poll(2) has said.
 */
static size_t terminal_piece(const char *data, size_t size)
{
    size_t run = 0;
    while (run < size && !memchr("\n\r\t\b", data[run], 4))
        run++;
    return run ? run : MIN(size, (size_t)1);
}

ssize_t outlet_write(struct outlet *o, const void *data, size_t size, bool polled)
{
    if (o->fd < 0)
        return -EBADF;
    if (o->must_poll && !polled)
        return -EAGAIN;
    size = MIN(size, o->max_bytes);
    if (o->is_terminal)
        size = terminal_piece(data, size);
    ssize_t written = o->is_socket ? send(o->fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                                   : write(o->fd, data, size);
    if (written < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    return written;
}
