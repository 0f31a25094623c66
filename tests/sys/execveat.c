// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int execute_at(int dirfd, const char *name, const char *command, int flags)
{
    char *argv[] = {"sh", "-c", (char *)command, NULL}, *envp[] = {NULL};
    return (int)syscall(SYS_execveat, dirfd, name, argv, envp, flags);
}

/* The exit status of a child that executes so; 99 when it could not. */
static int status_at(int dirfd, const char *name, const char *command, int flags)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        execute_at(dirfd, name, command, flags);
        _exit(99);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int make_file(const char *name, const char *text, mode_t mode)
{
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(write(fd, text, strlen(text)), strlen(text));
    ASSERT_EQ(fchmod(fd, mode), 0);
    close(fd);
    fd = open(name, O_RDONLY);
    ASSERT_GE(fd, 0);
    return fd;
}

TEST(a_program_by_its_descriptor)
{
    int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(status_at(fd, "", "exit 3", AT_EMPTY_PATH), 3);
}

TEST(a_program_by_an_o_path_descriptor)
{
    int fd = open("/bin/sh", O_PATH | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(status_at(fd, "", "exit 4", AT_EMPTY_PATH), 4);
}

/* As runtimes start programs that no directory has: the writer is still open. */
TEST(a_memory_file_that_is_open_for_writing)
{
    char data[65536];
    int fd = memfd_create("program", MFD_CLOEXEC), in = open("/bin/sh", O_RDONLY | O_CLOEXEC);
    ssize_t n;
    ASSERT_GE(fd, 0);
    while ((n = read(in, data, sizeof(data))) > 0)
        ASSERT_EQ(write(fd, data, (size_t)n), n);
    EXPECT_EQ(status_at(fd, "", "exit 5", AT_EMPTY_PATH), 5);
    snprintf(data, sizeof(data), "/proc/self/fd/%d", fd);
    int writer = open(data, O_RDWR | O_CLOEXEC);
    ASSERT_GE(writer, 0);
    EXPECT_ERRNO(execute_at(fd, "", "exit 5", AT_EMPTY_PATH), ETXTBSY);
    close(writer);
    EXPECT_EQ(status_at(fd, "", "exit 6", AT_EMPTY_PATH), 6);
}

TEST(a_name_in_a_directory)
{
    int fd = open("/bin", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(status_at(fd, "sh", "exit 5", 0), 5);
    EXPECT_EQ(status_at(fd, "../bin/./sh", "exit 6", 0), 6);
    EXPECT_EQ(status_at(fd, "/bin/sh", "exit 7", 0), 7);
    EXPECT_EQ(status_at(AT_FDCWD, "/bin/sh", "exit 8", 0), 8);
}

TEST(a_script_by_its_descriptor)
{
    int fd = make_file("script", "#!/bin/sh\nexit 9\n", 0755);
    EXPECT_EQ(status_at(fd, "", "", AT_EMPTY_PATH), 9);
    EXPECT_EQ(status_at(AT_FDCWD, "script", "", 0), 9);
}

TEST(what_cannot_be_executed_at)
{
    int fd = make_file("text", "no program\n", 0644);
    int directory = open(".", O_RDONLY | O_DIRECTORY);
    EXPECT_ERRNO(execute_at(fd, "", "", 0), ENOENT);
    EXPECT_ERRNO(execute_at(fd, "", "", AT_EMPTY_PATH), EACCES);
    EXPECT_ERRNO(execute_at(fd, "sh", "", 0), ENOTDIR);
    EXPECT_ERRNO(execute_at(directory, "", "", AT_EMPTY_PATH), EACCES);
    EXPECT_ERRNO(execute_at(directory, "nothing", "", 0), ENOENT);
    EXPECT_ERRNO(execute_at(1234, "", "", AT_EMPTY_PATH), EBADF);
    EXPECT_ERRNO(execute_at(1234, "sh", "", 0), EBADF);
    EXPECT_ERRNO(execute_at(AT_FDCWD, "/bin/sh", "", 0x40), EINVAL);
    EXPECT_ERRNO(execute_at(AT_FDCWD, "", "", 0x40), ENOENT);
    ASSERT_EQ(symlink("/bin/sh", "link"), 0);
    EXPECT_ERRNO(execute_at(AT_FDCWD, "link", "", AT_SYMLINK_NOFOLLOW), ELOOP);
}

TEST(a_descriptor_still_maps_its_file_after_a_failed_execution)
{
    char *argv[] = {"x", NULL}, *envp[] = {NULL};
    int fd = make_file("program", "\177ELF no program\n", 0755);
    void *before = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    EXPECT_ERRNO(syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH), ENOEXEC);
    const char *after = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    ASSERT_TRUE(before != MAP_FAILED && after != MAP_FAILED);
    EXPECT_EQ(memcmp(after, "\177ELF no", 7), 0);
}

/* A thread that maps what the guest wrote over the number that the host is about to execute. */
static void *map_over(void *argument)
{
    int program = *(int *)argument, number = program + 1;
    for (;;) {
        dup2(program, number);
        void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, number, 0);
        if (p != MAP_FAILED)
            munmap(p, 4096);
    }
    return NULL;
}

TEST(siblings_that_map_change_nothing)
{
    int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC), right = 0;
    ASSERT_GE(fd, 0);
    for (int i = 0; i < 30; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            pthread_create(&thread, NULL, map_over, &fd);
            usleep(1000);
            execute_at(fd + 1, "", "exit 3", AT_EMPTY_PATH);
            execute_at(fd, "", "exit 3", AT_EMPTY_PATH);
            _exit(99);
        }
        EXPECT_EQ(waitpid(child, &status, 0), child);
        right += WIFEXITED(status) && WEXITSTATUS(status) == 3;
    }
    EXPECT_EQ(right, 30);
}
