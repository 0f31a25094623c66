// SPDX-License-Identifier: Apache-2.0
#include "cli/measure.h"

#include "sandbox/usage_ask.h"

#include <poll.h>
#include <stdio.h>
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

void measures_done(struct measures *m)
{
    for (size_t i = 0; i < m->count; i++)
        base_closep(&m->items[i].socket);
    free(m->items);
    *m = (struct measures){0};
}

static struct measure *add(struct measures *m)
{
    if (m->count == m->capacity) {
        size_t capacity = MAX(2 * m->capacity, (size_t)16);
        struct measure *items = reallocarray(m->items, capacity, sizeof(*items));
        if (!items)
            return NULL;
        m->items = items;
        m->capacity = capacity;
    }
    return &m->items[m->count++];
}

/* ---- who there is ---- */

struct search {
    struct measures *found;
    char *const *names;
    int count;
    bool is_out_of_memory;
};

static bool is_wanted(const struct search *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->names[i], name))
            return true;
    return s->count == 0;
}

/* A registry_see_fn. */
static void see(void *userdata, const char *name, char *text)
{
    struct search *s = userdata;
    struct sandbox_usage usage;
    if (!is_wanted(s, name))
        return;
    _cleanup_free_ struct record *record = malloc(sizeof(*record));
    if (!record) {
        s->is_out_of_memory = true;
        return;
    }
    record_parse(text, record);
    /* It has only begun, or is about to be gone. */
    if (usage_read(record, &usage) < 0)
        return;
    struct measure *m = add(s->found);
    if (!m) {
        s->is_out_of_memory = true;
        return;
    }
    *m = (struct measure){.created_ns = record->created_ns,
                          .limits = record->limits,
                          .usage = usage,
                          .cpu_percent = -1,
                          .socket = -1};
    snprintf(m->name, sizeof(m->name), "%s", name);
}

/* ---- what they say ---- */

static void take_answer(struct measure *m)
{
    int r = usage_ask_take(m->socket, &m->told);
    if (r == -EAGAIN)
        return;
    close(m->socket);
    m->socket = -1;
    m->is_told = r == 0 && m->told.cpu_ns >= 0 &&
                 !__builtin_add_overflow(m->told.cpu_ns, m->usage.kernel_cpu_ns, &m->cpu_ns);
    m->at_ns = now_ns();
}

/* False: nobody is left who could, or the time is up. */
static bool wait_for_answers(struct measures *m, struct pollfd *p, int64_t deadline_ns)
{
    size_t waiting = 0;
    for (size_t i = 0; i < m->count; i++) {
        p[i] = (struct pollfd){.fd = m->items[i].socket, .events = POLLIN};
        waiting += p[i].fd >= 0;
    }
    int64_t left_ms = (deadline_ns - now_ns() + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
    if (waiting == 0 || left_ms <= 0 || poll(p, m->count, (int)left_ms) <= 0)
        return false;
    for (size_t i = 0; i < m->count; i++)
        if (p[i].fd >= 0 && p[i].revents)
            take_answer(&m->items[i]);
    return true;
}

/* Those that there is no descriptor for remain without an answer. */
static void ask_all(const struct registry *r, struct measures *m)
{
    _cleanup_free_ struct pollfd *p = calloc(m->count + 1, sizeof(*p));
    if (!p)
        return;
    for (size_t i = 0; i < m->count; i++) {
        int fd = usage_ask(r, m->items[i].name);
        m->items[i].socket = fd < 0 ? -1 : fd;
    }
    int64_t deadline_ns = now_ns() + MEASURE_WAIT_MS * NSEC_PER_MSEC;
    while (wait_for_answers(m, p, deadline_ns))
        ;
    for (size_t i = 0; i < m->count; i++) {
        base_closep(&m->items[i].socket);
        m->items[i].socket = -1;
    }
}

static const struct measure *find(const struct measures *m, const struct measure *like)
{
    for (size_t i = 0; m && i < m->count; i++)
        if (m->items[i].created_ns == like->created_ns && !strcmp(m->items[i].name, like->name))
            return &m->items[i];
    return NULL;
}

static void compare(struct measure *now, const struct measure *before)
{
    if (!before || !before->is_told || !now->is_told || now->at_ns <= before->at_ns ||
        now->cpu_ns < before->cpu_ns)
        return;
    now->cpu_percent =
        100.0 * (double)(now->cpu_ns - before->cpu_ns) / (double)(now->at_ns - before->at_ns);
}

int measures_take(char *const *names, int count, const struct measures *before,
                  struct measures *ret, struct sandbox_error *e)
{
    struct registry registry;
    struct measures all = {0};
    struct search search = {.found = &all, .names = names, .count = count};
    int r = registry_open(&registry, e);
    if (r < 0)
        return r;
    r = registry_list(&registry, see, &search);
    if (r == 0 && search.is_out_of_memory)
        r = -ENOMEM;
    if (r == 0)
        ask_all(&registry, &all);
    if (r < 0)
        sandbox_error_set(e, r, "%s: %s; make it readable, or free memory", registry.path,
                          strerror(-r));
    registry_close(&registry);
    for (size_t i = 0; i < all.count && r == 0; i++)
        compare(&all.items[i], find(before, &all.items[i]));
    if (r == 0)
        *ret = all;
    else
        measures_done(&all);
    return r;
}
