// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for tar archives that are copied into a sandbox (sandbox/copy_in_tar.c): an
 * input is an archive.
 *
 * What must hold: what is made lies in the target, modes are permissions, and no content comes that
 * was not in the archive.
 */
#include "sandbox/copy_in.h"
#include "tests/fuzz/input.h"

#include <sys/mman.h>
#include <sys/stat.h>

#define TARGET "/w"

static uint64_t archive_bytes, content_bytes;

static void check_path(const char *path)
{
    CHECK(!strncmp(path, TARGET, strlen(TARGET)) && strlen(path) <= FILES_PATH_MAX_BYTES);
    path += strlen(TARGET);
    while (*path) {
        CHECK(*path++ == '/');
        size_t length = strcspn(path, "/");
        CHECK(length > 0 && strncmp(path, ".", length) != 0);
        CHECK(length != 2 || memcmp(path, "..", 2) != 0);
        path += length;
    }
}

int copy_in_stat(struct copy_in *c _unused_, const char *path, mode_t *ret_mode,
                 struct sandbox_error *e _unused_)
{
    CHECK(!strcmp(path, TARGET "/"));
    *ret_mode = S_IFDIR | 0755;
    return 0;
}

/* One in three is not wanted, one in three only to its half. */
int copy_in_file(struct copy_in *c, const struct copy_in_file *f, copy_in_read_fn read,
                 void *userdata, struct sandbox_error *e)
{
    char data[1000];
    ssize_t n = 1;
    check_path(f->path);
    CHECK((f->mode & ~0777U) == 0 && f->mtime_s >= 0 && f->mtime_ns < NSEC_PER_SEC);
    c->entries++;
    for (int i = 0; n > 0 && (c->entries % 3 != 1 || i < 1) && c->entries % 3 != 2; i++) {
        n = read(userdata, data, sizeof(data), e);
        CHECK(n <= (ssize_t)sizeof(data));
        content_bytes += n > 0 ? (uint64_t)n : 0;
    }
    return n < 0 ? (int)n : c->entries % 3 == 2 ? EISDIR : 0;
}

int copy_in_directory(struct copy_in *c, const struct copy_in_file *f,
                      struct sandbox_error *e _unused_)
{
    check_path(f->path);
    CHECK((f->mode & ~0777U) == 0);
    c->entries++;
    return 0;
}

int copy_in_link(struct copy_in *c, const char *path, const char *target,
                 struct sandbox_error *e _unused_)
{
    check_path(path);
    CHECK(target);
    c->entries++;
    return 0;
}

void copy_in_leave_out(struct copy_in *c, const char *name, const char *reason)
{
    CHECK(name && reason);
    c->left_out++;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct copy_in c = {0};
    struct sandbox_error e;
    int fd = memfd_create("archive", 0);
    CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    archive_bytes = size;
    content_bytes = 0;
    int r = copy_in_archive(&c, fd, TARGET "/", &e);
    CHECK(r <= 0 && content_bytes <= archive_bytes);
    CHECK(r == 0 || strlen(e.text) > 0);
    close(fd);
    return 0;
}
