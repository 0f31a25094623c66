// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/sys: values that programs look up. They say what this kernel does; but for the names of the
 * host none can be changed, also not by root: opening for writing is EACCES.
 */
#include "kernel/fs/proc/proc.h"

#include "kernel/core/kernel.h"
#include "kernel/core/release.h"

#include <linux/capability.h>
#include <stdio.h>

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

/* ---- what is not constant ---- */

static int show_hostname(const struct pseudo_node *n, struct buf *b)
{
    buf_printf(b, "%s\n", kernel.config.hostname);
    return 0;
}

static int show_domainname(const struct pseudo_node *n, struct buf *b)
{
    const char *name = kernel.config.domainname;
    buf_printf(b, "%s\n", *name ? name : "(none)");
    return 0;
}

static int store_name(char *ret, size_t size, const char *text)
{
    struct thread *caller = proc_caller();
    if (caller && !cred_has_cap(caller->cred, CAP_SYS_ADMIN))
        return -EPERM;
    /* Up to the first line end or NUL, cut to what fits, as Linux does for strings. */
    snprintf(ret, size, "%.*s", (int)strcspn(text, "\n"), text);
    return 0;
}

static int store_hostname(const struct pseudo_node *n, const char *text, size_t size)
{
    return store_name(kernel.config.hostname, sizeof(kernel.config.hostname), text);
}

static int store_domainname(const struct pseudo_node *n, const char *text, size_t size)
{
    return store_name(kernel.config.domainname, sizeof(kernel.config.domainname), text);
}

/* RFC 9562 version 4 from 16 random bytes. */
static void append_uuid(struct buf *b, const void *random)
{
    uint8_t u[16];
    memcpy(u, random, sizeof(u));
    u[6] = (u[6] & 0x0f) | 0x40;
    u[8] = (u[8] & 0x3f) | 0x80;
    for (size_t i = 0; i < sizeof(u); i++)
        buf_printf(b, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
    buf_append_str(b, "\n");
}

static int show_boot_id(const struct pseudo_node *n, struct buf *b)
{
    append_uuid(b, kernel.boot_id);
    return 0;
}

static int show_uuid(const struct pseudo_node *n, struct buf *b)
{
    uint8_t random[16];
    kernel_random(random, sizeof(random));
    append_uuid(b, random);
    return 0;
}

static int show_pid_max(const struct pseudo_node *n, struct buf *b)
{
    /* The host deals pids out; no process of the sandbox has a higher one than Linux's highest. */
    buf_append_str(b, "4194304\n");
    return 0;
}

static int show_threads_max(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%zu\n", kernel.config.thread_count);
}

static int show_shmmax(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%lld\n", LIMIT_SHM_BYTES);
}

/* In pages. */
static int show_shmall(const struct pseudo_node *n, struct buf *b)
{
    uint64_t bytes = MIN((uint64_t)LIMIT_SHM_BYTES, kernel.config.memory_bytes);
    return buf_printf(b, "%lu\n", bytes / GUEST_PAGE_SIZE);
}

static int show_sem(const struct pseudo_node *n, struct buf *b)
{
    return buf_printf(b, "%d\t%d\t%d\t%d\n", LIMIT_SEM_PER_SET, LIMIT_SEM_TOTAL, LIMIT_SEM_OPS,
                      LIMIT_SEM_SETS);
}

static int show_file_nr(const struct pseudo_node *n, struct buf *b)
{
    buf_printf(b, "%zu\t0\t%d\n", file_count(), LIMIT_FILES);
    return 0;
}

/* ---- tables ---- */

#define VALUE(name_, text_) PSEUDO_TEXT(name_, text_ "\n")

static const struct pseudo_entry random_children[] = {
    PSEUDO_SHOWN("boot_id", show_boot_id),
    PSEUDO_SHOWN("uuid", show_uuid),
    VALUE("entropy_avail", "256"),
    VALUE("poolsize", "256"),
    VALUE("urandom_min_reseed_secs", "60"),
    VALUE("write_wakeup_threshold", "256"),
    {0},
};

static const struct pseudo_entry yama_children[] = {
    VALUE("ptrace_scope", "1"),
    {0},
};

static const struct pseudo_entry pty_children[] = {
    VALUE("max", STRING(LIMIT_PTYS)),
    VALUE("reserve", "0"),
    {0},
};

static const struct pseudo_entry kernel_children[] = {
    VALUE("ostype", KERNEL_OSTYPE),
    VALUE("osrelease", KERNEL_RELEASE),
    VALUE("version", KERNEL_VERSION),
    {.name = "hostname", .mode = S_IFREG | 0644, .show = show_hostname, .store = store_hostname},
    {.name = "domainname",
     .mode = S_IFREG | 0644,
     .show = show_domainname,
     .store = store_domainname},
    VALUE("ngroups_max", STRING(CRED_GROUPS_MAX)),
    VALUE("cap_last_cap", "40"),
    PSEUDO_SHOWN("pid_max", show_pid_max),
    PSEUDO_SHOWN("threads-max", show_threads_max),
    VALUE("randomize_va_space", "2"),
    VALUE("overflowuid", "65534"),
    VALUE("overflowgid", "65534"),
    VALUE("core_pattern", "core"),
    VALUE("core_uses_pid", "0"),
    VALUE("core_pipe_limit", "0"),
    VALUE("dmesg_restrict", "1"),
    VALUE("kptr_restrict", "2"),
    VALUE("modules_disabled", "1"),
    VALUE("panic", "0"),
    VALUE("perf_event_paranoid", "4"),
    VALUE("printk", "4\t4\t1\t7"),
    VALUE("tainted", "0"),
    VALUE("sysrq", "0"),
    PSEUDO_SHOWN("shmmax", show_shmmax),
    PSEUDO_SHOWN("shmall", show_shmall),
    VALUE("shmmni", STRING(LIMIT_SHM_SEGMENTS)),
    PSEUDO_SHOWN("sem", show_sem),
    VALUE("msgmax", STRING(LIMIT_MSG_BYTES)),
    VALUE("msgmnb", STRING(LIMIT_MSG_QUEUE_BYTES)),
    VALUE("msgmni", STRING(LIMIT_MSG_QUEUES)),
    VALUE("unprivileged_bpf_disabled", "2"),
    VALUE("unprivileged_userns_clone", "0"),
    VALUE("io_uring_disabled", "2"),
    PSEUDO_DIRECTORY("pty", pty_children),
    PSEUDO_DIRECTORY("random", random_children),
    PSEUDO_DIRECTORY("yama", yama_children),
    {0},
};

static const struct pseudo_entry vm_children[] = {
    VALUE("overcommit_memory", "0"),   VALUE("overcommit_ratio", "50"),
    VALUE("overcommit_kbytes", "0"),   VALUE("max_map_count", "65530"),
    VALUE("mmap_min_addr", "65536"),   VALUE("swappiness", "60"),
    VALUE("nr_hugepages", "0"),        VALUE("nr_overcommit_hugepages", "0"),
    VALUE("dirty_ratio", "20"),        VALUE("dirty_background_ratio", "10"),
    VALUE("min_free_kbytes", "16384"), VALUE("oom_kill_allocating_task", "0"),
    VALUE("panic_on_oom", "0"),        VALUE("legacy_va_layout", "0"),
    VALUE("memfd_noexec", "0"),        {0},
};

static const struct pseudo_entry inotify_children[] = {
    VALUE("max_queued_events", STRING(LIMIT_INOTIFY_QUEUE)),
    VALUE("max_user_instances", STRING(LIMIT_INOTIFY_INSTANCES)),
    VALUE("max_user_watches", STRING(LIMIT_INOTIFY_WATCHES)),
    {0},
};

static const struct pseudo_entry epoll_children[] = {
    VALUE("max_user_watches", STRING(LIMIT_EPOLL_ITEMS)),
    {0},
};

static const struct pseudo_entry fs_children[] = {
    VALUE("file-max", STRING(LIMIT_FILES)),
    PSEUDO_SHOWN("file-nr", show_file_nr),
    VALUE("nr_open", STRING(FD_LIMIT)),
    VALUE("pipe-max-size", STRING(LIMIT_PIPE_BYTES)),
    VALUE("pipe-user-pages-hard", "0"),
    VALUE("pipe-user-pages-soft", "16384"),
    VALUE("aio-max-nr", "0"),
    VALUE("aio-nr", "0"),
    VALUE("lease-break-time", "45"),
    VALUE("leases-enable", "0"),
    VALUE("mount-max", "100000"),
    VALUE("overflowuid", "65534"),
    VALUE("overflowgid", "65534"),
    VALUE("protected_fifos", "0"),
    VALUE("protected_hardlinks", "1"),
    VALUE("protected_regular", "0"),
    VALUE("protected_symlinks", "0"),
    VALUE("suid_dumpable", "0"),
    PSEUDO_DIRECTORY("inotify", inotify_children),
    PSEUDO_DIRECTORY("epoll", epoll_children),
    {0},
};

static const struct pseudo_entry core_children[] = {
    VALUE("somaxconn", "4096"),          VALUE("rmem_default", "212992"),
    VALUE("rmem_max", "212992"),         VALUE("wmem_default", "212992"),
    VALUE("wmem_max", "212992"),         VALUE("optmem_max", "20480"),
    VALUE("netdev_max_backlog", "1000"), {0},
};

static const struct pseudo_entry ipv4_children[] = {
    VALUE("ip_local_port_range", "32768\t60999"),
    VALUE("ip_local_reserved_ports", ""),
    VALUE("ip_unprivileged_port_start", "1024"),
    VALUE("ip_forward", "0"),
    VALUE("ip_default_ttl", "64"),
    VALUE("ip_nonlocal_bind", "0"),
    VALUE("ping_group_range", "1\t0"),
    VALUE("tcp_congestion_control", "cubic"),
    VALUE("tcp_available_congestion_control", "reno cubic"),
    VALUE("tcp_allowed_congestion_control", "reno cubic"),
    VALUE("tcp_fastopen", "0"),
    VALUE("tcp_fin_timeout", "60"),
    VALUE("tcp_keepalive_intvl", "75"),
    VALUE("tcp_keepalive_probes", "9"),
    VALUE("tcp_keepalive_time", "7200"),
    VALUE("tcp_max_syn_backlog", "4096"),
    VALUE("tcp_rmem", "4096\t131072\t6291456"),
    VALUE("tcp_wmem", "4096\t16384\t4194304"),
    VALUE("tcp_retries2", "15"),
    VALUE("tcp_syn_retries", "6"),
    VALUE("tcp_syncookies", "1"),
    VALUE("tcp_tw_reuse", "2"),
    {0},
};

static const struct pseudo_entry ipv6_interface_children[] = {
    VALUE("disable_ipv6", "0"),
    VALUE("forwarding", "0"),
    VALUE("accept_ra", "0"),
    {0},
};

static const struct pseudo_entry ipv6_conf_children[] = {
    PSEUDO_DIRECTORY("all", ipv6_interface_children),
    PSEUDO_DIRECTORY("default", ipv6_interface_children),
    PSEUDO_DIRECTORY("lo", ipv6_interface_children),
    {0},
};

static const struct pseudo_entry ipv6_children[] = {
    VALUE("bindv6only", "0"),
    PSEUDO_DIRECTORY("conf", ipv6_conf_children),
    {0},
};

static const struct pseudo_entry unix_children[] = {
    VALUE("max_dgram_qlen", "512"),
    {0},
};

static const struct pseudo_entry net_children[] = {
    PSEUDO_DIRECTORY("core", core_children),
    PSEUDO_DIRECTORY("ipv4", ipv4_children),
    PSEUDO_DIRECTORY("ipv6", ipv6_children),
    PSEUDO_DIRECTORY("unix", unix_children),
    {0},
};

static const struct pseudo_entry crypto_children[] = {
    VALUE("fips_enabled", "0"),
    {0},
};

static const struct pseudo_entry user_children[] = {
    VALUE("max_user_namespaces", "0"),
    VALUE("max_pid_namespaces", "0"),
    VALUE("max_net_namespaces", "0"),
    VALUE("max_mnt_namespaces", "0"),
    {0},
};

const struct pseudo_entry proc_sys_children[] = {
    PSEUDO_DIRECTORY("crypto", crypto_children),
    PSEUDO_DIRECTORY("fs", fs_children),
    PSEUDO_DIRECTORY("kernel", kernel_children),
    PSEUDO_DIRECTORY("net", net_children),
    PSEUDO_DIRECTORY("user", user_children),
    PSEUDO_DIRECTORY("vm", vm_children),
    {0},
};
