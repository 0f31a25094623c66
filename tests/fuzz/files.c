// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for what a sandbox's kernel says of files (sandbox/files_reader.c,
 * files_listing.c): an input is packets of records, each with its size in two bytes before it. The
 * first byte says whether they are entries or events.
 *
 * What must hold, whatever comes: paths are whole and lead nowhere but down, a list is in order,
 * and what is in it lies in a directory that is.
 */
#include "sandbox/files_listing.h"
#include "tests/fuzz/input.h"

#include <sys/stat.h>

#define ENTRIES_MAX 64

static void check_path(const char *path)
{
    while (*path) {
        size_t length = strcspn(path, "/");
        CHECK(length > 0 && length <= FILES_NAME_MAX_BYTES);
        CHECK(strncmp(path, ".", length) != 0 && (length != 2 || memcmp(path, "..", 2) != 0));
        path += length;
        if (*path)
            CHECK(*++path);
    }
}

static void check_metadata(const char *metadata, size_t size)
{
    size_t strings = 0;
    for (size_t at = 0; at < size; at += strlen(metadata + at) + 1, strings++)
        CHECK(memchr(metadata + at, '\0', size - at) && (strings % 2 || metadata[at]));
    CHECK(strings % 2 == 0);
}

/* '/' before all other bytes. */
static int order(char a, char b)
{
    int left = a == '/' ? 0 : (unsigned char)a + 1, right = b == '/' ? 0 : (unsigned char)b + 1;
    return (a ? left : -1) - (b ? right : -1);
}

static int compare(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return order(*a, *b);
}

static void check_listed(const struct files_listed *f, const char *root)
{
    size_t size = strcmp(root, "/") ? strlen(root) : 0;
    CHECK(strlen(f->path) <= FILES_PATH_MAX_BYTES);
    CHECK(!strncmp(f->path, root, size) && f->path[size] == '/');
    check_path(f->path + size + 1);
    CHECK(f->size >= 0 && f->mtime_ns < NSEC_PER_SEC && (f->mode & ~(S_IFMT | 07777U)) == 0);
    CHECK((f->target[0] != '\0') == (f->target_mode != 0));
    if (f->target[0])
        check_path(f->target + 1);
    check_metadata(f->metadata, f->metadata_size);
    for (const char *at = f->owner; *at; at++)
        CHECK(*at > ' ' && *at < 0x7f);
    CHECK(f->owner[0] && f->group[0]);
}

static void check_listing(struct files_listing *l)
{
    size_t count;
    const char *root;
    const struct files_listed *all = files_listing_end(l, &count, &root);
    CHECK(count <= ENTRIES_MAX);
    for (size_t i = 0; i < count; i++) {
        check_listed(&all[i], root);
        CHECK(i == 0 || compare(all[i - 1].path, all[i].path) <= 0);
    }
}

static void check_changes(struct files_records r)
{
    struct files_change change;
    int result;
    while ((result = files_read_change(&r, &change)) > 0) {
        CHECK(change.type >= FILES_CREATED && change.type <= FILES_OVERFLOW);
        if (strcmp(change.name, "."))
            check_path(change.name);
        CHECK(change.name[0]);
    }
    CHECK(result == 0 || result == -EPROTO);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct input in = {bytes, size};
    bool is_list = input_byte(&in) & 1;
    struct files_listing *l = files_listing_new(ENTRIES_MAX);
    int r = 0;
    CHECK(l);
    while (in.size > 0 && r == 0) {
        size_t piece;
        const uint8_t *at = input_bytes(&in, input_word(&in, 2), &piece);
        const struct files_records records = {(const char *)at, piece};
        if (is_list)
            r = files_listing_take(l, records);
        else
            check_changes(records);
        CHECK(r == 0 || r == -EPROTO || r == -E2BIG);
    }
    check_listing(l);
    files_listing_free(l);
    return 0;
}
