// SPDX-License-Identifier: Apache-2.0
/* host calls: close fcntl fstat getdents64 newfstatat pidfd_open */
#include "kernel/proc/process.h"

#include "kernel/core/kernel.h"
#include "kernel/host/host.h"
#include "kernel/host/spare.h"
#include "kernel/proc/embryo.h"
#include "kernel/proc/account.h"
#include "kernel/proc/budget.h"
#include "kernel/proc/exec.h"
#include "kernel/proc/host_end.h"
#include "kernel/proc/jobs.h"
#include "kernel/proc/meter.h"
#include "kernel/proc/pidfd.h"
#include "kernel/proc/space.h"
#include "kernel/proc/throttle.h"
#include "kernel/proc/timers.h"
#include "kernel/proc/usage.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHILDREN_TEXT_MAX 65536

struct list process_all = {&process_all, &process_all};
struct process *process_init;
size_t thread_total, process_memory_kills, process_zombies, process_ending;

void (*process_on_first_exec)(struct process *p);
void (*process_on_end)(struct process *p);
void (*process_on_stop)(struct process *p);

static struct map threads_by_tid, threads_by_host_tid, processes_by_pid;

/* ---- fs context ---- */

struct fs_context *fs_context_new(struct path root, struct path cwd, mode_t umask_bits)
{
    struct fs_context *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->refs = 1;
    c->root = path_get(root);
    c->cwd = path_get(cwd);
    c->umask = umask_bits;
    return c;
}

struct fs_context *fs_context_copy(const struct fs_context *c)
{
    return fs_context_new(c->root, c->cwd, c->umask);
}

struct fs_context *fs_context_get(struct fs_context *c)
{
    c->refs++;
    return c;
}

void fs_context_put(struct fs_context *c)
{
    if (!c || --c->refs > 0)
        return;
    path_put(&c->root);
    path_put(&c->cwd);
    free(c);
}

/* ---- look-up ---- */

struct process *process_find(pid_t pid)
{
    return map_get(&processes_by_pid, (uint64_t)(uint32_t)pid);
}

struct thread *thread_find(pid_t tid)
{
    return map_get(&threads_by_tid, (uint64_t)(uint32_t)tid);
}

struct thread *thread_find_host(pid_t host_tid)
{
    return map_get(&threads_by_host_tid, (uint64_t)(uint32_t)host_tid);
}

/* ---- threads that have called exit ---- */

#define LEAVING_SWEEP 64

/*
 * The host shows a thread for a moment after its exit was let through. Without this list a clone of
 * that moment could take the old thread for its new one, and the new one would be a stranger.
 * host tid -> host tgid.
 */
static struct map leaving;

bool thread_is_leaving(pid_t host_tid)
{
    return map_get(&leaving, (uint64_t)(uint32_t)host_tid);
}

/* Forgets those that the host has ended. */
static void sweep_leaving(void)
{
    pid_t gone[LEAVING_SWEEP];
    size_t count = 0, cursor = 0;
    uint64_t host_tid;
    void *host_tgid;
    while (count < LEAVING_SWEEP && map_next(&leaving, &cursor, &host_tid, &host_tgid))
        if (host->signal_thread((pid_t)(uintptr_t)host_tgid, (pid_t)host_tid, 0) == -ESRCH)
            gone[count++] = (pid_t)host_tid;
    while (count > 0)
        map_remove(&leaving, (uint64_t)(uint32_t)gone[--count]);
}

void thread_leave(struct thread *t)
{
    if (leaving.count >= LEAVING_SWEEP)
        sweep_leaving();
    /* Without memory for the entry it is as if the host had been quicker, which it mostly is. */
    map_set(&leaving, (uint64_t)(uint32_t)t->host_tid, (void *)(uintptr_t)t->process->host_pid);
    thread_free(t);
}

/* ---- making ---- */

static int index_thread(struct thread *t)
{
    int r = map_set(&threads_by_tid, (uint64_t)(uint32_t)t->tid, t);
    if (r == 0)
        r = map_set(&threads_by_host_tid, (uint64_t)(uint32_t)t->host_tid, t);
    return r;
}

/* Removes the entries that are still t's: the host may have dealt its number out again. */
static void unindex_thread(struct thread *t)
{
    if (thread_find(t->tid) == t)
        map_remove(&threads_by_tid, (uint64_t)(uint32_t)t->tid);
    if (thread_find_host(t->host_tid) == t)
        map_remove(&threads_by_host_tid, (uint64_t)(uint32_t)t->host_tid);
}

struct thread *thread_new(struct process *p, pid_t tid, pid_t host_tid)
{
    if (thread_total >= LIMIT_THREADS)
        return NULL;
    struct thread *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->tid = tid;
    t->host_tid = host_tid;
    t->process = p;
    signal_thread_init(&t->signals);
    if (index_thread(t) < 0) {
        unindex_thread(t);
        free(t);
        return NULL;
    }
    list_append(&p->threads, &t->process_link);
    thread_total++;
    throttle_thread_born(t);
    return t;
}

void thread_free(struct thread *t)
{
    if (t->call)
        call_abandon(t->call);
    signal_thread_done(&t->signals);
    io_count_add(&t->process->io, &t->io);
    exec_forget(t);
    unindex_thread(t);
    list_remove(&t->process_link);
    if (t->files)
        fdtable_put(t->files);
    fs_context_put(t->fs);
    if (t->cred)
        cred_put(t->cred);
    thread_total--;
    free(t);
}

void thread_take_over(struct thread *executed, struct thread *leader)
{
    pid_t tid = leader->tid, host_tid = leader->host_tid;
    thread_free(leader);
    unindex_thread(executed);
    executed->tid = tid;
    executed->host_tid = host_tid;
    /* Two slots were freed just now, so that this can't fail for want of memory. */
    index_thread(executed);
    list_remove(&executed->process_link);
    list_prepend(&executed->process->threads, &executed->process_link);
}

/* ready of a pidfd: the whole thread group has ended. */
static void on_host_end(struct host_watch *w, uint32_t events)
{
    process_ended(container_of(w, struct process, end_watch));
}

static int watch_end(struct process *p, struct hostfd pidfd)
{
    p->pidfd = pidfd;
    if (!hostfd_is_open(p->pidfd))
        p->pidfd.n = (int)syscall(SYS_pidfd_open, p->host_pid, 0);
    if (p->pidfd.n < 0)
        return -errno;
    p->end_watch.fd = p->pidfd;
    p->end_watch.ready = on_host_end;
    p->end_watch.patient = true;
    int r = host_watch_add(&p->end_watch, EPOLLIN);
    if (r < 0)
        hostfd_close(&p->pidfd);
    return r;
}

struct process *process_new(struct process *parent, pid_t pid, pid_t host_pid, struct hostfd pidfd)
{
    struct process *p = calloc(1, sizeof(*p));
    if (!p) {
        hostfd_close(&pidfd);
        return NULL;
    }
    p->pid = pid;
    p->host_pid = host_pid;
    p->parent = parent;
    p->start_ns = clock_monotonic_ns();
    list_init(&p->children);
    list_init(&p->sibling);
    list_init(&p->threads);
    list_init(&p->group_link);
    list_init(&p->pidfds);
    waitq_init(&p->child_wait);
    waitq_init(&p->exit_wait);
    waitq_init(&p->exec_wait);
    signal_queue_init(&p->pending);
    p->exit_signal = SIGCHLD;
    p->coredump_filter = COREDUMP_FILTER_DEFAULT;
    /* A task that has ended already is not worth a process: watch_end fails with ESRCH. */
    if (watch_end(p, pidfd) < 0) {
        free(p);
        return NULL;
    }
    if (!thread_new(p, pid, host_pid) ||
        map_set(&processes_by_pid, (uint64_t)(uint32_t)pid, p) < 0) {
        if (!list_is_empty(&p->threads))
            thread_free(process_leader(p));
        host_watch_remove(&p->end_watch);
        hostfd_close(&p->pidfd);
        free(p);
        return NULL;
    }
    list_append(&process_all, &p->all_link);
    if (parent)
        list_append(&parent->children, &p->sibling);
    meter_process_born(p);
    return p;
}

/* ---- a notification's thread ---- */

static int parse_field(const char *text, const char *key, bool last, pid_t *ret)
{
    const char *at = strstr(text, key);
    if (!at)
        return -ENOENT;
    at += strlen(key);
    long value = -1;
    for (;;) {
        char *end;
        long v = strtol(at, &end, 10);
        if (end == at)
            break;
        value = v;
        at = end;
        if (!last)
            break;
        if (*at == '\n')
            break;
    }
    if (value <= 0 || value > INT32_MAX)
        return -EINVAL;
    *ret = (pid_t)value;
    return 0;
}

/* The ids of a task from the host: NSpid's last number is its tid in the sandbox. */
static int read_task_ids(pid_t host_tid, struct task_ids *ret)
{
    const char *text;
    struct task_ids ids = {.host_tid = host_tid};
    int r = usage_read_status(host_tid, &text);
    if (r < 0)
        return r;
    /* One that has ended stays visible for a moment after its pidfd has told: it is no newcomer. */
    const char *state = strstr(text, "\nState:\t");
    if (!state || strchr("ZX", state[8]))
        return -ESRCH;
    r = parse_field(text, "\nTgid:", false, &ids.host_tgid);
    if (r == 0)
        r = parse_field(text, "\nPPid:", false, &ids.host_ppid);
    if (r == 0)
        r = parse_field(text, "\nNSpid:", true, &ids.tid);
    if (r == 0)
        *ret = ids;
    return r;
}

static struct process *process_find_host(pid_t host_pid)
{
    struct thread *t = thread_find_host(host_pid);
    return t ? t->process : NULL;
}

/*
 * Who has made a new process whose parent is this one on the host. The init is also the parent
 * there of those that lost theirs.
 */
static struct process *find_creator(struct process *parent, pid_t host_pid)
{
    uint64_t mark;
    if (parent != process_init)
        return parent;
    return host->get_mark(host_pid, &mark) == 0 ? embryo_creator(mark) : NULL;
}

static struct thread *meet_new_task(pid_t host_tid)
{
    struct task_ids ids;
    if (read_task_ids(host_tid, &ids) < 0)
        return NULL;
    bool is_thread = ids.host_tgid != host_tid;
    struct process *creator = process_find_host(is_thread ? ids.host_tgid : ids.host_ppid);
    if (creator && !is_thread)
        creator = find_creator(creator, host_tid);
    if (!creator || !creator->embryo)
        return NULL;
    return embryo_born(creator, &ids, HOSTFD_NONE);
}

/* What a pidfd says of itself is a third of the work for the host that four files of /proc are. */
static pid_t id_from_pidfd(struct hostfd pidfd)
{
    char name[32], text[512];
    pid_t id;
    snprintf(name, sizeof(name), "self/fdinfo/%d", pidfd.n);
    ssize_t n = host->read_proc(name, text, sizeof(text));
    int r = n < 0 ? (int)n : parse_field(text, "\nNSpid:", true, &id);
    return r < 0 ? r : id;
}

/* The pidfd, at the worst in the place of the descriptor that is reserved for it. */
static struct hostfd open_child(struct embryo *e, pid_t host_pid)
{
    int fd = (int)syscall(SYS_pidfd_open, host_pid, 0);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        hostfd_close(&e->reserved);
        fd = (int)syscall(SYS_pidfd_open, host_pid, 0);
    }
    return (struct hostfd){fd};
}

/*
 * The same for a task that has just called, while one new process alone is on its way: its id
 * inside is all that is needed then. A thread's id has no pidfd.
 */
static struct thread *meet_only_child(struct process *creator, pid_t host_pid)
{
    struct task_ids ids = {.host_tid = host_pid, .host_tgid = host_pid};
    struct hostfd pidfd = open_child(creator->embryo, host_pid);
    if (!hostfd_is_open(pidfd))
        return NULL;
    ids.tid = host->id_inside(host_pid);
    if (ids.tid == -ENOTTY)
        ids.tid = id_from_pidfd(pidfd);
    if (ids.tid <= 0) {
        hostfd_close(&pidfd);
        return NULL;
    }
    return embryo_born(creator, &ids, pidfd);
}

struct thread *thread_for_notification(pid_t host_tid)
{
    struct thread *t = thread_find_host(host_tid);
    /* A leader that has called exit comes back as the thread that executed and has its number now.
     */
    if (t && (!t->dead || t->process->executing))
        return t;
    /* Whoever has left calls no more: the number was dealt out again. */
    map_remove(&leaving, (uint64_t)(uint32_t)host_tid);
    struct process *creator = embryo_only_creator();
    t = creator ? meet_only_child(creator, host_tid) : NULL;
    return t ? t : meet_new_task(host_tid);
}

/* ---- settling: looking for a child that has not called yet ---- */

/* Calls meet for each number in text that is no known task. True if one was met. */
static bool meet_unknown(const char *text)
{
    const char *at = text;
    for (;;) {
        char *end;
        long host_tid = strtol(at, &end, 10);
        if (end == at)
            return false;
        if (host_tid > 0 && !thread_find_host((pid_t)host_tid) && meet_new_task((pid_t)host_tid))
            return true;
        at = end;
    }
}

/*
 * The host's list of a thread's children is quick to read, but may leave one out while siblings end
 * (proc(5)).
 */
static bool meet_among_children(const struct process *p, pid_t host_tid)
{
    char name[64];
    _cleanup_free_ char *text = malloc(CHILDREN_TEXT_MAX);
    if (!text)
        return false;
    snprintf(name, sizeof(name), "%d/task/%d/children", p->host_pid, host_tid);
    return host->read_proc(name, text, CHILDREN_TEXT_MAX) > 0 && meet_unknown(text);
}

/* All tasks that the kernel sees; the first is the kernel itself. */
static bool meet_anywhere(void)
{
    int fd = spare_open(kernel.proc_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    bool met = false;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        spare_refill();
        return false;
    }
    while ((entry = readdir(dir))) {
        pid_t host_pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (host_pid > 1 && !thread_find_host(host_pid) && meet_new_task(host_pid))
            met = true;
    }
    closedir(dir);
    spare_refill();
    return met;
}

void process_settle_embryo(struct process *p)
{
    struct embryo *e = p->embryo;
    if (!e)
        return;
    const struct thread *creator = thread_find(e->creator_tid);
    /* While the creator is still in its clone, the child may not exist yet. */
    bool is_over = !creator || creator->dead || creator->call || p->state == PROCESS_ZOMBIE;
    if (e->flags & CLONE_THREAD)
        space_meet_threads(p);
    else if (creator)
        meet_among_children(p, creator->host_tid);
    if (p->embryo != e || !is_over)
        return;
    if (!(e->flags & CLONE_THREAD))
        meet_anywhere();
    /* There is no child: the host could not make one, or it has ended without a call. */
    if (p->embryo != e)
        return;
    if (!(e->flags & CLONE_THREAD))
        meter_child_unseen(clock_monotonic_ns() - e->made_ns);
    embryo_drop(p);
}

void process_settle_all(void)
{
    struct process *p, *next;
    list_for_each_safe(p, next, &process_all, all_link) process_settle_embryo(p);
}

/* ---- the end ---- */

void process_note_end(struct process *p, int wait_status)
{
    if (p->exiting)
        return;
    p->exiting = true;
    process_ending++;
    p->wait_status = wait_status;
    account_sample(p);
    budget_note_end(p);
}

struct process *process_reaper(const struct process *p)
{
    for (struct process *q = p->parent; q; q = q->parent)
        if (q->subreaper && q->state == PROCESS_ALIVE)
            return q;
    return process_init;
}

static void orphan_children(struct process *p)
{
    struct process *child, *next;
    struct process *reaper = process_reaper(p);
    if (!reaper || reaper == p)
        return;
    list_for_each_safe(child, next, &p->children, sibling)
    {
        list_remove(&child->sibling);
        child->parent = reaper;
        list_append(&reaper->children, &child->sibling);
        if (child->parent_death_signal && child->state == PROCESS_ALIVE) {
            siginfo_t info = signal_info_user(child->parent_death_signal, p);
            signal_send_process(child, child->parent_death_signal, &info);
        }
        /* As reparent_leader() of Linux: the new parent can wait for it whatever clone was asked.
         */
        child->exit_signal = SIGCHLD;
        if (child->state != PROCESS_ZOMBIE)
            continue;
        if (reaper != process_init)
            signal_child_changed(child, CLD_EXITED, WEXITSTATUS(child->wait_status));
        if (reaper == process_init || child->autoreap)
            process_reap(child);
    }
}

static void keep_identity(struct process *p, const struct thread *leader)
{
    p->last_cred = leader->cred ? cred_get(leader->cred) : NULL;
    memcpy(p->last_name, leader->name, sizeof(p->last_name));
}

static void release_resources(struct process *p)
{
    struct thread *t, *next;
    meter_process_gone(p);
    host_end_forget(p);
    host_watch_remove(&p->end_watch);
    hostfd_close(&p->pidfd);
    keep_identity(p, process_leader(p));
    list_for_each_safe(t, next, &p->threads, process_link) thread_free(t);
    interval_timers_free(p);
    signal_queue_clear(&p->pending);
    if (p->space)
        space_put(p->space);
    p->space = NULL;
    if (p->actions)
        signal_actions_put(p->actions);
    p->actions = NULL;
}

void process_ended(struct process *p)
{
    if (p->state == PROCESS_ZOMBIE)
        return;
    if (!p->exiting && !host_end_note(p))
        return;
    process_memory_kills += p->end_reason == CONTROL_BY_MEMORY || p->end_reason == CONTROL_BY_HOST;
    process_ending--;
    p->state = PROCESS_ZOMBIE;
    process_zombies++;
    /* A child that has not called yet is the init's on the host by now. */
    process_settle_embryo(p);
    if (process_on_end)
        process_on_end(p);
    /* Leaves its group last: the session leader's end needs it. */
    session_leader_exit(p);
    release_resources(p);
    orphan_children(p);
    waitq_wake(&p->exit_wait, EPOLLIN);
    pidfd_process_ended(p);
    int status = p->wait_status;
    if (WIFEXITED(status))
        signal_child_changed(p, CLD_EXITED, WEXITSTATUS(status));
    else
        signal_child_changed(p, CLD_KILLED, WTERMSIG(status));
    if (p == process_init || p->autoreap || p->parent == process_init)
        process_reap(p);
}

void process_reap(struct process *p)
{
    process_zombies--;
    if (p->embryo)
        embryo_drop(p);
    /* getrusage(2): children that nobody waits for are not counted. */
    if (p->parent && !p->autoreap)
        account_add_to_parent(p);
    orphan_children(p);
    pidfd_process_gone(p);
    waitq_done(&p->child_wait);
    waitq_done(&p->exit_wait);
    waitq_done(&p->exec_wait);
    process_leave_group(p);
    if (process_find(p->pid) == p)
        map_remove(&processes_by_pid, (uint64_t)(uint32_t)p->pid);
    list_remove(&p->all_link);
    list_remove(&p->sibling);
    if (p == process_init)
        process_init = NULL;
    if (p->last_cred)
        cred_put(p->last_cred);
    free(p);
}

/* ---- small services ---- */

const struct cred *process_cred(const struct process *p)
{
    return list_is_empty(&p->threads) ? p->last_cred : process_leader((struct process *)p)->cred;
}

pid_t process_living_host_tid(const struct process *p)
{
    const struct thread *t;
    list_for_each(t, &p->threads, process_link)
    {
        if (!t->dead)
            return t->host_tid;
    }
    return p->host_pid;
}

/*
 * The host gives a signal of the process to one thread, the first if it can; when that waits for
 * our answer, it takes none, and no other thread would learn of it. So each has its own.
 */
bool process_stop_on_host(const struct process *p)
{
    const struct thread *t;
    bool any = false;
    list_for_each(t, &p->threads, process_link)
    {
        if (!t->dead && host->signal_thread(p->host_pid, t->host_tid, SIGSTOP) == 0)
            any = true;
    }
    return any;
}

size_t process_count_tasks(void)
{
    size_t total = thread_total + embryo_total + process_zombies;
    return total > 0 ? total - 1 : 0;
}

size_t process_count_tasks_of(uid_t uid)
{
    size_t count = 0;
    const struct process *p;
    const struct thread *t;
    list_for_each(p, &process_all, all_link)
    {
        const struct cred *last = process_cred(p);
        if (p == process_init)
            continue;
        count += list_is_empty(&p->threads) && last && last->uid == uid;
        list_for_each(t, &p->threads, process_link)
        {
            count += t->cred->uid == uid;
        }
        count += p->embryo && p->embryo->cred->uid == uid;
    }
    return count;
}

int thread_walk_base(struct thread *t, int dirfd, struct walk_base *ret)
{
    *ret = (struct walk_base){.root = t->fs->root, .base = t->fs->cwd, .cred = t->cred};
    if (dirfd == AT_FDCWD)
        return 0;
    struct file *f = fdtable_file(t->files, dirfd);
    if (!f)
        return -EBADF;
    ret->base = f->path;
    return 0;
}
