// SPDX-License-Identifier: Apache-2.0
/*
 * What processes and threads have used, from the host's /proc (proc(5)). Times have its resolution
 * of 10 ms. See process_cpu_time() and thread_cpu_time() in process.h.
 */
#pragma once

#include "kernel/proc/process.h"

struct timeval usage_timeval(int64_t ns);

/* A status has a line of groups, up to NGROUPS_MAX of them, before the lines that count. */
#define USAGE_STATUS_MAX_BYTES (1u << 20)

/*
 * The whole text of /proc/TID/status on the host. The groups in it are those of whoever has started
 * the sandbox. Borrowed until the next call of this. 0 or -errno.
 */
int usage_read_status(pid_t host_tid, const char **ret);

/* The number behind a key such as "\nVmHWM:" in the text of a file of /proc; 0 when it isn't there.
 */
long usage_status_number(const char *text, const char *key);

/*
 * As getrusage(2): times, page faults, peak resident size; context switches of a thread. Of a
 * zombie what was noted at its end. 0, or -errno when the task is gone.
 */
int process_usage(const struct process *p, struct rusage *ret);
int thread_usage(const struct thread *t, struct rusage *ret);

/* Minor page faults so far; NULL: of the kernel itself. 0 when the process is gone. */
uint64_t process_page_faults(const struct process *p);

/* It runs, or waits for a processor to do so. */
bool thread_is_running(const struct thread *t);
