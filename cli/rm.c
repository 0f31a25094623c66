// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox rm: forgets sandboxes that have ended.
 */
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/verbs.h"
#include "sandbox/end_watch.h"
#include "sandbox/forget.h"

struct rm_options {
    bool force, help;
};

static const struct cli_option options[] = {
    {"force", 'f', NULL, "also those that run: they are ended at once",
     CLI_FLAG(struct rm_options, force)},
    CLI_HELP(struct rm_options, help),
    {0},
};

static const struct cli_foreign_option foreign[] = {
    {"volumes", "leave it out, a sandbox's private files end with it"},
    {0},
};

static const struct cli_options grammar = {
    .options = options,
    .foreign = foreign,
    .help_command = "glovebox rm --help",
    .are_anywhere = true,
};

void cli_rm_help(FILE *out)
{
    fputs(
        "Usage: glovebox rm [OPTIONS] NAME...\n"
        "\n"
        "Forgets sandboxes that have ended: how they did, the end of their output, and what they\n"
        "were let do on the network.\n"
        "\n"
        "Options:\n",
        out);
    cli_options_print(options, out);
    fputs("\nThe names: glovebox ps -a. More: man glovebox-ps\n", out);
}

/* Ends it at once. -ENOENT: it does not run. */
static int end(const char *name, struct sandbox_error *e)
{
    static const char who[] = "glovebox rm --force";
    static struct exec_message m;
    const struct exec_packet p = {
        .version = EXEC_VERSION, .type = EXEC_END, .status = 1, .text_size = sizeof(who) - 1};
    struct record_end end;
    struct end_watch w;
    int r = end_watch_open(name, &w, e);
    if (r < 0)
        return r;
    r = exec_ask_wait(w.socket, &p, who, e);
    if (r == 0)
        r = end_watch_take(&w, &m, &end, e);
    end_watch_close(&w);
    return r == -EPIPE ? 0 : r;
}

static int forget_one(const char *name, const struct rm_options *o, struct sandbox_error *e)
{
    struct registry registry;
    int r = o->force ? end(name, e) : 0;
    if (r < 0 && r != -ENOENT)
        return r;
    /* Of what it was started with --rm nothing else is left. */
    bool is_ended_here = o->force && r == 0;
    r = registry_open(&registry, e);
    if (r < 0)
        return r;
    r = forget_ended(&registry, name, e);
    registry_close(&registry);
    return r == -ENOENT && is_ended_here ? 0 : r;
}

int cli_rm(int count, char **words)
{
    struct rm_options o = {0};
    struct sandbox_error e;
    int used, status = 0;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_rm_help(stdout);
        return 0;
    }
    if (r == 0 && used == count)
        r = sandbox_error_set(&e, -EINVAL, "rm: no name; glovebox ps -a lists the sandboxes");
    if (r < 0) {
        cli_say_error(&e);
        return CLI_STATUS_BAD_USE;
    }
    for (int i = used; i < count; i++)
        if (forget_one(words[i], &o, &e) < 0) {
            cli_say_error(&e);
            status = CLI_STATUS_BAD_USE;
        }
    return status;
}
