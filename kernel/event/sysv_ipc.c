// SPDX-License-Identifier: Apache-2.0
#include "kernel/event/sysv_ipc.h"

#include <linux/capability.h>

#define IDS_PER_GENERATION 32768 /* IPCMNI of Linux */
#define GENERATIONS        65536

static int grow(struct ipc_table *t)
{
    size_t capacity = t->capacity ? t->capacity * 2 : 16;
    struct ipc_object **bigger = realloc(t->slots, capacity * sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    memset(bigger + t->capacity, 0, (capacity - t->capacity) * sizeof(*bigger));
    t->slots = bigger;
    t->capacity = capacity;
    return 0;
}

static int find_slot(struct ipc_table *t, size_t *ret)
{
    if (t->count >= t->max_count)
        return -ENOSPC;
    for (size_t i = 0; i < t->capacity; i++) {
        if (!t->slots[i]) {
            *ret = i;
            return 0;
        }
    }
    size_t first = t->capacity;
    int r = grow(t);
    if (r == 0)
        *ret = first;
    return r;
}

static uint64_t map_key(int number)
{
    return (uint32_t)number;
}

int ipc_add(struct ipc_table *t, struct ipc_object *o, int id, key_t key, int flags,
            const struct cred *cred)
{
    size_t index;
    int r = find_slot(t, &index);
    if (r < 0)
        return r;
    if (id < 0)
        id = (int)(index + (size_t)(t->generation++ % GENERATIONS) * IDS_PER_GENERATION);
    *o = (struct ipc_object){
        .id = id,
        .index = index,
        .key = key,
        .uid = cred->euid,
        .cuid = cred->euid,
        .gid = cred->egid,
        .cgid = cred->egid,
        .mode = (mode_t)flags & 0777,
    };
    if (map_set(&t->by_id, map_key(id), o) < 0)
        return -ENOMEM;
    if (key != IPC_PRIVATE && map_set(&t->by_key, map_key(key), o) < 0) {
        map_remove(&t->by_id, map_key(id));
        return -ENOMEM;
    }
    t->slots[index] = o;
    t->count++;
    return 0;
}

void ipc_forget_key(struct ipc_table *t, struct ipc_object *o)
{
    if (o->key != IPC_PRIVATE)
        map_remove(&t->by_key, map_key(o->key));
    o->key = IPC_PRIVATE;
}

void ipc_remove(struct ipc_table *t, struct ipc_object *o)
{
    ipc_forget_key(t, o);
    map_remove(&t->by_id, map_key(o->id));
    t->slots[o->index] = NULL;
    t->count--;
}

struct ipc_object *ipc_find(const struct ipc_table *t, int id)
{
    return id < 0 ? NULL : map_get(&t->by_id, map_key(id));
}

struct ipc_object *ipc_at(const struct ipc_table *t, int index)
{
    return index < 0 || (size_t)index >= t->capacity ? NULL : t->slots[index];
}

int ipc_last_index(const struct ipc_table *t)
{
    for (size_t i = t->capacity; i > 0; i--)
        if (t->slots[i - 1])
            return (int)(i - 1);
    return 0;
}

int ipc_get(const struct ipc_table *t, key_t key, int flags, struct ipc_object **ret)
{
    struct ipc_object *o = key == IPC_PRIVATE ? NULL : map_get(&t->by_key, map_key(key));
    if (!o)
        return key == IPC_PRIVATE || (flags & IPC_CREAT) ? 1 : -ENOENT;
    if ((flags & IPC_CREAT) && (flags & IPC_EXCL))
        return -EEXIST;
    *ret = o;
    return 0;
}

int ipc_permission(const struct ipc_object *o, const struct cred *cred, int wanted)
{
    unsigned asked = (unsigned)(wanted >> 6 | wanted >> 3 | wanted) & 07;
    unsigned granted = o->mode;
    if (cred->euid == o->cuid || cred->euid == o->uid)
        granted >>= 6;
    else if (cred_in_group(cred, o->cgid) || cred_in_group(cred, o->gid))
        granted >>= 3;
    if ((asked & ~granted) && !cred_has_cap(cred, CAP_IPC_OWNER))
        return -EACCES;
    return 0;
}

int ipc_may_control(const struct ipc_object *o, const struct cred *cred)
{
    if (cred->euid == o->cuid || cred->euid == o->uid || cred_has_cap(cred, CAP_SYS_ADMIN))
        return 0;
    return -EPERM;
}

void ipc_stat(const struct ipc_object *o, struct ipc_perm *ret)
{
    *ret = (struct ipc_perm){
        .__key = o->key,
        .uid = o->uid,
        .gid = o->gid,
        .cuid = o->cuid,
        .cgid = o->cgid,
        .mode = o->mode,
        .__seq = (unsigned short)(o->id / IDS_PER_GENERATION),
    };
}

int ipc_set(struct ipc_object *o, const struct ipc_perm *perm)
{
    if (perm->uid == (uid_t)-1 || perm->gid == (gid_t)-1)
        return -EINVAL;
    o->uid = perm->uid;
    o->gid = perm->gid;
    o->mode = perm->mode & 0777;
    return 0;
}
