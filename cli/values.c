// SPDX-License-Identifier: Apache-2.0
#include "cli/values.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static int no_memory(struct sandbox_error *e)
{
    return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
}

/* The digits at *text; moves *text behind them. False when there are none or too many. */
static bool take_number(const char **text, uint64_t *ret)
{
    const char *s = *text;
    uint64_t value = 0;
    if (!isdigit((unsigned char)*s))
        return false;
    for (; isdigit((unsigned char)*s); s++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
            return false;
    *text = s;
    *ret = value;
    return true;
}

bool cli_parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *ret)
{
    uint64_t value;
    if (!take_number(&text, &value) || *text || value < least || value > most)
        return false;
    *ret = value;
    return true;
}

int cli_parse_choice(const char *text, const char *yes, const char *no, bool *ret,
                     struct sandbox_error *e)
{
    if (strcmp(text, yes) != 0 && strcmp(text, no) != 0)
        return sandbox_error_set(e, -EINVAL, "neither %s nor %s; give one of them", yes, no);
    *ret = !strcmp(text, yes);
    return 0;
}

int cli_parse_size(const char *text, uint64_t *ret_bytes, struct sandbox_error *e)
{
    static const char units[] = "KMGT";
    const char *s = text;
    uint64_t value;
    if (!take_number(&s, &value))
        goto bad;
    const char *unit = *s ? strchr(units, toupper((unsigned char)*s)) : NULL;
    if (unit) {
        s++;
        uint64_t factor = UINT64_C(1) << (10 * (unit - units + 1));
        if (__builtin_mul_overflow(value, factor, &value))
            goto bad;
        if (s[0] == 'i' && toupper((unsigned char)s[1]) == 'B')
            s++;
    }
    if (toupper((unsigned char)*s) == 'B')
        s++;
    if (*s || value == 0 || value > INT64_MAX)
        goto bad;
    *ret_bytes = value;
    return 0;
bad:
    return sandbox_error_set(e, -EINVAL,
                             "'%s' is not a size; write a whole number of bytes or with K, M, G or "
                             "T, for example 64M",
                             text);
}

/* The part behind a decimal point, as nanoseconds of a unit of unit_ns. */
static int64_t take_fraction(const char **text, int64_t unit_ns)
{
    int64_t sum = 0;
    for (; isdigit((unsigned char)**text); (*text)++) {
        unit_ns /= 10;
        sum += (**text - '0') * unit_ns;
    }
    return sum;
}

int cli_parse_time(const char *text, int64_t *ret_ns, struct sandbox_error *e)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {
        {"", NSEC_PER_SEC},       {"ms", NSEC_PER_MSEC},      {"s", NSEC_PER_SEC},
        {"m", 60 * NSEC_PER_SEC}, {"h", 3600 * NSEC_PER_SEC},
    };
    const char *s = text;
    uint64_t whole;
    int64_t ns;
    if (!take_number(&s, &whole))
        goto bad;
    const char *fraction = NULL;
    if (*s == '.' && isdigit((unsigned char)s[1])) {
        fraction = ++s;
        s += strspn(s, "0123456789");
    }
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (strcmp(s, units[i].name))
            continue;
        if (__builtin_mul_overflow(whole, units[i].ns, &ns))
            goto bad;
        if (fraction && __builtin_add_overflow(ns, take_fraction(&fraction, units[i].ns), &ns))
            goto bad;
        if (ns <= 0 || ns > CLI_TIME_MAX_NS)
            goto bad;
        *ret_ns = ns;
        return 0;
    }
bad:
    return sandbox_error_set(
        e, -EINVAL,
        "'%s' is not a time; write seconds or a number with ms, s, m or h, more "
        "than 0 and at most a year, for example 30 or 500ms",
        text);
}

int cli_parse_mount(const char *text, char **ret_host, char **ret_guest, bool *ret_read_only,
                    struct sandbox_error *e)
{
    _cleanup_free_ char *host = strdup(text);
    if (!host)
        return no_memory(e);
    if (!strncmp(text, "type=", 5) || !strncmp(text, "src=", 4) || !strncmp(text, "source=", 7))
        return sandbox_error_set(e, -EINVAL,
                                 "the form with keys is not known; write HOST:GUEST[:ro|rw]");
    char *last = strrchr(host, ':');
    if (!last)
        return sandbox_error_set(e, -EINVAL,
                                 "there is no place in the sandbox; write HOST:GUEST[:ro|rw]");
    bool read_only = !strcmp(last, ":ro");
    if (read_only || !strcmp(last, ":rw")) {
        *last = '\0';
        last = strrchr(host, ':');
        if (!last)
            return sandbox_error_set(e, -EINVAL,
                                     "there is no place in the sandbox; write HOST:GUEST[:ro|rw]");
    } else if (last[1] != '/' && memchr(host, ':', (size_t)(last - host))) {
        return sandbox_error_set(e, -EINVAL, "'%s' is not a mode; write ro or rw", last + 1);
    }
    char *guest = strdup(last + 1);
    if (!guest)
        return no_memory(e);
    *last = '\0';
    *ret_host = TAKE_PTR(host);
    *ret_guest = guest;
    *ret_read_only = read_only;
    return 0;
}

int cli_parse_tmpfs(const char *text, char **ret_path, uint64_t *ret_bytes, struct sandbox_error *e)
{
    const char *colon = strchr(text, ':');
    uint64_t bytes = 0;
    if (colon) {
        const char *size = colon + 1;
        if (!strncmp(size, "size=", 5))
            size += 5;
        int r = cli_parse_size(size, &bytes, e);
        if (r < 0)
            return r;
    }
    char *path = colon ? strndup(text, (size_t)(colon - text)) : strdup(text);
    if (!path)
        return no_memory(e);
    *ret_path = path;
    *ret_bytes = bytes;
    return 0;
}

static bool parse_port(const char *text, size_t size, uint64_t least, uint16_t *ret)
{
    char digits[6];
    uint64_t value;
    if (size == 0 || size >= sizeof(digits))
        return false;
    memcpy(digits, text, size);
    digits[size] = '\0';
    if (!cli_parse_number(digits, least, UINT16_MAX, &value))
        return false;
    *ret = (uint16_t)value;
    return true;
}

static bool parse_address(const char *text, size_t size, struct in6_addr *ret)
{
    static const struct in6_addr mapped = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}}};
    char name[INET6_ADDRSTRLEN];
    bool is_v6 = size >= 2 && text[0] == '[' && text[size - 1] == ']';
    if (is_v6) {
        text++;
        size -= 2;
    }
    if (size == 0 || size >= sizeof(name))
        return false;
    memcpy(name, text, size);
    name[size] = '\0';
    if (is_v6)
        return inet_pton(AF_INET6, name, ret) == 1 && !IN6_IS_ADDR_V4MAPPED(ret);
    *ret = mapped;
    return inet_pton(AF_INET, strcmp(name, "localhost") ? name : "127.0.0.1", &ret->s6_addr[12]) ==
           1;
}

int cli_parse_forward(const char *text, struct port_forward *ret, struct sandbox_error *e)
{
    const char *address = "127.0.0.1", *colon = strrchr(text, ':');
    const char *guest = colon ? colon + 1 : text, *own = colon ? text : guest;
    const char *own_end = colon ? colon : guest + strlen(guest);
    size_t address_size = strlen(address);
    struct port_forward f;
    const char *before = colon ? memrchr(text, ':', (size_t)(colon - text)) : NULL;
    if (before) {
        address = text;
        address_size = (size_t)(before - text);
        own = before + 1;
    }
    if (!parse_port(guest, strlen(guest), 1, &f.guest_port) ||
        !parse_port(own, (size_t)(own_end - own), colon ? 0 : 1, &f.port) ||
        !parse_address(address, address_size, &f.address))
        return sandbox_error_set(e, -EINVAL,
                                 "'%.80s' is no port to forward; write [ADDRESS:]PORT:GUESTPORT, "
                                 "for example 8080:80 or [::1]:8080:80",
                                 text);
    *ret = f;
    return 0;
}

int cli_take_env(struct strv *env, const char *text, struct sandbox_error *e)
{
    size_t size = strcspn(text, "=");
    if (size == 0)
        return sandbox_error_set(
            e, -EINVAL,
            "there is no name before the '='; write NAME=VALUE, or NAME for the "
            "value that it has here");
    for (size_t i = 0; i < size; i++)
        if (isspace((unsigned char)text[i]))
            return sandbox_error_set(
                e, -EINVAL,
                "there is a blank in the name; write NAME=VALUE without blanks "
                "around the '='");
    _cleanup_free_ char *name = strndup(text, size);
    if (!name)
        return no_memory(e);
    const char *value = text[size] ? text + size + 1 : getenv(name);
    return strv_env_set(env, name, value) < 0 ? no_memory(e) : 0;
}

static int read_env_file(const char *path, char **ret, struct sandbox_error *e)
{
    struct stat st;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return sandbox_error_set(e, -errno, "%s; check the path", strerror(errno));
    if (S_ISDIR(st.st_mode))
        return sandbox_error_set(e, -EISDIR, "it is a directory; give a file");
    _cleanup_free_ char *data = malloc(CLI_ENV_FILE_MAX_BYTES + 1);
    if (!data)
        return no_memory(e);
    size_t size = 0;
    while (size <= CLI_ENV_FILE_MAX_BYTES) {
        ssize_t n = read(fd, data + size, CLI_ENV_FILE_MAX_BYTES + 1 - size);
        if (n < 0)
            return sandbox_error_set(e, -errno, "%s; check the file", strerror(errno));
        if (n == 0)
            break;
        size += (size_t)n;
    }
    if (size > CLI_ENV_FILE_MAX_BYTES)
        return sandbox_error_set(e, -E2BIG, "it is larger than 1 MiB; give a smaller file");
    if (memchr(data, '\0', size))
        return sandbox_error_set(e, -EINVAL, "it is not a text file; give lines of NAME=VALUE");
    data[size] = '\0';
    *ret = TAKE_PTR(data);
    return 0;
}

int cli_take_env_file(struct strv *env, const char *path, struct sandbox_error *e)
{
    _cleanup_free_ char *data = NULL;
    int r = read_env_file(path, &data, e);
    if (r < 0)
        return r;
    char *rest = data, *line;
    for (unsigned number = 1; (line = strsep(&rest, "\n")); number++) {
        size_t line_size = strlen(line);
        if (line_size > 0 && line[line_size - 1] == '\r')
            line[line_size - 1] = '\0';
        line += strspn(line, " \t");
        if (!*line || *line == '#')
            continue;
        r = cli_take_env(env, line, e);
        if (r < 0)
            return sandbox_error_prefix(e, r, "line %u", number);
    }
    return 0;
}
