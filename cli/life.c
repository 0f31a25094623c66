// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox stop, kill and wait: the ends of sandboxes.
 */
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/verbs.h"
#include "sandbox/end_watch.h"

struct life_options {
    bool help;
};

static const struct cli_option life_table[] = {
    CLI_HELP(struct life_options, help),
    {0},
};

static const struct cli_foreign_option no_foreign[] = {{0}};

static void print_help(FILE *out, const char *verb, const char *text)
{
    fprintf(out, "Usage: glovebox %s NAME...\n\n%s\nOptions:\n", verb, text);
    cli_options_print(life_table, out);
    fprintf(out, "\nMore: man glovebox-create\n");
}

void cli_stop_help(FILE *out)
{
    print_help(out, "stop",
               "Ends sandboxes: their programs get SIGTERM, and what still runs when the\n"
               "sandbox's --grace is over is killed. Returns when they are gone.\n");
}

void cli_kill_help(FILE *out)
{
    print_help(out, "kill", "Ends sandboxes at once. Returns when they are gone.\n");
}

void cli_wait_help(FILE *out)
{
    print_help(out, "wait",
               "Waits until sandboxes have ended, and prints for each its name and why. The exit\n"
               "status is that of the last one, as glovebox run has it.\n");
}

static void tell_end(const char *name, const struct record_end *end)
{
    printf("%s\t%s\t%s\n", name, end->cause, end->words);
}

/* Waits until it has ended: its status, or negative errno. */
static int wait_over(struct end_watch *w, bool is_told, struct sandbox_error *e)
{
    static struct exec_message m;
    struct record_end end;
    int r = end_watch_take(w, &m, &end, e);
    if (r == 0 && is_told)
        tell_end(w->name, &end);
    return r < 0 ? r : end.exit_status;
}

/* end: EXEC_END comes with that status. */
static int end_one(const char *name, int end, struct sandbox_error *e)
{
    const char *who = end == 1 ? "glovebox kill" : "glovebox stop";
    const struct exec_packet stop = {.version = EXEC_VERSION,
                                     .type = EXEC_END,
                                     .status = end,
                                     .text_size = (uint32_t)strlen(who)};
    struct end_watch w;
    int r = end_watch_open(name, &w, e);
    if (r < 0)
        return r;
    r = exec_ask_wait(w.socket, &stop, who, e);
    if (r == 0)
        r = wait_over(&w, false, e);
    end_watch_close(&w);
    return r;
}

static int wait_one(const char *name, struct sandbox_error *e)
{
    struct end_watch w;
    struct record_end end;
    int r = end_watch_open(name, &w, e);
    if (r == -ENOENT) {
        r = end_find(name, 0, &end, e);
        if (r == 0)
            tell_end(name, &end);
        return r < 0 ? r : end.exit_status;
    }
    if (r < 0)
        return r;
    r = wait_over(&w, true, e);
    end_watch_close(&w);
    return r;
}

static int end_all(int count, char **words, const char *verb, int end, void (*help)(FILE *out))
{
    char command[64];
    snprintf(command, sizeof(command), "glovebox %s --help", verb);
    const struct cli_options grammar = {.options = life_table,
                                        .foreign = no_foreign,
                                        .help_command = command,
                                        .are_anywhere = true};
    struct life_options o = {0};
    struct sandbox_error e;
    int used, status = 0;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        help(stdout);
        return 0;
    }
    if (r == 0 && used == count)
        r = sandbox_error_set(&e, -EINVAL, "%s: no name; glovebox ps lists the sandboxes", verb);
    if (r < 0)
        cli_say_error(&e);
    for (int i = used; i < count && r >= 0; i++) {
        int one = end < 0 ? wait_one(words[i], &e) : end_one(words[i], end, &e);
        if (one < 0) {
            cli_say_error(&e);
            status = CLI_STATUS_BAD_USE;
        } else if (end < 0) {
            status = one;
        }
    }
    return r < 0 ? CLI_STATUS_BAD_USE : status;
}

int cli_stop(int count, char **words)
{
    return end_all(count, words, "stop", 0, cli_stop_help);
}

int cli_kill(int count, char **words)
{
    return end_all(count, words, "kill", 1, cli_kill_help);
}

int cli_wait(int count, char **words)
{
    return end_all(count, words, "wait", -1, cli_wait_help);
}
