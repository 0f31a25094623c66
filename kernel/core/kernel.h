// SPDX-License-Identifier: Apache-2.0
/*
 * The one sandbox this process is the kernel of: its fixed facts and its main loop's services.
 */
#pragma once

#include "kernel/host/filter.h"
#include "kernel/host/watch.h"
#include "lib/base/base.h"
#include "lib/base/list.h"

/* Named limits: everything that a guest can make grow stands here. */
#define LIMIT_THREADS       32768 /* tasks of one sandbox, however many it may have */
#define LIMIT_DENTRIES      2000000
#define LIMIT_FILES         1000000 /* open file descriptions */
#define LIMIT_LOCKS         262144  /* record locks and flocks: past it ENOLCK */
#define LIMIT_LOCKS_OF_FILE 16384
#define LIMIT_PIPE_BYTES    1048576 /* /proc/sys/fs/pipe-max-size */
#define LIMIT_PIPE_PAGES_SOFT \
    16384 /* of all pipes: past it new ones get two pages, as pipe(7) says */
#define LIMIT_PIPE_PAGES        65536         /* of all pipes: past it ENFILE */
#define LIMIT_PTYS              256           /* pairs of terminals; -ENOSPC past it */
#define LIMIT_DEV_BYTES         (1024 * 1024) /* what root may put into /dev besides */
#define LIMIT_DEV_INODES        1024
#define LIMIT_EPOLL_DEPTH       5
#define LIMIT_SOCKETS           262144
#define LIMIT_SOCKET_BYTES      (128 * 1024 * 1024) /* in all queues of all sockets */
#define LIMIT_FILES_IN_FLIGHT   65536               /* SCM_RIGHTS that nobody has received yet */
#define LIMIT_EPOLL_ITEMS       262144              /* /proc/sys/fs/epoll/max_user_watches */
#define LIMIT_POLL_WAITS        1000000 /* files that parked poll and select calls hold */
#define LIMIT_INOTIFY_INSTANCES 128     /* /proc/sys/fs/inotify/ */
#define LIMIT_INOTIFY_WATCHES   8192
#define LIMIT_INOTIFY_QUEUE     16384              /* events of one instance */
#define LIMIT_INOTIFY_QUEUED    131072             /* events of all instances */
#define LIMIT_SEM_SETS          32000              /* SEMMNI; /proc/sys/kernel/sem */
#define LIMIT_SEM_PER_SET       32000              /* SEMMSL */
#define LIMIT_SEM_TOTAL         262144             /* SEMMNS */
#define LIMIT_SEM_UNDOS         1048576            /* values that are kept for SEM_UNDO */
#define LIMIT_SEM_OPS           500                /* SEMOPM */
#define LIMIT_MSG_QUEUES        32000              /* /proc/sys/kernel/msgmni */
#define LIMIT_MSG_BYTES         8192               /* msgmax */
#define LIMIT_MSG_QUEUE_BYTES   16384              /* msgmnb */
#define LIMIT_MSG_TOTAL_BYTES   (32 * 1024 * 1024) /* of all queues, with what a message costs us */
#define LIMIT_SHM_SEGMENTS      4096               /* /proc/sys/kernel/shmmni */
#define LIMIT_SHM_BYTES         (1024LL * 1024 * 1024) /* of all segments */
#define LIMIT_SHARED_MEMORIES   16384 /* of mmap(2) without a file, that may still exist; ENOMEM */
#define LIMIT_ARGUMENT_BYTES    (128 * 1024)
#define LIMIT_PSEUDO_BYTES      (16 * 1024 * 1024) /* text of /proc and /sys kept for open files */

struct kernel_config {
    char hostname[65];
    char domainname[65];
    int cpu_count;            /* what programs are told */
    unsigned cpu_thousandths; /* of one processor, for all together; 0: no limit */
    size_t thread_count;      /* processes and threads together: EAGAIN past it */
    uint64_t memory_bytes;    /* what programs are told */
    /* No cgroup enforces them: the kernel has to. */
    bool watch_memory, watch_cpu;
    uint64_t cpu_budget_ns, write_budget_bytes, idle_ns; /* 0: none */
    uint64_t disk_bytes; /* of the private layer; UINT64_MAX: no limit */
    uint64_t inode_count;
    bool trace;
};

struct kernel {
    struct kernel_config config;
    int64_t boot_monotonic_ns; /* uptime of the sandbox starts here */
    int64_t boot_realtime_ns;
    uint64_t boot_id[2];
    struct hostfd proc_dir;    /* the host's /proc of the kernel's PID namespace */
    struct hostfd store_dir;   /* private folder for contents */
    struct hostfd shadow_dir;  /* tmpfs with the stub and `root`, the tasks' host root */
    struct hostfd shadow_root; /* `root` of it, with nothing above */
    struct hostfd stub;        /* the loader stub */
    struct filter_marks marks; /* what the filter knows the stub's own calls by */
    bool ending;
};

extern struct kernel kernel;

/* Random bytes from the host's getrandom(2); never fails, ends the process if the host can't. */
void kernel_random(void *data, size_t size);

/* One line to the kernel's own log (standard error of the process), with a time. */
void kernel_log(const char *format, ...) _printf_(1, 2);

/* An invariant is broken: reports it and ends this sandbox, never anything else. */
_noreturn_ void kernel_panic(const char *file, int line, const char *what);
#define KERNEL_CHECK(condition)                           \
    do {                                                  \
        if (!(condition))                                 \
            kernel_panic(__FILE__, __LINE__, #condition); \
    } while (0)
