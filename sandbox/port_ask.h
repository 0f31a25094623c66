// SPDX-License-Identifier: Apache-2.0
/*
 * Connections to ports on which programs of a running sandbox listen, for whoever may ask its
 * starter: glovebox port, the server. What is said is sandbox/port_messages.h.
 *
 * The descriptor is a socket's that somebody else may have connected: port_reach() in whoever has
 * the right to, the rest needs none but to send, to receive and to make a pair. Questions carry a
 * number of the caller's choice, and any may be under way; for a loop: port_ask_*(), and
 * port_receive() whenever the socket is readable. What was connected ends with the socket.
 *
 *     int socket = port_reach(name, &e), mine;
 *     port_ask_pair(socket, 1, 8000, PORTS_WAIT_DEFAULT_MS, &mine);
 *     ... readable: port_receive(socket, &m): m.answer.number == 1 and m.answer.error == 0:
 *     mine is a connection to port 8000; else close(mine)
 */
#pragma once

#include "sandbox/error.h"
#include "sandbox/port_messages.h"

/* Of a running sandbox of this user's. A descriptor, non-blocking, or negative errno with the
 * sentence; -ENOENT: there is none. */
int port_reach(const char *name, struct sandbox_error *e);

/*
 * A connection to port: the program gets fd, which stays the caller's to close, and which must be
 * as PORT_CONNECT wants it. 0 or negative errno, -EAGAIN: not now. None of these waits.
 */
int port_ask_connect(int socket, uint64_t number, uint16_t port, unsigned wait_ms, int fd);

/* Likewise with one end of a new pair; *ret_fd, non-blocking, is the other. What is written to it
 * before the answer is lost if that is an error. */
int port_ask_pair(int socket, uint64_t number, uint16_t port, unsigned wait_ms, int *ret_fd);

int port_ask_list(int socket, uint64_t number);
int port_ask_published(int socket, uint64_t number);

struct port_message {
    struct port_answer answer;
    union {
        struct ports_listener listeners[PORTS_LISTED_MAX];
        struct port_published published[PORT_PUBLISHED_MAX];
    };
    size_t count; /* of the records, which are checked but for what is in a name */
};

/* The next answer. 0; -EAGAIN; -ECONNRESET: the sandbox, or its starter, has ended; -EPROTO: it is
 * none. */
int port_receive(int socket, struct port_message *m);

/* Likewise, and waits at most limit_ms (-1: no limit): -ETIMEDOUT. */
int port_receive_wait(int socket, int limit_ms, struct port_message *m);

/* Why there is no connection: "nothing listens there". */
const char *port_error_words(int error);
