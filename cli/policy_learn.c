// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox policy learn: runs a program that may reach everything public, and writes the policy
 * that allows just what it did.
 */
#include "cli/learn.h"
#include "cli/policy_file.h"
#include "cli/run_options.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "lib/policy/policy.h"
#include "sandbox/run.h"

static const char audit[] =
    "{\"version\": 1, \"mode\": \"audit\", \"default\": \"deny\", \"rules\": []}";

static const struct cli_options grammar = {
    .options = cli_run_options,
    .foreign = cli_run_foreign,
    .help_command = "glovebox policy --help",
};

static void take_decision(void *learn, const char *line, size_t size)
{
    learn_take(learn, line, size);
}

/* What the policy on standard output leaves no room for, or says itself. */
static int check_options(const struct run_options *o, struct sandbox_error *e)
{
    const char *wrong = o->policy                    ? "--policy"
                        : o->allow.count             ? "--allow"
                        : o->secrets.count           ? "--secret"
                        : run_options_is_captured(o) ? o->json ? "--json" : "--for-model"
                                                     : NULL;
    if (wrong)
        return sandbox_error_set(e, -EINVAL,
                                 "%s: not with policy learn, which allows what is public and "
                                 "prints a policy; leave it out",
                                 wrong);
    return 0;
}

static void say_each(json_t *object, const char *format)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        struct sandbox_error line;
        const char *reason = json_string_value(value);
        sandbox_error_set(&line, 0, format, key, reason ? reason : "");
        cli_say_error(&line);
    }
}

/* What nobody would see in the document. */
static void say_rest(const struct learn *l)
{
    say_each(l->closed, "learn: left out: %s, which no policy can allow (%s)");
    say_each(l->unused, "learn: left out: %s was looked up, but not connected to%s");
    if (l->is_too_much)
        cli_say("learn: there were more places than a policy can name; allow a pattern, or public");
    if (l->is_incomplete)
        cli_say("learn: some decisions got lost, the policy may lack them; run it again");
}

static int write_policy(const struct learn *l, struct sandbox_error *e)
{
    struct buf text = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    int r = learn_write(l, &text);
    if (r == 0 && (fwrite(text.data, 1, text.size, stdout) != text.size || fflush(stdout) == EOF))
        r = -errno;
    buf_done(&text);
    return r < 0 ? sandbox_error_set(e, r,
                                     "policy learn: the policy can't be written: %s; make "
                                     "room for it",
                                     strerror(-r))
                 : 0;
}

/* The program's output goes to standard error: the policy has standard output for itself. */
static int run(const struct run_options *o, int trace, struct learn *l, int *ret_status,
               struct sandbox_error *e)
{
    const struct text_style *style = o->raw || o->spec.tty ? NULL : cli_choose_style(STDERR_FILENO);
    const struct sandbox_io io = {
        .input = STDIN_FILENO,
        .output = STDERR_FILENO,
        .errors = STDERR_FILENO,
        .output_style = style,
        .errors_style = style,
        .trace = trace,
        .say = cli_say,
        .take_decision = take_decision,
        .decision_userdata = l,
    };
    struct sandbox_outcome outcome;
    cli_say_begin();
    int r = sandbox_run(&o->spec, &io, &outcome, e);
    cli_say_end();
    if (r < 0)
        return r;
    if (outcome.message.text[0])
        cli_say_error(&outcome.message);
    *ret_status = outcome.exit_status;
    return outcome.cause == SANDBOX_NOT_STARTED ? 1 : 0;
}

static int learn(struct run_options *o, int count, char **words, int *ret_status,
                 struct sandbox_error *e)
{
    struct learn l;
    _cleanup_close_ int trace = -1;
    int r = check_options(o, e);
    if (r == 0)
        r = sandbox_spec_set_policy(&o->spec, audit, strlen(audit), e);
    if (r == 0)
        r = run_options_complete(o, count, words, e);
    if (r == 0)
        r = run_options_check_host(e);
    if (r == 0)
        r = run_options_open_trace(o, &trace, e);
    if (r < 0)
        return r;
    o->spec.join_output = !o->spec.tty;
    r = learn_init(&l);
    if (r < 0)
        sandbox_error_set(e, r, "policy learn: out of memory; free some and try again");
    if (r == 0)
        r = run(o, trace, &l, ret_status, e);
    if (r == 0) {
        say_rest(&l);
        r = write_policy(&l, e);
    }
    learn_done(&l);
    return r;
}

int cli_policy_learn(int count, char **words)
{
    struct run_options o = {0};
    struct sandbox_error e;
    int used, status = CLI_STATUS_BAD_USE;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_policy_help(stdout);
        status = 0;
    } else if (r == 0) {
        r = learn(&o, count - used, words + used, &status, &e);
    }
    if (r < 0) {
        cli_say_error(&e);
        status = CLI_STATUS_BAD_USE;
    }
    run_options_done(&o);
    return status;
}
