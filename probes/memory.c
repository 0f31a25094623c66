// SPDX-License-Identifier: Apache-2.0
/*
 * Memory as a weapon: addresses that are none, mappings that must not be, memory of other
 * processes, frames and stacks that lie.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <limits.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>

/* The kernel's half, the gap, the last page, vsyscall, and near NULL. */
static const uint64_t bad_addresses[] = {0,
                                         1,
                                         0x7ffffffff000 - 8,
                                         0x7ffffffff000,
                                         0x8000000000000000,
                                         0xffff888000000000,
                                         0xffffffff81000000,
                                         0xffffffffff600000,
                                         UINT64_MAX,
                                         UINT64_MAX - 4096};

PROBE(read_through_bad_addresses, MEMORY, .expected = "EFAULT from every call that reads there")
{
    int two[2];
    NEED(pipe2(two, O_NONBLOCK) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad_addresses); i++) {
        void *at = (void *)bad_addresses[i];
        REFUSED(syscall(SYS_open, at, 0L), EFAULT);
        REFUSED(syscall(SYS_write, two[1], at, 64L), EFAULT);
        REFUSED(syscall(SYS_writev, two[1], at, 3L), EFAULT);
        REFUSED(syscall(SYS_mkdir, at, 0700L), EFAULT);
        REFUSED(syscall(SYS_rename, at, at), EFAULT);
        REFUSED(syscall(SYS_nanosleep, at, NULL), EFAULT);
        REFUSED(syscall(SYS_rt_sigaction, SIGUSR1, i ? at : (void *)8, NULL, 8L), EFAULT);
        REFUSED(syscall(SYS_execve, at, NULL, NULL), EFAULT);
        REFUSED(syscall(SYS_sendmsg, socket(AF_UNIX, SOCK_DGRAM, 0), at, 0L), EFAULT);
        REFUSED(syscall(SYS_prlimit64, 0L, RLIMIT_NOFILE, i ? at : (void *)8, NULL), EFAULT);
    }
}

/* waitid once wrote where it was told, without a look whose memory it is. */
PROBE(write_through_bad_addresses, MEMORY, .expected = "EFAULT from every call that writes there",
      .after = "CVE-2017-5123")
{
    int fd = open(probe_self(), O_RDONLY);
    NEED(fd >= 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad_addresses); i++) {
        void *at = (void *)bad_addresses[i];
        REFUSED(syscall(SYS_read, fd, at, 64L), EFAULT);
        REFUSED(syscall(SYS_pread64, fd, at, 64L, 0L), EFAULT);
        REFUSED(syscall(SYS_readv, fd, at, 3L), EFAULT);
        REFUSED(syscall(SYS_fstat, fd, at), EFAULT);
        REFUSED(syscall(SYS_pipe2, at, 0L), EFAULT);
        REFUSED(syscall(SYS_uname, at), EFAULT);
        REFUSED(syscall(SYS_getcwd, at, 64L), EFAULT);
        REFUSED(syscall(SYS_clock_gettime, 0L, at), EFAULT);
        REFUSED(syscall(SYS_getrandom, at, 64L, 0L), EFAULT);
        REFUSED(syscall(SYS_sched_getaffinity, 0L, 8L, at), EFAULT);
        REFUSED(syscall(SYS_getrlimit, RLIMIT_NOFILE, at), EFAULT);
        if (!at)
            continue;
        if (probe_fork() == 0)
            _exit(0);
        REFUSED(syscall(SYS_waitid, P_ALL, 0L, at, (long)WEXITED | WNOWAIT, NULL), EFAULT);
        REFUSED(syscall(SYS_wait4, -1L, at, 0L, NULL), EFAULT);
        REFUSED(syscall(SYS_rt_sigaction, SIGUSR1, NULL, at, 8L), EFAULT);
    }
    probe_check_kernel();
}

PROBE(use_lengths_that_wrap_around, MEMORY, .expected = "EFAULT, EINVAL or ENOMEM")
{
    char data[64], *none = probe_pages(1, PROT_NONE);
    static const uint64_t sizes[] = {UINT64_MAX, INT64_MAX, 1UL << 63, 1UL << 47,
                                     UINT64_MAX - 4095};
    int fd = open(probe_self(), O_RDONLY), two[2];
    NEED(fd >= 0 && pipe2(two, O_NONBLOCK) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct iovec v[2] = {{none, sizes[i]}, {none, sizes[i]}};
        REFUSED(syscall(SYS_readv, fd, v, 2L), EINVAL, EFAULT);
        REFUSED(syscall(SYS_writev, two[1], v, 2L), EINVAL, EFAULT);
        REFUSED(syscall(SYS_pread64, fd, none, sizes[i], 0L), EINVAL, EFAULT);
        REFUSED(syscall(SYS_pread64, fd, data, 1L, sizes[i] | 1UL << 63), EINVAL);
        REFUSED(syscall(SYS_readv, fd, v, sizes[i]), EINVAL);
        REFUSED(syscall(SYS_mmap, NULL, sizes[i], PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1L, 0L),
                ENOMEM, EINVAL);
    }
    REFUSED(syscall(SYS_poll, data, 0xffffffffUL, 0L), EINVAL, EFAULT);
    REFUSED(syscall(SYS_select, -1L, data, NULL, NULL, NULL), EINVAL);
    REFUSED(syscall(SYS_epoll_wait, epoll_create1(0), data, 0x7fffffffL, 0L), EINVAL);
}

PROBE(use_buffers_at_the_end_of_a_page, MEMORY,
      .expected = "what is there is taken, nothing beyond")
{
    char *p = probe_pages(2, PROT_READ | PROT_WRITE);
    int two[2];
    char data[64];
    NEED(mprotect(p + PAGE, PAGE, PROT_NONE) == 0 && pipe2(two, O_NONBLOCK) == 0);
    memset(p, 'x', PAGE);
    REFUSED(open(p + PAGE - 8, O_RDONLY), EFAULT);
    REFUSED(syscall(SYS_stat, ".", p + PAGE - 100), EFAULT);
    REFUSED(mkdir(p + PAGE - 1, 0700), EFAULT);
    ssize_t n = write(two[1], p + PAGE - 10, 64);
    if (n > 10)
        probe_escaped("%zd bytes from a page with 10", n);
    NEED(n == 10 || (n < 0 && errno == EFAULT));
    n = read(two[0], data, sizeof(data));
    if (n > 10)
        probe_escaped("%zd bytes came out", n);
}

/* ---- mappings that must not be ---- */

PROBE(map_where_nothing_may_be, MEMORY, .expected = "EPERM, ENOMEM or EINVAL")
{
    static const uint64_t places[] = {0xffffffffff600000, 0xffffffff81000000, 0x7ffffffff000,
                                      1UL << 63};
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        REFUSED(mmap((void *)places[i], PAGE, PROT_READ | PROT_WRITE, flags, -1, 0), EPERM, ENOMEM,
                EINVAL);
    if (!probe_is_root())
        REFUSED(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags, -1, 0), EPERM, EACCES);
}

PROBE(map_huge_pages, MEMORY,
      .expected = "EINVAL or ENOMEM: memory of the machine that nobody counts")
{
    for (long order = 21; order <= 30; order += 9)
        REFUSED(mmap(NULL, 1UL << 30, PROT_READ | PROT_WRITE,
                     (int)(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | order << 26), -1, 0),
                EINVAL, ENOMEM);
    REFUSED(syscall(SYS_shmget, 0L, 1UL << 30, 0600L | SHM_HUGETLB), EINVAL, ENOMEM, EPERM, ENOSYS);
    REFUSED(syscall(SYS_memfd_create, "huge", (unsigned long)MFD_HUGETLB), EINVAL);
}

PROBE(lock_memory_without_an_end, MEMORY,
      .expected = "EAGAIN, EPERM or ENOMEM; nothing is locked on the host")
{
    size_t size = 1UL << 30;
    REFUSED(
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0),
        EAGAIN, EPERM, ENOMEM);
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    NEED(p != MAP_FAILED);
    if (!probe_is_root())
        REFUSED(mlock(p, size), ENOMEM, EPERM, EAGAIN);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    mlock2(p, size, MLOCK_ONFAULT);
    probe_check_kernel();
}

PROBE(give_advice_that_harms, MEMORY, .expected = "EINVAL",
      .after = "MADV_HWPOISON, MADV_MERGEABLE as a side channel, CVE-2022-2590",
      .outside = OUTSIDE_MAYBE)
{
    static const int advices[] = {12 /* MERGEABLE */, 13 /* UNMERGEABLE */, 102, 999, -1};
    char *p = probe_pages(1, PROT_READ | PROT_WRITE);
    for (size_t i = 0; i < ARRAY_SIZE(advices); i++)
        REFUSED(madvise(p, PAGE, advices[i]), EINVAL);
}

PROBE(poison_pages_of_the_machine, MEMORY, .expected = "EINVAL: the advice never reaches the host")
{
    char *p = probe_pages(1, PROT_READ | PROT_WRITE);
    *p = 1;
    REFUSED(madvise(p, PAGE, 100 /* HWPOISON */), EINVAL);
    REFUSED(madvise(p, PAGE, 101 /* SOFT_OFFLINE */), EINVAL);
    REFUSED(madvise(p, PAGE, 9 /* REMOVE */), EINVAL);
    REFUSED(syscall(440 /* process_madvise */, -1L, NULL, 0L, 100L, 0L), ENOSYS, EPERM);
}

PROBE(move_pages_between_nodes, MEMORY, .expected = "ENOSYS", .outside = OUTSIDE_MAYBE)
{
    char *p = probe_pages(1, PROT_READ | PROT_WRITE);
    int status = 0;
    *p = 1;
    REFUSED(syscall(SYS_move_pages, 0L, 1L, &p, NULL, &status, 0L), ENOSYS, EPERM);
    REFUSED(syscall(SYS_mbind, p, PAGE, 0L, NULL, 0L, 0L), ENOSYS, EPERM);
    REFUSED(syscall(SYS_migrate_pages, 1L, 0L, NULL, NULL), ENOSYS, EPERM);
    REFUSED(syscall(SYS_set_mempolicy, 0L, NULL, 0L), ENOSYS, EPERM);
}

PROBE(hide_memory_from_the_machine, MEMORY, .expected = "ENOSYS: memfd_secret is not there",
      .outside = OUTSIDE_MAYBE)
{
    REFUSED(syscall(447 /* memfd_secret */, 0L), ENOSYS, EPERM);
}

PROBE(use_protection_keys, MEMORY, .expected = "ENOSYS", .outside = OUTSIDE_MAYBE)
{
    REFUSED(syscall(SYS_pkey_alloc, 0L, 0L), ENOSYS);
    REFUSED(syscall(SYS_pkey_mprotect, probe_pages(1, PROT_READ), PAGE, 0L, 0L), ENOSYS);
}

/* A fault handler in user space can hold the kernel's copy for as long as it likes. */
PROBE(handle_page_faults_in_user_space, MEMORY,
      .expected = "userfaultfd is refused, and has no device",
      .after = "the usual way to win races in kernels", .outside = OUTSIDE_MAYBE)
{
    REFUSED(syscall(SYS_userfaultfd, 0L), ENOSYS, EPERM);
    REFUSED(syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY | O_CLOEXEC), ENOSYS, EPERM);
    FAILS(open("/dev/userfaultfd", O_RDWR));
}

/* ---- memory files and mappings whose file shrinks ---- */

PROBE(break_seals_of_a_memory_file, MEMORY,
      .expected = "EPERM from everything that would change it")
{
    int fd = memfd_create("sealed", MFD_ALLOW_SEALING);
    char link[64], *shared;
    NEED(fd >= 0 && write(fd, "sealed", 6) == 6);
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    NEED(shared != MAP_FAILED);
    REFUSED(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EBUSY);
    munmap(shared, PAGE);
    NEED(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
    REFUSED(write(fd, "x", 1), EPERM);
    REFUSED(pwrite(fd, "x", 1, 0), EPERM);
    REFUSED(ftruncate(fd, 0), EPERM);
    REFUSED(ftruncate(fd, 100), EPERM);
    REFUSED(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 6), EPERM);
    REFUSED(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), EPERM);
    REFUSED(fcntl(fd, F_ADD_SEALS, 0), EPERM);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    int again = open(link, O_RDWR);
    if (again >= 0)
        REFUSED(pwrite(again, "x", 1, 0), EPERM);
    shared = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    NEED(shared != MAP_FAILED);
    REFUSED(mprotect(shared, PAGE, PROT_READ | PROT_WRITE), EACCES, EPERM);
}

static void touch_beyond_the_end(void *fd)
{
    volatile char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)(long)fd, 0);
    if (p == MAP_FAILED || ftruncate((int)(long)fd, 0) < 0)
        _exit(1);
    p[PAGE] = 1;
}

static void read_beyond_the_end(void *fd)
{
    char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, (int)(long)fd, 0);
    int two[2];
    if (p == MAP_FAILED || ftruncate((int)(long)fd, 0) < 0 || pipe2(two, O_NONBLOCK) < 0)
        _exit(1);
    /* The kernel's own copies from and to such pages. */
    REFUSED(write(two[1], p + PAGE, 64), EFAULT);
    REFUSED(open(p + PAGE, O_RDONLY), EFAULT);
    REFUSED(syscall(SYS_uname, p + PAGE), EFAULT);
    REFUSED(syscall(SYS_stat, ".", p), EFAULT);
}

PROBE(touch_mappings_of_a_file_that_shrank, MEMORY,
      .expected = "SIGBUS for the program, EFAULT for calls")
{
    static const char *const kinds[] = {"a file", "a memory file"};
    for (int kind = 0; kind < 2; kind++) {
        int fd = kind ? memfd_create("shrinks", 0) : open("shrinks", O_RDWR | O_CREAT, 0600);
        NEED(fd >= 0 && ftruncate(fd, 4 * PAGE) == 0);
        int status = probe_run_child(touch_beyond_the_end, (void *)(long)fd);
        if (status != 128 + SIGBUS)
            probe_unproved("%s: status %d, where SIGBUS must follow", kinds[kind], status);
        NEED(ftruncate(fd, 4 * PAGE) == 0);
        if (probe_run_child(read_beyond_the_end, (void *)(long)fd) != 0)
            probe_unproved("%s: a child failed", kinds[kind]);
    }
    probe_check_kernel();
}

/* ---- other processes' memory ---- */

PROBE(trace_itself, MEMORY, .expected = "EPERM", .outside = OUTSIDE_ESCAPES)
{
    REFUSED(ptrace(PTRACE_TRACEME, 0, NULL, NULL), EPERM, ENOSYS);
}

PROBE(trace_a_child, MEMORY, .expected = "EPERM or ESRCH", .outside = OUTSIDE_ESCAPES)
{
    pid_t child = probe_sleeper();
    REFUSED(ptrace(PTRACE_ATTACH, child, NULL, NULL), EPERM, ENOSYS);
    REFUSED(ptrace(PTRACE_SEIZE, child, NULL, NULL), EPERM, ENOSYS);
}

PROBE(trace_the_init_and_the_parent, MEMORY, .expected = "EPERM or ESRCH")
{
    const pid_t targets[] = {1, getppid(), 0, -1};
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
        for (long request = 0; request < 24; request++)
            REFUSED(syscall(SYS_ptrace, request, (long)targets[i], 0L, 0L), EPERM, ESRCH, ENOSYS);
    for (long request = 0x4200; request < 0x4214; request++)
        REFUSED(syscall(SYS_ptrace, request, 1L, 0L, 0L), EPERM, ESRCH, ENOSYS);
}

static char secret[PAGE];

PROBE(read_memory_of_another_user, MEMORY, .expected = "EPERM, ESRCH or EACCES")
{
    char own[16], name[64];
    struct iovec local = {own, sizeof(own)}, remote = {secret, sizeof(own)};
    probe_need_root();
    const pid_t targets[] = {probe_sleeper(), 1};
    probe_become_user();
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        REFUSED(process_vm_readv(targets[i], &local, 1, &remote, 1, 0), EPERM, ESRCH, ENOSYS);
        REFUSED(process_vm_writev(targets[i], &local, 1, &remote, 1, 0), EPERM, ESRCH, ENOSYS);
        snprintf(name, sizeof(name), "/proc/%d/mem", targets[i]);
        REFUSED(open(name, O_RDWR), EACCES, EPERM, ENOENT);
        REFUSED(open(name, O_RDONLY), EACCES, EPERM, ENOENT);
    }
}

PROBE(read_memory_of_the_hosts_process, MEMORY, .expected = "there is no such process",
      .outside = OUTSIDE_MAYBE)
{
    char own[16], name[64];
    long pid = canary_number("PID");
    struct iovec local = {own, sizeof(own)}, remote = {secret, sizeof(own)};
    snprintf(name, sizeof(name), "/proc/%ld/mem", pid);
    FAILS(open(name, O_RDONLY));
    snprintf(name, sizeof(name), "/proc/%ld/maps", pid);
    FAILS(open(name, O_RDONLY));
    REFUSED(process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0), ESRCH, EPERM);
    REFUSED(process_vm_writev((pid_t)pid, &local, 1, &remote, 1, 0), ESRCH, EPERM);
    /* The kernel's own processes have numbers below the init's, outside. */
    for (pid_t other = 1; other < 10; other++)
        if (other != getpid())
            REFUSED(process_vm_readv(other, &local, 1, &remote, 1, 0), ESRCH, EPERM, EFAULT);
}

PROBE(write_over_own_constants, MEMORY, .expected = "the pages of a program's file don't change")
{
    static const char constant[] = "constant";
    int mem = open("/proc/self/mem", O_RDWR);
    if (mem < 0)
        probe_contained("/proc/self/mem: %s", strerror(errno));
    pwrite(mem, "C", 1, (off_t)(uintptr_t)constant);
    int fd = open(probe_self(), O_RDONLY);
    struct stat st;
    NEED(fd >= 0 && fstat(fd, &st) == 0);
    const char *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    NEED(p != MAP_FAILED);
    if (memmem(p, (size_t)st.st_size, "Constant", 8))
        probe_escaped("the file has changed");
}

/* ---- frames and stacks ---- */

struct frame {
    uint64_t flags;
    uint16_t code_segment;
};

static void return_with(void *argument)
{
    const struct frame *f = argument;
    ucontext_t *frame = (void *)probe_pages(4, PROT_READ | PROT_WRITE);
    char *stack = probe_pages(4, PROT_READ | PROT_WRITE);
    frame->uc_mcontext.gregs[REG_RSP] = (greg_t)(stack + 3 * PAGE);
    frame->uc_mcontext.gregs[REG_RIP] = (greg_t)_exit;
    frame->uc_mcontext.gregs[REG_RDI] = 3;
    frame->uc_mcontext.gregs[REG_EFL] = (greg_t)f->flags;
    frame->uc_mcontext.gregs[REG_CSGSFS] = (greg_t)(f->code_segment | 0x2bULL << 48);
    __asm__ volatile("mov %0, %%rsp\n mov $15, %%eax\n syscall" : : "r"(frame) : "memory");
}

PROBE(return_from_a_forged_signal, MEMORY,
      .expected = "a process that ends; no flag or segment of a kernel",
      .after = "sigreturn-oriented programming")
{
    static const uint64_t flags[] = {0x202,           0x3202 /* IOPL */, 0x302 /* TF */,
                                     0x4202 /* NT */, 0x20202 /* VM */,  UINT64_MAX};
    static const uint16_t segments[] = {0x33, 0x23, 0x10, 0, 0xffff};
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        for (size_t n = 0; n < ARRAY_SIZE(segments); n++) {
            struct frame f = {flags[i], segments[n]};
            int status = probe_run_child(return_with, &f);
            if (status != 3 && status <= 128)
                probe_unproved("flags %llx, segment %x: status %d", (unsigned long long)flags[i],
                               segments[n], status);
        }
    probe_check_kernel();
}

static void return_without_a_frame(void *argument)
{
    syscall(SYS_rt_sigreturn, (long)argument << 40, 0L, 0L);
}

PROBE(return_from_no_signal, MEMORY, .expected = "the process ends by a signal")
{
    for (long i = 0; i < 20; i++) {
        int status = probe_run_child(return_without_a_frame, (void *)i);
        if (status <= 128)
            probe_unproved("status %d", status);
    }
    probe_check_kernel();
}

static void fault(int sig _unused_)
{
    *(volatile int *)8 = 1;
}

static void fault_on_a_bad_stack(void *protection)
{
    char *stack = probe_pages(4, PROT_READ | PROT_WRITE);
    stack_t s = {.ss_sp = stack, .ss_size = 4 * PAGE};
    struct sigaction a = {.sa_handler = fault, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigaltstack(&s, NULL);
    sigaction(SIGSEGV, &a, NULL);
    sigaction(SIGUSR1, &a, NULL);
    mprotect(stack, 4 * PAGE, (int)(long)protection);
    if ((long)protection < 0)
        munmap(stack, 4 * PAGE);
    raise(SIGUSR1);
    fault(0);
}

PROBE(take_signals_on_a_stack_that_is_none, MEMORY, .expected = "SIGSEGV for the program alone")
{
    static const long protections[] = {PROT_NONE, PROT_READ, -1, PROT_READ | PROT_WRITE};
    for (size_t i = 0; i < ARRAY_SIZE(protections); i++) {
        int status = probe_run_child(fault_on_a_bad_stack, (void *)protections[i]);
        if (status != 128 + SIGSEGV)
            probe_unproved("status %d, where SIGSEGV must follow", status);
    }
    probe_check_kernel();
}

static void unmap_everything(void *unused _unused_)
{
    /* The whole lower half in one go, this code included: there is nothing to come back to. */
    syscall(SYS_munmap, 0x10000L, 0x7ffffffe0000L);
}

static void unmap_all_but_itself(void *unused _unused_)
{
    unsigned long own = (unsigned long)unmap_all_but_itself & ~(PAGE - 1),
                  here = (unsigned long)__builtin_frame_address(0);
    unsigned long low = MIN(own, here) - (1UL << 20), high = MAX(own, here) + (1UL << 20);
    syscall(SYS_munmap, 0x10000L, low - 0x10000);
    syscall(SYS_munmap, high, 0x7fffffff0000UL - high);
    raise(SIGUSR1);
}

PROBE(unmap_everything_with_the_stub, MEMORY, .expected = "the process ends by a signal")
{
    int status = probe_run_child(unmap_everything, NULL);
    if (status <= 128)
        probe_unproved("status %d", status);
    status = probe_run_child(unmap_all_but_itself, NULL);
    if (status <= 128)
        probe_unproved("status %d", status);
    probe_check_kernel();
}

static void lie_to_the_host(void *at)
{
    syscall(SYS_set_robust_list, at, 24L);
    syscall(SYS_set_tid_address, at);
    syscall(SYS_rseq, at, 32L, 0L, 0x53053053L);
    syscall(SYS_sigaltstack, at, NULL);
    syscall(SYS_futex, at, 0L, 0L, NULL, NULL, 0L);
    syscall(SYS_arch_prctl, 0x1002L /* ARCH_SET_FS */, at);
}

/* What the host reads of a thread's memory by itself, at its end and between instructions. */
PROBE(leave_bad_addresses_with_the_host, MEMORY, .expected = "EFAULT, or the process ends")
{
    for (size_t i = 0; i < ARRAY_SIZE(bad_addresses); i++)
        probe_run_child(lie_to_the_host, (void *)bad_addresses[i]);
    probe_run_child(lie_to_the_host, probe_pages(1, PROT_NONE));
    probe_run_child(lie_to_the_host, probe_pages(1, PROT_READ));
    probe_check_kernel();
}
