// SPDX-License-Identifier: Apache-2.0
/*
 * System V IPC: semget(2), semop(2), msgget(2), msgsnd(2), msgrcv(2), shmget(2), shmat(2) and kin.
 */
#include "tests/sys/sysv_support.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <time.h>

static void *volatile bad_address = (void *)8;

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static volatile sig_atomic_t signals_seen;

static void count_signal(int sig)
{
    signals_seen++;
}

static void alarm_in_a_second(void)
{
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    ASSERT_EQ(sigaction(SIGALRM, &action, NULL), 0);
    alarm(1);
}

/* ---- semaphores ---- */

TEST(sem_keys)
{
    begin();
    EXPECT_ERRNO(semget(0x1234, 1, 0), ENOENT);
    int id = semget(0x1234, 3, IPC_CREAT | 0600);
    ASSERT_GE(id, 0);
    EXPECT_EQ(semget(0x1234, 3, 0), id);
    EXPECT_EQ(semget(0x1234, 0, 0), id);
    EXPECT_ERRNO(semget(0x1234, 4, 0), EINVAL);
    EXPECT_ERRNO(semget(0x1234, 3, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
    EXPECT_EQ(semctl(id, 0, IPC_RMID), 0);
    EXPECT_ERRNO(semget(0x1234, 3, 0), ENOENT);
    EXPECT_ERRNO(semctl(id, 0, GETVAL), EINVAL);
    int again = semget(0x1234, 3, IPC_CREAT | 0600);
    EXPECT_NE(again, id);
}

TEST(sem_private_sets_are_new_each_time)
{
    begin();
    EXPECT_NE(make_set(1), make_set(1));
}

TEST(sem_counts_are_checked)
{
    begin();
    EXPECT_ERRNO(semget(IPC_PRIVATE, 0, 0600), EINVAL);
    EXPECT_ERRNO(semget(IPC_PRIVATE, -1, 0600), EINVAL);
    EXPECT_ERRNO(semget(IPC_PRIVATE, 1 << 20, 0600), EINVAL);
}

TEST(sem_begins_at_zero_and_counts)
{
    begin();
    int id = make_set(2);
    EXPECT_EQ(value_of(id, 0), 0);
    EXPECT_EQ(operate(id, 0, 5, 0), 0);
    EXPECT_EQ(operate(id, 0, -2, 0), 0);
    EXPECT_EQ(value_of(id, 0), 3);
    EXPECT_EQ(value_of(id, 1), 0);
    EXPECT_EQ(semctl(id, 0, GETPID), getpid());
}

TEST(sem_operations_are_checked)
{
    struct sembuf b = {0, 1, 0};
    static struct sembuf many[501];
    begin();
    int id = make_set(1);
    EXPECT_ERRNO(operate(id, 1, 1, 0), EFBIG);
    EXPECT_ERRNO(semop(id, &b, 0), EINVAL);
    EXPECT_ERRNO(semop(id, many, 501), E2BIG);
    EXPECT_ERRNO(semop(-1, &b, 1), EINVAL);
    EXPECT_ERRNO(semop(id + 1, &b, 1), EINVAL);
    EXPECT_ERRNO(semop(id, bad_address, 1), EFAULT);
    EXPECT_EQ(operate(id, 0, 32767, 0), 0);
    EXPECT_ERRNO(operate(id, 0, 1, 0), ERANGE);
}

TEST(sem_without_waiting_is_eagain)
{
    begin();
    int id = make_set(1);
    EXPECT_ERRNO(operate(id, 0, -1, IPC_NOWAIT), EAGAIN);
    EXPECT_EQ(operate(id, 0, 0, IPC_NOWAIT), 0);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    EXPECT_ERRNO(operate(id, 0, 0, IPC_NOWAIT), EAGAIN);
}

TEST(sem_operations_are_all_or_none)
{
    begin();
    int id = make_set(2);
    struct sembuf ops[3] = {{0, 3, 0}, {0, -1, 0}, {1, -1, IPC_NOWAIT}};
    EXPECT_ERRNO(semop(id, ops, 3), EAGAIN);
    EXPECT_EQ(value_of(id, 0), 0);
    EXPECT_EQ(semop(id, ops, 2), 0);
    EXPECT_EQ(value_of(id, 0), 2);
}

TEST(sem_waits_for_a_value)
{
    begin();
    int id = make_set(1);
    pid_t child = fork();
    if (child == 0)
        _exit(operate(id, 0, -2, 0) != 0);
    EXPECT_EQ(waits(id, GETNCNT), 1);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    usleep(30000);
    EXPECT_EQ(waits(id, GETNCNT), 1);
    EXPECT_EQ(semctl(id, 0, GETZCNT), 0);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    expect_success(child);
    EXPECT_EQ(value_of(id, 0), 0);
    EXPECT_EQ(semctl(id, 0, GETNCNT), 0);
}

TEST(sem_waits_for_zero)
{
    begin();
    int id = make_set(1);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(operate(id, 0, 0, 0) != 0);
    EXPECT_EQ(waits(id, GETZCNT), 1);
    EXPECT_EQ(operate(id, 0, -1, 0), 0);
    expect_success(child);
}

TEST(sem_timeout_is_eagain)
{
    struct sembuf b = {0, -1, 0};
    struct timespec t = {0, 60000000}, bad = {0, -1};
    begin();
    int id = make_set(1);
    long start = now_ms();
    EXPECT_ERRNO(semtimedop(id, &b, 1, &t), EAGAIN);
    EXPECT_GE(now_ms() - start, 60);
    EXPECT_ERRNO(semtimedop(id, &b, 1, &bad), EINVAL);
    EXPECT_ERRNO(semtimedop(id, &b, 1, bad_address), EFAULT);
}

/* What can't be read, then what is too much, then what makes no sense, then what is not there. */
TEST(sem_which_error_comes_first)
{
    static struct sembuf many[501];
    struct timespec bad = {0, -1};
    begin();
    int id = make_set(1), gone = make_set(1);
    EXPECT_EQ(semctl(gone, 0, IPC_RMID), 0);
    EXPECT_ERRNO(semtimedop(-1, bad_address, 501, bad_address), EFAULT);
    EXPECT_ERRNO(semtimedop(-1, bad_address, 501, &bad), E2BIG);
    EXPECT_ERRNO(semop(-1, many, 501), E2BIG);
    EXPECT_ERRNO(semtimedop(id, many, 501, &bad), E2BIG);
    EXPECT_ERRNO(semop(-1, bad_address, 1), EFAULT);
    EXPECT_ERRNO(semtimedop(id, bad_address, 1, &bad), EFAULT);
    EXPECT_ERRNO(semtimedop(-1, many, 1, &bad), EINVAL);
    EXPECT_ERRNO(semop(id, bad_address, 0), EINVAL);
    EXPECT_ERRNO(semctl(id, 3, SETVAL, (union semun){.val = 32768}), ERANGE);
    EXPECT_ERRNO(semctl(gone, 0, SETVAL, (union semun){.val = 32768}), ERANGE);
    EXPECT_ERRNO(semctl(id, 3, SETVAL, (union semun){.val = 1}), EINVAL);
    EXPECT_ERRNO(semctl(gone, 0, SETVAL, (union semun){.val = 1}), EINVAL);
}

TEST(sem_removal_wakes_waiters)
{
    begin();
    int id = make_set(1);
    pid_t child = fork();
    if (child == 0)
        _exit(!(operate(id, 0, -1, 0) == -1 && errno == EIDRM));
    EXPECT_EQ(waits(id, GETNCNT), 1);
    EXPECT_EQ(semctl(id, 0, IPC_RMID), 0);
    expect_success(child);
}

TEST(sem_wait_is_never_restarted)
{
    begin();
    int id = make_set(1);
    alarm_in_a_second();
    EXPECT_ERRNO(operate(id, 0, -1, 0), EINTR);
    EXPECT_EQ(semctl(id, 0, GETNCNT), 0);
}

TEST(sem_undo_at_exit)
{
    begin();
    int id = make_set(2);
    EXPECT_EQ(operate(id, 1, 5, 0), 0);
    pid_t child = fork();
    if (child == 0) {
        operate(id, 0, 3, SEM_UNDO);
        operate(id, 1, -2, SEM_UNDO);
        operate(id, 1, 4, 0);
        _exit(value_of(id, 0) != 3 || value_of(id, 1) != 7);
    }
    expect_success(child);
    for (int i = 0; i < 100 && value_of(id, 0) != 0; i++)
        usleep(10000);
    EXPECT_EQ(value_of(id, 0), 0);
    EXPECT_EQ(value_of(id, 1), 9);
}

TEST(sem_undo_of_a_killed_process_wakes)
{
    begin();
    int id = make_set(1);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    pid_t child = fork();
    if (child == 0) {
        operate(id, 0, -1, SEM_UNDO);
        pause();
    }
    while (value_of(id, 0) != 0)
        usleep(1000);
    kill(child, SIGKILL);
    EXPECT_EQ(operate(id, 0, -1, 0), 0);
    waitpid(child, NULL, 0);
}

TEST(sem_setting_a_value_forgets_undo)
{
    begin();
    int id = make_set(1);
    pid_t child = fork();
    if (child == 0) {
        operate(id, 0, 3, SEM_UNDO);
        semctl(id, 0, SETVAL, (union semun){.val = 7});
        _exit(0);
    }
    expect_success(child);
    usleep(50000);
    EXPECT_EQ(value_of(id, 0), 7);
}

TEST(sem_setting_all_values_forgets_undo)
{
    unsigned short values[3] = {5, 6, 7}, back[3] = {0};
    begin();
    int id = make_set(3);
    pid_t child = fork();
    if (child == 0) {
        operate(id, 0, 3, SEM_UNDO);
        operate(id, 2, 4, SEM_UNDO);
        semctl(id, 0, SETALL, (union semun){.array = values});
        operate(id, 1, 2, SEM_UNDO);
        _exit(0);
    }
    expect_success(child);
    /* Its undo is done before its end is told. */
    EXPECT_EQ(semctl(id, 0, GETALL, (union semun){.array = back}), 0);
    EXPECT_EQ(memcmp(values, back, sizeof(back)), 0);
}

TEST(sem_undo_of_many_sets)
{
    enum { SETS = 300 };
    static int ids[SETS];
    begin();
    for (int i = 0; i < SETS; i++)
        ids[i] = make_set(1);
    pid_t child = fork();
    if (child == 0) {
        for (int round = 0; round < 2; round++)
            for (int i = 0; i < SETS; i++)
                operate(ids[i], 0, 1, SEM_UNDO);
        for (int i = 0; i < SETS; i += 2)
            semctl(ids[i], 0, IPC_RMID);
        _exit(value_of(ids[1], 0) != 2);
    }
    expect_success(child);
    for (int i = 1; i < SETS; i += 2) {
        EXPECT_EQ(value_of(ids[i], 0), 0);
        semctl(ids[i], 0, IPC_RMID);
    }
}

TEST(sem_control_of_values)
{
    unsigned short values[3] = {1, 2, 40000}, back[3] = {0};
    begin();
    int id = make_set(3);
    EXPECT_ERRNO(semctl(id, 0, SETALL, (union semun){.array = values}), ERANGE);
    values[2] = 3;
    EXPECT_EQ(semctl(id, 0, SETALL, (union semun){.array = values}), 0);
    EXPECT_EQ(semctl(id, 0, GETALL, (union semun){.array = back}), 0);
    EXPECT_EQ(memcmp(values, back, sizeof(back)), 0);
    EXPECT_EQ(semctl(id, 1, SETVAL, (union semun){.val = 9}), 0);
    EXPECT_EQ(value_of(id, 1), 9);
    EXPECT_ERRNO(semctl(id, 1, SETVAL, (union semun){.val = 32768}), ERANGE);
    EXPECT_ERRNO(semctl(id, 1, SETVAL, (union semun){.val = -1}), ERANGE);
    EXPECT_ERRNO(semctl(id, 3, GETVAL), EINVAL);
    EXPECT_ERRNO(semctl(id, -1, GETVAL), EINVAL);
    EXPECT_ERRNO(semctl(id, 0, 12345), EINVAL);
    EXPECT_ERRNO(semctl(id, 0, GETALL, (union semun){.array = bad_address}), EFAULT);
}

TEST(sem_stat_and_set)
{
    struct semid_ds ds;
    begin();
    int id = semget(0x77, 4, IPC_CREAT | 0640);
    ASSERT_EQ(semctl(id, 0, IPC_STAT, (union semun){.buf = &ds}), 0);
    EXPECT_EQ(ds.sem_nsems, 4);
    EXPECT_EQ(ds.sem_otime, 0);
    EXPECT_GE(ds.sem_ctime, time(NULL) - 5);
    EXPECT_EQ(ds.sem_perm.__key, 0x77);
    EXPECT_EQ(ds.sem_perm.mode, 0640);
    EXPECT_EQ(ds.sem_perm.uid, geteuid());
    EXPECT_EQ(ds.sem_perm.cgid, getegid());
    ds.sem_perm.mode = 0600;
    EXPECT_EQ(semctl(id, 0, IPC_SET, (union semun){.buf = &ds}), 0);
    EXPECT_EQ(operate(id, 0, 1, 0), 0);
    ASSERT_EQ(semctl(id, 0, IPC_STAT, (union semun){.buf = &ds}), 0);
    EXPECT_EQ(ds.sem_perm.mode, 0600);
    EXPECT_GT(ds.sem_otime, 0);
    EXPECT_ERRNO(semctl(id, 0, IPC_STAT, (union semun){.buf = bad_address}), EFAULT);
}

TEST(sem_info)
{
    struct seminfo info;
    struct semid_ds ds;
    begin();
    int id = make_set(5);
    int last = semctl(0, 0, SEM_INFO, (union semun){.info = &info});
    EXPECT_GE(last, 0);
    EXPECT_GE(info.semusz, 1);
    EXPECT_GE(info.semaem, 5);
    EXPECT_GE(semctl(0, 0, IPC_INFO, (union semun){.info = &info}), 0);
    EXPECT_EQ(info.semvmx, 32767);
    EXPECT_EQ(info.semopm, 500);
    bool found = false;
    for (int i = 0; i <= last; i++)
        found |= semctl(i, 0, SEM_STAT, (union semun){.buf = &ds}) == id;
    EXPECT_TRUE(found);
}

TEST(sem_permissions)
{
    struct semid_ds ds;
    begin();
    become_user();
    int id = semget(0x99, 1, IPC_CREAT | 0000);
    ASSERT_GE(id, 0);
    EXPECT_ERRNO(semget(0x99, 1, 0600), EACCES);
    EXPECT_ERRNO(operate(id, 0, 1, 0), EACCES);
    EXPECT_ERRNO(semctl(id, 0, GETVAL), EACCES);
    EXPECT_ERRNO(semctl(id, 0, IPC_STAT, (union semun){.buf = &ds}), EACCES);
    memset(&ds, 0, sizeof(ds));
    ds.sem_perm.uid = getuid();
    ds.sem_perm.gid = getgid();
    ds.sem_perm.mode = 0400;
    EXPECT_EQ(semctl(id, 0, IPC_SET, (union semun){.buf = &ds}), 0);
    EXPECT_EQ(semctl(id, 0, GETVAL), 0);
    EXPECT_ERRNO(operate(id, 0, 1, 0), EACCES);
    EXPECT_EQ(operate(id, 0, 0, 0), 0);
    EXPECT_EQ(semctl(id, 0, IPC_RMID), 0);
}

TEST(sem_of_others)
{
    if (geteuid() != 0)
        SKIP("only root can be two users");
    begin();
    int id = semget(0x99, 1, IPC_CREAT | 0644);
    become_user();
    EXPECT_EQ(semget(0x99, 1, 0400), id);
    EXPECT_EQ(semctl(id, 0, GETVAL), 0);
    EXPECT_ERRNO(operate(id, 0, 1, 0), EACCES);
    EXPECT_ERRNO(semctl(id, 0, IPC_RMID), EPERM);
}

/* ---- messages ---- */

struct text {
    long type;
    char bytes[8192];
};
static struct text out, back;

static int send_text(int id, long type, const char *text)
{
    out.type = type;
    strcpy(out.bytes, text);
    return msgsnd(id, &out, strlen(text) + 1, IPC_NOWAIT);
}

static const char *receive(int id, long type, int flags)
{
    memset(&back, 0, sizeof(back));
    if (msgrcv(id, &back, sizeof(back.bytes), type, flags | IPC_NOWAIT) < 0)
        return errno == ENOMSG ? "nothing" : strerror(errno);
    return back.bytes;
}

TEST(msg_keys)
{
    begin();
    EXPECT_ERRNO(msgget(0x1234, 0), ENOENT);
    int id = msgget(0x1234, IPC_CREAT | 0600);
    ASSERT_GE(id, 0);
    EXPECT_EQ(msgget(0x1234, 0), id);
    EXPECT_ERRNO(msgget(0x1234, IPC_CREAT | IPC_EXCL), EEXIST);
    EXPECT_EQ(msgctl(id, IPC_RMID, NULL), 0);
    EXPECT_ERRNO(msgctl(id, IPC_RMID, NULL), EINVAL);
    EXPECT_ERRNO(msgget(0x1234, 0), ENOENT);
}

TEST(msg_first_in_first_out)
{
    begin();
    int id = make_queue();
    EXPECT_EQ(send_text(id, 3, "three"), 0);
    EXPECT_EQ(send_text(id, 1, "one"), 0);
    EXPECT_STR(receive(id, 0, 0), "three");
    EXPECT_EQ(back.type, 3);
    EXPECT_STR(receive(id, 0, 0), "one");
    EXPECT_STR(receive(id, 0, 0), "nothing");
}

TEST(msg_types_choose)
{
    begin();
    int id = make_queue();
    send_text(id, 3, "a");
    send_text(id, 2, "b");
    send_text(id, 2, "c");
    send_text(id, 5, "d");
    EXPECT_STR(receive(id, 4, 0), "nothing");
    EXPECT_STR(receive(id, 2, 0), "b");
    EXPECT_STR(receive(id, 3, MSG_EXCEPT), "c");
    EXPECT_STR(receive(id, -1, 0), "nothing");
    EXPECT_STR(receive(id, -5, 0), "a");
    EXPECT_STR(receive(id, LONG_MIN, 0), "d");
}

TEST(msg_too_large_for_the_buffer)
{
    begin();
    int id = make_queue();
    send_text(id, 1, "0123456789");
    EXPECT_ERRNO(msgrcv(id, &back, 4, 0, 0), E2BIG);
    EXPECT_EQ(msgrcv(id, &back, 4, 0, MSG_NOERROR), 4);
    EXPECT_EQ(memcmp(back.bytes, "0123", 4), 0);
    EXPECT_STR(receive(id, 0, 0), "nothing");
}

TEST(msg_arguments_are_checked)
{
    begin();
    int id = make_queue();
    EXPECT_ERRNO(send_text(id, 0, "x"), EINVAL);
    EXPECT_ERRNO(send_text(id, -1, "x"), EINVAL);
    out.type = 1;
    EXPECT_ERRNO(msgsnd(id, &out, 8193, IPC_NOWAIT), EINVAL);
    EXPECT_ERRNO(msgsnd(-1, &out, 1, 0), EINVAL);
    EXPECT_ERRNO(msgsnd(id + 1, &out, 1, 0), EINVAL);
    EXPECT_ERRNO(msgsnd(id, bad_address, 1, 0), EFAULT);
    EXPECT_ERRNO(msgrcv(id + 1, &back, 1, 0, 0), EINVAL);
    EXPECT_ERRNO(msgctl(id, 12345, NULL), EINVAL);
    EXPECT_EQ(msgsnd(id, &out, 0, 0), 0);
    EXPECT_EQ(msgrcv(id, &back, 0, 0, 0), 0);
}

TEST(msg_full_queue)
{
    begin();
    int id = make_queue();
    out.type = 1;
    EXPECT_EQ(msgsnd(id, &out, 8192, IPC_NOWAIT), 0);
    EXPECT_EQ(msgsnd(id, &out, 8192, IPC_NOWAIT), 0);
    EXPECT_ERRNO(msgsnd(id, &out, 1, IPC_NOWAIT), EAGAIN);
    pid_t child = fork();
    if (child == 0)
        _exit(msgsnd(id, &out, 100, 0) != 0);
    harness_wait_until_sleeps(child);
    EXPECT_EQ(msgrcv(id, &back, 8192, 0, 0), 8192);
    expect_success(child);
    EXPECT_EQ(msgrcv(id, &back, 8192, 0, 0), 8192);
    EXPECT_EQ(msgrcv(id, &back, 8192, 0, 0), 100);
}

TEST(msg_blocked_receiver_is_woken_by_its_type)
{
    begin();
    int id = make_queue();
    pid_t child = fork();
    if (child == 0)
        _exit(!(msgrcv(id, &back, 100, 7, 0) == 6 && back.type == 7));
    harness_wait_until_sleeps(child);
    send_text(id, 6, "other");
    usleep(30000);
    send_text(id, 7, "right");
    expect_success(child);
    EXPECT_STR(receive(id, 0, 0), "other");
}

TEST(msg_blocked_receiver_gets_what_comes_behind_others)
{
    struct msqid_ds ds;
    begin();
    int id = make_queue();
    for (int i = 0; i < 20; i++)
        send_text(id, 6, "before");
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 10; i++)
            if (msgrcv(id, &back, 100, -5, 0) != 6 || back.type != 5)
                _exit(1);
        _exit(0);
    }
    for (int i = 0; i < 10; i++) {
        send_text(id, 9, "beside");
        send_text(id, 5, "right");
        do
            msgctl(id, IPC_STAT, &ds);
        while (ds.msg_qnum != 20 + (unsigned long)i + 1 && kill(child, 0) == 0);
    }
    expect_success(child);
    EXPECT_STR(receive(id, 0, 0), "before");
}

TEST(msg_removal_wakes_both_sides)
{
    begin();
    int empty = make_queue(), full = make_queue();
    out.type = 1;
    ASSERT_EQ(msgsnd(full, &out, 8192, 0), 0);
    ASSERT_EQ(msgsnd(full, &out, 8192, 0), 0);
    pid_t receiver = fork();
    if (receiver == 0)
        _exit(!(msgrcv(empty, &back, 100, 0, 0) == -1 && errno == EIDRM));
    pid_t sender = fork();
    if (sender == 0)
        _exit(!(msgsnd(full, &out, 100, 0) == -1 && errno == EIDRM));
    harness_wait_until_sleeps(receiver);
    harness_wait_until_sleeps(sender);
    EXPECT_EQ(msgctl(empty, IPC_RMID, NULL), 0);
    EXPECT_EQ(msgctl(full, IPC_RMID, NULL), 0);
    expect_success(receiver);
    expect_success(sender);
}

TEST(msg_wait_is_interrupted)
{
    begin();
    int id = make_queue();
    alarm_in_a_second();
    EXPECT_ERRNO(msgrcv(id, &back, 100, 0, 0), EINTR);
    EXPECT_EQ(signals_seen, 1);
}

TEST(msg_stat_counts)
{
    struct msqid_ds ds;
    begin();
    int id = make_queue();
    ASSERT_EQ(msgctl(id, IPC_STAT, &ds), 0);
    EXPECT_EQ(ds.msg_qnum, 0);
    EXPECT_EQ(ds.msg_qbytes, 16384);
    EXPECT_EQ(ds.msg_stime, 0);
    send_text(id, 1, "abc");
    ASSERT_EQ(msgctl(id, IPC_STAT, &ds), 0);
    EXPECT_EQ(ds.msg_qnum, 1);
    EXPECT_EQ(ds.__msg_cbytes, 4);
    EXPECT_EQ(ds.msg_lspid, getpid());
    EXPECT_EQ(ds.msg_lrpid, 0);
    EXPECT_GT(ds.msg_stime, 0);
    receive(id, 0, 0);
    ASSERT_EQ(msgctl(id, IPC_STAT, &ds), 0);
    EXPECT_EQ(ds.__msg_cbytes, 0);
    EXPECT_EQ(ds.msg_lrpid, getpid());
    ds.msg_qbytes = 4;
    EXPECT_EQ(msgctl(id, IPC_SET, &ds), 0);
    EXPECT_EQ(send_text(id, 1, "abc"), 0);
    EXPECT_ERRNO(send_text(id, 1, ""), EAGAIN);
    if (geteuid() != 0) {
        ds.msg_qbytes = 16385;
        EXPECT_ERRNO(msgctl(id, IPC_SET, &ds), EPERM);
    }
    EXPECT_ERRNO(msgctl(id, IPC_STAT, bad_address), EFAULT);
}

TEST(msg_copy_leaves_the_message)
{
    begin();
    int id = make_queue();
    send_text(id, 1, "first");
    send_text(id, 2, "second");
    errno = 0;
    if (msgrcv(id, &back, 100, 1, MSG_COPY | IPC_NOWAIT) < 0 && errno == ENOSYS)
        SKIP("the host has no MSG_COPY");
    EXPECT_STR(back.bytes, "second");
    EXPECT_STR(receive(id, 0, MSG_COPY), "first");
    EXPECT_STR(receive(id, 2, MSG_COPY), "nothing");
    EXPECT_ERRNO(msgrcv(id, &back, 100, 0, MSG_COPY), EINVAL);
    EXPECT_ERRNO(msgrcv(id, &back, 2, 0, MSG_COPY | IPC_NOWAIT), E2BIG);
    EXPECT_ERRNO(msgrcv(id, &back, 2, 0, MSG_COPY | IPC_NOWAIT | MSG_NOERROR), EINVAL);
    EXPECT_ERRNO(msgrcv(id, &back, 100, 0, MSG_COPY | MSG_EXCEPT | IPC_NOWAIT), EINVAL);
    EXPECT_STR(receive(id, 0, 0), "first");
}

TEST(msg_info)
{
    struct msginfo info;
    begin();
    make_queue();
    EXPECT_GE(msgctl(0, MSG_INFO, (void *)&info), 0);
    EXPECT_GE(info.msgpool, 1);
    EXPECT_GE(msgctl(0, IPC_INFO, (void *)&info), 0);
    EXPECT_EQ(info.msgmax, 8192);
    EXPECT_EQ(info.msgmnb, 16384);
}

TEST(msg_permissions)
{
    begin();
    become_user();
    int id = msgget(IPC_PRIVATE, 0400);
    EXPECT_ERRNO(send_text(id, 1, "x"), EACCES);
    EXPECT_STR(receive(id, 0, 0), "nothing");
    id = msgget(IPC_PRIVATE, 0200);
    EXPECT_EQ(send_text(id, 1, "x"), 0);
    EXPECT_ERRNO(msgrcv(id, &back, 10, 0, 0), EACCES);
}

/* ---- shared memory ---- */

static int make_segment(size_t size)
{
    int id = shmget(IPC_PRIVATE, size, 0600);
    ASSERT_GE(id, 0);
    return id;
}

static char *attach(int id, int flags)
{
    char *at = shmat(id, NULL, flags);
    ASSERT_TRUE(at != (void *)-1);
    return at;
}

static struct shmid_ds stat_segment(int id)
{
    struct shmid_ds ds;
    memset(&ds, 0, sizeof(ds));
    EXPECT_EQ(shmctl(id, IPC_STAT, &ds), 0);
    return ds;
}

TEST(shm_keys_and_sizes)
{
    begin();
    EXPECT_ERRNO(shmget(0x1234, 100, 0), ENOENT);
    int id = shmget(0x1234, 100, IPC_CREAT | 0600);
    ASSERT_GE(id, 0);
    EXPECT_EQ(shmget(0x1234, 100, 0), id);
    EXPECT_EQ(shmget(0x1234, 0, 0), id);
    EXPECT_ERRNO(shmget(0x1234, 5000, 0), EINVAL);
    EXPECT_ERRNO(shmget(0x1234, 100, IPC_CREAT | IPC_EXCL), EEXIST);
    EXPECT_ERRNO(shmget(IPC_PRIVATE, 0, 0600), EINVAL);
    EXPECT_EQ(shmctl(id, IPC_RMID, NULL), 0);
    EXPECT_ERRNO(shmget(0x1234, 100, 0), ENOENT);
    EXPECT_ERRNO(shmctl(id, IPC_RMID, NULL), EINVAL);
}

TEST(shm_is_shared)
{
    begin();
    int id = make_segment(8192);
    char *a = attach(id, 0), *b = attach(id, 0);
    EXPECT_TRUE(a != b);
    EXPECT_EQ(a[5000], 0);
    a[5000] = 7;
    EXPECT_EQ(b[5000], 7);
    pid_t child = fork();
    if (child == 0) {
        a[1] = 9;
        _exit(a[5000] != 7);
    }
    expect_success(child);
    EXPECT_EQ(b[1], 9);
    EXPECT_EQ(shmdt(a), 0);
    EXPECT_ERRNO(shmdt(a), EINVAL);
    EXPECT_EQ(b[1], 9);
}

TEST(shm_attached_by_id_in_another_process)
{
    begin();
    int id = make_segment(4096);
    attach(id, 0)[0] = 'x';
    pid_t child = fork();
    if (child == 0) {
        char *at = shmat(id, NULL, 0);
        _exit(at == (void *)-1 || at[0] != 'x');
    }
    expect_success(child);
}

TEST(shm_read_only_cannot_be_written)
{
    int status;
    begin();
    int id = make_segment(4096);
    char *at = attach(id, SHM_RDONLY);
    EXPECT_EQ(at[0], 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        at[0] = 1;
        _exit(0);
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    EXPECT_EQ(mprotect(at, 4096, PROT_READ | PROT_WRITE), -1);
}

TEST(shm_arguments_are_checked)
{
    begin();
    int id = make_segment(4096);
    EXPECT_TRUE(shmat(id + 1, NULL, 0) == (void *)-1 && errno == EINVAL);
    EXPECT_TRUE(shmat(-1, NULL, 0) == (void *)-1 && errno == EINVAL);
    EXPECT_TRUE(shmat(id, (void *)0x10000001, 0) == (void *)-1 && errno == EINVAL);
    EXPECT_ERRNO(shmdt(bad_address), EINVAL);
    EXPECT_ERRNO(shmctl(id, 12345, NULL), EINVAL);
    EXPECT_ERRNO(shmctl(id + 1, IPC_STAT, bad_address), EINVAL);
    EXPECT_ERRNO(shmctl(id, IPC_STAT, bad_address), EFAULT);
}

TEST(shm_address_is_rounded_on_request)
{
    begin();
    int id = make_segment(4096);
    char *hole = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(munmap(hole, 8192), 0);
    EXPECT_TRUE(shmat(id, hole + 5, SHM_RND) == hole);
}

TEST(shm_removed_segment_lives_until_the_last_detach)
{
    begin();
    int id = make_segment(4096);
    char *at = attach(id, 0);
    at[0] = 5;
    EXPECT_EQ(shmctl(id, IPC_RMID, NULL), 0);
    EXPECT_EQ(at[0], 5);
    EXPECT_TRUE(stat_segment(id).shm_perm.mode & SHM_DEST);
    EXPECT_EQ(attach(id, 0)[0], 5);
    EXPECT_EQ(stat_segment(id).shm_nattch, 2);
}

TEST(shm_removed_segment_is_gone_after_it)
{
    struct shmid_ds ds;
    begin();
    int id = make_segment(4096);
    char *at = attach(id, 0);
    EXPECT_EQ(shmctl(id, IPC_RMID, NULL), 0);
    EXPECT_EQ(shmdt(at), 0);
    EXPECT_ERRNO(shmctl(id, IPC_STAT, &ds), EINVAL);
    EXPECT_TRUE(shmat(id, NULL, 0) == (void *)-1 && errno == EINVAL);
}

TEST(shm_stat)
{
    begin();
    int id = shmget(0x55, 5000, IPC_CREAT | 0640);
    struct shmid_ds ds = stat_segment(id);
    EXPECT_EQ(ds.shm_segsz, 5000);
    EXPECT_EQ(ds.shm_nattch, 0);
    EXPECT_EQ(ds.shm_cpid, getpid());
    EXPECT_EQ(ds.shm_lpid, 0);
    EXPECT_EQ(ds.shm_perm.__key, 0x55);
    EXPECT_EQ(ds.shm_perm.mode, 0640);
    EXPECT_EQ(ds.shm_perm.cuid, geteuid());
    EXPECT_EQ(ds.shm_atime, 0);
    char *at = attach(id, 0);
    ds = stat_segment(id);
    EXPECT_EQ(ds.shm_nattch, 1);
    EXPECT_EQ(ds.shm_lpid, getpid());
    EXPECT_GT(ds.shm_atime, 0);
    ds.shm_perm.mode = 0600;
    EXPECT_EQ(shmctl(id, IPC_SET, &ds), 0);
    EXPECT_EQ(stat_segment(id).shm_perm.mode, 0600);
    EXPECT_EQ(shmdt(at), 0);
    EXPECT_EQ(stat_segment(id).shm_nattch, 0);
}

TEST(shm_fork_attaches_and_exit_detaches)
{
    begin();
    int id = make_segment(4096), ends[2];
    attach(id, 0);
    ASSERT_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char c;
        close(ends[1]);
        _exit(read(ends[0], &c, 1) != 0);
    }
    EXPECT_EQ(stat_segment(id).shm_nattch, 2);
    close(ends[1]);
    expect_success(child);
    EXPECT_EQ(stat_segment(id).shm_nattch, 1);
}

TEST(shm_info)
{
    struct shminfo limits;
    struct shm_info usage;
    struct shmid_ds ds;
    begin();
    int id = make_segment(4096 * 3);
    EXPECT_GE(shmctl(0, IPC_INFO, (void *)&limits), 0);
    EXPECT_EQ(limits.shmmin, 1);
    int last = shmctl(0, SHM_INFO, (void *)&usage);
    EXPECT_GE(usage.used_ids, 1);
    EXPECT_GE(usage.shm_tot, 3);
    char *memory = shmat(id, NULL, 0);
    ASSERT_TRUE(memory != (void *)-1);
    memory[0] = memory[4096] = 1;
    EXPECT_EQ(shmctl(0, SHM_INFO, (void *)&usage), last);
    EXPECT_GE(usage.shm_rss + usage.shm_swp, 2);
    shmdt(memory);
    bool found = false;
    for (int i = 0; i <= last; i++)
        found |= shmctl(i, SHM_STAT, &ds) == id && ds.shm_segsz == 4096 * 3;
    EXPECT_TRUE(found);
}

TEST(shm_permissions)
{
    begin();
    become_user();
    int id = shmget(0x66, 4096, IPC_CREAT | 0400);
    ASSERT_GE(id, 0);
    EXPECT_TRUE(shmat(id, NULL, 0) == (void *)-1 && errno == EACCES);
    EXPECT_TRUE(shmat(id, NULL, SHM_RDONLY) != (void *)-1);
    EXPECT_ERRNO(shmget(0x66, 4096, 0600), EACCES);
    id = shmget(IPC_PRIVATE, 4096, 0000);
    EXPECT_TRUE(shmat(id, NULL, SHM_RDONLY) == (void *)-1 && errno == EACCES);
    struct shmid_ds ds;
    EXPECT_ERRNO(shmctl(id, IPC_STAT, &ds), EACCES);
    EXPECT_EQ(shmctl(id, IPC_RMID, NULL), 0);
}

TEST(shm_total_is_limited)
{
    if (!harness_is_inside())
        SKIP("the sandbox's own limit");
    EXPECT_ERRNO(shmget(IPC_PRIVATE, 1UL << 40, 0600), EINVAL);
    int count = 0;
    while (count < 10 && shmget(IPC_PRIVATE, 512UL << 20, 0600) >= 0)
        count++;
    EXPECT_LT(count, 10);
    EXPECT_EQ(errno, ENOSPC);
}
