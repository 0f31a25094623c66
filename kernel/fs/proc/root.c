// SPDX-License-Identifier: Apache-2.0
/*
 * The top of /proc: machine-wide files, the links of the caller, and the processes.
 */
#include "kernel/fs/filesystems.h"
#include "kernel/fs/locks.h"
#include "kernel/fs/proc/proc.h"

#include <linux/magic.h>

static int show_self(const struct pseudo_node *n, struct buf *b)
{
    struct thread *t = proc_caller();
    if (!t)
        return -ENOENT;
    buf_printf(b, "%d", t->process->pid);
    return 0;
}

static int show_thread_self(const struct pseudo_node *n, struct buf *b)
{
    struct thread *t = proc_caller();
    if (!t)
        return -ENOENT;
    buf_printf(b, "%d/task/%d", t->process->pid, t->tid);
    return 0;
}

static const char filesystems_text[] = "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tcgroup2\n"
                                       "nodev\tdevtmpfs\nnodev\tsockfs\nnodev\tpipefs\n"
                                       "nodev\tdevpts\nnodev\toverlay\n";

static const char devices_text[] = "Character devices:\n  1 mem\n  5 /dev/tty\n  5 /dev/ptmx\n"
                                   "128 ptm\n136 pts\n\nBlock devices:\n";

/* The JVM takes a machine without one of the first four for one without limits. */
static const char cgroups_text[] = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
                                   "cpuset\t0\t1\t1\ncpu\t0\t1\t1\ncpuacct\t0\t1\t1\n"
                                   "memory\t0\t1\t1\npids\t0\t1\t1\n";

static int show_locks(const struct pseudo_node *n, struct buf *b)
{
    lock_describe_all(b);
    return 0;
}

static const struct pseudo_entry root_children[] = {
    PSEUDO_TEXT("cgroups", cgroups_text),
    PSEUDO_TEXT("cmdline", "quiet\n"),
    PSEUDO_SHOWN("cpuinfo", proc_show_cpuinfo),
    PSEUDO_TEXT("devices", devices_text),
    PSEUDO_TEXT("diskstats", ""),
    PSEUDO_TEXT("filesystems", filesystems_text),
    PSEUDO_SHOWN("loadavg", proc_show_loadavg),
    PSEUDO_SHOWN("locks", show_locks),
    PSEUDO_SHOWN("meminfo", proc_show_meminfo),
    PSEUDO_TEXT("misc", ""),
    PSEUDO_TEXT("modules", ""),
    PSEUDO_LINK("mounts", "self/mounts"),
    PSEUDO_LINK("net", "self/net"),
    PSEUDO_TEXT("partitions", "major minor  #blocks  name\n\n"),
    PSEUDO_SHOWN("stat", proc_show_system_stat),
    PSEUDO_TEXT("swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"),
    PSEUDO_DIRECTORY("sys", proc_sys_children),
    PSEUDO_SHOWN("uptime", proc_show_uptime),
    PSEUDO_SHOWN("version", proc_show_version),
    PSEUDO_SHOWN("vmstat", proc_show_vmstat),
    {.name = "self", .mode = S_IFLNK | 0777, .show = show_self},
    {.name = "thread-self", .mode = S_IFLNK | 0777, .show = show_thread_self},
    {0},
};

static const struct pseudo_entry root_entry = {
    .name = "",
    .mode = S_IFDIR | 0555,
    .children = root_children,
    .names = &proc_pid_names,
};

static const struct pseudo_fs proc_fs = {
    .type_name = "proc",
    .magic = PROC_SUPER_MAGIC,
    .root = &root_entry,
    .is_lookup_final = true,
    .is_alive = proc_node_is_alive,
    .refresh = proc_node_refresh,
};

int proc_super_new(struct super **ret)
{
    return pseudo_super_new(&proc_fs, ret);
}
