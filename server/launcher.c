// SPDX-License-Identifier: Apache-2.0
#include "server/launcher.h"

#include "lib/base/passed.h"
#include "server/certificate.h"
#include "server/log.h"
#include "server/loop.h"
#include "server/seal.h"
#include "server/server.h"

#include <fcntl.h>
#include <sys/socket.h>

static struct watch channel = {.fd = -1};
static struct list asked;
static size_t outstanding;
static uint64_t last_id;
static struct launch_message message;

/* One message and the descriptor with it; its size, or as recvmsg(2). */
static ssize_t receive(int flags, int *ret_fd)
{
    struct iovec part = {&message, sizeof(message)};
    union passed room;
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    passed_expect(&m, &room);
    ssize_t size = recvmsg(channel.fd, &m, flags | MSG_CMSG_CLOEXEC);
    *ret_fd = size >= 0 ? passed_take(&m) : -1;
    return size;
}

static struct ask *take_asked(uint64_t id)
{
    struct ask *a;
    list_for_each(a, &asked, link)
    {
        if (a->id != id)
            continue;
        list_remove(&a->link);
        a->id = 0;
        return a;
    }
    return NULL;
}

static bool is_setting(uint32_t type)
{
    return type == LAUNCH_LOG || type == LAUNCH_TLS;
}

/* fd is taken. */
static void take_setting(const struct launch_message *m, int fd)
{
    if (m->packet.type == LAUNCH_LOG && fd >= 0) {
        log_open(fd, m->packet.kind == LAUNCH_TEXT);
        return;
    }
    base_closep(&fd);
    if (m->packet.type != LAUNCH_TLS)
        return;
    certificate_take(m->data, m->packet.data_size);
    explicit_bzero((char *)m->data, m->packet.data_size);
}

static void on_channel(struct watch *w _unused_, uint32_t events _unused_)
{
    int fd;
    ssize_t size = receive(MSG_DONTWAIT, &fd);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0)
        server_exit();
    if (!launch_is_valid(&message, (size_t)size))
        server_fail("the launcher speaks another version; install the programs of one version");
    if (is_setting(message.packet.type)) {
        take_setting(&message, fd);
        return;
    }
    outstanding -= outstanding > 0;
    struct ask *a = take_asked(message.packet.id);
    if (!a) {
        base_closep(&fd);
        return;
    }
    char *end = message.data + MIN(message.packet.data_size, (uint32_t)LAUNCH_DATA_MAX - 1);
    *end = '\0';
    a->answered(a, message.packet.error, message.data, (size_t)(end - message.data), fd);
}

static int send_message(enum launch_type type, uint64_t id, uint32_t kind, const void *data,
                        size_t size)
{
    struct launch_packet packet = {
        .version = LAUNCH_VERSION,
        .type = type,
        .id = id,
        .kind = kind,
        .data_size = (uint32_t)size,
    };
    struct iovec parts[] = {{&packet, sizeof(packet)}, {(void *)data, size}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = size ? 2 : 1};
    return sendmsg(channel.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int launcher_start(char **ret_key, uint64_t *ret_starts)
{
    int fd;
    channel = (struct watch){.fd = LAUNCH_CHANNEL_FD, .ready = on_channel};
    list_init(&asked);
    for (;;) {
        ssize_t size = receive(0, &fd);
        if (size == 0)
            server_exit(); /* it has said why */
        if (size < 0)
            return -errno;
        if (!launch_is_valid(&message, (size_t)size))
            return -EPROTO;
        if (!is_setting(message.packet.type))
            break;
        take_setting(&message, fd);
    }
    if (message.packet.type != LAUNCH_KEY)
        return -EPROTO;
    *ret_starts = message.packet.id;
    *ret_key = strndup(message.data, message.packet.data_size);
    explicit_bzero(&message, sizeof(message));
    return *ret_key ? watch_for(&channel, EPOLLIN) : -ENOMEM;
}

void launcher_ready(const char *key)
{
    int r = send_message(LAUNCH_READY, 0, 0, key, key ? strlen(key) : 0);
    if (r < 0)
        server_fail("the launcher: %s", strerror(-r));
}

bool launcher_failed(const char *why)
{
    return send_message(LAUNCH_FAILED, 0, 0, why, strlen(why)) == 0;
}

int launcher_ask(struct ask *a, enum launch_type type, uint32_t kind, const void *data,
                 size_t data_size)
{
    if (outstanding >= LAUNCH_OUTSTANDING_MAX)
        return -EAGAIN;
    int r = send_message(type, ++last_id, kind, data, data_size);
    if (r < 0)
        return r == -EMSGSIZE ? -E2BIG : r;
    a->id = last_id;
    outstanding++;
    list_append(&asked, &a->link);
    return 0;
}

void launcher_forget(struct ask *a)
{
    if (!a->id)
        return;
    a->id = 0;
    list_remove(&a->link);
}
