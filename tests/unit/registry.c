// SPDX-License-Identifier: Apache-2.0
#include "sandbox/rate.h"
#include "sandbox/registry.h"
#include "sandbox/reports.h"
#include "sandbox/usage.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <utime.h>

static struct sandbox_error error;
static struct sandbox_limits limits;

/* A registry in the case's own directory. */
static struct registry own_registry(void)
{
    struct registry r = REGISTRY_CLOSED;
    mkdir("runtime", 0700);
    mkdir("runtime/sandboxes", 0700);
    r.folder = open("runtime", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r.sandboxes = open("runtime/sandboxes", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(r.path, sizeof(r.path), "runtime");
    sandbox_limits_set_standard(&limits);
    return r;
}

static void note(struct registry *r, const char *text)
{
    struct buf b = BUF_INIT(4096);
    buf_append_str(&b, text);
    EXPECT_EQ(registry_note(r, &b), 0);
    buf_done(&b);
}

/* A sandbox whose starter was killed with SIGKILL. */
static void leave_stale(const char *name, const char *text)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct registry r = own_registry();
        if (registry_enter(&r, name, &limits, &error) == 0)
            note(&r, text);
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "runtime/sandboxes/%s", name);
    EXPECT_EQ(access(path, F_OK), 0);
}

TEST(a_name_is_kept_while_it_runs)
{
    struct registry a = own_registry(), b = own_registry();
    char *text;
    ASSERT_EQ(registry_enter(&a, "one", &limits, &error), 0);
    EXPECT_STR(a.name, "one");
    note(&a, "pid=1\n");
    EXPECT_EQ(registry_enter(&b, "one", &limits, &error), -EEXIST);
    EXPECT_TRUE(strstr(error.text, "one: a sandbox of this name is running") != NULL);
    ASSERT_EQ(registry_read(&b, "one", &text), 0);
    EXPECT_STR(text, "pid=1\n");
    free(text);
    registry_leave(&a);
    EXPECT_EQ(registry_read(&b, "one", &text), -ENOENT);
    EXPECT_EQ(registry_enter(&b, "one", &limits, &error), 0);
    registry_leave(&b);
    EXPECT_EQ(rmdir("runtime/sandboxes"), 0);
}

TEST(what_can_not_be_opened_is_not_gone)
{
    struct registry r = own_registry(), own = own_registry();
    struct rlimit before, none;
    char *text;
    ASSERT_EQ(registry_enter(&own, "one", &limits, &error), 0);
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    int got = registry_read(&r, "one", &text);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(got, -EMFILE);
    registry_leave(&own);
}

TEST(names_that_are_chosen_differ)
{
    struct registry r[20];
    for (size_t i = 0; i < ARRAY_SIZE(r); i++) {
        r[i] = own_registry();
        ASSERT_EQ(registry_enter(&r[i], NULL, &limits, &error), 0);
        EXPECT_EQ(strlen(r[i].name), 8);
    }
    for (size_t i = 0; i < ARRAY_SIZE(r); i++)
        registry_leave(&r[i]);
    EXPECT_EQ(rmdir("runtime/sandboxes"), 0);
}

TEST(a_stale_record_gives_its_name_and_groups_back)
{
    struct registry r = own_registry();
    char here[PATH_MAX / 4], text[PATH_MAX];
    ASSERT_TRUE(getcwd(here, sizeof(here)) != NULL);
    EXPECT_EQ(mkdir("group", 0755), 0);
    snprintf(text, sizeof(text), "cgroup=1 1 %s/group\ncgroup=1 4 %s/absent\n", here, here);
    leave_stale("dead", text);
    EXPECT_EQ(registry_enter(&r, "dead", &limits, &error), 0);
    EXPECT_EQ(access("group", F_OK), -1);
    registry_leave(&r);
    EXPECT_EQ(rmdir("runtime/sandboxes"), 0);
}

TEST(a_stale_record_whose_group_is_busy_stays)
{
    struct registry r = own_registry();
    char here[PATH_MAX / 4], text[PATH_MAX];
    ASSERT_TRUE(getcwd(here, sizeof(here)) != NULL);
    EXPECT_EQ(mkdir("group", 0755), 0);
    EXPECT_EQ(mkdir("group/below", 0755), 0);
    snprintf(text, sizeof(text), "cgroup=1 1 %s/group\n", here);
    leave_stale("dead", text);
    EXPECT_EQ(registry_enter(&r, "dead", &limits, &error), -EEXIST);
    EXPECT_EQ(rmdir("group/below"), 0);
    EXPECT_EQ(registry_enter(&r, "dead", &limits, &error), 0);
    registry_leave(&r);
}

TEST(each_start_sweeps)
{
    struct registry r = own_registry();
    leave_stale("a", "pid=1\n");
    leave_stale("b", "pid=1\n");
    EXPECT_EQ(registry_enter(&r, "c", &limits, &error), 0);
    EXPECT_EQ(access("runtime/sandboxes/a", F_OK), -1);
    EXPECT_EQ(access("runtime/sandboxes/b", F_OK), -1);
    registry_leave(&r);
}

TEST(sandboxes_at_once)
{
    struct registry r[3] = {own_registry(), own_registry(), own_registry()};
    limits.value[LIMIT_SANDBOXES] = 2;
    leave_stale("dead", "pid=1\n");
    ASSERT_EQ(registry_enter(&r[0], "a", &limits, &error), 0);
    ASSERT_EQ(registry_enter(&r[1], "b", &limits, &error), 0);
    EXPECT_EQ(registry_enter(&r[2], "c", &limits, &error), -EUSERS);
    EXPECT_TRUE(strstr(error.text, "limit of 2 sandboxes at once reached; end one") != NULL);
    EXPECT_EQ(access("runtime/sandboxes/c", F_OK), -1);
    registry_leave(&r[0]);
    EXPECT_EQ(registry_enter(&r[2], "c", &limits, &error), 0);
    registry_leave(&r[1]);
    registry_leave(&r[2]);
}

/* More of them than a new one takes a look at. */
TEST(stale_records_do_not_count)
{
    struct registry r = own_registry();
    char name[16];
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "dead%d", i);
        int fd = openat(r.sandboxes, name, O_WRONLY | O_CREAT, 0600);
        EXPECT_EQ(write(fd, "pid=1\n", 6), 6);
        close(fd);
    }
    limits.value[LIMIT_SANDBOXES] = 1;
    EXPECT_EQ(registry_enter(&r, "a", &limits, &error), 0);
    registry_leave(&r);
    EXPECT_EQ(rmdir("runtime/sandboxes"), 0);
}

TEST(a_record_that_is_being_made_is_left_alone)
{
    struct registry r = own_registry();
    int fd = openat(r.sandboxes, "new", O_WRONLY | O_CREAT, 0600);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(registry_enter(&r, "new", &limits, &error), -EEXIST);
    const struct utimbuf old = {0, 0};
    EXPECT_EQ(utime("runtime/sandboxes/new", &old), 0);
    EXPECT_EQ(registry_enter(&r, "new", &limits, &error), 0);
    registry_leave(&r);
    close(fd);
}

TEST(names_that_are_none)
{
    struct registry r = own_registry();
    char *text;
    close(open("runtime/secret", O_WRONLY | O_CREAT, 0600));
    static const char *const names[] = {"", ".", "..", "../secret", "/etc/passwd", "absent", "a/b"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        EXPECT_EQ(registry_read(&r, names[i], &text), -ENOENT);
}

TEST(the_folder_must_be_private)
{
    struct registry r;
    char here[PATH_MAX / 2], path[PATH_MAX];
    if (geteuid() == 0)
        SKIP("root has one of its own");
    ASSERT_TRUE(getcwd(here, sizeof(here)) != NULL);
    EXPECT_EQ(chmod(here, 0700), 0);
    setenv("XDG_RUNTIME_DIR", here, 1);
    snprintf(path, sizeof(path), "%s/glovebox", here);
    ASSERT_EQ(registry_open(&r, &error), 0);
    EXPECT_STR(r.path, path);
    registry_close(&r);
    EXPECT_EQ(chmod(path, 0755), 0);
    EXPECT_EQ(registry_open(&r, &error), -EPERM);
    EXPECT_EQ(rmdir("glovebox/sandboxes"), 0);
    EXPECT_EQ(rmdir("glovebox"), 0);
    EXPECT_EQ(symlink("/tmp", "glovebox"), 0);
    EXPECT_LT(registry_open(&r, &error), 0);
}

TEST(a_record_comes_back)
{
    static struct record r, back;
    struct buf b = BUF_INIT(RECORD_MAX_BYTES);
    r.starter = 12;
    r.pid = 13;
    r.created_ns = 1234567890123456789;
    snprintf(r.command, sizeof(r.command), "sh -c a=b");
    sandbox_limits_set_standard(&r.limits);
    sandbox_limits_set_rlimit(&r.limits, RLIMIT_NOFILE, (struct rlimit){1, RLIM_INFINITY});
    r.controls = (struct sandbox_controls){
        .memory = LIMITED_BY_CGROUP_V1, .cpus = LIMITED_BY_MACHINE, .pids = LIMITED_BY_KERNEL};
    r.cgroup.count = 1;
    r.cgroup.groups[0].version = 1;
    r.cgroup.groups[0].controllers = 1;
    snprintf(r.cgroup.groups[0].path, PATH_MAX, "/sys/fs/cgroup/memory/a b");
    seal_note(&r.seal, SEAL_LANDLOCK, SEAL_MISSING, "Linux has none");
    seal_note(&r.seal, SEAL_SECCOMP, SEAL_IN_FORCE, "");
    record_write(&r, &b);
    record_write_started(&r, &b);
    record_write_seal(&r, &b);
    ASSERT_TRUE(!b.failed);
    record_parse(b.data, &back);
    EXPECT_EQ(back.starter, 12);
    EXPECT_EQ(back.pid, 13);
    EXPECT_EQ(back.created_ns, r.created_ns);
    EXPECT_STR(back.command, "sh -c a=b");
    EXPECT_EQ(memcmp(&back.limits, &r.limits, sizeof(r.limits)), 0);
    EXPECT_EQ(memcmp(&back.controls, &r.controls, sizeof(r.controls)), 0);
    EXPECT_EQ(back.cgroup.count, 1);
    EXPECT_STR(back.cgroup.groups[0].path, "/sys/fs/cgroup/memory/a b");
    EXPECT_EQ(memcmp(&back.seal, &r.seal, sizeof(r.seal)), 0);
    buf_done(&b);
}

TEST(records_that_make_no_sense)
{
    static struct record r;
    char text[] = "cgroup=1 1\ncgroup=x\ncontrols=9 -1 1\nlimit.x=1\nrlimit=99 1 1\nnothing\n"
                  "cgroup=1 1 /a\ncgroup=1 1 /b\ncgroup=1 1 /c\ncgroup=1 1 /d\n";
    record_parse(text, &r);
    EXPECT_EQ(r.cgroup.count, CGROUP_GROUPS_MAX);
    EXPECT_EQ(r.controls.memory, LIMITED_BY_NOTHING);
    EXPECT_EQ(r.limits.rlimit_count, 0);
}

TEST(rates)
{
    static int64_t times[RATE_MAX];
    size_t count = 0;
    const int64_t s = NSEC_PER_SEC;
    EXPECT_TRUE(rate_take(times, &count, 2, 10 * s));
    EXPECT_TRUE(rate_take(times, &count, 2, 10 * s + 5));
    EXPECT_TRUE(!rate_take(times, &count, 2, 11 * s - 1));
    EXPECT_TRUE(rate_take(times, &count, 2, 11 * s));
    EXPECT_TRUE(!rate_take(times, &count, 2, 11 * s + 4));
    EXPECT_TRUE(rate_take(times, &count, 2, 11 * s + 5));
    /* The machine was started anew: times of before are no times. */
    EXPECT_TRUE(rate_take(times, &count, 1, s));
    EXPECT_EQ(count, 1);
}

TEST(rates_are_kept)
{
    struct registry r = own_registry();
    EXPECT_EQ(rate_check(r.folder, 0, &error), 0);
    EXPECT_EQ(access("runtime/rate", F_OK), -1);
    EXPECT_EQ(rate_check(r.folder, 1, &error), 0);
    struct stat st;
    ASSERT_EQ(stat("runtime/rate", &st), 0);
    EXPECT_EQ(st.st_size, 8);
    /* As if it had been made just now. */
    int64_t now = INT64_MAX;
    int fd = open("runtime/rate", O_WRONLY);
    EXPECT_EQ(pwrite(fd, &now, sizeof(now), 0), 8);
    close(fd);
    EXPECT_EQ(rate_check(r.folder, 1, &error), 0);
}

TEST(reports_are_numbered_and_few)
{
    struct registry r = own_registry();
    struct buf b = BUF_INIT(100);
    char first[17], number[17], path[64];
    buf_append_str(&b, "text\n");
    ASSERT_EQ(reports_keep(r.folder, &b, first), 0);
    for (int i = 0; i < REPORTS_MAX; i++) {
        ASSERT_EQ(reports_keep(r.folder, &b, number), 0);
        EXPECT_GT(strcmp(number, first), 0);
    }
    snprintf(path, sizeof(path), "runtime/reports/%s", first);
    EXPECT_EQ(access(path, F_OK), -1);
    snprintf(path, sizeof(path), "runtime/reports/%s", number);
    EXPECT_EQ(access(path, F_OK), 0);
    buf_done(&b);
}

TEST(stat_lines)
{
    struct usage_stat s;
    EXPECT_TRUE(
        usage_parse_stat("12 (a) R) S 1 12 12 0 -1 4194560 96 0 0 0 7 5 0 0 20 0 3 0 8", &s));
    EXPECT_EQ(s.cpu_ticks, 12);
    EXPECT_EQ(s.threads, 3);
    EXPECT_TRUE(!usage_parse_stat("12 (a S 1", &s));
    EXPECT_TRUE(!usage_parse_stat("12 (a) S 1 2", &s));
}
