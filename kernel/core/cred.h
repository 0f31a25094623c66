// SPDX-License-Identifier: Apache-2.0
/*
 * Credentials of a guest thread: bookkeeping of the kernel, nothing on the host (credentials(7),
 * capabilities(7)). Immutable once shared: change a copy and put it in place.
 */
#pragma once

#include "lib/base/base.h"

#define CRED_GROUPS_MAX 64 /* NGROUPS_MAX of the sandbox; Linux has 65536 */

#define CAP_ALL ((1ULL << 41) - 1) /* CAP_LAST_CAP is 40 */

struct cred {
    size_t refs;
    uid_t uid, euid, suid, fsuid;
    gid_t gid, egid, sgid, fsgid;
    size_t group_count;
    gid_t groups[CRED_GROUPS_MAX];
    uint64_t cap_permitted, cap_effective, cap_inheritable, cap_bounding, cap_ambient;
    uint32_t securebits;
    bool no_new_privs;
};

/* The kernel's own, for its work on the tree: root with all capabilities. Borrowed for ever. */
extern const struct cred cred_kernel;

/* NULL when out of memory. uid 0 gets all capabilities. */
struct cred *cred_new(uid_t uid, gid_t gid);
struct cred *cred_copy(const struct cred *c);
struct cred *cred_get(struct cred *c);
void cred_put(struct cred *c);

/* cap: CAP_* of linux/capability.h, in the effective set. */
bool cred_has_cap(const struct cred *c, int cap);

/* gid is fsgid or one of the groups. */
bool cred_in_group(const struct cred *c, gid_t gid);
