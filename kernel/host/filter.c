// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/filter.h"

#include "kernel/arch/x86_64/arch.h"
#include "lib/seal/bpf.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/mman.h>

/*
 * Advices that act on the caller's own pages only; MADV_REMOVE, HWPOISON, MERGEABLE are not here.
 * Of MADV_FREE and the POPULATE ones the kernel is told: what they do to memory it must know.
 */
static const uint32_t harmless_advices[] = {
    MADV_NORMAL,   MADV_RANDOM,     MADV_SEQUENTIAL, MADV_WILLNEED,   MADV_DONTNEED,
    MADV_DONTFORK, MADV_DOFORK,     MADV_HUGEPAGE,   MADV_NOHUGEPAGE, MADV_DONTDUMP,
    MADV_DODUMP,   MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_COLD,       MADV_PAGEOUT,
};

/* CLOCK_REALTIME and PRIVATE flags are masked off before. */
static const uint32_t harmless_futex_ops[] = {
    FUTEX_WAIT,    FUTEX_WAKE,        FUTEX_REQUEUE,     FUTEX_CMP_REQUEUE,
    FUTEX_WAKE_OP, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET,
};

static const uint32_t harmless_membarriers[] = {
    MEMBARRIER_CMD_PRIVATE_EXPEDITED,
    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
    MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE,
    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
};

static const uint32_t harmless_arch_prctls[] = {ARCH_SET_FS_CODE, ARCH_GET_FS_CODE,
                                                ARCH_SET_GS_CODE, ARCH_GET_GS_CODE};

#define HARMLESS_MMAP_FLAGS                                                                      \
    (MAP_PRIVATE | MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | \
     MAP_32BIT | MAP_GROWSDOWN | MAP_DENYWRITE | MAP_EXECUTABLE | MAP_NONBLOCK)

static void emit_mmap(struct bpf *b, uint32_t mark)
{
    /* Of a file: the loader stub's, exactly as it makes them. */
    bpf_emit_load_lower(b, 3);
    bpf_emit(b, BPF_JMP | BPF_JSET | BPF_K, 5, 0, MAP_ANONYMOUS);
    bpf_emit(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, MAP_PRIVATE | MAP_FIXED_NOREPLACE);
    bpf_emit_load_upper(b, 4);
    bpf_emit(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, mark);
    bpf_emit_return(b, SECCOMP_RET_ALLOW);
    bpf_emit_return(b, SECCOMP_RET_USER_NOTIF);
    /*
     * Anonymous: no flag beyond the harmless ones (MAP_HUGETLB, MAP_LOCKED, MAP_SYNC ...), nothing
     * shared and nothing filled at once, of which the kernel keeps account.
     */
    bpf_emit(b, BPF_JMP | BPF_JSET | BPF_K, 0, 1, ~(uint32_t)HARMLESS_MMAP_FLAGS);
    bpf_emit_return(b, SECCOMP_RET_USER_NOTIF);
    bpf_emit_return(b, SECCOMP_RET_ALLOW);
}

static void emit_sigaction(struct bpf *b, uint64_t mark)
{
    bpf_emit_load_lower(b, 5);
    bpf_emit(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, (uint32_t)mark);
    bpf_emit_load_upper(b, 5);
    bpf_emit(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)(mark >> 32));
    bpf_emit_return(b, SECCOMP_RET_ALLOW);
    bpf_emit_return(b, SECCOMP_RET_USER_NOTIF);
}

/* Allow when the loaded word is one of values, notify else. */
static void emit_allow_values(struct bpf *b, const uint32_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bpf_emit(b, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(count - i), 0, values[i]);
    bpf_emit_return(b, SECCOMP_RET_USER_NOTIF);
    bpf_emit_return(b, SECCOMP_RET_ALLOW);
}

static void emit_rule(struct bpf *b, enum filter_rule rule, const struct filter_marks *marks)
{
    switch (rule) {
    case HOST_ALWAYS:
        bpf_emit_return(b, SECCOMP_RET_ALLOW);
        return;
    case HOST_MMAP:
        emit_mmap(b, marks->map);
        return;
    case HOST_SIGACTION:
        emit_sigaction(b, marks->handler);
        return;
    case HOST_MADVISE:
        bpf_emit_load_lower(b, 2);
        emit_allow_values(b, harmless_advices, ARRAY_SIZE(harmless_advices));
        return;
    case HOST_FUTEX:
        bpf_emit_load_lower(b, 1);
        bpf_emit(b, BPF_ALU | BPF_AND | BPF_K, 0, 0,
                 ~(uint32_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME));
        emit_allow_values(b, harmless_futex_ops, ARRAY_SIZE(harmless_futex_ops));
        return;
    case HOST_ARCH_PRCTL:
        bpf_emit_load_lower(b, 0);
        emit_allow_values(b, harmless_arch_prctls, ARRAY_SIZE(harmless_arch_prctls));
        return;
    case HOST_MEMBARRIER:
        bpf_emit_load_lower(b, 0);
        emit_allow_values(b, harmless_membarriers, ARRAY_SIZE(harmless_membarriers));
        return;
    case HOST_RSEQ:
        bpf_emit_return(b,
                        marks->hides_processors ? SECCOMP_RET_ERRNO | ENOSYS : SECCOMP_RET_ALLOW);
        return;
    }
}

static void emit_action(struct bpf *b, const struct filter_entry *e,
                        const struct filter_marks *marks)
{
    if (e->action == FILTER_HOST)
        emit_rule(b, e->rule, marks);
    else if (e->action == FILTER_REFUSE)
        bpf_emit_return(b, SECCOMP_RET_ERRNO | ((uint32_t)e->error & SECCOMP_RET_DATA));
    else
        bpf_emit_return(b, SECCOMP_RET_USER_NOTIF);
}

static bool is_same_action(const struct filter_entry *a, const struct filter_entry *b)
{
    if (a->action != b->action)
        return false;
    return a->action == FILTER_NOTIFY || (a->action == FILTER_HOST && a->rule == b->rule) ||
           (a->action == FILTER_REFUSE && a->error == b->error);
}

struct table {
    const struct filter_entry *entries;
    const uint32_t *starts; /* of runs of numbers with the same action */
    const struct filter_marks *marks;
};

static void emit_run(struct bpf *b, size_t i, const void *context)
{
    const struct table *t = context;
    emit_action(b, &t->entries[t->starts[i]], t->marks);
}

int filter_build(const struct filter_entry *entries, size_t count, struct filter_marks marks,
                 struct sock_filter *program, size_t capacity)
{
    struct bpf b = {program, 0, capacity};
    _cleanup_free_ uint32_t *starts = calloc(count, sizeof(*starts));
    if (!starts)
        return -ENOMEM;
    size_t runs = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || !is_same_action(&entries[i], &entries[i - 1]))
            starts[runs++] = (uint32_t)i;
    const struct table t = {entries, starts, &marks};

    bpf_emit_check_architecture(&b);
    bpf_emit_load_number(&b);
    /* x32 numbers have bit 30 set, and are over every number of ours like all unknown ones. */
    bpf_emit(&b, BPF_JMP | BPF_JGE | BPF_K, 0, 1, (uint32_t)count);
    bpf_emit_return(&b, SECCOMP_RET_ERRNO | ENOSYS);
    bpf_emit_search(&b, starts, runs, emit_run, &t);
    return bpf_finish(&b);
}
