// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#define THREADS 4
#define ROUNDS  400

static int open_big(const char *name, off_t size)
{
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(ftruncate(fd, size), 0);
    return fd;
}

TEST(what_a_file_cannot_be_mapped_for)
{
    int fd = open_big("file", 8192), reader = open("file", O_RDONLY),
        writer = open("file", O_WRONLY);
    int path = open("file", O_PATH), directory = open(".", O_RDONLY), ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const int both = PROT_READ | PROT_WRITE;
#define EXPECT_MAP_ERRNO(size, protection, flags, fd, offset, expected) \
    EXPECT_ERRNO((intptr_t)mmap(NULL, size, protection, flags, fd, offset), expected)
    EXPECT_MAP_ERRNO(4096, PROT_READ, MAP_SHARED, writer, 0, EACCES);
    EXPECT_MAP_ERRNO(4096, PROT_READ, MAP_PRIVATE, writer, 0, EACCES);
    EXPECT_MAP_ERRNO(4096, both, MAP_SHARED, reader, 0, EACCES);
    EXPECT_MAP_ERRNO(4096, PROT_READ, MAP_SHARED, directory, 0, ENODEV);
    EXPECT_MAP_ERRNO(4096, PROT_READ, MAP_SHARED, ends[0], 0, ENODEV);
    EXPECT_MAP_ERRNO(4096, PROT_READ, MAP_SHARED, path, 0, EBADF);
    EXPECT_MAP_ERRNO(4096, PROT_READ, MAP_SHARED, 1234, 0, EBADF);
    EXPECT_MAP_ERRNO(4096, PROT_READ, MAP_SHARED, fd, 1, EINVAL);
    EXPECT_MAP_ERRNO(0, PROT_READ, MAP_SHARED, fd, 0, EINVAL);
    EXPECT_MAP_ERRNO(4096, PROT_READ, 0, fd, 0, EINVAL);
    void *p = mmap(NULL, 4096, both, MAP_PRIVATE, reader, 0);
    EXPECT_TRUE(p != MAP_FAILED);
}

TEST(the_order_in_which_it_is_looked_at)
{
    int fd = open_big("file", 8192), writer = open("file", O_WRONLY), ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const off_t far = INT64_MAX & ~4095LL;
    EXPECT_MAP_ERRNO(4096, PROT_READ, MAP_PRIVATE, 1234, 1, EINVAL);
    EXPECT_MAP_ERRNO(0, PROT_READ, MAP_PRIVATE, 1234, 0, EBADF);
    EXPECT_MAP_ERRNO(4096, PROT_READ, 0, 1234, 0, EBADF);
    EXPECT_MAP_ERRNO(4096, PROT_READ, MAP_PRIVATE | MAP_HUGETLB, 1234, 0, EBADF);
    EXPECT_MAP_ERRNO(4096, PROT_READ, MAP_PRIVATE | MAP_HUGETLB, fd, 0, EINVAL);
    EXPECT_MAP_ERRNO(SIZE_MAX, PROT_READ, MAP_PRIVATE, fd, 0, ENOMEM);
    EXPECT_MAP_ERRNO(SIZE_MAX, PROT_READ, MAP_PRIVATE, writer, 0, ENOMEM);
    EXPECT_MAP_ERRNO(SIZE_MAX, PROT_READ, MAP_PRIVATE, ends[0], 0, ENOMEM);
    EXPECT_MAP_ERRNO(4096, PROT_READ, MAP_PRIVATE, writer, far, EOVERFLOW);
    EXPECT_MAP_ERRNO(4096, PROT_READ, 0, writer, 0, EINVAL);
    EXPECT_ERRNO((intptr_t)mmap((void *)1, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, ends[0], 0),
                 EINVAL);
    EXPECT_ERRNO(
        (intptr_t)mmap((void *)(1ULL << 62), 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, writer, 0),
        ENOMEM);
}

TEST(what_is_no_file_has_no_programs)
{
    int ends[2], memory = memfd_create("m", 0);
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(ftruncate(memory, 4096), 0);
    const int program = PROT_READ | PROT_EXEC;
    EXPECT_MAP_ERRNO(4096, program, MAP_PRIVATE, ends[1], 0, EACCES);
    errno = 0;
    EXPECT_TRUE(mmap(NULL, 4096, program, MAP_PRIVATE, ends[0], 0) == MAP_FAILED);
    EXPECT_TRUE(errno == EPERM || (errno == ENODEV && !harness_is_inside())); /* older Linux */
    EXPECT_TRUE(mmap(NULL, 4096, program, MAP_PRIVATE, memory, 0) != MAP_FAILED);
}

TEST(a_shared_mapping_and_the_file_are_one)
{
    int fd = open_big("file", 8192);
    char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), read_back[4];
    ASSERT_TRUE(p != MAP_FAILED);
    memcpy(p + 4095, "mmap", 4);
    EXPECT_EQ(pread(fd, read_back, 4, 4095), 4);
    EXPECT_EQ(memcmp(read_back, "mmap", 4), 0);
    EXPECT_EQ(pwrite(fd, "file", 4, 100), 4);
    EXPECT_EQ(memcmp(p + 100, "file", 4), 0);
    EXPECT_EQ(msync(p, 8192, MS_SYNC), 0);
    EXPECT_EQ(unlink("file"), 0);
    EXPECT_EQ(close(fd), 0);
    p[0] = 'x';
    EXPECT_EQ(p[0], 'x');
}

/* More in all than a sandbox's disk has; only one of them is there at a time. */
TEST(files_that_were_mapped_and_removed_take_no_room)
{
    for (int i = 0; i < 8; i++) {
        int fd = open_big("big", 3LL << 30);
        char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 1LL << 30);
        ASSERT_TRUE(p != MAP_FAILED);
        *p = 'x';
        ASSERT_EQ(munmap(p, 4096), 0);
        ASSERT_EQ(close(fd), 0);
        ASSERT_EQ(unlink("big"), 0);
    }
}

/*
 * Threads that open, map and close files at numbers that they take from each other, and forks in
 * between: each mapping shows the file that its descriptor stood for.
 */

static volatile bool stop;

static void make_file(const char *name, char letter)
{
    char text[64];
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    memset(text, letter, sizeof(text));
    ASSERT_EQ(write(fd, text, sizeof(text)), sizeof(text));
    close(fd);
}

/* The first letter of what fd maps, or what went wrong. */
static int mapped_letter(int fd)
{
    const char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return -errno;
    int letter = p[0];
    munmap((void *)p, 4096);
    return letter;
}

static bool one_round(char letter)
{
    char name[2] = {letter, 0};
    int fd = open(name, O_RDONLY);
    bool right = fd >= 0 && mapped_letter(fd) == letter && mapped_letter(fd) == letter;
    close(fd);
    return right;
}

static void *map_often(void *argument)
{
    long wrong = 0;
    for (int i = 0; i < ROUNDS; i++)
        wrong += !one_round((char)(uintptr_t)argument);
    return (void *)wrong;
}

static void *map_on(void *argument)
{
    long wrong = 0;
    while (!stop)
        wrong += !one_round((char)(uintptr_t)argument);
    return (void *)wrong;
}

static void start(pthread_t threads[THREADS], void *(*run)(void *))
{
    for (int i = 0; i < THREADS; i++) {
        char name[2] = {(char)('a' + i), 0};
        make_file(name, name[0]);
        ASSERT_EQ(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)name[0]), 0);
    }
}

static void finish(pthread_t threads[THREADS])
{
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        EXPECT_EQ((uintptr_t)wrong, 0);
    }
}

TEST(closing_and_mapping_at_the_same_numbers)
{
    pthread_t threads[THREADS];
    start(threads, map_often);
    finish(threads);
}

TEST(forks_between_mappings_of_siblings)
{
    pthread_t threads[THREADS];
    int wrong = 0;
    make_file("main", 'm');
    start(threads, map_on);
    for (int i = 0; i < 50; i++) {
        int fd = open("main", O_RDONLY), status = -1;
        wrong += mapped_letter(fd) != 'm';
        pid_t child = fork();
        if (child == 0)
            _exit(mapped_letter(fd) != 'm' || mapped_letter(fd) != 'm');
        EXPECT_EQ(waitpid(child, &status, 0), child);
        wrong += status != 0;
        close(fd);
    }
    stop = true;
    finish(threads);
    EXPECT_EQ(wrong, 0);
}

/* ---- shared memory without a file ---- */

static char *map_shared(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static size_t machine_bytes(void)
{
    struct sysinfo s;
    ASSERT_EQ(sysinfo(&s), 0);
    return (s.totalram + s.totalswap) * s.mem_unit;
}

TEST(shared_memory_larger_than_the_machine)
{
    EXPECT_TRUE(map_shared(machine_bytes() + (1 << 20)) == MAP_FAILED);
    EXPECT_EQ(errno, ENOMEM);
}

TEST(shared_memory_is_there_again_when_it_was_unmapped)
{
    size_t size = machine_bytes() / 3;
    for (int i = 0; i < 20; i++) {
        char *p = map_shared(size);
        ASSERT_TRUE(p != MAP_FAILED);
        p[0] = p[size - 1] = 'x';
        ASSERT_EQ(munmap(p, size), 0);
    }
}

TEST(shared_memory_goes_with_the_last_process_that_has_it)
{
    size_t size = machine_bytes() / 2;
    for (int i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) {
            char *p = map_shared(size);
            if (p != MAP_FAILED && fork() == 0) {
                p[0] = 'x';
                _exit(0);
            }
            int status = 0;
            wait(&status);
            _exit(p == MAP_FAILED || p[0] != 'x');
        }
        int status;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
}

/* What is not offered is not told of, so that programs choose among what there is. */
TEST(each_barrier_that_is_told_of_is_there)
{
    static const int commands[] = {
        MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
        MEMBARRIER_CMD_PRIVATE_EXPEDITED,
        MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
        MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE,
        MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED,
        MEMBARRIER_CMD_GLOBAL_EXPEDITED,
        MEMBARRIER_CMD_GLOBAL,
    };
    long told = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    ASSERT_GE(told, 0);
    EXPECT_TRUE(told & MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (told & commands[i])
            EXPECT_EQ(syscall(SYS_membarrier, commands[i], 0, 0), 0);
        else
            EXPECT_ERRNO(syscall(SYS_membarrier, commands[i], 0, 0), EINVAL);
    }
    EXPECT_ERRNO(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 1 << 20, 0), EINVAL);
}

TEST(memory_can_be_filled_at_once)
{
    const int both = PROT_READ | PROT_WRITE;
    char *p = mmap(NULL, 16 << 20, both, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    unsigned char in_core[(16 << 20) / 4096];
    ASSERT_TRUE(p != MAP_FAILED);
    ASSERT_EQ(mincore(p, 16 << 20, in_core), 0);
    EXPECT_EQ(in_core[0] & in_core[sizeof(in_core) - 1] & 1, 1);
    EXPECT_EQ(madvise(p, 16 << 20, MADV_DONTNEED), 0);
    EXPECT_EQ(madvise(p, 16 << 20, 23 /* MADV_POPULATE_WRITE */), 0);
    /* EINVAL: where what the sandbox uses is counted by watching. */
    if (madvise(p, 16 << 20, MADV_FREE) != 0)
        EXPECT_EQ(errno, EINVAL);
    p[0] = 'x';
    EXPECT_EQ(p[0], 'x');
}
