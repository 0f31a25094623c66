// SPDX-License-Identifier: Apache-2.0
#include "cli/report_limits.h"

static json_t *make_value(const struct limit_row *row, uint64_t value)
{
    switch (row->unit) {
    case LIMIT_NS:
        return json_real((double)(value / NSEC_PER_USEC) / 1000.0);
    case LIMIT_THOUSANDTHS:
        return json_real((double)value / 1000.0);
    default:
        return json_integer((json_int_t)value);
    }
}

/* json_object_set_new() refuses a NULL, so that a failure anywhere is seen in the sum. */
static json_t *finish(json_t *object, int failures)
{
    if (object && failures == 0)
        return object;
    json_decref(object);
    return NULL;
}

static int set_rlimits(json_t *object, const struct sandbox_limits *l)
{
    json_t *all = json_object();
    int r = 0;
    for (size_t i = 0; i < l->rlimit_count; i++) {
        const struct rlimit *v = &l->rlimits[i].value;
        const rlim_t values[] = {v->rlim_cur, v->rlim_max};
        json_t *pair = json_array();
        for (size_t k = 0; k < ARRAY_SIZE(values); k++)
            r |= json_array_append_new(pair, values[k] == RLIM_INFINITY
                                                 ? json_null()
                                                 : json_integer((json_int_t)values[k]));
        r |= json_object_set_new(all, sandbox_rlimit_name(l->rlimits[i].resource), pair);
    }
    return r | json_object_set_new(object, "ulimits", finish(all, r));
}

json_t *report_make_limits(const struct sandbox_limits *l)
{
    json_t *object = json_object();
    int r = 0;
    for (int i = 0; i < LIMIT_COUNT; i++) {
        const struct limit_row *row = &sandbox_limit_rows[i];
        bool is_none = l->value[i] == 0 && i != LIMIT_GRACE;
        r |= json_object_set_new(object, row->json,
                                 is_none ? json_null() : make_value(row, l->value[i]));
    }
    r |= set_rlimits(object, l);
    return finish(object, r);
}

json_t *report_make_controls(const struct sandbox_controls *c)
{
    json_t *object = json_object();
    int r = 0;
    r |= json_object_set_new(object, "memory", json_string(limited_by_name(c->memory)));
    r |= json_object_set_new(object, "cpus", json_string(limited_by_name(c->cpus)));
    r |= json_object_set_new(object, "pids", json_string(limited_by_name(c->pids)));
    return finish(object, r);
}

int report_set_limits(json_t *object, const struct sandbox_outcome *o)
{
    int r = 0;
    double kernel_ms = (double)(o->kernel_ns / NSEC_PER_USEC) / 1000.0;
    r |= json_object_set_new(object, "cause_text", json_string(o->words));
    r |= json_object_set_new(object, "cpu_kernel_ms", json_real(kernel_ms));
    r |= json_object_set_new(object, "total_memory_bytes",
                             o->total_memory_bytes ? json_integer((json_int_t)o->total_memory_bytes)
                                                   : json_null());
    r |= json_object_set_new(object, "memory_kills", json_integer((json_int_t)o->memory_kills));
    r |= json_object_set_new(object, "written_bytes",
                             o->user_ns < 0 ? json_null()
                                            : json_integer((json_int_t)o->written_bytes));
    r |= json_object_set_new(object, "report", o->report[0] ? json_string(o->report) : json_null());
    r |= json_object_set_new(object, "limits", report_make_limits(&o->limits));
    r |= json_object_set_new(object, "limited_by", report_make_controls(&o->controls));
    return r ? -ENOMEM : 0;
}
