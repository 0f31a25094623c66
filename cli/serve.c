// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox serve: sandboxes for programs that are written against E2B's SDKs.
 */
#include "serve/serve.h"

#include "cli/limit_options.h"
#include "cli/run_options.h"
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/values.h"
#include "cli/verbs.h"
#include "lib/policy/net.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>

#define DEFAULT_LISTEN "127.0.0.1:3000"
#define KEY_BYTES      44

struct serve_options {
    struct run_options run; /* first: its limits' options take it */
    const char *listens[LAUNCH_LISTENERS_MAX];
    size_t listen_count;
    const char *webhook_networks[WEBHOOK_NETWORKS_MAX];
    size_t webhook_network_count;
    const char *state, *key_file, *domain, *log_file, *tls_certificate, *tls_key;
    bool allows_egress, has_public_ports, allows_plain, logs_text;
};

#define OPTIONS(target) ((struct serve_options *)(target))

static int take_listen(void *target, const char *value, struct sandbox_error *e)
{
    struct serve_options *o = OPTIONS(target);
    if (o->listen_count == LAUNCH_LISTENERS_MAX)
        return sandbox_error_set(e, -E2BIG, "that is too often; give it at most %d times",
                                 LAUNCH_LISTENERS_MAX);
    o->listens[o->listen_count++] = value;
    return 0;
}

/* Goes into answers as it is. */
static int take_domain(void *target, const char *value, struct sandbox_error *e)
{
    size_t size = strlen(value);
    if (size == 0 || size > 200 || strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789.-:") != size)
        return sandbox_error_set(e, -EINVAL,
                                 "not a name; give one in small letters, with :PORT behind it "
                                 "where it is not 443");
    OPTIONS(target)->domain = value;
    return 0;
}

static int take_egress(void *target, const char *value, struct sandbox_error *e)
{
    return cli_parse_choice(value, "allow", "deny", &OPTIONS(target)->allows_egress, e);
}

static int take_ports(void *target, const char *value, struct sandbox_error *e)
{
    return cli_parse_choice(value, "public", "private", &OPTIONS(target)->has_public_ports, e);
}

static int take_webhook_network(void *target, const char *value, struct sandbox_error *e)
{
    struct serve_options *o = OPTIONS(target);
    struct policy_net net;
    if (policy_net_parse(value, strlen(value), &net) < 0)
        return sandbox_error_set(e, -EINVAL, "not a network; write ADDRESS or ADDRESS/BITS");
    if (o->webhook_network_count == WEBHOOK_NETWORKS_MAX)
        return sandbox_error_set(e, -E2BIG, "that is too often; give it at most %d times",
                                 WEBHOOK_NETWORKS_MAX);
    o->webhook_networks[o->webhook_network_count++] = value;
    return 0;
}

static int take_log_format(void *target, const char *value, struct sandbox_error *e)
{
    return cli_parse_choice(value, "text", "json", &OPTIONS(target)->logs_text, e);
}

static const struct cli_option serve_table[] = {
    {"listen", 'l', "[ADDRESS:]PORT", "where clients come to (default: " DEFAULT_LISTEN ")",
     take_listen, 0},
    {"state", 0, "DIR",
     "where records are kept: which sandboxes there are,\n"
     "and keys (default: ~/.local/state/glovebox, as root\n"
     "/var/lib/glovebox)",
     CLI_WORD(struct serve_options, state)},
    {"api-key-file", 0, "FILE", "with the key that clients must have (default: one is made)",
     CLI_WORD(struct serve_options, key_file)},
    {"default-egress", 0, "allow|deny",
     "what sandboxes may reach whose creator says nothing\n"
     "of the network (default: deny)",
     take_egress, 0},
    {"default-ports", 0, "private|public",
     "who may connect to ports of sandboxes whose creator\n"
     "says nothing of that: who has the sandbox's traffic\n"
     "token, or who knows its id (default: private)",
     take_ports, 0},
    {"domain", 0, "NAME[:PORT]", "tell clients that sandboxes are reached at ...-ID.NAME",
     take_domain, 0},
    {"tls-cert", 0, "FILE", "with the certificate that clients are shown, and its chain",
     CLI_WORD(struct serve_options, tls_certificate)},
    {"tls-key", 0, "FILE", "with its key", CLI_WORD(struct serve_options, tls_key)},
    {"allow-plain-http", 0, NULL, "listen without TLS where other machines reach it",
     CLI_FLAG(struct serve_options, allows_plain)},
    {"webhook-network", 0, "NETWORK", "webhooks may go there, although it is not public",
     take_webhook_network, 0},
    {"log-file", 0, "FILE", "append a line for each request (- is stderr)",
     CLI_WORD(struct serve_options, log_file)},
    {"log-format", 0, "json|text", "of these lines (default: json)", take_log_format, 0},
    {"memory", 'm', "SIZE", "of each sandbox, as with glovebox run; likewise:", limit_option_memory,
     0},
    {"cpus", 0, "NUMBER", "processors", limit_option_cpus, 0},
    {"pids", 0, "NUMBER", "processes and threads", limit_option_pids, 0},
    {"disk", 0, "SIZE", "private files", limit_option_disk, 0},
    {"inodes", 0, "NUMBER", "number of private files", limit_option_inodes, 0},
    {"idle-timeout", 0, "TIME", "end it when for so long nothing happens in it", limit_option_idle,
     0},
    {"sandboxes", 0, "NUMBER", "at once, with those of other commands", limit_option_sandboxes, 0},
    {"sandboxes-per-second", 0, "NUMBER", "that may be made", limit_option_rate, 0},
    CLI_HELP(struct serve_options, run.help),
    {0},
};

static const struct cli_foreign_option serve_foreign[] = {
    {"port", "write --listen PORT"},
    {"host", "write --listen ADDRESS:PORT"},
    {"bind", "write --listen ADDRESS:PORT"},
    {0},
};

static const struct cli_options serve_grammar = {
    .options = serve_table,
    .foreign = serve_foreign,
    .help_command = "glovebox serve --help",
};

void cli_serve_help(FILE *out)
{
    fputs("Usage: glovebox serve [OPTIONS]\n"
          "\n"
          "Serves programs that are written against E2B's SDKs: they make sandboxes on this\n"
          "machine. Prints what they need to be told. Sandboxes live on when it ends, until their\n"
          "time is up, and are found again when it is started anew.\n"
          "\n"
          "Nothing leaves a sandbox unless its creator names where to (allowOut), or\n"
          "--default-egress says otherwise.\n"
          "\n"
          "Options:\n",
          out);
    cli_options_print(serve_table, out);
    fputs("\nMore: man glovebox-serve\n", out);
}

/* ---- what there is to be told ---- */

struct told {
    char where[SERVE_PLACE_SIZE];
    const char *given_key;
    bool has_tls;
};

static void print_address(const struct told *t)
{
    printf("%s://%s", t->has_tls ? "https" : "http", t->where);
}

static void on_ready(void *userdata, const char *key)
{
    const struct told *t = userdata;
    printf("glovebox serves on ");
    print_address(t);
    printf("\n\nexport E2B_API_URL=");
    print_address(t);
    printf(" E2B_SANDBOX_URL=");
    print_address(t);
    printf("\n");
    if (key[0])
        printf("export E2B_API_KEY=%s   # it is not shown again\n", key);
    else
        printf("export E2B_API_KEY=...   # %s\n",
               t->given_key ? "the one of --api-key-file" : "the one that was shown at first");
    printf("python3 agent.py   # or node agent.mjs: what is written for E2B's SDKs\n");
    fflush(stdout);
}

static void choose_state(const char *given, char *ret, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (given)
        snprintf(ret, size, "%s", given);
    else if (geteuid() == 0)
        snprintf(ret, size, "/var/lib/glovebox");
    else if (state && state[0] == '/')
        snprintf(ret, size, "%s/glovebox", state);
    else
        snprintf(ret, size, "%s/.local/state/glovebox", home ? home : "");
}

static int read_key(const char *path, char ret[KEY_BYTES + 1], struct sandbox_error *e)
{
    char text[KEY_BYTES + 3] = "";
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return sandbox_error_set(e, -errno, "--api-key-file '%s': %s; give a file that can be read",
                                 path, strerror(errno));
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        text[--n] = '\0';
    bool is_key = n == KEY_BYTES && !strncmp(text, "e2b_", 4) &&
                  strspn(text + 4, "0123456789abcdef") == KEY_BYTES - 4;
    if (is_key)
        memcpy(ret, text, KEY_BYTES + 1);
    explicit_bzero(text, sizeof(text));
    return is_key ? 0
                  : sandbox_error_set(e, -EINVAL,
                                      "--api-key-file '%s': no key in it; write e2b_ and 40 of "
                                      "0-9 a-f into it",
                                      path);
}

static int open_listeners(const struct serve_options *o, struct serve *s, struct sandbox_error *e)
{
    for (size_t i = 0; i < o->listen_count; i++) {
        bool is_public;
        int fd = serve_listen(o->listens[i], &is_public, e);
        if (fd < 0)
            return fd;
        s->listeners[s->listener_count++] = fd;
        if (is_public && !o->allows_plain && !o->tls_certificate)
            return sandbox_error_set(e, -EPERM,
                                     "--listen %s: other machines reach that, and keys would pass "
                                     "in the clear; give --tls-cert and --tls-key, or put a proxy "
                                     "with TLS in front and listen on 127.0.0.1, or give "
                                     "--allow-plain-http",
                                     o->listens[i]);
    }
    return 0;
}

static int serve(struct serve_options *o, struct sandbox_error *e)
{
    char path[PATH_MAX], key[KEY_BYTES + 1];
    if (o->listen_count == 0)
        o->listens[o->listen_count++] = DEFAULT_LISTEN;
    struct told told = {.given_key = o->key_file, .has_tls = o->tls_certificate != NULL};
    if (!o->tls_certificate != !o->tls_key)
        return sandbox_error_set(e, -EINVAL,
                                 "--tls-cert, --tls-key: one without the other; give both");
    struct serve s = {.state = -1,
                      .domain = o->domain,
                      .allows_egress = o->allows_egress,
                      .tls_certificate = o->tls_certificate,
                      .tls_key = o->tls_key,
                      .has_public_ports = o->has_public_ports,
                      .log_path = o->log_file,
                      .logs_text = o->logs_text,
                      .spec = &o->run.spec,
                      .ready = on_ready,
                      .userdata = &told,
                      .say = cli_say,
                      .say_pending = cli_say_pending};
    memcpy(s.webhook_networks, o->webhook_networks, sizeof(s.webhook_networks));
    s.webhook_network_count = o->webhook_network_count;
    choose_state(o->state, path, sizeof(path));
    int r = o->key_file ? read_key(o->key_file, key, e) : 0;
    s.key = o->key_file ? key : NULL;
    if (r == 0)
        r = s.state = serve_open_state(path, e);
    if (r >= 0)
        r = open_listeners(o, &s, e);
    if (r == 0) {
        serve_write_place(s.listeners[0], told.where);
        cli_say_begin();
        r = serve_run(&s, e);
        cli_say_end();
    }
    explicit_bzero(key, sizeof(key));
    for (size_t i = 0; i < s.listener_count; i++)
        close(s.listeners[i]);
    base_closep(&s.state);
    return r;
}

int cli_serve(int count, char **words)
{
    struct serve_options o = {.run.spec.waits = true};
    struct sandbox_error e;
    int used;
    int r = cli_options_parse(&serve_grammar, count, words, &o, &used, &e);
    if (r == 0 && o.run.help) {
        cli_serve_help(stdout);
        run_options_done(&o.run);
        return 0;
    }
    if (r == 0 && used < count)
        r = sandbox_error_set(&e, -EINVAL, "serve: starts no command; leave %s out", words[used]);
    if (r == 0)
        r = run_options_complete(&o.run, 0, NULL, &e);
    if (r == 0)
        r = run_options_check_host(&e);
    if (r == 0)
        r = serve(&o, &e);
    if (r < 0)
        cli_say_error(&e);
    run_options_done(&o.run);
    return r < 0 ? CLI_STATUS_BAD_USE : 0;
}
