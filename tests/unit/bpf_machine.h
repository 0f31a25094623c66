// SPDX-License-Identifier: Apache-2.0
/*
 * A small machine for classic BPF, as far as filters of system calls need one.
 */
#pragma once

#include "tests/harness/harness.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

static inline uint32_t bpf_machine_load(const struct seccomp_data *data, uint32_t offset)
{
    uint32_t word = 0;
    ASSERT_TRUE(offset + sizeof(word) <= sizeof(*data));
    memcpy(&word, (const char *)data + offset, sizeof(word));
    return word;
}

static inline bool bpf_machine_jumps(const struct sock_filter *f, uint32_t a)
{
    switch (BPF_OP(f->code)) {
    case BPF_JEQ:
        return a == f->k;
    case BPF_JGE:
        return a >= f->k;
    case BPF_JSET:
        return (a & f->k) != 0;
    default:
        harness_fail(__FILE__, __LINE__, "a jump that the test knows nothing of: %#x", f->code);
        return false;
    }
}

/* What the program decides of a call: SECCOMP_RET_*. */
static inline uint32_t bpf_machine_run(const struct sock_filter *program, int size,
                                       const struct seccomp_data *data)
{
    uint32_t a = 0;
    for (int at = 0; at < size; at++) {
        const struct sock_filter *f = &program[at];
        if (BPF_CLASS(f->code) == BPF_RET)
            return f->k;
        else if (BPF_CLASS(f->code) == BPF_LD)
            a = bpf_machine_load(data, f->k);
        else if (BPF_CLASS(f->code) == BPF_ALU)
            a &= f->k;
        else if (f->code == (BPF_JMP | BPF_JA))
            at += (int)f->k;
        else
            at += bpf_machine_jumps(f, a) ? f->jt : f->jf;
    }
    harness_fail(__FILE__, __LINE__, "the program has no end");
    return SECCOMP_RET_KILL_PROCESS;
}
