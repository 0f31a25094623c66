// SPDX-License-Identifier: Apache-2.0
/* What the server says on a terminal or pipe that nobody reads: it never waits, and counts. */
#include "lib/base/buf.h"
#include "server/say.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_BYTES 1190
#define LINES      400 /* more than a pipe or a terminal takes */
#define ALL_BYTES  (4u << 20)

static bool refuses_open;

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

/* As that of a pipe or terminal that belongs to another user. Nothing is made by it. */
int __wrap_open64(const char *path, int flags, ...)
{
    if (refuses_open) {
        errno = EACCES;
        return -1;
    }
    return __real_open64(path, flags);
}

int __wrap_open(const char *path, int flags, ...)
{
    return __wrap_open64(path, flags);
}

/* Both lines' ends are the same: a terminal puts a return before each newline. */
static void read_some(int fd, struct buf *all)
{
    char piece[4096];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, 10) > 0) {
        ssize_t n = read(fd, piece, sizeof(piece));
        ASSERT_TRUE(n > 0);
        for (ssize_t i = 0; i < n; i++)
            if (piece[i] != '\r')
                ASSERT_EQ(buf_append(all, piece + i, 1), 0);
    }
}

/* Whole lines of x and what was told of others, up to end. */
static size_t count_accounted(const char *at, const char *end)
{
    size_t count = 0, told;
    while (at < end) {
        const char *newline = strchr(at, '\n');
        if (strspn(at, "x") == LINE_BYTES - 1 && at + LINE_BYTES - 1 == newline)
            count++;
        if (sscanf(at, "glovebox-server: more was said than was read; %zu line", &told) == 1)
            count += told;
        at = newline + 1;
    }
    return count;
}

/* Lines that say how many were said before them, until one is read, at the beginning of a line. */
static void expect_all_accounted(int from)
{
    struct buf all = BUF_INIT(ALL_BYTES);
    char line[LINE_BYTES + 1];
    size_t before;
    memset(line, 'x', LINE_BYTES - 1);
    memcpy(line + LINE_BYTES - 1, "\n", 2);
    for (int i = 0; i < LINES; i++)
        say_line(line, LINE_BYTES);
    const char *again = NULL;
    for (int said = LINES; !again; said++) {
        read_some(from, &all);
        int size = snprintf(line, sizeof(line), "again, after %d.\n", said);
        say_line(line, (size_t)size);
        read_some(from, &all);
        again = all.data ? strstr(all.data, "\nagain, after ") : NULL;
        again = again && strchr(again, '.') ? again : NULL;
    }
    ASSERT_EQ(sscanf(again, "\nagain, after %zu.", &before), 1);
    EXPECT_EQ(count_accounted(all.data, again + 1), before);
    buf_done(&all);
}

static int make_terminal(void)
{
    int from = posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_TRUE(from >= 0 && grantpt(from) == 0 && unlockpt(from) == 0);
    int to = __real_open64(ptsname(from), O_RDWR | O_NOCTTY);
    ASSERT_TRUE(to >= 0);
    ASSERT_EQ(dup2(to, STDERR_FILENO), STDERR_FILENO);
    return from;
}

static int make_pipe(void)
{
    int said[2];
    ASSERT_EQ(pipe(said), 0);
    ASSERT_EQ(dup2(said[1], STDERR_FILENO), STDERR_FILENO);
    return said[0];
}

TEST(a_terminal_that_nobody_reads)
{
    int from = make_terminal();
    say_start();
    expect_all_accounted(from);
}

TEST(a_terminal_of_another_that_nobody_reads)
{
    int from = make_terminal();
    refuses_open = true;
    say_start();
    expect_all_accounted(from);
}

TEST(a_pipe_that_nobody_reads)
{
    int from = make_pipe();
    say_start();
    expect_all_accounted(from);
}

TEST(a_pipe_of_another_that_nobody_reads)
{
    int from = make_pipe();
    refuses_open = true;
    say_start();
    expect_all_accounted(from);
}

/* Who shares the pipe is not to find it switched. */
TEST(standard_error_stays_as_it_was)
{
    make_pipe();
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    say_start();
    say_line("one\n", 4);
    EXPECT_EQ(fcntl(STDERR_FILENO, F_GETFL), flags);
}
