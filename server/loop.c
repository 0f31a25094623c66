// SPDX-License-Identifier: Apache-2.0
#include "server/loop.h"

#include "server/server.h"

#define BATCH_MAX  128
#define TIMERS_MAX 65536

static int set = -1;
static struct list released;
static struct timer **heap; /* from 1 on */
static size_t heap_count, heap_capacity;

int loop_start(void)
{
    list_init(&released);
    set = epoll_create1(EPOLL_CLOEXEC);
    return set < 0 ? -errno : 0;
}

int watch_for(struct watch *w, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = w};
    if (w->fd < 0 || w->events == events)
        return 0;
    int call = !w->events ? EPOLL_CTL_ADD : events ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;
    if (epoll_ctl(set, call, w->fd, &e) < 0)
        return -errno;
    w->events = events;
    return 0;
}

void watch_close(struct watch *w, void (*release)(struct watch *w))
{
    watch_for(w, 0);
    base_closep(&w->fd);
    w->fd = -1;
    if (!release)
        return;
    w->release = release;
    list_append(&released, &w->released);
}

static void release_all(void)
{
    struct watch *w;
    while ((w = list_first(&released, struct watch, released))) {
        list_remove(&w->released);
        w->release(w);
    }
}

/* ---- timers: a binary heap, the earliest at 1 ---- */

static void put(struct timer *t, size_t place)
{
    heap[place] = t;
    t->place = place;
}

static void sift_up(struct timer *t, size_t place)
{
    for (; place > 1 && heap[place / 2]->at_ns > t->at_ns; place /= 2)
        put(heap[place / 2], place);
    put(t, place);
}

static void sift_down(struct timer *t, size_t place)
{
    for (;;) {
        size_t child = place * 2;
        if (child > heap_count)
            break;
        if (child < heap_count && heap[child + 1]->at_ns < heap[child]->at_ns)
            child++;
        if (heap[child]->at_ns >= t->at_ns)
            break;
        put(heap[child], place);
        place = child;
    }
    put(t, place);
}

static int make_room(void)
{
    if (heap_count + 1 < heap_capacity)
        return 0;
    size_t capacity = heap_capacity ? heap_capacity * 2 : 64;
    struct timer **more =
        capacity > TIMERS_MAX * 2 ? NULL : realloc(heap, capacity * sizeof(*heap));
    if (!more)
        return -ENOMEM;
    heap = more;
    heap_capacity = capacity;
    return 0;
}

int timer_set(struct timer *t, int64_t at_ns)
{
    timer_clear(t);
    int r = make_room();
    if (r < 0)
        return r;
    t->at_ns = at_ns;
    sift_up(t, ++heap_count);
    return 0;
}

void timer_clear(struct timer *t)
{
    if (!t->place)
        return;
    size_t place = t->place;
    struct timer *last = heap[heap_count--];
    t->place = 0;
    if (last == t)
        return;
    if (place > 1 && heap[place / 2]->at_ns > last->at_ns)
        sift_up(last, place);
    else
        sift_down(last, place);
}

static int wait_ms(void)
{
    if (!heap_count)
        return -1;
    int64_t left = heap[1]->at_ns - server_now_ns();
    return left <= 0 ? 0 : (int)MIN((left + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC, (int64_t)60000);
}

static void fire_all(void)
{
    int64_t now = server_now_ns();
    while (heap_count && heap[1]->at_ns <= now) {
        struct timer *t = heap[1];
        timer_clear(t);
        t->fire(t);
    }
}

void loop_turn(bool (*after)(void))
{
    static bool is_busy;
    struct epoll_event ready[BATCH_MAX];
    int count = epoll_wait(set, ready, BATCH_MAX, is_busy ? 0 : wait_ms());
    for (int i = 0; i < count; i++) {
        struct watch *w = ready[i].data.ptr;
        if (w->events)
            w->ready(w, ready[i].events);
    }
    fire_all();
    is_busy = after();
    release_all();
}
