// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/fs_support.h"

#include "kernel/core/kernel.h"
#include "kernel/fs/locks.h"
#include "kernel/fs/notify.h"
#include "kernel/host/host.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/stat.h>

struct kernel kernel = {.proc_dir = {-1}, .store_dir = {-1}, .shadow_dir = {-1}, .stub = {-1}};
const struct host_ops *host;

struct storage_budget fs_budget;
struct super *fs_root_super;
struct walk_base fs_user, fs_super;
unsigned fs_lock_releases, fs_lock_closes;

/* ---- stand-ins ---- */

void kernel_random(void *data, size_t size)
{
    if (getrandom(data, size, 0) != (ssize_t)size)
        abort();
}

void kernel_log(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
}

void kernel_panic(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

int call_wait_on(struct call *c, struct waitq *q)
{
    return 0;
}

void call_set_timeout(struct call *c, int64_t after_ns)
{
}

long call_park(struct call *c, enum call_restart restart)
{
    return CALL_PARKED;
}

static char events[4096];

static void note(uint32_t mask, const char *name)
{
    static const struct {
        uint32_t bit;
        const char *text;
    } names[] = {
        {IN_ACCESS, "ACCESS"},           {IN_MODIFY, "MODIFY"},
        {IN_ATTRIB, "ATTRIB"},           {IN_CLOSE_WRITE, "CLOSE_WRITE"},
        {IN_CLOSE_NOWRITE, "CLOSE"},     {IN_OPEN, "OPEN"},
        {IN_MOVED_FROM, "MOVED_FROM"},   {IN_MOVED_TO, "MOVED_TO"},
        {IN_CREATE, "CREATE"},           {IN_DELETE, "DELETE"},
        {IN_DELETE_SELF, "DELETE_SELF"}, {IN_MOVE_SELF, "MOVE_SELF"},
    };
    size_t used = strlen(events);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (mask & names[i].bit)
            snprintf(events + used, sizeof(events) - used, "%s%s%s%s%s", used ? " " : "",
                     names[i].text, mask & IN_ISDIR ? "/" : "", name ? ":" : "", name ? name : "");
}

const char *fs_events(void)
{
    static char copy[sizeof(events)];
    memcpy(copy, events, sizeof(events));
    events[0] = '\0';
    return copy;
}

void notify_dentry(struct dentry *d, uint32_t mask)
{
    note(mask, d->name);
}

void notify_inode(struct inode *i, uint32_t mask)
{
    note(mask, NULL);
}

void notify_file(struct file *f, uint32_t mask)
{
    note(mask, f->path.dentry->name);
}

void notify_name(struct inode *dir, uint32_t mask, uint32_t cookie, const char *name)
{
    note(mask, name);
}

uint32_t notify_next_cookie(void)
{
    static uint32_t cookie;
    return ++cookie;
}

void notify_inode_gone(struct inode *i)
{
    note(IN_DELETE_SELF, NULL);
    while (!list_is_empty(&i->watches))
        list_remove(i->watches.next);
}

void lock_close(struct file *f, const void *owner)
{
    fs_lock_closes++;
}

void lock_release(struct file *f)
{
    fs_lock_releases++;
}

void lock_set_free(struct file_lock_set *set)
{
}

/* ---- start ---- */

void host_write(const char *name, const char *text)
{
    FILE *out = fopen(name, "w");
    ASSERT_TRUE(out);
    fputs(text, out);
    fclose(out);
}

struct hostfd host_directory(const char *name)
{
    struct hostfd fd = {open(name, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    ASSERT_GE(fd.n, 0);
    return fd;
}

static struct walk_base base_of(uid_t uid)
{
    struct path root = {vfs_root_mount, vfs_root_mount->root};
    struct cred *cred = cred_new(uid, uid);
    ASSERT_TRUE(cred);
    return (struct walk_base){path_get(root), path_get(root), cred};
}

void fs_start_over(const char *lower)
{
    umask(0);
    mkdir("store", 0700);
    kernel.store_dir.n = open("store", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(kernel.store_dir.n, 0);
    fs_budget = (struct storage_budget){.max_bytes = 1 << 30, .max_inodes = 100000};
    struct layer_options options = {
        .type_name = "overlay",
        .lower = lower ? host_directory(lower) : HOSTFD_NONE,
        .budget = &fs_budget,
        .max_bytes = UINT64_MAX,
        .root_mode = 0777,
    };
    ASSERT_EQ(layer_super_new(&options, &fs_root_super), 0);
    ASSERT_EQ(mount_add(fs_root_super, (struct path){0}, NULL, NULL), 0);
    fs_user = base_of(1000);
    fs_super = base_of(0);
}

void fs_start(void)
{
    fs_start_over(NULL);
}

/* ---- shorthand ---- */

int fs_open(const char *name, int flags, mode_t mode, struct file **ret)
{
    struct open_how_in how = {flags, mode, 0};
    return vfs_open(&fs_user, name, &how, ret);
}

int fs_try_open(const char *name, int flags, mode_t mode)
{
    struct file *f;
    int r = fs_open(name, flags, mode, &f);
    if (r == 0)
        file_put(f);
    return r;
}

int fs_mkdir(const char *name)
{
    return vfs_mkdir(&fs_user, name, 0755);
}

ssize_t fs_pread(struct file *f, void *data, size_t size, off_t pos)
{
    struct uio u;
    uio_init_kernel(&u, data, size);
    return f->ops->read(f, &u, &pos, 0);
}

ssize_t fs_pwrite(struct file *f, const void *data, size_t size, off_t pos)
{
    struct uio u;
    uio_init_kernel(&u, (void *)(uintptr_t)data, size);
    return f->ops->write(f, &u, &pos, 0);
}

int fs_write_file(const char *name, const char *text)
{
    struct file *f;
    int r = fs_open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644, &f);
    if (r < 0)
        return r;
    ssize_t n = fs_pwrite(f, text, strlen(text), 0);
    file_put(f);
    return n < 0 ? (int)n : 0;
}

const char *fs_read_file(const char *name)
{
    static char text[65536];
    struct file *f;
    text[0] = '\0';
    int r = fs_open(name, O_RDONLY, 0, &f);
    EXPECT_EQ(r, 0);
    if (r < 0)
        return text;
    ssize_t n = file_read_kernel(f, text, sizeof(text) - 1, 0);
    EXPECT_GE(n, 0);
    text[MAX(n, 0)] = '\0';
    file_put(f);
    return text;
}

static int stat_flags(const char *name, unsigned flags, struct stat *ret)
{
    struct path p;
    int r = walk_path(&fs_user, name, flags, &p, NULL);
    if (r < 0)
        return r;
    r = vfs_stat(p.dentry->inode, ret);
    path_put(&p);
    return r;
}

int fs_stat(const char *name, struct stat *ret)
{
    return stat_flags(name, WALK_FOLLOW, ret);
}

int fs_lstat(const char *name, struct stat *ret)
{
    return stat_flags(name, 0, ret);
}

int fs_rename(const char *from, const char *to, unsigned flags)
{
    return vfs_rename(&fs_user, from, &fs_user, to, flags);
}

int fs_link(const char *from, const char *to)
{
    struct path p;
    int r = walk_path(&fs_user, from, 0, &p, NULL);
    if (r < 0)
        return r;
    r = vfs_link(&p, &fs_user, to);
    path_put(&p);
    return r;
}

int fs_unlink(const char *name)
{
    return vfs_unlink(&fs_user, name);
}

int fs_rmdir(const char *name)
{
    return vfs_rmdir(&fs_user, name);
}

int fs_symlink(const char *target, const char *name)
{
    return vfs_symlink(&fs_user, name, target);
}

int fs_chmod(const char *name, mode_t mode)
{
    struct path p;
    int r = walk_path(&fs_user, name, WALK_FOLLOW, &p, NULL);
    if (r < 0)
        return r;
    struct inode_attr attr = {.valid = ATTR_MODE, .mode = mode};
    r = vfs_setattr(&p, fs_user.cred, &attr);
    path_put(&p);
    return r;
}

static char listing[65536];

static bool emit_name(struct dir_emit *e, const char *name, size_t length, uint64_t ino,
                      uint8_t d_type, uint64_t cookie)
{
    if (cookie > 2) {
        size_t used = strlen(listing);
        snprintf(listing + used, sizeof(listing) - used, "%s%.*s", used ? " " : "", (int)length,
                 name);
    }
    return true;
}

const char *fs_list(const char *name)
{
    struct file *f;
    struct dir_emit e = {.emit = emit_name};
    listing[0] = '\0';
    int r = fs_open(name, O_RDONLY | O_DIRECTORY, 0, &f);
    EXPECT_EQ(r, 0);
    if (r < 0)
        return listing;
    const struct inode_ops *ops = f->inode->ops;
    EXPECT_EQ(ops->list ? ops->list(f, &e) : dentry_list(f, &e), 0);
    file_put(f);
    return listing;
}
