// SPDX-License-Identifier: Apache-2.0
/*
 * The gateway process of a sandbox with an egress policy, as its starter sees it:
 * lib/base/gateway.h says what it is started with. It has the kernel process's namespaces but that
 * of the network, nothing of its starter's environment, and dies with its starter. It ends by
 * itself when the kernel's end of the channel is closed.
 */
#pragma once

#include "sandbox/spec.h"

#include <signal.h>

/* Between the end of the kernel process and SIGKILL: it has lines of its log to write. */
#define SANDBOX_GATEWAY_END_MS 1000

struct sandbox_gateway {
    pid_t pid; /* 0: there is none (any more) */
    int pidfd;
    int control;          /* to it: lib/base/update.h; non-blocking; -1 */
    struct sandbox_ca ca; /* that it shows certificates of, as it said when it was ready */
};

struct gateway_start {
    uint64_t namespaces; /* CLONE_NEW*, of the kernel process */
    const char *name;    /* of the sandbox */
    int null, log;       /* /dev/null, and what takes its lines for people */
};

/*
 * Starts it and waits until it is ready. 0, *ret and *ret_channel, the kernel's end; or negative
 * errno with the reason; -EPIPE: it ended, and its reason is in the log.
 */
int sandbox_gateway_start(const struct gateway_start *g, const struct sandbox_spec *spec,
                          struct sandbox_gateway *ret, int *ret_channel, struct sandbox_error *e);

/*
 * It has ended (its pidfd says so): why, when that is no end that it comes to by itself, as of
 * waitid(2): si_code and si_status. It is still to be reaped.
 */
bool sandbox_gateway_has_failed(const struct sandbox_gateway *g, siginfo_t *ret);

/* Waits so long for its end, kills it if it does not come, and reaps it. */
void sandbox_gateway_end(struct sandbox_gateway *g, int limit_ms);
