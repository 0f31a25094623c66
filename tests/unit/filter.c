// SPDX-License-Identifier: Apache-2.0
/*
 * The tasks' filter, run by a small machine for classic BPF on calls that a task could make.
 */
#include "kernel/arch/x86_64/arch.h"
#include "kernel/host/filter.h"
#include "tests/harness/harness.h"
#include "tests/unit/bpf_machine.h"

#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>

enum {
    NR_KERNEL,
    NR_MMAP,
    NR_SIGACTION,
    NR_REFUSED,
    NR_FUTEX,
    NR_ALWAYS,
    NR_MADVISE,
    NR_RSEQ,
    NR_COUNT
};

static const struct filter_entry entries[NR_COUNT] = {
    [NR_KERNEL] = {FILTER_NOTIFY, 0, 0},
    [NR_MMAP] = {FILTER_HOST, HOST_MMAP, 0},
    [NR_SIGACTION] = {FILTER_HOST, HOST_SIGACTION, 0},
    [NR_REFUSED] = {FILTER_REFUSE, 0, EPERM},
    [NR_FUTEX] = {FILTER_HOST, HOST_FUTEX, 0},
    [NR_ALWAYS] = {FILTER_HOST, HOST_ALWAYS, 0},
    [NR_MADVISE] = {FILTER_HOST, HOST_MADVISE, 0},
    [NR_RSEQ] = {FILTER_HOST, HOST_RSEQ, 0},
};

static const struct filter_marks marks = {.handler = 0x1122334455667788, .map = 0xcafe0123};
static struct sock_filter program[FILTER_MAX_INSTRUCTIONS];
static int program_size;

static uint32_t decide_call(int nr, const uint64_t args[6])
{
    struct seccomp_data data = {.nr = nr, .arch = ARCH_AUDIT};
    if (program_size == 0)
        program_size = filter_build(entries, NR_COUNT, marks, program, FILTER_MAX_INSTRUCTIONS);
    ASSERT_GT(program_size, 0);
    memcpy(data.args, args, sizeof(data.args));
    return bpf_machine_run(program, program_size, &data);
}

static uint32_t decide_mmap(uint64_t flags, uint64_t fd)
{
    const uint64_t args[6] = {0, 4096, PROT_READ, flags, fd, 0};
    return decide_call(NR_MMAP, args);
}

static uint32_t decide_sigaction(uint64_t r9)
{
    const uint64_t args[6] = {SIGSEGV, 0x1000, 0, 8, 0, r9};
    return decide_call(NR_SIGACTION, args);
}

TEST(each_number_as_its_row_says)
{
    const uint64_t none[6] = {0};
    EXPECT_EQ(decide_call(NR_KERNEL, none), SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(decide_call(NR_ALWAYS, none), SECCOMP_RET_ALLOW);
    EXPECT_EQ(decide_call(NR_REFUSED, none), SECCOMP_RET_ERRNO | EPERM);
    EXPECT_EQ(decide_call(NR_COUNT, none), SECCOMP_RET_ERRNO | ENOSYS);
    EXPECT_EQ(decide_call(-1, none), SECCOMP_RET_ERRNO | ENOSYS);
    EXPECT_EQ(decide_call(0x40000000 | NR_ALWAYS, none), SECCOMP_RET_ERRNO | ENOSYS);
}

TEST(another_architecture_ends_the_process)
{
    const uint64_t none[6] = {0};
    struct seccomp_data data = {.nr = NR_ALWAYS, .arch = AUDIT_ARCH_I386};
    decide_call(NR_ALWAYS, none);
    EXPECT_EQ(bpf_machine_run(program, program_size, &data), SECCOMP_RET_KILL_PROCESS);
}

TEST(anonymous_memory_is_the_hosts)
{
    EXPECT_EQ(decide_mmap(MAP_PRIVATE | MAP_ANONYMOUS, ~0ULL), SECCOMP_RET_ALLOW);
    EXPECT_EQ(decide_mmap(MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0), SECCOMP_RET_ALLOW);
    EXPECT_EQ(decide_mmap(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, ~0ULL),
              SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(decide_mmap(MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, ~0ULL), SECCOMP_RET_USER_NOTIF);
}

TEST(of_memory_that_is_shared_or_filled_at_once_the_kernel_is_told)
{
    const uint64_t unmap[6] = {0x1000, 4096, MADV_DONTNEED}, lazy[6] = {0x1000, 4096, MADV_FREE},
                   populate[6] = {0x1000, 4096, 23};
    EXPECT_EQ(decide_mmap(MAP_SHARED | MAP_ANONYMOUS, ~0ULL), SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(decide_mmap(MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, ~0ULL),
              SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(decide_call(NR_MADVISE, unmap), SECCOMP_RET_ALLOW);
    EXPECT_EQ(decide_call(NR_MADVISE, lazy), SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(decide_call(NR_MADVISE, populate), SECCOMP_RET_USER_NOTIF);
}

TEST(a_file_is_the_kernels)
{
    EXPECT_EQ(decide_mmap(MAP_PRIVATE, 3), SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(decide_mmap(MAP_PRIVATE | MAP_FIXED_NOREPLACE, 3), SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(decide_mmap(MAP_PRIVATE | MAP_FIXED_NOREPLACE, ~0ULL), SECCOMP_RET_USER_NOTIF);
}

TEST(a_file_that_the_stub_maps_is_the_hosts)
{
    uint64_t marked = (uint64_t)marks.map << 32;
    EXPECT_EQ(decide_mmap(MAP_PRIVATE | MAP_FIXED_NOREPLACE, marked), SECCOMP_RET_ALLOW);
    EXPECT_EQ(decide_mmap(MAP_PRIVATE | MAP_FIXED_NOREPLACE, marked | 1), SECCOMP_RET_ALLOW);
    EXPECT_EQ(decide_mmap(MAP_SHARED | MAP_FIXED_NOREPLACE, marked), SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(decide_mmap(MAP_PRIVATE, marked), SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(decide_mmap(MAP_PRIVATE | MAP_FIXED_NOREPLACE | MAP_LOCKED, marked),
              SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(decide_mmap(MAP_PRIVATE | MAP_FIXED_NOREPLACE, marks.map), SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(decide_mmap(MAP_PRIVATE | MAP_FIXED_NOREPLACE, marked ^ (1ULL << 32)),
              SECCOMP_RET_USER_NOTIF);
}

TEST(a_handler_that_the_stub_installs_is_the_hosts)
{
    EXPECT_EQ(decide_sigaction(marks.handler), SECCOMP_RET_ALLOW);
    EXPECT_EQ(decide_sigaction(0), SECCOMP_RET_USER_NOTIF);
    for (int bit = 0; bit < 64; bit++)
        EXPECT_EQ(decide_sigaction(marks.handler ^ (1ULL << bit)), SECCOMP_RET_USER_NOTIF);
}

TEST(futexes_with_priority_inheritance_are_not_the_hosts)
{
    const uint64_t wait[6] = {0x1000, FUTEX_WAIT | FUTEX_PRIVATE_FLAG},
                   lock[6] = {0x1000, FUTEX_LOCK_PI}, odd[6] = {0x1000, 77};
    EXPECT_EQ(decide_call(NR_FUTEX, wait), SECCOMP_RET_ALLOW);
    EXPECT_EQ(decide_call(NR_FUTEX, lock), SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(decide_call(NR_FUTEX, odd), SECCOMP_RET_USER_NOTIF);
}

TEST(numbers_of_other_processors_are_not_shown)
{
    const uint64_t none[6] = {0};
    struct seccomp_data data = {.nr = NR_RSEQ, .arch = ARCH_AUDIT};
    struct filter_marks few = marks;
    EXPECT_EQ(decide_call(NR_RSEQ, none), SECCOMP_RET_ALLOW);
    few.hides_processors = true;
    ASSERT_GT(filter_build(entries, NR_COUNT, few, program, FILTER_MAX_INSTRUCTIONS), 0);
    EXPECT_EQ(bpf_machine_run(program, program_size, &data), SECCOMP_RET_ERRNO | ENOSYS);
}

TEST(too_little_room_is_told)
{
    EXPECT_EQ(filter_build(entries, NR_COUNT, marks, program, 10), -E2BIG);
}
