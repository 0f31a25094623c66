// SPDX-License-Identifier: Apache-2.0
/*
 * What the three kinds of System V IPC have in common: sysvipc(7). Keys, ids, owners, permissions.
 */
#pragma once

#include "kernel/core/cred.h"
#include "lib/base/map.h"

#include <sys/ipc.h>

#define IPC_READ  0444 /* S_IRUGO, S_IWUGO of Linux: as asked for in ipc_permission() */
#define IPC_WRITE 0222

struct ipc_object {
    int id;
    size_t index; /* what SEM_STAT and kin count by */
    key_t key;    /* IPC_PRIVATE: found by id alone */
    uid_t uid, cuid;
    gid_t gid, cgid;
    mode_t mode; /* permissions only */
};

/* All objects of one kind. A table of all zero bytes but max_count is a valid empty one. */
struct ipc_table {
    size_t max_count;
    struct ipc_object **slots;
    size_t capacity, count;
    uint32_t generation; /* keeps ids of objects that are gone from coming back */
    struct map by_id, by_key;
};

/*
 * Enters o, whose owner is cred: the mode is in flags. id < 0: the table gives one. 0, -ENOSPC
 * (max_count reached), -ENOMEM.
 */
int ipc_add(struct ipc_table *t, struct ipc_object *o, int id, key_t key, int flags,
            const struct cred *cred);
void ipc_remove(struct ipc_table *t, struct ipc_object *o);
/* o is not found by its key any more, only by its id. */
void ipc_forget_key(struct ipc_table *t, struct ipc_object *o);

struct ipc_object *ipc_find(const struct ipc_table *t, int id);
struct ipc_object *ipc_at(const struct ipc_table *t, int index);
/* The highest index in use, or 0: what the *_INFO commands answer. */
int ipc_last_index(const struct ipc_table *t);

/*
 * The first step of the *get calls. 0 and *ret: the object is there; its size is to be checked,
 * then the rights that flags ask for. 1: it is to be made. -ENOENT, -EEXIST.
 */
int ipc_get(const struct ipc_table *t, key_t key, int flags, struct ipc_object **ret);

/* wanted: IPC_READ, IPC_WRITE, or a mode as in the flags of the *get calls. -EACCES */
int ipc_permission(const struct ipc_object *o, const struct cred *cred, int wanted);
/* Owner, creator or CAP_SYS_ADMIN: may change and remove. -EPERM */
int ipc_may_control(const struct ipc_object *o, const struct cred *cred);

void ipc_stat(const struct ipc_object *o, struct ipc_perm *ret);
/* IPC_SET. -EINVAL for the ids that mean "no change" elsewhere. */
int ipc_set(struct ipc_object *o, const struct ipc_perm *perm);
