// SPDX-License-Identifier: Apache-2.0
/*
 * What the sandbox holds of the host's memory, for memory limits that no cgroup enforces and for
 * what programs are told.
 *
 * Counted is what a program's end would give back: private pages, page tables, mappings, threads,
 * shared memory, memory files, and the kernel process itself, in which pipes, sockets, names and
 * small files live. Not counted: pages of files on disk.
 *
 * The host's counters (proc_pid_status(5)) are quick to read, but count a page once for each
 * address space that has it, so that they are an upper bound where fork has made copies. Only when
 * that bound is over the limit are the spaces of such families measured page by page (smaps_rollup;
 * 70 ms a GiB), a few at a time, in rounds. A page that is copied later since somebody writes to it
 * changes no counter of memory: it takes a page fault, and as many pages as there were faults may
 * have become more since.
 */
#pragma once

#include "kernel/proc/process.h"

/* Bytes that a nanosecond of processor time can fill at the very most: the host clears each page.
 */
#define MEMORY_FILLED_PER_NS 4

struct memory_use {
    uint64_t private_bytes; /* of programs, swapped out ones too */
    uint64_t shared_bytes;  /* shared mappings and memory files */
    uint64_t table_bytes;   /* page tables */
    uint64_t host_bytes;    /* what the host keeps for threads and mappings, estimated */
    uint64_t kernel_bytes;  /* of this process */
    uint64_t total_bytes;   /* of these */
    uint64_t copied_bytes;  /* that may be more by now, since pages were last measured */
    uint64_t file_bytes;    /* mapped pages of files on disk, once for each space: not in total */
    size_t process_count;
    /* It can't be told yet whether more is used than the limit asked about; ask again soon. */
    bool is_unsure;
};

/* Reads the counters, and measures what is in doubt while that could bring the total below limit.
 */
struct memory_use memory_use_measure(uint64_t limit);

/* Of one process, by the counters of the last measurement: what its end would give back at most. */
uint64_t memory_use_of(const struct process *p);

/* As of the last measurement if that is not older than this, else by the counters alone. */
const struct memory_use *memory_use_recent(int64_t max_age_ns);
