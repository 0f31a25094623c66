// SPDX-License-Identifier: Apache-2.0
/*
 * What is changed in a running sandbox. glovebox policy set: a new policy; policy phase: another
 * phase of the one that it has.
 */
#include "cli/placeholders.h"
#include "cli/policy_file.h"
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/verbs.h"
#include "lib/policy/policy.h"
#include "sandbox/new_policy.h"

#include <inttypes.h>
#include <jansson.h>

#define STATUS_REFUSED 1 /* the document; the one before it stays in force */

struct set_options {
    bool json, help;
    const char *phase;
    uint64_t generation;
};

/* What became of it. */
struct set_result {
    uint64_t generation;
    struct strv placeholders; /* of new secrets, NAME=PLACEHOLDER */
};

const struct cli_option cli_policy_set_options[] = {
    {"phase", 0, "PHASE", "of set: in this phase of it, not the one that the sandbox is in",
     CLI_WORD(struct set_options, phase)},
    {"if-generation", 0, "N", "only while the policy in force is the N-th of the sandbox",
     CLI_NUMBER(struct set_options, generation)},
    {"json", 0, NULL, "print a JSON object", CLI_FLAG(struct set_options, json)},
    CLI_HELP(struct set_options, help),
    {0},
};

static const struct cli_foreign_option foreign[] = {{0}};

static const struct cli_options grammar = {
    .options = cli_policy_set_options,
    .foreign = foreign,
    .help_command = "glovebox policy --help",
    .are_anywhere = true,
};

/* A document that is none is not even sent. */
static int check(const struct buf *text, struct sandbox_error *e)
{
    struct policy_error wrong;
    struct policy *p = policy_parse(text->data ? text->data : "", text->size, &wrong);
    if (!p)
        return sandbox_error_set(e, -EINVAL, "%s", wrong.text);
    policy_free(p);
    return 0;
}

/* What the gateway says of a document: from is where that came from. */
static int refused(int r, const char *name, const char *from, struct sandbox_error *e)
{
    if (r != -EINVAL && r != -EOPNOTSUPP && r != -ESTALE)
        return r;
    sandbox_error_prefix(e, r, "policy: %s", r == -ESTALE ? name : from);
    return STATUS_REFUSED;
}

/* 0 and *ret; STATUS_REFUSED or negative errno, and the sentence. */
static int set(const char *name, const char *path, const struct set_options *o,
               struct set_result *ret, struct sandbox_error *e)
{
    struct buf text = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES + 2);
    int r = policy_file_read(path, &text, e);
    if (r < 0) {
        buf_done(&text);
        return r;
    }
    const struct update update = {
        .json = text.data, .size = text.size, .phase = o->phase, .generation = o->generation};
    r = check(&text, e);
    if (r == 0)
        r = sandbox_set_policy(name, &update, &ret->placeholders, &ret->generation, e);
    buf_done(&text);
    return refused(r, name, path, e);
}

static int set_phase(const char *name, const char *phase, const struct set_options *o,
                     struct set_result *ret, struct sandbox_error *e)
{
    const struct update update = {.phase = phase, .generation = o->generation};
    if (!phase[0] || o->phase)
        return sandbox_error_set(e, -EINVAL,
                                 "policy phase: give the name of a sandbox and one of "
                                 "a phase");
    return refused(updates_set_policy(name, &update, &ret->generation, e), name, phase, e);
}

void cli_print_placeholders(const struct strv *placeholders)
{
    for (size_t i = 0; i < placeholders->count; i++) {
        const char *word = placeholders->items[i], *value = strchr(word, '=') + 1;
        printf("secret %.*s is there for programs that start from now on; its placeholder is %s\n",
               (int)(value - word - 1), word, value);
    }
}

static int print_json(const struct set_result *found)
{
    json_t *list = json_object(), *all = NULL;
    for (size_t i = 0; i < found->placeholders.count; i++) {
        const char *word = found->placeholders.items[i], *value = strchr(word, '=') + 1;
        json_object_setn_new(list, word, (size_t)(value - word - 1), json_string(value));
    }
    all = json_pack("{s:I, s:o*}", "generation", (json_int_t)found->generation, "placeholders",
                    found->placeholders.count > 0 ? list : NULL);
    if (found->placeholders.count == 0)
        json_decref(list);
    int r = all ? json_dumpf(all, stdout, 0) : -1;
    json_decref(all);
    return r < 0 || putchar('\n') == EOF ? CLI_STATUS_BAD_USE : 0;
}

static int print(const struct set_result *found, bool as_json)
{
    if (as_json)
        return print_json(found);
    printf("generation %" PRIu64 " is in force\n", found->generation);
    cli_print_placeholders(&found->placeholders);
    return 0;
}

static int run(bool is_phase, int count, char **words)
{
    struct set_options o = {0};
    struct sandbox_error e;
    struct set_result found = {0};
    int used;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_policy_help(stdout);
        return 0;
    }
    if (r == 0 && count - used != 2)
        r = sandbox_error_set(&e, -EINVAL, "policy %s: give the name of a sandbox and %s",
                              is_phase ? "phase" : "set",
                              is_phase ? "one of a phase" : "a file; - is standard input");
    if (r == 0)
        r = (is_phase ? set_phase : set)(words[used], words[used + 1], &o, &found, &e);
    if (r != 0)
        cli_say_error(&e);
    else
        r = print(&found, o.json);
    strv_done(&found.placeholders);
    return r < 0 ? CLI_STATUS_BAD_USE : r;
}

int cli_policy_set(int count, char **words)
{
    return run(false, count, words);
}

int cli_policy_phase(int count, char **words)
{
    return run(true, count, words);
}
