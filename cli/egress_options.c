// SPDX-License-Identifier: Apache-2.0
#include "cli/egress_options.h"

#include "lib/base/buf.h"
#include "lib/policy/compose.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#define KNOWN_HOSTS_MAX_BYTES (4 << 20)

static int read_file(const char *path, struct buf *to, struct sandbox_error *e)
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
        return sandbox_error_set(e, -E2BIG, "more than %zu KiB; make it shorter",
                                 to->max_bytes / 1024);
    return 0;
}

static bool is_for_ssh(const struct strv *secrets)
{
    for (size_t i = 0; i < secrets->count; i++) {
        const char *source = strchr(secrets->items[i], '=');
        if (source && !strncmp(source + 1, "ssh:", 4))
            return true;
    }
    return false;
}

/* Without the option, who has no such file has no keys in it. */
static int read_known_hosts(const struct run_options *o, struct buf *to, struct sandbox_error *e)
{
    char path[PATH_MAX];
    const char *home = getenv("HOME");
    if (o->ssh_known_hosts) {
        int r = read_file(o->ssh_known_hosts, to, e);
        return r < 0 ? sandbox_error_prefix(e, r, "--ssh-known-hosts %s", o->ssh_known_hosts) : 0;
    }
    if (!home || (size_t)snprintf(path, sizeof(path), "%s/.ssh/known_hosts", home) >= sizeof(path))
        return 0;
    int r = read_file(path, to, e);
    return r < 0 && r != -ENOENT ? sandbox_error_prefix(e, r, "--secret: %s", path) : 0;
}

static int compose_with(const struct run_options *o, const char *known_hosts, struct buf *to,
                        struct sandbox_error *e)
{
    struct policy_error wrong;
    _cleanup_free_ char *folder = getcwd(NULL, 0);
    const struct policy_words words = {
        .allow = (const char *const *)o->allow.items,
        .allow_count = o->allow.count,
        .secrets = (const char *const *)o->secrets.items,
        .secret_count = o->secrets.count,
        .folder = folder,
        .known_hosts = known_hosts,
    };
    int r = policy_compose(&words, to, &wrong);
    if (r == 0)
        return 0;
    bool is_secret = !strcmp(wrong.pointer, "/secrets");
    return sandbox_error_set(e, r, "--%s: %s", is_secret ? "secret" : "allow", wrong.text);
}

static int compose(const struct run_options *o, struct buf *to, struct sandbox_error *e)
{
    struct buf known_hosts = BUF_INIT(KNOWN_HOSTS_MAX_BYTES);
    int r = is_for_ssh(&o->secrets) ? read_known_hosts(o, &known_hosts, e) : 0;
    if (r == 0)
        r = compose_with(o, known_hosts.data, to, e);
    buf_done(&known_hosts);
    return r;
}

static int set_policy(struct run_options *o, struct buf *text, struct sandbox_error *e)
{
    int r = o->policy ? read_file(o->policy, text, e) : compose(o, text, e);
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
    if (o->ssh_known_hosts && !is_for_ssh(&o->secrets))
        return sandbox_error_set(
            e, -EINVAL,
            "--ssh-known-hosts: no secret is for SSH; add --secret "
            "NAME=ssh:file:PATH@HOST, or leave it out; in a policy \"host_keys\" "
            "says it");
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
