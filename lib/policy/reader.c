// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/reader.h"

#include "lib/policy/patterns.h"
#include "lib/text/shown.h"

#include <stdarg.h>
#include <stdio.h>

const struct reader_word reader_scrub_words[] = {
    {"off", POLICY_SCRUB_OFF},
    {"best_effort", POLICY_SCRUB_BEST_EFFORT},
    {"strict", POLICY_SCRUB_STRICT},
    {0},
};

const struct reader_word reader_tls_words[] = {
    {"auto", POLICY_TLS_AUTO},
    {"terminate", POLICY_TLS_TERMINATE},
    {"passthrough", POLICY_TLS_PASSTHROUGH},
    {0},
};

int reader_fail(struct reader *r, const char *format, ...)
{
    char text[sizeof(r->e->text)], shown[sizeof(r->e->pointer)];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    struct policy_error *e = r->e;
    memcpy(e->pointer, r->pointer, r->pointer_size);
    e->pointer[r->pointer_size] = '\0';
    text_line(r->pointer_size ? e->pointer : "the document",
              r->pointer_size ? r->pointer_size : strlen("the document"), shown, sizeof(shown));
    size_t used = (size_t)snprintf(e->text, sizeof(e->text), "%s: ", shown);
    text_line(text, strlen(text), e->text + used, sizeof(e->text) - used);
    return -EINVAL;
}

int reader_no_memory(struct reader *r)
{
    reader_fail(r, "memory ran out; try again when there is more");
    return -ENOMEM;
}

/* RFC 6901; what doesn't fit is left out, with what comes behind. */
static void append(struct reader *r, const char *text, size_t size)
{
    if (r->pointer_size + size < sizeof(r->pointer)) {
        memcpy(r->pointer + r->pointer_size, text, size);
        r->pointer_size += size;
    } else {
        memset(r->pointer + r->pointer_size, '.', sizeof(r->pointer) - 1 - r->pointer_size);
        r->pointer_size = sizeof(r->pointer) - 1;
    }
}

size_t reader_enter(struct reader *r, const char *key)
{
    size_t before = r->pointer_size;
    append(r, "/", 1);
    for (; *key; key++) {
        if (*key == '~')
            append(r, "~0", 2);
        else if (*key == '/')
            append(r, "~1", 2);
        else
            append(r, key, 1);
    }
    return before;
}

size_t reader_enter_index(struct reader *r, size_t index)
{
    char text[24];
    snprintf(text, sizeof(text), "%zu", index);
    return reader_enter(r, text);
}

void reader_leave(struct reader *r, size_t before)
{
    r->pointer_size = before;
}

static const struct reader_field *find_field(const struct reader_field *fields, const char *name)
{
    for (; fields->name; fields++)
        if (!strcmp(fields->name, name))
            return fields;
    return NULL;
}

static int fail_unknown(struct reader *r, const struct reader_field *fields)
{
    char names[512];
    size_t used = 0;
    for (; fields->name && used < sizeof(names); fields++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
                                 fields->name);
    return reader_fail(r, "there is no such field; those that may stand here are %s", names);
}

int reader_object(struct reader *r, json_t *value, const struct reader_field *fields, void *target)
{
    const char *key;
    json_t *member;
    if (!json_is_object(value))
        return reader_fail(r, "is not an object; write { ... }");
    json_object_foreach(value, key, member)
    {
        size_t before = reader_enter(r, key);
        const struct reader_field *f = find_field(fields, key);
        int result =
            f ? f->read(r, member, f, (char *)target + f->offset) : fail_unknown(r, fields);
        if (result < 0)
            return result;
        reader_leave(r, before);
    }
    for (; fields->name; fields++)
        if (fields->is_required && !json_object_get(value, fields->name))
            return reader_fail(r, "has no \"%s\"; add it", fields->name);
    return 0;
}

int reader_list(struct reader *r, json_t *value, const struct reader_elements *elements,
                void **ret_list, size_t *ret_count)
{
    if (!json_is_array(value))
        return reader_fail(r, "is not a list; write [ ... ]");
    size_t count = json_array_size(value);
    if (count > elements->most)
        return reader_fail(r, "has %zu elements; at most %zu may be there", count, elements->most);
    if (count < elements->least)
        return reader_fail(r, "is empty; give it an element, or leave it out");
    char *list = arena_new(r->arena, count, elements->size);
    if (!list)
        return reader_no_memory(r);
    *ret_list = list;
    for (size_t i = 0; i < count; i++) {
        size_t before = reader_enter_index(r, i);
        int result = elements->read(r, json_array_get(value, i), list + i * elements->size);
        if (result < 0)
            return result;
        reader_leave(r, before);
        *ret_count = i + 1;
    }
    return 0;
}

int reader_take_text(struct reader *r, json_t *value, size_t least, size_t most, const char **ret)
{
    if (!json_is_string(value))
        return reader_fail(r, "is not a text; write \"...\"");
    const char *text = json_string_value(value);
    size_t size = strlen(text);
    if (size < least || size > most)
        return reader_fail(r, "has %zu bytes; write %zu to %zu", size, least, most);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return reader_fail(r, "has a control character in it; write it without");
    const char *copy = arena_copy(r->arena, text, size);
    if (!copy)
        return reader_no_memory(r);
    *ret = copy;
    return 0;
}

int reader_bool(struct reader *r, json_t *value, const struct reader_field *f _unused_, void *field)
{
    if (!json_is_boolean(value))
        return reader_fail(r, "is neither true nor false; write one of them, without quotes");
    *(bool *)field = json_is_true(value);
    return 0;
}

int reader_number(struct reader *r, json_t *value, const struct reader_field *f, void *field)
{
    const struct reader_bounds *bounds = f->more;
    if (json_is_null(value) && bounds->may_be_null) {
        *(uint64_t *)field = POLICY_LIMIT_NONE;
        return 0;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) < bounds->least ||
        (uint64_t)json_integer_value(value) > bounds->most)
        return reader_fail(r, "is not a whole number from %llu to %llu%s; write one",
                           (unsigned long long)bounds->least, (unsigned long long)bounds->most,
                           bounds->may_be_null ? ", or null" : "");
    *(uint64_t *)field = (uint64_t)json_integer_value(value);
    return 0;
}

int reader_choice(struct reader *r, json_t *value, const struct reader_field *f, void *field)
{
    char words[128];
    size_t used = 0;
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    for (const struct reader_word *w = f->more; w->word; w++) {
        if (!strcmp(w->word, text)) {
            *(int *)field = w->value;
            return 0;
        }
        used += (size_t)snprintf(words + used, sizeof(words) - used, "%s\"%s\"", used ? ", " : "",
                                 w->word);
    }
    return reader_fail(r, "is not one of the words it may be; write one of %s", words);
}

int reader_either(struct reader *r, json_t *value, const struct reader_field *f, void *field)
{
    const char *const *words = f->more;
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    if (strcmp(text, words[0]) && strcmp(text, words[1]))
        return reader_fail(r, "is not one of the words it may be; write one of \"%s\", \"%s\"",
                           words[0], words[1]);
    *(bool *)field = !strcmp(text, words[1]);
    return 0;
}

int reader_text(struct reader *r, json_t *value, const struct reader_field *f, void *field)
{
    const struct reader_sizes *sizes = f->more;
    return reader_take_text(r, value, sizes->least, sizes->most, field);
}

static bool parse_port(const char **text, uint16_t *ret)
{
    unsigned port = 0;
    const char *digit = *text;
    for (; *digit >= '0' && *digit <= '9' && port <= UINT16_MAX; digit++)
        port = 10 * port + (unsigned)(*digit - '0');
    if (digit == *text || **text == '0' || port > UINT16_MAX)
        return false;
    *text = digit;
    *ret = (uint16_t)port;
    return true;
}

static bool parse_range(const char *text, struct policy_port_range *ret)
{
    return parse_port(&text, &ret->first) && *text++ == '-' && parse_port(&text, &ret->last) &&
           !*text && ret->first <= ret->last;
}

static int take_port(struct reader *r, json_t *value, void *element)
{
    struct policy_port_range *range = element;
    json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= 1 && number <= UINT16_MAX) {
        range->first = range->last = (uint16_t)number;
        return 0;
    }
    if (json_is_string(value) && parse_range(json_string_value(value), range))
        return 0;
    return reader_fail(r, "is no port; write a number from 1 to 65535, or a range as "
                          "\"8000-8099\"");
}

int reader_take_ports(struct reader *r, json_t *value, const struct policy_port_range **ret,
                      size_t *ret_count)
{
    void *list = NULL;
    int result = reader_list(
        r, value, &(struct reader_elements){1, READER_LIST_MAX, sizeof(**ret), take_port}, &list,
        ret_count);
    *ret = list;
    return result;
}

/* "*", and globs that leave no name out, or only those without a dot. */
static bool is_for_all(const char *pattern)
{
    const char glob[] = "glob:";
    bool is_glob = !strncmp(pattern, glob, strlen(glob));
    return !strcmp(pattern, "*") ||
           (is_glob && pattern[strlen(glob) + strspn(pattern + strlen(glob), "*.")] == '\0');
}

static int take_pattern(struct reader *r, json_t *value, bool does_star,
                        struct policy_patterns *ret)
{
    const char *why = "";
    if (!json_is_string(value))
        return reader_fail(r, "is not a text; write a host name in quotes");
    const char *text = json_string_value(value);
    if (!does_star && is_for_all(text))
        return reader_fail(r, "stands for every host; name those that are meant");
    int result = policy_patterns_add(ret, r->arena, text, &why);
    if (result == -EINVAL)
        return reader_fail(r, "\"%.100s\" %s", text, why);
    return result < 0 ? reader_no_memory(r) : 0;
}

int reader_take_patterns(struct reader *r, json_t *value, bool does_star,
                         struct policy_patterns *ret)
{
    if (!json_is_array(value))
        return reader_fail(r, "is not a list; write [ ... ]");
    size_t count = json_array_size(value);
    if (policy_patterns_init(ret, r->arena, count) < 0)
        return reader_no_memory(r);
    for (size_t i = 0; i < count; i++) {
        size_t before = reader_enter_index(r, i);
        int result = take_pattern(r, json_array_get(value, i), does_star, ret);
        if (result < 0)
            return result;
        reader_leave(r, before);
    }
    policy_patterns_sort(ret);
    return 0;
}
