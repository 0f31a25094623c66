// SPDX-License-Identifier: Apache-2.0
#include "sandbox/exec_records.h"

#include "lib/base/control.h"
#include "lib/base/gateway.h"
#include "lib/base/trust.h"
#include "sandbox/exec_messages.h"
#include "sandbox/memory_file.h"

#include <stdio.h>
#include <sys/stat.h>

static int read_records(int fd, struct buf *b)
{
    struct stat st;
    if (fd < 0) /* it came with the question, and had no place here */
        return -EMFILE;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
        return -EINVAL;
    if (st.st_size > (off_t)EXEC_RECORDS_MAX)
        return -E2BIG;
    _cleanup_free_ char *text = malloc((size_t)st.st_size);
    ssize_t n = text ? pread(fd, text, (size_t)st.st_size, 0) : -1;
    if (!text)
        return -ENOMEM;
    /* Whole records: it may be shorter by now. */
    if (n <= 0 || text[n - 1] != '\0')
        return -EINVAL;
    return buf_append(b, text, (size_t)n);
}

static bool has_record(const struct buf *b, const char *start, size_t size)
{
    for (const char *at = b->data; at < b->data + b->size; at += strlen(at) + 1)
        if (!strncmp(at, start, size))
            return true;
    return false;
}

static void add_record(struct buf *b, const char *key, const char *value)
{
    buf_printf(b, "%s=%s", key, value);
    buf_append(b, "", 1);
}

static bool is_of_user(const char *entry)
{
    return !strncmp(entry, "HOME=", 5) || !strncmp(entry, "USER=", 5) ||
           !strncmp(entry, "LOGNAME=", 8);
}

static bool has_variable(const struct buf *b, const char *entry)
{
    char start[256];
    int n = snprintf(start, sizeof(start), "env=%.*s=", (int)strcspn(entry, "="), entry);
    return (size_t)n < sizeof(start) && has_record(b, start, (size_t)n);
}

/* The sandbox's own variables that are not set anew. For another user the kernel has others. */
static void add_environment(struct buf *b, const struct buf *asked, const struct exec_base *base)
{
    const struct strv *env = base->env;
    bool is_other = has_record(asked, "user=", 5);
    for (size_t i = 0; i < env->count; i++)
        if (!(is_other && is_of_user(env->items[i])) && !has_variable(asked, env->items[i]))
            add_record(b, "env", env->items[i]);
    for (size_t i = 0; i < trust_variable_count && base->trusts_gateway; i++) {
        const struct trust_variable *v = &trust_variables[i];
        if (has_variable(asked, v->name) || strv_env_get(env, v->name))
            continue;
        buf_printf(b, "env=%s=%s", v->name, v->value);
        buf_append(b, "", 1);
    }
    if (base->spec->known_hosts && !has_variable(asked, "SSH_AUTH_SOCK=") &&
        !strv_env_get(env, "SSH_AUTH_SOCK"))
        add_record(b, "env", "SSH_AUTH_SOCK=" GATEWAY_AGENT_PATH);
}

int exec_records_make(const struct exec_base *base, int fd, uint32_t flags, int *ret,
                      char **ret_shown, size_t *ret_shown_size)
{
    struct buf asked = BUF_INIT(EXEC_RECORDS_MAX), all = BUF_INIT(CONTROL_SPEC_MAX_BYTES);
    const struct sandbox_spec *spec = base->spec;
    int r = read_records(fd, &asked);
    if (r == 0) {
        if (spec->user && !has_record(&asked, "user=", 5))
            add_record(&all, "user", spec->user);
        if (spec->workdir && !has_record(&asked, "workdir=", 8))
            add_record(&all, "workdir", spec->workdir);
        add_environment(&all, &asked, base);
        buf_append(&all, asked.data, asked.size);
        add_record(&all, "tty", flags & EXEC_TTY ? "1" : "0");
        add_record(&all, "null_input", flags & EXEC_NULL_INPUT ? "1" : "0");
        r = all.failed ? -E2BIG : 0;
    }
    if (r == 0) {
        *ret_shown_size = MIN(asked.size, (size_t)EXEC_RECORDS_SHOWN_BYTES);
        *ret_shown = malloc(*ret_shown_size);
        *ret = *ret_shown ? memory_file_new("glovebox-exec", all.data, all.size) : -1;
        r = *ret >= 0 ? 0 : errno == EMFILE || errno == ENFILE ? -errno : -ENOMEM;
    }
    if (r == 0)
        memcpy(*ret_shown, asked.data, *ret_shown_size);
    buf_done(&asked);
    buf_done(&all);
    return r;
}
