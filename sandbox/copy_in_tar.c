// SPDX-License-Identifier: Apache-2.0
/*
 * A tar archive into a sandbox: tar(5), as POSIX has it (ustar and pax) and as GNU tar writes long
 * names. Whoever wrote the archive writes into the sandbox only: a name that leads out of the
 * target is left out, and links are made, not followed in the last place.
 */
#include "lib/base/buf.h"
#include "sandbox/copy_in.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#define BLOCK        512
#define EXTENDED_MAX (1 << 20) /* of a pax header */
/* Bytes of a header of type S, and of one that goes on with it: whether there is one more. */
#define SPARSE_HAS_MORE       482
#define SPARSE_HAS_STILL_MORE 504
#define ARCHIVE_BROKEN        "the archive is broken or cut off; the copy is not complete"

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
    char link[100], magic[8], user[32], group[32], device[16], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "tar(5)");

struct archive {
    struct copy_in *copy;
    int fd;
    const char *target;
    uint64_t left;         /* bytes of the entry that are not read yet */
    unsigned padding;      /* behind them */
    struct buf name, link; /* of the next entry, when an extension said them */
    bool has_size, has_time;
    bool is_sparse, has_sparse_name; /* it is stored in pieces, in a way of GNU tar's */
    uint64_t size;
    int64_t mtime_s;
    uint32_t mtime_ns;
};

static int broken(struct sandbox_error *e)
{
    return sandbox_error_set(e, -EPROTO, "standard input: " ARCHIVE_BROKEN);
}

/* ---- reading ---- */

/* All size bytes; 0 at the end of the file before the first one. */
static int read_all(const struct archive *a, void *data, size_t size, struct sandbox_error *e)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(a->fd, (char *)data + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int error = errno;
            return sandbox_error_set(e, -error, "standard input: %s; the copy is not complete",
                                     strerror(error));
        }
        if (n == 0)
            return done == 0 ? 0 : broken(e);
        done += (size_t)n;
    }
    return 1;
}

/* A copy_in_read_fn. */
static ssize_t read_content(void *userdata, char *data, size_t size, struct sandbox_error *e)
{
    struct archive *a = userdata;
    size_t part = (size_t)MIN((uint64_t)size, a->left);
    if (part == 0)
        return 0;
    int r = read_all(a, data, part, e);
    if (r <= 0)
        return r < 0 ? r : broken(e);
    a->left -= part;
    return (ssize_t)part;
}

/* What nobody wanted of the entry, and what is behind it. */
static int skip(struct archive *a, struct sandbox_error *e)
{
    char rest[16 * 1024];
    while (a->left > 0) {
        ssize_t n = read_content(a, rest, sizeof(rest), e);
        if (n < 0)
            return (int)n;
    }
    int r = a->padding ? read_all(a, rest, a->padding, e) : 1;
    a->padding = 0;
    return r < 0 ? r : r == 0 ? broken(e) : 0;
}

/* Octal, or (GNU) a binary number with the first bit set. False: neither, or too large. */
static bool parse_number(const char *field, size_t size, uint64_t *ret)
{
    uint64_t value = 0;
    const unsigned char *at = (const unsigned char *)field;
    if (at[0] & 0x80) {
        value = at[0] & 0x7f;
        for (size_t i = 1; i < size; i++) {
            if (value >> 55)
                return false;
            value = value << 8 | at[i];
        }
        *ret = value;
        return true;
    }
    size_t i = 0;
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] && field[i] != ' '; i++) {
        if (field[i] < '0' || field[i] > '7' || value >> 60)
            return false;
        value = value << 3 | (unsigned)(field[i] - '0');
    }
    *ret = value;
    return true;
}

static bool is_checksum_right(const struct header *h)
{
    uint64_t said;
    unsigned sum = 0;
    struct header copy = *h;
    memset(copy.checksum, ' ', sizeof(copy.checksum));
    for (size_t i = 0; i < sizeof(copy); i++)
        sum += ((const unsigned char *)&copy)[i];
    return parse_number(h->checksum, sizeof(h->checksum), &said) && said == sum;
}

static bool is_zero(const struct header *h)
{
    static const struct header zero;
    return !memcmp(h, &zero, sizeof(zero));
}

/* ---- extensions ---- */

static int read_extended(struct archive *a, struct buf *text, struct sandbox_error *e)
{
    char part[4096];
    if (a->left > EXTENDED_MAX)
        return broken(e);
    while (a->left > 0) {
        ssize_t n = read_content(a, part, sizeof(part), e);
        if (n < 0)
            return (int)n;
        buf_append(text, part, (size_t)n);
    }
    return text->failed ? sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again")
                        : skip(a, e);
}

static bool take_number(const char *value, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(value, &end, 10);
    return value[0] >= '0' && value[0] <= '9' && errno == 0 && (*end == '\0' || *end == '.');
}

static void take_time(struct archive *a, const char *value)
{
    uint64_t seconds;
    const char *dot = strchr(value, '.');
    if (!take_number(value, &seconds) || seconds > INT64_MAX)
        return; /* before 1970: it is as good as none */
    a->mtime_s = (int64_t)seconds;
    a->mtime_ns = 0;
    uint32_t unit = 100000000;
    for (const char *at = dot ? dot + 1 : ""; *at >= '0' && *at <= '9'; at++, unit /= 10)
        a->mtime_ns += (uint32_t)(*at - '0') * unit;
    a->has_time = true;
}

static bool take_pax(struct archive *a, const char *key, const char *value)
{
    bool is_path = (!strcmp(key, "path") && !a->has_sparse_name) || !strcmp(key, "GNU.sparse.name");
    struct buf *text = is_path ? &a->name : !strcmp(key, "linkpath") ? &a->link : NULL;
    if (!strncmp(key, "GNU.sparse.", strlen("GNU.sparse."))) {
        a->is_sparse = true;
        a->has_sparse_name |= is_path;
    }
    if (text) {
        buf_reset(text);
        buf_append_str(text, value);
    } else if (!strcmp(key, "size")) {
        a->has_size = take_number(value, &a->size);
        return a->has_size;
    } else if (!strcmp(key, "mtime")) {
        take_time(a, value);
    }
    return true;
}

/* "SIZE KEY=VALUE\n", where SIZE counts all of it. */
static bool parse_pax(struct archive *a, char *text, size_t size)
{
    while (size > 0) {
        char *end;
        unsigned long length = strtoul(text, &end, 10);
        if (*end != ' ' || length > size || length < (size_t)(end - text) + 3 ||
            text[length - 1] != '\n')
            return false;
        text[length - 1] = '\0';
        char *key = end + 1, *value = strchr(key, '=');
        if (!value || strlen(value) != (size_t)(text + length - 1 - value))
            return false;
        *value++ = '\0';
        if (!take_pax(a, key, value))
            return false;
        text += length;
        size -= length;
    }
    return true;
}

/* Takes an entry that says something of the next one: 1; 0: it is none. */
static int take_extension(struct archive *a, char type, struct sandbox_error *e)
{
    if (!strchr("xgLK", type))
        return 0;
    struct buf text = BUF_INIT(EXTENDED_MAX + 1);
    int r = read_extended(a, &text, e);
    if (r == 0 && type == 'x' && text.size > 0 && !parse_pax(a, text.data, text.size))
        r = broken(e);
    if (r == 0 && (type == 'L' || type == 'K')) {
        struct buf *name = type == 'L' ? &a->name : &a->link;
        buf_reset(name);
        buf_append_str(name, text.data ? text.data : "");
    }
    buf_done(&text);
    return r < 0 ? r : 1;
}

/* ---- entries ---- */

static void field_text(struct buf *b, const char *field, size_t size)
{
    buf_append(b, field, strnlen(field, size));
}

/* The name of an entry below the target. False: it leads elsewhere, or is too long. */
static bool make_path(const struct archive *a, const char *name, struct buf *path)
{
    buf_append_str(path, a->target);
    while (*name) {
        size_t length = strcspn(name, "/");
        if (length == 2 && !memcmp(name, "..", 2))
            return false;
        if (length > 0 && !(length == 1 && name[0] == '.')) {
            buf_append(path, "/", 1);
            buf_append(path, name, length);
        }
        name += length;
        name += strspn(name, "/");
    }
    return !path->failed && path->size <= FILES_PATH_MAX_BYTES;
}

static const char *type_reason(char type)
{
    return type == '1'                  ? "it is a hard link"
           : type == '3' || type == '4' ? "it is a device"
           : type == '6'                ? "it is a FIFO"
                                        : "its type is not known";
}

/* Before 1970 is as good as none: a binary number whose second bit is set, too. */
static bool parse_time(const struct header *h, uint64_t *ret)
{
    if ((unsigned char)h->mtime[0] == 0xff) {
        *ret = 0;
        return true;
    }
    return parse_number(h->mtime, sizeof(h->mtime), ret) && *ret <= INT64_MAX;
}

static int make_entry(struct archive *a, const struct header *h, const char *path,
                      struct sandbox_error *e)
{
    uint64_t mode = 0, mtime = 0;
    if (!parse_number(h->mode, sizeof(h->mode), &mode) || !parse_time(h, &mtime))
        return broken(e);
    const struct copy_in_file f = {.path = path,
                                   .mode = (unsigned)mode & 0777,
                                   .mtime_s = a->has_time ? a->mtime_s : (int64_t)mtime,
                                   .mtime_ns = a->has_time ? a->mtime_ns : 0};
    if (a->is_sparse || h->type == 'S') {
        copy_in_leave_out(a->copy, path,
                          "it is stored as a sparse file; archive it without --sparse");
        return 0;
    }
    switch (h->type) {
    case '\0':
    case '0':
    case '7':
        return copy_in_file(a->copy, &f, read_content, a, e);
    case '5':
        return strcmp(path, a->target) ? copy_in_directory(a->copy, &f, e) : 0;
    case '2':
        return copy_in_link(a->copy, path, a->link.data ? a->link.data : "", e);
    default:
        copy_in_leave_out(a->copy, path, type_reason(h->type));
        return 0;
    }
}

static int take_entry(struct archive *a, const struct header *h, struct sandbox_error *e)
{
    struct buf path = BUF_INIT(2 * FILES_PATH_MAX_BYTES + 2);
    if (a->name.size == 0) {
        bool has_prefix = h->prefix[0] && !memcmp(h->magic, "ustar", 6);
        if (has_prefix) {
            field_text(&a->name, h->prefix, sizeof(h->prefix));
            buf_append(&a->name, "/", 1);
        }
        field_text(&a->name, h->name, sizeof(h->name));
    }
    if (a->link.size == 0)
        field_text(&a->link, h->link, sizeof(h->link));
    const char *name = a->name.data ? a->name.data : "";
    int r = 0;
    if (a->name.failed || a->link.failed || !make_path(a, name, &path))
        copy_in_leave_out(a->copy, name, "it leads out of the target, or is too long");
    else
        r = make_entry(a, h, path.data, e);
    buf_done(&path);
    if (r >= 0)
        r = skip(a, e);
    buf_reset(&a->name);
    buf_reset(&a->link);
    a->has_size = a->has_time = a->is_sparse = a->has_sparse_name = false;
    return r;
}

/* More headers of the same entry, which GNU tar's type S may have: where the pieces belong. */
static int skip_sparse_headers(struct archive *a, const struct header *h, struct sandbox_error *e)
{
    char more[BLOCK];
    bool has_more = ((const char *)h)[SPARSE_HAS_MORE];
    while (has_more) {
        int r = read_all(a, more, sizeof(more), e);
        if (r <= 0)
            return r < 0 ? r : broken(e);
        has_more = more[SPARSE_HAS_STILL_MORE];
    }
    return 0;
}

/* One header and what belongs to it: 1; 0 at the end of the archive. */
static int take_block(struct archive *a, struct sandbox_error *e)
{
    struct header h;
    uint64_t size;
    int r = read_all(a, &h, sizeof(h), e);
    if (r <= 0 || is_zero(&h))
        return r < 0 ? r : 0;
    if (!is_checksum_right(&h) || !parse_number(h.size, sizeof(h.size), &size))
        return broken(e);
    if (a->has_size && !strchr("xgLK", h.type))
        size = a->size;
    if (size > INT64_MAX)
        return broken(e);
    /* Links and directories have no content, whatever their size says. */
    a->left = strchr("123456", h.type) && h.type ? 0 : size;
    a->padding = (unsigned)((BLOCK - a->left % BLOCK) % BLOCK);
    r = h.type ? take_extension(a, h.type, e) : 0;
    if (r != 0)
        return r;
    r = h.type == 'S' ? skip_sparse_headers(a, &h, e) : 0;
    if (r == 0)
        r = take_entry(a, &h, e);
    return r < 0 ? r : 1;
}

int copy_in_archive(struct copy_in *c, int fd, const char *target, struct sandbox_error *e)
{
    char directory[FILES_PATH_MAX_BYTES + 1];
    struct archive a = {.copy = c, .fd = fd, .target = directory};
    c->makes_parents = true;
    mode_t mode = 0;
    int r = copy_in_stat(c, target, &mode, e);
    if (r < 0)
        return r;
    if (r > 0 || !S_ISDIR(mode) || strlen(target) > FILES_PATH_MAX_BYTES)
        return sandbox_error_set(e, r ? -r : -ENOTDIR,
                                 "%s: there is no such directory; make it, or give another target",
                                 target);
    memcpy(directory, target, strlen(target) + 1);
    for (size_t size = strlen(directory); size > 0 && directory[size - 1] == '/';)
        directory[--size] = '\0';
    a.name = a.link = BUF_INIT(2 * FILES_PATH_MAX_BYTES);
    do
        r = take_block(&a, e);
    while (r > 0);
    /* Whoever writes the archive is not to be told of a broken pipe by what is behind its end. */
    for (char rest[4096]; r == 0 && read(fd, rest, sizeof(rest)) > 0;)
        ;
    buf_done(&a.name);
    buf_done(&a.link);
    return r;
}
