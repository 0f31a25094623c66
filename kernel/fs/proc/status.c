// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/PID/{stat,statm,status,limits}: what ps and top live on.
 */
#include "kernel/fs/proc/proc.h"

#include "kernel/core/kernel.h"
#include "kernel/fs/tty/pair.h"
#include "kernel/proc/usage.h"

#include <stdio.h>

#define FLAGS_RANDOMIZED   0x00400000u /* PF_RANDOMIZE */
#define FLAGS_NOT_EXECUTED 0x00000040u /* PF_FORKNOEXEC */

static pid_t parent_pid(const struct process *p)
{
    return p->parent ? p->parent->pid : 0;
}

static pid_t session_id(const struct process *p)
{
    return p->group && p->group->session ? p->group->session->id : 0;
}

struct signal_sets {
    sigmask_t pending, shared, blocked, ignored, caught;
};

static struct signal_sets signal_sets_of(const struct process *p, const struct thread *t)
{
    struct signal_sets s = {.shared = p->pending.set};
    if (t) {
        s.pending = t->signals.pending.set;
        s.blocked = t->signals.mask;
    }
    for (int sig = 1; p->actions && sig <= SIGNAL_COUNT; sig++) {
        if (p->actions->action[sig].handler == 1)
            s.ignored |= SIGMASK(sig);
        else if (p->actions->action[sig].handler)
            s.caught |= SIGMASK(sig);
    }
    return s;
}

/* CPU ticks in the two ways that stat shows them. */
static uint64_t timeval_ticks(struct timeval t)
{
    return proc_ticks(t.tv_sec * NSEC_PER_SEC + t.tv_usec * NSEC_PER_USEC);
}

static int show_stat_of(const struct process *p, const struct pseudo_node *n, struct buf *b)
{
    struct thread *t = proc_thread(n);
    const struct tty *tty = tty_of_process(p);
    struct host_stat h;
    int r = proc_host_stat(n, &h);
    if (r < 0)
        return r;
    bool zombie = p->state == PROCESS_ZOMBIE, may = proc_may_access(n);
    struct signal_sets s = signal_sets_of(p, t);
    unsigned flags = FLAGS_RANDOMIZED | (p->did_exec ? 0 : FLAGS_NOT_EXECUTED);
    uint64_t *f = h.field;
    if (zombie) {
        f[HOST_STAT_UTIME] = timeval_ticks(p->usage.ru_utime);
        f[HOST_STAT_STIME] = timeval_ticks(p->usage.ru_stime);
        f[HOST_STAT_VSIZE] = f[HOST_STAT_RSS] = 0;
    }
    if (zombie || !may)
        for (int i = HOST_STAT_START_BRK; i <= HOST_STAT_ENV_END; i++)
            f[i] = 0;
    buf_printf(b, "%d (%.15s) %c %d %d %d %lu %d %u", n->tid ? n->tid : p->pid, proc_name(n),
               proc_state(n, h.state), parent_pid(p), p->group ? p->group->id : 0, session_id(p),
               tty_device(tty), tty ? tty->foreground : -1, flags);
    buf_printf(b, " %lu %ld %lu %ld %lu %lu %lu %lu", f[HOST_STAT_MINFLT],
               p->children_usage.ru_minflt, f[HOST_STAT_MAJFLT], p->children_usage.ru_majflt,
               f[HOST_STAT_UTIME], f[HOST_STAT_STIME], timeval_ticks(p->children_usage.ru_utime),
               timeval_ticks(p->children_usage.ru_stime));
    buf_printf(b, " %d %d %zu 0 %lu %lu %lu %lu", 20 + p->nice, p->nice,
               proc_count_threads((struct process *)p),
               proc_ticks(p->start_ns - kernel.boot_monotonic_ns), f[HOST_STAT_VSIZE],
               f[HOST_STAT_RSS], p->rlimits[RLIMIT_RSS].rlim_cur);
    /* startcode and endcode as Linux shows them to those who may not look; esp and eip are 0. */
    buf_printf(b, " %d %d %lu 0 0 %lu %lu %lu %lu 0 0 0", !zombie, !zombie,
               may && !zombie ? f[HOST_STAT_STARTSTACK] : 0, s.pending & 0x7fffffff,
               s.blocked & 0x7fffffff, s.ignored & 0x7fffffff, s.caught & 0x7fffffff);
    buf_printf(b, " %d %lu %d %d 0 0 0", n->tid && n->tid != p->pid ? -1 : p->exit_signal,
               f[HOST_STAT_PROCESSOR] % (uint64_t)MAX(kernel.config.cpu_count, 1),
               t ? t->sched_priority : 0, t ? t->sched_policy : 0);
    buf_printf(b, " 0 0 %lu %lu %lu %lu %lu %d\n", f[HOST_STAT_START_BRK], f[HOST_STAT_ARG_START],
               f[HOST_STAT_ARG_END], f[HOST_STAT_ENV_START], f[HOST_STAT_ENV_END],
               zombie && may ? p->wait_status : 0);
    return 0;
}

int proc_show_stat(const struct pseudo_node *n, struct buf *b)
{
    struct process *p = proc_process(n);
    if (!p)
        return -ESRCH;
    process_settle_embryo(p);
    return show_stat_of(p, n, b);
}

int proc_show_statm(const struct pseudo_node *n, struct buf *b)
{
    uint64_t v[HOST_STATM_FIELDS];
    int r = proc_host_statm(n, v);
    if (r < 0)
        return r;
    buf_printf(b, "%lu %lu %lu %lu 0 %lu 0\n", v[0], v[1], v[2], v[3], v[5]);
    return 0;
}

/* ---- status ---- */

/* The host's text of the same file. */
struct host_status {
    const char *text;
    size_t size;
};

static const char *state_words(char state)
{
    switch (state) {
    case 'R':
        return "R (running)";
    case 'T':
        return "T (stopped)";
    case 'Z':
        return "Z (zombie)";
    default:
        return "S (sleeping)";
    }
}

static void show_identity(const struct process *p, const struct pseudo_node *n,
                          const struct host_status *h, struct buf *b)
{
    struct thread *t = proc_thread(n);
    char state[2] = "Z";
    host_key_text(h->text, h->size, "State", state, sizeof(state));
    buf_append_str(b, "Name:\t");
    for (const char *c = proc_name(n); *c; c++) {
        if (*c == '\n')
            buf_append_str(b, "\\n");
        else if (*c == '\\')
            buf_append_str(b, "\\\\");
        else
            buf_append(b, c, 1);
    }
    buf_append_str(b, "\n");
    if (t && t->fs)
        buf_printf(b, "Umask:\t%04o\n", t->fs->umask);
    buf_printf(b, "State:\t%s\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n",
               state_words(proc_state(n, *state)), p->pid, n->tid ? n->tid : p->pid, parent_pid(p));
}

static const struct cred *cred_shown(const struct pseudo_node *n)
{
    static const struct cred nobody;
    const struct cred *c = proc_cred(n);
    return c ? c : &nobody;
}

static void show_credentials(const struct process *p, const struct pseudo_node *n, struct buf *b)
{
    struct thread *t = proc_thread(n);
    const struct cred *c = cred_shown(n);
    pid_t pid = n->tid ? n->tid : p->pid;
    buf_printf(b, "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\n", c->uid, c->euid, c->suid,
               c->fsuid, c->gid, c->egid, c->sgid, c->fsgid);
    buf_printf(b, "FDSize:\t%zu\nGroups:\t", t && t->files ? t->files->capacity : 0);
    for (size_t i = 0; i < c->group_count; i++)
        buf_printf(b, "%u ", c->groups[i]);
    if (!c->group_count)
        buf_append_str(b, " ");
    buf_printf(b, "\nNStgid:\t%d\nNSpid:\t%d\nNSpgid:\t%d\nNSsid:\t%d\nKthread:\t0\n", p->pid, pid,
               p->group ? p->group->id : 0, session_id(p));
}

static void show_memory(const struct process *p, const struct host_status *h, struct buf *b)
{
    static const char *const keys[] = {
        "VmPeak",   "VmSize", "VmLck", "VmPin", "VmHWM", "VmRSS", "RssAnon", "RssFile",
        "RssShmem", "VmData", "VmStk", "VmExe", "VmLib", "VmPTE", "VmSwap",
    };
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        uint64_t value = 0;
        host_key_number(h->text, h->size, keys[i], &value);
        buf_printf(b, "%s:\t%8lu kB\n", keys[i], value);
    }
    buf_printf(b,
               "HugetlbPages:\t       0 kB\nCoreDumping:\t0\nTHP_enabled:\t%d\n"
               "untag_mask:\t0xffffffffffffffff\n",
               !p->thp_disabled);
}

static void show_signals(const struct process *p, const struct pseudo_node *n, struct buf *b)
{
    struct thread *t = proc_thread(n);
    struct signal_sets s = signal_sets_of(p, t);
    const struct cred *c = cred_shown(n);
    buf_printf(b, "Threads:\t%zu\nSigQ:\t%zu/%lu\n", proc_count_threads((struct process *)p),
               p->pending.count, p->rlimits[RLIMIT_SIGPENDING].rlim_cur);
    buf_printf(b,
               "SigPnd:\t%016lx\nShdPnd:\t%016lx\nSigBlk:\t%016lx\nSigIgn:\t%016lx\n"
               "SigCgt:\t%016lx\n",
               s.pending, s.shared, s.blocked, s.ignored, s.caught);
    buf_printf(b,
               "CapInh:\t%016lx\nCapPrm:\t%016lx\nCapEff:\t%016lx\nCapBnd:\t%016lx\n"
               "CapAmb:\t%016lx\n",
               c->cap_inheritable, c->cap_permitted, c->cap_effective, c->cap_bounding,
               c->cap_ambient);
    buf_printf(b, "NoNewPrivs:\t%d\nSeccomp:\t0\nSeccomp_filters:\t0\n", c->no_new_privs);
    buf_append_str(b, "Speculation_Store_Bypass:\tthread vulnerable\n"
                      "SpeculationIndirectBranch:\tconditional enabled\n");
}

static void show_placement(const struct pseudo_node *n, const struct host_status *h, struct buf *b)
{
    const struct thread *t = proc_thread(n);
    const uint64_t *cpus = t ? t->cpus : NULL;
    uint64_t voluntary = 0, forced = 0;
    host_key_number(h->text, h->size, "voluntary_ctxt_switches", &voluntary);
    host_key_number(h->text, h->size, "nonvoluntary_ctxt_switches", &forced);
    buf_append_str(b, "Cpus_allowed:\t");
    proc_append_cpu_mask(b, cpus);
    buf_append_str(b, "\nCpus_allowed_list:\t");
    proc_append_cpu_list(b, cpus);
    buf_printf(b,
               "\nMems_allowed:\t1\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t%lu\n"
               "nonvoluntary_ctxt_switches:\t%lu\n",
               voluntary, forced);
}

int proc_show_status(const struct pseudo_node *n, struct buf *b)
{
    struct process *p = proc_process(n);
    _cleanup_free_ char *text = NULL;
    if (!p)
        return -ESRCH;
    process_settle_embryo(p); /* a thread that has not shown up yet counts */
    ssize_t size = proc_read_host(n, "status", USAGE_STATUS_MAX_BYTES, &text);
    if (size < 0 && !(size == -ESRCH && proc_node_is_alive(n)))
        return (int)size;
    struct host_status h = {size < 0 ? "" : text, size < 0 ? 0 : (size_t)size};
    show_identity(p, n, &h, b);
    show_credentials(p, n, b);
    if (p->state == PROCESS_ALIVE && size >= 0)
        show_memory(p, &h, b);
    show_signals(p, n, b);
    show_placement(n, &h, b);
    return 0;
}

/* ---- limits ---- */

static void append_limit(struct buf *b, rlim_t value)
{
    if (value == RLIM_INFINITY)
        buf_printf(b, "%-20s ", "unlimited");
    else
        buf_printf(b, "%-20lu ", value);
}

int proc_show_limits(const struct pseudo_node *n, struct buf *b)
{
    static const struct {
        int resource;
        const char *name, *unit;
    } rows[] = {
        {RLIMIT_CPU, "Max cpu time", "seconds"},
        {RLIMIT_FSIZE, "Max file size", "bytes"},
        {RLIMIT_DATA, "Max data size", "bytes"},
        {RLIMIT_STACK, "Max stack size", "bytes"},
        {RLIMIT_CORE, "Max core file size", "bytes"},
        {RLIMIT_RSS, "Max resident set", "bytes"},
        {RLIMIT_NPROC, "Max processes", "processes"},
        {RLIMIT_NOFILE, "Max open files", "files"},
        {RLIMIT_MEMLOCK, "Max locked memory", "bytes"},
        {RLIMIT_AS, "Max address space", "bytes"},
        {RLIMIT_LOCKS, "Max file locks", "locks"},
        {RLIMIT_SIGPENDING, "Max pending signals", "signals"},
        {RLIMIT_MSGQUEUE, "Max msgqueue size", "bytes"},
        {RLIMIT_NICE, "Max nice priority", ""},
        {RLIMIT_RTPRIO, "Max realtime priority", ""},
        {RLIMIT_RTTIME, "Max realtime timeout", "us"},
    };
    struct process *p = proc_process(n);
    if (!p)
        return -ESRCH;
    buf_printf(b, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct rlimit *l = &p->rlimits[rows[i].resource];
        buf_printf(b, "%-25s ", rows[i].name);
        append_limit(b, l->rlim_cur);
        append_limit(b, l->rlim_max);
        buf_printf(b, "%-*s\n", *rows[i].unit ? 10 : 0, rows[i].unit);
    }
    return 0;
}
