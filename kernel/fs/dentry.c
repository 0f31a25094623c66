// SPDX-License-Identifier: Apache-2.0
/*
 * Names and their cache.
 *
 * A dentry lives while it is referenced: by paths, by its children, by its pin. When the last
 * reference goes it stays, as a cache, on the list of unreferenced ones, oldest first, up to
 * DENTRY_CACHE_MAX; those whose inode must be kept are pinned then. Invariants:
 *
 *   1. d is on a hash chain if and only if it is on its parent's `children`; then it counts among
 *      parent->child_count. It holds a reference of its parent until it is freed, attached or not.
 *   2. d is on the list of unreferenced ones if and only if refs is 0.
 *   3. A positive entry that is evicted clears the parent's `populated`; the entries of a populated
 *      directory that is open are not evicted, so that cookies of a listing stay true.
 */
#include "kernel/core/kernel.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/vfs.h"
#include "lib/base/map.h"

#include <dirent.h>

#define DENTRY_CACHE_MAX 4096
#define BUCKETS_MIN      1024
#define EVICT_TRIES      8
#define FIRST_COOKIE     3 /* "." is 1 and ".." is 2 */

static struct list *buckets;
static size_t bucket_count;
static size_t dentry_total, hashed_total;
static struct list unreferenced = {&unreferenced, &unreferenced};
static size_t unreferenced_count;

static struct list *bucket_of(const struct dentry *parent, uint64_t hash)
{
    uint64_t key = hash ^ ((uint64_t)(uintptr_t)parent * 0x9e3779b97f4a7c15ULL);
    return &buckets[(key ^ key >> 32) & (bucket_count - 1)];
}

/* Doubles the table; a failure to grow only makes chains longer, unless there is no table yet. */
static bool buckets_grow(void)
{
    size_t count = bucket_count ? bucket_count * 2 : BUCKETS_MIN;
    struct list *bigger = malloc(count * sizeof(*bigger));
    if (!bigger)
        return buckets != NULL;
    for (size_t i = 0; i < count; i++)
        list_init(&bigger[i]);
    struct list *old = buckets;
    size_t old_count = bucket_count;
    buckets = bigger;
    bucket_count = count;
    for (size_t i = 0; i < old_count; i++) {
        struct dentry *d, *tmp;
        list_for_each_safe(d, tmp, &old[i], hash_link)
        {
            list_remove(&d->hash_link);
            list_append(bucket_of(d->parent, d->hash), &d->hash_link);
        }
    }
    free(old);
    return true;
}

static void dentry_attach(struct dentry *d)
{
    struct dentry *parent = d->parent;
    d->seq = parent->next_seq++;
    list_append(&parent->children, &d->sibling);
    list_append(bucket_of(parent, d->hash), &d->hash_link);
    parent->child_count++;
    hashed_total++;
}

static void dentry_unattach(struct dentry *d)
{
    list_remove(&d->sibling);
    list_remove(&d->hash_link);
    d->parent->child_count--;
    hashed_total--;
}

static bool dentry_is_attached(const struct dentry *d)
{
    return list_is_linked(&d->hash_link);
}

static struct dentry *dentry_alloc(const char *name, size_t length)
{
    if (length > UINT16_MAX - 1 || dentry_total >= LIMIT_DENTRIES)
        return NULL;
    struct dentry *d = calloc(1, sizeof(*d) + length + 1);
    if (!d)
        return NULL;
    dentry_total++;
    d->refs = 1;
    d->next_seq = FIRST_COOKIE;
    list_init(&d->sibling);
    list_init(&d->children);
    list_init(&d->hash_link);
    list_init(&d->lru);
    d->name = d->first_name;
    d->name_length = (uint16_t)length;
    d->name_capacity = (uint16_t)(length + 1);
    memcpy(d->first_name, name, length);
    return d;
}

struct dentry *dentry_new(struct dentry *parent, const char *name, size_t length)
{
    if (hashed_total >= bucket_count && !buckets_grow())
        return NULL;
    struct dentry *d = dentry_alloc(name, length);
    if (!d || !parent)
        return d;
    d->parent = dentry_get(parent);
    d->super = parent->super;
    d->hash = map_hash_bytes(name, length);
    dentry_attach(d);
    return d;
}

struct dentry *dentry_new_anonymous(struct inode *inode, const char *name)
{
    struct dentry *d = dentry_alloc(name, strlen(name));
    if (d)
        dentry_set_inode(d, inode_get(inode));
    return d;
}

struct dentry *dentry_get(struct dentry *d)
{
    if (d->refs++ == 0) {
        list_remove(&d->lru);
        unreferenced_count--;
    }
    return d;
}

/* Frees d, which nothing refers to. Its reference of the parent passes to the caller. */
static struct dentry *dentry_free(struct dentry *d)
{
    struct dentry *parent = d->parent;
    struct inode *inode = d->inode;
    if (dentry_is_attached(d))
        dentry_unattach(d);
    if (inode && inode->nlink == 0 && !list_is_empty(&inode->watches))
        notify_inode_gone(inode);
    if (d->name != d->first_name)
        free(d->name);
    free(d);
    dentry_total--;
    inode_put(inode);
    return parent;
}

/* Negative answers of file systems that change by themselves are worth nothing. */
static bool dentry_is_worth_keeping(const struct dentry *d)
{
    return dentry_is_attached(d) && (d->super->cached || d->inode);
}

static bool dentry_is_evictable(const struct dentry *d)
{
    const struct dentry *parent = d->parent;
    if (!d->inode && !d->unloaded)
        return true;
    if (parent->populated && parent->refs > parent->child_count)
        return false;
    return !d->inode || list_is_empty(&d->inode->watches);
}

/* Drops a reference; the last one of a name makes it part of the cache, or frees it and goes up. */
static void dentry_drop(struct dentry *d)
{
    while (d && --d->refs == 0) {
        if (dentry_is_worth_keeping(d)) {
            if (d->inode && d->inode->keep) {
                d->refs = 1;
                d->pinned = true;
                return;
            }
            list_append(&unreferenced, &d->lru);
            unreferenced_count++;
            return;
        }
        d = dentry_free(d);
    }
}

static bool dentry_evict_one(void)
{
    for (int i = 0; i < EVICT_TRIES; i++) {
        struct dentry *d = list_first(&unreferenced, struct dentry, lru);
        if (!d)
            return false;
        list_remove(&d->lru);
        if (!dentry_is_evictable(d)) {
            list_append(&unreferenced, &d->lru);
            continue;
        }
        unreferenced_count--;
        if (d->inode || d->unloaded)
            d->parent->populated = false;
        dentry_drop(dentry_free(d));
        return true;
    }
    return false;
}

void dentry_put(struct dentry *d)
{
    dentry_drop(d);
    /* One that goes may leave its parent unreferenced, so that one for one would not do. */
    for (int i = 0; unreferenced_count > DENTRY_CACHE_MAX && i < 2; i++)
        if (!dentry_evict_one())
            break;
}

void dentry_trim(size_t keep)
{
    while (unreferenced_count > keep && dentry_evict_one())
        ;
}

void dentry_pin(struct dentry *d)
{
    if (d->pinned)
        return;
    d->pinned = true;
    dentry_get(d);
}

void dentry_set_inode(struct dentry *d, struct inode *inode)
{
    struct inode *old = d->inode;
    d->inode = inode;
    if (inode && !d->super)
        d->super = inode->super;
    /* A name that comes into being is the youngest of its directory. */
    if (inode && !old && !d->unloaded && dentry_is_attached(d)) {
        d->seq = d->parent->next_seq++;
        list_remove(&d->sibling);
        list_append(&d->parent->children, &d->sibling);
    }
    d->unloaded = false;
    inode_put(old);
}

struct dentry *dentry_find(struct dentry *parent, const char *name, size_t length)
{
    if (!bucket_count)
        return NULL;
    uint64_t hash = map_hash_bytes(name, length);
    struct dentry *d;
    list_for_each(d, bucket_of(parent, hash),
                  hash_link) if (d->hash == hash && d->parent == parent &&
                                 d->name_length == length &&
                                 memcmp(d->name, name, length) == 0) return d;
    return NULL;
}

/* What is cached below a directory that goes: negative answers, whiteouts, what nobody refers to.
 */
static void dentry_forget_children(struct dentry *d)
{
    struct dentry *child, *tmp;
    list_for_each_safe(child, tmp, &d->children, sibling)
    {
        if (child->pinned && !child->inode) {
            child->pinned = false;
            child->refs--;
        } else if (child->refs == 0) {
            list_remove(&child->lru);
            unreferenced_count--;
        }
        if (child->refs == 0)
            dentry_drop(dentry_free(child));
    }
}

void dentry_detach(struct dentry *d)
{
    if (dentry_is_attached(d))
        dentry_unattach(d);
    d->unlinked = true;
    dentry_forget_children(d);
    if (d->pinned) {
        d->pinned = false;
        dentry_put(d);
    }
}

int dentry_reserve_name(struct dentry *d, size_t length)
{
    if (length < d->name_capacity)
        return 0;
    char *name = length < UINT16_MAX ? malloc(length + 1) : NULL;
    if (!name)
        return -ENOMEM;
    memcpy(name, d->name, d->name_length + 1U);
    if (d->name != d->first_name)
        free(d->name);
    d->name = name;
    d->name_capacity = (uint16_t)(length + 1);
    return 0;
}

int dentry_move(struct dentry *d, struct dentry *new_parent, const char *name, size_t length)
{
    int r = dentry_reserve_name(d, length);
    if (r < 0)
        return r;
    struct dentry *old_parent = d->parent;
    if (dentry_is_attached(d))
        dentry_unattach(d);
    memmove(d->name, name, length);
    d->name[length] = '\0';
    d->name_length = (uint16_t)length;
    d->hash = map_hash_bytes(d->name, length);
    d->parent = dentry_get(new_parent);
    d->unlinked = false;
    dentry_attach(d);
    dentry_put(old_parent);
    return 0;
}
