// SPDX-License-Identifier: Apache-2.0
/*
 * From nodes to processes, and who may look at what.
 */
#include "kernel/fs/proc/proc.h"

#include "kernel/core/kernel.h"
#include "kernel/host/host.h"

#include <linux/capability.h>
#include <stdio.h>

struct thread *proc_caller(void)
{
    return call_current ? call_current->thread : NULL;
}

struct process *proc_process(const struct pseudo_node *n)
{
    struct process *p = process_find(n->pid);
    return p && (uint64_t)p->start_ns == n->identity ? p : NULL;
}

struct thread *proc_thread(const struct pseudo_node *n)
{
    struct process *p = proc_process(n);
    if (!p)
        return NULL;
    if (!n->tid)
        return process_leader(p);
    struct thread *t = thread_find(n->tid);
    return t && t->process == p && (!t->dead || n->tid == p->pid) ? t : NULL;
}

const char *proc_name(const struct pseudo_node *n)
{
    const struct process *p = proc_process(n);
    const struct thread *t = proc_thread(n);
    return t ? t->name : p ? p->last_name : "";
}

struct address_space *proc_space(const struct pseudo_node *n)
{
    struct process *p = proc_process(n);
    return p && p->state == PROCESS_ALIVE ? p->space : NULL;
}

const struct cred *proc_cred(const struct pseudo_node *n)
{
    const struct process *p = proc_process(n);
    const struct thread *t = proc_thread(n);
    return t ? t->cred : p ? process_cred(p) : NULL;
}

static bool same_owner(const struct cred *caller, const struct cred *target)
{
    return caller->fsuid == target->euid && caller->fsuid == target->suid &&
           caller->fsuid == target->uid && caller->fsgid == target->egid &&
           caller->fsgid == target->sgid && caller->fsgid == target->gid;
}

bool proc_may_access(const struct pseudo_node *n)
{
    struct thread *caller = proc_caller();
    struct process *p = proc_process(n);
    if (!p)
        return false;
    if (!caller || caller->process == p || cred_has_cap(caller->cred, CAP_SYS_PTRACE))
        return true;
    const struct cred *target = proc_cred(n);
    if (!target || !same_owner(caller->cred, target))
        return false;
    if (p->space && !p->space->dumpable)
        return false;
    return !(target->cap_permitted & ~caller->cred->cap_effective);
}

int proc_check_access(const struct pseudo_node *n)
{
    if (!proc_process(n))
        return -ESRCH;
    return proc_may_access(n) ? 0 : -EACCES;
}

bool proc_node_is_alive(const struct pseudo_node *n)
{
    if (!n->pid)
        return true;
    struct process *p = proc_process(n);
    if (!p)
        return false;
    return !n->tid || proc_thread(n) || (n->tid == p->pid && p->state == PROCESS_ZOMBIE);
}

/* proc(5): files are owned by the process's effective user, or by root if it is not dumpable. */
void proc_node_refresh(const struct pseudo_node *n, struct inode *i)
{
    if (!n->pid)
        return;
    const struct cred *cred = proc_cred(n);
    struct address_space *space = proc_space(n);
    bool world_directory = i->mode == (S_IFDIR | 0555);
    struct process *p = proc_process(n);
    struct thread *caller = proc_caller();
    /* A process that gave up its privileges still may open its own files: proc_fd_permission(). */
    bool own = world_directory || !space || space->dumpable || (caller && caller->process == p);
    i->uid = own && cred ? cred->euid : 0;
    i->gid = own && cred ? cred->egid : 0;
    if (p && n->entry->names == &proc_task_names) {
        process_settle_embryo(p);
        i->nlink = 2 + (unsigned)proc_count_threads(p); /* by which programs count their threads */
    }
    if (n->entry == proc_fd_names.entry)
        proc_refresh_fd_link(n, i);
}

int proc_host_name(const struct pseudo_node *n, const char *file, char ret[64])
{
    const struct process *p = proc_process(n);
    const struct thread *t = proc_thread(n);
    if (!p || (n->tid && !t))
        return -ESRCH;
    if (n->tid)
        snprintf(ret, 64, "%d/task/%d/%s", p->host_pid, t->host_tid, file);
    else
        snprintf(ret, 64, "%d/%s", p->host_pid, file);
    return 0;
}

ssize_t proc_read_host(const struct pseudo_node *n, const char *file, size_t max_bytes,
                       char **ret_text)
{
    char name[64];
    int r = proc_host_name(n, file, name);
    if (r < 0)
        return r;
    /* A buffer that came back full may hold a cut text: tried again with a larger one. */
    for (size_t size = MIN(max_bytes, (size_t)16384);; size = MIN(size * 4, max_bytes)) {
        _cleanup_free_ char *text = malloc(size);
        if (!text)
            return -ENOMEM;
        ssize_t got = host->read_proc(name, text, size);
        if (got < 0)
            return got == -ENOENT ? -ESRCH : got;
        if ((size_t)got + 1 < size) {
            *ret_text = TAKE_PTR(text);
            return got;
        }
        if (size == max_bytes)
            return -ENOMEM;
    }
}

/*
 * The host is done with it, and we have still to hear, or have heard: there is nothing more to be
 * read of it, and whoever has opened its files is not to find that nobody was there.
 */
static bool is_done_on_host(const struct pseudo_node *n, ssize_t error)
{
    return error == -ESRCH && proc_node_is_alive(n);
}

int proc_host_stat(const struct pseudo_node *n, struct host_stat *ret)
{
    if (!proc_process(n))
        return -ESRCH;
    _cleanup_free_ char *text = NULL;
    ssize_t size = proc_read_host(n, "stat", 8192, &text);
    if (is_done_on_host(n, size)) {
        *ret = (struct host_stat){.name = "", .state = 'Z'};
        return 0;
    }
    return size < 0 ? (int)size : host_stat_parse(text, (size_t)size, ret);
}

int proc_host_statm(const struct pseudo_node *n, uint64_t ret[HOST_STATM_FIELDS])
{
    struct process *p = proc_process(n);
    if (!p)
        return -ESRCH;
    if (p->state == PROCESS_ZOMBIE) {
        memset(ret, 0, HOST_STATM_FIELDS * sizeof(*ret));
        return 0;
    }
    _cleanup_free_ char *text = NULL;
    ssize_t size = proc_read_host(n, "statm", 4096, &text);
    if (is_done_on_host(n, size)) {
        memset(ret, 0, HOST_STATM_FIELDS * sizeof(*ret));
        return 0;
    }
    return size < 0 ? (int)size : host_statm_parse(text, (size_t)size, ret);
}

/*
 * A task whose call we hold waits in the host's kernel for us, killable only, which the host calls
 * disk sleep. For the guest it sleeps if its call is parked, and runs else.
 */
char proc_state(const struct pseudo_node *n, char host_state)
{
    struct process *p = proc_process(n);
    struct thread *t = proc_thread(n);
    if (!p || p->state == PROCESS_ZOMBIE || !t)
        return 'Z';
    if (p->group_stopped)
        return 'T';
    if (t->call)
        return t->call->parked ? 'S' : 'R';
    switch (host_state) {
    case 'R':
    case 'D':
    case 'Z': /* a zombie is one that can be waited for: this one is about to be */
    case 'X':
        return 'R';
    default:
        return 'S';
    }
}

size_t proc_count_threads(struct process *p)
{
    size_t count = 0;
    struct thread *t;
    list_for_each(t, &p->threads, process_link)
    {
        count += !t->dead;
    }
    return MAX(count, (size_t)1);
}

uint64_t proc_ticks(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns / (NSEC_PER_SEC / PROC_TICKS_PER_SECOND) : 0;
}

void proc_append_escaped(struct buf *b, const char *text)
{
    for (; *text; text++) {
        if (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\\')
            buf_printf(b, "\\%03o", (unsigned char)*text);
        else
            buf_append(b, text, 1);
    }
}

static bool is_in_set(const uint64_t *set, int cpu)
{
    bool is_empty = true;
    for (int i = 0; set && i < THREAD_CPUS_MAX / 64; i++)
        is_empty = is_empty && !set[i];
    return is_empty || (cpu < THREAD_CPUS_MAX && set[cpu / 64] >> (cpu % 64) & 1);
}

void proc_append_cpu_mask(struct buf *b, const uint64_t *set)
{
    int all = MAX(kernel.config.cpu_count, 1);
    int top = (all - 1) / 32; /* words of 32 CPUs, the highest first */
    for (int word = top; word >= 0; word--) {
        uint32_t mask = 0;
        for (int cpu = word * 32; cpu < MIN(all, word * 32 + 32); cpu++)
            mask |= is_in_set(set, cpu) ? 1u << (cpu - word * 32) : 0;
        int digits = word == top ? (all - word * 32 + 3) / 4 : 8;
        buf_printf(b, "%s%0*x", word == top ? "" : ",", digits, mask);
    }
}

void proc_append_cpu_list(struct buf *b, const uint64_t *set)
{
    int all = MAX(kernel.config.cpu_count, 1);
    const char *comma = "";
    for (int first = 0, end; first < all; first = end + 1) {
        for (end = first; end < all && is_in_set(set, end);)
            end++;
        if (end == first)
            continue;
        buf_printf(b, end - first > 1 ? "%s%d-%d" : "%s%d", comma, first, end - 1);
        comma = ",";
    }
}
