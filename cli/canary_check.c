// SPDX-License-Identifier: Apache-2.0
/*
 * What the host looks like when the probes have had their turn.
 */
#include "cli/canary.h"

#include "probes/probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* A file of every machine that nothing in a sandbox needs: probes change their copy of it. */
#define IMAGE_FILE "/usr/lib/os-release"

/* Only looked for by the probes' own doing: others may load what they like meanwhile. */
static const char *const provoked_modules[] = {"af_alg",    "can",
                                               "can_raw",   "tipc",
                                               "rds",       "sctp",
                                               "dccp",      "vsock",
                                               "nf_tables", "n_gsm",
                                               "bluetooth", "nfc",
                                               "kcm",       "smc",
                                               "ax25",      "llc2",
                                               "phonet",    "qrtr",
                                               "xt_TPROXY", "ip_tables",
                                               "fuse",      "tun",
                                               "loop",      "binfmt_misc",
                                               "mctp",      "ieee802154_socket"};

#define REASON_BYTES 512

static void read_text(const char *path, char *ret, size_t capacity)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, capacity - 1);
    ret[n > 0 ? n : 0] = '\0';
}

/* All of /proc/modules, to be freed; NULL when it can't be read. */
static char *read_modules(void)
{
    FILE *f = fopen("/proc/modules", "re");
    char *text = NULL;
    size_t size = 0;
    if (f && getdelim(&text, &size, '\0', f) <= 0) {
        free(text);
        text = NULL;
    }
    if (f)
        fclose(f);
    return text;
}

void canary_look_at_host(const struct canary *c, struct canary_host *ret)
{
    *ret = (struct canary_host){.modules = read_modules()};
    read_text("/proc/sys/kernel/core_pattern", ret->core_pattern, sizeof(ret->core_pattern));
    read_text("/proc/sys/kernel/modprobe", ret->module_loader, sizeof(ret->module_loader));
    gethostname(ret->hostname, sizeof(ret->hostname));
    if (stat(c->program, &ret->program) < 0 || stat(IMAGE_FILE, &ret->image_file) < 0)
        return;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_mode == b->st_mode &&
           a->st_uid == b->st_uid && a->st_gid == b->st_gid && a->st_nlink == b->st_nlink &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* The events of the folder: somebody opened, read, or changed something. */
static bool check_watch(struct canary *c, char reason[static REASON_BYTES])
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n = read(c->watch, events, sizeof(events));
    if (n < (ssize_t)sizeof(struct inotify_event))
        return true;
    const struct inotify_event *first = (const void *)events;
    snprintf(reason, REASON_BYTES, "somebody touched %.100s in %.200s (inotify mask 0x%x)",
             first->len ? first->name : "it", c->folder, first->mask);
    return false;
}

static bool check_files(struct canary *c, char reason[static REASON_BYTES])
{
    char path[PATH_MAX];
    struct stat st;
    size_t entries = 0, expected = CANARY_FILES + (c->ports[CANARY_PATH_SOCKET] ? 1 : 0);
    for (size_t i = 0; i < CANARY_FILES; i++) {
        canary_make_path(c, canary_file_names[i], path);
        if (lstat(path, &st) == 0 && is_same_file(&st, &c->files[i]))
            continue;
        snprintf(reason, REASON_BYTES, "%s in %.300s is not as it was", canary_file_names[i],
                 c->folder);
        return false;
    }
    DIR *dir = opendir(c->folder);
    while (dir && readdir(dir))
        entries++;
    if (dir)
        closedir(dir);
    if (entries == expected + 2)
        return true;
    snprintf(reason, REASON_BYTES, "%.300s has %zu entries, and had %zu", c->folder, entries,
             expected + 2);
    return false;
}

static bool check_image(struct canary *c, char reason[static REASON_BYTES])
{
    struct canary_host now;
    canary_look_at_host(c, &now);
    free(now.modules);
    if (!is_same_file(&now.program, &c->host.program))
        snprintf(reason, REASON_BYTES, "%.300s was changed", c->program);
    else if (!is_same_file(&now.image_file, &c->host.image_file))
        snprintf(reason, REASON_BYTES, IMAGE_FILE " was changed");
    else
        return true;
    return false;
}

static bool check_settings(struct canary *c, char reason[static REASON_BYTES])
{
    struct canary_host now;
    canary_look_at_host(c, &now);
    free(now.modules);
    if (strcmp(now.core_pattern, c->host.core_pattern))
        snprintf(reason, REASON_BYTES, "kernel.core_pattern is %s", now.core_pattern);
    else if (strcmp(now.module_loader, c->host.module_loader))
        snprintf(reason, REASON_BYTES, "kernel.modprobe is %s", now.module_loader);
    else if (strcmp(now.hostname, c->host.hostname))
        snprintf(reason, REASON_BYTES, "the host's name is %s", now.hostname);
    else
        return true;
    return false;
}

static bool has_module(const char *modules, const char *name)
{
    size_t size = strlen(name);
    for (const char *line = modules; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, size) && line[size] == ' ')
            return true;
    }
    return false;
}

static bool check_modules(struct canary *c, char reason[static REASON_BYTES])
{
    bool good = true;
    char *now = read_modules();
    for (size_t i = 0; i < ARRAY_SIZE(provoked_modules) && good; i++)
        if (has_module(now, provoked_modules[i]) &&
            !has_module(c->host.modules, provoked_modules[i])) {
            snprintf(reason, REASON_BYTES, "the module %s was loaded", provoked_modules[i]);
            good = false;
        }
    free(now);
    return good;
}

static bool check_process(struct canary *c, char reason[static REASON_BYTES])
{
    unsigned char sig;
    int status;
    if (waitpid(c->process, &status, WNOHANG | WUNTRACED) != 0) {
        snprintf(reason, REASON_BYTES, "it was ended or stopped");
        if (!WIFSTOPPED(status))
            c->process = 0;
        return false;
    }
    if (read(c->process_signals, &sig, 1) != 1)
        return true;
    snprintf(reason, REASON_BYTES, "it got signal %u", sig);
    return false;
}

static bool is_reached(const struct canary *c, int which)
{
    char byte;
    int fd = c->sockets[which];
    if (fd < 0)
        return false;
    if (which == CANARY_UDP)
        return recv(fd, &byte, 1, MSG_DONTWAIT) >= 0;
    _cleanup_close_ int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    return peer >= 0;
}

static bool check_listeners(struct canary *c, char reason[static REASON_BYTES])
{
    static const int which[] = {CANARY_TCP, CANARY_TCP6, CANARY_UDP};
    for (size_t i = 0; i < ARRAY_SIZE(which); i++)
        if (is_reached(c, which[i])) {
            snprintf(reason, REASON_BYTES, "somebody reached port %u", c->ports[which[i]]);
            return false;
        }
    return true;
}

static bool check_unix_sockets(struct canary *c, char reason[static REASON_BYTES])
{
    if (is_reached(c, CANARY_PATH_SOCKET))
        snprintf(reason, REASON_BYTES, "somebody connected to %.300s/socket", c->folder);
    else if (is_reached(c, CANARY_ABSTRACT))
        snprintf(reason, REASON_BYTES, "somebody connected to the abstract socket %s", c->name);
    else
        return true;
    return false;
}

static bool check_shared_memory(struct canary *c, char reason[static REASON_BYTES])
{
    struct shmid_ds ds;
    void *p = c->shm < 0 ? (void *)-1 : shmat(c->shm, NULL, SHM_RDONLY);
    if (c->shm < 0)
        return true;
    bool good = p != (void *)-1 && !memcmp(p, c->token, strlen(c->token)) &&
                shmctl(c->shm, IPC_STAT, &ds) == 0 && ds.shm_nattch == 1;
    if (p != (void *)-1)
        shmdt(p);
    if (!good)
        snprintf(reason, REASON_BYTES, "the segment is not as it was");
    return good;
}

void canary_check(struct canary *c, canary_found_fn found, void *userdata)
{
    static const struct {
        const char *control, *name, *expected;
        bool (*check)(struct canary *c, char reason[static REASON_BYTES]);
    } checks[] = {
        /* First what tells of looks, since the others look too. */
        {HOST_FILES, "host_files_unread", "nobody opened the host's files", check_watch},
        {HOST_WRITES, "host_files_unchanged", "the host's files are as before", check_files},
        {HOST_WRITES, "image_unchanged", "files of the image and this program are as before",
         check_image},
        {HOST_WRITES, "settings_unchanged", "settings and name of the host are as before",
         check_settings},
        {INTERFACES, "modules_unchanged", "the host's kernel loaded no module", check_modules},
        {PROCESSES, "host_process_unharmed", "the host's process lives and got no signal",
         check_process},
        {NETWORK, "host_listeners_unreached", "nobody connected to the host's ports",
         check_listeners},
        {SOCKETS, "host_sockets_unreached", "nobody connected to the host's sockets",
         check_unix_sockets},
        {IPC, "host_shared_memory_unchanged", "the host's shared memory is as before",
         check_shared_memory},
    };
    for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
        char reason[REASON_BYTES];
        bool good = checks[i].check(c, reason);
        found(userdata, checks[i].control, checks[i].name, checks[i].expected,
              good ? NULL : reason);
    }
}
