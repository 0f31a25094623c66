// SPDX-License-Identifier: Apache-2.0
/*
 * Everything the kernel asks of the host about tasks goes through this table, so that tests can put
 * another one in place and make the n-th call fail. kernel/host is the only room that talks to the
 * host about tasks; files of the image and the store are opened by fs/image and fs/content.
 *
 * Sources: seccomp_unotify(2), process_vm_readv(2), pidfd_open(2).
 */
#pragma once

#include "kernel/host/alarm.h"
#include "kernel/host/hostfd.h"

#include <linux/seccomp.h>

#define HOST_TICK_NS (2 * NSEC_PER_MSEC)

struct host_ops {
    /*
     * Waits for a system call of any task; *ret is filled. 0; -EINTR: host_watches were ready and
     * have run, or deadline_ns (CLOCK_MONOTONIC, INT64_MAX: none) has come; -ENOENT: the caller
     * died meanwhile; -ENODEV: no task is left. prompt: a task is about to end, or all of them wait
     * for something, so watches must be seen at once; else patient ones may be seen HOST_TICK_NS
     * late.
     */
    int (*receive)(struct seccomp_notif *ret, int64_t deadline_ns, bool prompt);
    /* Answers with a value (>= 0) or negative errno. -ENOENT: the task is gone. */
    int (*answer)(uint64_t id, int64_t result);
    /* Lets the host run the call. */
    int (*run)(uint64_t id);
    /*
     * Puts a descriptor at exactly this number into the calling task's host table, close-on-exec.
     * -EBADF: number over the host's limit; -ENOENT: gone.
     */
    int (*place_fd)(uint64_t id, struct hostfd fd, int number);
    /* The notification still stands: its pid is the task that made it. */
    bool (*is_valid)(uint64_t id);
    /* process_vm_readv/writev of one range: bytes or -errno. */
    ssize_t (*read_memory)(pid_t host_tid, void *dst, uint64_t src, size_t size);
    ssize_t (*write_memory)(pid_t host_tid, uint64_t dst, const void *src, size_t size);
    /* tgkill(2), or tkill(2) when host_pid is 0: a task of an unknown process;
     * pidfd_send_signal(2). */
    int (*signal_thread)(pid_t host_pid, pid_t host_tid, int sig);
    int (*signal_process)(struct hostfd pidfd, int sig);
    /* Sets the soft limit of a task for memory that the host gives it: RLIMIT_AS, _DATA, _STACK. */
    int (*limit)(pid_t host_pid, int resource, uint64_t soft);
    /*
     * A number that a process's children inherit, that stays over exec, and that no task can see or
     * change. set_mark: 0 or -errno, e.g. when this host has no room for such a number.
     */
    int (*get_mark)(pid_t host_pid, uint64_t *ret);
    int (*set_mark)(pid_t host_pid, uint64_t mark);
    /*
     * The id of a task in the PID namespace of the tasks, or -errno: -ENOTTY, this host does not
     * tell (before Linux 6.11).
     */
    pid_t (*id_inside)(pid_t host_tid);
    /* Time on the processor of all threads of a process so far: 0 or -errno. clock_getcpuclockid(3)
     */
    int (*cpu_time)(pid_t host_pid, int64_t *ret_ns);
    /*
     * The wait status of a process whose pidfd is readable: 0 or -errno: -EAGAIN, the host has not
     * reaped it yet; -ENODATA, this host does not tell (before Linux 6.15). ioctl_pidfd(2),
     * PIDFD_GET_INFO.
     */
    int (*how_ended)(struct hostfd pidfd, int *ret_status);
    /* host_alarm_set() and host_alarm_clear(). */
    int (*set_alarm)(struct host_alarm *a, pid_t host_pid, int64_t period_ns);
    void (*clear_alarm)(struct host_alarm *a);
    /* Reads a small file below the kernel's own /proc (relative name), NUL-terminated: size or
     * -errno. */
    ssize_t (*read_proc)(const char *name, char *buffer, size_t size);
    /* The same from a place on, without a NUL: as much as there is room for, fewer at the end. */
    ssize_t (*read_proc_part)(const char *name, uint64_t offset, char *buffer, size_t size);
    /* Opens such a file, for who reads it in parts: 0 or -errno. The caller's to close. */
    int (*open_proc)(const char *name, struct hostfd *ret);
    /* Lines of such a file, however large it is; or -errno. */
    ssize_t (*count_proc_lines)(const char *name);
};

extern const struct host_ops *host;
extern const struct host_ops host_linux;

/*
 * Readies host_linux: the listener of the tasks' filter (taken over), /proc of the kernel's PID
 * namespace (borrowed), and the first task. 0 or -errno.
 */
int host_linux_start(struct hostfd listener, struct hostfd proc_dir, pid_t first);
