// SPDX-License-Identifier: Apache-2.0
/*
 * The loader stub: the only program that the host ever executes for a task.
 *
 * The host's execve gave us a fresh address space, the vDSO, and a stack with the arguments, the
 * environment and the auxiliary vector. We ask the kernel what program was meant, map it, correct
 * the vector, install the host's signal handlers and jump. Our own pages stay: the handlers live
 * here.
 *
 * Freestanding: no libc, no relocations to apply (everything is reached relative to rip), no data
 * that could be written by anyone but this code before the program runs. Whatever fails ends the
 * task: the old program is gone, as after a failed execve past the point of no return in Linux.
 */
#include "kernel/arch/x86_64/stub_syscall.h"
#include "kernel/guest/numbers.h"
#include "kernel/guest/protocol.h"

#define PROT_READ_WRITE     3
#define PROT_EXEC_TOO       7
#define PROT_GROWSDOWN      0x01000000
#define MAP_PRIVATE         0x02
#define MAP_ANONYMOUS       0x20
#define MAP_FIXED_NOREPLACE 0x100000
#define PAGE_SIZE           4096ULL

#define SIGILL  4
#define SIGTRAP 5
#define SIGBUS  7
#define SIGFPE  8
#define SIGSEGV 11
#define SIGCHLD 17
#define SIGKICK 23
#define SIGSYS  31

#define SIG_SETMASK 2

#define SA_SIGINFO  0x4ULL
#define SA_ONSTACK  0x08000000ULL
#define SA_RESTORER 0x04000000ULL
#define SA_RESTART  0x10000000ULL
#define SA_NODEFER  0x40000000ULL

#define AT_NULL   0
#define AT_PHDR   3
#define AT_PHNUM  5
#define AT_BASE   7
#define AT_ENTRY  9
#define AT_UID    11
#define AT_EUID   12
#define AT_GID    13
#define AT_EGID   14
#define AT_SECURE 23

#define STATUS_FAILED 127

extern char stub_handler[] __attribute__((visibility("hidden")));
extern char stub_restorer[] __attribute__((visibility("hidden")));
extern char stub_image_start[] __attribute__((visibility("hidden")));
extern char stub_image_end[] __attribute__((visibility("hidden")));
void stub_jump(uint64_t *stack, uint64_t entry) __attribute__((noreturn, visibility("hidden")));
void stub_main(uint64_t *stack) __attribute__((noreturn, visibility("hidden")));

static struct stub_plan plan;

struct host_sigaction {
    char *handler;
    uint64_t flags;
    char *restorer;
    uint64_t mask;
};

/*
 * Without a kernel the host answers every notified call with ENOSYS, exit_group too: the end comes
 * from outside then, and is waited for without the processor.
 */
static __attribute__((noreturn)) void die(void)
{
    const uint64_t second[2] = {1, 0};
    for (;;) {
        stub_syscall(STUB_NR_EXIT_GROUP, STATUS_FAILED, 0, 0, 0, 0, 0);
        stub_syscall(STUB_NR_NANOSLEEP, (uint64_t)second, 0, 0, 0, 0, 0);
    }
}

static void copy_bytes(char *to, const char *from, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        ((volatile char *)to)[i] = from[i];
}

/*
 * The address of a symbol, reckoned from rip. A compiler that saw it come would keep a constant in
 * memory, to be relocated; stub.ld refuses those.
 */
static char *address_of(char *symbol)
{
    __asm__("" : "+r"(symbol));
    return symbol;
}

static void install_handlers(void)
{
    static const int signals[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGKICK};
    struct host_sigaction action = {
        .handler = address_of(stub_handler),
        .flags = SA_SIGINFO | SA_ONSTACK | SA_RESTORER | SA_RESTART | SA_NODEFER,
        .restorer = address_of(stub_restorer),
    };
    const uint64_t none = 0;
    if (plan.blocks_signals &&
        stub_syscall(STUB_NR_SIGPROCMASK, SIG_SETMASK, (uint64_t)&none, 0, 8, 0, 0))
        die();
    for (unsigned i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (stub_syscall(STUB_NR_RT_SIGACTION, (uint64_t)signals[i], (uint64_t)&action, 0, 8, 0,
                         plan.marks.handler))
            die();
}

/* The stack, where copies may be, is erased by stub_jump. */
static void erase_marks(void)
{
    *(volatile uint64_t *)&plan.marks.handler = 0;
    *(volatile uint64_t *)&plan.marks.map = 0;
}

static void map_segment(const struct stub_segment *s)
{
    uint64_t flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd = s->fd | plan.marks.map;
    if (s->fd == STUB_ANONYMOUS) {
        flags |= MAP_ANONYMOUS;
        fd = STUB_ANONYMOUS;
    }
    if ((uint64_t)stub_syscall(STUB_NR_MMAP, s->address, s->size, s->protection, flags, fd,
                               s->offset) != s->address)
        die();
    for (uint64_t i = 0; i < s->zero_size; i++)
        ((volatile char *)s->zero_from)[i] = 0;
}

static void correct_auxv(uint64_t *auxv)
{
    for (; auxv[0] != AT_NULL; auxv += 2) {
        switch (auxv[0]) {
        case AT_PHDR:
            auxv[1] = plan.phdr;
            break;
        case AT_PHNUM:
            auxv[1] = plan.phnum;
            break;
        case AT_BASE:
            auxv[1] = plan.base;
            break;
        case AT_ENTRY:
            auxv[1] = plan.program_entry;
            break;
        case AT_UID:
            auxv[1] = plan.uid;
            break;
        case AT_EUID:
            auxv[1] = plan.euid;
            break;
        case AT_GID:
            auxv[1] = plan.gid;
            break;
        case AT_EGID:
            auxv[1] = plan.egid;
            break;
        case AT_SECURE:
            auxv[1] = plan.secure;
            break;
        }
    }
}

/* Number of words from the start of the vectors to the end of the auxiliary one. */
static uint64_t vector_words(const uint64_t *stack, uint64_t *ret_auxv)
{
    uint64_t i = 1 + stack[0] + 1;
    while (stack[i])
        i++;
    i++;
    *ret_auxv = i;
    while (stack[i] != AT_NULL)
        i += 2;
    return i + 2;
}

/*
 * Makes the vectors that the program is to see: those of the host, or for a script, below them, the
 * strings that replace argv[0], then argc, argv, envp and auxv.
 */
static uint64_t *build_stack(uint64_t *stack)
{
    uint64_t old_auxv;
    uint64_t words = vector_words(stack, &old_auxv);
    if (!plan.argument_count) {
        correct_auxv(stack + old_auxv);
        return stack;
    }
    char *strings = (char *)stack - plan.argument_bytes;
    copy_bytes(strings, plan.arguments, plan.argument_bytes);

    /* An empty argv has no argv[0] to replace. */
    uint64_t replaced = stack[0] ? 1 : 0;
    uint64_t argc = stack[0] - replaced + plan.argument_count;
    uint64_t total = words - replaced + plan.argument_count;
    uint64_t *out = (uint64_t *)(((uint64_t)strings - total * 8) & ~15ULL);

    uint64_t at = 0;
    out[at++] = argc;
    for (uint64_t i = 0; i < plan.argument_count; i++) {
        out[at++] = (uint64_t)strings;
        while (*strings++)
            ;
    }
    for (uint64_t i = 1 + replaced; i < words; i++)
        out[at++] = stack[i];
    correct_auxv(out + old_auxv - replaced + plan.argument_count);
    return out;
}

static void make_stack_executable(const uint64_t *stack)
{
    uint64_t page = (uint64_t)stack & ~(PAGE_SIZE - 1);
    stub_syscall(STUB_NR_MPROTECT, page, PAGE_SIZE, PROT_EXEC_TOO | PROT_GROWSDOWN, 0, 0, 0);
}

/* The child's pid or -errno. */
static int64_t spawn(uint64_t arguments)
{
    const struct init_arguments *a = (const struct init_arguments *)arguments;
    int64_t r = stub_syscall(STUB_NR_CLONE, SIGCHLD, 0, 0, 0, 0, 0);
    if (r == 0) {
        stub_syscall(STUB_NR_EXECVE, a->path, a->argv, a->envp, 0, 0, 0);
        die();
    }
    return r;
}

/* A program with more arguments than there is room for at hand. 0, its pid, or -errno. */
static int64_t spawn_large(uint64_t size)
{
    int64_t r =
        stub_syscall(STUB_NR_MMAP, 0, size, PROT_READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~0ULL, 0);
    if (r < 0)
        return r;
    uint64_t memory = (uint64_t)r;
    r = stub_syscall(SYS_GLOVEBOX_INIT, INIT_MEMORY, memory, 0, 0, 0, 0);
    if (r == 0)
        r = spawn(memory);
    stub_syscall(STUB_NR_MUNMAP, memory, size, 0, 0, 0, 0);
    return r;
}

/*
 * The sandbox's init. Orphans need no care: with SIGCHLD ignored the host reaps them. Its own plan
 * is room that nothing else needs.
 */
static __attribute__((noreturn)) void init_loop(void)
{
    for (;;) {
        int64_t size =
            stub_syscall(SYS_GLOVEBOX_INIT, INIT_IDLE, (uint64_t)&plan, sizeof(plan), 0, 0, 0);
        /* Without a kernel the host answers ENOSYS: everything here is about to end. */
        if (size < 0)
            die();
        int64_t r = size ? spawn_large((uint64_t)size) : spawn((uint64_t)&plan);
        if (r < 0)
            stub_syscall(SYS_GLOVEBOX_INIT, INIT_FAILED, (uint64_t)-r, 0, 0, 0, 0);
    }
}

void stub_main(uint64_t *stack)
{
    if (stub_syscall(SYS_GLOVEBOX_EXEC, (uint64_t)&plan, 0, 0, 0, 0, 0) != 0)
        die();
    if (plan.is_init)
        init_loop();
    if (plan.segment_count > STUB_SEGMENT_MAX || plan.argument_bytes > STUB_ARGUMENT_MAX)
        die();
    for (uint64_t i = 0; i < plan.segment_count; i++)
        map_segment(&plan.segments[i]);
    if (plan.executable_stack)
        make_stack_executable(stack);
    uint64_t *vectors = build_stack(stack);
    install_handlers();
    erase_marks();
    uint64_t entry = plan.entry;
    if (stub_syscall(SYS_GLOVEBOX_START, (uint64_t)stub_handler, (uint64_t)stub_restorer,
                     (uint64_t)stub_image_start, (uint64_t)stub_image_end, 0, 0) != 0)
        die();
    stub_jump(vectors, entry);
}
