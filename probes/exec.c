// SPDX-License-Identifier: Apache-2.0
/*
 * Execution: names and arguments that change under the call, what is no program, calls of the
 * loader stub made by somebody else.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* The stub's own calls, kernel/guest/numbers.h. */
#define STUB_EXEC   1000
#define STUB_START  1001
#define STUB_SIGNAL 1002
#define STUB_INIT   1003

#define BAD_VECTOR ((char **)1) /* the kernel lets the exec run, the host refuses it */

static char plan[65536];

/* The errno of an exec that fails, or the status of the program that ran. */
static int exec_status(const char *name)
{
    pid_t pid = probe_fork();
    if (pid == 0) {
        execl(name, name, SELF_EXIT_TEXT, "7", (char *)NULL);
        _exit(errno);
    }
    return probe_wait(pid);
}

static void check_exec(const char *name, const int *expected)
{
    int status = exec_status(name);
    for (; *expected; expected++)
        if (status == *expected)
            return;
    probe_unproved("%.60s: status %d (%s)", name, status, strerror(status));
}
#define EXEC_GIVES(name, ...) check_exec(name, (const int[]){__VA_ARGS__, 0})

static void copy_self(const char *name, mode_t mode)
{
    char data[65536];
    int in = open(probe_self(), O_RDONLY | O_CLOEXEC);
    int out = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    ssize_t n = -1;
    while (in >= 0 && out >= 0 && (n = read(in, data, sizeof(data))) > 0)
        if (write(out, data, (size_t)n) != n)
            break;
    NEED(n == 0 && fchmod(out, mode) == 0);
    close(in);
    close(out);
}

PROBE(execute_the_hosts_script, EXEC, .expected = "there is no such file",
      .outside = OUTSIDE_ESCAPES)
{
    int status = exec_status(canary_path("program"));
    if (status != ENOENT)
        probe_escaped("status %d", status);
}

PROBE(execute_a_script_with_the_hosts_interpreter, EXEC, .expected = "ENOENT",
      .outside = OUTSIDE_ESCAPES)
{
    char line[512];
    snprintf(line, sizeof(line), "#!%s\n", canary_path("program"));
    probe_write_file("script", line, strlen(line), 0700);
    int status = exec_status("./script");
    if (status != ENOENT)
        probe_escaped("status %d", status);
}

/* ---- what changes while the call looks at it ---- */

static char flipping[64];
static volatile bool stop;

static void *flip(void *unused _unused_)
{
    static const char *const names[] = {"/proc/self/exe",
                                        "/etc/passwd",
                                        "../../../../../stub",
                                        "/",
                                        "./program",
                                        "/shadow/root",
                                        ""};
    for (unsigned i = 0; !stop; i++) {
        strcpy(flipping, names[i % ARRAY_SIZE(names)]);
        __asm__ volatile("" : : : "memory"); /* else only the last one is written */
        for (volatile int wait = 0; wait < 300; wait++)
            ;
    }
    return NULL;
}

PROBE(race_the_path_of_an_exec, EXEC,
      .expected = "a program of the sandbox, through the loader stub, or an error",
      .after = "check and use of a path by two readers")
{
    char *const argv[] = {(char *)"probe", (char *)SELF_EXIT_TEXT, (char *)"7", NULL};
    copy_self("program", 0755);
    for (int i = 0; i < 60; i++) {
        pid_t pid = probe_fork();
        if (pid == 0) {
            strcpy(flipping, "./program");
            probe_thread(flip, NULL);
            for (int n = 0; n < 400; n++)
                execv(flipping, argv);
            _exit(9);
        }
        int status = probe_wait(pid);
        if (status != 7 && status != 9)
            probe_unproved("status %d", status);
    }
    probe_check_kernel();
}

static char *vector[64];

static void *flip_vector(void *unused _unused_)
{
    static char a[] = "7", b[] = "8";
    for (unsigned i = 0; !stop; i++) {
        static char *const values[] = {a, b, NULL, (char *)1, (char *)0xffff800000000000};
        vector[2] = values[i % ARRAY_SIZE(values)];
        vector[1] = i % 7 ? (char *)SELF_EXIT_TEXT : vector[2];
        __asm__ volatile("" : : : "memory");
    }
    return NULL;
}

PROBE(race_the_arguments_of_an_exec, EXEC,
      .expected = "EFAULT, or the program with one of its arguments")
{
    for (int i = 0; i < 60; i++) {
        pid_t pid = probe_fork();
        if (pid == 0) {
            vector[0] = (char *)"probe";
            vector[1] = (char *)SELF_EXIT_TEXT;
            vector[2] = (char *)"7";
            probe_thread(flip_vector, NULL);
            for (int n = 0; n < 200; n++)
                execv(probe_self(), vector);
            _exit(9);
        }
        int status = probe_wait(pid);
        if (status != 7 && status != 8 && status != 9 && status != 2)
            probe_unproved("status %d", status);
    }
    probe_check_kernel();
}

static void *rewrite_program(void *unused _unused_)
{
    while (!stop) {
        int fd = open("program", O_WRONLY);
        pwrite(fd, "\177ELF\2\1\1", 7, 0);
        pwrite(fd, "#!/proc/self/exe\n", 17, 0);
        pwrite(fd, plan, 4096, 0);
        close(fd);
    }
    return NULL;
}

PROBE(rewrite_a_program_while_it_starts, EXEC,
      .expected = "ETXTBSY, ENOEXEC, or a process that ends")
{
    for (int i = 0; i < 40; i++) {
        unlink("program");
        copy_self("program", 0755);
        pid_t pid = probe_fork();
        if (pid == 0) {
            if (i % 2)
                probe_thread(rewrite_program, NULL);
            pid_t child = probe_fork();
            if (child == 0) {
                execl("program", "probe", SELF_EXIT_TEXT, "7", (char *)NULL);
                _exit(9);
            }
            probe_wait(child);
            _exit(0);
        }
        probe_wait(pid);
    }
    probe_check_kernel();
}

static void *execute(void *unused _unused_)
{
    char *const argv[] = {(char *)"probe", (char *)SELF_EXIT_TEXT, (char *)"7", NULL};
    while (execve(probe_self(), argv, environ))
        ;
    return NULL;
}

PROBE(execute_from_many_threads, EXEC, .expected = "one wins, the others are gone")
{
    for (int i = 0; i < 40; i++) {
        pid_t pid = probe_fork();
        if (pid == 0) {
            for (int n = 0; n < 12; n++)
                probe_thread(execute, NULL);
            if (i % 2)
                execute(NULL);
            pthread_exit(NULL);
        }
        int status = probe_wait(pid);
        if (status != 7)
            probe_unproved("status %d", status);
    }
    probe_check_kernel();
}

static int feed[2];

static void *read_for_ever(void *at)
{
    while (read(feed[0], at, 64) > 0)
        ;
    return NULL;
}

static void *execute_soon(void *unused)
{
    usleep(2000);
    return execute(unused);
}

/* What is written then must not reach the new program, whose memory has the same addresses. */
PROBE(execute_while_calls_are_under_way, EXEC, .expected = "calls of the old program end with it")
{
    static char buffer[64];
    NEED(pipe(feed) == 0);
    pid_t writer = probe_fork();
    if (writer == 0) {
        close(feed[0]);
        while (write(feed[1], buffer, sizeof(buffer)) > 0)
            ;
        _exit(0);
    }
    for (int i = 0; i < 30; i++) {
        pid_t pid = probe_fork();
        if (pid == 0) {
            close(feed[1]);
            probe_thread(execute_soon, NULL);
            for (int n = 0; n < 4; n++)
                probe_thread(read_for_ever, buffer);
            read_for_ever(buffer);
            _exit(9);
        }
        int status = probe_wait(pid);
        if (status != 7)
            probe_unproved("status %d", status);
    }
    probe_kill(writer);
}

static void exec_chain(void *unused _unused_)
{
    for (int i = 0; i < 200; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            execl(probe_self(), "probe", SELF_EXIT_TEXT, "7", (char *)NULL);
            _exit(9);
        }
        if (pid < 0 || probe_wait(pid) != 7)
            _exit(1);
    }
}

PROBE(execute_after_vfork_again_and_again, EXEC, .expected = "each child starts and ends")
{
    if (probe_run_child(exec_chain, NULL) != 0)
        probe_unproved("a child did not start");
    probe_check_kernel();
}

/* ---- by descriptor ---- */

PROBE(execute_by_descriptors_of_no_programs, EXEC, .expected = "EACCES, EBADF, ENOEXEC or ENOENT")
{
    static const char *const names[] = {
        "/", "/dev/null",       "/proc/self/status", "/proc/self/mem",
        ".", "/proc/self/maps", "/dev/zero",         "fifo"};
    char *const argv[] = {(char *)"probe", NULL};
    NEED(mkfifo("fifo", 0777) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        int path = open(names[i], O_PATH);
        int memfd = memfd_create("empty", 0);
        REFUSED(syscall(SYS_execveat, path, "", argv, environ, AT_EMPTY_PATH), EACCES, EBADF,
                EPERM);
        REFUSED(syscall(SYS_execveat, path, "nothing", argv, environ, 0L), ENOENT, ENOTDIR, EBADF,
                EACCES);
        REFUSED(syscall(SYS_execveat, memfd, "", argv, environ, AT_EMPTY_PATH), ENOEXEC, EACCES);
        REFUSED(syscall(SYS_execveat, path, "", argv, environ, 0L), ENOENT);
        REFUSED(syscall(SYS_execveat, path, "", argv, environ, AT_EMPTY_PATH | 0x10000L), EINVAL);
        close(path);
        close(memfd);
    }
}

PROBE(execute_a_memory_file, EXEC, .expected = "it runs inside, as any program")
{
    char *const argv[] = {(char *)"probe", (char *)SELF_EXIT_TEXT, (char *)"7", NULL};
    copy_self("program", 0755);
    int fd = memfd_create("program", MFD_CLOEXEC), in = open("program", O_RDONLY);
    struct stat st;
    NEED(fd >= 0 && fstat(in, &st) == 0 &&
         sendfile(fd, in, NULL, (size_t)st.st_size) == st.st_size);
    pid_t pid = probe_fork();
    if (pid == 0) {
        syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
        _exit(errno);
    }
    int status = probe_wait(pid);
    if (status != 7)
        probe_unproved("status %d", status);
}

/* ---- what is no program ---- */

PROBE(execute_directories_and_devices, EXEC, .expected = "EACCES or ENOENT")
{
    static const char *const names[] = {
        "/",           "/etc/passwd",    "/dev/null", "/proc/self/status", "/proc/self/fd",
        "/proc/1/exe", "/proc/self/mem", "",          "/proc/1/root",      "/sys",
        "/dev/zero"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        EXEC_GIVES(names[i], EACCES, ENOENT);
}

PROBE(execute_rubbish, EXEC, .expected = "ENOEXEC, ENOENT or EACCES")
{
    static const char *const texts[] = {"",         "#",        "#!",      "#!\n",
                                        "#! \t \n", "\x7f",     "\177ELF", "#!/nowhere",
                                        "MZ",       "#!/tmp\n", "#!\0x",   "\xff\xff\xff\xff"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        probe_write_file("rubbish", texts[i], strlen(texts[i]), 0755);
        EXEC_GIVES("./rubbish", ENOEXEC, ENOENT, EACCES);
    }
}

PROBE(execute_scripts_of_scripts, EXEC, .expected = "ELOOP past five interpreters")
{
    char name[16], line[300];
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        if (i)
            snprintf(line, sizeof(line), "#!s%d\n", i - 1);
        else
            snprintf(line, sizeof(line), "#!%s %s\n", probe_self(), SELF_EXIT_TEXT);
        probe_write_file(name, line, strlen(line), 0755);
    }
    /* The script's name, no number, stands behind the option: status 0, or 2 for too many words. */
    EXEC_GIVES("s7", ELOOP);
    probe_write_file("own", "#!own\n", 6, 0755);
    EXEC_GIVES("own", ELOOP);
    probe_write_file("a", "#!b\n", 4, 0755);
    probe_write_file("b", "#!a\n", 4, 0755);
    EXEC_GIVES("a", ELOOP);
}

PROBE(execute_a_script_with_an_endless_line, EXEC, .expected = "ENOEXEC or ENOENT")
{
    static char line[5000] = "#!/";
    memset(line + 3, 'x', sizeof(line) - 3);
    probe_write_file("long", line, sizeof(line), 0755);
    EXEC_GIVES("./long", ENOEXEC, ENOENT, ENAMETOOLONG);
    for (size_t size = 250; size < 260; size++) {
        probe_write_file("long", line, size, 0755);
        EXEC_GIVES("./long", ENOEXEC, ENOENT);
    }
}

PROBE(execute_with_too_many_arguments, EXEC, .expected = "E2BIG")
{
    static char word[200000];
    char **words = calloc(2000001, sizeof(*words));
    NEED(words);
    memset(word, 'x', sizeof(word) - 1);
    char *const one[] = {(char *)"probe", word, NULL};
    REFUSED(execve(probe_self(), one, environ), E2BIG);
    for (size_t i = 0; i < 2000000; i++)
        words[i] = (char *)"x";
    REFUSED(execve(probe_self(), words, environ), E2BIG);
    REFUSED(execve(probe_self(), one, one), E2BIG);
    probe_check_kernel();
}

PROBE(execute_with_bad_vectors, EXEC, .expected = "EFAULT, and nothing has changed")
{
    char *const good[] = {(char *)"probe", NULL};
    static char *bad[] = {(char *)"probe", (char *)0xffffffff81000000, NULL};
    REFUSED(execve(probe_self(), BAD_VECTOR, environ), EFAULT);
    REFUSED(execve(probe_self(), good, BAD_VECTOR), EFAULT);
    REFUSED(execve(probe_self(), (char **)0xffff888000000000, environ), EFAULT);
    REFUSED(execve(probe_self(), (char **)-8L, environ), EFAULT);
    REFUSED(execve(probe_self(), bad, environ), EFAULT);
    REFUSED(execve((char *)0xffffffff81000000, good, environ), EFAULT);
    probe_check_kernel();
}

/* ---- the stub's calls, and rights at an exec ---- */

PROBE(forge_the_loaders_calls, EXEC, .expected = "ENOSYS for whoever doesn't start just now")
{
    REFUSED(syscall(STUB_EXEC, plan), ENOSYS);
    REFUSED(syscall(STUB_EXEC, NULL), ENOSYS);
    REFUSED(syscall(STUB_EXEC, -1L), ENOSYS);
    REFUSED(syscall(STUB_START, 1L, 2L, 3L, 4L), ENOSYS);
    REFUSED(syscall(STUB_INIT, 0L, 0L), ENOSYS);
    REFUSED(syscall(STUB_INIT, 1L, plan), ENOSYS);
    probe_check_kernel();
}

static void signal_rubbish(void *seed)
{
    uint32_t state = (uint32_t)(uintptr_t)seed;
    for (int n = 0; n < 20; n++)
        syscall(STUB_SIGNAL, (long)(probe_random(&state) % 70) - 2,
                (long)probe_random(&state) << (n % 40), plan + probe_random(&state) % 60000);
}

PROBE(forge_the_signal_handlers_call, EXEC, .expected = "the process ends, or nothing happens")
{
    for (uintptr_t i = 0; i < 150; i++)
        probe_run_child(signal_rubbish, (void *)i);
    probe_check_kernel();
}

static void stub_rubbish(void *seed)
{
    uint32_t state = (uint32_t)(uintptr_t)seed;
    for (int n = 0; n < 100; n++) {
        uint32_t r = probe_random(&state);
        if (r % 16 == 0)
            execve(probe_self(), BAD_VECTOR, NULL);
        else
            syscall(STUB_EXEC + (long)(r % 4), r % 3 ? (long)plan : (long)r, (long)plan, 0L, 0L);
    }
}

PROBE(forge_the_loaders_calls_in_any_order, EXEC,
      .expected = "the process ends, or nothing happens")
{
    for (uintptr_t i = 0; i < 60; i++)
        probe_run_child(stub_rubbish, (void *)(i + 1));
    probe_check_kernel();
}

/* ---- the loader's own pages, which stay for its signal handler ---- */

#define NEARBY_BYTES (16UL << 20)

static bool is_listed(uintptr_t at)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    NEED(maps);
    while (!found && fgets(line, sizeof(line), maps)) {
        unsigned long start, end;
        found = sscanf(line, "%lx-%lx", &start, &end) == 2 && at >= start && at < end;
    }
    fclose(maps);
    return found;
}

static void jump(void *at)
{
    static char memory[1 << 16];
    char *middle = memory + sizeof(memory) / 2;
    alarm(2);
    __asm__ volatile("mov %1, %%rdi\n mov %1, %%rsi\n mov %1, %%rdx\n mov %1, %%rbx\n"
                     "mov $1002, %%eax\n jmp *%0"
                     :
                     : "r"(at), "r"(middle)
                     : "rdi", "rsi", "rdx", "rbx", "rax", "memory");
    __builtin_unreachable();
}

PROBE(jump_into_the_loaders_pages, EXEC,
      .expected = "the process ends, or goes on: the code can do nothing that a program can't")
{
    /* Beside what the host maps by itself; pages that nothing lists are the loader's. */
    uintptr_t near = getauxval(AT_SYSINFO_EHDR) & ~(PAGE - 1);
    unsigned found = 0;
    unsigned char resident;
    NEED(near > NEARBY_BYTES);
    for (uintptr_t at = near - NEARBY_BYTES; at < near + NEARBY_BYTES && found < 4; at += PAGE) {
        if (mincore((void *)at, PAGE, &resident) < 0 || is_listed(at))
            continue;
        found++;
        for (uintptr_t offset = 0; offset < PAGE; offset += 37)
            probe_run_child(jump, (void *)(at + offset));
    }
    if (found == 0)
        probe_unproved("the loader's pages were not found");
    probe_check_kernel();
}

static bool is_ordinary(void)
{
    uid_t real, effective, saved;
    return getresuid(&real, &effective, &saved) == 0 && real != 0 && effective != 0 && saved != 0;
}

static void *ask_for_the_plan(void *unused _unused_)
{
    while (!stop)
        if (syscall(STUB_EXEC, plan) == 0 || !is_ordinary())
            probe_escaped("rights of a program that never ran");
    return NULL;
}

/* A program with another owner's rights that is asked for and does not start. */
PROBE(take_rights_of_a_program_that_does_not_start, EXEC,
      .expected = "rights change only with the program")
{
    char *const argv[] = {(char *)"program", NULL};
    probe_need_root();
    NEED(chmod(".", 0755) == 0);
    copy_self("program", 04755);
    probe_become_user();
    probe_thread(ask_for_the_plan, NULL);
    for (int i = 0; i < 200; i++)
        REFUSED(execve("program", argv, BAD_VECTOR), EFAULT);
    stop = true;
    if (!is_ordinary() || setuid(0) == 0)
        probe_escaped("it is root");
}

PROBE(dump_core_of_a_program, EXEC, .expected = "no file, and the host's helper is not run",
      .after = "core_pattern helpers of the host")
{
    static const char *const names[] = {"core", "/core"};
    struct stat st;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    pid_t pid = probe_fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile int *)8 = 1;
    }
    if (probe_wait(pid) != 128 + SIGSEGV)
        probe_unproved("it did not crash");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (stat(names[i], &st) == 0)
            probe_escaped("%s was written", names[i]);
}
