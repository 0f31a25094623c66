// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for the path walk (kernel/fs/walk.c): the first byte chooses RESOLVE_* flags
 * of openat2(2), the next the flags of the open, the rest is a path.
 *
 * What must hold: whatever an open leads to has a name, in which no link or dots are left and which
 * leads to the same file; with RESOLVE_BENEATH or RESOLVE_IN_ROOT it lies below the directory; and
 * nothing is found behind a directory that can't be searched.
 */
#include "tests/fuzz/world.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define BASE "/w/d"

static void make_directory(const char *name)
{
    CHECK(WORLD_CALL(SYS_mkdir, world_put_string(name), 0755) == 0);
}

static void make_link(const char *target, const char *name)
{
    CHECK(WORLD_CALL(SYS_symlink, world_put_string(target), world_put_string(name)) == 0);
}

static void make_tree(void)
{
    make_directory("d");
    make_directory("d/e");
    make_directory("closed");
    world_file("d/f", 0644, "d/f", 3);
    world_file("closed/f", 0644, "", 0);
    make_link("d", "l");
    make_link("ll", "ll");
    make_link("/w/d/e", "d/absolute");
    make_link("../..", "d/up");
    make_link("e/../f", "d/e/round");
    make_link("nothing", "dangling");
    make_link("/proc/self/root", "d/root");
    make_link("../closed/f", "d/secret");
    CHECK(WORLD_CALL(SYS_chmod, world_put_string("closed"), 0) == 0);
}

static bool begins(const char *text, const char *with)
{
    size_t n = strlen(with);
    return !strncmp(text, with, n) && (text[n] == '/' || text[n] == '\0');
}

static bool has_dots(const char *text)
{
    size_t n = strlen(text);
    return strstr(text, "/../") || strstr(text, "/./") || strstr(text, "//") ||
           (n >= 2 && !strcmp(text + n - 2, "/.")) || (n >= 3 && !strcmp(text + n - 3, "/.."));
}

static void check_name(long fd, const struct open_how *how, const char *text, size_t length)
{
    struct stat a, b;
    uint64_t at = world_put(NULL, sizeof(a)), path = world_put_string(text);
    CHECK(strlen(text) == length);
    CHECK(WORLD_CALL(SYS_fstat, (uint64_t)fd, at) == 0);
    memcpy(&a, world_at(at), sizeof(a));
    /* Pipes and other nameless files; what can't be listed lies in /proc. */
    if (text[0] != '/' || begins(text, "/proc"))
        return;
    CHECK(!has_dots(text) && !begins(text, "/w/closed/f"));
    if (how->resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT))
        CHECK(begins(text, BASE));
    if (strstr(text, " (deleted)"))
        return;
    CHECK(WORLD_CALL(SYS_lstat, path, at) == 0);
    memcpy(&b, world_at(at), sizeof(b));
    CHECK(a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_mode == b.st_mode);
}

static void check_open(long fd, const struct open_how *how)
{
    char name[64], text[4097];
    snprintf(name, sizeof(name), "/proc/self/fd/%ld", fd);
    uint64_t path = world_put_string(name), to = world_put(NULL, 4096);
    long n = WORLD_CALL(SYS_readlink, path, to, 4096);
    CHECK(n > 0 && n <= 4096);
    memcpy(text, world_at(to), (size_t)n);
    text[n] = '\0';
    check_name(fd, how, text, (size_t)n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int flags[] = {O_PATH,
                                O_PATH | O_NOFOLLOW,
                                O_RDONLY,
                                O_RDONLY | O_DIRECTORY,
                                O_WRONLY | O_CREAT,
                                O_RDWR | O_CREAT | O_EXCL};
    struct input in = {data, size};
    struct open_how how = {.resolve = input_byte(&in) & 0x1f};
    how.flags = (uint64_t)flags[input_byte(&in) % ARRAY_SIZE(flags)] | O_NONBLOCK * !(how.flags);
    if (how.flags & O_PATH)
        how.flags &= ~(uint64_t)O_NONBLOCK;
    how.mode = how.flags & O_CREAT ? 0644 : 0;
    char *path = input_string(&in, 5000);
    world_begin(1000);
    make_tree();
    long base = WORLD_CALL(SYS_open, world_put_string(BASE), O_PATH);
    CHECK(base >= 0);
    long fd = WORLD_CALL(SYS_openat2, (uint64_t)base, world_put_string(path),
                         world_put(&how, sizeof(how)), sizeof(how));
    CHECK(fd >= WORLD_PARKED && (fd < 0 || fd != base));
    if (fd >= 0)
        check_open(fd, &how);
    free(path);
    world_end();
    return 0;
}
