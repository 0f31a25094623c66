// SPDX-License-Identifier: Apache-2.0
#include "sandbox/usage.h"
#include "sandbox/usage_ask.h"
#include "serve/serve_parts.h"

#include <time.h>

/* How long a sandbox's kernel has to say what it counts. */
#define WAIT_NS NSEC_PER_SEC

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* As the machine sees it. */
static int measure(const struct record *record, struct measuring *m)
{
    struct sandbox_usage u;
    int r = usage_read(record, &u);
    if (r < 0)
        return r;
    m->kernel_cpu_ns = u.kernel_cpu_ns;
    m->usage = (struct launch_usage){
        .memory_bytes = u.memory_bytes,
        .memory_cache_bytes = u.cache_bytes,
        .memory_limit_bytes = record->limits.value[LIMIT_MEMORY],
        .disk_bytes = LAUNCH_NOT_KNOWN,
        .disk_limit_bytes = record->limits.value[LIMIT_DISK],
        .cpu_ns = -1,
        .cpu_thousandths = record->limits.value[LIMIT_CPUS],
    };
    return 0;
}

static int begin(struct measuring *m, struct registry *registry, const char *name)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_free_ struct record *record = calloc(1, sizeof(*record));
    int r = record ? registry_read(registry, name, &text) : -ENOMEM;
    if (r < 0)
        return r;
    record_parse(text, record);
    r = measure(record, m);
    if (r < 0)
        return r;
    m->socket = usage_ask(registry, name);
    m->until_ns = now_ns() + WAIT_NS;
    return 0;
}

static void finish(struct measurings *all, size_t i)
{
    struct measuring m = all->items[i];
    base_closep(&m.socket);
    all->items[i] = all->items[--all->count];
    all->done(all->userdata, m.id, 0, &m.usage);
}

static void take_answer(struct measuring *m)
{
    struct exec_usage told;
    int64_t cpu_ns;
    if (usage_ask_take(m->socket, &told) < 0)
        return;
    m->usage.disk_bytes = told.disk_bytes;
    if (told.cpu_ns >= 0 && !__builtin_add_overflow(told.cpu_ns, m->kernel_cpu_ns, &cpu_ns))
        m->usage.cpu_ns = cpu_ns;
}

void measurings_add(struct measurings *all, struct registry *registry, uint64_t id,
                    const char *name)
{
    struct measuring m = {.id = id, .socket = -1};
    int r = all->count < MEASURINGS_MAX ? begin(&m, registry, name) : -EAGAIN;
    if (r < 0) {
        all->done(all->userdata, id, -r, NULL);
        return;
    }
    all->items[all->count++] = m;
    if (m.socket < 0)
        finish(all, all->count - 1);
}

size_t measurings_fill_poll(const struct measurings *all, struct pollfd p[MEASURINGS_MAX])
{
    for (size_t i = 0; i < all->count; i++)
        p[i] = (struct pollfd){.fd = all->items[i].socket, .events = POLLIN};
    return all->count;
}

int measurings_wait_ms(const struct measurings *all)
{
    int64_t left_ns = INT64_MAX;
    for (size_t i = 0; i < all->count; i++)
        left_ns = MIN(left_ns, all->items[i].until_ns - now_ns());
    return all->count == 0 ? -1 : (int)((MAX(left_ns, (int64_t)0) + 999999) / NSEC_PER_MSEC);
}

/* From the last one, which takes the place of one that is done. */
void measurings_step(struct measurings *all, const struct pollfd *p, size_t count)
{
    int64_t now = now_ns();
    for (size_t i = count; i > 0; i--) {
        if (p[i - 1].revents)
            take_answer(&all->items[i - 1]);
        if (p[i - 1].revents || now >= all->items[i - 1].until_ns)
            finish(all, i - 1);
    }
}

void measurings_forget(struct measurings *all)
{
    for (size_t i = 0; i < all->count; i++)
        base_closep(&all->items[i].socket);
    all->count = 0;
}
