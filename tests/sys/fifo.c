// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void make_fifo(void)
{
    ASSERT_EQ(mkfifo("f", 0600), 0);
}

static short poll_events(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};
    EXPECT_GE(poll(&p, 1, 0), 0);
    return p.revents;
}

/* A child that opens the FIFO a little later and holds it for a while. */
static pid_t open_in_child(int flags, int hold_ms)
{
    pid_t child = fork();
    if (child == 0) {
        usleep(50000);
        int fd = open("f", flags);
        usleep((unsigned)hold_ms * 1000);
        _exit(fd < 0);
    }
    return child;
}

static void expect_success(pid_t child)
{
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(has_a_name_and_a_type)
{
    struct stat st;
    make_fifo();
    ASSERT_EQ(stat("f", &st), 0);
    EXPECT_TRUE(S_ISFIFO(st.st_mode));
    EXPECT_EQ(st.st_mode & 0777, 0600);
    EXPECT_ERRNO(mkfifo("f", 0600), EEXIST);
    EXPECT_EQ(unlink("f"), 0);
}

TEST(reader_that_does_not_wait_opens_at_once)
{
    char c;
    make_fifo();
    int reader = open("f", O_RDONLY | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    EXPECT_EQ(read(reader, &c, 1), 0);
}

TEST(writer_that_does_not_wait_needs_a_reader)
{
    make_fifo();
    EXPECT_ERRNO(open("f", O_WRONLY | O_NONBLOCK), ENXIO);
    int reader = open("f", O_RDONLY | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    EXPECT_GE(open("f", O_WRONLY | O_NONBLOCK), 0);
    close(reader);
    EXPECT_ERRNO(open("f", O_WRONLY | O_NONBLOCK), ENXIO);
}

TEST(reading_and_writing_never_waits)
{
    char c;
    make_fifo();
    int fd = open("f", O_RDWR);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(write(fd, "x", 1), 1);
    EXPECT_EQ(poll_events(fd), POLLIN | POLLOUT);
    EXPECT_EQ(read(fd, &c, 1), 1);
    EXPECT_EQ(poll_events(fd), POLLOUT);
}

TEST(reader_waits_for_a_writer)
{
    make_fifo();
    pid_t child = open_in_child(O_WRONLY, 0);
    EXPECT_GE(open("f", O_RDONLY), 0);
    expect_success(child);
}

TEST(writer_waits_for_a_reader)
{
    make_fifo();
    pid_t child = open_in_child(O_RDONLY, 300);
    int writer = open("f", O_WRONLY);
    ASSERT_GE(writer, 0);
    EXPECT_EQ(write(writer, "x", 1), 1);
    expect_success(child);
}

TEST(waiting_reader_counts_as_a_reader)
{
    make_fifo();
    pid_t child = fork();
    if (child == 0)
        _exit(open("f", O_RDONLY) < 0);
    int writer = -1;
    for (int i = 0; writer < 0 && i < 200; i++) {
        usleep(10000);
        writer = open("f", O_WRONLY | O_NONBLOCK);
    }
    EXPECT_GE(writer, 0);
    expect_success(child);
}

TEST(short_visit_lets_the_reader_in)
{
    char c;
    make_fifo();
    pid_t child = fork();
    if (child == 0) {
        int reader = open("f", O_RDONLY);
        usleep(50000);
        _exit(reader < 0 || read(reader, &c, 1) != 1 || read(reader, &c, 1) != 0);
    }
    usleep(50000);
    int writer = open("f", O_WRONLY);
    EXPECT_EQ(write(writer, "x", 1), 1);
    close(writer);
    expect_success(child);
}

static void ignore_signal(int sig)
{
}

TEST(signal_ends_a_waiting_open)
{
    struct sigaction action = {.sa_handler = ignore_signal};
    make_fifo();
    ASSERT_EQ(sigaction(SIGALRM, &action, NULL), 0);
    alarm(1);
    EXPECT_ERRNO(open("f", O_RDONLY), EINTR);
    /* The reader that gave up is no reader any more. */
    EXPECT_ERRNO(open("f", O_WRONLY | O_NONBLOCK), ENXIO);
}

TEST(killed_opener_is_no_reader_any_more)
{
    make_fifo();
    pid_t child = fork();
    if (child == 0)
        _exit(open("f", O_RDONLY) < 0);
    int writer = -1;
    usleep(100000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    for (int i = 0; i < 100; i++) {
        writer = open("f", O_WRONLY | O_NONBLOCK);
        if (writer < 0)
            break;
        close(writer);
        usleep(10000);
    }
    EXPECT_LT(writer, 0);
}

TEST(no_hang_up_before_the_first_writer)
{
    make_fifo();
    int reader = open("f", O_RDONLY | O_NONBLOCK);
    EXPECT_EQ(poll_events(reader), 0);
    int writer = open("f", O_WRONLY | O_NONBLOCK);
    EXPECT_EQ(poll_events(reader), 0);
    close(writer);
    EXPECT_EQ(poll_events(reader), POLLHUP);
    writer = open("f", O_WRONLY | O_NONBLOCK);
    EXPECT_EQ(poll_events(reader), 0);
    EXPECT_EQ(write(writer, "x", 1), 1);
    EXPECT_EQ(poll_events(reader), POLLIN);
}

TEST(data_is_lost_with_the_last_end)
{
    char c;
    make_fifo();
    int both = open("f", O_RDWR | O_NONBLOCK);
    EXPECT_EQ(write(both, "x", 1), 1);
    close(both);
    both = open("f", O_RDWR | O_NONBLOCK);
    EXPECT_ERRNO(read(both, &c, 1), EAGAIN);
}

TEST(lives_on_without_its_name)
{
    char c;
    make_fifo();
    int both = open("f", O_RDWR | O_NONBLOCK);
    EXPECT_EQ(unlink("f"), 0);
    EXPECT_EQ(write(both, "x", 1), 1);
    EXPECT_EQ(read(both, &c, 1), 1);
    make_fifo();
    int other = open("f", O_RDWR | O_NONBLOCK);
    EXPECT_EQ(write(other, "y", 1), 1);
    EXPECT_ERRNO(read(both, &c, 1), EAGAIN);
}

TEST(two_names_are_one_pipe)
{
    char c;
    make_fifo();
    ASSERT_EQ(link("f", "g"), 0);
    int reader = open("f", O_RDONLY | O_NONBLOCK);
    int writer = open("g", O_WRONLY | O_NONBLOCK);
    ASSERT_GE(writer, 0);
    EXPECT_EQ(write(writer, "x", 1), 1);
    EXPECT_EQ(read(reader, &c, 1), 1);
}

TEST(permissions_are_checked)
{
    if (geteuid() == 0)
        SKIP("root may do all");
    ASSERT_EQ(mkfifo("f", 0400), 0);
    EXPECT_ERRNO(open("f", O_WRONLY | O_NONBLOCK), EACCES);
    EXPECT_ERRNO(open("f", O_RDWR), EACCES);
    EXPECT_GE(open("f", O_RDONLY | O_NONBLOCK), 0);
}

TEST(truncating_open_is_harmless)
{
    make_fifo();
    int reader = open("f", O_RDONLY | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    EXPECT_GE(open("f", O_WRONLY | O_NONBLOCK | O_TRUNC), 0);
}

static void *open_for_writing(void *unused)
{
    usleep(50000);
    return (void *)(long)open("f", O_WRONLY);
}

TEST(threads_of_one_process_meet)
{
    pthread_t thread;
    void *writer;
    make_fifo();
    ASSERT_EQ(pthread_create(&thread, NULL, open_for_writing, NULL), 0);
    EXPECT_GE(open("f", O_RDONLY), 0);
    ASSERT_EQ(pthread_join(thread, &writer), 0);
    EXPECT_GE((long)writer, 0);
}

/* Access mode 3 asks for the rights of both ends, and there is no end that has neither. */
TEST(no_end_can_neither_read_nor_write)
{
    make_fifo();
    EXPECT_ERRNO(open("f", O_ACCMODE | O_NONBLOCK), EINVAL);
    EXPECT_ERRNO(open("f", O_ACCMODE), EINVAL);
    ASSERT_EQ(chmod("f", 0400), 0);
    if (geteuid() != 0)
        EXPECT_ERRNO(open("f", O_ACCMODE | O_NONBLOCK), EACCES);
    EXPECT_GE(open("f", O_RDONLY | O_NONBLOCK), 0);
}
