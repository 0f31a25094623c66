// SPDX-License-Identifier: Apache-2.0
/*
 * The machine as the sandbox sees it: /proc/{meminfo,stat,uptime,loadavg,version,vmstat}.
 */
#include "kernel/fs/proc/proc.h"

#include "kernel/core/kernel.h"
#include "kernel/core/release.h"

static int cpu_count(void)
{
    return MAX(kernel.config.cpu_count, 1);
}

/* What the kernel and the host keep for programs but their pages, in KiB: slabs, stacks and more.
 */
static uint64_t kernel_kib(const struct memory_use *m)
{
    return (m->kernel_bytes + m->host_bytes) / 1024;
}

int proc_show_meminfo(const struct pseudo_node *n, struct buf *b)
{
    const struct memory_use *m = proc_memory_now();
    uint64_t total = kernel.config.memory_bytes / 1024, used = proc_memory_used_bytes() / 1024;
    uint64_t private = m->private_bytes / 1024, shared = m->shared_bytes / 1024;
    const struct {
        const char *name;
        uint64_t kib;
    } rows[] = {
        {"MemTotal", total},
        {"MemFree", total - used},
        {"MemAvailable", total - used},
        {"Buffers", 0},
        {"Cached", shared},
        {"SwapCached", 0},
        {"Active", private},
        {"Inactive", shared},
        {"Active(anon)", private},
        {"Inactive(anon)", shared},
        {"Active(file)", 0},
        {"Inactive(file)", 0},
        {"Unevictable", 0},
        {"Mlocked", 0},
        {"SwapTotal", 0},
        {"SwapFree", 0},
        {"Dirty", 0},
        {"Writeback", 0},
        {"AnonPages", private},
        {"Mapped", m->file_bytes / 1024},
        {"Shmem", shared},
        {"KReclaimable", 0},
        {"Slab", kernel_kib(m)},
        {"SReclaimable", 0},
        {"SUnreclaim", kernel_kib(m)},
        {"KernelStack", thread_total * 16},
        {"PageTables", m->table_bytes / 1024},
        {"NFS_Unstable", 0},
        {"Bounce", 0},
        {"WritebackTmp", 0},
        {"CommitLimit", total},
        {"Committed_AS", used},
        {"VmallocTotal", 34359738367},
        {"VmallocUsed", 0},
        {"VmallocChunk", 0},
        {"Percpu", 0},
        {"AnonHugePages", 0},
        {"ShmemHugePages", 0},
        {"ShmemPmdMapped", 0},
        {"FileHugePages", 0},
        {"FilePmdMapped", 0},
    };
    /* Linux's columns: there is a blank before the longest of numbers too, and readers split. */
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        buf_printf(b, "%s:%*s%8lu kB\n", rows[i].name, (int)(15 - strlen(rows[i].name)), "",
                   rows[i].kib);
    buf_append_str(b, "HugePages_Total:       0\nHugePages_Free:        0\n"
                      "HugePages_Rsvd:        0\nHugePages_Surp:        0\n"
                      "Hugepagesize:       2048 kB\nHugetlb:               0 kB\n");
    return 0;
}

static uint64_t uptime_ticks(void)
{
    return proc_ticks(clock_monotonic_ns() - kernel.boot_monotonic_ns);
}

int proc_show_system_stat(const struct pseudo_node *n, struct buf *b)
{
    const struct proc_usage *u = proc_usage_now();
    uint64_t count = (uint64_t)cpu_count();
    uint64_t user = proc_ticks(u->user_ns), system = proc_ticks(u->system_ns);
    uint64_t all = uptime_ticks() * count;
    uint64_t idle = all - MIN(user + system, all);
    buf_printf(b, "cpu  %lu 0 %lu %lu 0 0 0 0 0 0\n", user, system, idle);
    for (uint64_t i = 0; i < count; i++)
        buf_printf(b, "cpu%lu %lu 0 %lu %lu 0 0 0 0 0 0\n", i, user / count, system / count,
                   idle / count);
    buf_printf(b,
               "intr 0\nctxt 0\nbtime %ld\nprocesses %d\nprocs_running %u\nprocs_blocked 0\n"
               "softirq 0 0 0 0 0 0 0 0 0 0 0\n",
               (long)(kernel.boot_realtime_ns / NSEC_PER_SEC), u->last_pid, MAX(u->running, 1u));
    return 0;
}

int proc_show_uptime(const struct pseudo_node *n, struct buf *b)
{
    const struct proc_usage *u = proc_usage_now();
    uint64_t up = uptime_ticks(), all = up * (uint64_t)cpu_count();
    uint64_t idle = all - MIN(proc_ticks(u->user_ns + u->system_ns), all);
    buf_printf(b, "%lu.%02lu %lu.%02lu\n", up / 100, up % 100, idle / 100, idle % 100);
    return 0;
}

int proc_show_loadavg(const struct pseudo_node *n, struct buf *b)
{
    const struct proc_usage *u = proc_usage_now();
    buf_printf(b, "%.2f %.2f %.2f %u/%zu %d\n", u->load[0], u->load[1], u->load[2],
               MAX(u->running, 1u), thread_total, u->last_pid);
    return 0;
}

int proc_show_version(const struct pseudo_node *n, struct buf *b)
{
    buf_append_str(b, "Linux version " KERNEL_RELEASE " (glovebox@sandbox) (gcc) " KERNEL_VERSION
                      "\n");
    return 0;
}

int proc_show_vmstat(const struct pseudo_node *n, struct buf *b)
{
    const struct proc_usage *u = proc_usage_now();
    const struct memory_use *m = proc_memory_now();
    uint64_t free_bytes = kernel.config.memory_bytes - proc_memory_used_bytes();
    uint64_t private = m->private_bytes / GUEST_PAGE_SIZE;
    uint64_t shared = m->shared_bytes / GUEST_PAGE_SIZE;
    buf_printf(b,
               "nr_free_pages %lu\nnr_inactive_anon %lu\nnr_active_anon %lu\n"
               "nr_inactive_file 0\nnr_active_file 0\nnr_unevictable 0\nnr_mlock 0\n"
               "nr_anon_pages %lu\nnr_mapped %lu\nnr_file_pages %lu\nnr_dirty 0\n"
               "nr_writeback 0\nnr_shmem %lu\nnr_kernel_stack %zu\nnr_page_table_pages %lu\n",
               free_bytes / GUEST_PAGE_SIZE, shared, private, private,
               m->file_bytes / GUEST_PAGE_SIZE, shared, shared, thread_total * 16,
               m->table_bytes / GUEST_PAGE_SIZE);
    buf_printf(b,
               "pgpgin 0\npgpgout 0\npswpin 0\npswpout 0\npgalloc_normal 0\npgfree 0\n"
               "pgfault %lu\npgmajfault %lu\noom_kill %zu\n",
               u->page_faults, u->major_faults, process_memory_kills);
    return 0;
}
