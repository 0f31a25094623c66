// SPDX-License-Identifier: Apache-2.0
/*
 * What this machine offers, and whether a sandbox starts on it.
 */
#include "cli/doctor.h"

#include "cli/say.h"
#include "cli/verbs.h"
#include "sandbox/program.h"
#include "sandbox/run.h"
#include "sandbox/survey.h"

#include <jansson.h>

#define PROGRAM       "glovebox-probes"
#define GUEST_PROGRAM "/" PROGRAM

static void json_freep(json_t **j)
{
    json_decref(*j);
}

static void take_nothing(void *userdata _unused_, const char *data _unused_, size_t size _unused_)
{
}

/* A whole sandbox, with a program that does nothing: 0 and *ret, or negative errno with e. */
static int start_one(struct sandbox_outcome *ret, struct sandbox_error *e)
{
    char program[PATH_MAX];
    char *words[] = {(char *)GUEST_PROGRAM, (char *)"--exit", (char *)"0"};
    static const struct {
        enum sandbox_limit which;
        const char *value;
    } limits[] = {
        {LIMIT_MEMORY, "128M"}, {LIMIT_CPUS, "0.5"}, {LIMIT_PIDS, "64"}, {LIMIT_TIMEOUT, "30s"}};
    struct run_options o = {0};
    struct sandbox_io io = {
        .input = -1,
        .output = -1,
        .errors = -1,
        .take_output = take_nothing,
        .take_errors = take_nothing,
        .trace = -1,
        .say = cli_say,
    };
    int r = sandbox_find_program(PROGRAM, "probes", program, e);
    if (r == 0)
        r = sandbox_spec_add_mount(&o.spec, program, GUEST_PROGRAM, true, e);
    /* Small enough that the machine itself is no such limit. */
    for (size_t i = 0; i < ARRAY_SIZE(limits) && r == 0; i++)
        r = limit_take(&o.limits, limits[i].which, limits[i].value, e);
    if (r == 0)
        r = run_options_complete(&o, ARRAY_SIZE(words), words, e);
    o.spec.forget = true;
    if (r == 0)
        r = sandbox_run(&o.spec, &io, ret, e);
    run_options_done(&o);
    return r;
}

/* Who holds a sandbox to a limit, as the one that was started was held. */
static void survey_limit(struct survey *s, const char *name, enum limited_by by, bool is_counted)
{
    struct survey_finding *f =
        survey_find(s, name, "held by %s",
                    by == LIMITED_BY_KERNEL ? "the sandbox's own kernel" : limited_by_name(by));
    /* Processes are made by calls, which it counts exactly. */
    if (by == LIMITED_BY_KERNEL && !is_counted)
        survey_lacks(
            f, SURVEY_DEGRADED, "it is kept less exactly, by looking again and again",
            /* systemd hands a service of root's what it likes, and root has no unit of a user's. */
            geteuid() == 0 ? "run it where it may make control groups: in a unit of its own: "
                             "systemd-run --scope -p Delegate=yes glovebox ..."
                           : "run it where it may make control groups: as root, or in a "
                             "unit of your own: "
                             "systemd-run --user --scope -p Delegate=yes glovebox ...");
}

/* The proof of all of it. */
static void survey_start(struct survey *s)
{
    struct sandbox_outcome outcome;
    struct sandbox_error e;
    if (start_one(&outcome, &e) < 0) {
        survey_lacks_by_error(survey_find(s, "a sandbox", "does not start"), SURVEY_MISSING, &e);
        return;
    }
    if (outcome.cause == SANDBOX_EXITED && outcome.exit_code == 0) {
        survey_find(s, "a sandbox", "starts, and its program runs: %.1f ms",
                    (double)outcome.wall_ns / NSEC_PER_MSEC);
        survey_limit(s, "its limit of memory", outcome.controls.memory, false);
        survey_limit(s, "its limit of processors", outcome.controls.cpus, false);
        survey_limit(s, "its limit of processes", outcome.controls.pids, true);
        return;
    }
    struct survey_finding *f = survey_find(s, "a sandbox", "ends early: %s, status %d",
                                           sandbox_cause_name(outcome.cause), outcome.exit_status);
    if (outcome.message.text[0])
        survey_lacks_by_error(f, SURVEY_MISSING, &outcome.message);
    else
        survey_lacks(f, SURVEY_MISSING, "no program runs", "report this");
}

static void print_table(const struct survey *s)
{
    size_t width = 0;
    for (size_t i = 0; i < s->count; i++)
        width = MAX(width, strlen(s->findings[i].name));
    for (size_t i = 0; i < s->count; i++) {
        const struct survey_finding *f = &s->findings[i];
        printf("%-8s  %-*s  %s\n", survey_state_name(f->state), (int)width, f->name, f->found);
        if (f->cost[0])
            printf("%-8s  %-*s  it costs: %s\n", "", (int)width, "", f->cost);
        if (f->remedy[0])
            printf("%-8s  %-*s  to do: %s\n", "", (int)width, "", f->remedy);
    }
    puts(survey_is_enough(s) ? "\nSandboxes run here. Whether they hold: glovebox doctor --inside"
                             : "\nNo safe sandbox can run here: see what is missing above");
}

static json_t *make_text(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

static json_t *make_finding(const struct survey_finding *f)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", f->name, "state",
                     survey_state_name(f->state), "found", make_text(f->found), "cost",
                     make_text(f->cost), "remedy", make_text(f->remedy));
}

static int print_json(const struct survey *s)
{
    __attribute__((cleanup(json_freep))) json_t *object = json_object();
    json_t *list = json_array();
    int bad = 0;
    for (size_t i = 0; i < s->count; i++)
        bad |= json_array_append_new(list, make_finding(&s->findings[i]));
    bad |= json_object_set_new(object, "ready", json_boolean(survey_is_enough(s)));
    bad |= json_object_set_new(object, "checks", list);
    if (bad)
        return -ENOMEM;
    errno = 0;
    if (json_dumpf(object, stdout, JSON_COMPACT) < 0 || putchar('\n') == EOF)
        return errno ? -errno : -EIO;
    return 0;
}

int doctor_machine(bool json)
{
    struct survey s;
    survey_machine(&s);
    survey_start(&s);
    int r = 0;
    if (json)
        r = print_json(&s);
    else
        print_table(&s);
    if (r == 0 && fflush(stdout) == 0)
        return survey_is_enough(&s) ? 0 : DOCTOR_STATUS_BAD;
    struct sandbox_error e;
    sandbox_error_set(&e, -EIO, "doctor: %s; the report is incomplete", strerror(r ? -r : errno));
    cli_say_error(&e);
    return CLI_STATUS_BAD_USE;
}
