// SPDX-License-Identifier: Apache-2.0
#include "sandbox/files_reader.h"

#include <stdio.h>
#include <sys/stat.h>

/* Copies size bytes, which are there, as a string. False: they hold a NUL, or are too many. */
static bool take_text(struct files_records *r, size_t size, char *ret, size_t max_bytes)
{
    if (size > max_bytes || memchr(r->at, '\0', size))
        return false;
    memcpy(ret, r->at, size);
    ret[size] = '\0';
    r->at += size;
    r->size -= size;
    return true;
}

/* Components with one '/' between, none of them "." or "..". */
static bool is_clean(const char *path)
{
    for (;;) {
        size_t length = strcspn(path, "/");
        if (length == 0 || length > FILES_NAME_MAX_BYTES || (length == 1 && path[0] == '.') ||
            (length == 2 && !memcmp(path, "..", 2)))
            return false;
        if (path[length] == '\0')
            return true;
        path += length + 1;
    }
}

static bool is_absolute(const char *path)
{
    return path[0] == '/' && (path[1] == '\0' || is_clean(path + 1));
}

static void check_owner(char name[FILES_OWNER_MAX_BYTES + 1], uint32_t number)
{
    for (const char *at = name; *at; at++) {
        if (*at > ' ' && *at < 0x7f)
            continue;
        name[0] = '\0';
        break;
    }
    if (!*name)
        snprintf(name, FILES_OWNER_MAX_BYTES + 1, "%u", number);
}

static bool is_metadata(const char *text, size_t size)
{
    size_t strings = 0;
    if (size > 0 && text[size - 1] != '\0')
        return false;
    for (const char *at = text; at < text + size; at += strlen(at) + 1, strings++)
        if (strings % 2 == 0 && *at == '\0')
            return false;
    return strings % 2 == 0;
}

static bool is_type(uint32_t mode)
{
    return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode) || S_ISFIFO(mode) || S_ISSOCK(mode) ||
           S_ISCHR(mode) || S_ISBLK(mode);
}

static bool is_mode(uint32_t mode)
{
    return (mode & ~(S_IFMT | 07777U)) == 0 && is_type(mode);
}

static bool are_numbers_right(const struct files_entry *e)
{
    return is_mode(e->mode) && e->size >= 0 && e->mtime_ns < NSEC_PER_SEC && e->error >= 0 &&
           e->error <= EHWPOISON && (e->error == 0 || S_ISDIR(e->mode)) &&
           (e->target_mode == 0 ||
            (S_ISLNK(e->mode) && is_mode(e->target_mode) && !S_ISLNK(e->target_mode)));
}

static bool take_texts(struct files_records *r, const struct files_entry *e, struct files_info *ret)
{
    if (!take_text(r, e->name_size, ret->name, FILES_PATH_MAX_BYTES) ||
        !take_text(r, e->target_size, ret->target, FILES_PATH_MAX_BYTES) ||
        !take_text(r, e->owner_size, ret->owner, FILES_OWNER_MAX_BYTES) ||
        !take_text(r, e->group_size, ret->group, FILES_OWNER_MAX_BYTES) ||
        e->metadata_size > FILES_METADATA_MAX_BYTES || !is_metadata(r->at, e->metadata_size))
        return false;
    memcpy(ret->metadata, r->at, e->metadata_size);
    r->at += e->metadata_size;
    r->size -= e->metadata_size;
    ret->metadata_size = e->metadata_size;
    check_owner(ret->owner, e->uid);
    check_owner(ret->group, e->gid);
    /* Where it leads is where it leads: target_mode alone is worth nothing. */
    return (e->target_mode != 0) == (ret->target[0] != '\0') &&
           (!ret->target[0] || is_absolute(ret->target));
}

int files_read_info(struct files_records *r, struct files_info *ret)
{
    struct files_entry e;
    if (r->size == 0)
        return 0;
    if (r->size < sizeof(e))
        return -EPROTO;
    memcpy(&e, r->at, sizeof(e));
    r->at += sizeof(e);
    r->size -= sizeof(e);
    if ((size_t)e.name_size + e.target_size + e.owner_size + e.group_size + e.metadata_size >
            r->size ||
        !are_numbers_right(&e) || !take_texts(r, &e, ret))
        return -EPROTO;
    if (e.level == 0 ? !is_absolute(ret->name)
                     : strchr(ret->name, '/') != NULL || !is_clean(ret->name))
        return -EPROTO;
    ret->mode = e.mode;
    ret->target_mode = e.target_mode;
    ret->uid = e.uid;
    ret->gid = e.gid;
    ret->size = e.size;
    ret->mtime_s = e.mtime_s;
    ret->mtime_ns = e.mtime_ns;
    ret->error = e.error;
    ret->level = e.level;
    return 1;
}

int files_read_change(struct files_records *r, struct files_change *ret)
{
    struct files_event e;
    if (r->size == 0)
        return 0;
    if (r->size < sizeof(e))
        return -EPROTO;
    memcpy(&e, r->at, sizeof(e));
    r->at += sizeof(e);
    r->size -= sizeof(e);
    if (e.type < FILES_CREATED || e.type > FILES_OVERFLOW || e.name_size > r->size ||
        !take_text(r, e.name_size, ret->name, FILES_PATH_MAX_BYTES) ||
        (strcmp(ret->name, ".") != 0 && !is_clean(ret->name)))
        return -EPROTO;
    ret->type = e.type;
    return 1;
}

bool files_next_metadata(const struct files_info *i, size_t *at, const char **ret_name,
                         const char **ret_value)
{
    if (*at >= i->metadata_size)
        return false;
    *ret_name = i->metadata + *at;
    *ret_value = *ret_name + strlen(*ret_name) + 1;
    *at += strlen(*ret_name) + strlen(*ret_value) + 2;
    return true;
}
