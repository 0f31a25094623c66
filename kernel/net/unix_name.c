// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/unix.h"

#include "kernel/core/kernel.h"
#include "lib/base/map.h"

#include <stdio.h>

#define FAMILY_SIZE     offsetof(struct sockaddr_un, sun_path)
#define AUTOBIND_DIGITS 5
#define AUTOBIND_COUNT  (1u << (4 * AUTOBIND_DIGITS))

/* Abstract names: hash of type and name -> struct unix_socket, the first of those with this hash.
 */
static struct map abstract_names;

void unix_name_put(struct unix_name *name)
{
    if (name && --name->refs == 0)
        free(name);
}

static struct unix_name *name_new(const char *path, size_t size)
{
    struct unix_name *name = calloc(1, sizeof(*name));
    if (!name)
        return NULL;
    name->refs = 1;
    name->size = size;
    memcpy(name->path, path, size);
    return name;
}

int unix_check_address(const struct net_address *a)
{
    if (a->size <= FAMILY_SIZE || a->size > sizeof(struct sockaddr_un) ||
        a->un.sun_family != AF_UNIX)
        return -EINVAL;
    return 0;
}

void unix_fill_name(const struct unix_socket *u, struct net_address *ret)
{
    *ret = (struct net_address){.size = FAMILY_SIZE};
    ret->un.sun_family = AF_UNIX;
    if (!u->name)
        return;
    /* A path of 108 bytes has its NUL behind sun_path, as on Linux: there is room for it. */
    memcpy(ret->bytes + FAMILY_SIZE, u->name->path, u->name->size);
    ret->size += (socklen_t)u->name->size;
}

/* ---- abstract names ---- */

static uint64_t abstract_hash(int type, const char *path, size_t size)
{
    return map_hash_bytes(path, size) ^ (uint64_t)type;
}

static struct unix_socket *abstract_find(int type, const char *path, size_t size)
{
    struct unix_socket *u = map_get(&abstract_names, abstract_hash(type, path, size));
    while (u && (u->socket.type != type || u->name->size != size ||
                 memcmp(u->name->path, path, size) != 0))
        u = u->next_alike;
    return u;
}

static int abstract_add(struct unix_socket *u, const char *path, size_t size)
{
    struct unix_name *name = name_new(path, size);
    if (!name)
        return -ENOMEM;
    uint64_t hash = abstract_hash(u->socket.type, path, size);
    u->next_alike = map_get(&abstract_names, hash);
    int r = map_set(&abstract_names, hash, u);
    if (r < 0) {
        unix_name_put(name);
        return r;
    }
    u->name = name;
    u->abstract = true;
    return 0;
}

static void abstract_remove(struct unix_socket *u)
{
    uint64_t hash = abstract_hash(u->socket.type, u->name->path, u->name->size);
    struct unix_socket *first = map_get(&abstract_names, hash);
    u->abstract = false;
    if (first != u) {
        while (first->next_alike != u)
            first = first->next_alike;
        first->next_alike = u->next_alike;
    } else if (u->next_alike) {
        map_set(&abstract_names, hash, u->next_alike);
    } else {
        map_remove(&abstract_names, hash);
    }
}

int unix_autobind(struct unix_socket *u)
{
    uint32_t start;
    if (u->name)
        return 0;
    kernel_random(&start, sizeof(start));
    for (uint32_t i = 0; i < AUTOBIND_COUNT; i++) {
        char path[1 + AUTOBIND_DIGITS + 1] = "";
        snprintf(path + 1, sizeof(path) - 1, "%05x", (start + i) % AUTOBIND_COUNT);
        if (!abstract_find(u->socket.type, path, 1 + AUTOBIND_DIGITS))
            return abstract_add(u, path, 1 + AUTOBIND_DIGITS);
    }
    return -ENOSPC;
}

static int bind_abstract(struct unix_socket *u, const char *path, size_t size)
{
    if (u->name)
        return -EINVAL;
    if (abstract_find(u->socket.type, path, size))
        return -EADDRINUSE;
    return abstract_add(u, path, size);
}

/* ---- path names ---- */

/* The path of an address that need not be terminated. */
static void copy_path(const struct net_address *a, char path[UNIX_PATH_MAX + 1])
{
    size_t size = a->size - FAMILY_SIZE;
    memcpy(path, a->un.sun_path, size);
    path[size] = '\0';
}

int unix_bind_at(struct unix_socket *u, const struct walk_base *base, const char *path, mode_t mode)
{
    int r = vfs_mknod(base, path, S_IFSOCK | mode, 0);
    if (r < 0)
        return r == -EEXIST ? -EADDRINUSE : r;
    struct unix_name *name = u->name ? NULL : name_new(path, strlen(path) + 1);
    if (!name) {
        vfs_unlink(base, path);
        return u->name ? -EINVAL : -ENOMEM;
    }
    r = walk_path(base, path, 0, &u->path, NULL);
    if (r < 0) {
        unix_name_put(name);
        vfs_unlink(base, path);
        return r;
    }
    u->name = name;
    u->path.dentry->inode->pipe = u;
    return 0;
}

static int bind_path(struct unix_socket *u, struct thread *t, const char *path)
{
    struct walk_base base;
    int r = thread_walk_base(t, AT_FDCWD, &base);
    if (r < 0)
        return r;
    mode_t mode = u->socket.file ? u->socket.file->inode->mode & 07777 : 0777;
    return unix_bind_at(u, &base, path, mode & ~t->fs->umask);
}

int unix_bind(struct socket *s, struct thread *t, const struct net_address *a)
{
    struct unix_socket *u = unix_of(s);
    char path[UNIX_PATH_MAX + 1];
    if (a->size == FAMILY_SIZE && a->un.sun_family == AF_UNIX)
        return unix_autobind(u);
    int r = unix_check_address(a);
    if (r < 0)
        return r;
    if (a->un.sun_path[0] == '\0')
        return bind_abstract(u, a->un.sun_path, a->size - FAMILY_SIZE);
    copy_path(a, path);
    return bind_path(u, t, path);
}

void unix_unbind(struct unix_socket *u)
{
    if (u->abstract)
        abstract_remove(u);
    if (u->path.dentry) {
        u->path.dentry->inode->pipe = NULL;
        path_put(&u->path);
        u->path = (struct path){NULL, NULL};
    }
}

static int find_path(const struct unix_socket *u, struct thread *t, const char *name,
                     struct unix_socket **ret)
{
    struct walk_base base;
    struct path path;
    int r = thread_walk_base(t, AT_FDCWD, &base);
    if (r == 0)
        r = walk_path(&base, name, WALK_FOLLOW, &path, NULL);
    if (r < 0)
        return r;
    struct inode *i = path.dentry->inode;
    struct unix_socket *found = NULL;
    r = inode_permission(i, t->cred, MAY_WRITE);
    if (r == 0 && (!S_ISSOCK(i->mode) || !(found = i->pipe)))
        r = -ECONNREFUSED;
    if (r == 0 && found->socket.type != u->socket.type)
        r = -EPROTOTYPE;
    path_put(&path);
    if (r < 0)
        return r;
    *ret = found;
    return 0;
}

int unix_find(const struct unix_socket *u, struct thread *t, const struct net_address *a,
              struct unix_socket **ret)
{
    char path[UNIX_PATH_MAX + 1];
    if (a->un.sun_path[0]) {
        copy_path(a, path);
        return find_path(u, t, path, ret);
    }
    struct unix_socket *found =
        abstract_find(u->socket.type, a->un.sun_path, a->size - FAMILY_SIZE);
    if (!found)
        return -ECONNREFUSED;
    *ret = found;
    return 0;
}
