// SPDX-License-Identifier: Apache-2.0
/*
 * Files of the host that give up when a signal comes: fallocate(2) as the tmpfs of older hosts has
 * it, pread(2) and pwritev2(2) as file systems of a network do.
 */
#include "kernel/fs/host_io.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/uio.h>

static int host_error, tries;
static off_t asked_size;

static bool is_blocked(int sig)
{
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    return sigismember(&blocked, sig);
}

int __wrap_fallocate64(int fd, int mode, off_t offset, off_t size);

int __wrap_fallocate64(int fd, int mode, off_t offset, off_t size)
{
    tries++;
    asked_size = size;
    int error = is_blocked(SIGALRM) ? host_error : EINTR;
    errno = error;
    return error ? -1 : 0;
}

TEST(no_signal_comes_between)
{
    EXPECT_EQ(host_io_allocate(1, 0, 0, 1 << 30), 0);
    EXPECT_EQ(tries, 1);
    EXPECT_EQ(asked_size, 1 << 30);
    host_error = ENOSPC;
    EXPECT_EQ(host_io_allocate(1, 0, 0, 1), -ENOSPC);
}

TEST(afterwards_signals_come_as_before)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGRTMIN);
    sigprocmask(SIG_SETMASK, &own, NULL);
    EXPECT_EQ(host_io_allocate(1, 0, 0, 1), 0);
    EXPECT_TRUE(!is_blocked(SIGALRM));
    EXPECT_TRUE(is_blocked(SIGRTMIN));
}

static char text[] = "all that there is";
static int broken_from = INT_MAX; /* no byte from there on can be read */

ssize_t __wrap_pread64(int fd, void *data, size_t size, off_t pos);

/* A byte at a time. */
ssize_t __wrap_pread64(int fd, void *data, size_t size, off_t pos)
{
    tries++;
    if (pos >= broken_from || (pos % 2 && !is_blocked(SIGALRM))) {
        errno = pos >= broken_from ? EIO : EINTR;
        return -1;
    }
    if ((size_t)pos >= sizeof(text))
        return 0;
    memcpy(data, text + pos, 1);
    return 1;
}

ssize_t __wrap_pwritev64v2(int fd, const struct iovec *v, int count, off_t pos, int flags);

ssize_t __wrap_pwritev64v2(int fd, const struct iovec *v, int count, off_t pos, int flags)
{
    tries++;
    errno = is_blocked(SIGALRM) ? host_error : EINTR;
    return errno ? -1 : (ssize_t)v->iov_len;
}

TEST(what_comes_in_pieces_is_read_whole)
{
    char data[sizeof(text)] = "";
    EXPECT_EQ(host_io_read(1, data, 5, 0), 5);
    EXPECT_TRUE(!memcmp(data, text, 5));
    EXPECT_EQ(host_io_read(1, data, sizeof(data), 3), (ssize_t)sizeof(text) - 3);
    EXPECT_STR(data, text + 3);
    EXPECT_EQ(host_io_read(1, data, 1, sizeof(text)), 0);
    EXPECT_TRUE(!is_blocked(SIGALRM));
}

TEST(an_error_behind_some_bytes_is_one)
{
    char data[sizeof(text)] = "";
    broken_from = 8;
    EXPECT_EQ(host_io_read(1, data, 8, 0), 8);
    EXPECT_EQ(host_io_read(1, data, 9, 0), -EIO);
    EXPECT_TRUE(!is_blocked(SIGALRM));
}

TEST(no_signal_ends_a_write)
{
    EXPECT_EQ(host_io_write(1, text, 4, 0, 0), 4);
    EXPECT_EQ(tries, 2);
    host_error = ENOSPC;
    EXPECT_EQ(host_io_write(1, text, 4, 0, 0), -ENOSPC);
    EXPECT_TRUE(!is_blocked(SIGALRM));
}
