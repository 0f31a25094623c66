// SPDX-License-Identifier: Apache-2.0
#include "cli/canary.h"

#include "probes/token.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#define SHM_BYTES 4096

static const mode_t file_modes[CANARY_FILES] = {0644, 0666, 0666, 0755};
const char *const canary_file_names[CANARY_FILES] = {"secret", "victim", "doomed", "program"};

static const char *const socket_facts[] = {
    [CANARY_TCP] = "TCP",
    [CANARY_TCP6] = "TCP6",
    [CANARY_UDP] = "UDP",
};

static int system_error(struct sandbox_error *e, const char *what)
{
    return sandbox_error_set(e, -errno, "doctor: %s: %s; free memory or descriptors and try again",
                             what, strerror(errno));
}

/* ---- the directory and its files ---- */

static bool is_below(const char *path, const char *folder)
{
    size_t size = strlen(folder);
    if (size == 1)
        return true;
    return !strncmp(path, folder, size) && (!path[size] || path[size] == '/');
}

static bool is_shown(const char *path, const struct sandbox_spec *spec)
{
    if (!spec)
        return false;
    if (spec->image && is_below(path, spec->image))
        return true;
    for (size_t i = 0; i < spec->mount_count; i++)
        if (spec->mounts[i].host && is_below(path, spec->mounts[i].host))
            return true;
    return false;
}

static bool make_folder_in(struct canary *c, const char *place, const struct sandbox_spec *spec)
{
    char path[PATH_MAX];
    struct sockaddr_un address;
    if (!place || !realpath(place, path) || is_shown(path, spec))
        return false;
    size_t size = (size_t)snprintf(c->folder, sizeof(c->folder), "%s/glovebox-canary-XXXXXX", path);
    if (size + sizeof("/socket") > sizeof(address.sun_path) || !mkdtemp(c->folder)) {
        c->folder[0] = '\0';
        return false;
    }
    return true;
}

static int make_folder(struct canary *c, const struct sandbox_spec *spec, struct sandbox_error *e)
{
    const char *const places[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (make_folder_in(c, places[i], spec))
            return 0;
    return sandbox_error_set(
        e, -EACCES,
        "doctor: none of $TMPDIR, /tmp, /var/tmp and /dev/shm is writable and outside of what is "
        "mounted, so that there is no place for a file that must stay unseen; leave out the mounts "
        "of these, or set TMPDIR");
}

void canary_make_path(const struct canary *c, const char *name, char ret[static PATH_MAX])
{
    size_t size = strlen(c->folder);
    memcpy(ret, c->folder, size);
    ret[size] = '/';
    strcpy(ret + size + 1, name);
}

static int make_files(struct canary *c, struct sandbox_error *e)
{
    char path[PATH_MAX], text[256];
    for (size_t i = 0; i < CANARY_FILES; i++) {
        canary_make_path(c, canary_file_names[i], path);
        int size = snprintf(text, sizeof(text), i == 3 ? "#!/bin/sh\necho %s\n" : "%s\n", c->token);
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, text, (size_t)size) != size || fchmod(fd, file_modes[i]) < 0 ||
            fstat(fd, &c->files[i]) < 0)
            return system_error(e, path);
    }
    canary_make_path(c, "secret", path);
    c->leaked[0] = open(path, O_RDONLY);
    c->leaked[1] = open(c->folder, O_RDONLY | O_DIRECTORY);
    return c->leaked[0] < 0 || c->leaked[1] < 0 ? system_error(e, path) : 0;
}

/* The rights come last, so that nobody meddles before. */
static int open_to_all(const struct canary *c, struct sandbox_error *e)
{
    return chmod(c->folder, 0777) < 0 ? system_error(e, c->folder) : 0;
}

static int make_watch(struct canary *c, struct sandbox_error *e)
{
    c->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (c->watch < 0 || inotify_add_watch(c->watch, c->folder, IN_ALL_EVENTS) < 0)
        return system_error(e, "inotify");
    return 0;
}

/* ---- sockets, a process, shared memory ---- */

static void make_inet(struct canary *c, int which, int family, int type)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } address = {.any.sa_family = (sa_family_t)family};
    socklen_t size = family == AF_INET ? sizeof(address.in) : sizeof(address.in6);
    if (family == AF_INET)
        address.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        address.in6.sin6_addr = in6addr_loopback;
    int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, &address.any, size) < 0 || (type == SOCK_STREAM && listen(fd, 16) < 0) ||
        getsockname(fd, &address.any, &size) < 0) {
        base_closep(&fd);
        return;
    }
    c->sockets[which] = fd;
    c->ports[which] = ntohs(family == AF_INET ? address.in.sin_port : address.in6.sin6_port);
}

static void make_unix(struct canary *c, int which, const char *name, bool is_abstract)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(name);
    if (size + is_abstract >= sizeof(address.sun_path))
        return;
    memcpy(address.sun_path + is_abstract, name, size);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + is_abstract + size);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, 16) < 0) {
        base_closep(&fd);
        return;
    }
    c->sockets[which] = fd;
    c->ports[which] = 1;
}

/* A machine without IPv6 has no such listener; the probes that need it are then skipped. */
static void make_sockets(struct canary *c)
{
    char path[PATH_MAX];
    make_inet(c, CANARY_TCP, AF_INET, SOCK_STREAM);
    make_inet(c, CANARY_TCP6, AF_INET6, SOCK_STREAM);
    make_inet(c, CANARY_UDP, AF_INET, SOCK_DGRAM);
    canary_make_path(c, "socket", path);
    make_unix(c, CANARY_PATH_SOCKET, path, false);
    chmod(path, 0777);
    make_unix(c, CANARY_ABSTRACT, c->name, true);
}

/* The environment of a process is what it was started with: it has to be another program. */
_noreturn_ static void be_the_process(const struct canary *c, int out)
{
    char secret[128];
    snprintf(secret, sizeof(secret), "CANARY=%s", c->token);
    char *const argv[] = {(char *)c->name, (char *)"--stand", NULL};
    char *const envp[] = {secret, NULL};
    int fd = chdir(c->folder) < 0 ? -1 : open("secret", O_RDONLY);
    if (fd >= 0 && dup2(fd, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
        execve(c->program, argv, envp);
    _exit(1);
}

static int make_process(struct canary *c, struct sandbox_error *e)
{
    int two[2];
    char c0;
    if (pipe2(two, O_CLOEXEC) < 0)
        return system_error(e, "pipe");
    c->process_signals = two[0];
    c->process = fork();
    if (c->process == 0)
        be_the_process(c, two[1]);
    close(two[1]);
    /* Its first byte says that it is ready for signals. */
    if (c->process < 0 || read(two[0], &c0, 1) != 1)
        return system_error(e, c->program);
    return fcntl(two[0], F_SETFL, O_NONBLOCK) < 0 ? system_error(e, "pipe") : 0;
}

/* Only if the machine has System V IPC. */
static void make_shared_memory(struct canary *c)
{
    c->shm = shmget(c->shm_key, SHM_BYTES, IPC_CREAT | IPC_EXCL | 0666);
    void *p = c->shm < 0 ? (void *)-1 : shmat(c->shm, NULL, 0);
    if (p == (void *)-1)
        return;
    memcpy(p, c->token, strlen(c->token));
    shmdt(p);
}

int canary_make(struct canary *c, const struct sandbox_spec *spec, const char *program,
                struct sandbox_error *e)
{
    unsigned char random[TOKEN_DIGITS / 2 + 8];
    *c = (struct canary)CANARY_NONE;
    c->program = program;
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return system_error(e, "getrandom");
    size_t at = (size_t)snprintf(c->token, sizeof(c->token), TOKEN_PREFIX);
    for (size_t i = 0; i < TOKEN_DIGITS / 2; i++)
        at += (size_t)snprintf(c->token + at, sizeof(c->token) - at, "%02x", random[i]);
    const unsigned char *more = random + TOKEN_DIGITS / 2;
    snprintf(c->name, sizeof(c->name), "canary%02x%02x%02x%02x", more[0], more[1], more[2],
             more[3]);
    memcpy(&c->shm_key, more + 4, sizeof(c->shm_key));
    c->has_host_image = !spec || !spec->image;
    canary_look_at_host(c, &c->host);
    int r = make_folder(c, spec, e);
    if (r == 0)
        r = make_files(c, e);
    if (r < 0)
        return r;
    make_sockets(c);
    make_shared_memory(c);
    r = make_process(c, e);
    /* The caller's environment, of which nothing may go in. */
    if (r == 0 && setenv("GLOVEBOX_CANARY", c->token, 1) < 0)
        r = system_error(e, "setenv");
    if (r == 0)
        r = open_to_all(c, e);
    return r < 0 ? r : make_watch(c, e);
}

static int tell(struct strv *env, const char *fact, const char *format, ...) _printf_(3, 4);
static int tell(struct strv *env, const char *fact, const char *format, ...)
{
    char name[64], value[PATH_MAX];
    va_list args;
    snprintf(name, sizeof(name), "GLOVEBOX_PROBE_%s", fact);
    va_start(args, format);
    vsnprintf(value, sizeof(value), format, args);
    va_end(args);
    return strv_env_set(env, name, value);
}

int canary_tell(const struct canary *c, const char *hostname, struct strv *env)
{
    int r = tell(env, "FOLDER", "%s", c->folder);
    r |= tell(env, "HASH", "%016llx", (unsigned long long)token_hash(c->token, strlen(c->token)));
    r |= tell(env, "PID", "%d", c->process);
    r |= tell(env, "NAME", "%s", c->name);
    r |= tell(env, "PROGRAM", "%s", c->program);
    r |= tell(env, "IMAGE", "%s", c->has_host_image ? "host" : "directory");
    if (!hostname || strcmp(hostname, c->host.hostname))
        r |= tell(env, "HOSTNAME", "%016llx",
                  (unsigned long long)token_hash(c->host.hostname, strlen(c->host.hostname)));
    if (c->ports[CANARY_ABSTRACT])
        r |= tell(env, "ABSTRACT", "%s", c->name);
    if (c->shm >= 0)
        r |= tell(env, "SHM", "%d", (int)c->shm_key);
    for (size_t i = 0; i < ARRAY_SIZE(socket_facts); i++)
        if (c->ports[i])
            r |= tell(env, socket_facts[i], "%u", c->ports[i]);
    return r ? -ENOMEM : 0;
}

void canary_done(struct canary *c)
{
    char path[PATH_MAX];
    unsetenv("GLOVEBOX_CANARY");
    if (c->process > 0) {
        kill(c->process, SIGKILL);
        waitpid(c->process, NULL, 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(c->sockets); i++)
        base_closep(&c->sockets[i]);
    base_closep(&c->watch);
    base_closep(&c->leaked[0]);
    base_closep(&c->leaked[1]);
    base_closep(&c->process_signals);
    if (c->shm >= 0)
        shmctl(c->shm, IPC_RMID, NULL);
    free(c->host.modules);
    c->host.modules = NULL;
    if (!c->folder[0])
        return;
    DIR *dir = opendir(c->folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            canary_make_path(c, entry->d_name, path);
            remove(path);
        }
    if (dir)
        closedir(dir);
    rmdir(c->folder);
}
