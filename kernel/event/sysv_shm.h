// SPDX-License-Identifier: Apache-2.0
/*
 * System V shared memory: shmget(2), shmop(2), shmctl(2).
 *
 * The segments are the host's, in an IPC namespace that the kernel shares with nobody but its
 * tasks: the memory is mapped by the host's own shmat(2), whose arguments are registers. So ids are
 * the host's; keys, owners, modes and limits are ours, and on the host every segment is private to
 * our uid. Only an id that shm_find() knows gets through to the host.
 */
#pragma once

#include "kernel/event/sysv_ipc.h"

#include <sys/shm.h>

struct shm_segment;

int shm_get(key_t key, size_t size, int flags, const struct cred *cred, pid_t pid);

struct shm_segment *shm_find(int id);
struct shm_segment *shm_find_index(int index);
struct ipc_object *shm_object(struct shm_segment *s);

/* lpid: as the host's number, for the caller to translate. */
void shm_stat(struct shm_segment *s, struct shmid_ds *ret);
int shm_set(struct shm_segment *s, const struct shmid_ds *in);
/* SHM_LOCK and SHM_UNLOCK: noted, and shown as SHM_LOCKED. */
void shm_set_locked(struct shm_segment *s, bool locked);
/* No more found by its key; gone when it is attached nowhere. */
void shm_remove(struct shm_segment *s);
/* Each returns the highest index. */
int shm_limits(struct shminfo *ret);
int shm_usage(struct shm_info *ret);
