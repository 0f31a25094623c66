// SPDX-License-Identifier: Apache-2.0
/*
 * What the probes share: children, threads, files, memory.
 */
#pragma once

#include "probes/probe.h"

#define PAGE 4096UL

/* True in a Glovebox, false anywhere else: what would harm a machine asks. */
bool probe_is_inside(void);
bool probe_is_root(void);
/* Skips the probe unless it runs as the sandbox's root. */
void probe_need_root(void);
/* The sandbox's root becomes the ordinary user; does nothing for others. */
void probe_become_user(void);

/* This program's own path. As `PATH --exit N` it does nothing but end with status N. */
const char *probe_self(void);
#define SELF_EXIT_TEXT "--exit"

/* fork(2) that doesn't fail. */
pid_t probe_fork(void);
/* Waits: the exit status, or 128 + signal. */
int probe_wait(pid_t pid);
/* Runs f in a child and waits for it: f may crash. Falling off its end is status 0. */
int probe_run_child(void (*f)(void *), void *argument);
/* A child that sleeps until it is killed. */
pid_t probe_sleeper(void);
void probe_kill(pid_t pid);

/* Starts a thread that nobody joins. */
void probe_thread(void *(*f)(void *), void *argument);

/* The kernel still makes processes, runs programs and moves bytes; unproved when it doesn't. */
void probe_check_kernel(void);

/* Repeatable: every run attacks in the same order. */
uint32_t probe_random(uint32_t *state);
int64_t probe_now_ms(void);

/* A new file with this content, in the working directory. */
void probe_write_file(const char *name, const void *data, size_t size, mode_t mode);
/* Whole content of a file of at most size - 1 bytes, NUL-terminated; -1 when it can't be read. */
ssize_t probe_read_file(const char *name, char *data, size_t size);

/* Anonymous memory. */
char *probe_pages(size_t count, int protection);
