// SPDX-License-Identifier: Apache-2.0
/*
 * /proc of the sandbox: proc(5).
 *
 * What it says of processes comes from the kernel's own tables; what only the host knows (memory,
 * CPU time, mappings) is asked for with host->read_proc, parsed strictly (host_text.h) and written
 * anew, with the guest's pids, names, devices and inode numbers. What it says of the machine is
 * made up from kernel.config and the sum over the sandbox's processes.
 *
 * Who asks is call_current's thread. Outside of a call (the kernel's own look-ups) there is no
 * /proc/self, and nothing is refused.
 */
#pragma once

#include "kernel/fs/proc/host_text.h"
#include "kernel/fs/pseudo/pseudo.h"
#include "kernel/proc/memory_use.h"
#include "kernel/proc/process.h"

#define PROC_TICKS_PER_SECOND 100 /* USER_HZ */
#define PROC_KIB_PER_PAGE     (GUEST_PAGE_SIZE / 1024)

/*
 * The host's /proc/cpuinfo, opened before the kernel is jailed (taken over): the kernel's own /proc
 * has nothing but processes. Read when a program asks for the first time, since that may take the
 * host milliseconds.
 */
void proc_set_host_cpuinfo(struct hostfd file);

/* What all processes use together, as of at most a quarter of a second ago. Borrowed, never NULL.
 */
struct proc_usage {
    int64_t user_ns, system_ns; /* of dead ones too; never go back */
    uint64_t page_faults, major_faults;
    unsigned running;
    pid_t last_pid;
    double load[3]; /* over 1, 5 and 15 minutes */
};
const struct proc_usage *proc_usage_now(void);

/* The same of memory; and what of the sandbox's memory is used: sysinfo(2). */
const struct memory_use *proc_memory_now(void);
uint64_t proc_memory_used_bytes(void);
/* CPU time of all of the sandbox's processes, dead ones too; never goes back. */
int64_t proc_cpu_user_ns(void);
int64_t proc_cpu_system_ns(void);
/* Load over 1, 5 and 15 minutes, in 1/65536 as sysinfo(2) has it. */
void proc_load_average(unsigned long ret[3]);

/*
 * A directory /proc/PID is a descriptor of its process: pidfd_send_signal(2). False when f is none;
 * *ret is NULL when the process is gone.
 */
bool proc_is_process_directory(const struct file *f, struct process **ret);

/* ---- within fs/proc ---- */

struct thread *proc_caller(void);

/* What a node is of; NULL when it is gone. A zombie has a process, and may have no thread. */
struct process *proc_process(const struct pseudo_node *n);
struct thread *proc_thread(const struct pseudo_node *n);

/* Of the thread, or what a zombie had. Borrowed; NULL when it is gone. */
const struct cred *proc_cred(const struct pseudo_node *n);
/* Its comm likewise; "". */
const char *proc_name(const struct pseudo_node *n);

/* The address space, or NULL (a zombie, or one that has not executed anything). */
struct address_space *proc_space(const struct pseudo_node *n);

/* ptrace(2) PTRACE_MODE_READ_FSCREDS: the caller may look into the process's memory and files. */
bool proc_may_access(const struct pseudo_node *n);

/* For entries' `check`: 0, -EACCES when proc_may_access() says no, -ESRCH when it is gone. */
int proc_check_access(const struct pseudo_node *n);

bool proc_node_is_alive(const struct pseudo_node *n);
void proc_node_refresh(const struct pseudo_node *n, struct inode *i);

/* The name below the host's /proc of a file of the node's thread or process. 0 or -ESRCH. */
int proc_host_name(const struct pseudo_node *n, const char *file, char ret[64]);

/*
 * Reads the host's file of the node's thread ("stat") or process into heap memory, at most
 * max_bytes. The size, or -errno; -ESRCH when the task is gone.
 */
ssize_t proc_read_host(const struct pseudo_node *n, const char *file, size_t max_bytes,
                       char **ret_text);

/* The host's stat and statm; all zeros for a zombie. 0 or -errno. */
int proc_host_stat(const struct pseudo_node *n, struct host_stat *ret);
int proc_host_statm(const struct pseudo_node *n, uint64_t ret[HOST_STATM_FIELDS]);

/* The state letter as the guest is to see it: a task that waits for us is not in disk sleep. */
char proc_state(const struct pseudo_node *n, char host_state);

size_t proc_count_threads(struct process *p);

/* Ticks since the sandbox's start. */
uint64_t proc_ticks(int64_t ns);

/* Appends the name of p as the caller sees it: d_path(). */
void proc_append_path(struct buf *b, struct path p);
/* Appends text with blanks and the like as \040: seq_path(). */
void proc_append_escaped(struct buf *b, const char *text);
/* Those of the sandbox's CPUs that are in the set (thread.cpus; NULL or empty: all), as "f" or
 * "ff,ffffffff", and as "0-1,3". */
void proc_append_cpu_mask(struct buf *b, const uint64_t *set);
void proc_append_cpu_list(struct buf *b, const uint64_t *set);

/* The tables: root.c, process.c, links.c, sysctl.c, net.c. */
extern const struct pseudo_entry proc_root_entry;
extern const struct pseudo_names proc_pid_names;
extern const struct pseudo_entry proc_sys_children[];
extern const struct pseudo_entry proc_net_children[];
extern const struct pseudo_names proc_fd_names, proc_fdinfo_names, proc_task_names;

void proc_refresh_fd_link(const struct pseudo_node *n, struct inode *i);
int proc_show_stat(const struct pseudo_node *n, struct buf *b);
int proc_show_statm(const struct pseudo_node *n, struct buf *b);
int proc_show_status(const struct pseudo_node *n, struct buf *b);
int proc_show_limits(const struct pseudo_node *n, struct buf *b);
int proc_more_cmdline(const struct pseudo_node *n, void **state, bool can_wait, struct buf *b);
int proc_more_environ(const struct pseudo_node *n, void **state, bool can_wait, struct buf *b);
void proc_forget_arguments(void *state);
int proc_more_maps(const struct pseudo_node *n, void **state, bool can_wait, struct buf *b);
int proc_more_smaps(const struct pseudo_node *n, void **state, bool can_wait, struct buf *b);
void proc_forget_maps(void *state);
int proc_show_smaps_rollup(const struct pseudo_node *n, struct buf *b);
int proc_show_mounts(const struct pseudo_node *n, struct buf *b);
int proc_show_mountinfo(const struct pseudo_node *n, struct buf *b);
int proc_show_cpuinfo(const struct pseudo_node *n, struct buf *b);

int proc_show_exe(const struct pseudo_node *n, struct buf *b);
int proc_show_cwd(const struct pseudo_node *n, struct buf *b);
int proc_show_root(const struct pseudo_node *n, struct buf *b);
int proc_follow_exe(const struct pseudo_node *n, struct path *ret);
int proc_follow_cwd(const struct pseudo_node *n, struct path *ret);
int proc_follow_root(const struct pseudo_node *n, struct path *ret);

/* The machine-wide files: system.c. */
int proc_show_meminfo(const struct pseudo_node *n, struct buf *b);
int proc_show_system_stat(const struct pseudo_node *n, struct buf *b);
int proc_show_uptime(const struct pseudo_node *n, struct buf *b);
int proc_show_loadavg(const struct pseudo_node *n, struct buf *b);
int proc_show_version(const struct pseudo_node *n, struct buf *b);
int proc_show_vmstat(const struct pseudo_node *n, struct buf *b);
