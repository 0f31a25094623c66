// SPDX-License-Identifier: Apache-2.0
/*
 * The pseudo-terminal pair, for the files of this folder.
 *
 *   master writes --> to_slave (not yet taken by the discipline) --> discipline --> slave reads
 *   slave writes, echoes --> discipline.output --> master reads
 *
 * Life: `locked` until TIOCSPTLCK; slave_closed from the last slave file's close to the next open
 * (the master then reads EIO once it is drained); hung_up for good once the master has gone.
 */
#pragma once

#include "kernel/core/timer.h"
#include "kernel/core/waitq.h"
#include "kernel/fs/tty/discipline.h"
#include "kernel/fs/tty/tty.h"

#define PAIR_INPUT_BYTES                                                    \
    16384 /* that the master has written and the discipline has no room for \
           */

struct session;

struct tty {
    size_t refs;
    unsigned index;
    struct dentry *entry; /* counted: N of /dev/pts; NULL once it was removed */

    struct discipline discipline;
    struct ring to_slave;
    uint8_t to_slave_data[PAIR_INPUT_BYTES];
    struct waitq slave_wait, master_wait;
    struct winsize window;

    bool locked, hung_up, slave_closed;
    bool exclusive, master_exclusive; /* TIOCEXCL of the slave; of the master, without effect */
    bool master_stopped;              /* TCOOFF on the master */
    size_t slave_files;

    bool packet; /* TIOCPKT */
    uint8_t packet_status;

    struct session *session; /* that it controls, uncounted; NULL: none */
    pid_t foreground;        /* process group, or 0 */

    /* VTIME between bytes, for a reader that has some but fewer than VMIN */
    struct timer interbyte;
    bool interbyte_over;

    void (*changed)(struct tty *t, void *context); /* of the host console */
    void *context;
};

/* ---- pair.c ---- */

struct tty *tty_get(struct tty *t);
void tty_put(struct tty *t);

/* A new pair with its name in /dev/pts, owned by uid; refs 1 is the master's. -ENOSPC, -ENOMEM. */
int pair_new(uid_t uid, struct tty **ret);

/* The master has gone: hangs up. The caller then drops its reference. */
void pair_hang_up(struct tty *t);

/* f is a new file of the slave: -EIO (locked, hung up), -EBUSY (TIOCEXCL). Counts; sets ops. */
int pair_open_slave(struct tty *t, struct file *f);

/* A new file of the slave under its path in /dev/pts. flags: O_*. */
int pair_open_peer(struct tty *t, int flags, struct file **ret);

/* Hands what the master has written to the discipline as far as that takes it. */
void pair_pump_input(struct tty *t);
/* Output was taken out: echoes and writers get the room. */
void pair_output_taken(struct tty *t);

/* Wakes who waits on the master's side; the console. */
void pair_wake_master(struct tty *t, uint32_t events);
/* Changes the status that a master in packet mode is told. */
void pair_set_packet_status(struct tty *t, uint8_t clear, uint8_t set);

size_t pair_input_room(const struct tty *t);

/* ---- files.c ---- */

extern const struct file_ops tty_slave_ops, tty_master_ops;

/* ---- control.c ---- */

long tty_slave_ioctl(struct file *f, struct call *c, unsigned request, struct gaddr argument);
long tty_master_ioctl(struct file *f, struct call *c, unsigned request, struct gaddr argument);

/* ---- settings.c ---- */

/* Requests about termios, of either side. -ENOTTY: it is none of them. */
long tty_settings_ioctl(struct tty *t, struct call *c, unsigned request, struct gaddr argument);

/* ---- session.c ---- */

/*
 * Job control: what a process of a background group gets for touching its terminal. 0: go on; -EIO;
 * or -EAGAIN: sig was sent to its group, and the call is to be parked, so that the signal
 * interrupts it. It is made again when the process is continued, or when the foreground changes.
 */
long tty_check_change(struct tty *t, int sig);

/* open(2) of the slave without O_NOCTTY. */
void tty_open_controlling(struct tty *t, const struct file *f);

/* Requests about sessions and groups; from_master: the file is the master's. -ENOTTY: none of them.
 */
long tty_session_ioctl(struct tty *t, struct file *f, bool from_master, struct call *c,
                       unsigned request, struct gaddr argument);

/* The master has gone: tells the session, which has no terminal from now on. */
void tty_hang_up_session(struct tty *t);

/* ---- devpts.c ---- */

/* Makes the name t->index; -ENODEV before the file system was made. */
int devpts_add(struct tty *t, uid_t uid);
void devpts_remove(struct tty *t);
/* Its path below the mount of the file system, counted. -ENODEV when it is mounted nowhere. */
int devpts_path(struct tty *t, struct path *ret);
