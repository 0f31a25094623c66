// SPDX-License-Identifier: Apache-2.0
/* Threads that end while others begin: each is known to the kernel from its first call to its last.
 */
#include "tests/harness/harness.h"

#include <pthread.h>
#include <sys/wait.h>

#define ROUNDS   500
#define TOGETHER 4

static int failed_calls;

static void *call_some(void *unused)
{
    int ends[2];
    for (int i = 0; i < 3; i++)
        if (lseek(0, 0, SEEK_END) < 0 && errno != ESPIPE)
            __atomic_add_fetch(&failed_calls, 1, __ATOMIC_RELAXED);
    if (pipe(ends) < 0) {
        __atomic_add_fetch(&failed_calls, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    close(ends[0]);
    close(ends[1]);
    return NULL;
}

TEST(threads_that_end_are_not_taken_for_those_that_begin)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[TOGETHER];
        for (int i = 0; i < TOGETHER; i++)
            ASSERT_EQ(pthread_create(&threads[i], NULL, call_some, NULL), 0);
        for (int i = 0; i < TOGETHER; i++)
            ASSERT_EQ(pthread_join(threads[i], NULL), 0);
    }
    EXPECT_EQ(failed_calls, 0);
}

static void *fork_some(void *unused)
{
    for (int i = 0; i < 10; i++) {
        int ends[2], status = -1;
        char byte = 0;
        if (pipe(ends) < 0) {
            __atomic_add_fetch(&failed_calls, 1, __ATOMIC_RELAXED);
            continue;
        }
        pid_t pid = fork();
        if (pid == 0)
            _exit(write(ends[1], "x", 1) == 1 ? 5 : 1);
        close(ends[1]);
        if (pid < 0 || read(ends[0], &byte, 1) != 1 || byte != 'x' ||
            waitpid(pid, &status, 0) != pid || status != 5 << 8)
            __atomic_add_fetch(&failed_calls, 1, __ATOMIC_RELAXED);
        close(ends[0]);
    }
    return NULL;
}

TEST(threads_fork_while_others_end)
{
    for (int round = 0; round < 5; round++) {
        pthread_t threads[12];
        for (int i = 0; i < 12; i++)
            ASSERT_EQ(pthread_create(&threads[i], NULL, i % 3 ? fork_some : call_some, NULL), 0);
        for (int i = 0; i < 12; i++)
            ASSERT_EQ(pthread_join(threads[i], NULL), 0);
    }
    EXPECT_EQ(failed_calls, 0);
}
