// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ended.h"

#include "sandbox/kept.h"
#include "sandbox/outcome.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define FILE_MAX_BYTES (RECORD_MAX_BYTES + 1 + (size_t)ENDED_OUTPUT_MAX_BYTES)

void ended_sweep(int runtime)
{
    struct kept_entries all;
    _cleanup_close_ int folder = kept_open_folder(runtime, ENDED_FOLDER, false);
    if (folder < 0 || kept_list(folder, NULL, &all) < 0)
        return;
    size_t surplus = kept_count_surplus(&all, ENDED_KEPT_MAX - 1, ENDED_KEPT_S);
    /* Hundreds that end at once are all new, and must not fill the folder either. */
    if (all.count >= 2 * ENDED_KEPT_MAX)
        surplus = MAX(surplus, all.count + 1 - 2 * ENDED_KEPT_MAX);
    for (size_t i = 0; i < surplus; i++)
        kept_remove(folder, all.items[i].file);
    free(all.items);
}

static void write_end(const struct record *r, const struct buf *output, struct buf *to)
{
    record_write_end(r, to);
    buf_append(to, "", 1);
    if (output && output->size > 0 && !output->failed)
        buf_append(to, output->data, output->size);
}

static int keep_own(int folder, int own, const char *name, const struct record *r,
                    const struct buf *output)
{
    struct stat st;
    if (fstat(own, &st) < 0 || st.st_size > (off_t)FILE_MAX_BYTES)
        return -EFBIG;
    struct buf end = BUF_INIT(FILE_MAX_BYTES - (size_t)st.st_size);
    write_end(r, output, &end);
    bool is_written =
        !end.failed && pwrite(own, end.data, end.size, st.st_size) == (ssize_t)end.size;
    buf_done(&end);
    return is_written ? kept_link(folder, name, own) : -ENOSPC;
}

static int keep_new(int folder, const char *name, const struct record *r, const struct buf *output)
{
    struct buf text = BUF_INIT(FILE_MAX_BYTES);
    record_write(r, &text);
    record_write_started(r, &text);
    record_write_seal(r, &text);
    write_end(r, output, &text);
    int error = text.failed ? -ENOMEM : kept_keep(folder, name, &text);
    buf_done(&text);
    return error;
}

int ended_keep(int runtime, int own, const char *name, const struct record *r,
               const struct buf *output)
{
    _cleanup_close_ int folder = kept_open_folder(runtime, ENDED_FOLDER, true);
    if (folder < 0)
        return folder;
    if (own >= 0 && keep_own(folder, own, name, r, output) == 0)
        return 0;
    return keep_new(folder, name, r, output);
}

/* ---- reading ---- */

/* The whole file, NUL-terminated and to be freed; NULL: it is none of ours, or gone. */
static char *read_file(int folder, const char *file, size_t *ret_size)
{
    struct stat st;
    _cleanup_close_ int fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)FILE_MAX_BYTES)
        return NULL;
    char *text = malloc((size_t)st.st_size + 1);
    ssize_t n = text ? pread(fd, text, (size_t)st.st_size, 0) : -1;
    if (n < 0) {
        free(text);
        return NULL;
    }
    text[n] = '\0';
    *ret_size = (size_t)n;
    return text;
}

/* True: go on. */
static bool see_file(int folder, const struct kept_entry *e, struct record *r, ended_see_fn see,
                     void *userdata)
{
    size_t size;
    _cleanup_free_ char *text = read_file(folder, e->file, &size);
    size_t record_size = text ? strlen(text) : 0;
    if (!text)
        return true;
    record_parse(text, r);
    size_t output = MIN(record_size + 1, size);
    return !r->end.ended_ns || see(userdata, kept_sandbox(e), r, text + output, size - output);
}

int ended_list(int runtime, const char *name, ended_see_fn see, void *userdata)
{
    struct kept_entries all;
    _cleanup_free_ struct record *record = malloc(sizeof(*record));
    _cleanup_close_ int folder = kept_open_folder(runtime, ENDED_FOLDER, false);
    if (folder == -ENOENT)
        return 0;
    int r = !record ? -ENOMEM : folder < 0 ? folder : kept_list(folder, name, &all);
    if (r < 0)
        return r;
    for (size_t i = all.count; i > 0; i--)
        if (!see_file(folder, &all.items[i - 1], record, see, userdata))
            break;
    free(all.items);
    return 0;
}

struct search {
    int64_t created_ns;
    struct record *ret; /* NULL: it is not wanted */
    bool is_found;
};

static bool see_wanted(void *userdata, const char *name _unused_, const struct record *r,
                       const char *output _unused_, size_t output_size _unused_)
{
    struct search *s = userdata;
    if (s->created_ns && s->created_ns != r->created_ns)
        return true;
    s->is_found = true;
    if (s->ret)
        *s->ret = *r;
    return false;
}

int ended_read(int runtime, const char *name, int64_t created_ns, struct record *ret)
{
    struct search s = {.created_ns = created_ns, .ret = ret};
    int r = ended_list(runtime, name, see_wanted, &s);
    return r < 0 ? r : s.is_found ? 0 : -ENOENT;
}

#define LOOK_STEP_NS (5 * NSEC_PER_MSEC)
#define LOOKS_MAX_NS (10 * NSEC_PER_SEC)

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* -EAGAIN: neither. */
static int look(struct registry *registry, const char *name, struct record *record,
                struct sandbox_usage *usage)
{
    _cleanup_free_ char *text = NULL;
    int64_t created_ns = 0;
    int r = registry_read(registry, name, &text);
    if (r == 0) {
        record_parse(text, record);
        created_ns = record->created_ns;
        r = usage_read(record, usage);
    }
    if (r != -ENOENT && r != -ESRCH)
        return r;
    bool is_registered = r == -ESRCH;
    r = is_registered && !created_ns ? -ENOENT
                                     : ended_read(registry->folder, name, created_ns, record);
    return r == 0 ? 1 : r == -ENOENT && is_registered ? -EAGAIN : r;
}

int ended_look(struct registry *registry, const char *name, struct record *record,
               struct sandbox_usage *usage)
{
    const struct timespec step = {.tv_nsec = LOOK_STEP_NS};
    int r = look(registry, name, record, usage);
    for (int64_t until_ns = now_ns() + LOOKS_MAX_NS; r == -EAGAIN && now_ns() < until_ns;) {
        nanosleep(&step, NULL);
        r = look(registry, name, record, usage);
    }
    return r;
}

/* ---- of those who were killed ---- */

int ended_keep_killed(int runtime, const char *name, const char *text)
{
    _cleanup_free_ char *copy = strdup(text);
    _cleanup_free_ struct record *record = malloc(sizeof(*record));
    if (!copy || !record)
        return -ENOMEM;
    record_parse(copy, record);
    if (!record->starter || record->is_forgotten ||
        ended_read(runtime, name, record->created_ns, NULL) == 0)
        return 0;
    struct record_end *end = &record->end;
    *end = (struct record_end){.ended_ns = kept_now_ms() * NSEC_PER_MSEC,
                               .is_found_later = true,
                               .exit_status = SANDBOX_STATUS_FAILED,
                               .exit_code = -1};
    snprintf(end->cause, sizeof(end->cause), "%s", sandbox_cause_name(SANDBOX_HOST_FAILURE));
    snprintf(end->words, sizeof(end->words),
             "its starter, process %d, was killed, and the sandbox with it", record->starter);
    ended_sweep(runtime);
    int r = ended_keep(runtime, -1, name, record, NULL);
    return r < 0 ? r : 1;
}
