// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/jobs.h"

pid_t (*jobs_detach_tty)(struct tty *tty, struct session *session);

static struct map groups_by_id;

static void session_put(struct session *s)
{
    if (--s->refs == 0)
        free(s);
}

/* A group without members in session s; refs 1. NULL when out of memory. */
static struct process_group *group_new(struct session *s, pid_t id)
{
    struct process_group *g = calloc(1, sizeof(*g));
    if (!g)
        return NULL;
    if (map_set(&groups_by_id, (uint64_t)(uint32_t)id, g) < 0) {
        free(g);
        return NULL;
    }
    g->refs = 1;
    g->id = id;
    g->session = s;
    s->refs++;
    list_init(&g->members);
    list_append(&s->groups, &g->session_link);
    return g;
}

struct process_group *process_group_get(struct process_group *g)
{
    g->refs++;
    return g;
}

void process_group_put(struct process_group *g)
{
    if (!g || --g->refs > 0)
        return;
    if (process_group_find(g->id) == g)
        map_remove(&groups_by_id, (uint64_t)(uint32_t)g->id);
    list_remove(&g->session_link);
    session_put(g->session);
    free(g);
}

struct process_group *process_group_find(pid_t id)
{
    return map_get(&groups_by_id, (uint64_t)(uint32_t)id);
}

void process_join_group(struct process *p, struct process_group *g)
{
    p->group = process_group_get(g);
    list_append(&g->members, &p->group_link);
}

void process_leave_group(struct process *p)
{
    struct process_group *g = p->group;
    if (!g)
        return;
    list_remove(&p->group_link);
    p->group = NULL;
    process_group_put(g);
}

static void move_to_group(struct process *p, struct process_group *g)
{
    if (p->group == g)
        return;
    process_leave_group(p);
    process_join_group(p, g);
}

int process_setsid(struct process *p)
{
    if (process_group_find(p->pid))
        return -EPERM;
    struct session *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->refs = 1;
    s->id = p->pid;
    list_init(&s->groups);
    struct process_group *g = group_new(s, p->pid);
    session_put(s); /* the group counts it */
    if (!g)
        return -ENOMEM;
    move_to_group(p, g);
    process_group_put(g);
    return 0;
}

int process_setpgid(struct process *caller, struct process *p, pid_t group_id)
{
    if (p->parent == caller) {
        if (p->group->session != caller->group->session)
            return -EPERM;
        if (p->did_exec)
            return -EACCES;
    } else if (p != caller) {
        return -ESRCH;
    }
    if (p->group->session->id == p->pid)
        return -EPERM;
    struct process_group *g = process_group_find(group_id);
    if (g) {
        if (g->session != caller->group->session)
            return -EPERM;
        move_to_group(p, g);
        return 0;
    }
    if (group_id != p->pid)
        return -EPERM;
    g = group_new(p->group->session, group_id);
    if (!g)
        return -ENOMEM;
    move_to_group(p, g);
    process_group_put(g);
    return 0;
}

/* ---- orphaned groups ---- */

const struct process *jobs_program;

/* parent ties a member of g to the rest of its session: somebody could continue it. */
static bool ties(const struct process_group *g, const struct process *parent)
{
    return parent && parent != process_init && parent->group && parent->group != g &&
           parent->group->session == g->session;
}

/*
 * Is g orphaned once `ending` has ended? It counts neither as member nor as parent: its children
 * are their reaper's.
 */
static bool is_orphaned_without(const struct process_group *g, const struct process *ending)
{
    struct process *p;
    list_for_each(p, &g->members, group_link)
    {
        if (p == ending || p->state == PROCESS_ZOMBIE)
            continue;
        if (p == jobs_program)
            return false;
        if (ties(g, p->parent == ending && ending ? process_reaper(ending) : p->parent))
            return false;
    }
    return true;
}

bool process_group_is_orphaned(const struct process_group *g)
{
    return is_orphaned_without(g, NULL);
}

static bool has_stopped_member(const struct process_group *g)
{
    struct process *p;
    list_for_each(p, &g->members, group_link)
    {
        if (p->state == PROCESS_ALIVE && p->group_stopped)
            return true;
    }
    return false;
}

static void hang_up(struct process_group *g)
{
    siginfo_t hup = signal_info_kernel(SIGHUP), cont = signal_info_kernel(SIGCONT);
    signal_send_group(g, SIGHUP, &hup);
    signal_send_group(g, SIGCONT, &cont);
}

/* g was tied to its session by `ending`, as a parent of a member or as a member with a parent. */
static void check_orphaned(struct process_group *g, const struct process *ending)
{
    if (is_orphaned_without(g, ending) && has_stopped_member(g))
        hang_up(g);
}

static void lose_terminal(struct session *s)
{
    struct tty *tty = s->tty;
    s->tty = NULL;
    if (!tty || !jobs_detach_tty)
        return;
    struct process_group *g = process_group_find(jobs_detach_tty(tty, s));
    if (g)
        hang_up(g);
}

void session_leader_exit(struct process *p)
{
    struct process *child;
    if (!p->group)
        return;
    list_for_each(child, &p->children, sibling)
    {
        if (child->group && child->state == PROCESS_ALIVE && child->group != p->group &&
            child->group->session == p->group->session)
            check_orphaned(child->group, p);
    }
    if (ties(p->group, p->parent))
        check_orphaned(p->group, p);
    if (p->group->session->id == p->pid)
        lose_terminal(p->group->session);
}
