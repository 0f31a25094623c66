// SPDX-License-Identifier: Apache-2.0
#include "interpreter/texts.h"
#include "server/interpreter_parts.h"

#include <inttypes.h>

#define TEXT(name) interpreter_##name, interpreter_##name##_end

#define NODE                                                        \
    .command = {"node", "-e"}, .boot = interpreter_javascript_boot, \
    .boot_end = interpreter_javascript_boot_end,                    \
    .texts = {{TEXT(javascript)}, {TEXT(javascript_scan)}}

static const struct language languages[] = {
    {
        .name = "python",
        .alias = "py",
        .word = "cell",
        .command = {"python3", "-c"},
        .boot = interpreter_python_boot,
        .boot_end = interpreter_python_boot_end,
        .texts = {{TEXT(python)},
                  {TEXT(python_rich)},
                  {TEXT(python_trace)},
                  {TEXT(python_figures)},
                  {TEXT(python_ipython)}},
    },
    {.name = "javascript", .alias = "js", .word = "cell", NODE},
    {.name = "typescript", .alias = "ts", .word = "typescript", NODE},
    {
        .name = "bash",
        .alias = "sh",
        .word = "cell",
        .command = {"bash", "--norc", "--noprofile", "-c"},
        .boot = interpreter_bash_boot,
        .boot_end = interpreter_bash_boot_end,
        .texts = {{TEXT(bash)}},
    },
    {
        .name = "r",
        .word = "cell",
        .command = {"sh", "-c"},
        .boot = interpreter_r_boot,
        .boot_end = interpreter_r_boot_end,
        .texts = {{TEXT(r)}},
        .is_begun_by_shell = true,
    },
    {
        .name = "java",
        .word = "cell",
        .command = {"sh", "-c"},
        .boot = interpreter_java_boot,
        .boot_end = interpreter_java_boot_end,
        .texts = {{TEXT(java)}},
        .is_begun_by_shell = true,
    },
};

const struct language *language_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
        if (!strcasecmp(name, languages[i].name) ||
            (languages[i].alias && !strcasecmp(name, languages[i].alias)))
            return &languages[i];
    return NULL;
}

/* Its comment at the top is not for command lines. */
static const char *skip_comment(const char *text)
{
    while (text[0] == '#' || (text[0] == '/' && text[1] == '/')) {
        text = strchrnul(text, '\n');
        text += *text == '\n';
    }
    return text;
}

int language_add_command(const struct language *l, struct strv *args)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(l->command) && l->command[i]; i++)
        r = strv_append(args, l->command[i]);
    return r == 0 ? strv_append(args, skip_comment(l->boot)) : r;
}

void language_add_texts(const struct language *l, struct buf *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(l->texts) && l->texts[i].text; i++) {
        size_t size = (size_t)(l->texts[i].end - l->texts[i].text);
        buf_printf(out, "%zu\n", size);
        buf_append(out, l->texts[i].text, size);
    }
}

void language_add_cell(const struct language *l, struct buf *out, const char *mark, uint32_t number,
                       const json_t *variables, const char *code, size_t code_size)
{
    const char *name;
    json_t *value;
    buf_printf(out, "%s %s %" PRIu32 " %zu %zu\n", code ? l->word : "nothing", mark, number,
               json_object_size(variables), code_size);
    json_object_foreach((json_t *)variables, name, value)
    {
        buf_printf(out, "%s %zu\n", name, json_string_length(value));
        buf_append(out, json_string_value(value), json_string_length(value));
        buf_append(out, "\n", 1);
    }
    buf_append(out, code, code_size);
    buf_append(out, "\n", 1);
}

static bool is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return text[0] && !(text[0] >= '0' && text[0] <= '9') && !text[strspn(text, letters)];
}

bool language_are_variables(const json_t *variables)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)variables, name, value)
    {
        if (!is_name(name) || !json_is_string(value))
            return false;
    }
    return true;
}
