// SPDX-License-Identifier: Apache-2.0
#include "sandbox/copy_reader.h"

#include "lib/text/shown.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#define PATH_MAX_BYTES (COPY_DEPTH_MAX * (COPY_NAME_MAX_BYTES + 1))

struct record {
    struct copy_record head;
    const char *text;
    char name[COPY_NAME_MAX_BYTES + 1]; /* once it was checked */
};

void copy_reader_init(struct copy_reader *r, const struct copy_sink *sink, void *userdata,
                      const struct copy_limits *limits, const char *title,
                      void (*say)(const char *line))
{
    *r = (struct copy_reader){
        .sink = sink,
        .userdata = userdata,
        .title = title,
        .say = say,
        .limits = *limits,
        .now_s = time(NULL),
        .path = BUF_INIT(PATH_MAX_BYTES),
    };
}

void copy_reader_done(struct copy_reader *r)
{
    buf_done(&r->path);
}

static int refuse(struct sandbox_error *e, const char *what)
{
    return sandbox_error_set(e, -EPROTO,
                             "%s: the sandbox's kernel says what it must not; take what came for "
                             "a stranger's, and end the sandbox",
                             what);
}

bool copy_link_stays(const char *target, size_t depth)
{
    bool is_below = false;
    if (*target == '/' || *target == '\0' || depth == 0)
        return false;
    while (*target) {
        size_t size = strcspn(target, "/");
        bool is_up = size == 2 && target[0] == '.' && target[1] == '.';
        bool is_here = size == 0 || (size == 1 && target[0] == '.');
        if (is_up && (is_below || --depth == 0))
            return false;
        is_below |= !is_up && !is_here;
        target += size + (target[size] == '/');
    }
    return true;
}

/* ---- what is left out ---- */

/* Because of its type, for which there is no errno; or NULL. */
static const char *type_reason(unsigned mode)
{
    return S_ISCHR(mode) || S_ISBLK(mode) ? "it is a device"
           : S_ISFIFO(mode)               ? "it is a FIFO"
           : S_ISSOCK(mode)               ? "it is a socket"
                                          : NULL;
}

static void leave_out(struct copy_reader *r, const char *name, const char *reason)
{
    char shown[512], line[1024];
    struct buf path = BUF_INIT(PATH_MAX_BYTES + COPY_PATH_MAX_BYTES);
    if (r->left_out++ >= COPY_LINES_MAX)
        return;
    buf_append(&path, r->path.data ? r->path.data : "", r->path.size);
    buf_append_str(&path, *name || r->path.size > 0 ? name : r->title);
    text_line(path.data ? path.data : "", path.size, shown, sizeof(shown));
    snprintf(line, sizeof(line), "%s: left out: %s", shown, reason);
    r->say(line);
    buf_done(&path);
}

void copy_reader_end(struct copy_reader *r)
{
    char line[128];
    if (r->left_out <= COPY_LINES_MAX)
        return;
    snprintf(line, sizeof(line), "%" PRIu64 " more left out", r->left_out - COPY_LINES_MAX);
    r->say(line);
}

static const char *sink_reason(int error)
{
    return error == EEXIST || error == ENOTDIR || error == ELOOP
               ? "something else of this name is in its place, which is not followed"
           : error == EISDIR ? "a directory of this name is in its place"
                             : strerror(error);
}

/* ---- entries ---- */

static int count_entry(struct copy_reader *r, struct sandbox_error *e)
{
    if (++r->entries <= r->limits.entries)
        return 0;
    return sandbox_error_set(e, -E2BIG,
                             "more than %" PRIu64 " files, the rest is left out; allow more with "
                             "--max-files",
                             r->limits.entries);
}

static int count_bytes(struct copy_reader *r, uint64_t size, struct sandbox_error *e)
{
    if (size <= r->limits.bytes - r->bytes) {
        r->bytes += size;
        return 0;
    }
    return sandbox_error_set(e, -EFBIG,
                             "more than %" PRIu64 " bytes, the rest is left out; allow more with "
                             "--max-size",
                             r->limits.bytes);
}

/* The name of an entry: size bytes of text. */
static int take_name(const struct copy_reader *r, struct record *record, size_t size,
                     struct sandbox_error *e)
{
    const char *text = record->text;
    bool is_root = r->depth == 0;
    if (size > COPY_NAME_MAX_BYTES || is_root != (size == 0) || (is_root && r->has_root) ||
        r->is_in_file || memchr(text, '\0', size) || memchr(text, '/', size))
        return refuse(e, "a name");
    memcpy(record->name, text, size);
    record->name[size] = '\0';
    if (!strcmp(record->name, ".") || !strcmp(record->name, ".."))
        return refuse(e, "a name");
    return 0;
}

static struct copy_entry entry_of(const struct copy_reader *r, const struct record *record)
{
    const struct copy_record *h = &record->head;
    int64_t s = MIN(MAX(h->mtime_s, (int64_t)0), r->now_s);
    return (struct copy_entry){
        .name = record->name,
        .mode = h->mode & 0777,
        .mtime = {s, s == h->mtime_s && h->mtime_ns < NSEC_PER_SEC ? h->mtime_ns : 0},
        .size = h->value,
    };
}

/* What a sink said: 1: the entry is left out, and that was said. */
static int settle(struct copy_reader *r, const char *name, int result)
{
    if (result <= 0)
        return result;
    leave_out(r, name, sink_reason(result));
    return 1;
}

static int take_directory(struct copy_reader *r, struct record *record, struct sandbox_error *e)
{
    int result = take_name(r, record, record->head.text_size, e);
    if (result == 0 && r->depth == COPY_DEPTH_MAX)
        result = refuse(e, "directories in one another");
    if (result == 0)
        result = count_entry(r, e);
    const struct copy_entry d = entry_of(r, record);
    if (result == 0 && !r->passed)
        result = settle(r, d.name, r->sink->begin_directory(r->userdata, &d, e));
    if (result < 0)
        return result;
    r->has_root = true;
    r->depth++;
    if (result == 1)
        r->passed = r->depth;
    if (r->depth > 1 && (buf_append_str(&r->path, d.name) < 0 || buf_append(&r->path, "/", 1) < 0))
        return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    return 0;
}

static int take_leave(struct copy_reader *r, int error, struct sandbox_error *e)
{
    char reason[128];
    if (r->depth == 0 || r->is_in_file)
        return refuse(e, "a directory's end");
    if (error && !r->passed) {
        snprintf(reason, sizeof(reason), "what could not be read: %s", strerror(error));
        leave_out(r, "", reason);
    }
    int result = r->passed ? 0 : r->sink->leave(r->userdata, e);
    if (r->passed == r->depth)
        r->passed = 0;
    r->depth--;
    if (r->path.size > 0)
        r->path.size--;
    while (r->path.size > 0 && r->path.data[r->path.size - 1] != '/')
        r->path.size--;
    return result;
}

static int take_file(struct copy_reader *r, struct record *record, struct sandbox_error *e)
{
    int result = take_name(r, record, record->head.text_size, e);
    const struct copy_entry f = entry_of(r, record);
    if (result == 0 && (f.size < 0 || f.size > COPY_FILE_SIZE_MAX))
        result = refuse(e, "a file's size");
    if (result == 0)
        result = count_entry(r, e);
    if (result == 0 && r->sink->writes_holes)
        result = count_bytes(r, (uint64_t)f.size, e);
    if (result == 0 && !r->passed)
        result = settle(r, f.name, r->sink->begin_file(r->userdata, &f, e));
    if (result < 0)
        return result;
    r->has_root = r->is_in_file = true;
    r->is_file_passed = result == 1 || r->passed;
    memcpy(r->file_name, record->name, sizeof(r->file_name));
    r->file_pos = 0;
    r->file_size = f.size;
    return 0;
}

static int take_data(struct copy_reader *r, const struct record *record, struct sandbox_error *e)
{
    int64_t from = record->head.value, size = record->head.text_size;
    if (!r->is_in_file || size == 0 || from < r->file_pos || from > r->file_size ||
        size > r->file_size - from)
        return refuse(e, "a file's bytes");
    r->file_pos = from + size;
    /* What is left out counts, too: else there need be no end of it. */
    int result = r->sink->writes_holes ? 0 : count_bytes(r, (uint64_t)size, e);
    if (result == 0 && !r->is_file_passed)
        result = settle(r, r->file_name,
                        r->sink->data(r->userdata, from, record->text, (size_t)size, e));
    r->is_file_passed |= result == 1;
    return MIN(result, 0);
}

static int take_file_end(struct copy_reader *r, const struct record *record,
                         struct sandbox_error *e)
{
    int64_t size = record->head.value;
    if (!r->is_in_file || size < r->file_pos || size > r->file_size)
        return refuse(e, "a file's end");
    r->is_in_file = false;
    if (r->is_file_passed)
        return 0;
    if (record->head.error)
        leave_out(r, r->file_name, strerror(record->head.error));
    int result = r->sink->end_file(r->userdata, size, record->head.error == 0, e);
    return MIN(settle(r, r->file_name, result), 0);
}

static int take_link(struct copy_reader *r, struct record *record, struct sandbox_error *e)
{
    char target[COPY_PATH_MAX_BYTES + 1];
    const char *text = record->text;
    size_t all = record->head.text_size;
    const char *nul = memchr(text, '\0', all);
    size_t name_size = nul ? (size_t)(nul - text) : all;
    size_t size = nul ? all - name_size - 1 : 0;
    if (!nul || size > COPY_PATH_MAX_BYTES || memchr(nul + 1, '\0', size))
        return refuse(e, "a link");
    memcpy(target, nul + 1, size);
    target[size] = '\0';
    int result = take_name(r, record, name_size, e);
    if (result == 0)
        result = count_entry(r, e);
    if (result < 0)
        return result;
    r->has_root = true;
    if (r->passed)
        return 0;
    struct copy_entry l = entry_of(r, record);
    l.target = target;
    if (!copy_link_stays(target, r->depth)) {
        leave_out(r, l.name,
                  r->depth ? "it is a symbolic link that may lead out of what is copied"
                           : "it is a symbolic link; -L copies what it leads to");
        return 0;
    }
    result = settle(r, l.name, r->sink->link(r->userdata, &l, e));
    return MIN(result, 0);
}

static int take_left_out(struct copy_reader *r, struct record *record, struct sandbox_error *e)
{
    int result = take_name(r, record, record->head.text_size, e);
    if (result == 0)
        result = count_entry(r, e);
    if (result < 0)
        return result;
    const char *reason = type_reason(record->head.mode);
    if (!reason && record->head.error == EOPNOTSUPP)
        reason = "there are no files, only what the sandbox's kernel makes up";
    r->has_root = true;
    if (!r->passed)
        leave_out(r, record->name, reason ? reason : strerror(record->head.error));
    return 0;
}

static int take_record(struct copy_reader *r, struct record *record, struct sandbox_error *e)
{
    switch (record->head.type) {
    case COPY_DIRECTORY:
        return take_directory(r, record, e);
    case COPY_LEAVE:
        return take_leave(r, record->head.error, e);
    case COPY_FILE:
        return take_file(r, record, e);
    case COPY_DATA:
        return take_data(r, record, e);
    case COPY_FILE_END:
        return take_file_end(r, record, e);
    case COPY_LINK:
        return take_link(r, record, e);
    case COPY_LEFT_OUT:
        return take_left_out(r, record, e);
    case COPY_END:
        if (!r->has_root || r->depth > 0 || r->is_in_file)
            return refuse(e, "the end");
        r->is_over = true;
        return 0;
    default:
        return refuse(e, "a record");
    }
}

static int take_failure(const struct copy_record *h, struct sandbox_error *e)
{
    if (h->error <= 0 || h->error > 4095)
        return refuse(e, "a failure");
    return sandbox_error_set(e, -h->error, "%s; %s", strerror(h->error),
                             h->error == EAGAIN ? "other copies are under way, try again later"
                                                : "give a path that is in the sandbox");
}

int copy_reader_take(struct copy_reader *r, const void *data, size_t size, struct sandbox_error *e)
{
    const char *at = data;
    if (size == 0)
        return refuse(e, "an answer");
    while (size > 0) {
        struct record record;
        if (r->is_over || size < sizeof(record.head))
            return refuse(e, "a record");
        memcpy(&record.head, at, sizeof(record.head));
        record.text = at + sizeof(record.head);
        size -= sizeof(record.head);
        if (record.head.text_size > size)
            return refuse(e, "a record");
        int result = record.head.type == COPY_FAILED ? take_failure(&record.head, e)
                                                     : take_record(r, &record, e);
        if (result < 0)
            return result;
        at = record.text + record.head.text_size;
        size -= record.head.text_size;
    }
    return 0;
}
