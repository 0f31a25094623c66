// SPDX-License-Identifier: Apache-2.0
/*
 * The calls of our own code in the tasks (1000 to 1004), made by a guest: they must give nothing.
 */
#include "tests/security/hostile.h"

#include <pthread.h>

#define STUB_EXEC   1000
#define STUB_START  1001
#define STUB_SIGNAL 1002
#define STUB_INIT   1003

#define BAD_VECTOR ((char **)1) /* the kernel lets the exec run, the host refuses it */

static char plan[65536];

TEST(plan_without_an_exec)
{
    EXPECT_ERRNO(syscall(STUB_EXEC, plan), ENOSYS);
    EXPECT_ERRNO(syscall(STUB_EXEC, NULL), ENOSYS);
    EXPECT_ERRNO(syscall(STUB_EXEC, -1L), ENOSYS);
}

TEST(start_without_an_exec)
{
    EXPECT_ERRNO(syscall(STUB_START, 1L, 2L, 3L, 4L), ENOSYS);
    EXPECT_TRUE(hostile_kernel_serves());
}

TEST(work_of_the_init)
{
    EXPECT_ERRNO(syscall(STUB_INIT, 0L, 0L), ENOSYS);
    EXPECT_ERRNO(syscall(STUB_INIT, 1L, plan), ENOSYS);
}

/* A program with another owner's rights that is asked for and does not start. */
static void prepare_set_uid(void)
{
    ASSERT_EQ(getuid(), 0);
    ASSERT_EQ(chmod(".", 0755), 0);
    ASSERT_TRUE(hostile_copy_file("/proc/self/exe", "program", 04755));
}

static bool is_still_user(void)
{
    uid_t real, effective, saved;
    return getresuid(&real, &effective, &saved) == 0 && real == 1000 && effective == 1000 &&
           saved == 1000;
}

TEST(plan_after_an_exec_that_the_host_refused)
{
    char *const argv[] = {(char *)"program", (char *)"--list", NULL};
    prepare_set_uid();
    pid_t pid = fork();
    if (pid == 0) {
        hostile_become_user();
        EXPECT_ERRNO(execve("program", argv, BAD_VECTOR), EFAULT);
        EXPECT_ERRNO(syscall(STUB_EXEC, plan), ENOSYS);
        EXPECT_ERRNO(syscall(STUB_START, 0L, 0L, 0L, 0L), ENOSYS);
        EXPECT_TRUE(is_still_user());
        EXPECT_ERRNO(setuid(0), EPERM);
        EXPECT_TRUE(hostile_kernel_serves());
        harness_end_case();
    }
    EXPECT_EQ(hostile_wait(pid), 0);
}

static volatile int racing = 1;

static void *ask_for_the_plan(void *unused)
{
    while (racing) {
        if (syscall(STUB_EXEC, plan) == 0 || !is_still_user())
            _exit(66);
    }
    return NULL;
}

TEST(plan_of_an_exec_of_a_sibling)
{
    char *const argv[] = {(char *)"program", (char *)"--list", NULL};
    prepare_set_uid();
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        hostile_become_user();
        if (pthread_create(&thread, NULL, ask_for_the_plan, NULL))
            _exit(98);
        for (int i = 0; i < 300; i++)
            if (execve("program", argv, BAD_VECTOR) != -1 || errno != EFAULT)
                _exit(97);
        racing = 0;
        pthread_join(thread, NULL);
        _exit(is_still_user() ? 0 : 65);
    }
    EXPECT_EQ(hostile_wait(pid), 0);
}

/* A sibling that executes takes the leader's number, also when the leader has gone before. */
static void *execute_true(void *unused)
{
    usleep(20000);
    execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
    return NULL;
}

TEST(exec_after_the_leader_has_gone)
{
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, execute_true, NULL))
                _exit(98);
            pthread_exit(NULL);
        }
        EXPECT_EQ(hostile_wait(pid), 5);
    }
}

/* ---- an execve that the host refuses, and a thread that makes no call afterwards ---- */

static volatile int *was_refused; /* shared with the parent */

static void *refused_then_spins(void *name)
{
    char *const argv[] = {name, NULL};
    execve(name, argv, BAD_VECTOR);
    *was_refused = 1;
    for (;;)
        __asm__ volatile("pause");
}

static void prepare_refusal(void)
{
    was_refused = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(was_refused != MAP_FAILED);
}

/* Makes no call that the kernel hears of. */
static void await_refusal(void)
{
    const struct timespec t = {.tv_nsec = 20000};
    while (!*was_refused)
        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}

TEST(sibling_of_a_refused_exec_goes_on)
{
    prepare_set_uid();
    prepare_refusal();
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        hostile_become_user();
        if (pthread_create(&thread, NULL, refused_then_spins, (void *)"program"))
            _exit(98);
        await_refusal();
        _exit(is_still_user() && hostile_kernel_serves() ? 7 : 66);
    }
    EXPECT_EQ(hostile_wait(pid), 7);
}

/* The programs of everybody lie below a name that the attacker executes a file of. */
static pid_t attack_a_common_name(void (*before)(void))
{
    prepare_refusal();
    EXPECT_TRUE(hostile_copy_file("/proc/self/exe", "usr", 0755));
    pid_t pid = fork();
    if (pid == 0) {
        if (before)
            before();
        refused_then_spins((void *)"usr");
    }
    await_refusal();
    return pid;
}

static void end_attack(pid_t pid)
{
    kill(pid, SIGKILL);
    EXPECT_EQ(hostile_wait(pid), 128 + SIGKILL);
}

static int run_true(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/usr/bin/true", "true", (char *)NULL);
        _exit(errno);
    }
    return hostile_wait(pid);
}

TEST(name_of_a_refused_exec_is_not_kept_from_others)
{
    for (int i = 0; i < 20; i++) {
        pid_t pid = attack_a_common_name(NULL);
        EXPECT_EQ(run_true(), 0);
        end_attack(pid);
    }
}

static void *volatile restorer;

static void note_restorer(int sig)
{
    restorer = __builtin_return_address(0);
}

/* Whatever the host runs for a signal goes round in circles from now on. */
static void take_over_the_handler(void)
{
    signal(SIGUSR1, note_restorer);
    raise(SIGUSR1);
    char *page = (char *)((uintptr_t)restorer & ~(PAGE - 1));
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
        _exit(99);
    for (size_t i = 0; i < PAGE; i += 2)
        memcpy(page + i, "\xeb\xfe", 2);
}

TEST(name_of_a_refused_exec_is_not_kept_by_one_without_a_handler)
{
    pid_t pid = attack_a_common_name(take_over_the_handler);
    EXPECT_EQ(run_true(), 0);
    end_attack(pid);
}

/*
 * The leader reads from a pipe into all of its memory while a sibling executes: what is written
 * then must not reach the new program.
 */
static int feed[2];

static void *read_for_ever(void *at)
{
    while (read(feed[0], at, 64) > 0)
        ;
    return NULL;
}

static void *execute_self(void *unused)
{
    usleep(2000);
    execl("/bin/sh", "sh", "-c", "kill -0 $$ && exit 6", (char *)NULL);
    return NULL;
}

TEST(calls_in_flight_at_an_exec)
{
    static const char filling[64] = "hostile";
    ASSERT_EQ(pipe(feed), 0);
    pid_t writer = fork();
    if (writer == 0) {
        close(feed[0]);
        signal(SIGPIPE, SIG_DFL);
        for (;;)
            write(feed[1], filling, sizeof(filling));
    }
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t thread;
            static char buffer[64];
            close(feed[1]);
            if (pthread_create(&thread, NULL, execute_self, NULL))
                _exit(98);
            for (int n = 0; n < 4; n++)
                pthread_create(&thread, NULL, read_for_ever, buffer);
            read_for_ever(buffer);
            _exit(97);
        }
        EXPECT_EQ(hostile_wait(pid), 6);
    }
    kill(writer, SIGKILL);
    hostile_wait(writer);
}

TEST(signal_call_with_rubbish)
{
    uint32_t state = 7;
    for (int i = 0; i < 200; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int n = 0; n < 20; n++)
                syscall(STUB_SIGNAL, (long)(hostile_random(&state) % 70) - 2,
                        (long)hostile_random(&state) << (n % 40),
                        plan + hostile_random(&state) % 60000);
            _exit(0);
        }
        hostile_random(&state);
        hostile_wait(pid);
    }
    EXPECT_TRUE(hostile_kernel_serves());
}

TEST(all_of_them_in_any_order)
{
    uint32_t state = 11;
    for (int i = 0; i < 100; i++) {
        pid_t pid = fork();
        state += (uint32_t)i;
        if (pid == 0) {
            for (int n = 0; n < 100; n++) {
                uint32_t r = hostile_random(&state);
                if (r % 16 == 0)
                    execve("/bin/true", BAD_VECTOR, NULL);
                else
                    syscall(1000 + (long)(r % 5), r % 3 ? (long)plan : (long)r, (long)plan, 0L, 0L);
            }
            _exit(0);
        }
        hostile_wait(pid);
    }
    EXPECT_TRUE(hostile_kernel_serves());
}
