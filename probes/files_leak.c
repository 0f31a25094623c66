// SPDX-License-Identifier: Apache-2.0
/*
 * What can be learned of the host from /proc, /sys, answers of calls, and own memory.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <dirent.h>
#include <limits.h>
#include <net/if.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#define TEXT_BYTES (1 << 20)

static char text[TEXT_BYTES];

/* Every file below a directory, to a depth: the token, or a path of the host. */
static void scan(const char *path, int depth)
{
    DIR *dir = opendir(path);
    const struct dirent *e;
    const char *folder = canary_fact("FOLDER"), *program = canary_fact("PROGRAM");
    while (dir && (e = readdir(dir))) {
        char below[PATH_MAX];
        if (e->d_name[0] == '.' || !strcmp(e->d_name, "environ") || !strcmp(e->d_name, "pagemap") ||
            (size_t)snprintf(below, sizeof(below), "%s/%s", path, e->d_name) >= sizeof(below))
            continue;
        struct stat st;
        if (lstat(below, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth > 0)
            scan(below, depth - 1);
        ssize_t n = -1;
        if (S_ISREG(st.st_mode))
            n = probe_read_file(below, text, sizeof(text));
        else if (S_ISLNK(st.st_mode))
            n = readlink(below, text, sizeof(text) - 1);
        if (n <= 0)
            continue;
        text[n] = '\0';
        if (memmem(text, (size_t)n, folder, strlen(folder)) ||
            memmem(text, (size_t)n, program, strlen(program)) || canary_is_in(text, (size_t)n))
            probe_escaped("%s shows a path or secret of the host", below);
    }
    if (dir)
        closedir(dir);
}

PROBE(find_paths_of_the_host_in_proc, SECRETS, .expected = "/proc shows the sandbox alone",
      .outside = OUTSIDE_ESCAPES)
{
    scan("/proc/self", 1);
    scan("/proc/1", 1);
    scan("/proc/net", 0);
    scan("/proc/sys/kernel", 1);
    DIR *dir = opendir("/proc");
    const struct dirent *e;
    NEED(dir);
    while ((e = readdir(dir)))
        if (strcmp(e->d_name, "kcore") && strcmp(e->d_name, "kmsg") && e->d_name[0] != '.') {
            char path[300];
            snprintf(path, sizeof(path), "/proc/%s", e->d_name);
            ssize_t n = probe_read_file(path, text, sizeof(text));
            if (n > 0 && strstr(text, canary_fact("FOLDER")))
                probe_escaped("%s shows a path of the host", path);
        }
}

PROBE(find_paths_of_the_host_in_sys, SECRETS, .expected = "/sys shows the sandbox alone")
{
    scan("/sys", 4);
}

PROBE(read_the_callers_environment, SECRETS, .expected = "variables of the caller don't go in",
      .outside = OUTSIDE_ESCAPES)
{
    char path[64];
    for (char **entry = environ; *entry; entry++)
        if (canary_is_in(*entry, strlen(*entry)))
            probe_escaped("it is in the environment: %.20s...", *entry);
    for (long pid = 1; pid < 64; pid++) {
        snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
        canary_check_path(path);
    }
    snprintf(path, sizeof(path), "/proc/%ld/environ", canary_number("PID"));
    canary_check_path(path);
}

/* Whatever was mapped, and the stack with arguments, environment and auxiliary vector. */
PROBE(find_the_secret_in_own_memory, SECRETS,
      .expected = "nothing of the host lies in a program's memory", .outside = OUTSIDE_ESCAPES)
{
    char *line = NULL;
    size_t capacity = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    NEED(maps);
    while (getline(&line, &capacity, maps) > 0) {
        unsigned long start, end;
        char rights[5];
        if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) != 3 || rights[0] != 'r' ||
            strstr(line, "[v") || end - start > (64UL << 20))
            continue;
        if (canary_is_in((const char *)start, end - start))
            probe_escaped("it is in memory: %.100s", line);
    }
}

PROBE(learn_the_hosts_name, SECRETS, .expected = "the machine has a name of its own",
      .outside = OUTSIDE_ESCAPES)
{
    struct utsname name;
    uint64_t hash = strtoull(canary_fact("HOSTNAME"), NULL, 16);
    NEED(uname(&name) == 0);
    if (token_hash(name.nodename, strlen(name.nodename)) == hash)
        probe_escaped("uname says it");
    static const char *const files[] = {"/proc/sys/kernel/hostname", "/etc/hostname"};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        ssize_t n = probe_read_file(files[i], text, sizeof(text));
        size_t size = n > 0 ? strcspn(text, "\n") : 0;
        if (size > 0 && token_hash(text, size) == hash)
            probe_escaped("%s says it", files[i]);
    }
}

PROBE(read_the_kernels_log, SECRETS, .expected = "the host's log can't be read",
      .outside = OUTSIDE_MAYBE)
{
    int n = klogctl(3 /* SYSLOG_ACTION_READ_ALL */, text, sizeof(text));
    if (n > 0)
        probe_escaped("syslog gives %d bytes", n);
    static const char *const files[] = {"/dev/kmsg", "/proc/kmsg"};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (probe_read_file(files[i], text, sizeof(text)) > 0)
            probe_escaped("%s can be read", files[i]);
}

PROBE(read_the_hosts_memory, SECRETS, .expected = "no file shows memory of the machine",
      .outside = OUTSIDE_MAYBE)
{
    static const char *const files[] = {
        "/dev/mem",          "/dev/kmem",           "/dev/port",
        "/proc/kcore",       "/proc/kpageflags",    "/proc/kpagecount",
        "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/firmware/acpi/tables/DSDT"};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        FAILS(open(files[i], O_RDONLY));
}

PROBE(learn_addresses_of_the_hosts_kernel, SECRETS,
      .expected = "no address of the host's kernel is told", .outside = OUTSIDE_MAYBE)
{
    static const char *const files[] = {
        "/proc/kallsyms",   "/proc/modules", "/proc/self/stack",  "/proc/self/wchan",
        "/proc/timer_list", "/proc/iomem",   "/sys/kernel/notes", "/proc/self/syscall"};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (probe_read_file(files[i], text, sizeof(text)) > 0 &&
            (strstr(text, "ffffffff") || strstr(text, "ffff8") || strstr(text, "0xffff")))
            probe_escaped("%s has one", files[i]);
}

PROBE(learn_physical_addresses_of_own_pages, SECRETS, .expected = "pagemap is empty or not there",
      .after = "rowhammer", .outside = OUTSIDE_MAYBE)
{
    uint64_t entry = 0, frame = (1UL << 55) - 1;
    int fd = open("/proc/self/pagemap", O_RDONLY);
    uintptr_t at = (uintptr_t)text;
    text[0] = 1;
    if (fd >= 0 && pread(fd, &entry, 8, (off_t)(at / PAGE * 8)) == 8 && (entry & frame))
        probe_escaped("page frame %llx", (unsigned long long)(entry & frame));
}

PROBE(see_hardware_of_the_host, SECRETS, .expected = "no interface but lo, no disk, no firmware",
      .outside = OUTSIDE_MAYBE)
{
    static const char *const folders[] = {
        "/sys/class/net",       "/sys/block",     "/sys/class/block", "/sys/class/dmi/id",
        "/sys/bus/pci/devices", "/sys/class/tty", "/sys/firmware"};
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        DIR *dir = opendir(folders[i]);
        const struct dirent *e;
        while (dir && (e = readdir(dir)))
            if (e->d_name[0] != '.' && strcmp(e->d_name, "lo") && strcmp(e->d_name, "tty") &&
                strcmp(e->d_name, "console"))
                probe_escaped("%s has %.60s", folders[i], e->d_name);
        if (dir)
            closedir(dir);
    }
    struct if_nameindex *list = if_nameindex();
    for (struct if_nameindex *i = list; i && i->if_index; i++)
        if (strcmp(i->if_name, "lo"))
            probe_escaped("interface %s", i->if_name);
}

/* Every byte that Linux doesn't define is zero, or as it was before the call. */
static void check_padding(const char *what, const unsigned char *data, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (data[i] != 0 && data[i] != 0xa5)
            probe_escaped("%s: byte %zu is 0x%02x", what, i, data[i]);
}

PROBE(read_old_bytes_in_the_gaps_of_answers, SECRETS,
      .expected = "gaps in structs hold no old memory",
      .after = "information leaks of kernels by uninitialised padding")
{
    static unsigned char answer[PAGE];
    for (int i = 0; i < 20; i++) {
        memset(answer, 0xa5, sizeof(answer));
        NEED(syscall(SYS_stat, "/", answer) == 0);
        check_padding("stat", answer, offsetof(struct stat, st_gid) + 4,
                      offsetof(struct stat, st_rdev));
        check_padding("stat", answer, offsetof(struct stat, st_ctim) + 16, 144);
        memset(answer, 0xa5, sizeof(answer));
        NEED(syscall(SYS_statx, AT_FDCWD, "/", 0L, 0x7ffL, answer) == 0);
        check_padding("statx", answer, 30, 32);
        check_padding("statx", answer, 184, 256);
        memset(answer, 0xa5, sizeof(answer));
        NEED(syscall(SYS_uname, answer) == 0);
        for (int field = 0; field < 6; field++)
            check_padding("uname", answer,
                          65 * (size_t)field + strlen((char *)answer + 65 * field) + 1,
                          65 * (size_t)(field + 1));
        memset(answer, 0xa5, sizeof(answer));
        NEED(syscall(SYS_statfs, "/", answer) == 0);
        check_padding("statfs", answer, 88, 120);
        memset(answer, 0xa5, sizeof(answer));
        if (probe_fork() == 0)
            _exit(3);
        NEED(syscall(SYS_waitid, P_ALL, 0L, answer, (long)WEXITED, NULL) == 0);
        check_padding("siginfo", answer, 12, 16);
        check_padding("siginfo", answer, 28, 128);
    }
}

PROBE(guess_addresses_from_run_to_run, SECRETS,
      .expected = "stack, heap and program lie elsewhere each time", .outside = OUTSIDE_NEVER)
{
    /* Each child executes this program, whose /proc/PID/maps then says where it lies. */
    uint64_t seen[3] = {0};
    for (size_t i = 0; i < ARRAY_SIZE(seen); i++) {
        int two[2];
        NEED(pipe(two) == 0);
        pid_t pid = probe_fork();
        if (pid == 0) {
            dup2(two[1], STDOUT_FILENO);
            execl(probe_self(), "probe", "--addresses", (char *)NULL);
            _exit(1);
        }
        close(two[1]);
        NEED(read(two[0], &seen[i], 8) == 8 && probe_wait(pid) == 0);
    }
    if (seen[0] == seen[1] || seen[1] == seen[2])
        probe_escaped("the same addresses twice: %llx", (unsigned long long)seen[1]);
}
