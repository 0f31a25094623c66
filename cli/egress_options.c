// SPDX-License-Identifier: Apache-2.0
#include "cli/egress_options.h"

#include "lib/base/buf.h"
#include "lib/policy/compose.h"

#include <fcntl.h>

static int no_memory(struct sandbox_error *e)
{
    return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
}

static int take_file(char **to, const char *value, struct sandbox_error *e)
{
    if (!value[0])
        return sandbox_error_set(e, -EINVAL, "the name is empty; give a file");
    free(*to);
    *to = strdup(value);
    return *to ? 0 : no_memory(e);
}

int egress_option_allow(void *target, const char *value, struct sandbox_error *e)
{
    struct run_options *o = target;
    return strv_append(&o->allow, value) < 0 ? no_memory(e) : 0;
}

int egress_option_secret(void *target, const char *value, struct sandbox_error *e)
{
    struct run_options *o = target;
    return strv_append(&o->secrets, value) < 0 ? no_memory(e) : 0;
}

int egress_option_policy(void *target, const char *value, struct sandbox_error *e)
{
    struct run_options *o = target;
    return take_file(&o->policy, value, e);
}

int egress_option_log(void *target, const char *value, struct sandbox_error *e)
{
    struct run_options *o = target;
    return take_file(&o->spec.egress_log, value, e);
}

static int read_policy(const char *path, struct buf *to, struct sandbox_error *e)
{
    char piece[65536];
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : 0;
    while (fd >= 0 && (n = read(fd, piece, sizeof(piece))) > 0)
        buf_append(to, piece, (size_t)n);
    if (n < 0)
        return sandbox_error_set(e, -errno, "%s; check the path and its permissions",
                                 strerror(errno));
    if (to->failed)
        return sandbox_error_set(e, -E2BIG, "more than %d KiB; make it shorter",
                                 POLICY_DOCUMENT_MAX_BYTES / 1024);
    return 0;
}

static int compose(const struct run_options *o, struct buf *to, struct sandbox_error *e)
{
    struct policy_error wrong;
    _cleanup_free_ char *folder = getcwd(NULL, 0);
    const struct policy_words words = {
        .allow = (const char *const *)o->allow.items,
        .allow_count = o->allow.count,
        .secrets = (const char *const *)o->secrets.items,
        .secret_count = o->secrets.count,
        .folder = folder,
    };
    int r = policy_compose(&words, to, &wrong);
    if (r == 0)
        return 0;
    bool is_secret = !strcmp(wrong.pointer, "/secrets");
    return sandbox_error_set(e, r, "--%s: %s", is_secret ? "secret" : "allow", wrong.text);
}

static int set_policy(struct run_options *o, struct buf *text, struct sandbox_error *e)
{
    int r = o->policy ? read_policy(o->policy, text, e) : compose(o, text, e);
    if (r < 0)
        return o->policy ? sandbox_error_prefix(e, r, "--policy %s", o->policy) : r;
    r = sandbox_spec_set_policy(&o->spec, text->data, text->size, e);
    if (r < 0 && o->policy)
        return sandbox_error_prefix(e, r, "--policy %s", o->policy);
    return r < 0 ? sandbox_error_prefix(e, r, "--%s", o->secrets.count ? "secret" : "allow") : 0;
}

/* Options that say nothing by themselves, or twice what may leave. */
static int check_together(const struct run_options *o, struct sandbox_error *e)
{
    bool is_open = o->policy || o->allow.count > 0 || o->spec.policy;
    if (o->policy && o->allow.count > 0)
        return sandbox_error_set(e, -EINVAL,
                                 "--allow: not together with --policy; write a rule into the file");
    if (o->policy && o->secrets.count > 0)
        return sandbox_error_set(e, -EINVAL,
                                 "--secret: not together with --policy; write it into the file, "
                                 "under \"secrets\"");
    if (!is_open && o->secrets.count > 0)
        return sandbox_error_set(e, -EINVAL,
                                 "--secret: nothing can leave the sandbox, and a secret opens no "
                                 "host; add --allow HOST");
    if (!is_open && o->spec.egress_log)
        return sandbox_error_set(e, -EINVAL,
                                 "--egress-log: nothing can leave the sandbox; add --allow or "
                                 "--policy");
    return 0;
}

int egress_options_complete(struct run_options *o, struct sandbox_error *e)
{
    struct buf text = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    int r = check_together(o, e);
    if (r < 0 || (!o->policy && o->allow.count == 0))
        return r;
    r = set_policy(o, &text, e);
    if (text.data)
        explicit_bzero(text.data, text.capacity); /* a secret may be in it word for word */
    buf_done(&text);
    return r;
}
