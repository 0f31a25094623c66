// SPDX-License-Identifier: Apache-2.0
/*
 * What is changed in a running sandbox. glovebox policy set: a new policy; policy phase: another
 * phase of the one that it has; policy secret: another value for a secret of it.
 */
#include "cli/policy_file.h"
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/verbs.h"
#include "lib/policy/compose.h"
#include "sandbox/secrets.h"
#include "sandbox/updates.h"

#include <inttypes.h>

#define STATUS_REFUSED 1 /* the document; the one before it stays in force */

struct set_options {
    bool json, help;
    const char *phase;
    uint64_t generation;
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
static int set(const char *name, const char *path, const struct set_options *o, uint64_t *ret,
               struct sandbox_error *e)
{
    struct buf text = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES + 2);
    int r = policy_file_read(path, &text, e);
    if (r < 0) {
        buf_done(&text);
        return r;
    }
    const struct update update = {text.data, text.size, o->phase, o->generation};
    r = check(&text, e);
    if (r == 0)
        r = updates_set_policy(name, &update, ret, e);
    buf_done(&text);
    return refused(r, name, path, e);
}

static int set_phase(const char *name, const char *phase, const struct set_options *o,
                     uint64_t *ret, struct sandbox_error *e)
{
    const struct update update = {.phase = phase, .generation = o->generation};
    if (!phase[0] || o->phase)
        return sandbox_error_set(e, -EINVAL,
                                 "policy phase: give the name of a sandbox and one of "
                                 "a phase");
    return refused(updates_set_policy(name, &update, ret, e), name, phase, e);
}

static int run(bool is_phase, int count, char **words)
{
    struct set_options o = {0};
    struct sandbox_error e;
    uint64_t generation;
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
        r = (is_phase ? set_phase : set)(words[used], words[used + 1], &o, &generation, &e);
    if (r != 0) {
        cli_say_error(&e);
        return r < 0 ? CLI_STATUS_BAD_USE : r;
    }
    printf(o.json ? "{\"generation\": %" PRIu64 "}\n" : "generation %" PRIu64 " is in force\n",
           generation);
    return 0;
}

int cli_policy_set(int count, char **words)
{
    return run(false, count, words);
}

int cli_policy_phase(int count, char **words)
{
    return run(true, count, words);
}

/* ---- secrets ---- */

/* The secret that NAME=SOURCE means, as --secret has it; where it may go is known already. */
static struct policy *parse_secret(const char *text, struct sandbox_error *e)
{
    struct buf word = BUF_INIT(4096), json = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    struct policy_error wrong;
    struct policy *p = NULL;
    _cleanup_free_ char *folder = getcwd(NULL, 0);
    /* What it is for is known too. */
    static const char ssh[] = "=ssh:";
    size_t name_size = strcspn(text, "=");
    bool is_ssh = !strncmp(text + name_size, ssh, strlen(ssh));
    buf_printf(&word, "%.*s%s%s@secret.invalid", (int)name_size, text, is_ssh ? "=" : "",
               text + name_size + (is_ssh ? strlen(ssh) : 0));
    const struct policy_words words = {
        .secrets = (const char *const[]){word.data}, .secret_count = 1, .folder = folder};
    int r = word.failed ? -E2BIG : policy_compose(&words, &json, &wrong);
    if (r == 0)
        p = policy_parse(json.data, json.size, &wrong);
    if (word.failed)
        sandbox_error_set(e, -E2BIG, "policy secret: too long; write NAME=SOURCE");
    else if (!p)
        sandbox_error_set(e, -EINVAL, "policy secret: %s", wrong.text);
    buf_done(&word);
    buf_done(&json);
    return p;
}

static int set_secret(const char *name, const char *text, struct sandbox_error *e)
{
    _cleanup_close_ int fd = -1;
    struct policy *p = parse_secret(text, e);
    if (!p)
        return -EINVAL;
    int r = sandbox_secret_open(&policy_get_document(p)->secrets[0], &fd, e);
    policy_free(p);
    if (r == 0)
        r = updates_set_secret(name, fd, e);
    int size = (int)strcspn(text, "=");
    return r < 0 ? sandbox_error_prefix(e, r, "policy: secret %.*s", size, text) : 0;
}

static const struct cli_option secret_options[] = {CLI_HELP(struct set_options, help), {0}};

int cli_policy_secret(int count, char **words)
{
    const struct cli_options of_secret = {
        .options = secret_options,
        .foreign = foreign,
        .help_command = "glovebox policy --help",
    };
    struct set_options o = {0};
    struct sandbox_error e;
    int used;
    int r = cli_options_parse(&of_secret, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_policy_help(stdout);
        return 0;
    }
    if (r == 0 && count - used != 2)
        r = sandbox_error_set(&e, -EINVAL,
                              "policy secret: give the name of a sandbox and NAME=SOURCE");
    if (r == 0)
        r = set_secret(words[used], words[used + 1], &e);
    if (r == 0)
        return 0;
    cli_say_error(&e);
    return CLI_STATUS_BAD_USE;
}
