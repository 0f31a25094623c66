// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/spec.h"

#include "lib/base/buf.h"
#include "lib/base/control.h"
#include "lib/base/trust.h"
#include "lib/seal/report.h"

#include <stdio.h>

#define DEFAULT_DISK_BYTES      (10ULL << 30)
#define DEFAULT_MEMORY_BYTES    (2ULL << 30)
#define DEFAULT_INODES          1000000
#define DEFAULT_PIDS            512
#define DEFAULT_CPU_THOUSANDTHS 2000
#define RECORD_MAX              65536
#define BAD_MAX_BYTES           256

static int read_all(int fd, struct buf *b)
{
    char piece[65536];
    for (;;) {
        ssize_t n = read(fd, piece, sizeof(piece));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        int r = buf_append(b, piece, (size_t)n);
        if (r < 0)
            return r;
    }
}

static bool parse_number(const char *s, uint64_t max, uint64_t *ret)
{
    char *end;
    if (*s < '0' || *s > '9')
        return false;
    errno = 0;
    unsigned long long v = strtoull(s, &end, 10);
    if (errno || *end || v > max)
        return false;
    *ret = v;
    return true;
}

static bool parse_unsigned(const char *s, unsigned *ret)
{
    uint64_t v;
    if (!parse_number(s, INT32_MAX, &v))
        return false;
    *ret = (unsigned)v;
    return true;
}

static bool parse_short(const char *s, unsigned *ret)
{
    unsigned v;
    if (!parse_unsigned(s, &v) || v > UINT16_MAX)
        return false;
    *ret = v;
    return true;
}

static bool parse_flag(const char *s, bool *ret)
{
    if (strcmp(s, "0") && strcmp(s, "1"))
        return false;
    *ret = s[0] == '1';
    return true;
}

static bool take_tmpfs(struct spec *s, char *value)
{
    struct spec_tmpfs *t = &s->tmpfs[s->tmpfs_count];
    char *colon = strchr(value, ':');
    *t = (struct spec_tmpfs){value, UINT64_MAX};
    if (colon) {
        *colon = '\0';
        if (!parse_number(colon + 1, INT64_MAX, &t->max_bytes))
            return false;
    }
    s->tmpfs_count++;
    return value[0] == '/';
}

static bool take_mount(struct spec *s, const char *key, const char *value)
{
    if (!strcmp(key, "mount.guest")) {
        s->mounts[s->mount_count++] = (struct spec_mount){.guest = value};
        return value[0] == '/';
    }
    if (s->mount_count == 0)
        return false;
    struct spec_mount *m = &s->mounts[s->mount_count - 1];
    if (!strcmp(key, "mount.host")) {
        m->host = value;
        return value[0] == '/';
    }
    m->read_only = !strcmp(value, "ro");
    return !strcmp(key, "mount.mode") && (m->read_only || !strcmp(value, "rw"));
}

/* N:SOFT:HARD */
static bool take_rlimit(struct spec_limits *l, char *value)
{
    uint64_t resource, soft, hard;
    char *first = strchr(value, ':');
    char *second = first ? strchr(first + 1, ':') : NULL;
    if (!second || l->rlimit_count >= ARRAY_SIZE(l->rlimits))
        return false;
    *first = *second = '\0';
    if (!parse_number(value, RLIM_NLIMITS - 1, &resource) ||
        !parse_number(first + 1, UINT64_MAX, &soft) ||
        !parse_number(second + 1, UINT64_MAX, &hard) || soft > hard)
        return false;
    l->rlimits[l->rlimit_count++] =
        (struct spec_rlimit){(int)resource, {.rlim_cur = soft, .rlim_max = hard}};
    return true;
}

static bool take_watch(struct spec_limits *l, char *value)
{
    char *word;
    while ((word = strsep(&value, ","))) {
        bool *flag = !strcmp(word, "memory") ? &l->watch_memory
                     : !strcmp(word, "pids") ? &l->watch_pids
                     : !strcmp(word, "cpu")  ? &l->watch_cpu
                                             : NULL;
        if (!flag)
            return false;
        *flag = true;
    }
    return true;
}

static bool take_limit(struct spec_limits *l, const char *key, char *value)
{
    const struct {
        const char *key;
        uint64_t *to;
    } numbers[] = {
        {"memory_bytes", &l->memory_bytes},
        {"disk_bytes", &l->disk_bytes},
        {"inodes", &l->inodes},
        {"cpu_budget_ns", &l->cpu_budget_ns},
        {"write_budget_bytes", &l->write_budget_bytes},
        {"send_budget_bytes", &l->send_budget_bytes},
        {"output_rate", &l->output_rate},
        {"idle_ns", &l->idle_ns},
    };
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (!strcmp(key, numbers[i].key))
            return parse_number(value, INT64_MAX, numbers[i].to);
    if (!strcmp(key, "pids"))
        return parse_unsigned(value, &l->pids);
    if (!strcmp(key, "cpu_thousandths"))
        return parse_unsigned(value, &l->cpu_thousandths);
    if (!strcmp(key, "rlimit"))
        return take_rlimit(l, value);
    return !strcmp(key, "watch") && take_watch(l, value);
}

static bool take_allow_missing(struct spec *s, const char *name)
{
    enum seal_control c;
    if (seal_control_find(name, &c) < 0 || !seal_control_may_miss(c))
        return false;
    s->allow_missing |= 1u << c;
    return true;
}

/* One certificate; what is in it is for the programs to judge. */
static bool take_ca(struct spec *s, const char *text)
{
    static const char begin[] = "-----BEGIN CERTIFICATE-----\n";
    static const char end[] = "\n-----END CERTIFICATE-----\n";
    size_t size = strlen(text);
    if (size > TRUST_PEM_MAX_BYTES || size < sizeof(begin) + sizeof(end) ||
        strncmp(text, begin, sizeof(begin) - 1) || strcmp(text + size - (sizeof(end) - 1), end))
        return false;
    s->ca = text;
    return true;
}

static bool take_ca_subject_hash(struct spec *s, const char *text)
{
    uint64_t hash;
    if (!parse_number(text, UINT32_MAX, &hash))
        return false;
    s->ca_subject_hash = (uint32_t)hash;
    return true;
}

static bool take_record(struct spec *s, const char *key, char *value)
{
    const struct {
        const char *key;
        const char **to;
    } strings[] = {
        {"image", &s->image},       {"workdir", &s->workdir}, {"user", &s->user},
        {"hostname", &s->hostname}, {"store", &s->store},     {"known_hosts", &s->known_hosts},
    };
    for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
        if (!strcmp(key, strings[i].key)) {
            *strings[i].to = value;
            return true;
        }
    }
    if (!strcmp(key, "arg")) {
        s->argv[s->argc++] = value;
        return true;
    }
    if (!strcmp(key, "env")) {
        s->envp[s->envc++] = value;
        return strchr(value, '=') != NULL;
    }
    if (!strcmp(key, "tmpfs"))
        return take_tmpfs(s, value);
    if (!strncmp(key, "mount.", 6))
        return take_mount(s, key, value);
    if (!strcmp(key, "allow_missing"))
        return take_allow_missing(s, value);
    if (!strcmp(key, "speculation_barriers"))
        return parse_flag(value, &s->speculation_barriers);
    if (!strcmp(key, "tty"))
        return parse_flag(value, &s->tty);
    if (!strcmp(key, "trace"))
        return parse_flag(value, &s->trace);
    if (!strcmp(key, "null_input"))
        return parse_flag(value, &s->null_input);
    if (!strcmp(key, "waits"))
        return parse_flag(value, &s->waits);
    if (!strcmp(key, "gateway"))
        return parse_flag(value, &s->has_gateway);
    if (!strcmp(key, "ca"))
        return take_ca(s, value);
    if (!strcmp(key, "ca_subject_hash"))
        return take_ca_subject_hash(s, value);
    if (!strcmp(key, "rows"))
        return parse_short(value, &s->rows);
    if (!strcmp(key, "columns"))
        return parse_short(value, &s->columns);
    if (!strcmp(key, "cpus"))
        return parse_short(value, &s->cpus);
    return take_limit(&s->limits, key, value);
}

static bool is_complete(const struct spec *s)
{
    for (size_t i = 0; i < s->mount_count; i++)
        if (!s->mounts[i].host)
            return false;
    return (s->argc > 0) != s->waits && s->image &&
           (!strcmp(s->image, "host") || s->image[0] == '/');
}

static bool is_of_command(const char *key)
{
    static const char *const keys[] = {"arg", "env",  "workdir", "user",
                                       "tty", "rows", "columns", "null_input"};
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (!strcmp(key, keys[i]))
            return true;
    return false;
}

static int take_records(struct spec *s, struct buf *b, bool is_command, const char **ret_bad)
{
    for (char *at = b->data, *next; at < b->data + b->size; at = next) {
        next = at + strlen(at) + 1;
        char *equals = strchr(at, '=');
        *ret_bad = at;
        if (!equals)
            return -EINVAL;
        *equals = '\0';
        if ((is_command && !is_of_command(at)) || !take_record(s, at, equals + 1))
            return -EINVAL;
    }
    *ret_bad = "something is missing";
    return (is_command ? s->argc > 0 : is_complete(s)) ? 0 : -EINVAL;
}

void spec_done(struct spec *s)
{
    free(s->argv);
    free(s->envp);
    free(s->mounts);
    free(s->tmpfs);
    free(s->text);
    *s = (struct spec){0};
}

/* As many records of each kind as there are records at all. */
static int read_records(struct buf *b, size_t count, bool is_command, struct spec *ret,
                        const char **ret_bad)
{
    static char bad[BAD_MAX_BYTES];
    struct spec s = {
        .text = b->data,
        .hostname = "glovebox",
        .user = "user",
        .store = "/var/tmp",
        .cpus = 2,
        .limits = {.memory_bytes = DEFAULT_MEMORY_BYTES,
                   .disk_bytes = DEFAULT_DISK_BYTES,
                   .inodes = DEFAULT_INODES,
                   .pids = DEFAULT_PIDS,
                   .cpu_thousandths = DEFAULT_CPU_THOUSANDTHS},
        .argv = calloc(count + 1, sizeof(char *)),
        .envp = calloc(count + 1, sizeof(char *)),
        .mounts = calloc(count + 1, sizeof(struct spec_mount)),
        .tmpfs = calloc(count + 1, sizeof(struct spec_tmpfs)),
    };
    int r = s.argv && s.envp && s.mounts && s.tmpfs ? take_records(&s, b, is_command, ret_bad)
                                                    : -ENOMEM;
    if (r < 0) {
        snprintf(bad, sizeof(bad), "%s", *ret_bad);
        *ret_bad = bad;
        spec_done(&s);
        return r;
    }
    *ret = s;
    return 0;
}

static int read_spec(int fd, bool is_command, struct spec *ret, const char **ret_bad)
{
    struct buf b = BUF_INIT(CONTROL_SPEC_MAX_BYTES);
    *ret_bad = "the specification as a whole";
    int r = read_all(fd, &b);
    size_t records = 0;
    for (size_t i = 0; i < b.size; i++)
        records += b.data[i] == '\0';
    if (r == 0 && (b.size == 0 || b.data[b.size - 1] != '\0' || records > RECORD_MAX))
        r = -EINVAL;
    if (r < 0) {
        buf_done(&b);
        return r;
    }
    return read_records(&b, records, is_command, ret, ret_bad);
}

int spec_read(int fd, struct spec *ret, const char **ret_bad)
{
    return read_spec(fd, false, ret, ret_bad);
}

int spec_read_command(int fd, struct spec *ret, const char **ret_bad)
{
    return read_spec(fd, true, ret, ret_bad);
}
