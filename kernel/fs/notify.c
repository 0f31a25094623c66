// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/notify.h"

#include "kernel/core/kernel.h"
#include "lib/base/buf.h"
#include "lib/base/map.h"

/* What the program chooses; the rest of a watch's mask says how the watch itself works. */
#define WATCH_OPTIONS (IN_ONESHOT | IN_EXCL_UNLINK)

struct notify_watch {
    struct list inode_link; /* inode->watches */
    struct list group_link;
    struct notify_group *group;
    struct inode *inode; /* uncounted */
    int wd;
    uint32_t mask;
};

/* What all groups of one side have together. */
struct totals {
    size_t groups, watches, queued;
};

struct notify_group {
    struct totals *totals;
    struct list watches;
    struct map by_wd;
    int last_wd; /* numbers are not used again, so that late events can't be mistaken */
    struct list events;
    size_t event_count, event_bytes;
    struct notify_event *overflow; /* queued last, while it is the last */
    struct waitq wait;
};

void notify_group_describe(const struct notify_group *g, struct buf *b)
{
    const struct notify_watch *w;
    list_for_each(w, &g->watches, group_link)
        buf_printf(b, "inotify wd:%x ino:%lx sdev:%x mask:%x ignored_mask:0\n", (unsigned)w->wd,
                   w->inode->ino, (unsigned)w->inode->super->dev, w->mask);
}

/* One thing that has happened, before it is known who wants to hear of it. */
struct happening {
    uint32_t mask;
    uint32_t cookie;
    const char *name; /* NULL: it is told of the inode itself */
    bool unlinked;    /* through an open file whose name is gone */
};

static struct totals totals[2]; /* of each enum notify_side */

static bool is_anybody_watching(void)
{
    return totals[NOTIFY_INSIDE].watches + totals[NOTIFY_OUTSIDE].watches > 0;
}

/* ---- queue ---- */

size_t notify_event_size(const struct notify_event *e)
{
    const size_t unit = sizeof(struct inotify_event);
    size_t name_size = e->name_length ? e->name_length + 1 : 0;
    return unit + (name_size + unit - 1) / unit * unit;
}

static void queue_append(struct notify_group *g, struct notify_event *e)
{
    list_append(&g->events, &e->link);
    g->event_count++;
    g->event_bytes += notify_event_size(e);
    g->totals->queued++;
    waitq_wake(&g->wait, EPOLLIN | EPOLLRDNORM);
}

static struct notify_event *event_new(int wd, const struct happening *h)
{
    size_t length = h->name ? strlen(h->name) : 0;
    struct notify_event *e = malloc(sizeof(*e) + length + 1);
    if (!e)
        return NULL;
    *e = (struct notify_event){
        .wd = wd, .mask = h->mask, .cookie = h->cookie, .name_length = length};
    if (length > 0)
        memcpy(e->name, h->name, length);
    e->name[length] = '\0';
    return e;
}

static void queue_overflow(struct notify_group *g)
{
    const struct happening overflow = {.mask = IN_Q_OVERFLOW};
    if (g->overflow)
        return;
    g->overflow = event_new(-1, &overflow);
    if (g->overflow)
        queue_append(g, g->overflow);
}

/* Equal to the youngest event that waits: one of them is enough (inotify(7)). */
static bool repeats_last(const struct notify_group *g, int wd, const struct happening *h)
{
    size_t length = h->name ? strlen(h->name) : 0;
    if (list_is_empty(&g->events) || (h->mask & IN_IGNORED))
        return false;
    const struct notify_event *last = list_entry(g->events.prev, struct notify_event, link);
    return last->wd == wd && last->mask == h->mask && last->name_length == length &&
           (length == 0 || memcmp(last->name, h->name, length) == 0);
}

static void queue_event(struct notify_group *g, int wd, const struct happening *h)
{
    if (repeats_last(g, wd, h))
        return;
    if (g->event_count >= LIMIT_INOTIFY_QUEUE || g->totals->queued >= LIMIT_INOTIFY_QUEUED) {
        queue_overflow(g);
        return;
    }
    struct notify_event *e = event_new(wd, h);
    if (!e) {
        queue_overflow(g);
        return;
    }
    g->overflow = NULL;
    queue_append(g, e);
}

struct notify_event *notify_group_first(const struct notify_group *g)
{
    return list_first(&g->events, struct notify_event, link);
}

void notify_group_drop_first(struct notify_group *g)
{
    struct notify_event *e = notify_group_first(g);
    list_remove(&e->link);
    g->event_count--;
    g->event_bytes -= notify_event_size(e);
    g->totals->queued--;
    if (g->overflow == e)
        g->overflow = NULL;
    free(e);
}

size_t notify_group_bytes(const struct notify_group *g)
{
    return g->event_bytes;
}

struct waitq *notify_group_wait(struct notify_group *g)
{
    return &g->wait;
}

/* ---- groups and watches ---- */

int notify_group_new(enum notify_side side, struct notify_group **ret)
{
    if (totals[side].groups >= LIMIT_INOTIFY_INSTANCES)
        return -EMFILE;
    struct notify_group *g = calloc(1, sizeof(*g));
    if (!g)
        return -ENOMEM;
    list_init(&g->watches);
    list_init(&g->events);
    waitq_init(&g->wait);
    g->totals = &totals[side];
    g->totals->groups++;
    *ret = g;
    return 0;
}

static void watch_free(struct notify_watch *w)
{
    list_remove(&w->inode_link);
    list_remove(&w->group_link);
    map_remove(&w->group->by_wd, (uint64_t)w->wd);
    w->group->totals->watches--;
    free(w);
}

void notify_group_free(struct notify_group *g)
{
    struct notify_watch *w;
    while ((w = list_first(&g->watches, struct notify_watch, group_link)))
        watch_free(w);
    while (notify_group_first(g))
        notify_group_drop_first(g);
    map_done(&g->by_wd);
    g->totals->groups--;
    free(g);
}

static struct notify_watch *watch_find(const struct notify_group *g, struct inode *i)
{
    struct notify_watch *w;
    list_for_each(w, &i->watches, inode_link) if (w->group == g) return w;
    return NULL;
}

static int watch_new(struct notify_group *g, struct inode *i, uint32_t mask)
{
    if (g->totals->watches >= LIMIT_INOTIFY_WATCHES || g->last_wd == INT32_MAX)
        return -ENOSPC;
    struct notify_watch *w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    *w = (struct notify_watch){.group = g, .inode = i, .wd = g->last_wd + 1, .mask = mask};
    if (map_set(&g->by_wd, (uint64_t)w->wd, w) < 0) {
        free(w);
        return -ENOMEM;
    }
    list_append(&i->watches, &w->inode_link);
    list_append(&g->watches, &w->group_link);
    g->totals->watches++;
    return g->last_wd = w->wd;
}

int notify_watch_add(struct notify_group *g, struct inode *i, uint32_t mask)
{
    uint32_t kept = mask & (IN_ALL_EVENTS | WATCH_OPTIONS);
    struct notify_watch *w = watch_find(g, i);
    if (!w)
        return watch_new(g, i, kept);
    if (mask & IN_MASK_CREATE)
        return -EEXIST;
    w->mask = mask & IN_MASK_ADD ? w->mask | kept : kept;
    return w->wd;
}

static void watch_end(struct notify_watch *w)
{
    const struct happening ignored = {.mask = IN_IGNORED};
    struct notify_group *g = w->group;
    int wd = w->wd;
    watch_free(w);
    queue_event(g, wd, &ignored);
}

int notify_watch_remove(struct notify_group *g, int wd)
{
    struct notify_watch *w = wd < 0 ? NULL : map_get(&g->by_wd, (uint64_t)wd);
    if (!w)
        return -EINVAL;
    watch_end(w);
    return 0;
}

/* ---- hooks ---- */

static void tell(struct inode *i, const struct happening *h)
{
    struct notify_watch *w, *next;
    list_for_each_safe(w, next, &i->watches, inode_link)
    {
        if (!(w->mask & h->mask & IN_ALL_EVENTS))
            continue;
        if (h->unlinked && (w->mask & IN_EXCL_UNLINK))
            continue;
        queue_event(w->group, w->wd, h);
        if (w->mask & IN_ONESHOT)
            watch_end(w);
    }
}

static uint32_t with_type(const struct inode *i, uint32_t mask)
{
    /* Linux has never said IN_ISDIR with these two. */
    if (!S_ISDIR(i->mode) || (mask & (IN_DELETE_SELF | IN_MOVE_SELF)))
        return mask;
    return mask | IN_ISDIR;
}

/* The directory hears of it first, as on Linux. */
static void tell_both(struct dentry *d, uint32_t mask, bool unlinked)
{
    struct happening h = {.mask = with_type(d->inode, mask), .unlinked = unlinked};
    if (d->parent && d->parent->inode) {
        h.name = d->name;
        tell(d->parent->inode, &h);
        h.name = NULL;
    }
    tell(d->inode, &h);
}

void notify_dentry(struct dentry *d, uint32_t mask)
{
    if (is_anybody_watching() && d->inode)
        tell_both(d, mask, false);
}

void notify_inode(struct inode *i, uint32_t mask)
{
    const struct happening h = {.mask = with_type(i, mask)};
    if (is_anybody_watching())
        tell(i, &h);
}

void notify_file(struct file *f, uint32_t mask)
{
    struct dentry *d = f->path.dentry;
    if (is_anybody_watching() && d && d->inode)
        tell_both(d, mask, d->unlinked);
}

void notify_name(struct inode *dir, uint32_t mask, uint32_t cookie, const char *name)
{
    const struct happening h = {.mask = mask, .cookie = cookie, .name = name};
    if (is_anybody_watching())
        tell(dir, &h);
}

uint32_t notify_next_cookie(void)
{
    static uint32_t last;
    return ++last ? last : ++last;
}

void notify_inode_gone(struct inode *i)
{
    struct notify_watch *w;
    notify_inode(i, IN_DELETE_SELF);
    while ((w = list_first(&i->watches, struct notify_watch, inode_link)))
        watch_end(w);
}
