// SPDX-License-Identifier: Apache-2.0
#include "sandbox/registry.h"

#include "sandbox/ended.h"
#include "sandbox/events.h"
#include "sandbox/outcome.h"
#include "sandbox/rate.h"
#include "sandbox/socket_file.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

/*
 * Which records a new sandbox looks into, so that stale ones go without anybody looking at all: the
 * first few, and of the others one in so many, another one each time.
 */
#define GLANCE_FIRST  8
#define GLANCE_ONE_IN 64
/* A record is empty between its creation and its first line. */
#define EMPTY_MAX_S 10
/* Who looks whether a record is stale holds its lock for a moment. */
#define LOCK_TRIES 100
#define LOCK_STEP  NSEC_PER_MSEC
#define NAME_TRIES 100

static int open_folder(int parent, const char *path, struct stat *ret)
{
    int fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        if (mkdirat(parent, path, 0700) < 0 && errno != EEXIST)
            return -errno;
        fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0)
        return -errno;
    if (fstat(fd, ret) < 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

/* A user's runtime directory is theirs and private, or it isn't one: XDG base directories. */
static bool is_runtime_directory(const char *path)
{
    struct stat st;
    return path && path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
           st.st_uid == geteuid() && !(st.st_mode & 077);
}

static void choose_folder(char ret[static PATH_MAX])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (geteuid() == 0 && access("/run", W_OK) == 0)
        snprintf(ret, PATH_MAX, "/run/glovebox");
    else if (is_runtime_directory(runtime) && strlen(runtime) < PATH_MAX - 16)
        snprintf(ret, PATH_MAX, "%s/glovebox", runtime);
    else
        snprintf(ret, PATH_MAX, "/tmp/glovebox-%u", geteuid());
}

int registry_open(struct registry *r, struct sandbox_error *e)
{
    struct stat st;
    *r = REGISTRY_CLOSED;
    choose_folder(r->path);
    r->folder = open_folder(AT_FDCWD, r->path, &st);
    if (r->folder < 0)
        return sandbox_error_set(e, r->folder,
                                 "%s: %s; make it a directory of yours, or set XDG_RUNTIME_DIR to "
                                 "a private one",
                                 r->path, strerror(-r->folder));
    if (st.st_uid != geteuid() || (st.st_mode & 077)) {
        registry_close(r);
        return sandbox_error_set(e, -EPERM,
                                 "%s: others have access to it; set XDG_RUNTIME_DIR to a private "
                                 "directory of yours",
                                 r->path);
    }
    r->sandboxes = open_folder(r->folder, "sandboxes", &st);
    if (r->sandboxes < 0) {
        int error = r->sandboxes;
        registry_close(r);
        return sandbox_error_set(e, error, "%s/sandboxes: %s; remove what is there", r->path,
                                 strerror(-error));
    }
    return 0;
}

void registry_close(struct registry *r)
{
    base_closep(&r->record);
    base_closep(&r->sandboxes);
    base_closep(&r->folder);
    r->record = r->sandboxes = r->folder = -1;
}

/* The whole record, NUL-terminated and to be freed, or NULL and errno. */
static char *read_record(int fd)
{
    char *text = malloc(RECORD_MAX_BYTES + 1);
    ssize_t size = text ? pread(fd, text, RECORD_MAX_BYTES, 0) : -1;
    if (size < 0) {
        int error = errno;
        free(text);
        errno = error;
        return NULL;
    }
    text[size] = '\0';
    return text;
}

/* Still there under its name? Else somebody removed it before we had the lock. */
static bool is_named(int folder, const char *name, const struct stat *record)
{
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == record->st_ino &&
           st.st_dev == record->st_dev;
}

static bool is_just_made(const struct stat *record)
{
    return record->st_size == 0 && time(NULL) - record->st_mtime < EMPTY_MAX_S;
}

/* What stands beside the record. */
static void remove_sockets(int folder, const char *name)
{
    static const char *const suffixes[] = {SOCKET_FILE_UPDATES, SOCKET_FILE_COPIES,
                                           SOCKET_FILE_EXECS, SOCKET_FILE_FILES, SOCKET_FILE_PORTS};
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        char path[REGISTRY_NAME_MAX_BYTES + 16];
        snprintf(path, sizeof(path), ".%s%s", name, suffixes[i]);
        unlinkat(folder, path, 0);
    }
}

/* Its end, which nobody else tells. */
static void note_killed(const struct registry *r, const char *name, const struct record *record)
{
    const struct event e = {.type = "end",
                            .sandbox = name,
                            .command = record->command,
                            .cause = sandbox_cause_name(SANDBOX_HOST_FAILURE),
                            .words = "its starter was killed, and the sandbox with it",
                            .status = SANDBOX_STATUS_FAILED,
                            .wall_ns = -1};
    if (record->pid > 0)
        events_note(r->folder, &e);
}

/* Holding its lock: removes what a dead starter left. True when nothing of it is there any more. */
static bool sweep(const struct registry *r, const char *name, int fd)
{
    struct stat st;
    int folder = r->sandboxes;
    if (fstat(fd, &st) < 0 || !is_named(folder, name, &st))
        return true;
    if (is_just_made(&st))
        return false;
    _cleanup_free_ char *text = read_record(fd);
    _cleanup_free_ struct record *record = malloc(sizeof(*record));
    if (!text || !record)
        return false;
    /* What there is no room for is lost, and nothing else held up. */
    int kept = ended_keep_killed(r->folder, name, text);
    record_parse(text, record);
    if (kept == 1)
        note_killed(r, name, record);
    bool all = true;
    for (size_t i = 0; i < record->cgroup.count; i++)
        all &= cgroup_remove_path(record->cgroup.groups[i].path);
    remove_sockets(folder, name);
    if (!all || unlinkat(folder, name, 0) < 0)
        return false;
    if (record->is_forgotten)
        note_killed(r, name, record);
    return true;
}

/* Whether the starter of this record lives; what is stale is swept. fd: the record, when open. */
static bool is_running(const struct registry *r, const char *name)
{
    _cleanup_close_ int fd = openat(r->sandboxes, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return true;
    return !sweep(r, name, fd);
}

static bool lock(int fd)
{
    const struct timespec step = {.tv_nsec = LOCK_STEP};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        nanosleep(&step, NULL);
    }
    return false;
}

static void choose_name(char ret[static REGISTRY_NAME_MAX_BYTES + 1])
{
    uint32_t number = 0;
    if (getrandom(&number, sizeof(number), 0) < 0)
        number = (uint32_t)getpid();
    snprintf(ret, REGISTRY_NAME_MAX_BYTES + 1, "%08" PRIx32, number);
}

/* Creates and locks a record: 0, -EEXIST, or another negative errno. */
static int make_record(struct registry *r)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(r->sandboxes, r->name, flags, 0600);
    int error = errno;
    if (fd < 0 && error == EEXIST && !is_running(r, r->name)) {
        fd = openat(r->sandboxes, r->name, flags, 0600);
        error = errno;
    }
    if (fd < 0)
        return -error;
    if (!lock(fd)) {
        unlinkat(r->sandboxes, r->name, 0);
        close(fd);
        return -EBUSY;
    }
    r->record = fd;
    return 0;
}

static int take_name(struct registry *r, const char *name, struct sandbox_error *e)
{
    int result = -EEXIST;
    if (name) {
        snprintf(r->name, sizeof(r->name), "%s", name);
        result = make_record(r);
    }
    for (int i = 0; !name && result == -EEXIST && i < NAME_TRIES; i++) {
        choose_name(r->name);
        result = make_record(r);
    }
    if (result == -EEXIST)
        return sandbox_error_set(e, result,
                                 "%s: a sandbox of this name is running; choose another name, or "
                                 "end that one",
                                 r->name);
    if (result < 0)
        return sandbox_error_set(e, result, "%s/sandboxes/%s: %s; make room there", r->path,
                                 r->name, strerror(-result));
    return 0;
}

typedef bool (*entry_fn)(struct registry *r, size_t i, const char *name, void *userdata);

/* Calls fn for each record, until it returns false. 0 or negative errno. */
static int for_each(struct registry *r, entry_fn fn, void *userdata)
{
    char buffer[8192] __attribute__((aligned(__alignof__(struct dirent64))));
    size_t i = 0;
    if (lseek(r->sandboxes, 0, SEEK_SET) < 0)
        return -errno;
    for (;;) {
        ssize_t size = getdents64(r->sandboxes, buffer, sizeof(buffer));
        if (size <= 0)
            return size < 0 ? -errno : 0;
        for (ssize_t at = 0; at < size;) {
            const struct dirent64 *d = (const struct dirent64 *)(buffer + at);
            if (d->d_name[0] != '.' && !fn(r, i++, d->d_name, userdata))
                return 0;
            at += d->d_reclen;
        }
    }
}

struct count {
    uint64_t running;
    bool looks_into_all;
};

static bool is_worth_a_glance(size_t i)
{
    return i < GLANCE_FIRST || i % GLANCE_ONE_IN == (size_t)getpid() % GLANCE_ONE_IN;
}

static bool count_entry(struct registry *r, size_t i, const char *name, void *userdata)
{
    struct count *c = userdata;
    bool is_own = !strcmp(name, r->name);
    bool looks = !is_own && (c->looks_into_all || is_worth_a_glance(i));
    if (!looks || is_running(r, name))
        c->running++;
    return true;
}

/* First at a glance; before anybody is refused, closely. */
static int check_count(struct registry *r, uint64_t most, struct sandbox_error *e)
{
    struct count c = {.looks_into_all = false};
    int result = for_each(r, count_entry, &c);
    if (result == 0 && most && c.running > most) {
        c = (struct count){.looks_into_all = true};
        result = for_each(r, count_entry, &c);
    }
    if (result < 0)
        return sandbox_error_set(e, result, "%s/sandboxes: %s; make it readable", r->path,
                                 strerror(-result));
    if (most && c.running > most)
        return sandbox_error_set(e, -EUSERS,
                                 "limit of %" PRIu64 " sandboxes at once reached; end one (see "
                                 "glovebox ps), or raise it with --sandboxes",
                                 most);
    return 0;
}

int registry_enter(struct registry *r, const char *name, const struct sandbox_limits *l,
                   struct sandbox_error *e)
{
    int result = rate_check(r->folder, l->value[LIMIT_RATE], e);
    if (result < 0)
        return result;
    result = take_name(r, name, e);
    if (result < 0)
        return result;
    result = check_count(r, l->value[LIMIT_SANDBOXES], e);
    if (result < 0)
        registry_leave(r);
    return result;
}

int registry_note(struct registry *r, const struct buf *text)
{
    if (text->failed)
        return -ENOMEM;
    ssize_t written = write(r->record, text->data, text->size);
    return written == (ssize_t)text->size ? 0 : written < 0 ? -errno : -ENOSPC;
}

void registry_leave(struct registry *r)
{
    if (r->record < 0)
        return;
    remove_sockets(r->sandboxes, r->name);
    unlinkat(r->sandboxes, r->name, 0);
    base_closep(&r->record);
    r->record = -1;
}

struct listing {
    registry_see_fn see;
    void *userdata;
};

static bool list_entry(struct registry *r, size_t i _unused_, const char *name, void *userdata)
{
    struct listing *l = userdata;
    _cleanup_free_ char *text = NULL;
    if (registry_read(r, name, &text) == 0)
        l->see(l->userdata, name, text);
    return true;
}

int registry_list(struct registry *r, registry_see_fn see, void *userdata)
{
    struct listing l = {see, userdata};
    return for_each(r, list_entry, &l);
}

int registry_read(struct registry *r, const char *name, char **ret)
{
    /* Also a name that was typed: never more than one component. */
    if (!isalnum((unsigned char)name[0]) || strlen(name) > REGISTRY_NAME_MAX_BYTES ||
        strchr(name, '/') || !is_running(r, name))
        return -ENOENT;
    _cleanup_close_ int fd = openat(r->sandboxes, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    char *text = fd < 0 ? NULL : read_record(fd);
    if (!text)
        return -errno;
    *ret = text;
    return 0;
}
