// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/memory_use.h"

#include "kernel/core/held.h"
#include "kernel/core/kernel.h"
#include "kernel/host/host.h"
#include "kernel/proc/account.h"
#include "kernel/proc/shared_memory.h"
#include "kernel/proc/usage.h"

#include <errno.h>
#include <stdio.h>

/* What Linux 6 keeps for them on x86-64: stack, task and its signals; mapping and its tree. */
#define THREAD_BYTES  (32UL * 1024)
#define MAPPING_BYTES 256UL
/* And for each mapping of memory that a fork has copied: a link to each copy that it stems from. */
#define FORK_BYTES 64UL
#define SLOT_BYTES 9UL /* of a table of descriptors: a pointer, and some bits */

/* Time for page-by-page measuring in one go: the sandbox's calls wait for it. */
#define ROLLUP_NS          (50 * NSEC_PER_MSEC)
#define COUNT_PAUSE_FACTOR 20

static struct memory_use last;
static int64_t last_ns;
static uint64_t generation;
static int64_t round_ns; /* when the present round of page-by-page measuring began; 0: none */

static ssize_t read_of(const struct process *p, const char *file, char *text, size_t size)
{
    char name[64];
    snprintf(name, sizeof(name), "%d/%s", process_living_host_tid(p), file);
    return host->read_proc(name, text, size);
}

static uint64_t number_of(const char *text, const char *key)
{
    return (uint64_t)usage_status_number(text, key) * 1024;
}

/* ---- counters ---- */

static void read_counters(const struct process *p, struct space_memory *m)
{
    const char *text = "";
    int r = usage_read_status(process_living_host_tid(p), &text);
    m->generation = generation;
    /* What can't be read is no less than it was; of one that is gone nothing is left. */
    if (r < 0 && r != -ENOENT && r != -ESRCH)
        return;
    m->resident_bytes = number_of(text, "\nRssAnon:") + number_of(text, "\nVmSwap:");
    m->shared_bytes = number_of(text, "\nRssShmem:");
    m->file_bytes = number_of(text, "\nRssFile:");
    m->table_bytes = number_of(text, "\nVmPTE:");
    m->descriptor_slots = (size_t)usage_status_number(text, "\nFDSize:");
}

/* The one whose turn it is to have its mappings counted. */
static struct process *longest_uncounted(void)
{
    struct process *p, *due = NULL;
    list_for_each(p, &process_all, all_link)
    {
        if (p->space && p->state == PROCESS_ALIVE &&
            (!due || p->space->memory.counted_ns < due->space->memory.counted_ns))
            due = p;
    }
    return due;
}

/*
 * A bomb of mappings alone shows in no counter, and to count the lines of maps takes the host up to
 * 100 ms a process: so they are counted in turns, and for a small part of the time.
 */
static void count_mappings(void)
{
    static int64_t rest_until_ns;
    int64_t began_ns = clock_monotonic_ns();
    struct process *p = began_ns >= rest_until_ns ? longest_uncounted() : NULL;
    if (!p)
        return;
    char name[64];
    snprintf(name, sizeof(name), "%d/maps", process_living_host_tid(p));
    ssize_t lines = host->count_proc_lines(name);
    if (lines >= 0)
        p->space->memory.mapping_count = (size_t)lines;
    int64_t now_ns = p->space->memory.counted_ns = clock_monotonic_ns();
    rest_until_ns = now_ns + (now_ns - began_ns) * COUNT_PAUSE_FACTOR;
}

/*
 * The host keeps what belongs to processes that are gone at most once more for each that lives
 * (anon_vma_clone() of Linux).
 */
static uint64_t host_bytes(const struct address_space *s)
{
    size_t links = MIN(s->fork_depth, 2 * s->family->space_count);
    return s->memory.mapping_count * (MAPPING_BYTES + links * FORK_BYTES) +
           s->memory.descriptor_slots * SLOT_BYTES;
}

/* ---- page by page ---- */

/*
 * Bytes that may have been copied at most until now, by those that write to pages they have with
 * others: a page with each fault, whether a process's own or one of this process that writes for
 * it. Of those that have ended only the time is known. Never less than before, but for an ending
 * process at the moment of its end.
 */
static uint64_t changes_so_far(void)
{
    const struct account_totals ended = account_totals();
    uint64_t faults = process_page_faults(NULL);
    const struct process *p;
    list_for_each(p, &process_all, all_link)
    {
        if (p->state == PROCESS_ALIVE && !p->exiting)
            faults += process_page_faults(p);
    }
    return faults * GUEST_PAGE_SIZE +
           (uint64_t)(ended.user_ns + ended.system_ns) * MEMORY_FILLED_PER_NS;
}

/* Its pages may be others' too. */
static bool is_in_doubt(const struct address_space *s)
{
    return s->family->space_count > 1;
}

static uint64_t estimate(const struct address_space *s)
{
    const struct space_memory *m = &s->memory;
    if (!is_in_doubt(s) || m->measured_ns == 0)
        return m->resident_bytes;
    uint64_t grown = m->resident_bytes - MIN(m->resident_bytes, m->measured_resident_bytes);
    return MIN(m->measured_bytes + grown, m->resident_bytes);
}

/* Its share of the pages that it has with others. */
static void measure_pages(const struct process *p, struct space_memory *m, uint64_t changes)
{
    char text[4096];
    ssize_t r = read_of(p, "smaps_rollup", text, sizeof(text));
    if (r < 0)
        text[0] = '\0';
    m->measured_bytes = number_of(text, "\nPss_Anon:") + number_of(text, "\nSwapPss:");
    /* What can't be told apart is all its own; of one that is gone nothing is left. */
    if (r < 0 && r != -ENOENT && r != -ESRCH)
        m->measured_bytes = m->resident_bytes;
    m->measured_resident_bytes = m->resident_bytes;
    m->measured_ns = clock_monotonic_ns();
    m->measured_changes = changes;
}

struct private_sum {
    uint64_t bytes, most_bytes;
    uint64_t measured_changes; /* of the oldest measurement among them */
};

static struct private_sum sum_private(void)
{
    struct private_sum sum = {.measured_changes = UINT64_MAX};
    const struct process *p;
    generation++;
    list_for_each(p, &process_all, all_link)
    {
        if (!p->space || p->space->memory.generation == generation)
            continue;
        struct space_memory *m = &p->space->memory;
        m->generation = generation;
        sum.bytes += estimate(p->space);
        sum.most_bytes += m->resident_bytes;
        if (is_in_doubt(p->space) && m->measured_ns > 0)
            sum.measured_changes = MIN(sum.measured_changes, m->measured_changes);
    }
    return sum;
}

static void set_private(struct memory_use *u, const struct private_sum *sum, uint64_t changes)
{
    u->total_bytes += sum->bytes - u->private_bytes;
    u->private_bytes = sum->bytes;
    uint64_t changed = changes > sum->measured_changes ? changes - sum->measured_changes : 0;
    u->copied_bytes = MIN(changed, sum->most_bytes - sum->bytes);
}

/* False when there was no time for all that this round has to measure. */
static bool go_on_with_round(uint64_t changes)
{
    int64_t until_ns = clock_monotonic_ns() + ROLLUP_NS;
    const struct process *p;
    if (round_ns == 0)
        round_ns = clock_monotonic_ns();
    list_for_each(p, &process_all, all_link)
    {
        struct address_space *s = p->space;
        if (!s || !is_in_doubt(s) || s->memory.measured_ns >= round_ns)
            continue;
        if (clock_monotonic_ns() > until_ns)
            return false;
        measure_pages(p, &s->memory, changes);
    }
    return true;
}

/* Measures where that may tell whether more is used than limit. */
static void resolve_doubts(struct memory_use *u, uint64_t limit)
{
    struct private_sum sum = sum_private();
    if (u->total_bytes - u->private_bytes + sum.most_bytes <= limit)
        return;
    uint64_t changes = changes_so_far();
    set_private(u, &sum, changes);
    if (u->total_bytes + u->copied_bytes <= limit)
        return;
    bool is_whole = go_on_with_round(changes);
    sum = sum_private();
    set_private(u, &sum, changes);
    bool may_be_over = u->total_bytes + u->copied_bytes > limit;
    if (is_whole || !may_be_over)
        round_ns = 0;
    u->is_unsure = may_be_over && !(is_whole && u->total_bytes > limit);
}

/* ---- all together ---- */

/* Second field of statm is what is resident, the third what of it is files. In pages. */
static uint64_t own_bytes(void)
{
    unsigned long size, resident = 0, shared = 0;
    char text[128];
    if (host->read_proc("self/statm", text, sizeof(text)) > 0)
        sscanf(text, "%lu %lu %lu", &size, &resident, &shared);
    return (resident - MIN(resident, shared)) * GUEST_PAGE_SIZE;
}

static struct memory_use read_all(void)
{
    struct memory_use u = {.kernel_bytes = own_bytes()};
    uint64_t mapped_shared = 0;
    struct process *p;
    generation++;
    list_for_each(p, &process_all, all_link)
    {
        struct address_space *s = p->space;
        if (p->state != PROCESS_ALIVE)
            continue;
        u.process_count++;
        if (!s || s->memory.generation == generation)
            continue;
        read_counters(p, &s->memory);
        u.private_bytes += estimate(s);
        u.table_bytes += s->memory.table_bytes;
        u.file_bytes += s->memory.file_bytes;
        mapped_shared += s->memory.shared_bytes;
        u.host_bytes += host_bytes(s);
    }
    u.shared_bytes = held_memory_bytes() + MIN(mapped_shared, shared_memory_most_bytes());
    u.host_bytes += thread_total * THREAD_BYTES;
    u.total_bytes =
        u.private_bytes + u.shared_bytes + u.table_bytes + u.host_bytes + u.kernel_bytes;
    return u;
}

struct memory_use memory_use_measure(uint64_t limit)
{
    count_mappings();
    struct memory_use u = read_all();
    resolve_doubts(&u, limit);
    last = u;
    last_ns = clock_monotonic_ns();
    return u;
}

uint64_t memory_use_of(const struct process *p)
{
    const struct space_memory *m = &p->space->memory;
    return estimate(p->space) + m->shared_bytes + m->table_bytes + host_bytes(p->space);
}

const struct memory_use *memory_use_recent(int64_t max_age_ns)
{
    int64_t now_ns = clock_monotonic_ns();
    if (last_ns == 0 || now_ns - last_ns > max_age_ns) {
        last = read_all();
        last_ns = now_ns;
    }
    return &last;
}
