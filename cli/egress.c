// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox egress: what a sandbox was let do on the network, and what not, also after its end.
 */
#include "cli/decision.h"
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/verbs.h"
#include "sandbox/decisions.h"

#include <time.h>

/* How often it is looked for more. */
#define FOLLOW_STEP_NS (50 * NSEC_PER_MSEC)

struct egress_options {
    bool json, denied, follow, help;
};

static const struct cli_option options[] = {
    {"follow", 'f', NULL, "go on as decisions fall, until the sandbox ends",
     CLI_FLAG(struct egress_options, follow)},
    {"denied", 0, NULL, "only what was denied, or would be but for the audit mode",
     CLI_FLAG(struct egress_options, denied)},
    {"json", 0, NULL, "print the record's own lines, a JSON object each",
     CLI_FLAG(struct egress_options, json)},
    CLI_HELP(struct egress_options, help),
    {0},
};

static const struct cli_foreign_option foreign[] = {{0}};

static const struct cli_options grammar = {
    .options = options,
    .foreign = foreign,
    .help_command = "glovebox egress --help",
    .are_anywhere = true,
};

void cli_egress_help(FILE *out)
{
    fputs("Usage: glovebox egress [OPTIONS] [NAME]\n"
          "\n"
          "Shows what a sandbox of yours looked up and connected to, what was denied, and why.\n"
          "Without a NAME it is the one that was started last. The last ones that have ended are\n"
          "kept for a day.\n"
          "\n"
          "Options:\n",
          out);
    cli_options_print(options, out);
    fputs("\nMore: man glovebox-egress\n", out);
}

struct view {
    const struct egress_options *options;
    struct buf line; /* its end has not come */
    size_t shown;    /* lines */
};

/* One whole line. What is none of the record's is left out: it may have been cut by a kill. */
static void show_line(struct view *v)
{
    json_t *o = json_loadb(v->line.data ? v->line.data : "", v->line.size, 0, NULL);
    if (json_is_object(o) && (!v->options->denied || decision_is_denial(o))) {
        v->shown++;
        if (v->options->json)
            printf("%s\n", v->line.data);
        else
            decision_print(o, stdout);
    }
    json_decref(o);
}

/* 0 or -ENOMEM. */
static int take(struct view *v, const char *data, size_t size)
{
    while (size > 0) {
        const char *newline = memchr(data, '\n', size);
        size_t piece = newline ? (size_t)(newline - data) : size;
        if (buf_append(&v->line, data, piece) == -ENOMEM)
            return -ENOMEM;
        if (newline && !v->line.failed)
            show_line(v);
        if (newline)
            buf_reset(&v->line);
        piece += newline ? 1 : 0;
        data += piece;
        size -= piece;
    }
    return 0;
}

/* All that is there. 0 or negative errno. */
static int show_all(struct view *v, struct decisions_reader *r)
{
    char data[16384];
    ssize_t n;
    while ((n = decisions_reader_read(r, data, sizeof(data))) > 0) {
        int error = take(v, data, (size_t)n);
        if (error < 0)
            return error;
    }
    if (n == 0 && fflush(stdout) == EOF)
        return -errno;
    return (int)n;
}

static int follow(struct view *v, struct decisions_reader *r)
{
    const struct timespec step = {.tv_nsec = FOLLOW_STEP_NS};
    for (;;) {
        bool is_live = decisions_reader_is_live(r);
        int error = show_all(v, r);
        if (error < 0 || !is_live)
            return error;
        nanosleep(&step, NULL);
    }
}

static int show(const char *name, const struct egress_options *o, struct sandbox_error *e)
{
    struct decisions_reader r;
    struct view v = {.options = o, .line = BUF_INIT(DECISIONS_LINE_MAX_BYTES + 1)};
    int error = decisions_reader_open(&r, name, e);
    if (error < 0)
        return error;
    if (!o->json) {
        printf("sandbox %s, %s\n", decisions_reader_sandbox(&r),
               decisions_reader_is_live(&r) ? "running" : "ended");
        decision_print_head(stdout);
    }
    error = o->follow ? follow(&v, &r) : show_all(&v, &r);
    if (error == 0 && v.shown == 0 && !o->json)
        printf("%s\n", o->denied ? "nothing was denied" : "no program has asked for the network");
    buf_done(&v.line);
    decisions_reader_close(&r);
    if (error < 0)
        return sandbox_error_set(
            e, error, "egress: %s; make room for what is printed, or try again", strerror(-error));
    return 0;
}

int cli_egress(int count, char **words)
{
    struct egress_options o = {0};
    struct sandbox_error e;
    int used;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_egress_help(stdout);
        return 0;
    }
    if (r == 0 && count - used > 1)
        r = sandbox_error_set(&e, -EINVAL,
                              "egress: takes one name; leave the others out, or all for the latest "
                              "sandbox");
    if (r == 0)
        r = show(used < count ? words[used] : NULL, &o, &e);
    if (r < 0)
        cli_say_error(&e);
    return r < 0 ? CLI_STATUS_BAD_USE : 0;
}
