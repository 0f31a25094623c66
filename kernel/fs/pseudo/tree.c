// SPDX-License-Identifier: Apache-2.0
/*
 * Directories and links of generated trees.
 *
 * Cookies of a listing: "." and ".." as everywhere, then the names of the table in its order, then
 * the numbered names by their number, so that they stay what they are while others come and go.
 *
 * host calls: sysinfo
 */
#include "kernel/fs/pseudo/pseudo.h"

#include "lib/base/map.h"

#include <dirent.h>
#include <stdio.h>

#define COOKIE_TABLE  3
#define COOKIE_NUMBER 4096 /* no table is that long */

#define INO_ROOT 1
/* Programs that keep inode numbers as doubles (node) see them exactly. */
#define INO_MASK ((1ULL << 48) - 1)

static const struct inode_ops pseudo_ops, magic_link_ops;
static const struct file_ops directory_ops;

static const struct pseudo_fs *fs_of(const struct inode *i)
{
    return i->super->private;
}

/* The same thing has the same number each time, without a table of those that were given out. */
static uint64_t node_ino(const struct pseudo_fs *fs, const struct pseudo_node *n)
{
    if (n->entry == fs->root)
        return INO_ROOT;
    uint64_t words[4] = {(uintptr_t)n->entry, (uint64_t)n->pid << 32 | (uint32_t)n->tid,
                         n->identity, (uint64_t)n->number};
    return (map_hash_bytes(words, sizeof(words)) & INO_MASK) | 2;
}

static unsigned count_subdirectories(const struct pseudo_entry *e)
{
    unsigned count = 0;
    for (const struct pseudo_entry *c = e->children; c && c->name; c++)
        count += S_ISDIR(c->mode);
    return count;
}

static int pseudo_refresh(struct inode *i)
{
    const struct pseudo_fs *fs = fs_of(i);
    if (fs->refresh)
        fs->refresh(i->private, i);
    return 0;
}

static struct inode *node_inode(struct super *s, const struct pseudo_node *n)
{
    const struct pseudo_fs *fs = s->private;
    struct pseudo_node *copy = malloc(sizeof(*copy));
    if (!copy)
        return NULL;
    struct inode *i = inode_new(s, n->entry->mode);
    if (!i) {
        free(copy);
        return NULL;
    }
    *copy = *n;
    i->private = copy;
    i->ops = n->entry->follow ? &magic_link_ops : &pseudo_ops;
    i->file_ops = S_ISDIR(i->mode)          ? &directory_ops
                  : n->entry->can_be_polled ? &pseudo_polled_text_ops
                  : n->pid                  ? &pseudo_apart_text_ops
                                            : &pseudo_text_ops;
    i->ino = node_ino(fs, n);
    i->nlink = S_ISDIR(i->mode) ? 2 + count_subdirectories(n->entry) : 1;
    pseudo_refresh(i);
    return i;
}

const struct pseudo_node *pseudo_node_of(const struct inode *i)
{
    return i->ops == &pseudo_ops || i->ops == &magic_link_ops ? i->private : NULL;
}

static void pseudo_release(struct inode *i)
{
    free(i->private);
    i->private = NULL;
}

/* prefix and a decimal number without leading zeros, that fits a pid. */
static bool parse_numbered(const char *prefix, const char *name, size_t length, uint32_t *ret)
{
    size_t skip = strlen(prefix);
    if (length <= skip || length > skip + 9 || memcmp(name, prefix, skip))
        return false;
    uint32_t value = 0;
    for (size_t i = skip; i < length; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
        value = value * 10 + (uint32_t)(name[i] - '0');
    }
    if (name[skip] == '0' && length > skip + 1)
        return false;
    *ret = value;
    return true;
}

static int find_child(const struct pseudo_node *dir, const char *name, size_t length,
                      struct pseudo_node *ret)
{
    struct pseudo_node n = *dir;
    for (const struct pseudo_entry *e = dir->entry->children; e && e->name; e++) {
        if (strlen(e->name) == length && !memcmp(e->name, name, length)) {
            n.entry = e;
            *ret = n;
            return 0;
        }
    }
    const struct pseudo_names *names = dir->entry->names;
    uint32_t key;
    if (!names || !parse_numbered(names->prefix, name, length, &key))
        return -ENOENT;
    n.entry = names->entry;
    int r = names->find(dir, key, &n);
    if (r >= 0)
        *ret = n;
    return r;
}

static bool is_alive(const struct pseudo_fs *fs, const struct pseudo_node *n)
{
    return !fs->is_alive || fs->is_alive(n);
}

static int pseudo_lookup(struct inode *dir, struct dentry *d)
{
    const struct pseudo_node *parent = dir->private;
    const struct pseudo_fs *fs = fs_of(dir);
    struct pseudo_node n;
    const int absent = fs->is_lookup_final ? -ENOENT : 0;
    if (!is_alive(fs, parent))
        return absent;
    if (parent->entry->check) {
        int r = parent->entry->check(parent);
        if (r < 0)
            return r;
    }
    int r = find_child(parent, d->name, d->name_length, &n);
    if (r < 0)
        return r == -ENOENT ? absent : r;
    struct inode *i = node_inode(dir->super, &n);
    if (!i)
        return -ENOMEM;
    dentry_set_inode(d, i);
    return 0;
}

/* What is not there may be there the next time; what is there must still be the same thing. */
static bool pseudo_revalidate(struct dentry *d)
{
    if (!d->inode)
        return false;
    const struct pseudo_fs *fs = fs_of(d->inode);
    const struct pseudo_node *n = d->inode->private;
    if (!is_alive(fs, n))
        return false;
    if (d->parent && d->parent->inode) {
        const struct pseudo_node *parent = d->parent->inode->private;
        struct pseudo_node again;
        if (parent->entry->check && parent->entry->check(parent) < 0)
            return false;
        if (parent->entry->names && n->entry == parent->entry->names->entry &&
            (find_child(parent, d->name, d->name_length, &again) < 0 ||
             again.identity != n->identity))
            return false;
    }
    pseudo_refresh(d->inode);
    return true;
}

static ssize_t pseudo_readlink(struct inode *i, char *buffer, size_t size)
{
    const struct pseudo_node *n = i->private;
    struct buf b = BUF_INIT(GUEST_PATH_MAX);
    int r = n->entry->show ? n->entry->show(n, &b) : buf_append_str(&b, n->entry->text);
    if (r >= 0 && (b.failed || b.size >= size))
        r = -ENAMETOOLONG;
    if (r >= 0) {
        if (b.size)
            memcpy(buffer, b.data, b.size);
        buffer[b.size] = '\0';
        r = (int)b.size;
    }
    buf_done(&b);
    return r;
}

static int pseudo_follow(struct dentry *d, struct path *ret)
{
    const struct pseudo_node *n = d->inode->private;
    return n->entry->follow(n, ret);
}

/* proc(5): owners and modes can't be changed; times are taken and forgotten with the inode. */
static int pseudo_setattr(struct inode *i, const struct inode_attr *attr)
{
    if (attr->valid & (ATTR_MODE | ATTR_UID | ATTR_GID))
        return -EPERM;
    struct inode_attr rest = *attr;
    rest.valid &= ~ATTR_SIZE; /* O_TRUNC of a file that is written to */
    inode_set_attr_generic(i, &rest);
    return 0;
}

/* ---- listing ---- */

static bool emit_node(const struct pseudo_fs *fs, struct dir_emit *emit, const char *name,
                      const struct pseudo_node *n, uint64_t cookie)
{
    return emit->emit(emit, name, strlen(name), node_ino(fs, n), IFTODT(n->entry->mode), cookie);
}

/* False when the buffer is full. */
static bool list_dots(const struct dentry *d, struct dir_emit *emit)
{
    const struct inode *parent = d->parent && d->parent->inode ? d->parent->inode : d->inode;
    if (emit->after < 1 && !emit->emit(emit, ".", 1, d->inode->ino, DT_DIR, 1))
        return false;
    return emit->after >= 2 || emit->emit(emit, "..", 2, parent->ino, DT_DIR, 2);
}

static bool list_table(const struct pseudo_fs *fs, const struct pseudo_node *dir,
                       struct dir_emit *emit)
{
    struct pseudo_node n = *dir;
    uint64_t cookie = COOKIE_TABLE;
    for (const struct pseudo_entry *e = dir->entry->children; e && e->name; e++, cookie++) {
        n.entry = e;
        if (cookie > emit->after && !emit_node(fs, emit, e->name, &n, cookie))
            return false;
    }
    return true;
}

static int list_names(const struct pseudo_fs *fs, const struct pseudo_node *dir,
                      struct dir_emit *emit)
{
    const struct pseudo_names *names = dir->entry->names;
    _cleanup_free_ uint32_t *keys = NULL;
    ssize_t count = names->collect(dir, &keys);
    if (count < 0)
        return (int)count;
    for (ssize_t i = 0; i < count; i++) {
        uint64_t cookie = COOKIE_NUMBER + (uint64_t)keys[i];
        struct pseudo_node n = *dir;
        char name[64];
        n.entry = names->entry;
        if (cookie <= emit->after || names->find(dir, keys[i], &n) < 0)
            continue;
        snprintf(name, sizeof(name), "%s%u", names->prefix, keys[i]);
        if (!emit_node(fs, emit, name, &n, cookie))
            break;
    }
    return 0;
}

static int pseudo_list(struct file *f, struct dir_emit *emit)
{
    const struct pseudo_fs *fs = fs_of(f->inode);
    const struct pseudo_node *dir = f->inode->private;
    if (!is_alive(fs, dir))
        return -ENOENT;
    if (dir->entry->check) {
        int r = dir->entry->check(dir);
        if (r < 0)
            return r;
    }
    if (!list_dots(f->path.dentry, emit) || !list_table(fs, dir, emit) || !dir->entry->names)
        return 0;
    return list_names(fs, dir, emit);
}

static int directory_open(struct file *f)
{
    const struct pseudo_node *n = f->inode->private;
    return n->entry->check ? n->entry->check(n) : 0;
}

static ssize_t directory_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    return -EISDIR;
}

static const struct file_ops directory_ops = {
    .open = directory_open,
    .read = directory_read,
    .lseek = file_lseek_generic,
};

static const struct inode_ops pseudo_ops = {
    .lookup = pseudo_lookup,
    .revalidate = pseudo_revalidate,
    .readlink = pseudo_readlink,
    .refresh = pseudo_refresh,
    .setattr = pseudo_setattr,
    .list = pseudo_list,
    .release = pseudo_release,
};

/* A link with this operation is followed by it, never by its text. */
static const struct inode_ops magic_link_ops = {
    .readlink = pseudo_readlink,
    .follow = pseudo_follow,
    .revalidate = pseudo_revalidate,
    .refresh = pseudo_refresh,
    .setattr = pseudo_setattr,
    .release = pseudo_release,
};

int pseudo_super_new(const struct pseudo_fs *fs, struct super **ret)
{
    struct pseudo_node root = {.entry = fs->root};
    struct super *s = super_new(fs->type_name, fs->magic);
    if (!s)
        return -ENOMEM;
    s->private = (void *)fs;
    s->noexec = s->nodev = true;
    struct inode *i = node_inode(s, &root);
    struct dentry *d = i ? dentry_new(NULL, "", 0) : NULL;
    if (!d) {
        if (i)
            inode_put(i);
        free(s);
        return -ENOMEM;
    }
    d->super = s;
    dentry_set_inode(d, i);
    s->root = d;
    *ret = s;
    return 0;
}

/* ---- helpers for tables ---- */

int pseudo_keys_add(struct pseudo_keys *k, uint32_t key)
{
    if (k->count == k->capacity) {
        size_t capacity = k->capacity ? k->capacity * 2 : 64, size;
        uint32_t *keys = size_mul(capacity, sizeof(*keys), &size) ? realloc(k->keys, size) : NULL;
        if (!keys) {
            free(k->keys);
            *k = (struct pseudo_keys){0};
            return -ENOMEM;
        }
        k->keys = keys;
        k->capacity = capacity;
    }
    k->keys[k->count++] = key;
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

ssize_t pseudo_keys_take(struct pseudo_keys *k, uint32_t **ret_keys)
{
    ssize_t count = (ssize_t)k->count;
    if (count)
        qsort(k->keys, k->count, sizeof(*k->keys), compare_keys);
    *ret_keys = k->keys;
    *k = (struct pseudo_keys){0};
    return count;
}

ssize_t pseudo_keys_range(size_t count, uint32_t **ret_keys)
{
    struct pseudo_keys k = {0};
    for (size_t i = 0; i < count; i++)
        if (pseudo_keys_add(&k, (uint32_t)i) < 0)
            return -ENOMEM;
    return pseudo_keys_take(&k, ret_keys);
}

int pseudo_parse_int(const char *text, int min, int max, int *ret)
{
    char *end;
    text += strspn(text, " \t");
    if (*text != '-' && (*text < '0' || *text > '9'))
        return -EINVAL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    end += strspn(end, " \t\n");
    if (*end)
        return -EINVAL;
    if (errno || value < INT32_MIN || value > INT32_MAX)
        return -ERANGE;
    if (value < min || value > max)
        return -EINVAL;
    *ret = (int)value;
    return 0;
}
