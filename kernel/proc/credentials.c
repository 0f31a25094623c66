// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/credentials.h"

#include <linux/capability.h>
#include <linux/securebits.h>

/* CAP_FS_SET of Linux: what follows fsuid. */
#define CAPS_OF_FSUID                                                                            \
    (1ULL << CAP_CHOWN | 1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_DAC_READ_SEARCH |                \
     1ULL << CAP_FOWNER | 1ULL << CAP_FSETID | 1ULL << CAP_LINUX_IMMUTABLE | 1ULL << CAP_MKNOD | \
     1ULL << CAP_MAC_OVERRIDE)

void thread_set_cred(struct thread *t, struct cred *new)
{
    struct cred *old = t->cred;
    struct process *p = t->process;
    if (old->euid != new->euid || old->egid != new->egid || old->fsuid != new->fsuid ||
        old->fsgid != new->fsgid || (new->cap_permitted & ~old->cap_permitted)) {
        if (p->space)
            p->space->dumpable = false;
        p->parent_death_signal = 0;
    }
    t->cred = new;
    cred_put(old);
}

static bool has_root(const struct cred *c)
{
    return c->uid == 0 || c->euid == 0 || c->suid == 0;
}

void cred_follow_uids(struct cred *new, const struct cred *old)
{
    if (new->securebits & SECBIT_NO_SETUID_FIXUP)
        return;
    if (has_root(old) && !has_root(new)) {
        if (!(new->securebits &SECBIT_KEEP_CAPS))
            new->cap_permitted = new->cap_effective = 0;
        new->cap_ambient = 0;
    }
    if (old->euid == 0 && new->euid != 0)
        new->cap_effective = 0;
    if (old->euid != 0 && new->euid == 0)
        new->cap_effective = new->cap_permitted;
}

void cred_follow_fsuid(struct cred *new, const struct cred *old)
{
    if (new->securebits & SECBIT_NO_SETUID_FIXUP)
        return;
    if (old->fsuid == 0 && new->fsuid != 0)
        new->cap_effective &= ~CAPS_OF_FSUID;
    if (old->fsuid != 0 && new->fsuid == 0)
        new->cap_effective |= CAPS_OF_FSUID &new->cap_permitted;
}
