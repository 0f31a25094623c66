// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox create, stop, kill and wait: sandboxes that live on behind their command.
 */
#include "cli/options.h"
#include "cli/run_options.h"
#include "cli/say.h"
#include "cli/values.h"
#include "cli/verbs.h"
#include "sandbox/create.h"
#include "sandbox/exec_ask.h"

#define CREATE_LIFETIME_NS (300 * NSEC_PER_SEC)

static const struct cli_options create_grammar = {
    .options = cli_run_options,
    .foreign = cli_run_foreign,
    .help_command = "glovebox create --help",
};

void cli_create_help(FILE *out)
{
    fputs("Usage: glovebox create [OPTIONS]\n"
          "\n"
          "Makes a sandbox that lives on without a program of its own, and prints its name.\n"
          "glovebox exec runs programs in it; it ends with glovebox stop, or when its lifetime\n"
          "is over: 5 minutes, unless --lifetime says otherwise.\n"
          "\n"
          "Options are those of glovebox run, but for what concerns a command and its output:\n"
          "--timeout, --tty, --trace, --json, --for-model, --output-limit, --raw.\n"
          "\n"
          "More: man glovebox-create\n",
          out);
}

static int check_create(const struct run_options *o, int left, const char *word,
                        struct sandbox_error *e)
{
    const struct {
        bool is_given;
        const char *name;
    } of_commands[] = {{o->limits.is_given[LIMIT_TIMEOUT], "--timeout"},
                       {o->spec.tty, "--tty"},
                       {o->trace != NULL, "--trace"},
                       {o->json, "--json"},
                       {o->for_model, "--for-model"},
                       {o->limits.is_given[LIMIT_OUTPUT], "--output-limit"},
                       {o->raw, "--raw"}};
    for (size_t i = 0; i < ARRAY_SIZE(of_commands); i++)
        if (of_commands[i].is_given)
            return sandbox_error_set(e, -EINVAL,
                                     "%s: is for a command; leave it out here, or see glovebox "
                                     "exec --help",
                                     of_commands[i].name);
    if (left > 0)
        return sandbox_error_set(e, -EINVAL,
                                 "create: starts no command; leave %s out, and run it with "
                                 "glovebox exec NAME",
                                 word);
    return 0;
}

int cli_create(int count, char **words)
{
    struct run_options o = {.spec.waits = true};
    struct sandbox_error e;
    char name[SANDBOX_NAME_MAX_BYTES + 1];
    int used;
    int r = cli_options_parse(&create_grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_create_help(stdout);
        run_options_done(&o);
        return 0;
    }
    if (r == 0)
        r = check_create(&o, count - used, used < count ? words[used] : "", &e);
    if (r == 0)
        r = run_options_complete(&o, 0, NULL, &e);
    if (r == 0)
        r = run_options_check_host(&e);
    if (r == 0) {
        uint64_t *lifetime = &o.spec.limits.value[LIMIT_LIFETIME];
        *lifetime = *lifetime ? *lifetime : (uint64_t)CREATE_LIFETIME_NS;
        r = sandbox_create(&o.spec, name, &e);
    }
    if (r < 0)
        cli_say_error(&e);
    else
        puts(name);
    run_options_done(&o);
    return r < 0 ? CLI_STATUS_BAD_USE : 0;
}

/* ---- stop, kill, wait ---- */

struct life_options {
    bool help;
};

static int take_help(void *target, const char *value _unused_, struct sandbox_error *e _unused_)
{
    ((struct life_options *)target)->help = true;
    return 0;
}

static const struct cli_option life_table[] = {
    {"help", 'h', NULL, "print this", take_help},
    {0},
};

static const struct cli_foreign_option no_foreign[] = {{0}};

static void print_help(FILE *out, const char *verb, const char *text)
{
    fprintf(out, "Usage: glovebox %s NAME...\n\n%s\nOptions:\n", verb, text);
    cli_options_print(life_table, out);
    fprintf(out, "\nMore: man glovebox-create\n");
}

void cli_stop_help(FILE *out)
{
    print_help(out, "stop",
               "Ends sandboxes: their programs get SIGTERM, and what still runs when the\n"
               "sandbox's --grace is over is killed. Returns when they are gone.\n");
}

void cli_kill_help(FILE *out)
{
    print_help(out, "kill", "Ends sandboxes at once. Returns when they are gone.\n");
}

void cli_wait_help(FILE *out)
{
    print_help(out, "wait",
               "Waits until sandboxes have ended, and prints for each its name and why. The exit\n"
               "status is that of the last one, as glovebox run has it.\n");
}

/* Waits for the sandbox's EXEC_OVER: its status, or negative errno. */
static int wait_over(int fd, const char *name, bool is_told, struct sandbox_error *e)
{
    static struct exec_message m;
    char cause[64], words[256];
    do {
        ssize_t n = exec_receive(fd, &m);
        if (n <= 0)
            return sandbox_error_set(e, n < 0 ? (int)n : -EPIPE,
                                     "%s: its starter has ended without a word", name);
    } while (m.packet.type != EXEC_OVER);
    size_t size = strnlen(m.text, m.packet.text_size);
    text_line(m.text, size, cause, sizeof(cause));
    size = MIN(size + 1, (size_t)m.packet.text_size);
    text_line(m.text + size, m.packet.text_size - size, words, sizeof(words));
    if (is_told)
        printf("%s\t%s\t%s\n", name, cause, words);
    return m.packet.status & 0xff;
}

/* end: EXEC_END comes with that status; -1: it is only waited for. */
static int end_one(const char *name, int end, struct sandbox_error *e)
{
    const char *who = end == 1 ? "glovebox kill" : "glovebox stop";
    const struct exec_packet watch = {.version = EXEC_VERSION, .type = EXEC_WATCH};
    const struct exec_packet stop = {.version = EXEC_VERSION,
                                     .type = EXEC_END,
                                     .status = end,
                                     .text_size = (uint32_t)strlen(who)};
    _cleanup_close_ int fd = exec_connect(name, e);
    int r = fd < 0 ? fd : exec_ask_wait(fd, &watch, NULL, e);
    if (r == 0 && end >= 0)
        r = exec_ask_wait(fd, &stop, who, e);
    return r < 0 ? r : wait_over(fd, name, end < 0, e);
}

static int end_all(int count, char **words, const char *verb, int end, void (*help)(FILE *out))
{
    char command[64];
    snprintf(command, sizeof(command), "glovebox %s --help", verb);
    const struct cli_options grammar = {
        .options = life_table, .foreign = no_foreign, .help_command = command};
    struct life_options o = {0};
    struct sandbox_error e;
    int used, status = 0;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        help(stdout);
        return 0;
    }
    if (r == 0 && used == count)
        r = sandbox_error_set(&e, -EINVAL, "%s: no name; glovebox ps lists the sandboxes", verb);
    if (r < 0)
        cli_say_error(&e);
    for (int i = used; i < count && r >= 0; i++) {
        int one = end_one(words[i], end, &e);
        if (one < 0) {
            cli_say_error(&e);
            status = CLI_STATUS_BAD_USE;
        } else if (end < 0) {
            status = one;
        }
    }
    return r < 0 ? CLI_STATUS_BAD_USE : status;
}

int cli_stop(int count, char **words)
{
    return end_all(count, words, "stop", 0, cli_stop_help);
}

int cli_kill(int count, char **words)
{
    return end_all(count, words, "kill", 1, cli_kill_help);
}

int cli_wait(int count, char **words)
{
    return end_all(count, words, "wait", -1, cli_wait_help);
}
