// SPDX-License-Identifier: Apache-2.0
/*
 * What is said over the socket of a running sandbox by which others get to the ports on which its
 * programs listen (sandbox/ports.h): between its starter and whoever may, as glovebox port and the
 * server. Of type SOCK_SEQPACKET in the registry's private folder.
 *
 * Each question has a number, which its one answer has too: answers come in any order. Of those
 * that wait for an answer there are PORT_ASKED_MAX on a connection; further ones are not read until
 * one of them has been given. What was asked for over a connection ends with it.
 */
#pragma once

#include "lib/base/ports.h"

#define PORT_VERSION       1
#define PORT_CLIENTS_MAX   64
#define PORT_ASKED_MAX     64
#define PORT_PUBLISHED_MAX 64 /* of one sandbox */

enum port_type {
    PORT_CONNECT = 1, /* to port, with a descriptor: a connected stream socket (TCP's or AF_UNIX's,
                         without SO_LINGER) that the program is to have as its connection. wait_ms:
                         how long it may wait for a place in the listener's queue, in the limits of
                         lib/base/ports.h. Errors are those of kernel/net/inbound.h; EAGAIN: too
                         much is asked at once */
    PORT_LIST,        /* who listens: answered with struct ports_listener; is_cut: there are more */
    PORT_PUBLISHED,   /* where the starter itself takes connections: struct port_published */
};

struct port_question {
    uint32_t version, type;
    uint64_t number;
    uint32_t wait_ms;
    uint16_t port; /* host order */
    uint16_t unused;
};

struct port_published {
    uint8_t address[16]; /* of the host; IPv4: a mapped one */
    uint16_t port, guest_port;
};

struct port_answer { /* with text_size bytes of records behind it */
    uint32_t version, type;
    uint64_t number;
    int32_t error; /* a positive errno, or 0 */
    uint32_t is_cut, text_size, unused;
};

#define PORT_TEXT_MAX_BYTES (PORTS_LISTED_MAX * sizeof(struct ports_listener))
