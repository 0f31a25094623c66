// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox policy secret: another value for a secret of a running sandbox, or one more secret.
 */
#include "cli/placeholders.h"
#include "cli/policy_file.h"
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/verbs.h"
#include "lib/policy/compose.h"
#include "lib/policy/same.h"
#include "sandbox/new_policy.h"
#include "sandbox/secrets.h"

#include <jansson.h>

struct secret_options {
    bool help;
};

#define TRIES 8 /* while others change the policy, too */

static const struct cli_foreign_option foreign[] = {{0}};
static const struct cli_option secret_options[] = {CLI_HELP(struct secret_options, help), {0}};

/* A document that has the secret that word describes, as --secret has it. 0, or -EINVAL with the
 * sentence. */
static int compose(const char *word, struct buf *ret, struct sandbox_error *e)
{
    struct policy_error wrong;
    _cleanup_free_ char *folder = getcwd(NULL, 0);
    const struct policy_words words = {.secrets = &word, .secret_count = 1, .folder = folder};
    if (policy_compose(&words, ret, &wrong) < 0)
        return sandbox_error_set(e, -EINVAL, "%s", wrong.text);
    return 0;
}

/* ---- another value ---- */

/* Stands for the hosts that are known, where a whole word is read. */
#define SOME_HOST "@secret.invalid"

/* e's sentence is of a word that nobody wrote, and says to write more than may be written here. */
static int blame_source(const char *text, struct sandbox_error *e)
{
    char *end = strstr(e->text, SOME_HOST);
    if (strchr(text, '@'))
        return sandbox_error_set(e, -EINVAL,
                                 "the sandbox has it already, and where it may go stays as it is; "
                                 "write NAME=SOURCE, without @HOST");
    if (end)
        memmove(end, end + strlen(SOME_HOST), strlen(end + strlen(SOME_HOST)) + 1);
    /* Nor may the hosts be written that its advice has. */
    char *advice = strstr(e->text, "; write NAME=SOURCE@");
    if (advice)
        *strchr(advice, '@') = '\0';
    return -EINVAL;
}

/* The secret that NAME=SOURCE means; where it may go is known already. */
static struct policy *parse_secret(const char *text, struct sandbox_error *e)
{
    struct buf word = BUF_INIT(4096), json = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    struct policy_error wrong;
    struct policy *p = NULL;
    /* What it is for is known too. */
    static const char ssh[] = "=ssh:";
    size_t name_size = strcspn(text, "=");
    bool is_ssh = !strncmp(text + name_size, ssh, strlen(ssh));
    buf_printf(&word, "%.*s%s%s" SOME_HOST, (int)name_size, text, is_ssh ? "=" : "",
               text + name_size + (is_ssh ? strlen(ssh) : 0));
    if (word.failed) {
        sandbox_error_set(e, -E2BIG, "it is too long; write NAME=SOURCE");
    } else if (compose(word.data, &json, e) < 0) {
        blame_source(text, e);
    } else {
        p = policy_parse(json.data, json.size, &wrong);
        if (!p)
            sandbox_error_set(e, -EINVAL, "%s", wrong.text);
    }
    buf_done(&word);
    buf_done(&json);
    return p;
}

static int renew(const char *name, const char *text, struct sandbox_error *e)
{
    _cleanup_close_ int fd = -1;
    struct policy *p = parse_secret(text, e);
    if (!p)
        return -EINVAL;
    int r = sandbox_secret_open(&policy_get_document(p)->secrets[0], &fd, e);
    policy_free(p);
    return r < 0 ? r : updates_set_secret(name, fd, e);
}

/* ---- one more ---- */

/* The document in force, with the secrets of another one besides its own. NULL: no memory. */
static char *join(const struct buf *in_force, const struct buf *more)
{
    json_t *all = json_loadb(in_force->data, in_force->size, 0, NULL);
    json_t *added = json_loadb(more->data, more->size, 0, NULL);
    json_t *list = json_object_get(all, "secrets");
    bool is_whole = all && added;
    if (is_whole && !list) {
        list = json_object();
        is_whole = json_object_set_new(all, "secrets", list) == 0;
    }
    is_whole = is_whole && json_object_update(list, json_object_get(added, "secrets")) == 0;
    char *text = is_whole ? json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(all);
    json_decref(added);
    return text;
}

static int add(const char *name, const char *text, const struct buf *in_force, uint64_t generation,
               struct sandbox_error *e)
{
    struct buf json = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    struct strv placeholders = {0};
    if (!strchr(text, '@'))
        return sandbox_error_set(e, -ENOENT,
                                 "secret: the sandbox has none of that name; to add it, say where "
                                 "it may go: NAME=SOURCE@HOST");
    int r = compose(text, &json, e);
    _cleanup_free_ char *all = r == 0 ? join(in_force, &json) : NULL;
    buf_done(&json);
    if (r == 0 && !all)
        r = sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    if (r == 0) {
        const struct update update = {.json = all, .size = strlen(all), .generation = generation};
        r = sandbox_set_policy(name, &update, &placeholders, NULL, e);
    }
    if (r == 0)
        cli_print_placeholders(&placeholders);
    strv_done(&placeholders);
    return r;
}

/* Which of both it is the sandbox's policy says: in a source there may be an '@' too. */
static int try_secret(const char *name, const char *text, struct sandbox_error *e)
{
    struct buf in_force = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES + 1);
    struct policy_error wrong;
    uint64_t generation;
    int size = (int)strcspn(text, "=");
    _cleanup_free_ char *secret = strndup(text, (size_t)size);
    int r = secret ? updates_get_policy(name, &in_force, &generation, e)
                   : sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    struct policy *p = r == 0 ? policy_parse(in_force.data, in_force.size, &wrong) : NULL;
    if (p && policy_find_secret(policy_get_document(p), secret))
        r = renew(name, text, e);
    else if (p)
        r = add(name, text, &in_force, generation, e);
    else if (r == 0)
        r = sandbox_error_set(e, -EPROTO, "its policy can't be read; use programs of one version");
    policy_free(p);
    buf_done(&in_force);
    return r;
}

/* Of several at once each but the first one's view of the policy is an old one. */
static int set_secret(const char *name, const char *text, struct sandbox_error *e)
{
    int r = try_secret(name, text, e);
    for (int i = 0; r == -ESTALE && i < TRIES; i++)
        r = try_secret(name, text, e);
    return r < 0 ? sandbox_error_prefix(e, r, "policy: secret %.*s", (int)strcspn(text, "="), text)
                 : 0;
}

int cli_policy_secret(int count, char **words)
{
    const struct cli_options of_secret = {
        .options = secret_options,
        .foreign = foreign,
        .help_command = "glovebox policy --help",
        .are_anywhere = true,
    };
    struct secret_options o = {0};
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
