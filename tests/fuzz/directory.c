// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for directory listings (getdents64(2), kernel/sys/dirents.c and the file
 * systems): the first byte chooses the size of the buffer, the next bytes are changes to a
 * directory, a byte each: bit 7 makes (0) or removes (1) one of 32 names, bits 5 and 6 say what it
 * is; 0xff lists in between.
 *
 * What must hold: a listing has each name that is there once, and none else; records are whole and
 * aligned; and seeking to the position of a name goes on right behind it.
 */
#include "tests/fuzz/world.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define NAMES        32
#define CHANGES_MAX  300
#define LISTED_MAX   (NAMES + 2)
#define BUFFER_BYTES 4096

static bool is_there[NAMES];

/* Lengths from 1 to what is just allowed. */
static void name_of(unsigned n, char *name)
{
    size_t length = 1 + (size_t)n * 8;
    memset(name, 'a', length);
    name[0] = (char)('A' + n);
    name[length] = '\0';
}

static void change(uint8_t what)
{
    char text[512];
    unsigned n = what & 31, kind = what >> 5 & 3;
    name_of(n, text);
    uint64_t name = world_put_string(text);
    long r;
    if (what & 0x80) {
        r = WORLD_CALL(SYS_unlink, name);
        if (r == -EISDIR)
            r = WORLD_CALL(SYS_rmdir, name);
        CHECK(r == (is_there[n] ? 0 : -ENOENT));
        is_there[n] = false;
        return;
    }
    if (kind == 0)
        r = WORLD_CALL(SYS_mkdir, name, 0755);
    else if (kind == 1)
        r = WORLD_CALL(SYS_symlink, world_put_string("x"), name);
    else
        r = WORLD_CALL(SYS_mknod, name, kind == 2 ? S_IFIFO | 0644 : S_IFREG | 0644);
    CHECK(r == (is_there[n] ? -EEXIST : 0));
    is_there[n] = true;
}

struct listed {
    char name[256];
    int64_t position;
};

/* The records of one call; 0 at the end. */
static size_t list_some(long fd, uint64_t buffer, size_t size, struct listed *to, size_t room)
{
    static uint8_t copy[BUFFER_BYTES];
    size_t count = 0;
    long n = WORLD_CALL(SYS_getdents64, (uint64_t)fd, buffer, size);
    CHECK(n >= 0 && n <= (long)size);
    memcpy(copy, world_at(buffer), (size_t)n);
    for (size_t at = 0; at < (size_t)n; count++) {
        const struct dirent64 *d = (const void *)(copy + at);
        CHECK(count < room && d->d_reclen % 8 == 0 && d->d_reclen <= (size_t)n - at);
        size_t most = d->d_reclen - offsetof(struct dirent64, d_name);
        CHECK(memchr(d->d_name, '\0', most));
        snprintf(to[count].name, sizeof(to[count].name), "%s", d->d_name);
        to[count].position = d->d_off;
        at += d->d_reclen;
    }
    return count;
}

static size_t list(long fd, uint64_t buffer, size_t size, struct listed *to)
{
    size_t count = 0, more;
    while ((more = list_some(fd, buffer, size, to + count, LISTED_MAX - count)) > 0)
        count += more;
    return count;
}

static void check_listing(size_t size)
{
    static struct listed all[LISTED_MAX], rest[LISTED_MAX];
    char name[512];
    uint64_t buffer = world_put(NULL, BUFFER_BYTES);
    long fd = WORLD_CALL(SYS_open, world_put_string("."), O_RDONLY | O_DIRECTORY);
    CHECK(fd >= 0);
    size_t count = list(fd, buffer, size, all), expected = 2;
    for (unsigned n = 0; n < NAMES; n++) {
        size_t times = 0;
        name_of(n, name);
        for (size_t i = 0; i < count; i++)
            times += !strcmp(all[i].name, name);
        CHECK(times == is_there[n]);
        expected += is_there[n];
    }
    CHECK(count == expected);
    for (size_t i = 0; i < count; i += 3) {
        CHECK(WORLD_CALL(SYS_lseek, (uint64_t)fd, (uint64_t)all[i].position, SEEK_SET) ==
              all[i].position);
        size_t left = list(fd, buffer, size, rest);
        CHECK(left == count - i - 1);
        CHECK(left == 0 || !strcmp(rest[0].name, all[i + 1].name));
    }
    CHECK(WORLD_CALL(SYS_close, (uint64_t)fd) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    size_t buffer_size = 280 + (size_t)input_byte(&in) * 14;
    memset(is_there, 0, sizeof(is_there));
    world_begin(1000);
    for (int i = 0; i < CHANGES_MAX && in.size > 0; i++) {
        uint8_t what = input_byte(&in);
        if (what == 0xff)
            check_listing(buffer_size);
        else
            change(what);
    }
    check_listing(buffer_size);
    world_end();
    return 0;
}
