// SPDX-License-Identifier: Apache-2.0
#include "server/measure.h"

#include "server/server.h"

/* Its creator asks for something first, and the launcher does one thing at a time. */
#define SOON_MS 200

struct measure {
    int64_t at_ms;
    struct launch_usage usage;
    double cpu_used_pct; /* since the one before, of all its processors */
};

struct measures {
    struct measure items[MEASURES_MAX];
    size_t count, next;
};

/* A round: those that were not measured since it began, one at a time. */
static struct {
    struct timer timer, soon;
    struct ask ask;
    char id[64]; /* of the one that is asked for */
    int64_t began_ms;
} round_of;

int measure_cpus(int64_t thousandths)
{
    return (int)MAX((thousandths + 999) / 1000, (int64_t)1);
}

static const struct measure *last_of(const struct box *b)
{
    const struct measures *m = b->measures;
    return m && m->count ? &m->items[(m->next + MEASURES_MAX - 1) % MEASURES_MAX] : NULL;
}

/* Of one processor 100, as programs that show it expect. */
static double used_since(const struct measure *before, const struct measure *now)
{
    int64_t ms = before ? now->at_ms - before->at_ms : 0;
    bool is_known = before && before->usage.cpu_ns >= 0 && now->usage.cpu_ns >= 0;
    int64_t used_ns = is_known ? now->usage.cpu_ns - before->usage.cpu_ns : 0;
    return ms > 0 && used_ns > 0 ? 100.0 * (double)used_ns / (double)(ms * NSEC_PER_MSEC) : 0;
}

static void keep(struct box *b, const struct launch_usage *usage)
{
    struct measure now = {.at_ms = server_wall_ms(), .usage = *usage};
    if (!b->measures)
        b->measures = calloc(1, sizeof(*b->measures));
    struct measures *m = b->measures;
    if (!m)
        return;
    const struct measure *before = last_of(b);
    now.cpu_used_pct = used_since(before, &now);
    /* Nobody says: as far as it was known. */
    if (now.usage.disk_bytes == LAUNCH_NOT_KNOWN)
        now.usage.disk_bytes = before ? before->usage.disk_bytes : 0;
    m->items[m->next] = now;
    m->next = (m->next + 1) % MEASURES_MAX;
    m->count = MIN(m->count + 1, (size_t)MEASURES_MAX);
}

/* ---- rounds ---- */

static bool is_due(const struct box *b)
{
    const struct measure *last = last_of(b);
    return b->state == BOX_RUNNING && b->measured_ms < round_of.began_ms &&
           (!last || last->at_ms < round_of.began_ms);
}

static void go_on(void)
{
    struct box *b = boxes_next(NULL);
    while (b && !is_due(b))
        b = boxes_next(b);
    if (!b)
        return;
    memcpy(round_of.id, b->id, sizeof(round_of.id));
    b->measured_ms = round_of.began_ms; /* also when there is no answer */
    launcher_ask(&round_of.ask, LAUNCH_USAGE, 0, b->id, strlen(b->id));
}

static void on_measured(struct ask *a _unused_, int error, const char *data, size_t size,
                        int fd _unused_)
{
    struct launch_usage usage;
    struct box *b = boxes_find(round_of.id, NULL);
    if (b && !error && size == sizeof(usage)) {
        memcpy(&usage, data, sizeof(usage));
        keep(b, &usage);
    }
    go_on();
}

static void on_timer(struct timer *t)
{
    timer_set(t, server_now_ns() + MEASURE_S * NSEC_PER_SEC);
    round_of.began_ms = server_wall_ms();
    if (!round_of.ask.id)
        go_on();
}

static void on_soon(struct timer *t _unused_)
{
    if (!round_of.ask.id)
        go_on();
}

void measure_soon(void)
{
    if (!round_of.soon.place)
        timer_set(&round_of.soon, server_now_ns() + SOON_MS * NSEC_PER_MSEC);
}

void measure_start(void)
{
    round_of.ask.answered = on_measured;
    round_of.timer.fire = on_timer;
    round_of.soon.fire = on_soon;
    round_of.began_ms = server_wall_ms();
    timer_set(&round_of.timer, server_now_ns() + MEASURE_S * NSEC_PER_SEC);
    measure_soon();
}

/* ---- telling ---- */

static json_t *make_sample(const struct measure *m)
{
    char at[TIME_TEXT_SIZE + 1];
    const struct launch_usage *u = &m->usage;
    text_write_time(m->at_ms, at);
    return json_pack(
        "{ss sI si sf sI sI sI sI sI}", "timestamp", at, "timestampUnix",
        (json_int_t)(m->at_ms / 1000), "cpuCount", measure_cpus((int64_t)u->cpu_thousandths),
        "cpuUsedPct", m->cpu_used_pct, "memUsed", (json_int_t)u->memory_bytes, "memTotal",
        (json_int_t)u->memory_limit_bytes, "memCache", (json_int_t)u->memory_cache_bytes,
        "diskUsed", (json_int_t)u->disk_bytes, "diskTotal", (json_int_t)u->disk_limit_bytes);
}

json_t *measure_last(const struct box *b)
{
    const struct measure *last = last_of(b);
    return last ? make_sample(last) : NULL;
}

json_t *measure_list(const struct box *b, int64_t start_ms, int64_t end_ms)
{
    const struct measures *m = b->measures;
    json_t *samples = json_array();
    for (size_t i = 0; samples && m && i < m->count; i++) {
        size_t at = (m->next + MEASURES_MAX - m->count + i) % MEASURES_MAX;
        const struct measure *one = &m->items[at];
        if (one->at_ms < start_ms || one->at_ms > end_ms)
            continue;
        if (json_array_append_new(samples, make_sample(one)) < 0) {
            json_decref(samples);
            samples = NULL;
        }
    }
    return samples;
}
