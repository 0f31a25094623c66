// SPDX-License-Identifier: Apache-2.0
#include "kernel/event/epoll.h"

#include "kernel/core/kernel.h"
#include "kernel/event/anon.h"
#include "kernel/fs/fdtable.h"
#include "lib/base/buf.h"
#include "lib/base/map.h"

#define ITEM_INLINE_WAITS 2
#define DELIVER_BATCH     64

/* Those bits of `events` that say how to watch, not what for. */
#define MODE_BITS (EPOLLWAKEUP | EPOLLONESHOT | EPOLLET | EPOLLEXCLUSIVE)
#define EXCLUSIVE_BITS \
    (EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLWAKEUP | EPOLLET | EPOLLEXCLUSIVE)

struct epoll {
    struct file *file; /* uncounted: the file owns this */
    struct map items;
    struct list all;       /* item.all_link */
    struct list ready;     /* item.ready_link */
    struct list nested;    /* item.nested_link: items whose file is an epoll */
    struct waitq wait;     /* epoll_wait(2) */
    struct waitq watchers; /* poll(2) and items of other instances */
    /*
     * Every watcher was woken and none has looked since: there is no use in waking them again. It
     * keeps a wake-up from running through a wide graph of instances more than once.
     */
    bool watchers_woken;
    uint64_t checked; /* of the last graph walk that came here, and what it found */
    int depth;
};

struct item_wait {
    struct wait_entry entry;
    struct item *item;
    struct item_wait *next; /* of those past the inline ones */
};

struct item {
    struct list file_link; /* file->epoll_items */
    struct list all_link, ready_link, nested_link;
    struct epoll *epoll;
    struct file *file; /* uncounted: the file takes its items along */
    int fd;
    struct epoll_event event;
    struct item_wait inline_wait[ITEM_INLINE_WAITS];
    struct item_wait *more_waits;
    size_t wait_count;
};

static size_t item_total;
static const struct file_ops epoll_ops;

bool epoll_is(const struct file *f)
{
    return f->ops == &epoll_ops;
}

struct waitq *epoll_wait_queue(struct file *f)
{
    struct epoll *ep = f->private;
    return &ep->wait;
}

/* ---- readiness ---- */

static uint32_t item_events(const struct item *item)
{
    /* EPOLLONESHOT has fired: not even EPOLLHUP comes through. */
    if (!(item->event.events & ~MODE_BITS))
        return 0;
    return file_poll(item->file, NULL) & item->event.events;
}

static void wake_all(struct epoll *ep)
{
    waitq_wake(&ep->wait, EPOLLIN);
    if (ep->watchers_woken || list_is_empty(&ep->watchers.entries))
        return;
    ep->watchers_woken = true;
    waitq_wake(&ep->watchers, EPOLLIN | EPOLLRDNORM);
}

static void mark_ready(struct item *item)
{
    if (!list_is_linked(&item->ready_link))
        list_append(&item->epoll->ready, &item->ready_link);
    wake_all(item->epoll);
}

static void on_wake(struct wait_entry *entry, uint32_t events)
{
    struct item *item = container_of(entry, struct item_wait, entry)->item;
    uint32_t wanted = item->event.events & ~MODE_BITS;
    if (!wanted || (events && !(events & wanted))) {
        entry->declined = true;
        return;
    }
    /* An exclusive wake-up is used up only where somebody waits for it. */
    entry->declined = list_is_empty(&item->epoll->wait.entries);
    mark_ready(item);
}

static uint32_t epoll_file_poll(struct file *f, struct poll_table *table)
{
    struct epoll *ep = f->private;
    struct item *item;
    poll_table_add(table, &ep->watchers);
    ep->watchers_woken = false;
    while ((item = list_first(&ep->ready, struct item, ready_link))) {
        if (item_events(item))
            return EPOLLIN | EPOLLRDNORM;
        list_remove(&item->ready_link);
    }
    return 0;
}

/* ---- items ---- */

static uint64_t item_key(const struct file *f, int fd)
{
    /* Descriptor numbers are below FD_LIMIT, file ids are never used again. */
    return f->id * FD_LIMIT + (uint64_t)fd;
}

struct item_table {
    struct poll_table table;
    struct item *item;
    int error;
};

static void item_wait_add(struct poll_table *table, struct waitq *q)
{
    struct item_table *t = container_of(table, struct item_table, table);
    struct item *item = t->item;
    struct item_wait *w;
    if (item->wait_count < ITEM_INLINE_WAITS) {
        w = &item->inline_wait[item->wait_count];
    } else {
        w = malloc(sizeof(*w));
        if (!w) {
            t->error = -ENOMEM;
            return;
        }
    }
    *w = (struct item_wait){.item = item};
    w->entry.wake = on_wake;
    w->entry.exclusive = item->event.events & EPOLLEXCLUSIVE;
    if (item->wait_count++ >= ITEM_INLINE_WAITS) {
        w->next = item->more_waits;
        item->more_waits = w;
    }
    waitq_add(q, &w->entry);
}

static void item_free(struct item *item)
{
    for (size_t i = 0; i < MIN(item->wait_count, (size_t)ITEM_INLINE_WAITS); i++)
        waitq_remove(&item->inline_wait[i].entry);
    while (item->more_waits) {
        struct item_wait *w = item->more_waits;
        item->more_waits = w->next;
        waitq_remove(&w->entry);
        free(w);
    }
    list_remove(&item->file_link);
    list_remove(&item->all_link);
    list_remove(&item->ready_link);
    list_remove(&item->nested_link);
    map_remove(&item->epoll->items, item_key(item->file, item->fd));
    item_total--;
    free(item);
}

/* A file goes: its items, in whatever instance, go with it. */
static void on_file_release(struct file *f)
{
    struct item *item;
    while ((item = list_first(&f->epoll_items, struct item, file_link)))
        item_free(item);
}

static int item_add(struct epoll *ep, struct file *f, int fd, const struct epoll_event *event)
{
    if (item_total >= LIMIT_EPOLL_ITEMS)
        return -ENOSPC;
    struct item *item = calloc(1, sizeof(*item));
    if (!item)
        return -ENOMEM;
    item->epoll = ep;
    item->file = f;
    item->fd = fd;
    item->event = *event;
    list_init(&item->ready_link);
    list_init(&item->nested_link);
    list_append(&f->epoll_items, &item->file_link);
    list_append(&ep->all, &item->all_link);
    if (epoll_is(f))
        list_append(&ep->nested, &item->nested_link);
    item_total++;
    struct item_table t = {.table = {.add = item_wait_add}, .item = item};
    t.error = map_set(&ep->items, item_key(f, fd), item);
    uint32_t events = t.error < 0 ? 0 : file_poll(f, &t.table);
    if (t.error < 0) {
        item_free(item);
        return t.error;
    }
    if (events & event->events)
        mark_ready(item);
    return 0;
}

static int item_change(struct item *item, const struct epoll_event *event)
{
    if (item->event.events & EPOLLEXCLUSIVE)
        return -EINVAL;
    item->event = *event;
    /* Looking again is how programs re-arm EPOLLET and EPOLLONESHOT. */
    if (item_events(item))
        mark_ready(item);
    return 0;
}

/* ---- nesting ---- */

static uint64_t graph_walk; /* number of the walk that marks instances as checked */

/* Instances on the longest path that begins at ep. -ELOOP: `forbidden` is on one. */
static int depth_below(struct epoll *ep, const struct epoll *forbidden)
{
    const struct item *item;
    int depth = 1;
    if (ep == forbidden)
        return -ELOOP;
    if (ep->checked == graph_walk)
        return ep->depth;
    list_for_each(item, &ep->nested, nested_link)
    {
        int below = depth_below(item->file->private, forbidden);
        if (below < 0)
            return below;
        depth = MAX(depth, below + 1);
    }
    ep->checked = graph_walk;
    ep->depth = depth;
    return depth;
}

/* Instances on the longest path that ends at ep. */
static int depth_above(struct epoll *ep)
{
    const struct item *item;
    int depth = 1;
    if (ep->checked == graph_walk)
        return ep->depth;
    list_for_each(item, &ep->file->epoll_items, file_link) depth =
        MAX(depth, depth_above(item->epoll) + 1);
    ep->checked = graph_walk;
    ep->depth = depth;
    return depth;
}

static int check_nesting(struct epoll *ep, struct epoll *inner)
{
    graph_walk++;
    int below = depth_below(inner, ep);
    if (below < 0)
        return below;
    graph_walk++;
    return below + depth_above(ep) > LIMIT_EPOLL_DEPTH ? -ELOOP : 0;
}

/* ---- operations ---- */

static int check_exclusive(int operation, const struct file *target, uint32_t events)
{
    if (!(events & EPOLLEXCLUSIVE))
        return 0;
    if (operation == EPOLL_CTL_MOD)
        return -EINVAL;
    if (operation == EPOLL_CTL_ADD && (epoll_is(target) || (events & ~EXCLUSIVE_BITS)))
        return -EINVAL;
    return 0;
}

int epoll_control(struct file *f, int operation, struct file *target, int fd,
                  const struct epoll_event *event)
{
    struct epoll_event wanted = {0};
    if (!target->ops->poll)
        return -EPERM;
    if (f == target || !epoll_is(f))
        return -EINVAL;
    struct epoll *ep = f->private;
    if (operation != EPOLL_CTL_DEL) {
        int r = check_exclusive(operation, target, event->events);
        if (r < 0)
            return r;
        wanted = *event;
        wanted.events |= EPOLLERR | EPOLLHUP;
    }
    if (operation == EPOLL_CTL_ADD && epoll_is(target)) {
        int r = check_nesting(ep, target->private);
        if (r < 0)
            return r;
    }
    struct item *item = map_get(&ep->items, item_key(target, fd));
    switch (operation) {
    case EPOLL_CTL_ADD:
        return item ? -EEXIST : item_add(ep, target, fd, &wanted);
    case EPOLL_CTL_MOD:
        return item ? item_change(item, &wanted) : -ENOENT;
    case EPOLL_CTL_DEL:
        if (!item)
            return -ENOENT;
        item_free(item);
        return 0;
    default:
        return -EINVAL;
    }
}

/* What becomes of an item whose event was delivered. */
static void item_delivered(struct item *item)
{
    if (item->event.events & EPOLLONESHOT)
        item->event.events &= MODE_BITS;
    else if (!(item->event.events & EPOLLET))
        list_append(&item->epoll->ready, &item->ready_link);
}

/* Takes items with events off the list. How many. */
static size_t collect(struct list *from, struct item **items, struct epoll_event *events,
                      size_t max)
{
    size_t count = 0;
    while (count < max && !list_is_empty(from)) {
        struct item *item = list_first(from, struct item, ready_link);
        list_remove(&item->ready_link);
        uint32_t now = item_events(item);
        if (!now)
            continue;
        items[count] = item;
        events[count++] = (struct epoll_event){.events = now, .data = item->event.data};
    }
    return count;
}

/*
 * Level-triggered items go to the end of the list again, behind those that did not fit: so that
 * with a small max all get their turn.
 */
long epoll_deliver(struct file *f, struct guest_memory memory, struct gaddr to, size_t max)
{
    struct epoll *ep = f->private;
    struct item *items[DELIVER_BATCH];
    struct epoll_event events[DELIVER_BATCH];
    struct list looking;
    size_t done = 0;
    bool faulted = false;
    list_init(&looking);
    list_splice(&looking, &ep->ready);
    while (!faulted && done < max) {
        size_t count = collect(&looking, items, events, MIN(max - done, (size_t)DELIVER_BATCH));
        if (count == 0)
            break;
        struct gaddr at = gaddr_plus(to, done * sizeof(*events));
        ssize_t n = guest_write_some(memory, at, events, count * sizeof(*events));
        size_t written = n < 0 ? 0 : (size_t)n / sizeof(*events);
        for (size_t i = 0; i < written; i++)
            item_delivered(items[i]);
        for (size_t i = count; i > written; i--)
            list_prepend(&looking, &items[i - 1]->ready_link);
        done += written;
        faulted = written < count;
    }
    list_splice(&looking, &ep->ready);
    list_splice(&ep->ready, &looking);
    return done == 0 && faulted ? -EFAULT : (long)done;
}

static void epoll_file_release(struct file *f)
{
    struct epoll *ep = f->private;
    struct item *item;
    while ((item = list_first(&ep->all, struct item, all_link)))
        item_free(item);
    map_done(&ep->items);
    free(ep);
}

static void epoll_file_describe(struct file *f, struct buf *b)
{
    const struct epoll *ep = f->private;
    const struct item *item;
    list_for_each(item, &ep->all, all_link) buf_printf(
        b, "tfd: %8d events: %8x data: %16llx  pos:%lld ino:%lx sdev:%x\n", item->fd,
        item->event.events, (unsigned long long)item->event.data.u64, (long long)item->file->pos,
        item->file->inode->ino, (unsigned)item->file->inode->super->dev);
}

static const struct file_ops epoll_ops = {
    .release = epoll_file_release,
    .lseek = anon_lseek,
    .stream = true,
    .poll = epoll_file_poll,
    .describe = epoll_file_describe,
};

int epoll_create_file(struct file **ret)
{
    struct epoll *ep = calloc(1, sizeof(*ep));
    if (!ep)
        return -ENOMEM;
    file_epoll_release = on_file_release;
    list_init(&ep->all);
    list_init(&ep->ready);
    list_init(&ep->nested);
    waitq_init(&ep->wait);
    waitq_init(&ep->watchers);
    int r = file_new_anonymous("anon_inode:[eventpoll]", ANON_MODE, O_RDWR, &epoll_ops, ep, ret);
    if (r < 0) {
        free(ep);
        return r;
    }
    ep->file = *ret;
    return 0;
}
