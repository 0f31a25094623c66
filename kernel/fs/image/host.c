// SPDX-License-Identifier: Apache-2.0
/* host calls: fstat newfstatat openat2 readlinkat */
#include "kernel/fs/image/host.h"

#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>

#define USER_NAME_MAX  32
#define HOSTNAME_MAX   64
#define LINK_MAX_BYTES 256

/* ---- looking at the host ---- */

struct hostfd image_open_public_directory(struct hostfd dir, const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    struct hostfd fd = {(int)syscall(SYS_openat2, dir.n, path, &how, sizeof(how))};
    struct stat st;
    if (!hostfd_is_open(fd))
        return HOSTFD_NONE;
    if (fstat(fd.n, &st) < 0 || (st.st_mode & 0005) != 0005)
        hostfd_close(&fd);
    return fd;
}

static size_t read_link(struct hostfd dir, const char *path, char *target, size_t size)
{
    ssize_t length = readlinkat(dir.n, path, target, size);
    if (length <= 0 || (size_t)length >= size)
        return 0;
    target[length] = '\0';
    return (size_t)length;
}

/* ---- the root ---- */

static bool is_word(const char *text, size_t max, const char *allowed)
{
    size_t length = strlen(text);
    return length > 0 && length <= max && strspn(text, allowed) == length;
}

bool image_options_are_valid(const struct image_options *o)
{
    static const char name_characters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    static const char host_characters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
    return is_word(o->user_name, USER_NAME_MAX, name_characters) &&
           strspn(o->user_name, "0123456789-") == 0 &&
           is_word(o->hostname, HOSTNAME_MAX, host_characters);
}

/* Links at the top of a usr-merged system: "usr/lib", "/usr/lib". */
static bool leads_into_usr(const char *target)
{
    if (*target == '/')
        target++;
    return !strncmp(target, "usr/", 4) && !strstr(target, "..");
}

static int add_system_directory(const struct image_options *o, struct dentry *root,
                                const char *name)
{
    char target[LINK_MAX_BYTES];
    if (read_link(o->root, name, target, sizeof(target)))
        return leads_into_usr(target) ? layer_add_symlink(root, name, target) : 0;
    struct hostfd fd = image_open_public_directory(o->root, name);
    return hostfd_is_open(fd) ? layer_add_lower(root, name, fd, NULL, NULL) : -ENOENT;
}

static int add_system_directories(const struct image_options *o, struct dentry *root)
{
    static const char *const names[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};
    int r = add_system_directory(o, root, "usr");
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        r = add_system_directory(o, root, names[i]);
        if (r < 0 && r != -ENOENT)
            return r;
    }
    return 0;
}

struct directory {
    const char *name;
    mode_t mode;
};

static int add_directories(struct dentry *parent, const struct directory *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int r = layer_add_directory(parent, list[i].name, list[i].mode, 0, 0, NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_var(struct dentry *root)
{
    static const struct directory below[] = {
        {"backups", 0755}, {"cache", 0755}, {"lib", 0755},   {"local", 0755}, {"log", 0755},
        {"mail", 0755},    {"opt", 0755},   {"spool", 0755}, {"tmp", 01777},
    };
    struct dentry *var;
    int r = layer_add_directory(root, "var", 0755, 0, 0, &var);
    if (r == 0)
        r = add_directories(var, below, ARRAY_SIZE(below));
    if (r == 0)
        r = layer_add_symlink(var, "run", "/run");
    if (r == 0)
        r = layer_add_symlink(var, "lock", "/run/lock");
    return r;
}

static int add_run(const struct image_options *o, struct dentry *root)
{
    struct dentry *run, *user;
    char uid[16];
    snprintf(uid, sizeof(uid), "%u", o->uid);
    int r = layer_add_directory(root, "run", 0755, 0, 0, &run);
    if (r == 0)
        r = layer_add_directory(run, "lock", 01777, 0, 0, NULL);
    if (r == 0)
        r = layer_add_directory(run, "user", 0755, 0, 0, &user);
    if (r == 0)
        r = layer_add_directory(user, uid, 0700, o->uid, o->gid, NULL);
    return r;
}

static int add_home(const struct image_options *o, struct dentry *root)
{
    struct dentry *home;
    int r = layer_add_directory(root, "home", 0755, 0, 0, &home);
    if (r == 0)
        r = layer_add_directory(home, o->user_name, 0755, o->uid, o->gid, NULL);
    return r;
}

int image_host_build(const struct image_options *options, struct dentry *root)
{
    static const struct directory top[] = {
        {"boot", 0755}, {"dev", 0755},  {"media", 0755}, {"mnt", 0755}, {"opt", 0755},
        {"proc", 0555}, {"root", 0700}, {"srv", 0755},   {"sys", 0555}, {"tmp", 01777},
    };
    if (!image_options_are_valid(options))
        return -EINVAL;
    int r = add_system_directories(options, root);
    if (r == 0)
        r = add_directories(root, top, ARRAY_SIZE(top));
    if (r == 0)
        r = add_home(options, root);
    if (r == 0)
        r = add_run(options, root);
    if (r == 0)
        r = add_var(root);
    return r == 0 ? image_etc_build(options, root) : r;
}
