// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox stop, kill and wait: the ends of sandboxes.
 */
#include "cli/options.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "sandbox/exec_ask.h"

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
