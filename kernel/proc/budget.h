// SPDX-License-Identifier: Apache-2.0
/*
 * Limits by which the whole sandbox ends: processor time in all, bytes written in all, and how long
 * nothing may happen in it. The main program is killed, with the reason that the starter is told.
 *
 * Processor time is that of all processes and of this kernel, which works for them.
 *
 * Bytes written are what write(2) and its kin took, to whatever but a device of memory (/dev/null),
 * what was sent to sockets, and the pages of files on disk that were changed through shared
 * mappings, when the host has counted them (proc_pid_io(5)).
 *
 * Bytes sent are those that left over connections and sockets to the outside, both ways of making
 * them (core/traffic.h).
 */
#pragma once

#include "kernel/proc/process.h"

/*
 * For a sandbox without a main program: ends it, as often as it is called, instead of killing that
 * one. Set by boot/program.c before budget_start() can find anything; NULL: there is one.
 */
extern void (*budget_over)(enum control_reason reason);

/* Begins to watch what kernel.config limits. */
void budget_start(void);

/* n bytes (or an error) were written to f; or sent, f NULL. Returns n. */
ssize_t budget_note_written(const struct file *f, ssize_t n);

/* A file gets a shared mapping in s that can be written to. */
void budget_note_mapped(struct address_space *s);

/* p is ending: what it has changed through mappings is counted. */
void budget_note_end(struct process *p);
