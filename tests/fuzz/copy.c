// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for what a sandbox says of files that are copied out (sandbox/copy_reader.c):
 * an input is packets, each with its size in two bytes before it. The first byte says whether holes
 * count.
 *
 * What must hold, whatever comes: names are one component, directories nest, bytes lie in their
 * file and ascend, modes are permissions, links stay inside, limits are kept.
 */
#include "sandbox/copy_reader.h"
#include "tests/fuzz/input.h"

#define BYTES_MAX   4096
#define ENTRIES_MAX 64

static struct state {
    size_t depth;
    bool has_root, is_in_file;
    int64_t pos, size;
    uint64_t bytes, entries;
} now;

static void check_entry(const struct copy_entry *entry)
{
    size_t size = strlen(entry->name);
    CHECK(size <= COPY_NAME_MAX_BYTES && (size == 0) == (now.depth == 0));
    CHECK(!strchr(entry->name, '/') && strcmp(entry->name, ".") && strcmp(entry->name, ".."));
    CHECK(size > 0 || !now.has_root);
    CHECK((entry->mode & ~0777u) == 0 && !now.is_in_file);
    CHECK(entry->mtime.tv_sec >= 0 && entry->mtime.tv_sec <= time(NULL));
    CHECK(entry->mtime.tv_nsec >= 0 && entry->mtime.tv_nsec < NSEC_PER_SEC);
    CHECK(++now.entries <= ENTRIES_MAX);
    now.has_root = true;
}

/* Some are left out, so that what is in them must not be seen. */
static bool is_left_out(const struct copy_entry *entry)
{
    return entry->name[0] == 'q';
}

static int begin_directory(void *userdata _unused_, const struct copy_entry *d,
                           struct sandbox_error *e _unused_)
{
    check_entry(d);
    if (is_left_out(d))
        return EACCES;
    CHECK(++now.depth <= COPY_DEPTH_MAX);
    return 0;
}

static int leave(void *userdata _unused_, struct sandbox_error *e _unused_)
{
    CHECK(now.depth-- > 0 && !now.is_in_file);
    return 0;
}

static int begin_file(void *userdata _unused_, const struct copy_entry *f,
                      struct sandbox_error *e _unused_)
{
    check_entry(f);
    CHECK(f->size >= 0 && f->size <= COPY_FILE_SIZE_MAX);
    if (is_left_out(f))
        return EACCES;
    now.is_in_file = true;
    now.pos = 0;
    now.size = f->size;
    return 0;
}

static int data(void *userdata _unused_, int64_t offset, const void *bytes _unused_, size_t size,
                struct sandbox_error *e _unused_)
{
    CHECK(now.is_in_file && size > 0 && offset >= now.pos && offset <= now.size);
    CHECK((int64_t)size <= now.size - offset);
    CHECK((now.bytes += size) <= BYTES_MAX);
    now.pos = offset + (int64_t)size;
    return 0;
}

static int end_file(void *userdata _unused_, int64_t size, bool is_whole _unused_,
                    struct sandbox_error *e _unused_)
{
    CHECK(now.is_in_file && size >= now.pos && size <= now.size);
    now.is_in_file = false;
    return 0;
}

static int take_link(void *userdata _unused_, const struct copy_entry *l,
                     struct sandbox_error *e _unused_)
{
    check_entry(l);
    CHECK(l->target[0] && l->target[0] != '/' && now.depth > 0);
    CHECK(strcmp(l->target, "..") || now.depth > 1);
    return 0;
}

static void check_line(const char *line)
{
    for (; *line; line++)
        CHECK((unsigned char)*line >= ' ' && *line != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct input in = {bytes, size};
    const struct copy_sink sink = {begin_directory,
                                   leave,
                                   begin_file,
                                   data,
                                   end_file,
                                   take_link,
                                   .writes_holes = input_byte(&in) & 1};
    const struct copy_limits limits = {BYTES_MAX, ENTRIES_MAX};
    struct copy_reader r;
    struct sandbox_error e;
    int result = 0;
    now = (struct state){0};
    copy_reader_init(&r, &sink, NULL, &limits, "what", check_line);
    while (in.size > 0 && result == 0 && !r.is_over) {
        size_t piece;
        const uint8_t *at = input_bytes(&in, input_word(&in, 2), &piece);
        result = copy_reader_take(&r, at, piece, &e);
    }
    CHECK(result <= 0);
    CHECK(!r.is_over || (now.depth == 0 && !now.is_in_file));
    if (result < 0)
        check_line(e.text);
    copy_reader_end(&r);
    copy_reader_done(&r);
    return 0;
}
