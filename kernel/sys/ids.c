// SPDX-License-Identifier: Apache-2.0
/*
 * System calls about who a process is: parents, groups and sessions, users and groups of users
 * (credentials(7)). Capabilities are in caps.c.
 *
 * host calls: sysinfo
 */
#include "kernel/sys/handlers.h"

#include "kernel/proc/credentials.h"

#include <linux/capability.h>

/* ---- processes, groups, sessions ---- */

long sys_getppid(struct call *c)
{
    const struct process *parent = c->thread->process->parent;
    return parent ? parent->pid : 0;
}

long sys_getpgrp(struct call *c)
{
    return c->thread->process->group->id;
}

/* The process of a number, 0: the caller's. NULL: ESRCH. */
static struct process *find_process(struct call *c, pid_t pid)
{
    struct process *self = c->thread->process;
    if (pid == 0)
        return self;
    struct process *p = process_find(pid);
    if (!p) {
        process_settle_all();
        p = process_find(pid);
    }
    return p && p->group ? p : NULL;
}

/* A thread's number does as well, where nothing is changed. */
static const struct process *find_by_thread(struct call *c, pid_t tid)
{
    const struct process *p = find_process(c, tid);
    const struct thread *t = p ? NULL : thread_find(tid);
    return t ? t->process : p;
}

long sys_getpgid(struct call *c)
{
    const struct process *p = find_by_thread(c, call_int(c, 0));
    return p ? p->group->id : -ESRCH;
}

long sys_getsid(struct call *c)
{
    const struct process *p = find_by_thread(c, call_int(c, 0));
    return p ? p->group->session->id : -ESRCH;
}

long sys_setpgid(struct call *c)
{
    struct process *self = c->thread->process;
    pid_t pid = call_int(c, 0), group_id = call_int(c, 1);
    if (pid == 0)
        pid = self->pid;
    if (group_id == 0)
        group_id = pid;
    if (group_id < 0)
        return -EINVAL;
    struct process *p = find_process(c, pid);
    if (!p)
        return thread_find(pid) ? -EINVAL : -ESRCH;
    return process_setpgid(self, p, group_id);
}

long sys_setsid(struct call *c)
{
    struct process *self = c->thread->process;
    int r = process_setsid(self);
    return r < 0 ? r : self->pid;
}

/* ---- reading users and groups ---- */

long sys_getuid(struct call *c)
{
    return c->thread->cred->uid;
}

long sys_geteuid(struct call *c)
{
    return c->thread->cred->euid;
}

long sys_getgid(struct call *c)
{
    return c->thread->cred->gid;
}

long sys_getegid(struct call *c)
{
    return c->thread->cred->egid;
}

static long write_three(struct call *c, const uint32_t ids[3])
{
    for (int i = 0; i < 3; i++) {
        if (call_write(c, call_addr(c, i), &ids[i], sizeof(ids[i])) < 0)
            return -EFAULT;
    }
    return 0;
}

long sys_getresuid(struct call *c)
{
    const struct cred *cred = c->thread->cred;
    return write_three(c, (uint32_t[]){cred->uid, cred->euid, cred->suid});
}

long sys_getresgid(struct call *c)
{
    const struct cred *cred = c->thread->cred;
    return write_three(c, (uint32_t[]){cred->gid, cred->egid, cred->sgid});
}

long sys_getgroups(struct call *c)
{
    const struct cred *cred = c->thread->cred;
    int size = call_int(c, 0);
    long count = (long)cred->group_count;
    if (size < 0)
        return -EINVAL;
    if (size == 0)
        return count;
    if (size < count)
        return -EINVAL;
    if (call_write(c, call_addr(c, 1), cred->groups, cred->group_count * sizeof(gid_t)) < 0)
        return -EFAULT;
    return count;
}

/* ---- changing them ---- */

/*
 * A change in progress: `old` stands, `new` is a copy. Each handler below edits the copy and ends
 * with commit(), or abandons it with an error.
 */
struct change {
    const struct cred *old;
    struct cred *new;
    bool may; /* has CAP_SETUID (CAP_SETGID): any id will do */
};

static int begin(struct call *c, int cap, struct change *ret)
{
    struct cred *old = c->thread->cred;
    *ret = (struct change){.old = old, .new = cred_copy(old), .may = cred_has_cap(old, cap)};
    return ret->new ? 0 : -ENOMEM;
}

static long abandon(struct change *ch, long error)
{
    cred_put(ch->new);
    return error;
}

static long commit(struct call *c, struct change *ch)
{
    thread_set_cred(c->thread, ch->new);
    return 0;
}

static long commit_uids(struct call *c, struct change *ch)
{
    ch->new->fsuid = ch->new->euid;
    cred_follow_uids(ch->new, ch->old);
    return commit(c, ch);
}

static long commit_gids(struct call *c, struct change *ch)
{
    ch->new->fsgid = ch->new->egid;
    return commit(c, ch);
}

#define ID_KEEP ((uint32_t)-1) /* "leave it as it is"; no id by itself */

static bool is_one_of(uint32_t id, uint32_t a, uint32_t b, uint32_t other)
{
    return id == a || id == b || id == other;
}

long sys_setuid(struct call *c)
{
    struct change ch;
    uint32_t id = call_uint(c, 0);
    if (id == ID_KEEP)
        return -EINVAL;
    int r = begin(c, CAP_SETUID, &ch);
    if (r < 0)
        return r;
    if (ch.may)
        ch.new->uid = ch.new->suid = id;
    else if (id != ch.old->uid && id != ch.old->suid)
        return abandon(&ch, -EPERM);
    ch.new->euid = id;
    return commit_uids(c, &ch);
}

long sys_setgid(struct call *c)
{
    struct change ch;
    uint32_t id = call_uint(c, 0);
    if (id == ID_KEEP)
        return -EINVAL;
    int r = begin(c, CAP_SETGID, &ch);
    if (r < 0)
        return r;
    if (ch.may)
        ch.new->gid = ch.new->sgid = id;
    else if (id != ch.old->gid && id != ch.old->sgid)
        return abandon(&ch, -EPERM);
    ch.new->egid = id;
    return commit_gids(c, &ch);
}

long sys_setreuid(struct call *c)
{
    struct change ch;
    uint32_t real = call_uint(c, 0), effective = call_uint(c, 1);
    int r = begin(c, CAP_SETUID, &ch);
    if (r < 0)
        return r;
    const struct cred *old = ch.old;
    if (real != ID_KEEP) {
        if (!ch.may && !is_one_of(real, old->uid, old->euid, old->euid))
            return abandon(&ch, -EPERM);
        ch.new->uid = real;
    }
    if (effective != ID_KEEP) {
        if (!ch.may && !is_one_of(effective, old->uid, old->euid, old->suid))
            return abandon(&ch, -EPERM);
        ch.new->euid = effective;
    }
    if (real != ID_KEEP || (effective != ID_KEEP && effective != old->uid))
        ch.new->suid = ch.new->euid;
    return commit_uids(c, &ch);
}

long sys_setregid(struct call *c)
{
    struct change ch;
    uint32_t real = call_uint(c, 0), effective = call_uint(c, 1);
    int r = begin(c, CAP_SETGID, &ch);
    if (r < 0)
        return r;
    const struct cred *old = ch.old;
    if (real != ID_KEEP) {
        if (!ch.may && !is_one_of(real, old->gid, old->egid, old->egid))
            return abandon(&ch, -EPERM);
        ch.new->gid = real;
    }
    if (effective != ID_KEEP) {
        if (!ch.may && !is_one_of(effective, old->gid, old->egid, old->sgid))
            return abandon(&ch, -EPERM);
        ch.new->egid = effective;
    }
    if (real != ID_KEEP || (effective != ID_KEEP && effective != old->gid))
        ch.new->sgid = ch.new->egid;
    return commit_gids(c, &ch);
}

long sys_setresuid(struct call *c)
{
    struct change ch;
    int r = begin(c, CAP_SETUID, &ch);
    if (r < 0)
        return r;
    const struct cred *old = ch.old;
    uid_t *fields[] = {&ch.new->uid, &ch.new->euid, &ch.new->suid};
    for (int i = 0; i < 3; i++) {
        uint32_t id = call_uint(c, i);
        if (id == ID_KEEP)
            continue;
        if (!ch.may && !is_one_of(id, old->uid, old->euid, old->suid))
            return abandon(&ch, -EPERM);
        *fields[i] = id;
    }
    return commit_uids(c, &ch);
}

long sys_setresgid(struct call *c)
{
    struct change ch;
    int r = begin(c, CAP_SETGID, &ch);
    if (r < 0)
        return r;
    const struct cred *old = ch.old;
    gid_t *fields[] = {&ch.new->gid, &ch.new->egid, &ch.new->sgid};
    for (int i = 0; i < 3; i++) {
        uint32_t id = call_uint(c, i);
        if (id == ID_KEEP)
            continue;
        if (!ch.may && !is_one_of(id, old->gid, old->egid, old->sgid))
            return abandon(&ch, -EPERM);
        *fields[i] = id;
    }
    return commit_gids(c, &ch);
}

/* setfsuid(2) has no errors: it answers the old id, whatever came of it. */
long sys_setfsuid(struct call *c)
{
    struct change ch;
    uint32_t id = call_uint(c, 0), old_id = c->thread->cred->fsuid;
    if (id == ID_KEEP || begin(c, CAP_SETUID, &ch) < 0)
        return old_id;
    if (!ch.may && id != ch.old->fsuid && !is_one_of(id, ch.old->uid, ch.old->euid, ch.old->suid))
        return abandon(&ch, old_id);
    ch.new->fsuid = id;
    cred_follow_fsuid(ch.new, ch.old);
    commit(c, &ch);
    return old_id;
}

long sys_setfsgid(struct call *c)
{
    struct change ch;
    uint32_t id = call_uint(c, 0), old_id = c->thread->cred->fsgid;
    if (id == ID_KEEP || begin(c, CAP_SETGID, &ch) < 0)
        return old_id;
    if (!ch.may && id != ch.old->fsgid && !is_one_of(id, ch.old->gid, ch.old->egid, ch.old->sgid))
        return abandon(&ch, old_id);
    ch.new->fsgid = id;
    commit(c, &ch);
    return old_id;
}

static int compare_gids(const void *a, const void *b)
{
    gid_t x = *(const gid_t *)a, y = *(const gid_t *)b;
    return (x > y) - (x < y);
}

long sys_setgroups(struct call *c)
{
    struct change ch;
    int count = call_int(c, 0);
    if (!cred_has_cap(c->thread->cred, CAP_SETGID))
        return -EPERM;
    if (count < 0 || count > CRED_GROUPS_MAX)
        return -EINVAL;
    int r = begin(c, CAP_SETGID, &ch);
    if (r < 0)
        return r;
    memset(ch.new->groups, 0, sizeof(ch.new->groups));
    if (call_read(c, ch.new->groups, call_addr(c, 1), (size_t)count * sizeof(gid_t)) < 0)
        return abandon(&ch, -EFAULT);
    for (int i = 0; i < count; i++) {
        if (ch.new->groups[i] == ID_KEEP)
            return abandon(&ch, -EINVAL);
    }
    ch.new->group_count = (size_t)count;
    /* Linux keeps them sorted, and getgroups(2) shows it. */
    qsort(ch.new->groups, ch.new->group_count, sizeof(gid_t), compare_gids);
    return commit(c, &ch);
}
