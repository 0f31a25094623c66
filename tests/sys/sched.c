// SPDX-License-Identifier: Apache-2.0
/* sched_setaffinity(2), sched_setscheduler(2), sched_setattr(2), setpriority(2), ioprio_set(2). */
#include "tests/harness/harness.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define NO_PID   0x3ffffff0
#define DEADLINE 6 /* SCHED_DEADLINE of linux/sched.h */

/* ---- CPU masks ---- */

TEST(affinity_has_as_many_cpus_as_the_machine)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
    EXPECT_GE(CPU_COUNT(&set), 1);
    EXPECT_EQ(CPU_COUNT(&set), sysconf(_SC_NPROCESSORS_ONLN));
}

TEST(getaffinity_answers_the_size_of_its_mask)
{
    unsigned long mask[128];
    long size = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
    EXPECT_GE(size, 8);
    EXPECT_EQ(size % 8, 0);
    EXPECT_ERRNO(syscall(SYS_sched_getaffinity, 0, 0, mask), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_getaffinity, 0, 12, mask), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_getaffinity, NO_PID, sizeof(mask), mask), ESRCH);
    EXPECT_ERRNO(syscall(SYS_sched_getaffinity, 0, sizeof(mask), (void *)8), EFAULT);
}

TEST(affinity_can_be_narrowed_and_is_inherited)
{
    cpu_set_t set, all, now;
    int first = 0;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    EXPECT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
    EXPECT_EQ(sched_getaffinity(0, sizeof(now), &now), 0);
    EXPECT_EQ(CPU_COUNT(&now), 1);
    EXPECT_TRUE(CPU_ISSET(first, &now));
    pid_t pid = fork();
    if (pid == 0) {
        sched_getaffinity(0, sizeof(now), &now);
        _exit(CPU_COUNT(&now) == 1 ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

TEST(affinity_of_no_cpu_is_einval)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_ERRNO(sched_setaffinity(0, sizeof(set), &set), EINVAL);
    CPU_SET(1023, &set);
    if (sysconf(_SC_NPROCESSORS_CONF) < 1023)
        EXPECT_ERRNO(sched_setaffinity(0, sizeof(set), &set), EINVAL);
    EXPECT_ERRNO(sched_setaffinity(NO_PID, sizeof(set), &set), ESRCH);
    EXPECT_ERRNO(syscall(SYS_sched_setaffinity, 0, 8, (void *)8), EFAULT);
}

TEST(getcpu_names_a_cpu)
{
    unsigned cpu = 12345, node = 12345;
    EXPECT_EQ(syscall(SYS_getcpu, &cpu, &node, NULL), 0);
    EXPECT_LT(cpu, sysconf(_SC_NPROCESSORS_CONF));
    EXPECT_LT(node, 1024);
    EXPECT_EQ(syscall(SYS_getcpu, NULL, NULL, NULL), 0);
    EXPECT_ERRNO(syscall(SYS_getcpu, (void *)8, NULL, NULL), EFAULT);
}

/* ---- policies ---- */

TEST(policy_begins_as_other)
{
    struct sched_param p = {77};
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    EXPECT_EQ(sched_getparam(0, &p), 0);
    EXPECT_EQ(p.sched_priority, 0);
}

TEST(policies_without_privilege)
{
    struct sched_param p = {0};
    EXPECT_EQ(sched_setscheduler(0, SCHED_BATCH, &p), 0);
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
    EXPECT_EQ(sched_setscheduler(0, SCHED_OTHER, &p), 0);
    EXPECT_EQ(sched_setscheduler(0, SCHED_IDLE, &p), 0);
    EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE);
}

TEST(realtime_needs_privilege)
{
    struct sched_param p = {10};
    if (geteuid() == 0 && !harness_is_inside())
        SKIP("root may");
    EXPECT_ERRNO(sched_setscheduler(0, SCHED_FIFO, &p), EPERM);
    EXPECT_ERRNO(sched_setscheduler(0, SCHED_RR, &p), EPERM);
}

TEST(setscheduler_checks_its_arguments)
{
    struct sched_param p = {0};
    EXPECT_ERRNO(syscall(SYS_sched_setscheduler, 0, -1, &p), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_setscheduler, 0, 99, &p), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, NULL), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, (void *)8), EFAULT);
    EXPECT_ERRNO(syscall(SYS_sched_setscheduler, NO_PID, SCHED_OTHER, &p), ESRCH);
    EXPECT_ERRNO(syscall(SYS_sched_setscheduler, -1, SCHED_OTHER, &p), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_setscheduler, 0, DEADLINE, &p), EINVAL);
    p.sched_priority = 5;
    EXPECT_ERRNO(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &p), EINVAL);
    p.sched_priority = 0;
    EXPECT_ERRNO(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &p), EINVAL);
    p.sched_priority = 100;
    EXPECT_ERRNO(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &p), EINVAL);
}

TEST(parameters_check_their_arguments)
{
    struct sched_param p = {0};
    EXPECT_EQ(sched_setparam(0, &p), 0);
    EXPECT_ERRNO(syscall(SYS_sched_getparam, 0, NULL), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_getparam, NO_PID, &p), ESRCH);
    EXPECT_ERRNO(syscall(SYS_sched_getscheduler, NO_PID), ESRCH);
    EXPECT_ERRNO(syscall(SYS_sched_getscheduler, -1), EINVAL);
    p.sched_priority = 3;
    EXPECT_ERRNO(sched_setparam(0, &p), EINVAL);
}

TEST(ranges_of_priorities)
{
    EXPECT_EQ(sched_get_priority_max(SCHED_FIFO), 99);
    EXPECT_EQ(sched_get_priority_min(SCHED_RR), 1);
    EXPECT_EQ(sched_get_priority_max(SCHED_OTHER), 0);
    EXPECT_EQ(sched_get_priority_min(SCHED_BATCH), 0);
    EXPECT_ERRNO(sched_get_priority_max(99), EINVAL);
    EXPECT_ERRNO(sched_get_priority_min(-1), EINVAL);
}

TEST(interval_of_round_robin)
{
    struct timespec t = {-1, -1};
    EXPECT_EQ(sched_rr_get_interval(0, &t), 0);
    EXPECT_EQ(t.tv_sec, 0);
    EXPECT_GE(t.tv_nsec, 0);
    EXPECT_ERRNO(sched_rr_get_interval(NO_PID, &t), ESRCH);
    EXPECT_ERRNO(sched_rr_get_interval(-1, &t), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_rr_get_interval, 0, (void *)8), EFAULT);
}

struct attr {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
    uint32_t util_min, util_max;
};

TEST(attributes_can_be_read)
{
    struct attr a;
    memset(&a, 0xff, sizeof(a));
    EXPECT_EQ(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0), 0);
    EXPECT_LE(a.size, sizeof(a));
    EXPECT_GE(a.size, 48);
    EXPECT_EQ(a.policy, SCHED_OTHER);
    EXPECT_EQ(a.nice, getpriority(PRIO_PROCESS, 0));
    EXPECT_EQ(a.priority, 0);
    EXPECT_EQ(syscall(SYS_sched_getattr, 0, &a, 48, 0), 0);
    EXPECT_EQ(a.size, 48);
}

TEST(attributes_check_their_arguments)
{
    struct attr a = {.size = sizeof(a)};
    EXPECT_ERRNO(syscall(SYS_sched_getattr, 0, &a, 47, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_getattr, 0, &a, 5000, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 1), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_getattr, 0, NULL, sizeof(a), 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_getattr, NO_PID, &a, sizeof(a), 0), ESRCH);
    EXPECT_ERRNO(syscall(SYS_sched_setattr, 0, NULL, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_setattr, 0, &a, 1), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sched_setattr, 0, (void *)8, 0), EFAULT);
    a.policy = 99;
    EXPECT_ERRNO(syscall(SYS_sched_setattr, 0, &a, 0), EINVAL);
    a.policy = DEADLINE;
    EXPECT_ERRNO(syscall(SYS_sched_setattr, 0, &a, 0), EINVAL);
    a.runtime = 20000000;
    a.deadline = 10000000;
    EXPECT_ERRNO(syscall(SYS_sched_setattr, 0, &a, 0), EINVAL);
}

TEST(attributes_of_another_size)
{
    struct {
        struct attr a;
        uint64_t more;
    } big = {.a = {.size = sizeof(big)}};
    EXPECT_EQ(syscall(SYS_sched_setattr, 0, &big, 0), 0);
    big.more = 1;
    big.a.size = sizeof(big);
    EXPECT_ERRNO(syscall(SYS_sched_setattr, 0, &big, 0), E2BIG);
    EXPECT_GE(big.a.size, 48);
    EXPECT_LE(big.a.size, sizeof(big));
    big.a.size = 10;
    EXPECT_ERRNO(syscall(SYS_sched_setattr, 0, &big, 0), E2BIG);
}

TEST(attributes_set_policy_and_nice)
{
    struct attr a = {.size = sizeof(a), .policy = SCHED_BATCH, .nice = 7};
    EXPECT_EQ(syscall(SYS_sched_setattr, 0, &a, 0), 0);
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 7);
}

/* ---- nice ---- */

TEST(nice_goes_up)
{
    errno = 0;
    int before = getpriority(PRIO_PROCESS, 0);
    EXPECT_EQ(errno, 0);
    EXPECT_EQ(setpriority(PRIO_PROCESS, 0, before + 5), 0);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before + 5);
    EXPECT_EQ(syscall(SYS_getpriority, PRIO_PROCESS, 0), 20 - (before + 5));
    EXPECT_EQ(setpriority(PRIO_PROCESS, 0, 1000), 0);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 19);
}

TEST(nice_does_not_go_down_without_privilege)
{
    if (geteuid() == 0)
        SKIP("needs a user without privileges");
    EXPECT_EQ(setpriority(PRIO_PROCESS, 0, 5), 0);
    EXPECT_ERRNO(setpriority(PRIO_PROCESS, 0, 0), EACCES);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), 5);
}

TEST(nice_of_a_group_and_of_nobody)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    setpgid(pid, 0);
    EXPECT_EQ(setpriority(PRIO_PGRP, pid, 11), 0);
    EXPECT_EQ(getpriority(PRIO_PROCESS, pid), 11);
    EXPECT_EQ(getpriority(PRIO_PGRP, pid), 11);
    EXPECT_NE(getpriority(PRIO_PROCESS, 0), 11);
    EXPECT_ERRNO(setpriority(PRIO_PROCESS, NO_PID, 1), ESRCH);
    EXPECT_ERRNO(setpriority(PRIO_PGRP, NO_PID, 1), ESRCH);
    EXPECT_ERRNO(setpriority(3, 0, 1), EINVAL);
    EXPECT_ERRNO(syscall(SYS_getpriority, 3, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_getpriority, PRIO_PROCESS, NO_PID), ESRCH);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

TEST(nice_is_inherited)
{
    setpriority(PRIO_PROCESS, 0, 9);
    pid_t pid = fork();
    if (pid == 0)
        _exit(getpriority(PRIO_PROCESS, 0) == 9 ? 0 : 1);
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

/* ---- I/O priorities ---- */

#define IO_VALUE(class, level) ((class) << 13 | (level))

TEST(io_priority_is_kept)
{
    EXPECT_EQ(syscall(SYS_ioprio_set, 1, 0, IO_VALUE(2, 6)), 0);
    EXPECT_EQ(syscall(SYS_ioprio_get, 1, 0), IO_VALUE(2, 6));
    EXPECT_EQ(syscall(SYS_ioprio_set, 1, 0, IO_VALUE(3, 0)), 0);
    EXPECT_EQ(syscall(SYS_ioprio_get, 1, 0), IO_VALUE(3, 0));
}

TEST(io_priority_checks_its_arguments)
{
    EXPECT_ERRNO(syscall(SYS_ioprio_set, 9, 0, IO_VALUE(2, 4)), EINVAL);
    EXPECT_ERRNO(syscall(SYS_ioprio_set, 1, 0, IO_VALUE(5, 0)), EINVAL);
    EXPECT_ERRNO(syscall(SYS_ioprio_set, 1, 0, IO_VALUE(0, 1)), EINVAL);
    EXPECT_ERRNO(syscall(SYS_ioprio_set, 1, NO_PID, IO_VALUE(2, 4)), ESRCH);
    EXPECT_ERRNO(syscall(SYS_ioprio_get, 9, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_ioprio_get, 1, NO_PID), ESRCH);
    if (geteuid() != 0)
        EXPECT_ERRNO(syscall(SYS_ioprio_set, 1, 0, IO_VALUE(1, 4)), EPERM);
}
