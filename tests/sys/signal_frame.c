// SPDX-License-Identifier: Apache-2.0
/* What a handler finds and may change: registers, masks, alternate stacks, faults, jumps out of it.
 */
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#define PAGE 4096

static volatile sig_atomic_t ran, code, trap_signal;
static void *volatile fault_address;
static sigjmp_buf out;

static void handle(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&a.sa_mask);
    ASSERT_EQ(sigaction(sig, &a, NULL), 0);
}

static bool is_blocked(int sig)
{
    sigset_t s;
    sigprocmask(SIG_BLOCK, NULL, &s);
    return sigismember(&s, sig) == 1;
}

static void jump_out(int sig, siginfo_t *info, void *context)
{
    ran++;
    trap_signal = sig;
    code = info->si_code;
    fault_address = info->si_addr;
    siglongjmp(out, 1);
}

static int status_of(void (*f)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        f();
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status & 0x7f;
}

/* ---- faults ---- */

TEST(fault_at_an_unmapped_address)
{
    handle(SIGSEGV, jump_out, 0);
    char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page, PAGE);
    if (sigsetjmp(out, 1) == 0)
        *(volatile char *)(page + 17) = 1;
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(code, SEGV_MAPERR);
    EXPECT_TRUE(fault_address == page + 17);
}

TEST(fault_of_access_rights)
{
    handle(SIGSEGV, jump_out, 0);
    char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sigsetjmp(out, 1) == 0)
        *(volatile char *)(page + 5) = 1;
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(code, SEGV_ACCERR);
    EXPECT_TRUE(fault_address == page + 5);
}

static char *volatile guarded; /* read by the handler of the very access */

static void open_page(int sig, siginfo_t *info, void *context)
{
    ran++;
    mprotect(guarded, PAGE, PROT_READ | PROT_WRITE);
}

TEST(fault_is_retried_when_its_handler_returns)
{
    handle(SIGSEGV, open_page, 0);
    guarded = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char *)guarded = 7;
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(*guarded, 7);
}

static void skip_load(int sig, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    ran++;
    r[REG_RAX] = 1234;
    r[REG_RIP] += 3;
}

TEST(handler_of_a_fault_may_change_registers)
{
    long value;
    handle(SIGSEGV, skip_load, 0);
    /* mov (%rax), %rax: three bytes */
    __asm__ volatile("xor %%eax, %%eax\n .byte 0x48, 0x8b, 0x00\n mov %%rax, %0"
                     : "=r"(value)
                     :
                     : "rax", "memory");
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(value, 1234);
}

TEST(division_by_zero)
{
    handle(SIGFPE, jump_out, 0);
    if (sigsetjmp(out, 1) == 0)
        __asm__ volatile("xor %%edx, %%edx\n mov $1, %%eax\n xor %%ecx, %%ecx\n idiv %%ecx" ::
                             : "eax", "ecx", "edx");
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(code, FPE_INTDIV);
}

TEST(illegal_instruction)
{
    handle(SIGILL, jump_out, 0);
    if (sigsetjmp(out, 1) == 0)
        __asm__ volatile("ud2");
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(trap_signal, SIGILL);
    EXPECT_EQ(code, ILL_ILLOPN);
}

static void count_trap(int sig, siginfo_t *info, void *context)
{
    ran++;
}

TEST(breakpoint_goes_on_behind_itself)
{
    handle(SIGTRAP, count_trap, 0);
    __asm__ volatile("int3");
    __asm__ volatile("int3");
    EXPECT_EQ(ran, 2);
}

TEST(access_past_the_end_of_a_mapped_file)
{
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    ASSERT_GE(fd, 0);
    handle(SIGBUS, jump_out, 0);
    char *map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    ASSERT_TRUE(map != MAP_FAILED);
    if (sigsetjmp(out, 1) == 0)
        ran += *(volatile char *)map;
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(trap_signal, SIGBUS);
    EXPECT_EQ(code, BUS_ADRERR);
}

TEST(jump_to_nowhere)
{
    handle(SIGSEGV, jump_out, 0);
    void (*volatile nowhere)(void) = NULL;
    if (sigsetjmp(out, 1) == 0)
        nowhere();
    EXPECT_EQ(ran, 1);
    EXPECT_TRUE(fault_address == NULL);
}

TEST(many_faults_in_a_row)
{
    handle(SIGSEGV, skip_load, 0);
    for (int i = 1; i <= 1000; i++) {
        long value;
        __asm__ volatile("xor %%eax, %%eax\n .byte 0x48, 0x8b, 0x00\n mov %%rax, %0"
                         : "=r"(value)
                         :
                         : "rax", "memory");
        ASSERT_EQ(value, 1234);
        ASSERT_EQ(ran, i);
    }
}

static void fault(void)
{
    *(volatile char *)16 = 1;
}
static void fault_blocked(void)
{
    sigset_t s;
    sigfillset(&s);
    sigprocmask(SIG_SETMASK, &s, NULL);
    handle(SIGSEGV, jump_out, 0);
    fault();
}
static void fault_ignored(void)
{
    signal(SIGSEGV, SIG_IGN);
    fault();
}
static void fault_again(int sig, siginfo_t *info, void *context)
{
    fault();
}
static void fault_in_handler(void)
{
    handle(SIGSEGV, fault_again, 0);
    fault();
}

TEST(fault_without_a_handler_ends_the_process)
{
    EXPECT_EQ(status_of(fault), SIGSEGV);
}

TEST(fault_that_is_blocked_or_ignored_ends_the_process)
{
    EXPECT_EQ(status_of(fault_blocked), SIGSEGV);
    EXPECT_EQ(status_of(fault_ignored), SIGSEGV);
}

TEST(fault_in_its_own_handler_ends_the_process)
{
    EXPECT_EQ(status_of(fault_in_handler), SIGSEGV);
}

TEST(fault_signal_that_was_sent_is_like_any_other)
{
    handle(SIGSEGV, count_trap, 0);
    kill(getpid(), SIGSEGV);
    EXPECT_EQ(ran, 1);
}

/* ---- jumping out ---- */

TEST(siglongjmp_restores_the_mask_each_time)
{
    handle(SIGUSR1, jump_out, 0);
    for (volatile int i = 1; i <= 1000; i++) {
        if (sigsetjmp(out, 1) == 0)
            raise(SIGUSR1);
        ASSERT_EQ(ran, i);
    }
    EXPECT_TRUE(!is_blocked(SIGUSR1));
}

static jmp_buf plain_out;

static void plain_jump(int sig, siginfo_t *info, void *context)
{
    longjmp(plain_out, 1);
}

TEST(longjmp_leaves_the_signal_blocked)
{
    handle(SIGUSR1, plain_jump, 0);
    if (_setjmp(plain_out) == 0)
        raise(SIGUSR1);
    EXPECT_TRUE(is_blocked(SIGUSR1));
}

/* ---- the frame ---- */

static void check_frame_mask(int sig, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    code = sigismember(&u->uc_sigmask, SIGUSR2) == 1 && sigismember(&u->uc_sigmask, SIGUSR1) == 0;
    ran++;
}

TEST(frame_has_the_mask_of_the_interrupted_code)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    sigprocmask(SIG_SETMASK, &s, NULL);
    handle(SIGUSR1, check_frame_mask, 0);
    raise(SIGUSR1);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(code, 1);
    EXPECT_TRUE(is_blocked(SIGUSR2));
}

static void change_frame_mask(int sig, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    sigaddset(&u->uc_sigmask, SIGUSR2);
    sigaddset(&u->uc_sigmask, SIGKILL);
    sigdelset(&u->uc_sigmask, SIGHUP);
}

TEST(mask_in_the_frame_is_the_mask_after_the_handler)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGHUP);
    sigprocmask(SIG_SETMASK, &s, NULL);
    handle(SIGUSR1, change_frame_mask, 0);
    raise(SIGUSR1);
    EXPECT_TRUE(is_blocked(SIGUSR2));
    EXPECT_TRUE(!is_blocked(SIGHUP));
    EXPECT_TRUE(!is_blocked(SIGKILL));
}

static void unblock_in_frame(int sig, siginfo_t *info, void *context)
{
    sigdelset(&((ucontext_t *)context)->uc_sigmask, SIGUSR2);
}

TEST(signal_that_the_frame_unblocks_is_delivered_at_its_end)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    sigprocmask(SIG_SETMASK, &s, NULL);
    handle(SIGUSR1, unblock_in_frame, 0);
    handle(SIGUSR2, count_trap, 0);
    raise(SIGUSR2);
    EXPECT_EQ(ran, 0);
    raise(SIGUSR1);
    EXPECT_EQ(ran, 1);
}

static void clobber(int sig, siginfo_t *info, void *context)
{
    ran++;
    __asm__ volatile("mov $-1, %%rax\n mov %%rax, %%rcx\n mov %%rax, %%rdx\n mov %%rax, %%r8\n"
                     "mov %%rax, %%r9\n mov %%rax, %%r10\n mov %%rax, %%r11\n"
                     "movq %%rax, %%xmm0\n movq %%rax, %%xmm7\n movq %%rax, %%xmm15\n" ::
                         : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm0", "xmm7", "xmm15");
}

TEST(registers_survive_a_handler)
{
    volatile pid_t parent = getpid();
    handle(SIGUSR1, clobber, 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 2000; i++)
            kill(parent, SIGUSR1);
        kill(parent, SIGUSR1);
        _exit(0);
    }
    double sum = 0, want = 0;
    unsigned long hash = 0, expected = 0;
    while (ran < 20) {
        sum = want = 0;
        hash = expected = 0;
        for (int i = 0; i < 100000; i++) {
            sum += i * 0.5;
            hash = hash * 31 + (unsigned long)i;
        }
        want = 100000.0 * 99999.0 / 4;
        for (int i = 0; i < 100000; i++)
            expected = expected * 31 + (unsigned long)i;
        ASSERT_TRUE(sum == want);
        ASSERT_TRUE(hash == expected);
        if (kill(pid, 0) < 0 || waitpid(pid, NULL, WNOHANG) == pid)
            break;
    }
    EXPECT_GT(ran, 0);
}

/* ---- alternate stacks ---- */

static char alternate[64 * 1024];
static volatile sig_atomic_t was_on_alternate;

static void look_at_stack(int sig, siginfo_t *info, void *context)
{
    char here = 0;
    was_on_alternate = &here >= alternate && &here < alternate + sizeof(alternate);
    ran++;
}

static void set_alternate(void)
{
    stack_t s = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    ASSERT_EQ(sigaltstack(&s, NULL), 0);
}

TEST(handler_runs_on_the_alternate_stack)
{
    set_alternate();
    handle(SIGUSR1, look_at_stack, SA_ONSTACK);
    raise(SIGUSR1);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(was_on_alternate, 1);
}

TEST(handler_runs_on_the_normal_stack_when_there_is_no_other)
{
    handle(SIGUSR1, look_at_stack, SA_ONSTACK);
    raise(SIGUSR1);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(was_on_alternate, 0);
}

static void look_at_altstack_flags(int sig, siginfo_t *info, void *context)
{
    stack_t s;
    sigaltstack(NULL, &s);
    code = s.ss_flags;
    ran = sigaltstack(&s, NULL) == -1 && errno == EPERM;
}

TEST(alternate_stack_in_use_can_not_be_changed)
{
    stack_t s;
    set_alternate();
    sigaltstack(NULL, &s);
    EXPECT_EQ(s.ss_flags, 0);
    handle(SIGUSR1, look_at_altstack_flags, SA_ONSTACK);
    raise(SIGUSR1);
    EXPECT_EQ(code, SS_ONSTACK);
    EXPECT_EQ(ran, 1);
}

static volatile int depth;

__attribute__((noinline)) static int recurse(int n)
{
    volatile char pad[1024];
    pad[n % 1024] = (char)n;
    depth = n;
    return n < INT32_MAX ? recurse(n + 1) + pad[n % 1024] : 0;
}

TEST(stack_overflow_is_handled_on_the_alternate_stack)
{
    struct rlimit small = {1024 * 1024, RLIM_INFINITY};
    pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_STACK, &small);
        set_alternate();
        handle(SIGSEGV, jump_out, SA_ONSTACK);
        for (volatile int i = 0; i < 3; i++) {
            if (sigsetjmp(out, 1) == 0)
                recurse(1);
        }
        _exit(ran == 3 && depth > 100 ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

static void overflow(void)
{
    struct rlimit small = {1024 * 1024, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &small);
    handle(SIGSEGV, jump_out, 0);
    recurse(1);
}

TEST(stack_overflow_without_an_alternate_stack_ends_the_process)
{
    EXPECT_EQ(status_of(overflow), SIGSEGV);
}

/* ---- handlers without SA_ONSTACK, where there is an alternate stack ---- */

static bool is_on_alternate(const void *at)
{
    return (const char *)at >= alternate && (const char *)at < alternate + sizeof(alternate);
}

static stack_t seen;
static volatile sig_atomic_t frame_distance;

static void look_around(int sig, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    look_at_stack(sig, info, context);
    sigaltstack(NULL, &seen);
    code = u->uc_stack.ss_sp == alternate && u->uc_stack.ss_size == sizeof(alternate) &&
           info->si_signo == sig && info->si_pid == getpid() && !is_on_alternate(info) &&
           !is_on_alternate(u) && !is_on_alternate(u->uc_mcontext.fpregs);
    frame_distance = (sig_atomic_t)(u->uc_mcontext.gregs[REG_RSP] - (long)u);
}

TEST(handler_without_sa_onstack_runs_on_the_normal_stack)
{
    set_alternate();
    handle(SIGUSR1, look_around, 0);
    kill(getpid(), SIGUSR1);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(was_on_alternate, 0);
    EXPECT_EQ(code, 1);
    EXPECT_EQ(seen.ss_flags, 0);
    EXPECT_TRUE(seen.ss_sp == alternate);
    EXPECT_GT(frame_distance, 128);
    EXPECT_LT(frame_distance, 32768);
    sigaltstack(NULL, &seen);
    EXPECT_TRUE(seen.ss_sp == alternate && seen.ss_size == sizeof(alternate));
}

static void change_altstack(int sig, siginfo_t *info, void *context)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    ran = sigaltstack(&none, NULL) == 0;
    look_at_stack(sig, info, context);
}

/* The one of the frame comes back at the handler's end. */
TEST(handler_on_the_normal_stack_may_change_the_alternate_one)
{
    set_alternate();
    handle(SIGUSR1, change_altstack, 0);
    raise(SIGUSR1);
    EXPECT_EQ(ran, 2);
    sigaltstack(NULL, &seen);
    EXPECT_EQ(seen.ss_flags, 0);
    EXPECT_TRUE(seen.ss_sp == alternate);
}

static volatile sig_atomic_t inner_was_on_alternate, outer_is_on_alternate;

static void look_inside(int sig, siginfo_t *info, void *context)
{
    char here = 0;
    inner_was_on_alternate = is_on_alternate(&here);
}

static void raise_another(int sig, siginfo_t *info, void *context)
{
    char here = 0;
    outer_is_on_alternate = is_on_alternate(&here);
    raise(SIGUSR2);
    sigaltstack(NULL, &seen);
}

static void nest(int outer_flags, int inner_flags)
{
    set_alternate();
    handle(SIGUSR1, raise_another, outer_flags);
    handle(SIGUSR2, look_inside, inner_flags);
    inner_was_on_alternate = outer_is_on_alternate = -1;
    raise(SIGUSR1);
}

TEST(handlers_nest_on_whatever_stack_they_are)
{
    nest(0, 0);
    EXPECT_EQ(outer_is_on_alternate, 0);
    EXPECT_EQ(inner_was_on_alternate, 0);
    EXPECT_EQ(seen.ss_flags, 0);
    nest(0, SA_ONSTACK);
    EXPECT_EQ(outer_is_on_alternate, 0);
    EXPECT_EQ(inner_was_on_alternate, 1);
    EXPECT_EQ(seen.ss_flags, 0);
    nest(SA_ONSTACK, 0);
    EXPECT_EQ(outer_is_on_alternate, 1);
    EXPECT_EQ(inner_was_on_alternate, 1);
    EXPECT_EQ(seen.ss_flags, SS_ONSTACK);
}

TEST(handlers_of_signals_that_come_together_run_on_the_normal_stack)
{
    sigset_t s, old;
    set_alternate();
    handle(SIGUSR1, look_inside, 0);
    handle(SIGUSR2, look_at_stack, 0);
    sigfillset(&s);
    sigprocmask(SIG_SETMASK, &s, &old);
    raise(SIGUSR1);
    raise(SIGUSR2);
    inner_was_on_alternate = was_on_alternate = -1;
    sigprocmask(SIG_SETMASK, &old, NULL);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(inner_was_on_alternate, 0);
    EXPECT_EQ(was_on_alternate, 0);
}

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif

static void set_autodisarm(void)
{
    stack_t s = {.ss_sp = alternate, .ss_size = sizeof(alternate), .ss_flags = (int)SS_AUTODISARM};
    ASSERT_EQ(sigaltstack(&s, NULL), 0);
}

TEST(alternate_stack_that_disarms_itself_does_so_for_any_handler)
{
    const int flags[] = {0, SA_ONSTACK};
    for (int i = 0; i < 2; i++) {
        set_autodisarm();
        handle(SIGUSR1, look_around, flags[i]);
        raise(SIGUSR1);
        EXPECT_EQ(ran, i + 1);
        EXPECT_EQ(was_on_alternate, i);
        EXPECT_EQ(seen.ss_flags, SS_DISABLE);
        sigaltstack(NULL, &seen);
        EXPECT_EQ(seen.ss_flags, (int)SS_AUTODISARM);
        EXPECT_TRUE(seen.ss_sp == alternate);
    }
}

static void scribble(int sig, siginfo_t *info, void *context)
{
    volatile char much[4096];
    look_at_stack(sig, info, context);
    memset((void *)much, 0x55, sizeof(much));
    __asm__ volatile("pcmpeqd %%xmm3, %%xmm3\n\tfninit" ::: "xmm3");
}

/* What is below the stack pointer is a leaf function's own (the red zone of the ABI). */
TEST(red_zone_and_vector_registers_survive_a_handler_on_the_same_stack)
{
    static const long number = 0x1234567812345678;
    long red[16], vector;
    set_alternate();
    handle(SIGTRAP, scribble, 0);
    __asm__ volatile("movq %[number], %%xmm3\n\t"
                     "mov $-128, %%rcx\n"
                     "1:\tmov %%rcx, (%%rsp, %%rcx)\n\t"
                     "add $8, %%rcx\n\t"
                     "js 1b\n\t"
                     "int3\n\t"
                     "mov $-128, %%rcx\n"
                     "2:\tmov (%%rsp, %%rcx), %%rax\n\t"
                     "mov %%rax, 128(%[red], %%rcx)\n\t"
                     "add $8, %%rcx\n\t"
                     "js 2b\n\t"
                     "movq %%xmm3, %[vector]"
                     : [vector] "=&r"(vector)
                     : [number] "r"(number), [red] "r"(red)
                     : "rax", "rcx", "xmm3", "memory", "cc");
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(was_on_alternate, 0);
    EXPECT_EQ(vector, number);
    for (int i = 0; i < 16; i++)
        EXPECT_EQ(red[i], i * 8 - 128);
}

static void change_vector(int sig, siginfo_t *info, void *context)
{
    look_at_stack(sig, info, context);
    ((ucontext_t *)context)->uc_mcontext.fpregs->_xmm[3].element[0] = 4711;
}

TEST(handler_on_the_same_stack_may_change_vector_registers)
{
    long vector;
    set_alternate();
    handle(SIGTRAP, change_vector, 0);
    __asm__ volatile("pxor %%xmm3, %%xmm3\n\tint3\n\tmovq %%xmm3, %0" : "=r"(vector) : : "xmm3");
    EXPECT_EQ(was_on_alternate, 0);
    EXPECT_EQ(vector, 4711);
}

static void look_and_jump(int sig, siginfo_t *info, void *context)
{
    look_at_stack(sig, info, context);
    siglongjmp(out, 1);
}

TEST(jumps_out_of_handlers_on_the_normal_stack)
{
    set_alternate();
    handle(SIGUSR1, look_and_jump, 0);
    for (volatile int i = 1; i <= 1000; i++) {
        if (sigsetjmp(out, 1) == 0)
            raise(SIGUSR1);
        ASSERT_EQ(ran, i);
        ASSERT_EQ(was_on_alternate, 0);
    }
}

static void overflow_without_onstack(void)
{
    struct rlimit small = {1024 * 1024, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &small);
    set_alternate();
    handle(SIGSEGV, jump_out, 0);
    recurse(1);
}

TEST(stack_overflow_ends_a_process_whose_handler_needs_that_stack)
{
    EXPECT_EQ(status_of(overflow_without_onstack), SIGSEGV);
}

static volatile sig_atomic_t nested_ran, nested_was_inside;

static void nested(int sig, siginfo_t *info, void *context)
{
    nested_ran++;
    nested_was_inside = ran == 1;
}

static void raise_nested(int sig, siginfo_t *info, void *context)
{
    ran = 1;
    raise(SIGUSR2);
    ran = 2;
}

TEST(handlers_of_different_signals_nest)
{
    handle(SIGUSR1, raise_nested, 0);
    handle(SIGUSR2, nested, 0);
    raise(SIGUSR1);
    EXPECT_EQ(ran, 2);
    EXPECT_EQ(nested_ran, 1);
    EXPECT_EQ(nested_was_inside, 1);
}

TEST(handlers_nest_on_one_alternate_stack)
{
    set_alternate();
    handle(SIGUSR1, raise_nested, SA_ONSTACK);
    handle(SIGUSR2, look_at_stack, SA_ONSTACK);
    raise(SIGUSR1);
    EXPECT_EQ(was_on_alternate, 1);
    EXPECT_EQ(ran, 2);
}

TEST(handler_at_an_impossible_address_faults)
{
    struct {
        uint64_t handler, flags, restorer, mask;
    } a = {.handler = 0x0000800000000000ULL, .flags = SA_RESTART};
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        syscall(SYS_rt_sigaction, SIGUSR1, &a, NULL, 8);
        kill(getpid(), SIGUSR1);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status & 0x7f, SIGSEGV);
}

/* ---- abuse ---- */

#define FORGED_QUERY 1002 /* what only the signal handler of a sandbox is meant to call */

_Noreturn static void attempt(long (*call)(int i), int i)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    handle(SIGUSR1, count_trap, 0);
    handle(SIGSEGV, jump_out, 0);
    if (sigsetjmp(out, 1) == 0)
        call(i);
    _exit(0);
}

/* Each in a child of its own, which may die of it; nobody else is to notice. */
static void abuse(long (*call)(int i))
{
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();
        if (pid == 0)
            attempt(call, i);
        ASSERT_GT(pid, 0);
        ASSERT_EQ(waitpid(pid, NULL, 0), pid);
    }
    raise(SIGUSR2);
}

static long forge_query(int i)
{
    static char memory[4096];
    static const long places[] = {0, 8, -8, (long)memory, 0x7ffffffff000, -4096};
    return syscall(FORGED_QUERY, i % 8 == 7 ? SIGURG : 4 + i % 8, places[i % 6],
                   places[(i / 6) % 6]);
}

TEST(forged_queries_of_the_handler_mislead_only_their_caller)
{
    handle(SIGUSR2, count_trap, 0);
    abuse(forge_query);
    EXPECT_EQ(ran, 1);
}

static long forge_return(int i)
{
    static const long places[] = {0, 8, -8, 0x7ffffffff000, -4096};
    return syscall(SYS_rt_sigreturn, places[i % 5]);
}

TEST(forged_returns_mislead_only_their_caller)
{
    handle(SIGUSR2, count_trap, 0);
    abuse(forge_return);
    EXPECT_EQ(ran, 1);
}

static void block_in_frame(int sig, siginfo_t *info, void *context)
{
    memset(&((ucontext_t *)context)->uc_sigmask, 0xff, sizeof(sigset_t));
}

TEST(frame_that_blocks_everything_does_not_make_immortal)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        handle(SIGUSR1, block_in_frame, 0);
        raise(SIGUSR1);
        for (;;)
            pause();
    }
    harness_wait_until_sleeps(pid);
    EXPECT_EQ(kill(pid, SIGSTOP), 0);
    EXPECT_EQ(waitpid(pid, &status, WUNTRACED), pid);
    EXPECT_TRUE(WIFSTOPPED(status));
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, SIGKILL);
}
