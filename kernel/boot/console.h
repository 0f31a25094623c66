// SPDX-License-Identifier: Apache-2.0
/*
 * The terminal of a program that was started with one: between a socket of the starter's and the
 * kernel's own pty.
 */
#pragma once

#include "kernel/fs/tty/tty.h"

struct console;

/*
 * Makes the pty and watches the socket, which is the console's on success. *ret_slave: counted file
 * of /dev/pts/N. 0 or -errno.
 */
int console_open(struct hostfd socket, unsigned rows, unsigned columns, uid_t uid,
                 struct console **ret, struct file **ret_slave);

/* NULL when the starter's side is gone, and for NULL. */
struct tty *console_tty(const struct console *c);

/* Waits until what the programs have written so far is out, for as long as the starter takes
 * something. NULL is fine. */
void console_drain(struct console *c);

/*
 * Its program has ended: once all output is out, from the main loop, the terminal is hung up, the
 * console freed and done(context) called.
 */
void console_finish(struct console *c, void (*done)(void *context), void *context);
