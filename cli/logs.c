// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox logs: what a sandbox's main program wrote, and programs that exec has left to
 * themselves.
 */
#include "cli/ended.h"
#include "cli/logs_printer.h"
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/values.h"
#include "cli/verbs.h"
#include "sandbox/logs_ask.h"

#include <poll.h>
#include <signal.h>

#define TAIL_MAX 1000000

struct logs_options {
    struct logs_printer printer;
    int64_t tail; /* lines; -1: all */
    bool follow, raw, help;
};

#define OPTIONS(target) ((struct logs_options *)(target))

static int take_tail(void *target, const char *value, struct sandbox_error *e)
{
    uint64_t lines;
    bool is_number = cli_parse_number(value, 0, TAIL_MAX, &lines);
    if (!is_number && strcmp(value, "all"))
        return sandbox_error_set(e, -EINVAL, "not a number of lines up to %d; or give all",
                                 TAIL_MAX);
    OPTIONS(target)->tail = is_number ? (int64_t)lines : -1;
    return 0;
}

static const struct cli_option options[] = {
    {"follow", 'f', NULL, "also what comes, until the sandbox has ended",
     CLI_FLAG(struct logs_options, follow)},
    {"tail", 'n', "LINES", "begin with so many of the last lines (default: all)", take_tail, 0},
    {"since", 0, "TIME", "begin with what was written that long ago, as in 10m",
     CLI_AGO(struct logs_options, printer.since_ns)},
    {"timestamps", 't', NULL, "begin each line with when it was written",
     CLI_FLAG(struct logs_options, printer.times)},
    {"raw", 0, NULL, "let all terminal sequences through to your terminal",
     CLI_FLAG(struct logs_options, raw)},
    CLI_HELP(struct logs_options, help),
    {0},
};

static const struct cli_foreign_option foreign[] = {
    {"until", "take --since, and leave out what you don't want"},
    {"details", "see glovebox inspect"},
    {0},
};

static const struct cli_options grammar = {
    .options = options,
    .foreign = foreign,
    .help_command = "glovebox logs --help",
    .are_anywhere = true,
};

void cli_logs_help(FILE *out)
{
    fputs(
        "Usage: glovebox logs [OPTIONS] NAME [PID|TAG]\n"
        "\n"
        "Prints what the main program of a sandbox wrote, and programs that glovebox exec -d has\n"
        "started: the last 256 KiB, or the last 64 KiB of one that has ended. With PID or TAG,\n"
        "only what that program wrote.\n"
        "\n"
        "Options:\n",
        out);
    cli_options_print(options, out);
    fputs("\nMore: man glovebox-logs\n", out);
}

/* ---- the last lines ---- */

/* What there is, as records, of which only the end is printed. */
struct collected {
    struct logs_options *options;
    struct buf records;
    int64_t lines;
    bool is_in_line; /* the last has no end */
};

static void count_lines(struct collected *c, const struct journal_piece *piece)
{
    const char *at = piece->data, *end = piece->data + piece->head.size;
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        c->lines++;
    }
    c->is_in_line = end[-1] != '\n';
}

/* A logs_see_fn. */
static int collect(void *userdata, const struct journal_piece *piece)
{
    struct collected *c = userdata;
    if (!logs_printer_wants(&c->options->printer, piece))
        return 0;
    count_lines(c, piece);
    buf_append(&c->records, &piece->head, sizeof(piece->head));
    buf_append(&c->records, piece->tag, piece->head.tag_size);
    return buf_append(&c->records, piece->data, piece->head.size);
}

/* Leaves out the first lines of the piece, as far as there are that many left. */
static void skip_lines(struct journal_piece *piece, int64_t *skipped)
{
    while (*skipped > 0 && piece->head.size > 0) {
        const char *newline = memchr(piece->data, '\n', piece->head.size);
        size_t size = newline ? (size_t)(newline + 1 - piece->data) : piece->head.size;
        piece->data += size;
        piece->head.size -= (uint32_t)size;
        *skipped -= newline != NULL;
    }
}

static int print_collected(struct collected *c)
{
    const char *at = c->records.data;
    size_t size = c->records.size, used;
    struct journal_piece piece;
    int64_t skipped =
        c->options->tail < 0 ? 0 : MAX(c->lines + c->is_in_line - c->options->tail, (int64_t)0);
    int r = 0;
    for (; r == 0 && size > 0 && (used = journal_read(at, size, &piece)) > 0;
         at += used, size -= used) {
        skip_lines(&piece, &skipped);
        if (piece.head.size > 0)
            r = logs_printer_put(&c->options->printer, &piece);
    }
    return r;
}

/* ---- what comes ---- */

/* What was driven out before it could be read is not passed over in silence. */
static void note_lost(uint64_t bytes, const char *name)
{
    char line[256];
    snprintf(line, sizeof(line),
             "%.63s: %llu bytes came faster than they were read, and are not kept any more", name,
             (unsigned long long)bytes);
    cli_say(line);
}

static int follow(struct logs_options *o, const char *name, uint64_t offset,
                  struct sandbox_error *e)
{
    static struct exec_message m;
    struct journal_piece piece;
    uint64_t next;
    _cleanup_close_ int fd = logs_follow(name, offset, e);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd; /* it has ended meanwhile */
    for (;;) {
        struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = STDOUT_FILENO}};
        if (poll(p, ARRAY_SIZE(p), -1) > 0 && p[1].revents & POLLERR)
            return sandbox_error_set(e, -EPIPE, "logs: nobody reads them any more; try again");
        int r = logs_take(fd, &m, &piece, &next);
        if (r == -EPIPE)
            return 0;
        if (r == 0 && piece.head.offset > offset)
            note_lost(piece.head.offset - offset, name);
        if (r == 0)
            r = logs_printer_put(&o->printer, &piece);
        if (r < 0)
            return sandbox_error_set(e, r, "logs: %s; try again", strerror(-r));
        offset = piece.head.offset + piece.head.size;
    }
}

static int print(struct logs_options *o, const char *name, struct sandbox_error *e)
{
    /* As much as a starter keeps, with the heads of pieces of one byte. */
    struct collected c = {.options = o, .records = BUF_INIT(64u << 20)};
    uint64_t next;
    int r = logs_read(name, collect, &c, &next, e);
    if (r == 0) {
        r = print_collected(&c);
        if (r < 0)
            sandbox_error_set(e, r, "logs: %s; free memory or room", strerror(-r));
    }
    buf_done(&c.records);
    if (r == 0 && o->follow && next != UINT64_MAX)
        r = follow(o, name, next, e);
    return r;
}

int cli_logs(int count, char **words)
{
    struct logs_options o = {.tail = -1};
    struct sandbox_error e;
    int used;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_logs_help(stdout);
        return 0;
    }
    if (r == 0 && (count - used < 1 || count - used > 2))
        r = sandbox_error_set(&e, -EINVAL,
                              "logs: give the name of one sandbox, and perhaps a program of it; "
                              "glovebox ps -a lists the sandboxes");
    if (r == 0) {
        logs_printer_init(&o.printer, o.raw);
        o.printer.program = count - used == 2 ? words[used + 1] : NULL;
        r = print(&o, words[used], &e);
        int error = logs_printer_end(&o.printer);
        if (r == 0 && error < 0)
            r = sandbox_error_set(&e, error, "logs: %s; free memory or room", strerror(-error));
    }
    if (r < 0)
        cli_say_error(&e);
    return r < 0 ? CLI_STATUS_BAD_USE : 0;
}
