// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/harness.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#define CASE_SECONDS   30
#define SLEEP_SECONDS  20
#define STATUS_FAILED  1
#define STATUS_SKIPPED 77

static struct harness_case *first, **end = &first;
static bool failed;

void harness_register(struct harness_case *c)
{
    *end = c;
    end = &c->next;
}

void harness_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    failed = true;
    printf("  %s:%d: ", file, line);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

void harness_skip(const char *format, ...)
{
    va_list args;
    printf("  skipped: ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
    _exit(failed ? STATUS_FAILED : STATUS_SKIPPED);
}

void harness_end_case(void)
{
    fflush(stdout);
    _exit(failed ? STATUS_FAILED : 0);
}

bool harness_is_inside(void)
{
    const char *inside = getenv("GLOVEBOX_TEST_INSIDE");
    return inside && !strcmp(inside, "1");
}

static char state_of(pid_t task)
{
    char path[64], state = '?';
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)task);
    FILE *f = fopen(path, "re");
    if (!f) {
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)task);
        f = fopen(path, "re");
    }
    if (!f)
        return state;
    if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    fclose(f);
    return state;
}

/*
 * In a sandbox a call that its kernel has not taken yet looks like a sleep to the host, and so to
 * who asks. That is a moment: several in a row are no such.
 */
void harness_wait_until_sleeps(pid_t task)
{
    int seen = 0;
    char state = 'R';
    for (int i = 0; i < SLEEP_SECONDS * 1000 && seen < 3 && state != 'Z' && state != '?'; i++) {
        usleep(1000);
        state = state_of(task);
        seen = state == 'S' ? seen + 1 : 0;
    }
    if (seen < 3)
        harness_fail(__FILE__, __LINE__, "task %d does not sleep: %c", (int)task, state);
}

/* The case's own process: its own group, so that what it leaves behind can be ended. */
static void run_case(const struct harness_case *c, const char *directory)
{
    setpgid(0, 0);
    if (chdir(directory) < 0) {
        perror(directory);
        _exit(STATUS_FAILED);
    }
    alarm(CASE_SECONDS);
    c->run();
    harness_end_case();
}

static void remove_directory(const char *directory)
{
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", directory, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

/* True unless it failed. */
static bool run_forked(const struct harness_case *c)
{
    char directory[] = "/tmp/glovebox-test-XXXXXX";
    if (!mkdtemp(directory)) {
        perror("mkdtemp");
        return false;
    }
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        run_case(c, directory);
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    kill(-pid, SIGKILL);
    remove_directory(directory);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        printf("ok %s\n", c->name);
    else if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_SKIPPED)
        printf("skip %s\n", c->name);
    else if (WIFSIGNALED(status))
        printf("FAIL %s: ended by signal %d%s\n", c->name, WTERMSIG(status),
               WTERMSIG(status) == SIGALRM ? " (took too long)" : "");
    else
        printf("FAIL %s\n", c->name);
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == STATUS_SKIPPED);
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name))
            return true;
    return argc < 2;
}

int main(int argc, char **argv)
{
    bool all_passed = true;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 2 && !strcmp(argv[1], "--list")) {
        for (struct harness_case *c = first; c; c = c->next)
            puts(c->name);
        return 0;
    }
    for (struct harness_case *c = first; c; c = c->next)
        if (is_wanted(c->name, argc, argv) && !run_forked(c))
            all_passed = false;
    return all_passed ? 0 : 1;
}
