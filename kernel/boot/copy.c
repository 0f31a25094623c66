// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/copy.h"

#include "kernel/boot/cursor.h"

#include <linux/magic.h>

/* Entries looked at for one answer. */
#define STEPS_MAX 128
/* What an entry needs at most. */
#define ENTRY_MAX_BYTES (sizeof(struct copy_record) + COPY_LINK_TEXT_BYTES)
/* Not worth a record of data. */
#define DATA_MIN_BYTES 4096

struct copy {
    int32_t number; /* 0: free */
    bool is_over;   /* COPY_END was told */
    size_t depth;
    struct cursor *levels; /* COPY_DEPTH_MAX */
    struct file *file;     /* being told; NULL */
    off_t pos, size;
};

static struct copy copies[CONTROL_COPIES_MAX];

struct answer {
    char *bytes;
    size_t size;
};

static size_t room(const struct answer *a)
{
    return COPY_ANSWER_MAX - a->size;
}

static void append(struct answer *a, const struct copy_record *r, const void *text)
{
    memcpy(a->bytes + a->size, r, sizeof(*r));
    if (r->text_size)
        memcpy(a->bytes + a->size + sizeof(*r), text, r->text_size);
    a->size += sizeof(*r) + r->text_size;
}

static void append_bare(struct answer *a, enum copy_type type, int error, int64_t value)
{
    const struct copy_record r = {.type = type, .error = error, .value = value};
    append(a, &r, NULL);
}

static void free_copy(struct copy *c)
{
    file_put(c->file);
    while (c->depth > 0)
        file_put(c->levels[--c->depth].dir);
    free(c->levels);
    *c = (struct copy){0};
}

static struct copy *find_copy(int32_t number)
{
    for (size_t i = 0; i < CONTROL_COPIES_MAX; i++)
        if (copies[i].number == number)
            return &copies[i];
    return NULL;
}

/* ---- an entry ---- */

struct entry {
    struct path path;
    const char *name;
    size_t length;
    struct stat stat;
};

static struct copy_record record_of(const struct entry *e, enum copy_type type)
{
    return (struct copy_record){
        .type = type,
        .mode = e->stat.st_mode,
        .value = e->stat.st_size,
        .mtime_s = e->stat.st_mtim.tv_sec,
        .mtime_ns = (uint32_t)e->stat.st_mtim.tv_nsec,
        .text_size = (uint32_t)e->length,
    };
}

static void leave_out(struct answer *a, const struct entry *e, int error)
{
    struct copy_record r = record_of(e, COPY_LEFT_OUT);
    r.error = error;
    append(a, &r, e->name);
}

/* What is made up while it is read is nothing to copy. */
static bool holds_files(const struct super *s)
{
    return s->magic != PROC_SUPER_MAGIC && s->magic != SYSFS_MAGIC &&
           s->magic != CGROUP_SUPER_MAGIC && s->magic != CGROUP2_SUPER_MAGIC;
}

static int begin_directory(struct copy *c, struct answer *a, const struct entry *e)
{
    struct file *dir;
    if (!holds_files(e->path.dentry->inode->super))
        return -EOPNOTSUPP;
    if (c->depth == COPY_DEPTH_MAX)
        return -ENAMETOOLONG;
    int r = vfs_open_path(e->path, &cred_kernel, O_RDONLY | O_DIRECTORY, &dir);
    if (r < 0)
        return r;
    c->levels[c->depth++] = (struct cursor){.dir = dir};
    const struct copy_record record = record_of(e, COPY_DIRECTORY);
    append(a, &record, e->name);
    return 0;
}

static int begin_file(struct copy *c, struct answer *a, const struct entry *e)
{
    if (!holds_files(e->path.dentry->inode->super))
        return -EOPNOTSUPP;
    if (e->stat.st_size < 0 || e->stat.st_size > COPY_FILE_SIZE_MAX)
        return -EFBIG;
    int r = vfs_open_path(e->path, &cred_kernel, O_RDONLY, &c->file);
    if (r < 0)
        return r;
    c->pos = 0;
    c->size = e->stat.st_size;
    const struct copy_record record = record_of(e, COPY_FILE);
    append(a, &record, e->name);
    return 0;
}

static int tell_link(struct answer *a, const struct entry *e)
{
    struct inode *i = e->path.dentry->inode;
    char text[COPY_LINK_TEXT_BYTES + 1];
    if (i->ops->follow || !i->ops->readlink)
        return -EOPNOTSUPP;
    memcpy(text, e->name, e->length);
    text[e->length] = '\0';
    ssize_t size = i->ops->readlink(i, text + e->length + 1, COPY_PATH_MAX_BYTES + 1);
    if (size < 0)
        return (int)size;
    struct copy_record record = record_of(e, COPY_LINK);
    record.text_size = (uint32_t)(e->length + 1 + MIN((size_t)size, (size_t)COPY_PATH_MAX_BYTES));
    append(a, &record, text);
    return 0;
}

/* p is what the name leads to, links not followed; its entry is told, or why it is not. */
static void tell_entry(struct copy *c, struct answer *a, struct path p, const char *name,
                       size_t length)
{
    struct entry e = {.path = p, .name = name, .length = length};
    int r = vfs_stat(p.dentry->inode, &e.stat);
    if (r == 0 && S_ISDIR(e.stat.st_mode))
        r = begin_directory(c, a, &e);
    else if (r == 0 && S_ISREG(e.stat.st_mode))
        r = begin_file(c, a, &e);
    else if (r == 0 && S_ISLNK(e.stat.st_mode))
        r = tell_link(a, &e);
    else if (r == 0)
        r = -EOPNOTSUPP;
    if (r < 0)
        leave_out(a, &e, -r);
}

/* ---- directories ---- */

static void step_directory(struct copy *c, struct answer *a)
{
    struct cursor *l = &c->levels[c->depth - 1];
    struct cursor_name name;
    struct path p;
    if (!cursor_next(l, &name)) {
        file_put(l->dir);
        c->depth--;
        append_bare(a, COPY_LEAVE, -l->error, 0);
        return;
    }
    const struct walk_base base = {
        .root = {vfs_root_mount, vfs_root_mount->root}, .base = l->dir->path, .cred = &cred_kernel};
    int r = walk_path(&base, name.text, 0, &p, NULL);
    if (r < 0) { /* in a mounted folder, gone since it was listed */
        leave_out(a, &(struct entry){.name = name.text, .length = name.length}, -r);
        return;
    }
    tell_entry(c, a, p, name.text, name.length);
    path_put(&p);
}

/* ---- files ---- */

/* Where whence (SEEK_DATA, SEEK_HOLE) says, from pos on; all is data where nobody knows. */
static off_t seek(const struct copy *c, off_t pos, int whence)
{
    const struct file_ops *ops = c->file->ops;
    off_t found = ops->lseek ? ops->lseek(c->file, pos, whence) : -ESPIPE;
    if (found == -ENXIO || found > c->size)
        return c->size;
    return found >= pos ? found : whence == SEEK_DATA ? pos : c->size;
}

static void end_file(struct copy *c, struct answer *a, int error)
{
    append_bare(a, COPY_FILE_END, error, c->pos);
    file_put(c->file);
    c->file = NULL;
}

static void step_file(struct copy *c, struct answer *a)
{
    struct copy_record r = {.type = COPY_DATA};
    off_t from = c->pos < c->size ? seek(c, c->pos, SEEK_DATA) : c->size;
    if (from >= c->size) {
        c->pos = c->size;
        end_file(c, a, 0);
        return;
    }
    size_t most = (size_t)MIN(seek(c, from, SEEK_HOLE) - from, (off_t)(room(a) - sizeof(r)));
    most = MAX(most, (size_t)1); /* a program may punch a hole between the two looks */
    ssize_t n = file_read_kernel(c->file, a->bytes + a->size + sizeof(r), most, from);
    if (n <= 0) {
        end_file(c, a, n < 0 ? (int)-n : 0);
        return;
    }
    r.value = from;
    r.text_size = (uint32_t)n;
    memcpy(a->bytes + a->size, &r, sizeof(r));
    a->size += sizeof(r) + (size_t)n;
    c->pos = from + n;
}

/* ---- questions ---- */

static void go_on(struct copy *c, struct answer *a)
{
    for (int i = 0; i < STEPS_MAX && !c->is_over; i++) {
        if (room(a) < (c->file ? sizeof(struct copy_record) + DATA_MIN_BYTES : ENTRY_MAX_BYTES))
            return;
        if (c->file) {
            step_file(c, a);
        } else if (c->depth > 0) {
            step_directory(c, a);
        } else {
            append_bare(a, COPY_END, 0, 0);
            c->is_over = true;
        }
    }
}

static int begin(struct copy *c, struct answer *a, const char *text, size_t size, bool follows)
{
    char name[COPY_PATH_MAX_BYTES + 1];
    struct path p;
    const struct path root = {vfs_root_mount, vfs_root_mount->root};
    const struct walk_base base = {.root = root, .base = root, .cred = &cred_kernel};
    if (size > COPY_PATH_MAX_BYTES || memchr(text, '\0', size))
        return -ENAMETOOLONG;
    memcpy(name, text, size);
    name[size] = '\0';
    c->levels = calloc(COPY_DEPTH_MAX, sizeof(*c->levels));
    if (!c->levels)
        return -ENOMEM;
    int r = walk_path(&base, name, WALK_NO_MAGICLINKS | (follows ? WALK_FOLLOW : 0), &p, NULL);
    if (r < 0)
        return r;
    tell_entry(c, a, p, "", 0);
    path_put(&p);
    return 0;
}

static void open_copy(const struct control_packet *p, const char *text, struct answer *a)
{
    struct copy *c = find_copy(0);
    int r = -EAGAIN;
    if (c && p->value != 0) {
        c->number = p->value;
        r = begin(c, a, text, p->text_size, p->reason == 1);
        if (r == 0)
            go_on(c, a);
        else
            free_copy(c);
    }
    if (r < 0)
        append_bare(a, COPY_FAILED, -r, 0);
}

size_t copy_answer(const struct control_packet *p, const char *text, char out[COPY_ANSWER_MAX])
{
    struct answer a = {.bytes = out};
    if (p->type == CONTROL_COPY_OPEN) {
        open_copy(p, text, &a);
        return a.size;
    }
    struct copy *c = p->value != 0 ? find_copy(p->value) : NULL;
    if (p->type == CONTROL_COPY_END && c)
        free_copy(c);
    if (p->type != CONTROL_COPY_NEXT)
        return 0;
    if (c)
        go_on(c, &a);
    if (a.size == 0)
        append_bare(&a, COPY_FAILED, ESTALE, 0);
    return a.size;
}
