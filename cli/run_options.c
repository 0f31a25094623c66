// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.h"

#include "cli/config.h"
#include "cli/egress_options.h"
#include "cli/limit_options.h"
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/values.h"
#include "lib/text/capture.h"
#include "sandbox/host.h"
#include "sandbox/jail.h"
#include "sandbox/secrets.h"
#include "sandbox/terminal.h"

#include <fcntl.h>
#include <sys/stat.h>

#define MODEL_OUTPUT_BYTES (32 * 1024) /* some 8,000 tokens */
#define DEFAULT_HOSTNAME   "glovebox"
#define DEFAULT_PATH       "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Whose value is taken, and checked, by the specification itself. */
#define SPEC_OPTION(function, set)                                                \
    static int function(void *target, const char *value, struct sandbox_error *e) \
    {                                                                             \
        struct run_options *o = target;                                           \
        return set(&o->spec, value, e);                                           \
    }

SPEC_OPTION(take_image, sandbox_spec_set_image)
SPEC_OPTION(take_workdir, sandbox_spec_set_workdir)
SPEC_OPTION(take_user, sandbox_spec_set_user)
SPEC_OPTION(take_hostname, sandbox_spec_set_hostname)
SPEC_OPTION(take_name, sandbox_spec_set_name)

static int take_mount(void *target, const char *value, struct sandbox_error *e)
{
    struct run_options *o = target;
    _cleanup_free_ char *host = NULL, *guest = NULL;
    bool read_only;
    int r = cli_parse_mount(value, &host, &guest, &read_only, e);
    if (r < 0)
        return r;
    return sandbox_spec_add_mount(&o->spec, host, guest, read_only, e);
}

static int take_tmpfs(void *target, const char *value, struct sandbox_error *e)
{
    struct run_options *o = target;
    _cleanup_free_ char *path = NULL;
    uint64_t bytes;
    int r = cli_parse_tmpfs(value, &path, &bytes, e);
    if (r < 0)
        return r;
    return sandbox_spec_add_tmpfs(&o->spec, path, bytes, e);
}

static int take_label(void *target, const char *value, struct sandbox_error *e)
{
    struct run_options *o = target;
    return labels_add(&o->spec.labels, value, e);
}

static int take_publish(void *target, const char *value, struct sandbox_error *e)
{
    struct run_options *o = target;
    struct port_forward f;
    int r = cli_parse_forward(value, &f, e);
    return r < 0 ? r : sandbox_spec_add_publish(&o->spec, &f, e);
}

/* Standard input is always passed on; the option is there for the fingers. */
static int take_interactive(void *target _unused_, const char *value _unused_,
                            struct sandbox_error *e _unused_)
{
    return 0;
}

static int take_trace(void *target, const char *value, struct sandbox_error *e)
{
    struct run_options *o = target;
    if (!value[0])
        return sandbox_error_set(e, -EINVAL, "the name is empty; give a file, or - for stderr");
    free(o->trace);
    o->trace = strdup(value);
    o->spec.trace = true;
    return o->trace ? 0 : sandbox_error_set(e, -ENOMEM, "out of memory; free some");
}

static int take_allow_missing(void *target, const char *value, struct sandbox_error *e)
{
    struct run_options *o = target;
    return jail_allow_missing(&o->spec.allow_missing, value, e);
}

const struct cli_option cli_run_options[] = {
    {"image", 0, "host|DIR",
     "the root file system: this machine's own programs\n"
     "(host, the default), or a directory; never changed",
     take_image, 0},
    {"mount", 'v', "HOST:GUEST[:ro|rw]",
     "show a folder or file of this machine in the sandbox;\n"
     "what the program writes there stays (unless ro)",
     take_mount, 0},
    {"volume", 0, "HOST:GUEST[:ro|rw]", NULL, take_mount, 0},
    {"tmpfs", 0, "PATH[:SIZE]", "an empty folder in memory, at most SIZE (64M, 1G)", take_tmpfs, 0},
    {"workdir", 'w', "PATH", "the working directory (default: the user's home)", take_workdir, 0},
    {"chdir", 0, "PATH", NULL, take_workdir, 0},
    {"env", 'e', "NAME[=VALUE]", "set a variable; NAME alone takes its value from here",
     CLI_ENV(struct run_options, env)},
    {"env-file", 0, "FILE", "variables from a file, one NAME=VALUE a line",
     CLI_ENV_FILE(struct run_options, file_env)},
    {"user", 'u', "NAME|UID[:GID]",
     "who the program is: user (default, uid 1000) or root,\n"
     "which is nothing outside of the sandbox",
     take_user, 0},
    {"publish", 'p', "[ADDRESS:]PORT:GUESTPORT",
     "let a port of this machine lead to one on which a\n"
     "program in the sandbox listens (default: 127.0.0.1)",
     take_publish, 0},
    {"public", 0, NULL, "publish where others than this machine can connect",
     CLI_FLAG(struct run_options, spec.publishes_openly)},
    {"hostname", 0, "NAME", "the machine's name in the sandbox", take_hostname, 0},
    EGRESS_OPTIONS,
    LIMIT_OPTIONS,
    {"allow-missing", 0, "CONTROL",
     "start though this machine can't give that protection,\n"
     "for example landlock; may be repeated",
     take_allow_missing, 0},
    {"speculation-barriers", 0, NULL,
     "use the host's mitigations for speculation, at their\n"
     "price: calls cost twice as much",
     CLI_FLAG(struct run_options, spec.speculation_barriers)},
    {"interactive", 'i', NULL, "pass standard input on (always done)", take_interactive, 0},
    {"tty", 't', NULL, "give it a terminal: for shells and editors",
     CLI_FLAG(struct run_options, spec.tty)},
    {"name", 0, "NAME", "a name for the sandbox, for ps(1) and --json", take_name, 0},
    {"label", 'l', "KEY[=VALUE]", "a word to find the sandbox again, for ps --filter", take_label,
     0},
    {"rm", 0, NULL, "keep nothing of it behind its end, for ps -a and logs",
     CLI_FLAG(struct run_options, spec.forget)},
    {"trace", 0, "FILE", "write each system call with its result to FILE (- is stderr)", take_trace,
     0},
    {"json", 0, NULL, "print one JSON object with output, status, time and memory",
     CLI_FLAG(struct run_options, json)},
    {"for-model", 0, NULL,
     "print the output as text for a language model: labelled\n"
     "as untrusted, between delimiters that it can't forge",
     CLI_FLAG(struct run_options, for_model)},
    {"output-limit", 0, "SIZE",
     "of each stream, what --json (1M) and --for-model (32K)\n"
     "keep: its beginning and its end",
     limit_option_output, 0},
    {"raw", 0, NULL,
     "let all terminal sequences through to your terminal, not\n"
     "only colours; with --json, add the bytes in base 64",
     CLI_FLAG(struct run_options, raw)},
    {"version", 'V', NULL, "print the version", CLI_FLAG(struct run_options, version)},
    CLI_HELP(struct run_options, help),
    {0},
};

const struct cli_foreign_option cli_run_foreign[] = {
    {"init", "leave it out, the sandbox's kernel takes in orphans"},
    {"detach", "put it in the background with your shell (&)"},
    {"d", "put it in the background with your shell (&)"},
    {"network", "leave it out, a sandbox has no network but what --allow names"},
    {"net", "leave it out, a sandbox has no network but what --allow names"},
    {"unshare-all", "leave it out, nothing is shared"},
    {"unshare-net", "leave it out, a sandbox has no network but what --allow names"},
    {"die-with-parent", "leave it out, a sandbox always ends with glovebox"},
    {"clearenv", "leave it out, the environment doesn't go in"},
    {"stop-timeout", "write --grace TIME"},
    {"kill-after", "write --grace TIME"},
    {"memory-swap", "leave it out, what is swapped out counts as memory"},
    {"cpu-quota", "write --cpus NUMBER"},
    {"privileged", "give --user root, which is nothing outside"},
    {"read-only", "leave it out, the image never changes"},
    {"bind", "write --mount HOST:GUEST"},
    {"ro-bind", "write --mount HOST:GUEST:ro"},
    {"setenv", "write --env NAME=VALUE"},
    {"uid", "write --user UID:GID"},
    {"gid", "write --user UID:GID"},
    {"entrypoint", "write the command behind the options"},
    {0},
};

void run_options_done(struct run_options *o)
{
    sandbox_spec_done(&o->spec);
    strv_done(&o->file_env);
    strv_done(&o->env);
    strv_done(&o->allow);
    strv_done(&o->secrets);
    free(o->ssh_known_hosts);
    free(o->policy);
    free(o->trace);
}

/* All or nothing of what follows is for want of memory. */
static int merge_env(struct strv *env, const struct strv *more)
{
    int r = 0;
    for (size_t i = 0; i < more->count && r == 0; i++) {
        const char *entry = more->items[i];
        size_t size = strcspn(entry, "=");
        _cleanup_free_ char *name = strndup(entry, size);
        r = name ? strv_env_set(env, name, entry + size + 1) : -ENOMEM;
    }
    return r;
}

/* How the program is to talk to the person in front: nothing else of the caller's environment. */
static int take_callers_env(struct strv *env)
{
    int r = 0;
    for (char **entry = environ; *entry && r == 0; entry++)
        if (!strncmp(*entry, "TERM=", 5) || !strncmp(*entry, "LANG=", 5) ||
            (!strncmp(*entry, "LC_", 3) && strchr(*entry, '=')))
            r = strv_append(env, *entry);
    return r;
}

/*
 * The two users that every sandbox has. What an image says of others is not read here, on the
 * trusted side; the sandbox's kernel sets what is missing. A bare number has no home, as with
 * docker.
 */
static int set_user_env(struct strv *env, const char *user)
{
    static const struct {
        const char *name, *uid, *home;
    } known[] = {{"user", "1000", "/home/user"}, {"root", "0", "/root"}};
    size_t size = user ? strcspn(user, ":") : 0;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        bool is_this =
            user ? (size == strlen(known[i].name) && !strncmp(user, known[i].name, size)) ||
                       (size == strlen(known[i].uid) && !strncmp(user, known[i].uid, size))
                 : i == 0;
        if (!is_this)
            continue;
        if (strv_env_set(env, "HOME", known[i].home) < 0 ||
            strv_env_set(env, "USER", known[i].name) < 0 ||
            strv_env_set(env, "LOGNAME", known[i].name) < 0)
            return -ENOMEM;
        return 0;
    }
    bool is_number = user[0] >= '0' && user[0] <= '9';
    return is_number ? strv_env_set(env, "HOME", "/") : 0;
}

static int build_env(struct run_options *o)
{
    struct sandbox_spec *spec = &o->spec;
    struct strv *env = &spec->env;
    int r = take_callers_env(env);
    if (r == 0)
        r = strv_env_set(env, "PATH", DEFAULT_PATH);
    if (r == 0)
        r = strv_env_set(env, "HOSTNAME", spec->hostname);
    if (r == 0)
        r = strv_env_set(env, "SHELL", spec->image ? "/bin/sh" : "/bin/bash");
    if (r == 0)
        r = set_user_env(env, spec->user);
    if (r == 0 && spec->tty && !strv_env_get(env, "TERM"))
        r = strv_env_set(env, "TERM", "xterm");
    if (r == 0)
        r = merge_env(env, &o->file_env);
    if (r == 0)
        r = merge_env(env, &o->env);
    return r;
}

/* A name is good for a host name too when it looks like one. */
static int choose_hostname(struct sandbox_spec *spec, struct sandbox_error *e)
{
    struct sandbox_error ignored;
    if (spec->hostname)
        return 0;
    if (spec->name && sandbox_spec_set_hostname(spec, spec->name, &ignored) == 0)
        return 0;
    return sandbox_spec_set_hostname(spec, DEFAULT_HOSTNAME, e);
}

/* Written to by one stream, the two keep the order in which the program wrote. */
static bool is_null_device(int fd)
{
    struct stat st, null;
    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && stat("/dev/null", &null) == 0 &&
           st.st_rdev == null.st_rdev;
}

static bool is_same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool run_options_is_captured(const struct run_options *o)
{
    return o->json || o->for_model;
}

static int check_output(const struct run_options *o, struct sandbox_error *e)
{
    if (o->spec.tty && run_options_is_captured(o))
        return sandbox_error_set(e, -EINVAL, "--tty: not together with %s; leave one of them out",
                                 o->json ? "--json" : "--for-model");
    if (o->raw && o->for_model && !o->json)
        return sandbox_error_set(e, -EINVAL,
                                 "--raw: not together with --for-model; leave one of them out");
    if (o->limits.is_given[LIMIT_OUTPUT] && !run_options_is_captured(o))
        return sandbox_error_set(
            e, -EINVAL,
            "--output-limit: output that is passed on has no limit; add --json "
            "or --for-model");
    return 0;
}

static int choose_limits(struct run_options *o, struct sandbox_error *e)
{
    struct config config;
    uint64_t *output = &o->spec.limits.value[LIMIT_OUTPUT];
    int r = config_load(&config, e);
    if (r == 0)
        r = config_resolve(&config, &o->limits, &o->spec.limits, e);
    o->spec.exempt = config.exempt; /* taken */
    bool is_given = o->limits.is_given[LIMIT_OUTPUT] || config.user.is_given[LIMIT_OUTPUT] ||
                    config.operator.is_given[LIMIT_OUTPUT];
    if (r == 0 && o->for_model && !is_given)
        *output = MIN(*output, (uint64_t)MODEL_OUTPUT_BYTES);
    return r;
}

int run_options_complete(struct run_options *o, int count, char **words, struct sandbox_error *e)
{
    struct sandbox_spec *spec = &o->spec;
    if (count == 0 && !spec->waits)
        return sandbox_error_set(e, -EINVAL,
                                 "run: no command; write it behind the options, for example: "
                                 "glovebox run -- python3 -c 'print(1)'");
    if (count > 0 && !words[0][0])
        return sandbox_error_set(e, -EINVAL, "run: the command is empty; give a program's name");
    int r = check_output(o, e);
    if (r < 0)
        return r;
    if (spec->tty && !isatty(STDIN_FILENO))
        return sandbox_error_set(e, -ENOTTY,
                                 "--tty: standard input is not a terminal; leave -t out, or run it "
                                 "in a terminal");
    for (int i = 0; i < count; i++)
        if (strv_append(&spec->args, words[i]) < 0)
            return sandbox_error_set(e, -ENOMEM, "run: out of memory; free some and try again");
    r = choose_limits(o, e);
    if (r == 0)
        r = egress_options_complete(o, e);
    if (r == 0)
        r = choose_hostname(spec, e);
    if (r < 0)
        return r;
    if (build_env(o) < 0)
        return sandbox_error_set(e, -ENOMEM, "run: out of memory; free some and try again");
    r = sandbox_secrets_load(spec, e);
    if (r < 0)
        return r;
    if (spec->tty)
        terminal_get_size(STDIN_FILENO, &spec->rows, &spec->columns);
    spec->null_input = !spec->tty && is_null_device(STDIN_FILENO);
    spec->join_output =
        !run_options_is_captured(o) && !spec->tty && is_same_file(STDOUT_FILENO, STDERR_FILENO);
    return sandbox_spec_choose_store(spec, e);
}

int run_options_open_trace(const struct run_options *o, int *ret, struct sandbox_error *e)
{
    const char *name = o->trace;
    int fd;
    if (!name) {
        *ret = -1;
        return 0;
    }
    if (!strcmp(name, "-")) {
        fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
        name = "stderr";
    } else {
        fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666);
    }
    if (fd < 0)
        return sandbox_error_set(e, -errno, "--trace %s: %s; check the path and its permissions",
                                 name, strerror(errno));
    *ret = fd;
    return 0;
}

int run_options_check_host(struct sandbox_error *e)
{
    bool slow;
    int r = sandbox_check_host(&slow, e);
    if (r == 0 && slow)
        cli_say(
            "host: this Linux is older than 6.6, so that system calls are about ten times as slow "
            "as they could be; upgrade it for full speed");
    return r;
}
