// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of sandbox/run.h: run.c is the loop, run_packets.c what the kernel says, run_records.c
 * what is told and kept of it.
 */
#pragma once

#include "sandbox/copies.h"
#include "sandbox/decisions.h"
#include "sandbox/execs.h"
#include "sandbox/files.h"
#include "sandbox/notices.h"
#include "sandbox/ports.h"
#include "sandbox/run.h"
#include "sandbox/signals.h"

enum state {
    RUNNING,
    ENDING,  /* the program got a signal and has until the deadline */
    KILLING, /* the kernel process got CONTROL_KILL, likewise */
    TELLING, /* the programs are killed from outside; it may still say what they used */
    LEAVING, /* the program has ended, the kernel process is about to */
    DYING,   /* all are killed from outside; the machine may hold the kernel process up */
    GONE,    /* the kernel process was waited for */
};

struct run {
    const struct sandbox_spec *spec;
    const struct sandbox_io *io;
    struct sandbox *sandbox;
    struct sandbox_outcome *outcome;
    enum state state;
    struct place place;
    int64_t start_ns, deadline_ns;   /* CLOCK_MONOTONIC; 0: none */
    int64_t timeout_ns, lifetime_ns; /* when the time of command and sandbox are up; likewise */
    int64_t dying_until_ns;          /* at the latest */
    int64_t seen_user_ns, seen_system_ns; /* of programs that were killed from outside; or 0 */
    unsigned idle_looks;      /* at which nobody of the dying was at work, one after another */
    uint64_t delivered_bytes; /* when the deadline for readers was set */
    int64_t suspend_ns;       /* when to stop though the program has not said that it did */
    bool is_ready;            /* the program's first process exists */
    bool has_outcome;         /* EXITED or FAILED came */
    bool has_totals;          /* EXITED or TOTALS */
    bool is_ended_by_us;      /* the cause is time or a signal, whatever the program makes of it */
    bool is_control_open;
    bool is_abandoned;   /* nothing more is carried */
    bool is_sweeping;    /* there may be more to remove of what others left */
    bool is_held_up;     /* the kernel process can't be waited for */
    bool is_output_lost; /* message says why */
    bool is_input_terminal;
    int input_left; /* reading end of the program's input, to count what it left; -1 */
    struct relay input, output, errors, log;
    struct notices notices;
    struct scrubber *scrubber; /* NULL: there are no secrets */
    struct signals signals;
    struct decisions decisions;
    struct updates updates;
    struct copies copies;
    struct files files;
    struct ports ports;
    struct execs execs;
};

/* The program has ended, or was never there: the sandbox does. */
void run_start_leaving(struct run *r);

/* Stops this process as Ctrl-Z would. */
void run_suspend(struct run *r);

/* Takes some of what there is on the control socket. Whether there may be more. */
bool run_read_control(struct run *r);

/* Tells that it has started. */
void run_note_start(const struct run *r);

/* Completes what came of it, keeps that for those who ask later, and tells that it has
 * ended. end_ns: when, CLOCK_MONOTONIC. */
void run_finish_outcome(struct run *r, int64_t end_ns);
