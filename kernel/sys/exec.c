// SPDX-License-Identifier: Apache-2.0
/*
 * execve(2), execveat(2) and the two calls of the loader stub. See kernel/proc/exec.h.
 */
#include "kernel/proc/exec.h"

#include "kernel/core/kernel.h"
#include "kernel/host/host.h"
#include "kernel/proc/embryo.h"
#include "kernel/proc/shadow.h"
#include "kernel/proc/space.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"

#include <sched.h>
#include <stdio.h>

/* Whether a task of another process has the descriptor table of t. */
static bool shares_with_others(const struct thread *t)
{
    const struct process *p = t->process;
    const struct thread *other;
    size_t own = p->embryo && p->embryo->files == t->files && (p->embryo->flags & CLONE_THREAD);
    list_for_each(other, &p->threads, process_link) own += other->files == t->files;
    return t->files->refs > own;
}

/*
 * Until the host has looked at the number, nothing else may come there: calls of siblings are held
 * while an exec is under way, those of others are not.
 */
static int place_at(struct call *c, int number, struct hostfd fd)
{
    struct fd_entry *e = fdtable_entry(c->thread->files, number);
    if (!e)
        return -EBADF;
    if (shares_with_others(c->thread))
        return -EAGAIN;
    e->host_slot = HOST_SLOT_UNKNOWN;
    return host->place_fd(c->id, fd, number);
}

/*
 * The host must find the stub by what the registers say: by path, or by descriptor. What the call
 * answers.
 */
static long place_stub(struct call *c, int dirfd, const char *name, bool by_descriptor)
{
    struct thread *t = c->thread;
    int r = by_descriptor ? 0 : shadow_link(c, name, &t->exec->shadow);
    if (r == -EAGAIN) {
        exec_cancel(t);
        return shadow_wait(c);
    }
    if (r == 0 && by_descriptor)
        r = place_at(c, dirfd, kernel.stub);
    /* A relative name with a descriptor: the host resolves it from the tasks' root. */
    else if (r == 0 && dirfd != AT_FDCWD && name[0] != '/')
        r = place_at(c, dirfd, kernel.shadow_root);
    if (r < 0)
        exec_cancel(t);
    return r < 0 ? r : CALL_HOST;
}

static long execute(struct call *c, int dirfd, struct gaddr name_address, struct gaddr argv,
                    int flags)
{
    struct thread *t = c->thread;
    char name[GUEST_PATH_MAX], shown[GUEST_PATH_MAX + 32];
    struct path path;
    /* A host signal that is under way would be lost, handlers and all: it goes first. */
    if (t->signals.kicked)
        return -ERESTARTSYS;
    int r = args_path_at(c, name_address, flags, name);
    if (r == 0 && name[0] == '\0' && !(flags & AT_EMPTY_PATH))
        r = -ENOENT;
    if (r == 0 && (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)))
        r = -EINVAL;
    if (r == 0)
        r = args_walk(c, dirfd, name,
                      WALK_EMPTY_OK | (flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW), NULL, &path);
    if (r < 0)
        return r;
    bool by_descriptor = name[0] == '\0';
    if (S_ISLNK(path.dentry->inode->mode))
        r = -ELOOP;
    snprintf(shown, sizeof(shown), "%s", name);
    if (by_descriptor)
        snprintf(shown, sizeof(shown), "/dev/fd/%d", dirfd);
    else if (dirfd != AT_FDCWD && name[0] != '/')
        snprintf(shown, sizeof(shown), "/dev/fd/%d/%s", dirfd, name);
    if (r == 0)
        r = exec_prepare(t, path, shown, argv);
    path_put(&path);
    return r < 0 ? r : place_stub(c, dirfd, name, by_descriptor);
}

static long noted(struct call *c, long result)
{
    struct process *p = c->thread->process;
    if (result < 0 && result > -512 && !p->did_exec)
        p->exec_error = (int)result;
    return result;
}

long sys_execve(struct call *c)
{
    if (c->thread->process == process_init && !c->thread->process->did_exec)
        return shadow_link(NULL, "/init", NULL) < 0 ? -EIO : CALL_HOST;
    return noted(c, execute(c, AT_FDCWD, call_addr(c, 0), call_addr(c, 1), 0));
}

long sys_execveat(struct call *c)
{
    return execute(c, call_int(c, 0), call_addr(c, 1), call_addr(c, 2), call_int(c, 4));
}

/* By now the host has given the leader's number to the thread that executed: c came in under it. */
static void become_leader(struct call *c, struct thread *executed)
{
    struct thread *leader = c->thread;
    if (executed == leader)
        return;
    leader->call = NULL;
    thread_take_over(executed, leader);
    c->thread = executed;
    c->resume = &executed->resume;
    executed->call = c;
}

static int place_file(struct call *c, struct file *f, int number)
{
    struct hostfd content;
    int r = f->ops->map ? f->ops->map(f, false, &content) : -ENODEV;
    if (r == 0)
        r = host->place_fd(c->id, content, number);
    if (r == 0)
        space_note_mapping(c->thread->process->space, f, content);
    return r;
}

/* What the stub will map by itself: descriptors that exist only for that. */
static int place_program(struct call *c, const struct exec_image *image)
{
    int r = place_file(c, image->program, STUB_FD_PROGRAM);
    if (r == 0 && image->interpreter)
        r = place_file(c, image->interpreter, STUB_FD_INTERPRETER);
    return r;
}

static int write_plan(struct call *c, struct gaddr to, const struct stub_plan *plan)
{
    size_t used = offsetof(struct stub_plan, segments) +
                  (size_t)plan->segment_count * sizeof(plan->segments[0]);
    int r = call_write(c, to, plan, used);
    if (r == 0 && plan->argument_bytes > 0)
        r = call_write(c, gaddr_plus(to, offsetof(struct stub_plan, arguments)), plan->arguments,
                       (size_t)plan->argument_bytes);
    return r;
}

long sys_glovebox_exec(struct call *c)
{
    struct process *p = c->thread->process;
    if (p == process_init && !p->did_exec) {
        struct stub_plan plan = {.is_init = 1};
        p->did_exec = true;
        return write_plan(c, call_addr(c, 0), &plan);
    }
    struct thread *t = exec_pending(p);
    bool blocks;
    if (!t || t->exec->loading || !exec_has_happened(c->thread, &blocks))
        return -ENOSYS;
    become_leader(c, t);
    t->exec->plan.blocks_signals = blocks;
    int r = exec_commit(t);
    if (r == 0)
        r = place_program(c, t->exec);
    t->exec->plan.marks = (struct stub_marks){
        .handler = kernel.marks.handler,
        .map = (uint64_t)kernel.marks.map << 32,
    };
    if (r == 0)
        r = write_plan(c, call_addr(c, 0), &t->exec->plan);
    return r;
}

long sys_glovebox_start(struct call *c)
{
    struct thread *t = c->thread;
    struct address_space *space = t->process->space;
    if (!t->exec || !t->exec->loading)
        return -ENOSYS;
    space->handler = c->arg[0];
    space->restorer = c->arg[1];
    space->stub_start = c->arg[2];
    space->stub_end = c->arg[3];
    /* Also sees to signals that came while the handlers were not there. */
    exec_cancel(t);
    return 0;
}
