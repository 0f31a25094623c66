// SPDX-License-Identifier: Apache-2.0
#include "probes/canary.h"

#define SCAN_BYTES 65536

static const char *find_fact(const char *name)
{
    char variable[64];
    snprintf(variable, sizeof(variable), "GLOVEBOX_PROBE_%s", name);
    const char *value = getenv(variable);
    return value && value[0] ? value : NULL;
}

const char *canary_fact(const char *name)
{
    const char *value = find_fact(name);
    if (!value)
        probe_skip("not told of %s on the host", name);
    return value;
}

long canary_number(const char *name)
{
    return strtol(canary_fact(name), NULL, 10);
}

const char *canary_path(const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", canary_fact("FOLDER"), name) < 0)
        probe_unproved("out of memory");
    return path;
}

bool canary_is_in(const char *data, size_t size)
{
    static const size_t prefix_size = sizeof(TOKEN_PREFIX) - 1;
    const char *hash = find_fact("HASH");
    uint64_t expected = hash ? strtoull(hash, NULL, 16) : 0;
    const char *at = data, *end = data + size;
    while (hash && (at = memmem(at, (size_t)(end - at), TOKEN_PREFIX, prefix_size))) {
        if ((size_t)(end - at) >= prefix_size + TOKEN_DIGITS &&
            token_hash(at, prefix_size + TOKEN_DIGITS) == expected)
            return true;
        at += prefix_size;
    }
    return false;
}

void canary_check_descriptor(int fd, const char *what)
{
    static char data[SCAN_BYTES];
    ssize_t n = pread(fd, data, sizeof(data), 0);
    if (n < 0)
        n = read(fd, data, sizeof(data));
    if (n > 0 && canary_is_in(data, (size_t)n))
        probe_escaped("%s shows the host's file", what);
}

void canary_check_at(int directory, const char *path, int flags, const char *what)
{
    int fd = openat(directory, path, flags | O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    canary_check_descriptor(fd, what);
    close(fd);
}

void canary_check_path(const char *path)
{
    canary_check_at(AT_FDCWD, path, 0, path);
}
