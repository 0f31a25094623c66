// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/patterns.h"

#include "lib/policy/label.h"
#include "lib/policy/text.h"

#define FEW_PATTERNS 16

#define WHY_ADDRESS "is an address, not a name; write it in \"cidr\""
#define WHY_BROAD                                                                                \
    "reaches over a whole top-level domain; write two labels behind the wildcard, or \"*\" for " \
    "every name"
#define WHY_STAR                                                                                 \
    "has a '*' that is not a whole label; write \"*.example.com\", or \"glob:\" in front for a " \
    "'*' that stands for anything"

int policy_patterns_init(struct policy_patterns *ret, struct arena *arena, size_t count)
{
    struct policy_patterns p = {
        .exact = arena_new(arena, count, sizeof(char *)),
        .below = arena_new(arena, count, sizeof(char *)),
        .labels = arena_new(arena, count, sizeof(char *)),
        .globs = arena_new(arena, count, sizeof(char *)),
    };
    if (!p.exact || !p.below || !p.labels || !p.globs)
        return -ENOMEM;
    *ret = p;
    return 0;
}

static int add(const char **list, size_t *count, struct arena *arena, const char *text)
{
    char *copy = arena_copy(arena, text, strlen(text));
    if (!copy)
        return -ENOMEM;
    list[(*count)++] = copy;
    return 0;
}

static int refuse(const char **why, const char *reason)
{
    *why = reason;
    return -EINVAL;
}

/* Why a name is none, with a next step that fits all of them. */
static int refuse_name(const char **why, const char *reason)
{
    static const struct {
        const char *reason, *sentence;
    } sentences[] = {
        {"is empty", "is empty; write a host name"},
        {"is longer than 253 bytes", "is longer than 253 bytes; no host name is"},
        {"is not UTF-8", "is not UTF-8; save the file as UTF-8"},
        {"has an empty label", "has an empty label; leave out the second of two dots"},
        {"has a label of more than 63 bytes",
         "has a label of more than 63 bytes; no host name has"},
        {"ends in a number and is no IPv4 address",
         "ends in a number and is no IPv4 address; write a host name"},
        {"has characters that no internationalized name has",
         "has characters that no internationalized name has; write it with its A-labels (xn--...)"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(sentences); i++)
        if (!strcmp(reason, sentences[i].reason))
            return refuse(why, sentences[i].sentence);
    return refuse(why, "has a character that no host name has; write letters, digits, '-', '_' and "
                       "dots, without a scheme or a path");
}

/* "example.com", or what stands behind a wildcard at the start. */
static int read_name(const char *text, struct policy_host *ret, const char **why)
{
    const char *reason = "";
    int r = policy_host_parse(text, strlen(text), ret, &reason);
    if (r == -EINVAL)
        return refuse_name(why, reason);
    if (r == 0 && ret->kind == POLICY_HOST_ADDRESS)
        return refuse(why, WHY_ADDRESS);
    return r;
}

static int add_below(struct policy_patterns *p, struct arena *arena, const char *text,
                     bool has_apex, const char **why)
{
    struct policy_host host;
    int r = strchr(text, '*') ? refuse(why, WHY_STAR) : read_name(text, &host, why);
    if (r == 0 && !strchr(host.name, '.'))
        r = refuse(why, WHY_BROAD);
    if (r == 0)
        r = add(p->below, &p->below_count, arena, host.name);
    if (r == 0 && has_apex)
        r = add(p->exact, &p->exact_count, arena, host.name);
    return r;
}

/* One label of "www.*.com" to the end of out. */
static int append_label(char *out, const char *label, size_t size, const char **why)
{
    struct policy_ascii ascii;
    size_t used = strlen(out);
    const char *reason = "";
    if (size == 0)
        return refuse_name(why, "has an empty label");
    if (size == 1 && *label == '*') {
        ascii.text[0] = '*';
        ascii.size = 1;
    } else if (memchr(label, '*', size)) {
        return refuse(why, WHY_STAR);
    } else {
        int r = policy_host_to_ascii(label, size, &ascii, &reason);
        if (r < 0)
            return r == -EINVAL ? refuse_name(why, reason) : r;
    }
    if (ascii.size > POLICY_LABEL_MAX_BYTES)
        return refuse_name(why, "has a label of more than 63 bytes");
    if (used + 1 + ascii.size > POLICY_NAME_MAX_BYTES)
        return refuse_name(why, "is longer than 253 bytes");
    if (used > 0)
        out[used++] = '.';
    memcpy(out + used, ascii.text, ascii.size);
    out[used + ascii.size] = '\0';
    return 0;
}

static int add_labels(struct policy_patterns *p, struct arena *arena, const char *text,
                      const char **why)
{
    char out[POLICY_NAME_MAX_BYTES + 1] = "";
    size_t words = 0;
    for (const char *end; text; text = *end ? end + 1 : NULL) {
        end = strchrnul(text, '.');
        if (end == text && !*end && *out)
            break; /* behind the dot at the end of a name */
        int r = append_label(out, text, (size_t)(end - text), why);
        if (r < 0)
            return r;
        words += !(end - text == 1 && *text == '*');
    }
    if (words < 2)
        return refuse(why, WHY_BROAD);
    return add(p->labels, &p->label_count, arena, out);
}

static int add_glob(struct policy_patterns *p, struct arena *arena, const char *text,
                    const char **why)
{
    char out[POLICY_NAME_MAX_BYTES + 1];
    size_t size = strlen(text);
    if (size == 0 || size > POLICY_NAME_MAX_BYTES)
        return refuse_name(why, size ? "is longer than 253 bytes" : "is empty");
    for (size_t i = 0; i <= size; i++) {
        out[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
        if (i < size && out[i] != '*' && out[i] != '.' && !policy_label_byte(out[i]))
            return refuse_name(why, "");
    }
    return add(p->globs, &p->glob_count, arena, out);
}

int policy_patterns_add(struct policy_patterns *p, struct arena *arena, const char *text,
                        const char **why)
{
    struct policy_host host;
    if (!strcmp(text, "*")) {
        p->any = true;
        return 0;
    }
    if (!strncmp(text, "glob:", 5))
        return add_glob(p, arena, text + 5, why);
    if (!strncmp(text, "*.", 2) && !strchr(text + 2, '*'))
        return add_below(p, arena, text + 2, false, why);
    if (text[0] == '.')
        return add_below(p, arena, text + 1, true, why);
    if (strchr(text, '*'))
        return add_labels(p, arena, text, why);
    int r = read_name(text, &host, why);
    return r < 0 ? r : add(p->exact, &p->exact_count, arena, host.name);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void policy_patterns_sort(struct policy_patterns *p)
{
    qsort(p->exact, p->exact_count, sizeof(char *), compare);
    qsort(p->below, p->below_count, sizeof(char *), compare);
}

static bool is_listed(const char **list, size_t count, const char *name)
{
    return count > 0 && bsearch(&name, list, count, sizeof(char *), compare);
}

static bool labels_match(const char *pattern, const char *name)
{
    for (;;) {
        const char *pattern_end = strchrnul(pattern, '.'), *name_end = strchrnul(name, '.');
        size_t size = (size_t)(pattern_end - pattern);
        bool is_star = size == 1 && *pattern == '*';
        if (!is_star && (size != (size_t)(name_end - name) || memcmp(pattern, name, size)))
            return false;
        if (!*pattern_end || !*name_end)
            return !*pattern_end && !*name_end;
        pattern = pattern_end + 1;
        name = name_end + 1;
    }
}

/* Few patterns are compared with the end of the name, many are searched for with each end of it. */
static bool is_below(const struct policy_patterns *p, const char *name)
{
    size_t size = strlen(name);
    if (p->below_count <= FEW_PATTERNS) {
        for (size_t i = 0; i < p->below_count; i++) {
            size_t length = strlen(p->below[i]);
            if (size > length && name[size - length - 1] == '.' &&
                !memcmp(name + size - length, p->below[i], length))
                return true;
        }
        return false;
    }
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
        if (is_listed(p->below, p->below_count, dot + 1))
            return true;
    return false;
}

bool policy_patterns_match(const struct policy_patterns *p, const char *name)
{
    if (p->any || is_listed(p->exact, p->exact_count, name))
        return true;
    if (p->below_count && is_below(p, name))
        return true;
    for (size_t i = 0; i < p->label_count; i++)
        if (labels_match(p->labels[i], name))
            return true;
    for (size_t i = 0; i < p->glob_count; i++)
        if (policy_glob_matches(p->globs[i], name, strlen(name)))
            return true;
    return false;
}

bool policy_patterns_are_empty(const struct policy_patterns *p)
{
    return !p->any && !p->exact_count && !p->below_count && !p->label_count && !p->glob_count;
}

static bool has_text(const char **list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], text))
            return true;
    return false;
}

bool policy_patterns_cover(const struct policy_patterns *outer, const struct policy_patterns *inner)
{
    if (outer->any)
        return true;
    if (inner->any)
        return false;
    for (size_t i = 0; i < inner->exact_count; i++)
        if (!policy_patterns_match(outer, inner->exact[i]))
            return false;
    for (size_t i = 0; i < inner->below_count; i++)
        if (!is_listed(outer->below, outer->below_count, inner->below[i]) &&
            !is_below(outer, inner->below[i]))
            return false;
    for (size_t i = 0; i < inner->label_count; i++)
        if (!has_text(outer->labels, outer->label_count, inner->labels[i]))
            return false;
    for (size_t i = 0; i < inner->glob_count; i++)
        if (!has_text(outer->globs, outer->glob_count, inner->globs[i]))
            return false;
    return true;
}
