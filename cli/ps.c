// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox ps: the sandboxes of this user.
 */
#include "cli/say.h"
#include "cli/sandboxes.h"
#include "cli/takers.h"
#include "cli/verbs.h"

struct ps_options {
    struct sandboxes_view view;
    bool help;
};

static int take_filter(void *target, const char *value, struct sandbox_error *e)
{
    struct sandboxes_view *v = &((struct ps_options *)target)->view;
    const char *label = value + strlen("label=");
    if (strncmp(value, "label=", strlen("label=")) || !label_is_key(label, strcspn(label, "=")))
        return sandbox_error_set(e, -EINVAL, "not a filter; write label=KEY or label=KEY=VALUE");
    if (v->label_count == ARRAY_SIZE(v->labels))
        return sandbox_error_set(e, -E2BIG, "more than %d filters; leave some out", LABELS_MAX);
    v->labels[v->label_count++] = label;
    return 0;
}

static const struct cli_option options[] = {
    {"all", 'a', NULL, "also those that have ended: why, and with what status",
     CLI_FLAG(struct ps_options, view.all)},
    {"filter", 0, "label=KEY[=VALUE]", "only those with this label; may be repeated", take_filter,
     0},
    {"json", 0, NULL, "print an array of JSON objects", CLI_FLAG(struct ps_options, view.json)},
    CLI_HELP(struct ps_options, help),
    {0},
};

static const struct cli_foreign_option foreign[] = {
    {0},
};

static const struct cli_options grammar = {
    .options = options,
    .foreign = foreign,
    .help_command = "glovebox ps --help",
};

void cli_ps_help(FILE *out)
{
    fputs("Usage: glovebox ps [OPTIONS]\n"
          "\n"
          "Lists your sandboxes that are running on this machine, and with -a those that have\n"
          "ended: the last 100, of the last week.\n"
          "\n"
          "Options:\n",
          out);
    cli_options_print(options, out);
    fputs("\nMore: man glovebox-ps\n", out);
}

int cli_ps(int count, char **words)
{
    struct ps_options o = {0};
    struct sandbox_error e;
    int used;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_ps_help(stdout);
        return 0;
    }
    if (r == 0 && used < count)
        r = sandbox_error_set(&e, -EINVAL,
                              "ps: takes no names; for one of them, see glovebox "
                              "inspect %s",
                              words[used]);
    if (r == 0)
        r = sandboxes_list(&o.view, stdout, &e);
    if (r < 0)
        cli_say_error(&e);
    return r < 0 ? CLI_STATUS_BAD_USE : 0;
}
