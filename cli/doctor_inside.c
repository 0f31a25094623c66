// SPDX-License-Identifier: Apache-2.0
/*
 * The probes: started in a sandbox or, those that are harmless, without one; and their report.
 */
#include "cli/canary.h"
#include "cli/doctor.h"
#include "cli/doctor_report.h"
#include "cli/probe_report.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "lib/text/capture.h"
#include "lib/text/shown.h"
#include "sandbox/program.h"
#include "sandbox/run.h"

#include <fcntl.h>
#include <sys/wait.h>

#define PROGRAM         "glovebox-probes"
#define PROGRAM_ROOM    "probes"
#define GUEST_PROGRAM   "/" PROGRAM
#define INSIDE_VARIABLE "GLOVEBOX_PROBE_INSIDE=1"
#define LONGEST_NS      (20 * 60 * NSEC_PER_SEC) /* unless --timeout says otherwise */
#define ERROR_BYTES     (64 * 1024)
#define ERROR_LINES_MAX 20

static int no_memory(struct sandbox_error *e)
{
    return sandbox_error_set(e, -ENOMEM, "doctor: out of memory; free some and try again");
}

static void note_found(void *report, const char *control, const char *name, const char *expected,
                       const char *reason)
{
    struct probe_row row = {.result = reason ? PROBE_ESCAPED : PROBE_CONTAINED,
                            .outside = OUTSIDE_NEVER};
    snprintf(row.control, sizeof(row.control), "%s", control);
    snprintf(row.name, sizeof(row.name), "%s", name);
    snprintf(row.expected, sizeof(row.expected), "%s", expected);
    if (reason)
        text_line(reason, strlen(reason), row.reason, sizeof(row.reason));
    probe_report_add(report, &row);
}

static void take_errors(void *capture, const char *data, size_t size)
{
    text_capture_take(capture, data, size);
}

/* What the probes said beside their report, as far as it is of use. */
static void say_errors(struct text_capture *errors)
{
    struct text_excerpt excerpt;
    if (text_capture_end(errors, &excerpt) < 0)
        return;
    const char *at = excerpt.kept.data, *end = at + excerpt.kept.size;
    for (int i = 0; i < ERROR_LINES_MAX && at < end; i++) {
        char line[512];
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((stop ? stop : end) - at);
        text_line(at, size, line, sizeof(line));
        cli_say(line);
        at += size + 1;
    }
    text_excerpt_done(&excerpt);
}

/* The end of the sandbox is not as it must be: says why, in the report. */
static void judge_outcome(const struct sandbox_outcome *o, struct doctor_result *result)
{
    if (o->cause == SANDBOX_EXITED && o->exit_code == 0)
        return;
    if (o->message.text[0])
        text_line(o->message.text, strlen(o->message.text), result->trouble,
                  sizeof(result->trouble));
    else
        snprintf(result->trouble, sizeof(result->trouble), "the sandbox ended early: %s, status %d",
                 sandbox_cause_name(o->cause), o->exit_status);
}

static int complete(struct run_options *o, const struct canary *c, int count, char **names,
                    struct sandbox_error *e)
{
    _cleanup_free_ char **words = calloc((size_t)count + 3, sizeof(*words));
    if (!words)
        return no_memory(e);
    words[0] = (char *)GUEST_PROGRAM;
    words[1] = (char *)"--inside";
    for (int i = 0; i < count; i++)
        words[i + 2] = names[i];
    int r = run_options_complete(o, count + 2, words, e);
    if (r < 0)
        return r;
    if (!o->spec.limits.value[LIMIT_TIMEOUT])
        o->spec.limits.value[LIMIT_TIMEOUT] = LONGEST_NS;
    o->spec.null_input = !o->spec.tty;
    o->spec.forget = true;
    o->spec.join_output = false;
    if (canary_tell(c, o->spec.hostname, &o->spec.env) < 0 ||
        strv_append(&o->spec.env, INSIDE_VARIABLE) < 0)
        return no_memory(e);
    return 0;
}

static int run_inside(struct run_options *o, struct doctor_result *result, struct sandbox_error *e)
{
    struct text_capture errors;
    struct sandbox_outcome outcome;
    _cleanup_close_ int trace = -1;
    struct sandbox_io io = {
        .input = o->spec.tty ? STDIN_FILENO : -1,
        .output = -1,
        .errors = -1,
        .take_output = probe_report_take,
        .take_errors = take_errors,
        .output_userdata = &result->report,
        .errors_userdata = &errors,
        .say = cli_say,
    };
    int r = run_options_open_trace(o, &trace, e);
    if (r < 0)
        return r;
    io.trace = trace;
    text_capture_init(&errors, ERROR_BYTES);
    r = sandbox_run(&o->spec, &io, &outcome, e);
    if (r == 0) {
        say_errors(&errors);
        judge_outcome(&outcome, result);
    }
    text_capture_done(&errors);
    return r;
}

static int attack(struct run_options *o, struct canary *c, int count, char **names,
                  struct doctor_result *result, struct sandbox_error *e)
{
    char program[PATH_MAX];
    /* Before the canary, which must not lie where something is mounted. */
    int r = sandbox_find_program(PROGRAM, PROGRAM_ROOM, program, e);
    if (r == 0 && (r = sandbox_spec_add_mount(&o->spec, program, GUEST_PROGRAM, true, e)) < 0)
        sandbox_error_prefix(e, r, "doctor");
    if (r == 0)
        r = run_options_check_host(e);
    if (r == 0)
        r = canary_make(c, &o->spec, program, e);
    if (r == 0)
        r = complete(o, c, count, names, e);
    result->report.token = c->token;
    if (r == 0)
        r = run_inside(o, result, e);
    if (r == 0) {
        probe_report_finish(&result->report);
        canary_check(c, note_found, &result->report);
    }
    return r;
}

int doctor_inside(struct run_options *o, int count, char **names)
{
    struct canary c = CANARY_NONE;
    struct doctor_result result = {.is_inside = true};
    struct sandbox_error e;
    int status = CLI_STATUS_BAD_USE;
    bool json = o->json;
    /* It is for the whole report, not for the program that runs. */
    o->json = false;
    probe_report_init(&result.report, NULL);
    if (attack(o, &c, count, names, &result, &e) < 0)
        cli_say_error(&e);
    else
        status = doctor_report(&result, json);
    probe_report_done(&result.report);
    canary_done(&c);
    return status;
}

/* ---- without a sandbox ---- */

_noreturn_ static void run_natively(const struct canary *c, int out, int count, char **names)
{
    struct strv env = {0};
    char **words = calloc((size_t)count + 3, sizeof(*words));
    int r = words ? 0 : -ENOMEM;
    for (char **entry = environ; *entry && r == 0; entry++)
        r = strv_append(&env, *entry);
    if (r == 0)
        r = canary_tell(c, NULL, &env);
    if (r < 0 || dup2(out, STDOUT_FILENO) < 0)
        _exit(1);
    words[0] = (char *)PROGRAM;
    words[1] = (char *)"--outside";
    for (int i = 0; i < count; i++)
        words[i + 2] = names[i];
    execve(c->program, words, env.items);
    _exit(1);
}

static int look(const struct canary *c, int count, char **names, struct doctor_result *result,
                struct sandbox_error *e)
{
    int two[2], status;
    char data[4096];
    ssize_t n;
    if (pipe2(two, O_CLOEXEC) < 0)
        return sandbox_error_set(e, -errno, "doctor: pipe: %s; close some files", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        run_natively(c, two[1], count, names);
    close(two[1]);
    while ((n = read(two[0], data, sizeof(data))) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            probe_report_take(&result->report, data, (size_t)n);
    close(two[0]);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return sandbox_error_set(e, -ECHILD, "doctor: fork: %s; end some processes",
                                 strerror(errno));
    if (status != 0)
        snprintf(result->trouble, sizeof(result->trouble), PROGRAM " ended with status %d",
                 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    probe_report_finish(&result->report);
    return 0;
}

int doctor_outside(bool json, int count, char **names)
{
    struct canary c = CANARY_NONE;
    struct doctor_result result = {.is_inside = false};
    struct sandbox_error e;
    char program[PATH_MAX];
    int status = CLI_STATUS_BAD_USE;
    probe_report_init(&result.report, NULL);
    int r = sandbox_find_program(PROGRAM, PROGRAM_ROOM, program, &e);
    if (r == 0)
        r = canary_make(&c, NULL, program, &e);
    if (r == 0)
        r = look(&c, count, names, &result, &e);
    if (r < 0)
        cli_say_error(&e);
    else
        status = doctor_report(&result, json);
    probe_report_done(&result.report);
    canary_done(&c);
    return status;
}
