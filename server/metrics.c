// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include "lib/base/launch.h"
#include "server/boxes.h"
#include "server/certificate.h"
#include "server/connection.h"
#include "server/hooks.h"
#include "server/log.h"
#include "server/seal.h"
#include "server/server.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define COUNTS_MAX 512 /* of requests, by method, route and status; more are "other" */

/* ---- histograms ---- */

static const double bounds_s[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                  0.25,  0.5,    1,     2.5,  5,     10,   30};

struct histogram {
    uint64_t buckets[ARRAY_SIZE(bounds_s) + 1]; /* each alone; the last: above all bounds */
    double sum_s;
};

static void observe(struct histogram *h, double seconds)
{
    size_t i = 0;
    while (i < ARRAY_SIZE(bounds_s) && seconds > bounds_s[i])
        i++;
    h->buckets[i]++;
    h->sum_s += seconds;
}

/* ---- counts ---- */

struct request_count {
    const char *method, *route;
    unsigned status;
    uint64_t count;
};

/* Of words that are known here; the last of each is for all others. */
static const char *const end_causes[] = {"request", "timeout",        "exited",       "signaled",
                                         "idle",    "memory",         "disk",         "budget",
                                         "policy",  "kernel-failure", "host-failure", "not-started",
                                         "killed",  "lost",           "other"};
static const struct {
    int error;
    const char *cause;
} creation_causes[] = {
    {EAGAIN, "limit"},  {EMFILE, "limit"},      {ENOSPC, "disk"},
    {ENOMEM, "memory"}, {EINVAL, "wish"},       {EOPNOTSUPP, "wish"},
    {ESRCH, "ended"},   {EPIPE, "interrupted"}, {0, "other"},
};

static struct request_count requests[COUNTS_MAX];
static size_t request_kinds;
static struct histogram request_times, start_times;
static uint64_t answer_bytes, ends[ARRAY_SIZE(end_causes)], failures[ARRAY_SIZE(creation_causes)],
    bad_handshakes, server_starts;
static int64_t streams;
static int memory_file = -1;

void metrics_start(uint64_t starts)
{
    server_starts = starts;
    memory_file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

/* The methods that there are routes for; others are told by clients. */
static const char *known_method(const char *method)
{
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (!strcmp(known[i], method))
            return known[i];
    return "other";
}

static struct request_count *find_count(const char *method, const char *route, unsigned status)
{
    for (size_t i = 0; i < request_kinds; i++)
        if (requests[i].status == status && !strcmp(requests[i].route, route) &&
            !strcmp(requests[i].method, method))
            return &requests[i];
    if (request_kinds == COUNTS_MAX)
        return &requests[COUNTS_MAX - 1];
    bool is_last = request_kinds == COUNTS_MAX - 1;
    requests[request_kinds] = (struct request_count){
        is_last ? "other" : method, is_last ? "other" : route, is_last ? 0 : status, 0};
    return &requests[request_kinds++];
}

void metrics_count_request(const char *method, const char *route, unsigned status, int64_t took_ns,
                           uint64_t bytes, bool is_stream)
{
    find_count(method ? known_method(method) : "other", route ? route : "other", status)->count++;
    answer_bytes += bytes;
    if (!is_stream)
        observe(&request_times, (double)took_ns / NSEC_PER_SEC);
}

void metrics_count_stream(int change)
{
    streams += change;
}

void metrics_count_creation(int error, int64_t took_ms)
{
    size_t i = 0;
    if (error == 0) {
        observe(&start_times, (double)took_ms / 1000);
        return;
    }
    while (creation_causes[i].error && creation_causes[i].error != error)
        i++;
    failures[i]++;
}

void metrics_count_end(const char *cause)
{
    size_t i = 0;
    while (i + 1 < ARRAY_SIZE(end_causes) && strcmp(end_causes[i], cause) != 0)
        i++;
    ends[i]++;
}

void metrics_count_bad_handshake(void)
{
    bad_handshakes++;
}

/* ---- as text ---- */

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void single(struct buf *out, const char *name, const char *type, const char *help,
                   double value)
{
    head(out, name, type, help);
    buf_printf(out, "%s %.15g\n", name, value);
}

static void histogram(struct buf *out, const char *name, const char *help,
                      const struct histogram *h)
{
    uint64_t sum = 0;
    head(out, name, "histogram", help);
    for (size_t i = 0; i < ARRAY_SIZE(bounds_s); i++) {
        sum += h->buckets[i];
        buf_printf(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name, bounds_s[i], sum);
    }
    sum += h->buckets[ARRAY_SIZE(bounds_s)];
    buf_printf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum %.9g\n%s_count %" PRIu64 "\n", name,
               sum, name, h->sum_s, name, sum);
}

static void write_requests(struct buf *out)
{
    head(out, "glovebox_requests_total", "counter",
         "Requests, by method, route and status; 0: the client was gone before the answer.");
    for (size_t i = 0; i < request_kinds; i++)
        buf_printf(
            out, "glovebox_requests_total{method=\"%s\",route=\"%s\",status=\"%u\"} %" PRIu64 "\n",
            requests[i].method, requests[i].route, requests[i].status, requests[i].count);
    histogram(out, "glovebox_request_seconds",
              "From a request's head to the last byte of its answer, but for streams.",
              &request_times);
    single(out, "glovebox_answer_bytes_total", "counter", "Of answers, with their heads.",
           (double)answer_bytes);
    single(out, "glovebox_streams", "gauge", "Answers without a length that are under way.",
           (double)streams);
    single(out, "glovebox_connections", "gauge", "Of clients.", (double)connections_count());
    single(out, "glovebox_tls_failures_total", "counter", "Connections that ended in a handshake.",
           (double)bad_handshakes);
    single(out, "glovebox_log_lines_lost_total", "counter", "Of the access log.",
           (double)log_lost());
}

static void write_states(struct buf *out)
{
    static const char *const names[] = {
        [BOX_STARTING] = "starting", [BOX_RUNNING] = "running", [BOX_ENDING] = "ending"};
    size_t counts[ARRAY_SIZE(names)] = {0};
    for (struct box *b = boxes_next(NULL); b; b = boxes_next(b))
        counts[b->state]++;
    head(out, "glovebox_sandboxes", "gauge", "Sandboxes, by state.");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        buf_printf(out, "glovebox_sandboxes{state=\"%s\"} %zu\n", names[i], counts[i]);
}

static void write_sandboxes(struct buf *out)
{
    write_states(out);
    histogram(out, "glovebox_sandbox_start_seconds",
              "From a sandbox's record to its first answer; its count is that of creations.",
              &start_times);
    head(out, "glovebox_sandbox_failures_total", "counter",
         "Sandboxes that could not be made, by cause.");
    for (size_t i = 0; i < ARRAY_SIZE(creation_causes); i++)
        if (i == 0 || strcmp(creation_causes[i].cause, creation_causes[i - 1].cause) != 0) {
            uint64_t count = 0;
            for (size_t j = 0; j < ARRAY_SIZE(creation_causes); j++)
                if (!strcmp(creation_causes[j].cause, creation_causes[i].cause))
                    count += failures[j];
            buf_printf(out, "glovebox_sandbox_failures_total{cause=\"%s\"} %" PRIu64 "\n",
                       creation_causes[i].cause, count);
        }
    head(out, "glovebox_sandbox_ends_total", "counter", "Sandboxes that have ended, by cause.");
    for (size_t i = 0; i < ARRAY_SIZE(end_causes); i++)
        buf_printf(out, "glovebox_sandbox_ends_total{cause=\"%s\"} %" PRIu64 "\n", end_causes[i],
                   ends[i]);
}

static void write_webhooks(struct buf *out)
{
    struct hook_counts c;
    hooks_count(&c);
    head(out, "glovebox_webhook_deliveries_total", "counter",
         "Tries to deliver an event, by how they went; and events that were given up.");
    buf_printf(out,
               "glovebox_webhook_deliveries_total{result=\"delivered\"} %" PRIu64 "\n"
               "glovebox_webhook_deliveries_total{result=\"failed\"} %" PRIu64 "\n"
               "glovebox_webhook_deliveries_total{result=\"given_up\"} %" PRIu64 "\n",
               c.delivered, c.failed, c.given_up);
    single(out, "glovebox_webhook_deliveries_waiting", "gauge", "Of all webhooks.",
           (double)c.waiting);
}

static double file_bytes(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (double)st.st_size : 0;
}

/* The second number of proc(5)'s statm, in pages. */
static double resident_bytes(void)
{
    char text[128];
    unsigned long pages = 0;
    ssize_t size = memory_file >= 0 ? pread(memory_file, text, sizeof(text) - 1, 0) : -1;
    if (size <= 0)
        return 0;
    text[size] = '\0';
    return sscanf(text, "%*u %lu", &pages) == 1 ? (double)pages * 4096 : 0;
}

static void write_process(struct buf *out)
{
    struct timespec cpu = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    single(out, "glovebox_server_starts_total", "counter",
           "Of the jailed server by its launcher; more than one: it failed.",
           (double)server_starts + 1);
    head(out, "glovebox_database_bytes", "gauge", "Of the records and their log.");
    buf_printf(out, "glovebox_database_bytes{file=\"records\"} %.15g\n",
               file_bytes(SERVER_DATABASE));
    buf_printf(out, "glovebox_database_bytes{file=\"log\"} %.15g\n",
               file_bytes(SERVER_DATABASE "-wal"));
    if (certificate_exists())
        single(out, "glovebox_tls_certificate_end_seconds", "gauge",
               "When the certificate ends, since 1970.", (double)certificate_end_s());
    single(out, "process_resident_memory_bytes", "gauge", "Of the server.", resident_bytes());
    single(out, "process_cpu_seconds_total", "counter", "Of the server.",
           (double)cpu.tv_sec + (double)cpu.tv_nsec / NSEC_PER_SEC);
    single(out, "process_start_time_seconds", "gauge", "Of the server, since 1970.",
           (double)server.started_ms / 1000);
}

int metrics_write(struct buf *out)
{
    write_requests(out);
    write_sandboxes(out);
    write_webhooks(out);
    write_process(out);
    return out->failed ? -ENOMEM : 0;
}
