// SPDX-License-Identifier: Apache-2.0
#include "server/envd_process.h"

#include "server/json.h"
#include "server/limits.h"

#include <inttypes.h>
#include <stdio.h>

#define SIZE_MAX_CELLS 32767

int process_make_environment(const struct box *b, const json_t *own, const char *user,
                             struct strv *env)
{
    const struct {
        const char *name, *value;
    } first[] = {{"USER", user},
                 {"LOGNAME", user},
                 {"E2B_SANDBOX", "true"},
                 {"E2B_SANDBOX_ID", b->id},
                 {"E2B_TEMPLATE_ID", b->template}};
    const json_t *maps[] = {b->env, own};
    const char *key;
    json_t *value;
    for (size_t i = 0; i < ARRAY_SIZE(first); i++)
        if (strv_env_set(env, first[i].name, first[i].value) < 0)
            return -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
        json_object_foreach((json_t *)maps[i], key, value)
        {
            if (strv_env_set(env, key, json_string_value(value)) < 0)
                return -ENOMEM;
        }
    return 0;
}

static bool names_are_good(const json_t *variables)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)variables, key, value)
    {
        if (!*key || strchr(key, '='))
            return false;
    }
    return true;
}

static int add_words(const json_t *list, struct strv *args)
{
    size_t i;
    json_t *word;
    json_array_foreach((json_t *)list, i, word)
    {
        if (!json_is_string(word))
            return -EINVAL;
        if (strv_append(args, json_string_value(word)) < 0)
            return -ENOMEM;
    }
    return 0;
}

int process_resolve_folder(const char *cwd, const char *user, char **ret)
{
    char home[128];
    const char *below = cwd;
    bool is_root = !strcmp(user, "root");
    if (cwd[0] == '/') {
        *ret = strdup(cwd);
        return *ret ? 0 : -ENOMEM;
    }
    if (cwd[0] == '~' && (!cwd[1] || cwd[1] == '/'))
        below = cwd[1] ? cwd + 2 : cwd + 1;
    if (!below[0])
        return 0; /* where the sandbox begins such a program anyway */
    snprintf(home, sizeof(home), "%s%s", is_root ? "/" : "/home/", is_root ? "root" : user);
    return asprintf(ret, "%s/%s", home, below) < 0 ? -ENOMEM : 0;
}

bool process_read_size(const json_t *pty, unsigned *ret_rows, unsigned *ret_columns)
{
    const json_t *size = json_object_get(pty, "size");
    json_int_t rows = json_integer_value(json_object_get(size, "rows"));
    json_int_t columns = json_integer_value(json_object_get(size, "cols"));
    if (rows < 0 || columns < 0 || rows > SIZE_MAX_CELLS || columns > SIZE_MAX_CELLS)
        return false;
    *ret_rows = (unsigned)rows;
    *ret_columns = (unsigned)columns;
    return true;
}

static int read_process(const json_t *process, const struct box *b, const char *user,
                        struct process_command *c, const char **ret_why)
{
    const char *wrong = NULL;
    json_t *cmd = json_member(process, "cmd", JSON_STRING, &wrong);
    json_t *args = json_member(process, "args", JSON_ARRAY, &wrong);
    json_t *envs = json_member(process, "envs", JSON_OBJECT, &wrong);
    json_t *cwd = json_member(process, "cwd", JSON_STRING, &wrong);
    *ret_why = "process: cmd, args, envs or cwd is not of its type; docs/api.md says which";
    if (wrong || !cmd || !json_string_length(cmd) ||
        (envs && (!json_is_string_map(envs, ENVD_BODY_MAX) || !names_are_good(envs))))
        return -EINVAL;
    int r = strv_append(&c->exec.args, json_string_value(cmd)) < 0 ? -ENOMEM : 0;
    if (r == 0)
        r = add_words(args, &c->exec.args);
    if (r == 0)
        r = process_make_environment(b, envs, user, &c->exec.env);
    if (r == 0)
        r = process_resolve_folder(cwd ? json_string_value(cwd) : "", user, &c->workdir);
    return r;
}

int process_command_read(const json_t *message, const struct box *b, const char *user,
                         struct process_command *ret, const char **ret_why)
{
    const char *wrong = NULL;
    *ret = (struct process_command){.exec.user = user};
    struct exec_command *e = &ret->exec;
    json_t *process = json_member(message, "process", JSON_OBJECT, &wrong);
    json_t *pty = json_member(message, "pty", JSON_OBJECT, &wrong);
    json_t *tag = json_member(message, "tag", JSON_STRING, &wrong);
    json_t *input = json_member(message, "stdin", JSON_TRUE, &wrong);
    *ret_why = "process, pty, tag or stdin is not of its type; docs/api.md says which";
    if (wrong || !process || (tag && json_string_length(tag) > EXEC_TAG_MAX_BYTES))
        return -EINVAL;
    if (pty && !process_read_size(pty, &e->rows, &e->columns)) {
        *ret_why = "pty.size: give cols and rows as numbers";
        return -EINVAL;
    }
    e->tag = tag && json_string_length(tag) ? json_string_value(tag) : NULL;
    /* What a terminal shows are no lines, and has in it what was typed. */
    e->flags = pty ? EXEC_TTY : EXEC_LOG;
    if (!pty && input && !json_is_true(input)) /* who says nothing may write: older clients do */
        e->flags |= EXEC_NULL_INPUT;
    int r = read_process(process, b, user, ret, ret_why);
    e->workdir = ret->workdir;
    return r;
}

void process_command_done(struct process_command *c)
{
    strv_done(&c->exec.args);
    strv_done(&c->exec.env);
    free(c->workdir);
}

bool process_read_selector(const json_t *message, struct process_selector *ret)
{
    const json_t *process = json_object_get(message, "process");
    const json_t *pid = json_object_get(process, "pid"), *tag = json_object_get(process, "tag");
    *ret = (struct process_selector){0};
    if (json_is_integer(pid) && json_integer_value(pid) > 0 && json_integer_value(pid) <= INT32_MAX)
        ret->pid = json_integer_value(pid);
    else if (json_is_string(tag) && json_string_length(tag) > 0 &&
             json_string_length(tag) <= EXEC_TAG_MAX_BYTES)
        ret->tag = json_string_value(tag);
    return ret->pid || ret->tag;
}

void process_name_missing(const struct process_selector *which, char *text, size_t size)
{
    if (which->pid)
        snprintf(text, size, "process with pid %" PRId64 " not found", which->pid);
    else
        snprintf(text, size, "process with tag %s not found", which->tag);
}

/* ---- lists ---- */

/* Strings of the sandbox's programs, which may be cut in the middle of a character. */
static json_t *make_text(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : json_string("?");
}

static bool is_ours(const char *variable)
{
    return !strncmp(variable, "E2B_", 4) || !strncmp(variable, "USER=", 5) ||
           !strncmp(variable, "LOGNAME=", 8);
}

static void add_record(json_t *config, const char *record)
{
    json_t *args = json_object_get(config, "args");
    if (!strncmp(record, "arg=", 4) && !json_object_get(config, "cmd"))
        json_object_set_new(config, "cmd", make_text(record + 4));
    else if (!strncmp(record, "arg=", 4))
        json_array_append_new(args, make_text(record + 4));
    else if (!strncmp(record, "workdir=", 8))
        json_object_set_new(config, "cwd", make_text(record + 8));
    const char *equals = !strncmp(record, "env=", 4) ? strchr(record + 4, '=') : NULL;
    if (!equals || is_ours(record + 4))
        return;
    _cleanup_free_ char *name = strndup(record + 4, (size_t)(equals - record - 4));
    if (name)
        json_object_set_new(json_object_get(config, "envs"), name, make_text(equals + 1));
}

json_t *process_make_item(const struct exec_message *m)
{
    const char *end = m->text + m->packet.text_size;
    size_t tag_size = strnlen(m->text, m->packet.text_size);
    json_t *config = json_pack("{s[]s{}}", "args", "envs");
    json_t *item = json_pack("{so sI}", "config", config, "pid", (json_int_t)m->packet.value);
    if (!item)
        return NULL;
    if (tag_size)
        json_object_set_new(item, "tag", json_stringn(m->text, tag_size));
    /* The last record may be cut: what has no NUL is left out. */
    const char *at = m->text + tag_size + 1, *nul;
    while (at < end && (nul = memchr(at, '\0', (size_t)(end - at)))) {
        add_record(config, at);
        at = nul + 1;
    }
    if (!json_object_get(config, "cmd"))
        json_object_set_new(config, "cmd", json_string(""));
    return item;
}
