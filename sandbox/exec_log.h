// SPDX-License-Identifier: Apache-2.0
/*
 * The output of one program: its two streams in the order in which they came, the latest
 * EXEC_KEPT_BYTES of it. Bytes are numbered from 0, both streams together.
 */
#pragma once

#include "lib/base/list.h"

#include <stdint.h>

struct exec_log {
    struct list chunks;
    uint64_t start, end; /* what is kept */
    size_t memory;       /* that it takes */
};

struct exec_chunk {
    struct list link;
    uint64_t offset;
    size_t size, capacity;
    uint32_t stream; /* EXEC_OUT, EXEC_ERR */
    char data[];
};

void exec_log_init(struct exec_log *l);
void exec_log_done(struct exec_log *l);

/* How much may be appended when nothing from byte `needed` on may be lost, nor of
 * EXEC_IN_FLIGHT_BYTES before it. */
size_t exec_log_room(const struct exec_log *l, uint64_t needed);

/* Appends; of the oldest goes what there is no room for. False: no memory, nothing appended. */
bool exec_log_append(struct exec_log *l, uint32_t stream, const char *data, size_t size);

/*
 * What lies at *offset, or, when that is not kept any more, at the first byte that is, which
 * *offset becomes: of one stream, as much as lies together. *ret_size 0: there is nothing yet.
 */
const char *exec_log_at(const struct exec_log *l, uint64_t *offset, size_t *ret_size,
                        uint32_t *ret_stream);
