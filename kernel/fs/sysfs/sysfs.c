// SPDX-License-Identifier: Apache-2.0
/*
 * /sys: the little of it that programs read to find out about CPUs, memory and interfaces, as the
 * sandbox has them (sysfs(5)). Nothing of it can be written, and there are no devices.
 */
#include "kernel/core/kernel.h"
#include "kernel/fs/filesystems.h"
#include "kernel/fs/proc/proc.h"
#include "kernel/net/interface.h"

#include <linux/if.h>
#include <linux/magic.h>

#define CPU_SLOTS 8192 /* Linux's CONFIG_NR_CPUS, for kernel_max */

static int cpu_count(void)
{
    return MAX(kernel.config.cpu_count, 1);
}

/* ---- CPUs ---- */

static int show_all_list(const struct pseudo_node *n, struct buf *b)
{
    proc_append_cpu_list(b, NULL);
    return buf_append_str(b, "\n");
}

static int show_all_mask(const struct pseudo_node *n, struct buf *b)
{
    proc_append_cpu_mask(b, NULL);
    return buf_append_str(b, "\n");
}

static int show_own_number(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%d\n", n->number);
}

static int show_own_mask(const struct pseudo_node *n, struct buf *b)
{
    uint64_t own[THREAD_CPUS_MAX / 64] = {0};
    if (n->number < THREAD_CPUS_MAX)
        own[n->number / 64] = 1ULL << (n->number % 64);
    proc_append_cpu_mask(b, own);
    return buf_append_str(b, "\n");
}

static const struct pseudo_entry topology_children[] = {
    PSEUDO_SHOWN("core_id", show_own_number),
    PSEUDO_TEXT("physical_package_id", "0\n"),
    PSEUDO_TEXT("die_id", "0\n"),
    PSEUDO_TEXT("cluster_id", "65535\n"),
    PSEUDO_SHOWN("core_cpus", show_own_mask),
    PSEUDO_SHOWN("core_cpus_list", show_own_number),
    PSEUDO_SHOWN("thread_siblings", show_own_mask),
    PSEUDO_SHOWN("thread_siblings_list", show_own_number),
    PSEUDO_SHOWN("core_siblings", show_all_mask),
    PSEUDO_SHOWN("core_siblings_list", show_all_list),
    PSEUDO_SHOWN("die_cpus", show_all_mask),
    PSEUDO_SHOWN("die_cpus_list", show_all_list),
    PSEUDO_SHOWN("package_cpus", show_all_mask),
    PSEUDO_SHOWN("package_cpus_list", show_all_list),
    {0},
};

/* Caches of an ordinary server: three levels, the last one shared. */
#define CACHE_ENTRIES(level_, type_, size_, ways_, sets_)                                      \
    PSEUDO_TEXT("level", level_ "\n"), PSEUDO_TEXT("type", type_ "\n"),                        \
        PSEUDO_TEXT("size", size_ "\n"), PSEUDO_TEXT("ways_of_associativity", ways_ "\n"),     \
        PSEUDO_TEXT("number_of_sets", sets_ "\n"), PSEUDO_TEXT("coherency_line_size", "64\n"), \
        PSEUDO_TEXT("physical_line_partition", "1\n")

static const struct pseudo_entry cache_data_children[] = {
    CACHE_ENTRIES("1", "Data", "32K", "8", "64"),
    PSEUDO_SHOWN("shared_cpu_list", show_own_number),
    PSEUDO_SHOWN("shared_cpu_map", show_own_mask),
    {0},
};

static const struct pseudo_entry cache_instruction_children[] = {
    CACHE_ENTRIES("1", "Instruction", "32K", "8", "64"),
    PSEUDO_SHOWN("shared_cpu_list", show_own_number),
    PSEUDO_SHOWN("shared_cpu_map", show_own_mask),
    {0},
};

static const struct pseudo_entry cache_second_children[] = {
    CACHE_ENTRIES("2", "Unified", "512K", "8", "1024"),
    PSEUDO_SHOWN("shared_cpu_list", show_own_number),
    PSEUDO_SHOWN("shared_cpu_map", show_own_mask),
    {0},
};

static const struct pseudo_entry cache_last_children[] = {
    CACHE_ENTRIES("3", "Unified", "32768K", "16", "32768"),
    PSEUDO_SHOWN("shared_cpu_list", show_all_list),
    PSEUDO_SHOWN("shared_cpu_map", show_all_mask),
    {0},
};

static const struct pseudo_entry cache_children[] = {
    PSEUDO_DIRECTORY("index0", cache_data_children),
    PSEUDO_DIRECTORY("index1", cache_instruction_children),
    PSEUDO_DIRECTORY("index2", cache_second_children),
    PSEUDO_DIRECTORY("index3", cache_last_children),
    {0},
};

static const struct pseudo_entry cpu_children[] = {
    PSEUDO_DIRECTORY("topology", topology_children),
    PSEUDO_DIRECTORY("cache", cache_children),
    PSEUDO_LINK("node0", "../../node/node0"),
    {0},
};

static const struct pseudo_entry cpu_entry = PSEUDO_DIRECTORY("cpu", cpu_children);

static ssize_t collect_cpus(const struct pseudo_node *dir, uint32_t **ret_keys)
{
    return pseudo_keys_range((size_t)cpu_count(), ret_keys);
}

static int find_cpu(const struct pseudo_node *dir, uint32_t key, struct pseudo_node *n)
{
    if (key >= (uint32_t)cpu_count())
        return -ENOENT;
    n->number = (int)key;
    return 0;
}

static const struct pseudo_names cpu_names = {
    .prefix = "cpu",
    .entry = &cpu_entry,
    .collect = collect_cpus,
    .find = find_cpu,
};

static int show_kernel_max(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%d\n", CPU_SLOTS - 1);
}

static const struct pseudo_entry smt_children[] = {
    PSEUDO_TEXT("active", "0\n"),
    PSEUDO_TEXT("control", "notsupported\n"),
    {0},
};

static const struct pseudo_entry cpus_children[] = {
    PSEUDO_SHOWN("online", show_all_list),  PSEUDO_SHOWN("possible", show_all_list),
    PSEUDO_SHOWN("present", show_all_list), PSEUDO_TEXT("offline", "\n"),
    PSEUDO_TEXT("isolated", "\n"),          PSEUDO_SHOWN("kernel_max", show_kernel_max),
    PSEUDO_DIRECTORY("smt", smt_children),  {0},
};

/* ---- memory nodes: one ---- */

static int show_node_meminfo(const struct pseudo_node *n, struct buf *b)
{
    uint64_t total = kernel.config.memory_bytes / 1024, used = proc_memory_used_bytes() / 1024;
    return buf_printf(b,
                      "Node 0 MemTotal:       %lu kB\nNode 0 MemFree:        %lu kB\n"
                      "Node 0 MemUsed:        %lu kB\n",
                      total, total - used, used);
}

static const struct pseudo_entry node_children[] = {
    PSEUDO_SHOWN("cpulist", show_all_list),
    PSEUDO_SHOWN("cpumap", show_all_mask),
    PSEUDO_TEXT("distance", "10\n"),
    PSEUDO_SHOWN("meminfo", show_node_meminfo),
    PSEUDO_TEXT("numastat", "numa_hit 0\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 0\n"
                            "local_node 0\nother_node 0\n"),
    {0},
};

static const struct pseudo_entry nodes_children[] = {
    PSEUDO_TEXT("online", "0\n"),
    PSEUDO_TEXT("possible", "0\n"),
    PSEUDO_TEXT("has_cpu", "0\n"),
    PSEUDO_TEXT("has_memory", "0\n"),
    PSEUDO_TEXT("has_normal_memory", "0\n"),
    PSEUDO_DIRECTORY("node0", node_children),
    {0},
};

static const struct pseudo_entry system_children[] = {
    {.name = "cpu", .mode = S_IFDIR | 0555, .children = cpus_children, .names = &cpu_names},
    PSEUDO_DIRECTORY("node", nodes_children),
    {0},
};

/* ---- interfaces ---- */

static const struct pseudo_entry statistics_children[] = {
    PSEUDO_TEXT("rx_bytes", "0\n"),
    PSEUDO_TEXT("rx_packets", "0\n"),
    PSEUDO_TEXT("rx_errors", "0\n"),
    PSEUDO_TEXT("rx_dropped", "0\n"),
    PSEUDO_TEXT("tx_bytes", "0\n"),
    PSEUDO_TEXT("tx_packets", "0\n"),
    PSEUDO_TEXT("tx_errors", "0\n"),
    PSEUDO_TEXT("tx_dropped", "0\n"),
    PSEUDO_TEXT("collisions", "0\n"),
    PSEUDO_TEXT("multicast", "0\n"),
    {0},
};

/* Of the node's number; one of eth0 may be gone with an open file. */
static const struct interface *interface_of(const struct pseudo_node *n)
{
    const struct interface *f = interface_at((size_t)n->number);
    return f ? f : interface_at(0);
}

static int append_hardware(struct buf *b, const uint8_t a[6])
{
    return buf_printf(b, "%02x:%02x:%02x:%02x:%02x:%02x\n", a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int show_address(const struct pseudo_node *n, struct buf *b)
{
    return append_hardware(b, interface_of(n)->hardware);
}

static int show_broadcast(const struct pseudo_node *n, struct buf *b)
{
    static const uint8_t everybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, nobody[6];
    return append_hardware(b, interface_of(n)->broadcast ? everybody : nobody);
}

static int show_flags(const struct pseudo_node *n, struct buf *b)
{
    const unsigned of_state = IFF_RUNNING | IFF_LOWER_UP;
    return buf_printf(b, "0x%x\n", interface_of(n)->flags & ~of_state);
}

static int show_index(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%d\n", interface_of(n)->index);
}

static int show_mtu(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%u\n", interface_of(n)->mtu);
}

static int show_state(const struct pseudo_node *n, struct buf *b)
{
    return buf_append_str(b, interface_of(n)->broadcast ? "up\n" : "unknown\n");
}

static int show_queue(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%u\n", interface_of(n)->queue);
}

static int show_type(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%u\n", interface_of(n)->type);
}

static int show_uevent(const struct pseudo_node *n, struct buf *b)
{
    const struct interface *f = interface_of(n);
    return buf_printf(b, "INTERFACE=%s\nIFINDEX=%d\n", f->name, f->index);
}

static const struct pseudo_entry interface_children[] = {
    PSEUDO_SHOWN("address", show_address),
    PSEUDO_TEXT("addr_assign_type", "0\n"),
    PSEUDO_TEXT("addr_len", "6\n"),
    PSEUDO_SHOWN("broadcast", show_broadcast),
    PSEUDO_TEXT("carrier", "1\n"),
    PSEUDO_TEXT("dev_id", "0x0\n"),
    PSEUDO_TEXT("dormant", "0\n"),
    PSEUDO_SHOWN("flags", show_flags),
    PSEUDO_SHOWN("ifindex", show_index),
    PSEUDO_SHOWN("iflink", show_index),
    PSEUDO_TEXT("link_mode", "0\n"),
    PSEUDO_SHOWN("mtu", show_mtu),
    PSEUDO_SHOWN("operstate", show_state),
    PSEUDO_SHOWN("tx_queue_len", show_queue),
    PSEUDO_SHOWN("type", show_type),
    PSEUDO_SHOWN("uevent", show_uevent),
    PSEUDO_LINK("subsystem", "../../../../class/net"),
    PSEUDO_DIRECTORY("statistics", statistics_children),
    {0},
};

/* eth0, where there is one: it is interface 1 of interface_at(). */
static ssize_t collect_eth(const struct pseudo_node *dir, uint32_t **ret_keys)
{
    return pseudo_keys_range(interface_at(1) ? 1 : 0, ret_keys);
}

static int find_eth(const struct pseudo_node *dir, uint32_t key, struct pseudo_node *n)
{
    if (key > 0 || !interface_at(1))
        return -ENOENT;
    n->number = 1;
    return 0;
}

static const struct pseudo_entry eth_entry = PSEUDO_DIRECTORY("eth", interface_children);

static const struct pseudo_names eth_names = {
    .prefix = "eth",
    .entry = &eth_entry,
    .collect = collect_eth,
    .find = find_eth,
};

static const struct pseudo_entry virtual_net_children[] = {
    PSEUDO_DIRECTORY("lo", interface_children),
    {0},
};

static const struct pseudo_entry virtual_children[] = {
    {.name = "net", .mode = S_IFDIR | 0555, .children = virtual_net_children, .names = &eth_names},
    {0},
};

static const struct pseudo_entry class_net_children[] = {
    PSEUDO_LINK("lo", "../../devices/virtual/net/lo"),
    {0},
};

static const struct pseudo_entry eth_link = PSEUDO_LINK("eth", "../../devices/virtual/net/eth0");

static const struct pseudo_names eth_links = {
    .prefix = "eth",
    .entry = &eth_link,
    .collect = collect_eth,
    .find = find_eth,
};

static const struct pseudo_entry class_children[] = {
    PSEUDO_DIRECTORY("block", NULL),
    PSEUDO_DIRECTORY("hwmon", NULL),
    {.name = "net", .mode = S_IFDIR | 0555, .children = class_net_children, .names = &eth_links},
    PSEUDO_DIRECTORY("power_supply", NULL),
    PSEUDO_DIRECTORY("thermal", NULL),
    {0},
};

/* ---- the rest ---- */

static const struct pseudo_entry huge_children[] = {
    PSEUDO_TEXT("enabled", "always [madvise] never\n"),
    PSEUDO_TEXT("defrag", "always defer defer+madvise [madvise] never\n"),
    PSEUDO_TEXT("shmem_enabled", "always within_size advise [never] deny force\n"),
    PSEUDO_TEXT("use_zero_page", "1\n"),
    PSEUDO_TEXT("hpage_pmd_size", "2097152\n"),
    {0},
};

static const struct pseudo_entry mm_children[] = {
    PSEUDO_DIRECTORY("hugepages", NULL),
    PSEUDO_DIRECTORY("transparent_hugepage", huge_children),
    {0},
};

static const struct pseudo_entry kernel_children[] = {
    PSEUDO_DIRECTORY("mm", mm_children),
    {0},
};

static const struct pseudo_entry devices_children[] = {
    PSEUDO_DIRECTORY("system", system_children),
    PSEUDO_DIRECTORY("virtual", virtual_children),
    {0},
};

static const struct pseudo_entry dev_children[] = {
    PSEUDO_DIRECTORY("block", NULL),
    PSEUDO_DIRECTORY("char", NULL),
    {0},
};

static const struct pseudo_entry fs_children[] = {
    PSEUDO_DIRECTORY("cgroup", NULL),
    {0},
};

static const struct pseudo_entry root_children[] = {
    PSEUDO_DIRECTORY("block", NULL),
    PSEUDO_DIRECTORY("bus", NULL),
    PSEUDO_DIRECTORY("class", class_children),
    PSEUDO_DIRECTORY("dev", dev_children),
    PSEUDO_DIRECTORY("devices", devices_children),
    PSEUDO_DIRECTORY("firmware", NULL),
    PSEUDO_DIRECTORY("fs", fs_children),
    PSEUDO_DIRECTORY("kernel", kernel_children),
    PSEUDO_DIRECTORY("module", NULL),
    {0},
};

static const struct pseudo_entry root_entry = PSEUDO_DIRECTORY("", root_children);

static const struct pseudo_fs sysfs = {
    .type_name = "sysfs",
    .magic = SYSFS_MAGIC,
    .root = &root_entry,
};

int sysfs_super_new(struct super **ret)
{
    int r = pseudo_super_new(&sysfs, ret);
    if (r == 0)
        (*ret)->read_only = true;
    return r;
}
