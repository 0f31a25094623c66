// SPDX-License-Identifier: Apache-2.0
/*
 * Writes programs for seccomp(2) in classic BPF. What does not fit any more is counted and left
 * out, so that a builder may write on and look at the end, once.
 *
 * Only x86-64, little-endian, is known here.
 */
#pragma once

#include "lib/base/base.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

struct bpf {
    struct sock_filter *program;
    size_t size, capacity;
};

/* An instruction; jt and jf are how many of the following are jumped over. */
void bpf_emit(struct bpf *b, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k);
void bpf_emit_return(struct bpf *b, uint32_t action);

/* Loads what the next instructions look at: the number, or a half of the argument i. */
void bpf_emit_load_number(struct bpf *b);
void bpf_emit_load_lower(struct bpf *b, int i);
void bpf_emit_load_upper(struct bpf *b, int i);

/* Kills the process when it makes a call of another architecture: its numbers mean others. */
void bpf_emit_check_architecture(struct bpf *b);

/*
 * A jump when the loaded word is k or more, however far: those of BPF reach 255 instructions. What
 * is written until bpf_end_jump() is what is jumped over.
 */
size_t bpf_begin_jump_if_at_least(struct bpf *b, uint32_t k);
void bpf_end_jump(struct bpf *b, size_t jump);

/* The number of instructions, or -E2BIG when they did not all fit. */
int bpf_finish(const struct bpf *b);
