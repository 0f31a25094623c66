// SPDX-License-Identifier: Apache-2.0
/*
 * More signals than can be acted on: stacks for handlers hold, and nothing but signals is lost.
 */
#include "tests/harness/harness.h"

#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <time.h>

#define STORM_MS 1500
#define SENDERS  3

static volatile sig_atomic_t handled, nested, deepest;
static volatile bool over;

static void on_signal(int sig)
{
    nested++;
    if (nested > deepest)
        deepest = nested;
    handled++;
    nested--;
}

static void nothing(int sig)
{
}

/* Room for two frames, as programs choose it: sysconf(_SC_SIGSTKSZ) and not much more. */
static void use_small_stack(void)
{
    size_t size = 3 * getauxval(51 /* AT_MINSIGSTKSZ */) + 4096;
    stack_t s = {.ss_sp = malloc(size), .ss_size = size};
    ASSERT_EQ(sigaltstack(&s, NULL), 0);
}

static void handle(int sig, void (*handler)(int))
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    ASSERT_EQ(sigaction(sig, &a, NULL), 0);
}

static long elapsed_ms(const struct timespec *since)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

static pid_t start_sender(pid_t target, int sig)
{
    pid_t child = fork();
    if (child == 0) {
        struct timespec start;
        clock_gettime(CLOCK_MONOTONIC, &start);
        while (elapsed_ms(&start) < STORM_MS)
            kill(target, sig);
        _exit(0);
    }
    return child;
}

static void *take_part(void *argument)
{
    use_small_stack();
    while (!over)
        getppid();
    return NULL;
}

TEST(one_signal_for_many_threads)
{
    pthread_t threads[2];
    handle(SIGUSR1, nothing);
    use_small_stack();
    pid_t senders[SENDERS];
    for (int i = 0; i < SENDERS; i++)
        senders[i] = start_sender(getpid(), SIGUSR1);
    for (int i = 0; i < 2; i++)
        ASSERT_EQ(pthread_create(&threads[i], NULL, take_part, NULL), 0);
    for (int i = 0; i < SENDERS; i++) {
        int status = -1;
        EXPECT_EQ(waitpid(senders[i], &status, 0), senders[i]);
        EXPECT_EQ(status, 0);
    }
    over = true;
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(pthread_join(threads[i], NULL), 0);
}

TEST(a_signal_does_not_interrupt_its_own_handler)
{
    handle(SIGUSR1, on_signal);
    use_small_stack();
    pid_t sender = start_sender(getpid(), SIGUSR1);
    EXPECT_EQ(waitpid(sender, NULL, 0), sender);
    EXPECT_GT(handled, 0);
    EXPECT_EQ(deepest, 1);
}
