// SPDX-License-Identifier: Apache-2.0
/*
 * Pseudo-terminals: pty(7), pts(4), ioctl_tty(2).
 */
#include "tests/sys/pty_support.h"

#include <dirent.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif
#define SLAVE_MAJOR 136

static int number_of(int master)
{
    int n = -1;
    EXPECT_EQ(ioctl(master, TIOCGPTN, &n), 0);
    return n;
}

/* ---- names and numbers ---- */

TEST(a_master_names_its_slave)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(master, 0);
    EXPECT_EQ(grantpt(master), 0);
    EXPECT_EQ(unlockpt(master), 0);
    char expected[32];
    snprintf(expected, sizeof(expected), "/dev/pts/%d", number_of(master));
    EXPECT_STR(ptsname(master), expected);
}

TEST(a_slave_is_locked_until_it_is_unlocked)
{
    int master = open("/dev/ptmx", O_RDWR | O_NOCTTY), locked = -1;
    ASSERT_GE(master, 0);
    EXPECT_EQ(ioctl(master, TIOCGPTLCK, &locked), 0);
    EXPECT_EQ(locked, 1);
    EXPECT_ERRNO(open(ptsname(master), O_RDWR | O_NOCTTY), EIO);
    EXPECT_ERRNO(ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY), EIO);
    EXPECT_EQ(unlockpt(master), 0);
    EXPECT_EQ(ioctl(master, TIOCGPTLCK, &locked), 0);
    EXPECT_EQ(locked, 0);
    EXPECT_GE(open(ptsname(master), O_RDWR | O_NOCTTY), 0);
}

TEST(every_master_has_a_number_of_its_own)
{
    int numbers[20];
    for (int i = 0; i < 20; i++) {
        numbers[i] = number_of(pty_master().master);
        for (int k = 0; k < i; k++)
            EXPECT_NE(numbers[i], numbers[k]);
    }
}

TEST(a_number_is_free_again_after_the_end)
{
    struct pty p = pty_open();
    int n = number_of(p.master);
    close(p.slave);
    close(p.master);
    bool seen = false;
    for (int i = 0; i < 20 && !seen; i++)
        seen = number_of(pty_master().master) == n;
    EXPECT_TRUE(seen);
}

TEST(the_name_goes_with_the_master)
{
    struct pty p = pty_open();
    EXPECT_EQ(access(p.name, F_OK), 0);
    close(p.master);
    EXPECT_ERRNO(access(p.name, F_OK), ENOENT);
}

TEST(the_directory_lists_open_slaves)
{
    struct pty p = pty_master();
    bool seen = false, seen_ptmx = false;
    DIR *d = opendir("/dev/pts");
    ASSERT_TRUE(d);
    for (struct dirent *e; (e = readdir(d));) {
        seen |= !strcmp(e->d_name, strrchr(p.name, '/') + 1) && e->d_type == DT_CHR;
        seen_ptmx |= !strcmp(e->d_name, "ptmx");
    }
    EXPECT_TRUE(seen);
    EXPECT_TRUE(seen_ptmx);
}

TEST(a_slave_is_a_device_of_its_opener)
{
    struct pty p = pty_open();
    struct stat st, by_name;
    ASSERT_EQ(fstat(p.slave, &st), 0);
    ASSERT_EQ(stat(p.name, &by_name), 0);
    EXPECT_TRUE(S_ISCHR(st.st_mode));
    EXPECT_EQ(st.st_rdev, makedev(SLAVE_MAJOR, number_of(p.master)));
    EXPECT_EQ(st.st_uid, geteuid());
    EXPECT_EQ(st.st_ino, by_name.st_ino);
    EXPECT_EQ(st.st_dev, by_name.st_dev);
    EXPECT_EQ(st.st_mode & 0600, 0600);
    EXPECT_EQ(st.st_mode & 07, 0);
    EXPECT_EQ(chmod(p.name, 0600), 0);
    ASSERT_EQ(fstat(p.master, &st), 0);
    EXPECT_EQ(st.st_rdev, makedev(5, 2));
}

TEST(ttyname_finds_the_slave)
{
    struct pty p = pty_open();
    char name[64];
    ASSERT_EQ(ttyname_r(p.slave, name, sizeof(name)), 0);
    EXPECT_STR(name, p.name);
    EXPECT_EQ(isatty(p.slave), 1);
    EXPECT_EQ(isatty(p.master), 1);
}

TEST(a_slave_can_be_opened_through_proc)
{
    struct pty p = pty_open();
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", p.slave);
    int again = open(link, O_RDWR | O_NOCTTY);
    ASSERT_GE(again, 0);
    pty_type(again, "x");
    pty_expect(p.master, "x");
}

TEST(peer_gives_a_slave_without_its_name)
{
    struct pty p = pty_master();
    char name[64];
    int slave = ioctl(p.master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_GE(slave, 0);
    EXPECT_EQ(fcntl(slave, F_GETFD), FD_CLOEXEC);
    ASSERT_EQ(ttyname_r(slave, name, sizeof(name)), 0);
    EXPECT_STR(name, p.name);
    pty_type(slave, "x");
    pty_expect(p.master, "x");
}

/* ---- bytes ---- */

TEST(bytes_go_both_ways)
{
    struct pty p = pty_open();
    pty_type(p.master, "in\n");
    pty_expect(p.slave, "in\n");
    pty_expect(p.master, "in\r\n"); /* the echo */
    pty_type(p.slave, "out\n");
    pty_expect(p.master, "out\r\n");
}

TEST(a_master_may_write_before_the_slave_is_opened)
{
    struct pty p = pty_master();
    pty_type(p.master, "early\n");
    pty_expect(p.master, "early\r\n");
    p.slave = open(p.name, O_RDWR | O_NOCTTY);
    ASSERT_GE(p.slave, 0);
    pty_expect(p.slave, "early\n");
}

TEST(reads_without_data_would_block)
{
    struct pty p = pty_open();
    char c;
    fcntl(p.master, F_SETFL, O_NONBLOCK);
    fcntl(p.slave, F_SETFL, O_NONBLOCK);
    EXPECT_ERRNO(read(p.master, &c, 1), EAGAIN);
    EXPECT_ERRNO(read(p.slave, &c, 1), EAGAIN);
    pty_type(p.master, "half");
    EXPECT_ERRNO(read(p.slave, &c, 1), EAGAIN);
}

TEST(transfers_of_nothing_are_nothing)
{
    struct pty p = pty_open();
    char c = 0;
    EXPECT_EQ(read(p.slave, &c, 0), 0);
    EXPECT_EQ(read(p.master, &c, 0), 0);
    EXPECT_EQ(write(p.slave, &c, 0), 0);
    EXPECT_EQ(write(p.master, &c, 0), 0);
    pty_expect_quiet(p.master);
}

TEST(vectors_are_read_and_written)
{
    struct pty p = pty_open();
    char a[3] = "", b[8] = "";
    struct iovec out[2] = {{"one", 3}, {"two\n", 4}}, in[2] = {{a, 2}, {b, 8}};
    EXPECT_EQ(writev(p.master, out, 2), 7);
    EXPECT_EQ(readv(p.slave, in, 2), 7);
    EXPECT_STR(a, "on");
    EXPECT_TRUE(!memcmp(b, "etwo\n", 5));
}

TEST(terminals_have_no_position)
{
    struct pty p = pty_open();
    char c;
    EXPECT_ERRNO(lseek(p.slave, 0, SEEK_CUR), ESPIPE);
    EXPECT_ERRNO(lseek(p.master, 0, SEEK_SET), ESPIPE);
    EXPECT_ERRNO(pread(p.slave, &c, 1, 0), ESPIPE);
    EXPECT_ERRNO(pwrite(p.master, "x", 1, 0), ESPIPE);
}

TEST(bad_addresses_are_refused)
{
    struct pty p = pty_open();
    void *volatile bad = (void *)8;
    pty_type(p.master, "abc\n");
    EXPECT_TRUE(pty_wait(p.slave, POLLIN, REPLY_MS));
    EXPECT_ERRNO(read(p.slave, bad, 4), EFAULT);
    EXPECT_ERRNO(write(p.slave, bad, 4), EFAULT);
    EXPECT_ERRNO(write(p.master, bad, 4), EFAULT);
    EXPECT_ERRNO(ioctl(p.slave, TCGETS, bad), EFAULT);
    EXPECT_ERRNO(ioctl(p.slave, TCSETS, bad), EFAULT);
    EXPECT_ERRNO(ioctl(p.slave, TIOCGWINSZ, bad), EFAULT);
    EXPECT_ERRNO(ioctl(p.slave, TIOCSWINSZ, bad), EFAULT);
    EXPECT_ERRNO(ioctl(p.master, TIOCGPTN, bad), EFAULT);
    EXPECT_ERRNO(ioctl(p.master, TIOCSPTLCK, bad), EFAULT);
    EXPECT_ERRNO(ioctl(p.slave, FIONREAD, bad), EFAULT);
}

/* Writes until there is no room, also not a moment later: Linux moves bytes on in the background.
 */
static size_t fill(int fd)
{
    char data[1000];
    size_t total = 0;
    memset(data, 'f', sizeof(data));
    fcntl(fd, F_SETFL, O_NONBLOCK);
    do {
        for (ssize_t n; total < (4u << 20) && (n = write(fd, data, sizeof(data))) > 0;)
            total += (size_t)n;
        EXPECT_EQ(errno, EAGAIN);
    } while (total < (4u << 20) && pty_wait(fd, POLLOUT, QUIET_MS));
    return total;
}

TEST(what_is_not_read_is_bounded)
{
    struct pty p = pty_open();
    pty_make_raw(p.slave);
    size_t to_master = fill(p.slave), to_slave = fill(p.master);
    EXPECT_GE(to_master, 4096);
    EXPECT_LE(to_master, 1u << 20);
    EXPECT_GE(to_slave, 4096);
    EXPECT_LE(to_slave, 1u << 20);
}

TEST(reading_makes_room_for_the_writer)
{
    struct pty p = pty_open();
    static char data[1 << 20];
    pty_make_raw(p.slave);
    fill(p.slave);
    for (ssize_t left = 1 << 16; left > 0 && pty_wait(p.master, POLLIN, QUIET_MS);)
        left -= read(p.master, data, sizeof(data));
    EXPECT_TRUE(pty_wait(p.slave, POLLOUT, REPLY_MS));
    EXPECT_GT(write(p.slave, data, 100), 0);
}

#define BULK_BYTES 300000

static void write_bulk(void *fd)
{
    static unsigned char data[BULK_BYTES];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(i * 7 + i / 256);
    EXPECT_EQ(write(*(int *)fd, data, sizeof(data)), sizeof(data));
}

static void expect_bulk(int fd)
{
    static unsigned char data[BULK_BYTES];
    size_t n = 0, wrong = 0;
    while (n < sizeof(data)) {
        ssize_t r = read(fd, data + n, sizeof(data) - n);
        ASSERT_GT(r, 0);
        n += (size_t)r;
    }
    for (size_t i = 0; i < sizeof(data); i++)
        wrong += data[i] != (unsigned char)(i * 7 + i / 256);
    EXPECT_EQ(wrong, 0);
}

TEST(one_large_write_of_the_slave_arrives)
{
    struct pty p = pty_open();
    pty_make_raw(p.slave);
    pid_t pid = pty_fork(write_bulk, &p.slave);
    expect_bulk(p.master);
    pty_join(pid);
}

TEST(one_large_write_of_the_master_arrives)
{
    struct pty p = pty_open();
    pty_make_raw(p.slave);
    pid_t pid = pty_fork(write_bulk, &p.master);
    expect_bulk(p.slave);
    pty_join(pid);
}

TEST(unread_bytes_are_counted)
{
    struct pty p = pty_open();
    int n = -1;
    EXPECT_EQ(ioctl(p.slave, FIONREAD, &n), 0);
    EXPECT_EQ(n, 0);
    pty_type(p.master, "abc\nde");
    EXPECT_TRUE(pty_wait(p.slave, POLLIN, REPLY_MS));
    EXPECT_EQ(ioctl(p.slave, FIONREAD, &n), 0);
    EXPECT_EQ(n, 4); /* complete lines only */
    EXPECT_TRUE(pty_wait(p.master, POLLIN, REPLY_MS));
    pty_sleep_ms(QUIET_MS);
    EXPECT_EQ(ioctl(p.master, FIONREAD, &n), 0);
    EXPECT_EQ(n, 7); /* the echo */
    EXPECT_EQ(ioctl(p.slave, TIOCOUTQ, &n), 0);
    EXPECT_EQ(n, 0);
}

/* ---- readiness ---- */

TEST(a_new_pty_is_writable_and_not_readable)
{
    struct pty p = pty_open();
    struct pollfd fds[2] = {{p.master, POLLIN | POLLOUT, 0}, {p.slave, POLLIN | POLLOUT, 0}};
    EXPECT_EQ(poll(fds, 2, 0), 2);
    EXPECT_EQ(fds[0].revents, POLLOUT);
    EXPECT_EQ(fds[1].revents, POLLOUT);
}

TEST(edge_triggered_readers_are_told_of_each_line)
{
    struct pty p = pty_open();
    struct epoll_event e = {.events = EPOLLIN | EPOLLET};
    int ep = epoll_create1(0);
    ASSERT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, p.slave, &e), 0);
    EXPECT_EQ(epoll_wait(ep, &e, 1, 0), 0);
    for (int i = 0; i < 3; i++) {
        pty_type(p.master, "line\n");
        EXPECT_EQ(epoll_wait(ep, &e, 1, REPLY_MS), 1);
        EXPECT_EQ(epoll_wait(ep, &e, 1, QUIET_MS), 0);
    }
}

/* ---- ends ---- */

TEST(a_master_is_not_hung_up_before_the_first_open)
{
    struct pty p = pty_master();
    struct pollfd fd = {p.master, POLLIN, 0};
    char c;
    EXPECT_EQ(poll(&fd, 1, 0), 0);
    fcntl(p.master, F_SETFL, O_NONBLOCK);
    EXPECT_ERRNO(read(p.master, &c, 1), EAGAIN);
}

TEST(the_last_close_of_the_slave_is_told_after_all_data)
{
    struct pty p = pty_open();
    struct pollfd fd = {p.master, POLLIN, 0};
    char c;
    pty_type(p.slave, "last words");
    close(p.slave);
    pty_expect(p.master, "last words");
    EXPECT_EQ(poll(&fd, 1, REPLY_MS), 1);
    EXPECT_EQ(fd.revents, POLLHUP);
    EXPECT_ERRNO(read(p.master, &c, 1), EIO);
}

TEST(other_descriptors_keep_the_slave_open)
{
    struct pty p = pty_open();
    int copy = dup(p.slave), again = open(p.name, O_RDWR | O_NOCTTY);
    close(p.slave);
    close(copy);
    struct pollfd fd = {p.master, POLLIN, 0};
    EXPECT_EQ(poll(&fd, 1, 0), 0);
    close(again);
    EXPECT_EQ(poll(&fd, 1, REPLY_MS), 1);
    EXPECT_EQ(fd.revents, POLLHUP);
}

TEST(opening_the_slave_again_ends_the_hang_up)
{
    struct pty p = pty_open();
    close(p.slave);
    struct pollfd fd = {p.master, POLLIN, 0};
    EXPECT_EQ(poll(&fd, 1, REPLY_MS), 1);
    p.slave = open(p.name, O_RDWR | O_NOCTTY);
    ASSERT_GE(p.slave, 0);
    EXPECT_EQ(poll(&fd, 1, 0), 0);
    pty_type(p.slave, "x");
    pty_expect(p.master, "x");
}

TEST(settings_outlive_the_last_close)
{
    struct pty p = pty_open();
    pty_make_raw(p.slave);
    close(p.slave);
    p.slave = open(p.name, O_RDWR | O_NOCTTY);
    EXPECT_EQ(pty_settings(p.slave).c_lflag & (ICANON | ECHO), 0);
}

TEST(a_master_may_write_to_a_closed_slave)
{
    struct pty p = pty_open();
    close(p.slave);
    pty_type(p.master, "kept\n");
    p.slave = open(p.name, O_RDWR | O_NOCTTY);
    pty_expect(p.slave, "kept\n");
}

TEST(a_slave_without_its_master_is_dead)
{
    struct pty p = pty_open();
    char c;
    int n;
    close(p.master);
    struct pollfd fd = {p.slave, POLLIN | POLLOUT, 0};
    EXPECT_EQ(poll(&fd, 1, REPLY_MS), 1);
    EXPECT_EQ(fd.revents, POLLIN | POLLOUT | POLLERR | POLLHUP);
    EXPECT_EQ(read(p.slave, &c, 1), 0);
    EXPECT_ERRNO(write(p.slave, "x", 1), EIO);
    EXPECT_ERRNO(ioctl(p.slave, TCGETS, &c), EIO);
    EXPECT_ERRNO(ioctl(p.slave, FIONREAD, &n), EIO);
    EXPECT_ERRNO(ioctl(p.slave, TIOCSPGRP, &n), ENOTTY);
}

TEST(a_blocked_reader_of_the_slave_sees_the_end)
{
    struct pty p = pty_open();
    fcntl(p.master, F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0) {
        char c;
        close(p.master);
        /* Linux answers EIO to who waited, and 0 to who comes later. */
        EXPECT_TRUE(read(p.slave, &c, 1) == 0 || errno == EIO);
        harness_end_case();
    }
    harness_wait_until_sleeps(pid);
    close(p.master);
    pty_join(pid);
}

TEST(a_blocked_reader_of_the_master_sees_the_end)
{
    struct pty p = pty_open();
    pid_t pid = fork();
    if (pid == 0) {
        char c;
        close(p.slave);
        EXPECT_ERRNO(read(p.master, &c, 1), EIO);
        harness_end_case();
    }
    harness_wait_until_sleeps(pid);
    close(p.slave);
    pty_join(pid);
}

TEST(a_blocked_writer_of_the_slave_sees_the_end)
{
    struct pty p = pty_open();
    fill(p.slave);
    fcntl(p.slave, F_SETFL, 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(p.master);
        EXPECT_ERRNO(write(p.slave, "x", 1), EIO);
        harness_end_case();
    }
    harness_wait_until_sleeps(pid);
    close(p.master);
    pty_join(pid);
}

/* ---- requests ---- */

TEST(the_window_size_belongs_to_both_sides)
{
    struct pty p = pty_open();
    struct winsize set = {.ws_row = 25, .ws_col = 81, .ws_xpixel = 3, .ws_ypixel = 4}, got;
    ASSERT_EQ(ioctl(p.slave, TIOCGWINSZ, &got), 0);
    EXPECT_EQ(got.ws_row, 0);
    EXPECT_EQ(got.ws_col, 0);
    EXPECT_EQ(ioctl(p.master, TIOCSWINSZ, &set), 0);
    ASSERT_EQ(ioctl(p.slave, TIOCGWINSZ, &got), 0);
    EXPECT_TRUE(!memcmp(&set, &got, sizeof(set)));
    set.ws_row = 7;
    EXPECT_EQ(ioctl(p.slave, TIOCSWINSZ, &set), 0);
    ASSERT_EQ(ioctl(p.master, TIOCGWINSZ, &got), 0);
    EXPECT_EQ(got.ws_row, 7);
}

TEST(packet_mode_puts_a_byte_before_the_data)
{
    struct pty p = pty_open();
    int on = 1, got = 0;
    EXPECT_EQ(ioctl(p.master, TIOCGPKT, &got), 0);
    EXPECT_EQ(got, 0);
    EXPECT_EQ(ioctl(p.master, TIOCPKT, &on), 0);
    EXPECT_EQ(ioctl(p.master, TIOCGPKT, &got), 0);
    EXPECT_EQ(got, 1);
    char data[8];
    pty_type(p.slave, "ab");
    ASSERT_TRUE(pty_wait(p.master, POLLIN, REPLY_MS));
    EXPECT_EQ(read(p.master, data, sizeof(data)), 3);
    EXPECT_TRUE(!memcmp(data, "\0ab", 3));
}

static int packet_status(const struct pty *p)
{
    struct pollfd fd = {p->master, POLLIN | POLLPRI, 0};
    unsigned char data[8] = {0xff};
    EXPECT_EQ(poll(&fd, 1, REPLY_MS), 1);
    EXPECT_TRUE(fd.revents & POLLPRI);
    EXPECT_EQ(read(p->master, data, sizeof(data)), 1);
    return data[0];
}

TEST(packet_mode_tells_of_flow_and_flushes)
{
    struct pty p = pty_open();
    int on = 1;
    EXPECT_EQ(ioctl(p.master, TIOCPKT, &on), 0);
    EXPECT_EQ(tcflow(p.slave, TCOOFF), 0);
    EXPECT_EQ(packet_status(&p), TIOCPKT_STOP);
    EXPECT_EQ(tcflow(p.slave, TCOON), 0);
    EXPECT_EQ(packet_status(&p), TIOCPKT_START);
    EXPECT_EQ(tcflush(p.slave, TCIFLUSH), 0);
    EXPECT_EQ(packet_status(&p), TIOCPKT_FLUSHREAD);
    EXPECT_EQ(tcflush(p.slave, TCOFLUSH), 0);
    EXPECT_EQ(packet_status(&p), TIOCPKT_FLUSHWRITE);
    pty_change_iflag(p.slave, 0, IXON);
    EXPECT_EQ(packet_status(&p), TIOCPKT_NOSTOP);
    pty_change_iflag(p.slave, IXON, 0);
    EXPECT_EQ(packet_status(&p), TIOCPKT_DOSTOP);
}

TEST(flushing_is_seen_from_the_callers_side)
{
    struct pty p = pty_open();
    pty_make_raw(p.slave);
    pty_type(p.master, "to slave");
    ASSERT_TRUE(pty_wait(p.slave, POLLIN, REPLY_MS));
    EXPECT_EQ(tcflush(p.slave, TCIFLUSH), 0);
    pty_expect_quiet(p.slave);
    pty_type(p.slave, "to master");
    ASSERT_TRUE(pty_wait(p.master, POLLIN, REPLY_MS));
    EXPECT_EQ(tcflush(p.master, TCIFLUSH), 0);
    pty_expect_quiet(p.master);
    /* What the other side could have read already is not called back. */
    pty_type(p.master, "kept");
    ASSERT_TRUE(pty_wait(p.slave, POLLIN, REPLY_MS));
    EXPECT_EQ(tcflush(p.master, TCOFLUSH), 0);
    pty_expect(p.slave, "kept");
    EXPECT_ERRNO(tcflush(p.slave, 3), EINVAL);
    EXPECT_ERRNO(tcflush(p.master, 99), EINVAL);
}

TEST(exclusive_use_can_be_asked_for)
{
    struct pty p = pty_open();
    int on = -1;
    EXPECT_EQ(ioctl(p.slave, TIOCEXCL), 0);
    EXPECT_EQ(ioctl(p.slave, TIOCGEXCL, &on), 0);
    EXPECT_EQ(on, 1);
    if (geteuid() == 0)
        EXPECT_GE(open(p.name, O_RDWR | O_NOCTTY), 0);
    else
        EXPECT_ERRNO(open(p.name, O_RDWR | O_NOCTTY), EBUSY);
    EXPECT_EQ(ioctl(p.slave, TIOCNXCL), 0);
    EXPECT_GE(open(p.name, O_RDWR | O_NOCTTY), 0);
}

TEST(requests_of_the_master_are_unknown_to_the_slave)
{
    struct pty p = pty_open();
    int n = 0;
    EXPECT_ERRNO(ioctl(p.slave, TIOCGPTN, &n), ENOTTY);
    EXPECT_ERRNO(ioctl(p.slave, TIOCSPTLCK, &n), ENOTTY);
    EXPECT_ERRNO(ioctl(p.slave, TIOCPKT, &n), ENOTTY);
    EXPECT_ERRNO(ioctl(p.slave, TIOCGPTPEER, O_RDWR), EIO);
}

TEST(there_are_no_modem_lines)
{
    struct pty p = pty_open();
    int n = 0;
    EXPECT_EQ(ioctl(p.slave, TIOCMGET, &n), -1);
    EXPECT_TRUE(errno == ENOTTY || errno == EINVAL); /* EINVAL before Linux 5.13 */
    EXPECT_ERRNO(ioctl(p.slave, TIOCGSERIAL, &n), ENOTTY);
    EXPECT_ERRNO(ioctl(p.slave, 0x54f0, &n), ENOTTY);
    EXPECT_ERRNO(ioctl(p.master, 0x54f0, &n), ENOTTY);
}

TEST(the_device_of_either_side_is_the_slaves)
{
    struct pty p = pty_open();
    unsigned expected = SLAVE_MAJOR << 8 | (unsigned)number_of(p.master), dev = 0;
    EXPECT_EQ(ioctl(p.slave, TIOCGDEV, &dev), 0);
    EXPECT_EQ(dev, expected);
    EXPECT_EQ(ioctl(p.master, TIOCGDEV, &dev), 0);
    EXPECT_EQ(dev, expected);
}

TEST(only_signals_of_a_keyboard_can_be_sent)
{
    struct pty p = pty_open();
    EXPECT_ERRNO(ioctl(p.master, TIOCSIG, SIGKILL), EINVAL);
    EXPECT_ERRNO(ioctl(p.master, TIOCSIG, 0), EINVAL);
    EXPECT_EQ(ioctl(p.master, TIOCSIG, SIGINT), 0);
}

TEST(nobody_types_for_the_user)
{
    struct pty p = pty_open();
    if (!harness_is_inside())
        SKIP("root may on a real machine");
    EXPECT_ERRNO(ioctl(p.slave, TIOCSTI, "x"), EPERM);
    pty_expect_quiet(p.slave);
}

TEST(the_number_of_ptys_is_limited)
{
    int masters[400], count = 0;
    if (!harness_is_inside())
        SKIP("would use up those of the machine");
    while (count < 400 && (masters[count] = open("/dev/ptmx", O_RDWR | O_NOCTTY)) >= 0)
        count++;
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_GE(count, 64);
    EXPECT_LE(count, 256);
    close(masters[0]);
    EXPECT_GE(open("/dev/ptmx", O_RDWR | O_NOCTTY), 0);
}

TEST(names_can_not_be_made_or_removed)
{
    struct pty p = pty_master();
    EXPECT_EQ(unlink(p.name), -1);
    EXPECT_EQ(access(p.name, F_OK), 0);
    EXPECT_EQ(open("/dev/pts/file", O_CREAT | O_RDWR, 0600), -1);
    EXPECT_EQ(mkdir("/dev/pts/dir", 0700), -1);
}
