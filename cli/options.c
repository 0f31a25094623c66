// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#define SUGGEST_MAX_LENGTH 32
#define HELP_COLUMN        30

/* The number of letters to insert, take out, replace or swap with the next one to get from a to b.
 */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][SUGGEST_MAX_LENGTH + 1];
    size_t a_size = strlen(a), b_size = strlen(b);
    if (a_size > SUGGEST_MAX_LENGTH || b_size > SUGGEST_MAX_LENGTH)
        return SUGGEST_MAX_LENGTH;
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_size; j++)
        last[j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            size_t moved = MIN(last[j], now[j - 1]) + 1;
            now[j] = MIN(replaced, moved);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = MIN(now[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[b_size];
}

const char *cli_suggest(const char *word, size_t count, const char *(*get)(const void *, size_t),
                        const void *names)
{
    const char *best = NULL;
    size_t size = strlen(word);
    size_t best_distance = size <= 3 ? 2 : 3; /* only below this */
    for (size_t i = 0; i < count; i++) {
        const char *name = get(names, i);
        if (size >= 3 && !strncmp(name, word, size))
            return name;
        size_t distance = edit_distance(word, name);
        if (distance < best_distance) {
            best = name;
            best_distance = distance;
        }
    }
    return best;
}

static size_t count_options(const struct cli_option *options)
{
    size_t count = 0;
    while (options[count].name)
        count++;
    return count;
}

static const char *get_option_name(const void *options, size_t i)
{
    return ((const struct cli_option *)options)[i].name;
}

static const struct cli_option *find_long(const struct cli_option *options, const char *name,
                                          size_t size)
{
    for (; options->name; options++)
        if (!strncmp(options->name, name, size) && !options->name[size])
            return options;
    return NULL;
}

static const struct cli_option *find_letter(const struct cli_option *options, char letter)
{
    for (; options->name; options++)
        if (options->letter && options->letter == letter)
            return options;
    return NULL;
}

static int unknown_option(const struct cli_options *o, const char *word, const char *name,
                          struct sandbox_error *e)
{
    for (const struct cli_foreign_option *f = o->foreign; f->name; f++)
        if (!strcmp(f->name, name))
            return sandbox_error_set(e, -EINVAL, "%s: no such option; %s", word, f->advice);
    const char *meant = cli_suggest(name, count_options(o->options), get_option_name, o->options);
    if (meant && strlen(name) > 1)
        return sandbox_error_set(e, -EINVAL, "%s: no such option; did you mean --%s?", word, meant);
    return sandbox_error_set(e, -EINVAL, "%s: no such option; see %s", word, o->help_command);
}

/* option as the user wrote it, for messages. */
static int take_value(const struct cli_option *option, const char *written, const char *value,
                      void *target, struct sandbox_error *e)
{
    int r = option->take((char *)target + option->place, value, e);
    if (r < 0)
        return value ? sandbox_error_prefix(e, r, "%s %s", written, value)
                     : sandbox_error_prefix(e, r, "%s", written);
    return 0;
}

static int missing_value(const struct cli_option *option, const char *written,
                         struct sandbox_error *e)
{
    return sandbox_error_set(e, -EINVAL, "%s: its value is missing; write %s %s", written, written,
                             option->value);
}

/* --name, --name=value, or --name value: *ret_used words. next may be NULL. */
static int parse_long(const struct cli_options *o, const char *word, const char *next, void *target,
                      int *ret_used, struct sandbox_error *e)
{
    char written[64], name[64];
    size_t size = strcspn(word + 2, "=");
    const char *value = word[2 + size] ? word + 2 + size + 1 : NULL;
    snprintf(written, sizeof(written), "%.*s", (int)MIN(size + 2, (size_t)60), word);
    snprintf(name, sizeof(name), "%.*s", (int)MIN(size, (size_t)60), word + 2);
    const struct cli_option *option = find_long(o->options, word + 2, size);
    if (!option)
        return unknown_option(o, written, name, e);
    if (!option->value) {
        if (value)
            return sandbox_error_set(e, -EINVAL, "%s: takes no value; leave out '=%s'", written,
                                     value);
        *ret_used = 1;
        return take_value(option, written, NULL, target, e);
    }
    *ret_used = value ? 1 : 2;
    if (!value)
        value = next;
    if (!value)
        return missing_value(option, written, e);
    return take_value(option, written, value, target, e);
}

/* -x, -xyz, -xvalue, -x=value, -x value. */
static int parse_letters(const struct cli_options *o, const char *word, const char *next,
                         void *target, int *ret_used, struct sandbox_error *e)
{
    for (const char *letter = word + 1; *letter; letter++) {
        char written[] = {'-', *letter, '\0'};
        const struct cli_option *option = find_letter(o->options, *letter);
        if (!option)
            return unknown_option(o, written, written + 1, e);
        *ret_used = 1;
        if (!option->value) {
            int r = take_value(option, written, NULL, target, e);
            if (r < 0)
                return r;
            continue;
        }
        const char *value = letter[1] ? letter + 1 + (letter[1] == '=' ? 1 : 0) : next;
        *ret_used = letter[1] ? 1 : 2;
        if (!value)
            return missing_value(option, written, e);
        return take_value(option, written, value, target, e);
    }
    return 0;
}

/* One option, and its value, comes before the words that stand before it. */
static void move_before(char **words, size_t others, size_t used)
{
    char *option[2] = {words[others], used > 1 ? words[others + 1] : NULL};
    memmove(words + used, words, others * sizeof(*words));
    memcpy(words, option, used * sizeof(*words));
}

int cli_options_parse(const struct cli_options *o, int count, char **words, void *target,
                      int *ret_used, struct sandbox_error *e)
{
    int at = 0, others = 0; /* that are none, just before at */
    while (at < count) {
        char *word = words[at], *next = at + 1 < count ? words[at + 1] : NULL;
        bool is_end = !strcmp(word, "--"), is_option = word[0] == '-' && word[1];
        int used = 1, r = 0;
        if (!is_option && !o->are_anywhere)
            break;
        if (is_option && !is_end)
            r = word[1] == '-' ? parse_long(o, word, next, target, &used, e)
                               : parse_letters(o, word, next, target, &used, e);
        if (r < 0)
            return r;
        if (is_option)
            move_before(words + at - others, (size_t)others, (size_t)used);
        else
            others++;
        at += used;
        if (is_end)
            break;
    }
    *ret_used = at - others;
    return 0;
}

/* Each line of the text in the right column; size is what stands in the left one. */
static void print_help(const char *text, int size, FILE *out)
{
    if (size >= HELP_COLUMN) {
        fputc('\n', out);
        size = 0;
    }
    while (text) {
        int line_size = (int)strcspn(text, "\n");
        fprintf(out, "%*s%.*s\n", HELP_COLUMN - size, "", line_size, text);
        text = text[line_size] ? text + line_size + 1 : NULL;
        size = 0;
    }
}

void cli_options_print(const struct cli_option *options, FILE *out)
{
    for (; options->name; options++) {
        if (!options->help)
            continue;
        int size =
            options->letter ? fprintf(out, "  -%c, ", options->letter) : fprintf(out, "      ");
        size += fprintf(out, "--%s", options->name);
        if (options->value)
            size += fprintf(out, " %s", options->value);
        print_help(options->help, size, out);
    }
}
