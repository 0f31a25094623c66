// SPDX-License-Identifier: Apache-2.0
#include "sandbox/copy_tar.h"

#include "lib/base/map.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/random.h>

#define BLOCK            512
#define SIZE_FIELD_MAX   INT64_C(077777777777)
#define TEXT_FIELD_BYTES 100
#define ARCHIVE_PATH_MAX ((COPY_DEPTH_MAX + 2) * (COPY_NAME_MAX_BYTES + 1))

struct header {
    char name[TEXT_FIELD_BYTES], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
    char link[TEXT_FIELD_BYTES], magic[8], user[32], group[32], device[16], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "tar(5)");

struct copy_tar {
    int fd;
    struct buf path;                 /* of the directory, with a '/' at its end but for the root */
    size_t ends[COPY_DEPTH_MAX + 1]; /* sizes of path before each directory */
    size_t depth;
    char root[COPY_NAME_MAX_BYTES + 1];
    int64_t pos, size; /* of the file */
    struct map
        links; /* those that are in the archive, by what map_hash_bytes() makes of their path */
};

struct copy_tar *copy_tar_new(int fd, const char *name)
{
    uint64_t seed;
    struct copy_tar *t = calloc(1, sizeof(*t));
    if (!t || getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
        free(t);
        return NULL;
    }
    map_seed(seed); /* nothing else of this process has a map */
    t->fd = fd;
    t->path = BUF_INIT(ARCHIVE_PATH_MAX);
    snprintf(t->root, sizeof(t->root), "%s", name);
    return t;
}

void copy_tar_free(struct copy_tar *t)
{
    if (!t)
        return;
    buf_done(&t->path);
    map_done(&t->links);
    free(t);
}

static int write_all(const struct copy_tar *t, const void *data, size_t size,
                     struct sandbox_error *e)
{
    const char *at = data;
    while (size > 0) {
        ssize_t n = write(t->fd, at, size);
        if (n < 0 && errno == EAGAIN)
            poll(&(struct pollfd){.fd = t->fd, .events = POLLOUT}, 1, -1);
        else if (n < 0 && errno != EINTR)
            return sandbox_error_set(e, -errno, "standard output: %s; the archive is not complete",
                                     strerror(errno));
        if (n <= 0)
            continue;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

static int write_zeros(const struct copy_tar *t, int64_t size, struct sandbox_error *e)
{
    static const char zeros[64 * 1024];
    int r = 0;
    for (; size > 0 && r == 0; size -= MIN(size, (int64_t)sizeof(zeros)))
        r = write_all(t, zeros, (size_t)MIN(size, (int64_t)sizeof(zeros)), e);
    return r;
}

static int64_t padding(int64_t size)
{
    return (BLOCK - size % BLOCK) % BLOCK;
}

/* What does not fit is in the pax header. */
static void set_text(char field[TEXT_FIELD_BYTES], const char *text)
{
    memcpy(field, text, strnlen(text, TEXT_FIELD_BYTES));
}

static int write_header(const struct copy_tar *t, const char *path, char type,
                        const struct copy_entry *entry, struct sandbox_error *e)
{
    struct header h = {.type = type, .magic = "ustar"};
    unsigned sum = 0;
    memcpy(h.magic + 6, "00", 2);
    set_text(h.name, path);
    set_text(h.link, entry->target ? entry->target : "");
    snprintf(h.mode, sizeof(h.mode), "%07o", entry->mode & 0777);
    memcpy(h.uid, "0000000", sizeof(h.uid));
    memcpy(h.gid, "0000000", sizeof(h.gid));
    snprintf(h.size, sizeof(h.size), "%011" PRIo64, MIN(entry->size, SIZE_FIELD_MAX));
    snprintf(h.mtime, sizeof(h.mtime), "%011" PRIo64, (int64_t)entry->mtime.tv_sec);
    memset(h.checksum, ' ', sizeof(h.checksum));
    for (size_t i = 0; i < sizeof(h); i++)
        sum += ((const unsigned char *)&h)[i];
    snprintf(h.checksum, sizeof(h.checksum) - 1, "%06o", sum & 0777777);
    return write_all(t, &h, sizeof(h), e);
}

/* "SIZE KEY=VALUE\n", where SIZE counts its own digits too. */
static void append_pax(struct buf *b, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3, size = rest;
    for (size_t before = 0; before != size;) {
        before = size;
        size = rest + (size_t)snprintf(NULL, 0, "%zu", size);
    }
    buf_printf(b, "%zu %s=", size, key);
    buf_append_str(b, value);
    buf_append(b, "\n", 1);
}

static int write_pax(const struct copy_tar *t, const char *path, const struct copy_entry *entry,
                     struct sandbox_error *e)
{
    char size[24];
    struct buf text = BUF_INIT(2 * ARCHIVE_PATH_MAX);
    if (strlen(path) > TEXT_FIELD_BYTES)
        append_pax(&text, "path", path);
    if (entry->target && strlen(entry->target) > TEXT_FIELD_BYTES)
        append_pax(&text, "linkpath", entry->target);
    snprintf(size, sizeof(size), "%" PRId64, entry->size);
    if (entry->size > SIZE_FIELD_MAX)
        append_pax(&text, "size", size);
    const struct copy_entry pax = {.mode = 0600, .size = (int64_t)text.size, .mtime = entry->mtime};
    int r =
        text.failed ? sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again") : 0;
    if (r == 0 && text.size > 0)
        r = write_header(t, "pax", 'x', &pax, e);
    if (r == 0 && text.size > 0)
        r = write_all(t, text.data, text.size, e);
    if (r == 0)
        r = write_zeros(t, padding((int64_t)text.size), e);
    buf_done(&text);
    return r;
}

/* The path of an entry stands in t->path until it is cut again. */
static int write_entry(struct copy_tar *t, char type, const struct copy_entry *entry,
                       struct sandbox_error *e)
{
    buf_append_str(&t->path, *entry->name ? entry->name : t->root);
    if (type == '5')
        buf_append(&t->path, "/", 1);
    if (t->path.failed)
        return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    int r = write_pax(t, t->path.data, entry, e);
    return r < 0 ? r : write_header(t, t->path.data, type, entry, e);
}

static void cut_path(struct copy_tar *t, size_t size)
{
    t->path.size = size;
    if (t->path.data)
        t->path.data[size] = '\0';
}

/* Of the entry whose path stands in t->path. */
static uint64_t key_of_path(const struct copy_tar *t)
{
    return map_hash_bytes(t->path.data, t->path.size);
}

/*
 * Whether the archive has a link where a directory is to begin: many who unpack would follow it,
 * and what is in the directory would count its ".." from elsewhere.
 */
static bool is_link(struct copy_tar *t, const char *name)
{
    size_t before = t->path.size;
    if (t->links.count == 0 || buf_append_str(&t->path, name) < 0)
        return false;
    bool is = map_get(&t->links, key_of_path(t)) != NULL;
    cut_path(t, before);
    return is;
}

static int begin_directory(void *userdata, const struct copy_entry *d, struct sandbox_error *e)
{
    struct copy_tar *t = userdata;
    struct copy_entry entry = *d;
    size_t before = t->path.size;
    entry.size = 0;
    if (is_link(t, d->name))
        return EEXIST;
    t->ends[t->depth++] = before;
    return write_entry(t, '5', &entry, e);
}

static int leave(void *userdata, struct sandbox_error *e _unused_)
{
    struct copy_tar *t = userdata;
    cut_path(t, t->ends[--t->depth]);
    return 0;
}

static int begin_file(void *userdata, const struct copy_entry *f, struct sandbox_error *e)
{
    struct copy_tar *t = userdata;
    size_t before = t->path.size;
    t->pos = 0;
    t->size = f->size;
    int r = write_entry(t, '0', f, e);
    cut_path(t, before);
    return r;
}

static int data(void *userdata, int64_t offset, const void *bytes, size_t size,
                struct sandbox_error *e)
{
    struct copy_tar *t = userdata;
    int r = write_zeros(t, offset - t->pos, e);
    t->pos = offset + (int64_t)size;
    return r < 0 ? r : write_all(t, bytes, size, e);
}

static int end_file(void *userdata, int64_t size _unused_, bool is_whole _unused_,
                    struct sandbox_error *e)
{
    struct copy_tar *t = userdata;
    return write_zeros(t, t->size - t->pos + padding(t->size), e);
}

static int write_link(void *userdata, const struct copy_entry *l, struct sandbox_error *e)
{
    struct copy_tar *t = userdata;
    struct copy_entry entry = *l;
    size_t before = t->path.size;
    entry.size = 0;
    entry.mode = 0777;
    int r = write_entry(t, '2', &entry, e);
    if (r == 0 && map_set(&t->links, key_of_path(t), t) < 0)
        r = sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    cut_path(t, before);
    return r;
}

int copy_tar_end(struct copy_tar *t, struct sandbox_error *e)
{
    return write_zeros(t, INT64_C(2) * BLOCK, e);
}

const struct copy_sink copy_tar_sink = {
    .begin_directory = begin_directory,
    .leave = leave,
    .begin_file = begin_file,
    .data = data,
    .end_file = end_file,
    .link = write_link,
    .writes_holes = true,
};
