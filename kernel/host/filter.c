// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/filter.h"

#include <linux/audit.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/mman.h>

#include "kernel/arch/x86_64/arch.h"

/* Advices that act on the caller's own pages only; MADV_REMOVE, HWPOISON, MERGEABLE are not here.
 */
static const uint32_t harmless_advices[] = {
    MADV_NORMAL,
    MADV_RANDOM,
    MADV_SEQUENTIAL,
    MADV_WILLNEED,
    MADV_DONTNEED,
    MADV_FREE,
    MADV_DONTFORK,
    MADV_DOFORK,
    MADV_HUGEPAGE,
    MADV_NOHUGEPAGE,
    MADV_DONTDUMP,
    MADV_DODUMP,
    MADV_WIPEONFORK,
    MADV_KEEPONFORK,
    MADV_COLD,
    MADV_PAGEOUT,
    22 /* MADV_POPULATE_READ */,
    23 /* MADV_POPULATE_WRITE */,
};

/* CLOCK_REALTIME and PRIVATE flags are masked off before. */
static const uint32_t harmless_futex_ops[] = {
    FUTEX_WAIT,    FUTEX_WAKE,        FUTEX_REQUEUE,     FUTEX_CMP_REQUEUE,
    FUTEX_WAKE_OP, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET,
};

static const uint32_t harmless_membarriers[] = {
    MEMBARRIER_CMD_QUERY,
    MEMBARRIER_CMD_PRIVATE_EXPEDITED,
    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
    MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE,
    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
};

static const uint32_t harmless_arch_prctls[] = {ARCH_SET_FS_CODE, ARCH_GET_FS_CODE,
                                                ARCH_SET_GS_CODE, ARCH_GET_GS_CODE};

#define HARMLESS_MMAP_FLAGS                                                                       \
    (MAP_SHARED | MAP_PRIVATE | MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_ANONYMOUS | MAP_NORESERVE | \
     MAP_STACK | MAP_32BIT | MAP_GROWSDOWN | MAP_DENYWRITE | MAP_EXECUTABLE | MAP_POPULATE |      \
     MAP_NONBLOCK)

struct builder {
    struct sock_filter *program;
    size_t size, capacity;
    struct filter_marks marks;
};

static void emit(struct builder *b, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
    if (b->size < b->capacity)
        b->program[b->size] = (struct sock_filter){code, jt, jf, k};
    b->size++;
}

static void emit_return(struct builder *b, uint32_t action)
{
    emit(b, BPF_RET | BPF_K, 0, 0, action);
}

static void emit_load_argument(struct builder *b, int i)
{
    emit(b, BPF_LD | BPF_W | BPF_ABS, 0, 0,
         (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)i));
}

/* The upper half of an argument, on a little-endian machine. */
static void emit_load_upper(struct builder *b, int i)
{
    emit(b, BPF_LD | BPF_W | BPF_ABS, 0, 0,
         (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)i + 4));
}

static void emit_mmap(struct builder *b)
{
    /* Of a file: the loader stub's, exactly as it makes them. */
    emit_load_argument(b, 3);
    emit(b, BPF_JMP | BPF_JSET | BPF_K, 5, 0, MAP_ANONYMOUS);
    emit(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, MAP_PRIVATE | MAP_FIXED_NOREPLACE);
    emit_load_upper(b, 4);
    emit(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, b->marks.map);
    emit_return(b, SECCOMP_RET_ALLOW);
    emit_return(b, SECCOMP_RET_USER_NOTIF);
    /* Anonymous: no flag beyond the harmless ones (MAP_HUGETLB, MAP_LOCKED, MAP_SYNC ...). */
    emit(b, BPF_JMP | BPF_JSET | BPF_K, 0, 1, ~(uint32_t)HARMLESS_MMAP_FLAGS);
    emit_return(b, SECCOMP_RET_USER_NOTIF);
    emit_return(b, SECCOMP_RET_ALLOW);
}

static void emit_sigaction(struct builder *b)
{
    emit_load_argument(b, 5);
    emit(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, (uint32_t)b->marks.handler);
    emit_load_upper(b, 5);
    emit(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)(b->marks.handler >> 32));
    emit_return(b, SECCOMP_RET_ALLOW);
    emit_return(b, SECCOMP_RET_USER_NOTIF);
}

/* Allow when the loaded word is one of values, notify else. */
static void emit_allow_values(struct builder *b, const uint32_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        emit(b, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(count - i), 0, values[i]);
    emit_return(b, SECCOMP_RET_USER_NOTIF);
    emit_return(b, SECCOMP_RET_ALLOW);
}

static void emit_rule(struct builder *b, enum filter_rule rule)
{
    switch (rule) {
    case HOST_ALWAYS:
        emit_return(b, SECCOMP_RET_ALLOW);
        return;
    case HOST_MMAP:
        emit_mmap(b);
        return;
    case HOST_SIGACTION:
        emit_sigaction(b);
        return;
    case HOST_MADVISE:
        emit_load_argument(b, 2);
        emit_allow_values(b, harmless_advices, ARRAY_SIZE(harmless_advices));
        return;
    case HOST_FUTEX:
        emit_load_argument(b, 1);
        emit(b, BPF_ALU | BPF_AND | BPF_K, 0, 0,
             ~(uint32_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME));
        emit_allow_values(b, harmless_futex_ops, ARRAY_SIZE(harmless_futex_ops));
        return;
    case HOST_ARCH_PRCTL:
        emit_load_argument(b, 0);
        emit_allow_values(b, harmless_arch_prctls, ARRAY_SIZE(harmless_arch_prctls));
        return;
    case HOST_MEMBARRIER:
        emit_load_argument(b, 0);
        emit_allow_values(b, harmless_membarriers, ARRAY_SIZE(harmless_membarriers));
        return;
    }
}

static void emit_action(struct builder *b, const struct filter_entry *e)
{
    if (e->action == FILTER_HOST)
        emit_rule(b, e->rule);
    else if (e->action == FILTER_REFUSE)
        emit_return(b, SECCOMP_RET_ERRNO | ((uint32_t)e->error & SECCOMP_RET_DATA));
    else
        emit_return(b, SECCOMP_RET_USER_NOTIF);
}

static bool is_same_action(const struct filter_entry *a, const struct filter_entry *b)
{
    if (a->action != b->action)
        return false;
    return a->action == FILTER_NOTIFY || (a->action == FILTER_HOST && a->rule == b->rule) ||
           (a->action == FILTER_REFUSE && a->error == b->error);
}

/*
 * A binary search over runs of numbers with the same action. Jumps of BPF reach 255 instructions,
 * so a far "greater or equal" is a short conditional over an unconditional jump, patched
 * afterwards.
 */
static void emit_search(struct builder *b, const struct filter_entry *entries, const size_t *starts,
                        size_t first, size_t count)
{
    if (count == 1) {
        emit_action(b, &entries[starts[first]]);
        return;
    }
    size_t half = count / 2;
    emit(b, BPF_JMP | BPF_JGE | BPF_K, 0, 1, (uint32_t)starts[first + half]);
    size_t jump = b->size;
    emit(b, BPF_JMP | BPF_JA, 0, 0, 0);
    emit_search(b, entries, starts, first, half);
    if (jump < b->capacity)
        b->program[jump].k = (uint32_t)(b->size - jump - 1);
    emit_search(b, entries, starts, first + half, count - half);
}

int filter_build(const struct filter_entry *entries, size_t count, struct filter_marks marks,
                 struct sock_filter *program, size_t capacity)
{
    struct builder b = {program, 0, capacity, marks};
    _cleanup_free_ size_t *starts = calloc(count, sizeof(*starts));
    if (!starts)
        return -ENOMEM;
    size_t runs = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || !is_same_action(&entries[i], &entries[i - 1]))
            starts[runs++] = i;

    emit(&b, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
    emit(&b, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCH_AUDIT);
    emit_return(&b, SECCOMP_RET_KILL_PROCESS);
    emit(&b, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
    /* x32 numbers have bit 30 set, and are over every number of ours like all unknown ones. */
    emit(&b, BPF_JMP | BPF_JGE | BPF_K, 0, 1, (uint32_t)count);
    emit_return(&b, SECCOMP_RET_ERRNO | ENOSYS);
    emit_search(&b, entries, starts, 0, runs);
    return b.size > capacity ? -E2BIG : (int)b.size;
}
