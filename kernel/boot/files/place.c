// SPDX-License-Identifier: Apache-2.0
/*
 * Who asks, and what his paths mean.
 */
#include "kernel/boot/files/client.h"
#include "kernel/boot/files/files.h"

#include <stdio.h>

static char standard_user[FILES_USER_MAX_BYTES + 1] = "user";

void files_start(const char *user)
{
    snprintf(standard_user, sizeof(standard_user), "%s", user);
}

static struct path root_path(void)
{
    return (struct path){vfs_root_mount, vfs_root_mount->root};
}

struct walk_base files_base(const struct files_identity *i, struct path dir)
{
    return (struct walk_base){.root = root_path(), .base = dir, .cred = i->cred};
}

struct walk_base files_root(const struct files_identity *i)
{
    return files_base(i, root_path());
}

/* With the rights of root, but what is made belongs to the user. */
static void give_rights(struct cred *c)
{
    c->cap_permitted = c->cap_effective = CAP_ALL;
}

int files_identity_find(const struct files_asked *a, struct files_identity *ret)
{
    const struct walk_base base = {.root = root_path(), .base = root_path(), .cred = &cred_kernel};
    struct files_identity i;
    if (user_find(&base, *a->user ? a->user : standard_user, &i.user) < 0)
        return -ESRCH;
    i.cred = cred_new(i.user.uid, i.user.gid);
    if (!i.cred)
        return -ENOMEM;
    i.cred->group_count = MIN(i.user.group_count, (size_t)CRED_GROUPS_MAX);
    memcpy(i.cred->groups, i.user.groups, i.cred->group_count * sizeof(i.cred->groups[0]));
    if (a->q.flags & FILES_AS_ROOT)
        give_rights(i.cred);
    *ret = i;
    return 0;
}

void files_identity_done(struct files_identity *i)
{
    cred_put(i->cred);
    i->cred = NULL;
}

/* ---- text of paths ---- */

/* Appends the components of text to path, which is absolute or empty. */
static int append_text(char path[FILES_PATH_MAX_BYTES + 1], size_t *size, const char *text)
{
    for (;;) {
        text += strspn(text, "/");
        size_t length = strcspn(text, "/");
        if (length == 0)
            return 0;
        if (length == 2 && text[0] == '.' && text[1] == '.') {
            while (*size > 0 && path[--*size] != '/')
                ;
        } else if (length != 1 || text[0] != '.') {
            if (*size + 1 + length > FILES_PATH_MAX_BYTES)
                return -ENAMETOOLONG;
            path[(*size)++] = '/';
            memcpy(path + *size, text, length);
            *size += length;
        }
        text += length;
    }
}

int files_path_resolve(const struct files_identity *i, const char *text,
                       char ret[FILES_PATH_MAX_BYTES + 1])
{
    size_t size = 0;
    bool is_home = text[0] == '~' && (text[1] == '/' || text[1] == '\0');
    int r = text[0] == '/' ? 0 : append_text(ret, &size, i->user.home);
    if (r == 0)
        r = append_text(ret, &size, is_home ? text + 1 : text);
    if (r < 0)
        return r;
    if (size == 0)
        ret[size++] = '/';
    ret[size] = '\0';
    return 0;
}

/* ---- parents ---- */

/* Moves *at on to the directory of that name in it, which is made if it is missing. */
static int step_into(const struct files_identity *i, struct path *at, const char *name)
{
    const struct walk_base base = files_base(i, *at);
    struct path next;
    int r = walk_path(&base, name, WALK_FOLLOW | WALK_DIRECTORY, &next, NULL);
    if (r == -ENOENT) {
        r = vfs_mkdir(&base, name, 0755);
        if (r == 0)
            r = walk_path(&base, name, WALK_DIRECTORY, &next, NULL);
    }
    if (r < 0)
        return r;
    path_put(at);
    *at = next;
    return 0;
}

static int make_each(const struct files_identity *i, char *parent)
{
    struct path at = path_get(root_path());
    char *rest = parent;
    int r = 0;
    for (char *name; r == 0 && (name = strtok_r(rest, "/", &rest));)
        r = step_into(i, &at, name);
    path_put(&at);
    return r;
}

int files_make_parents(const struct files_identity *i, const char *path)
{
    char parent[FILES_PATH_MAX_BYTES + 1];
    const struct walk_base base = files_root(i);
    struct path found;
    size_t size = (size_t)(strrchr(path, '/') - path);
    if (size == 0)
        return 0;
    memcpy(parent, path, size);
    parent[size] = '\0';
    int r = walk_path(&base, parent, WALK_FOLLOW | WALK_DIRECTORY, &found, NULL);
    if (r == -ENOENT)
        return make_each(i, parent);
    if (r == 0)
        path_put(&found);
    return r;
}
