// SPDX-License-Identifier: Apache-2.0
/*
 * Connections to ports of a sandbox, asked of its starter (sandbox/port_ask.h) over one socket for
 * each sandbox, which the launcher gives when the first is asked for. Each connection is one end of
 * a pair made here, whose other end the program gets; they all end with that socket.
 *
 *   port_link_ask() -> answered(0): w->fd is connected -> the asker's to close
 *                  \-> answered(error): as sandbox/port_messages.h has them; ECONNRESET: the
 *                      sandbox, or its starter, is gone
 */
#pragma once

#include "lib/base/list.h"

struct box;

struct port_wish {
    struct list link; /* of list_init() before its first use */
    uint64_t number;
    uint16_t port;
    int fd;
    /* Once, never from within port_link_ask(). It may free w. */
    void (*answered)(struct port_wish *w, int error);
};

/* 0; or negative errno, and no answer comes: -EAGAIN: too much is asked at once, -ENOMEM. */
int port_link_ask(struct box *b, struct port_wish *w);

/* It is not answered; what was made is closed. */
void port_link_forget(struct port_wish *w);

/* All connections end, also those that were answered; those that were not are answered. */
void port_link_close(struct box *b);
