// SPDX-License-Identifier: Apache-2.0
/*
 * Ancillary data of sendmsg(2) and recvmsg(2): cmsg(3).
 */
#pragma once

#include "kernel/net/socket.h"

#define ANCILLARY_MAX 20480 /* net.core.optmem_max of old; larger ones are ENOBUFS */

/*
 * Reads what goes with a message into out: files (counted), credentials (checked against what the
 * caller may claim). -EINVAL, -EBADF, -EPERM, -ESRCH, -ENOBUFS, -EFAULT. On failure out->rights may
 * be set, and is the caller's.
 */
int ancillary_read(const struct call *c, const struct socket *s, struct gaddr control, size_t size,
                   struct sending *out);

/* The buffer for what came with a message. */
struct ancillary_room {
    struct gaddr at; /* 0: none */
    size_t left;
    int flags; /* ret: MSG_CTRUNC */
};

/*
 * Writes what the socket's options ask for, and gives the files descriptors. What does not fit is
 * cut or dropped, as Linux does.
 */
void ancillary_write(struct call *c, const struct socket *s, const struct received *r,
                     struct ancillary_room *room, bool cloexec);
