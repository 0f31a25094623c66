// SPDX-License-Identifier: Apache-2.0
/* What a child has that lost its parent, or got a signal, before it made any call. */
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define CREATORS 3
#define ROUNDS   150
#define MARKER   50

/* What all processes of a round see. The compiler must not keep any of it. */
struct round {
    volatile int created;        /* creators that have forked */
    volatile int go;             /* the children may call */
    volatile int done, mistaken; /* children */
};

/* Neither wakes up anything but this task, nor is it told of. */
static void nap(void)
{
    const struct timespec t = {.tv_nsec = 50000};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}

static mode_t umask_of(int creator)
{
    return 0100 + (mode_t)creator;
}

/* A child of this creator, and of nobody else, has its umask and its descriptor. */
static bool is_child_of(int creator)
{
    for (int i = 0; i < CREATORS; i++)
        if ((fcntl(MARKER + i, F_GETFD) >= 0) != (i == creator))
            return false;
    return umask(0) == umask_of(creator);
}

static void be_child(struct round *r, int creator)
{
    while (!r->go)
        nap();
    if (!is_child_of(creator))
        __atomic_fetch_add(&r->mistaken, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&r->done, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_exit_group, 0);
}

/* All fork at about the same time, and then end at about the same time. */
static void be_creator(struct round *r, int creator)
{
    umask(umask_of(creator));
    dup2(STDIN_FILENO, MARKER + creator);
    if (syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) == 0)
        be_child(r, creator);
    __atomic_fetch_add(&r->created, 1, __ATOMIC_SEQ_CST);
    while (r->created < CREATORS)
        nap();
    syscall(SYS_exit_group, 0);
}

static void run_round(struct round *r)
{
    pid_t creators[CREATORS];
    memset((void *)r, 0, sizeof(*r));
    for (int i = 0; i < CREATORS; i++) {
        creators[i] = fork();
        ASSERT_GE(creators[i], 0);
        if (creators[i] == 0)
            be_creator(r, i);
    }
    for (int i = 0; i < CREATORS; i++)
        ASSERT_EQ(waitpid(creators[i], NULL, 0), creators[i]);
    r->go = 1;
    while (r->done < CREATORS)
        nap();
}

TEST(children_of_creators_that_die_together_keep_what_their_own_had)
{
    struct round *r =
        mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int mistaken = 0;
    ASSERT_TRUE(r != MAP_FAILED);
    for (int i = 0; i < ROUNDS; i++) {
        run_round(r);
        mistaken += r->mistaken;
    }
    EXPECT_EQ(mistaken, 0);
}

#define FORKS_OF_A_ROUND 40
#define CHAINS           4
/* No more than that can still run when a signal to all of them has been sent. */
#define FORKS_UNDER_WAY 500

/* Each forks and ends, so that there is one of them at a time. */
static void go_on_forking(volatile int *forks)
{
    for (;;) {
        pid_t child = fork();
        if (child != 0)
            syscall(SYS_exit_group, 0);
        __atomic_fetch_add(forks, 1, __ATOMIC_SEQ_CST);
    }
}

static pid_t start_chains(volatile int *forks)
{
    pid_t group = 0;
    for (int i = 0; i < CHAINS; i++) {
        pid_t child = fork();
        if (child == 0) {
            setpgid(0, group);
            go_on_forking(forks);
        }
        setpgid(child, group);
        group = group ? group : child;
    }
    return group;
}

/* False when some have gone on. */
static bool all_end(pid_t group, volatile int *forks)
{
    int before = *forks;
    bool is_over = true;
    while (waitpid(-1, NULL, 0) > 0) {
        if (*forks - before < FORKS_UNDER_WAY)
            continue;
        is_over = false;
        kill(-group, SIGKILL);
    }
    return is_over;
}

TEST(nobody_who_forks_survives_a_signal_to_the_group)
{
    volatile int *forks =
        mmap(NULL, sizeof(*forks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(forks != MAP_FAILED);
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (int i = 0; i < ROUNDS / 3; i++) {
        *forks = 0;
        pid_t group = start_chains(forks);
        while (*forks < FORKS_OF_A_ROUND)
            nap();
        EXPECT_EQ(kill(-group, SIGKILL), 0);
        ASSERT_TRUE(all_end(group, forks));
    }
}
