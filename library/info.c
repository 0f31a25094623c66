// SPDX-License-Identifier: Apache-2.0
/*
 * What is known of sandboxes, as the registry has it at one moment.
 */
#include "lib/text/shown.h"
#include "library/library.h"
#include "sandbox/ended.h"
#include "sandbox/forget.h"
#include "sandbox/registry.h"
#include "sandbox/usage.h"
#include "sandbox/usage_ask.h"

/* How long a sandbox's kernel has to say what it counts. */
#define TOLD_WAIT_MS 1000

struct glovebox_info {
    char name[REGISTRY_NAME_MAX_BYTES + 1];
    struct record record; /* with its end, if it has one */
    struct sandbox_usage usage;
    bool is_told;
    struct exec_usage told; /* what its kernel says */
};

struct glovebox_list {
    struct glovebox_info **items;
    size_t count, capacity;
    bool failed;
};

static struct glovebox_info *new_info(const char *name)
{
    struct glovebox_info *i = calloc(1, sizeof(*i));
    if (i)
        text_line(name, strlen(name), i->name, sizeof(i->name));
    return i;
}

/* From lines to strings one behind the other. */
static void split_labels(struct glovebox_info *i)
{
    for (char *at = i->record.labels; (at = strchr(at, '\n')); at++)
        *at = '\0';
}

/* -ESRCH: it is about to end, or to begin. */
static int make_info(const char *name, char *text, struct glovebox_info **ret)
{
    struct glovebox_info *i = new_info(name);
    if (!i)
        return -ENOMEM;
    record_parse(text, &i->record);
    split_labels(i);
    int r = usage_read(&i->record, &i->usage);
    if (r < 0)
        free(i);
    else
        *ret = i;
    return r;
}

/* -ENOENT: nothing is known of it. */
static int find_info(struct registry *registry, const char *name, struct glovebox_info **ret)
{
    struct glovebox_info *i = new_info(name);
    int r = i ? ended_look(registry, name, &i->record, &i->usage) : -ENOMEM;
    if (r < 0) {
        free(i);
        return r;
    }
    split_labels(i);
    i->is_told = r == 0 && usage_ask_wait(registry, name, TOLD_WAIT_MS, &i->told) == 0;
    *ret = i;
    return 0;
}

_public_ int glovebox_inspect(const char *name, struct glovebox_info **ret,
                              struct glovebox_error *e)
{
    struct registry registry;
    struct sandbox_error s;
    int r = registry_open(&registry, &s);
    if (r < 0)
        return library_fail(e, r, &s);
    r = find_info(&registry, name, ret);
    registry_close(&registry);
    if (r == -ENOENT)
        return library_fail_with(e, r,
                                 "%.63s: nothing is known of a sandbox of this name; glovebox ps "
                                 "-a lists those that are known",
                                 name);
    if (r == -EAGAIN)
        return library_fail_with(
            e, r, "%.63s: it has ended, and how is not written down yet; try again", name);
    return r < 0 ? library_fail_with(e, r, "%.63s: its record can't be read: %s; try again", name,
                                     strerror(-r))
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
    case GLOVEBOX_TEXT_STATE:
        return i->record.end.ended_ns ? "ended" : "running";
    case GLOVEBOX_TEXT_CAUSE:
        return i->record.end.cause;
    case GLOVEBOX_TEXT_WORDS:
        return i->record.end.words;
    default:
        return "";
    }
}

_public_ const char *glovebox_info_label(const struct glovebox_info *i, const char *key)
{
    size_t size = strlen(key);
    for (const char *at = i->record.labels; *at; at += strlen(at) + 1)
        if (!strncmp(at, key, size) && at[size] == '=')
            return at + size + 1;
    return NULL;
}

static int64_t limit(const struct glovebox_info *i, enum sandbox_limit which)
{
    return (int64_t)MIN(i->record.limits.value[which], (uint64_t)INT64_MAX);
}

/* What it uses, or has used; -1: nobody knows. */
static int64_t use(const struct glovebox_info *i, enum glovebox_number which)
{
    const struct record_end *end = &i->record.end;
    const struct sandbox_usage *u = &i->usage;
    uint64_t peak = end->ended_ns ? end->peak_memory_bytes : u->peak_memory_bytes;
    if (which == GLOVEBOX_NUMBER_PEAK_MEMORY_BYTES)
        return peak ? (int64_t)peak : -1;
    if (which == GLOVEBOX_NUMBER_CPU_NS && end->ended_ns)
        return end->is_found_later || end->user_ns < 0
                   ? -1
                   : end->user_ns + end->system_ns + end->kernel_ns;
    if (end->ended_ns)
        return -1;
    return which == GLOVEBOX_NUMBER_MEMORY_BYTES ? (int64_t)u->memory_bytes
           : which == GLOVEBOX_NUMBER_PROCESSES  ? (int64_t)u->processes
           : which == GLOVEBOX_NUMBER_THREADS    ? (int64_t)u->threads
                                                 : u->cpu_ns;
}

static int64_t told(const struct glovebox_info *i, enum glovebox_number which)
{
    const struct exec_usage *t = &i->told;
    if (which == GLOVEBOX_NUMBER_WRITTEN_BYTES && i->record.end.ended_ns)
        return i->record.end.is_found_later || i->record.end.user_ns < 0
                   ? -1
                   : (int64_t)i->record.end.written_bytes;
    uint64_t value = which == GLOVEBOX_NUMBER_DISK_BYTES       ? t->disk_bytes
                     : which == GLOVEBOX_NUMBER_FILES          ? t->inodes
                     : which == GLOVEBOX_NUMBER_RECEIVED_BYTES ? t->received_bytes
                     : which == GLOVEBOX_NUMBER_SENT_BYTES     ? t->sent_bytes
                                                               : t->written_bytes;
    return i->is_told ? (int64_t)MIN(value, (uint64_t)INT64_MAX) : -1;
}

static int64_t about_end(const struct record_end *end, enum glovebox_number which)
{
    if (!end->ended_ns)
        return -1;
    return which == GLOVEBOX_NUMBER_ENDED_MS ? end->ended_ns / NSEC_PER_MSEC
           : which == GLOVEBOX_NUMBER_STATUS ? end->exit_status
           : end->is_found_later             ? -1
                                             : end->wall_ns;
}

_public_ int64_t glovebox_info_number(const struct glovebox_info *i, enum glovebox_number which)
{
    switch (which) {
    case GLOVEBOX_NUMBER_KERNEL_PID:
        return i->record.end.ended_ns ? -1 : i->record.pid;
    case GLOVEBOX_NUMBER_STARTER_PID:
        return i->record.end.ended_ns ? -1 : i->record.starter;
    case GLOVEBOX_NUMBER_CREATED_MS:
        return i->record.created_ns / NSEC_PER_MSEC;
    case GLOVEBOX_NUMBER_MEMORY_BYTES:
    case GLOVEBOX_NUMBER_PEAK_MEMORY_BYTES:
    case GLOVEBOX_NUMBER_PROCESSES:
    case GLOVEBOX_NUMBER_THREADS:
    case GLOVEBOX_NUMBER_CPU_NS:
        return use(i, which);
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
    case GLOVEBOX_NUMBER_ENDED_MS:
    case GLOVEBOX_NUMBER_STATUS:
    case GLOVEBOX_NUMBER_WALL_NS:
        return about_end(&i->record.end, which);
    case GLOVEBOX_NUMBER_DISK_BYTES:
    case GLOVEBOX_NUMBER_FILES:
    case GLOVEBOX_NUMBER_RECEIVED_BYTES:
    case GLOVEBOX_NUMBER_SENT_BYTES:
    case GLOVEBOX_NUMBER_WRITTEN_BYTES:
        return told(i, which);
    default:
        return -1;
    }
}

/* ---- all of them ---- */

/* Room for one more. */
static bool reserve(struct glovebox_list *l)
{
    if (l->count < l->capacity)
        return true;
    size_t capacity = MAX(2 * l->capacity, (size_t)16);
    struct glovebox_info **items = reallocarray(l->items, capacity, sizeof(struct glovebox_info *));
    if (!items)
        return false;
    l->items = items;
    l->capacity = capacity;
    return true;
}

/* A registry_see_fn. */
static void see(void *userdata, const char *name, char *text)
{
    struct glovebox_list *l = userdata;
    int r = reserve(l) ? make_info(name, text, &l->items[l->count]) : -ENOMEM;
    if (r == 0)
        l->count++;
    else if (r == -ENOMEM)
        l->failed = true;
}

/* An ended_see_fn. */
static bool see_ended(void *userdata, const char *name, const struct record *r,
                      const char *output _unused_, size_t output_size _unused_)
{
    struct glovebox_list *l = userdata;
    struct glovebox_info *i = reserve(l) ? new_info(name) : NULL;
    if (!i) {
        l->failed = true;
        return false;
    }
    i->record = *r;
    split_labels(i);
    l->items[l->count++] = i;
    return true;
}

_public_ int glovebox_list(int flags, struct glovebox_list **ret, struct glovebox_error *e)
{
    struct registry registry;
    struct sandbox_error s;
    struct glovebox_list *l = calloc(1, sizeof(*l));
    int r = l ? registry_open(&registry, &s)
              : sandbox_error_set(&s, -ENOMEM, "list: out of memory; free some and try again");
    if (r == 0) {
        r = registry_list(&registry, see, l);
        if (r == 0 && flags & GLOVEBOX_ALL)
            r = ended_list(registry.folder, NULL, see_ended, l);
        if (r == 0 && l->failed)
            r = -ENOMEM;
        if (r < 0)
            sandbox_error_set(&s, r, "%s: %s; make it readable, or free memory", registry.path,
                              strerror(-r));
        registry_close(&registry);
    }
    if (r < 0) {
        glovebox_list_free(l);
        return library_fail(e, r, &s);
    }
    *ret = l;
    return 0;
}

_public_ int glovebox_forget(const char *name, struct glovebox_error *e)
{
    struct registry registry;
    struct sandbox_error s;
    int r = registry_open(&registry, &s);
    if (r == 0) {
        r = forget_ended(&registry, name, &s);
        registry_close(&registry);
    }
    return r < 0 ? library_fail(e, r, &s) : 0;
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
