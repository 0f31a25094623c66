// SPDX-License-Identifier: Apache-2.0
/*
 * The server behind glovebox serve: what programs written against E2B's SDKs speak to. A process
 * with one thread and one loop, jailed, that parses what strangers send, keeps the records, and can
 * start nothing: it asks the launcher over the channel of lib/base/launch.h.
 *
 *   loop.c           descriptors and timers that are waited for
 *   connection.c     HTTP/1.1: requests in, answers out, everything bounded; request.h is what a
 *                    handler sees of it
 *   wire.c           what is below that: bytes, or TLS; certificate.c has what it is made with
 *   route.c          whom a request is for: the control plane, or a port of a sandbox
 *   front.c          checks the credentials and finds the handler
 *   control*.c       the control plane: /sandboxes and what is beside it
 *   envd*.c          port 49983 of a sandbox: processes, files
 *   interpreter*.c   port 49999 of a sandbox: cells of code
 *   port*.c          the ports on which its programs listen
 *   log.c            a line for each request; metrics.c: how many there were
 *   openapi.json     what is served, for others to read
 *   boxes.c          the sandboxes, in memory and on disk
 *   events.c         what has happened to them
 *   hooks.c          to whom that is sent
 *   keys.c           API keys
 *   launcher.c       questions to the launcher
 *   say.c            lines for the person who started it, who may not read them
 *   seal.c           what this process gives up
 *
 * Clients choose what is sent, how fast, and when they stop. Nothing that they send is collected
 * before their credentials were checked, and nothing is collected without a limit: limits.h.
 */
#pragma once

#include "lib/base/base.h"

struct db;

struct server {
    struct db *db;
    const char *domain;    /* that sandboxes are told to be reached under, or NULL */
    bool allows_egress;    /* of sandboxes whose creator says nothing of the network */
    bool has_public_ports; /* likewise: whoever knows the id may connect */
    int64_t memory_mb, cpus_thousandths, disk_mb; /* the limits of each sandbox; 0: none */
    int64_t started_ms;                           /* server_wall_ms() */
};

extern struct server server;

int64_t server_now_ns(void);  /* CLOCK_MONOTONIC */
int64_t server_wall_ms(void); /* CLOCK_REALTIME */

/* One line for the person who started the server: "glovebox-server: ...". */
void server_say(const char *format, ...) _printf_(1, 2);

/* Says why, and ends the process. */
_noreturn_ void server_fail(const char *format, ...) _printf_(1, 2);
