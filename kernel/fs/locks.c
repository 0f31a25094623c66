// SPDX-License-Identifier: Apache-2.0
/*
 * Invariants of a set: the ranges of one owner do not overlap, and two that touch differ in type;
 * of ranges of different owners that overlap none is a write lock; the list is in the order of
 * `start`.
 *
 * Whoever waits is woken by every change that gives something back, and looks anew. Deadlocks are
 * found before waiting: the owner that is in the way may itself wait, for a lock whose owner waits,
 * and so on; if that leads back, the call is answered EDEADLK. The chain is worked out from the
 * locks at that moment, never from what a waiter saw when it began to wait.
 */
#include "kernel/fs/locks.h"

#include "kernel/core/kernel.h"
#include "lib/base/buf.h"

#include <sys/file.h>
#include <sys/sysmacros.h>

#define OFFSET_MAX INT64_MAX

/* As deep as Linux follows (MAX_DEADLK_ITERATIONS). */
#define DEADLOCK_STEPS 10

struct range_lock {
    struct list link;
    const void *owner;
    bool is_ofd;
    pid_t pid;
    short type;       /* F_RDLCK, F_WRLCK; in requests F_UNLCK too */
    off_t start, end; /* both included; end OFFSET_MAX: to the end of the file, however it grows */
};

struct whole_lock {
    struct list link;
    const struct file *file;
    pid_t pid;
    int type; /* LOCK_SH, LOCK_EX */
};

struct file_lock_set {
    struct list all_link; /* on `sets` */
    const struct inode *inode;
    struct list ranges, wholes;
    size_t count;
    struct waitq wait;
};

/* c->state of a parked call. */
struct lock_wait {
    struct list link; /* on `waiting`: of F_SETLKW only */
    struct file *file;
    struct range_lock request;
};

static struct list waiting = {&waiting, &waiting};
static struct list sets = {&sets, &sets};
static size_t lock_total;

static struct file_lock_set *set_of(struct inode *i)
{
    if (i->locks)
        return i->locks;
    struct file_lock_set *set = calloc(1, sizeof(*set));
    if (!set)
        return NULL;
    set->inode = i;
    list_append(&sets, &set->all_link);
    list_init(&set->ranges);
    list_init(&set->wholes);
    waitq_init(&set->wait);
    return i->locks = set;
}

static bool set_has_room(const struct file_lock_set *set, size_t more)
{
    return set->count + more <= LIMIT_LOCKS_OF_FILE && lock_total + more <= LIMIT_LOCKS;
}

static void count_lock(struct file_lock_set *set, int change)
{
    set->count += (size_t)change;
    lock_total += (size_t)change;
}

static void range_remove(struct file_lock_set *set, struct range_lock *l)
{
    list_remove(&l->link);
    count_lock(set, -1);
    free(l);
}

static void whole_remove(struct file_lock_set *set, struct whole_lock *l)
{
    list_remove(&l->link);
    count_lock(set, -1);
    free(l);
}

void lock_set_free(struct file_lock_set *set)
{
    struct range_lock *r, *next_range;
    list_for_each_safe(r, next_range, &set->ranges, link) range_remove(set, r);
    struct whole_lock *w, *next_whole;
    list_for_each_safe(w, next_whole, &set->wholes, link) whole_remove(set, w);
    list_remove(&set->all_link);
    free(set);
}

/* ---- waiting ---- */

struct file *lock_waiting_file(const struct call *c)
{
    const struct lock_wait *w = c->state;
    return w ? w->file : NULL;
}

static void release_wait(struct call *c)
{
    struct lock_wait *w = c->state;
    list_remove(&w->link);
    file_put(w->file);
    free(w);
}

/* NULL when out of memory. */
static struct lock_wait *begin_wait(struct call *c, struct file *f)
{
    struct lock_wait *w = c->state;
    if (w)
        return w;
    w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    list_init(&w->link);
    w->file = file_get(f);
    c->state = w;
    c->release = release_wait;
    return w;
}

static long park(struct call *c, struct file_lock_set *set)
{
    int r = call_wait_on(c, &set->wait);
    return r < 0 ? r : call_park(c, RESTART_SYS);
}

/* ---- ranges ---- */

static bool overlaps(const struct range_lock *a, const struct range_lock *b)
{
    return a->start <= b->end && b->start <= a->end;
}

/* b begins right behind the end of a. */
static bool touches(const struct range_lock *a, const struct range_lock *b)
{
    return a->end != OFFSET_MAX && a->end + 1 == b->start;
}

static struct range_lock *find_conflict(const struct file_lock_set *set,
                                        const struct range_lock *request)
{
    struct range_lock *l;
    list_for_each(l, &set->ranges, link)
    {
        if (l->start > request->end)
            break;
        if (l->owner != request->owner && overlaps(l, request) &&
            (l->type == F_WRLCK || request->type == F_WRLCK))
            return l;
    }
    return NULL;
}

/* Of those of its own owner the first that the request touches. */
static struct range_lock *find_own(const struct file_lock_set *set,
                                   const struct range_lock *request)
{
    struct range_lock *l;
    list_for_each(l, &set->ranges,
                  link) if (l->owner == request->owner && overlaps(l, request)) return l;
    return NULL;
}

static void range_insert(struct file_lock_set *set, struct range_lock *l)
{
    struct range_lock *at;
    struct list *before = &set->ranges;
    list_for_each(at, &set->ranges, link)
    {
        if (at->start > l->start) {
            before = &at->link;
            break;
        }
    }
    list_append(before, &l->link);
    count_lock(set, 1);
}

static void range_move_start(struct file_lock_set *set, struct range_lock *l, off_t start)
{
    list_remove(&l->link);
    count_lock(set, -1);
    l->start = start;
    range_insert(set, l);
}

/* One lock of the same owner gives way to the request in the middle of it. */
static bool splits(const struct range_lock *l, const struct range_lock *request)
{
    return l->owner == request->owner && l->type != request->type && l->start < request->start &&
           l->end > request->end;
}

/* Takes the request's range away from l. *spare is used for the second part of a split. */
static void range_carve(struct file_lock_set *set, struct range_lock *l,
                        const struct range_lock *request, struct range_lock **spare)
{
    if (splits(l, request)) {
        struct range_lock *tail = TAKE_PTR(*spare);
        *tail = *l;
        tail->start = request->end + 1;
        l->end = request->start - 1;
        range_insert(set, tail);
    } else if (l->start < request->start) {
        l->end = request->start - 1;
    } else if (l->end > request->end) {
        range_move_start(set, l, request->end + 1);
    } else {
        range_remove(set, l);
    }
}

/* Grows *merged by what the owner holds of the same type over or beside it, and carves the rest. */
static void range_make_way(struct file_lock_set *set, struct range_lock *merged,
                           const struct range_lock *request, struct range_lock **spare)
{
    struct range_lock *l, *next;
    list_for_each_safe(l, next, &set->ranges, link)
    {
        if (l->start > request->end && !touches(request, l))
            break;
        if (l->owner != request->owner)
            continue;
        bool meets = overlaps(l, request);
        if (l->type != request->type) {
            if (meets)
                range_carve(set, l, request, spare);
        } else if (meets || touches(l, request) || touches(request, l)) {
            merged->start = MIN(merged->start, l->start);
            merged->end = MAX(merged->end, l->end);
            range_remove(set, l);
        }
    }
}

static bool needs_split(const struct file_lock_set *set, const struct range_lock *request)
{
    const struct range_lock *l;
    list_for_each(l, &set->ranges, link)
    {
        if (l->start >= request->start)
            return false;
        if (splits(l, request))
            return true;
    }
    return false;
}

/* Sets or removes a lock that conflicts with none. -ENOLCK. */
static int range_apply(struct file_lock_set *set, const struct range_lock *request)
{
    bool split = needs_split(set, request), adds = request->type != F_UNLCK;
    size_t more = (size_t)split + (size_t)adds;
    if (more > 0 && !set_has_room(set, more))
        return -ENOLCK;
    _cleanup_free_ struct range_lock *spare = split ? malloc(sizeof(*spare)) : NULL;
    _cleanup_free_ struct range_lock *added = adds ? malloc(sizeof(*added)) : NULL;
    if ((split && !spare) || (adds && !added))
        return -ENOLCK;
    struct range_lock merged = *request;
    range_make_way(set, &merged, request, &spare);
    if (adds) {
        *added = merged;
        range_insert(set, TAKE_PTR(added));
    }
    waitq_wake(&set->wait, 0);
    return 0;
}

static const struct lock_wait *wait_of_owner(const void *owner)
{
    const struct lock_wait *w;
    list_for_each(w, &waiting, link) if (w->request.owner == owner) return w;
    return NULL;
}

/* The owner of the request would wait for blocker, who waits for ... the owner of the request. */
static bool would_deadlock(const struct range_lock *request, const struct range_lock *blocker)
{
    for (int i = 0; i < DEADLOCK_STEPS && !blocker->is_ofd; i++) {
        if (blocker->owner == request->owner)
            return true;
        const struct lock_wait *w = wait_of_owner(blocker->owner);
        if (!w)
            return false;
        blocker = find_conflict(w->file->inode->locks, &w->request);
        if (!blocker)
            return false;
    }
    return false;
}

/* ---- fcntl ---- */

static bool is_ofd_command(int command)
{
    return command == F_OFD_GETLK || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

/* flock64_to_posix_lock() of Linux: -EINVAL, -EOVERFLOW. */
static int range_parse(struct file *f, const struct flock *in, struct range_lock *ret)
{
    off_t start = 0;
    if (in->l_whence == SEEK_CUR) {
        start = f->pos;
    } else if (in->l_whence == SEEK_END) {
        struct stat st;
        int r = vfs_stat(f->inode, &st);
        if (r < 0)
            return r;
        start = st.st_size;
    } else if (in->l_whence != SEEK_SET) {
        return -EINVAL;
    }
    if (in->l_start > OFFSET_MAX - start)
        return -EOVERFLOW;
    start += in->l_start;
    if (start < 0)
        return -EINVAL;
    off_t end = OFFSET_MAX;
    if (in->l_len > 0) {
        if (in->l_len - 1 > OFFSET_MAX - start)
            return -EOVERFLOW;
        end = start + (in->l_len - 1);
    } else if (in->l_len < 0) {
        if (start + in->l_len < 0)
            return -EINVAL;
        end = start - 1;
        start += in->l_len;
    }
    if (in->l_type != F_RDLCK && in->l_type != F_WRLCK && in->l_type != F_UNLCK)
        return -EINVAL;
    ret->type = in->l_type;
    ret->start = start;
    ret->end = end;
    return 0;
}

static long get_lock(struct file *f, struct call *c, struct gaddr address, struct flock *lock,
                     const struct range_lock *request)
{
    bool asks_for_own = request->type == F_UNLCK; /* Linux 6.6 */
    if (asks_for_own && !request->is_ofd)
        return -EINVAL;
    const struct range_lock *found = NULL;
    if (f->inode->locks)
        found = asks_for_own ? find_own(f->inode->locks, request)
                             : find_conflict(f->inode->locks, request);
    lock->l_type = F_UNLCK;
    if (found) {
        lock->l_type = found->type;
        lock->l_whence = SEEK_SET;
        lock->l_start = found->start;
        lock->l_len = found->end == OFFSET_MAX ? 0 : found->end - found->start + 1;
        lock->l_pid = found->is_ofd ? -1 : found->pid;
    }
    return call_write(c, address, lock, sizeof(*lock));
}

static int check_access(const struct file *f, short type)
{
    if ((type == F_RDLCK && !f->can_read) || (type == F_WRLCK && !f->can_write))
        return -EBADF;
    return 0;
}

static long set_lock(struct file *f, struct call *c, const struct range_lock *request, bool waits)
{
    struct file_lock_set *set = set_of(f->inode);
    if (!set)
        return -ENOLCK;
    const struct range_lock *blocker = NULL;
    if (request->type != F_UNLCK)
        blocker = find_conflict(set, request);
    if (!blocker)
        return range_apply(set, request);
    if (!waits)
        return -EAGAIN;
    if (!request->is_ofd && would_deadlock(request, blocker))
        return -EDEADLK;
    struct lock_wait *w = begin_wait(c, f);
    if (!w)
        return -ENOLCK;
    if (request != &w->request)
        w->request = *request;
    if (!request->is_ofd && !list_is_linked(&w->link))
        list_append(&waiting, &w->link);
    return park(c, set);
}

long lock_fcntl(struct file *f, struct call *c, int command, struct gaddr flock_address,
                const void *owner, pid_t pid)
{
    const struct lock_wait *w = c->state;
    struct flock lock;
    if (w)
        return set_lock(w->file, c, &w->request, true);
    int r = call_read(c, &lock, flock_address, sizeof(lock));
    if (r < 0)
        return r;
    bool ofd = is_ofd_command(command);
    struct range_lock request = {.owner = ofd ? (const void *)f : owner, .is_ofd = ofd, .pid = pid};
    r = range_parse(f, &lock, &request);
    if (r < 0)
        return r;
    if (ofd && lock.l_pid != 0)
        return -EINVAL;
    if (command == F_GETLK || command == F_OFD_GETLK)
        return get_lock(f, c, flock_address, &lock, &request);
    r = check_access(f, request.type);
    if (r < 0)
        return r;
    return set_lock(f, c, &request, command == F_SETLKW || command == F_OFD_SETLKW);
}

static void drop_ranges(struct file *f, const void *owner)
{
    struct file_lock_set *set = f->inode->locks;
    bool any = false;
    struct range_lock *l, *next;
    list_for_each_safe(l, next, &set->ranges, link)
    {
        if (l->owner != owner)
            continue;
        range_remove(set, l);
        any = true;
    }
    if (any)
        waitq_wake(&set->wait, 0);
}

void lock_close(struct file *f, const void *owner)
{
    if (f->inode->locks)
        drop_ranges(f, owner);
}

/* ---- flock ---- */

static struct whole_lock *whole_of(const struct file_lock_set *set, const struct file *f)
{
    struct whole_lock *l;
    list_for_each(l, &set->wholes, link) if (l->file == f) return l;
    return NULL;
}

static bool whole_conflicts(const struct file_lock_set *set, int type)
{
    const struct whole_lock *l;
    list_for_each(l, &set->wholes, link) if (type == LOCK_EX || l->type == LOCK_EX) return true;
    return false;
}

static void drop_whole(struct file_lock_set *set, const struct file *f)
{
    struct whole_lock *held = whole_of(set, f);
    if (!held)
        return;
    whole_remove(set, held);
    waitq_wake(&set->wait, 0);
}

void lock_release(struct file *f)
{
    if (!f->inode->locks)
        return;
    drop_ranges(f, f);
    drop_whole(f->inode->locks, f);
}

static int whole_apply(struct file_lock_set *set, struct file *f, pid_t pid, int type)
{
    if (!set_has_room(set, 1))
        return -ENOLCK;
    struct whole_lock *l = malloc(sizeof(*l));
    if (!l)
        return -ENOLCK;
    *l = (struct whole_lock){.file = f, .pid = pid, .type = type};
    list_append(&set->wholes, &l->link);
    count_lock(set, 1);
    return 0;
}

/* A change of type gives the old lock up first: it is lost when the new one can't be had, flock(2).
 */
long lock_flock(struct file *f, struct call *c, int operation, pid_t pid)
{
    int type = operation & ~LOCK_NB;
    struct file_lock_set *set = set_of(f->inode);
    if (!set)
        return -ENOLCK;
    const struct whole_lock *held = whole_of(set, f);
    if (held && held->type == type)
        return 0;
    drop_whole(set, f);
    if (type == LOCK_UN)
        return 0;
    if (!whole_conflicts(set, type))
        return whole_apply(set, f, pid, type);
    if (operation & LOCK_NB)
        return -EWOULDBLOCK;
    return begin_wait(c, f) ? park(c, set) : -ENOLCK;
}

/* ---- /proc ---- */

static void describe_place(const struct file_lock_set *set, bool is_write, pid_t pid, struct buf *b)
{
    dev_t dev = set->inode->super->dev;
    buf_printf(b, "%s %d %02x:%02x:%lu ", is_write ? "WRITE" : "READ", pid, major(dev), minor(dev),
               set->inode->ino);
}

static void describe_range(const struct file_lock_set *set, const struct range_lock *l,
                           struct buf *b)
{
    buf_append_str(b, l->is_ofd ? "OFDLCK ADVISORY  " : "POSIX  ADVISORY  ");
    describe_place(set, l->type == F_WRLCK, l->is_ofd ? -1 : l->pid, b);
    if (l->end == OFFSET_MAX)
        buf_printf(b, "%lld EOF\n", (long long)l->start);
    else
        buf_printf(b, "%lld %lld\n", (long long)l->start, (long long)l->end);
}

static void describe_whole(const struct file_lock_set *set, const struct whole_lock *l,
                           struct buf *b)
{
    buf_append_str(b, "FLOCK  ADVISORY  ");
    describe_place(set, l->type == LOCK_EX, l->pid, b);
    buf_append_str(b, "0 EOF\n");
}

void lock_describe_all(struct buf *b)
{
    const struct file_lock_set *set;
    size_t number = 0;
    list_for_each(set, &sets, all_link)
    {
        const struct range_lock *r;
        const struct whole_lock *w;
        list_for_each(r, &set->ranges, link)
        {
            buf_printf(b, "%zu: ", ++number);
            describe_range(set, r, b);
        }
        list_for_each(w, &set->wholes, link)
        {
            buf_printf(b, "%zu: ", ++number);
            describe_whole(set, w, b);
        }
    }
}

void lock_describe_file(const struct file *f, const void *owner, struct buf *b)
{
    const struct file_lock_set *set = f->inode->locks;
    const struct range_lock *r;
    size_t number = 0;
    if (!set)
        return;
    list_for_each(r, &set->ranges, link)
    {
        if (r->owner != f && r->owner != owner)
            continue;
        buf_printf(b, "lock:\t%zu: ", ++number);
        describe_range(set, r, b);
    }
    const struct whole_lock *w = whole_of(set, f);
    if (!w)
        return;
    buf_printf(b, "lock:\t%zu: ", ++number);
    describe_whole(set, w, b);
}
