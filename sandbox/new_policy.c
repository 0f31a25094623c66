// SPDX-License-Identifier: Apache-2.0
#include "sandbox/new_policy.h"

#include "lib/secret/pages.h"
#include "sandbox/memory_file.h"
#include "sandbox/secrets.h"

/* Those of next that the sandbox has not. 0, *ret, which may be NULL, and the generation that was
 * compared; negative errno with the sentence. */
static int find_new(const char *name, const struct policy_document *next,
                    struct sandbox_secrets **ret, uint64_t *ret_generation, struct sandbox_error *e)
{
    struct buf text = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES + 1);
    struct policy_error wrong;
    int r = updates_get_policy(name, &text, ret_generation, e);
    struct policy *p = r == 0 ? policy_parse(text.data ? text.data : "", text.size, &wrong) : NULL;
    if (p)
        r = sandbox_secrets_load_new(next, policy_get_document(p), ret, e);
    else if (r == 0)
        r = sandbox_error_set(e, -EPROTO,
                              "%s: its policy can't be read: %s; use the programs of one version",
                              name, wrong.text);
    policy_free(p);
    buf_done(&text);
    return r;
}

/* What stands in lib/base/update.h. Negative, and errno. */
static int make_file(const struct update *u, const struct sandbox_secrets *s)
{
    size_t values_size;
    const void *values = sandbox_secrets_file(s, &values_size);
    char *both = secret_memory_new(u->size + values_size);
    if (!both)
        return -1;
    memcpy(both, u->json, u->size);
    memcpy(both + u->size, values, values_size);
    int fd = memory_file_new("glovebox-policy", both, u->size + values_size);
    secret_memory_free(both, u->size + values_size);
    return fd;
}

static int set_with(const char *name, const struct update *update, const struct sandbox_secrets *s,
                    uint64_t generation, struct strv *ret_placeholders, uint64_t *ret_generation,
                    struct sandbox_error *e)
{
    struct update more = *update;
    const struct strv *placeholders = sandbox_secrets_placeholders(s);
    if (!more.generation)
        more.generation = generation;
    _cleanup_close_ int file = make_file(update, s);
    if (file < 0)
        return sandbox_error_set(e, -ENOMEM, "secrets: out of memory; free some and try again");
    more.has_file = true;
    more.file = file;
    int r = updates_set_policy(name, &more, ret_generation, e);
    /* It is in force; what can't be told can be asked for. */
    if (r == 0 && ret_placeholders)
        strv_append_all(ret_placeholders, placeholders);
    return r;
}

int sandbox_set_policy(const char *name, const struct update *update, struct strv *ret_placeholders,
                       uint64_t *ret_generation, struct sandbox_error *e)
{
    struct policy_error wrong;
    struct sandbox_secrets *new = NULL;
    uint64_t generation = 0;
    int r = 0;
    /* What is no document is for the gateway to refuse, which notes it. */
    struct policy *p = update->json && update->size <= POLICY_DOCUMENT_MAX_BYTES
                           ? policy_parse(update->json, update->size, &wrong)
                           : NULL;
    if (p && policy_get_document(p)->secret_count > 0)
        r = find_new(name, policy_get_document(p), &new, &generation, e);
    if (r == 0)
        r = new ? set_with(name, update, new, generation, ret_placeholders, ret_generation, e)
                : updates_set_policy(name, update, ret_generation, e);
    sandbox_secrets_free(new);
    policy_free(p);
    return r;
}
