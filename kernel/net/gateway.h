// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's end of the channel to the gateway, through which alone something can leave the
 * sandbox: lib/base/gateway.h. A sandbox without an egress policy has none.
 *
 * A request is an object of the asker's, with a function that is called once, from the main loop.
 * When the gateway ends, all requests fail with ENETUNREACH, the connections that it gave are cut
 * (outbound_cut_all()), and so it stays.
 */
#pragma once

#include "kernel/net/message.h"
#include "lib/base/gateway.h"

struct thread;
struct gateway_request;

/*
 * error: 0 or a positive errno. m: the reply, borrowed; NULL when there is none. fd: what came with
 * it, the callee's, or HOSTFD_NONE.
 */
typedef void (*gateway_done_fn)(struct gateway_request *r, int error,
                                const struct gateway_message *m, struct hostfd fd);

struct gateway_request {
    struct list link;
    uint64_t id;
    gateway_done_fn done;
};

/*
 * Takes up the channel on GATEWAY_KERNEL_FD; once the host layer is ready. Waits for the first
 * thing that the gateway says. 0 or -errno.
 */
int gateway_start(void);

/* The sandbox was given a gateway, and so shows a network interface; it may have ended. */
bool gateway_exists(void);

/* And IPv6 leads anywhere: the interface has an address of it. */
bool gateway_has_v6(void);

/*
 * Send a request. 0, then r is linked until it is done; -ENETUNREACH: there is no gateway (any
 * more); -EADDRNOTAVAIL: too many requests are without an answer; -ENOMEM.
 */
int gateway_resolve(struct gateway_request *r, uint8_t protocol, const uint8_t *query, size_t size,
                    const struct thread *t);
/* protocol: IPPROTO_TCP or IPPROTO_UDP; t: who wants to, or NULL. */
int gateway_connect(struct gateway_request *r, uint8_t protocol, const struct inet_endpoint *to,
                    const struct thread *t);

/*
 * What a program, t (NULL: it is gone), says to the agent of SSH on that connection; size is at
 * most GATEWAY_AGENT_MAX. It is answered with as much.
 */
int gateway_ask_agent(struct gateway_request *r, uint32_t connection, const struct thread *t,
                      const uint8_t *message, size_t size);
/* The connection, on which something was asked, is closed. */
void gateway_end_agent(uint32_t connection);

/* r will not be done any more. Nothing happens when it is no request under way. */
void gateway_cancel(struct gateway_request *r);

/* Acts on all that has come. Who finds the end of a pair asks here what it means. */
void gateway_catch_up(void);

/* The connection that came with request `id` was closed; is_reset: it is to be cut off. */
void gateway_close(uint64_t id, bool is_reset);
/* So was one of UDP, through which so many bytes went. */
void gateway_close_datagrams(uint64_t id, uint64_t tx, uint64_t rx);
