// SPDX-License-Identifier: Apache-2.0
/*
 * Memory as a weapon: buffers that go while a call has them, pages that may not be written, other
 * processes' memory, frames and stacks that lie.
 */
#include "tests/security/hostile.h"

#include <pthread.h>
#include <sys/uio.h>
#include <ucontext.h>

static char *pages(size_t count, int protection)
{
    char *p = mmap(NULL, count * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        _exit(98);
    return p;
}

TEST(pages_that_may_not_be_written)
{
    char *p = pages(1, PROT_READ);
    int two[2];
    ASSERT_EQ(pipe(two), 0);
    ASSERT_EQ(write(two[1], "x", 1), 1);
    EXPECT_ERRNO(read(two[0], p, 1), EFAULT);
    EXPECT_ERRNO(read(two[0], (void *)&hostile_kernel_serves, 1), EFAULT);
    EXPECT_ERRNO(syscall(SYS_uname, "constant"), EFAULT);
    EXPECT_ERRNO(syscall(SYS_getcwd, p, PAGE), EFAULT);
}

TEST(addresses_that_are_none)
{
    static const uint64_t addresses[] = {0,
                                         1,
                                         0x7ffffffff000 - 8,
                                         0x7ffffffff000,
                                         0x8000000000000000,
                                         0xffff888000000000,
                                         0xffffffff81000000,
                                         0xffffffffff600000,
                                         UINT64_MAX,
                                         UINT64_MAX - 4096};
    int two[2], fd = open("/etc/passwd", O_RDONLY);
    struct stat st;
    ASSERT_EQ(pipe(two), 0);
    for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
        void *at = (void *)addresses[i];
        EXPECT_ERRNO(syscall(SYS_read, fd, at, 64L), EFAULT);
        EXPECT_ERRNO(syscall(SYS_fstat, fd, at), EFAULT);
        EXPECT_ERRNO(syscall(SYS_open, at, 0L), EFAULT);
        EXPECT_ERRNO(syscall(SYS_pipe2, at, 0L), EFAULT);
        EXPECT_ERRNO(syscall(SYS_readv, fd, at, 3L), EFAULT);
    }
    EXPECT_EQ(fstat(fd, &st), 0);
}

static char *buffer;
static volatile int stop;

static void *take_away(void *unused)
{
    uint32_t state = 1;
    while (!stop) {
        size_t page = hostile_random(&state) % 16;
        munmap(buffer + page * PAGE, 2 * PAGE);
        mmap(buffer + page * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        mprotect(buffer + page * PAGE, PAGE, (int)(hostile_random(&state) % 4));
    }
    return NULL;
}

TEST(buffers_that_go_during_a_call)
{
    pthread_t thread;
    int two[2], fd = open("/bin/sh", O_RDONLY);
    buffer = pages(18, PROT_READ | PROT_WRITE);
    ASSERT_EQ(pipe2(two, O_NONBLOCK), 0);
    pthread_create(&thread, NULL, take_away, NULL);
    for (int i = 0; i < 4000; i++) {
        struct iovec v[3] = {
            {buffer + 100, PAGE}, {buffer + 5 * PAGE, 3 * PAGE}, {buffer, 17 * PAGE}};
        ssize_t n = pread(fd, buffer, 16 * PAGE, 0);
        EXPECT_TRUE(n >= -1 && n <= (ssize_t)(16 * PAGE));
        n = writev(two[1], v, 3);
        EXPECT_TRUE(n >= -1 && n <= (ssize_t)(21 * PAGE));
        n = readv(two[0], v, 3);
        EXPECT_TRUE(n >= -1 && n <= (ssize_t)(21 * PAGE));
        syscall(SYS_poll, buffer + PAGE - 4, 3L, 0L);
        syscall(SYS_getdents64, fd, buffer, 2 * PAGE);
    }
    stop = 1;
    pthread_join(thread, NULL);
    EXPECT_TRUE(hostile_kernel_serves());
}

TEST(memory_of_others)
{
    char own[16] = "", *secret = pages(1, PROT_READ | PROT_WRITE);
    strcpy(secret, "secret");
    pid_t other = fork();
    if (other == 0) {
        pause();
        _exit(0);
    }
    pid_t pid = fork();
    if (pid == 0) {
        char name[64];
        struct iovec local = {own, sizeof(own)}, remote = {secret, sizeof(own)};
        hostile_become_user();
        EXPECT_EQ(process_vm_readv(other, &local, 1, &remote, 1, 0), -1);
        EXPECT_EQ(process_vm_writev(other, &local, 1, &remote, 1, 0), -1);
        EXPECT_EQ(process_vm_readv(1, &local, 1, &remote, 1, 0), -1);
        static const pid_t init = 1;
        const pid_t targets[] = {other, init};
        for (int i = 0; i < 2; i++) {
            snprintf(name, sizeof(name), "/proc/%d/mem", targets[i]);
            EXPECT_TRUE(open(name, O_RDWR) < 0 && open(name, O_RDONLY) < 0);
        }
        harness_end_case();
    }
    EXPECT_EQ(hostile_wait(pid), 0);
    kill(other, SIGKILL);
    hostile_wait(other);
}

/* A frame of the guest's own making: privileged flags, another code segment, rubbish. */
static void return_with(uint64_t flags, uint16_t code_segment)
{
    ucontext_t *frame = (void *)pages(4, PROT_READ | PROT_WRITE);
    char *stack = pages(4, PROT_READ | PROT_WRITE);
    frame->uc_mcontext.gregs[REG_RSP] = (greg_t)(stack + 3 * PAGE);
    frame->uc_mcontext.gregs[REG_RIP] = (greg_t)_exit;
    frame->uc_mcontext.gregs[REG_RDI] = 3;
    frame->uc_mcontext.gregs[REG_EFL] = (greg_t)flags;
    frame->uc_mcontext.gregs[REG_CSGSFS] = code_segment | 0x2bULL << 48;
    __asm__ volatile("mov %0, %%rsp\n mov $15, %%eax\n syscall" : : "r"(frame) : "memory");
}

TEST(forged_signal_frames)
{
    static const uint64_t flags[] = {0x202,           0x3202 /* IOPL */, 0x302 /* TF */,
                                     0x4202 /* NT */, 0x20202 /* VM */,  UINT64_MAX};
    static const uint16_t segments[] = {0x33, 0x23, 0x10, 0, 0xffff};
    for (size_t i = 0; i < 6; i++)
        for (size_t n = 0; n < 5; n++) {
            pid_t pid = fork();
            if (pid == 0) {
                return_with(flags[i], segments[n]);
                _exit(0);
            }
            int status = hostile_wait(pid);
            EXPECT_TRUE(status == 3 || status > 128);
        }
    EXPECT_TRUE(hostile_kernel_serves());
}

TEST(a_return_without_a_frame)
{
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            syscall(SYS_rt_sigreturn, (long)i << 40, 0L, 0L);
            _exit(0);
        }
        EXPECT_TRUE(hostile_wait(pid) > 128);
    }
    EXPECT_TRUE(hostile_kernel_serves());
}

/* The pages of the stub and of the vDSO are the guest's: without them it harms nobody else. */
TEST(nothing_mapped_but_this)
{
    pid_t pid = fork();
    if (pid == 0) {
        FILE *f = fopen("/proc/self/maps", "r");
        unsigned long start, end;
        char line[512];
        while (f && fgets(line, sizeof(line), f))
            if (sscanf(line, "%lx-%lx", &start, &end) == 2 && strstr(line, "vdso"))
                munmap((void *)start, end - start);
        for (unsigned long at = 0x7f0000000000UL; at < 0x7ff000000000UL; at += 1UL << 36)
            mprotect((void *)at, PAGE, PROT_NONE);
        raise(SIGUSR1);
        _exit(0);
    }
    EXPECT_EQ(hostile_wait(pid), 128 + SIGUSR1);
    EXPECT_TRUE(hostile_kernel_serves());
}

TEST(locked_memory_without_an_end)
{
    size_t size = (size_t)1 << 30;
    EXPECT_EQ((long)mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0),
              -1);
    EXPECT_TRUE(hostile_kernel_serves());
}
