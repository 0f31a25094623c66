// SPDX-License-Identifier: Apache-2.0
#include "sandbox/copy_ask.h"

#include "sandbox/socket_file.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* A starter may be stopped, and a disk be slow; else it takes moments. */
#define ANSWER_MS 60000

static int ask(int socket, enum copy_question question, const char *path, bool follows)
{
    const struct copy_packet p = {.version = COPY_VERSION,
                                  .type = question,
                                  .follows = follows,
                                  .text_size = (uint32_t)strlen(path)};
    struct iovec parts[] = {{(void *)&p, sizeof(p)}, {(void *)path, p.text_size}};
    const struct msghdr m = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};
    ssize_t n;
    do
        n = sendmsg(socket, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/* One answer's size, or negative errno. */
static ssize_t wait_answer(int socket, char answer[COPY_ANSWER_MAX])
{
    struct pollfd p = {.fd = socket, .events = POLLIN};
    int n;
    do
        n = poll(&p, 1, ANSWER_MS);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return -ETIMEDOUT;
    ssize_t size = recv(socket, answer, COPY_ANSWER_MAX, MSG_DONTWAIT | MSG_TRUNC);
    if (size <= 0)
        return size < 0 ? -errno : -ECONNRESET;
    return size > COPY_ANSWER_MAX ? -EPROTO : size;
}

static int explain_silence(const char *name, int error, struct sandbox_error *e)
{
    if (error == -ECONNRESET || error == -EPIPE)
        return sandbox_error_set(e, error,
                                 "%s: it ended, or has too many copies under way; look with "
                                 "glovebox ps, and try again",
                                 name);
    return sandbox_error_set(e, error, "%s: its glovebox run does not answer: %s; is it stopped?",
                             name, strerror(-error));
}

int copy_ask(const char *name, const char *path, bool follows, struct copy_reader *r,
             struct sandbox_error *e)
{
    _cleanup_free_ char *answer = malloc(COPY_ANSWER_MAX);
    if (!answer)
        return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    if (strlen(path) > COPY_PATH_MAX_BYTES)
        return sandbox_error_set(e, -ENAMETOOLONG, "%s: the path is too long; give a shorter one",
                                 name);
    _cleanup_close_ int socket = socket_file_reach(name, SOCKET_FILE_COPIES, e);
    if (socket < 0)
        return socket;
    int error = ask(socket, COPY_OPEN, path, follows);
    for (;;) {
        ssize_t size = error < 0 ? error : wait_answer(socket, answer);
        if (size < 0)
            return explain_silence(name, (int)size, e);
        error = copy_reader_take(r, answer, (size_t)size, e);
        if (error < 0)
            return sandbox_error_prefix(e, error, "%s:%s", name, path);
        if (r->is_over)
            return 0;
        error = ask(socket, COPY_NEXT, "", false);
    }
}
