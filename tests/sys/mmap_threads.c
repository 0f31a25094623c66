// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that open, map and close files at numbers that they take from each other, and forks in
 * between: each mapping shows the file that its descriptor stood for.
 */
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define THREADS 4
#define ROUNDS  400

static volatile bool stop;

static void make_file(const char *name, char letter)
{
    char text[64];
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    memset(text, letter, sizeof(text));
    ASSERT_EQ(write(fd, text, sizeof(text)), sizeof(text));
    close(fd);
}

/* The first letter of what fd maps, or what went wrong. */
static int mapped_letter(int fd)
{
    const char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return -errno;
    int letter = p[0];
    munmap((void *)p, 4096);
    return letter;
}

static bool one_round(char letter)
{
    char name[2] = {letter, 0};
    int fd = open(name, O_RDONLY);
    bool right = fd >= 0 && mapped_letter(fd) == letter && mapped_letter(fd) == letter;
    close(fd);
    return right;
}

static void *map_often(void *argument)
{
    long wrong = 0;
    for (int i = 0; i < ROUNDS; i++)
        wrong += !one_round((char)(uintptr_t)argument);
    return (void *)wrong;
}

static void *map_on(void *argument)
{
    long wrong = 0;
    while (!stop)
        wrong += !one_round((char)(uintptr_t)argument);
    return (void *)wrong;
}

static void start(pthread_t threads[THREADS], void *(*run)(void *))
{
    for (int i = 0; i < THREADS; i++) {
        char name[2] = {(char)('a' + i), 0};
        make_file(name, name[0]);
        ASSERT_EQ(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)name[0]), 0);
    }
}

static void finish(pthread_t threads[THREADS])
{
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        EXPECT_EQ((uintptr_t)wrong, 0);
    }
}

TEST(closing_and_mapping_at_the_same_numbers)
{
    pthread_t threads[THREADS];
    start(threads, map_often);
    finish(threads);
}

TEST(forks_between_mappings_of_siblings)
{
    pthread_t threads[THREADS];
    int wrong = 0;
    make_file("main", 'm');
    start(threads, map_on);
    for (int i = 0; i < 50; i++) {
        int fd = open("main", O_RDONLY), status = -1;
        wrong += mapped_letter(fd) != 'm';
        pid_t child = fork();
        if (child == 0)
            _exit(mapped_letter(fd) != 'm' || mapped_letter(fd) != 'm');
        EXPECT_EQ(waitpid(child, &status, 0), child);
        wrong += status != 0;
        close(fd);
    }
    stop = true;
    finish(threads);
    EXPECT_EQ(wrong, 0);
}
