// SPDX-License-Identifier: Apache-2.0
#include "sandbox/files_ask.h"

#include "sandbox/memory_file.h"
#include "sandbox/socket_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct files_packet {
    struct files_answer head;
    char text[FILES_ANSWER_MAX_BYTES];
};

/* ---- connection ---- */

static int make_memory(struct files_connection *c)
{
    c->memory_fd = memory_file_new_shared("glovebox-files", c->memory_size);
    if (c->memory_fd < 0)
        return -errno;
    void *at = mmap(NULL, c->memory_size, PROT_READ | PROT_WRITE, MAP_SHARED, c->memory_fd, 0);
    if (at == MAP_FAILED)
        return -errno;
    c->memory = at;
    c->packet = malloc(sizeof(*c->packet));
    return c->packet ? 0 : -ENOMEM;
}

int files_begin(int socket, size_t memory_size, struct files_connection *ret)
{
    const struct files_hello hello = {.version = FILES_VERSION};
    struct files_connection c = FILES_DISCONNECTED;
    c.socket = socket;
    c.memory_size = memory_size;
    int r = make_memory(&c);
    if (r == 0)
        r = socket_file_send(c.socket, &hello, sizeof(hello), c.memory_fd);
    if (r == 0 && fcntl(c.socket, F_SETFL, O_NONBLOCK) < 0)
        r = -errno;
    if (r < 0)
        files_disconnect(&c);
    else
        *ret = c;
    return r;
}

int files_connect(const char *name, size_t memory_size, struct files_connection *ret,
                  struct sandbox_error *e)
{
    int socket = socket_file_reach(name, SOCKET_FILE_FILES, e);
    if (socket < 0)
        return socket;
    int r = files_begin(socket, memory_size, ret);
    return r == 0 ? 0
                  : sandbox_error_set(e, r, "%s: %s; is its glovebox stopped, or short of memory?",
                                      name, strerror(-r));
}

void files_disconnect(struct files_connection *c)
{
    if (c->memory)
        munmap(c->memory, c->memory_size);
    base_closep(&c->socket);
    base_closep(&c->memory_fd);
    free(c->packet);
    *c = FILES_DISCONNECTED;
}

/* ---- questions ---- */

bool files_call_fits(const struct files_call *call)
{
    return (!call->user || strlen(call->user) <= FILES_USER_MAX_BYTES) &&
           (!call->path || strlen(call->path) <= FILES_PATH_MAX_BYTES) &&
           call->more_size <= FILES_METADATA_MAX_BYTES;
}

int files_send(struct files_connection *c, const struct files_call *call)
{
    struct files_question q = call->question;
    const char *user = call->user ? call->user : "", *path = call->path ? call->path : "";
    size_t user_size = strlen(user), path_size = strlen(path);
    if (c->is_waiting || q.size > c->memory_size || q.offset < 0)
        return -EINVAL;
    if (!files_call_fits(call))
        return -ENAMETOOLONG;
    q.user_size = (uint32_t)user_size;
    q.path_size = (uint32_t)path_size;
    q.more_size = (uint32_t)call->more_size;
    struct iovec parts[] = {{&q, sizeof(q)},
                            {(void *)user, user_size},
                            {(void *)path, path_size},
                            {(void *)call->more, call->more_size}};
    const struct msghdr m = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};
    ssize_t n;
    do
        n = sendmsg(c->socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EPIPE) /* why it was closed may still be to be read */
        return -errno;
    c->asked = q;
    c->is_waiting = true;
    return 0;
}

/* What value may be. */
static uint64_t value_max(const struct files_question *q)
{
    switch (q->type) {
    case FILES_READ_OPEN:
    case FILES_READ:
    case FILES_WRITE_OPEN:
    case FILES_WRITE:
        return q->size;
    case FILES_LIST:
    case FILES_LIST_NEXT:
        return 1;
    default:
        return 0;
    }
}

static bool is_answer(const struct files_connection *c, size_t size)
{
    const struct files_answer *a = &c->packet->head;
    if (size < sizeof(*a) || size > sizeof(*c->packet) || a->text_size != size - sizeof(*a) ||
        a->error < 0 || a->error > EHWPOISON || a->value < 0)
        return false;
    if (a->type == 0) /* instead of the first one: it is not taken in */
        return a->error > 0 && a->text_size == 0 && a->value == 0;
    return a->type == c->asked.type && (uint64_t)a->value <= value_max(&c->asked);
}

int files_receive(struct files_connection *c, struct files_result *ret)
{
    ssize_t n;
    do
        n = recv(c->socket, c->packet, sizeof(*c->packet), MSG_DONTWAIT | MSG_TRUNC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : -ECONNRESET;
    if (!c->is_waiting || !is_answer(c, (size_t)n))
        return -EPROTO;
    c->is_waiting = false;
    ret->error = c->packet->head.error;
    ret->value = c->packet->head.value;
    ret->records = (struct files_records){c->packet->text, c->packet->head.text_size};
    return 0;
}

int files_ask(struct files_connection *c, const struct files_call *call, int limit_ms,
              struct files_result *ret)
{
    int r = files_send(c, call);
    while (r == 0) {
        r = files_receive(c, ret);
        if (r != -EAGAIN)
            return r;
        struct pollfd p = {.fd = c->socket, .events = POLLIN};
        int n = poll(&p, 1, limit_ms);
        r = n == 0 ? -ETIMEDOUT : n < 0 && errno != EINTR ? -errno : 0;
    }
    return r;
}
