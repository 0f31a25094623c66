// SPDX-License-Identifier: Apache-2.0
/*
 * What is made of a thread whose execve the host runs, by what /proc shows of it. The clock goes on
 * by minutes here, as on a machine that is so busy.
 */
#include "kernel/proc/exec_watch.h"

#include "kernel/host/host.h"
#include "kernel/proc/exec.h"
#include "tests/harness/harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define KICK     SIGMASK(SIGNAL_KICK)
#define HANDLERS 0x20 /* some signal is caught */
#define LOOKS    100
#define HOUR_NS  (3600 * NSEC_PER_SEC)

static struct process process = {.host_pid = 70};
static struct thread thread = {.host_tid = 71, .process = &process};
static struct exec_watch watch;

/* What the host would show, and what came of it. */
static const char *in_syscall;
static struct {
    unsigned long pending, blocked, caught;
    unsigned user_ticks, system_ticks;
} stat_of;
static int64_t clock_ns;
static int kicks, cancelled;
static bool executes; /* while the next line of /proc is read: its handlers are read before */
static bool is_armed;

static ssize_t read_proc(const char *name, char *buffer, size_t size)
{
    if (!in_syscall)
        return -ENOENT;
    if (!strcmp(name, "71/syscall"))
        return snprintf(buffer, size, "%s", in_syscall);
    if (strcmp(name, "70/task/71/stat") && strcmp(name, "71/stat"))
        return -ENOENT;
    unsigned long caught = stat_of.caught;
    if (executes)
        stat_of.pending = stat_of.caught = 0;
    return snprintf(buffer, size,
                    "71 (a) R (x) R 1 70 70 0 -1 4194304 0 0 0 0 %u %u 0 0 20 0 2 0 100 4096 5 "
                    "18446744073709551615 1 2 3 0 0 %lu %lu 0 %lu 0 0 0 17 0 0 0\n",
                    stat_of.user_ticks, stat_of.system_ticks, stat_of.pending, stat_of.blocked,
                    caught);
}

static int signal_thread(pid_t host_pid, pid_t host_tid, int sig)
{
    kicks += host_pid == 70 && host_tid == 71 && sig == SIGNAL_KICK;
    return 0;
}

static const struct host_ops fake = {.read_proc = read_proc, .signal_thread = signal_thread};
const struct host_ops *host = &fake;

int timer_arm(struct timer *t, int64_t when_ns)
{
    EXPECT_GT(when_ns, clock_ns);
    is_armed = true;
    return 0;
}

void timer_disarm(struct timer *t)
{
    is_armed = false;
}

int64_t clock_monotonic_ns(void)
{
    return clock_ns;
}

void exec_cancel(struct thread *t)
{
    EXPECT_TRUE(t == &thread);
    cancelled++;
}

static void begin(const char *syscall)
{
    in_syscall = syscall;
    stat_of.caught = HANDLERS;
    ASSERT_EQ(exec_watch_start(&watch, &thread), 0);
}

static void look(int times)
{
    for (int i = 0; i < times && is_armed; i++) {
        clock_ns += HOUR_NS;
        is_armed = false;
        watch.timer.expire(&watch.timer);
    }
}

static const char *sleeps_in(long nr)
{
    static char text[128];
    snprintf(text, sizeof(text), "%ld 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffc00000000 0x400000\n", nr);
    return text;
}

TEST(who_sleeps_in_execve_is_waited_for)
{
    begin(sleeps_in(SYS_execve));
    look(LOOKS);
    in_syscall = sleeps_in(SYS_execveat);
    look(LOOKS);
    EXPECT_EQ(kicks, 0);
    EXPECT_EQ(cancelled, 0);
}

TEST(who_sleeps_in_another_call_has_failed)
{
    begin(sleeps_in(SYS_futex));
    look(1);
    EXPECT_EQ(cancelled, 1);
    EXPECT_TRUE(!is_armed);
}

TEST(who_is_not_there_has_the_leaders_number)
{
    begin(NULL);
    look(LOOKS);
    EXPECT_EQ(cancelled, 0);
}

TEST(who_gets_no_processor_is_waited_for)
{
    begin("running\n");
    stat_of.pending = KICK;
    look(LOOKS);
    EXPECT_EQ(kicks, 1);
    EXPECT_EQ(cancelled, 0);
    /* Copying its arguments. */
    stat_of.system_ticks = 100000;
    look(LOOKS);
    EXPECT_EQ(cancelled, 0);
}

TEST(who_took_the_kick_has_failed)
{
    begin("running\n");
    look(1);
    EXPECT_EQ(cancelled, 0);
    look(1);
    EXPECT_EQ(cancelled, 1);
}

TEST(who_executes_while_it_is_looked_at_has_not_failed)
{
    begin("running\n");
    stat_of.pending = KICK;
    look(2);
    executes = true;
    look(LOOKS);
    EXPECT_EQ(cancelled, 0);
}

TEST(who_has_no_handlers_any_more_has_executed)
{
    begin("running\n");
    stat_of.caught = 0;
    look(LOOKS);
    EXPECT_EQ(cancelled, 0);
    bool blocks = true;
    EXPECT_TRUE(exec_has_happened(&thread, &blocks));
    EXPECT_TRUE(!blocks);
    stat_of.blocked = 1;
    EXPECT_TRUE(exec_has_happened(&thread, &blocks));
    EXPECT_TRUE(blocks);
}

TEST(who_is_deaf_has_failed_when_it_has_used_a_processor)
{
    begin("running\n");
    stat_of.pending = stat_of.blocked = KICK;
    stat_of.user_ticks = 5000; /* before */
    look(LOOKS);
    EXPECT_EQ(cancelled, 0);
    stat_of.user_ticks += (unsigned)(sysconf(_SC_CLK_TCK) * EXEC_DEAF_NS / NSEC_PER_SEC) - 1;
    look(LOOKS);
    EXPECT_EQ(cancelled, 0);
    stat_of.system_ticks++;
    look(1);
    EXPECT_EQ(cancelled, 1);
}
