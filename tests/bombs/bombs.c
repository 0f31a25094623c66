// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that do nothing but use up: `bombs NAME`. Each goes on as long as it lives, whatever
 * fails. tests/bombs/run_test.py lights them.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define MIB (1UL << 20)

static char data[1 << 20];

/* A failure must not turn into a busy loop of failures alone: those that wait try again too. */
static void breathe(void)
{
    const struct timespec moment = {0, 1000000};
    nanosleep(&moment, NULL);
}

/* ---- processes ---- */

static void bomb_forks(void)
{
    for (;;)
        if (fork() < 0)
            breathe();
}

static void *thread_on(void *unused)
{
    pthread_t t;
    (void)unused;
    for (;;)
        if (pthread_create(&t, NULL, thread_on, NULL) != 0)
            breathe();
    return NULL;
}

static void bomb_threads(void)
{
    thread_on(NULL);
}

/* Copies that nobody can talk to: of no parent, of sessions of their own, deaf, stopped. */
static void bomb_orphans(void)
{
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_IGN);
    for (int i = 0;; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            setsid();
            if (fork() == 0) {
                if (i % 3 == 0)
                    raise(SIGSTOP);
                for (;;)
                    if (i % 3 == 1)
                        pause();
            }
            _exit(0);
        }
        if (pid < 0)
            breathe();
        else
            waitpid(pid, NULL, 0);
    }
}

/* The parent waits for its child in the host, which no handler interrupts; the child for nothing.
 */
static void bomb_vforks(void)
{
    for (int i = 0; i < 20; i++) {
        if (fork() == 0) {
            if (vfork() == 0)
                for (;;)
                    pause();
            _exit(1);
        }
    }
    if (vfork() == 0)
        for (;;)
            pause();
}

static void bomb_deafness(void)
{
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_IGN);
    for (int i = 0; i < 3; i++)
        fork();
    for (;;)
        ;
}

static void bomb_stops(void)
{
    for (int i = 0; i < 4; i++)
        fork();
    for (;;)
        raise(SIGSTOP);
}

static void bomb_execs(void)
{
    static char word[100000];
    memset(word, 'x', sizeof(word) - 1);
    char *const args[] = {"true", word, word, word, word, word, word, word, word, NULL};
    for (;;) {
        pid_t pid = fork();
        if (pid == 0) {
            execv("/bin/true", args);
            _exit(1);
        }
        if (pid < 0)
            waitpid(-1, NULL, 0);
    }
}

/* ---- memory ---- */

static void bomb_memory(void)
{
    for (;;) {
        char *p = malloc(MIB);
        if (p)
            memset(p, 1, MIB);
    }
}

static void bomb_memory_of_many(void)
{
    for (int i = 0; i < 4; i++)
        fork();
    bomb_memory();
}

static void bomb_page_tables(void)
{
    for (;;) {
        char *p =
            mmap(NULL, 1UL << 40, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            continue;
        for (size_t i = 0; i < 1UL << 40; i += 2 * MIB)
            *(volatile char *)(p + i);
    }
}

/* Each a mapping of its own, and all of them in many copies. */
static void bomb_mappings(void)
{
    char *p = mmap(NULL, 1UL << 32, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (size_t i = 0; i < 1UL << 32; i += 2 * 4096)
        mprotect(p + i, 4096, PROT_NONE);
    bomb_forks();
}

static void bomb_memory_files(void)
{
    for (;;) {
        int fd = memfd_create("bomb", 0);
        while (fd >= 0 && write(fd, data, sizeof(data)) > 0)
            ;
        if (fd < 0)
            breathe();
    }
}

static void bomb_shared_memory(void)
{
    for (;;) {
        char *p = mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
            breathe();
            continue;
        }
        memset(p, 1, 16 * MIB);
        munmap(p + 4096, 16 * MIB - 4096);
    }
}

/* ---- what the kernel keeps ---- */

static void bomb_pipes(void)
{
    while (fork() > 0)
        ;
    for (;;) {
        int ends[2];
        if (pipe2(ends, O_NONBLOCK) < 0) {
            breathe();
            continue;
        }
        fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
        while (write(ends[1], data, sizeof(data)) > 0)
            ;
    }
}

static void send_itself(int socket, int fd)
{
    char control[CMSG_SPACE(sizeof(int))] = "";
    struct iovec byte = {data, 1};
    struct msghdr m = {.msg_iov = &byte,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    sendmsg(socket, &m, MSG_DONTWAIT);
}

/* Full of bytes, and each on its way in another one. */
static void bomb_sockets(void)
{
    int before = 0;
    while (fork() > 0)
        ;
    for (;;) {
        int two[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, two) < 0) {
            breathe();
            continue;
        }
        send_itself(two[0], before);
        while (write(two[0], data, sizeof(data)) > 0)
            ;
        if (before)
            close(before);
        before = two[1];
    }
}

static void bomb_locks(void)
{
    char name[32];
    for (long i = 0;; i++) {
        snprintf(name, sizeof(name), "/tmp/lock%ld", i % 100);
        int fd = open(name, O_RDWR | O_CREAT, 0600);
        for (long k = 20000; k > 0; k--) {
            struct flock l = {.l_type = F_WRLCK, .l_start = k * 2, .l_len = 1};
            if (fcntl(fd, F_SETLK, &l) < 0)
                breathe();
        }
    }
}

static void bomb_watches(void)
{
    char name[32];
    int in = inotify_init1(IN_NONBLOCK);
    for (long i = 0;; i++) {
        snprintf(name, sizeof(name), "/tmp/watch%ld", i);
        close(open(name, O_RDWR | O_CREAT, 0600));
        if (inotify_add_watch(in, name, IN_ALL_EVENTS) < 0)
            in = inotify_init1(IN_NONBLOCK);
        if (in < 0)
            breathe();
    }
}

/* ---- files ---- */

static void bomb_files_in_memory(void)
{
    char name[32];
    for (int i = 0;; i++) {
        snprintf(name, sizeof(name), "/dev/shm/%d", i);
        int fd = open(name, O_RDWR | O_CREAT, 0600);
        while (fd >= 0 && write(fd, data, sizeof(data)) > 0)
            ;
        breathe();
    }
}

static void bomb_inodes(void)
{
    char name[64], link[4000];
    memset(link, 'x', sizeof(link) - 1);
    link[sizeof(link) - 1] = '\0';
    for (long i = 0;; i++) {
        snprintf(name, sizeof(name), "/tmp/%ld", i);
        int r = i % 3 == 0   ? mkdir(name, 0700)
                : i % 3 == 1 ? symlink(link, name)
                             : mknod(name, S_IFREG | 0600, 0);
        if (r == 0 && i % 3 == 2)
            setxattr(name, "user.bomb", data, 60000, 0);
        if (r < 0)
            breathe();
    }
}

/* Files that look as if they were larger than any disk, with a byte here and there. */
static void bomb_sparse_files(void)
{
    char name[32];
    for (int i = 0;; i++) {
        snprintf(name, sizeof(name), "/tmp/sparse%d", i);
        int fd = open(name, O_RDWR | O_CREAT, 0600);
        if (fd < 0 || ftruncate(fd, 1L << 43) < 0) {
            breathe();
            continue;
        }
        char *p = mmap(NULL, 1UL << 40, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED)
            munmap(p, 1UL << 40);
        for (off_t at = 0; at < 1L << 40; at += 2L << 20)
            if (pwrite(fd, "x", 1, at) < 0)
                break;
        fallocate(fd, 0, 0, 1L << 42);
        close(fd);
    }
}

static void bomb_deep_folders(void)
{
    char name[200];
    memset(name, 'd', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (;;)
        if (mkdir(name, 0700) < 0 || chdir(name) < 0)
            breathe();
}

/* ---- output ---- */

static void bomb_output(void)
{
    memset(data, 'x', sizeof(data));
    for (size_t i = 99; i < sizeof(data); i += 100)
        data[i] = '\n';
    for (;;) {
        write(1, data, sizeof(data));
        write(2, data, sizeof(data));
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} bombs[] = {
    {"forks", bomb_forks},
    {"threads", bomb_threads},
    {"orphans", bomb_orphans},
    {"vforks", bomb_vforks},
    {"deafness", bomb_deafness},
    {"stops", bomb_stops},
    {"execs", bomb_execs},
    {"memory", bomb_memory},
    {"memory_of_many", bomb_memory_of_many},
    {"page_tables", bomb_page_tables},
    {"mappings", bomb_mappings},
    {"memory_files", bomb_memory_files},
    {"shared_memory", bomb_shared_memory},
    {"pipes", bomb_pipes},
    {"sockets", bomb_sockets},
    {"locks", bomb_locks},
    {"watches", bomb_watches},
    {"files_in_memory", bomb_files_in_memory},
    {"inodes", bomb_inodes},
    {"sparse_files", bomb_sparse_files},
    {"deep_folders", bomb_deep_folders},
    {"output", bomb_output},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
        if (argc == 2 && !strcmp(argv[1], bombs[i].name)) {
            bombs[i].run();
            return 0;
        }
        if (argc < 2)
            puts(bombs[i].name);
    }
    return argc < 2 ? 0 : 2;
}
