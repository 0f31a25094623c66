// SPDX-License-Identifier: Apache-2.0
#include "probes/deaf.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

/* ---- what a program is allowed to do ---- */

static void set_mask(bool full)
{
    sigset_t set;
    if (full)
        sigfillset(&set);
    else
        sigemptyset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
}

static void block_all(void)
{
    set_mask(true);
}

static void ignore_all(void)
{
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_IGN);
}

static void nothing(void)
{
}

static void set_masks_for_ever(volatile uint64_t *turns)
{
    for (;; (*turns)++)
        set_mask(*turns % 2);
}

static void sleep_for_ever(volatile uint64_t *turns)
{
    const struct timespec hour = {3600, 0};
    for (;; (*turns)++)
        if (*turns)
            nanosleep(&hour, NULL);
}

/* In the host, where no handler interrupts it; the child goes when it has another parent. */
static void wait_for_a_vfork(volatile uint64_t *turns)
{
    pid_t parent = getpid();
    if (vfork() == 0) {
        while (getppid() == parent)
            (*turns)++;
        _exit(0);
    }
}

/* ---- frames ---- */

/* Where a handler returns to: into the loader stub, which makes rt_sigreturn(2) there. */
static uintptr_t restorer;

static void note_restorer(int sig _unused_)
{
    restorer = (uintptr_t)__builtin_return_address(0);
}

static void fill_mask(int sig _unused_, siginfo_t *info _unused_, void *context)
{
    memset(&((ucontext_t *)context)->uc_sigmask, 0xff, sizeof(uint64_t));
}

static void handle_once(void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    NEED(sigaction(SIGUSR1, &a, NULL) == 0 && raise(SIGUSR1) == 0);
}

static void return_with_a_full_mask(void)
{
    handle_once(fill_mask);
}

static void return_for_ever(volatile uint64_t *turns)
{
    for (;; (*turns)++) {
        handle_once(fill_mask);
        set_mask(false);
    }
}

#define RESTORER_MOV_BYTES 3 /* its first instruction says where the frame is */

/* The kernel is told of a frame with an empty mask, the host finds one with a full mask. */
static void return_from_another_frame(int sig, siginfo_t *info, void *context)
{
    static char decoy[4096];
    fill_mask(sig, info, context);
    __asm__ volatile("mov %0, %%rdi\n mov %1, %%rsp\n jmp *%2"
                     :
                     : "r"(decoy), "r"(context), "r"(restorer + RESTORER_MOV_BYTES)
                     : "memory", "rdi");
    __builtin_unreachable();
}

static void find_restorer(void)
{
    NEED(signal(SIGUSR2, note_restorer) != SIG_ERR && raise(SIGUSR2) == 0 && restorer);
}

static void block_on_the_host(void)
{
    find_restorer();
    handle_once(return_from_another_frame);
}

/* ---- the stub's handler ---- */

#define STUB_ASKS 1002 /* its call in the handler, kernel/guest/numbers.h */

/* Asks what is to be done, as the handler does, and never comes to the end of that. */
static void ask_and_stay(void)
{
    static siginfo_t info;
    static ucontext_t context;
    syscall(STUB_ASKS, SIGURG, &info, &context, 0L);
}

#define STUB_PAGES 2 /* of its code, at most, that lie before the restorer's end */

static char *stub_page(int index)
{
    return (char *)((restorer & ~(PAGE - 1)) - (uintptr_t)index * PAGE);
}

/* Every even address is a jump to itself. */
static void write_over_the_stub(void)
{
    find_restorer();
    for (int i = 0; i < STUB_PAGES; i++)
        if (mprotect(stub_page(i), PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
            for (size_t at = 0; at < PAGE; at += 2)
                memcpy(stub_page(i) + at, "\xeb\xfe", 2);
}

static void unmap_the_stub(void)
{
    find_restorer();
    for (int i = 0; i < STUB_PAGES; i++)
        munmap(stub_page(i), PAGE);
}

/* ---- where the host would lay a frame ---- */

static void lose_the_alternate_stack(void)
{
    stack_t s = {.ss_sp = probe_pages(4, PROT_READ | PROT_WRITE), .ss_size = 4 * PAGE};
    NEED(sigaltstack(&s, NULL) == 0 && munmap(s.ss_sp, s.ss_size) == 0);
}

static void run_without_a_stack(volatile uint64_t *turns)
{
    __asm__ volatile("mov $8, %%rsp\n 1: incq (%0)\n jmp 1b" : : "r"(turns) : "memory");
}

static const struct deaf_way ways[] = {
    {.name = "block_all_signals", .prepare = block_all},
    {.name = "ignore_all_signals", .prepare = ignore_all},
    {.name = "set_masks_for_ever", .prepare = nothing, .run = set_masks_for_ever},
    {.name = "sleep_for_ever", .prepare = block_all, .run = sleep_for_ever},
    {.name = "wait_for_a_vfork", .prepare = nothing, .run = wait_for_a_vfork},
    {.name = "return_with_a_full_mask", .prepare = return_with_a_full_mask},
    {.name = "return_for_ever", .prepare = nothing, .run = return_for_ever},
    {.name = "block_on_the_host", .prepare = block_on_the_host},
    {.name = "ask_and_stay", .prepare = ask_and_stay},
    {.name = "write_over_the_stub", .prepare = write_over_the_stub},
    {.name = "unmap_the_stub", .prepare = unmap_the_stub, .may_crash = true},
    {.name = "lose_the_alternate_stack", .prepare = lose_the_alternate_stack, .may_crash = true},
    {.name = "run_without_a_stack",
     .prepare = nothing,
     .run = run_without_a_stack,
     .may_crash = true},
};

const struct deaf_way *deaf_way_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
        if (!strcmp(ways[i].name, name))
            return &ways[i];
    return NULL;
}

const struct deaf_way *deaf_way_at(size_t index)
{
    return index < ARRAY_SIZE(ways) ? &ways[index] : NULL;
}

_noreturn_ void deaf_run_on(const struct deaf_way *way, volatile uint64_t *turns)
{
    if (way->run)
        way->run(turns);
    for (;;)
        (*turns)++;
}

_noreturn_ void deaf_run(const struct deaf_way *way, volatile uint64_t *turns)
{
    way->prepare();
    deaf_run_on(way, turns);
}
