// SPDX-License-Identifier: Apache-2.0
#include "sandbox/listener.h"

#include "sandbox/socket_file.h"

#include <time.h>

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

void listener_fill_poll(struct listener *l, struct pollfd *p)
{
    if (l->rests_until && now_ns() >= l->rests_until)
        l->rests_until = 0;
    *p = (struct pollfd){.fd = l->rests_until ? -1 : l->fd, .events = POLLIN};
}

int listener_accept(struct listener *l)
{
    int fd = socket_file_accept(l->fd);
    if (socket_file_is_short(fd))
        l->rests_until = now_ns() + SOCKET_FILE_REST_NS;
    return fd < 0 ? -1 : fd;
}

void listener_close(struct listener *l)
{
    base_closep(&l->fd);
    *l = (struct listener){.fd = -1};
}
