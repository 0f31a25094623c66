// SPDX-License-Identifier: Apache-2.0
#include "cli/sandboxes.h"

#include "cli/ended.h"
#include "cli/report_limits.h"
#include "lib/text/shown.h"
#include "sandbox/ended.h"
#include "sandbox/registry.h"
#include "sandbox/usage.h"
#include "sandbox/usage_ask.h"

#include <inttypes.h>
#include <signal.h>

/* How long a sandbox's kernel has to say what it counts. */
#define TOLD_WAIT_MS 1000

struct told {
    bool is_known;
    struct exec_usage usage;
};

#define JSON_FLAGS (JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12))

static int64_t age_ns(const struct record *r)
{
    return MAX(ended_now_ns() - r->created_ns, (int64_t)0);
}

static void format_memory(const struct sandbox_usage *u, char *ret, size_t size)
{
    snprintf(ret, size, "%s%.1f MiB", u->is_memory_estimated ? "about " : "",
             (double)u->memory_bytes / (1 << 20));
}

static json_t *make_usage(const struct sandbox_usage *u)
{
    return json_pack(
        "{s:I, s:b, s:o, s:i, s:i, s:f, s:I}", "memory_bytes", (json_int_t)u->memory_bytes,
        "memory_is_estimated", u->is_memory_estimated, "peak_memory_bytes",
        u->peak_memory_bytes ? json_integer((json_int_t)u->peak_memory_bytes) : json_null(),
        "processes", (int)u->processes, "threads", (int)u->threads, "cpu_ms",
        (double)(u->cpu_ns / NSEC_PER_USEC) / 1000.0, "memory_kills", (json_int_t)u->oom_kills);
}

/* What its kernel says; null where it does not. */
static void add_told(json_t *usage, const struct told *t)
{
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {{"disk_bytes", t->usage.disk_bytes},
               {"inodes", t->usage.inodes},
               {"received_bytes", t->usage.received_bytes},
               {"sent_bytes", t->usage.sent_bytes},
               {"written_bytes", t->usage.written_bytes}};
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        json_object_set_new(usage, all[i].name,
                            t->is_known && all[i].value <= INT64_MAX
                                ? json_integer((json_int_t)all[i].value)
                                : json_null());
}

/* {"landlock": {"state": "in-force", "why": ""}, ...}: what is known of each. */
static json_t *make_seal(const struct seal_report *seal)
{
    json_t *object = json_object();
    for (int i = 0; i < SEAL_CONTROL_COUNT; i++)
        if (seal->facts[i].state != SEAL_UNKNOWN)
            json_object_set_new(object, seal_control_name((enum seal_control)i),
                                json_pack("{s:s, s:s}", "state",
                                          seal_state_name(seal->facts[i].state), "why",
                                          seal->facts[i].why));
    return object;
}

/* Its starter reaps it. */
static bool gateway_is_there(const struct record *r)
{
    return kill(r->gateway, 0) == 0 || errno != ESRCH;
}

/* {"policy": "deny by default, 1 rule", "gateway_pid": 7}, or null. */
static json_t *make_egress(const struct record *r)
{
    if (!r->gateway)
        return json_null();
    json_t *pid = gateway_is_there(r) ? json_integer(r->gateway) : json_null();
    return json_pack("{s:s, s:o}", "policy", r->egress, "gateway_pid", pid);
}

/* NULL when memory runs out. */
static json_t *make_object(const char *name, const struct record *r, const struct sandbox_usage *u)
{
    json_t *groups = json_array();
    for (size_t i = 0; i < r->cgroup.count; i++)
        json_array_append_new(groups, json_string(r->cgroup.groups[i].path));
    return json_pack("{s:s, s:s, s:i, s:i, s:f, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                     name, "state", "running", "pid", r->pid, "starter_pid", r->starter, "age_ms",
                     (double)(age_ns(r) / NSEC_PER_USEC) / 1000.0, "command", r->command, "labels",
                     ended_make_labels(r->labels), "limits", report_make_limits(&r->limits),
                     "limited_by", report_make_controls(&r->controls), "usage", make_usage(u),
                     "cgroups", groups, "seal", make_seal(&r->seal), "egress", make_egress(r));
}

static int print_json(json_t *j, FILE *out, struct sandbox_error *e)
{
    errno = 0;
    int r = j ? json_dumpf(j, out, JSON_FLAGS) : -1;
    json_decref(j);
    if (r < 0 || fputc('\n', out) == EOF || fflush(out) == EOF)
        return sandbox_error_set(e, -EIO, "the result can't be written: %s; free memory or room",
                                 strerror(errno ? errno : ENOMEM));
    return 0;
}

struct listing {
    const struct sandboxes_view *view;
    FILE *out;
    json_t *array; /* instead */
};

static void print_running(const struct listing *l, const char *name, const struct record *r,
                          const struct sandbox_usage *u)
{
    char age[32], memory[64], shown_name[128], command[64];
    ended_format_age(age_ns(r), age, sizeof(age));
    if (l->view->all) {
        const struct ps_row row = {.name = name,
                                   .state = "running",
                                   .status = "",
                                   .ended = "",
                                   .ran = age,
                                   .why = "",
                                   .command = r->command};
        ended_print_row(&row, l->out);
        return;
    }
    format_memory(u, memory, sizeof(memory));
    text_line(name, strlen(name), shown_name, sizeof(shown_name));
    text_line(r->command, strlen(r->command), command, sizeof(command));
    fprintf(l->out, "%-20s %8d %8s %16s %10u  %s\n", shown_name, r->pid, age, memory, u->processes,
            command);
}

static bool is_wanted(const struct listing *l, const struct record *r)
{
    for (size_t i = 0; i < l->view->label_count; i++)
        if (!labels_match(r->labels, l->view->labels[i]))
            return false;
    return true;
}

/* A registry_see_fn. */
static void see(void *userdata, const char *name, char *text)
{
    struct listing *l = userdata;
    struct sandbox_usage u;
    _cleanup_free_ struct record *r = malloc(sizeof(*r));
    if (!r)
        return;
    record_parse(text, r);
    if (!is_wanted(l, r))
        return;
    /* Between its entry and its start, or its end and its leaving, there is nothing to see. */
    if (usage_read(r, &u) < 0)
        return;
    if (l->array)
        json_array_append_new(l->array, make_object(name, r, &u));
    else
        print_running(l, name, r, &u);
}

/* An ended_see_fn. */
static bool see_ended(void *userdata, const char *name, const struct record *r,
                      const char *output _unused_, size_t output_size _unused_)
{
    struct listing *l = userdata;
    if (!is_wanted(l, r))
        return true;
    if (l->array)
        json_array_append_new(l->array, ended_make_object(name, r));
    else
        ended_print(name, r, l->out);
    return true;
}

static int list_all(struct listing *l, struct sandbox_error *e)
{
    struct registry registry;
    int r = registry_open(&registry, e);
    if (r < 0)
        return r;
    /* Those that are found dead come after it. */
    r = registry_list(&registry, see, l);
    if (r == 0 && l->view->all)
        r = ended_list(registry.folder, NULL, see_ended, l);
    if (r < 0)
        sandbox_error_set(e, r, "%s: %s; make it readable", registry.path, strerror(-r));
    registry_close(&registry);
    return r;
}

int sandboxes_list(const struct sandboxes_view *v, FILE *out, struct sandbox_error *e)
{
    struct listing l = {.view = v, .out = out, .array = v->json ? json_array() : NULL};
    if (!v->json && v->all)
        ended_print_head(out);
    else if (!v->json)
        fprintf(out, "%-20s %8s %8s %16s %10s  %s\n", "NAME", "PID", "AGE", "MEMORY", "PROCESSES",
                "COMMAND");
    int r = list_all(&l, e);
    if (r == 0 && v->json)
        return print_json(l.array, out, e);
    json_decref(l.array);
    return r;
}

/* What of the limit is used at this moment, where anybody knows. */
static void format_use(enum sandbox_limit which, const struct record *r,
                       const struct sandbox_usage *u, const struct told *t, char *ret, size_t size)
{
    ret[0] = '\0';
    char memory[64];
    switch (which) {
    case LIMIT_MEMORY:
        format_memory(u, memory, sizeof(memory));
        snprintf(ret, size, "%s now", memory);
        break;
    case LIMIT_PIDS:
        snprintf(ret, size, "%u now", u->threads);
        break;
    case LIMIT_LIFETIME:
        snprintf(ret, size, "%.1f s old", (double)age_ns(r) / NSEC_PER_SEC);
        break;
    case LIMIT_DISK:
        if (t->is_known)
            snprintf(ret, size, "%.1f MiB now", (double)t->usage.disk_bytes / (1 << 20));
        break;
    case LIMIT_INODES:
        if (t->is_known)
            snprintf(ret, size, "%" PRIu64 " now", t->usage.inodes);
        break;
    default:
        break;
    }
}

static const char *find_control(enum sandbox_limit which, const struct sandbox_controls *c)
{
    return which == LIMIT_MEMORY ? limited_by_name(c->memory)
           : which == LIMIT_CPUS ? limited_by_name(c->cpus)
           : which == LIMIT_PIDS ? limited_by_name(c->pids)
                                 : "";
}

static void print_limits(const struct record *r, const struct sandbox_usage *u,
                         const struct told *t, FILE *out)
{
    char value[64], use[96];
    fputs("limits\n", out);
    for (int i = 0; i < LIMIT_COUNT; i++) {
        enum sandbox_limit which = (enum sandbox_limit)i;
        sandbox_limit_format(which, r->limits.value[i], value, sizeof(value));
        format_use(which, r, u, t, use, sizeof(use));
        fprintf(out, "  %-22s %-16s %-12s %s\n", sandbox_limit_rows[i].name, value,
                find_control(which, &r->controls), use);
    }
    for (size_t i = 0; i < r->limits.rlimit_count; i++) {
        const struct sandbox_rlimit *l = &r->limits.rlimits[i];
        fprintf(out, "  ulimit %-15s %" PRId64 ":%" PRId64 "\n", sandbox_rlimit_name(l->resource),
                (int64_t)l->value.rlim_cur, (int64_t)l->value.rlim_max);
    }
}

static void print_seal(const struct seal_report *seal, FILE *out)
{
    const char *head = "seal\n";
    for (int i = 0; i < SEAL_CONTROL_COUNT; i++) {
        const struct seal_fact *f = &seal->facts[i];
        if (f->state == SEAL_UNKNOWN)
            continue;
        fprintf(out, "%s  %-22s %-16s %s\n", head, seal_control_name((enum seal_control)i),
                seal_state_name(f->state), f->why);
        head = "";
    }
}

static void print_text(const char *name, const struct record *r, const struct sandbox_usage *u,
                       const struct told *t, FILE *out)
{
    char age[32], command[RECORD_COMMAND_MAX_BYTES];
    ended_format_age(age_ns(r), age, sizeof(age));
    text_line(r->command, strlen(r->command), command, sizeof(command));
    fprintf(out,
            "name       %s\nstate      running\npid        %d\nstarter    %d\nage        "
            "%s\ncommand    %s\n",
            name, r->pid, r->starter, age, command);
    fprintf(out, "processes  %u\nthreads    %u\ncpu        %.2f s\n", u->processes, u->threads,
            (double)u->cpu_ns / NSEC_PER_SEC);
    if (t->is_known)
        fprintf(out, "network    %" PRIu64 " bytes received, %" PRIu64 " sent\n",
                t->usage.received_bytes, t->usage.sent_bytes);
    print_limits(r, u, t, out);
    print_seal(&r->seal, out);
    ended_print_labels(r->labels, out);
    for (size_t i = 0; i < r->cgroup.count; i++)
        fprintf(out, "cgroup     %s\n", r->cgroup.groups[i].path);
    if (r->gateway && gateway_is_there(r))
        fprintf(out, "egress     %s; gateway %d\n", r->egress, r->gateway);
    else if (r->gateway)
        fprintf(out, "egress     nothing: its gateway has ended; start the sandbox again\n");
    else
        fprintf(out, "egress     none\n");
}

/* 0: it runs; 1: it has ended; or negative errno and the sentence. */
static int find(const char *name, struct record *record, struct sandbox_usage *usage,
                struct told *told, struct sandbox_error *e)
{
    struct registry registry;
    int r = registry_open(&registry, e);
    if (r < 0)
        return r;
    r = ended_look(&registry, name, record, usage);
    told->is_known = r == 0 && usage_ask_wait(&registry, name, TOLD_WAIT_MS, &told->usage) == 0;
    registry_close(&registry);
    if (r == -EAGAIN)
        return sandbox_error_set(e, r,
                                 "%.*s: it has ended, and how is not written down yet; try again",
                                 REGISTRY_NAME_MAX_BYTES, name);
    if (r < 0 && r != -ENOENT)
        return sandbox_error_set(e, r, "%.*s: its record can't be read: %s; try again",
                                 REGISTRY_NAME_MAX_BYTES, name, strerror(-r));
    return r >= 0 ? r
                  : sandbox_error_set(e, r,
                                      "%.*s: nothing is known of a sandbox of this name; glovebox "
                                      "ps -a lists those that are known",
                                      REGISTRY_NAME_MAX_BYTES, name);
}

int sandboxes_inspect(const char *name, bool json, FILE *out, struct sandbox_error *e)
{
    struct sandbox_usage u;
    struct told told = {0};
    _cleanup_free_ struct record *record = malloc(sizeof(*record));
    int r = record ? find(name, record, &u, &told, e)
                   : sandbox_error_set(e, -ENOMEM, "%s: out of memory; free some", name);
    if (r < 0)
        return r;
    if (json) {
        json_t *object = r == 0 ? make_object(name, record, &u) : ended_make_object(name, record);
        if (object && r == 0)
            add_told(json_object_get(object, "usage"), &told);
        return print_json(object, out, e);
    }
    if (r == 0)
        print_text(name, record, &u, &told, out);
    else
        ended_print_text(name, record, out);
    return 0;
}
