// SPDX-License-Identifier: Apache-2.0
/*
 * Who waits for System V messages and semaphores is woken by all that suits him: msgop(2),
 * semop(2). A case in which somebody is forgotten takes too long.
 */
#include "tests/sys/sysv_support.h"

#include <limits.h>
#include <time.h>

#define QUIET_US 20000 /* for what must not happen */

struct text {
    long type;
    char bytes[64];
};

static void note_signal(int sig)
{
}

/* A child that does this, and already waits in it. */
#define START(pid, does) \
    pid_t pid = fork();  \
    ASSERT_GE(pid, 0);   \
    if (pid == 0)        \
        _exit(!(does));  \
    harness_wait_until_sleeps(pid)

static void expect_waiting(pid_t pid)
{
    usleep(QUIET_US);
    EXPECT_EQ(waitpid(pid, NULL, WNOHANG), 0);
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
}

static void stop(pid_t pid)
{
    int status = 0;
    kill(pid, SIGSTOP);
    EXPECT_EQ(waitpid(pid, &status, WUNTRACED), pid);
    EXPECT_TRUE(WIFSTOPPED(status));
}

/* ---- messages ---- */

static int send_size(int id, long type, size_t size, int flags)
{
    struct text out = {.type = type};
    memset(out.bytes, 'm', sizeof(out.bytes));
    return msgsnd(id, &out, size, flags);
}

static int send_type(int id, long type)
{
    return send_size(id, type, 5, IPC_NOWAIT);
}

/* Takes one message; its type, or the negative errno. */
static long take_sized(int id, size_t size, long type, int flags)
{
    struct text in;
    return msgrcv(id, &in, size, type, flags) < 0 ? -errno : in.type;
}

static long take(int id, long type, int flags)
{
    return take_sized(id, sizeof(((struct text *)0)->bytes), type, flags);
}

static unsigned long count_of(int id)
{
    struct msqid_ds ds;
    ASSERT_EQ(msgctl(id, IPC_STAT, &ds), 0);
    return ds.msg_qnum;
}

TEST(each_type_wakes_its_receiver)
{
    enum { COUNT = 8 };
    pid_t pids[COUNT];
    begin();
    int id = make_queue();
    for (int i = 0; i < COUNT; i++) {
        START(pid, take(id, i + 1, 0) == i + 1);
        pids[i] = pid;
    }
    for (int i = COUNT; i > 0; i--) {
        EXPECT_EQ(send_type(id, i), 0);
        expect_success(pids[i - 1]);
    }
    EXPECT_EQ(count_of(id), 0);
}

TEST(a_receiver_of_all_but_a_type)
{
    begin();
    int id = make_queue();
    START(pid, take(id, 5, MSG_EXCEPT) == 6);
    EXPECT_EQ(send_type(id, 5), 0);
    expect_waiting(pid);
    EXPECT_EQ(send_type(id, 6), 0);
    expect_success(pid);
    EXPECT_EQ(count_of(id), 1);
}

TEST(a_receiver_of_types_up_to_one)
{
    begin();
    int id = make_queue();
    START(pid, take(id, -3, 0) == 3);
    EXPECT_EQ(send_type(id, 4), 0);
    expect_waiting(pid);
    EXPECT_EQ(send_type(id, 3), 0);
    expect_success(pid);
    EXPECT_EQ(take(id, LONG_MIN, 0), 4);
    START(waits, take(id, LONG_MIN, 0) == LONG_MAX);
    EXPECT_EQ(send_type(id, LONG_MAX), 0);
    expect_success(waits);
}

TEST(receivers_of_one_type_get_one_each)
{
    enum { COUNT = 5 };
    pid_t pids[COUNT];
    begin();
    int id = make_queue();
    for (int i = 0; i < COUNT; i++) {
        START(pid, take(id, 7, 0) == 7);
        pids[i] = pid;
    }
    for (int i = 0; i < COUNT; i++) {
        EXPECT_EQ(send_type(id, 9), 0);
        EXPECT_EQ(send_type(id, 7), 0);
    }
    for (int i = 0; i < COUNT; i++)
        expect_success(pids[i]);
    EXPECT_EQ(count_of(id), COUNT);
}

TEST(who_waits_longest_is_first)
{
    begin();
    int id = make_queue();
    START(first, take(id, 0, 0) == 1);
    START(second, take(id, 1, 0) == 1);
    EXPECT_EQ(send_type(id, 1), 0);
    expect_success(first);
    expect_waiting(second);
    EXPECT_EQ(send_type(id, 2), 0);
    expect_waiting(second);
    EXPECT_EQ(send_type(id, 1), 0);
    expect_success(second);
}

TEST(a_message_too_large_wakes_with_an_error)
{
    begin();
    int id = make_queue();
    START(small, take_sized(id, 2, 0, 0) == -E2BIG);
    START(large, take(id, 3, 0) == 3);
    EXPECT_EQ(send_type(id, 3), 0);
    expect_success(small);
    expect_success(large);
    START(cut, take_sized(id, 2, -4, MSG_NOERROR) == 4);
    EXPECT_EQ(send_type(id, 4), 0);
    expect_success(cut);
    START(alone, take_sized(id, 2, 6, MSG_EXCEPT) == -E2BIG);
    EXPECT_EQ(send_type(id, 5), 0);
    expect_success(alone);
    EXPECT_EQ(count_of(id), 1);
}

TEST(an_empty_message_wakes)
{
    begin();
    int id = make_queue();
    START(pid, take_sized(id, 0, 2, 0) == 2);
    EXPECT_EQ(send_size(id, 2, 0, 0), 0);
    expect_success(pid);
}

TEST(a_copy_leaves_the_waiting_alone)
{
    begin();
    int id = make_queue();
    EXPECT_EQ(send_type(id, 1), 0);
    START(pid, take(id, 2, 0) == 2);
    EXPECT_TRUE(take(id, 0, MSG_COPY | IPC_NOWAIT) == 1 || errno == ENOSYS);
    expect_waiting(pid);
    EXPECT_EQ(send_type(id, 2), 0);
    expect_success(pid);
}

TEST(room_wakes_all_senders_that_fit)
{
    struct msqid_ds ds;
    begin();
    int id = make_queue();
    ASSERT_EQ(msgctl(id, IPC_STAT, &ds), 0);
    ds.msg_qbytes = 20;
    ASSERT_EQ(msgctl(id, IPC_SET, &ds), 0);
    EXPECT_EQ(send_size(id, 1, 20, IPC_NOWAIT), 0);
    START(a, send_size(id, 2, 10, 0) == 0);
    START(b, send_size(id, 3, 10, 0) == 0);
    EXPECT_EQ(take(id, 1, 0), 1);
    expect_success(a);
    expect_success(b);
    EXPECT_EQ(count_of(id), 2);
}

TEST(a_larger_queue_wakes_its_senders)
{
    struct msqid_ds ds;
    begin();
    int id = make_queue();
    ASSERT_EQ(msgctl(id, IPC_STAT, &ds), 0);
    ds.msg_qbytes = 10;
    ASSERT_EQ(msgctl(id, IPC_SET, &ds), 0);
    START(sender, send_size(id, 1, 30, 0) == 0);
    START(receiver, take(id, 1, 0) == 1);
    ds.msg_qbytes = 20;
    ASSERT_EQ(msgctl(id, IPC_SET, &ds), 0);
    expect_waiting(sender);
    expect_waiting(receiver);
    ds.msg_qbytes = 30;
    ASSERT_EQ(msgctl(id, IPC_SET, &ds), 0);
    expect_success(sender);
    expect_success(receiver);
}

static bool take_without_right(int id)
{
    become_user();
    return take(id, 1, 0) == -EACCES;
}

TEST(a_right_taken_away_ends_the_wait)
{
    struct msqid_ds ds;
    if (geteuid() != 0)
        SKIP("only root can be two users");
    begin();
    int id = msgget(IPC_PRIVATE, 0666);
    START(pid, take_without_right(id));
    ASSERT_EQ(msgctl(id, IPC_STAT, &ds), 0);
    ds.msg_perm.mode = 0600;
    ASSERT_EQ(msgctl(id, IPC_SET, &ds), 0);
    expect_success(pid);
}

TEST(removal_wakes_every_kind_of_receiver)
{
    static const struct {
        long type;
        int flags;
    } kinds[] = {{0, 0}, {3, 0}, {3, MSG_EXCEPT}, {-3, 0}, {LONG_MIN, MSG_NOERROR}};
    enum { COUNT = sizeof(kinds) / sizeof(kinds[0]) };
    pid_t pids[COUNT];
    begin();
    int id = make_queue();
    for (int i = 0; i < COUNT; i++) {
        START(pid, take(id, kinds[i].type, kinds[i].flags) == -EIDRM);
        pids[i] = pid;
    }
    EXPECT_EQ(msgctl(id, IPC_RMID, NULL), 0);
    for (int i = 0; i < COUNT; i++)
        expect_success(pids[i]);
}

TEST(an_interrupted_receiver_takes_nothing)
{
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    begin();
    int id = make_queue();
    sigaction(SIGUSR1, &action, NULL);
    START(interrupted, take(id, 1, 0) == -EINTR);
    START(killed, take(id, 1, 0));
    START(left, take(id, 1, 0) == 1);
    kill(interrupted, SIGUSR1);
    expect_success(interrupted);
    end_child(killed);
    EXPECT_EQ(send_type(id, 1), 0);
    expect_success(left);
}

TEST(a_stopped_receiver_is_in_nobodys_way)
{
    begin();
    int id = make_queue();
    START(stopped, take(id, 1, 0) == 1);
    START(other, take(id, 1, 0) == 1);
    stop(stopped);
    EXPECT_EQ(send_type(id, 1), 0);
    expect_success(other);
    EXPECT_EQ(send_type(id, 1), 0);
    kill(stopped, SIGCONT);
    expect_success(stopped);
}

TEST(messages_go_round)
{
    enum { COUNT = 12, ROUNDS = 100 };
    pid_t pids[COUNT];
    begin();
    int id = make_queue();
    for (int i = 0; i < COUNT; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            for (int round = 0; round < ROUNDS; round++)
                if (take(id, i + 1, 0) != i + 1 || send_type(id, i == COUNT - 1 ? 99 : i + 2) != 0)
                    _exit(1);
            _exit(0);
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT_EQ(send_type(id, 1), 0);
        ASSERT_EQ(take(id, 99, 0), 99);
    }
    for (int i = 0; i < COUNT; i++)
        expect_success(pids[i]);
}

/* ---- semaphores ---- */

static int two(int id, struct sembuf a, struct sembuf b)
{
    struct sembuf ops[] = {a, b};
    return semop(id, ops, 2);
}

static int set_value(int id, int number, int value)
{
    return semctl(id, number, SETVAL, (union semun){.val = value});
}

TEST(each_waits_for_its_own_value)
{
    begin();
    int id = make_set(2);
    START(three, operate(id, 0, -3, 0) == 0);
    START(one, operate(id, 0, -1, 0) == 0);
    START(beside, operate(id, 1, -1, 0) == 0);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_success(one);
    EXPECT_EQ(operate(id, 0, 2, 0), 0);
    expect_waiting(three);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_success(three);
    expect_waiting(beside);
    EXPECT_EQ(operate(id, 1, 2, 0), 0);
    expect_success(beside);
    EXPECT_EQ(value_of(id, 0), 0);
    EXPECT_EQ(value_of(id, 1), 1);
}

TEST(one_operation_is_enough_for_many)
{
    enum { COUNT = 6 };
    pid_t pids[COUNT];
    begin();
    int id = make_set(1);
    for (int i = 0; i < COUNT; i++) {
        START(pid, operate(id, 0, -1, 0) == 0);
        pids[i] = pid;
    }
    EXPECT_EQ(operate(id, 0, COUNT, 0), 0);
    for (int i = 0; i < COUNT; i++)
        expect_success(pids[i]);
    EXPECT_EQ(value_of(id, 0), 0);
}

TEST(zero_wakes_all_who_wait_for_it)
{
    begin();
    int id = make_set(1);
    EXPECT_EQ(operate(id, 0, 2, 0), 0);
    START(a, operate(id, 0, 0, 0) == 0);
    START(b, operate(id, 0, 0, 0) == 0);
    EXPECT_EQ(operate(id, 0, -1, 0), 0);
    expect_waiting(a);
    EXPECT_EQ(operate(id, 0, -1, 0), 0);
    expect_success(a);
    expect_success(b);
}

/* What one that was woken leaves behind suits the next. */
TEST(who_is_woken_wakes_others)
{
    begin();
    int id = make_set(3);
    EXPECT_EQ(operate(id, 2, 1, 0), 0);
    START(zero, operate(id, 2, 0, 0) == 0);
    START(second, two(id, (struct sembuf){1, -1, 0}, (struct sembuf){2, -1, 0}) == 0);
    START(first, two(id, (struct sembuf){0, -1, 0}, (struct sembuf){1, 1, 0}) == 0);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_success(first);
    expect_success(second);
    expect_success(zero);
}

TEST(several_operations_wait_for_one_after_the_other)
{
    begin();
    int id = make_set(2);
    START(pid, two(id, (struct sembuf){0, -1, 0}, (struct sembuf){1, -1, 0}) == 0);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_waiting(pid);
    EXPECT_EQ(operate(id, 0, -1, IPC_NOWAIT), 0);
    EXPECT_EQ(operate(id, 1, 1, 0), 0);
    expect_waiting(pid);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_success(pid);
    START(twice, two(id, (struct sembuf){0, -1, 0}, (struct sembuf){0, -1, 0}) == 0);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_waiting(twice);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_success(twice);
}

static bool lock_and_unlock(int id)
{
    return two(id, (struct sembuf){0, 0, 0}, (struct sembuf){0, 1, 0}) == 0 &&
           operate(id, 0, -1, 0) == 0;
}

TEST(a_lock_of_two_operations_goes_from_one_to_the_next)
{
    begin();
    int id = make_set(1);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    START(a, lock_and_unlock(id));
    START(b, lock_and_unlock(id));
    START(c, lock_and_unlock(id));
    EXPECT_EQ(operate(id, 0, -1, 0), 0);
    expect_success(a);
    expect_success(b);
    expect_success(c);
}

TEST(operations_that_can_never_be_done_wake_with_an_error)
{
    begin();
    int id = make_set(2);
    EXPECT_EQ(set_value(id, 1, 32767), 0);
    START(pid,
          two(id, (struct sembuf){0, -1, 0}, (struct sembuf){1, 1, 0}) == -1 && errno == ERANGE);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_success(pid);
    EXPECT_EQ(value_of(id, 0), 1);
    /* Nor by an operation that comes before the one that waits. */
    EXPECT_EQ(set_value(id, 1, 0), 0);
    START(zero,
          two(id, (struct sembuf){1, 1, 0}, (struct sembuf){0, 0, 0}) == -1 && errno == ERANGE);
    EXPECT_EQ(operate(id, 1, 32767, 0), 0);
    expect_success(zero);
    /* The first waits, the second must not. */
    EXPECT_EQ(operate(id, 0, -1, 0), 0);
    START(unwilling, two(id, (struct sembuf){0, -1, 0}, (struct sembuf){1, 0, IPC_NOWAIT}) == -1 &&
                         errno == EAGAIN);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_success(unwilling);
}

TEST(a_value_set_wakes)
{
    begin();
    int id = make_set(2);
    START(five, operate(id, 0, -5, 0) == 0);
    EXPECT_EQ(set_value(id, 0, 4), 0);
    expect_waiting(five);
    EXPECT_EQ(set_value(id, 0, 5), 0);
    expect_success(five);
    EXPECT_EQ(set_value(id, 0, 9), 0);
    START(zero, operate(id, 0, 0, 0) == 0);
    EXPECT_EQ(set_value(id, 0, 0), 0);
    expect_success(zero);
}

TEST(all_values_set_wake)
{
    unsigned short values[2] = {2, 1};
    begin();
    int id = make_set(2);
    START(three, operate(id, 0, -3, 0) == 0);
    START(one, operate(id, 1, -1, 0) == 0);
    EXPECT_EQ(semctl(id, 0, SETALL, (union semun){.array = values}), 0);
    expect_success(one);
    expect_waiting(three);
    values[0] = 3;
    EXPECT_EQ(semctl(id, 0, SETALL, (union semun){.array = values}), 0);
    expect_success(three);
    START(zero, operate(id, 1, 0, 0) == 0);
    values[1] = 0;
    EXPECT_EQ(semctl(id, 0, SETALL, (union semun){.array = values}), 0);
    expect_success(zero);
}

TEST(a_changed_owner_changes_no_wait)
{
    struct semid_ds ds;
    begin();
    int id = make_set(1);
    START(pid, operate(id, 0, -1, 0) == 0);
    ASSERT_EQ(semctl(id, 0, IPC_STAT, (union semun){.buf = &ds}), 0);
    ASSERT_EQ(semctl(id, 0, IPC_SET, (union semun){.buf = &ds}), 0);
    expect_waiting(pid);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_success(pid);
}

static bool hold_up_and_sleep(int id)
{
    if (operate(id, 0, 2, SEM_UNDO) == 0 && operate(id, 1, -1, SEM_UNDO) == 0)
        pause();
    return false;
}

TEST(what_an_end_undoes_wakes)
{
    begin();
    int id = make_set(2);
    EXPECT_EQ(operate(id, 1, 1, 0), 0);
    START(holder, hold_up_and_sleep(id));
    START(zero, operate(id, 0, 0, 0) == 0);
    START(one, operate(id, 1, -1, 0) == 0);
    START(both, two(id, (struct sembuf){0, 0, 0}, (struct sembuf){1, 0, 0}) == 0);
    end_child(holder);
    expect_success(zero);
    expect_success(one);
    expect_success(both);
}

TEST(removal_wakes_every_kind_of_waiter)
{
    begin();
    int id = make_set(2);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    START(zero, operate(id, 0, 0, 0) == -1 && errno == EIDRM);
    START(more, operate(id, 0, -9, 0) == -1 && errno == EIDRM);
    START(both,
          two(id, (struct sembuf){0, -1, 0}, (struct sembuf){1, -1, 0}) == -1 && errno == EIDRM);
    EXPECT_EQ(semctl(id, 0, IPC_RMID), 0);
    expect_success(zero);
    expect_success(more);
    expect_success(both);
}

static bool gives_up_in_time(int id)
{
    struct sembuf op = {0, -2, 0};
    struct timespec limit = {1, 0};
    return semtimedop(id, &op, 1, &limit) == -1 && errno == EAGAIN;
}

TEST(an_interrupted_waiter_takes_nothing)
{
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    begin();
    int id = make_set(1);
    sigaction(SIGUSR1, &action, NULL);
    START(interrupted, operate(id, 0, -2, 0) == -1 && errno == EINTR);
    START(killed, operate(id, 0, -2, 0));
    START(late, gives_up_in_time(id));
    START(left, operate(id, 0, -2, 0) == 0);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    kill(interrupted, SIGUSR1);
    expect_success(interrupted);
    end_child(killed);
    expect_success(late);
    EXPECT_EQ(waits(id, GETNCNT), 1);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_success(left);
}

TEST(a_stopped_waiter_is_in_nobodys_way)
{
    begin();
    int id = make_set(1);
    START(stopped, operate(id, 0, -1, 0) == -1 && errno == EINTR);
    START(other, operate(id, 0, -1, 0) == 0);
    stop(stopped);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_success(other);
    kill(stopped, SIGCONT);
    expect_success(stopped);
    EXPECT_EQ(value_of(id, 0), 0);
}

TEST(turns_go_round)
{
    enum { COUNT = 12, ROUNDS = 100 };
    pid_t pids[COUNT];
    begin();
    int id = make_set(COUNT + 1);
    for (int i = 0; i < COUNT; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            for (int round = 0; round < ROUNDS; round++)
                if (operate(id, i, -1, 0) != 0 || operate(id, i + 1, 1, 0) != 0)
                    _exit(1);
            _exit(0);
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT_EQ(operate(id, 0, 1, 0), 0);
        ASSERT_EQ(operate(id, COUNT, -1, 0), 0);
    }
    for (int i = 0; i < COUNT; i++)
        expect_success(pids[i]);
}
