// SPDX-License-Identifier: Apache-2.0
/* host calls: shmctl shmget time */
#include "kernel/event/sysv_shm.h"

#include "kernel/core/held.h"
#include "kernel/core/kernel.h"

#include <time.h>

struct shm_segment {
    struct ipc_object object;
    struct list doomed_link; /* removed, but still attached when last looked at */
    size_t size;
    time_t ctime;
    pid_t creator;
    bool locked;
};

static struct ipc_table segments = {.max_count = LIMIT_SHM_SEGMENTS};
static struct list doomed = {&doomed, &doomed};
static uint64_t page_total;

static struct shm_segment *segment_of(struct ipc_object *o)
{
    return o ? container_of(o, struct shm_segment, object) : NULL;
}

static uint64_t pages_of(size_t size)
{
    return (size + GUEST_PAGE_SIZE - 1) / GUEST_PAGE_SIZE;
}

static uint64_t page_limit(void)
{
    uint64_t bytes = LIMIT_SHM_BYTES;
    if (kernel.config.memory_bytes > 0)
        bytes = MIN(bytes, kernel.config.memory_bytes);
    return bytes / GUEST_PAGE_SIZE;
}

/* Of all segments of the IPC namespace, which is the sandbox's alone: shmctl(2), SHM_INFO. */
static struct shm_info held_pages(void)
{
    struct shm_info info;
    if (page_total == 0 || shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info) < 0)
        return (struct shm_info){0};
    return info;
}

static uint64_t held_bytes(void)
{
    struct shm_info info = held_pages();
    return (info.shm_rss + info.shm_swp) * GUEST_PAGE_SIZE;
}

static struct held_memory held = {.bytes = held_bytes};

static void forget(struct shm_segment *s)
{
    list_remove(&s->doomed_link);
    page_total -= pages_of(s->size);
    ipc_remove(&segments, &s->object);
    free(s);
}

/* Nobody tells us of the last shmdt(2): whoever asks for segments looks first. */
static void forget_detached(void)
{
    struct shm_segment *s, *next;
    struct shmid_ds ds;
    list_for_each_safe(s, next, &doomed, doomed_link) if (shmctl(s->object.id, IPC_STAT, &ds) < 0)
        forget(s);
}

static int make(key_t key, size_t size, int flags, const struct cred *cred, pid_t pid)
{
    if (size == 0 || size > LIMIT_SHM_BYTES)
        return -EINVAL;
    if (flags & SHM_HUGETLB)
        return -ENOMEM;
    if (page_total + pages_of(size) > page_limit())
        return -ENOSPC;
    held_memory_add(&held);
    struct shm_segment *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    int id = shmget(IPC_PRIVATE, size, 0600 | (flags & SHM_NORESERVE));
    if (id < 0) {
        int r = -errno;
        free(s);
        return r;
    }
    int r = ipc_add(&segments, &s->object, id, key, flags, cred);
    if (r < 0) {
        shmctl(id, IPC_RMID, NULL);
        free(s);
        return r;
    }
    list_init(&s->doomed_link);
    s->size = size;
    s->ctime = time(NULL);
    s->creator = pid;
    page_total += pages_of(size);
    return id;
}

int shm_get(key_t key, size_t size, int flags, const struct cred *cred, pid_t pid)
{
    struct ipc_object *o;
    forget_detached();
    int r = ipc_get(&segments, key, flags, &o);
    if (r == 0) {
        r = size > segment_of(o)->size ? -EINVAL : ipc_permission(o, cred, flags);
        return r < 0 ? r : o->id;
    }
    return r < 0 ? r : make(key, size, flags, cred, pid);
}

struct shm_segment *shm_find(int id)
{
    forget_detached();
    return segment_of(ipc_find(&segments, id));
}

struct shm_segment *shm_find_index(int index)
{
    forget_detached();
    return segment_of(ipc_at(&segments, index));
}

struct ipc_object *shm_object(struct shm_segment *s)
{
    return &s->object;
}

void shm_stat(struct shm_segment *s, struct shmid_ds *ret)
{
    struct shmid_ds host_ds;
    memset(ret, 0, sizeof(*ret));
    ipc_stat(&s->object, &ret->shm_perm);
    if (list_is_linked(&s->doomed_link))
        ret->shm_perm.mode |= SHM_DEST;
    if (s->locked)
        ret->shm_perm.mode |= SHM_LOCKED;
    ret->shm_segsz = s->size;
    ret->shm_ctime = s->ctime;
    ret->shm_cpid = s->creator;
    if (shmctl(s->object.id, IPC_STAT, &host_ds) < 0)
        return;
    ret->shm_atime = host_ds.shm_atime;
    ret->shm_dtime = host_ds.shm_dtime;
    ret->shm_lpid = host_ds.shm_lpid;
    ret->shm_nattch = host_ds.shm_nattch;
}

int shm_set(struct shm_segment *s, const struct shmid_ds *in)
{
    int r = ipc_set(&s->object, &in->shm_perm);
    if (r == 0)
        s->ctime = time(NULL);
    return r;
}

void shm_set_locked(struct shm_segment *s, bool locked)
{
    s->locked = locked;
}

void shm_remove(struct shm_segment *s)
{
    shmctl(s->object.id, IPC_RMID, NULL);
    ipc_forget_key(&segments, &s->object);
    if (!list_is_linked(&s->doomed_link))
        list_append(&doomed, &s->doomed_link);
    forget_detached();
}

int shm_limits(struct shminfo *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->shmmax = LIMIT_SHM_BYTES;
    ret->shmmin = 1;
    ret->shmmni = LIMIT_SHM_SEGMENTS;
    ret->shmseg = LIMIT_SHM_SEGMENTS;
    ret->shmall = page_limit();
    return ipc_last_index(&segments);
}

int shm_usage(struct shm_info *ret)
{
    forget_detached();
    struct shm_info held_now = held_pages();
    memset(ret, 0, sizeof(*ret));
    ret->used_ids = (int)segments.count;
    ret->shm_tot = page_total;
    ret->shm_rss = held_now.shm_rss;
    ret->shm_swp = held_now.shm_swp;
    return ipc_last_index(&segments);
}
