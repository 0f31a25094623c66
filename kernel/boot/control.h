// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's end of the control channel: lib/base/control.h.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/base/control.h"

/* Watches the control socket; must be called once the host layer is ready. */
int control_start(void);

/* Sends a packet; waits until it is taken (the starter always reads). */
void control_send(enum control_type type, int32_t value, const char *text, size_t text_size);

struct process;
struct tty;

/* CONTROL_EXITED of the main program, with the totals. */
void control_send_exit(const struct process *ended);

/* CONTROL_CASUALTY of another one. */
void control_send_casualty(struct process *ended);

/* The main program: who CONTROL_SIGNAL is for. NULL once it has ended. */
void control_set_program(struct process *p, struct tty *console);
/* Its terminal has hung up. */
void control_forget_console(void);
