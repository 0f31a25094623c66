// SPDX-License-Identifier: Apache-2.0
/*
 * Extended attributes: xattr(7). Which names there are and who may use them is decided here
 * (xattr_permission() of Linux); file systems only keep names and values.
 */
#include "kernel/fs/notify.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"

#include <linux/capability.h>
#include <linux/limits.h>
#include <sys/xattr.h>

#define USER_PREFIX         "user."
#define TRUSTED_PREFIX      "trusted."
#define SECURITY_PREFIX     "security."
#define SYSTEM_PREFIX       "system."
#define SECURITY_CAPABILITY "security.capability"

struct attribute {
    char name[XATTR_NAME_MAX + 1];
};

static bool has_prefix(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* -ERANGE for an empty or too long name. */
static int read_name(struct call *c, struct gaddr address, struct attribute *ret)
{
    ssize_t length = guest_read_string(call_memory(c), ret->name, address, sizeof(ret->name));
    if (length == 0 || length == -ENAMETOOLONG)
        return -ERANGE;
    return length < 0 ? (int)length : 0;
}

/* What a name of this space needs to be read or written, on this kind of file. */
static int check_space(const struct inode *i, const struct cred *cred, const char *name,
                       bool writing)
{
    int refused = writing ? -EPERM : -ENODATA;
    if (has_prefix(name, TRUSTED_PREFIX))
        return cred_has_cap(cred, CAP_SYS_ADMIN) ? 0 : refused;
    if (has_prefix(name, SECURITY_PREFIX)) {
        int cap = strcmp(name, SECURITY_CAPABILITY) == 0 ? CAP_SETFCAP : CAP_SYS_ADMIN;
        return !writing || cred_has_cap(cred, cap) ? 0 : -EPERM;
    }
    if (!has_prefix(name, USER_PREFIX))
        return 0;
    /* Modes of other kinds of files do not say who may add data to them. */
    if (!S_ISREG(i->mode) && !S_ISDIR(i->mode))
        return refused;
    if (writing && S_ISDIR(i->mode) && (i->mode & S_ISVTX) && !inode_is_owner(i, cred))
        return -EPERM;
    return 0;
}

static int check_permission(const struct path *p, const struct cred *cred, const char *name,
                            bool writing)
{
    struct inode *i = p->dentry->inode;
    if (writing && p->mount && p->mount->read_only)
        return -EROFS;
    int r = check_space(i, cred, name, writing);
    if (r < 0)
        return r;
    bool is_user = has_prefix(name, USER_PREFIX);
    bool is_privileged = has_prefix(name, TRUSTED_PREFIX) || has_prefix(name, SECURITY_PREFIX);
    /* Linux asks the mode also for a name that no file system will know. */
    if (!is_privileged && !has_prefix(name, SYSTEM_PREFIX))
        r = inode_permission(i, cred, writing ? MAY_WRITE : MAY_READ);
    if (r < 0)
        return r;
    if (!is_user && !is_privileged)
        return -EOPNOTSUPP;
    /* What is in front of the dot alone is no name. */
    return strchr(name, '.')[1] ? 0 : -EINVAL;
}

static int find_by_name(struct call *c, unsigned walk_flags, struct path *ret)
{
    char name[GUEST_PATH_MAX];
    int r = args_path(c, call_addr(c, 0), name);
    return r < 0 ? r : args_walk(c, AT_FDCWD, name, walk_flags, NULL, ret);
}

static int find_by_fd(struct call *c, unsigned walk_flags, struct path *ret)
{
    const struct file *f = args_file(c, call_int(c, 0));
    if (!f)
        return -EBADF;
    *ret = path_get(f->path);
    return 0;
}

/* Where the file of a call is found: by its name, or (the f forms) by its descriptor. */
typedef int (*find_path)(struct call *c, unsigned walk_flags, struct path *ret);

/* ---- set and remove ---- */

static int change(struct call *c, const struct path *p, const char *name, const void *value,
                  size_t size, int flags)
{
    struct inode *i = p->dentry->inode;
    int r = check_permission(p, c->thread->cred, name, true);
    if (r < 0)
        return r;
    if (!i->ops->setxattr)
        return -EOPNOTSUPP;
    r = i->ops->setxattr(i, name, value, size, flags);
    if (r < 0)
        return r;
    inode_touch_changed(i);
    notify_dentry(p->dentry, IN_ATTRIB);
    return 0;
}

static long set(struct call *c, find_path find, unsigned walk_flags)
{
    _cleanup_path_ struct path path = {0};
    struct attribute attribute;
    size_t size = c->arg[3];
    int flags = call_int(c, 4);
    if (flags & ~(XATTR_CREATE | XATTR_REPLACE))
        return -EINVAL;
    int r = read_name(c, call_addr(c, 1), &attribute);
    if (r < 0)
        return r;
    if (size > XATTR_SIZE_MAX)
        return -E2BIG;
    _cleanup_free_ char *value = malloc(size + 1);
    if (!value)
        return -ENOMEM;
    r = call_read(c, value, call_addr(c, 2), size);
    if (r == 0)
        r = find(c, walk_flags, &path);
    return r < 0 ? r : change(c, &path, attribute.name, value, size, flags);
}

long sys_setxattr(struct call *c)
{
    return set(c, find_by_name, WALK_FOLLOW);
}

long sys_lsetxattr(struct call *c)
{
    return set(c, find_by_name, 0);
}

long sys_fsetxattr(struct call *c)
{
    return set(c, find_by_fd, 0);
}

static long remove_attribute(struct call *c, find_path find, unsigned walk_flags)
{
    _cleanup_path_ struct path path = {0};
    struct attribute attribute;
    int r = read_name(c, call_addr(c, 1), &attribute);
    if (r == 0)
        r = find(c, walk_flags, &path);
    return r < 0 ? r : change(c, &path, attribute.name, NULL, 0, XATTR_REPLACE);
}

long sys_removexattr(struct call *c)
{
    return remove_attribute(c, find_by_name, WALK_FOLLOW);
}

long sys_lremovexattr(struct call *c)
{
    return remove_attribute(c, find_by_name, 0);
}

long sys_fremovexattr(struct call *c)
{
    return remove_attribute(c, find_by_fd, 0);
}

/* ---- get ---- */

static long get(struct call *c, find_path find, unsigned walk_flags)
{
    _cleanup_path_ struct path path = {0};
    struct attribute attribute;
    size_t size = MIN((size_t)c->arg[3], (size_t)XATTR_SIZE_MAX);
    int r = read_name(c, call_addr(c, 1), &attribute);
    if (r == 0)
        r = find(c, walk_flags, &path);
    if (r == 0)
        r = check_permission(&path, c->thread->cred, attribute.name, false);
    if (r < 0)
        return r;
    struct inode *i = path.dentry->inode;
    if (!i->ops->getxattr)
        return -EOPNOTSUPP;
    _cleanup_free_ char *value = malloc(size + 1);
    if (!value)
        return -ENOMEM;
    ssize_t n = i->ops->getxattr(i, attribute.name, value, size);
    if (n <= 0 || size == 0)
        return n;
    r = call_write(c, call_addr(c, 2), value, (size_t)n);
    return r < 0 ? r : n;
}

long sys_getxattr(struct call *c)
{
    return get(c, find_by_name, WALK_FOLLOW);
}

long sys_lgetxattr(struct call *c)
{
    return get(c, find_by_name, 0);
}

long sys_fgetxattr(struct call *c)
{
    return get(c, find_by_fd, 0);
}

/* ---- list ---- */

/* Takes the names out that the caller may not see; the size of the rest. */
static size_t visible_names(const struct cred *cred, char *names, size_t size)
{
    if (cred_has_cap(cred, CAP_SYS_ADMIN))
        return size;
    size_t kept = 0;
    for (size_t at = 0; at < size;) {
        size_t length = strnlen(names + at, size - at - 1) + 1;
        if (!has_prefix(names + at, TRUSTED_PREFIX)) {
            memmove(names + kept, names + at, length);
            kept += length;
        }
        at += length;
    }
    return kept;
}

static long list(struct call *c, find_path find, unsigned walk_flags)
{
    _cleanup_path_ struct path path = {0};
    size_t size = c->arg[2];
    int r = find(c, walk_flags, &path);
    if (r < 0)
        return r;
    struct inode *i = path.dentry->inode;
    if (!i->ops->listxattr)
        return 0;
    _cleanup_free_ char *names = malloc(XATTR_LIST_MAX);
    if (!names)
        return -ENOMEM;
    ssize_t n = i->ops->listxattr(i, names, XATTR_LIST_MAX);
    if (n < 0)
        return n == -ERANGE ? -E2BIG : n;
    size_t visible = visible_names(c->thread->cred, names, (size_t)n);
    if (size == 0 || visible == 0)
        return (long)visible;
    if (visible > size)
        return -ERANGE;
    r = call_write(c, call_addr(c, 1), names, visible);
    return r < 0 ? r : (long)visible;
}

long sys_listxattr(struct call *c)
{
    return list(c, find_by_name, WALK_FOLLOW);
}

long sys_llistxattr(struct call *c)
{
    return list(c, find_by_name, 0);
}

long sys_flistxattr(struct call *c)
{
    return list(c, find_by_fd, 0);
}
