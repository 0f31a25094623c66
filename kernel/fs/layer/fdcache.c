// SPDX-License-Identifier: Apache-2.0
/* host calls: close prlimit64 */
#include "kernel/fs/layer/fdcache.h"

#include <sys/resource.h>

/* A quarter of what the process may open, so that sockets, pidfds and folders have the rest. */
#define LIMIT_SHARE 4
#define LIMIT_MAX   2048
#define LIMIT_MIN   16
#define CLOSE_TRIES 4

static struct list open_fds = {&open_fds, &open_fds}; /* oldest first */
static size_t open_count, pinned_count, open_limit;

static size_t limit_get(void)
{
    if (open_limit)
        return open_limit;
    struct rlimit r;
    size_t limit = LIMIT_MAX;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur / LIMIT_SHARE < limit)
        limit = r.rlim_cur / LIMIT_SHARE;
    return open_limit = MAX(limit, (size_t)LIMIT_MIN);
}

void fdcache_set_limit(size_t limit)
{
    open_limit = limit;
}

size_t fdcache_open_count(void)
{
    return open_count;
}

void fdcache_init(struct cached_fd *c, bool (*prepare_close)(struct cached_fd *c))
{
    *c = (struct cached_fd){.n = -1, .prepare_close = prepare_close};
    list_init(&c->lru);
}

static void close_now(struct cached_fd *c)
{
    list_remove(&c->lru);
    close(c->n);
    c->n = -1;
    open_count--;
}

static bool close_oldest(void)
{
    struct cached_fd *c = list_first(&open_fds, struct cached_fd, lru);
    if (!c)
        return false;
    if (!c->prepare_close || c->prepare_close(c)) {
        close_now(c);
        return true;
    }
    list_remove(&c->lru);
    list_append(&open_fds, &c->lru);
    return false;
}

void fdcache_opened(struct cached_fd *c, int n)
{
    for (int i = 0; open_count >= limit_get() && i < CLOSE_TRIES; i++)
        close_oldest();
    c->n = n;
    open_count++;
    list_append(&open_fds, &c->lru);
}

void fdcache_touch(struct cached_fd *c)
{
    if (c->pins > 0)
        return;
    list_remove(&c->lru);
    list_append(&open_fds, &c->lru);
}

int fdcache_pin(struct cached_fd *c)
{
    if (c->pins == 0) {
        if (pinned_count >= limit_get() * 2)
            return -ENFILE;
        pinned_count++;
        list_remove(&c->lru);
    }
    c->pins++;
    return 0;
}

void fdcache_unpin(struct cached_fd *c)
{
    if (--c->pins > 0)
        return;
    pinned_count--;
    list_append(&open_fds, &c->lru);
}

void fdcache_done(struct cached_fd *c)
{
    if (c->pins > 0) {
        c->pins = 0;
        pinned_count--;
    }
    if (c->n >= 0)
        close_now(c);
}

void fdcache_trim(void)
{
    for (size_t i = open_count; i > 0; i--)
        close_oldest();
}
