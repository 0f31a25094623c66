// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ended.h"
#include "sandbox/kept.h"
#include "tests/harness/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static int runtime(void)
{
    mkdir("runtime", 0700);
    return open("runtime", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static struct record ended_record(int64_t created_ns)
{
    struct record r = {.starter = 7, .created_ns = created_ns};
    snprintf(r.command, sizeof(r.command), "sh -c true");
    r.end = (struct record_end){.ended_ns = created_ns + 5,
                                .cause = "memory",
                                .words = "memory limit of 1 MiB reached",
                                .exit_status = 137,
                                .exit_code = -1,
                                .signal = 9,
                                .wall_ns = INT64_MAX,
                                .peak_memory_bytes = 1 << 20};
    return r;
}

static int keep_record(int folder, const char *name, const struct record *r,
                       const struct buf *output)
{
    ended_sweep(folder);
    return ended_keep(folder, -1, name, r, output);
}

static void keep(int folder, const char *name, int64_t created_ns)
{
    const struct record r = ended_record(created_ns);
    int64_t before = kept_now_ms();
    while (kept_now_ms() == before) /* another millisecond, another number */
        ;
    EXPECT_EQ(keep_record(folder, name, &r, NULL), 0);
}

struct seen {
    size_t count;
    char names[8192], output[64];
};

static bool see(void *userdata, const char *name, const struct record *r, const char *output,
                size_t output_size)
{
    struct seen *s = userdata;
    size_t size = strlen(s->names);
    s->count++;
    snprintf(s->names + size, sizeof(s->names) - size, "%s ", name);
    snprintf(s->output, sizeof(s->output), "%.*s", (int)output_size, output);
    return true;
}

/* A file of that age and content. */
static void put(const char *file, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "runtime/ended/%s", file);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* A record as it stands in the registry while its sandbox runs. */
static int make_own(int folder, const struct record *r)
{
    struct buf text = BUF_INIT(RECORD_MAX_BYTES);
    record_write(r, &text);
    record_write_started(r, &text);
    int fd = openat(folder, "own", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    EXPECT_EQ(write(fd, text.data, text.size), (ssize_t)text.size);
    buf_done(&text);
    return fd;
}

TEST(the_record_itself_is_kept)
{
    int folder = runtime();
    struct record r = ended_record(1000), back;
    struct seen s = {0};
    struct stat st;
    struct buf output = BUF_INIT(100);
    r.pid = 12;
    buf_append_str(&output, "said");
    int own = make_own(folder, &r);
    ASSERT_EQ(ended_keep(folder, own, "one", &r, &output), 0);
    ASSERT_EQ(fstat(own, &st), 0);
    EXPECT_EQ(st.st_nlink, 2);
    ASSERT_EQ(unlinkat(folder, "own", 0), 0);
    ASSERT_EQ(ended_read(folder, "one", 1000, &back), 0);
    EXPECT_EQ(back.starter, 7);
    EXPECT_EQ(back.pid, 12);
    EXPECT_STR(back.command, "sh -c true");
    EXPECT_STR(back.end.words, "memory limit of 1 MiB reached");
    ASSERT_EQ(ended_list(folder, NULL, see, &s), 0);
    EXPECT_EQ(s.count, 1);
    EXPECT_STR(s.output, "said");
    buf_done(&output);
}

TEST(a_record_that_can_not_be_kept_itself_is_copied)
{
    int folder = runtime();
    const struct record r = ended_record(1000);
    struct record back;
    int own = make_own(folder, &r), read_only = openat(folder, "own", O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(ended_keep(folder, read_only, "one", &r, NULL), 0);
    ASSERT_EQ(ended_read(folder, "one", 1000, &back), 0);
    EXPECT_STR(back.end.cause, "memory");
    /* Somebody has written to it, more than there may be. */
    ASSERT_EQ(ftruncate(own, 1 << 20), 0);
    ASSERT_EQ(ended_keep(folder, own, "two", &r, NULL), 0);
    ASSERT_EQ(ended_read(folder, "two", 1000, &back), 0);
    EXPECT_STR(back.end.cause, "memory");
}

TEST(what_was_kept_comes_back)
{
    int folder = runtime();
    struct record r = ended_record(1000), back;
    struct buf output = BUF_INIT(100);
    snprintf(r.end.message, sizeof(r.end.message), "a line\nand\x1b[2J another");
    buf_append_str(&output, "said");
    ASSERT_EQ(keep_record(folder, "one", &r, &output), 0);
    ASSERT_EQ(ended_read(folder, "one", 0, &back), 0);
    EXPECT_EQ(back.created_ns, 1000);
    EXPECT_EQ(back.end.ended_ns, 1005);
    EXPECT_EQ(back.end.exit_status, 137);
    EXPECT_EQ(back.end.exit_code, -1);
    EXPECT_EQ(back.end.wall_ns, INT64_MAX);
    EXPECT_EQ(back.end.peak_memory_bytes, (uint64_t)1 << 20);
    EXPECT_STR(back.end.cause, "memory");
    EXPECT_STR(back.end.words, "memory limit of 1 MiB reached");
    EXPECT_TRUE(!strpbrk(back.end.message, "\n\x1b"));
    EXPECT_STR(back.command, "sh -c true");
    struct seen s = {0};
    ASSERT_EQ(ended_list(folder, NULL, see, &s), 0);
    EXPECT_STR(s.output, "said");
    EXPECT_EQ(ended_read(folder, "two", 0, &back), -ENOENT);
    EXPECT_EQ(ended_read(folder, "one", 999, &back), -ENOENT);
    buf_done(&output);
}

TEST(the_latest_comes_first)
{
    int folder = runtime();
    struct record back;
    struct seen s = {0};
    keep(folder, "one", 1);
    keep(folder, "two", 2);
    keep(folder, "one", 3);
    ASSERT_EQ(ended_list(folder, NULL, see, &s), 0);
    EXPECT_STR(s.names, "one two one ");
    ASSERT_EQ(ended_read(folder, "one", 0, &back), 0);
    EXPECT_EQ(back.created_ns, 3);
    ASSERT_EQ(ended_read(folder, "one", 1, &back), 0);
    EXPECT_EQ(back.created_ns, 1);
}

TEST(a_name_is_forgotten_whole)
{
    int folder = runtime();
    struct seen s = {0};
    EXPECT_EQ(kept_forget(folder, ENDED_FOLDER, "one"), 0);
    keep(folder, "one", 1);
    keep(folder, "two", 2);
    keep(folder, "one", 3);
    EXPECT_EQ(kept_forget(folder, ENDED_FOLDER, "one"), 2);
    EXPECT_EQ(kept_forget(folder, ENDED_FOLDER, "one"), 0);
    ASSERT_EQ(ended_list(folder, NULL, see, &s), 0);
    EXPECT_STR(s.names, "two ");
}

TEST(so_many_are_kept)
{
    int folder = runtime();
    struct seen s = {0};
    keep(folder, "first", 1);
    /* Older than what is new. */
    for (int i = 0; i < ENDED_KEPT_MAX + 20; i++) {
        char file[64];
        snprintf(file, sizeof(file), "%lld.old", (long long)kept_now_ms() - 3600 * 1000 + i);
        put(file, "end.ended_ns=5\n");
    }
    keep(folder, "last", 2);
    ASSERT_EQ(ended_list(folder, NULL, see, &s), 0);
    EXPECT_EQ(s.count, (size_t)ENDED_KEPT_MAX);
    EXPECT_TRUE(!strncmp(s.names, "last first old ", 15));
}

TEST(new_ones_do_not_fill_the_folder_either)
{
    int folder = runtime();
    struct seen s = {0};
    for (int i = 0; i < 2 * ENDED_KEPT_MAX + 50; i++)
        keep(folder, "new", i + 1);
    ASSERT_EQ(ended_list(folder, NULL, see, &s), 0);
    EXPECT_EQ(s.count, 2 * (size_t)ENDED_KEPT_MAX);
}

TEST(old_ones_go)
{
    int folder = runtime();
    struct seen s = {0};
    char file[64];
    keep(folder, "one", 1);
    snprintf(file, sizeof(file), "%lld.old",
             (long long)kept_now_ms() - ENDED_KEPT_S * 1000LL - 1000);
    put(file, "end.ended_ns=5\n");
    keep(folder, "two", 2);
    ASSERT_EQ(ended_list(folder, NULL, see, &s), 0);
    EXPECT_STR(s.names, "two one ");
}

TEST(whose_starter_was_killed)
{
    int folder = runtime();
    struct seen s = {0};
    struct record back;
    static const char text[] = "starter=77\ncreated_ns=5\ncommand=x\n";
    ASSERT_EQ(ended_keep_killed(folder, "one", text), 1);
    ASSERT_EQ(ended_keep_killed(folder, "one", text), 0);
    ASSERT_EQ(ended_list(folder, NULL, see, &s), 0);
    EXPECT_STR(s.names, "one ");
    ASSERT_EQ(ended_read(folder, "one", 5, &back), 0);
    EXPECT_STR(back.end.cause, "host-failure");
    EXPECT_EQ(back.end.exit_status, 125);
    EXPECT_TRUE(back.end.is_found_later);
    EXPECT_TRUE(strstr(back.end.words, "process 77, was killed") != NULL);
    /* One that had told what came of it, and was killed then. */
    keep(folder, "two", 6);
    ASSERT_EQ(ended_keep_killed(folder, "two", "starter=78\ncreated_ns=6\n"), 0);
    ASSERT_EQ(ended_read(folder, "two", 0, &back), 0);
    EXPECT_STR(back.end.cause, "memory");
    /* One of which nothing is to be kept, and one of which nothing is known. */
    ASSERT_EQ(ended_keep_killed(folder, "three", "starter=79\ncreated_ns=7\nforgotten=1\n"), 0);
    ASSERT_EQ(ended_keep_killed(folder, "three", "what\n=\n"), 0);
    EXPECT_EQ(ended_read(folder, "three", 0, &back), -ENOENT);
}

TEST(what_is_none_of_ours_is_passed_by)
{
    int folder = runtime();
    struct seen s = {0};
    keep(folder, "one", 1);
    put("5.empty", "");
    put("6.half", "starter=7\ncreated_ns=5\n");
    put("x.name", "end.ended_ns=5\n");
    put(".hidden", "end.ended_ns=5\n");
    put("99999999999999999999999.number", "end.ended_ns=5\n");
    EXPECT_EQ(symlink("/etc/passwd", "runtime/ended/7.link"), 0);
    EXPECT_EQ(mkdir("runtime/ended/8.directory", 0700), 0);
    EXPECT_EQ(mkfifo("runtime/ended/9.fifo", 0600), 0);
    put("10.big", "end.ended_ns=5\n");
    EXPECT_EQ(truncate("runtime/ended/10.big", 1 << 30), 0);
    ASSERT_EQ(ended_list(folder, NULL, see, &s), 0);
    EXPECT_STR(s.names, "one ");
}
