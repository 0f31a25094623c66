// SPDX-License-Identifier: Apache-2.0
#include "sandbox/decisions.h"

#include "lib/text/shown.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define FOLDER     "egress"
#define NAME_TRIES 1000
/* A file is not locked yet in the moment after it was made. */
#define NEW_S 10
/* Of what may be too old, so many are looked at by each start. */
#define SWEEP_LOOKS   4
#define SWEEP_ENTRIES 4096

static int open_folder(int parent, bool is_made)
{
    if (is_made && mkdirat(parent, FOLDER, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(parent, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / NSEC_PER_MSEC;
}

/* NUMBER.NAME: the number and the name; others are not of ours. */
static bool parse_name(const char *file, int64_t *ret_number, const char **ret_name)
{
    char *end;
    size_t size = strlen(file);
    if (!isdigit((unsigned char)file[0]) || file[size - 1] == '~' || size > DECISIONS_FILE_NAME_MAX)
        return false;
    errno = 0;
    long long number = strtoll(file, &end, 10);
    if (errno || *end != '.')
        return false;
    *ret_number = number;
    *ret_name = end + 1;
    return true;
}

static void name_older(const char *name, char ret[static DECISIONS_FILE_NAME_MAX + 2])
{
    snprintf(ret, DECISIONS_FILE_NAME_MAX + 2, "%s~", name);
}

/* ---- the starter's ---- */

static int create(int folder, const char *name)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = openat(folder, name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    if (fcntl(fd, F_OFD_SETLK, &whole) == 0)
        return fd;
    int error = errno;
    close(fd);
    return -error;
}

/* Milliseconds since 1970, or the next number that is free. */
static int create_first(struct decisions *d)
{
    int64_t number = now_ms();
    int fd = -EEXIST;
    for (int i = 0; fd == -EEXIST && i < NAME_TRIES; i++) {
        snprintf(d->name, sizeof(d->name), "%" PRId64 ".%s", number + i, d->sandbox);
        fd = create(d->folder, d->name);
    }
    return fd;
}

int decisions_open(struct decisions *d, const struct registry *r, struct sandbox_error *e)
{
    *d = DECISIONS_CLOSED;
    d->sandbox = r->name;
    int fd = open_folder(r->folder, true);
    if (fd >= 0) {
        d->folder = fd;
        fd = create_first(d);
    }
    if (fd >= 0) {
        d->file = fd;
        return 0;
    }
    decisions_close(d);
    return sandbox_error_set(e, fd, "%s/" FOLDER ": %s; %s", r->path, strerror(-fd),
                             fd == -EMFILE || fd == -ENFILE
                                 ? "raise the limit of open files (ulimit -n)"
                                 : "make room there");
}

static void stop(struct decisions *d)
{
    base_closep(&d->file);
    d->file = -1;
}

/* What is in the file becomes what is before it. */
static void turn_over(struct decisions *d)
{
    char older[DECISIONS_FILE_NAME_MAX + 2];
    name_older(d->name, older);
    stop(d);
    if (renameat(d->folder, d->name, d->folder, older) < 0)
        return;
    int fd = create(d->folder, d->name);
    d->file = fd < 0 ? -1 : fd;
    d->size = 0;
}

static bool is_line(const char *line, size_t size)
{
    if (size < 2 || size > DECISIONS_LINE_MAX_BYTES || line[0] != '{' || line[size - 1] != '}')
        return false;
    for (size_t i = 0; i < size; i++)
        if (line[i] < ' ' || line[i] > '~')
            return false;
    return true;
}

bool decisions_add(struct decisions *d, const char *line, size_t size)
{
    char text[DECISIONS_LINE_MAX_BYTES + 1];
    if (!is_line(line, size))
        return false;
    if (d->file >= 0 && d->size + size + 1 > DECISIONS_FILE_MAX_BYTES)
        turn_over(d);
    if (d->file < 0)
        return true;
    memcpy(text, line, size);
    text[size] = '\n';
    if (write(d->file, text, size + 1) == (ssize_t)size + 1)
        d->size += size + 1;
    else if (ftruncate(d->file, (off_t)d->size) < 0) /* no half of a line */
        stop(d);
    return true;
}

static void add_object(struct decisions *d, json_t *o)
{
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    if (text)
        decisions_add(d, text, strlen(text));
    free(text);
    json_decref(o);
}

static json_t *new_object(const struct decisions *d, const char *event)
{
    char text[64];
    int64_t ms = now_ms();
    time_t seconds = ms / 1000;
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t size = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + size, sizeof(text) - size, ".%03dZ", (int)(ms % 1000));
    return json_pack("{s:s, s:s, s:s, s:s}", "ts", text, "sandbox", d->sandbox, "event", event,
                     "decision", "deny");
}

void decisions_add_folded(struct decisions *d, uint64_t count)
{
    json_t *o = new_object(d, "folded");
    if (o)
        json_object_set_new(o, "count", json_integer((json_int_t)count));
    add_object(d, o);
}

/* Whether one more is written; those that are not are told as a number. */
static bool take_rate(struct decisions *d)
{
    int64_t second = now_ms() / 1000;
    if (second != d->second) {
        d->second = second;
        d->denied_count = 0;
    }
    if (d->denied_count++ < DECISIONS_DENIED_PER_S)
        return true;
    d->folded++;
    return false;
}

static void tell_folded(struct decisions *d)
{
    if (d->folded)
        decisions_add_folded(d, d->folded);
    d->folded = 0;
}

void decisions_add_denied(struct decisions *d, unsigned protocol, uint16_t port, const char *what,
                          size_t size)
{
    char shown[512], words[640], at[16] = "";
    if (!take_rate(d))
        return;
    tell_folded(d);
    text_line(what, size, shown, sizeof(shown));
    bool is_v6 = protocol && strchr(shown, ':');
    if (protocol)
        snprintf(at, sizeof(at), "%s:%u", is_v6 ? "]" : "", port);
    snprintf(words, sizeof(words),
             "this sandbox has no network policy; start it with --allow %s%s%s", is_v6 ? "[" : "",
             shown, at);
    json_t *o = new_object(d, protocol ? "connect" : "dns");
    if (o && protocol) {
        json_object_set_new(o, "proto", json_string(protocol == IPPROTO_UDP ? "udp" : "tcp"));
        json_object_set_new(o, "dst", json_string(shown));
        json_object_set_new(o, "port", json_integer(port));
    } else if (o) {
        json_object_set_new(o, "name", json_string(shown));
    }
    if (o) {
        json_object_set_new(o, "reason", json_string("no_policy"));
        json_object_set_new(o, "words", json_string(words));
    }
    add_object(d, o);
}

void decisions_close(struct decisions *d)
{
    if (d->file >= 0)
        tell_folded(d);
    base_closep(&d->file);
    base_closep(&d->folder);
    d->file = d->folder = -1;
}

/* ---- sweeping ---- */

struct entry {
    int64_t number;
    char name[DECISIONS_FILE_NAME_MAX + 1];
};

static int compare_entries(const void *a, const void *b)
{
    int64_t x = ((const struct entry *)a)->number, y = ((const struct entry *)b)->number;
    return (x > y) - (x < y);
}

typedef bool (*entry_fn)(int64_t number, const char *file, const char *name, void *userdata);

/* Calls fn for each record, until it says false. */
static void for_each(int folder, entry_fn fn, void *userdata)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    const struct dirent *e;
    if (!dir) {
        base_closep(&again);
        return;
    }
    while ((e = readdir(dir))) {
        int64_t number;
        const char *name;
        if (parse_name(e->d_name, &number, &name) && !fn(number, e->d_name, name, userdata))
            break;
    }
    closedir(dir);
}

struct entries {
    struct entry *list;
    size_t count, capacity;
};

static bool note_entry(int64_t number, const char *file, const char *name _unused_, void *userdata)
{
    struct entries *all = userdata;
    if (all->count == all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : 64;
        struct entry *list =
            capacity > SWEEP_ENTRIES ? NULL : realloc(all->list, capacity * sizeof(*list));
        if (!list)
            return false;
        all->list = list;
        all->capacity = capacity;
    }
    struct entry *e = &all->list[all->count++];
    e->number = number;
    snprintf(e->name, sizeof(e->name), "%s", file);
    return true;
}

static bool is_locked(int fd)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &whole) < 0 || whole.l_type != F_UNLCK;
}

static void remove_ended(int folder, const char *name)
{
    char older[DECISIONS_FILE_NAME_MAX + 2];
    struct stat st;
    _cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || time(NULL) - st.st_mtime < NEW_S || is_locked(fd))
        return;
    name_older(name, older);
    unlinkat(folder, older, 0);
    unlinkat(folder, name, 0);
}

/* How many of the oldest are too old, or one too many; of the new ones it is not asked. */
static size_t count_surplus(const struct entries *all)
{
    int64_t now = now_ms(), oldest = now - DECISIONS_KEPT_S * 1000LL;
    size_t count = all->count > DECISIONS_KEPT_MAX ? all->count - DECISIONS_KEPT_MAX : 0;
    while (count < all->count && all->list[count].number < oldest)
        count++;
    while (count > 0 && all->list[count - 1].number > now - NEW_S * 1000LL)
        count--;
    return count;
}

void decisions_sweep(const struct decisions *d)
{
    struct entries all = {.count = 0};
    if (d->folder < 0)
        return;
    for_each(d->folder, note_entry, &all);
    if (all.count > 0)
        qsort(all.list, all.count, sizeof(*all.list), compare_entries);
    size_t surplus = count_surplus(&all);
    /* Those of sandboxes that run long are the oldest: not always the same ones are looked at. */
    for (size_t i = 0; i < MIN(surplus, (size_t)SWEEP_LOOKS); i++)
        remove_ended(d->folder, all.list[(i + (size_t)getpid()) % surplus].name);
    free(all.list);
}

/* ---- a reader's ---- */

struct search {
    const char *wanted; /* NULL: any */
    int64_t number;
    char *name;
};

static bool see_entry(int64_t number, const char *file, const char *name, void *userdata)
{
    struct search *s = userdata;
    if ((s->wanted && strcmp(s->wanted, name)) || (s->name[0] && number < s->number))
        return true;
    s->number = number;
    snprintf(s->name, DECISIONS_FILE_NAME_MAX + 1, "%s", file);
    return true;
}

static bool is_same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int open_record(const struct decisions_reader *r, const char *name)
{
    return openat(r->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* The older file may have become one between the two looks. */
static void open_files(struct decisions_reader *r)
{
    char older[DECISIONS_FILE_NAME_MAX + 2];
    name_older(r->name, older);
    r->file = open_record(r, r->name);
    r->older = open_record(r, older);
    if (r->file >= 0 && r->older >= 0 && is_same_file(r->file, r->older)) {
        close(r->file);
        r->file = open_record(r, r->name);
    }
}

int decisions_reader_open(struct decisions_reader *r, const char *name, struct sandbox_error *e)
{
    struct registry registry;
    struct search s = {.wanted = name, .name = r->name};
    *r = DECISIONS_READER_CLOSED;
    int error = registry_open(&registry, e);
    if (error < 0)
        return error;
    r->folder = open_folder(registry.folder, false);
    registry_close(&registry);
    if (r->folder >= 0)
        for_each(r->folder, see_entry, &s);
    if (s.name[0])
        open_files(r);
    if (r->file >= 0)
        return 0;
    decisions_reader_close(r);
    if (!name)
        return sandbox_error_set(e, -ENOENT,
                                 "nothing is known of a sandbox; start one with glovebox run");
    return sandbox_error_set(e, -ENOENT,
                             "%s: nothing is known of a sandbox of this name; glovebox ps lists "
                             "those that run, and the last %d are kept",
                             name, DECISIONS_KEPT_MAX);
}

const char *decisions_reader_sandbox(const struct decisions_reader *r)
{
    const char *dot = strchr(r->name, '.');
    return dot ? dot + 1 : r->name;
}

bool decisions_reader_is_live(const struct decisions_reader *r)
{
    _cleanup_close_ int fd = open_record(r, r->name);
    return fd >= 0 && is_locked(fd);
}

/* The file that has taken the place of ours, of which then nothing more comes; or -1. */
static int open_next(const struct decisions_reader *r)
{
    _cleanup_close_ int next = open_record(r, r->name);
    return next < 0 || is_same_file(next, r->file) ? -1 : TAKE_FD(next);
}

/* What is left of the older file; 0: nothing, and it is closed. */
static ssize_t read_older(struct decisions_reader *r, char *data, size_t size)
{
    ssize_t n = r->older < 0 ? 0 : read(r->older, data, size);
    if (n > 0)
        return n;
    base_closep(&r->older);
    r->older = -1;
    return 0;
}

ssize_t decisions_reader_read(struct decisions_reader *r, char *data, size_t size)
{
    ssize_t n = read_older(r, data, size);
    if (n == 0)
        n = read(r->file, data, size);
    if (n != 0)
        return n < 0 ? -errno : n;
    int next = open_next(r);
    if (next < 0)
        return 0;
    r->older = r->file;
    r->file = next;
    n = read_older(r, data, size);
    if (n == 0)
        n = read(r->file, data, size);
    return n < 0 ? -errno : n;
}

void decisions_reader_close(struct decisions_reader *r)
{
    base_closep(&r->file);
    base_closep(&r->older);
    base_closep(&r->folder);
    *r = DECISIONS_READER_CLOSED;
}
