// SPDX-License-Identifier: Apache-2.0
#include "server/link.h"

#include "lib/base/passed.h"
#include "server/server.h"

#include <sys/socket.h>

#define MESSAGES_AT_ONCE 8

static void hang_up(struct link *l, int error)
{
    l->is_open = false;
    watch_close(&l->watch, NULL);
    l->closed(l, error);
}

static void on_link(struct watch *w, uint32_t events _unused_)
{
    static struct exec_message m;
    struct link *l = container_of(w, struct link, watch);
    for (int i = 0; i < MESSAGES_AT_ONCE && l->is_open && l->watch.events; i++) {
        ssize_t size = recv(w->fd, &m, sizeof(m), MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (size <= 0 || !exec_message_is_whole(&m, size)) {
            hang_up(l, size < 0 ? errno : size == 0 ? EPIPE : EPROTO);
            return;
        }
        l->message(l, &m);
    }
}

static void on_opened(struct ask *a, int error, const char *data _unused_, size_t size _unused_,
                      int fd)
{
    struct link *l = container_of(a, struct link, ask);
    if (error == 0 && fd < 0)
        error = EPROTO;
    if (error) {
        base_closep(&fd);
        l->closed(l, error);
        return;
    }
    l->watch = (struct watch){.fd = fd, .ready = on_link};
    l->is_open = true;
    if (watch_for(&l->watch, EPOLLIN) < 0)
        hang_up(l, ENOMEM);
    else
        l->opened(l);
}

int link_open(struct link *l, const char *name)
{
    l->watch = (struct watch){.fd = -1};
    l->ask = (struct ask){.answered = on_opened};
    l->is_open = false;
    return launcher_ask(&l->ask, LAUNCH_OPEN, LAUNCH_EXECS, name, strlen(name));
}

int link_send(struct link *l, struct exec_packet *p, const void *text, size_t size, int fd)
{
    union passed room;
    p->version = EXEC_VERSION;
    p->text_size = (uint32_t)size;
    struct iovec parts[] = {{p, sizeof(*p)}, {(void *)text, size}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = size ? 2 : 1};
    if (!l->is_open)
        return -EPIPE;
    passed_put(&m, &room, fd);
    return sendmsg(l->watch.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

void link_listen(struct link *l, bool is_listening)
{
    if (l->is_open && watch_for(&l->watch, is_listening ? EPOLLIN : 0) < 0)
        hang_up(l, ENOMEM);
}

void link_close(struct link *l, void (*release)(struct watch *w))
{
    launcher_forget(&l->ask);
    l->is_open = false;
    watch_close(&l->watch, release);
}
