// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox stats: what running sandboxes use, again and again.
 */
#include "cli/measure.h"
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/verbs.h"

#include <jansson.h>
#include <stdio.h>
#include <time.h>

#define ROUND_MS 1000

struct stats_options {
    bool json, once, help;
};

static const struct cli_option options[] = {
    {"no-stream", 0, NULL, "once, and no more", CLI_FLAG(struct stats_options, once)},
    {"json", 0, NULL, "print a line with an array of JSON objects each time",
     CLI_FLAG(struct stats_options, json)},
    CLI_HELP(struct stats_options, help),
    {0},
};

static const struct cli_foreign_option foreign[] = {
    {"all", "leave it out, one that has ended uses nothing; see glovebox ps -a"},
    {"format", "take --json"},
    {"no-reset", "pass the output on, as in: glovebox stats | cat"},
    {0},
};

static const struct cli_options grammar = {
    .options = options,
    .foreign = foreign,
    .help_command = "glovebox stats --help",
    .are_anywhere = true,
};

void cli_stats_help(FILE *out)
{
    fputs(
        "Usage: glovebox stats [OPTIONS] [NAME...]\n"
        "\n"
        "Shows every second what your running sandboxes use: processors, memory, processes, disk\n"
        "and network. What nobody knows is shown as '-'. Ends when those of the names have.\n"
        "\n"
        "Options:\n",
        out);
    cli_options_print(options, out);
    fputs("\nMore: man glovebox-stats\n", out);
}

/* ---- for people ---- */

static void format_bytes(uint64_t bytes, char ret[static 32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < ARRAY_SIZE(units); unit++)
        value /= 1024;
    snprintf(ret, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* "1.5 MiB / 512 MiB"; "-" for what is not known, or has no limit. */
static void format_pair(bool is_known, uint64_t a, bool is_second_known, uint64_t b, char *ret,
                        size_t size)
{
    char first[32] = "-", second[32] = "-";
    if (is_known)
        format_bytes(a, first);
    if (is_second_known)
        format_bytes(b, second);
    snprintf(ret, size, "%s / %s", first, second);
}

static void print_row(const struct measure *m, FILE *out)
{
    char name[128], cpu[32] = "-", memory[96], disk[96], network[96];
    const uint64_t *limits = m->limits.value;
    text_line(m->name, strlen(m->name), name, sizeof(name));
    if (m->cpu_percent >= 0)
        snprintf(cpu, sizeof(cpu), "%.1f %%", m->cpu_percent);
    format_pair(true, m->usage.memory_bytes, limits[LIMIT_MEMORY], limits[LIMIT_MEMORY], memory,
                sizeof(memory));
    format_pair(m->is_told, m->told.disk_bytes, limits[LIMIT_DISK], limits[LIMIT_DISK], disk,
                sizeof(disk));
    format_pair(m->is_told, m->told.received_bytes, m->is_told, m->told.sent_bytes, network,
                sizeof(network));
    fprintf(out, "%-20s %9s %23s %10u %23s %23s\n", name, cpu, memory, m->usage.processes, disk,
            network);
}

static void print_table(const struct measures *all, FILE *out)
{
    fprintf(out, "%-20s %9s %23s %10s %23s %23s\n", "NAME", "CPU", "MEMORY / LIMIT", "PROCESSES",
            "DISK / LIMIT", "RECEIVED / SENT");
    for (size_t i = 0; i < all->count; i++)
        print_row(&all->items[i], out);
}

/* ---- for programs ---- */

static json_t *make_number(bool is_known, uint64_t value)
{
    return is_known && value <= INT64_MAX ? json_integer((json_int_t)value) : json_null();
}

static json_t *make_object(const struct measure *m)
{
    const uint64_t *limits = m->limits.value;
    const struct exec_usage *t = &m->told;
    bool is_known = m->is_told;
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:b, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
        m->name, "cpu_percent", m->cpu_percent >= 0 ? json_real(m->cpu_percent) : json_null(),
        "cpu_ms", m->is_told ? json_real((double)(m->cpu_ns / NSEC_PER_USEC) / 1000) : json_null(),
        "memory_bytes", make_number(true, m->usage.memory_bytes), "memory_is_estimated",
        m->usage.is_memory_estimated, "memory_limit_bytes",
        make_number(limits[LIMIT_MEMORY], limits[LIMIT_MEMORY]), "processes",
        (int)m->usage.processes, "threads", (int)m->usage.threads, "disk_bytes",
        make_number(is_known, t->disk_bytes), "disk_limit_bytes",
        make_number(limits[LIMIT_DISK], limits[LIMIT_DISK]), "inodes",
        make_number(is_known, t->inodes), "inode_limit",
        make_number(limits[LIMIT_INODES], limits[LIMIT_INODES]), "received_bytes",
        make_number(is_known, t->received_bytes), "sent_bytes",
        make_number(is_known, t->sent_bytes), "written_bytes",
        make_number(is_known, t->written_bytes));
}

static bool print_json(const struct measures *all, FILE *out)
{
    json_t *array = json_array();
    for (size_t i = 0; i < all->count; i++)
        json_array_append_new(array, make_object(&all->items[i]));
    bool is_whole = array && json_array_size(array) == all->count &&
                    json_dumpf(array, out, JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12)) == 0;
    json_decref(array);
    return is_whole && fputc('\n', out) != EOF;
}

/* ---- rounds ---- */

/* At once, so that a terminal shows no half of it. */
static int show(const struct stats_options *o, const struct measures *all, bool is_over_last,
                struct sandbox_error *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    bool is_made = memory != NULL;
    if (is_made && is_over_last)
        fputs("\033[H\033[J", memory);
    if (is_made && o->json)
        is_made = print_json(all, memory);
    else if (is_made)
        print_table(all, memory);
    if (memory && fclose(memory) == EOF)
        is_made = false;
    errno = is_made ? 0 : ENOMEM;
    bool is_shown = is_made && fwrite(text, 1, size, stdout) == size && fflush(stdout) == 0;
    int error = errno;
    free(text);
    return is_shown
               ? 0
               : sandbox_error_set(e, -EIO, "the result can't be written: %s; free memory or room",
                                   strerror(error ? error : EIO));
}

static void pause_round(void)
{
    const struct timespec ts = {.tv_sec = ROUND_MS / 1000,
                                .tv_nsec = ROUND_MS % 1000 * NSEC_PER_MSEC};
    nanosleep(&ts, NULL);
}

static int check_names(const struct measures *all, char *const *names, int count,
                       struct sandbox_error *e)
{
    for (int i = 0; i < count; i++) {
        bool is_there = false;
        for (size_t j = 0; j < all->count; j++)
            is_there |= !strcmp(all->items[j].name, names[i]);
        if (!is_there)
            return sandbox_error_set(e, -ENOENT,
                                     "%.*s: no sandbox of this name is running; glovebox ps lists "
                                     "those that are",
                                     REGISTRY_NAME_MAX_BYTES, names[i]);
    }
    return 0;
}

/* Of what came between two moments only a second look can tell. */
static int look_once(const struct stats_options *o, char *const *names, int count,
                     struct measures *before, struct sandbox_error *e)
{
    struct measures all;
    pause_round();
    int r = measures_take(names, count, before, &all, e);
    if (r < 0)
        return r;
    r = show(o, &all, false, e);
    measures_done(&all);
    return r;
}

static int look_again_and_again(const struct stats_options *o, char *const *names, int count,
                                struct measures *all, struct sandbox_error *e)
{
    bool is_terminal = isatty(STDOUT_FILENO) && !o->json;
    int r = show(o, all, is_terminal, e);
    while (r == 0 && (count == 0 || all->count > 0)) {
        struct measures next;
        pause_round();
        r = measures_take(names, count, all, &next, e);
        if (r < 0)
            return r;
        measures_done(all);
        *all = next;
        r = show(o, all, is_terminal, e);
    }
    return r;
}

int cli_stats(int count, char **words)
{
    struct stats_options o = {0};
    struct sandbox_error e;
    struct measures all = {0};
    int used;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_stats_help(stdout);
        return 0;
    }
    char *const *names = words + used;
    if (r == 0)
        r = measures_take(names, count - used, NULL, &all, &e);
    if (r == 0)
        r = check_names(&all, names, count - used, &e);
    if (r == 0)
        r = (o.once ? look_once : look_again_and_again)(&o, names, count - used, &all, &e);
    measures_done(&all);
    if (r < 0)
        cli_say_error(&e);
    return r < 0 ? CLI_STATUS_BAD_USE : 0;
}
