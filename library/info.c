// SPDX-License-Identifier: Apache-2.0
/*
 * What is known of sandboxes, as the registry has it at one moment.
 */
#include "lib/text/shown.h"
#include "library/library.h"
#include "sandbox/registry.h"
#include "sandbox/usage.h"

struct glovebox_info {
    char name[REGISTRY_NAME_MAX_BYTES + 1];
    struct record record;
    struct sandbox_usage usage;
};

struct glovebox_list {
    struct glovebox_info **items;
    size_t count, capacity;
    bool failed;
};

/* -ESRCH: it is about to end, or to begin. */
static int make_info(const char *name, char *text, struct glovebox_info **ret)
{
    struct glovebox_info *i = malloc(sizeof(*i));
    if (!i)
        return -ENOMEM;
    record_parse(text, &i->record);
    text_line(name, strlen(name), i->name, sizeof(i->name));
    int r = usage_read(&i->record, &i->usage);
    if (r < 0)
        free(i);
    else
        *ret = i;
    return r;
}

_public_ int glovebox_inspect(const char *name, struct glovebox_info **ret,
                              struct glovebox_error *e)
{
    struct registry registry;
    struct sandbox_error s;
    _cleanup_free_ char *text = NULL;
    int r = registry_open(&registry, &s);
    if (r < 0)
        return library_fail(e, r, &s);
    r = registry_read(&registry, name, &text);
    registry_close(&registry);
    if (r == 0)
        r = make_info(name, text, ret);
    if (r == -ENOMEM)
        return library_fail_with(e, r, "%s: out of memory; free some and try again", name);
    return r < 0 ? library_fail_with(e, -ENOENT,
                                     "%.63s: no sandbox of this name is running; glovebox ps lists "
                                     "those that are",
                                     name)
                 : 0;
}

_public_ void glovebox_info_free(struct glovebox_info *i)
{
    free(i);
}

_public_ const char *glovebox_info_text(const struct glovebox_info *i, enum glovebox_text which)
{
    switch (which) {
    case GLOVEBOX_TEXT_NAME:
        return i->name;
    case GLOVEBOX_TEXT_COMMAND:
        return i->record.command;
    case GLOVEBOX_TEXT_EGRESS:
        return i->record.gateway ? i->record.egress : "";
    default:
        return "";
    }
}

static int64_t limit(const struct glovebox_info *i, enum sandbox_limit which)
{
    return (int64_t)MIN(i->record.limits.value[which], (uint64_t)INT64_MAX);
}

_public_ int64_t glovebox_info_number(const struct glovebox_info *i, enum glovebox_number which)
{
    switch (which) {
    case GLOVEBOX_NUMBER_KERNEL_PID:
        return i->record.pid;
    case GLOVEBOX_NUMBER_STARTER_PID:
        return i->record.starter;
    case GLOVEBOX_NUMBER_CREATED_MS:
        return i->record.created_ns / NSEC_PER_MSEC;
    case GLOVEBOX_NUMBER_MEMORY_BYTES:
        return (int64_t)i->usage.memory_bytes;
    case GLOVEBOX_NUMBER_PEAK_MEMORY_BYTES:
        return i->usage.peak_memory_bytes ? (int64_t)i->usage.peak_memory_bytes : -1;
    case GLOVEBOX_NUMBER_PROCESSES:
        return i->usage.processes;
    case GLOVEBOX_NUMBER_THREADS:
        return i->usage.threads;
    case GLOVEBOX_NUMBER_CPU_NS:
        return i->usage.cpu_ns;
    case GLOVEBOX_NUMBER_MEMORY_LIMIT:
        return limit(i, LIMIT_MEMORY);
    case GLOVEBOX_NUMBER_CPU_LIMIT:
        return limit(i, LIMIT_CPUS);
    case GLOVEBOX_NUMBER_PROCESS_LIMIT:
        return limit(i, LIMIT_PIDS);
    case GLOVEBOX_NUMBER_DISK_LIMIT:
        return limit(i, LIMIT_DISK);
    case GLOVEBOX_NUMBER_LIFETIME_LIMIT_NS:
        return limit(i, LIMIT_LIFETIME);
    default:
        return -1;
    }
}

/* ---- all of them ---- */

/* A registry_see_fn. */
static void see(void *userdata, const char *name, char *text)
{
    struct glovebox_list *l = userdata;
    if (l->count == l->capacity) {
        size_t capacity = MAX(2 * l->capacity, (size_t)16);
        struct glovebox_info **items =
            reallocarray(l->items, capacity, sizeof(struct glovebox_info *));
        if (!items) {
            l->failed = true;
            return;
        }
        l->items = items;
        l->capacity = capacity;
    }
    int r = make_info(name, text, &l->items[l->count]);
    if (r == 0)
        l->count++;
    else if (r == -ENOMEM)
        l->failed = true;
}

_public_ int glovebox_list(struct glovebox_list **ret, struct glovebox_error *e)
{
    struct registry registry;
    struct sandbox_error s;
    struct glovebox_list *l = calloc(1, sizeof(*l));
    int r = l ? registry_open(&registry, &s)
              : sandbox_error_set(&s, -ENOMEM, "list: out of memory; free some and try again");
    if (r == 0) {
        r = registry_list(&registry, see, l);
        if (r == 0 && l->failed)
            r = -ENOMEM;
        if (r < 0)
            sandbox_error_set(&s, r, "%s/sandboxes: %s; make it readable, or free memory",
                              registry.path, strerror(-r));
        registry_close(&registry);
    }
    if (r < 0) {
        glovebox_list_free(l);
        return library_fail(e, r, &s);
    }
    *ret = l;
    return 0;
}

_public_ void glovebox_list_free(struct glovebox_list *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->count; i++)
        free(l->items[i]);
    free(l->items);
    free(l);
}

_public_ size_t glovebox_list_count(const struct glovebox_list *l)
{
    return l->count;
}

_public_ const struct glovebox_info *glovebox_list_get(const struct glovebox_list *l, size_t index)
{
    return index < l->count ? l->items[index] : NULL;
}
