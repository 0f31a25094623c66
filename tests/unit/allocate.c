// SPDX-License-Identifier: Apache-2.0
/* fallocate(2) as a tmpfs of older hosts has it: it gives up when a signal comes. */
#include "kernel/fs/layer/store.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <signal.h>

struct kernel kernel;

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
    EXPECT_EQ(store_allocate(1, 0, 0, 1 << 30), 0);
    EXPECT_EQ(tries, 1);
    EXPECT_EQ(asked_size, 1 << 30);
    host_error = ENOSPC;
    EXPECT_EQ(store_allocate(1, 0, 0, 1), -ENOSPC);
}

TEST(afterwards_signals_come_as_before)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGRTMIN);
    sigprocmask(SIG_SETMASK, &own, NULL);
    EXPECT_EQ(store_allocate(1, 0, 0, 1), 0);
    EXPECT_TRUE(!is_blocked(SIGALRM));
    EXPECT_TRUE(is_blocked(SIGRTMIN));
}
