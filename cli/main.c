// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "sandbox/create_ask.h"

#include <fcntl.h>
#include <signal.h>

static int cli_help(int count, char **words);

static const struct verb {
    const char *name;
    const char *summary;
    int (*run)(int count, char **words);
    void (*help)(FILE *out);
} verbs[] = {
    {"run", "run a program in a sandbox of its own", cli_run, cli_run_help},
    {"create", "make a sandbox that lives on", cli_create, cli_create_help},
    {"exec", "run one more program in a running sandbox", cli_exec, cli_exec_help},
    {"attach", "follow a program that exec has started", cli_attach, cli_attach_help},
    {"stop", "end sandboxes", cli_stop, cli_stop_help},
    {"kill", "end sandboxes at once", cli_kill, cli_kill_help},
    {"wait", "wait until sandboxes have ended", cli_wait, cli_wait_help},
    {"rm", "forget sandboxes that have ended", cli_rm, cli_rm_help},
    {"ps", "list sandboxes", cli_ps, cli_ps_help},
    {"inspect", "what a sandbox may use and uses, or how it ended", cli_inspect, cli_inspect_help},
    {"logs", "what programs of a sandbox wrote", cli_logs, cli_logs_help},
    {"stats", "what running sandboxes use, again and again", cli_stats, cli_stats_help},
    {"events", "what happens to sandboxes, as it happens", cli_events, cli_events_help},
    {"cp", "copy files out of a running sandbox, or into one", cli_cp, cli_cp_help},
    {"port", "ports on which programs listen, and ways to them", cli_port, cli_port_help},
    {"egress", "what a sandbox was let do on the network, and what not", cli_egress,
     cli_egress_help},
    {"policy", "check, explain, learn and replace network policies", cli_policy, cli_policy_help},
    {"serve", "sandboxes for programs that use E2B's SDKs", cli_serve, cli_serve_help},
    {"key", "API keys of serve, and what they may do", cli_key, cli_key_help},
    {"doctor", "what this machine offers, and whether a sandbox holds", cli_doctor,
     cli_doctor_help},
    {"help", "explain a command: glovebox help run", cli_help, NULL},
};

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        if (!strcmp(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

static const char *get_verb_name(const void *list, size_t i)
{
    return ((const struct verb *)list)[i].name;
}

static void print_help(FILE *out)
{
    fputs("Usage: glovebox COMMAND ...\n"
          "\n"
          "Runs code that you don't trust, each program in a sandbox of its own.\n"
          "\n"
          "Try:\n"
          "  glovebox run -- python3 -c 'print(sum(range(10)))'\n"
          "  glovebox run -it -- bash\n"
          "\n"
          "Commands:\n",
          out);
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        fprintf(out, "  %-8s %s\n", verbs[i].name, verbs[i].summary);
    fputs("\n"
          "glovebox COMMAND --help says more, glovebox --version what this is.\n",
          out);
}

static int unknown_verb(const char *name)
{
    struct sandbox_error e;
    const char *meant = cli_suggest(name, ARRAY_SIZE(verbs), get_verb_name, verbs);
    if (name[0] == '-')
        sandbox_error_set(&e, -EINVAL, "%s: no such option; see glovebox --help", name);
    else if (meant)
        sandbox_error_set(&e, -EINVAL, "%s: no such command; did you mean glovebox %s?", name,
                          meant);
    else
        sandbox_error_set(&e, -EINVAL,
                          "%s: no such command; to run a program write: glovebox run -- %s", name,
                          name);
    cli_say_error(&e);
    return CLI_STATUS_BAD_USE;
}

static int cli_help(int count, char **words)
{
    if (count == 0) {
        print_help(stdout);
        return 0;
    }
    const struct verb *verb = find_verb(words[0]);
    if (!verb)
        return unknown_verb(words[0]);
    if (verb->help)
        verb->help(stdout);
    else
        print_help(stdout);
    return 0;
}

/* With one of 0, 1, 2 closed, the next file that is opened would take its place. */
static void open_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* A result that did not get where it was to go is none. */
static int end_output(int status)
{
    struct sandbox_error e;
    errno = 0;
    bool is_lost = fflush(stdout) == EOF || ferror(stdout);
    if (!is_lost || status == CLI_STATUS_BAD_USE)
        return status;
    sandbox_error_set(&e, -EIO, "standard output: %s; the result is incomplete",
                      errno ? strerror(errno) : "it took not all");
    cli_say_error(&e);
    return CLI_STATUS_BAD_USE;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CLI_STATUS_BAD_USE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        return cli_help(argc - 2, argv + 2);
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
        puts("glovebox " GLOVEBOX_VERSION);
        return 0;
    }
    if (!strcmp(word, CREATE_VERB))
        return cli_answer(argc - 2, argv + 2);
    const struct verb *verb = find_verb(word);
    return verb ? verb->run(argc - 2, argv + 2) : unknown_verb(word);
}

int main(int argc, char **argv)
{
    open_standard_descriptors();
    signal(SIGCHLD, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN); /* what can't be written is told, as on a full disk */
    return end_output(run(argc, argv));
}
