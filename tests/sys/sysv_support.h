// SPDX-License-Identifier: Apache-2.0
/*
 * What the cases about System V IPC share. Natively each case gets an IPC namespace of its own, so
 * that nothing is left behind.
 */
#pragma once

#include "tests/harness/harness.h"

#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>

union semun {
    int val;
    struct semid_ds *buf;
    unsigned short *array;
    struct seminfo *info;
};

static inline void begin(void)
{
    if (geteuid() == 0 && !harness_is_inside())
        ASSERT_EQ(unshare(CLONE_NEWIPC), 0);
}

/* From here on nothing is allowed just because we are root. */
static inline void become_user(void)
{
    if (geteuid() == 0) {
        ASSERT_EQ(setgid(1000), 0);
        ASSERT_EQ(setuid(1000), 0);
    }
}

static inline void expect_success(pid_t child)
{
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

static inline int make_set(int count)
{
    int id = semget(IPC_PRIVATE, count, 0600);
    ASSERT_GE(id, 0);
    return id;
}

static inline int operate(int id, int number, int op, int flags)
{
    struct sembuf b = {(unsigned short)number, (short)op, (short)flags};
    return semop(id, &b, 1);
}

static inline int value_of(int id, int number)
{
    return semctl(id, number, GETVAL);
}

/* COUNT is GETNCNT or GETZCNT: its value once it is 1, or after 10 s in which it was not. */
static inline int waits(int id, int count)
{
    for (int i = 0; i < 1000 && semctl(id, 0, count) != 1; i++)
        usleep(10000);
    return semctl(id, 0, count);
}

static inline int make_queue(void)
{
    int id = msgget(IPC_PRIVATE, 0600);
    ASSERT_GE(id, 0);
    return id;
}
