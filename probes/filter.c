// SPDX-License-Identifier: Apache-2.0
/*
 * Ways round the filter: other entrances to the host's kernel, numbers that nobody knows, arguments
 * whose upper half says something else, filters of the program's own, privileged instructions.
 */
#include "probes/support.h"

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define X32_BIT 0x40000000L

/* The errno of a call that may never come back is its child's exit status. */
static int status_of(void (*f)(void *), void *argument)
{
    return probe_run_child(f, argument);
}

/* ---- other entrances ---- */

static void *low_page(void)
{
    void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    NEED(p != MAP_FAILED);
    return p;
}

static void call_int80(void *number)
{
    long result = (long)number;
    static char *low;
    low = low_page();
    strcpy(low, "/etc/passwd");
    __asm__ volatile("int $0x80"
                     : "+a"(result)
                     : "b"(low), "c"(0), "d"(0)
                     : "memory", "r8", "r9", "r10", "r11");
    _exit(77);
}

PROBE(enter_by_int_80, FILTER, .expected = "the process is killed",
      .after = "32-bit calls past a 64-bit filter", .outside = OUTSIDE_ESCAPES)
{
    static const long numbers[] = {20 /* getpid */,
                                   5 /* open */,
                                   11 /* execve */,
                                   45 /* brk */,
                                   90,
                                   102,
                                   120,
                                   173,
                                   192,
                                   358,
                                   383};
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        int status = status_of(call_int80, (void *)numbers[i]);
        if (status == 77)
            probe_escaped("call %ld came back", numbers[i]);
        if (status != 128 + SIGSYS && status != 128 + SIGSEGV)
            probe_unproved("call %ld: status %d", numbers[i], status);
    }
}

/* Far return into the 32-bit code segment, where `syscall` and `int 0x80` mean other tables. */
static void enter_compat(void *code_size)
{
    static const unsigned char codes[][16] = {
        {0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xf4},       /* mov eax, getpid; int 0x80; hlt */
        {0xb8, 20, 0, 0, 0, 0x0f, 0x05, 0xf4},       /* ... syscall */
        {0xb8, 20, 0, 0, 0, 0x89, 0xe5, 0x0f, 0x34}, /* ... mov ebp, esp; sysenter */
    };
    char *low = low_page();
    memcpy(low, codes[(long)code_size], sizeof(codes[0]));
    low[15] = (char)0xf4;
    __asm__ volatile("mov %0, %%rsp\n"
                     "pushq $0x23\n"
                     "pushq %1\n"
                     "lretq\n"
                     :
                     : "r"(low + PAGE - 64), "r"(low)
                     : "memory");
    __builtin_unreachable();
}

PROBE(enter_by_a_32_bit_code_segment, FILTER,
      .expected = "the process is killed before the call is made", .after = "heaven's gate")
{
    for (long i = 0; i < 3; i++) {
        int status = status_of(enter_compat, (void *)i);
        /* SIGSEGV is the hlt behind a call that came back; SIGSYS the filter; SIGILL no such
         * instruction. */
        if (status != 128 + SIGSYS && status != 128 + SIGILL && !(i > 0 && status == 128 + SIGSEGV))
            probe_escaped("entrance %ld: status %d", i, status);
    }
    probe_check_kernel();
}

PROBE(call_x32_numbers, FILTER, .expected = "ENOSYS from all of them")
{
    for (long nr = 0; nr < 600; nr++)
        REFUSED(syscall(X32_BIT | nr, 0L, 0L, 0L, 0L, 0L, 0L), ENOSYS);
    for (long nr = 512; nr < 548; nr++)
        REFUSED(syscall(nr, 0L, 0L, 0L, 0L, 0L, 0L), ENOSYS);
}

static void call_vsyscall(void *at)
{
    long values[4];
    ((long (*)(void *, void *, void *))at)(values, values + 2, NULL);
}

PROBE(call_the_vsyscall_page, FILTER, .expected = "a time, or SIGSEGV; never another call")
{
    for (unsigned long at = 0xffffffffff600000; at <= 0xffffffffff600c00; at += 0x400) {
        int status = status_of(call_vsyscall, (void *)at);
        if (status != 0 && status != 128 + SIGSEGV && status != 128 + SIGSYS)
            probe_unproved("%lx: status %d", at, status);
    }
    probe_check_kernel();
}

static void call_from_fresh_code(void *number)
{
    /* mov edi.. are as they come; mov eax, imm32; syscall; mov edi, eax; mov eax, exit_group;
     * syscall */
    unsigned char code[] = {0xb8, 0,    0,    0,    0,    0x31, 0xff, 0x31, 0xf6, 0x31, 0xd2, 0x0f,
                            0x05, 0xf7, 0xd8, 0x89, 0xc7, 0xb8, 231,  0,    0,    0,    0x0f, 0x05};
    int nr = (int)(long)number;
    memcpy(code + 1, &nr, 4);
    char *p = probe_pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy(p + 3, code, sizeof(code));
    ((void (*)(void))(p + 3))();
}

PROBE(call_from_code_that_was_just_made, FILTER,
      .expected = "the filter asks nobody where a call comes from", .outside = OUTSIDE_MAYBE)
{
    static const struct {
        long number;
        int error;
    } calls[] = {{SYS_ptrace, EPERM},
                 {SYS_io_uring_setup, ENOSYS},
                 {SYS_userfaultfd, ENOSYS},
                 {SYS_mount, EPERM},
                 {SYS_setns, EPERM}};
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        int status = status_of(call_from_fresh_code, (void *)calls[i].number);
        if (status != calls[i].error)
            probe_escaped("call %ld: status %d", calls[i].number, status);
    }
}

/* ---- numbers ---- */

/* uretprobe and uprobe: newer hosts don't ask the filter, and refuse whoever has no probe. */
static void call_uprobe(void *number)
{
    _exit(syscall((long)number) == -1 && (errno == ENOSYS || errno == ENXIO) ? 0 : 1);
}

PROBE(call_numbers_that_pass_every_filter, FILTER, .expected = "ENOSYS, ENXIO or SIGILL")
{
    for (long nr = 335; nr <= 336; nr++) {
        int status = status_of(call_uprobe, (void *)nr);
        if (status != 0 && status != 128 + SIGILL)
            probe_escaped("number %ld: status %d", nr, status);
    }
}

PROBE(call_with_an_upper_half_in_the_number, FILTER, .expected = "the same verdict as without it")
{
    static const struct {
        long number;
        int error;
    } calls[] = {{SYS_ptrace, EPERM},  {SYS_bpf, EPERM},         {SYS_io_uring_setup, ENOSYS},
                 {SYS_keyctl, ENOSYS}, {SYS_init_module, EPERM}, {SYS_open_by_handle_at, EPERM}};
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        for (int shift = 32; shift < 64; shift += 7)
            REFUSED(syscall(calls[i].number | 1L << shift, 0L, 0L, 0L), calls[i].error, ENOSYS);
}

PROBE(call_with_an_upper_half_in_the_arguments, FILTER,
      .expected = "the same verdict as without it", .after = "filters that compare 32 bits of 64")
{
    char *p = probe_pages(1, PROT_READ | PROT_WRITE);
    uint32_t word = 0;
    for (int shift = 32; shift < 64; shift += 5) {
        long up = 1L << shift;
        REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD | up, 0L, 0L, 0L, 0L), EPERM, EINVAL);
        REFUSED(syscall(SYS_unshare, CLONE_NEWNS | up), EPERM, EINVAL);
        REFUSED(syscall(SYS_madvise, p, PAGE, 100 | up), EINVAL);
        REFUSED(syscall(SYS_futex, &word, FUTEX_LOCK_PI | up, 0L, NULL, NULL, 0L), ENOSYS);
        REFUSED(syscall(SYS_mmap, NULL, PAGE, (long)PROT_READ,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | up, -1L, 0L),
                EINVAL, ENOMEM, EOPNOTSUPP);
        REFUSED(syscall(SYS_socket, AF_PACKET | up, SOCK_RAW, 0L), EAFNOSUPPORT, EPERM);
        REFUSED(syscall(SYS_arch_prctl, 0x1012 | up, 0L), EINVAL, ENODEV);
        REFUSED(syscall(SYS_personality, 0x0400000L | up), EINVAL, EPERM);
    }
}

/* ---- filters and dispatchers of its own ---- */

PROBE(install_a_filter_of_its_own, FILTER,
      .expected = "EINVAL: it could answer the kernel's calls in its stead",
      .outside = OUTSIDE_ESCAPES)
{
    struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog program = {1, &allow};
    NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    for (unsigned long flag = 0; flag <= 64; flag = flag ? flag * 2 : 1)
        REFUSED(syscall(SYS_seccomp, (long)SECCOMP_SET_MODE_FILTER, flag, &program), EINVAL, EPERM);
    REFUSED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), EINVAL, EPERM);
}

PROBE(enter_strict_mode, FILTER, .expected = "EINVAL")
{
    REFUSED(syscall(SYS_seccomp, (long)SECCOMP_SET_MODE_STRICT, 0L, NULL), EINVAL, EPERM);
    REFUSED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0), EINVAL, EPERM);
}

PROBE(take_the_listener_of_the_filter, FILTER,
      .expected = "EINVAL or EBUSY: no second listener, no ioctl finds one",
      .outside = OUTSIDE_MAYBE)
{
    /* Of one call alone: where it can be had, nobody answers, and the probe must get to its end. */
    struct sock_filter notify[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_getpgrp},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    struct sock_fprog program = {ARRAY_SIZE(notify), notify};
    char data[128] = "";
    NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REFUSED(syscall(SYS_seccomp, (long)SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                    &program),
            EINVAL, EBUSY, EPERM);
    for (int fd = 0; fd < 64; fd++)
        FAILS(syscall(SYS_ioctl, fd, SECCOMP_IOCTL_NOTIF_RECV, data));
}

PROBE(dispatch_its_own_calls, FILTER,
      .expected = "EINVAL: PR_SET_SYSCALL_USER_DISPATCH is not there", .outside = OUTSIDE_MAYBE)
{
    static char selector;
    REFUSED(prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, &selector), EINVAL);
}

PROBE(change_how_the_processor_runs_it, FILTER, .expected = "EINVAL", .outside = OUTSIDE_MAYBE)
{
    REFUSED(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0), EINVAL, EPERM);
    REFUSED(syscall(SYS_arch_prctl, 0x1012L /* ARCH_SET_CPUID */, 0L), EINVAL, ENODEV);
    REFUSED(syscall(SYS_arch_prctl, 0x5001L /* ARCH_SHSTK_ENABLE */, 1L), EINVAL, EOPNOTSUPP);
    REFUSED(syscall(SYS_arch_prctl, 0x1023L /* ARCH_REQ_XCOMP_PERM */, 18L), EINVAL, EOPNOTSUPP);
    REFUSED(prctl(PR_SET_MM, PR_SET_MM_START_CODE, 4096, 0, 0), EINVAL, EPERM);
    REFUSED(prctl(PR_SET_PTRACER, -1L, 0, 0, 0), EINVAL);
    REFUSED(prctl(62 /* PR_SCHED_CORE */, 1, 0, 0, 0), EINVAL, ENODEV);
}

PROBE(set_a_personality, FILTER, .expected = "EINVAL",
      .after = "READ_IMPLIES_EXEC, ADDR_NO_RANDOMIZE, MMAP_PAGE_ZERO", .outside = OUTSIDE_ESCAPES)
{
    static const unsigned long personas[] = {0x0040000, 0x0400000, 0x0100000,
                                             0x0800000, 8,         0x4000000};
    for (size_t i = 0; i < ARRAY_SIZE(personas); i++)
        REFUSED(syscall(SYS_personality, personas[i]), EINVAL, EPERM);
}

PROBE(change_segment_descriptors, FILTER, .expected = "ENOSYS",
      .after = "CVE-2017-17053, espfix holes by modify_ldt", .outside = OUTSIDE_MAYBE)
{
    char table[64];
    REFUSED(syscall(SYS_modify_ldt, 0L, table, (long)sizeof(table)), ENOSYS);
    REFUSED(syscall(SYS_modify_ldt, 0x11L, table, 16L), ENOSYS);
    REFUSED(syscall(SYS_set_thread_area, table), ENOSYS);
    REFUSED(syscall(SYS_get_thread_area, table), ENOSYS);
}

PROBE(ask_for_input_and_output_ports, FILTER, .expected = "EPERM", .outside = OUTSIDE_MAYBE)
{
    REFUSED(syscall(SYS_ioperm, 0x80L, 1L, 1L), EPERM);
    REFUSED(syscall(SYS_iopl, 3L), EPERM);
}

/* ---- instructions ---- */

#define INSTRUCTION(name_, text_)                                           \
    static void run_##name_(void *unused _unused_)                          \
    {                                                                       \
        __asm__ volatile(text_ : : : "memory", "eax", "ecx", "edx", "rbx"); \
    }

INSTRUCTION(cli, "cli")
INSTRUCTION(hlt, "hlt")
INSTRUCTION(in, "in $0x80, %%al")
INSTRUCTION(out, "out %%al, $0x80")
INSTRUCTION(rdmsr, "mov $0x10, %%ecx\n rdmsr")
INSTRUCTION(wrmsr, "mov $0x10, %%ecx\n wrmsr")
INSTRUCTION(read_cr0, "mov %%cr0, %%rax")
INSTRUCTION(write_dr7, "xor %%eax, %%eax\n mov %%rax, %%dr7")
INSTRUCTION(invd, "invd")
INSTRUCTION(lgdt, "lgdt (%%rsp)")
INSTRUCTION(swapgs, "swapgs")
INSTRUCTION(sysret, "sysretq")
INSTRUCTION(iretq, "pushq $0\n pushq $0\n pushq $0x3202\n pushq $0x8\n pushq $0\n iretq")
INSTRUCTION(vmcall, "vmcall")
INSTRUCTION(int_8, "int $8")

PROBE(run_privileged_instructions, FILTER, .expected = "SIGSEGV or SIGILL for the program")
{
    static const struct {
        const char *name;
        void (*run)(void *);
    } all[] = {{"cli", run_cli},
               {"hlt", run_hlt},
               {"in", run_in},
               {"out", run_out},
               {"rdmsr", run_rdmsr},
               {"wrmsr", run_wrmsr},
               {"mov from cr0", run_read_cr0},
               {"mov to dr7", run_write_dr7},
               {"invd", run_invd},
               {"lgdt", run_lgdt},
               {"swapgs", run_swapgs},
               {"sysret", run_sysret},
               {"iretq", run_iretq},
               {"vmcall", run_vmcall},
               {"int 8", run_int_8}};
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        int status = status_of(all[i].run, NULL);
        if (status == 0)
            probe_escaped("%s ran", all[i].name);
        if (status != 128 + SIGSEGV && status != 128 + SIGILL && status != 128 + SIGBUS)
            probe_unproved("%s: status %d", all[i].name, status);
    }
    probe_check_kernel();
}

INSTRUCTION(int3, "int3")
INSTRUCTION(icebp, ".byte 0xf1")
INSTRUCTION(trap_flag, "pushfq\n orq $0x100, (%%rsp)\n popfq\n nop")
INSTRUCTION(overflow, "int $4")
INSTRUCTION(ud2, "ud2")
INSTRUCTION(divide, "xor %%ecx, %%ecx\n xor %%edx, %%edx\n div %%ecx")
INSTRUCTION(alignment,
            "pushfq\n orq $0x40000, (%%rsp)\n popfq\n mov %%rsp, %%rbx\n movl 1(%%rbx), %%eax")

PROBE(run_instructions_that_trap, FILTER, .expected = "the program's own signal",
      .after = "CVE-2018-8897")
{
    static void (*const all[])(void *) = {run_int3, run_icebp,  run_trap_flag, run_overflow,
                                          run_ud2,  run_divide, run_alignment};
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        int status = status_of(all[i], NULL);
        if (status != 0 && status <= 128)
            probe_unproved("instruction %zu: status %d", i, status);
    }
    probe_check_kernel();
}
