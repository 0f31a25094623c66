// SPDX-License-Identifier: Apache-2.0
/*
 * Terminals: pty(7), tty(4), pts(4). All of them are pseudo-terminals; that of a sandbox which was
 * started with one is a pty whose master is held by the kernel itself ("host console").
 *
 *   master file, or console_input/output  <-->  struct tty (line discipline, settings)  <-->  slave
 * files
 *
 * A struct tty is the whole pair. It is counted by its master (file or console), by each open file
 * of its slave and by the session that it controls, and knows its session without counting it: a
 * session can't go before its leader, and the leader's end detaches it (jobs_detach_tty).
 */
#pragma once

#include "kernel/fs/vfs.h"

struct tty;
struct process;

/* The device number of its slave as /proc/PID/stat shows it (tty_nr); 0 for NULL and after a
 * hang-up. */
uint64_t tty_device(const struct tty *t);

/* The controlling terminal of p, borrowed, or NULL. */
struct tty *tty_of_process(const struct process *p);

/* /dev/ptmx: each open makes a new pair. /dev/tty: opens the caller's controlling terminal. */
extern const struct file_ops tty_multiplexer_ops;
extern const struct file_ops tty_current_ops;

/* ---- the host console: a pty whose master side is driven from inside of the kernel ---- */

struct console_options {
    uint16_t rows, columns;
    uid_t uid; /* owner of /dev/pts/N */
    /*
     * There is output to take, or room for input again, or the last slave file was closed. Called
     * from within other work: it only notes what is to be done. May be NULL.
     */
    void (*changed)(struct tty *t, void *context);
    void *context;
};

/*
 * A new pair with an open file of its slave, whose path is that of /dev/pts/N (devpts must be
 * mounted). *ret_tty is counted: give it back with console_hang_up(). -ENOSPC, -ENODEV, -ENOMEM.
 */
int tty_new_host_console(const struct console_options *options, struct file **ret_slave,
                         struct tty **ret_tty);

/* Takes up to size bytes that the host's user typed; the number taken. */
size_t console_input(struct tty *t, const void *data, size_t size);

/* Takes out up to size bytes of output; the number, 0: none. */
size_t console_output(struct tty *t, void *data, size_t size);
bool console_has_output(const struct tty *t);
size_t console_input_room(const struct tty *t);

/* True while a program has the slave open. */
bool console_is_open(const struct tty *t);

/* The host's side is gone: programs see a hang-up. Drops the reference; t is not to be used any
 * more. */
void console_hang_up(struct tty *t);

/* SIGWINCH to the foreground group if that is a change. */
void tty_set_window_size(struct tty *t, uint16_t rows, uint16_t columns);

/* Makes t the controlling terminal of p, the leader of its session; its group is the foreground's.
 */
void tty_make_controlling(struct tty *t, struct process *p);

/* Sends a signal to the foreground group; nothing happens where there is none. */
void tty_signal_foreground(struct tty *t, int sig);
