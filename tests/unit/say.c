// SPDX-License-Identifier: Apache-2.0
/* What there is to say while a program runs, and nobody reads it. */
#include "cli/say.h"
#include "lib/base/buf.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>

#define LINE_BYTES \
    1013 /* with "glovebox: " and its end 1 KiB: what holds them is then full to the last byte */

static bool refuses_open, has_no_memory;

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

void *__wrap_realloc(void *old, size_t size)
{
    return has_no_memory ? NULL : __real_realloc(old, size);
}

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

/* The end of all that comes. */
static void read_to_end(int fd, char *ret, size_t size)
{
    char data[4096];
    ssize_t n;
    size_t kept = 0;
    while ((n = read(fd, data, sizeof(data))) > 0) {
        size_t more = MIN((size_t)n, size - 1), left = MIN(kept, size - 1 - more);
        memmove(ret, ret + kept - left, left);
        memcpy(ret + left, data + n - more, more);
        kept = left + more;
    }
    ret[kept] = '\0';
}

/* Reads when it is told to. */
static void be_reader(int from, int told)
{
    static const char last[] = " lines are left out\n";
    char end[256], byte;
    if (read(told, &byte, 1) != 1)
        _exit(1);
    read_to_end(from, end, sizeof(end));
    size_t size = strlen(end), wanted = sizeof(last) - 1;
    _exit(size < wanted || strcmp(end + size - wanted, last) != 0);
}

TEST(what_was_left_out_is_said)
{
    char line[LINE_BYTES + 1];
    int said[2], told[2], status;
    ASSERT_EQ(pipe(said), 0);
    ASSERT_EQ(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(said[1]);
        be_reader(said[0], told[0]);
    }
    ASSERT_EQ(dup2(said[1], STDERR_FILENO), STDERR_FILENO);
    close(said[1]);
    memset(line, 'x', LINE_BYTES);
    line[LINE_BYTES] = '\0';
    cli_say_begin();
    for (int i = 0; i < 4000; i++)
        cli_say(line);
    ASSERT_EQ(write(told[1], "x", 1), 1);
    cli_say_end();
    close(STDERR_FILENO);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

/* As with a server, which goes on for ever: the reader that comes back is told what he missed. */
static void test_reading_again(void)
{
    char line[LINE_BYTES + 1], piece[65536];
    int said[2];
    struct buf all = BUF_INIT(16u << 20);
    ssize_t n;
    ASSERT_EQ(pipe2(said, O_NONBLOCK), 0);
    EXPECT_EQ(cli_say_pending(), -1);
    int before = dup(STDERR_FILENO);
    ASSERT_EQ(dup2(said[1], STDERR_FILENO), STDERR_FILENO);
    memset(line, 'x', LINE_BYTES);
    line[LINE_BYTES] = '\0';
    cli_say_begin();
    for (int i = 0; i < 4000; i++)
        cli_say(line);
    bool has_more;
    do {
        has_more = cli_say_pending() >= 0;
        while ((n = read(said[0], piece, sizeof(piece))) > 0)
            ASSERT_EQ(buf_append(&all, piece, (size_t)n), 0);
    } while (has_more);
    cli_say("again");
    cli_say_end();
    while ((n = read(said[0], piece, sizeof(piece))) > 0)
        ASSERT_EQ(buf_append(&all, piece, (size_t)n), 0);
    ASSERT_EQ(dup2(before, STDERR_FILENO), STDERR_FILENO);
    size_t lines = 0, left_out = 0;
    for (const char *at = all.data; (at = strchr(at, '\n')); at++)
        lines++;
    const char *told = strstr(all.data, "than was read; ");
    ASSERT_TRUE(told && sscanf(told, "than was read; %zu lines", &left_out) == 1);
    EXPECT_EQ(lines - 2 + left_out, 4000U);
    EXPECT_STR(strstr(told, "\n"), "\nglovebox: again\n");
    buf_done(&all);
}

TEST(who_reads_again_is_told_how_much_was_left_out)
{
    test_reading_again();
}

TEST(who_reads_again_what_cannot_be_opened_again_is_told_how_much_was_left_out)
{
    refuses_open = true;
    test_reading_again();
}

/* What is in the pipe behind standard error is exactly that. */
static void expect_said(int fd, const char *wanted)
{
    char text[512];
    ssize_t n = read(fd, text, sizeof(text) - 1);
    text[MAX(n, (ssize_t)0)] = '\0';
    EXPECT_STR(text, wanted);
}

static int begin_with_pipe(void)
{
    int said[2];
    ASSERT_EQ(pipe2(said, O_NONBLOCK), 0);
    ASSERT_EQ(dup2(said[1], STDERR_FILENO), STDERR_FILENO);
    cli_say_begin();
    return said[0];
}

TEST(a_line_is_said_at_once_where_standard_error_cannot_be_opened_again)
{
    refuses_open = true;
    int said = begin_with_pipe();
    cli_say("one");
    cli_say("two");
    EXPECT_EQ(cli_say_pending(), -1);
    expect_said(said, "glovebox: one\nglovebox: two\n");
    cli_say_end();
}

TEST(lines_that_found_no_memory_are_counted)
{
    int said = begin_with_pipe();
    has_no_memory = true;
    cli_say("one");
    cli_say("two");
    has_no_memory = false;
    expect_said(said, "");
    cli_say("three");
    expect_said(said, "glovebox: more was said than was read; 2 lines are left out\n"
                      "glovebox: three\n");
    cli_say_end();
}
