// SPDX-License-Identifier: Apache-2.0
/*
 * The descriptor that goes along with a message over a Unix socket (unix(7), SCM_RIGHTS): one, or
 * none.
 */
#pragma once

#include "lib/base/base.h"

#include <sys/socket.h>

/* Room for it; it stays where it is until the message was sent, or was looked at. */
union passed {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* Puts fd with a message before sendmsg(2); it stays the caller's. Below 0: none. */
void passed_put(struct msghdr *h, union passed *room, int fd);

/* Before recvmsg(2): room for one and no more, whatever the sender puts in. */
void passed_expect(struct msghdr *h, union passed *room);

/* When recvmsg(2) has not failed: the descriptor, which is the caller's, or -1. */
int passed_take(struct msghdr *h);
