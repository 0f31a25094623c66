// SPDX-License-Identifier: Apache-2.0
/*
 * The beginning and the end of a sandbox on this side of the boundary: namespaces, descriptors, and
 * the kernel process in them. What passes over the descriptors is lib/base/control.h.
 *
 * The kernel process is the first of a PID namespace of its own and holds no descriptor of the
 * caller's but one end of each pipe here. It dies with the thread that started it, and everything
 * in the sandbox dies with it.
 */
#pragma once

#include "lib/base/control.h"
#include "lib/seal/report.h"
#include "sandbox/gateway.h"
#include "sandbox/place.h"
#include "sandbox/store.h"

struct sandbox {
    pid_t pid; /* the kernel process; 0 once it was waited for */
    int pidfd;
    int control; /* SOCK_SEQPACKET, non-blocking */
    int input;   /* to the program's standard input; all of these are ours, non-blocking */
    int output;  /* from its standard output, or the terminal both ways (input is a duplicate) */
    int errors;  /* from its standard error; -1 with a terminal or joined output */
    int log;     /* the kernel process's own standard error, and the gateway's: text for people */
    struct sandbox_gateway gateway;
    struct store store;      /* its kernel's own folder */
    struct seal_report seal; /* what holds the kernel process; complete when it is READY */
    int wait_status;         /* of the kernel process, once waited for */
    struct rusage usage;     /* of all the sandbox's processes, likewise */
};

/*
 * Starts a sandbox in its place; spec->store was chosen. 0 and *ret, to be freed with
 * sandbox_free(), or negative errno with the reason; nothing is left then. -ENOSYS: not in the
 * group that was made for it, but perhaps without (place_forgo_unified()).
 */
int sandbox_start(const struct sandbox_spec *spec, const struct place *place, struct sandbox **ret,
                  struct sandbox_error *e);

/* Sends a message; false when the kernel process is gone or doesn't listen. */
bool sandbox_send(struct sandbox *s, enum control_type type, int32_t value);

/* Likewise one with p->text_size bytes of text. */
bool sandbox_send_text(struct sandbox *s, const struct control_packet *p, const char *text);

/* Likewise one with up to CONTROL_DESCRIPTORS_MAX descriptors, which stay the caller's. */
bool sandbox_send_descriptors(struct sandbox *s, const struct control_packet *p, const int *fds,
                              size_t count);

/*
 * Kills everything in it, at once, from outside. Doesn't wait. The tasks don't even outlive a
 * kernel process that the machine holds up (in a write to a slow disk, on a folder of a dead
 * server), where it can't act on a signal.
 */
void sandbox_kill(struct sandbox *s);

/* Likewise its programs alone, whatever the kernel process does. */
void sandbox_kill_programs(struct sandbox *s);

/* Waits for the end of the kernel process (pidfd is readable) and notes wait_status and usage. */
void sandbox_reap(struct sandbox *s);

/* Processor time of the kernel process itself, once it was waited for. */
int64_t sandbox_kernel_ns(const struct sandbox *s);

/* Kills and waits when it still runs; closes and frees everything. NULL is fine. */
void sandbox_free(struct sandbox *s);

/* As sandbox_free(), but waits for nobody: for a kernel process that was killed and is held up. It
 * stays a child of this process. */
void sandbox_forget(struct sandbox *s);
