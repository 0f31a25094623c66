// SPDX-License-Identifier: Apache-2.0
/*
 * The terminal of a sandbox that was started with one: between the starter's socket and the
 * kernel's own pty.
 */
#pragma once

#include "kernel/fs/tty/tty.h"

/* Makes the pty and watches the socket. *ret_slave: counted file of /dev/pts/0. */
int console_start(unsigned rows, unsigned columns, uid_t uid, struct file **ret_slave);

/* NULL when the sandbox has no terminal. */
struct tty *console_tty(void);

/* Writes out what the programs have written so far, before their end is told. */
void console_drain(void);
