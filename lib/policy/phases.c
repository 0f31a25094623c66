// SPDX-License-Identifier: Apache-2.0
/*
 * Phases: names of stages that a sandbox goes through as its owner says, and the rules that hold in
 * some of them only.
 */
#include "lib/policy/internal.h"
#include "lib/policy/reader.h"

#define NAME_MAX_BYTES 32

static int read_name(struct reader *r, json_t *value, void *element)
{
    static const char most[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    size_t size = strlen(text);
    if (size < 1 || size > NAME_MAX_BYTES || strspn(text, most) != size)
        return reader_fail(r, "is no phase; write 1 to %d of small letters, digits, '_' and '-'",
                           NAME_MAX_BYTES);
    return reader_take_text(r, value, 1, NAME_MAX_BYTES, element);
}

static int read_names(struct reader *r, json_t *value, const char *const **ret, size_t *ret_count)
{
    static const struct reader_elements names = {1, POLICY_PHASES_MAX, sizeof(char *), read_name};
    void *list = NULL;
    int result = reader_list(r, value, &names, &list, ret_count);
    *ret = list;
    return result;
}

int reader_phases(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                  void *field)
{
    struct policy_document *d = field;
    return read_names(r, value, &d->phases, &d->phase_count);
}

int reader_rule_phases(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                       void *field)
{
    struct policy_rule *rule = field;
    return read_names(r, value, &rule->phase_names, &rule->phase_name_count);
}

static int find(const struct policy_document *d, const char *name)
{
    for (size_t i = 0; i < d->phase_count; i++)
        if (!strcmp(d->phases[i], name))
            return (int)i;
    return -1;
}

static int check_twice(struct reader *r, const char *const *names, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (!strcmp(names[i], names[j])) {
                reader_enter_index(r, i);
                return reader_fail(r, "is there already; leave it out");
            }
    return 0;
}

/* The rules' phases are of the document's. */
static int check_rule(struct reader *r, const struct policy_document *d, struct policy_rule *rule)
{
    reader_enter(r, "phases");
    for (size_t i = 0; i < rule->phase_name_count; i++) {
        int phase = find(d, rule->phase_names[i]);
        if (phase < 0) {
            reader_enter_index(r, i);
            return reader_fail(r, "is no phase of this document; write it in \"phases\" at the "
                                  "top, or another one");
        }
        rule->phases |= 1u << phase;
    }
    return check_twice(r, rule->phase_names, rule->phase_name_count);
}

int reader_check_phases(struct reader *r, const struct policy_document *d,
                        struct policy_rule *rules)
{
    size_t top = reader_enter(r, "phases");
    int result = check_twice(r, d->phases, d->phase_count);
    if (result < 0)
        return result;
    reader_leave(r, top);
    reader_enter(r, "rules");
    for (size_t i = 0; i < d->rule_count; i++) {
        size_t before = reader_enter_index(r, i);
        result = check_rule(r, d, &rules[i]);
        if (result < 0)
            return result;
        reader_leave(r, before);
    }
    reader_leave(r, top);
    return 0;
}

bool policy_rule_holds(const struct policy_document *d, const struct policy_rule *rule)
{
    return !rule->phases || rule->phases & 1u << d->phase;
}

int policy_set_phase(struct policy *p, const char *name)
{
    int phase = find(&p->document, name);
    if (phase < 0)
        return -ENOENT;
    p->document.phase = (size_t)phase;
    return 0;
}
