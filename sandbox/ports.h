// SPDX-License-Identifier: Apache-2.0
/*
 * Ways to the ports on which programs of a sandbox listen, as far as its starter goes: it looks who
 * asks, hands what was given to the kernel (CONTROL_PORT_CONNECT), which has the last word on it,
 * and passes the answers on. And it listens itself where the specification wants that (publish).
 * No byte of a connection passes through it, unless there are secrets: sandbox/port_search.h. Who
 * was connected before the first one came is cut off then.
 *
 * Who connects is of the same user, as the host says. Nobody is waited for, and what can grow has
 * its limit in sandbox/port_messages.h.
 */
#pragma once

#include "lib/base/control.h"
#include "lib/base/list.h"
#include "sandbox/port_forward.h"
#include "sandbox/port_messages.h"
#include "sandbox/port_search.h"
#include "sandbox/registry.h"
#include "sandbox/scrubber.h"
#include "sandbox/start.h"

struct ports;

struct port_source {
    int fd; /* -1 */
    bool is_watched;
    void (*ready)(struct ports *p, struct port_source *s);
};

struct port_publisher {
    struct port_source source;
    struct port_forward forward;
};

struct ports {
    int epoll; /* -1 */
    struct port_source listener;
    struct sandbox *sandbox;
    struct scrubber *scrubber; /* borrowed; NULL: there are no secrets */
    struct list clients;       /* struct port_client */
    struct list asked;         /* struct port_asked, of all clients, and of the published ports */
    size_t client_count, own_asked;
    int32_t last_number, last_client;
    struct port_publisher publishers[PORT_PUBLISHED_MAX];
    size_t published;
    int64_t deaf_until_ns; /* 0; no descriptor is left for who connects */
    struct port_search search;
    struct port_source search_source;
    bool has_unsearched;    /* a connection that was handed over as it is */
    bool is_clearing;       /* those are to be cut off */
    int32_t clearing_asked; /* number of what the kernel answers when it has done so; 0 */
};

void ports_init(struct ports *p);

/*
 * Listens on the ports that are to be published: before the sandbox is started. 0, or negative
 * errno with the sentence.
 */
int ports_publish(struct ports *p, const struct sandbox_spec *spec, struct sandbox_error *e);

/* Listens for the sandbox that r has entered. 0, or negative errno with the sentence. */
int ports_open(struct ports *p, const struct registry *r, struct sandbox *s,
               struct sandbox_error *e);

/* For the loop: readable when there is something to do; until when to wait at most (CLOCK_MONOTONIC
 * ns, 0: no matter). */
int ports_poll_descriptor(const struct ports *p);
int64_t ports_deadline(const struct ports *p);
void ports_step(struct ports *p);

/* A CONTROL_PORT_ANSWERED or _LISTED. */
void ports_take(struct ports *p, const struct control_packet *packet, const char *text);

/* There is a first value to search for: connections that nobody looks into are cut off. False:
 * there never was one. */
bool ports_begin_search(struct ports *p);

/* Whether the kernel has done so. */
bool ports_are_searched(const struct ports *p);

/* The kernel is gone, and with it all connections. */
void ports_close(struct ports *p);
