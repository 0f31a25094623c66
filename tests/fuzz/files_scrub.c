// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for what takes values of secrets out of answers about files
 * (sandbox/files_scrub.c): an input is a byte that says what it is, then an answer's records, or
 * where a part of a file is, how large, the pieces it is read in, and the file.
 *
 * What must hold, whatever comes: no value is in a name, nor in the part; a name has its slashes;
 * all has the size that it had, and the part is what the whole file has there.
 */
#include "sandbox/files_scrub.h"
#include "sandbox/secrets.h"
#include "tests/fuzz/input.h"

#define VALUE "secret/1"
#define DOCUMENT                                                \
    "{\"version\":1,\"secrets\":{\"A\":{\"source\":{"           \
    "\"literal\":\"" VALUE "\"},\"placeholder\":\"QQQQQ..QQ\"," \
    "\"env\":[\"A\"],\"allow\":{\"hosts\":[\"a.test\"]}}}}"
#define SIZE_MAX_BYTES 65536

static struct sandbox_spec spec;
static struct scrubber *scrubber;
static char text[SIZE_MAX_BYTES], part[SIZE_MAX_BYTES];

static void begin(void)
{
    struct sandbox_error e;
    spec.policy = strdup(DOCUMENT);
    CHECK(spec.policy && sandbox_secrets_load(&spec, &e) == 0);
    CHECK(scrubber_new(&spec, &scrubber, &e) == 0 && scrubber);
}

static bool has_value(const char *data, size_t size)
{
    return size > 0 && memmem(data, size, VALUE, strlen(VALUE));
}

static size_t check_name(const uint8_t *before, size_t at, size_t size)
{
    for (size_t i = at; i < at + size; i++)
        CHECK((before[i] == '/') == (text[i] == '/'));
    CHECK(!has_value(text + at, size));
    return at + size;
}

static void check_records(const uint8_t *before, size_t size, bool is_events)
{
    memcpy(text, before, size);
    int r = files_scrub_records(scrubber, is_events, text, size);
    CHECK(r == 0 || r == -EPROTO);
    for (size_t at = 0; at < size && r == 0;) {
        struct files_event event;
        struct files_entry entry;
        if (is_events) {
            memcpy(&event, text + at, sizeof(event));
            CHECK(!memcmp(text + at, before + at, sizeof(event)));
            at = check_name(before, at + sizeof(event), event.name_size);
            continue;
        }
        memcpy(&entry, text + at, sizeof(entry));
        CHECK(!memcmp(text + at, before + at, sizeof(entry)));
        at = check_name(before, at + sizeof(entry), entry.name_size);
        at = check_name(before, at, entry.target_size);
        CHECK(!has_value(text + at, entry.owner_size));
        at += (size_t)entry.owner_size + entry.group_size + entry.metadata_size;
        CHECK(at <= size);
    }
}

static size_t read_part(const char *file, size_t file_size, size_t offset, size_t size, size_t max)
{
    struct files_scrub f;
    int64_t at;
    size_t next, given = 0;
    files_scrub_begin(&f, scrubber, (int64_t)offset, size);
    for (files_scrub_next(&f, max, &at, &next); next > 0; files_scrub_next(&f, max, &at, &next)) {
        size_t there = (size_t)at < file_size ? MIN(next, file_size - (size_t)at) : 0;
        CHECK(next <= max);
        CHECK(files_scrub_take(&f, file + (there ? at : 0), there, there < next) == 0);
        CHECK(given + f.found.size <= size);
        if (f.found.size)
            memcpy(part + given, f.found.data, f.found.size);
        given += f.found.size;
    }
    files_scrub_end(&f);
    return given;
}

static void check_part(struct input *in)
{
    size_t offset = input_word(in, 2) % SIZE_MAX_BYTES, size = input_word(in, 2) % SIZE_MAX_BYTES;
    size_t max = input_word(in, 1) + 1, file_size = MIN(in->size, (size_t)SIZE_MAX_BYTES);
    const char *file = (const char *)in->data;
    size_t there = offset < file_size ? MIN(size, file_size - offset) : 0;
    CHECK(read_part(file, file_size, offset, size, max) == there);
    CHECK(!has_value(part, there));
    memcpy(text, file, file_size);
    CHECK(scrubber_replace_in_place(scrubber, text, file_size) == 0);
    /* What overlaps without end is replaced as one, from where it begins. */
    if (offset == 0)
        CHECK(!memcmp(text, part, there));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct input in = {bytes, size};
    if (!scrubber)
        begin();
    uint8_t what = input_byte(&in);
    if (what % 4 >= 2)
        check_part(&in);
    else if (in.size <= sizeof(text))
        check_records(in.data, in.size, what % 4);
    return 0;
}
