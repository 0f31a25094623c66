// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox inspect: one sandbox, what it may use, what it uses, and what holds it; or how it ended.
 */
#include "cli/say.h"
#include "cli/sandboxes.h"
#include "cli/takers.h"
#include "cli/verbs.h"

struct inspect_options {
    bool json, help;
};

static const struct cli_option options[] = {
    {"json", 0, NULL, "print a JSON object", CLI_FLAG(struct inspect_options, json)},
    CLI_HELP(struct inspect_options, help),
    {0},
};

static const struct cli_foreign_option foreign[] = {{0}};

static const struct cli_options grammar = {
    .options = options,
    .foreign = foreign,
    .help_command = "glovebox inspect --help",
    .are_anywhere = true,
};

void cli_inspect_help(FILE *out)
{
    fputs("Usage: glovebox inspect [OPTIONS] NAME\n"
          "\n"
          "Says what a running sandbox of yours may use, what it uses now, and what holds it to "
          "that;\nof one that has ended, how and when.\n"
          "\n"
          "Options:\n",
          out);
    cli_options_print(options, out);
    fputs("\nThe names: glovebox ps -a. More: man glovebox-inspect\n", out);
}

int cli_inspect(int count, char **words)
{
    struct inspect_options o = {0};
    struct sandbox_error e;
    int used;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_inspect_help(stdout);
        return 0;
    }
    if (r == 0 && count - used != 1)
        r = sandbox_error_set(&e, -EINVAL,
                              "inspect: give the name of one sandbox; glovebox ps "
                              "-a lists them");
    if (r == 0)
        r = sandboxes_inspect(words[used], o.json, stdout, &e);
    if (r < 0)
        cli_say_error(&e);
    return r < 0 ? CLI_STATUS_BAD_USE : 0;
}
