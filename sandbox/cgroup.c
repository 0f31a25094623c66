// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>

#define MOUNTS         "/sys/fs/cgroup"
#define TEXT_MAX_BYTES 8192
#define CPU_PERIOD_US  100000
/* Beside those that the sandbox's kernel counts: itself, the init, and tasks that have ended for it
 * and not yet for the host. */
#define PIDS_MORE 64
/*
 * A task that has ended is in its group until the host has switched away from it: of many with much
 * memory, on a busy machine, that can take a while.
 */
#define REMOVE_TRIES       20
#define REMOVE_TRIES_OF_US 2000
#define REMOVE_STEP_NS     NSEC_PER_MSEC

static const char *const names[CGROUP_CONTROLLER_COUNT] = {
    [CGROUP_MEMORY] = "memory",
    [CGROUP_CPU] = "cpu",
    [CGROUP_PIDS] = "pids",
};

/* A whole small file, NUL-terminated. */
static int read_text(const char *path, char *text, size_t size)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, text, size - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    return 0;
}

static bool join_path(char ret[static PATH_MAX], const char *folder, const char *name)
{
    return (size_t)snprintf(ret, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

static int read_file(const char *folder, const char *name, char *text, size_t size)
{
    char path[PATH_MAX];
    return join_path(path, folder, name) ? read_text(path, text, size) : -ENAMETOOLONG;
}

static int write_file(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX];
    if (!join_path(path, folder, name))
        return -ENAMETOOLONG;
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Is word one of those in text, apart by separators? */
static bool has_word(const char *text, size_t size, const char *separators, const char *word)
{
    size_t at = 0, word_size = strlen(word);
    while (at < size) {
        size_t length = strcspn(text + at, separators);
        length = MIN(length, size - at);
        if (length == word_size && !strncmp(text + at, word, length))
            return true;
        at += length + 1;
    }
    return false;
}

/*
 * Where this process is, from the lines ID:CONTROLLERS:PATH of /proc/self/cgroup; controller ""
 * asks for the unified hierarchy, which has none in its line.
 */
static bool find_own_path(const char *text, const char *controller, char ret[static PATH_MAX])
{
    while (*text) {
        size_t line = strcspn(text, "\n");
        const char *list = memchr(text, ':', line);
        const char *path = list ? memchr(list + 1, ':', line - (size_t)(list + 1 - text)) : NULL;
        size_t list_size = path ? (size_t)(path - list - 1) : 0;
        bool matches = path && (controller[0] ? has_word(list + 1, list_size, ",:", controller)
                                              : list_size == 0);
        size_t size = path ? line - (size_t)(path + 1 - text) : 0;
        if (matches && size > 0 && size < PATH_MAX && path[1] == '/') {
            /* The root is "/": no slash at the end of what is put together from it. */
            snprintf(ret, PATH_MAX, "%.*s", size == 1 ? 0 : (int)size, path + 1);
            return true;
        }
        text += line + (text[line] ? 1 : 0);
    }
    return false;
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void add_group(struct cgroup *c, unsigned version, unsigned controllers, const char *parent,
                      const char *name)
{
    struct cgroup_group *g = &c->groups[c->count];
    g->version = version;
    g->controllers = controllers;
    g->is_made = false;
    g->join = -1;
    if (join_path(g->path, parent, name))
        c->count++;
}

/*
 * False when this machine has the controller elsewhere. In a container without a cgroup namespace
 * the mount shows only its own group, under no name.
 */
static bool plan_v1(struct cgroup *c, const char *name, enum cgroup_controller which,
                    const char *text, const char *root)
{
    char own[PATH_MAX], mount[PATH_MAX], parent[2 * PATH_MAX];
    if (!find_own_path(text, names[which], own) || !join_path(mount, root, names[which]))
        return false;
    snprintf(parent, sizeof(parent), "%s%s", mount, own);
    add_group(c, 1, 1U << which, is_directory(parent) ? parent : mount, name);
    return true;
}

static unsigned read_controllers(const char *folder, const char *file)
{
    char text[TEXT_MAX_BYTES];
    unsigned controllers = 0;
    if (read_file(folder, file, text, sizeof(text)) < 0)
        return 0;
    for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        if (has_word(text, strlen(text), " \n", names[i]))
            controllers |= 1U << i;
    return controllers;
}

/*
 * Groups with processes can be made below it: it has none itself, or is the root of all, which
 * alone has no type. Others would become "domain threaded" by what we write, and be of no use to
 * anybody (cgroups(7), "no internal processes" and threaded mode).
 */
static bool may_hold_groups(const char *folder)
{
    char path[PATH_MAX], text[64];
    if (access(folder, W_OK) < 0 || !join_path(path, folder, "cgroup.procs") ||
        access(path, W_OK) < 0)
        return false;
    if (!join_path(path, folder, "cgroup.type") || access(path, F_OK) < 0)
        return true;
    if (read_text(path, text, sizeof(text)) < 0 || strcmp(text, "domain\n") != 0)
        return false;
    return join_path(path, folder, "cgroup.procs") && read_text(path, text, sizeof(text)) >= 0 &&
           text[0] == '\0';
}

/*
 * It is root's, as a slice of systemd's, and there are groups in it, of services: what is handed
 * down is systemd's to choose. In a folder that was delegated, a user's own, it is ours.
 */
static bool is_somebody_elses(const char *folder)
{
    const struct dirent *e;
    struct stat st;
    if (stat(folder, &st) < 0 || st.st_uid != 0)
        return false;
    DIR *dir = opendir(folder);
    bool found = false;
    while (dir && !found && (e = readdir(dir)))
        found = e->d_type == DT_DIR && e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return found;
}

/*
 * What of the wanted controllers groups below folder would have. Those that are not handed down
 * yet are, where that is for us to do: else it would change others' groups, and be taken back.
 */
static unsigned take_controllers(const char *folder, unsigned wanted)
{
    if (!may_hold_groups(folder))
        return 0;
    unsigned there = read_controllers(folder, "cgroup.subtree_control") & wanted;
    unsigned missing = read_controllers(folder, "cgroup.controllers") & wanted & ~there;
    if (missing && is_somebody_elses(folder))
        return there;
    for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        char change[32];
        snprintf(change, sizeof(change), "+%s", names[i]);
        if ((missing & 1U << i) && write_file(folder, "cgroup.subtree_control", change) == 0)
            there |= 1U << i;
    }
    return there;
}

static void plan_v2(struct cgroup *c, const char *name, unsigned wanted, const char *text,
                    const char *root)
{
    char own[PATH_MAX], folder[2 * PATH_MAX], mount[PATH_MAX], file[PATH_MAX];
    if (!find_own_path(text, "", own))
        return;
    /* Beside hierarchies of version 1 it has a folder of its own. */
    bool is_hybrid = join_path(file, root, "cgroup.controllers") && access(file, F_OK) < 0;
    if (!join_path(mount, root, is_hybrid ? "unified" : "."))
        return;
    snprintf(folder, sizeof(folder), "%s%s", mount, own);
    for (;;) {
        unsigned controllers = take_controllers(folder, wanted);
        if (controllers) {
            add_group(c, 2, controllers, folder, name);
            return;
        }
        char *slash = strrchr(folder, '/');
        if (!slash || strlen(folder) <= strlen(mount))
            return;
        *slash = '\0';
    }
}

/* A limit that the machine can't go past needs nobody to enforce it. */
static bool needs_cpu_limit(const struct sandbox_limits *l)
{
    cpu_set_t set;
    if (l->value[LIMIT_CPUS] == 0)
        return false;
    return sched_getaffinity(0, sizeof(set), &set) < 0 ||
           l->value[LIMIT_CPUS] < (uint64_t)CPU_COUNT(&set) * 1000;
}

static unsigned wanted_controllers(const struct sandbox_limits *l)
{
    return (l->value[LIMIT_MEMORY] ? 1U << CGROUP_MEMORY : 0) |
           (needs_cpu_limit(l) ? 1U << CGROUP_CPU : 0) |
           (l->value[LIMIT_PIDS] ? 1U << CGROUP_PIDS : 0);
}

void cgroup_plan(struct cgroup *c, const char *name, const struct sandbox_limits *l,
                 const char *text, const char *root)
{
    char own[TEXT_MAX_BYTES];
    unsigned wanted = wanted_controllers(l), unified = 0;
    *c = CGROUP_NONE;
    if (!text && read_text("/proc/self/cgroup", own, sizeof(own)) < 0)
        return;
    text = text ? text : own;
    root = root ? root : MOUNTS;
    for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        if ((wanted & 1U << i) && !plan_v1(c, name, (enum cgroup_controller)i, text, root))
            unified |= 1U << i;
    if (unified)
        plan_v2(c, name, unified, text, root);
}

/* Memory that is swapped out counts too; a host without swap is not asked about it. */
static bool has_swap(void)
{
    struct sysinfo info;
    return sysinfo(&info) < 0 || info.totalswap > 0;
}

static int limit_memory(const struct cgroup_group *g, const struct sandbox_limits *l)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64, l->value[LIMIT_MEMORY]);
    int r = write_file(g->path, g->version == 1 ? "memory.limit_in_bytes" : "memory.max", text);
    if (r < 0 || !has_swap())
        return r;
    r = g->version == 1 ? write_file(g->path, "memory.memsw.limit_in_bytes", text)
                        : write_file(g->path, "memory.swap.max", "0");
    return r == -ENOENT ? 0 : r;
}

static int limit_cpu(const struct cgroup_group *g, const struct sandbox_limits *l)
{
    char text[64];
    uint64_t quota_us = l->value[LIMIT_CPUS] * (CPU_PERIOD_US / 1000);
    if (g->version == 1) {
        /* The period is 100 ms unless somebody says otherwise: sched-bwc.rst. */
        snprintf(text, sizeof(text), "%" PRIu64, quota_us);
        return write_file(g->path, "cpu.cfs_quota_us", text);
    }
    snprintf(text, sizeof(text), "%" PRIu64 " %d", quota_us, CPU_PERIOD_US);
    return write_file(g->path, "cpu.max", text);
}

static int limit_pids(const struct cgroup_group *g, const struct sandbox_limits *l)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64, l->value[LIMIT_PIDS] + PIDS_MORE);
    return write_file(g->path, "pids.max", text);
}

static int (*const set_limit[CGROUP_CONTROLLER_COUNT])(const struct cgroup_group *,
                                                       const struct sandbox_limits *) = {
    [CGROUP_MEMORY] = limit_memory,
    [CGROUP_CPU] = limit_cpu,
    [CGROUP_PIDS] = limit_pids,
};

static bool open_join(struct cgroup_group *g)
{
    char path[PATH_MAX];
    if (g->version == 2)
        g->join = open(g->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    else if (join_path(path, g->path, "tasks"))
        g->join = open(path, O_WRONLY | O_CLOEXEC);
    return g->join >= 0;
}

static bool make_group(struct cgroup_group *g)
{
    /* An empty one of that name can only be what somebody of our pid has left. */
    g->is_made = mkdir(g->path, 0755) == 0 ||
                 (errno == EEXIST && rmdir(g->path) == 0 && mkdir(g->path, 0755) == 0);
    return g->is_made && open_join(g);
}

/* What of its controllers limit now. Nothing is left of a group that is of no use. */
static unsigned start_group(struct cgroup_group *g, const struct sandbox_limits *l)
{
    unsigned works = 0;
    if (make_group(g))
        for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
            if ((g->controllers & 1U << i) && set_limit[i](g, l) == 0)
                works |= 1U << i;
    g->controllers = works;
    if (works)
        return works;
    base_closep(&g->join);
    g->join = -1;
    if (g->is_made)
        rmdir(g->path);
    g->is_made = false;
    return 0;
}

void cgroup_make(struct cgroup *c, const struct sandbox_limits *l, struct sandbox_controls *ret)
{
    unsigned wanted = wanted_controllers(l);
    enum limited_by by[CGROUP_CONTROLLER_COUNT];
    for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
        by[i] = wanted & 1U << i ? LIMITED_BY_KERNEL : LIMITED_BY_NOTHING;
    if (l->value[LIMIT_CPUS] && !(wanted & 1U << CGROUP_CPU))
        by[CGROUP_CPU] = LIMITED_BY_MACHINE;
    for (size_t g = 0; g < c->count; g++) {
        unsigned works = start_group(&c->groups[g], l);
        for (size_t i = 0; i < CGROUP_CONTROLLER_COUNT; i++)
            if (works & 1U << i)
                by[i] = c->groups[g].version == 1 ? LIMITED_BY_CGROUP_V1 : LIMITED_BY_CGROUP_V2;
    }
    *ret = (struct sandbox_controls){
        .memory = by[CGROUP_MEMORY], .cpus = by[CGROUP_CPU], .pids = by[CGROUP_PIDS]};
}

void cgroup_unthrottle(const struct cgroup *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct cgroup_group *g = &c->groups[i];
        if (!g->is_made || !(g->controllers & 1U << CGROUP_CPU))
            continue;
        if (g->version == 1)
            write_file(g->path, "cpu.cfs_quota_us", "-1");
        else
            write_file(g->path, "cpu.max", "max");
    }
}

int cgroup_clone_target(const struct cgroup *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->groups[i].version == 2 && c->groups[i].join >= 0)
            return c->groups[i].join;
    return -1;
}

void cgroup_forgo_unified(struct cgroup *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct cgroup_group *g = &c->groups[i];
        if (g->version != 2 || !g->is_made)
            continue;
        base_closep(&g->join);
        g->join = -1;
        g->controllers = 0;
        g->is_made = !cgroup_remove_path(g->path);
    }
}

void cgroup_close(struct cgroup *c)
{
    for (size_t i = 0; i < c->count; i++) {
        base_closep(&c->groups[i].join);
        c->groups[i].join = -1;
    }
}

/* The number in a file, or behind a word at the start of one of its lines; 0 when there is none. */
static uint64_t read_number(const char *folder, const char *file, const char *word)
{
    char text[TEXT_MAX_BYTES];
    const char *at = text;
    if (read_file(folder, file, text, sizeof(text)) < 0)
        return 0;
    size_t size = word ? strlen(word) : 0;
    while (word && (strncmp(at, word, size) || at[size] != ' ')) {
        at += strcspn(at, "\n");
        if (!*at)
            return 0;
        at++;
    }
    return strtoull(at + size, NULL, 10);
}

static const struct cgroup_group *memory_group(const struct cgroup *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct cgroup_group *g = &c->groups[i];
        if (g->is_made && g->controllers & 1U << CGROUP_MEMORY)
            return g;
    }
    return NULL;
}

int cgroup_read_memory(const struct cgroup *c, struct cgroup_memory *ret)
{
    struct cgroup_memory m = {0};
    const struct cgroup_group *g = memory_group(c);
    int r = cgroup_read_memory_peak(c, &m);
    if (r < 0)
        return r;
    if (g->version == 1) {
        m.used_bytes = read_number(g->path, "memory.usage_in_bytes", NULL);
        m.cache_bytes = read_number(g->path, "memory.stat", "total_cache");
        m.limit_hits = read_number(g->path, "memory.failcnt", NULL);
    } else {
        m.used_bytes = read_number(g->path, "memory.current", NULL);
        m.cache_bytes = read_number(g->path, "memory.stat", "file");
        m.limit_hits = read_number(g->path, "memory.events", "max");
    }
    *ret = m;
    return 0;
}

int cgroup_read_memory_peak(const struct cgroup *c, struct cgroup_memory *ret)
{
    const struct cgroup_group *g = memory_group(c);
    if (!g)
        return -ENOENT;
    bool is_first = g->version == 1;
    ret->peak_bytes =
        read_number(g->path, is_first ? "memory.max_usage_in_bytes" : "memory.peak", NULL);
    ret->oom_kills =
        read_number(g->path, is_first ? "memory.oom_control" : "memory.events", "oom_kill");
    return 0;
}

static bool remove_path(const char *path, int tries)
{
    const struct timespec step = {.tv_nsec = REMOVE_STEP_NS};
    for (int i = 0; i < tries; i++) {
        if (rmdir(path) == 0 || errno == ENOENT)
            return true;
        if (errno != EBUSY)
            return false;
        nanosleep(&step, NULL);
    }
    return false;
}

bool cgroup_remove_path(const char *path)
{
    return remove_path(path, REMOVE_TRIES);
}

bool cgroup_remove(struct cgroup *c)
{
    bool all = true;
    cgroup_close(c);
    for (size_t i = 0; i < c->count; i++) {
        if (!c->groups[i].is_made)
            continue;
        c->groups[i].is_made = !remove_path(c->groups[i].path, REMOVE_TRIES_OF_US);
        all &= !c->groups[i].is_made;
    }
    return all;
}
