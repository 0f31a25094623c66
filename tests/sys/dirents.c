// SPDX-License-Identifier: Apache-2.0
/* getdents(2), getdents64(2), positions in directories. */
#include "tests/harness/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

struct record {
    uint64_t d_ino;
    int64_t d_off;
    unsigned short d_reclen;
    unsigned char d_type;
    char d_name[];
};

struct old_record {
    unsigned long d_ino;
    unsigned long d_off;
    unsigned short d_reclen;
    char d_name[];
};

static void make(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    ASSERT_GE(fd, 0);
    close(fd);
}

static void make_many(int count)
{
    char name[32];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "file-%04d", i);
        make(name);
    }
}

static long list(int fd, void *buffer, size_t size)
{
    return syscall(SYS_getdents64, fd, buffer, size);
}

TEST(a_listing_has_every_name_once)
{
    char buffer[4096];
    int seen[500] = {0}, others = 0;
    long n;
    ASSERT_EQ(mkdir("d", 0700), 0);
    ASSERT_EQ(chdir("d"), 0);
    make_many(500);
    int fd = open(".", O_RDONLY);
    while ((n = list(fd, buffer, sizeof(buffer))) > 0) {
        for (long at = 0; at < n;) {
            struct record *r = (struct record *)(buffer + at);
            if (!strncmp(r->d_name, "file-", 5))
                seen[atoi(r->d_name + 5)]++;
            else
                others++;
            at += r->d_reclen;
        }
    }
    EXPECT_EQ(n, 0);
    EXPECT_EQ(others, 2);
    for (int i = 0; i < 500; i++)
        EXPECT_EQ(seen[i], 1);
    EXPECT_EQ(list(fd, buffer, sizeof(buffer)), 0);
}

TEST(records_are_laid_out_as_linux_does)
{
    char buffer[1024];
    struct stat st;
    make("f");
    ASSERT_EQ(stat("f", &st), 0);
    int fd = open(".", O_RDONLY), found = 0;
    long n = list(fd, buffer, sizeof(buffer));
    ASSERT_GT(n, 0);
    for (long at = 0; at < n;) {
        struct record *r = (struct record *)(buffer + at);
        size_t need = offsetof(struct record, d_name) + strlen(r->d_name) + 1;
        EXPECT_EQ(r->d_reclen, (need + 7) & ~7UL);
        if (!strcmp(r->d_name, "f")) {
            found++;
            EXPECT_EQ(r->d_ino, st.st_ino);
            EXPECT_TRUE(r->d_type == DT_REG || r->d_type == DT_UNKNOWN);
        }
        at += r->d_reclen;
    }
    EXPECT_EQ(found, 1);
}

TEST(old_records_have_the_type_at_their_end)
{
    char buffer[1024];
    ASSERT_EQ(mkdir("sub", 0700), 0);
    int fd = open(".", O_RDONLY), found = 0;
    long n = syscall(SYS_getdents, fd, buffer, sizeof(buffer));
    ASSERT_GT(n, 0);
    for (long at = 0; at < n;) {
        struct old_record *r = (struct old_record *)(buffer + at);
        size_t need = offsetof(struct old_record, d_name) + strlen(r->d_name) + 2;
        EXPECT_EQ(r->d_reclen, (need + 7) & ~7UL);
        if (!strcmp(r->d_name, "sub")) {
            found++;
            EXPECT_EQ(buffer[at + r->d_reclen - 1], DT_DIR);
        }
        at += r->d_reclen;
    }
    EXPECT_EQ(found, 1);
}

TEST(types_of_entries)
{
    ASSERT_EQ(mkdir("dir", 0700), 0);
    ASSERT_EQ(symlink("x", "link"), 0);
    ASSERT_EQ(mkfifo("fifo", 0600), 0);
    make("file");
    DIR *d = opendir(".");
    ASSERT_TRUE(d != NULL);
    struct dirent *e;
    int count = 0;
    while ((e = readdir(d))) {
        count++;
        if (!strcmp(e->d_name, "dir") || !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            EXPECT_EQ(e->d_type, DT_DIR);
        else if (!strcmp(e->d_name, "link"))
            EXPECT_EQ(e->d_type, DT_LNK);
        else if (!strcmp(e->d_name, "fifo"))
            EXPECT_EQ(e->d_type, DT_FIFO);
        else
            EXPECT_EQ(e->d_type, DT_REG);
    }
    EXPECT_EQ(count, 6);
    closedir(d);
}

TEST(a_buffer_that_holds_no_record_is_einval)
{
    char buffer[1024];
    make("f");
    int fd = open(".", O_RDONLY);
    EXPECT_ERRNO(list(fd, buffer, 0), EINVAL);
    EXPECT_ERRNO(list(fd, buffer, 23), EINVAL);
    EXPECT_EQ(list(fd, buffer, 24), 24);
    EXPECT_ERRNO(syscall(SYS_getdents, fd, buffer, 10), EINVAL);
}

TEST(a_listing_stops_at_a_bad_page)
{
    long n, names = 0;
    char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    ASSERT_EQ(mprotect(p + 4096, 4096, PROT_NONE), 0);
    ASSERT_EQ(mkdir("d", 0700), 0);
    ASSERT_EQ(chdir("d"), 0);
    make_many(100);
    int fd = open(".", O_RDONLY);
    for (char *start = p + 4096 - 250; (n = list(fd, start, 4096)) > 0;) {
        EXPECT_LE(n, 250);
        for (long at = 0; at < n; names++)
            at += ((struct record *)(start + at))->d_reclen;
    }
    EXPECT_EQ(n, 0);
    EXPECT_EQ(names, 102);
    ASSERT_EQ(lseek(fd, 0, SEEK_SET), 0);
    EXPECT_ERRNO(list(fd, p + 4096 - 20, 4096), EFAULT);
    EXPECT_GT(list(fd, p, 4096), 0);
}

TEST(a_size_that_is_negative_is_too_small)
{
    char buffer[4096];
    int fd = open(".", O_RDONLY);
    EXPECT_ERRNO(list(fd, buffer, (unsigned)INT_MAX + 1), EINVAL);
    EXPECT_ERRNO(list(fd, buffer, (unsigned)-1), EINVAL);
}

TEST(errors)
{
    char buffer[1024];
    make("f");
    int fd = open("f", O_RDONLY), path = open(".", O_PATH), dir = open(".", O_RDONLY);
    EXPECT_ERRNO(list(fd, buffer, sizeof(buffer)), ENOTDIR);
    EXPECT_ERRNO(list(path, buffer, sizeof(buffer)), EBADF);
    EXPECT_ERRNO(list(-1, buffer, sizeof(buffer)), EBADF);
    EXPECT_ERRNO(list(dir, NULL, 1024), EFAULT);
    EXPECT_GT(list(dir, buffer, sizeof(buffer)), 0);
}

TEST(a_removed_directory_lists_nothing)
{
    char buffer[1024];
    ASSERT_EQ(mkdir("d", 0700), 0);
    int fd = open("d", O_RDONLY);
    ASSERT_EQ(rmdir("d"), 0);
    long r = list(fd, buffer, sizeof(buffer));
    EXPECT_TRUE(r == 0 || (r == -1 && errno == ENOENT));
}

TEST(seekdir_goes_back_to_where_telldir_was)
{
    char third[256] = "";
    make_many(20);
    DIR *d = opendir(".");
    ASSERT_TRUE(d != NULL);
    readdir(d);
    readdir(d);
    long at = telldir(d);
    struct dirent *e = readdir(d);
    ASSERT_TRUE(e != NULL);
    snprintf(third, sizeof(third), "%s", e->d_name);
    while (readdir(d))
        ;
    seekdir(d, at);
    e = readdir(d);
    ASSERT_TRUE(e != NULL);
    EXPECT_STR(e->d_name, third);
    closedir(d);
}

/* Far more names than a look at a directory skips at once. */
TEST(seekdir_goes_far)
{
    enum { COUNT = 3000, FAR = 2700 };
    static char name[NAME_MAX + 1];
    ASSERT_EQ(mkdir("d", 0700), 0);
    ASSERT_EQ(chdir("d"), 0);
    make_many(COUNT);
    DIR *dir = opendir(".");
    int at = 0, seen = 0;
    long far = 0;
    const struct dirent *e;
    for (; (e = readdir(dir)); at++) {
        if (at == FAR)
            snprintf(name, sizeof(name), "%s", e->d_name);
        if (at == FAR - 1)
            far = e->d_off;
    }
    EXPECT_EQ(at, COUNT + 2);
    for (int round = 0; round < 3; round++) {
        rewinddir(dir);
        ASSERT_TRUE(readdir(dir));
        seekdir(dir, far);
        e = readdir(dir);
        ASSERT_TRUE(e);
        EXPECT_STR(e->d_name, name);
        for (seen = 1; readdir(dir); seen++)
            ;
        EXPECT_EQ(seen, COUNT + 2 - FAR);
    }
    closedir(dir);
}

TEST(rewinding_shows_what_is_new)
{
    make("a");
    DIR *d = opendir(".");
    struct dirent *e;
    while (readdir(d))
        ;
    make("b");
    rewinddir(d);
    int found = 0;
    while ((e = readdir(d)))
        found += !strcmp(e->d_name, "b");
    EXPECT_EQ(found, 1);
    closedir(d);
}

TEST(removing_while_listing_misses_nothing)
{
    char buffer[512];
    long n;
    ASSERT_EQ(mkdir("d", 0700), 0);
    ASSERT_EQ(chdir("d"), 0);
    make_many(300);
    int removed = 0, fd = open(".", O_RDONLY);
    while ((n = list(fd, buffer, sizeof(buffer))) > 0) {
        for (long at = 0; at < n;) {
            struct record *r = (struct record *)(buffer + at);
            if (r->d_name[0] != '.')
                removed += unlink(r->d_name) == 0;
            at += r->d_reclen;
        }
    }
    EXPECT_EQ(n, 0);
    EXPECT_EQ(removed, 300);
    ASSERT_EQ(chdir(".."), 0);
    EXPECT_EQ(rmdir("d"), 0);
}

TEST(names_that_stay_are_shown_once_while_others_come_and_go)
{
    char buffer[256], name[32];
    int seen[100] = {0}, round = 0;
    long n;
    ASSERT_EQ(mkdir("d", 0700), 0);
    ASSERT_EQ(chdir("d"), 0);
    make_many(100);
    int fd = open(".", O_RDONLY);
    while ((n = list(fd, buffer, sizeof(buffer))) > 0) {
        for (long at = 0; at < n;) {
            struct record *r = (struct record *)(buffer + at);
            if (!strncmp(r->d_name, "file-", 5))
                seen[atoi(r->d_name + 5)]++;
            at += r->d_reclen;
        }
        snprintf(name, sizeof(name), "new-%d", round);
        make(name);
        if (round++ > 0) {
            snprintf(name, sizeof(name), "new-%d", round - 2);
            ASSERT_EQ(unlink(name), 0);
        }
    }
    for (int i = 0; i < 100; i++)
        EXPECT_EQ(seen[i], 1);
}

TEST(two_descriptors_have_two_positions)
{
    char buffer[64];
    make_many(5);
    int a = open(".", O_RDONLY), b = open(".", O_RDONLY), c = dup(a);
    EXPECT_GT(list(a, buffer, sizeof(buffer)), 0);
    off_t position = lseek(a, 0, SEEK_CUR);
    EXPECT_GT(position, 0);
    EXPECT_EQ(lseek(b, 0, SEEK_CUR), 0);
    EXPECT_EQ(lseek(c, 0, SEEK_CUR), position);
    EXPECT_EQ(lseek(a, 0, SEEK_SET), 0);
}

TEST(the_end_of_a_directory_of_proc_is_zero)
{
    char buffer[4096];
    int fd = open("/proc/self", O_RDONLY);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(lseek(fd, 5, SEEK_END), 5);
    EXPECT_EQ(lseek(fd, 0, SEEK_END), 0);
    EXPECT_GT(list(fd, buffer, sizeof(buffer)), 0);
}

TEST(the_root_and_proc_are_listed)
{
    DIR *d = opendir("/");
    ASSERT_TRUE(d != NULL);
    struct dirent *e;
    int proc = 0, self = 0;
    while ((e = readdir(d)))
        proc += !strcmp(e->d_name, "proc");
    EXPECT_EQ(proc, 1);
    closedir(d);
    d = opendir("/proc");
    ASSERT_TRUE(d != NULL);
    while ((e = readdir(d)))
        self += !strcmp(e->d_name, "self");
    EXPECT_EQ(self, 1);
    closedir(d);
}
