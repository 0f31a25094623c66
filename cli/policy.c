// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox policy: whether a policy document is one, and what it says of a destination. Neither
 * touches the network. set and learn have files of their own.
 */
#include "cli/policy_explain.h"
#include "cli/policy_file.h"
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/verbs.h"
#include "lib/policy/document.h"
#include "lib/policy/lint.h"
#include "lib/text/shown.h"
#include "sandbox/egress.h"

#include <jansson.h>

#define JSON_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(9))
#define STATUS_NO  1 /* refused, or denied */

struct policy_options {
    bool json, help;
    const char *phase;
    struct explain_options explain;
};

static int take_method(void *target, const char *value, struct sandbox_error *e)
{
    struct policy_options *o = target;
    if (!*value)
        return sandbox_error_set(e, -EINVAL, "is empty; write a method as GET");
    o->explain.method = value;
    return 0;
}

static int take_address(void *target, const char *value, struct sandbox_error *e)
{
    struct policy_options *o = target;
    struct policy_net net;
    if (strchr(value, '/') || policy_net_parse(value, strlen(value), &net) < 0)
        return sandbox_error_set(e, -EINVAL, "is no address; write one as 192.0.2.1");
    o->explain.address = net.address;
    o->explain.has_address = true;
    return 0;
}

static const struct cli_option check_options[] = {
    {"json", 0, NULL, "print a JSON object", CLI_FLAG(struct policy_options, json)},
    CLI_HELP(struct policy_options, help),
    {0},
};

static const struct cli_option explain_options[] = {
    {"method", 0, "METHOD", "the method of an HTTP request: GET when not given", take_method, 0},
    {"address", 0, "ADDRESS", "the address that the name leads to: a public one when not given",
     take_address, 0},
    {"phase", 0, "PHASE", "the phase that the sandbox is in: the first when not given",
     CLI_WORD(struct policy_options, phase)},
    {"json", 0, NULL, "print a JSON object", CLI_FLAG(struct policy_options, json)},
    CLI_HELP(struct policy_options, help),
    {0},
};

static const struct cli_foreign_option foreign[] = {{0}};

void cli_policy_help(FILE *out)
{
    fputs("Usage: glovebox policy check [--json] FILE\n"
          "       glovebox policy explain [OPTIONS] FILE TARGET\n"
          "       glovebox policy set [OPTIONS] NAME FILE\n"
          "       glovebox policy phase [OPTIONS] NAME PHASE\n"
          "       glovebox policy secret NAME SECRET=SOURCE[@HOST...]\n"
          "       glovebox policy learn [OPTIONS OF RUN] [--] COMMAND [ARG...] > FILE\n"
          "\n"
          "check says whether FILE (- for standard input) is a policy document, and what in it is\n"
          "most likely not meant. explain says what the policy does with a destination, step by\n"
          "step. Both touch no network. set puts FILE in force in a running sandbox, at once and\n"
          "for what is open too; phase takes it to another phase of the policy that it has, and\n"
          "secret gives one of its secrets another value: env:VARIABLE, file:PATH or cmd:COMMAND; "
          "or\n"
          "it one more, for those hosts, as --secret of run. learn runs a program that may reach\n"
          "everything public, and writes the policy that allows just what it did.\n"
          "\n"
          "TARGET is one of:\n"
          "  https://HOST[:PORT]/PATH      a request, with TLS; also http://\n"
          "  HOST:PORT, tcp://HOST:PORT    a TCP connection to a name or an address\n"
          "  udp://HOST:PORT               a datagram\n"
          "  icmp://HOST                   an echo request\n"
          "  dns:NAME[/TYPE]               a question to the resolver\n"
          "\n"
          "Options of explain:\n",
          out);
    cli_options_print(explain_options, out);
    fputs("\nOptions of set and phase:\n", out);
    cli_options_print(cli_policy_set_options, out);
    fputs("\nExit status: 0 when the document is good, or the destination is allowed; 1 when not;\n"
          "of learn, that of the command.\n"
          "More: man glovebox-policy\n",
          out);
}

static int load(const char *path, struct policy **ret, struct policy_error *ret_refusal,
                struct sandbox_error *e)
{
    struct buf text = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES + 2);
    int r = policy_file_read(path, &text, e);
    if (r == 0)
        *ret = policy_parse(text.data ? text.data : "", text.size, ret_refusal);
    buf_done(&text);
    return r;
}

struct warnings {
    const struct policy_document *document;
    json_t *list; /* NULL: they are printed */
    size_t count;
};

static void take_warning(const struct policy_warning *w, void *context)
{
    struct warnings *all = context;
    const char *id = w->rule >= 0 ? all->document->rules[w->rule].id : NULL;
    all->count++;
    if (all->list)
        json_array_append_new(
            all->list, json_pack("{s:s, s:s?, s:s}", "code", w->code, "rule", id, "text", w->text));
    else if (id)
        printf("warning: rule \"%s\": %s [%s]\n", id, w->text, w->code);
    else
        printf("warning: %s [%s]\n", w->text, w->code);
}

static int print_json(json_t *j)
{
    int r = j ? json_dumpf(j, stdout, JSON_FLAGS) : -1;
    json_decref(j);
    return r < 0 || putchar('\n') == EOF ? CLI_STATUS_BAD_USE : 0;
}

static int say_refusal(const char *path, const struct policy_error *refusal, bool as_json)
{
    struct sandbox_error e;
    if (as_json) {
        json_t *position = refusal->line ? json_pack("{s:i, s:i}", "line", (int)refusal->line,
                                                     "column", (int)refusal->column)
                                         : json_null();
        char pointer[sizeof(refusal->pointer)];
        text_line(refusal->pointer, strlen(refusal->pointer), pointer, sizeof(pointer));
        int r = print_json(json_pack("{s:b, s:{s:s, s:s, s:o}, s:[]}", "valid", 0, "error", "text",
                                     refusal->text, "pointer", pointer, "position", position,
                                     "warnings"));
        return r ? r : STATUS_NO;
    }
    sandbox_error_set(&e, -EINVAL, "policy: %s: %s", path, refusal->text);
    cli_say_error(&e);
    return STATUS_NO;
}

static int check(const char *path, const struct policy *p, bool as_json)
{
    char shown[256];
    const struct policy_document *d = policy_get_document(p);
    struct warnings all = {.document = d, .list = as_json ? json_array() : NULL};
    struct sandbox_error refusal;
    bool is_runnable = egress_check(d, &refusal) == 0;
    policy_lint(p, take_warning, &all);
    if (as_json)
        return print_json(json_pack("{s:b, s:n, s:o, s:i, s:s, s:s?}", "valid", 1, "error",
                                    "warnings", all.list, "rules", (int)d->rule_count, "default",
                                    d->allows_by_default ? "allow" : "deny", "refused_by_run",
                                    is_runnable ? NULL : refusal.text));
    text_line(path, strlen(path), shown, sizeof(shown));
    printf("%s: a good policy: %zu rule%s, %s by default, %zu warning%s\n", shown, d->rule_count,
           d->rule_count == 1 ? "" : "s", d->allows_by_default ? "allow" : "deny", all.count,
           all.count == 1 ? "" : "s");
    if (!is_runnable)
        printf("note: glovebox run refuses it: %s\n", refusal.text);
    return 0;
}

/* The steps as JSON, or as a table. */
static int explain(const struct policy *p, const char *target, const struct policy_options *o,
                   struct sandbox_error *e)
{
    struct explanation x;
    int r = policy_explain(p, target, &o->explain, &x, e);
    if (r < 0)
        return r;
    int status = o->json ? print_json(explanation_make_json(p, &x)) : 0;
    if (!o->json)
        explanation_print(p, &x, stdout);
    return status ? status : x.is_allowed ? 0 : STATUS_NO;
}

static int run_verb(bool is_check, int count, char **words)
{
    struct policy_options o = {.explain.method = "GET"};
    const struct cli_options grammar = {
        .options = is_check ? check_options : explain_options,
        .foreign = foreign,
        .help_command = "glovebox policy --help",
        .are_anywhere = true,
    };
    struct policy *p = NULL;
    struct policy_error refusal;
    struct sandbox_error e;
    int used;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_policy_help(stdout);
        return 0;
    }
    if (r == 0 && count - used != (is_check ? 1 : 2))
        r = sandbox_error_set(&e, -EINVAL, "policy %s",
                              is_check ? "check: give one file; - is standard input"
                                       : "explain: give a file and a destination; see glovebox "
                                         "policy --help");
    if (r == 0)
        r = load(words[used], &p, &refusal, &e);
    if (r == 0 && p && o.phase && policy_set_phase(p, o.phase) < 0)
        r = sandbox_error_set(&e, -EINVAL,
                              "--phase %s: the document has no such phase; see its "
                              "\"phases\"",
                              o.phase);
    int status = CLI_STATUS_BAD_USE;
    if (r == 0 && !p)
        status = say_refusal(words[used], &refusal, o.json);
    else if (r == 0 && is_check)
        status = check(words[used], p, o.json);
    else if (r == 0)
        r = status = explain(p, words[used + 1], &o, &e);
    policy_free(p);
    if (r >= 0)
        return status;
    cli_say_error(&e);
    return CLI_STATUS_BAD_USE;
}

int cli_policy(int count, char **words)
{
    struct sandbox_error e;
    const char *word = count ? words[0] : "";
    if (!strcmp(word, "check") || !strcmp(word, "explain"))
        return run_verb(!strcmp(word, "check"), count - 1, words + 1);
    if (!strcmp(word, "set"))
        return cli_policy_set(count - 1, words + 1);
    if (!strcmp(word, "phase"))
        return cli_policy_phase(count - 1, words + 1);
    if (!strcmp(word, "secret"))
        return cli_policy_secret(count - 1, words + 1);
    if (!strcmp(word, "learn"))
        return cli_policy_learn(count - 1, words + 1);
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
        cli_policy_help(stdout);
        return 0;
    }
    if (*word)
        sandbox_error_set(&e, -EINVAL,
                          "policy: %s: no such command; there are check, explain, set, "
                          "phase, secret and learn",
                          word);
    else
        sandbox_error_set(&e, -EINVAL,
                          "policy: give a command: check, explain, set, phase, secret or learn");
    cli_say_error(&e);
    return CLI_STATUS_BAD_USE;
}
