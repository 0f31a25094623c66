// SPDX-License-Identifier: Apache-2.0
#include "lib/seal/filter.h"

#include "lib/seal/bpf.h"

#include <sys/syscall.h>

/* Ends the process unless the loaded word passes; the instruction behind it is the next one. */
static void emit_test(struct bpf *b, const struct seal_check *c)
{
    switch (c->test) {
    case SEAL_ANY_OF:
        for (size_t i = 0; i < c->count; i++)
            bpf_emit(b, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(c->count - i), 0, c->values[i]);
        bpf_emit_return(b, SECCOMP_RET_KILL_PROCESS);
        return;
    case SEAL_NO_OTHERS:
        bpf_emit(b, BPF_JMP | BPF_JSET | BPF_K, 0, 1, ~c->values[0]);
        bpf_emit_return(b, SECCOMP_RET_KILL_PROCESS);
        return;
    }
}

static void emit_check(struct bpf *b, const struct seal_check *c)
{
    if (c->is_long) {
        bpf_emit_load_upper(b, c->argument);
        bpf_emit(b, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0);
        bpf_emit_return(b, SECCOMP_RET_KILL_PROCESS);
    }
    bpf_emit_load_lower(b, c->argument);
    emit_test(b, c);
}

/* So many calls without checks are tried one after the other: shorter than to search further. */
#define GROUP_MAX 4

struct lists {
    const uint32_t *calls;
    const struct seal_check *checks;
    size_t check_count;
    size_t *firsts; /* of each group: where its calls begin in `calls`; one more for the end */
};

static bool is_checked(const struct lists *l, uint32_t nr)
{
    for (size_t i = 0; i < l->check_count; i++)
        if (l->checks[i].nr == nr)
            return true;
    return false;
}

static void emit_checked_call(struct bpf *b, const struct lists *l, uint32_t nr)
{
    bpf_emit(b, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, nr);
    bpf_emit_return(b, SECCOMP_RET_KILL_PROCESS);
    for (size_t i = 0; i < l->check_count; i++)
        if (l->checks[i].nr == nr)
            emit_check(b, &l->checks[i]);
    bpf_emit_return(b, SECCOMP_RET_ALLOW);
}

static void emit_group(struct bpf *b, size_t i, const void *context)
{
    const struct lists *l = context;
    const uint32_t *calls = l->calls + l->firsts[i];
    size_t count = l->firsts[i + 1] - l->firsts[i];
    if (is_checked(l, calls[0])) {
        emit_checked_call(b, l, calls[0]);
        return;
    }
    for (size_t c = 0; c < count; c++)
        bpf_emit(b, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(count - c), 0, calls[c]);
    bpf_emit_return(b, SECCOMP_RET_KILL_PROCESS);
    bpf_emit_return(b, SECCOMP_RET_ALLOW);
}

/* The number of groups; one with checks is alone. */
static size_t make_groups(struct lists *l, size_t call_count, uint32_t *starts)
{
    size_t groups = 0;
    for (size_t i = 0; i < call_count; i++) {
        bool joins = groups > 0 && i - l->firsts[groups - 1] < GROUP_MAX &&
                     !is_checked(l, l->calls[i]) && !is_checked(l, l->calls[l->firsts[groups - 1]]);
        if (joins)
            continue;
        starts[groups] = l->calls[i];
        l->firsts[groups++] = i;
    }
    l->firsts[groups] = call_count;
    return groups;
}

static bool is_listed(const uint32_t *calls, size_t count, uint32_t nr)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i] == nr)
            return true;
    return false;
}

static bool are_valid(const uint32_t *calls, size_t call_count, const struct seal_check *checks,
                      size_t check_count)
{
    for (size_t i = 0; i < call_count; i++)
        if (i > 0 && calls[i] <= calls[i - 1])
            return false;
    for (size_t i = 0; i < check_count; i++)
        if (checks[i].argument < 0 || checks[i].argument > 5 || checks[i].count == 0 ||
            checks[i].count > UINT8_MAX || !is_listed(calls, call_count, checks[i].nr))
            return false;
    return call_count > 0;
}

int seal_filter_build(const uint32_t *calls, size_t call_count, const struct seal_check *checks,
                      size_t check_count, struct sock_filter *program, size_t capacity)
{
    struct bpf b = {program, 0, capacity};
    if (!are_valid(calls, call_count, checks, check_count))
        return -EINVAL;
    _cleanup_free_ uint32_t *starts = calloc(call_count, sizeof(*starts));
    _cleanup_free_ size_t *firsts = calloc(call_count + 1, sizeof(*firsts));
    if (!starts || !firsts)
        return -ENOMEM;
    struct lists l = {calls, checks, check_count, firsts};
    size_t groups = make_groups(&l, call_count, starts);
    bpf_emit_check_architecture(&b);
    bpf_emit_load_number(&b);
    bpf_emit_search(&b, starts, groups, emit_group, &l);
    return bpf_finish(&b);
}

int seal_filter_install(const struct sock_filter *program, int size)
{
    const struct sock_fprog p = {(unsigned short)size, (struct sock_filter *)program};
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &p);
    return r < 0 ? -errno : 0;
}
