// SPDX-License-Identifier: Apache-2.0
#include "cli/ended.h"

#include "cli/report_limits.h"
#include "lib/text/shown.h"

#include <inttypes.h>
#include <time.h>

int64_t ended_now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

void ended_format_time(int64_t ns, char ret[static 32])
{
    time_t seconds = ns / NSEC_PER_SEC;
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t size = strftime(ret, 32, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(ret + size, 32 - size, ".%03dZ", (int)(ns % NSEC_PER_SEC / NSEC_PER_MSEC));
}

void ended_format_age(int64_t ns, char *ret, size_t size)
{
    int64_t s = MAX(ns, (int64_t)0) / NSEC_PER_SEC;
    if (s < 120)
        snprintf(ret, size, "%" PRId64 " s", s);
    else if (s < 120 * 60)
        snprintf(ret, size, "%" PRId64 " min", s / 60);
    else if (s < 48 * 3600)
        snprintf(ret, size, "%" PRId64 " h", s / 3600);
    else
        snprintf(ret, size, "%" PRId64 " d", s / (24 * 3600));
}

static const char *safe(const char *text, char *ret, size_t size)
{
    text_line(text, strlen(text), ret, size);
    return ret;
}

void ended_print_head(FILE *out)
{
    static const struct ps_row head = {"NAME", "STATE", "STATUS", "ENDED", "RAN", "WHY", "COMMAND"};
    ended_print_row(&head, out);
}

void ended_print_row(const struct ps_row *row, FILE *out)
{
    char name[128], state[32], why[96], command[64];
    fprintf(out, "%-20s %-14s %6s %12s %8s  %-36s  %s\n", safe(row->name, name, sizeof(name)),
            safe(row->state, state, sizeof(state)), row->status, row->ended, row->ran,
            safe(row->why, why, sizeof(why)), safe(row->command, command, sizeof(command)));
}

/* A time that is not known is told as the most that it can be. */
void ended_print(const char *name, const struct record *r, FILE *out)
{
    const struct record_end *e = &r->end;
    char status[16], age[32], ended[48], ran[32];
    snprintf(status, sizeof(status), "%d", e->exit_status);
    ended_format_age(ended_now_ns() - e->ended_ns, age, sizeof(age));
    snprintf(ended, sizeof(ended), "%s ago", age);
    ended_format_age(e->wall_ns, ran, sizeof(ran));
    const struct ps_row row = {.name = name,
                               .state = e->cause,
                               .status = status,
                               .ended = ended,
                               .ran = e->is_found_later ? "?" : ran,
                               .why = e->words,
                               .command = r->command};
    ended_print_row(&row, out);
}

/* Null: nobody knows. */
static json_t *make_ms(int64_t ns)
{
    return ns < 0 ? json_null() : json_real((double)(ns / NSEC_PER_USEC) / 1000.0);
}

static json_t *make_text(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

static json_t *make_usage(const struct record_end *e)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:I, s:o}", "peak_memory_bytes",
        e->peak_memory_bytes ? json_integer((json_int_t)e->peak_memory_bytes) : json_null(),
        "user_ms", make_ms(e->user_ns), "system_ms", make_ms(e->system_ns), "kernel_ms",
        make_ms(e->kernel_ns), "memory_kills", (json_int_t)e->memory_kills, "written_bytes",
        e->user_ns < 0 ? json_null() : json_integer((json_int_t)e->written_bytes));
}

json_t *ended_make_labels(const char *labels)
{
    json_t *object = json_object();
    for (const char *at = labels; *at; at += strcspn(at, "\n") + 1) {
        char key[LABEL_KEY_MAX_BYTES + 1];
        size_t size = strcspn(at, "="), line = strcspn(at, "\n");
        snprintf(key, sizeof(key), "%.*s", (int)size, at);
        json_object_set_new(object, key, json_stringn(at + size + 1, line - size - 1));
    }
    return object;
}

void ended_print_labels(const char *labels, FILE *out)
{
    for (const char *at = labels; *at; at += strcspn(at, "\n") + 1) {
        char line[1024];
        text_line(at, strcspn(at, "\n"), line, sizeof(line));
        fprintf(out, "label      %s\n", line);
    }
}

json_t *ended_make_object(const char *name, const struct record *r)
{
    const struct record_end *e = &r->end;
    char created[32], ended[32];
    ended_format_time(r->created_ns, created);
    ended_format_time(e->ended_ns, ended);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:s, s:s, s:b, s:o, s:s, s:o, s:o, s:o, "
        "s:o, s:o}",
        "name", name, "state", "ended", "cause", e->cause, "words", e->words, "exit_status",
        e->exit_status, "exit_code", e->exit_code >= 0 ? json_integer(e->exit_code) : json_null(),
        "signal", e->signal ? json_integer(e->signal) : json_null(), "message",
        make_text(e->message), "report", make_text(e->report), "created_at", created, "ended_at",
        ended, "ended_before", e->is_found_later, "wall_ms",
        e->is_found_later ? json_null() : make_ms(e->wall_ns), "command", r->command, "labels",
        ended_make_labels(r->labels), "limits", report_make_limits(&r->limits), "limited_by",
        report_make_controls(&r->controls), "usage",
        e->is_found_later ? json_null() : make_usage(e), "egress",
        r->gateway ? json_pack("{s:s}", "policy", r->egress) : json_null());
}

static void print_usage(const struct record_end *e, FILE *out)
{
    char cpu[32] = "not known";
    bool is_known = e->user_ns >= 0;
    if (is_known)
        snprintf(cpu, sizeof(cpu), "%.2f s", (double)(e->user_ns + e->system_ns) / NSEC_PER_SEC);
    fprintf(out, "ran        %.2f s\ncpu        %s, and the sandbox's kernel %.2f s\n",
            (double)e->wall_ns / NSEC_PER_SEC, cpu, (double)e->kernel_ns / NSEC_PER_SEC);
    if (e->peak_memory_bytes)
        fprintf(out, "memory     %.1f MiB at most\n", (double)e->peak_memory_bytes / (1 << 20));
    if (is_known)
        fprintf(out, "written    %.1f MiB\n", (double)e->written_bytes / (1 << 20));
}

void ended_print_text(const char *name, const struct record *r, FILE *out)
{
    const struct record_end *e = &r->end;
    char created[32], ended[32], command[RECORD_COMMAND_MAX_BYTES], text[1024], value[64];
    ended_format_time(r->created_ns, created);
    ended_format_time(e->ended_ns, ended);
    fprintf(out, "name       %s\nstate      ended: %s\n", safe(name, text, sizeof(text)), e->cause);
    fprintf(out, "why        %s\n", safe(e->words, text, sizeof(text)));
    if (e->message[0] && strcmp(e->message, e->words))
        fprintf(out, "           %s\n", safe(e->message, text, sizeof(text)));
    fprintf(out, "status     %d\ncommand    %s\ncreated    %s\nended      %s%s\n", e->exit_status,
            safe(r->command, command, sizeof(command)), created, e->is_found_later ? "before " : "",
            ended);
    if (!e->is_found_later)
        print_usage(e, out);
    fputs("limits\n", out);
    for (int i = 0; i < LIMIT_COUNT; i++) {
        sandbox_limit_format((enum sandbox_limit)i, r->limits.value[i], value, sizeof(value));
        fprintf(out, "  %-22s %s\n", sandbox_limit_rows[i].name, value);
    }
    ended_print_labels(r->labels, out);
    fprintf(out, "egress     %s\n", r->gateway ? r->egress : "none");
}
