// SPDX-License-Identifier: Apache-2.0
/*
 * capget(2), capset(2): sets of capabilities(7) as 32-bit words, one (version 1) or two of them.
 */
#include "kernel/sys/handlers.h"

#include "kernel/proc/credentials.h"

#include <linux/capability.h>

struct cap_words {
    uint32_t effective, permitted, inheritable;
};

static const uint32_t newest_version = _LINUX_CAPABILITY_VERSION_3;

/* How many words the version in the header has; -EINVAL for unknown ones, and tells the newest. */
static int read_header(struct call *c, int *ret_words, pid_t *ret_pid)
{
    struct __user_cap_header_struct header;
    if (call_read(c, &header, call_addr(c, 0), sizeof(header)) < 0)
        return -EFAULT;
    switch (header.version) {
    case _LINUX_CAPABILITY_VERSION_1:
        *ret_words = 1;
        break;
    case _LINUX_CAPABILITY_VERSION_2:
    case _LINUX_CAPABILITY_VERSION_3:
        *ret_words = 2;
        break;
    default:
        if (call_write(c, call_addr(c, 0), &newest_version, sizeof(newest_version)) < 0)
            return -EFAULT;
        return -EINVAL;
    }
    *ret_pid = header.pid;
    return 0;
}

static const struct cred *cred_of(struct call *c, pid_t pid)
{
    if (pid == 0 || pid == c->thread->tid)
        return c->thread->cred;
    const struct thread *t = thread_find(pid);
    if (!t) {
        process_settle_all();
        t = thread_find(pid);
    }
    return t ? t->cred : NULL;
}

long sys_capget(struct call *c)
{
    struct cap_words words[2];
    struct gaddr data = call_addr(c, 1);
    int count;
    pid_t pid;
    int r = read_header(c, &count, &pid);
    /* The way to ask for the version: no room for an answer, and no complaint. */
    if (r < 0 || !data.v)
        return r == -EINVAL && !data.v ? 0 : r;
    if (pid < 0)
        return -EINVAL;
    const struct cred *cred = cred_of(c, pid);
    if (!cred)
        return -ESRCH;
    for (int i = 0; i < 2; i++) {
        words[i].effective = (uint32_t)(cred->cap_effective >> (32 * i));
        words[i].permitted = (uint32_t)(cred->cap_permitted >> (32 * i));
        words[i].inheritable = (uint32_t)(cred->cap_inheritable >> (32 * i));
    }
    return call_write(c, data, words, (size_t)count * sizeof(words[0]));
}

static bool is_within(uint64_t set, uint64_t limit)
{
    return !(set & ~limit);
}

long sys_capset(struct call *c)
{
    struct thread *t = c->thread;
    const struct cred *old = t->cred;
    struct cap_words words[2];
    int count;
    pid_t pid;
    int r = read_header(c, &count, &pid);
    if (r < 0)
        return r;
    if (pid != 0 && pid != t->tid)
        return -EPERM;
    memset(words, 0, sizeof(words));
    if (call_read(c, words, call_addr(c, 1), (size_t)count * sizeof(words[0])) < 0)
        return -EFAULT;
    uint64_t effective = words[0].effective | (uint64_t)words[1].effective << 32;
    uint64_t permitted = words[0].permitted | (uint64_t)words[1].permitted << 32;
    uint64_t inheritable = words[0].inheritable | (uint64_t)words[1].inheritable << 32;
    effective &= CAP_ALL;
    permitted &= CAP_ALL;
    inheritable &= CAP_ALL;

    if (!cred_has_cap(old, CAP_SETPCAP) &&
        !is_within(inheritable, old->cap_inheritable | old->cap_permitted))
        return -EPERM;
    if (!is_within(inheritable, old->cap_inheritable | old->cap_bounding))
        return -EPERM;
    if (!is_within(permitted, old->cap_permitted) || !is_within(effective, permitted))
        return -EPERM;
    struct cred *new = cred_copy(old);
    if (!new)
        return -ENOMEM;
    new->cap_effective = effective;
    new->cap_permitted = permitted;
    new->cap_inheritable = inheritable;
    new->cap_ambient &= permitted &inheritable;
    thread_set_cred(t, new);
    return 0;
}
