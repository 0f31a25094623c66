// SPDX-License-Identifier: Apache-2.0
#include "sandbox/decisions.h"

#include "lib/policy/host.h"
#include "lib/text/shown.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define ADVICE_MAX_BYTES (POLICY_NAME_MAX_BYTES + 1)
/* Of what may be too old, so many are looked at by each start. */
#define SWEEP_LOOKS 4

/* ---- the starter's ---- */

/* A file that is locked, or negative errno; fd is one. */
static int lock(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &whole) == 0)
        return fd;
    int error = errno;
    close(fd);
    return -error;
}

static int create_as(const struct decisions *d, const char *name)
{
    int fd = openat(d->folder, name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return lock(fd < 0 ? -errno : fd);
}

int decisions_open(struct decisions *d, const struct registry *r, struct sandbox_error *e)
{
    *d = DECISIONS_CLOSED;
    d->sandbox = r->name;
    int fd = kept_open_folder(r->folder, DECISIONS_FOLDER, true);
    if (fd >= 0) {
        d->folder = fd;
        fd = lock(kept_create(d->folder, d->sandbox, d->name));
    }
    if (fd >= 0) {
        d->file = fd;
        return 0;
    }
    decisions_close(d);
    return sandbox_error_set(e, fd, "%s/" DECISIONS_FOLDER ": %s; %s", r->path, strerror(-fd),
                             fd == -EMFILE || fd == -ENFILE
                                 ? "raise the limit of open files (ulimit -n)"
                                 : "make room there");
}

static void stop(struct decisions *d)
{
    base_closep(&d->file);
    d->file = -1;
}

/* Locked, and empty, or negative errno. */
static int open_empty(const struct decisions *d, const char *name)
{
    int fd = lock(openat(d->folder, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
    if (fd >= 0 && ftruncate(fd, 0) < 0) {
        int error = errno;
        close(fd);
        fd = -error;
    }
    return fd;
}

/*
 * Where there is no room for one more it is the older one, which is lost next: likewise. It is
 * emptied under its other name, so that nothing is lost where names can't be changed.
 */
static int take_older(const struct decisions *d, const char *older, const char *next)
{
    if (renameat(d->folder, older, d->folder, next) < 0)
        return -errno;
    int fd = open_empty(d, next);
    if (fd < 0)
        renameat(d->folder, next, d->folder, older);
    return fd;
}

/*
 * The file of the name becomes the older one, and that of next has its name. Where two can't be
 * exchanged there is a moment without it.
 */
static int exchange(const struct decisions *d, const char *next, const char *older)
{
    if (renameat2(d->folder, d->name, d->folder, next, RENAME_EXCHANGE) == 0) {
        if (renameat(d->folder, next, d->folder, older) == 0)
            return 0;
        int error = errno;
        renameat2(d->folder, d->name, d->folder, next, RENAME_EXCHANGE);
        return -error;
    }
    if (renameat(d->folder, d->name, d->folder, older) < 0)
        return -errno;
    return renameat(d->folder, next, d->folder, d->name) < 0 ? -errno : 0;
}

/*
 * What is in the file becomes what is before it: whoever looks at any moment finds one of the name
 * that is locked. What was before it goes when there is a new one, not sooner. False: that can't be
 * done now.
 */
static bool turn_over(struct decisions *d)
{
    char older[KEPT_FILE_NAME_MAX + 2], next[KEPT_FILE_NAME_MAX + 3];
    kept_name_beside(d->name, older);
    snprintf(next, sizeof(next), "%s~", older);
    unlinkat(d->folder, next, 0); /* of one that was killed at this */
    int fd = create_as(d, next);
    if (fd == -ENOSPC || fd == -EDQUOT)
        fd = take_older(d, older, next);
    if (fd < 0)
        return false;
    if (exchange(d, next, older) < 0) {
        close(fd);
        unlinkat(d->folder, next, 0);
        return false;
    }
    stop(d);
    d->file = fd;
    d->size = 0;
    return true;
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
    if (d->file < 0 || (d->size + size + 1 > DECISIONS_FILE_MAX_BYTES && !turn_over(d)))
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
    int64_t ms = kept_now_ms();
    time_t seconds = ms / 1000;
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t size = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + size, sizeof(text) - size, ".%03dZ", (int)(ms % 1000));
    return json_pack("{s:s, s:s, s:s, s:s}", "ts", text, "sandbox", d->sandbox, "event", event,
                     "decision", "deny");
}

/* Whether one more is written; those that are not are told as a number. */
static bool take_rate(struct decisions *d)
{
    int64_t second = kept_now_ms() / 1000;
    if (second != d->second) {
        d->second = second;
        d->denied_count = 0;
    }
    return d->denied_count++ < DECISIONS_DENIED_PER_S;
}

static void fold(struct decisions *d, uint64_t count)
{
    d->folded = MIN(d->folded, (uint64_t)INT64_MAX - count) + count;
}

static void tell_folded(struct decisions *d)
{
    json_t *o = d->folded ? new_object(d, "folded") : NULL;
    if (o)
        json_object_set_new(o, "count", json_integer((json_int_t)d->folded));
    add_object(d, o);
    d->folded = 0;
}

void decisions_add_folded(struct decisions *d, uint32_t count)
{
    fold(d, count);
    if (take_rate(d))
        tell_folded(d);
}

/*
 * What to give to --allow, which somebody may put into a command line as it stands: so only what
 * can't mean anything else there. "": what was asked for is no name or address.
 */
static void make_advice(unsigned protocol, uint16_t port, const char *what, size_t size,
                        char ret[ADVICE_MAX_BYTES])
{
    struct policy_host host;
    struct in6_addr address;
    char text[INET6_ADDRSTRLEN + 1] = "";
    ret[0] = '\0';
    if (!protocol && policy_host_parse(what, size, &host, NULL) == 0 &&
        host.kind == POLICY_HOST_NAME)
        snprintf(ret, ADVICE_MAX_BYTES, "%s", host.name);
    if (!protocol || size >= sizeof(text))
        return;
    memcpy(text, what, size);
    if (inet_pton(AF_INET, text, &address) == 1)
        snprintf(ret, ADVICE_MAX_BYTES, "%s:%u", text, port);
    else if (inet_pton(AF_INET6, text, &address) == 1)
        snprintf(ret, ADVICE_MAX_BYTES, "[%s]:%u", text, port);
}

void decisions_add_denied(struct decisions *d, unsigned protocol, uint16_t port, const char *what,
                          size_t size)
{
    char shown[512], words[640], advice[ADVICE_MAX_BYTES];
    if (!take_rate(d)) {
        fold(d, 1);
        return;
    }
    tell_folded(d);
    text_line(what, size, shown, sizeof(shown));
    make_advice(protocol, port, what, size, advice);
    snprintf(words, sizeof(words), "this sandbox has no network policy; %s%s",
             *advice ? "start it with --allow " : "and that is no name of a host", advice);
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

void decisions_add_gateway_gone(struct decisions *d, const char *how)
{
    char words[256];
    snprintf(words, sizeof(words),
             "the gateway %s; nothing can leave the sandbox any more, start it again", how);
    json_t *o = new_object(d, "gateway");
    if (o) {
        json_object_set_new(o, "reason", json_string("gateway_gone"));
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

static bool has_ended(int folder, const char *name)
{
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           time(NULL) - st.st_mtime >= KEPT_NEW_S && !kept_is_live(folder, name);
}

void decisions_sweep(const struct decisions *d)
{
    struct kept_entries all;
    if (d->folder < 0 || kept_list(d->folder, NULL, &all) < 0)
        return;
    size_t surplus = kept_count_surplus(&all, DECISIONS_KEPT_MAX, DECISIONS_KEPT_S);
    /* Those of sandboxes that run long are the oldest: not always the same ones are looked at. */
    for (size_t i = 0; i < MIN(surplus, (size_t)SWEEP_LOOKS); i++) {
        const char *file = all.items[(i + (size_t)getpid()) % surplus].file;
        if (has_ended(d->folder, file))
            kept_remove(d->folder, file);
    }
    free(all.items);
}
