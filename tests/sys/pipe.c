// SPDX-License-Identifier: Apache-2.0
#include "tests/sys/waiting.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define PAGE 4096

static int ends[2];
static char page[PAGE];
static void *volatile bad_address = (void *)8;

static void open_pipe(int flags)
{
    ASSERT_EQ(pipe2(ends, flags), 0);
}

/* Writes whole pages until none fits. */
static int fill_with_pages(void)
{
    int count = 0;
    while (write(ends[1], page, PAGE) == PAGE)
        count++;
    EXPECT_EQ(errno, EAGAIN);
    return count;
}

static short poll_events(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};
    EXPECT_GE(poll(&p, 1, 0), 0);
    return p.revents;
}

TEST(bytes_come_out_as_they_went_in)
{
    char back[6] = "";
    open_pipe(0);
    EXPECT_EQ(write(ends[1], "abc", 3), 3);
    EXPECT_EQ(write(ends[1], "de", 2), 2);
    EXPECT_EQ(read(ends[0], back, 5), 5);
    EXPECT_STR(back, "abcde");
}

TEST(each_end_goes_one_way)
{
    open_pipe(0);
    EXPECT_EQ(fcntl(ends[0], F_GETFL) & O_ACCMODE, O_RDONLY);
    EXPECT_EQ(fcntl(ends[1], F_GETFL) & O_ACCMODE, O_WRONLY);
    EXPECT_ERRNO(write(ends[0], "x", 1), EBADF);
    EXPECT_ERRNO(read(ends[1], page, 1), EBADF);
}

TEST(pipe2_sets_its_flags)
{
    open_pipe(O_CLOEXEC | O_NONBLOCK);
    for (int i = 0; i < 2; i++) {
        EXPECT_EQ(fcntl(ends[i], F_GETFD), FD_CLOEXEC);
        EXPECT_TRUE(fcntl(ends[i], F_GETFL) & O_NONBLOCK);
    }
}

TEST(pipe2_refuses_other_flags)
{
    EXPECT_ERRNO(pipe2(ends, O_APPEND), EINVAL);
    EXPECT_ERRNO(pipe2(ends, 1 << 30), EINVAL);
}

TEST(bad_result_address_leaves_no_descriptors)
{
    int lowest = dup(0);
    close(lowest);
    EXPECT_ERRNO(syscall(SYS_pipe, bad_address), EFAULT);
    EXPECT_ERRNO(syscall(SYS_pipe2, bad_address, 0), EFAULT);
    EXPECT_EQ(dup(0), lowest);
}

TEST(no_room_for_two_descriptors_takes_none)
{
    int lowest = dup(0);
    close(lowest);
    struct rlimit limit = {lowest + 1, lowest + 1};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_ERRNO(pipe(ends), EMFILE);
    EXPECT_EQ(dup(0), lowest);
}

TEST(empty_transfers_do_nothing)
{
    open_pipe(0);
    EXPECT_EQ(read(ends[0], page, 0), 0);
    EXPECT_EQ(write(ends[1], page, 0), 0);
    close(ends[0]);
    EXPECT_EQ(write(ends[1], page, 0), 0);
}

TEST(end_of_file_when_the_last_writer_is_gone)
{
    open_pipe(0);
    int second = dup(ends[1]);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    close(ends[1]);
    close(second);
    EXPECT_EQ(read(ends[0], page, PAGE), 1);
    EXPECT_EQ(read(ends[0], page, PAGE), 0);
    EXPECT_EQ(read(ends[0], page, PAGE), 0);
}

TEST(empty_pipe_does_not_block_when_told)
{
    open_pipe(O_NONBLOCK);
    EXPECT_ERRNO(read(ends[0], page, 1), EAGAIN);
}

TEST(holds_sixteen_pages)
{
    open_pipe(O_NONBLOCK);
    EXPECT_EQ(fcntl(ends[0], F_GETPIPE_SZ), 16 * PAGE);
    EXPECT_EQ(fill_with_pages(), 16);
}

TEST(single_bytes_share_pages)
{
    int count = 0;
    open_pipe(O_NONBLOCK);
    ASSERT_EQ(fcntl(ends[1], F_SETPIPE_SZ, PAGE), PAGE);
    while (write(ends[1], "x", 1) == 1)
        count++;
    EXPECT_EQ(count, PAGE);
}

TEST(large_write_without_blocking_is_cut)
{
    static char big[100000];
    open_pipe(O_NONBLOCK);
    EXPECT_EQ(write(ends[1], big, sizeof(big)), 16 * PAGE);
    EXPECT_ERRNO(write(ends[1], big, sizeof(big)), EAGAIN);
}

TEST(small_write_is_all_or_nothing)
{
    open_pipe(O_NONBLOCK);
    for (int i = 0; i < 15; i++)
        ASSERT_EQ(write(ends[1], page, PAGE), PAGE);
    EXPECT_EQ(write(ends[1], page, 1), 1);
    /* The last page has room for 4095 bytes, and no new page is left. */
    EXPECT_ERRNO(write(ends[1], page, PAGE), EAGAIN);
    EXPECT_EQ(write(ends[1], page, PAGE - 1), PAGE - 1);
    EXPECT_ERRNO(write(ends[1], page, 1), EAGAIN);
}

TEST(page_counts_until_its_last_byte_is_read)
{
    open_pipe(O_NONBLOCK);
    ASSERT_EQ(fill_with_pages(), 16);
    EXPECT_EQ(read(ends[0], page, PAGE - 1), PAGE - 1);
    EXPECT_EQ(poll_events(ends[1]), 0);
    EXPECT_ERRNO(write(ends[1], page, 1), EAGAIN);
    EXPECT_EQ(read(ends[0], page, 1), 1);
    EXPECT_EQ(poll_events(ends[1]), POLLOUT);
    EXPECT_EQ(write(ends[1], page, PAGE), PAGE);
}

TEST(writing_without_readers_signals)
{
    open_pipe(0);
    close(ends[0]);
    handle(SIGPIPE, 0);
    EXPECT_ERRNO(write(ends[1], "x", 1), EPIPE);
    EXPECT_EQ(signals_seen, 1);
    signal(SIGPIPE, SIG_IGN);
    EXPECT_ERRNO(write(ends[1], "x", 1), EPIPE);
}

TEST(sigpipe_kills_by_default)
{
    int status;
    open_pipe(0);
    close(ends[0]);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        write(ends[1], "x", 1);
        _exit(0);
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGPIPE);
}

TEST(packets_come_one_by_one)
{
    char back[16] = "";
    open_pipe(O_DIRECT | O_NONBLOCK);
    EXPECT_TRUE(fcntl(ends[1], F_GETFL) & O_DIRECT);
    EXPECT_EQ(write(ends[1], "one", 3), 3);
    EXPECT_EQ(write(ends[1], "second", 6), 6);
    EXPECT_EQ(read(ends[0], back, sizeof(back)), 3);
    /* What does not fit of a packet is dropped. */
    EXPECT_EQ(read(ends[0], back, 2), 2);
    EXPECT_ERRNO(read(ends[0], back, sizeof(back)), EAGAIN);
}

TEST(large_packet_is_split_into_pages)
{
    static char big[PAGE * 2 + 10];
    open_pipe(O_DIRECT | O_NONBLOCK);
    EXPECT_EQ(write(ends[1], big, sizeof(big)), (long)sizeof(big));
    EXPECT_EQ(read(ends[0], big, sizeof(big)), PAGE);
    EXPECT_EQ(read(ends[0], big, sizeof(big)), PAGE);
    EXPECT_EQ(read(ends[0], big, sizeof(big)), 10);
}

TEST(each_packet_takes_a_page)
{
    int count = 0;
    open_pipe(O_DIRECT | O_NONBLOCK);
    while (write(ends[1], "x", 1) == 1)
        count++;
    EXPECT_EQ(count, 16);
}

TEST(packet_mode_is_switched_by_fcntl)
{
    char back[8];
    open_pipe(O_NONBLOCK);
    ASSERT_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK | O_DIRECT), 0);
    EXPECT_EQ(write(ends[1], "ab", 2), 2);
    EXPECT_EQ(write(ends[1], "cd", 2), 2);
    EXPECT_EQ(read(ends[0], back, sizeof(back)), 2);
}

TEST(fionread_counts_bytes)
{
    int bytes = -1;
    open_pipe(0);
    EXPECT_EQ(ioctl(ends[0], FIONREAD, &bytes), 0);
    EXPECT_EQ(bytes, 0);
    EXPECT_EQ(write(ends[1], page, 300), 300);
    EXPECT_EQ(ioctl(ends[0], FIONREAD, &bytes), 0);
    EXPECT_EQ(bytes, 300);
    EXPECT_EQ(ioctl(ends[1], FIONREAD, &bytes), 0);
    EXPECT_EQ(bytes, 300);
    EXPECT_ERRNO(ioctl(ends[0], FIONREAD, bad_address), EFAULT);
}

TEST(size_is_rounded_up_to_a_power_of_two_of_pages)
{
    open_pipe(O_NONBLOCK);
    EXPECT_EQ(fcntl(ends[0], F_SETPIPE_SZ, 1), PAGE);
    EXPECT_EQ(fcntl(ends[1], F_GETPIPE_SZ), PAGE);
    EXPECT_EQ(fcntl(ends[0], F_SETPIPE_SZ, 3 * PAGE), 4 * PAGE);
    EXPECT_EQ(fill_with_pages(), 4);
    EXPECT_EQ(fcntl(ends[0], F_SETPIPE_SZ, 1 << 20), 1 << 20);
}

TEST(resizing_keeps_what_is_there)
{
    char back[2 * PAGE];
    open_pipe(O_NONBLOCK);
    for (int i = 0; i < 16; i++) {
        memset(page, 'a' + i, PAGE);
        ASSERT_EQ(write(ends[1], page, PAGE), PAGE);
    }
    for (int i = 0; i < 13; i++)
        ASSERT_EQ(read(ends[0], page, PAGE), PAGE);
    EXPECT_ERRNO(fcntl(ends[0], F_SETPIPE_SZ, 2 * PAGE), EBUSY);
    EXPECT_EQ(fcntl(ends[0], F_SETPIPE_SZ, 4 * PAGE), 4 * PAGE);
    EXPECT_EQ(fcntl(ends[0], F_SETPIPE_SZ, 32 * PAGE), 32 * PAGE);
    EXPECT_EQ(read(ends[0], back, sizeof(back)), (long)sizeof(back));
    EXPECT_EQ(back[0], 'a' + 13);
    EXPECT_EQ(back[PAGE], 'a' + 14);
}

TEST(size_has_limits)
{
    open_pipe(0);
    EXPECT_ERRNO(fcntl(ends[0], F_SETPIPE_SZ, -1), EINVAL);
    if (geteuid() != 0)
        EXPECT_ERRNO(fcntl(ends[0], F_SETPIPE_SZ, (1 << 20) + 1), EPERM);
    int file = open(".", O_RDONLY | O_DIRECTORY);
    EXPECT_ERRNO(fcntl(file, F_GETPIPE_SZ), EBADF);
}

TEST(poll_tells_both_ends)
{
    open_pipe(O_NONBLOCK);
    EXPECT_EQ(poll_events(ends[0]), 0);
    EXPECT_EQ(poll_events(ends[1]), POLLOUT);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_EQ(poll_events(ends[0]), POLLIN);
    int reader = dup(ends[0]);
    close(ends[1]);
    EXPECT_EQ(poll_events(reader), POLLIN | POLLHUP);
    EXPECT_EQ(read(reader, page, 1), 1);
    EXPECT_EQ(poll_events(reader), POLLHUP);
}

TEST(poll_reports_an_error_without_readers)
{
    open_pipe(O_NONBLOCK);
    close(ends[0]);
    EXPECT_EQ(poll_events(ends[1]), POLLOUT | POLLERR);
}

TEST(blocked_read_is_woken_by_a_write)
{
    open_pipe(0);
    if (fork() == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(write(ends[1], "x", 1) != 1);
    }
    EXPECT_EQ(read(ends[0], page, PAGE), 1);
    wait(NULL);
}

TEST(blocked_read_is_woken_by_the_last_close)
{
    open_pipe(0);
    if (fork() == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(0);
    }
    close(ends[1]);
    EXPECT_EQ(read(ends[0], page, PAGE), 0);
    wait(NULL);
}

TEST(blocked_write_goes_on_until_all_is_written)
{
    enum { TOTAL = 300000 };
    static char big[TOTAL];
    long seen = 0, n;
    open_pipe(0);
    for (int i = 0; i < TOTAL; i++)
        big[i] = (char)(i * 7);
    pid_t child = fork();
    if (child == 0)
        _exit(write(ends[1], big, TOTAL) != TOTAL);
    close(ends[1]);
    usleep(20000);
    while ((n = read(ends[0], page, 1000)) > 0) {
        EXPECT_EQ(memcmp(page, big + seen, (size_t)n), 0);
        seen += n;
    }
    EXPECT_EQ(seen, TOTAL);
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(interrupted_write_tells_how_much_went_through)
{
    static char big[20 * PAGE];
    open_pipe(0);
    handle(SIGALRM, 0);
    alarm(1);
    EXPECT_EQ(write(ends[1], big, sizeof(big)), 16 * PAGE);
    EXPECT_EQ(signals_seen, 1);
}

TEST(interrupted_read_is_eintr)
{
    open_pipe(0);
    handle(SIGALRM, 0);
    alarm(1);
    EXPECT_ERRNO(read(ends[0], page, 1), EINTR);
}

TEST(read_goes_on_after_a_restarting_handler)
{
    open_pipe(0);
    handle(SIGALRM, SA_RESTART);
    pid_t child = fork();
    if (child == 0) {
        usleep(50000);
        kill(getppid(), SIGALRM);
        usleep(50000);
        _exit(write(ends[1], "x", 1) != 1);
    }
    EXPECT_EQ(read(ends[0], page, 1), 1);
    EXPECT_EQ(signals_seen, 1);
    wait(NULL);
}

TEST(pipes_have_no_position)
{
    open_pipe(O_NONBLOCK);
    EXPECT_ERRNO(lseek(ends[0], 0, SEEK_SET), ESPIPE);
    EXPECT_ERRNO(pread(ends[0], page, 1, 0), ESPIPE);
    EXPECT_ERRNO(pwrite(ends[1], page, 1, 0), ESPIPE);
    EXPECT_ERRNO(ftruncate(ends[1], 0), EINVAL);
}

TEST(both_ends_are_one_inode)
{
    struct stat a, b;
    open_pipe(0);
    ASSERT_EQ(fstat(ends[0], &a), 0);
    ASSERT_EQ(fstat(ends[1], &b), 0);
    EXPECT_TRUE(S_ISFIFO(a.st_mode));
    EXPECT_EQ(a.st_mode & 0777, 0600);
    EXPECT_EQ(a.st_ino, b.st_ino);
    EXPECT_EQ(a.st_dev, b.st_dev);
    EXPECT_EQ(a.st_size, 0);
}

TEST(proc_shows_the_inode_number)
{
    char name[64], text[64] = "", expected[64];
    struct stat st;
    open_pipe(0);
    ASSERT_EQ(fstat(ends[0], &st), 0);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", ends[0]);
    snprintf(expected, sizeof(expected), "pipe:[%lu]", (unsigned long)st.st_ino);
    EXPECT_GT(readlink(name, text, sizeof(text) - 1), 0);
    EXPECT_STR(text, expected);
}

TEST(can_be_opened_again_through_proc)
{
    char name[64];
    open_pipe(0);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", ends[0]);
    int writer = open(name, O_WRONLY);
    ASSERT_GE(writer, 0);
    close(ends[1]);
    EXPECT_EQ(write(writer, "x", 1), 1);
    EXPECT_EQ(read(ends[0], page, 1), 1);
    close(writer);
    EXPECT_EQ(read(ends[0], page, 1), 0);
}

TEST(bad_address_leaves_the_pipe_as_it_was)
{
    open_pipe(O_NONBLOCK);
    EXPECT_ERRNO(write(ends[1], bad_address, 10), EFAULT);
    EXPECT_ERRNO(read(ends[0], page, 1), EAGAIN);
    EXPECT_EQ(write(ends[1], "abc", 3), 3);
    EXPECT_ERRNO(read(ends[0], bad_address, 3), EFAULT);
    EXPECT_EQ(read(ends[0], page, 3), 3);
}

TEST(read_into_a_bad_second_page_takes_only_whole_pages)
{
    char *two = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(munmap(two + PAGE, PAGE), 0);
    open_pipe(O_NONBLOCK);
    ASSERT_EQ(write(ends[1], page, PAGE), PAGE);
    ASSERT_EQ(write(ends[1], page, PAGE), PAGE);
    EXPECT_EQ(read(ends[0], two, 2 * PAGE), PAGE);
    EXPECT_ERRNO(read(ends[0], two + PAGE / 2, PAGE), EFAULT);
    EXPECT_EQ(read(ends[0], page, PAGE), PAGE);
}

TEST(vectors_are_one_stream)
{
    char a[3], b[4] = "";
    struct iovec out[2] = {{"ab", 2}, {"cdef", 4}};
    struct iovec in[2] = {{a, 3}, {b, 3}};
    open_pipe(0);
    EXPECT_EQ(writev(ends[1], out, 2), 6);
    EXPECT_EQ(readv(ends[0], in, 2), 6);
    EXPECT_EQ(memcmp(a, "abc", 3), 0);
    EXPECT_STR(b, "def");
}

TEST(many_pipes_wrap_and_stay_in_order)
{
    unsigned char in = 0, out = 0;
    open_pipe(O_NONBLOCK);
    for (int round = 0; round < 200; round++) {
        int size = 1 + round * 37 % PAGE;
        for (int i = 0; i < size; i++)
            page[i] = (char)in++;
        ASSERT_EQ(write(ends[1], page, (size_t)size), size);
        long n = read(ends[0], page, (size_t)(1 + round * 53 % PAGE));
        for (long i = 0; i < n; i++)
            ASSERT_EQ((unsigned char)page[i], out++);
        if (round % 8 == 7)
            while ((n = read(ends[0], page, PAGE)) > 0)
                for (long i = 0; i < n; i++)
                    ASSERT_EQ((unsigned char)page[i], out++);
    }
}
