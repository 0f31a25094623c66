// SPDX-License-Identifier: Apache-2.0
#include "lib/secret/file.h"

#include "lib/secret/pages.h"
#include "lib/secret/placeholder.h"

#include <stdio.h>
#include <sys/stat.h>

#define MAGIC          "GBSECRET"
#define VERSION        1
#define NAME_MAX_BYTES 64 /* as the policy language has it */

struct head {
    char magic[8];
    uint32_t version, count;
};

struct sizes {
    uint32_t name, placeholder, value;
};

struct entry {
    char name[NAME_MAX_BYTES + 1], placeholder[PLACEHOLDER_MAX_BYTES + 1];
};

size_t secret_file_size(const struct secret_value *values, size_t count)
{
    size_t size = sizeof(struct head);
    for (size_t i = 0; i < count; i++)
        size += sizeof(struct sizes) + strlen(values[i].name) + strlen(values[i].placeholder) +
                values[i].size;
    return size;
}

static char *put(char *to, const void *data, size_t size)
{
    return (char *)memcpy(to, data, size) + size;
}

void secret_file_write(const struct secret_value *values, size_t count, void *ret)
{
    struct head head = {.version = VERSION, .count = (uint32_t)count};
    memcpy(head.magic, MAGIC, sizeof(head.magic));
    char *to = put(ret, &head, sizeof(head));
    for (size_t i = 0; i < count; i++) {
        const struct secret_value *v = &values[i];
        struct sizes sizes = {(uint32_t)strlen(v->name), (uint32_t)strlen(v->placeholder),
                              (uint32_t)v->size};
        to = put(to, &sizes, sizeof(sizes));
        to = put(to, v->name, sizes.name);
        to = put(to, v->placeholder, sizes.placeholder);
        to = put(to, v->value, sizes.value);
    }
}

static int fail(struct secret_error *e, int error)
{
    *e = (struct secret_error){.reason = strlen("secrets: ")};
    snprintf(e->text, sizeof(e->text), "secrets: %s; free memory and try again", strerror(-error));
    return error;
}

static int refuse(struct secret_error *e, const char *what)
{
    *e = (struct secret_error){.reason = strlen("secrets: ")};
    snprintf(e->text, sizeof(e->text),
             "secrets: %s; start programs of one version of Glovebox together", what);
    return -EINVAL;
}

struct cursor {
    const char *at;
    size_t left;
};

static const char *take(struct cursor *c, size_t size)
{
    const char *at = c->at;
    if (size > c->left)
        return NULL;
    c->at += size;
    c->left -= size;
    return at;
}

/* Copies a text of size bytes into one of capacity with its NUL. False: it isn't one. */
static bool take_text(struct cursor *c, size_t size, char *ret, size_t capacity)
{
    const char *at = size < capacity ? take(c, size) : NULL;
    if (!at || memchr(at, 0, size))
        return false;
    memcpy(ret, at, size);
    ret[size] = 0;
    return true;
}

static bool take_entry(struct cursor *c, struct entry *entry, struct secret_value *ret)
{
    struct sizes sizes;
    const char *at = take(c, sizeof(sizes));
    if (!at)
        return false;
    memcpy(&sizes, at, sizeof(sizes));
    if (!take_text(c, sizes.name, entry->name, sizeof(entry->name)) ||
        !take_text(c, sizes.placeholder, entry->placeholder, sizeof(entry->placeholder)) ||
        !(at = take(c, sizes.value)))
        return false;
    *ret = (struct secret_value){entry->name, entry->placeholder, at, sizes.value};
    return true;
}

/* 0 and *ret_count entries and values, which lie in data; -EINVAL and e. */
static int parse(const void *data, size_t size, size_t most, struct entry *entries,
                 struct secret_value *values, size_t *ret_count, struct secret_error *e)
{
    struct cursor c = {data, size};
    struct head head;
    const char *at = take(&c, sizeof(head));
    if (!at || memcmp(at, MAGIC, sizeof(head.magic)) != 0)
        return refuse(e, "this is no file of secrets");
    memcpy(&head, at, sizeof(head));
    if (head.version != VERSION || head.count > most)
        return refuse(e, "the file is of another version");
    for (uint32_t i = 0; i < head.count; i++)
        if (!take_entry(&c, &entries[i], &values[i]))
            return refuse(e, "the file is cut or damaged");
    if (c.left > 0)
        return refuse(e, "the file is longer than it says");
    *ret_count = head.count;
    return 0;
}

int secret_file_parse(const void *data, size_t size, const struct policy_document *document,
                      struct secrets **ret, struct secret_error *e)
{
    struct secret_value values[POLICY_SECRETS_MAX];
    size_t count;
    _cleanup_free_ struct entry *entries = calloc(POLICY_SECRETS_MAX, sizeof(*entries));
    if (!entries)
        return fail(e, -ENOMEM);
    int r = parse(data, size, POLICY_SECRETS_MAX, entries, values, &count, e);
    if (r == 0)
        r = secrets_new(document, values, count, ret, e);
    e->name = NULL; /* it was of the entries */
    return r;
}

int secret_file_parse_one(const void *data, size_t size, const struct secrets *old,
                          struct secrets **ret, struct secret_error *e)
{
    struct secret_value value;
    struct entry entry;
    size_t count;
    int r = parse(data, size, 1, &entry, &value, &count, e);
    if (r == 0 && count == 0)
        return refuse(e, "the file has no secret");
    if (r == 0)
        r = secrets_renew(old, &value, ret, e);
    e->name = NULL;
    return r;
}

int secret_file_parse_more(const void *data, size_t size, const struct policy_document *document,
                           const struct secrets *old, struct secrets **ret, struct secret_error *e)
{
    struct secret_value values[POLICY_SECRETS_MAX];
    size_t count = 0;
    _cleanup_free_ struct entry *entries = calloc(POLICY_SECRETS_MAX, sizeof(*entries));
    if (!entries)
        return fail(e, -ENOMEM);
    int r = size > 0 ? parse(data, size, POLICY_SECRETS_MAX, entries, values, &count, e) : 0;
    if (r == 0)
        r = secrets_follow(old, document, values, count, ret, e);
    e->name = NULL; /* it was of the entries */
    return r;
}

static int read_whole(int fd, char *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, to + done, size - done, (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
    }
    return 0;
}

int secret_file_read(int fd, const struct policy_document *document, struct secrets **ret,
                     struct secret_error *e)
{
    struct stat st;
    int r = fstat(fd, &st) < 0 ? -errno : 0;
    if (r == 0 && (st.st_size <= 0 || st.st_size > SECRET_FILE_MAX_BYTES))
        return refuse(e, "this is no file of secrets");
    char *data = r == 0 ? secret_memory_new((size_t)st.st_size) : NULL;
    if (r == 0)
        r = data ? read_whole(fd, data, (size_t)st.st_size) : -ENOMEM;
    r = r < 0 ? fail(e, r) : secret_file_parse(data, (size_t)st.st_size, document, ret, e);
    if (data)
        secret_memory_free(data, (size_t)st.st_size);
    return r;
}
