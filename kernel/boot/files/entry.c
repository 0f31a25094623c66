// SPDX-License-Identifier: Apache-2.0
/*
 * What is told of a file.
 */
#include "kernel/boot/files/client.h"
#include "kernel/fs/image/place.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/xattr.h"

#include <stdio.h>
#include <sys/xattr.h>

#define METADATA_PREFIX      "user.e2b."
#define METADATA_PREFIX_SIZE (sizeof(METADATA_PREFIX) - 1)

/* ---- names of users and groups ---- */

void files_names_done(struct files_names *n)
{
    free(n->passwd);
    free(n->group);
    *n = (struct files_names){0};
}

/* The first field of the line whose third is the number; the number itself when there is none. */
static void find_name(const char *text, uint32_t id, char ret[FILES_OWNER_MAX_BYTES + 1])
{
    char wanted[16];
    size_t wanted_size = (size_t)snprintf(wanted, sizeof(wanted), "%u", id);
    memcpy(ret, wanted, wanted_size + 1);
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t length = strcspn(line, ":\n");
        const char *second = line[length] == ':' ? line + length + 1 : "";
        const char *third = second + strcspn(second, ":\n");
        if (*third != ':' || strncmp(third + 1, wanted, wanted_size) != 0 ||
            (third[1 + wanted_size] != ':' && third[1 + wanted_size] != '\n'))
            continue;
        if (length > 0)
            snprintf(ret, FILES_OWNER_MAX_BYTES + 1, "%.*s", (int)MIN(length, (size_t)1024), line);
        return;
    }
}

static void look_up_names(struct files_names *n, uint32_t uid, uint32_t gid)
{
    const struct path top = {vfs_root_mount, vfs_root_mount->root};
    const struct walk_base root = {.root = top, .base = top, .cred = &cred_kernel};
    if (!n->has_owner || n->uid != uid) {
        if (!n->passwd)
            n->passwd = image_read_text(&root, "/etc/passwd", NULL);
        find_name(n->passwd, uid, n->owner);
        if (uid == 0 && !strcmp(n->owner, "0"))
            strcpy(n->owner, "root");
        n->uid = uid;
        n->has_owner = true;
    }
    if (!n->has_group || n->gid != gid) {
        if (!n->group)
            n->group = image_read_text(&root, "/etc/group", NULL);
        find_name(n->group, gid, n->group_name);
        if (gid == 0 && !strcmp(n->group_name, "0"))
            strcpy(n->group_name, "root");
        n->gid = gid;
        n->has_group = true;
    }
}

/* ---- metadata ---- */

bool files_metadata_is_valid(const char *metadata, size_t size)
{
    if (size > FILES_METADATA_MAX_BYTES || (size > 0 && metadata[size - 1] != '\0'))
        return false;
    size_t strings = 0;
    for (const char *at = metadata; at < metadata + size; at += strlen(at) + 1, strings++)
        if (strings % 2 == 0 &&
            (*at == '\0' || strlen(at) > XATTR_NAME_BYTES - METADATA_PREFIX_SIZE))
            return false;
    return strings % 2 == 0;
}

/* All names of attributes, which the caller frees; the size of them. */
static ssize_t list_attributes(struct inode *i, char **ret)
{
    if (!i->ops->listxattr)
        return 0;
    char *names = malloc(XATTR_SET_BYTES);
    if (!names)
        return -ENOMEM;
    ssize_t size = i->ops->listxattr(i, names, XATTR_SET_BYTES);
    if (size <= 0)
        free(names);
    else
        *ret = names;
    return size;
}

static int remove_metadata(struct inode *i)
{
    _cleanup_free_ char *names = NULL;
    ssize_t size = list_attributes(i, &names);
    int r = size < 0 ? (int)size : 0;
    for (const char *at = names; r == 0 && size > 0 && at < names + size; at += strlen(at) + 1)
        if (!strncmp(at, METADATA_PREFIX, METADATA_PREFIX_SIZE))
            r = i->ops->setxattr(i, at, NULL, 0, XATTR_REPLACE);
    return r;
}

int files_set_metadata(struct inode *i, const char *metadata, size_t size)
{
    if (!i->ops->setxattr)
        return size > 0 ? -EOPNOTSUPP : 0;
    int r = remove_metadata(i);
    for (const char *at = metadata; r == 0 && at < metadata + size;) {
        char name[XATTR_NAME_BYTES + 1];
        const char *value = at + strlen(at) + 1;
        snprintf(name, sizeof(name), METADATA_PREFIX "%s", at);
        r = i->ops->setxattr(i, name, value, strlen(value), 0);
        at = value + strlen(value) + 1;
    }
    return r;
}

/* What does not fit, or holds a NUL, is none of ours. */
static size_t get_metadata(struct inode *i, char ret[FILES_METADATA_MAX_BYTES])
{
    _cleanup_free_ char *names = NULL;
    ssize_t size = i->ops->getxattr ? list_attributes(i, &names) : 0;
    size_t used = 0;
    for (const char *at = names; size > 0 && at < names + size; at += strlen(at) + 1) {
        size_t name_size = strlen(at) + 1 - METADATA_PREFIX_SIZE;
        if (strncmp(at, METADATA_PREFIX, METADATA_PREFIX_SIZE) != 0 || name_size < 2 ||
            used + name_size + 2 > FILES_METADATA_MAX_BYTES)
            continue;
        char *value = ret + used + name_size;
        size_t room = FILES_METADATA_MAX_BYTES - used - name_size - 1;
        ssize_t n = i->ops->getxattr(i, at, value, room);
        if (n < 0 || (size_t)n > room || memchr(value, '\0', (size_t)n))
            continue;
        memcpy(ret + used, at + METADATA_PREFIX_SIZE, name_size);
        value[n] = '\0';
        used += name_size + (size_t)n + 1;
    }
    return used;
}

/* ---- entries ---- */

/* Where a link leads in the end: 0, or what stands in the way. */
static int find_target(const struct files_identity *i, struct path link,
                       char text[FILES_PATH_MAX_BYTES + 1], uint32_t *ret_mode)
{
    const struct walk_base base = files_base(i, (struct path){link.mount, link.dentry->parent});
    struct path p;
    if (!link.dentry->parent)
        return -ENOENT;
    int r = walk_path(&base, link.dentry->name, WALK_FOLLOW | WALK_NO_MAGICLINKS, &p, NULL);
    if (r < 0)
        return r;
    ssize_t size = path_text(p, base.root, text, FILES_PATH_MAX_BYTES + 1);
    *ret_mode = p.dentry->inode->mode;
    path_put(&p);
    return size < 0 ? (int)size : 0;
}

static void append(const void *data, size_t size)
{
    memcpy(files_reply.bytes + files_reply.size, data, size);
    files_reply.size += size;
}

int files_append_entry(struct files_names *n, const struct files_identity *i, struct path p,
                       const char *name, unsigned level, int error)
{
    static char metadata[FILES_METADATA_MAX_BYTES], target[FILES_PATH_MAX_BYTES + 1];
    struct stat st;
    int r = vfs_stat(p.dentry->inode, &st);
    if (r < 0)
        return r;
    struct files_entry e = {.mode = st.st_mode,
                            .uid = st.st_uid,
                            .gid = st.st_gid,
                            .size = st.st_size,
                            .mtime_s = st.st_mtim.tv_sec,
                            .mtime_ns = (uint32_t)st.st_mtim.tv_nsec,
                            .error = -error,
                            .level = (uint16_t)level,
                            .name_size = (uint16_t)strlen(name)};
    target[0] = '\0';
    if (S_ISLNK(st.st_mode) && find_target(i, p, target, &e.target_mode) < 0)
        target[0] = '\0';
    look_up_names(n, st.st_uid, st.st_gid);
    e.target_size = (uint16_t)strlen(target);
    e.owner_size = (uint16_t)strlen(n->owner);
    e.group_size = (uint16_t)strlen(n->group_name);
    e.metadata_size = (uint16_t)get_metadata(p.dentry->inode, metadata);
    if (files_reply_room() <
        sizeof(e) + e.name_size + e.target_size + e.owner_size + e.group_size + e.metadata_size)
        return -ENOSPC;
    append(&e, sizeof(e));
    append(name, e.name_size);
    append(target, e.target_size);
    append(n->owner, e.owner_size);
    append(n->group_name, e.group_size);
    append(metadata, e.metadata_size);
    return 0;
}

int files_append_path(const struct files_identity *i, const char *path)
{
    const struct walk_base base = files_root(i);
    struct files_names names = {0};
    struct path p;
    int r = walk_path(&base, path, 0, &p, NULL);
    if (r < 0)
        return r;
    r = files_append_entry(&names, i, p, path, 0, 0);
    files_names_done(&names);
    path_put(&p);
    return r;
}
