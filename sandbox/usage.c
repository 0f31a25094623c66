// SPDX-License-Identifier: Apache-2.0
#include "sandbox/usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

/* A process that forks all the time could be followed forever. */
#define PROCESSES_MAX 65536

static int read_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, text, size - 1);
    if (n <= 0)
        return -ESRCH;
    text[n] = '\0';
    return 0;
}

/* The name stands in parentheses and may have any in it: proc(5). utime, stime and num_threads are
 * the 14th, 15th and 20th. */
bool usage_parse_stat(const char *line, struct usage_stat *ret)
{
    const char *at = strrchr(line, ')');
    uint64_t user, system;
    unsigned threads;
    if (!at || sscanf(at + 1,
                      " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
                      " %*d %*d %*d %*d %u",
                      &user, &system, &threads) != 3)
        return false;
    *ret = (struct usage_stat){.cpu_ticks = user + system, .threads = threads};
    return true;
}

/* Resident pages that are in no file, from /proc/PID/statm. */
static uint64_t read_private_bytes(pid_t pid)
{
    char text[128];
    uint64_t resident, shared;
    if (read_proc(pid, "statm", text, sizeof(text)) < 0 ||
        sscanf(text, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) != 2 || resident < shared)
        return 0;
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct pids {
    pid_t *items;
    size_t count, capacity;
};

static bool append(struct pids *p, pid_t pid)
{
    if (p->count == p->capacity) {
        size_t capacity = MAX(2 * p->capacity, (size_t)64);
        pid_t *items = reallocarray(p->items, capacity, sizeof(*items));
        if (!items)
            return false;
        p->items = items;
        p->capacity = capacity;
    }
    p->items[p->count++] = pid;
    return p->count < PROCESSES_MAX;
}

/* Those that one thread has made. */
static bool append_children_of(struct pids *p, pid_t pid, pid_t thread)
{
    char path[64];
    int child;
    bool room = true;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, thread);
    FILE *f = fopen(path, "re");
    if (!f)
        return true;
    while (room && fscanf(f, "%d", &child) == 1)
        room = append(p, child);
    fclose(f);
    return room;
}

/* Those that any thread of a process has made, and whose parent it so is. */
static bool append_children(struct pids *p, pid_t pid)
{
    char path[64];
    bool room = true;
    const struct dirent *entry;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    while (threads && room && (entry = readdir(threads)))
        if (entry->d_name[0] != '.')
            room = append_children_of(p, pid, (pid_t)strtol(entry->d_name, NULL, 10));
    if (threads)
        closedir(threads);
    return room;
}

static bool add_process(struct sandbox_usage *u, pid_t pid, bool is_program)
{
    char line[1024];
    struct usage_stat stat;
    if (read_proc(pid, "stat", line, sizeof(line)) < 0 || !usage_parse_stat(line, &stat))
        return false;
    u->cpu_ns += (int64_t)stat.cpu_ticks * (NSEC_PER_SEC / sysconf(_SC_CLK_TCK));
    u->memory_bytes += read_private_bytes(pid);
    u->processes += is_program;
    u->threads += is_program ? stat.threads : 0;
    return true;
}

int usage_read(const struct record *r, struct sandbox_usage *ret)
{
    struct sandbox_usage u = {.is_memory_estimated = true};
    struct cgroup_memory m;
    struct pids pids = {0};
    if (r->pid <= 0 || !add_process(&u, r->pid, false))
        return -ESRCH;
    u.kernel_cpu_ns = u.cpu_ns;
    bool room = append_children(&pids, r->pid);
    size_t inits = pids.count;
    for (size_t i = 0; room && i < pids.count; i++) {
        room = append_children(&pids, pids.items[i]);
        add_process(&u, pids.items[i], i >= inits);
    }
    free(pids.items);
    if (cgroup_read_memory(&r->cgroup, &m) == 0 && m.used_bytes) {
        u.memory_bytes = m.used_bytes;
        u.peak_memory_bytes = m.peak_bytes;
        u.cache_bytes = m.cache_bytes;
        u.is_memory_estimated = false;
        u.oom_kills = m.oom_kills;
    }
    *ret = u;
    return 0;
}
