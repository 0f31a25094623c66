// SPDX-License-Identifier: Apache-2.0
/* meson.build puts these renames in the place of the host's. */
#include "sandbox/decisions.h"
#include "tests/harness/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <utime.h>

static struct sandbox_error error;
static bool can_exchange = true, can_rename = true;

int __real_renameat(int from, const char *name, int to, const char *as);
int __wrap_renameat(int from, const char *name, int to, const char *as);
int __real_renameat2(int from, const char *name, int to, const char *as, unsigned flags);
int __wrap_renameat2(int from, const char *name, int to, const char *as, unsigned flags);

int __wrap_renameat(int from, const char *name, int to, const char *as)
{
    errno = EROFS;
    return can_rename ? __real_renameat(from, name, to, as) : -1;
}

int __wrap_renameat2(int from, const char *name, int to, const char *as, unsigned flags)
{
    errno = EINVAL;
    return can_exchange ? __real_renameat2(from, name, to, as, flags) : -1;
}

/* A registry in the case's own directory, where the sandbox `name` was entered. */
static struct registry own_registry(const char *name)
{
    struct registry r = REGISTRY_CLOSED;
    mkdir("runtime", 0700);
    r.folder = open("runtime", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(r.path, sizeof(r.path), "runtime");
    snprintf(r.name, sizeof(r.name), "%s", name);
    return r;
}

static size_t count_files(off_t *ret_largest)
{
    size_t count = 0;
    struct stat st;
    char path[512];
    const struct dirent *e;
    DIR *dir = opendir("runtime/egress");
    while (dir && (e = readdir(dir))) {
        snprintf(path, sizeof(path), "runtime/egress/%s", e->d_name);
        if (e->d_name[0] == '.' || stat(path, &st) < 0)
            continue;
        count++;
        if (ret_largest)
            *ret_largest = MAX(*ret_largest, st.st_size);
    }
    if (dir)
        closedir(dir);
    return count;
}

static char *read_file(const struct decisions *d)
{
    static char text[65536];
    char path[512];
    snprintf(path, sizeof(path), "runtime/egress/%s", d->name);
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[MAX(n, (ssize_t)0)] = '\0';
    return text;
}

TEST(only_lines_are_taken)
{
    struct registry r = own_registry("one");
    struct decisions d;
    char big[DECISIONS_LINE_MAX_BYTES + 1];
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    static const char *const wrong[] = {"", "{", "x", "{\n}", "{\x1b}", "{\xc3\xa4}", "{} ", " {}"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        EXPECT_TRUE(!decisions_add(&d, wrong[i], strlen(wrong[i])));
    memset(big, ' ', sizeof(big));
    big[0] = '{';
    big[sizeof(big) - 1] = '}';
    EXPECT_TRUE(!decisions_add(&d, big, sizeof(big)));
    EXPECT_TRUE(decisions_add(&d, "{}", 2));
    EXPECT_STR(read_file(&d), "{}\n");
    decisions_close(&d);
}

TEST(it_turns_over_and_never_grows)
{
    struct registry r = own_registry("one");
    struct decisions d;
    char line[1000];
    off_t largest = 0;
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    memset(line, 'x', sizeof(line));
    line[0] = '{';
    line[sizeof(line) - 1] = '}';
    for (int i = 0; i < 3 * DECISIONS_FILE_MAX_BYTES / 1000; i++)
        EXPECT_TRUE(decisions_add(&d, line, sizeof(line)));
    EXPECT_EQ(count_files(&largest), 2);
    EXPECT_LE(largest, DECISIONS_FILE_MAX_BYTES);
    EXPECT_GT(largest, DECISIONS_FILE_MAX_BYTES - 1100);
    decisions_close(&d);
    EXPECT_EQ(count_files(NULL), 2);
}

/* Of the file of that name and an ending. */
static off_t size_of(const struct decisions *d, const char *ending)
{
    char path[512];
    struct stat st;
    snprintf(path, sizeof(path), "runtime/egress/%s%s", d->name, ending);
    return stat(path, &st) == 0 ? st.st_size : -1;
}

/* The first line, and one more after each turn but the last. */
static void turn(struct decisions *d, int turns)
{
    for (int i = 0; i <= turns; i++) {
        EXPECT_TRUE(decisions_add(d, "{}", 2));
        if (i < turns)
            d->size = DECISIONS_FILE_MAX_BYTES;
    }
}

TEST(what_was_before_stays_until_there_is_a_new_one)
{
    struct registry r = own_registry("one");
    struct decisions d;
    struct rlimit all, none;
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    turn(&d, 1);
    EXPECT_TRUE(decisions_add(&d, "{}", 2));
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &all), 0);
    none = (struct rlimit){0, all.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    off_t size = (off_t)d.size;
    d.size = DECISIONS_FILE_MAX_BYTES;
    EXPECT_TRUE(decisions_add(&d, "{}", 2));
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &all), 0);
    EXPECT_EQ(size_of(&d, "~"), 3);
    EXPECT_EQ(size_of(&d, ""), size);
    EXPECT_TRUE(decisions_add(&d, "{}", 2));
    EXPECT_EQ(size_of(&d, "~"), size);
    EXPECT_EQ(size_of(&d, ""), 3);
    EXPECT_EQ(count_files(NULL), 2);
    decisions_close(&d);
}

TEST(where_there_is_room_for_no_file_more)
{
    struct decisions d;
    mkdir("runtime", 0700);
    /* Its folder, that of the records, and two of them. */
    if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", "runtime", "tmpfs", 0, "nr_inodes=4") < 0)
        return; /* no mounts here */
    struct registry r = own_registry("one");
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    turn(&d, 4);
    EXPECT_EQ(size_of(&d, ""), 3);
    EXPECT_EQ(size_of(&d, "~"), 3);
    EXPECT_EQ(count_files(NULL), 2);
    /* Nor can two exchange their names, nor one get another. */
    can_exchange = false;
    for (int i = 0; i < 4; i++) {
        EXPECT_TRUE(decisions_add(&d, "{}", 2));
        d.size = DECISIONS_FILE_MAX_BYTES;
        EXPECT_TRUE(decisions_add(&d, "{}", 2));
        EXPECT_EQ(size_of(&d, ""), 3);
        EXPECT_EQ(size_of(&d, "~"), 6);
    }
    can_rename = false;
    d.size = DECISIONS_FILE_MAX_BYTES;
    EXPECT_TRUE(decisions_add(&d, "{}", 2));
    EXPECT_EQ(size_of(&d, ""), 3);
    EXPECT_EQ(size_of(&d, "~"), 6);
    EXPECT_EQ(count_files(NULL), 2);
    decisions_close(&d);
}

/* How often the record of a sandbox that runs was found as of one that has ended. */
struct onlooker {
    bool is_there, is_over;
    int mistakes;
};

static _noreturn_ void look_on(const struct registry *r, volatile struct onlooker *o)
{
    struct decisions_reader reader;
    if (decisions_reader_open_in(&reader, r->folder, "one", &error) < 0)
        _exit(1);
    for (o->is_there = true; !o->is_over;)
        o->mistakes += !decisions_reader_is_live(&reader);
    _exit(0);
}

TEST(it_runs_while_it_turns_over)
{
    struct registry r = own_registry("one");
    struct decisions d;
    volatile struct onlooker *o =
        mmap(NULL, sizeof(*o), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(o != MAP_FAILED);
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    pid_t pid = fork();
    if (pid == 0)
        look_on(&r, o);
    while (!o->is_there)
        sched_yield();
    for (int i = 0; i < 300; i++) {
        d.size = DECISIONS_FILE_MAX_BYTES;
        EXPECT_TRUE(decisions_add(&d, "{}", 2));
    }
    o->is_over = true;
    waitpid(pid, NULL, 0);
    EXPECT_EQ(o->mistakes, 0);
    EXPECT_EQ(count_files(NULL), 2);
    EXPECT_STR(read_file(&d), "{}\n");
    decisions_close(&d);
}

TEST(without_a_policy)
{
    struct registry r = own_registry("one");
    struct decisions d;
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    decisions_add_denied(&d, 0, 0, "a\"\n\x1b.test", 9);
    decisions_add_denied(&d, IPPROTO_TCP, 443, "192.0.2.1", 9);
    decisions_add_denied(&d, IPPROTO_UDP, 53, "2001:db8::1", 11);
    const char *text = read_file(&d);
    EXPECT_TRUE(strstr(text, "\"name\":\"a\\\"\\\\n\\\\x1b.test\",\"reason\":\"no_policy\"") !=
                NULL);
    EXPECT_TRUE(strstr(text, "\"proto\":\"tcp\",\"dst\":\"192.0.2.1\",\"port\":443") != NULL);
    EXPECT_TRUE(strstr(text, "start it with --allow 192.0.2.1:443\"") != NULL);
    EXPECT_TRUE(strstr(text, "\"proto\":\"udp\"") != NULL);
    EXPECT_TRUE(strstr(text, "start it with --allow [2001:db8::1]:53\"") != NULL);
    decisions_close(&d);
}

/* Somebody may put it into a command line as it stands: what a program asks for must not run there.
 */
TEST(what_is_advised_is_a_name_or_an_address)
{
    static const char *const bad[] = {"$(touch x).test", "a;b.test", "`a`.test",
                                      "a b.test",        "-x|sh",    "'.test",
                                      "a\nb.test",       "*.test",   ""};
    struct registry r = own_registry("one");
    struct decisions d;
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        decisions_add_denied(&d, 0, 0, bad[i], strlen(bad[i]));
        decisions_add_denied(&d, IPPROTO_TCP, 1, bad[i], strlen(bad[i]));
    }
    EXPECT_TRUE(strstr(read_file(&d), "--allow") == NULL);
    decisions_add_denied(&d, 0, 0, "Good.test.", 10);
    EXPECT_TRUE(strstr(read_file(&d), "start it with --allow good.test\"") != NULL);
    decisions_close(&d);
}

/* A kernel that was taken over may say as much as it likes. */
TEST(a_flood_is_counted)
{
    struct registry r = own_registry("one");
    struct decisions d;
    unsigned long long folded = 0;
    size_t lines = 0;
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    for (int i = 0; i < 5 * DECISIONS_DENIED_PER_S; i++)
        decisions_add_denied(&d, 0, 0, "a.test", 6);
    decisions_close(&d);
    for (char *line = strtok(read_file(&d), "\n"); line; line = strtok(NULL, "\n")) {
        const char *count = strstr(line, "\"count\":");
        if (count)
            folded += strtoull(count + 8, NULL, 10);
        else
            lines++;
    }
    EXPECT_EQ(lines + folded, 5 * DECISIONS_DENIED_PER_S);
    EXPECT_GE(folded, 1);
}

TEST(numbers_do_not_flood_it_either)
{
    const uint64_t many = 50 * DECISIONS_DENIED_PER_S;
    struct registry r = own_registry("one");
    struct decisions d;
    uint64_t folded = 0, lines = 0;
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    for (uint64_t i = 0; i < many; i++)
        decisions_add_folded(&d, 2);
    decisions_close(&d);
    for (char *line = strtok(read_file(&d), "\n"); line; line = strtok(NULL, "\n")) {
        const char *count = strstr(line, "\"count\":");
        folded += count ? strtoull(count + 8, NULL, 10) : 0;
        lines++;
    }
    EXPECT_EQ(folded, 2 * many);
    EXPECT_LT(lines, many);
}

static void leave_old(int i)
{
    char path[64];
    const struct utimbuf old = {1, 1};
    snprintf(path, sizeof(path), "runtime/egress/%d.old", 1000 + i);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    utime(path, &old);
}

TEST(each_start_sweeps)
{
    struct registry r = own_registry("one");
    struct decisions d;
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    for (int i = 0; i < 100; i++)
        leave_old(i);
    for (int i = 0; i < 50; i++)
        decisions_sweep(&d);
    EXPECT_EQ(count_files(NULL), 1);
    decisions_close(&d);
}

/* As if it had begun a minute ago. */
static void make_older(struct decisions *d)
{
    char *rest, path[512], older[512], name[KEPT_FILE_NAME_MAX + 1];
    const struct utimbuf old = {1, 1};
    long long number = strtoll(d->name, &rest, 10) - 60000;
    snprintf(name, sizeof(name), "%lld%.60s", number, rest);
    snprintf(path, sizeof(path), "runtime/egress/%s", d->name);
    snprintf(older, sizeof(older), "runtime/egress/%s", name);
    ASSERT_EQ(rename(path, older), 0);
    memcpy(d->name, name, sizeof(name));
    utime(older, &old);
}

/* Those that are young: the newest 32 stay. */
TEST(so_many_are_kept)
{
    struct registry r = own_registry("one");
    struct decisions d[DECISIONS_KEPT_MAX + 5];
    for (size_t i = 0; i < ARRAY_SIZE(d); i++)
        ASSERT_EQ(decisions_open(&d[i], &r, &error), 0);
    /* Behind the last one: a number that is free is taken. */
    for (size_t i = 0; i < ARRAY_SIZE(d); i++)
        make_older(&d[i]);
    for (int i = 0; i < 20; i++)
        decisions_sweep(&d[ARRAY_SIZE(d) - 1]);
    EXPECT_EQ(count_files(NULL), ARRAY_SIZE(d)); /* all run */
    for (size_t i = 0; i + 1 < ARRAY_SIZE(d); i++)
        decisions_close(&d[i]);
    for (int i = 0; i < 20; i++)
        decisions_sweep(&d[ARRAY_SIZE(d) - 1]);
    EXPECT_EQ(count_files(NULL), DECISIONS_KEPT_MAX);
    decisions_close(&d[ARRAY_SIZE(d) - 1]);
}

/* In a burst nobody looks at each of what the burst has made. */
TEST(new_ones_are_not_asked_for)
{
    struct registry r = own_registry("one");
    struct decisions d[DECISIONS_KEPT_MAX + 5];
    for (size_t i = 0; i < ARRAY_SIZE(d); i++)
        ASSERT_EQ(decisions_open(&d[i], &r, &error), 0);
    for (size_t i = 0; i + 1 < ARRAY_SIZE(d); i++)
        decisions_close(&d[i]);
    for (int i = 0; i < 20; i++)
        decisions_sweep(&d[ARRAY_SIZE(d) - 1]);
    EXPECT_EQ(count_files(NULL), ARRAY_SIZE(d));
    decisions_close(&d[ARRAY_SIZE(d) - 1]);
}

/* ---- who reads ---- */

/* No more than are open. */
static struct rlimit take_descriptors(void)
{
    struct rlimit before, none;
    int free_one = dup(STDIN_FILENO);
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    close(free_one);
    none = (struct rlimit){.rlim_cur = (rlim_t)free_one, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    return before;
}

TEST(what_can_not_be_looked_at_has_not_ended)
{
    struct registry r = own_registry("one");
    struct decisions d;
    struct decisions_reader reader;
    char data[64];
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    EXPECT_TRUE(decisions_add(&d, "{}", 2));
    ASSERT_EQ(decisions_reader_open_in(&reader, r.folder, "one", &error), 0);
    EXPECT_EQ(decisions_reader_read(&reader, data, sizeof(data)), 3);
    struct rlimit before = take_descriptors();
    EXPECT_TRUE(decisions_reader_is_live(&reader));
    EXPECT_EQ(decisions_reader_read(&reader, data, sizeof(data)), -EMFILE);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(decisions_reader_is_live(&reader));
    EXPECT_EQ(decisions_reader_read(&reader, data, sizeof(data)), 0);
    decisions_close(&d);
    EXPECT_TRUE(!decisions_reader_is_live(&reader));
    ASSERT_EQ(unlinkat(reader.folder, reader.name, 0), 0);
    EXPECT_TRUE(!decisions_reader_is_live(&reader));
    EXPECT_EQ(decisions_reader_read(&reader, data, sizeof(data)), 0);
    decisions_reader_close(&reader);
}

TEST(what_can_not_be_opened_is_not_unknown)
{
    struct registry r = own_registry("one");
    struct decisions d;
    struct decisions_reader reader;
    EXPECT_EQ(decisions_reader_open_in(&reader, r.folder, "one", &error), -ENOENT);
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    for (rlim_t more = 0; more < 2; more++) {
        /* None for the folder; or for what is in it. */
        struct rlimit before = take_descriptors(), some;
        ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &some), 0);
        some.rlim_cur += more;
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &some), 0);
        int got = decisions_reader_open_in(&reader, r.folder, "one", &error);
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
        EXPECT_EQ(got, -EMFILE);
        EXPECT_TRUE(strstr(error.text, "can't be read") != NULL);
    }
    EXPECT_EQ(decisions_reader_open_in(&reader, r.folder, "two", &error), -ENOENT);
    EXPECT_EQ(decisions_reader_open_in(&reader, r.folder, NULL, &error), 0);
    decisions_reader_close(&reader);
    decisions_close(&d);
}
