// SPDX-License-Identifier: Apache-2.0
/*
 * The directory of a process, /proc/PID, and of a thread, /proc/PID/task/TID: their tables, and the
 * files that are a line or two.
 */
#include "kernel/fs/proc/proc.h"

#include "kernel/core/kernel.h"
#include "kernel/host/host.h"

#include <linux/capability.h>
#include <sys/auxv.h>

#define AUXV_MAX_BYTES 8192
#define OOM_SCORE_MAX  1000
#define OOM_OLD_MIN    (-17) /* oom_adj, before Linux 2.6.36 */
#define OOM_OLD_MAX    15

/* ---- comm, auxv ---- */

static int show_comm(const struct pseudo_node *n, struct buf *b)
{
    if (!proc_process(n))
        return -ESRCH;
    buf_printf(b, "%.15s\n", proc_name(n));
    return 0;
}

static int store_comm(const struct pseudo_node *n, const char *text, size_t size)
{
    struct thread *t = proc_thread(n), *caller = proc_caller();
    if (!t)
        return -ESRCH;
    if (caller && caller->process != t->process)
        return -EINVAL;
    memset(t->name, 0, sizeof(t->name));
    strncpy(t->name, text, sizeof(t->name) - 1);
    return 0;
}

/* The host shows the vector of the loader stub: what of it is the program's own. */
static uint64_t vector_value(const struct program_vector *v, const struct cred *cred,
                             const uint64_t pair[2])
{
    switch (pair[0]) {
    case AT_PHDR:
        return v->phdr;
    case AT_PHNUM:
        return v->phnum;
    case AT_BASE:
        return v->base;
    case AT_ENTRY:
        return v->entry;
    case AT_SECURE:
        return v->secure;
    case AT_UID:
        return cred->uid;
    case AT_EUID:
        return cred->euid;
    case AT_GID:
        return cred->gid;
    case AT_EGID:
        return cred->egid;
    default:
        return pair[1];
    }
}

static int show_auxv(const struct pseudo_node *n, struct buf *b)
{
    _cleanup_free_ char *text = NULL;
    struct thread *t = proc_thread(n);
    int r = proc_check_access(n);
    if (r < 0)
        return r;
    const struct address_space *space = proc_space(n);
    if (!space || !t)
        return 0;
    ssize_t size = proc_read_host(n, "auxv", AUXV_MAX_BYTES, &text);
    for (ssize_t at = 0; at + 16 <= size; at += 16) {
        uint64_t pair[2];
        memcpy(pair, text + at, sizeof(pair));
        pair[1] = vector_value(&space->vector, t->cred, pair);
        buf_append(b, pair, sizeof(pair));
    }
    return size < 0 ? (int)size : 0;
}

static int check_never(const struct pseudo_node *n)
{
    return -EACCES;
}

/* ---- out-of-memory scores ---- */

static int show_oom_score_adj(const struct pseudo_node *n, struct buf *b)
{
    struct process *p = proc_process(n);
    if (!p)
        return -ESRCH;
    buf_printf(b, "%d\n", p->oom_score_adj);
    return 0;
}

static int set_oom_score_adj(const struct pseudo_node *n, int value)
{
    struct process *p = proc_process(n);
    struct thread *caller = proc_caller();
    if (!p)
        return -ESRCH;
    if (value < MIN(p->oom_score_adj, 0) && caller && !cred_has_cap(caller->cred, CAP_SYS_RESOURCE))
        return -EACCES;
    p->oom_score_adj = value;
    return 0;
}

static int store_oom_score_adj(const struct pseudo_node *n, const char *text, size_t size)
{
    int value, r = pseudo_parse_int(text, -OOM_SCORE_MAX, OOM_SCORE_MAX, &value);
    return r < 0 ? r : set_oom_score_adj(n, value);
}

static int show_oom_adj(const struct pseudo_node *n, struct buf *b)
{
    struct process *p = proc_process(n);
    if (!p)
        return -ESRCH;
    int old = p->oom_score_adj == OOM_SCORE_MAX ? OOM_OLD_MAX
                                                : p->oom_score_adj * -OOM_OLD_MIN / OOM_SCORE_MAX;
    buf_printf(b, "%d\n", MIN(old, OOM_OLD_MAX));
    return 0;
}

static int store_oom_adj(const struct pseudo_node *n, const char *text, size_t size)
{
    int old, r = pseudo_parse_int(text, OOM_OLD_MIN, OOM_OLD_MAX, &old);
    if (r < 0)
        return r;
    return set_oom_score_adj(n, old == OOM_OLD_MAX ? OOM_SCORE_MAX
                                                   : old * OOM_SCORE_MAX / -OOM_OLD_MIN);
}

/* As Linux scores a process that uses next to nothing: 0 to 1333, moved by the adjustment. */
static int show_oom_score(const struct pseudo_node *n, struct buf *b)
{
    struct process *p = proc_process(n);
    uint64_t v[HOST_STATM_FIELDS];
    if (!p)
        return -ESRCH;
    if (p->state == PROCESS_ZOMBIE || proc_host_statm(n, v) < 0)
        v[1] = 0;
    uint64_t total = MAX(kernel.config.memory_bytes / GUEST_PAGE_SIZE, (uint64_t)1);
    int64_t points = (int64_t)(MIN(v[1], total) * OOM_SCORE_MAX / total) + p->oom_score_adj;
    buf_printf(b, "%ld\n", MAX((OOM_SCORE_MAX + points) * 2 / 3, (int64_t)0));
    return 0;
}

/* ---- small ones ---- */

static int store_coredump_filter(const struct pseudo_node *n, const char *text, size_t size)
{
    char *end;
    unsigned long value = strtoul(text, &end, 0);
    if (end == text || value > UINT32_MAX)
        return -EINVAL;
    struct process *p = proc_process(n);
    if (!p)
        return -ESRCH;
    p->coredump_filter = (uint32_t)value;
    return 0;
}

static int show_coredump_filter(const struct pseudo_node *n, struct buf *b)
{
    const struct process *p = proc_process(n);
    if (!p)
        return -ESRCH;
    buf_printf(b, "%08x\n", p->coredump_filter);
    return 0;
}

static int show_io(const struct pseudo_node *n, struct buf *b)
{
    const struct process *p = proc_process(n);
    const struct thread *t = n->tid ? proc_thread(n) : NULL;
    struct io_count io = {0};
    int r = proc_check_access(n);
    if (r < 0)
        return r;
    if (t)
        io = io_count_of_thread(t);
    else if (!n->tid)
        io = io_count_of_process(p);
    buf_printf(b, "rchar: %lu\nwchar: %lu\nsyscr: %lu\nsyscw: %lu\n", io.read_chars, io.write_chars,
               io.read_calls, io.write_calls);
    buf_printf(b, "read_bytes: %lu\nwrite_bytes: %lu\ncancelled_write_bytes: 0\n", io.read_bytes,
               io.write_bytes);
    return 0;
}

static int show_schedstat(const struct pseudo_node *n, struct buf *b)
{
    struct process *p = proc_process(n);
    struct thread *t = proc_thread(n);
    int64_t user = 0, system = 0;
    if (!p)
        return -ESRCH;
    if (t)
        thread_cpu_time(t, &user, &system);
    buf_printf(b, "%ld 0 0\n", user + system);
    return 0;
}

/* What is kept for who asks: how exactly the host wakes sleepers is its own affair. */
static int slack_thread(const struct pseudo_node *n, struct thread **ret)
{
    const struct thread *caller = proc_caller();
    struct thread *t = proc_thread(n);
    if (!t)
        return -ESRCH;
    if (caller && caller->process != t->process && !cred_has_cap(caller->cred, CAP_SYS_NICE))
        return -EPERM;
    *ret = t;
    return 0;
}

static int show_timerslack(const struct pseudo_node *n, struct buf *b)
{
    struct thread *t;
    int r = slack_thread(n, &t);
    if (r == 0)
        buf_printf(b, "%lu\n", t->timer_slack_ns ? t->timer_slack_ns : TIMER_SLACK_DEFAULT_NS);
    return r;
}

static int store_timerslack(const struct pseudo_node *n, const char *text, size_t size)
{
    struct thread *t;
    int value, r = pseudo_parse_int(text, 0, INT32_MAX, &value);
    if (r == 0)
        r = slack_thread(n, &t);
    if (r == 0)
        t->timer_slack_ns = (uint64_t)value;
    return r;
}

static int show_children(const struct pseudo_node *n, struct buf *b)
{
    struct process *p = proc_process(n), *child;
    if (!p)
        return -ESRCH;
    process_settle_all();
    if (n->tid && n->tid != p->pid)
        return 0; /* which thread forked is not kept: all are shown as the first one's */
    list_for_each(child, &p->children, sibling)
    {
        buf_printf(b, "%d ", child->pid);
    }
    return 0;
}

static int show_if_alive(const struct pseudo_node *n, struct buf *b)
{
    if (!proc_process(n))
        return -ESRCH;
    buf_append_str(b, n->entry->text);
    return 0;
}

static int check_fd(const struct pseudo_node *n)
{
    if (!proc_process(n))
        return -ENOENT;
    return proc_may_access(n) ? 0 : -EACCES;
}

/* ---- tables ---- */

#define CONSTANT(n_, mode_, text_)                                                  \
    {                                                                               \
        .name = n_, .mode = S_IFREG | (mode_), .text = text_, .show = show_if_alive \
    }
#define FILE_OF(n_, mode_, show_)                            \
    {                                                        \
        .name = n_, .mode = S_IFREG | (mode_), .show = show_ \
    }

#define ID_MAP "         0          0 4294967295\n"

/* What a process and each of its threads have. */
/* clang-format off */
#define COMMON_ENTRIES                                                                             \
    {.name = "fd", .mode = S_IFDIR | 0500, .names = &proc_fd_names, .check = check_fd},            \
    {.name = "fdinfo", .mode = S_IFDIR | 0555, .names = &proc_fdinfo_names, .check = check_fd},    \
    {.name = "net", .mode = S_IFDIR | 0555, .children = proc_net_children},                        \
    {.name = "environ", .mode = S_IFREG | 0400, .more = proc_more_environ,                         \
     .forget = proc_forget_arguments},                                                             \
    FILE_OF("auxv", 0400, show_auxv),                                                              \
    FILE_OF("status", 0444, proc_show_status),                                                     \
    CONSTANT("personality", 0400, "00000000\n"),                                                   \
    FILE_OF("limits", 0444, proc_show_limits),                                                     \
    {.name = "comm", .mode = S_IFREG | 0644, .show = show_comm, .store = store_comm},              \
    {.name = "cmdline", .mode = S_IFREG | 0444, .more = proc_more_cmdline,                         \
     .forget = proc_forget_arguments},                                                             \
    FILE_OF("stat", 0444, proc_show_stat),                                                         \
    FILE_OF("statm", 0444, proc_show_statm),                                                       \
    {.name = "maps", .mode = S_IFREG | 0444, .more = proc_more_maps, .forget = proc_forget_maps, .check = proc_check_access},  \
    {.name = "mem", .mode = S_IFREG | 0600, .check = check_never},                                 \
    {.name = "cwd", .mode = S_IFLNK | 0777, .show = proc_show_cwd, .follow = proc_follow_cwd},     \
    {.name = "root", .mode = S_IFLNK | 0777, .show = proc_show_root, .follow = proc_follow_root},  \
    {.name = "exe", .mode = S_IFLNK | 0777, .show = proc_show_exe, .follow = proc_follow_exe},     \
    {.name = "mounts", .mode = S_IFREG | 0444, .show = proc_show_mounts, .can_be_polled = true},   \
    {.name = "mountinfo", .mode = S_IFREG | 0444, .show = proc_show_mountinfo,                     \
     .can_be_polled = true},                                                                       \
    {.name = "smaps", .mode = S_IFREG | 0444, .more = proc_more_smaps, .forget = proc_forget_maps,                             \
     .check = proc_check_access},                                                                  \
    {.name = "smaps_rollup", .mode = S_IFREG | 0444, .show = proc_show_smaps_rollup,               \
     .check = proc_check_access},                                                                  \
    CONSTANT("wchan", 0444, "0"),                                                                  \
    FILE_OF("schedstat", 0444, show_schedstat),                                                    \
    CONSTANT("cpuset", 0444, "/\n"),                                                               \
    CONSTANT("cgroup", 0444, "0::/\n"),                                                            \
    FILE_OF("oom_score", 0444, show_oom_score),                                                    \
    {.name = "oom_adj", .mode = S_IFREG | 0644, .show = show_oom_adj, .store = store_oom_adj},     \
    {.name = "oom_score_adj", .mode = S_IFREG | 0644, .show = show_oom_score_adj,                  \
     .store = store_oom_score_adj},                                                                \
    CONSTANT("loginuid", 0444, "4294967295"),                                                      \
    CONSTANT("sessionid", 0444, "4294967295"),                                                     \
    FILE_OF("io", 0400, show_io),                                                                  \
    CONSTANT("uid_map", 0444, ID_MAP),                                                             \
    CONSTANT("gid_map", 0444, ID_MAP),                                                             \
    CONSTANT("projid_map", 0444, ID_MAP),                                                          \
    CONSTANT("setgroups", 0444, "allow\n")
/* clang-format on */

static const struct pseudo_entry task_children[] = {
    COMMON_ENTRIES,
    FILE_OF("children", 0444, show_children),
    {0},
};

static const struct pseudo_entry task_entry = {
    .name = "task",
    .mode = S_IFDIR | 0555,
    .children = task_children,
};

static ssize_t collect_tasks(const struct pseudo_node *dir, uint32_t **ret_keys)
{
    struct process *p = proc_process(dir);
    struct pseudo_keys keys = {0};
    struct thread *t;
    if (!p)
        return -ENOENT;
    process_settle_embryo(p);
    list_for_each(t, &p->threads, process_link)
    {
        if (t->dead && t->tid != p->pid)
            continue;
        if (pseudo_keys_add(&keys, (uint32_t)t->tid) < 0)
            return -ENOMEM;
    }
    /* A zombie still has its first thread. */
    if (!keys.count && pseudo_keys_add(&keys, (uint32_t)p->pid) < 0)
        return -ENOMEM;
    return pseudo_keys_take(&keys, ret_keys);
}

static int find_task(const struct pseudo_node *dir, uint32_t key, struct pseudo_node *n)
{
    struct process *p = proc_process(dir);
    n->tid = (pid_t)key;
    if (!p || !key)
        return -ENOENT;
    if (!proc_node_is_alive(n))
        process_settle_embryo(p);
    return proc_node_is_alive(n) ? 0 : -ENOENT;
}

const struct pseudo_names proc_task_names = {
    .prefix = "",
    .entry = &task_entry,
    .collect = collect_tasks,
    .find = find_task,
};

static const struct pseudo_entry pid_children[] = {
    {.name = "task", .mode = S_IFDIR | 0555, .names = &proc_task_names},
    COMMON_ENTRIES,
    {.name = "coredump_filter",
     .mode = S_IFREG | 0644,
     .show = show_coredump_filter,
     .store = store_coredump_filter},
    {.name = "timerslack_ns",
     .mode = S_IFREG | 0666,
     .show = show_timerslack,
     .store = store_timerslack},
    {0},
};

static const struct pseudo_entry pid_entry = {
    .name = "PID",
    .mode = S_IFDIR | 0555,
    .children = pid_children,
};

static ssize_t collect_processes(const struct pseudo_node *dir, uint32_t **ret_keys)
{
    struct pseudo_keys keys = {0};
    struct process *p;
    process_settle_all();
    list_for_each(p, &process_all, all_link)
    {
        if (pseudo_keys_add(&keys, (uint32_t)p->pid) < 0)
            return -ENOMEM;
    }
    return pseudo_keys_take(&keys, ret_keys);
}

/* A thread's number leads to its directory too, though no listing shows it: proc(5). */
static int find_process(const struct pseudo_node *dir, uint32_t key, struct pseudo_node *n)
{
    struct process *p = process_find((pid_t)key);
    struct thread *t = p ? NULL : thread_find((pid_t)key);
    if (!p && !t) {
        process_settle_all();
        p = process_find((pid_t)key);
        t = p ? NULL : thread_find((pid_t)key);
    }
    if (!p && !t)
        return -ENOENT;
    n->tid = p ? 0 : t->tid;
    p = p ? p : t->process;
    n->pid = p->pid;
    n->identity = (uint64_t)p->start_ns;
    return 0;
}

const struct pseudo_names proc_pid_names = {
    .prefix = "",
    .entry = &pid_entry,
    .collect = collect_processes,
    .find = find_process,
};

bool proc_is_process_directory(const struct file *f, struct process **ret)
{
    const struct pseudo_node *n = pseudo_node_of(f->inode);
    if (!n || n->entry != proc_pid_names.entry || n->tid != 0)
        return false;
    *ret = proc_process(n);
    return true;
}
