// SPDX-License-Identifier: Apache-2.0
/*
 * The sandbox's share of processor time where no cgroup of the host enforces it.
 *
 * The share is a credit that grows with time, up to what it is for THROTTLE_PERIOD_NS, and that
 * what is used is taken from. When it is used up, all tasks are stopped until it is full again.
 *
 * They are stopped by the host's SIGSTOP, of which nothing inside shows: job control is the
 * kernel's own, the host tells nobody of the stop, and goes on with the calls of a task where they
 * were. Calls that wait for the kernel's answer stay as they are.
 */
#pragma once

#include "kernel/proc/process.h"

#define THROTTLE_PERIOD_NS (100 * NSEC_PER_MSEC)

/* Begins to watch, when kernel.config says so. */
void throttle_start(void);

/* t is new: it is stopped when the others are. */
void throttle_thread_born(const struct thread *t);
