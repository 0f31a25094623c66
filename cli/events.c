// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox events: what happens to sandboxes, as it happens.
 */
#include "cli/ended.h"
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/verbs.h"
#include "sandbox/events.h"

#include <poll.h>

struct events_options {
    int64_t since_ns; /* CLOCK_REALTIME */
    bool json, once, help;
    char *const *names; /* name_count; 0: all */
    int name_count;
};

static const struct cli_option options[] = {
    {"since", 0, "TIME", "begin with what happened that long ago, as in 10m (default: now)",
     CLI_AGO(struct events_options, since_ns)},
    {"no-follow", 0, NULL, "print what has happened (all that is kept), and end",
     CLI_FLAG(struct events_options, once)},
    {"json", 0, NULL, "print a JSON object a line", CLI_FLAG(struct events_options, json)},
    CLI_HELP(struct events_options, help),
    {0},
};

static const struct cli_foreign_option foreign[] = {
    {"until", "take --no-follow, and leave out what you don't want"},
    {"filter", "give the names of sandboxes"},
    {"format", "take --json"},
    {0},
};

static const struct cli_options grammar = {
    .options = options,
    .foreign = foreign,
    .help_command = "glovebox events --help",
    .are_anywhere = true,
};

void cli_events_help(FILE *out)
{
    fputs("Usage: glovebox events [OPTIONS] [NAME...]\n"
          "\n"
          "Prints a line for each start and end of a sandbox of yours, and of a program that\n"
          "glovebox exec and its like start in one, with its cause; until it is interrupted.\n"
          "\n"
          "Options:\n",
          out);
    cli_options_print(options, out);
    fputs("\nMore: man glovebox-events\n", out);
}

/* ---- one ---- */

static const char *get(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text ? text : "";
}

static bool is_wanted(const struct events_options *o, const json_t *event)
{
    const char *name = get(event, "sandbox");
    for (int i = 0; i < o->name_count; i++)
        if (!strcmp(o->names[i], name))
            return true;
    return o->name_count == 0;
}

static void put(const char *before, const char *text, FILE *out)
{
    char line[1024];
    text_line(text, strlen(text), line, sizeof(line));
    if (line[0])
        fprintf(out, "%s%s", before, line);
}

static void print_text(const json_t *event, const char *time, FILE *out)
{
    char type[64], name[128];
    const json_t *pid = json_object_get(event, "pid");
    const json_t *status = json_object_get(event, "status");
    text_line(get(event, "type"), strlen(get(event, "type")), type, sizeof(type));
    text_line(get(event, "sandbox"), strlen(get(event, "sandbox")), name, sizeof(name));
    fprintf(out, "%s  %-10s  %s", time, type, name);
    if (json_is_integer(pid))
        fprintf(out, " %lld", (long long)json_integer_value(pid));
    put(" ", get(event, "tag"), out);
    put("  ", get(event, "cause"), out);
    if (json_is_integer(status))
        fprintf(out, ", status %lld", (long long)json_integer_value(status));
    put(": ", get(event, "words"), out);
    put("  ", get(event, "command"), out);
    fputc('\n', out);
}

/* Lines that are none of ours are passed by. 0 or negative errno: it can't be written. */
static int tell(const struct events_options *o, const char *line, size_t size)
{
    char time[32];
    json_t *event = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
    json_int_t ms = json_integer_value(json_object_get(event, "time_ms"));
    bool is_ours =
        json_is_object(event) && ms > 0 && ms < INT64_MAX / NSEC_PER_MSEC && get(event, "type")[0];
    errno = 0;
    if (is_ours && ms * NSEC_PER_MSEC >= o->since_ns && is_wanted(o, event)) {
        ended_format_time(ms * NSEC_PER_MSEC, time);
        if (!o->json)
            print_text(event, time, stdout);
        else if (json_object_set_new(event, "time", json_string(time)) == 0 &&
                 json_dumpf(event, stdout, JSON_ENSURE_ASCII) == 0)
            fputc('\n', stdout);
    }
    json_decref(event);
    return ferror(stdout) ? -(errno ? errno : EIO) : 0;
}

/* ---- all ---- */

static int tell_all(const struct events_options *o, struct events_reader *r)
{
    const char *line;
    size_t size;
    int error;
    while ((error = events_next(r, &line, &size)) == 0) {
        error = tell(o, line, size);
        if (error < 0)
            return error;
    }
    if (error == -EAGAIN)
        error = fflush(stdout) == EOF ? -errno : 0;
    return error;
}

static int follow(const struct events_options *o, struct events_reader *r)
{
    for (;;) {
        events_look(r);
        int error = tell_all(o, r);
        if (error < 0 || o->once)
            return error;
        /* Also who reads no more is noticed, though nothing happens. */
        struct pollfd p[] = {{.fd = r->watch, .events = POLLIN}, {.fd = STDOUT_FILENO}};
        if (poll(p, ARRAY_SIZE(p), events_wait_ms(r)) > 0 && p[1].revents & POLLERR)
            return -EPIPE;
    }
}

int cli_events(int count, char **words)
{
    struct events_options o = {0};
    struct sandbox_error e;
    struct events_reader reader = EVENTS_CLOSED;
    int used;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_events_help(stdout);
        return 0;
    }
    o.names = words + used;
    o.name_count = count - used;
    if (!o.since_ns && !o.once)
        o.since_ns = ended_now_ns();
    if (r == 0)
        r = events_open(&reader, &e);
    if (r == 0) {
        r = follow(&o, &reader);
        if (r < 0)
            sandbox_error_set(&e, r, "events: %s; free memory or room", strerror(-r));
    }
    events_close(&reader);
    if (r < 0)
        cli_say_error(&e);
    return r < 0 ? CLI_STATUS_BAD_USE : 0;
}
