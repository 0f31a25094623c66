// SPDX-License-Identifier: Apache-2.0
#include "lib/base/update.h"
#include "lib/policy/policy.h"
#include "lib/text/shown.h"
#include "sandbox/memory_file.h"
#include "sandbox/socket_file.h"
#include "sandbox/updates.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

/* A starter may be stopped; one that runs answers at once. This is for all that is waited for, the
 * place in its queue too. */
#define ANSWER_MS 10000

static int64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / NSEC_PER_MSEC;
}

static int left_ms(int64_t deadline_ms)
{
    return (int)MAX(deadline_ms - now_ms(), (int64_t)0);
}

static int explain_connect(struct registry *r, const char *name, int error, struct sandbox_error *e)
{
    char *record = NULL;
    if (error == -ETIMEDOUT)
        return sandbox_error_set(e, error,
                                 "%s: its glovebox run does not answer, and others wait for it "
                                 "too; is it stopped? It was told nothing; try again",
                                 name);
    if (error != -ENOENT && error != -ECONNREFUSED)
        return sandbox_error_set(e, error, "%s: %s; is it yours, and running?", name,
                                 strerror(-error));
    /* A socket that nobody listens at is of one that was killed: its record may seem to live as
     * long as its processes are ending. */
    if (error == -ENOENT)
        error = registry_read(r, name, &record);
    if (error == -ENOENT || error == -ECONNREFUSED)
        return sandbox_error_set(e, -ENOENT,
                                 "%s: no sandbox of this name is running; glovebox ps lists those "
                                 "that are",
                                 name);
    if (error < 0)
        return sandbox_error_set(e, error, "%s: its record can't be read: %s; try again", name,
                                 strerror(-error));
    free(record);
    return sandbox_error_set(e, -ENOTCONN,
                             "%s: this sandbox was started without a network policy, and can get "
                             "none; start it again with --allow or --policy, a policy without "
                             "rules will do",
                             name);
}

static int connect_to(const char *name, int64_t deadline_ms, struct sandbox_error *e)
{
    struct registry registry;
    if (strchr(name, '/') || strlen(name) > REGISTRY_NAME_MAX_BYTES || !name[0])
        return sandbox_error_set(
            e, -ENOENT, "%s: not a name of a sandbox; glovebox ps lists those that run", name);
    int r = registry_open(&registry, e);
    if (r < 0)
        return r;
    int fd;
    do
        fd = socket_file_connect_within(&registry, name, SOCKET_FILE_UPDATES, left_ms(deadline_ms));
    while (fd == -EINTR);
    if (fd < 0)
        fd = explain_connect(&registry, name, fd, e);
    registry_close(&registry);
    return fd;
}

int updates_send(int socket, const struct update_packet *p, int fd)
{
    if (fd >= 0)
        return socket_file_send(socket, p, sizeof(*p), fd);
    return send(socket, p, sizeof(*p), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* What its starter would not even hand on. */
static int check_update(const struct update *u, struct sandbox_error *e)
{
    if (u->phase && strlen(u->phase) >= UPDATE_PHASE_MAX)
        return sandbox_error_set(e, -EINVAL,
                                 "no phase has a name of more than %d bytes; look at its "
                                 "\"phases\"",
                                 UPDATE_PHASE_MAX - 1);
    if (u->json && u->size > POLICY_DOCUMENT_MAX_BYTES)
        return sandbox_error_set(e, -E2BIG, "has more than %d bytes; make it shorter",
                                 POLICY_DOCUMENT_MAX_BYTES);
    return 0;
}

static int send_update(int socket, const struct update *u)
{
    struct update_packet p = {
        .version = UPDATE_VERSION, .type = UPDATE_SET, .generation = u->generation};
    if (u->phase)
        memcpy(p.phase, u->phase, strlen(u->phase));
    if (!u->json)
        return updates_send(socket, &p, -1);
    if (u->has_file) {
        p.document_size = u->size;
        return updates_send(socket, &p, u->file);
    }
    _cleanup_close_ int fd = memory_file_new("glovebox-policy", u->json, u->size);
    return fd < 0 ? -errno : updates_send(socket, &p, fd);
}

/* 0, *ret and what came with it, or -1; or negative errno. */
static int wait_answer(int socket, int64_t deadline_ms, struct update_message *ret, int *ret_fd)
{
    struct pollfd p = {.fd = socket, .events = POLLIN};
    int n, left;
    do {
        left = left_ms(deadline_ms);
        n = poll(&p, 1, left);
    } while (n < 0 && errno == EINTR && left > 0);
    if (n <= 0)
        return n == 0 || errno == EINTR ? -ETIMEDOUT : -errno;
    int received = -1;
    ssize_t size = socket_file_receive(socket, ret, sizeof(*ret), &received);
    _cleanup_close_ int fd = size < 0 ? -1 : received;
    if (size <= 0)
        return size < 0 ? (int)size : -ECONNRESET;
    if ((size_t)size > sizeof(*ret) || !update_is_valid(ret, (size_t)size) ||
        ret->packet.type != UPDATE_DONE || ret->packet.error < 0)
        return -EPROTO;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

/* It may have heard of the wish. */
static int explain_silence(const char *name, int error, struct sandbox_error *e)
{
    if (error == -ECONNRESET)
        return sandbox_error_set(e, error,
                                 "%s: its glovebox run hung up: it has ended, or too many others "
                                 "ask it; look at what is in force with glovebox egress, and try "
                                 "again",
                                 name);
    if (error == -EPROTO)
        return sandbox_error_set(e, error,
                                 "%s: its glovebox run does not answer as this version does; look "
                                 "at what is in force with glovebox egress, and use the same one",
                                 name);
    return sandbox_error_set(e, error,
                             "%s: its glovebox run does not answer: %s; is it stopped? Look at "
                             "what is in force with glovebox egress",
                             name, strerror(-error));
}

/* Waits for what becomes of a wish. 0, *ret and what came with it; or negative errno with the
 * sentence. */
static int finish_with(int socket, const char *name, int sent, int64_t deadline_ms,
                       struct update_message *ret, int *ret_fd, struct sandbox_error *e)
{
    char words[1024];
    if (sent == -EPIPE || sent == -ECONNRESET)
        return explain_silence(name, -ECONNRESET, e);
    if (sent < 0)
        return sandbox_error_set(e, sent, "%s: its glovebox run could not be told: %s; try again",
                                 name, strerror(-sent));
    int r = wait_answer(socket, deadline_ms, ret, ret_fd);
    if (r < 0)
        return explain_silence(name, r, e);
    if (ret->packet.error == 0)
        return 0;
    text_line(ret->text, ret->packet.text_size, words, sizeof(words));
    return sandbox_error_set(e, -ret->packet.error, "%s", words);
}

static int finish(int socket, const char *name, int sent, int64_t deadline_ms,
                  struct update_message *ret, struct sandbox_error *e)
{
    _cleanup_close_ int fd = -1;
    return finish_with(socket, name, sent, deadline_ms, ret, &fd, e);
}

int updates_set_policy(const char *name, const struct update *update, uint64_t *ret_generation,
                       struct sandbox_error *e)
{
    struct update_message m;
    int r = check_update(update, e);
    if (r < 0)
        return r;
    int64_t deadline_ms = now_ms() + ANSWER_MS;
    _cleanup_close_ int socket = connect_to(name, deadline_ms, e);
    if (socket < 0)
        return socket;
    r = finish(socket, name, send_update(socket, update), deadline_ms, &m, e);
    if (r == 0 && ret_generation)
        *ret_generation = m.packet.generation;
    return r;
}

int updates_get_policy(const char *name, struct buf *ret, uint64_t *ret_generation,
                       struct sandbox_error *e)
{
    const struct update_packet p = {.version = UPDATE_VERSION, .type = UPDATE_GET};
    struct update_message m;
    char piece[16384];
    ssize_t n = -1;
    int64_t deadline_ms = now_ms() + ANSWER_MS;
    _cleanup_close_ int fd = -1;
    _cleanup_close_ int socket = connect_to(name, deadline_ms, e);
    if (socket < 0)
        return socket;
    int r = finish_with(socket, name, updates_send(socket, &p, -1), deadline_ms, &m, &fd, e);
    if (r < 0)
        return r;
    while (fd >= 0 && (n = pread(fd, piece, sizeof(piece), (off_t)ret->size)) > 0)
        buf_append(ret, piece, (size_t)n);
    if (n < 0 || ret->failed)
        return sandbox_error_set(
            e, -EPROTO, "%s: its policy can't be read; use the programs of one version", name);
    *ret_generation = m.packet.generation;
    return 0;
}

int updates_set_secret(const char *name, int fd, struct sandbox_error *e)
{
    const struct update_packet p = {.version = UPDATE_VERSION, .type = UPDATE_SECRET};
    struct update_message m;
    int64_t deadline_ms = now_ms() + ANSWER_MS;
    _cleanup_close_ int socket = connect_to(name, deadline_ms, e);
    return socket < 0 ? socket
                      : finish(socket, name, updates_send(socket, &p, fd), deadline_ms, &m, e);
}
