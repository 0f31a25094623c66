// SPDX-License-Identifier: Apache-2.0
/*
 * A whole kernel in this process, without a host: its rooms are linked as they are, tasks are rows
 * of a table, and their one memory is an array. What is left out: the loader stub and everything
 * that the host does by itself (memory, futexes). So targets run handlers thousands of times a
 * second, with their coverage measured, and need no rights.
 *
 * A target makes its calls between world_begin() and world_end(). The latter ends all processes,
 * removes all files, and checks that nothing is left of them: references that are lost are found,
 * and whatever the kernel counts for its guests is back at its start (counters.h).
 */
#pragma once

#include "kernel/core/kernel.h"
#include "kernel/guest/protocol.h"
#include "kernel/proc/process.h"
#include "tests/fuzz/input.h"

/* The memory of all tasks. Around it there is nothing: EFAULT; its last page is read-only. */
#define WORLD_MEMORY      0x100000UL
#define WORLD_MEMORY_SIZE 0x40000UL
#define WORLD_TASKS       12

#define WORLD_PARKED (-10000L) /* a call that has no answer yet */
#define WORLD_RUN    (-10001L) /* that was left to the host, and means nothing here */
#define WORLD_DEAD   (-10002L) /* there is no such task any more */

extern uint8_t world_memory[WORLD_MEMORY_SIZE];

/* A process of that user in the empty, writable directory /w; task 0. */
void world_begin(uid_t uid);
void world_end(void);

/*
 * Makes the call as that task; up to six arguments, the rest is 0. The answer, as the task gets it,
 * or one of the codes above. A parked call ends with the next one of the same task.
 */
long world_call_as(unsigned task, int nr, const uint64_t arg[6]);
#define WORLD_CALL(nr, ...) world_call_as(0, (nr), (const uint64_t[6]){__VA_ARGS__})

/* The thread, or NULL. */
struct thread *world_thread(unsigned task);

/* Gives away memory from its start on, anew at each world_begin(): an address, with data there. */
uint64_t world_put(const void *data, size_t size);
uint64_t world_put_string(const char *text);
/* The array at an address that was given away. */
static inline void *world_at(uint64_t address)
{
    return world_memory + (address - WORLD_MEMORY);
}

/*
 * A directory "i" in /w with files of the host below, that the private layer covers. The host's own
 * directory /m is always there, and empty at first.
 */
void world_image(void);

/* What the loader stub of the last successful execve was told to do; NULL since world_begin(). */
extern const struct stub_plan *world_plan;

/* The file, of that mode, in the process's directory. */
void world_file(const char *name, unsigned mode, const void *data, size_t size);

/* What reads of the host's /proc find, but for stat: borrowed; NULL: ENOENT. */
extern const char *world_proc_text;
