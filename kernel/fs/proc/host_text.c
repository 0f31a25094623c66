// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/proc/host_text.h"

#include <stdio.h>

/* A piece of text that is consumed from its front. */
struct cursor {
    const char *at, *end;
};

static bool take_char(struct cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool take_decimal(struct cursor *c, uint64_t *ret)
{
    uint64_t value = 0;
    const char *start = c->at;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*c->at - '0'), &value))
            return false;
    *ret = value;
    return c->at > start;
}

/* A decimal number that may be negative, as its 64 bits. */
static bool take_signed(struct cursor *c, uint64_t *ret)
{
    bool negative = take_char(c, '-');
    uint64_t value;
    if (!take_decimal(c, &value) || (negative && value > (uint64_t)INT64_MAX))
        return false;
    *ret = negative ? -value : value;
    return true;
}

static int hex_digit(char ch)
{
    if (ch >= '0' && ch <= '9')
        return ch - '0';
    if (ch >= 'a' && ch <= 'f')
        return ch - 'a' + 10;
    return -1;
}

static bool take_hex(struct cursor *c, uint64_t *ret)
{
    uint64_t value = 0;
    const char *start = c->at;
    for (; c->at < c->end && hex_digit(*c->at) >= 0; c->at++) {
        if (value >> 60)
            return false;
        value = value << 4 | (uint64_t)hex_digit(*c->at);
    }
    *ret = value;
    return c->at > start;
}

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
        c->at++;
}

/* The first line of [*text, end) without its newline; false when there is no whole line. */
static bool peek_line(const char *text, const char *end, struct cursor *ret)
{
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    if (!newline)
        return false;
    *ret = (struct cursor){text, newline};
    return true;
}

/* ---- stat, statm ---- */

int host_stat_parse(const char *text, size_t size, struct host_stat *ret)
{
    struct host_stat s = {0};
    struct cursor c = {text, text + size};
    if (!take_decimal(&c, &s.field[1]) || !take_char(&c, ' ') || !take_char(&c, '('))
        return -EINVAL;
    /* The name is the guest's choice and may hold any of ") R 1": the last parenthesis ends it. */
    const char *name_end = memrchr(c.at, ')', (size_t)(c.end - c.at));
    if (!name_end)
        return -EINVAL;
    memcpy(s.name, c.at, MIN((size_t)(name_end - c.at), sizeof(s.name) - 1));
    c.at = name_end + 1;
    if (!take_char(&c, ' ') || c.at == c.end || *c.at < 'A' || *c.at > 'z')
        return -EINVAL;
    s.state = *c.at++;
    for (int i = 4; i <= HOST_STAT_FIELDS; i++)
        if (!take_char(&c, ' ') || !take_signed(&c, &s.field[i]))
            return -EINVAL;
    if (c.at == c.end || (*c.at != ' ' && *c.at != '\n'))
        return -EINVAL;
    *ret = s;
    return 0;
}

int host_statm_parse(const char *text, size_t size, uint64_t ret[HOST_STATM_FIELDS])
{
    struct cursor c = {text, text + size};
    uint64_t values[HOST_STATM_FIELDS];
    for (int i = 0; i < HOST_STATM_FIELDS; i++)
        if ((i && !take_char(&c, ' ')) || !take_decimal(&c, &values[i]))
            return -EINVAL;
    if (!take_char(&c, '\n') || c.at != c.end)
        return -EINVAL;
    memcpy(ret, values, sizeof(values));
    return 0;
}

/* ---- maps ---- */

static bool cursor_is(const struct cursor *c, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(c->end - c->at) == length && !memcmp(c->at, word, length);
}

/* "/SYSV0000002a (deleted)" */
static bool parse_sysv(struct cursor c, uint32_t *ret)
{
    static const char start[] = "/SYSV", end[] = " (deleted)";
    uint64_t key;
    if ((size_t)(c.end - c.at) != strlen(start) + 8 + strlen(end) ||
        memcmp(c.at, start, strlen(start)))
        return false;
    struct cursor digits = {c.at + strlen(start), c.at + strlen(start) + 8};
    if (!take_hex(&digits, &key) || digits.at != digits.end || memcmp(digits.end, end, strlen(end)))
        return false;
    *ret = (uint32_t)key;
    return true;
}

static void classify(struct cursor name, struct host_map *m)
{
    static const struct {
        const char *name;
        enum host_map_kind kind;
    } known[] = {
        {"[heap]", HOST_MAP_HEAP},
        {"[stack]", HOST_MAP_STACK},
        {"[vdso]", HOST_MAP_VDSO},
        {"[vvar]", HOST_MAP_VVAR},
        {"[vvar_vclock]", HOST_MAP_VVAR_VCLOCK},
        {"[vsyscall]", HOST_MAP_VSYSCALL},
        {"[rollup]", HOST_MAP_ROLLUP},
    };
    if (m->inode == 0) {
        m->kind = name.at == name.end ? HOST_MAP_ANONYMOUS : HOST_MAP_OTHER;
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
            if (cursor_is(&name, known[i].name))
                m->kind = known[i].kind;
        return;
    }
    m->kind = HOST_MAP_FILE;
    /* Device 0:1 is the host kernel's own tmpfs, where no guest can choose a name. */
    if (m->major != 0 || m->minor != 1)
        return;
    if (cursor_is(&name, "/dev/zero (deleted)"))
        m->kind = HOST_MAP_ZERO;
    else if (parse_sysv(name, &m->sysv_key))
        m->kind = HOST_MAP_SYSV;
}

static bool take_permissions(struct cursor *c, char ret[5])
{
    static const char *const allowed[4] = {"r-", "w-", "x-", "sp"};
    if (c->end - c->at < 4)
        return false;
    for (int i = 0; i < 4; i++, c->at++) {
        if (*c->at != allowed[i][0] && *c->at != allowed[i][1])
            return false;
        ret[i] = *c->at;
    }
    ret[4] = '\0';
    return true;
}

static bool parse_map(struct cursor c, struct host_map *m)
{
    uint64_t major, minor;
    if (!take_hex(&c, &m->start) || !take_char(&c, '-') || !take_hex(&c, &m->end) ||
        !take_char(&c, ' ') || m->start >= m->end)
        return false;
    if (!take_permissions(&c, m->permissions) || !take_char(&c, ' '))
        return false;
    if (!take_hex(&c, &m->offset) || !take_char(&c, ' ') || !take_hex(&c, &major) ||
        !take_char(&c, ':') || !take_hex(&c, &minor) || !take_char(&c, ' ') ||
        !take_decimal(&c, &m->inode))
        return false;
    if (major > UINT32_MAX || minor > UINT32_MAX)
        return false;
    m->major = (uint32_t)major;
    m->minor = (uint32_t)minor;
    if (c.at < c.end && *c.at != ' ')
        return false;
    skip_blanks(&c);
    classify(c, m);
    return true;
}

int host_map_next(const char **text, const char *end, struct host_map *ret)
{
    struct cursor line;
    struct host_map m = {0};
    if (*text == end)
        return 0;
    if (!peek_line(*text, end, &line) || !parse_map(line, &m))
        return -EINVAL;
    *text = line.end + 1;
    *ret = m;
    return 1;
}

static const char *const smaps_kib_keys[] = {
    "Size",
    "KernelPageSize",
    "MMUPageSize",
    "Rss",
    "Pss",
    "Pss_Dirty",
    "Pss_Anon",
    "Pss_File",
    "Pss_Shmem",
    "Shared_Clean",
    "Shared_Dirty",
    "Private_Clean",
    "Private_Dirty",
    "Referenced",
    "Anonymous",
    "LazyFree",
    "AnonHugePages",
    "ShmemPmdMapped",
    "FilePmdMapped",
    "Shared_Hugetlb",
    "Private_Hugetlb",
    "Swap",
    "SwapPss",
    "Locked",
};

static bool take_word(struct cursor *c, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length))
        return false;
    c->at += length;
    return true;
}

static bool parse_vm_flags(struct cursor c, struct host_smaps_line *l)
{
    size_t size = 0;
    while (c.at < c.end) {
        if (c.end - c.at < 2 || size + 4 > sizeof(l->flags))
            return false;
        for (int i = 0; i < 2; i++, c.at++) {
            if ((*c.at < 'a' || *c.at > 'z') && (*c.at < '0' || *c.at > '9') && *c.at != '?')
                return false;
            l->flags[size++] = *c.at;
        }
        l->flags[size++] = ' ';
        if (c.at < c.end && !take_char(&c, ' '))
            return false;
    }
    l->key = "VmFlags";
    return true;
}

static bool parse_smaps_line(struct cursor line, struct host_smaps_line *l)
{
    struct cursor c = line;
    if (take_word(&c, "VmFlags:")) {
        skip_blanks(&c);
        return parse_vm_flags(c, l);
    }
    if (take_word(&c, "THPeligible:")) {
        l->key = "THPeligible";
        skip_blanks(&c);
        return take_decimal(&c, &l->value) && c.at == c.end;
    }
    for (size_t i = 0; i < ARRAY_SIZE(smaps_kib_keys); i++) {
        c = line;
        if (!take_word(&c, smaps_kib_keys[i]) || !take_char(&c, ':'))
            continue;
        l->key = smaps_kib_keys[i];
        l->is_kib = true;
        skip_blanks(&c);
        return take_decimal(&c, &l->value) && take_word(&c, " kB") && c.at == c.end;
    }
    return true;
}

int host_smaps_next(const char **text, const char *end, struct host_smaps_line *ret)
{
    struct cursor line;
    struct host_smaps_line l = {0};
    if (*text == end)
        return 0;
    if (!peek_line(*text, end, &line))
        return -EINVAL;
    /* Keys begin with a capital letter, addresses have none. */
    if (line.at == line.end || *line.at < 'A' || *line.at > 'Z')
        return -ENOENT;
    if (!parse_smaps_line(line, &l))
        return -EINVAL;
    *text = line.end + 1;
    *ret = l;
    return 1;
}

/* ---- keys ---- */

/* What follows "key", blanks, ":" and blanks in the first line that has it. */
static bool find_key(const char *text, size_t size, const char *key, struct cursor *ret)
{
    const char *end = text + size;
    struct cursor line;
    for (; text < end && peek_line(text, end, &line); text = line.end + 1) {
        struct cursor c = line;
        if (!take_word(&c, key))
            continue;
        skip_blanks(&c);
        if (!take_char(&c, ':'))
            continue;
        skip_blanks(&c);
        *ret = c;
        return true;
    }
    return false;
}

bool host_key_number(const char *text, size_t size, const char *key, uint64_t *ret)
{
    struct cursor c;
    uint64_t value;
    if (!find_key(text, size, key, &c) || !take_decimal(&c, &value))
        return false;
    if (c.at != c.end && !cursor_is(&c, " kB"))
        return false;
    *ret = value;
    return true;
}

bool host_key_text(const char *text, size_t text_size, const char *key, char *ret, size_t size)
{
    struct cursor c;
    size_t length = 0;
    if (!size || !find_key(text, text_size, key, &c))
        return false;
    for (; c.at < c.end && length + 1 < size; c.at++)
        if (*c.at >= ' ' && *c.at <= '~')
            ret[length++] = *c.at;
    ret[length] = '\0';
    return true;
}
