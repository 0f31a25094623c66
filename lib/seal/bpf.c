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

/* Conditional jumps reach 255 instructions: beyond, this one leads over another that reaches all.
 */
static void lead_jump_here(struct bpf *b, size_t jump)
{
    size_t over = b->size - jump - 1;
    if (over <= UINT8_MAX) {
        if (jump < b->capacity)
            b->program[jump].jt = (uint8_t)over;
        return;
    }
    bpf_emit(b, 0, 0, 0, 0);
    if (b->size > b->capacity)
        return;
    struct sock_filter *at = &b->program[jump + 1];
    memmove(at + 1, at, over * sizeof(*at));
    *at = (struct sock_filter){BPF_JMP | BPF_JA, 0, 0, (uint32_t)over};
    at[-1].jf = 1;
}

struct search {
    const uint32_t *starts;
    void (*leaf)(struct bpf *b, size_t i, const void *context);
    const void *context;
};

static void emit_half(struct bpf *b, const struct search *s, size_t first, size_t count)
{
    if (count == 1) {
        s->leaf(b, first, s->context);
        return;
    }
    size_t half = count / 2, jump = b->size;
    bpf_emit(b, BPF_JMP | BPF_JGE | BPF_K, 0, 0, s->starts[first + half]);
    emit_half(b, s, first, half);
    lead_jump_here(b, jump);
    emit_half(b, s, first + half, count - half);
}

void bpf_emit_search(struct bpf *b, const uint32_t *starts, size_t count,
                     void (*leaf)(struct bpf *b, size_t i, const void *context),
                     const void *context)
{
    const struct search s = {starts, leaf, context};
    emit_half(b, &s, 0, count);
}

int bpf_finish(const struct bpf *b)
{
    return b->size > b->capacity ? -E2BIG : (int)b->size;
}
