// SPDX-License-Identifier: Apache-2.0
/*
 * Runs one sandbox from its start to its end in the calling thread: carries the streams, passes
 * signals on, watches the clock.
 *
 *              start          READY                 EXITED              kernel process gone,
 *   (nothing) ------> RUNNING ------> RUNNING ---------------> LEAVING   all output carried
 *                        |                                       |  \----------------------> over
 *                        | time is up, or a signal to us         | 2 s: killed from outside
 *                        v                                       |
 *                     ENDING  program got the signal ------------+ EXITED
 *                        | the grace, or a second signal         |
 *                        v                                       |
 *                     KILLING  CONTROL_KILL ---------------------+
 *                        | 20 ms: its programs are killed from outside
 *                        v                                       |
 *                     TELLING  what they used -------------------+
 *                        | 1 s: killed from outside
 *                        v
 *                     DYING  over when the kernel process is gone, or when
 *                               nothing was at work on that for 1 s, or 10 s later
 *
 * So no program in the sandbox lives longer than grace and 20 ms after its time was up, whatever it
 * does, and whatever the kernel process does, which may be starved or taken over; and what it had
 * written by then is carried to its reader before the end is told. A reader that takes nothing for
 * a second does not hold up an end that is ours. When this returns, nothing of the sandbox is left,
 * or it was said that the machine holds its end up.
 *
 * While it runs, SIGINT, SIGTERM, SIGHUP and SIGQUIT to this process end the sandbox, SIGUSR1 and
 * SIGUSR2 go to the program, SIGTSTP stops both, and SIGPIPE is ignored; a signal that was ignored
 * before stays so.
 */
#pragma once

#include "sandbox/outcome.h"
#include "sandbox/relay.h"
#include "sandbox/spec.h"
#include "sandbox/updates.h"

#define SANDBOX_KILL_MS 20 /* between CONTROL_KILL and SIGKILL to the programs */
/* From there to SIGKILL to the kernel process. One that runs obeys at once; on a machine that has
 * much else to do what it says then, how much was used, would be lost if it got less. */
#define SANDBOX_TELLING_MS    1000
#define SANDBOX_LEAVING_MS    2000  /* between CONTROL_EXITED and the end of the kernel process */
#define SANDBOX_DELIVERY_MS   1000  /* that a reader may rest when we have ended the program */
#define SANDBOX_DYING_MS      1000  /* that the machine may hold up a killed kernel process */
#define SANDBOX_DYING_MAX_MS  10000 /* that it may be at work on the ends of it and of its tasks */
#define SANDBOX_LOG_MAX_BYTES (256 * 1024) /* of the kernel process's standard error */

struct sandbox_io {
    int input;          /* descriptor to read the program's standard input from; -1: it is empty */
    int output, errors; /* descriptors to write to; -1: the functions get it */
    relay_take_fn take_output, take_errors;
    void *output_userdata, *errors_userdata;
    /* How the descriptors show the output to people; NULL: byte for byte. Borrowed. */
    const struct text_style *output_style, *errors_style;
    int trace;         /* descriptor for the lines of the trace; -1: none */
    bool wants_memory; /* the outcome's total_memory_bytes and memory_kills, as the host counted */
    /* A line for the person who started it: a warning, or what the sandbox's kernel logged. */
    void (*say)(const char *line);
    /* Each decision of the gateway, one JSON object, as it is kept (decisions.h); NULL: nobody. */
    updates_line_fn take_decision;
    void *decision_userdata;
    /* The program's first process exists, or with spec->waits: programs can come. NULL: no matter.
     */
    void (*ready)(void *userdata, const char *name);
    void *ready_userdata;
};

/*
 * 0 and *ret when it ran or could at least be tried; negative errno with the reason when nothing
 * was started. With spec->tty, io->input must be a terminal.
 */
int sandbox_run(const struct sandbox_spec *spec, const struct sandbox_io *io,
                struct sandbox_outcome *ret, struct sandbox_error *e);
