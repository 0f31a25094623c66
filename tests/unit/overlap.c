// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/overlap.h"
#include "tests/harness/harness.h"

#define A 100
#define B 200

static uint64_t next_id;

static uint64_t calls(pid_t tid)
{
    overlap_received(tid, ++next_id);
    return next_id;
}

/* One that is answered at once. */
static void call_of(pid_t tid)
{
    overlap_answered(calls(tid));
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
        overlap_answered(waiting);
        overlap_answered(write);
        waiting = calls(writer);
        ASSERT_TRUE(!overlap_now());
    }
}

TEST(the_change_is_told_once)
{
    int changes = 0;
    for (int i = 0; i < 1000; i++) {
        changes += overlap_received(i % 2 ? A : B, ++next_id);
        overlap_answered(next_id);
    }
    EXPECT_EQ(changes, 1);
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
        overlap_answered(calls(tid));
    EXPECT_TRUE(overlap_now());
    for (int i = 0; i < 10000; i++)
        call_of(A);
    EXPECT_TRUE(!overlap_now());
}
