// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox run: one program in a sandbox of its own.
 */
#include "cli/capture.h"
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
        "\n"
        "Options:\n",
        out);
    cli_options_print(cli_run_options, out);
    fputs(
        "\n"
        "Exit status: the program's own; 128+N when signal N ended it; 124 when the time was up;\n"
        "125 when Glovebox failed; 126 when the command can't be run; 127 when it isn't there.\n"
        "\n"
        "More: man glovebox-run\n",
        out);
}

/* What came of it, for people or as JSON. Returns the exit status. */
static int report(const struct run_options *o, const struct sandbox_outcome *outcome,
                  const struct capture *output, const struct capture *errors)
{
    if (outcome->message.text[0])
        cli_say_error(&outcome->message);
    if (!o->json)
        return outcome->exit_status;
    int r = report_write(stdout, o->spec.name, outcome, output, errors);
    if (r < 0) {
        struct sandbox_error e;
        sandbox_error_set(&e, r, "--json: %s; the result is incomplete", strerror(-r));
        cli_say_error(&e);
        return SANDBOX_STATUS_FAILED;
    }
    return outcome->exit_status;
}

static int run_sandbox(const struct run_options *o, int trace)
{
    struct capture output, errors;
    struct sandbox_outcome outcome;
    struct sandbox_io io = {
        .input = STDIN_FILENO,
        .output = o->json ? -1 : STDOUT_FILENO,
        .errors = o->json ? -1 : STDERR_FILENO,
        .take_output = capture_take,
        .take_errors = capture_take,
        .output_userdata = &output,
        .errors_userdata = &errors,
        .trace = trace,
        .timeout_ns = o->timeout_ns,
        .say = cli_say,
    };
    struct sandbox_error e;
    capture_init(&output);
    capture_init(&errors);
    if (sandbox_run(&o->spec, &io, &outcome, &e) < 0)
        outcome = (struct sandbox_outcome){
            .cause = SANDBOX_HOST_FAILURE,
            .exit_status = SANDBOX_STATUS_FAILED,
            .exit_code = -1,
            .message = e,
        };
    int status = report(o, &outcome, &output, &errors);
    capture_done(&output);
    capture_done(&errors);
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
