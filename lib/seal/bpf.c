// SPDX-License-Identifier: Apache-2.0
#include "lib/seal/bpf.h"

#include <linux/audit.h>

void bpf_emit(struct bpf *b, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
    if (b->size < b->capacity)
        b->program[b->size] = (struct sock_filter){code, jt, jf, k};
    b->size++;
}

void bpf_emit_return(struct bpf *b, uint32_t action)
{
    bpf_emit(b, BPF_RET | BPF_K, 0, 0, action);
}

static void emit_load(struct bpf *b, size_t offset)
{
    bpf_emit(b, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

void bpf_emit_load_number(struct bpf *b)
{
    emit_load(b, offsetof(struct seccomp_data, nr));
}

void bpf_emit_load_lower(struct bpf *b, int i)
{
    emit_load(b, offsetof(struct seccomp_data, args) + 8 * (size_t)i);
}

void bpf_emit_load_upper(struct bpf *b, int i)
{
    emit_load(b, offsetof(struct seccomp_data, args) + 8 * (size_t)i + 4);
}

void bpf_emit_check_architecture(struct bpf *b)
{
    emit_load(b, offsetof(struct seccomp_data, arch));
    bpf_emit(b, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
    bpf_emit_return(b, SECCOMP_RET_KILL_PROCESS);
}

size_t bpf_begin_jump_if_at_least(struct bpf *b, uint32_t k)
{
    bpf_emit(b, BPF_JMP | BPF_JGE | BPF_K, 0, 1, k);
    bpf_emit(b, BPF_JMP | BPF_JA, 0, 0, 0);
    return b->size - 1;
}

void bpf_end_jump(struct bpf *b, size_t jump)
{
    if (jump < b->capacity)
        b->program[jump].k = (uint32_t)(b->size - jump - 1);
}

int bpf_finish(const struct bpf *b)
{
    return b->size > b->capacity ? -E2BIG : (int)b->size;
}
