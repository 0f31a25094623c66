// SPDX-License-Identifier: Apache-2.0
#include "sandbox/record.h"

#include "lib/text/shown.h"

#include <inttypes.h>
#include <stdio.h>

static void write_rlimits(const struct sandbox_limits *l, struct buf *b)
{
    for (size_t i = 0; i < l->rlimit_count; i++)
        buf_printf(b, "rlimit=%d %" PRIu64 " %" PRIu64 "\n", l->rlimits[i].resource,
                   (uint64_t)l->rlimits[i].value.rlim_cur, (uint64_t)l->rlimits[i].value.rlim_max);
}

static void write_labels(const char *labels, struct buf *b)
{
    for (const char *at = labels; *at; at += strcspn(at, "\n") + 1)
        buf_printf(b, "label=%.*s\n", (int)strcspn(at, "\n"), at);
}

void record_write(const struct record *r, struct buf *b)
{
    buf_printf(b, "starter=%d\ncreated_ns=%" PRId64 "\ncommand=%s\n", r->starter, r->created_ns,
               r->command);
    for (int i = 0; i < LIMIT_COUNT; i++)
        if (r->limits.value[i])
            buf_printf(b, "limit.%s=%" PRIu64 "\n", sandbox_limit_rows[i].name, r->limits.value[i]);
    write_rlimits(&r->limits, b);
    write_labels(r->labels, b);
    if (r->is_forgotten)
        buf_printf(b, "forgotten=1\n");
    for (size_t i = 0; i < r->cgroup.count; i++)
        buf_printf(b, "cgroup=%u %u %s\n", r->cgroup.groups[i].version,
                   r->cgroup.groups[i].controllers, r->cgroup.groups[i].path);
}

void record_write_started(const struct record *r, struct buf *b)
{
    buf_printf(b, "controls=%d %d %d\npid=%d\n", r->controls.memory, r->controls.cpus,
               r->controls.pids, r->pid);
    if (r->gateway)
        buf_printf(b, "gateway=%d\negress=%s\n", r->gateway, r->egress);
}

void record_write_seal(const struct record *r, struct buf *b)
{
    char text[SEAL_REPORT_MAX], *rest = text, *line;
    text[seal_report_write(&r->seal, text)] = '\0';
    while ((line = strsep(&rest, "\n")))
        if (*line)
            buf_printf(b, "seal=%s\n", line);
}

/* A text that may have been put together from a stranger's. */
static void write_line(const char *key, const char *value, struct buf *b)
{
    char line[2048];
    text_line(value, strlen(value), line, sizeof(line));
    if (line[0])
        buf_printf(b, "%s=%s\n", key, line);
}

/* Numbers of an end, in the order of their keys. */
static const struct {
    const char *key;
    size_t offset, size;
} end_numbers[] = {
#define NUMBER(member)                                                                         \
    {                                                                                          \
#member, offsetof(struct record_end, member), sizeof(((struct record_end *)0)->member) \
    }
    NUMBER(ended_ns),     NUMBER(exit_status),   NUMBER(exit_code),         NUMBER(signal),
    NUMBER(wall_ns),      NUMBER(user_ns),       NUMBER(system_ns),         NUMBER(kernel_ns),
    NUMBER(memory_kills), NUMBER(written_bytes), NUMBER(peak_memory_bytes), NUMBER(is_found_later),
#undef NUMBER
};

static int64_t get_number(const void *at, size_t size)
{
    return size == sizeof(int64_t) ? *(const int64_t *)at
           : size == sizeof(int)   ? *(const int *)at
                                   : *(const bool *)at;
}

static void set_number(void *at, size_t size, int64_t value)
{
    if (size == sizeof(int64_t))
        *(int64_t *)at = value;
    else if (size == sizeof(int))
        *(int *)at = (int)value;
    else
        *(bool *)at = value != 0;
}

void record_write_end(const struct record *r, struct buf *b)
{
    for (size_t i = 0; i < ARRAY_SIZE(end_numbers); i++) {
        int64_t value =
            get_number((const char *)&r->end + end_numbers[i].offset, end_numbers[i].size);
        buf_printf(b, "end.%s=%" PRId64 "\n", end_numbers[i].key, value);
    }
    write_line("end.cause", r->end.cause, b);
    write_line("end.words", r->end.words, b);
    write_line("end.message", r->end.message, b);
    write_line("end.report", r->end.report, b);
}

static void take_end(struct record_end *e, const char *key, const char *value)
{
    for (size_t i = 0; i < ARRAY_SIZE(end_numbers); i++)
        if (!strcmp(key, end_numbers[i].key))
            set_number((char *)e + end_numbers[i].offset, end_numbers[i].size,
                       strtoll(value, NULL, 10));
    if (!strcmp(key, "cause"))
        snprintf(e->cause, sizeof(e->cause), "%s", value);
    else if (!strcmp(key, "words"))
        snprintf(e->words, sizeof(e->words), "%s", value);
    else if (!strcmp(key, "message"))
        snprintf(e->message, sizeof(e->message), "%s", value);
    else if (!strcmp(key, "report"))
        snprintf(e->report, sizeof(e->report), "%s", value);
}

static void take_limit(struct record *r, const char *name, const char *value)
{
    for (int i = 0; i < LIMIT_COUNT; i++)
        if (!strcmp(sandbox_limit_rows[i].name, name))
            r->limits.value[i] = strtoull(value, NULL, 10);
}

static void take_rlimit(struct record *r, const char *value)
{
    uint64_t soft, hard;
    int resource;
    if (sscanf(value, "%d %" SCNu64 " %" SCNu64, &resource, &soft, &hard) == 3 &&
        sandbox_rlimit_name(resource))
        sandbox_limits_set_rlimit(&r->limits, resource,
                                  (struct rlimit){.rlim_cur = soft, .rlim_max = hard});
}

static void take_cgroup(struct record *r, const char *value)
{
    unsigned version, controllers;
    int path = 0;
    if (r->cgroup.count >= CGROUP_GROUPS_MAX ||
        sscanf(value, "%u %u %n", &version, &controllers, &path) < 2 || path == 0 ||
        strlen(value + path) >= PATH_MAX)
        return;
    struct cgroup_group *g = &r->cgroup.groups[r->cgroup.count++];
    g->version = version;
    g->controllers = controllers;
    g->is_made = true;
    g->join = -1;
    strcpy(g->path, value + path);
}

static enum limited_by check_control(int value)
{
    return value >= 0 && value <= LIMITED_BY_KERNEL ? (enum limited_by)value : LIMITED_BY_NOTHING;
}

static void take_controls(struct record *r, const char *value)
{
    int memory, cpus, pids;
    if (sscanf(value, "%d %d %d", &memory, &cpus, &pids) == 3)
        r->controls = (struct sandbox_controls){.memory = check_control(memory),
                                                .cpus = check_control(cpus),
                                                .pids = check_control(pids)};
}

/* A line of a report, whose end was the record's. */
static void take_seal(struct record *r, const char *value)
{
    char line[SEAL_WHY_MAX + 64];
    size_t size = (size_t)snprintf(line, sizeof(line), "%s\n", value);
    if (size < sizeof(line))
        seal_report_read(&r->seal, line, size);
}

/* No other number is a process, and -1 would be all of them. */
static pid_t read_pid(const char *value)
{
    long pid = strtol(value, NULL, 10);
    return pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

static void take_line(struct record *r, const char *key, const char *value)
{
    if (!strcmp(key, "starter"))
        r->starter = read_pid(value);
    else if (!strcmp(key, "pid"))
        r->pid = read_pid(value);
    else if (!strcmp(key, "gateway"))
        r->gateway = read_pid(value);
    else if (!strcmp(key, "egress"))
        snprintf(r->egress, sizeof(r->egress), "%s", value);
    else if (!strcmp(key, "created_ns"))
        r->created_ns = strtoll(value, NULL, 10);
    else if (!strcmp(key, "command"))
        snprintf(r->command, sizeof(r->command), "%s", value);
    else if (!strcmp(key, "label"))
        labels_append(r->labels, value);
    else if (!strcmp(key, "forgotten"))
        r->is_forgotten = true;
    else if (!strncmp(key, "end.", 4))
        take_end(&r->end, key + 4, value);
    else if (!strncmp(key, "limit.", 6))
        take_limit(r, key + 6, value);
    else if (!strcmp(key, "rlimit"))
        take_rlimit(r, value);
    else if (!strcmp(key, "cgroup"))
        take_cgroup(r, value);
    else if (!strcmp(key, "controls"))
        take_controls(r, value);
    else if (!strcmp(key, "seal"))
        take_seal(r, value);
}

void record_parse(char *text, struct record *ret)
{
    char *line;
    *ret = (struct record){0};
    while ((line = strsep(&text, "\n"))) {
        char *equals = strchr(line, '=');
        if (!equals)
            continue;
        *equals = '\0';
        take_line(ret, line, equals + 1);
    }
}
