// SPDX-License-Identifier: Apache-2.0
#include "lib/base/passed.h"

void passed_put(struct msghdr *h, union passed *room, int fd)
{
    if (fd < 0)
        return;
    *room = (union passed){0};
    h->msg_control = room;
    h->msg_controllen = CMSG_LEN(sizeof(fd));
    struct cmsghdr *c = CMSG_FIRSTHDR(h);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
}

void passed_expect(struct msghdr *h, union passed *room)
{
    h->msg_control = room;
    h->msg_controllen = CMSG_LEN(sizeof(int)); /* in CMSG_SPACE() two would fit */
}

int passed_take(struct msghdr *h)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(h);
    int fd = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof(fd)))
        memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    return fd;
}
