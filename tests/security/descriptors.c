// SPDX-License-Identifier: Apache-2.0
/*
 * The host puts a descriptor at a task's number for the moment of an mmap. No call may ever reach
 * it.
 */
#include "tests/security/hostile.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/socket.h>

#define NUMBERS 1024

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

TEST(none_but_the_three_at_start)
{
    for (int fd = 3; fd < NUMBERS; fd++)
        EXPECT_TRUE(!is_open(fd));
    DIR *dir = opendir("/proc/self/fd");
    ASSERT_TRUE(dir);
    const struct dirent *e;
    while ((e = readdir(dir)))
        EXPECT_TRUE(e->d_name[0] == '.' || atoi(e->d_name) <= 3);
    closedir(dir);
}

TEST(none_after_a_mapping)
{
    int fd = open("/bin/true", O_RDONLY);
    ASSERT_TRUE(fd == 3);
    ASSERT_TRUE(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
    close(fd);
    char c;
    struct stat st;
    EXPECT_ERRNO(read(fd, &c, 1), EBADF);
    EXPECT_ERRNO(fstat(fd, &st), EBADF);
    EXPECT_ERRNO(syscall(SYS_execveat, fd, "", (char *[]){NULL}, (char *[]){NULL}, AT_EMPTY_PATH),
                 EBADF);
    EXPECT_ERRNO((long)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0), EBADF);
}

/* What another file at the number says, whatever was mapped there before. */
TEST(a_number_shows_its_own_file)
{
    for (int i = 0; i < 50; i++) {
        int a = open("/bin/true", O_RDONLY);
        ASSERT_TRUE(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, a, 0) != MAP_FAILED);
        int b = open("b", O_RDWR | O_CREAT, 0600);
        ASSERT_EQ(write(b, "mine", 4), 4);
        ASSERT_EQ(dup2(b, a), a);
        const char *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, a, 0);
        ASSERT_TRUE(p != MAP_FAILED);
        EXPECT_EQ(memcmp(p, "mine", 4), 0);
        munmap((void *)p, PAGE);
        close(a);
        close(b);
        unlink("b");
    }
}

static volatile int stop;

static void *map_all_the_time(void *unused)
{
    while (!stop) {
        int fd = open("/bin/true", O_RDONLY);
        void *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
        close(fd);
        if (p != MAP_FAILED)
            munmap(p, PAGE);
    }
    return NULL;
}

/*
 * A descriptor of the host would show itself: it can be read but is not in the guest's table.
 * Numbers from 100 up are never the guest's here, but for the mapped ones, which a thread moves
 * there.
 */
static void *map_high_numbers(void *unused)
{
    uint32_t state = 3;
    while (!stop) {
        int fd = open("/bin/true", O_RDONLY), high = 100 + (int)(hostile_random(&state) % 900);
        dup2(fd, high);
        void *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, high, 0);
        close(high);
        close(fd);
        if (p != MAP_FAILED)
            munmap(p, PAGE);
    }
    return NULL;
}

static void use(int fd)
{
    char data[16];
    int two[2];
    struct stat st;
    struct iovec v = {data, sizeof(data)};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    /* A content is writable for nobody here: /bin/true may not change. */
    write(fd, "hostile", 7);
    ftruncate(fd, 0);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
        _exit(66);
    read(fd, data, sizeof(data));
    int other = dup(fd);
    if (other >= 0)
        close(other);
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, two) == 0) {
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
        sendmsg(two[0], &m, MSG_DONTWAIT);
        close(two[0]);
        close(two[1]);
    }
    ioctl(fd, 0x5401, data);
    syscall(SYS_close_range, (unsigned)fd, (unsigned)fd, 0L);
}

TEST(all_numbers_while_a_sibling_maps)
{
    pthread_t threads[3];
    struct stat before, after;
    ASSERT_EQ(stat("/bin/true", &before), 0);
    pthread_create(&threads[0], NULL, map_all_the_time, NULL);
    pthread_create(&threads[1], NULL, map_high_numbers, NULL);
    pthread_create(&threads[2], NULL, map_high_numbers, NULL);
    int64_t until = hostile_now_ms() + 4000;
    while (hostile_now_ms() < until)
        for (int fd = 3; fd < NUMBERS; fd += 7)
            use(fd);
    stop = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    ASSERT_EQ(stat("/bin/true", &after), 0);
    EXPECT_EQ(before.st_size, after.st_size);
    EXPECT_TRUE(hostile_kernel_serves());
}

/* Whatever a racing thread does with the number, /bin/sh is what runs, as the sandbox's user. */
static void *replace_number(void *number)
{
    int fd = (int)(long)number;
    while (!stop) {
        int other = open("/bin/true", O_RDONLY);
        dup2(other, fd);
        mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
        close(other);
    }
    return NULL;
}

TEST(exec_of_a_number_that_a_sibling_replaces)
{
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)"exit 7", NULL};
    char *const envp[] = {NULL};
    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t thread;
            int fd = open("/bin/sh", O_PATH);
            pthread_create(&thread, NULL, replace_number, (void *)(long)fd);
            usleep(1000);
            dup2(open("/bin/sh", O_PATH), fd);
            syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
            _exit(9);
        }
        int status = hostile_wait(pid);
        EXPECT_TRUE(status == 7 || status == 0 || status == 9 || status == 1);
    }
    EXPECT_TRUE(hostile_kernel_serves());
}

TEST(exec_of_every_number)
{
    char *const argv[] = {(char *)"true", NULL}, *const envp[] = {NULL};
    int path = open("/bin/true", O_PATH), two[2];
    ASSERT_EQ(pipe(two), 0);
    ASSERT_EQ(dup2(open("/bin/true", O_RDONLY), 900), 900);
    ASSERT_EQ(dup2(open("/bin", O_PATH | O_DIRECTORY), 901), 901);
    for (int fd = 0; fd < NUMBERS; fd += fd < 20 || fd > 895 ? 1 : 50) {
        pid_t pid = fork();
        if (pid == 0) {
            syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
            _exit(errno);
        }
        int status = hostile_wait(pid);
        struct stat st;
        bool runs = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
        if (runs)
            EXPECT_EQ(status, 0);
        else
            EXPECT_EQ(status, is_open(fd) ? EACCES : EBADF);
    }
    EXPECT_TRUE(is_open(path));
}
