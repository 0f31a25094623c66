// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox run: one program in a sandbox of its own.
 */
#include "cli/report.h"
#include "cli/run_options.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "sandbox/run.h"

static const struct cli_options grammar = {
    .options = cli_run_options,
    .foreign = cli_run_foreign,
    .help_command = "glovebox run --help",
};

void cli_run_help(FILE *out)
{
    fputs(
        "Usage: glovebox run [OPTIONS] [--] COMMAND [ARG...]\n"
        "\n"
        "Runs a program that you don't trust. It gets a machine of its own: your programs to use,\n"
        "files of its own to write, no network, and nothing of yours but what you mount.\n"
        "\n"
        "Examples:\n"
        "  glovebox run -- python3 -c 'print(sum(range(10)))'\n"
        "  echo 'print(1)' | glovebox run -- python3 -\n"
        "  glovebox run --mount ./data:/data:ro --timeout 30 -- python3 /data/job.py\n"
        "  glovebox run --mount .:/src --workdir /src -- make\n"
        "  glovebox run -it -- bash\n"
        "  glovebox run --json -- sh -c 'echo out; echo err >&2; exit 3' | jq .exit_code\n"
        "  glovebox run --for-model --timeout 60 -- python3 -m unittest\n"
        "\n"
        "Options:\n",
        out);
    cli_options_print(cli_run_options, out);
    fputs(
        "\n"
        "Exit status: the program's own; 128+N when signal N ended it; 137 also when a limit of\n"
        "memory or a budget did; 124 when the time was up; 125 when Glovebox failed; 126 when the\n"
        "command can't be run; 127 when it isn't there.\n"
        "\n"
        "More: man glovebox-run\n",
        out);
}

static void take_stream(void *capture, const char *data, size_t size)
{
    text_capture_take(capture, data, size);
}

/* The result as --json or --for-model have it. */
static int write_report(const struct run_options *o, const struct sandbox_outcome *outcome,
                        struct text_capture *output, struct text_capture *errors)
{
    struct text_excerpt texts[2] = {0};
    const struct report report = {
        .name = o->spec.name,
        .outcome = outcome,
        .output = &texts[0],
        .errors = &texts[1],
        .has_bytes = o->raw,
        .has_model = o->for_model,
    };
    int r = text_capture_end(output, &texts[0]);
    if (r == 0)
        r = text_capture_end(errors, &texts[1]);
    if (r == 0)
        r = o->json ? report_write_json(stdout, &report) : report_write_model(stdout, &report);
    text_excerpt_done(&texts[0]);
    text_excerpt_done(&texts[1]);
    return r;
}

/* What came of it. Returns the exit status. */
static int report(const struct run_options *o, const struct sandbox_outcome *outcome,
                  struct text_capture *output, struct text_capture *errors)
{
    if (outcome->message.text[0])
        cli_say_error(&outcome->message);
    if (!run_options_is_captured(o))
        return outcome->exit_status;
    int r = write_report(o, outcome, output, errors);
    if (r < 0) {
        struct sandbox_error e;
        sandbox_error_set(&e, r, "%s: %s; the result is incomplete",
                          o->json ? "--json" : "--for-model", strerror(-r));
        cli_say_error(&e);
        return SANDBOX_STATUS_FAILED;
    }
    return outcome->exit_status;
}

static struct sandbox_io make_io(const struct run_options *o, int trace,
                                 struct text_capture *output, struct text_capture *errors)
{
    bool is_captured = run_options_is_captured(o);
    /* With -t the program draws on a terminal of its own, which is ours. */
    bool is_shown = !is_captured && !o->raw && !o->spec.tty;
    return (struct sandbox_io){
        .input = STDIN_FILENO,
        .output = is_captured ? -1 : STDOUT_FILENO,
        .errors = is_captured ? -1 : STDERR_FILENO,
        .take_output = take_stream,
        .take_errors = take_stream,
        .output_userdata = output,
        .errors_userdata = errors,
        .output_style = is_shown ? cli_choose_style(STDOUT_FILENO) : NULL,
        .errors_style = is_shown ? cli_choose_style(STDERR_FILENO) : NULL,
        .trace = trace,
        .wants_memory = is_captured,
        .say = cli_say,
    };
}

static int run_sandbox(const struct run_options *o, int trace)
{
    struct text_capture output, errors;
    struct sandbox_io io = make_io(o, trace, &output, &errors);
    struct sandbox_outcome outcome;
    struct sandbox_error e;
    size_t limit_bytes = o->spec.limits.value[LIMIT_OUTPUT];
    text_capture_init(&output, limit_bytes);
    text_capture_init(&errors, limit_bytes);
    cli_say_begin();
    int r = sandbox_run(&o->spec, &io, &outcome, &e);
    cli_say_end();
    if (r < 0) {
        outcome = (struct sandbox_outcome){
            .cause = SANDBOX_HOST_FAILURE,
            .exit_code = -1,
            .limits = o->spec.limits,
            .message = e,
        };
        outcome_finish(&outcome);
    }
    int status = report(o, &outcome, &output, &errors);
    text_capture_done(&output);
    text_capture_done(&errors);
    return status;
}

int cli_run(int count, char **words)
{
    struct run_options o = {0};
    struct sandbox_error e;
    _cleanup_close_ int trace = -1;
    int used, status = CLI_STATUS_BAD_USE;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_run_help(stdout);
        status = 0;
        goto out;
    }
    if (r == 0 && o.version) {
        puts("glovebox " GLOVEBOX_VERSION);
        status = 0;
        goto out;
    }
    if (r == 0)
        r = run_options_complete(&o, count - used, words + used, &e);
    if (r == 0)
        r = run_options_check_host(&e);
    if (r == 0)
        r = run_options_open_trace(&o, &trace, &e);
    if (r < 0)
        cli_say_error(&e);
    else
        status = run_sandbox(&o, trace);
out:
    run_options_done(&o);
    return status;
}
