// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox doctor: what this machine offers, and whether a sandbox holds.
 */
#include "cli/doctor.h"

#include "cli/say.h"
#include "cli/takers.h"
#include "cli/verbs.h"

#define OPTIONS_MAX 64

struct doctor_options {
    struct run_options run; /* first: the options of run take this for their target */
    bool inside, outside;
};

static const struct cli_option own_options[] = {
    {"inside", 0, NULL,
     "start a sandbox with the OPTIONS of run, attack it from\n"
     "inside, and say of each attack what came of it",
     CLI_FLAG(struct doctor_options, inside)},
    {"outside", 0, NULL,
     "run the harmless attacks without a sandbox, where they\n"
     "must succeed: the proof that they can see",
     CLI_FLAG(struct doctor_options, outside)},
    {"json", 0, NULL, "print one JSON object", CLI_FLAG(struct doctor_options, run.json)},
    CLI_HELP(struct doctor_options, run.help),
    {0},
};

void cli_doctor_help(FILE *out)
{
    fputs(
        "Usage: glovebox doctor [--json]\n"
        "       glovebox doctor --inside [OPTIONS] [PROBE...]\n"
        "       glovebox doctor --outside [--json] [PROBE...]\n"
        "\n"
        "Says what this machine offers for sandboxes, what each missing thing costs, and what to\n"
        "do about it. With --inside it looks whether the controls hold: probes, small attacks,\n"
        "run in a sandbox, and what they aim at on this machine is looked at from outside.\n"
        "\n"
        "Examples:\n"
        "  glovebox doctor\n"
        "  glovebox doctor --inside\n"
        "  glovebox doctor --inside --user root --mount .:/src\n"
        "  glovebox doctor --inside --json | jq '.probes[] | select(.result != \"contained\")'\n"
        "\n"
        "Options:\n",
        out);
    cli_options_print(own_options, out);
    fputs(
        "\n"
        "OPTIONS are those of glovebox run, see glovebox run --help.\n"
        "\n"
        "Exit status: 0 when all is well; 1 when no safe sandbox can run here, or a probe was not\n"
        "contained; 125 when Glovebox was used wrongly or could not find out.\n"
        "\n"
        "More: man glovebox-doctor\n",
        out);
}

static bool is_asked_for(const char *word, int count, char **words)
{
    for (int i = 0; i < count && strcmp(words[i], "--"); i++)
        if (!strcmp(words[i], word))
            return true;
    return false;
}

/* Our own options, then those of run but for the names that we have too. */
static void join_options(struct cli_option ret[static OPTIONS_MAX])
{
    size_t count = ARRAY_SIZE(own_options) - 1;
    memcpy(ret, own_options, count * sizeof(*ret));
    for (const struct cli_option *o = cli_run_options; o->name && count + 1 < OPTIONS_MAX; o++)
        if (strcmp(o->name, "json") && strcmp(o->name, "help") && strcmp(o->name, "version"))
            ret[count++] = *o;
    ret[count] = (struct cli_option){0};
}

/* Options of run where no sandbox is started. */
static void list_foreign(struct cli_foreign_option ret[static OPTIONS_MAX])
{
    size_t count = 0;
    for (const struct cli_option *o = cli_run_options; o->name && count + 1 < OPTIONS_MAX; o++)
        ret[count++] = (struct cli_foreign_option){o->name, "it goes with --inside only"};
    ret[count] = (struct cli_foreign_option){0};
}

static int parse(int count, char **words, struct doctor_options *o, int *ret_used,
                 struct sandbox_error *e)
{
    struct cli_option joined[OPTIONS_MAX];
    struct cli_foreign_option foreign[OPTIONS_MAX];
    struct cli_options grammar = {
        .options = own_options, .foreign = foreign, .help_command = "glovebox doctor --help"};
    list_foreign(foreign);
    if (is_asked_for("--inside", count, words)) {
        join_options(joined);
        grammar.options = joined;
        grammar.foreign = cli_run_foreign;
    }
    return cli_options_parse(&grammar, count, words, o, ret_used, e);
}

static int check_use(const struct doctor_options *o, int count, char **words,
                     struct sandbox_error *e)
{
    if (o->inside && o->outside)
        return sandbox_error_set(e, -EINVAL,
                                 "--outside: not together with --inside; leave one of them out");
    if (count > 0 && !o->inside && !o->outside)
        return sandbox_error_set(
            e, -EINVAL, "doctor: %s: names of probes go with --inside or --outside only; add one",
            words[0]);
    for (int i = 0; i < count; i++)
        if (!words[i][0] ||
            strspn(words[i], "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(words[i]))
            return sandbox_error_set(
                e, -EINVAL,
                "doctor: '%s' is not the name of a probe; glovebox doctor --inside lists them",
                words[i]);
    return 0;
}

int cli_doctor(int count, char **words)
{
    struct doctor_options o = {0};
    struct sandbox_error e;
    int used = 0, status = CLI_STATUS_BAD_USE;
    int r = parse(count, words, &o, &used, &e);
    if (r == 0 && o.run.help) {
        cli_doctor_help(stdout);
        status = 0;
        goto out;
    }
    if (r == 0)
        r = check_use(&o, count - used, words + used, &e);
    if (r < 0)
        cli_say_error(&e);
    else if (o.inside)
        status = doctor_inside(&o.run, count - used, words + used);
    else if (o.outside)
        status = doctor_outside(o.run.json, count - used, words + used);
    else
        status = doctor_machine(o.run.json);
out:
    run_options_done(&o.run);
    return status;
}
