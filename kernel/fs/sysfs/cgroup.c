// SPDX-License-Identifier: Apache-2.0
/*
 * /sys/fs/cgroup: one group with the whole sandbox in it, whose limits are those of kernel.config
 * (Linux's Documentation/admin-guide/cgroup-v2.rst). Language runtimes size their heaps and thread
 * pools by it. Read-only: there are no groups to make.
 */
#include "kernel/core/kernel.h"
#include "kernel/fs/filesystems.h"
#include "kernel/fs/proc/proc.h"

#include <linux/magic.h>

#define CPU_PERIOD_USEC    100000
#define KERNEL_STACK_BYTES 16384UL

static int show_cpu_max(const struct pseudo_node *n, struct buf *b)
{
    if (kernel.config.cpu_thousandths == 0)
        return buf_printf(b, "max %d\n", CPU_PERIOD_USEC);
    return buf_printf(b, "%lu %d\n",
                      (uint64_t)kernel.config.cpu_thousandths * CPU_PERIOD_USEC / 1000,
                      CPU_PERIOD_USEC);
}

static int show_cpu_stat(const struct pseudo_node *n, struct buf *b)
{
    int64_t user = proc_cpu_user_ns() / NSEC_PER_USEC,
            system = proc_cpu_system_ns() / NSEC_PER_USEC;
    return buf_printf(b,
                      "usage_usec %ld\nuser_usec %ld\nsystem_usec %ld\nnr_periods 0\n"
                      "nr_throttled 0\nthrottled_usec 0\n",
                      user + system, user, system);
}

static int show_cpus(const struct pseudo_node *n, struct buf *b)
{
    proc_append_cpu_list(b, NULL);
    return buf_append_str(b, "\n");
}

static int show_memory_max(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%lu\n", kernel.config.memory_bytes / GUEST_PAGE_SIZE * GUEST_PAGE_SIZE);
}

static int show_memory_current(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%lu\n", proc_memory_used_bytes());
}

static int show_memory_stat(const struct pseudo_node *n, struct buf *b)
{
    const struct proc_usage *u = proc_usage_now();
    const struct memory_use *m = proc_memory_now();
    uint64_t of_kernel = m->kernel_bytes + m->host_bytes;
    return buf_printf(b,
                      "anon %lu\nfile %lu\nkernel %lu\nkernel_stack %zu\npagetables %lu\n"
                      "shmem %lu\nfile_mapped %lu\nfile_dirty 0\nfile_writeback 0\n"
                      "swapcached 0\ninactive_anon %lu\nactive_anon %lu\ninactive_file 0\n"
                      "active_file 0\nunevictable 0\nslab_reclaimable 0\n"
                      "slab_unreclaimable %lu\nslab %lu\npgfault %lu\npgmajfault %lu\n",
                      m->private_bytes, m->shared_bytes, of_kernel + m->table_bytes,
                      thread_total * KERNEL_STACK_BYTES, m->table_bytes, m->shared_bytes,
                      m->file_bytes, m->shared_bytes, m->private_bytes, of_kernel, of_kernel,
                      u->page_faults, u->major_faults);
}

static int show_memory_events(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "low 0\nhigh 0\nmax %zu\noom %zu\noom_kill %zu\noom_group_kill 0\n",
                      process_memory_kills, process_memory_kills, process_memory_kills);
}

static int show_pids_max(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%zu\n", kernel.config.thread_count);
}

static int show_pids_current(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%zu\n", process_count_tasks());
}

static int show_procs(const struct pseudo_node *n, struct buf *b)
{
    struct process *p;
    process_settle_all();
    list_for_each(p, &process_all, all_link)
    {
        buf_printf(b, "%d\n", p->pid);
    }
    return 0;
}

static int show_threads(const struct pseudo_node *n, struct buf *b)
{
    struct process *p;
    struct thread *t;
    process_settle_all();
    list_for_each(p, &process_all, all_link)
    {
        list_for_each(t, &p->threads, process_link)
        {
            buf_printf(b, "%d\n", t->tid);
        }
    }
    return 0;
}

#define VALUE(name_, text_) PSEUDO_TEXT(name_, text_ "\n")

static const struct pseudo_entry root_children[] = {
    VALUE("cgroup.controllers", "cpuset cpu memory pids"),
    VALUE("cgroup.events", "populated 1\nfrozen 0"),
    VALUE("cgroup.freeze", "0"),
    VALUE("cgroup.max.depth", "0"),
    VALUE("cgroup.max.descendants", "0"),
    PSEUDO_SHOWN("cgroup.procs", show_procs),
    VALUE("cgroup.stat", "nr_descendants 0\nnr_dying_descendants 0"),
    VALUE("cgroup.subtree_control", ""),
    PSEUDO_SHOWN("cgroup.threads", show_threads),
    VALUE("cgroup.type", "domain"),
    VALUE("cpu.idle", "0"),
    PSEUDO_SHOWN("cpu.max", show_cpu_max),
    VALUE("cpu.max.burst", "0"),
    PSEUDO_SHOWN("cpu.stat", show_cpu_stat),
    VALUE("cpu.weight", "100"),
    VALUE("cpu.weight.nice", "0"),
    PSEUDO_SHOWN("cpuset.cpus", show_cpus),
    PSEUDO_SHOWN("cpuset.cpus.effective", show_cpus),
    VALUE("cpuset.mems", "0"),
    VALUE("cpuset.mems.effective", "0"),
    PSEUDO_SHOWN("memory.current", show_memory_current),
    PSEUDO_SHOWN("memory.events", show_memory_events),
    PSEUDO_SHOWN("memory.events.local", show_memory_events),
    VALUE("memory.high", "max"),
    VALUE("memory.low", "0"),
    PSEUDO_SHOWN("memory.max", show_memory_max),
    VALUE("memory.min", "0"),
    VALUE("memory.oom.group", "0"),
    PSEUDO_SHOWN("memory.stat", show_memory_stat),
    VALUE("memory.swap.current", "0"),
    VALUE("memory.swap.max", "0"),
    PSEUDO_SHOWN("pids.current", show_pids_current),
    PSEUDO_SHOWN("pids.max", show_pids_max),
    {0},
};

static const struct pseudo_entry root_entry = {
    .name = "",
    .mode = S_IFDIR | 0555,
    .children = root_children,
};

static const struct pseudo_fs cgroup_fs = {
    .type_name = "cgroup2",
    .magic = CGROUP2_SUPER_MAGIC,
    .root = &root_entry,
};

int cgroup_super_new(struct super **ret)
{
    int r = pseudo_super_new(&cgroup_fs, ret);
    if (r == 0)
        (*ret)->read_only = true;
    return r;
}
