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

struct lists {
    const uint32_t *calls;
    const struct seal_check *checks;
    size_t check_count;
};

static void emit_call(struct bpf *b, size_t i, const void *context)
{
    const struct lists *l = context;
    uint32_t nr = l->calls[i];
    bpf_emit(b, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, nr);
    bpf_emit_return(b, SECCOMP_RET_KILL_PROCESS);
    for (size_t c = 0; c < l->check_count; c++)
        if (l->checks[c].nr == nr)
            emit_check(b, &l->checks[c]);
    bpf_emit_return(b, SECCOMP_RET_ALLOW);
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
    const struct lists l = {calls, checks, check_count};
    if (!are_valid(calls, call_count, checks, check_count))
        return -EINVAL;
    bpf_emit_check_architecture(&b);
    bpf_emit_load_number(&b);
    bpf_emit_search(&b, calls, call_count, emit_call, &l);
    return bpf_finish(&b);
}

int seal_filter_install(const struct sock_filter *program, int size)
{
    const struct sock_fprog p = {(unsigned short)size, (struct sock_filter *)program};
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &p);
    return r < 0 ? -errno : 0;
}
