// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's end of the control channel: lib/base/control.h.
 */
#pragma once

#include "kernel/host/hostfd.h"
#include "lib/base/base.h"
#include "lib/base/control.h"

/* Watches the control socket; must be called once the host layer is ready. */
int control_start(void);

/*
 * Sends a packet. Does not wait: while the starter does not read (it may be stopped), packets are
 * kept, and of what a guest can cause many of, so many.
 */
void control_send(enum control_type type, int32_t value, const char *text, size_t text_size);

/* Likewise any packet, with p->text_size bytes of text. */
void control_send_packet(const struct control_packet *p, const char *text);

/*
 * Sends lines of the trace. Waits up to limit_ms for a starter that does not read; false: it does
 * not, and nothing was sent. The main loop comes round when it does again.
 */
bool control_offer_trace(const char *text, size_t size, int limit_ms);

/* Before the process ends: waits until the starter has all that was kept, or is gone. */
void control_drain(void);

struct process;
struct tty;

/*
 * Who takes a CONTROL_EXEC, CONTROL_EXEC_SIGNAL or CONTROL_EXEC_WINDOW (boot/program.c), and the
 * descriptors that came with it; those that it leaves in fds are closed.
 */
extern void (*control_exec)(const struct control_packet *p, struct hostfd *fds, size_t count);

/* What has been used so far: the fields of the packet that are about it. */
void control_fill_totals(struct control_packet *p);

/* CONTROL_OVER, the first time. */
void control_send_over(enum control_reason reason);

/* CONTROL_EXITED of the main program, with the totals. */
void control_send_exit(const struct process *ended);

/* CONTROL_CASUALTY of another one. */
void control_send_casualty(struct process *ended);

/* CONTROL_DENIED; what may be NULL. */
void control_send_denied(int32_t value, unsigned protocol, const char *what);

/* The main program: who CONTROL_SIGNAL is for. NULL once it has ended. */
void control_set_program(struct process *p, struct tty *console);
/* Its terminal has hung up. */
void control_forget_console(void);
