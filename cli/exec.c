// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox exec: one more program in a sandbox that runs; glovebox attach: one that is there.
 */
#include "cli/attach.h"
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/values.h"
#include "cli/verbs.h"
#include "sandbox/exec_ask.h"
#include "sandbox/limit_table.h"
#include "sandbox/outcome.h"
#include "sandbox/terminal.h"

#define DEFAULT_GRACE_NS (2 * NSEC_PER_SEC)

struct exec_options {
    struct exec_command command;
    struct attach_options attach;
    struct strv file_env;
    uint64_t offset; /* attach: from where */
    bool help;
};

#define OPTIONS(target) ((struct exec_options *)(target))

static int take_tty(void *target, const char *value _unused_, struct sandbox_error *e _unused_)
{
    OPTIONS(target)->attach.tty = true;
    OPTIONS(target)->command.flags |= EXEC_TTY;
    return 0;
}

static int take_detach(void *target, const char *value _unused_, struct sandbox_error *e _unused_)
{
    OPTIONS(target)->attach.detach = true;
    OPTIONS(target)->command.flags |= EXEC_LOG;
    return 0;
}

static int take_workdir(void *target, const char *value, struct sandbox_error *e)
{
    if (value[0] != '/')
        return sandbox_error_set(e, -EINVAL,
                                 "it does not begin with a slash; give a path in the sandbox");
    OPTIONS(target)->command.workdir = value;
    return 0;
}

static int take_tag(void *target, const char *value, struct sandbox_error *e)
{
    if (!value[0] || strlen(value) > EXEC_TAG_MAX_BYTES)
        return sandbox_error_set(e, -EINVAL, "it has no bytes, or more than %d; choose another",
                                 EXEC_TAG_MAX_BYTES);
    OPTIONS(target)->command.tag = value;
    return 0;
}

static int take_since(void *target, const char *value, struct sandbox_error *e)
{
    if (!cli_parse_number(value, 0, INT64_MAX, &OPTIONS(target)->offset))
        return sandbox_error_set(e, -EINVAL, "not a number of bytes; 0 is from the beginning");
    return 0;
}

static int take_new(void *target, const char *value _unused_, struct sandbox_error *e _unused_)
{
    OPTIONS(target)->offset = EXEC_FROM_NOW;
    return 0;
}

static const struct cli_option exec_table[] = {
    {"interactive", 'i', NULL, "pass standard input on",
     CLI_FLAG(struct exec_options, attach.input)},
    {"tty", 't', NULL, "give it a terminal: for shells and editors", take_tty, 0},
    {"detach", 'd', NULL, "don't wait for it: print its process id; see glovebox logs", take_detach,
     0},
    {"user", 'u', "NAME|UID[:GID]", "who it is in the sandbox",
     CLI_WORD(struct exec_options, command.user)},
    {"workdir", 'w', "PATH", "the working directory (default: the sandbox's)", take_workdir, 0},
    {"env", 'e', "NAME[=VALUE]", "set a variable; NAME alone takes its value from here",
     CLI_ENV(struct exec_options, command.env)},
    {"env-file", 0, "FILE", "variables from a file, one NAME=VALUE a line",
     CLI_ENV_FILE(struct exec_options, command.env)},
    {"timeout", 0, "TIME", "end it after TIME: SIGTERM, and 2 s later SIGKILL",
     CLI_TIME(struct exec_options, command.timeout_ns)},
    {"tag", 0, "WORD", "a name for it, for glovebox attach", take_tag, 0},
    {"raw", 0, NULL, "let all terminal sequences through to your terminal",
     CLI_FLAG(struct exec_options, attach.raw)},
    CLI_HELP(struct exec_options, help),
    {0},
};

static const struct cli_foreign_option exec_foreign[] = {
    {"privileged", "give --user root, which is nothing outside"},
    {0},
};

static const struct cli_options exec_grammar = {
    .options = exec_table,
    .foreign = exec_foreign,
    .help_command = "glovebox exec --help",
};

void cli_exec_help(FILE *out)
{
    fputs("Usage: glovebox exec [OPTIONS] NAME [--] COMMAND [ARG...]\n"
          "\n"
          "Runs one more program in a sandbox that runs. It sees the sandbox's files and other\n"
          "programs, and has its limits and network policy.\n"
          "\n"
          "Examples:\n"
          "  glovebox exec box -- ls -l\n"
          "  glovebox exec -it box -- bash\n"
          "  glovebox exec -d --tag web box -- python3 -m http.server\n"
          "\n"
          "Options:\n",
          out);
    cli_options_print(exec_table, out);
    fputs("\n"
          "Exit status: as with glovebox run. A program that is detached, or whose glovebox exec\n"
          "was killed, lives on in the sandbox; glovebox attach finds it again.\n"
          "\n"
          "More: man glovebox-exec\n",
          out);
}

static const struct cli_option attach_table[] = {
    {"interactive", 'i', NULL, "pass standard input on",
     CLI_FLAG(struct exec_options, attach.input)},
    {"since", 0, "BYTES",
     "its output from that byte on, of what is kept: the last\n"
     "1 MiB (default: 0)",
     take_since, 0},
    {"new", 0, NULL, "only output that comes from now on", take_new, 0},
    {"raw", 0, NULL, "let all terminal sequences through to your terminal",
     CLI_FLAG(struct exec_options, attach.raw)},
    CLI_HELP(struct exec_options, help),
    {0},
};

static const struct cli_options attach_grammar = {
    .options = attach_table,
    .foreign = (const struct cli_foreign_option[]){{0}},
    .help_command = "glovebox attach --help",
};

void cli_attach_help(FILE *out)
{
    fputs("Usage: glovebox attach [OPTIONS] NAME PID|TAG\n"
          "\n"
          "Shows the output of a program that glovebox exec started in the sandbox NAME, and\n"
          "waits for its end. PID is its number in the sandbox, TAG its --tag.\n"
          "\n"
          "Options:\n",
          out);
    cli_options_print(attach_table, out);
    fputs("\nMore: man glovebox-exec\n", out);
}

static int connect_and_start(struct exec_options *o, struct sandbox_error *e)
{
    struct exec_command *c = &o->command;
    if (!o->attach.input && !o->attach.tty)
        c->flags |= EXEC_NULL_INPUT;
    if (o->attach.tty) {
        o->attach.input = true;
        terminal_get_size(STDIN_FILENO, &c->rows, &c->columns);
    }
    c->grace_ns = DEFAULT_GRACE_NS;
    o->attach.is_own = true;
    int fd = exec_connect(o->attach.name, e);
    int r = fd < 0 ? fd : exec_ask_start(fd, c, e);
    if (r < 0 && fd >= 0)
        close(fd);
    return r < 0 ? r : fd;
}

static int finish(int fd, int r, const struct exec_options *o, struct sandbox_error *e)
{
    int status = CLI_STATUS_BAD_USE;
    if (r >= 0)
        status = attach_run(fd, &o->attach, e);
    if (fd >= 0)
        close(fd);
    if (r < 0 || e->text[0])
        cli_say_error(e);
    return status;
}

int cli_exec(int count, char **words)
{
    struct exec_options o = {0};
    struct sandbox_error e;
    int used, fd = -1;
    int r = cli_options_parse(&exec_grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_exec_help(stdout);
        return 0;
    }
    int command = used + 1;
    if (r == 0 && command < count && !strcmp(words[command], "--"))
        command++;
    if (r == 0 && command >= count)
        r = sandbox_error_set(&e, -EINVAL,
                              "exec: no command; write a sandbox's name and the command, for "
                              "example: glovebox exec NAME -- ls");
    for (int i = command; i < count && r == 0; i++)
        r = strv_append(&o.command.args, words[i]);
    if (r == 0) {
        o.attach.name = words[used];
        r = fd = connect_and_start(&o, &e);
    }
    int status = finish(fd, r, &o, &e);
    strv_done(&o.command.args);
    strv_done(&o.command.env);
    return status;
}

int cli_attach(int count, char **words)
{
    struct exec_options o = {0};
    struct sandbox_error e;
    char *end;
    int used, fd = -1;
    int r = cli_options_parse(&attach_grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_attach_help(stdout);
        return 0;
    }
    if (r == 0 && count - used != 2)
        r = sandbox_error_set(&e, -EINVAL,
                              "attach: not two words; write a sandbox's name and a process id or "
                              "tag, for example: glovebox attach NAME 7");
    if (r == 0) {
        o.attach.name = words[used];
        r = fd = exec_connect(o.attach.name, &e);
    }
    if (r >= 0) {
        const char *which = words[used + 1];
        long pid = strtol(which, &end, 10);
        bool is_pid = pid > 0 && !*end;
        r = exec_ask_attach(fd, is_pid ? pid : 0, is_pid ? NULL : which, o.offset);
        if (r < 0)
            sandbox_error_set(&e, r, "%s: %s; does the sandbox still run?", o.attach.name,
                              strerror(-r));
    }
    return finish(fd, r, &o, &e);
}
