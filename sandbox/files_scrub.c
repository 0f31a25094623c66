// SPDX-License-Identifier: Apache-2.0
#include "sandbox/files_scrub.h"

/* What was taken at once, and what all searches may have kept back before it. */
#define FOUND_MAX_BYTES (4u << 20)

_Static_assert(SCRUB_NAME_MAX_BYTES >= FILES_PATH_MAX_BYTES, "a path is a name");

/* ---- records ---- */

static int scrub_event(struct scrubber *s, char *text, size_t size, size_t *ret_used)
{
    struct files_event e;
    if (size < sizeof(e))
        return -EPROTO;
    memcpy(&e, text, sizeof(e));
    if (e.name_size > size - sizeof(e) || e.name_size > FILES_PATH_MAX_BYTES)
        return -EPROTO;
    *ret_used = sizeof(e) + e.name_size;
    return scrubber_replace_name(s, text + sizeof(e), e.name_size);
}

static int scrub_entry(struct scrubber *s, char *text, size_t size, size_t *ret_used)
{
    struct files_entry e;
    if (size < sizeof(e))
        return -EPROTO;
    memcpy(&e, text, sizeof(e));
    const struct {
        size_t size;
        bool is_name;
    } texts[] = {{e.name_size, true},
                 {e.target_size, true},
                 {e.owner_size, false},
                 {e.group_size, false},
                 {e.metadata_size, false}};
    int r = 0;
    size_t at = sizeof(e);
    for (size_t i = 0; i < ARRAY_SIZE(texts) && r == 0; i++) {
        size_t part = texts[i].size;
        if (part > size - at || (texts[i].is_name && part > FILES_PATH_MAX_BYTES))
            return -EPROTO;
        r = texts[i].is_name ? scrubber_replace_name(s, text + at, part)
                             : scrubber_replace_in_place(s, text + at, part);
        at += part;
    }
    *ret_used = at;
    return r;
}

int files_scrub_records(struct scrubber *s, bool is_events, char *text, size_t size)
{
    int r = 0;
    for (size_t used = 0; size > 0 && r == 0; text += used, size -= used) {
        r = is_events ? scrub_event(s, text, size, &used) : scrub_entry(s, text, size, &used);
        if (r < 0)
            break;
    }
    return r;
}

/* ---- bytes ---- */

void files_scrub_begin(struct files_scrub *f, struct scrubber *scrubber, int64_t offset,
                       uint64_t size)
{
    uint64_t before = MIN((uint64_t)offset, (uint64_t)scrubber_reach(scrubber));
    *f = (struct files_scrub){
        .scrubber = scrubber,
        .found = BUF_INIT(FOUND_MAX_BYTES),
        .from = offset - (int64_t)before,
        .asked = before + size,
        .skipped = before,
        .left = size,
    };
    scrub_stream_begin_file(&f->stream, scrubber);
}

void files_scrub_end(struct files_scrub *f)
{
    if (!f->scrubber)
        return;
    scrub_stream_done(&f->stream);
    buf_done(&f->found);
    *f = (struct files_scrub){0};
}

/* How many bytes there are to the end of the search. */
static uint64_t bytes_to_take(const struct files_scrub *f)
{
    uint64_t end = f->asked + scrubber_reach(f->scrubber);
    return f->left == 0 || f->taken >= end ? 0 : end - f->taken;
}

/* What is wanted first: mostly it comes out with that, and nothing behind it is read. */
void files_scrub_next(const struct files_scrub *f, size_t max, int64_t *ret_offset,
                      size_t *ret_size)
{
    uint64_t size = bytes_to_take(f);
    if (f->taken < f->asked)
        size = MIN(size, f->asked - f->taken);
    if (__builtin_add_overflow(f->from, (int64_t)f->taken, ret_offset))
        size = 0;
    *ret_size = (size_t)MIN(size, (uint64_t)max);
}

int files_scrub_take(struct files_scrub *f, const char *data, size_t size, bool is_last)
{
    buf_reset(&f->found);
    int r = scrub_stream_take(&f->stream, data, size, &f->found);
    f->taken += size;
    if (r == 0 && (is_last || bytes_to_take(f) == 0))
        r = scrub_stream_end(&f->stream, &f->found);
    if (r < 0)
        return r;
    size_t skipped = (size_t)MIN(f->skipped, (uint64_t)f->found.size);
    buf_consume(&f->found, skipped);
    f->skipped -= skipped;
    f->found.size = (size_t)MIN((uint64_t)f->found.size, f->left);
    f->left = is_last ? 0 : f->left - f->found.size;
    return 0;
}
