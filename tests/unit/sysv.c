// SPDX-License-Identifier: Apache-2.0
/*
 * The limits of semaphores and message queues, SEM_UNDO at the end of a process, and who is woken.
 */
#include "kernel/core/call.h"
#include "kernel/core/kernel.h"
#include "kernel/event/sysv_msg.h"
#include "kernel/event/sysv_sem.h"
#include "tests/harness/harness.h"

static struct call *woken[8];
static int woken_count;

void call_wake(struct call *c)
{
    ASSERT_TRUE(woken_count < 8);
    woken[woken_count++] = c;
}

static struct cred user = {.refs = 1, .uid = 1000, .euid = 1000, .gid = 1000, .egid = 1000};

TEST(sets_are_limited)
{
    int count = 0, id;
    while ((id = sem_get(IPC_PRIVATE, 1, 0600, &user)) >= 0)
        count++;
    EXPECT_EQ(id, -ENOSPC);
    EXPECT_EQ(count, LIMIT_SEM_SETS);
}

TEST(semaphores_are_limited_together)
{
    int count = 0, id, first = sem_get(IPC_PRIVATE, LIMIT_SEM_PER_SET, 0600, &user);
    while ((id = sem_get(IPC_PRIVATE, LIMIT_SEM_PER_SET, 0600, &user)) >= 0)
        count++;
    EXPECT_EQ(id, -ENOSPC);
    EXPECT_EQ(count + 1, LIMIT_SEM_TOTAL / LIMIT_SEM_PER_SET);
    EXPECT_EQ(sem_get(IPC_PRIVATE, LIMIT_SEM_PER_SET + 1, 0600, &user), -EINVAL);
    sem_remove(sem_find(first));
    EXPECT_GE(sem_get(IPC_PRIVATE, LIMIT_SEM_PER_SET, 0600, &user), 0);
}

static struct process *make_process(pid_t pid)
{
    struct process *p = calloc(1, sizeof(*p));
    ASSERT_TRUE(p);
    p->pid = pid;
    waitq_init(&p->exit_wait);
    return p;
}

TEST(undo_values_are_limited)
{
    struct sembuf op = {0, 1, SEM_UNDO};
    struct sem_waiter w;
    int id = sem_get(IPC_PRIVATE, LIMIT_SEM_PER_SET, 0600, &user), r = 0, count = 0;
    while (count < 1000 && r == 0) {
        r = sem_operate(sem_find(id), make_process(count + 1), &op, 1, &w);
        count += r == 0;
    }
    EXPECT_EQ(r, -ENOSPC);
    EXPECT_EQ(count, LIMIT_SEM_UNDOS / LIMIT_SEM_PER_SET);
}

TEST(end_of_a_process_undoes)
{
    struct sembuf ops[2] = {{0, 5, SEM_UNDO}, {1, 3, 0}};
    struct sem_waiter w;
    int a = sem_get(IPC_PRIVATE, 2, 0600, &user), b = sem_get(IPC_PRIVATE, 2, 0600, &user);
    struct process *p = make_process(7);
    ASSERT_EQ(sem_operate(sem_find(a), p, ops, 2, &w), 0);
    ASSERT_EQ(sem_operate(sem_find(b), p, ops, 2, &w), 0);
    sem_remove(sem_find(b));
    EXPECT_EQ(sem_value(sem_find(a), 0), 5);
    waitq_wake(&p->exit_wait, EPOLLIN);
    EXPECT_TRUE(list_is_empty(&p->exit_wait.entries));
    free(p);
    EXPECT_EQ(sem_value(sem_find(a), 0), 0);
    EXPECT_EQ(sem_value(sem_find(a), 1), 3);
    EXPECT_EQ(sem_pid(sem_find(a), 0), 7);
}

TEST(undo_never_leaves_the_range)
{
    struct sembuf up = {0, 10, SEM_UNDO}, down = {0, -10, 0};
    struct sem_waiter w;
    int id = sem_get(IPC_PRIVATE, 1, 0600, &user);
    struct process *p = make_process(7), *other = make_process(8);
    ASSERT_EQ(sem_operate(sem_find(id), p, &up, 1, &w), 0);
    ASSERT_EQ(sem_operate(sem_find(id), other, &down, 1, &w), 0);
    waitq_wake(&p->exit_wait, EPOLLIN);
    EXPECT_EQ(sem_value(sem_find(id), 0), 0);
}

TEST(queues_are_limited)
{
    int count = 0, id;
    while ((id = msg_get(IPC_PRIVATE, 0600, &user)) >= 0)
        count++;
    EXPECT_EQ(id, -ENOSPC);
    EXPECT_EQ(count, LIMIT_MSG_QUEUES);
}

TEST(messages_are_limited_together)
{
    struct msg_item *m, *last = NULL;
    size_t count = 0;
    while ((m = msg_item_new(1, 0))) {
        last = m;
        count++;
    }
    /* Empty ones cost too. */
    EXPECT_LE(count, LIMIT_MSG_TOTAL_BYTES / sizeof(*m));
    EXPECT_GT(count, 1000);
    msg_item_free(last);
    EXPECT_TRUE(msg_item_new(1, 0) != NULL);
}

TEST(ids_are_not_dealt_out_again_soon)
{
    int first = msg_get(IPC_PRIVATE, 0600, &user), last = first;
    for (int i = 0; i < 1000; i++) {
        msg_remove(msg_find(last));
        last = msg_get(IPC_PRIVATE, 0600, &user);
        ASSERT_TRUE(last >= 0 && last != first);
    }
    EXPECT_TRUE(msg_find(first) == NULL);
}

/* ---- who is woken ---- */

static struct call callers[8];

/* A call that waits for these operations, which can't be done yet. */
static struct call *wait_for(struct sem_set *s, const struct sembuf *ops, size_t count)
{
    static struct sem_waiter waiters[8];
    static int used;
    struct call *c = &callers[used];
    struct sem_waiter *w = &waiters[used++];
    w->call = c;
    ASSERT_EQ(sem_operate(s, make_process(used), ops, count, w), 1);
    sem_waiter_add(s, w);
    return c;
}

static void operate(struct sem_set *s, unsigned short number, short by)
{
    struct sembuf op = {number, by, 0};
    struct sem_waiter w;
    woken_count = 0;
    ASSERT_EQ(sem_operate(s, make_process(99), &op, 1, &w), 0);
}

TEST(an_operation_wakes_those_whom_it_suits)
{
    struct sem_set *s = sem_find(sem_get(IPC_PRIVATE, 2, 0600, &user));
    operate(s, 1, 1);
    struct call *one = wait_for(s, &(struct sembuf){0, -1, 0}, 1);
    struct call *three = wait_for(s, &(struct sembuf){0, -3, 0}, 1);
    struct call *zero = wait_for(s, &(struct sembuf){1, 0, 0}, 1);
    struct call *two_beside = wait_for(s, &(struct sembuf){1, -2, 0}, 1);
    operate(s, 0, 1);
    EXPECT_EQ(woken_count, 1);
    EXPECT_TRUE(woken[0] == one);
    operate(s, 1, -1);
    EXPECT_EQ(woken_count, 2);
    EXPECT_TRUE(woken[0] == one && woken[1] == zero);
    operate(s, 0, 2);
    EXPECT_EQ(woken_count, 3);
    EXPECT_TRUE(woken[1] == three);
    operate(s, 1, 2);
    EXPECT_EQ(woken_count, 3);
    EXPECT_TRUE(woken[2] == two_beside);
    struct call *several = wait_for(s, (struct sembuf[]){{1, -3, 0}, {0, -9, 0}}, 2);
    operate(s, 0, -3);
    EXPECT_EQ(woken_count, 2);
    EXPECT_TRUE(woken[0] == two_beside && woken[1] == several);
}

static void receive(struct msg_queue *q, struct call *c, long type, int flags)
{
    c->arg[3] = (uint64_t)type;
    c->arg[4] = (uint64_t)flags;
    c->inline_wait[0].call = c;
    waitq_add(msg_receivers(q), &c->inline_wait[0].entry);
}

static void expect_woken(struct msg_queue *q, long type, const char *expected)
{
    char names[8] = "";
    woken_count = 0;
    ASSERT_TRUE(msg_put(q, msg_item_new(type, 0), 1));
    for (int i = 0; i < woken_count; i++)
        names[i] = (char)('a' + (woken[i] - callers));
    EXPECT_STR(names, expected);
}

TEST(a_message_wakes_those_whom_it_suits)
{
    struct msg_queue *q = msg_find(msg_get(IPC_PRIVATE, 0600, &user));
    receive(q, &callers[0], 0, 0);
    receive(q, &callers[1], 5, MSG_NOERROR);
    receive(q, &callers[2], 5, MSG_EXCEPT);
    receive(q, &callers[3], -5, 0);
    receive(q, &callers[4], INT64_MIN, 0);
    receive(q, &callers[5], -4, MSG_EXCEPT);
    expect_woken(q, 4, "acdef");
    expect_woken(q, 5, "abde");
    expect_woken(q, 6, "ace");
    expect_woken(q, INT64_MAX, "ace");
}
