// SPDX-License-Identifier: Apache-2.0
#include "cli/config.h"

#include "cli/options.h"
#include "lib/policy/net.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define MAX_PREFIX "max-"
#define EXEMPT_MAX 64 /* networks */

/* What a file's keys go to. most, exempt: NULL where only the operator may set that. */
struct target {
    struct limit_layer *limits, *most;
    struct strv *exempt;
};

/* Somebody who may not even look into the folder, such as another user's home, has nothing there.
 */
static bool is_absent(const char *path, int error)
{
    struct stat st;
    return error == ENOENT || error == ENOTDIR ||
           (error == EACCES && lstat(path, &st) < 0 && errno == EACCES);
}

/* The whole file, NUL-terminated and to be freed; NULL in *ret when there is none. */
static int read_file(const char *path, char **ret, struct sandbox_error *e)
{
    struct stat st;
    *ret = NULL;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int error = errno;
    if (fd < 0 && is_absent(path, error))
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return sandbox_error_set(e, -error, "%s; make it readable", strerror(error));
    if (!S_ISREG(st.st_mode))
        return sandbox_error_set(e, -EINVAL, "not a file; put a text file there");
    _cleanup_free_ char *text = malloc(CONFIG_FILE_MAX_BYTES + 1);
    if (!text)
        return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    ssize_t size = read(fd, text, CONFIG_FILE_MAX_BYTES + 1);
    if (size < 0)
        return sandbox_error_set(e, -errno, "%s; check the file", strerror(errno));
    if (size > CONFIG_FILE_MAX_BYTES || memchr(text, '\0', (size_t)size))
        return sandbox_error_set(e, -EINVAL,
                                 "not a text file of at most %d KiB; see man "
                                 "glovebox.conf",
                                 CONFIG_FILE_MAX_BYTES / 1024);
    text[size] = '\0';
    *ret = TAKE_PTR(text);
    return 0;
}

/* Without blanks around it; changes text. */
static char *strip(char *text)
{
    text += strspn(text, " \t\r");
    size_t size = strlen(text);
    while (size > 0 && strchr(" \t\r", text[size - 1]))
        text[--size] = '\0';
    return text;
}

static const char *get_limit_name(const void *rows, size_t i)
{
    return ((const struct limit_row *)rows)[i].name;
}

static int unknown_key(const char *key, const char *name, struct sandbox_error *e)
{
    const char *prefix = name == key ? "" : MAX_PREFIX;
    const char *meant = cli_suggest(name, LIMIT_COUNT, get_limit_name, sandbox_limit_rows);
    if (meant)
        return sandbox_error_set(e, -EINVAL, "%s: no such key; did you mean %s%s?", key, prefix,
                                 meant);
    return sandbox_error_set(e, -EINVAL, "%s: no such key; see man glovebox.conf", key);
}

/* NETWORK[,...] */
static int take_exempt(char *value, struct strv *to, struct sandbox_error *e)
{
    struct policy_net net;
    char *word;
    if (!to)
        return sandbox_error_set(
            e, -EPERM, "floor-except: only " CONFIG_OPERATOR_FILE " opens the floor; leave it out");
    while ((word = strsep(&value, ","))) {
        word = strip(word);
        if (policy_net_parse(word, strlen(word), &net) < 0)
            return sandbox_error_set(e, -EINVAL,
                                     "floor-except: not a network; write 10.1.2.0/24 or fd00::/64");
        if (to->count >= EXEMPT_MAX)
            return sandbox_error_set(e, -E2BIG, "floor-except: more than %d networks; join some",
                                     EXEMPT_MAX);
        if (strv_append(to, word) < 0)
            return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    }
    return 0;
}

static int take_key(const char *key, char *value, const struct target *t, struct sandbox_error *e)
{
    struct limit_layer *l = t->limits, *most = t->most;
    bool is_most = !strncmp(key, MAX_PREFIX, strlen(MAX_PREFIX));
    const char *name = is_most ? key + strlen(MAX_PREFIX) : key;
    if (!strcmp(key, "floor-except"))
        return take_exempt(value, t->exempt, e);
    if (!strcmp(key, "ulimit"))
        return limit_take_rlimit(l, value, e);
    int which = 0;
    while (which < LIMIT_COUNT && strcmp(sandbox_limit_rows[which].name, name))
        which++;
    if (which == LIMIT_COUNT)
        return unknown_key(key, name, e);
    if (is_most && !most)
        return sandbox_error_set(
            e, -EPERM, "%s: only " CONFIG_OPERATOR_FILE " sets maxima; leave it out", key);
    struct limit_layer *to = is_most ? most : l;
    if (to->is_given[which])
        return sandbox_error_set(e, -EEXIST, "%s: it is there twice; leave one out", key);
    if (is_most && !strcmp(value, "none"))
        return sandbox_error_set(e, -EINVAL, "%s: none is no maximum; leave the line out", key);
    int r = limit_take(to, (enum sandbox_limit)which, value, e);
    return r < 0 ? sandbox_error_prefix(e, r, "%s", key) : 0;
}

static int take_line(char *line, const struct target *t, struct sandbox_error *e)
{
    line = strip(line);
    if (!*line || *line == '#')
        return 0;
    char *equals = strchr(line, '=');
    if (!equals)
        return sandbox_error_set(e, -EINVAL, "there is no '='; write KEY = VALUE");
    *equals = '\0';
    return take_key(strip(line), strip(equals + 1), t, e);
}

static int read_config(const char *path, const struct target *t, struct sandbox_error *e)
{
    _cleanup_free_ char *text = NULL;
    int r = read_file(path, &text, e);
    if (r < 0)
        return sandbox_error_prefix(e, r, "%s", path);
    char *rest = text, *line;
    for (unsigned number = 1; (line = strsep(&rest, "\n")); number++) {
        r = take_line(line, t, e);
        if (r < 0)
            return sandbox_error_prefix(e, r, "%s: line %u", path, number);
    }
    return 0;
}

int config_read(const char *path, struct limit_layer *l, struct limit_layer *most,
                struct sandbox_error *e)
{
    struct strv exempt = {0};
    const struct target t = {l, most, most ? &exempt : NULL};
    int r = read_config(path, &t, e);
    strv_done(&exempt);
    return r;
}

static bool find_user_file(char ret[static PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int size = 0;
    if (config && config[0] == '/')
        size = snprintf(ret, PATH_MAX, "%s/glovebox/config", config);
    else if (home && home[0] == '/')
        size = snprintf(ret, PATH_MAX, "%s/.config/glovebox/config", home);
    return size > 0 && size < PATH_MAX;
}

int config_load(struct config *c, struct sandbox_error *e)
{
    *c = (struct config){0};
    const struct target operator= {&c->operator, & c->most, &c->exempt};
    int r = read_config(CONFIG_OPERATOR_FILE, &operator, e);
    if (r < 0)
        return r;
    if (!find_user_file(c->user_file)) {
        c->user_file[0] = '\0';
        return 0;
    }
    return config_read(c->user_file, &c->user, NULL, e);
}

int config_resolve(const struct config *c, const struct limit_layer *options,
                   struct sandbox_limits *ret, struct sandbox_error *e)
{
    char user[PATH_MAX + 8];
    const struct limit_layer *layers[] = {options, &c->user, &c->operator};
    const char *const sources[] = {"--", user, CONFIG_OPERATOR_FILE ": "};
    snprintf(user, sizeof(user), "%s: ", c->user_file);
    return limit_resolve(layers, sources, ARRAY_SIZE(layers), &c->most, CONFIG_OPERATOR_FILE, ret,
                         e);
}
