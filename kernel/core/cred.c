// SPDX-License-Identifier: Apache-2.0
#include "kernel/core/cred.h"

const struct cred cred_kernel = {
    .refs = 1,
    .cap_permitted = CAP_ALL,
    .cap_effective = CAP_ALL,
    .cap_bounding = CAP_ALL,
};

struct cred *cred_new(uid_t uid, gid_t gid)
{
    struct cred *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->refs = 1;
    c->uid = c->euid = c->suid = c->fsuid = uid;
    c->gid = c->egid = c->sgid = c->fsgid = gid;
    c->cap_bounding = CAP_ALL;
    if (uid == 0)
        c->cap_permitted = c->cap_effective = CAP_ALL;
    return c;
}

struct cred *cred_copy(const struct cred *c)
{
    struct cred *copy = malloc(sizeof(*copy));
    if (!copy)
        return NULL;
    *copy = *c;
    copy->refs = 1;
    return copy;
}

struct cred *cred_get(struct cred *c)
{
    c->refs++;
    return c;
}

void cred_put(struct cred *c)
{
    if (c && --c->refs == 0)
        free(c);
}

bool cred_has_cap(const struct cred *c, int cap)
{
    return c->cap_effective >> cap & 1;
}

bool cred_in_group(const struct cred *c, gid_t gid)
{
    if (c->fsgid == gid)
        return true;
    for (size_t i = 0; i < c->group_count; i++)
        if (c->groups[i] == gid)
            return true;
    return false;
}
