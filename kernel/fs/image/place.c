// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/image/place.h"

#include "kernel/core/kernel.h"
#include "kernel/core/memory.h"
#include "kernel/fs/filesystems.h"

#include <fcntl.h>
#include <stdio.h>

#define SPARE_BYTES 4096 /* where an image says that files are smaller than they are */

struct walk_base image_base(void)
{
    struct path root = {vfs_root_mount, vfs_root_mount->root};
    return (struct walk_base){.root = root, .base = root, .cred = &cred_kernel};
}

bool image_has(const char *path)
{
    const struct walk_base base = image_base();
    struct path p;
    if (walk_path(&base, path, 0, &p, NULL) < 0)
        return false;
    path_put(&p);
    return true;
}

int image_make_directories(const char *path)
{
    const struct walk_base base = image_base();
    char name[128];
    if ((size_t)snprintf(name, sizeof(name), "%s/", path) >= sizeof(name))
        return -ENAMETOOLONG;
    for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int r = vfs_mkdir(&base, name, S_IFDIR | 0755);
        if (r < 0 && r != -EEXIST)
            return r;
        *slash = '/';
    }
    return 0;
}

int image_open_directory(struct super *s, const char *path, struct path *ret)
{
    const struct walk_base base = image_base();
    struct path p;
    int r = walk_path(&base, path, WALK_FOLLOW | WALK_DIRECTORY, &p, NULL);
    if (r == 0 && p.dentry->super != s) {
        path_put(&p);
        r = -EXDEV;
    }
    if (r == 0)
        *ret = p;
    return r;
}

int image_add_text(struct super *s, const char *directory, const char *name, mode_t mode,
                   const char *text)
{
    struct path p;
    int r = image_open_directory(s, directory, &p);
    if (r < 0)
        return r;
    r = layer_add_file(p.dentry, name, mode, text, strlen(text));
    path_put(&p);
    return r;
}

int image_add_link(struct super *s, const char *directory, const char *name, const char *target)
{
    struct path p;
    int r = image_open_directory(s, directory, &p);
    if (r < 0)
        return r;
    r = layer_add_symlink(p.dentry, name, target);
    path_put(&p);
    return r;
}

char *image_read_text(const struct walk_base *base, const char *path, size_t *ret_size)
{
    struct path p;
    struct file *f;
    if (walk_path(base, path, WALK_FOLLOW, &p, NULL) < 0)
        return NULL;
    int r = vfs_open_path(p, &cred_kernel, O_RDONLY, &f);
    path_put(&p);
    if (r < 0)
        return NULL;
    size_t room = (size_t)MIN(f->inode->size + SPARE_BYTES, (off_t)IMAGE_TEXT_MAX_BYTES);
    char *text = malloc(room);
    ssize_t n = text ? file_read_kernel(f, text, room - 1, 0) : -ENOMEM;
    file_put(f);
    if (n < 0) {
        free(text);
        return NULL;
    }
    text[n] = '\0';
    if (ret_size)
        *ret_size = (size_t)n;
    return text;
}
