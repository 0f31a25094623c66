// SPDX-License-Identifier: Apache-2.0
/*
 * Terminal settings and what they do: termios(3), ioctl_tty(2). The cases without job control.
 */
#include "tests/sys/pty_support.h"

#include "abi/termios.h"

#include <time.h>

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A pty whose slave does no processing but for what is named. */
static struct pty open_with(tcflag_t iflag, tcflag_t oflag, tcflag_t lflag)
{
    struct pty p = pty_open();
    struct termios t = pty_settings(p.slave);
    t.c_iflag = iflag;
    t.c_oflag = oflag;
    t.c_lflag = lflag;
    pty_apply(p.slave, &t);
    return p;
}

static struct pty open_raw(cc_t min, cc_t time)
{
    struct pty p = pty_open();
    struct termios t = pty_settings(p.slave);
    cfmakeraw(&t);
    t.c_cc[VMIN] = min;
    t.c_cc[VTIME] = time;
    pty_apply(p.slave, &t);
    return p;
}

/* ---- getting and setting ---- */

TEST(a_new_terminal_has_the_usual_settings)
{
    struct pty p = pty_open();
    struct abi_termios2 t;
    const uint8_t cc[] = {3, 28, 127, 21, 4, 0, 1, 0, 17, 19, 26, 0, 18, 15, 23, 22, 0};
    ASSERT_EQ(ioctl(p.slave, ABI_TCGETS2, &t), 0);
    EXPECT_EQ(t.iflag, ICRNL | IXON);
    EXPECT_EQ(t.oflag, OPOST | ONLCR);
    EXPECT_EQ(t.cflag, B38400 | CS8 | CREAD);
    EXPECT_EQ(t.lflag, ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN);
    EXPECT_EQ(t.line, 0);
    EXPECT_TRUE(!memcmp(t.cc, cc, sizeof(cc)));
    EXPECT_EQ(t.ispeed, 38400);
    EXPECT_EQ(t.ospeed, 38400);
}

TEST(what_was_set_is_what_one_gets)
{
    struct pty p = pty_open();
    struct abi_termios set, got;
    ASSERT_EQ(ioctl(p.slave, TCGETS, &set), 0);
    set.iflag = IGNBRK | INLCR;
    set.oflag = ONLCR;
    set.lflag = TOSTOP | NOFLSH;
    for (int i = 0; i < ABI_TERMIOS_CC_COUNT; i++)
        set.cc[i] = (uint8_t)(i + 100);
    EXPECT_EQ(ioctl(p.slave, TCSETS, &set), 0);
    ASSERT_EQ(ioctl(p.slave, TCGETS, &got), 0);
    EXPECT_TRUE(!memcmp(&set, &got, sizeof(set)));
}

TEST(both_sides_share_the_settings)
{
    struct pty p = pty_open();
    pty_change_lflag(p.master, 0, ECHO);
    EXPECT_EQ(pty_settings(p.slave).c_lflag & ECHO, 0);
    pty_type(p.master, "silent\n");
    pty_expect(p.slave, "silent\n");
    pty_expect_quiet(p.master);
}

TEST(the_old_layout_changes_only_its_half)
{
    struct pty p = pty_open();
    struct abi_termio io;
    struct abi_termios2 t;
    ASSERT_EQ(ioctl(p.slave, ABI_TCGETS2, &t), 0);
    t.lflag |= EXTPROC; /* the 17th bit */
    ASSERT_EQ(ioctl(p.slave, ABI_TCSETS2, &t), 0);
    ASSERT_EQ(ioctl(p.slave, TCGETA, &io), 0);
    EXPECT_EQ(io.iflag, ICRNL | IXON);
    EXPECT_EQ(io.cc[VERASE], 127);
    io.lflag &= (uint16_t)~ECHO;
    io.cc[VERASE] = 8;
    EXPECT_EQ(ioctl(p.slave, TCSETA, &io), 0);
    ASSERT_EQ(ioctl(p.slave, ABI_TCGETS2, &t), 0);
    EXPECT_TRUE(t.lflag & EXTPROC);
    EXPECT_EQ(t.lflag & ECHO, 0);
    EXPECT_EQ(t.cc[VERASE], 8);
    EXPECT_EQ(t.cc[VLNEXT], 22);
}

TEST(a_pty_has_eight_bits_and_no_parity)
{
    struct pty p = pty_open();
    struct termios t = pty_settings(p.slave);
    t.c_cflag = (t.c_cflag & ~(tcflag_t)(CSIZE | CREAD)) | CS5 | PARENB;
    tcsetattr(p.slave, TCSANOW, &t);
    t = pty_settings(p.slave);
    EXPECT_EQ(t.c_cflag & CSIZE, CS8);
    EXPECT_EQ(t.c_cflag & PARENB, 0);
    EXPECT_TRUE(t.c_cflag & CREAD);
}

TEST(speeds_are_kept)
{
    struct pty p = pty_open();
    struct termios t = pty_settings(p.slave);
    struct abi_termios2 t2;
    ASSERT_EQ(cfsetspeed(&t, B115200), 0);
    pty_apply(p.slave, &t);
    EXPECT_EQ(cfgetospeed(&(struct termios){.c_cflag = pty_settings(p.slave).c_cflag}), B115200);
    ASSERT_EQ(ioctl(p.slave, ABI_TCGETS2, &t2), 0);
    EXPECT_EQ(t2.ospeed, 115200);
    EXPECT_EQ(t2.ispeed, 115200);
    t2.cflag = (t2.cflag & ~(uint32_t)CBAUD) | ABI_BOTHER;
    t2.ospeed = 12345;
    EXPECT_EQ(ioctl(p.slave, ABI_TCSETS2, &t2), 0);
    ASSERT_EQ(ioctl(p.slave, ABI_TCGETS2, &t2), 0);
    EXPECT_EQ(t2.ospeed, 12345);
}

TEST(other_files_are_no_terminals)
{
    struct termios t;
    int fds[2];
    ASSERT_EQ(pipe(fds), 0);
    EXPECT_ERRNO(tcgetattr(fds[0], &t), ENOTTY);
    EXPECT_ERRNO(tcsendbreak(fds[0], 0), ENOTTY);
    EXPECT_EQ(isatty(fds[0]), 0);
    EXPECT_ERRNO(tcgetattr(99, &t), EBADF);
    EXPECT_ERRNO(tcgetattr(open("file", O_CREAT | O_RDWR, 0600), &t), ENOTTY);
}

TEST(draining_and_breaks_are_done_at_once)
{
    struct pty p = pty_open();
    pty_type(p.slave, "x");
    EXPECT_EQ(tcdrain(p.slave), 0);
    EXPECT_EQ(tcsendbreak(p.slave, 0), 0);
    EXPECT_EQ(tcsendbreak(p.slave, 1), 0);
    EXPECT_EQ(ioctl(p.slave, TCSBRKP, 0), 0);
    EXPECT_EQ(ioctl(p.slave, TIOCSBRK, 0), 0);
    EXPECT_EQ(ioctl(p.slave, TIOCCBRK, 0), 0);
    pty_expect(p.master, "x");
    pty_expect_quiet(p.master);
}

TEST(there_is_one_line_discipline)
{
    struct pty p = pty_open();
    int n = -1;
    EXPECT_EQ(ioctl(p.slave, TIOCGETD, &n), 0);
    EXPECT_EQ(n, 0);
    EXPECT_EQ(ioctl(p.slave, TIOCSETD, &n), 0);
    n = 77;
    EXPECT_ERRNO(ioctl(p.slave, TIOCSETD, &n), EINVAL);
}

TEST(carrier_is_a_flag)
{
    struct pty p = pty_open();
    int on = 1;
    EXPECT_EQ(ioctl(p.slave, TIOCSSOFTCAR, &on), 0);
    EXPECT_TRUE(pty_settings(p.slave).c_cflag & CLOCAL);
    on = 0;
    EXPECT_EQ(ioctl(p.slave, TIOCSSOFTCAR, &on), 0);
    on = -1;
    EXPECT_EQ(ioctl(p.slave, TIOCGSOFTCAR, &on), 0);
    EXPECT_EQ(on, 0);
}

TEST(setting_with_flush_drops_what_was_typed)
{
    struct pty p = pty_open();
    struct termios t = pty_settings(p.slave);
    pty_type(p.master, "one\n");
    ASSERT_TRUE(pty_wait(p.slave, POLLIN, REPLY_MS));
    EXPECT_EQ(tcsetattr(p.slave, TCSADRAIN, &t), 0);
    EXPECT_TRUE(pty_wait(p.slave, POLLIN, 0));
    EXPECT_EQ(tcsetattr(p.slave, TCSAFLUSH, &t), 0);
    pty_expect_quiet(p.slave);
}

/* ---- canonical input ---- */

TEST(a_read_gets_one_line)
{
    struct pty p = pty_open();
    pty_type(p.master, "one\ntwo\n");
    pty_expect_read(p.slave, 100, "one\n");
    pty_expect_read(p.slave, 2, "tw");
    pty_expect_read(p.slave, 100, "o\n");
    pty_expect_quiet(p.slave);
}

TEST(lines_are_edited)
{
    struct pty p = pty_open();
    pty_type(p.master, "xyz\025ab\177c word\027end\n");
    pty_expect(p.master, "xyz\b \b\b \b\b \bab\b \bc word\b \b\b \b\b \b\b \bend\r\n");
    pty_expect_read(p.slave, 100, "ac end\n");
}

TEST(eof_is_a_read_of_nothing)
{
    struct pty p = pty_open();
    char c;
    pty_type(p.master, "\004");
    ASSERT_TRUE(pty_wait(p.slave, POLLIN, REPLY_MS));
    EXPECT_EQ(read(p.slave, &c, 1), 0);
    pty_type(p.master, "abc\004");
    pty_expect_read(p.slave, 3, "abc");
    pty_expect_quiet(p.slave); /* went with the bytes before it */
    pty_expect(p.master, "abc");
}

TEST(other_ends_of_line_can_be_named)
{
    struct pty p = pty_open();
    pty_change_cc(p.slave, VEOL, ';');
    pty_change_cc(p.slave, VEOL2, '!');
    pty_type(p.master, "a;b!c\n");
    pty_expect_read(p.slave, 100, "a;");
    pty_expect_read(p.slave, 100, "b!");
    pty_expect_read(p.slave, 100, "c\n");
}

TEST(the_next_character_can_be_taken_literally)
{
    struct pty p = pty_open();
    pty_type(p.master, "\026\003\026\004\026\177\n");
    pty_expect_read(p.slave, 100, "\003\004\177\n");
    pty_expect(p.master, "^\b^C^\b^D^\b^?\r\n");
}

TEST(the_line_can_be_shown_again)
{
    struct pty p = pty_open();
    pty_type(p.master, "ab\022");
    pty_expect(p.master, "ab^R\r\nab");
}

TEST(the_longest_line_keeps_its_end)
{
    struct pty p = pty_open();
    char line[5000], got[5000];
    pty_change_lflag(p.slave, 0, ECHO);
    memset(line, 'x', sizeof(line));
    ASSERT_EQ(write(p.master, line, sizeof(line)), sizeof(line));
    pty_expect_quiet(p.slave);
    pty_type(p.master, "\n");
    ASSERT_TRUE(pty_wait(p.slave, POLLIN, REPLY_MS));
    EXPECT_EQ(read(p.slave, got, sizeof(got)), 4096);
    EXPECT_EQ(got[4094], 'x');
    EXPECT_EQ(got[4095], '\n');
}

TEST(returns_and_newlines_are_mapped_on_input)
{
    struct pty p = open_with(ICRNL, 0, ICANON);
    pty_type(p.master, "a\r");
    pty_expect_read(p.slave, 9, "a\n");
    pty_change_iflag(p.slave, IGNCR, ICRNL);
    pty_type(p.master, "b\r\n");
    pty_expect_read(p.slave, 9, "b\n");
    p = open_with(INLCR, 0, 0);
    pty_type(p.master, "a\nb");
    pty_expect_read(p.slave, 9, "a\rb");
}

TEST(case_and_the_eighth_bit_can_be_dropped)
{
    struct pty p = open_with(IUCLC | ISTRIP, 0, IEXTEN);
    pty_type(p.master, "AbC\341");
    pty_expect_read(p.slave, 9, "abca");
}

TEST(a_whole_utf8_character_is_erased)
{
    struct pty p = pty_open();
    pty_change_iflag(p.slave, IUTF8, 0);
    pty_type(p.master, "a\342\202\254\177b\n");
    pty_expect(p.master, "a\342\202\254\b \bb\r\n");
    pty_expect_read(p.slave, 9, "ab\n");
}

TEST(bytes_become_a_line_when_canonical_mode_begins)
{
    struct pty p = open_raw(1, 0);
    pty_type(p.master, "abc");
    ASSERT_TRUE(pty_wait(p.slave, POLLIN, REPLY_MS));
    pty_change_lflag(p.slave, ICANON, 0);
    pty_type(p.master, "d\n");
    pty_expect_read(p.slave, 100, "abc");
    pty_expect_read(p.slave, 100, "d\n");
}

TEST(half_a_line_can_be_read_when_canonical_mode_ends)
{
    struct pty p = pty_open();
    pty_type(p.master, "abc");
    pty_expect_quiet(p.slave);
    pty_change_lflag(p.slave, 0, ICANON);
    pty_expect_read(p.slave, 100, "abc");
}

/* ---- echo ---- */

TEST(control_characters_are_shown_with_a_caret)
{
    struct pty p = pty_open();
    pty_type(p.master, "\001\033\177x");
    pty_expect(p.master, "^A^[\b \b\b \bx");
}

TEST(without_echo_nothing_is_shown)
{
    struct pty p = pty_open();
    pty_change_lflag(p.slave, 0, ECHO);
    pty_type(p.master, "secret\n");
    pty_expect_read(p.slave, 100, "secret\n");
    pty_expect_quiet(p.master);
    pty_change_lflag(p.slave, ECHONL, 0);
    pty_type(p.master, "secret\n");
    pty_expect(p.master, "\r\n");
}

TEST(erasing_shows_by_its_flags)
{
    struct pty p = pty_open();
    pty_change_lflag(p.slave, 0, ECHOE);
    pty_type(p.master, "a\177");
    pty_expect(p.master, "a^?");
    pty_change_lflag(p.slave, ECHOE | ECHOPRT, 0);
    pty_type(p.master, "bc\177\177d");
    pty_expect(p.master, "bc\\cb/d"); /* the line is empty again after b */
    pty_change_lflag(p.slave, 0, ECHOPRT | ECHOKE);
    pty_type(p.master, "\025");
    pty_expect(p.master, "^U\r\n");
}

TEST(an_erased_tab_goes_back_to_where_it_began)
{
    struct pty p = pty_open();
    pty_type(p.slave, "$ ");
    pty_type(p.master, "a\t\177b\n");
    pty_expect(p.master, "$ a\t\b\b\b\b\bb\r\n");
    pty_expect_read(p.slave, 100, "ab\n");
}

TEST(a_signal_character_is_shown_and_flushes)
{
    struct pty p = pty_open();
    pty_type(p.master, "abc");
    pty_expect(p.master, "abc");
    pty_type(p.master, "\003d\n");
    pty_expect(p.master, "^Cd\r\n");
    pty_expect_read(p.slave, 100, "d\n");
}

TEST(a_signal_character_flushes_not_with_noflsh)
{
    struct pty p = pty_open();
    pty_change_lflag(p.slave, NOFLSH, 0);
    pty_type(p.master, "abc\034d\n");
    pty_expect(p.master, "abc^\\d\r\n");
    pty_expect_read(p.slave, 100, "abcd\n");
}

TEST(without_isig_they_are_read)
{
    struct pty p = pty_open();
    pty_change_lflag(p.slave, 0, ISIG);
    pty_type(p.master, "\003\032\n");
    pty_expect_read(p.slave, 100, "\003\032\n");
}

TEST(a_character_that_is_off_is_read)
{
    struct pty p = pty_open();
    pty_change_cc(p.slave, VINTR, 0);
    pty_change_cc(p.slave, VERASE, 0);
    pty_type(p.master, "\003\177\n");
    pty_expect_read(p.slave, 100, "\003\177\n");
}

/* ---- output ---- */

TEST(newlines_are_mapped_on_output)
{
    struct pty p = open_with(0, OPOST | ONLCR, 0);
    pty_type(p.slave, "a\nb\r");
    pty_expect(p.master, "a\r\nb\r");
    p = open_with(0, OPOST | OCRNL, 0);
    pty_type(p.slave, "a\rb");
    pty_expect(p.master, "a\nb");
    p = open_with(0, OPOST | ONOCR, 0);
    pty_type(p.slave, "\ra\r\rb");
    pty_expect(p.master, "a\rb");
    p = open_with(0, ONLCR, 0);
    pty_type(p.slave, "a\n");
    pty_expect(p.master, "a\n");
}

TEST(tabs_are_expanded)
{
    struct pty p = open_with(0, OPOST | TAB3, 0);
    pty_type(p.slave, "ab\tc\n\td");
    pty_expect(p.master, "ab      c\n ");
    p = open_with(0, OPOST | ONLRET | TAB3, 0);
    pty_type(p.slave, "ab\n\td");
    pty_expect(p.master, "ab\n        d");
}

TEST(small_letters_can_be_made_capitals)
{
    struct pty p = open_with(0, OPOST | OLCUC, 0);
    pty_type(p.slave, "aZ1");
    pty_expect(p.master, "AZ1");
}

/* ---- input without lines: the four cases ---- */

TEST(min_bytes_are_waited_for)
{
    struct pty p = open_raw(3, 0);
    struct pollfd fd = {p.slave, POLLIN, 0};
    pty_type(p.master, "ab");
    EXPECT_EQ(poll(&fd, 1, QUIET_MS), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char data[10];
        EXPECT_EQ(read(p.slave, data, sizeof(data)), 3);
        harness_end_case();
    }
    harness_wait_until_sleeps(pid);
    pty_sleep_ms(QUIET_MS);
    EXPECT_EQ(waitpid(pid, NULL, WNOHANG), 0);
    pty_type(p.master, "c");
    pty_join(pid);
}

TEST(a_read_of_fewer_than_min_bytes_waits_for_its_own)
{
    struct pty p = open_raw(10, 0);
    char data[2];
    pty_type(p.master, "abc");
    EXPECT_EQ(read(p.slave, data, 2), 2);
    EXPECT_TRUE(!memcmp(data, "ab", 2));
}

TEST(without_min_and_time_a_read_never_waits)
{
    struct pty p = open_raw(0, 0);
    char data[10];
    EXPECT_EQ(read(p.slave, data, sizeof(data)), 0);
    pty_type(p.master, "ab");
    ASSERT_TRUE(pty_wait(p.slave, POLLIN, REPLY_MS));
    EXPECT_EQ(read(p.slave, data, sizeof(data)), 2);
    EXPECT_EQ(read(p.slave, data, sizeof(data)), 0);
}

TEST(time_alone_limits_the_wait_for_the_first_byte)
{
    struct pty p = open_raw(0, 3);
    char data[10];
    int64_t start = now_ms();
    EXPECT_EQ(read(p.slave, data, sizeof(data)), 0);
    EXPECT_GE(now_ms() - start, 290);
    EXPECT_LT(now_ms() - start, 20000);
    struct pty patient = open_raw(0, 200);
    pid_t pid = fork();
    if (pid == 0) {
        pty_sleep_ms(100);
        pty_type(patient.master, "a");
        harness_end_case();
    }
    start = now_ms();
    EXPECT_EQ(read(patient.slave, data, sizeof(data)), 1);
    EXPECT_LT(now_ms() - start, 19000);
    pty_join(pid);
}

TEST(with_both_the_time_runs_between_bytes)
{
    struct pty p = open_raw(5, 10);
    char data[10];
    pid_t pid = fork();
    if (pid == 0) {
        pty_sleep_ms(1300); /* longer than VTIME: it does not run yet */
        pty_type(p.master, "a");
        pty_sleep_ms(100);
        pty_type(p.master, "b");
        pty_sleep_ms(4000);
        pty_type(p.master, "c");
        harness_end_case();
    }
    int64_t start = now_ms();
    EXPECT_EQ(read(p.slave, data, sizeof(data)), 2);
    int64_t took = now_ms() - start;
    EXPECT_GE(took, 2350);
    EXPECT_LT(took, 5350);
    pty_join(pid);
}

TEST(with_both_min_bytes_end_the_wait_at_once)
{
    struct pty p = open_raw(2, 200);
    char data[10];
    pty_type(p.master, "abc");
    int64_t start = now_ms();
    EXPECT_GE(read(p.slave, data, sizeof(data)), 2);
    EXPECT_LT(now_ms() - start, 19000);
}

TEST(a_non_blocking_read_gets_what_is_there)
{
    struct pty p = open_raw(5, 0);
    char data[10];
    fcntl(p.slave, F_SETFL, O_NONBLOCK);
    EXPECT_ERRNO(read(p.slave, data, sizeof(data)), EAGAIN);
    pty_type(p.master, "abc");
    pty_sleep_ms(QUIET_MS);
    EXPECT_EQ(read(p.slave, data, sizeof(data)), 3);
    pty_change_cc(p.slave, VMIN, 0);
    EXPECT_EQ(read(p.slave, data, sizeof(data)), 0);
    pty_change_cc(p.slave, VTIME, 1);
    EXPECT_ERRNO(read(p.slave, data, sizeof(data)), EAGAIN);
}

TEST(raw_mode_passes_every_byte)
{
    struct pty p = open_raw(1, 0);
    unsigned char all[256], got[256];
    size_t n = 0;
    for (int i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    ASSERT_EQ(write(p.master, all, 256), 256);
    while (n < 256 && pty_wait(p.slave, POLLIN, REPLY_MS))
        n += (size_t)read(p.slave, got + n, 256 - n);
    EXPECT_EQ(n, 256);
    EXPECT_TRUE(!memcmp(all, got, 256));
    ASSERT_EQ(write(p.slave, all, 256), 256);
    for (n = 0; n < 256 && pty_wait(p.master, POLLIN, REPLY_MS);)
        n += (size_t)read(p.master, got + n, 256 - n);
    EXPECT_TRUE(!memcmp(all, got, 256));
}

/* ---- flow ---- */

TEST(stop_holds_output_until_start)
{
    struct pty p = pty_open();
    fcntl(p.slave, F_SETFL, O_NONBLOCK);
    pty_type(p.master, "\023");
    pty_sleep_ms(QUIET_MS);
    EXPECT_ERRNO(write(p.slave, "x", 1), EAGAIN);
    EXPECT_TRUE(!pty_wait(p.slave, POLLOUT, 0));
    pty_type(p.master, "\021");
    EXPECT_TRUE(pty_wait(p.slave, POLLOUT, REPLY_MS));
    pty_type(p.slave, "y");
    pty_expect(p.master, "y");
}

TEST(a_blocked_writer_goes_on_at_start)
{
    struct pty p = pty_open();
    pty_type(p.master, "\023");
    pty_sleep_ms(QUIET_MS);
    pid_t pid = fork();
    if (pid == 0) {
        pty_type(p.slave, "held");
        harness_end_case();
    }
    pty_expect_quiet(p.master);
    pty_type(p.master, "\021");
    pty_expect(p.master, "held");
    pty_join(pid);
}

TEST(any_character_can_start_output)
{
    struct pty p = pty_open();
    pty_change_iflag(p.slave, IXANY, 0);
    fcntl(p.slave, F_SETFL, O_NONBLOCK);
    pty_type(p.master, "\023");
    pty_sleep_ms(QUIET_MS);
    EXPECT_ERRNO(write(p.slave, "x", 1), EAGAIN);
    pty_type(p.master, "k");
    pty_expect(p.master, "k");
    EXPECT_EQ(write(p.slave, "x", 1), 1);
}

TEST(a_program_can_stop_output)
{
    struct pty p = pty_open();
    fcntl(p.slave, F_SETFL, O_NONBLOCK);
    EXPECT_EQ(tcflow(p.slave, TCOOFF), 0);
    EXPECT_ERRNO(write(p.slave, "x", 1), EAGAIN);
    pty_type(p.master, "\021"); /* not by START then */
    pty_sleep_ms(QUIET_MS);
    EXPECT_ERRNO(write(p.slave, "x", 1), EAGAIN);
    EXPECT_EQ(tcflow(p.slave, TCOON), 0);
    EXPECT_EQ(write(p.slave, "x", 1), 1);
    EXPECT_ERRNO(tcflow(p.slave, 4), EINVAL);
}

TEST(a_program_can_send_stop_and_start)
{
    struct pty p = pty_open();
    EXPECT_EQ(tcflow(p.slave, TCIOFF), 0);
    pty_expect(p.master, "\023");
    EXPECT_EQ(tcflow(p.slave, TCION), 0);
    pty_expect(p.master, "\021");
}

TEST(a_master_can_stop_itself)
{
    struct pty p = pty_open();
    fcntl(p.master, F_SETFL, O_NONBLOCK);
    EXPECT_EQ(tcflow(p.master, TCOOFF), 0);
    EXPECT_ERRNO(write(p.master, "x\n", 2), EAGAIN);
    EXPECT_EQ(tcflow(p.master, TCOON), 0);
    EXPECT_EQ(write(p.master, "x\n", 2), 2);
    pty_expect(p.slave, "x\n");
}

TEST(turning_flow_control_off_starts_output)
{
    struct pty p = pty_open();
    fcntl(p.slave, F_SETFL, O_NONBLOCK);
    pty_type(p.master, "\023");
    pty_sleep_ms(QUIET_MS);
    pty_change_iflag(p.slave, 0, IXON);
    EXPECT_EQ(write(p.slave, "x", 1), 1);
    pty_type(p.master, "\023\n");
    pty_expect_read(p.slave, 9, "\023\n");
}

/* ---- signals while waiting ---- */

static volatile sig_atomic_t handled;

static void on_signal(int sig)
{
    handled++;
}

static void kill_later(void)
{
    harness_wait_until_sleeps(getppid());
    kill(getppid(), SIGUSR1);
}

static void interrupt_read(int sa_flags, const char *expected)
{
    struct pty p = pty_open();
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = sa_flags};
    char data[16] = "";
    sigaction(SIGUSR1, &action, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        kill_later();
        pty_sleep_ms(QUIET_MS);
        pty_type(p.master, "line\n");
        harness_end_case();
    }
    ssize_t n = read(p.slave, data, sizeof(data));
    if (expected)
        EXPECT_STR(data, expected);
    else
        EXPECT_TRUE(n == -1 && errno == EINTR);
    EXPECT_EQ(handled, 1);
    pty_join(pid);
}

TEST(a_signal_interrupts_a_read)
{
    interrupt_read(0, NULL);
}

TEST(a_read_is_restarted_with_sa_restart)
{
    interrupt_read(SA_RESTART, "line\n");
}
