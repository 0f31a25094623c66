// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox port: what listens in a running sandbox, and ways to it.
 */
#include "cli/port_forward.h"
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/values.h"
#include "cli/verbs.h"
#include "sandbox/port_ask.h"

#include <arpa/inet.h>
#include <jansson.h>

#define ANSWER_LIMIT_MS 10000
#define JSON_FLAGS      JSON_ENSURE_ASCII

struct port_options {
    bool json, is_public, help;
};

static const struct cli_option options[] = {
    {"json", 0, NULL, "print what listens as a JSON object", CLI_FLAG(struct port_options, json)},
    {"public", 0, NULL, "forward from where others than this machine can connect",
     CLI_FLAG(struct port_options, is_public)},
    CLI_HELP(struct port_options, help),
    {0},
};

static const struct cli_foreign_option foreign[] = {
    {"address", "write the address before the port: 127.0.0.1:8080:80"},
    {0},
};

static const struct cli_options grammar = {
    .options = options,
    .foreign = foreign,
    .help_command = "glovebox port --help",
    .are_anywhere = true,
};

void cli_port_help(FILE *out)
{
    fputs("Usage: glovebox port [OPTIONS] NAME [[ADDRESS:]PORT:GUESTPORT...]\n"
          "\n"
          "Lists the ports on which programs in a running sandbox of yours listen. With ports to\n"
          "forward, connections to PORT of this machine go to GUESTPORT in the sandbox until you\n"
          "interrupt it. ADDRESS is 127.0.0.1, PORT that of GUESTPORT where you leave them out;\n"
          "0 is any port that is free.\n"
          "\n"
          "Options:\n",
          out);
    cli_options_print(options, out);
    fputs("\nThe names: glovebox ps. More: man glovebox-port\n", out);
}

/* ---- what listens ---- */

static void format_address(const uint8_t bytes[16], char ret[static INET6_ADDRSTRLEN])
{
    struct in6_addr address;
    memcpy(&address, bytes, sizeof(address));
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(&address);
    if (!inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? bytes + 12 : bytes, ret, INET6_ADDRSTRLEN))
        ret[0] = '\0';
}

static void print_table(const struct port_message *listening, const struct port_message *published)
{
    if (listening->count > 0)
        printf("%5s  %-16s %-16s %6s %6s %8s\n", "PORT", "ADDRESS", "PROGRAM", "PID", "USER",
               "WAITING");
    else
        puts("nothing listens");
    for (size_t i = 0; i < listening->count; i++) {
        const struct ports_listener *l = &listening->listeners[i];
        char address[INET6_ADDRSTRLEN], program[4 * PORTS_PROGRAM_MAX + 16];
        format_address(l->address, address);
        text_line(l->program, strlen(l->program), program, sizeof(program));
        printf("%5u  %-16s %-16s %6d %6u %8u\n", l->port, address,
               program[0] ? program : "(has ended)", l->pid, l->uid, l->waiting);
    }
    if (listening->answer.is_cut)
        puts("... and more");
    for (size_t i = 0; i < published->count; i++) {
        const struct port_published *p = &published->published[i];
        char text[PORT_FORWARD_TEXT_MAX];
        struct in6_addr address;
        memcpy(&address, p->address, sizeof(address));
        port_forward_format(&address, p->port, text);
        printf("published: %s -> %u\n", text, p->guest_port);
    }
}

static json_t *make_listener(const struct ports_listener *l)
{
    char address[INET6_ADDRSTRLEN], program[4 * PORTS_PROGRAM_MAX + 16];
    format_address(l->address, address);
    text_line(l->program, strlen(l->program), program, sizeof(program));
    return json_pack("{s:i, s:s, s:s, s:i, s:I, s:I, s:I}", "port", (int)l->port, "address",
                     address, "program", program, "pid", (int)l->pid, "uid", (json_int_t)l->uid,
                     "waiting", (json_int_t)l->waiting, "backlog", (json_int_t)l->backlog);
}

static json_t *make_published(const struct port_published *p)
{
    char address[INET6_ADDRSTRLEN];
    format_address(p->address, address);
    return json_pack("{s:s, s:i, s:i}", "address", address, "port", (int)p->port, "guest_port",
                     (int)p->guest_port);
}

static int print_json(const struct port_message *listening, const struct port_message *published,
                      struct sandbox_error *e)
{
    json_t *ports = json_array(), *own = json_array();
    for (size_t i = 0; i < listening->count; i++)
        json_array_append_new(ports, make_listener(&listening->listeners[i]));
    for (size_t i = 0; i < published->count; i++)
        json_array_append_new(own, make_published(&published->published[i]));
    json_t *whole = json_pack("{s:o, s:b, s:o}", "listening", ports, "is_cut",
                              (int)listening->answer.is_cut, "published", own);
    int r = whole ? json_dumpf(whole, stdout, JSON_FLAGS) : -1;
    json_decref(whole);
    if (r < 0)
        return sandbox_error_set(e, -ENOMEM, "port: out of memory; free some and try again");
    putchar('\n');
    return 0;
}

static int list(const char *name, bool json, struct sandbox_error *e)
{
    static struct port_message listening, published;
    _cleanup_close_ int socket = port_reach(name, e);
    if (socket < 0)
        return socket;
    int r = port_ask_list(socket, 1);
    if (r == 0)
        r = port_receive_wait(socket, ANSWER_LIMIT_MS, &listening);
    if (r == 0)
        r = port_ask_published(socket, 2);
    if (r == 0)
        r = port_receive_wait(socket, ANSWER_LIMIT_MS, &published);
    if (r == 0 && (listening.answer.type != PORT_LIST || published.answer.type != PORT_PUBLISHED))
        r = -EPROTO;
    if (r == 0 && listening.answer.error)
        r = -listening.answer.error;
    if (r < 0)
        return sandbox_error_set(e, r, "port: %s: the sandbox does not answer: %s; does it run?",
                                 name, strerror(-r));
    if (json)
        return print_json(&listening, &published, e);
    print_table(&listening, &published);
    return 0;
}

/* ---- the verb ---- */

static int forward(const char *name, size_t count, char **words, bool is_public,
                   struct sandbox_error *e)
{
    struct port_forward forwards[CLI_FORWARDS_MAX];
    if (count > CLI_FORWARDS_MAX)
        return sandbox_error_set(e, -E2BIG, "port: more than %d ports; run it twice",
                                 CLI_FORWARDS_MAX);
    for (size_t i = 0; i < count; i++) {
        int r = cli_parse_forward(words[i], &forwards[i], e);
        if (r < 0)
            return sandbox_error_prefix(e, r, "port");
    }
    return cli_port_forward(name, forwards, count, is_public, e);
}

static int check(const struct port_options *o, int left, struct sandbox_error *e)
{
    if (left == 0)
        return sandbox_error_set(e, -EINVAL,
                                 "port: give the name of a sandbox; glovebox ps lists them");
    if (left > 1 && o->json)
        return sandbox_error_set(e, -EINVAL,
                                 "port: --json is for the list; leave it out, or the ports");
    if (left == 1 && o->is_public)
        return sandbox_error_set(e, -EINVAL,
                                 "port: --public is for a port to forward; write it behind the "
                                 "name, for example 8080:80");
    return 0;
}

int cli_port(int count, char **words)
{
    struct port_options o = {0};
    struct sandbox_error e;
    int used;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_port_help(stdout);
        return 0;
    }
    if (r == 0)
        r = check(&o, count - used, &e);
    if (r == 0 && count - used == 1)
        r = list(words[used], o.json, &e);
    else if (r == 0)
        r = forward(words[used], (size_t)(count - used - 1), words + used + 1, o.is_public, &e);
    if (r < 0)
        cli_say_error(&e);
    return r < 0 ? CLI_STATUS_BAD_USE : 0;
}
