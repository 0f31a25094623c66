// SPDX-License-Identifier: Apache-2.0
/*
 * What the tests of terminals share: a pty whose slave is in a known state, reads with a time
 * limit, and sessions of their own.
 */
#pragma once

#include "tests/harness/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

struct pty {
    int master, slave;
    char name[64];
};

#define REPLY_MS 3000 /* for what must come */
#define QUIET_MS 60   /* for what must not */

/* An unlocked master; the slave is not opened. */
static inline struct pty pty_master(void)
{
    struct pty p = {.slave = -1};
    p.master = posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(p.master, 0);
    ASSERT_EQ(grantpt(p.master), 0);
    ASSERT_EQ(unlockpt(p.master), 0);
    ASSERT_EQ(ptsname_r(p.master, p.name, sizeof(p.name)), 0);
    return p;
}

static inline struct pty pty_open(void)
{
    struct pty p = pty_master();
    p.slave = open(p.name, O_RDWR | O_NOCTTY);
    ASSERT_GE(p.slave, 0);
    return p;
}

static inline struct termios pty_settings(int fd)
{
    struct termios t;
    ASSERT_EQ(tcgetattr(fd, &t), 0);
    return t;
}

static inline void pty_apply(int fd, const struct termios *t)
{
    ASSERT_EQ(tcsetattr(fd, TCSANOW, t), 0);
}

static inline void pty_make_raw(int fd)
{
    struct termios t = pty_settings(fd);
    cfmakeraw(&t);
    pty_apply(fd, &t);
}

static inline void pty_change_lflag(int fd, tcflag_t set, tcflag_t clear)
{
    struct termios t = pty_settings(fd);
    t.c_lflag = (t.c_lflag & ~clear) | set;
    pty_apply(fd, &t);
}

static inline void pty_change_iflag(int fd, tcflag_t set, tcflag_t clear)
{
    struct termios t = pty_settings(fd);
    t.c_iflag = (t.c_iflag & ~clear) | set;
    pty_apply(fd, &t);
}

static inline void pty_change_cc(int fd, int index, cc_t value)
{
    struct termios t = pty_settings(fd);
    t.c_cc[index] = value;
    pty_apply(fd, &t);
}

static inline bool pty_wait(int fd, short events, int ms)
{
    struct pollfd p = {fd, events, 0};
    return poll(&p, 1, ms) == 1 && (p.revents & events);
}

static inline void pty_type(int fd, const char *text)
{
    ASSERT_EQ(write(fd, text, strlen(text)), strlen(text));
}

/* Reads as many bytes as text has, in any number of pieces, and compares. */
static inline void pty_expect_at(int line, int fd, const char *text)
{
    char data[8192] = "";
    size_t size = strlen(text), n = 0;
    while (n < size && pty_wait(fd, POLLIN, REPLY_MS)) {
        ssize_t r = read(fd, data + n, size - n);
        if (r <= 0)
            break;
        n += (size_t)r;
    }
    data[n] = '\0';
    if (n != size || memcmp(data, text, size))
        harness_fail("pty", line, "read %zu bytes \"%s\", expected %zu \"%s\"", n, data, size,
                     text);
}
#define pty_expect(fd, text) pty_expect_at(__LINE__, fd, text)

static inline void pty_expect_quiet_at(int line, int fd)
{
    if (pty_wait(fd, POLLIN, QUIET_MS))
        harness_fail("pty", line, "there is something to read");
}
#define pty_expect_quiet(fd) pty_expect_quiet_at(__LINE__, fd)

/* One read, as text; fails when nothing comes. */
static inline void pty_expect_read_at(int line, int fd, size_t size, const char *text)
{
    char data[8192] = "";
    if (!pty_wait(fd, POLLIN, REPLY_MS)) {
        harness_fail("pty", line, "nothing to read, expected \"%s\"", text);
        return;
    }
    ssize_t n = read(fd, data, size);
    if (n < 0 || (size_t)n != strlen(text) || memcmp(data, text, (size_t)n))
        harness_fail("pty", line, "one read: %zd \"%s\", expected \"%s\"", n, data, text);
}
#define pty_expect_read(fd, size, text) pty_expect_read_at(__LINE__, fd, size, text)

/* Runs body in a child process; the case fails when the child's part does. */
static inline pid_t pty_fork(void (*body)(void *), void *argument)
{
    fflush(stdout);
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        body(argument);
        harness_end_case();
    }
    return pid;
}

static inline void pty_join(pid_t pid)
{
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

static inline void pty_sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}
