// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that keep the host's signal from the kernel's code in them. They do without their own
 * signals then; what others decide about them is to come true all the same, and their successors
 * have done nothing.
 */
#include "tests/security/hostile.h"

#include <ucontext.h>

#define STUB_SIGNAL 1002
#define HOST_KICK   SIGURG

struct shared {
    volatile uint64_t turns; /* of a process that only computes */
    volatile int ready;
};

static struct shared *shared;

static void prepare(void)
{
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(shared != MAP_FAILED);
}

/* Neither is a call that the kernel hears of. */
static void nap(void)
{
    const struct timespec t = {.tv_nsec = 1000000};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}

static _Noreturn void turn(void)
{
    shared->ready = 1;
    for (;;)
        shared->turns++;
}

/* ---- ways to be deaf ---- */

static volatile int ran;
static char other_frame[1024];

/* Where the restorer has passed the frame's place to the kernel and is about to call. */
static const char *find_call(const char *restorer)
{
    static const char load_number[] = {(char)0xb8, SYS_rt_sigreturn, 0, 0, 0};
    while (memcmp(restorer, load_number, sizeof(load_number)))
        restorer++;
    return restorer;
}

/*
 * Shows the kernel another frame than the one that the host takes the mask from. A thread that
 * rewrites the frame at the right moment comes to the same.
 */
static void return_with_all_blocked(int sig, siginfo_t *info, void *context)
{
    ran++;
    const char *call = find_call(__builtin_return_address(0));
    memset(&((ucontext_t *)context)->uc_sigmask, 0xff, 8);
    __asm__ volatile("mov %0, %%rsp\n\tjmp *%1" : : "r"(context), "r"(call), "D"(other_frame));
    __builtin_unreachable();
}

static void block_the_kick(void)
{
    struct sigaction a = {.sa_sigaction = return_with_all_blocked, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &a, NULL);
    raise(SIGUSR1);
    /* Or nothing is tested. A child has the host's mask too. */
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGUSR1);
        _exit(ran == 1 ? 0 : 1);
    }
    if (hostile_wait(pid) != 0)
        _exit(99);
}

static void *volatile restorer;

static void note_restorer(int sig)
{
    restorer = __builtin_return_address(0);
}

/* What the host runs for a signal returns without a word: pop; rt_sigreturn. */
static void overwrite_the_stub(void)
{
    static const char code[] = {0x59, (char)0xb8, SYS_rt_sigreturn, 0, 0, 0, 0x0f, 0x05};
    signal(SIGUSR1, note_restorer);
    raise(SIGUSR1);
    char *page = (char *)((uintptr_t)restorer & ~(PAGE - 1));
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
        _exit(99);
    memset(page, 0x90, PAGE);
    memcpy(page + PAGE - sizeof(code), code, sizeof(code));
}

/* The kernel waits for the return of this before it kicks again. */
static void ask_without_return(void)
{
    static siginfo_t info;
    static ucontext_t context;
    syscall(STUB_SIGNAL, HOST_KICK, &info, &context);
}

/* ---- what they can't escape ---- */

static void await_turns(void)
{
    uint64_t before = shared->turns;
    while (shared->turns == before)
        nap();
}

static void expect_stop_and_go(void (*become_deaf)(void))
{
    int status;
    prepare();
    pid_t pid = fork();
    if (pid == 0) {
        become_deaf();
        turn();
    }
    while (!shared->ready)
        nap();
    EXPECT_EQ(kill(pid, SIGSTOP), 0);
    EXPECT_EQ(waitpid(pid, &status, WUNTRACED), pid);
    EXPECT_TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    uint64_t turns = shared->turns;
    for (int i = 0; i < 20; i++)
        nap();
    EXPECT_EQ(shared->turns, turns);
    EXPECT_EQ(kill(pid, SIGCONT), 0);
    EXPECT_EQ(waitpid(pid, &status, WCONTINUED), pid);
    EXPECT_TRUE(WIFCONTINUED(status));
    await_turns();
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(hostile_wait(pid), 128 + SIGKILL);
}

TEST(stop_of_one_that_blocks_the_kick)
{
    expect_stop_and_go(block_the_kick);
}

TEST(stop_of_one_that_has_overwritten_the_stub)
{
    expect_stop_and_go(overwrite_the_stub);
}

TEST(stop_of_one_that_does_not_come_back_from_asking)
{
    expect_stop_and_go(ask_without_return);
}

TEST(death_of_one_that_blocks_the_kick)
{
    prepare();
    pid_t pid = fork();
    if (pid == 0) {
        block_the_kick();
        turn();
    }
    while (!shared->ready)
        nap();
    EXPECT_EQ(kill(pid, SIGTERM), 0);
    EXPECT_EQ(hostile_wait(pid), 128 + SIGTERM);
}

/* ---- and what comes after them ---- */

/* The shell computes, and ends by its handler. */
static _Noreturn void become_shell(int output)
{
    dup2(output, STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", "trap 'exit 7' USR2; echo; while :; do :; done", (char *)NULL);
    _exit(98);
}

static void expect_signal_arrives(bool in_child)
{
    int output[2];
    char c;
    ASSERT_EQ(pipe(output), 0);
    pid_t pid = fork();
    if (pid == 0) {
        block_the_kick();
        pid_t child = in_child ? fork() : 0;
        if (child == 0)
            become_shell(output[1]);
        close(output[1]);
        read(output[0], &c, 1);
        kill(child, SIGUSR2);
        _exit(hostile_wait(child));
    }
    close(output[1]);
    if (!in_child) {
        EXPECT_EQ(read(output[0], &c, 1), 1);
        EXPECT_EQ(kill(pid, SIGUSR2), 0);
    }
    EXPECT_EQ(hostile_wait(pid), 7);
    close(output[0]);
}

TEST(signals_of_a_program_whose_predecessor_blocked_the_kick)
{
    expect_signal_arrives(false);
}

TEST(signals_of_a_program_whose_parent_blocked_the_kick)
{
    expect_signal_arrives(true);
}
