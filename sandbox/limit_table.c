// SPDX-License-Identifier: Apache-2.0
#include "sandbox/limit_table.h"

#include <inttypes.h>
#include <stdio.h>

#define KIB       (UINT64_C(1) << 10)
#define MIB       (UINT64_C(1) << 20)
#define GIB       (UINT64_C(1) << 30)
#define TIB       (UINT64_C(1) << 40)
#define DAY_NS    (24 * 3600 * NSEC_PER_SEC)
#define LONGEST   (366 * DAY_NS)
#define MOST_SIZE ((uint64_t)INT64_MAX)

/*
 * The least memory is what the kernel and one small program live on; the least processor share is
 * what the host's scheduler can give out, 1 ms in 100.
 */
const struct limit_row sandbox_limit_rows[LIMIT_COUNT] = {
    [LIMIT_MEMORY] = {"memory", "memory_bytes", "memory limit", LIMIT_BYTES, 2 * GIB, 16 * MIB,
                      MOST_SIZE, false},
    [LIMIT_CPUS] = {"cpus", "cpus", "processor limit", LIMIT_THOUSANDTHS, 2000, 10, 1000000, false},
    [LIMIT_PIDS] = {"pids", "pids", "process limit", LIMIT_NUMBER, 512, 1, 32768, false},
    [LIMIT_DISK] = {"disk", "disk_bytes", "disk limit", LIMIT_BYTES, 10 * GIB, 64 * KIB, MOST_SIZE,
                    false},
    [LIMIT_INODES] = {"inodes", "inodes", "file limit", LIMIT_NUMBER, 1000000, 100, UINT32_MAX,
                      false},
    [LIMIT_TIMEOUT] = {"timeout", "timeout_ms", "time limit", LIMIT_NS, 0, 1, LONGEST, true},
    [LIMIT_LIFETIME] = {"lifetime", "lifetime_ms", "lifetime", LIMIT_NS, 0, 1, LONGEST, true},
    [LIMIT_IDLE] = {"idle-timeout", "idle_timeout_ms", "idle time limit", LIMIT_NS, 0, NSEC_PER_SEC,
                    LONGEST, true},
    [LIMIT_GRACE] = {"grace", "grace_ms", "grace", LIMIT_NS, 2 * NSEC_PER_SEC, 0,
                     600 * NSEC_PER_SEC, false},
    [LIMIT_CPU_BUDGET] = {"cpu-budget", "cpu_budget_ms", "processor time budget", LIMIT_NS, 0,
                          NSEC_PER_MSEC, LONGEST, true},
    [LIMIT_WRITE_BUDGET] = {"write-budget", "write_budget_bytes", "write budget", LIMIT_BYTES, 0, 1,
                            MOST_SIZE, true},
    [LIMIT_SEND_BUDGET] = {"send-budget", "send_budget_bytes", "send budget", LIMIT_BYTES, 0, 1,
                           MOST_SIZE, true},
    [LIMIT_OUTPUT_RATE] = {"output-rate", "output_bytes_per_second", "output rate", LIMIT_BYTES, 0,
                           KIB, TIB, true},
    [LIMIT_OUTPUT] = {"output-limit", "output_limit_bytes", "output limit", LIMIT_BYTES, MIB, 1,
                      256 * MIB, false},
    [LIMIT_SANDBOXES] = {"sandboxes", "sandboxes", "limit of sandboxes at once", LIMIT_NUMBER, 100,
                         1, 100000, true},
    [LIMIT_RATE] = {"sandboxes-per-second", "sandboxes_per_second",
                    "limit of new sandboxes in a second", LIMIT_NUMBER, 0, 1, 1000, true},
};

static const char *const rlimit_names[RLIM_NLIMITS] = {
    [RLIMIT_CPU] = "cpu",           [RLIMIT_FSIZE] = "fsize",
    [RLIMIT_DATA] = "data",         [RLIMIT_STACK] = "stack",
    [RLIMIT_CORE] = "core",         [RLIMIT_RSS] = "rss",
    [RLIMIT_NPROC] = "nproc",       [RLIMIT_NOFILE] = "nofile",
    [RLIMIT_MEMLOCK] = "memlock",   [RLIMIT_AS] = "as",
    [RLIMIT_LOCKS] = "locks",       [RLIMIT_SIGPENDING] = "sigpending",
    [RLIMIT_MSGQUEUE] = "msgqueue", [RLIMIT_NICE] = "nice",
    [RLIMIT_RTPRIO] = "rtprio",     [RLIMIT_RTTIME] = "rttime",
};

const char *limited_by_name(enum limited_by by)
{
    static const char *const names[] = {
        [LIMITED_BY_NOTHING] = "nothing",     [LIMITED_BY_MACHINE] = "machine",
        [LIMITED_BY_CGROUP_V1] = "cgroup v1", [LIMITED_BY_CGROUP_V2] = "cgroup v2",
        [LIMITED_BY_KERNEL] = "watched",
    };
    return names[by];
}

void sandbox_limits_set_standard(struct sandbox_limits *l)
{
    *l = (struct sandbox_limits){0};
    for (int i = 0; i < LIMIT_COUNT; i++)
        l->value[i] = sandbox_limit_rows[i].standard;
}

void sandbox_limits_set_rlimit(struct sandbox_limits *l, int resource, struct rlimit value)
{
    size_t i = 0;
    while (i < l->rlimit_count && l->rlimits[i].resource != resource)
        i++;
    if (i == l->rlimit_count)
        l->rlimit_count++;
    l->rlimits[i] = (struct sandbox_rlimit){resource, value};
}

int sandbox_rlimit_find(const char *name)
{
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (rlimit_names[i] && !strcmp(rlimit_names[i], name))
            return i;
    return -1;
}

const char *sandbox_rlimit_name(int resource)
{
    return resource >= 0 && resource < RLIM_NLIMITS ? rlimit_names[resource] : NULL;
}

/* A number of units with at most three decimals, those that are needed. */
static void format_fraction(uint64_t thousandths, const char *unit, char *ret, size_t size)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%" PRIu64 ".%03" PRIu64, thousandths / 1000,
                          thousandths % 1000);
    while (text[length - 1] == '0')
        text[--length] = '\0';
    if (text[length - 1] == '.')
        text[--length] = '\0';
    snprintf(ret, size, "%s%s", text, unit);
}

/* In the largest unit that leaves no fraction. */
static void format_bytes(uint64_t bytes, char *ret, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (unit + 1 < ARRAY_SIZE(units) && bytes >= KIB && bytes % KIB == 0) {
        bytes /= KIB;
        unit++;
    }
    snprintf(ret, size, "%" PRIu64 " %s", bytes, units[unit]);
}

static void format_time(uint64_t ns, char *ret, size_t size)
{
    if (ns < NSEC_PER_SEC)
        format_fraction(ns / NSEC_PER_USEC, " ms", ret, size);
    else if (ns % (3600 * NSEC_PER_SEC) == 0)
        snprintf(ret, size, "%" PRIu64 " h", ns / (3600 * (uint64_t)NSEC_PER_SEC));
    else
        format_fraction(ns / NSEC_PER_MSEC, " s", ret, size);
}

void sandbox_limit_format(enum sandbox_limit which, uint64_t value, char *ret, size_t size)
{
    if (value == 0 && which != LIMIT_GRACE) {
        snprintf(ret, size, "none");
        return;
    }
    switch (sandbox_limit_rows[which].unit) {
    case LIMIT_BYTES:
        format_bytes(value, ret, size);
        break;
    case LIMIT_NS:
        format_time(value, ret, size);
        break;
    case LIMIT_THOUSANDTHS:
        format_fraction(value, value == 1000 ? " processor" : " processors", ret, size);
        break;
    case LIMIT_NUMBER:
        snprintf(ret, size, "%" PRIu64, value);
        break;
    }
}

static void append_watched(const struct sandbox_controls *c, struct buf *b)
{
    const struct {
        enum limited_by by;
        const char *name;
    } rows[] = {{c->memory, "memory"}, {c->pids, "pids"}, {c->cpus, "cpu"}};
    const char *before = "watch=";
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].by == LIMITED_BY_KERNEL) {
            buf_printf(b, "%s%s", before, rows[i].name);
            before = ",";
        }
    if (*before == ',')
        buf_append(b, "", 1);
}

void sandbox_limits_write(const struct sandbox_limits *l, const struct sandbox_controls *controls,
                          struct buf *b)
{
    static const struct {
        enum sandbox_limit which;
        const char *key;
    } records[] = {
        {LIMIT_MEMORY, "memory_bytes"},
        {LIMIT_CPUS, "cpu_thousandths"},
        {LIMIT_PIDS, "pids"},
        {LIMIT_DISK, "disk_bytes"},
        {LIMIT_INODES, "inodes"},
        {LIMIT_IDLE, "idle_ns"},
        {LIMIT_CPU_BUDGET, "cpu_budget_ns"},
        {LIMIT_WRITE_BUDGET, "write_budget_bytes"},
        {LIMIT_SEND_BUDGET, "send_budget_bytes"},
        {LIMIT_OUTPUT_RATE, "output_rate"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
        buf_printf(b, "%s=%" PRIu64, records[i].key, l->value[records[i].which]);
        buf_append(b, "", 1);
    }
    for (size_t i = 0; i < l->rlimit_count; i++) {
        const struct sandbox_rlimit *r = &l->rlimits[i];
        buf_printf(b, "rlimit=%d:%" PRIu64 ":%" PRIu64, r->resource, (uint64_t)r->value.rlim_cur,
                   (uint64_t)r->value.rlim_max);
        buf_append(b, "", 1);
    }
    append_watched(controls, b);
}
