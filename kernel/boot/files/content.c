// SPDX-License-Identifier: Apache-2.0
/*
 * The bytes of files, in and out.
 *
 * A file that is written has no name until it is whole, where its file system can have such files;
 * else a hidden one. It gets its name in one step, which no program sees half done: a reader that
 * has the old file open goes on reading that one.
 *
 * host calls: pread64 pwrite64
 */
#include "kernel/boot/files/client.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/walk.h"

#include <linux/capability.h>
#include <stdio.h>

#define CHUNK_BYTES    (64UL << 10)
#define HIDDEN_PREFIX  ".glovebox-"
#define HIDDEN_TRIES   16
#define STANDARD_MODE  0644
#define PERMISSION_MAX 0777

static char chunk[CHUNK_BYTES];

bool files_name_is_hidden(const char *name)
{
    return !strncmp(name, HIDDEN_PREFIX, strlen(HIDDEN_PREFIX));
}

/* ---- reading ---- */

static int put_memory(const struct files_client *c, size_t size, size_t at)
{
    ssize_t n;
    do
        n = pwrite(c->memory.n, chunk, size, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EIO;
}

/* How many bytes are in the memory now; *ret_error says why they are fewer than they could be. */
static size_t read_file(const struct files_client *c, off_t offset, size_t size, int *ret_error)
{
    size_t done = 0;
    *ret_error = 0;
    while (done < size && *ret_error == 0) {
        off_t end;
        size_t part = MIN(size - done, CHUNK_BYTES);
        if (__builtin_add_overflow(offset, (off_t)(done + part), &end))
            break;
        ssize_t n = file_read_kernel(c->file, chunk, part, offset + (off_t)done);
        *ret_error = n < 0 ? (int)n : put_memory(c, (size_t)n, done);
        if (*ret_error < 0)
            break;
        done += (size_t)n;
        if ((size_t)n < part)
            break;
    }
    return done;
}

static int open_for_reading(struct files_client *c, const struct files_identity *i,
                            const char *path)
{
    const struct walk_base base = files_root(i);
    struct files_names names = {0};
    struct path p;
    int r = walk_path(&base, path, WALK_FOLLOW | WALK_NO_MAGICLINKS, &p, NULL);
    if (r < 0)
        return r;
    mode_t mode = p.dentry->inode->mode;
    if (S_ISDIR(mode))
        r = -EISDIR;
    else if (!S_ISREG(mode)) /* to open it may wait, or do something */
        r = -EOPNOTSUPP;
    if (r == 0)
        r = vfs_open_path(p, i->cred, O_RDONLY, &c->file);
    if (r == 0)
        r = files_append_entry(&names, i, p, path, 0, 0);
    files_names_done(&names);
    path_put(&p);
    return r;
}

void files_ask_read_open(struct files_client *c, const struct files_asked *a)
{
    char path[FILES_PATH_MAX_BYTES + 1];
    struct files_identity i = {0};
    size_t done = 0;
    files_activity_end(c);
    int r = files_identity_find(a, &i);
    if (r == 0)
        r = files_path_resolve(&i, a->path, path);
    if (r == 0)
        r = open_for_reading(c, &i, path);
    if (r == 0)
        done = read_file(c, 0, a->q.size, &r);
    files_identity_done(&i);
    files_answer(c, r, (int64_t)done);
}

void files_ask_read(struct files_client *c, const struct files_asked *a)
{
    int error = -EBADF;
    size_t done = c->file ? read_file(c, a->q.offset, a->q.size, &error) : 0;
    files_answer(c, error, (int64_t)done);
}

/* ---- writing ---- */

void files_write_free(struct files_write *w)
{
    if (!w)
        return;
    if (*w->hidden) {
        const struct walk_base base = files_base(&w->identity, w->dir);
        vfs_unlink(&base, w->hidden);
    }
    file_put(w->file);
    path_put(&w->dir);
    files_identity_done(&w->identity);
    free(w);
}

/* The directory and the name that path leads to, links followed to what is to be written. */
static int find_place(struct files_write *w, bool follows, struct path *ret_old)
{
    const struct walk_base base = files_root(&w->identity);
    struct walk walk;
    int r = walk_begin(&walk, &base, w->path, WALK_NO_MAGICLINKS);
    if (r < 0)
        return r;
    for (;;) {
        struct path p;
        r = walk_to_last(&walk);
        if (r == 0 && (walk.last.kind != LAST_NORMAL || walk.directory))
            r = -EISDIR;
        if (r == 0)
            r = walk_last_path(&walk, &p);
        if (r < 0)
            break;
        if (!follows || !p.dentry->inode || !S_ISLNK(p.dentry->inode->mode)) {
            w->dir = path_get(walk.at);
            memcpy(w->name, walk.last.name, walk.last.length + 1);
            *ret_old = p;
            break;
        }
        r = walk_push_link(&walk, p);
        path_put(&p);
        if (r < 0)
            break;
    }
    walk_end(&walk);
    return r;
}

/* What is there may be replaced by him; its mode stays. */
static int look_at_old(const struct files_write *w, struct path old, unsigned flags, mode_t *mode)
{
    struct inode *i = old.dentry->inode;
    if (!i)
        return 0;
    if (S_ISDIR(i->mode))
        return -EISDIR;
    if (S_ISLNK(i->mode))
        return 0;
    if (!S_ISREG(i->mode))
        return -EOPNOTSUPP;
    if (old.mount != w->dir.mount) /* it is mounted there by itself */
        return -EBUSY;
    if (!(flags & FILES_EXACT_MODE))
        *mode = i->mode & PERMISSION_MAX;
    return inode_permission(i, w->identity.cred, MAY_WRITE);
}

static void new_hidden_name(char name[32])
{
    static unsigned long long last;
    snprintf(name, 32, HIDDEN_PREFIX "%llx", ++last);
}

static int make_hidden(struct files_write *w, mode_t mode)
{
    const struct walk_base base = files_base(&w->identity, w->dir);
    const struct open_how_in how = {.flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                                    .mode = mode};
    int r = -EEXIST;
    for (int i = 0; i < HIDDEN_TRIES && r == -EEXIST; i++) {
        new_hidden_name(w->hidden);
        r = vfs_open(&base, w->hidden, &how, &w->file);
    }
    if (r < 0)
        w->hidden[0] = '\0';
    return r;
}

static int make_file(struct files_write *w, mode_t mode)
{
    const struct walk_base base = files_base(&w->identity, w->dir);
    const struct open_how_in how = {.flags = O_TMPFILE | O_WRONLY, .mode = mode};
    int r = vfs_open(&base, ".", &how, &w->file);
    return r == -EOPNOTSUPP ? make_hidden(w, mode) : r;
}

static int begin_write(struct files_write *w, const struct files_asked *a)
{
    mode_t mode = a->q.mode ? a->q.mode & PERMISSION_MAX : STANDARD_MODE;
    struct path old = {0};
    if (!files_metadata_is_valid(a->more, a->q.more_size))
        return -EINVAL;
    int r = files_identity_find(a, &w->identity);
    if (r == 0)
        r = files_path_resolve(&w->identity, a->path, w->path);
    if (r == 0 && a->q.flags & FILES_PARENTS)
        r = files_make_parents(&w->identity, w->path);
    if (r == 0)
        r = find_place(w, !(a->q.flags & FILES_NO_FOLLOW), &old);
    if (r == 0)
        r = look_at_old(w, old, a->q.flags, &mode);
    path_put(&old);
    if (r == 0)
        r = make_file(w, mode);
    if (r == 0)
        r = files_set_metadata(w->file->inode, a->more, a->q.more_size);
    w->has_mtime = a->q.flags & FILES_WITH_TIME;
    w->mtime = (struct timespec){a->q.mtime_s, MIN(a->q.mtime_ns, (uint32_t)NSEC_PER_SEC - 1)};
    return r;
}

/* How many bytes of the memory are in the file now. */
static size_t write_file(const struct files_client *c, off_t offset, size_t size, int *ret_error)
{
    struct file *f = c->write->file;
    size_t done = 0;
    *ret_error = 0;
    while (done < size) {
        struct uio u;
        off_t pos;
        ssize_t n = pread(c->memory.n, chunk, MIN(size - done, CHUNK_BYTES), (off_t)done);
        if (n <= 0) {
            *ret_error = n < 0 ? -errno : -EIO;
            break;
        }
        if (__builtin_add_overflow(offset, (off_t)done, &pos)) {
            *ret_error = -EFBIG;
            break;
        }
        uio_init_kernel(&u, chunk, (size_t)n);
        n = f->ops->write(f, &u, &pos, 0);
        if (n <= 0) {
            *ret_error = n < 0 ? (int)n : -EIO;
            break;
        }
        done += (size_t)n;
    }
    return done;
}

/* The number of what has that name in its directory; 0: nothing, or nobody can say. */
static uint64_t find_number(const struct files_write *w, const char *name)
{
    struct dentry *d;
    if (walk_lookup_child(w->dir.dentry, name, strlen(name), &d) < 0)
        return 0;
    uint64_t ino = d->inode ? d->inode->ino : 0;
    dentry_put(d);
    return ino;
}

static int link_hidden(struct files_write *w, const struct walk_base *base)
{
    int r = -EEXIST;
    for (int i = 0; i < HIDDEN_TRIES && r == -EEXIST; i++) {
        new_hidden_name(w->hidden);
        r = vfs_link(&w->file->path, base, w->hidden);
    }
    if (r < 0)
        w->hidden[0] = '\0';
    return r;
}

/* From its hidden name, when a program has not taken that away. */
static int replace(struct files_write *w, const struct walk_base *base)
{
    bool is_new = find_number(w, w->name) == 0;
    int r = find_number(w, w->hidden) == w->file->inode->ino ? 0 : -ESTALE;
    if (r == 0)
        r = vfs_rename(base, w->hidden, base, w->name, 0);
    if (r == 0 || r == -ESTALE)
        w->hidden[0] = '\0';
    /* Those who watch are not told of hidden names. */
    if (r == 0 && is_new)
        notify_name(w->dir.dentry->inode, IN_CREATE, 0, w->name);
    return r;
}

static int name_file(struct files_write *w)
{
    const struct walk_base base = files_base(&w->identity, w->dir);
    int r = *w->hidden ? -EEXIST : vfs_link(&w->file->path, &base, w->name);
    if (r == -EEXIST && !*w->hidden)
        r = link_hidden(w, &base);
    else if (r == 0)
        return 0;
    return *w->hidden ? replace(w, &base) : r;
}

/* As if it had been written under its name: programs that wait for that are told. */
static void tell_written(const struct files_write *w)
{
    struct dentry *d;
    if (walk_lookup_child(w->dir.dentry, w->name, strlen(w->name), &d) < 0)
        return;
    notify_dentry(d, IN_MODIFY);
    notify_dentry(d, IN_CLOSE_WRITE);
    dentry_put(d);
}

static int commit(struct files_write *w)
{
    struct inode *i = w->file->inode;
    struct inode_attr a = {.valid = ATTR_MTIME | ATTR_ATIME, .mtime = w->mtime, .atime = w->mtime};
    int r = 0;
    if (w->has_mtime && i->ops->setattr)
        r = i->ops->setattr(i, &a);
    else if (w->has_mtime)
        inode_set_attr_generic(i, &a);
    if (r == 0)
        r = name_file(w);
    if (r < 0)
        return r;
    tell_written(w);
    return files_append_path(&w->identity, w->path);
}

void files_ask_write_open(struct files_client *c, const struct files_asked *a)
{
    size_t done = 0;
    files_activity_end(c);
    c->write = calloc(1, sizeof(*c->write));
    int r = c->write ? begin_write(c->write, a) : -ENOMEM;
    if (r == 0 && a->q.flags & FILES_WITH_DATA)
        done = write_file(c, a->q.offset, a->q.size, &r);
    if (r == 0 && a->q.flags & FILES_AND_COMMIT)
        r = commit(c->write);
    if (r < 0 || a->q.flags & FILES_AND_COMMIT)
        files_activity_end(c);
    files_answer(c, r, (int64_t)done);
}

void files_ask_write(struct files_client *c, const struct files_asked *a)
{
    int error = -EBADF;
    bool commits = a->q.flags & FILES_AND_COMMIT;
    size_t done = c->write ? write_file(c, a->q.offset, a->q.size, &error) : 0;
    if (error == 0 && commits) {
        error = commit(c->write);
        files_activity_end(c);
    }
    files_answer(c, error, (int64_t)done);
}

void files_ask_commit(struct files_client *c, const struct files_asked *a _unused_)
{
    int r = c->write ? commit(c->write) : -EBADF;
    files_activity_end(c);
    files_answer(c, r, 0);
}
