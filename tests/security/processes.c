// SPDX-License-Identifier: Apache-2.0
/*
 * Processes against the kernel and each other: signals at the first process, storms of forks,
 * children that nobody waits for, ends in the middle of calls, descriptors sent in circles.
 */
#include "tests/security/hostile.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

TEST(signals_at_the_first_process)
{
    for (int sig = 1; sig < 65; sig++)
        kill(1, sig);
    EXPECT_EQ(kill(1, 0), 0);
    EXPECT_TRUE(hostile_kernel_serves());
}

TEST(signals_of_a_user_at_everybody)
{
    pid_t other = fork();
    if (other == 0) {
        pause();
        _exit(0);
    }
    pid_t pid = fork();
    if (pid == 0) {
        hostile_become_user();
        EXPECT_ERRNO(kill(other, SIGKILL), EPERM);
        EXPECT_ERRNO(kill(1, SIGKILL), EPERM);
        kill(-1, SIGKILL);
        EXPECT_ERRNO(syscall(SYS_tkill, other, SIGKILL), EPERM);
        harness_end_case();
    }
    EXPECT_EQ(hostile_wait(pid), 0);
    EXPECT_EQ(waitpid(other, NULL, WNOHANG), 0);
    kill(other, SIGKILL);
    hostile_wait(other);
}

TEST(forks_without_an_end)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit = {200, 200};
        setpgid(0, 0);
        setrlimit(RLIMIT_NPROC, &limit);
        hostile_become_user();
        int64_t until = hostile_now_ms() + 1500;
        while (hostile_now_ms() < until)
            fork();
        pause();
    }
    usleep(2500000);
    EXPECT_TRUE(hostile_kernel_serves());
    for (int i = 0; i < 50 && kill(-pid, SIGKILL) == 0; i++)
        usleep(20000);
    EXPECT_EQ(hostile_wait(pid), 128 + SIGKILL);
    EXPECT_TRUE(hostile_kernel_serves());
}

/* They cost the kernel memory: they count. */
TEST(children_that_nobody_waits_for)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit = {100, 100};
        setrlimit(RLIMIT_NPROC, &limit);
        hostile_become_user();
        for (int i = 0; i < 300; i++) {
            pid_t child = fork();
            if (child == 0)
                _exit(0);
            if (child < 0)
                _exit(errno == EAGAIN ? 5 : 6);
        }
        _exit(7);
    }
    EXPECT_EQ(hostile_wait(pid), 5);
    EXPECT_TRUE(hostile_kernel_serves());
}

/* Ended at any moment: nothing is left over. */
TEST(kills_in_the_middle_of_calls)
{
    uint32_t state = 9;
    for (int i = 0; i < 150; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (;;) {
                int two[2], fd = open("file", O_RDWR | O_CREAT, 0600);
                socketpair(AF_UNIX, SOCK_STREAM, 0, two);
                write(two[0], "abc", 3);
                mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
                if (fork() == 0)
                    execl("/bin/true", "true", (char *)NULL);
                close(two[0]);
                close(two[1]);
                close(fd);
            }
        }
        usleep(hostile_random(&state) % 20000);
        kill(pid, SIGKILL);
        EXPECT_EQ(hostile_wait(pid), 128 + SIGKILL);
    }
    EXPECT_TRUE(hostile_kernel_serves());
}

static bool send_descriptor(int over, int fd)
{
    char c = 'x';
    struct iovec v = {&c, 1};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    return sendmsg(over, &m, MSG_DONTWAIT) == 1;
}

TEST(descriptors_in_circles)
{
    for (int i = 0; i < 3000; i++) {
        int a[2], b[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, a) < 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, b) < 0)
            break;
        send_descriptor(a[0], a[0]);
        send_descriptor(a[0], a[1]);
        send_descriptor(a[0], b[0]);
        send_descriptor(b[0], a[1]);
        send_descriptor(b[1], b[0]);
        for (int n = 0; n < 2; n++) {
            close(a[n]);
            close(b[n]);
        }
    }
    int two[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, two), 0);
    EXPECT_TRUE(hostile_kernel_serves());
}

static void *come_and_go(void *unused)
{
    return NULL;
}

TEST(threads_that_come_and_go)
{
    for (int i = 0; i < 200; i++) {
        pthread_t threads[8];
        int made = 0;
        while (made < 8 && pthread_create(&threads[made], NULL, come_and_go, NULL) == 0)
            made++;
        EXPECT_EQ(made, 8);
        while (made > 0)
            pthread_join(threads[--made], NULL);
    }
    EXPECT_TRUE(hostile_kernel_serves());
}
