// SPDX-License-Identifier: Apache-2.0
#include "lib/ssh/known_hosts.h"

#include "lib/base/sha1.h"
#include "lib/ssh/public_key.h"

#include <stdio.h>
#include <strings.h>

#define BLOCK_BYTES 64 /* of SHA-1 */

struct word {
    const char *text;
    size_t size;
};

void ssh_known_host_name(const char *host, uint16_t port, char *ret, size_t size)
{
    if (port == 22)
        snprintf(ret, size, "%s", host);
    else
        snprintf(ret, size, "[%s]:%u", host, port);
}

/* RFC 2104, with a key of SHA1_BYTES. */
static void hmac(const uint8_t *key, const char *text, uint8_t ret[SHA1_BYTES])
{
    struct sha1 s;
    uint8_t pad[BLOCK_BYTES];
    for (int outer = 0; outer < 2; outer++) {
        memset(pad, outer ? 0x5c : 0x36, sizeof(pad));
        for (size_t i = 0; i < SHA1_BYTES; i++)
            pad[i] ^= key[i];
        sha1_init(&s);
        sha1_add(&s, pad, sizeof(pad));
        if (outer)
            sha1_add(&s, ret, SHA1_BYTES);
        else
            sha1_add(&s, text, strlen(text));
        sha1_finish(&s, ret);
    }
}

/* "|1|SALT|HASH" */
static bool is_hash_of(struct word w, const char *name)
{
    uint8_t salt[SHA1_BYTES], wanted[SHA1_BYTES], found[SHA1_BYTES];
    const char *bar = w.size > 3 ? memchr(w.text + 3, '|', w.size - 3) : NULL;
    if (!bar || strncmp(w.text, "|1|", 3) != 0)
        return false;
    size_t salt_size = (size_t)(bar - w.text - 3), rest = w.size - salt_size - 4;
    if (ssh_base64_decode(w.text + 3, salt_size, salt, sizeof(salt)) != SHA1_BYTES ||
        ssh_base64_decode(bar + 1, rest, wanted, sizeof(wanted)) != SHA1_BYTES)
        return false;
    hmac(salt, name, found);
    return !memcmp(found, wanted, sizeof(found));
}

/* A list with commas. */
static bool has_name(struct word list, const char *name)
{
    size_t size = strlen(name);
    if (list.text[0] == '|')
        return is_hash_of(list, name);
    for (const char *at = list.text, *end = at + list.size; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *next = comma ? comma : end;
        if ((size_t)(next - at) == size && !strncasecmp(at, name, size))
            return true;
        at = next + 1;
    }
    return false;
}

static struct word next_word(struct word *line)
{
    while (line->size > 0 && (*line->text == ' ' || *line->text == '\t')) {
        line->text++;
        line->size--;
    }
    struct word w = {line->text, 0};
    while (w.size < line->size && w.text[w.size] != ' ' && w.text[w.size] != '\t')
        w.size++;
    line->text += w.size;
    line->size -= w.size;
    return w;
}

static bool next_line(const char **at, const char *end, struct word *ret)
{
    if (*at >= end)
        return false;
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    const char *to = newline ? newline : end;
    *ret = (struct word){*at, (size_t)(to - *at)};
    if (ret->size > 0 && ret->text[ret->size - 1] == '\r')
        ret->size--;
    *at = to + 1;
    return true;
}

static bool is_word(struct word w, const char *text)
{
    return w.size == strlen(text) && !memcmp(w.text, text, w.size);
}

/* The key at the end of a line; false: it can't be pinned. */
static bool read_key(struct word line, struct ssh_known_key *ret)
{
    uint8_t blob[SSH_BLOB_MAX];
    const char *why;
    size_t text_size;
    while (line.size > 0 && (*line.text == ' ' || *line.text == '\t')) {
        line.text++;
        line.size--;
    }
    if (ssh_public_key_read(line.text, line.size, blob, &text_size, &why) == 0)
        return false;
    *ret = (struct ssh_known_key){line.text, text_size};
    return true;
}

static bool is_same_key(const struct ssh_known_key *a, const struct ssh_known_key *b)
{
    return a->size == b->size && !memcmp(a->text, b->text, a->size);
}

static bool is_revoked(const char *file, size_t size, const struct ssh_known_key *key)
{
    struct ssh_known_key found;
    struct word line;
    for (const char *at = file; next_line(&at, file + size, &line);) {
        if (!is_word(next_word(&line), "@revoked"))
            continue;
        next_word(&line);
        if (read_key(line, &found) && is_same_key(&found, key))
            return true;
    }
    return false;
}

size_t ssh_known_hosts_find(const char *file, size_t size, const char *name,
                            struct ssh_known_key *ret, size_t most)
{
    struct word line;
    size_t count = 0;
    for (const char *at = file; count < most && next_line(&at, file + size, &line);) {
        struct word names = next_word(&line);
        bool is_there = names.size > 0 && names.text[0] != '#' && names.text[0] != '@' &&
                        has_name(names, name) && read_key(line, &ret[count]) &&
                        !is_revoked(file, size, &ret[count]);
        for (size_t i = 0; is_there && i < count; i++)
            is_there = !is_same_key(&ret[i], &ret[count]);
        count += is_there;
    }
    return count;
}
