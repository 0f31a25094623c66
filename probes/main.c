// SPDX-License-Identifier: Apache-2.0
/*
 * Runs probes one after the other and writes what came of each, see report.h. Standard output is
 * for that report alone; what the probes themselves would print is thrown away.
 */
#include "probes/deaf.h"
#include "probes/report.h"
#include "probes/support.h"

#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STATUS_BAD_USE 2
#define RECORDS        8    /* verdicts of one probe and its children that are looked at */
#define ENDING_MS      5000 /* for what a probe left behind to be gone */
#define RAN_AS_ASKED   0

/*
 * Where a probe and its children put their verdicts: shared memory, since there are probes that
 * close or use up every descriptor. They may scribble on it, so all of it is checked.
 */
struct board {
    atomic_uint count;
    struct record {
        uint32_t result;
        char reason[REPORT_REASON_BYTES];
    } records[RECORDS];
};

static struct board *board;
static struct probe *first, **end = &first;
static FILE *report;

void probe_register(struct probe *p)
{
    *end = p;
    end = &p->next;
}

/* ---- on the side of the probe ---- */

_noreturn_ static void give_verdict(enum probe_result result, const char *format, va_list args)
{
    unsigned i = atomic_fetch_add(&board->count, 1);
    if (i < RECORDS) {
        vsnprintf(board->records[i].reason, REPORT_REASON_BYTES, format, args);
        board->records[i].result = result;
    }
    _exit(0);
}

#define VERDICT(name_, result_)              \
    void name_(const char *format, ...)      \
    {                                        \
        va_list args;                        \
        va_start(args, format);              \
        give_verdict(result_, format, args); \
    }

VERDICT(probe_contained, PROBE_CONTAINED)
VERDICT(probe_escaped, PROBE_ESCAPED)
VERDICT(probe_skip, PROBE_SKIPPED)
VERDICT(probe_unproved, PROBE_UNPROVED)

void probe_check_refused(const char *call, long result, int error, const int *expected)
{
    if (result != -1)
        probe_escaped("%.120s succeeded", call);
    for (const int *e = expected; *e; e++)
        if (*e == error || *e == PROBE_ANY_ERROR)
            return;
    probe_unproved("%.100s: %s, where %s must follow", call, strerror(error), strerror(*expected));
}

_noreturn_ static void run_in_child(const struct probe *p, const char *directory)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    setpgid(0, 0);
    fclose(report);
    if (chdir(directory) < 0)
        probe_unproved("%s: %s", directory, strerror(errno));
    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        close(null);
    }
    p->run();
    probe_contained("%s", "");
}

/* ---- on the side of the runner ---- */

/* Kills what the probe left behind and waits for it; false when something stays. */
static bool end_all(pid_t group)
{
    int64_t until = probe_now_ms() + ENDING_MS;
    bool is_inside = probe_is_inside();
    for (;;) {
        /* In a sandbox all there is but this process and the init is the probe's. */
        if (is_inside)
            kill(-1, SIGKILL);
        kill(-group, SIGKILL);
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return true;
        if (probe_now_ms() > until)
            return false;
        usleep(1000);
    }
}

/* Waits until the probe's own process has ended; false when it takes too long. */
static bool wait_for(pid_t pid, unsigned seconds, int *ret_status)
{
    struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    int64_t until = probe_now_ms() + seconds * 1000LL;
    if (p.fd < 0)
        return false;
    int64_t left;
    while ((left = until - probe_now_ms()) > 0 && poll(&p, 1, (int)left) < 1)
        ;
    close(p.fd);
    return waitpid(pid, ret_status, WNOHANG) == pid;
}

/* What escaped anywhere has escaped; else the worst that was said. */
static bool read_board(struct report_row *row)
{
    static const enum probe_result by_weight[] = {PROBE_ESCAPED, PROBE_UNPROVED, PROBE_SKIPPED,
                                                  PROBE_CONTAINED};
    unsigned count = MIN(atomic_load(&board->count), (unsigned)RECORDS);
    for (size_t w = 0; w < ARRAY_SIZE(by_weight); w++)
        for (unsigned i = 0; i < count; i++) {
            struct record *r = &board->records[i];
            if (r->result != by_weight[w])
                continue;
            row->result = by_weight[w];
            memcpy(row->reason, r->reason, sizeof(row->reason));
            row->reason[sizeof(row->reason) - 1] = '\0';
            return true;
        }
    return false;
}

_printf_(2, 3) static void set_unproved(struct report_row *row, const char *format, ...)
{
    va_list args;
    row->result = PROBE_UNPROVED;
    va_start(args, format);
    vsnprintf(row->reason, sizeof(row->reason), format, args);
    va_end(args);
}

static void run_forked(const struct probe *p, const char *directory, struct report_row *row)
{
    unsigned seconds = p->seconds ? p->seconds : PROBE_SECONDS;
    int status = 0;
    memset(board, 0, sizeof(*board));
    fflush(report);
    pid_t pid = fork();
    if (pid == 0)
        run_in_child(p, directory);
    if (pid < 0) {
        set_unproved(row, "fork: %s", strerror(errno));
        return;
    }
    bool in_time = wait_for(pid, seconds, &status);
    bool is_clean = end_all(pid);
    bool has_verdict = read_board(row);
    if (has_verdict && row->result == PROBE_ESCAPED)
        return;
    if (!in_time)
        set_unproved(row, "took more than %u seconds", seconds);
    else if (WIFSIGNALED(status))
        set_unproved(row, "ended by signal %d", WTERMSIG(status));
    else if (!has_verdict)
        set_unproved(row, "ended with status %d and no verdict", WEXITSTATUS(status));
    else if (!is_clean)
        set_unproved(row, "left processes that can't be ended");
}

static int remove_entry(const char *path, const struct stat *st _unused_, int type _unused_,
                        struct FTW *place _unused_)
{
    return remove(path), 0;
}

static void run_probe(const struct probe *p)
{
    static const char *const places[] = {"/tmp", "/var/tmp", "/dev/shm", "."};
    char directory[PATH_MAX] = "";
    struct report_row row = {
        .control = p->control,
        .name = p->name,
        .expected = p->expected,
        .after = p->after ? p->after : "",
        .outside = p->outside,
    };
    int64_t start = probe_now_ms();
    for (size_t i = 0; i < ARRAY_SIZE(places) && !directory[0]; i++) {
        snprintf(directory, sizeof(directory), "%s/glovebox-probe-XXXXXX", places[i]);
        if (!mkdtemp(directory))
            directory[0] = '\0';
    }
    if (directory[0]) {
        run_forked(p, directory, &row);
        nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    } else {
        set_unproved(&row, "no directory can be made in /tmp: %s", strerror(errno));
    }
    row.ms = (unsigned)(probe_now_ms() - start);
    report_write_row(report, &row);
    fflush(report);
}

static bool is_wanted(const struct probe *p, bool outside, int count, char **names)
{
    if (outside && p->outside == OUTSIDE_NEVER)
        return false;
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], p->name))
            return true;
    return count == 0;
}

static int run_all(bool outside, int count, char **names)
{
    unsigned wanted = 0;
    int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    report = copy < 0 ? NULL : fdopen(copy, "w");
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!report || board == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
        perror("glovebox-probes");
        return STATUS_BAD_USE;
    }
    for (const struct probe *p = first; p; p = p->next)
        wanted += is_wanted(p, outside, count, names);
    report_write_begin(report, wanted);
    for (const struct probe *p = first; p; p = p->next)
        if (is_wanted(p, outside, count, names))
            run_probe(p);
    report_write_end(report, wanted);
    return fclose(report) == 0 ? RAN_AS_ASKED : STATUS_BAD_USE;
}

static bool is_known(const char *name)
{
    for (const struct probe *p = first; p; p = p->next)
        if (!strcmp(p->name, name))
            return true;
    return false;
}

static int list(void)
{
    for (const struct probe *p = first; p; p = p->next)
        printf("%s\t%s\n", p->control, p->name);
    return RAN_AS_ASKED;
}

/*
 * What the probes of another process's rights aim at, started by glovebox on the host: writes a
 * byte when it is ready, and then one for each signal it gets.
 */
_noreturn_ static void stand(const char *name)
{
    sigset_t all;
    unsigned char byte = 0;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, name);
    while (write(STDOUT_FILENO, &byte, 1) == 1) {
        int sig;
        /* A machine that was frozen, or a debugger, ends the waiting without any. */
        while ((sig = sigwaitinfo(&all, NULL)) < 0)
            ;
        byte = (unsigned char)sig;
    }
    _exit(1);
}

/* A word made of where things lie in memory, for the probe that compares runs. */
static int write_addresses(void)
{
    char on_stack;
    void *mapped = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t word = (uintptr_t)&on_stack ^ (uintptr_t)mapped << 20 ^ (uintptr_t)write_addresses;
    return write(STDOUT_FILENO, &word, sizeof(word)) == sizeof(word) ? 0 : 1;
}

/* For tests/security, which end it from outside. Without a name: those that there are. */
static int be_deaf(const char *name)
{
    static volatile uint64_t turns;
    const struct deaf_way *way;
    for (size_t i = 0; !name && (way = deaf_way_at(i)); i++)
        puts(way->name);
    way = name ? deaf_way_find(name) : NULL;
    if (way && probe_is_inside() && write(STDOUT_FILENO, "x", 1) == 1)
        deaf_run(way, &turns);
    return name ? STATUS_BAD_USE : RAN_AS_ASKED;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], SELF_EXIT_TEXT))
        return atoi(argv[2]);
    if (argc == 2 && !strcmp(argv[1], "--addresses"))
        return write_addresses();
    if (argc == 2 && !strcmp(argv[1], "--stand"))
        stand(argv[0]);
    if (argc >= 2 && argc <= 3 && !strcmp(argv[1], "--deaf"))
        return be_deaf(argv[2]);
    if (argc == 2 && !strcmp(argv[1], "--list"))
        return list();
    /* Only with a word that nothing else has: probes execute this program with any words. */
    bool outside = argc > 1 && !strcmp(argv[1], "--outside");
    if (argc < 2 || (!outside && strcmp(argv[1], "--inside"))) {
        fputs("glovebox-probes: is run by glovebox; see glovebox doctor --help\n", stderr);
        return STATUS_BAD_USE;
    }
    for (int i = 2; i < argc; i++)
        if (!is_known(argv[i])) {
            fprintf(stderr, "glovebox-probes: %s: no such probe\n", argv[i]);
            return STATUS_BAD_USE;
        }
    if (!outside && !probe_is_inside()) {
        fputs("glovebox-probes: this is no sandbox, where the probes would do harm; "
              "run: glovebox doctor --inside\n",
              stderr);
        return STATUS_BAD_USE;
    }
    signal(SIGPIPE, SIG_IGN);
    return run_all(outside, argc - 2, argv + 2);
}
