// SPDX-License-Identifier: Apache-2.0
/* host calls: fstat fstatfs newfstatat */
#include "kernel/boot/tree.h"

#include "kernel/boot/user.h"
#include "kernel/core/held.h"
#include "kernel/core/kernel.h"
#include "kernel/fs/filesystems.h"
#include "kernel/fs/image/directory.h"
#include "kernel/fs/image/known_hosts.h"
#include "kernel/fs/image/trust.h"
#include "kernel/net/agent.h"
#include "lib/base/gateway.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>

static struct storage_budget budget;

/* Files of a store that lies in memory; those that are in this process's already count twice. */
static uint64_t stored_bytes(void)
{
    return budget.used_bytes;
}

static struct held_memory stored = {.bytes = stored_bytes};

static bool is_in_memory(struct hostfd dir)
{
    struct statfs s;
    return fstatfs(dir.n, &s) == 0 && (s.f_type == TMPFS_MAGIC || s.f_type == RAMFS_MAGIC);
}

static int mount_at(const char *path, struct super *s, const char *source, struct mount **ret,
                    struct setup_error *e)
{
    struct path root = {vfs_root_mount, vfs_root_mount->root}, at;
    struct walk_base base = {.root = root, .base = root, .cred = &cred_kernel};
    int r = walk_path(&base, path, WALK_FOLLOW, &at, NULL);
    if (r == 0)
        r = mount_add(s, at, source, ret);
    return r < 0 ? setup_fail(e, -r, "mount on %s", path) : 0;
}

/* The mount point of what the user named; made, with its parents, where it is missing. */
static int make_mount_point(const char *path, bool is_directory, struct setup_error *e)
{
    char name[4096];
    struct path root = {vfs_root_mount, vfs_root_mount->root};
    struct walk_base base = {.root = root, .base = root, .cred = &cred_kernel};
    if ((size_t)snprintf(name, sizeof(name), "%s", path) >= sizeof(name))
        return setup_fail(e, ENAMETOOLONG, "mount point %s", path);
    for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int r = vfs_mkdir(&base, name, S_IFDIR | 0755);
        if (r < 0 && r != -EEXIST)
            return setup_fail(e, -r, "mount point %s", name);
        *slash = '/';
    }
    int r = is_directory ? vfs_mkdir(&base, name, S_IFDIR | 0755)
                         : vfs_mknod(&base, name, S_IFREG | 0644, 0);
    return r < 0 && r != -EEXIST ? setup_fail(e, -r, "mount point %s", path) : 0;
}

static int mount_tmpfs(const char *path, uint64_t max_bytes, mode_t mode, struct setup_error *e)
{
    const struct layer_options options = {
        .type_name = "tmpfs",
        .lower = HOSTFD_NONE,
        .budget = &budget,
        .max_bytes = max_bytes,
        .root_mode = mode,
    };
    struct super *s;
    struct mount *m;
    int r = layer_super_new(&options, &s);
    if (r < 0)
        return setup_fail(e, -r, "tmpfs for %s", path);
    r = mount_at(path, s, "tmpfs", &m, e);
    if (r == 0)
        m->nosuid = m->nodev = true;
    return r;
}

static int mount_root(const struct spec *spec, struct world *w, struct setup_error *e)
{
    bool is_host = !strcmp(spec->image, "host");
    const struct image_options what = {.root = w->image,
                                       .hostname = spec->hostname,
                                       .user_name = "user",
                                       .uid = 1000,
                                       .gid = 1000,
                                       .has_authority = spec->ca != NULL};
    const struct layer_options options = {
        .type_name = "overlay",
        .lower = is_host ? HOSTFD_NONE : w->image,
        .budget = &budget,
        .max_bytes = UINT64_MAX,
        .root_mode = 0755,
    };
    struct super *s;
    struct mount *m;
    int r = layer_super_new(&options, &s);
    if (r == 0)
        r = mount_add(s, (struct path){0}, "overlay", &m);
    if (r == 0)
        r = is_host ? image_host_build(&what, s->root) : image_directory_complete(&what, s);
    if (is_host)
        hostfd_close(&w->image);
    return r < 0 ? setup_fail(e, -r, "image %s", spec->image) : 0;
}

static int mount_pseudo(const char *path, int (*make)(struct super **ret), struct setup_error *e)
{
    struct super *s;
    struct mount *m;
    int r = make(&s);
    if (r < 0)
        return setup_fail(e, -r, "file system for %s", path);
    return mount_at(path, s, s->type_name, &m, e);
}

static int mount_host(const struct spec_mount *mount, struct hostfd dir, struct setup_error *e)
{
    struct super *s;
    struct mount *m;
    struct stat st;
    if (fstat(dir.n, &st) < 0)
        return setup_fail(e, errno, "mount source %s", mount->host);
    int r = make_mount_point(mount->guest, S_ISDIR(st.st_mode), e);
    if (r < 0)
        return r;
    r = hostdir_super_new(dir, mount->read_only, &s);
    if (r < 0)
        return setup_fail(e, -r, "mount source %s", mount->host);
    r = mount_at(mount->guest, s, "host", &m, e);
    if (r == 0) {
        m->read_only = mount->read_only;
        m->nosuid = m->nodev = true;
    }
    return r;
}

int tree_build(const struct spec *spec, struct world *world, struct setup_error *e)
{
    if (is_in_memory(kernel.store_dir))
        held_memory_add(&stored);
    budget.max_bytes = kernel.config.disk_bytes;
    budget.max_inodes = kernel.config.inode_count;
    int r = mount_root(spec, world, e);
    if (r == 0)
        r = mount_pseudo("/proc", proc_super_new, e);
    if (r == 0)
        r = mount_pseudo("/sys", sysfs_super_new, e);
    if (r == 0)
        r = mount_pseudo("/sys/fs/cgroup", cgroup_super_new, e);
    if (r == 0)
        r = mount_pseudo("/dev", dev_super_new, e);
    if (r == 0)
        r = mount_pseudo("/dev/pts", devpts_super_new, e);
    if (r == 0)
        r = mount_tmpfs("/dev/shm", UINT64_MAX, 01777, e);
    return r;
}

int tree_add_authority(const struct spec *spec, struct setup_error *e)
{
    const struct image_trust trust = {spec->ca, spec->ca_subject_hash};
    if (!spec->ca)
        return 0;
    int r = image_trust_add(&trust, vfs_root_mount->super);
    return r < 0 ? setup_fail(e, -r, "certificates of the image") : 0;
}

/* Of a user who is not in the image the number is known when a program starts. */
static void find_owner(const struct spec *spec, struct user *ret)
{
    struct path root = {vfs_root_mount, vfs_root_mount->root};
    const struct walk_base base = {.root = root, .base = root, .cred = &cred_kernel};
    if (user_find(&base, spec->user, ret) < 0)
        *ret = (struct user){.uid = 0};
}

int tree_add_agent(const struct spec *spec, struct setup_error *e)
{
    struct user owner;
    if (!spec->known_hosts)
        return 0;
    int r = image_known_hosts_add(spec->known_hosts, vfs_root_mount->super);
    if (r < 0)
        return setup_fail(e, -r, "known hosts of the image");
    find_owner(spec, &owner);
    r = agent_start(owner.uid, owner.gid);
    return r < 0 ? setup_fail(e, -r, "the agent at %s", GATEWAY_AGENT_PATH) : 0;
}

int tree_add_mounts(const struct spec *spec, struct world *world, struct setup_error *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < spec->tmpfs_count; i++) {
        r = make_mount_point(spec->tmpfs[i].guest, true, e);
        if (r == 0)
            r = mount_tmpfs(spec->tmpfs[i].guest, spec->tmpfs[i].max_bytes, 01777, e);
    }
    for (size_t i = 0; r == 0 && i < spec->mount_count; i++)
        r = mount_host(&spec->mounts[i], world->mounts[i], e);
    return r;
}
