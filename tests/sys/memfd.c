// SPDX-License-Identifier: Apache-2.0
/* memfd_create(2) and its seals. */
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#define MFD_EXEC        16U
#endif
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x20
#endif

static int make(unsigned flags)
{
    int fd = memfd_create("test", flags);
    ASSERT_GE(fd, 0);
    return fd;
}

TEST(a_memory_file_is_a_file)
{
    char buffer[8] = {0};
    struct stat st;
    struct statfs fs;
    int fd = make(0);
    EXPECT_EQ(write(fd, "hello", 5), 5);
    EXPECT_EQ(pread(fd, buffer, 8, 0), 5);
    EXPECT_STR(buffer, "hello");
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_mode, S_IFREG | 0777);
    EXPECT_EQ(st.st_nlink, 0);
    EXPECT_EQ(st.st_size, 5);
    EXPECT_EQ(st.st_uid, geteuid());
    EXPECT_EQ(fstatfs(fd, &fs), 0);
    EXPECT_EQ(fs.f_type, TMPFS_MAGIC);
    EXPECT_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
    EXPECT_EQ(fcntl(fd, F_GETFD), 0);
    EXPECT_EQ(fcntl(make(MFD_CLOEXEC), F_GETFD), FD_CLOEXEC);
}

TEST(its_name_shows_in_proc)
{
    char name[64], target[128] = {0};
    int fd = make(0);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    EXPECT_GT(readlink(name, target, sizeof(target) - 1), 0);
    EXPECT_STR(target, "/memfd:test (deleted)");
}

TEST(it_can_be_opened_again_through_proc)
{
    char name[64], buffer[8] = {0};
    int fd = make(0);
    EXPECT_EQ(write(fd, "hello", 5), 5);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    int again = open(name, O_RDONLY);
    ASSERT_GE(again, 0);
    EXPECT_EQ(read(again, buffer, 8), 5);
    EXPECT_STR(buffer, "hello");
    EXPECT_ERRNO(write(again, "x", 1), EBADF);
    EXPECT_ERRNO(fcntl(again, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
}

TEST(names_and_flags_are_checked)
{
    char name[256];
    memset(name, 'n', 255);
    name[250] = '\0';
    EXPECT_ERRNO(memfd_create(name, 0), EINVAL);
    name[249] = '\0';
    EXPECT_GE(memfd_create(name, 0), 0);
    EXPECT_GE(memfd_create("", 0), 0);
    EXPECT_GE(memfd_create("%s%n/..", 0), 0);
    EXPECT_ERRNO(memfd_create("x", 0x100), EINVAL);
    EXPECT_ERRNO(syscall(SYS_memfd_create, NULL, 0), EFAULT);
    EXPECT_ERRNO(syscall(SYS_memfd_create, 8L, 0), EFAULT);
}

TEST(sizes_and_holes)
{
    char c = 'x';
    struct stat st;
    int fd = make(0);
    EXPECT_EQ(ftruncate(fd, 100000), 0);
    EXPECT_EQ(pread(fd, &c, 1, 99999), 1);
    EXPECT_EQ(c, 0);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_size, 100000);
    EXPECT_EQ(st.st_blocks, 0);
    EXPECT_EQ(pwrite(fd, "y", 1, 50000), 1);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_GT(st.st_blocks, 0);
    EXPECT_EQ(lseek(fd, 0, SEEK_DATA), 49152);
    EXPECT_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 100000), 0);
    EXPECT_ERRNO(lseek(fd, 0, SEEK_DATA), ENXIO);
    EXPECT_EQ(lseek(fd, 0, SEEK_END), 100000);
}

TEST(a_mapping_shows_what_is_written)
{
    char c = 0;
    int fd = make(0);
    ASSERT_EQ(ftruncate(fd, 8192), 0);
    EXPECT_EQ(pwrite(fd, "before", 6, 0), 6);
    char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    EXPECT_EQ(memcmp(p, "before", 6), 0);
    EXPECT_EQ(pwrite(fd, "after!", 6, 0), 6);
    EXPECT_EQ(memcmp(p, "after!", 6), 0);
    p[5000] = 'm';
    EXPECT_EQ(pread(fd, &c, 1, 5000), 1);
    EXPECT_EQ(c, 'm');
}

TEST(a_private_mapping_is_a_copy)
{
    char c = 0;
    int fd = make(0);
    EXPECT_EQ(write(fd, "hello", 5), 5);
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    p[0] = 'J';
    EXPECT_EQ(pread(fd, &c, 1, 0), 1);
    EXPECT_EQ(c, 'h');
}

TEST(parent_and_child_share_a_mapping)
{
    int status, fd = make(0);
    ASSERT_EQ(ftruncate(fd, 4096), 0);
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    pid_t pid = fork();
    if (pid == 0) {
        char *q = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        q[1] = 'c';
        _exit(p[1] != 'c');
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(p[1], 'c');
}

TEST(without_allow_sealing_it_is_sealed_against_seals)
{
    int fd = make(0);
    EXPECT_EQ(fcntl(fd, F_GET_SEALS), F_SEAL_SEAL);
    EXPECT_ERRNO(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
    EXPECT_EQ(fcntl(make(MFD_ALLOW_SEALING), F_GET_SEALS), 0);
}

TEST(seals_are_only_for_memory_files)
{
    int fd = open("f", O_RDWR | O_CREAT, 0600), p[2];
    ASSERT_EQ(pipe(p), 0);
    EXPECT_ERRNO(fcntl(p[1], F_GET_SEALS), EINVAL);
    EXPECT_ERRNO(fcntl(p[1], F_ADD_SEALS, F_SEAL_SEAL), EINVAL);
    EXPECT_ERRNO(fcntl(p[0], F_ADD_SEALS, F_SEAL_SEAL), EPERM); /* it can't be written to */
    EXPECT_ERRNO(fcntl(p[0], F_ADD_SEALS, 0x1000), EPERM);
    EXPECT_EQ(close(fd), 0);
    EXPECT_ERRNO(fcntl(fd, F_GET_SEALS), EBADF);
    EXPECT_ERRNO(fcntl(make(MFD_ALLOW_SEALING), F_ADD_SEALS, 0x1000), EINVAL);
}

TEST(the_seal_on_shrinking)
{
    int fd = make(MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(fd, 100), 0);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    EXPECT_EQ(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK);
    EXPECT_ERRNO(ftruncate(fd, 50), EPERM);
    EXPECT_EQ(ftruncate(fd, 100), 0);
    EXPECT_EQ(ftruncate(fd, 150), 0);
    EXPECT_EQ(pwrite(fd, "x", 1, 0), 1);
}

TEST(the_seal_on_growing)
{
    struct stat st;
    int fd = make(MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(fd, 100), 0);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
    EXPECT_ERRNO(ftruncate(fd, 150), EPERM);
    EXPECT_ERRNO(pwrite(fd, "xx", 2, 99), EPERM);
    EXPECT_ERRNO(fallocate(fd, 0, 0, 200), EPERM);
    EXPECT_EQ(pwrite(fd, "x", 1, 99), 1);
    EXPECT_EQ(ftruncate(fd, 50), 0);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_size, 50);
}

TEST(the_seal_on_writing)
{
    int fd = make(MFD_ALLOW_SEALING);
    EXPECT_EQ(write(fd, "hello", 5), 5);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
    EXPECT_ERRNO(pwrite(fd, "x", 1, 0), EPERM);
    EXPECT_ERRNO(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), EPERM);
    EXPECT_TRUE(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    EXPECT_EQ(errno, EPERM);
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    EXPECT_TRUE(p != MAP_FAILED);
    char c;
    EXPECT_EQ(pread(fd, &c, 1, 0), 1);
}

TEST(a_writable_mapping_forbids_the_seal_on_writing)
{
    int fd = make(MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(fd, 4096), 0);
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    EXPECT_ERRNO(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EBUSY);
    EXPECT_EQ(fcntl(fd, F_GET_SEALS), 0);
    EXPECT_EQ(munmap(p, 4096), 0);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(what_is_sealed_can_not_be_made_writable)
{
    int fd = make(MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(fd, 4096), 0);
    /* Once mapped for writing, the descriptor must not keep that right past the seal. */
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    EXPECT_EQ(munmap(p, 4096), 0);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
    p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        SKIP("older than Linux 6.7");
    EXPECT_ERRNO(mprotect(p, 4096, PROT_READ | PROT_WRITE), EACCES);
}

TEST(the_seal_on_future_writing_leaves_mappings)
{
    int fd = make(MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(fd, 4096), 0);
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    EXPECT_ERRNO(pwrite(fd, "x", 1, 0), EPERM);
    p[0] = 'm';
    char c = 0;
    EXPECT_EQ(pread(fd, &c, 1, 0), 1);
    EXPECT_EQ(c, 'm');
    EXPECT_TRUE(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    EXPECT_EQ(errno, EPERM);
}

TEST(the_seal_on_seals)
{
    int fd = make(MFD_ALLOW_SEALING);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL), 0);
    EXPECT_ERRNO(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), EPERM);
    EXPECT_EQ(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_SEAL);
}

TEST(files_that_are_not_to_be_executed)
{
    struct stat st;
    int fd = memfd_create("x", MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        SKIP("older than Linux 6.3");
    EXPECT_EQ(fcntl(fd, F_GET_SEALS), F_SEAL_EXEC);
    EXPECT_EQ(fstat(fd, &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0666);
    EXPECT_ERRNO(fchmod(fd, 0777), EPERM);
    EXPECT_EQ(fchmod(fd, 0600), 0);
    EXPECT_ERRNO(memfd_create("x", MFD_NOEXEC_SEAL | MFD_EXEC), EINVAL);
    EXPECT_GE(memfd_create("x", MFD_EXEC), 0);
}

TEST(many_memory_files)
{
    for (int i = 0; i < 200; i++) {
        int fd = make(0);
        ASSERT_EQ(write(fd, "x", 1), 1);
        if (i % 2)
            close(fd);
    }
}
