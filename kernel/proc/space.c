// SPDX-License-Identifier: Apache-2.0
/* host calls: close fcntl fstat getdents64 newfstatat */
#include "kernel/proc/space.h"

#include "kernel/core/kernel.h"
#include "kernel/host/host.h"
#include "kernel/host/spare.h"

#include <dirent.h>
#include <stdio.h>

#define MAPS_TEXT_MAX (4u << 20)
#define TIDY_MIN      128          /* so many files are not worth a look */
#define SETTLED_NS    NSEC_PER_SEC /* by then the host has run an mmap that was let through */

static struct address_space *new_in_family(struct space_family *family)
{
    struct address_space *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->refs = 1;
    s->dumpable = true;
    s->family = family;
    family->space_count++;
    return s;
}

struct address_space *space_new(void)
{
    struct space_family *family = calloc(1, sizeof(*family));
    struct address_space *s = family ? new_in_family(family) : NULL;
    if (!s)
        free(family);
    return s;
}

struct address_space *space_get(struct address_space *s)
{
    s->refs++;
    return s;
}

static void mapped_file_free(struct mapped_file *m)
{
    path_put(&m->path);
    inode_put(m->inode);
    free(m);
}

void space_put(struct address_space *s)
{
    size_t cursor = 0;
    uint64_t key;
    void *value;
    if (!s || --s->refs > 0)
        return;
    while (map_next(&s->mapped_files, &cursor, &key, &value))
        mapped_file_free(value);
    map_done(&s->mapped_files);
    path_put(&s->exe);
    if (s->exe_file) {
        s->exe_file->inode->executing--;
        file_put(s->exe_file);
    }
    free(s->cmdline);
    if (--s->family->space_count == 0)
        free(s->family);
    free(s);
}

static int note(struct address_space *s, uint64_t host_ino, struct path path, struct inode *inode)
{
    if (s->mapped_files.count >= LIMIT_MAPPED_FILES)
        return -ENOSPC;
    struct mapped_file *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->path = path_get(path);
    m->inode = inode_get(inode);
    m->noted_ns = clock_monotonic_ns();
    struct mapped_file *old = map_get(&s->mapped_files, host_ino);
    if (map_set(&s->mapped_files, host_ino, m) < 0) {
        mapped_file_free(m);
        return -ENOMEM;
    }
    if (old)
        mapped_file_free(old);
    return 0;
}

void space_note_mapping(struct address_space *s, const struct file *f, struct hostfd fd)
{
    struct stat st;
    if (fstat(fd.n, &st) < 0)
        return;
    struct mapped_file *old = map_get(&s->mapped_files, st.st_ino);
    if (old && old->inode == f->inode && path_is_same(old->path, f->path)) {
        old->noted_ns = clock_monotonic_ns();
        return;
    }
    note(s, st.st_ino, f->path, f->inode);
}

/* ---- forgetting ---- */

/* Adds the inode of each line of a maps file, "start-end perms offset dev inode name", to set. */
static int collect_inodes(const char *text, struct map *set)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        unsigned long inode;
        if (sscanf(line, "%*x-%*x %*4s %*x %*x:%*x %lu", &inode) != 1)
            return -EIO;
        if (inode != 0 && map_set(set, inode, set) < 0)
            return -ENOMEM;
    }
    return 0;
}

int space_read_maps(const struct process *p, char **ret_text)
{
    char name[32];
    _cleanup_free_ char *text = malloc(MAPS_TEXT_MAX);
    if (!text)
        return -ENOMEM;
    snprintf(name, sizeof(name), "%d/maps", process_living_host_tid(p));
    ssize_t n = host->read_proc(name, text, MAPS_TEXT_MAX);
    if (n < 0)
        return (int)n;
    if ((size_t)n + 1 >= MAPS_TEXT_MAX)
        return -EFBIG;
    *ret_text = TAKE_PTR(text);
    return 0;
}

/* The inodes of all files that p maps on the host. */
static int read_inodes(const struct process *p, struct map *set)
{
    _cleanup_free_ char *text = NULL;
    int r = space_read_maps(p, &text);
    return r < 0 ? r : collect_inodes(text, set);
}

static bool is_alone(const struct thread *t)
{
    const struct process *p = t->process;
    return p->space->refs == 1 && p->threads.next->next == &p->threads && !p->embryo;
}

/* Some that are older than newest_ns and not in `mapped`: how many. */
static size_t forget_some(struct map *files, const struct map *mapped, int64_t newest_ns)
{
    uint64_t gone[64], key;
    size_t count = 0, cursor = 0;
    void *value;
    while (count < ARRAY_SIZE(gone) && map_next(files, &cursor, &key, &value)) {
        const struct mapped_file *m = value;
        if (!map_get(mapped, key) && m->noted_ns <= newest_ns)
            gone[count++] = key;
    }
    for (size_t i = 0; i < count; i++)
        mapped_file_free(map_remove(files, gone[i]));
    return count;
}

bool space_forget_unmapped(const struct thread *t)
{
    struct map mapped = {0};
    size_t forgotten = 0;
    int64_t newest_ns = is_alone(t) ? INT64_MAX : clock_monotonic_ns() - SETTLED_NS;
    /* If that can't be known, what is noted stays. */
    if (read_inodes(t->process, &mapped) == 0) {
        size_t n;
        while ((n = forget_some(&t->process->space->mapped_files, &mapped, newest_ns)) > 0)
            forgotten += n;
    }
    map_done(&mapped);
    return forgotten > 0;
}

void space_tidy(const struct thread *t)
{
    struct address_space *s = t->process->space;
    if (s->mapped_files.count < MAX(s->tidy_count, (size_t)TIDY_MIN))
        return;
    space_forget_unmapped(t);
    s->tidy_count = s->mapped_files.count * 2;
}

void space_set_program(struct address_space *s, struct path exe, struct file *exe_file,
                       char *cmdline, size_t cmdline_size)
{
    s->exe = path_get(exe);
    s->exe_file = exe_file;
    exe_file->inode->executing++;
    s->cmdline = cmdline;
    s->cmdline_size = cmdline_size;
}

struct address_space *space_copy(const struct address_space *s)
{
    struct address_space *copy = new_in_family(s->family);
    if (!copy)
        return NULL;
    size_t cursor = 0;
    uint64_t key;
    void *value;
    while (map_next(&s->mapped_files, &cursor, &key, &value)) {
        const struct mapped_file *m = value;
        if (note(copy, key, m->path, m->inode) < 0)
            break;
    }
    char *cmdline = s->cmdline ? malloc(s->cmdline_size + 1) : NULL;
    if (cmdline)
        memcpy(cmdline, s->cmdline, s->cmdline_size);
    if (s->exe_file)
        space_set_program(copy, s->exe, file_get(s->exe_file), cmdline,
                          cmdline ? s->cmdline_size : 0);
    copy->stub_start = s->stub_start;
    copy->stub_end = s->stub_end;
    copy->handler = s->handler;
    copy->restorer = s->restorer;
    copy->vector = s->vector;
    copy->dumpable = s->dumpable;
    copy->changes_files = s->changes_files;
    copy->fork_depth = s->fork_depth + 1;
    copy->memory.mapping_count = s->memory.mapping_count;
    return copy;
}

bool space_meet_threads(struct process *p)
{
    char name[32];
    snprintf(name, sizeof(name), "%d/task", p->host_pid);
    int fd = spare_open(kernel.proc_dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        spare_refill();
        return false;
    }
    bool met = false;
    struct dirent *entry;
    while (!met && (entry = readdir(dir))) {
        pid_t host_tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (host_tid > 0 && !thread_find_host(host_tid) && !thread_is_leaving(host_tid))
            met = thread_for_notification(host_tid) != NULL;
    }
    closedir(dir);
    spare_refill();
    return met;
}
