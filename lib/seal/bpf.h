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
 * A binary search for the loaded word: goes on in what leaf(b, i, context) writes for the last i of
 * which starts[i] is not over the word (or 0). Each leaf must end in returns. starts rise.
 */
void bpf_emit_search(struct bpf *b, const uint32_t *starts, size_t count,
                     void (*leaf)(struct bpf *b, size_t i, const void *context),
                     const void *context);

/* The number of instructions, or -E2BIG when they did not all fit. */
int bpf_finish(const struct bpf *b);
