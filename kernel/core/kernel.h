// SPDX-License-Identifier: Apache-2.0
/*
 * The one sandbox this process is the kernel of: its fixed facts and its main loop's services.
 */
#pragma once

#include "kernel/core/limits.h"
#include "kernel/host/filter.h"
#include "kernel/host/watch.h"
#include "lib/base/base.h"
#include "lib/base/list.h"

struct kernel_config {
    char hostname[65];
    char domainname[65];
    int cpu_count;            /* what programs are told */
    unsigned cpu_thousandths; /* of one processor, for all together; 0: no limit */
    size_t thread_count;      /* processes and threads together: EAGAIN past it */
    uint64_t memory_bytes;    /* what programs are told */
    /* No cgroup enforces them: the kernel has to. */
    bool watch_memory, watch_cpu;
    uint64_t cpu_budget_ns, write_budget_bytes, send_budget_bytes, idle_ns; /* 0: none */
    uint64_t output_rate; /* bytes a second over standard streams and terminals; 0: no limit */
    uint64_t disk_bytes;  /* of the private layer; UINT64_MAX: no limit */
    uint64_t inode_count;
    uint64_t file_bytes; /* the machine's own limit of a file, as is what programs have (fsize) */
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
