// SPDX-License-Identifier: Apache-2.0
/*
 * What one operation costs, seen from the program that does it. Static, so that the same file runs
 * natively, under a bare supervisor (notify.c) and in every kind of sandbox.
 *
 *     calls NAME SAMPLES            prints SAMPLES lines: nanoseconds per operation
 *     calls spawn SAMPLES CMD...    the same for a whole process, from before its start to its end
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC 1000000000LL
#define IMAGE_FILE   "/usr/bin/env"
#define DATA_BYTES   (1 << 20)

static int data_fd = -1, to_echo = -1, from_echo = -1;
static char data[DATA_BYTES];

static void fail(const char *what)
{
    fprintf(stderr, "calls: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static void run_getppid(void)
{
    syscall(SYS_getppid);
}

static void run_stat(void)
{
    struct stat st;
    if (stat(IMAGE_FILE, &st) < 0)
        fail(IMAGE_FILE);
}

static void run_open(void)
{
    int fd = open(IMAGE_FILE, O_RDONLY);
    if (fd < 0)
        fail(IMAGE_FILE);
    close(fd);
}

/* A file of 1 MiB in /tmp, larger than what a sandbox may keep in memory for itself. */
static void make_data(void)
{
    char name[] = "/tmp/calls-XXXXXX";
    data_fd = mkstemp(name);
    if (data_fd < 0 || unlink(name) < 0 || write(data_fd, data, sizeof(data)) != DATA_BYTES)
        fail(name);
}

static void read_data(size_t size)
{
    static off_t at;
    if (pread(data_fd, data, size, at) != (ssize_t)size)
        fail("pread");
    at = (at + (off_t)size) % DATA_BYTES;
}

static void run_pread_4k(void)
{
    read_data(4096);
}

static void run_pread_64k(void)
{
    read_data(65536);
}

/* Another process that sends back each byte that it gets. */
static void start_echo(void)
{
    int there[2], back[2];
    char byte;
    if (pipe(there) < 0 || pipe(back) < 0)
        fail("pipe");
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0) {
        close(there[1]);
        close(back[0]);
        while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
            ;
        _exit(0);
    }
    close(there[0]);
    close(back[1]);
    to_echo = there[1];
    from_echo = back[0];
}

static void run_pingpong(void)
{
    char byte = 'x';
    if (write(to_echo, &byte, 1) != 1 || read(from_echo, &byte, 1) != 1)
        fail("ping-pong");
}

static void await(pid_t pid)
{
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        fail("child");
}

static void run_fork(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    await(pid);
}

static void run_exec(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    await(pid);
}

static const struct operation {
    const char *name;
    void (*prepare)(void);
    void (*run)(void);
    int batch; /* operations a sample: a few milliseconds in the slowest place */
} operations[] = {
    {"getppid", NULL, run_getppid, 500},
    {"stat", NULL, run_stat, 200},
    {"open", NULL, run_open, 200},
    {"pread4k", make_data, run_pread_4k, 200},
    {"pread64k", make_data, run_pread_64k, 100},
    {"pingpong", start_echo, run_pingpong, 100},
    {"fork", NULL, run_fork, 5},
    {"exec", NULL, run_exec, 3},
};

static void measure(const struct operation *o, int samples)
{
    if (o->prepare)
        o->prepare();
    for (int i = 0; i < o->batch; i++)
        o->run();
    for (int s = 0; s < samples; s++) {
        int64_t start = now_ns();
        for (int i = 0; i < o->batch; i++)
            o->run();
        printf("%lld\n", (long long)((now_ns() - start) / o->batch));
    }
}

static void measure_spawn(int samples, char **command)
{
    int null = open("/dev/null", O_RDWR);
    for (int s = 0; s < samples; s++) {
        int64_t start = now_ns();
        pid_t pid = vfork();
        if (pid == 0) {
            dup2(null, STDIN_FILENO);
            dup2(null, STDOUT_FILENO);
            execvp(command[0], command);
            _exit(127);
        }
        await(pid);
        printf("%lld\n", (long long)(now_ns() - start));
    }
}

int main(int argc, char **argv)
{
    int samples = argc > 2 ? atoi(argv[2]) : 0;
    if (samples > 0 && argc > 3 && !strcmp(argv[1], "spawn")) {
        measure_spawn(samples, argv + 3);
        return 0;
    }
    for (size_t i = 0; samples > 0 && i < sizeof(operations) / sizeof(*operations); i++) {
        if (!strcmp(operations[i].name, argv[1])) {
            measure(&operations[i], samples);
            return 0;
        }
    }
    fputs("usage: calls NAME SAMPLES | calls spawn SAMPLES COMMAND...\n", stderr);
    return 2;
}
