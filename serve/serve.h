// SPDX-License-Identifier: Apache-2.0
/*
 * The launcher behind glovebox serve: what the server (server/, which is jailed and parses what
 * strangers send) can't do itself. It holds the listening sockets and the state folder, starts the
 * server and starts it again when it has failed, makes sandboxes for it, and hands it connections
 * to those. lib/base/launch.h says what they say to each other.
 *
 *   main loop  server_child.c   the server's process
 *              serve.c          the channel, and what is asked over it
 *              courier.c        messages of the server to others
 *              settings.c       files that are opened for it
 *              job.c            what takes a while, as making a sandbox: each by a child of
 *                               this process, so that nobody waits for it
 *
 * Sandboxes live on when this process ends, each with its keeper (sandbox/create.h); the next one
 * finds them again by the server's records.
 */
#pragma once

#include "lib/base/launch.h"
#include "sandbox/spec.h"

#define WEBHOOK_NETWORKS_MAX 16

struct serve {
    int listeners[LAUNCH_LISTENERS_MAX];
    size_t listener_count;
    int state;             /* the state folder */
    const char *domain;    /* that clients are told; NULL */
    const char *key;       /* that is to be valid; NULL: the server makes one when it has none */
    bool allows_egress;    /* of sandboxes whose creator says nothing of the network */
    bool has_public_ports; /* likewise: whoever knows the id may connect */
    const char *tls_certificate, *tls_key;              /* files, in PEM; NULL: no TLS */
    const char *webhook_networks[WEBHOOK_NETWORKS_MAX]; /* that messages may go to, besides public
                                                         * addresses */
    size_t webhook_network_count;
    const char *log_path;      /* where requests are logged, "-": standard error; NULL: nowhere */
    bool logs_text;            /* in place of JSON */
    struct sandbox_spec *spec; /* of every sandbox, but for what is said of one */
    /* The server takes requests; key: that it has just made, or "". Once. */
    void (*ready)(void *userdata, const char *key);
    void *userdata;
    void (*say)(const char *line); /* for the person who started it; does not wait */
    int (*say_pending)(void); /* what to wait with for room to say more (POLLOUT); -1: nothing */
};

/*
 * Serves until SIGINT or SIGTERM comes, or SIGHUP when no file is to be opened anew by it: 0. Or
 * negative errno with the sentence, when the server could not start, or fails again and again. The
 * caller has one thread.
 */
int serve_run(struct serve *s, struct sandbox_error *e);

/*
 * A listening socket on ADDRESS:PORT, [ADDRESS]:PORT or PORT (of 127.0.0.1). is_public: whether
 * others than this machine reach it. A descriptor, or negative errno with the sentence.
 */
int serve_listen(const char *where, bool *ret_is_public, struct sandbox_error *e);

/* Where programs of this machine reach it: "127.0.0.1:3000", "[::1]:3000". */
#define SERVE_PLACE_SIZE 64
void serve_write_place(int listener, char text[SERVE_PLACE_SIZE]);

/* The state folder, made when it isn't there; it is this user's alone. Likewise. */
int serve_open_state(const char *path, struct sandbox_error *e);
