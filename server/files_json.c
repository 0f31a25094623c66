// SPDX-License-Identifier: Apache-2.0
#include "server/files_json.h"

#include "server/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

/* Seconds of the years 1 and 10000, between which RFC 3339 has names for them. */
#define FIRST_S INT64_C(-62135596800)
#define END_S   INT64_C(253402300800)

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* A link is what it leads to; one that leads nowhere is none of these. */
static const char *type_of(const struct files_listed *f)
{
    uint32_t mode = f->target_mode ? f->target_mode : f->mode;
    return S_ISDIR(mode)   ? "FILE_TYPE_DIRECTORY"
           : S_ISREG(mode) ? "FILE_TYPE_FILE"
                           : "FILE_TYPE_UNSPECIFIED";
}

/* As Go's fs.FileMode says it, by whose text clients know links and sticky bits. */
static void append_permissions(struct buf *out, uint32_t mode)
{
    static const char letters[] = "rwxrwxrwx";
    char text[16];
    size_t size = 0;
    if (S_ISDIR(mode))
        text[size++] = 'd';
    if (S_ISLNK(mode))
        text[size++] = 'L';
    if (S_ISBLK(mode) || S_ISCHR(mode))
        text[size++] = 'D';
    if (S_ISFIFO(mode))
        text[size++] = 'p';
    if (S_ISSOCK(mode))
        text[size++] = 'S';
    if (mode & S_ISUID)
        text[size++] = 'u';
    if (mode & S_ISGID)
        text[size++] = 'g';
    if (S_ISCHR(mode))
        text[size++] = 'c';
    if (mode & S_ISVTX)
        text[size++] = 't';
    if (size == 0)
        text[size++] = '-';
    for (unsigned i = 0; i < 9; i++)
        text[size++] = mode >> (8 - i) & 1 ? letters[i] : '-';
    text[size] = '\0';
    json_append_string(out, text);
}

static void append_time(struct buf *out, int64_t seconds, uint32_t ns)
{
    struct tm tm;
    time_t t = (time_t)MIN(MAX(seconds, FIRST_S), END_S - 1);
    gmtime_r(&t, &tm);
    buf_printf(out, "\"%04d-%02d-%02dT%02d:%02d:%02d.%09uZ\"", tm.tm_year + 1900, tm.tm_mon + 1,
               tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ns);
}

static void append_metadata(struct buf *out, const char *metadata, size_t size)
{
    buf_append_str(out, ",\"metadata\":{");
    for (const char *at = metadata; at < metadata + size;) {
        const char *value = at + strlen(at) + 1;
        buf_append_str(out, at == metadata ? "" : ",");
        json_append_string(out, at);
        buf_append_str(out, ":");
        json_append_string(out, value);
        at = value + strlen(value) + 1;
    }
    buf_append_str(out, "}");
}

void files_json_listed(struct buf *out, const struct files_listed *f)
{
    uint32_t mode = f->target_mode ? f->target_mode : f->mode;
    buf_append_str(out, "{\"name\":");
    json_append_string(out, base_name(f->path));
    buf_printf(out, ",\"type\":\"%s\",\"path\":", type_of(f));
    json_append_string(out, f->path);
    buf_printf(out, ",\"size\":\"%" PRId64 "\",\"mode\":%u,\"permissions\":", f->size, mode & 0777);
    append_permissions(out, S_ISLNK(f->mode) ? S_IFLNK | 0777 : mode);
    buf_append_str(out, ",\"owner\":");
    json_append_string(out, f->owner);
    buf_append_str(out, ",\"group\":");
    json_append_string(out, f->group);
    buf_append_str(out, ",\"modifiedTime\":");
    append_time(out, f->mtime_s, f->mtime_ns);
    if (f->target[0]) {
        buf_append_str(out, ",\"symlinkTarget\":");
        json_append_string(out, f->target);
    }
    if (f->metadata_size)
        append_metadata(out, f->metadata, f->metadata_size);
    buf_append_str(out, "}");
}

void files_json_info(struct buf *out, const struct files_info *i)
{
    const struct files_listed f = {
        .path = (char *)i->name,
        .target = (char *)i->target,
        .owner = (char *)i->owner,
        .group = (char *)i->group,
        .metadata = (char *)i->metadata,
        .metadata_size = i->metadata_size,
        .mode = i->mode,
        .target_mode = i->target_mode,
        .size = i->size,
        .mtime_s = i->mtime_s,
        .mtime_ns = i->mtime_ns,
    };
    files_json_listed(out, &f);
}

void files_json_written(struct buf *out, const struct files_info *i)
{
    buf_append_str(out, "{\"path\":");
    json_append_string(out, i->name);
    buf_append_str(out, ",\"name\":");
    json_append_string(out, base_name(i->name));
    buf_append_str(out, ",\"type\":\"file\"");
    if (i->metadata_size)
        append_metadata(out, i->metadata, i->metadata_size);
    buf_append_str(out, "}");
}
