// SPDX-License-Identifier: Apache-2.0
#include "lib/seal/filter.h"
#include "lib/seal/jail.h"
#include "lib/seal/landlock.h"
#include "lib/seal/report.h"
#include "tests/harness/harness.h"
#include "tests/unit/bpf_machine.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct sock_filter program[4096];
static int program_size;

static uint32_t decide(uint32_t nr, int argument, uint64_t value)
{
    struct seccomp_data data = {.nr = (int)nr, .arch = AUDIT_ARCH_X86_64};
    data.args[argument] = value;
    return bpf_machine_run(program, program_size, &data);
}

#define EXPECT_ALLOWED(nr, argument, value) \
    EXPECT_EQ(decide(nr, argument, value), SECCOMP_RET_ALLOW)
#define EXPECT_KILLED(nr, argument, value) \
    EXPECT_EQ(decide(nr, argument, value), SECCOMP_RET_KILL_PROCESS)

static void build(const uint32_t *calls, size_t call_count, const struct seal_check *checks,
                  size_t check_count)
{
    program_size = seal_filter_build(calls, call_count, checks, check_count, program,
                                     sizeof(program) / sizeof(program[0]));
    ASSERT_GT(program_size, 0);
}

/* ---- the filter ---- */

TEST(listed_calls_go_through_and_all_others_end_the_process)
{
    static const uint32_t calls[] = {0, 3, 60, 300};
    build(calls, 4, NULL, 0);
    for (uint32_t nr = 0; nr < 1000; nr++)
        EXPECT_EQ(decide(nr, 0, 0), nr == 0 || nr == 3 || nr == 60 || nr == 300
                                        ? SECCOMP_RET_ALLOW
                                        : SECCOMP_RET_KILL_PROCESS);
    EXPECT_KILLED(0x40000003, 0, 0);
    EXPECT_KILLED((uint32_t)-1, 0, 0);
    struct seccomp_data data = {.nr = 3, .arch = AUDIT_ARCH_I386};
    EXPECT_EQ(bpf_machine_run(program, program_size, &data), SECCOMP_RET_KILL_PROCESS);
}

TEST(an_argument_is_one_of_the_values)
{
    static const uint32_t calls[] = {1, 2}, values[] = {5, 7};
    static const struct seal_check checks[] = {{2, 1, SEAL_ANY_OF, values, 2, false}};
    build(calls, 2, checks, 1);
    EXPECT_ALLOWED(2, 1, 5);
    EXPECT_ALLOWED(2, 1, 7);
    EXPECT_KILLED(2, 1, 6);
    EXPECT_KILLED(2, 1, 0);
    EXPECT_ALLOWED(1, 1, 6);
    /* Of an int the host doesn't look at the upper half. */
    EXPECT_ALLOWED(2, 1, 0xffffffff00000005);
}

TEST(a_long_argument_is_looked_at_as_a_whole)
{
    static const uint32_t calls[] = {1}, values[] = {5};
    static const struct seal_check checks[] = {{1, 5, SEAL_ANY_OF, values, 1, true}};
    build(calls, 1, checks, 1);
    EXPECT_ALLOWED(1, 5, 5);
    EXPECT_KILLED(1, 5, 0x100000005);
    EXPECT_KILLED(1, 5, 6);
}

TEST(an_argument_has_no_other_bits)
{
    static const uint32_t calls[] = {9}, bits[] = {3};
    static const struct seal_check checks[] = {{9, 2, SEAL_NO_OTHERS, bits, 1, true}};
    build(calls, 1, checks, 1);
    for (uint64_t value = 0; value < 16; value++)
        EXPECT_EQ(decide(9, 2, value), value & ~3UL ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW);
    EXPECT_KILLED(9, 2, 1UL << 32);
}

TEST(all_checks_of_a_call_must_hold)
{
    static const uint32_t calls[] = {4}, zero[] = {0}, one[] = {1};
    static const struct seal_check checks[] = {{4, 0, SEAL_ANY_OF, one, 1, false},
                                               {4, 3, SEAL_ANY_OF, zero, 1, false}};
    build(calls, 1, checks, 2);
    struct seccomp_data data = {.nr = 4, .arch = AUDIT_ARCH_X86_64, .args = {1}};
    EXPECT_EQ(bpf_machine_run(program, program_size, &data), SECCOMP_RET_ALLOW);
    data.args[3] = 1;
    EXPECT_EQ(bpf_machine_run(program, program_size, &data), SECCOMP_RET_KILL_PROCESS);
    EXPECT_KILLED(4, 3, 0);
}

/* So long that no short jump reaches from one end to the other. */
TEST(a_long_list)
{
    enum { COUNT = 300 };
    static uint32_t calls[COUNT];
    static const uint32_t values[] = {1, 2, 3};
    static struct seal_check checks[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        calls[i] = 2 * i + 1;
        checks[i] = (struct seal_check){calls[i], 0, SEAL_ANY_OF, values, 3, true};
    }
    build(calls, COUNT, checks, COUNT);
    for (uint32_t nr = 0; nr < 2 * COUNT + 10; nr++) {
        bool is_listed = nr % 2 == 1 && nr < 2 * COUNT;
        EXPECT_EQ(decide(nr, 0, 3), is_listed ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS);
        EXPECT_KILLED(nr, 0, 4);
    }
}

TEST(lists_that_make_no_sense_are_refused)
{
    static const uint32_t right[] = {1, 2}, twice[] = {1, 1}, falling[] = {2, 1}, values[] = {0};
    static const struct seal_check not_listed = {3, 0, SEAL_ANY_OF, values, 1, false},
                                   seventh = {1, 6, SEAL_ANY_OF, values, 1, false},
                                   none = {1, 0, SEAL_ANY_OF, values, 0, false};
    EXPECT_EQ(seal_filter_build(right, 0, NULL, 0, program, 100), -EINVAL);
    EXPECT_EQ(seal_filter_build(twice, 2, NULL, 0, program, 100), -EINVAL);
    EXPECT_EQ(seal_filter_build(falling, 2, NULL, 0, program, 100), -EINVAL);
    EXPECT_EQ(seal_filter_build(right, 2, &not_listed, 1, program, 100), -EINVAL);
    EXPECT_EQ(seal_filter_build(right, 2, &seventh, 1, program, 100), -EINVAL);
    EXPECT_EQ(seal_filter_build(right, 2, &none, 1, program, 100), -EINVAL);
    int size = seal_filter_build(right, 2, NULL, 0, program, 100);
    ASSERT_GT(size, 0);
    EXPECT_EQ(seal_filter_build(right, 2, NULL, 0, program, (size_t)size - 1), -E2BIG);
}

TEST(the_host_ends_who_makes_another_call)
{
    static const uint32_t calls[] = {SYS_exit_group};
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        program_size = seal_filter_build(calls, 1, NULL, 0, program, 100);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
            seal_filter_install(program, program_size) == 0)
            syscall(SYS_getpid);
        _exit(1);
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

/* ---- Landlock ---- */

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(write(fd, "x", 1), 1);
    close(fd);
}

static void allow(const struct seal_landlock *l, const char *path, unsigned access)
{
    int fd = open(path, O_PATH);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(seal_landlock_allow(l, fd, access), 0);
    close(fd);
}

static void begin(struct seal_landlock *l)
{
    int r = seal_landlock_begin(l, 0);
    if (r == -EOPNOTSUPP)
        SKIP("this Linux has no Landlock");
    ASSERT_EQ(r, 0);
    EXPECT_GE(l->abi, SEAL_LANDLOCK_OLDEST);
}

static void enforce(struct seal_landlock *l)
{
    ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(seal_landlock_enforce(l), 0);
    EXPECT_EQ(l->ruleset, -1);
}

TEST(only_what_was_allowed_can_be_opened)
{
    struct seal_landlock l;
    ASSERT_EQ(mkdir("read", 0755), 0);
    ASSERT_EQ(mkdir("other", 0755), 0);
    make_file("read/file");
    make_file("other/file");
    make_file("single");
    begin(&l);
    allow(&l, "read", SEAL_READ_FILES);
    allow(&l, "single", SEAL_READ_FILES | SEAL_WRITE_FILES);
    int before = open("other/file", O_RDONLY);
    enforce(&l);
    char c;
    EXPECT_EQ(read(before, &c, 1), 1); /* what was open stays open */
    EXPECT_GE(open("read/file", O_RDONLY), 0);
    EXPECT_ERRNO(open("read/file", O_RDWR), EACCES);
    EXPECT_ERRNO(open("read", O_RDONLY | O_DIRECTORY), EACCES);
    EXPECT_ERRNO(open("read/new", O_RDWR | O_CREAT, 0600), EACCES);
    EXPECT_ERRNO(open("other/file", O_RDONLY), EACCES);
    EXPECT_GE(open("single", O_RDWR), 0);
    EXPECT_ERRNO(open("/etc/passwd", O_RDONLY), EACCES);
}

TEST(what_can_be_made_is_what_was_allowed)
{
    struct seal_landlock l;
    ASSERT_EQ(mkdir("files", 0755), 0);
    ASSERT_EQ(mkdir("tree", 0755), 0);
    ASSERT_EQ(mkdir("tree/a", 0755), 0);
    ASSERT_EQ(mkdir("tree/b", 0755), 0);
    begin(&l);
    allow(&l, "files", SEAL_WRITE_FILES | SEAL_MAKE_FILES);
    allow(&l, "tree",
          SEAL_MAKE_FILES | SEAL_MAKE_FOLDERS | SEAL_MAKE_LINKS | SEAL_MOVE | SEAL_WRITE_FILES);
    enforce(&l);
    EXPECT_GE(open("files/new", O_WRONLY | O_CREAT, 0600), 0);
    EXPECT_GE(open("files", O_WRONLY | O_TMPFILE, 0600), 0);
    EXPECT_ERRNO(mkdir("files/folder", 0755), EACCES);
    EXPECT_ERRNO(symlink("x", "files/link"), EACCES);
    EXPECT_ERRNO(mkfifo("files/pipe", 0600), EACCES);
    EXPECT_EQ(unlink("files/new"), 0);
    EXPECT_GE(open("tree/a/file", O_WRONLY | O_CREAT, 0600), 0);
    EXPECT_EQ(rename("tree/a/file", "tree/b/file"), 0);
    EXPECT_EQ(link("tree/b/file", "tree/a/again"), 0);
    EXPECT_EQ(mkdir("tree/c", 0755), 0);
    EXPECT_EQ(symlink("x", "tree/link"), 0);
    EXPECT_ERRNO(mkfifo("tree/pipe", 0600), EACCES);
    EXPECT_ERRNO(rename("tree/b/file", "files/file"), EXDEV);
}

/* ---- the jail of a process ---- */

static int steps_run;

static int step_works(void)
{
    steps_run++;
    return 0;
}

static int step_fails(void)
{
    steps_run++;
    return -EXDEV;
}

TEST(steps_end_with_the_first_that_fails)
{
    static const struct seal_step steps[] = {
        {"one", step_works}, {"two", step_fails}, {"three", step_works}};
    const char *what = "before";
    EXPECT_EQ(seal_run_steps(steps, 1, &what), 0);
    EXPECT_STR(what, "before");
    EXPECT_EQ(seal_run_steps(steps, 3, &what), -EXDEV);
    EXPECT_STR(what, "two");
    EXPECT_EQ(steps_run, 3);
}

TEST(without_its_landlock_nobody_is_in_the_jail)
{
    const char *what = "";
    EXPECT_EQ(seal_jail_enter(step_fails, &what), -EXDEV);
    EXPECT_STR(what, "landlock");
}

static const uint32_t jail_calls[] = {SYS_getppid, SYS_capget, SYS_prctl, SYS_exit_group,
                                      SYS_prlimit64};
static const struct seal_check jail_checks[] = {
    SEAL_CHECK(getppid, 0, SEAL_ANY_OF, LONG, 7),
};

static bool has_limit(int resource, rlim_t bytes)
{
    struct rlimit now;
    return prlimit(0, (enum __rlimit_resource)resource, NULL, &now) == 0 && now.rlim_cur == bytes &&
           now.rlim_max == bytes;
}

/* 0, or which of them does not hold. */
static int find_gap(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct now[2] = {{1, 1, 1}, {1, 1, 1}}, none[2] = {{0}};
    if (syscall(SYS_capget, &header, now) < 0 || memcmp(now, none, sizeof(now)) != 0)
        return 1;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
        return 2;
    if (!has_limit(RLIMIT_CORE, 0) || !has_limit(RLIMIT_NPROC, 0))
        return 3;
#ifndef __SANITIZE_ADDRESS__
    if (!has_limit(RLIMIT_DATA, 32 << 20))
        return 4;
#endif
    return 0;
}

/* How a process ends that makes the call with this argument when it is locked up; or its gap. */
static int end_of_prisoner(long call, long argument)
{
    static const struct seal_jail jail = {
        .memory_bytes = 32 << 20,
        .calls = jail_calls,
        .call_count = ARRAY_SIZE(jail_calls),
        .checks = jail_checks,
        .check_count = ARRAY_SIZE(jail_checks),
    };
    const char *what;
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (seal_jail_enter(step_works, &what) < 0 || seal_jail_close(&jail, &what) < 0)
            _exit(99);
        int gap = find_gap();
        syscall(call, argument);
        _exit(gap);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status;
}

TEST(who_is_in_the_jail_has_nothing_beside_its_list)
{
    EXPECT_EQ(end_of_prisoner(SYS_getppid, 7), 0);
    /* Where a sanitizer is built in there is no filter. */
#ifndef __SANITIZE_ADDRESS__
    EXPECT_EQ(end_of_prisoner(SYS_getppid, 8), SIGSYS);
    EXPECT_EQ(end_of_prisoner(SYS_gettid, 0), SIGSYS);
#endif
}

/* ---- the report ---- */

TEST(a_report_comes_back_as_it_was)
{
    struct seal_report r = {0}, back = {0};
    char text[SEAL_REPORT_MAX];
    seal_note(&r, SEAL_LANDLOCK, SEAL_IN_FORCE, "ABI 7");
    seal_note(&r, SEAL_CORE_SCHEDULING, SEAL_MISSING, "");
    size_t size = seal_report_write(&r, text);
    EXPECT_EQ(seal_report_read(&back, text, size), 0);
    EXPECT_EQ(memcmp(&r, &back, sizeof(r)), 0);
    for (int c = 0; c < SEAL_CONTROL_COUNT; c++) {
        char why[2 * SEAL_WHY_MAX];
        memset(why, 'w', sizeof(why));
        why[sizeof(why) - 1] = '\0';
        seal_note(&r, (enum seal_control)c, SEAL_NOT_NEEDED, why);
    }
    size = seal_report_write(&r, text);
    EXPECT_LT(size, SEAL_REPORT_MAX);
    EXPECT_EQ(seal_report_read(&back, text, size), 0);
    EXPECT_EQ(memcmp(&r, &back, sizeof(r)), 0);
}

TEST(of_a_report_that_makes_no_sense_nothing_is_taken)
{
    static const char *const texts[] = {
        "landlock in-force ABI 7",
        "landlock\n",
        "landlock in-force\n",
        "landlocked in-force \n",
        "landlock forced \n",
        "\n",
        "landlock in-force \n root unknown\n",
        "landlock in-force \033[2J\n",
        "landlock in-force \nseccomp off \xff\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct seal_report r = {0}, before = {0};
        EXPECT_EQ(seal_report_read(&r, texts[i], strlen(texts[i])), -EINVAL);
        EXPECT_EQ(memcmp(&r, &before, sizeof(r)), 0);
    }
    struct seal_report r = {0};
    EXPECT_EQ(seal_report_read(&r, "landlock in-force a\0b\n", 23), -EINVAL);
}

TEST(controls_are_found_by_their_names)
{
    enum seal_control c;
    for (int i = 0; i < SEAL_CONTROL_COUNT; i++) {
        ASSERT_EQ(seal_control_find(seal_control_name((enum seal_control)i), &c), 0);
        EXPECT_EQ(c, i);
    }
    EXPECT_EQ(seal_control_find("land", &c), -ENOENT);
    EXPECT_EQ(seal_control_find("", &c), -ENOENT);
    EXPECT_TRUE(seal_control_may_miss(SEAL_LANDLOCK));
    EXPECT_TRUE(!seal_control_may_miss(SEAL_SECCOMP));
    EXPECT_TRUE(!seal_control_may_miss(SEAL_USER_NAMESPACE));
}
