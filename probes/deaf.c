// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that the kernel can't interrupt, in each way of deaf_ways.c.
 */
#include "probes/deaf.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define STATUS 7

static volatile uint64_t *turns;

static void share_turns(void)
{
    turns = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    NEED((void *)turns != MAP_FAILED);
}

static void wait_for_a_turn(void)
{
    while (!*turns)
        usleep(1000);
}

/* A process with nothing but a deaf thread, that has made its first turn. */
static pid_t start_deaf(const struct deaf_way *way)
{
    *turns = 0;
    pid_t pid = probe_fork();
    if (pid == 0)
        deaf_run(way, turns);
    wait_for_a_turn();
    return pid;
}

static void check_end(const struct deaf_way *way, int status, int wanted)
{
    /* Of a crash, hosts before Linux 6.15 tell no more than that it ended. */
    bool has_crashed = status == 128 + SIGSEGV || status == 128 + SIGKILL;
    if (status != wanted && !(way->may_crash && has_crashed))
        probe_escaped("%s: status %d, where %d must follow", way->name, status, wanted);
}

#define FOR_EACH_WAY(way) for (size_t way##_at = 0; (way = deaf_way_at(way##_at)); way##_at++)

PROBE(outlive_sigkill_by_being_deaf, PROCESSES, .expected = "each ends by SIGKILL")
{
    const struct deaf_way *way;
    share_turns();
    FOR_EACH_WAY(way)
    {
        pid_t pid = start_deaf(way);
        NEED(kill(pid, SIGKILL) == 0);
        check_end(way, probe_wait(pid), 128 + SIGKILL);
    }
    probe_check_kernel();
}

/* Of what it last did something may be under way on another processor. */
static bool stands_still(void)
{
    uint64_t before = 0;
    for (int i = 0; i < 200 && *turns != before; i++) {
        before = *turns;
        usleep(50000);
    }
    return *turns == before;
}

static void stop_and_continue(const struct deaf_way *way)
{
    int status;
    pid_t pid = start_deaf(way);
    NEED(kill(pid, SIGSTOP) == 0);
    NEED(waitpid(pid, &status, WUNTRACED) == pid);
    if (!WIFSTOPPED(status)) {
        check_end(way, 128 + WTERMSIG(status), 128 + SIGKILL);
        return;
    }
    /* The child of a vfork is a process of its own. */
    bool is_own = strcmp(way->name, "wait_for_a_vfork");
    if (is_own && !stands_still())
        probe_escaped("%s: runs on while it is stopped", way->name);
    NEED(kill(pid, SIGCONT) == 0);
    probe_kill(pid);
}

PROBE(run_on_when_stopped_by_being_deaf, PROCESSES, .expected = "each stops, or ends by SIGSEGV")
{
    const struct deaf_way *way;
    share_turns();
    FOR_EACH_WAY(way) stop_and_continue(way);
    probe_check_kernel();
}

static void *be_deaf(void *way)
{
    deaf_run(way, turns);
}

static void start_program(void)
{
    char status[12];
    snprintf(status, sizeof(status), "%d", STATUS);
    execl(probe_self(), "probe", SELF_EXIT_TEXT, status, (char *)NULL);
}

/* What a sibling of a deaf thread does must come about. */
static void beside_a_deaf_thread(const struct deaf_way *way, void *(*deafen)(void *),
                                 void (*deed)(void))
{
    *turns = 0;
    pid_t pid = probe_fork();
    if (pid == 0) {
        probe_thread(deafen, (void *)way);
        wait_for_a_turn();
        deed();
        _exit(1);
    }
    check_end(way, probe_wait(pid), STATUS);
}

static void end_process(void)
{
    _exit(STATUS);
}

PROBE(hold_up_the_end_of_a_process_by_being_deaf, PROCESSES, .expected = "its status, each time")
{
    const struct deaf_way *way;
    share_turns();
    FOR_EACH_WAY(way) beside_a_deaf_thread(way, be_deaf, end_process);
    probe_check_kernel();
}

PROBE(hold_up_an_exec_by_being_deaf, PROCESSES, .expected = "the new program runs, each time")
{
    const struct deaf_way *way;
    share_turns();
    FOR_EACH_WAY(way) beside_a_deaf_thread(way, be_deaf, start_program);
    probe_check_kernel();
}

/* The sandbox's kernel finds nothing wrong with it, but the host can't read its environment. */
static void *be_deaf_after_an_exec_that_fails(void *way)
{
    char *const arguments[] = {"probe", SELF_EXIT_TEXT, "1", NULL};
    ((const struct deaf_way *)way)->prepare();
    execve(probe_self(), arguments, (char *const *)8);
    deaf_run_on(way, turns);
}

PROBE(hold_up_siblings_by_an_exec_that_fails, PROCESSES, .expected = "they go on, each time")
{
    const struct deaf_way *way;
    share_turns();
    FOR_EACH_WAY(way)
    beside_a_deaf_thread(way, be_deaf_after_an_exec_that_fails, end_process);
    probe_check_kernel();
}

static void *be_deaf_and_start_a_program(void *way)
{
    ((const struct deaf_way *)way)->prepare();
    start_program();
    _exit(1);
}

PROBE(stay_deaf_in_a_new_program, PROCESSES,
      .expected = "the new program runs, and is interrupted as any")
{
    const struct deaf_way *way;
    FOR_EACH_WAY(way)
    {
        pid_t pid = probe_fork();
        if (pid == 0) {
            probe_thread(be_deaf_and_start_a_program, (void *)way);
            for (;;)
                pause();
        }
        check_end(way, probe_wait(pid), STATUS);
    }
    probe_check_kernel();
}
