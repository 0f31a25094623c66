// SPDX-License-Identifier: Apache-2.0
#include "sandbox/place.h"

#include "lib/text/shown.h"
#include "sandbox/ended.h"

#include <stdio.h>
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* As much of the command as fits; the words are the caller's, and still any bytes. */
static void note_command(struct record *r, const struct strv *args)
{
    char text[RECORD_COMMAND_MAX_BYTES / 2];
    size_t size = 0;
    for (size_t i = 0; i < args->count && size + 1 < sizeof(text); i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s", i ? " " : "",
                                 args->items[i]);
    text_line(text, MIN(size, sizeof(text) - 1), r->command, sizeof(r->command));
}

static int note(struct place *p, void (*write)(const struct record *, struct buf *),
                struct sandbox_error *e)
{
    struct buf text = BUF_INIT(RECORD_MAX_BYTES);
    write(&p->record, &text);
    int r = registry_note(&p->registry, &text);
    buf_done(&text);
    if (r < 0)
        return sandbox_error_set(e, r, "%s/sandboxes/%s: %s; make room there", p->registry.path,
                                 p->registry.name, strerror(-r));
    return 0;
}

/* A name that no other starter uses, be its registry in another folder. */
static void plan_groups(struct place *p)
{
    char name[REGISTRY_NAME_MAX_BYTES + 32];
    snprintf(name, sizeof(name), "glovebox-%s-%d", p->registry.name, getpid());
    cgroup_plan(&p->record.cgroup, name, &p->record.limits, NULL, NULL);
}

int place_take(struct place *p, const struct sandbox_spec *spec, struct sandbox_error *e)
{
    *p = (struct place){.record = {.limits = spec->limits}};
    int r = registry_open(&p->registry, e);
    if (r == 0)
        r = registry_enter(&p->registry, spec->name, &spec->limits, e);
    if (r < 0) {
        registry_close(&p->registry);
        return r;
    }
    p->record.starter = getpid();
    p->record.created_ns = now_ns();
    p->record.is_forgotten = spec->forget;
    note_command(&p->record, &spec->args);
    labels_write(&spec->labels, p->record.labels);
    plan_groups(p);
    r = note(p, record_write, e);
    if (r < 0) {
        place_leave(p);
        return r;
    }
    cgroup_make(&p->record.cgroup, &spec->limits, &p->record.controls);
    return 0;
}

bool place_forgo_unified(struct place *p)
{
    struct sandbox_controls *c = &p->record.controls;
    enum limited_by *const all[] = {&c->memory, &c->cpus, &c->pids};
    bool had = false;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (*all[i] == LIMITED_BY_CGROUP_V2) {
            *all[i] = LIMITED_BY_KERNEL;
            had = true;
        }
    cgroup_forgo_unified(&p->record.cgroup);
    return had;
}

int place_started(struct place *p, pid_t pid, struct sandbox_error *e)
{
    cgroup_close(&p->record.cgroup);
    p->record.pid = pid;
    return note(p, record_write_started, e);
}

void place_note_seal(struct place *p, const char *text, size_t size)
{
    struct sandbox_error ignored; /* who looks finds the rest */
    if (p->is_seal_noted || seal_report_read(&p->record.seal, text, size) < 0)
        return;
    p->is_seal_noted = true;
    note(p, record_write_seal, &ignored);
}

bool place_ran_out_of_memory(struct place *p, bool *ret_at_limit)
{
    struct cgroup_memory m;
    if (cgroup_read_memory(&p->record.cgroup, &m) < 0 || m.oom_kills <= p->oom_kills_seen)
        return false;
    p->oom_kills_seen++;
    *ret_at_limit = m.limit_hits > 0;
    return true;
}

void place_measure(const struct place *p, uint64_t *ret_peak_bytes, uint64_t *ret_kills)
{
    struct cgroup_memory m;
    if (cgroup_read_memory_peak(&p->record.cgroup, &m) < 0)
        return;
    *ret_peak_bytes = m.peak_bytes;
    *ret_kills = m.oom_kills;
}

void place_expect_end(struct place *p)
{
    if (p->record.is_forgotten || p->has_room)
        return;
    ended_sweep(p->registry.folder);
    p->has_room = true;
}

int place_keep(struct place *p, const struct sandbox_outcome *o, const struct buf *output)
{
    struct record_end *end = &p->record.end;
    if (p->record.is_forgotten)
        return 0;
    place_expect_end(p);
    *end = (struct record_end){
        .ended_ns = now_ns(),
        .exit_status = o->exit_status,
        .exit_code = o->exit_code,
        .signal = o->signal,
        .wall_ns = o->wall_ns,
        .user_ns = o->user_ns,
        .system_ns = o->system_ns,
        .kernel_ns = o->kernel_ns,
        .peak_memory_bytes = o->total_memory_bytes,
        .memory_kills = o->memory_kills,
        .written_bytes = o->written_bytes,
    };
    snprintf(end->cause, sizeof(end->cause), "%s", sandbox_cause_name(o->cause));
    snprintf(end->words, sizeof(end->words), "%s", o->words);
    text_line(o->message.text, strlen(o->message.text), end->message, sizeof(end->message));
    snprintf(end->report, sizeof(end->report), "%s", o->report);
    return ended_keep(p->registry.folder, p->registry.record, p->registry.name, &p->record, output);
}

void place_leave(struct place *p)
{
    /* What could not be removed stays written down for the next one to sweep. */
    if (cgroup_remove(&p->record.cgroup))
        registry_leave(&p->registry);
    registry_close(&p->registry);
}
