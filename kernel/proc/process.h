// SPDX-License-Identifier: Apache-2.0
/*
 * Processes and threads of the sandbox.
 *
 * A process is a thread group of the host; pids are those of the tasks' own PID namespace, which
 * the host deals out, so that getpid() and the value of clone() need no translation. host_pid is
 * the same process as the kernel sees it (outer namespace).
 *
 * Life of a process: ALIVE -> ZOMBIE (ended on the host, the parent has not waited) -> freed. On
 * the host SIGCHLD is ignored by all tasks, so that ended ones are reaped at once, whoever their
 * parent is; zombies and their statuses are the kernel's alone. A process's resources (files,
 * memory notes) go when it becomes ZOMBIE.
 */
#pragma once

#include "kernel/core/call.h"
#include "kernel/core/cred.h"
#include "kernel/fs/fdtable.h"
#include "kernel/host/alarm.h"
#include "kernel/host/watch.h"
#include "kernel/proc/io_count.h"
#include "kernel/proc/signal.h"
#include "lib/base/control.h"
#include "lib/base/map.h"

#include <sys/resource.h>

struct tty;
struct exec_image;
struct embryo;

/* cwd, root and umask: shared with CLONE_FS. */
struct fs_context {
    size_t refs;
    struct path root, cwd;
    mode_t umask;
};

struct fs_context *fs_context_new(struct path root, struct path cwd, mode_t umask);
struct fs_context *fs_context_copy(const struct fs_context *c);
struct fs_context *fs_context_get(struct fs_context *c);
void fs_context_put(struct fs_context *c);

/* Spaces that fork has made of one another: only these have private pages in common. */
struct space_family {
    size_t space_count;
};

/* What the host's counters last said of a space: proc/memory_use.c. */
struct space_memory {
    uint64_t generation; /* of the measurement that read them */
    uint64_t resident_bytes, shared_bytes, file_bytes, table_bytes;
    size_t descriptor_slots; /* of the host's table, which has what was mapped at its numbers */
    size_t mapping_count;
    int64_t counted_ns; /* when that was read */
    /* Its share of the pages that it has with others, and what the counter said then. */
    uint64_t measured_bytes, measured_resident_bytes;
    int64_t measured_ns;       /* 0: never */
    uint64_t measured_changes; /* see memory_use.c */
};

/*
 * What is known of an address space: files that were mapped (for /proc/PID/maps), the executable.
 * Shared by CLONE_VM. New at exec.
 */
/* What the auxiliary vector says of a program, getauxval(3); all 0 before the first one. */
struct program_vector {
    uint64_t phdr, phnum, base, entry;
    bool secure;
};

struct address_space {
    size_t refs;
    struct path exe;       /* /proc/PID/exe */
    struct file *exe_file; /* keeps `executing` of the inode */
    char *cmdline;         /* NUL-separated, as exec got it (scripts: with the interpreter) */
    size_t cmdline_size;
    struct map mapped_files;       /* host inode number -> struct mapped_file, see proc/space.c */
    size_t tidy_count;             /* of mapped_files, for the next look at them */
    uint64_t stub_start, stub_end; /* where the loader stub lies: hidden from /proc/PID/maps */
    uint64_t handler, restorer;    /* its signal entry and return */
    struct program_vector vector;
    bool dumpable;
    bool changes_files;          /* it has had a file shared and writable */
    struct space_family *family; /* freed with its last space */
    size_t fork_depth;           /* forks between this and the first of the family */
    struct space_memory memory;
};

struct address_space *space_new(void);
struct address_space *space_get(struct address_space *s);
void space_put(struct address_space *s);

/* Session and process group, process(7) setsid(2) setpgid(2). Emulated; ids are pids. */
struct session {
    size_t refs;
    pid_t id;
    struct tty *tty; /* controlling terminal; counted by fs/tty */
    struct list groups;
};
struct process_group {
    size_t refs;
    pid_t id;
    struct session *session; /* counted */
    struct list session_link;
    struct list members; /* process.group_link */
};

#define TIMER_SLACK_DEFAULT_NS  50000UL
#define COREDUMP_FILTER_DEFAULT 0x33u

#define THREAD_CPUS_MAX 1024 /* as many as libc's cpu_set_t can name */

enum process_state { PROCESS_ALIVE, PROCESS_ZOMBIE };

struct process {
    pid_t pid;      /* in the sandbox */
    pid_t host_pid; /* in the kernel's namespace */
    struct hostfd pidfd;
    enum process_state state;

    struct process *parent; /* uncounted; init for orphans; NULL for init */
    struct list children, sibling;
    struct list threads;      /* thread.process_link; the leader first */
    struct list all_link;     /* process_all */
    struct waitq child_wait;  /* woken when a child changes state */
    struct waitq exit_wait;   /* woken when this process becomes a zombie: pidfd */
    struct waitq exec_wait;   /* woken when an exec of one of its threads is off */
    struct thread *executing; /* the thread whose exec is under way: it has `exec` */

    struct address_space *space;
    struct signal_actions *actions; /* shared with CLONE_SIGHAND */
    struct signal_queue pending;    /* process-directed */
    struct process_group *group;
    struct list group_link;

    struct rlimit rlimits[RLIM_NLIMITS];
    struct interval_timers *timers; /* proc/timers.c: itimers and POSIX timers, made on first use */
    struct embryo *embryo;          /* a fork or clone that the child has not shown up from */
    int exit_signal;                /* told to the parent: SIGCHLD, or 0 */
    int wait_status;                /* of a zombie, as wait4 reports it */
    enum control_reason end_reason; /* why, when that doesn't say it */
    bool group_stopped;             /* job control: all threads are (to be) held */
    bool stop_settled;              /* and they are; the parent was told */
    bool stop_is_late, host_stopped;      /* proc/signal_stop.c */
    bool stop_reported, continue_pending; /* for wait4 WUNTRACED, WCONTINUED */
    int stop_signal;
    bool subreaper, did_exec;
    bool exiting; /* wait_status is known: exit_group was called or a signal ends it */
    struct host_watch end_watch; /* of the pidfd */
    struct timer end_timer;      /* proc/host_end.c: ended, but the host does not say how yet */
    int64_t end_seen_ns;         /* CLOCK_MONOTONIC, likewise; 0: it has not */
    int parent_death_signal;
    int nice, oom_score_adj, ioprio;
    uint32_t coredump_filter;            /* core(5); no core is ever written */
    int64_t start_ns;                    /* CLOCK_MONOTONIC */
    struct rusage children_usage, usage; /* usage: final, of a zombie */
    struct io_count io;                  /* of threads that ended and children it waited for */
    bool autoreap;                       /* the parent ignores SIGCHLD */
    struct list pidfds;      /* struct pidfd, proc/pidfd.c: files that stand for this process */
    struct cred *last_cred;  /* of its main thread, once the threads are gone; see process_cred() */
    char last_name[16];      /* and its comm */
    int exec_error;          /* why its first execve failed: for whoever spawned it */
    bool thp_disabled;       /* prctl(2); kept by fork and exec */
    struct host_alarm alarm; /* proc/meter.c */
    int64_t seen_cpu_ns, seen_ns;  /* processor time, and when it was that: proc/account.c */
    bool throttled;                /* stopped on the host for its share of time: proc/throttle.c */
    uint64_t mapped_written_bytes; /* of files, as proc/budget.c has counted them */
    bool tty_dropped; /* gave its session's terminal up alone (TIOCNOTTY); kept by fork */
    uint64_t mark;    /* on the host, host_ops: what tells its children from others' */
};

struct thread {
    pid_t tid, host_tid;
    bool dead; /* has called exit; a leader stays listed until its process ends */
    struct process *process;
    struct list process_link;
    struct call *call; /* the call in flight, NULL while the task runs */
    struct fdtable *files;
    struct fs_context *fs;
    struct cred *cred;
    struct signal_thread signals; /* mask, own pending, what is to be delivered */
    struct exec_image *exec;      /* between execve and the first instruction of the new program */
    char name[16];                /* comm */
    uint64_t clear_child_tid, robust_list, robust_list_size;
    int sched_policy, sched_priority;
    uint64_t
        cpus[THREAD_CPUS_MAX / 64]; /* sched_setaffinity(2): bit n is CPU n; all 0: every one */
    uint64_t timer_slack_ns;        /* prctl(2); 0: TIMER_SLACK_DEFAULT_NS */
    struct call_resume resume;
    struct io_count io;
};

extern struct list process_all;
extern struct process *process_init; /* pid 1 */
extern size_t thread_total;
extern size_t process_memory_kills; /* processes that were killed since memory was short */
extern size_t process_zombies;      /* ended, and their parents have not waited */
extern size_t process_ending; /* processes whose end is known and that the host has not ended yet */

/*
 * Processes and threads that count for the sandbox's limit: all but the init, with those that are
 * on their way and those that were not waited for.
 */
size_t process_count_tasks(void);

/* Likewise, of that real user id. Looks at each. */
size_t process_count_tasks_of(uid_t uid);

/* By sandbox pid or tid; NULL. thread_find_host: by the host's tid. */
struct process *process_find(pid_t pid);
struct thread *thread_find(pid_t tid);
struct thread *thread_find_host(pid_t host_tid);

static inline struct thread *process_leader(struct process *p)
{
    return list_first(&p->threads, struct thread, process_link);
}

/* Of its main thread, of a zombie what that had last. Borrowed; NULL of one that is being made. */
const struct cred *process_cred(const struct process *p);

/* The host's id of a thread that has not called exit: through it p's memory is seen in /proc. */
pid_t process_living_host_tid(const struct process *p);

/*
 * The thread that a notification came from, made from its process's embryo when it is new.
 * NULL: a task that is unknown and matches no embryo (it is killed by the caller).
 */
struct thread *thread_for_notification(pid_t host_tid);

/*
 * A process with one thread that shares nothing yet: the caller gives it what a fork would copy.
 * init: parent NULL. pidfd: taken; HOSTFD_NONE: one is opened. NULL when out of memory or over
 * LIMIT_THREADS.
 */
struct process *process_new(struct process *parent, pid_t pid, pid_t host_pid, struct hostfd pidfd);
struct thread *thread_new(struct process *p, pid_t tid, pid_t host_tid);
/* Ends the kernel's side of a thread: its call is abandoned, what it shares is put. */
void thread_free(struct thread *t);
/* The same of a thread that has called exit: the host may still show it for a moment. */
void thread_leave(struct thread *t);
bool thread_is_leaving(pid_t host_tid);
/* executed takes the leader's place and ids over (exec by another thread); the leader is freed. */
void thread_take_over(struct thread *executed, struct thread *leader);
/* The parent has waited (or does not care): the zombie goes. */
void process_reap(struct process *p);
/* Notes how the process ends and its usage, once; before the host is let to end it. */
void process_note_end(struct process *p, int wait_status);
/* Told of each process whose first execve has come to something, before the program runs. */
extern void (*process_on_first_exec)(struct process *p);
/* Told of each process that has ended, with its wait_status and usage, before it is reaped. */
extern void (*process_on_end)(struct process *p);
/* Told of each process that job control has stopped: stop_signal says by what. */
extern void (*process_on_stop)(struct process *p);
/* Has the host stop all threads of p, until it gets SIGCONT. False when it has ended. */
bool process_stop_on_host(const struct process *p);
/* The orphans' new parent: the nearest subreaper, or init. */
struct process *process_reaper(const struct process *p);

/* Looks for children of p that have not shown up yet (before kill, wait, /proc are answered). */
void process_settle_embryo(struct process *p);
void process_settle_all(void);

/*
 * A process has ended on the host (its pidfd is readable): becomes ZOMBIE, tells its parent; a
 * little later where the host is still to say how it ended.
 */
void process_ended(struct process *p);

/* setsid and setpgid bookkeeping; jobs.c */
int process_setsid(struct process *p);
int process_setpgid(struct process *caller, struct process *p, pid_t group_id);
struct process_group *process_group_find(pid_t id);
/* No member has a parent in another group of the same session: setpgid(2), "orphaned". */
bool process_group_is_orphaned(const struct process_group *g);

/* CPU time in nanoseconds from the host, user and system, of a process or one thread. */
int process_cpu_time(const struct process *p, int64_t *ret_user_ns, int64_t *ret_system_ns);
int thread_cpu_time(const struct thread *t, int64_t *ret_user_ns, int64_t *ret_system_ns);

/* A walk base of the thread: its root, cwd and credentials. dirfd as for openat(2). -EBADF,
 * -ENOTDIR. */
int thread_walk_base(struct thread *t, int dirfd, struct walk_base *ret);

/* The soft limit, RLIM_INFINITY capped to SIZE_MAX. */
size_t process_limit(const struct process *p, int resource);
