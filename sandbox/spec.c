// SPDX-License-Identifier: Apache-2.0
#include "sandbox/spec.h"

#include "lib/base/control.h"
#include "lib/base/gateway.h"
#include "lib/base/trust.h"
#include "lib/seal/report.h"
#include "sandbox/port_messages.h"
#include "sandbox/secrets.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

static int no_memory(struct sandbox_error *e)
{
    return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
}

/* Replaces *field with a copy of value. */
static int set_string(char **field, const char *value, struct sandbox_error *e)
{
    char *copy = strdup(value);
    if (!copy)
        return no_memory(e);
    free(*field);
    *field = copy;
    return 0;
}

static void mount_done(struct sandbox_mount *m)
{
    free(m->guest);
    free(m->host);
}

void sandbox_spec_done(struct sandbox_spec *s)
{
    free(s->image);
    free(s->workdir);
    free(s->user);
    free(s->hostname);
    free(s->name);
    free(s->store);
    if (s->policy)
        explicit_bzero(s->policy, strlen(s->policy)); /* a secret may be in it word for word */
    free(s->policy);
    free(s->known_hosts);
    sandbox_secrets_free(s->secrets);
    free(s->egress_log);
    strv_done(&s->exempt);
    strv_done(&s->args);
    strv_done(&s->env);
    strv_done(&s->labels);
    for (size_t i = 0; i < s->mount_count; i++)
        mount_done(&s->mounts[i]);
    free(s->mounts);
    free(s->publish);
    *s = (struct sandbox_spec){0};
}

/*
 * Takes ".", ".." and doubled slashes out of an absolute path. By the letters alone, as docker
 * does: symbolic links of the image are not known here.
 */
static int clean_path(const char *path, char **ret, struct sandbox_error *e)
{
    if (path[0] != '/')
        return sandbox_error_set(
            e, -EINVAL, "'%s' is not an absolute path of the sandbox; begin it with /", path);
    if (strlen(path) > SANDBOX_PATH_MAX_BYTES)
        return sandbox_error_set(e, -ENAMETOOLONG,
                                 "the path is longer than %d bytes; use a shorter one",
                                 SANDBOX_PATH_MAX_BYTES);
    char *clean = malloc(strlen(path) + 2);
    if (!clean)
        return no_memory(e);
    size_t size = 0;
    while (*path) {
        path += strspn(path, "/");
        size_t part = strcspn(path, "/");
        if (part == 2 && !strncmp(path, "..", 2)) {
            while (size > 0 && clean[--size] != '/')
                ;
        } else if (part > 0 && !(part == 1 && path[0] == '.')) {
            clean[size++] = '/';
            memcpy(clean + size, path, part);
            size += part;
        }
        path += part;
    }
    if (size == 0)
        clean[size++] = '/';
    clean[size] = '\0';
    *ret = clean;
    return 0;
}

int sandbox_spec_set_image(struct sandbox_spec *s, const char *image, struct sandbox_error *e)
{
    if (!strcmp(image, "host")) {
        free(s->image);
        s->image = NULL;
        return 0;
    }
    struct stat st;
    if (stat(image, &st) < 0)
        return sandbox_error_set(e, -errno, "%s; give host or the directory of a root file system",
                                 errno == ENOENT ? "no such directory" : strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return sandbox_error_set(
            e, -ENOTDIR, "not a directory; give host or the directory of a root file system");
    _cleanup_free_ char *absolute = realpath(image, NULL);
    if (!absolute)
        return sandbox_error_set(e, -errno, "%s; check the path", strerror(errno));
    return set_string(&s->image, absolute, e);
}

int sandbox_spec_set_workdir(struct sandbox_spec *s, const char *path, struct sandbox_error *e)
{
    _cleanup_free_ char *clean = NULL;
    int r = clean_path(path, &clean, e);
    if (r < 0)
        return r;
    return set_string(&s->workdir, clean, e);
}

/* A uid or gid as the kernel has them: the last one, (uid_t)-1, means "none". */
static bool is_id(const char *s, size_t size)
{
    uint64_t value = 0;
    if (size == 0 || size > 10)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (!isdigit((unsigned char)s[i]))
            return false;
        value = value * 10 + (uint64_t)(s[i] - '0');
    }
    return value < UINT32_MAX;
}

/* A name as useradd(8) takes them. */
static bool is_user_name(const char *s, size_t size)
{
    if (size == 0 || size > 32 || !(isalpha((unsigned char)s[0]) || s[0] == '_'))
        return false;
    for (size_t i = 1; i < size; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr("_-.", s[i]))
            return false;
    return true;
}

int sandbox_spec_set_user(struct sandbox_spec *s, const char *user, struct sandbox_error *e)
{
    const char *colon = strchr(user, ':');
    size_t size = colon ? (size_t)(colon - user) : strlen(user);
    if (!is_id(user, size) && !is_user_name(user, size))
        return sandbox_error_set(
            e, -EINVAL, "not a user; give a name or a number, for example root or 1000:1000");
    const char *group = colon ? colon + 1 : "0";
    if (!is_id(group, strlen(group)) && !is_user_name(group, strlen(group)))
        return sandbox_error_set(e, -EINVAL, "not a group after the colon; for example 1000:1000");
    return set_string(&s->user, user, e);
}

int sandbox_spec_set_hostname(struct sandbox_spec *s, const char *hostname, struct sandbox_error *e)
{
    size_t size = strlen(hostname);
    bool good = size > 0 && size <= SANDBOX_HOSTNAME_MAX_BYTES;
    for (size_t i = 0; good && i < size; i++)
        good = isalnum((unsigned char)hostname[i]) ||
               (i > 0 && i + 1 < size && strchr("-.", hostname[i]));
    if (!good)
        return sandbox_error_set(e, -EINVAL,
                                 "not a host name; use 1 to %d letters, digits, '-' and '.'",
                                 SANDBOX_HOSTNAME_MAX_BYTES);
    return set_string(&s->hostname, hostname, e);
}

int sandbox_spec_set_name(struct sandbox_spec *s, const char *name, struct sandbox_error *e)
{
    size_t size = strlen(name);
    bool good = size > 0 && size <= SANDBOX_NAME_MAX_BYTES;
    for (size_t i = 0; good && i < size; i++)
        good = isalnum((unsigned char)name[i]) || (i > 0 && strchr("_.-", name[i]));
    if (!good)
        return sandbox_error_set(e, -EINVAL,
                                 "not a name; use 1 to %d letters, digits, '_', '-' and '.', the "
                                 "first a letter or digit",
                                 SANDBOX_NAME_MAX_BYTES);
    return set_string(&s->name, name, e);
}

/* The parts of the tree that the kernel makes itself and relies upon. */
static int check_mount_point(const struct sandbox_spec *s, const char *guest,
                             struct sandbox_error *e)
{
    static const char *const reserved[] = {"/proc", "/sys", "/dev"};
    if (!strcmp(guest, "/"))
        return sandbox_error_set(e, -EBUSY,
                                 "nothing can be mounted over /; to run another tree use --image");
    for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
        size_t size = strlen(reserved[i]);
        if (!strncmp(guest, reserved[i], size) && (guest[size] == '/' || !guest[size]))
            return sandbox_error_set(e, -EBUSY,
                                     "nothing can be mounted over %s, the sandbox makes it itself; "
                                     "choose another place",
                                     reserved[i]);
    }
    for (size_t i = 0; i < s->mount_count; i++)
        if (!strcmp(s->mounts[i].guest, guest))
            return sandbox_error_set(
                e, -EEXIST, "two mounts at %s; leave one out or choose another place", guest);
    if (s->mount_count >= SANDBOX_MOUNTS_MAX)
        return sandbox_error_set(e, -E2BIG,
                                 "more than %d mounts; mount a directory that holds several",
                                 SANDBOX_MOUNTS_MAX);
    return 0;
}

/* Appends m; takes its strings over on success. */
static int append_mount(struct sandbox_spec *s, const struct sandbox_mount *m,
                        struct sandbox_error *e)
{
    struct sandbox_mount *mounts = reallocarray(s->mounts, s->mount_count + 1, sizeof(*mounts));
    if (!mounts)
        return no_memory(e);
    s->mounts = mounts;
    mounts[s->mount_count++] = *m;
    return 0;
}

static int check_mount_source(const char *host, struct sandbox_error *e)
{
    struct stat st;
    if (host[0] == '\0')
        return sandbox_error_set(e, -EINVAL,
                                 "no host path before the colon; write HOST:GUEST[:ro|rw]");
    if (stat(host, &st) < 0) {
        if (errno == ENOENT)
            return sandbox_error_set(
                e, -ENOENT, "'%s' does not exist on the host; create it or correct the path", host);
        return sandbox_error_set(e, -errno, "'%s': %s; check the path and its permissions", host,
                                 strerror(errno));
    }
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return sandbox_error_set(
            e, -EINVAL, "'%s' is neither a file nor a directory; mount one of these", host);
    return 0;
}

int sandbox_spec_add_mount(struct sandbox_spec *s, const char *host, const char *guest,
                           bool read_only, struct sandbox_error *e)
{
    _cleanup_free_ char *place = NULL;
    int r = check_mount_source(host, e);
    if (r < 0)
        return r;
    r = clean_path(guest, &place, e);
    if (r < 0)
        return r;
    r = check_mount_point(s, place, e);
    if (r < 0)
        return r;
    _cleanup_free_ char *absolute = realpath(host, NULL);
    if (!absolute)
        return sandbox_error_set(e, -errno, "'%s': %s; check the path and its permissions", host,
                                 strerror(errno));
    struct sandbox_mount m = {.guest = place, .host = absolute, .read_only = read_only};
    r = append_mount(s, &m, e);
    if (r < 0)
        return r;
    place = absolute = NULL; /* taken */
    return 0;
}

int sandbox_spec_add_publish(struct sandbox_spec *s, const struct port_forward *f,
                             struct sandbox_error *e)
{
    if (s->publish_count >= PORT_PUBLISHED_MAX)
        return sandbox_error_set(e, -E2BIG, "there are more than %d; leave some out",
                                 PORT_PUBLISHED_MAX);
    struct port_forward *more = realloc(s->publish, (s->publish_count + 1) * sizeof(*more));
    if (!more)
        return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    s->publish = more;
    s->publish[s->publish_count++] = *f;
    return 0;
}

int sandbox_spec_add_tmpfs(struct sandbox_spec *s, const char *path, uint64_t bytes,
                           struct sandbox_error *e)
{
    _cleanup_free_ char *place = NULL;
    if (strchr(path, ':'))
        return sandbox_error_set(e, -EINVAL, "'%s' has a colon in it; choose another place", path);
    int r = clean_path(path, &place, e);
    if (r < 0)
        return r;
    r = check_mount_point(s, place, e);
    if (r < 0)
        return r;
    struct sandbox_mount m = {.guest = place, .bytes = bytes};
    r = append_mount(s, &m, e);
    if (r < 0)
        return r;
    place = NULL; /* taken */
    return 0;
}

/* File systems that are known for files without a name: nothing has to be made to find out. */
static bool is_known_store(const char *path)
{
    static const unsigned long types[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                          F2FS_SUPER_MAGIC, TMPFS_MAGIC};
    struct statfs st;
    if (statfs(path, &st) < 0 || (st.f_flags & ST_RDONLY))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if ((unsigned long)st.f_type == types[i])
            return faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0;
    return false;
}

static bool can_be_store(const char *path)
{
    _cleanup_close_ int fd = -1;
    if (!path || path[0] != '/')
        return false;
    if (is_known_store(path))
        return true;
    fd = open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0;
}

int sandbox_spec_choose_store(struct sandbox_spec *s, struct sandbox_error *e)
{
    const char *const candidates[] = {getenv("TMPDIR"), "/var/tmp", "/tmp", "/dev/shm"};
    if (s->store)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(candidates); i++)
        if (can_be_store(candidates[i]))
            return set_string(&s->store, candidates[i], e);
    return sandbox_error_set(e, -EOPNOTSUPP,
                             "files of sandboxes: none of $TMPDIR, /var/tmp, /tmp and /dev/shm can "
                             "hold unnamed files; set TMPDIR to a writable directory on ext4, xfs, "
                             "btrfs or tmpfs");
}

/* A record with its NUL. */
static void append_record(struct buf *b, const char *key, const char *value)
{
    buf_append_str(b, key);
    buf_append(b, "=", 1);
    buf_append(b, value, strlen(value) + 1);
}

static void append_optional(struct buf *b, const char *key, const char *value)
{
    if (value)
        append_record(b, key, value);
}

static void append_number(struct buf *b, const char *key, uint64_t value)
{
    buf_printf(b, "%s=%" PRIu64, key, value);
    buf_append(b, "", 1);
}

static void append_mount_records(struct buf *b, const struct sandbox_mount *m)
{
    if (m->host) {
        append_record(b, "mount.guest", m->guest);
        append_record(b, "mount.host", m->host);
        append_record(b, "mount.mode", m->read_only ? "ro" : "rw");
        return;
    }
    buf_printf(b, "tmpfs=%s", m->guest);
    if (m->bytes)
        buf_printf(b, ":%" PRIu64, m->bytes);
    buf_append(b, "", 1);
}

/*
 * As many as the sandbox's programs can keep busy: what they start one thread for each of is
 * throttled otherwise.
 */
static uint64_t count_cpus(const struct sandbox_limits *l)
{
    cpu_set_t set;
    uint64_t count = 1, most = (l->value[LIMIT_CPUS] + 999) / 1000;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        count = (uint64_t)MAX(CPU_COUNT(&set), 1);
    return most ? MIN(count, most) : count;
}

/* By the letters, whatever their case: npm takes its own in either. */
static bool has_variable(const struct strv *env, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < env->count; i++)
        if (!strncasecmp(env->items[i], name, size) && env->items[i][size] == '=')
            return true;
    return false;
}

/* What the caller says of a variable holds, also that it is empty. */
static void append_authority(const struct sandbox_spec *s, struct buf *b)
{
    buf_append_str(b, "ca=");
    sandbox_ca_write_pem(s->ca, b);
    buf_append(b, "", 1);
    append_number(b, "ca_subject_hash", s->ca->subject_hash);
    for (size_t i = 0; i < trust_variable_count; i++) {
        const struct trust_variable *v = &trust_variables[i];
        if (has_variable(&s->env, v->name))
            continue;
        buf_printf(b, "env=%s=%s", v->name, v->value);
        buf_append(b, "", 1);
    }
}

static void append_agent(const struct sandbox_spec *s, struct buf *b)
{
    append_record(b, "known_hosts", s->known_hosts);
    if (!has_variable(&s->env, "SSH_AUTH_SOCK"))
        append_record(b, "env", "SSH_AUTH_SOCK=" GATEWAY_AGENT_PATH);
}

int sandbox_spec_write(const struct sandbox_spec *s, const struct sandbox_controls *controls,
                       struct buf *b, struct sandbox_error *e)
{
    append_record(b, "image", s->image ? s->image : "host");
    for (size_t i = 0; i < s->args.count; i++)
        append_record(b, "arg", s->args.items[i]);
    if (s->waits)
        append_number(b, "waits", 1);
    for (size_t i = 0; i < s->env.count; i++)
        append_record(b, "env", s->env.items[i]);
    append_optional(b, "workdir", s->workdir);
    append_optional(b, "user", s->user);
    append_optional(b, "hostname", s->hostname);
    append_optional(b, "store", s->store);
    for (int c = 0; c < SEAL_CONTROL_COUNT; c++)
        if (s->allow_missing & 1u << c)
            append_record(b, "allow_missing", seal_control_name((enum seal_control)c));
    if (s->speculation_barriers)
        append_number(b, "speculation_barriers", 1);
    for (size_t i = 0; i < s->mount_count; i++)
        append_mount_records(b, &s->mounts[i]);
    if (s->tty) {
        append_number(b, "tty", 1);
        append_number(b, "rows", s->rows);
        append_number(b, "columns", s->columns);
    }
    if (s->null_input)
        append_number(b, "null_input", 1);
    if (s->policy)
        append_number(b, "gateway", 1);
    if (s->known_hosts)
        append_agent(s, b);
    if (s->ca)
        append_authority(s, b);
    if (s->trace)
        append_number(b, "trace", 1);
    append_number(b, "cpus", count_cpus(&s->limits));
    sandbox_limits_write(&s->limits, controls, b);
    if (b->failed || s->args.count + s->env.count > SANDBOX_WORDS_MAX)
        return sandbox_error_set(
            e, -E2BIG,
            "arguments and environment: more than %u MiB or %d words; pass large "
            "data through a file or standard input",
            CONTROL_SPEC_MAX_BYTES >> 20, SANDBOX_WORDS_MAX);
    return 0;
}
