// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/overlap.h"
#include "tests/harness/harness.h"

#define A 100
#define B 200

static uint64_t next_id;
static int64_t now_ns = 1;

static uint64_t calls(pid_t tid)
{
    overlap_received(tid, ++next_id, false, now_ns);
    return next_id;
}

/* One that is answered at once. */
static void call_of(pid_t tid)
{
    overlap_answered(calls(tid), now_ns);
}

/* Does a task that worked so long before its call go apart? */
static bool goes_apart(pid_t tid, int64_t worked_ns, bool was_there)
{
    call_of(tid);
    now_ns += worked_ns;
    overlap_received(tid, ++next_id, was_there, now_ns);
    return overlap_answered(next_id, now_ns);
}

static void run_side_by_side(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        call_of(A);
        call_of(B);
    }
}

TEST(a_task_alone_never_overlaps)
{
    for (int i = 0; i < 10000; i++) {
        call_of(A);
        ASSERT_TRUE(!overlap_now());
    }
}

TEST(two_that_work_at_once_do_after_a_while)
{
    run_side_by_side(20);
    EXPECT_TRUE(!overlap_now());
    run_side_by_side(1000);
    EXPECT_TRUE(overlap_now());
}

/* A writes, which wakes B out of its read, and reads; B does the same. */
TEST(two_that_take_turns_do_not)
{
    uint64_t waiting = calls(B);
    for (int i = 0; i < 10000; i++) {
        pid_t writer = i % 2 ? B : A;
        uint64_t write = calls(writer);
        EXPECT_TRUE(!overlap_answered(waiting, now_ns));
        EXPECT_TRUE(!overlap_answered(write, now_ns));
        waiting = calls(writer);
        ASSERT_TRUE(!overlap_now());
    }
}

TEST(one_that_worked_and_was_not_waited_for_goes_apart)
{
    run_side_by_side(1000);
    EXPECT_TRUE(goes_apart(A, OVERLAP_APART_NS, true));
    EXPECT_TRUE(!goes_apart(A, OVERLAP_APART_NS - 1, true));
    EXPECT_TRUE(!goes_apart(A, OVERLAP_APART_NS, false));
}

TEST(one_whose_call_waited_goes_apart)
{
    run_side_by_side(1000);
    call_of(A);
    now_ns += OVERLAP_APART_NS;
    uint64_t read = calls(A);
    call_of(B);
    EXPECT_TRUE(overlap_answered(read, now_ns));
}

TEST(nobody_goes_apart_while_tasks_take_turns)
{
    for (int i = 0; i < 10000; i++)
        ASSERT_TRUE(!goes_apart(A, OVERLAP_APART_NS, true));
    EXPECT_TRUE(!goes_apart(B, OVERLAP_APART_NS, true));
}

/* The clock is not read while tasks take turns, so work that began then is of unknown length. */
TEST(one_whose_work_began_before_is_not_judged)
{
    for (int i = 0; i < 10000; i++)
        overlap_answered(calls(A), 0);
    uint64_t computing = calls(B);
    overlap_answered(computing, 0);
    while (!overlap_now()) {
        overlap_answered(calls(A), 0);
        overlap_answered(calls(B), 0);
    }
    now_ns += NSEC_PER_SEC;
    overlap_received(B, ++next_id, true, now_ns);
    EXPECT_TRUE(!overlap_answered(next_id, now_ns));
}

TEST(an_unknown_call_changes_nothing)
{
    run_side_by_side(1000);
    EXPECT_TRUE(!overlap_answered(next_id + 1, now_ns));
}

TEST(one_that_computes_for_a_while_changes_nothing)
{
    run_side_by_side(1000);
    for (int i = 0; i < 200; i++)
        call_of(A);
    EXPECT_TRUE(overlap_now());
}

TEST(one_that_is_left_alone_is_alone_again)
{
    run_side_by_side(1000);
    for (int i = 0; i < 10000; i++)
        call_of(A);
    EXPECT_TRUE(!overlap_now());
}

TEST(many_tasks_of_which_each_calls_once)
{
    for (pid_t tid = 1; tid < 100000; tid++)
        overlap_answered(calls(tid), now_ns);
    EXPECT_TRUE(overlap_now());
    for (int i = 0; i < 10000; i++)
        call_of(A);
    EXPECT_TRUE(!overlap_now());
}
