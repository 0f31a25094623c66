// SPDX-License-Identifier: Apache-2.0
#include "kernel/core/call.h"

#include "kernel/host/host.h"

bool (*call_may_run)(struct call *c);
void (*call_on_end)(struct call *c, long result);
void (*call_on_park)(struct call *c);
struct call *call_current;
size_t call_total;

/* No errno (MAX_ERRNO of Linux), none of its restart codes, and distinct. */
_Static_assert(CALL_DROP < CALL_HOST && CALL_HOST < CALL_PARKED && CALL_PARKED < -4095,
               "codes of handlers are no results");

#define POOL_MAX 256

static struct list woken = {&woken, &woken};
static struct list this_turn = {&this_turn, &this_turn}; /* of those, what is to be run next */
static struct call *pool[POOL_MAX];
static size_t pool_count;

struct call *call_new(void)
{
    struct call *c = pool_count ? pool[--pool_count] : malloc(sizeof(*c));
    if (!c)
        return NULL;
    call_total++;
    memset(c, 0, sizeof(*c));
    c->deadline_ns = CALL_NO_DEADLINE;
    list_init(&c->run_link);
    return c;
}

static void call_free(struct call *c)
{
    call_total--;
    free(c->more_waits);
    if (pool_count < POOL_MAX)
        pool[pool_count++] = c;
    else
        free(c);
}

static void on_wake(struct wait_entry *entry, uint32_t events)
{
    call_wake(container_of(entry, struct call_wait, entry)->call);
}

static struct call_wait *wait_at(struct call *c, size_t i)
{
    return i < CALL_INLINE_WAITS ? &c->inline_wait[i] : c->more_waits[i - CALL_INLINE_WAITS];
}

static int reserve_more_waits(struct call *c)
{
    size_t used = c->wait_count - CALL_INLINE_WAITS;
    if (used < c->more_capacity)
        return 0;
    size_t capacity = c->more_capacity ? c->more_capacity * 2 : 8;
    struct call_wait **bigger = realloc(c->more_waits, capacity * sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    c->more_waits = bigger;
    c->more_capacity = capacity;
    return 0;
}

int call_wait_on(struct call *c, struct waitq *q)
{
    struct call_wait *w;
    if (c->wait_count < CALL_INLINE_WAITS) {
        w = &c->inline_wait[c->wait_count];
    } else {
        int r = reserve_more_waits(c);
        if (r < 0)
            return r;
        w = malloc(sizeof(*w));
        if (!w)
            return -ENOMEM;
        c->more_waits[c->wait_count - CALL_INLINE_WAITS] = w;
    }
    *w = (struct call_wait){.entry = {.wake = on_wake}, .call = c};
    waitq_add(q, &w->entry);
    c->wait_count++;
    return 0;
}

static void drop_waits(struct call *c)
{
    for (size_t i = 0; i < c->wait_count; i++) {
        struct call_wait *w = wait_at(c, i);
        waitq_remove(&w->entry);
        if (i >= CALL_INLINE_WAITS)
            free(w);
    }
    c->wait_count = 0;
}

void call_set_deadline(struct call *c, int64_t when_ns)
{
    const struct call_resume *r = c->resume;
    if (c->deadline_ns != CALL_NO_DEADLINE)
        return;
    c->deadline_ns = when_ns;
    if (r && r->valid && r->deadline_ns != CALL_NO_DEADLINE && r->nr == c->nr && r->ip == c->ip &&
        !memcmp(r->arg, c->arg, sizeof(r->arg)))
        c->deadline_ns = r->deadline_ns;
}

void call_set_timeout(struct call *c, int64_t after_ns)
{
    int64_t when;
    if (after_ns < 0 || c->deadline_ns != CALL_NO_DEADLINE)
        return;
    if (!__builtin_add_overflow(clock_monotonic_ns(), after_ns, &when))
        call_set_deadline(c, when);
}

static void on_deadline(struct timer *t)
{
    struct call *c = container_of(t, struct call, timer);
    c->timed_out = true;
    call_wake(c);
}

long call_park(struct call *c, enum call_restart restart)
{
    c->restart = restart;
    c->parked = true;
    if (c->deadline_ns != CALL_NO_DEADLINE && !c->timed_out && !timer_is_armed(&c->timer)) {
        c->timer.expire = on_deadline;
        if (timer_arm(&c->timer, c->deadline_ns) < 0)
            return -ENOMEM;
    }
    return CALL_PARKED;
}

static void on_rest(struct timer *t)
{
    call_wake(container_of(t, struct call, timer));
}

long call_rest(struct call *c, int64_t for_ns)
{
    c->restart = RESTART_NONE;
    c->parked = true;
    c->timer.expire = on_rest;
    return timer_arm(&c->timer, clock_monotonic_ns() + for_ns) < 0 ? -ENOMEM : CALL_PARKED;
}

/* Ends the handler's part: no wake-up can reach the call any more. */
static void settle(struct call *c)
{
    drop_waits(c);
    timer_disarm(&c->timer);
    list_remove(&c->run_link);
    c->parked = false;
}

static void end(struct call *c, long result)
{
    settle(c);
    if (c->release)
        c->release(c);
    if (call_on_end)
        call_on_end(c, result);
    if (result == CALL_HOST)
        host->run(c->id);
    else if (result != CALL_DROP)
        host->answer(c->id, result);
    call_free(c);
}

void call_run(struct call *c)
{
    drop_waits(c);
    c->parked = false;
    if (call_may_run && !call_may_run(c))
        return;
    call_current = c;
    long result = c->handler(c);
    call_current = NULL;
    if (result != CALL_PARKED) {
        if (c->resume)
            c->resume->valid = false;
        end(c, result);
    } else if (c->timed_out && !list_is_linked(&c->run_link)) {
        /* A handler that parks after its deadline would hang: answer as the deadline says. */
        end(c, -ETIMEDOUT);
    } else if (call_on_park) {
        call_on_park(c);
    }
}

void call_wake(struct call *c)
{
    if (!list_is_linked(&c->run_link))
        list_append(&woken, &c->run_link);
}

int64_t call_run_woken(int64_t for_ns)
{
    if (!call_is_any_woken())
        return 0;
    int64_t start_ns = clock_monotonic_ns(), took_ns = 0;
    /* Only those woken by now: what they wake in turn is for the next round. */
    if (list_is_empty(&this_turn))
        list_splice(&this_turn, &woken);
    while (!list_is_empty(&this_turn) && took_ns < for_ns) {
        struct call *c = list_first(&this_turn, struct call, run_link);
        list_remove(&c->run_link);
        /* Long after the notification, its task may be gone and the number be another's. */
        if (host->is_valid(c->id))
            call_run(c);
        else
            call_abandon(c);
        took_ns = clock_monotonic_ns() - start_ns;
    }
    return took_ns;
}

bool call_is_any_woken(void)
{
    return !list_is_empty(&woken) || !list_is_empty(&this_turn);
}

static long interrupted_result(struct call *c, bool handler_runs, bool handler_restarts)
{
    if (c->progress > 0)
        return (long)c->progress;
    if (c->restart == RESTART_NEVER)
        return -EINTR;
    if (!handler_runs || (c->restart == RESTART_SYS && handler_restarts))
        return -ERESTARTSYS;
    return -EINTR;
}

bool call_interrupt(struct call *c, bool handler_runs, bool handler_restarts)
{
    if (!c->parked || c->restart == RESTART_NONE)
        return false;
    long result = interrupted_result(c, handler_runs, handler_restarts);
    if (c->resume) {
        c->resume->valid = result == -ERESTARTSYS;
        c->resume->restart = c->restart;
        c->resume->nr = c->nr;
        c->resume->ip = c->ip;
        memcpy(c->resume->arg, c->arg, sizeof(c->arg));
        c->resume->deadline_ns = c->deadline_ns;
    }
    end(c, result);
    return true;
}

void call_finish(struct call *c, long result)
{
    end(c, result);
}

void call_abandon(struct call *c)
{
    end(c, CALL_DROP);
}
