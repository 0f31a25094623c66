// SPDX-License-Identifier: Apache-2.0
/*
 * What is made of a process that the host has ended, by when the host says how.
 */
#include "kernel/proc/host_end.h"

#include "kernel/host/host.h"
#include "tests/harness/harness.h"

#include <errno.h>
#include <signal.h>

#define LOOKS (HOST_END_WAIT_NS / HOST_END_LOOK_NS)

static struct process process;
static int64_t clock_ns = 1;
static int answer, answer_status, looks_until_reaped;
static int looks, noted, ended;
static bool is_watched = true, is_armed, has_no_memory;

static int how_ended(struct hostfd pidfd, int *ret_status)
{
    if (++looks <= looks_until_reaped)
        return -EAGAIN;
    if (answer == 0)
        *ret_status = answer_status;
    return answer;
}

static const struct host_ops fake = {.how_ended = how_ended};
const struct host_ops *host = &fake;

void host_watch_remove(struct host_watch *w)
{
    EXPECT_TRUE(w == &process.end_watch);
    is_watched = false;
}

int timer_arm(struct timer *t, int64_t when_ns)
{
    EXPECT_EQ(when_ns, clock_ns + HOST_END_LOOK_NS);
    if (has_no_memory)
        return -ENOMEM;
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

void process_note_end(struct process *p, int wait_status)
{
    p->exiting = true;
    p->wait_status = wait_status;
    noted++;
}

void process_ended(struct process *p)
{
    EXPECT_TRUE(p == &process);
    if (p->exiting || host_end_note(p))
        ended++;
}

/* From when its pidfd is readable until there is nothing to wait for any more. */
static void run(void)
{
    process_ended(&process);
    while (is_armed) {
        EXPECT_TRUE(!is_watched);
        EXPECT_EQ(ended, 0);
        clock_ns += HOST_END_LOOK_NS;
        is_armed = false;
        process.end_timer.expire(&process.end_timer);
    }
    EXPECT_EQ(ended, 1);
}

static void expect(int status, enum control_reason reason)
{
    EXPECT_EQ(noted, 1);
    EXPECT_EQ(process.wait_status, status);
    EXPECT_EQ(process.end_reason, reason);
}

TEST(who_is_reaped_has_its_status)
{
    answer_status = SIGSEGV;
    run();
    expect(SIGSEGV, CONTROL_BY_ITSELF);
    EXPECT_EQ(looks, 1);
    EXPECT_TRUE(is_watched);
}

TEST(who_is_killed_by_the_host_is_said_to_be)
{
    answer_status = SIGKILL;
    run();
    expect(SIGKILL, CONTROL_BY_HOST);
}

TEST(who_is_not_reaped_yet_is_looked_at_again)
{
    answer_status = SIGSEGV;
    looks_until_reaped = 100;
    run();
    expect(SIGSEGV, CONTROL_BY_ITSELF);
    EXPECT_EQ(looks, 101);
}

TEST(a_host_that_does_not_tell_is_asked_once)
{
    answer = -ENODATA;
    run();
    expect(SIGKILL, CONTROL_BY_HOST_UNTOLD);
    EXPECT_EQ(looks, 1);
}

TEST(a_host_that_does_not_tell_may_do_so_late)
{
    answer = -ENODATA;
    looks_until_reaped = 3;
    run();
    expect(SIGKILL, CONTROL_BY_HOST_UNTOLD);
}

TEST(who_is_never_reaped_is_not_waited_for_without_end)
{
    looks_until_reaped = INT32_MAX;
    run();
    expect(SIGKILL, CONTROL_BY_HOST_LATE);
    EXPECT_EQ(looks, LOOKS + 1);
}

TEST(without_memory_nobody_waits)
{
    looks_until_reaped = 1;
    has_no_memory = true;
    run();
    expect(SIGKILL, CONTROL_BY_HOST_LATE);
}

/* The kernel may still send it a SIGKILL, whose end it is then. */
TEST(who_is_killed_meanwhile_ends_by_that)
{
    looks_until_reaped = INT32_MAX;
    process_ended(&process);
    EXPECT_TRUE(is_armed);
    process_note_end(&process, SIGKILL);
    is_armed = false;
    process.end_timer.expire(&process.end_timer);
    EXPECT_EQ(ended, 1);
    EXPECT_TRUE(!is_armed);
    expect(SIGKILL, CONTROL_BY_ITSELF);
}

TEST(who_goes_leaves_no_timer)
{
    looks_until_reaped = INT32_MAX;
    process_ended(&process);
    host_end_forget(&process);
    EXPECT_TRUE(!is_armed);
}
