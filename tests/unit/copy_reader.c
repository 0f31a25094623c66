// SPDX-License-Identifier: Apache-2.0
#include "sandbox/copy_folder.h"
#include "sandbox/copy_reader.h"
#include "sandbox/copy_tar.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const struct copy_limits enough = {1 << 20, 1000};
static struct sandbox_error error;
static char said[8192];
static int lines;

static void note(const char *line)
{
    size_t size = strlen(said);
    snprintf(said + size, sizeof(said) - size, "%s\n", line);
    lines++;
}

/* A packet that is put together. */
static struct buf packet = {.max_bytes = 1 << 20};

/* Behind others, where it is at no address of its own choice. */
typedef struct copy_record packed_record __attribute__((aligned(1)));

static packed_record *add(enum copy_type type, const char *text, size_t size)
{
    struct copy_record r = {.type = type, .mode = 0644, .text_size = (uint32_t)size};
    size_t at = packet.size;
    buf_append(&packet, &r, sizeof(r));
    buf_append(&packet, text, size);
    return (packed_record *)(packet.data + at);
}

static packed_record *add_named(enum copy_type type, const char *name)
{
    return add(type, name, strlen(name));
}

static void add_link(const char *name, const char *target)
{
    char text[1024];
    int size = snprintf(text, sizeof(text), "%s%c%s", name, 0, target);
    add(COPY_LINK, text, (size_t)size);
}

static void add_file(const char *name, const char *content)
{
    int64_t size = (int64_t)strlen(content);
    add_named(COPY_FILE, name)->value = size;
    if (size)
        add(COPY_DATA, content, (size_t)size);
    add(COPY_FILE_END, "", 0)->value = size;
}

static int take(struct copy_reader *r)
{
    /* On the heap and of its size, so that ASan sees its end. */
    char *exact = malloc(packet.size + !packet.size);
    memcpy(exact, packet.data, packet.size);
    int result = copy_reader_take(r, exact, packet.size, &error);
    free(exact);
    buf_reset(&packet);
    return result;
}

static int copy_with(const char *target, const char *name, bool is_content,
                     const struct copy_limits *limits)
{
    struct copy_folder *folder = NULL;
    struct copy_reader r;
    said[0] = '\0';
    lines = 0;
    int result = copy_folder_open(target, name, is_content, &folder, &error);
    if (result < 0) {
        buf_reset(&packet);
        return result;
    }
    copy_reader_init(&r, &copy_folder_sink, folder, limits, "what", note);
    result = take(&r);
    copy_reader_end(&r);
    copy_reader_done(&r);
    copy_folder_free(folder);
    return result;
}

static int copy(const char *target)
{
    return copy_with(target, "d", false, &enough);
}

static const char *content_of(const char *path)
{
    static char text[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[n < 0 ? 0 : n] = '\0';
    return n < 0 ? "(none)" : text;
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    return lstat(path, &st) < 0 ? 0 : st.st_mode;
}

static void write_file(const char *path, const char *content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT_EQ(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    close(fd);
}

TEST(a_tree_comes_out)
{
    mkdir("t", 0700);
    add_named(COPY_DIRECTORY, "")->mode = 0755;
    add_file("a", "one");
    add_named(COPY_DIRECTORY, "sub");
    add_file("b", "");
    add_link("up", "../a");
    add(COPY_LEAVE, "", 0);
    add(COPY_LEAVE, "", 0);
    add(COPY_END, "", 0);
    EXPECT_EQ(copy("t"), 0);
    EXPECT_STR(content_of("t/d/a"), "one");
    EXPECT_STR(content_of("t/d/sub/b"), "");
    EXPECT_STR(content_of("t/d/sub/up"), "one");
    EXPECT_STR(said, "");
}

TEST(modes_and_times_are_tamed)
{
    struct stat st;
    umask(022);
    packed_record *r = add_named(COPY_FILE, "");
    r->mode = S_IFREG | 07777;
    r->mtime_s = INT64_MAX;
    r->mtime_ns = UINT32_MAX;
    add(COPY_FILE_END, "", 0);
    add(COPY_END, "", 0);
    EXPECT_EQ(copy("f"), 0);
    ASSERT_EQ(stat("f", &st), 0);
    EXPECT_EQ(st.st_mode, (mode_t)(S_IFREG | 0755));
    EXPECT_TRUE(st.st_mtime <= time(NULL));
    EXPECT_TRUE(st.st_mtim.tv_nsec < NSEC_PER_SEC);
}

TEST(names_are_one_component)
{
    static const struct {
        const char *name;
        size_t size;
    } bad[] = {{"..", 2}, {".", 1}, {"", 0}, {"a/b", 3}, {"/a", 2}, {"a\0b", 3}, {"../x", 4}};
    char longest[COPY_NAME_MAX_BYTES + 1];
    memset(longest, 'n', sizeof(longest));
    mkdir("t", 0700);
    for (size_t i = 0; i <= ARRAY_SIZE(bad); i++)
        for (int type = COPY_DIRECTORY; type <= COPY_LEFT_OUT; type++) {
            if (type == COPY_LEAVE || type == COPY_DATA || type == COPY_FILE_END)
                continue;
            const char *name = i < ARRAY_SIZE(bad) ? bad[i].name : longest;
            size_t size = i < ARRAY_SIZE(bad) ? bad[i].size : sizeof(longest);
            /* A link's name ends at its first NUL. */
            if (type == COPY_LINK && memchr(name, '\0', size))
                continue;
            char text[COPY_NAME_MAX_BYTES + 4] = "";
            memcpy(text, name, size);
            memcpy(text + size, "\0x", 2);
            add_named(COPY_DIRECTORY, "");
            add((enum copy_type)type, text, type == COPY_LINK ? size + 2 : size);
            EXPECT_EQ(copy("t"), -EPROTO);
        }
    EXPECT_EQ(mode_of("x"), 0u);
}

TEST(records_come_in_their_order)
{
    static const char *const bad[] = {"L",  "DLL", "FD",  "B",   "FBbE", "FS", "DLE!",
                                      "DE", "FE",  "DLD", "FeF", "?",    "x"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        for (const char *at = bad[i]; *at; at++)
            switch (*at) {
            case 'L':
                add(COPY_LEAVE, "", 0);
                break;
            case 'D':
                add(COPY_DIRECTORY, "", 0);
                break;
            case 'F':
                add(COPY_FILE, "", 0)->value = 4;
                break;
            case 'B':
                add(COPY_DATA, "1234", 4);
                break;
            case 'b':
                add(COPY_DATA, "1", 1)->value = 3; /* before what was told */
                break;
            case 'S':
                add(COPY_DATA, "12345", 5); /* more than its size */
                break;
            case 'e':
                add(COPY_FILE_END, "", 0);
                break;
            case 'E':
            case '!':
                add(COPY_END, "", 0);
                break;
            case 'x':
                add(COPY_END, "", 0)->text_size = 1; /* more than there is */
                break;
            default:
                add((enum copy_type)77, "", 0);
            }
        EXPECT_EQ(copy("f"), -EPROTO);
    }
    EXPECT_EQ(copy("f"), -EPROTO);         /* an empty packet */
    EXPECT_EQ(mode_of("f") & S_IFREG, 0u); /* "FBb": what was begun is gone */
}

TEST(numbers_at_their_ends_are_refused)
{
    add(COPY_FILE, "", 0)->value = -1;
    EXPECT_EQ(copy("f"), -EPROTO);
    add(COPY_FILE, "", 0)->value = INT64_MAX;
    EXPECT_EQ(copy("f"), -EPROTO);
    add(COPY_FILE, "", 0)->value = 4;
    add(COPY_DATA, "1", 1)->value = INT64_MAX;
    EXPECT_EQ(copy("f"), -EPROTO);
    add(COPY_FILE, "", 0)->value = 4;
    add(COPY_DATA, "1", 1)->value = -1;
    EXPECT_EQ(copy("f"), -EPROTO);
    add(COPY_FAILED, "", 0)->error = INT32_MIN;
    EXPECT_EQ(copy("f"), -EPROTO);
    add(COPY_FAILED, "", 0)->error = ENOENT;
    EXPECT_EQ(copy("f"), -ENOENT);
}

TEST(planted_links_in_the_target_are_not_followed)
{
    mkdir("t", 0700);
    mkdir("t/d", 0700);
    mkdir("victim", 0700);
    write_file("victim/file", "mine");
    EXPECT_EQ(symlink("../../victim/file", "t/d/a"), 0);
    EXPECT_EQ(symlink("../../victim", "t/d/sub"), 0);
    EXPECT_EQ(link("victim/file", "t/d/hard"), 0);
    add(COPY_DIRECTORY, "", 0);
    add_file("a", "evil");
    add_file("hard", "evil");
    add_named(COPY_DIRECTORY, "sub");
    add_file("file", "evil");
    add_named(COPY_DIRECTORY, "deeper");
    add_file("file", "evil");
    add(COPY_LEAVE, "", 0);
    add(COPY_LEAVE, "", 0);
    add_file("after", "good");
    add(COPY_LEAVE, "", 0);
    add(COPY_END, "", 0);
    EXPECT_EQ(copy("t"), 0);
    EXPECT_STR(content_of("victim/file"), "mine");
    EXPECT_EQ(mode_of("victim/deeper"), 0u);
    EXPECT_STR(content_of("t/d/a"), "evil");
    EXPECT_TRUE(S_ISREG(mode_of("t/d/a")));
    EXPECT_TRUE(S_ISLNK(mode_of("t/d/sub")));
    EXPECT_STR(content_of("t/d/after"), "good");
    EXPECT_EQ(lines, 1);
}

TEST(a_link_on_the_way_to_the_target_is_refused)
{
    mkdir("t", 0700);
    EXPECT_EQ(symlink("t", "l"), 0);
    add_file("", "x");
    EXPECT_EQ(copy("l"), -ELOOP);
    add_file("", "x");
    EXPECT_EQ(copy("l/new"), -ELOOP);
    EXPECT_TRUE(strstr(error.text, "realpath") != NULL);
}

/* One that is told first, and then a directory of its name. */
TEST(a_link_that_was_copied_is_not_followed)
{
    mkdir("t", 0700);
    mkdir("t/other", 0700);
    add(COPY_DIRECTORY, "", 0);
    add_named(COPY_DIRECTORY, "real");
    add(COPY_LEAVE, "", 0);
    add_link("x", "real");
    add_named(COPY_DIRECTORY, "x");
    add_file("f", "evil");
    add(COPY_LEAVE, "", 0);
    add(COPY_LEAVE, "", 0);
    EXPECT_EQ(copy("t"), 0);
    EXPECT_EQ(mode_of("t/d/real/f"), 0u);
    EXPECT_EQ(lines, 1);
}

TEST(links_stay_in_what_is_copied)
{
    static const struct {
        const char *target;
        size_t depth;
        bool stays;
    } rows[] = {
        {"a", 1, true},       {"a/b", 1, true},         {"./a", 1, true},     {"../a", 2, true},
        {"../../a", 3, true}, {".//../a", 2, true},     {"..", 2, true},      {"a", 0, false},
        {"", 1, false},       {"/a", 5, false},         {"..", 1, false},     {"../..", 2, false},
        {"a/..", 3, false},   {"../a/..", 3, false},    {"./../a", 1, false}, {"..a/b", 1, true},
        {"a//..", 3, false},  {"../../../x", 3, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (copy_link_stays(rows[i].target, rows[i].depth) != rows[i].stays)
            EXPECT_STR(rows[i].target, "as the row says");
}

TEST(limits_end_the_copy)
{
    const struct copy_limits few = {8, 3}, little = {3, 100};
    mkdir("t", 0700);
    add(COPY_DIRECTORY, "", 0);
    for (int i = 0; i < 3; i++)
        add_file((const char *[]){"a", "b", "c"}[i], "1");
    EXPECT_EQ(copy_with("t", "d", false, &few), -E2BIG);
    add_file("", "1234");
    EXPECT_EQ(copy_with("t", "f", false, &little), -EFBIG);
    EXPECT_EQ(mode_of("t/f"), 0u);
    /* A hole is nothing in a folder. */
    add(COPY_FILE, "", 0)->value = 1 << 30;
    add(COPY_DATA, "x", 1)->value = 1 << 29;
    add(COPY_FILE_END, "", 0)->value = 1 << 30;
    add(COPY_END, "", 0);
    EXPECT_EQ(copy_with("t", "sparse", false, &little), 0);
    struct stat st;
    ASSERT_EQ(stat("t/sparse", &st), 0);
    EXPECT_EQ(st.st_size, 1 << 30);
    EXPECT_TRUE(st.st_blocks < 1000);
}

/* A kernel that a guest took over can go on about what nobody wants. */
TEST(what_is_left_out_counts)
{
    const struct copy_limits little = {3, 100};
    mkdir("t", 0700);
    mkdir("t/d", 0700);
    write_file("t/d/sub", "in its place");
    add(COPY_DIRECTORY, "", 0);
    add_named(COPY_DIRECTORY, "sub");
    add_file("a", "1234");
    EXPECT_EQ(copy_with("t", "d", false, &little), -EFBIG);
}

/* Larger than it may be where it goes: the others come all the same. */
TEST(a_file_that_is_too_large_for_the_target_is_left_out)
{
    const struct rlimit most = {1 << 16, 1 << 16};
    mkdir("t", 0700);
    signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &most), 0);
    add(COPY_DIRECTORY, "", 0);
    add(COPY_FILE, "hole", 4)->value = 1 << 20;
    add(COPY_FILE_END, "", 0)->value = 1 << 20;
    add(COPY_FILE, "late", 4)->value = 1 << 20;
    add(COPY_DATA, "x", 1)->value = 1 << 18;
    add(COPY_DATA, "x", 1)->value = 1 << 19;
    add(COPY_FILE_END, "", 0)->value = 1 << 20;
    add_file("after", "good");
    add(COPY_LEAVE, "", 0);
    add(COPY_END, "", 0);
    EXPECT_EQ(copy("t"), 0);
    EXPECT_EQ(lines, 2);
    EXPECT_TRUE(strstr(said, "hole: left out: File too large\nlate: left out: File too large\n") ==
                said);
    EXPECT_STR(content_of("t/d/after"), "good");
    EXPECT_EQ(system("test \"$(ls -A t/d)\" = after"), 0);
}

TEST(what_is_left_out_is_said_safely_and_not_for_ever)
{
    char name[32];
    mkdir("t", 0700);
    add(COPY_DIRECTORY, "", 0);
    add_named(COPY_LEFT_OUT, "a\nb\x1b[31m")->mode = S_IFCHR | 0666;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        add_named(COPY_LEFT_OUT, name)->mode = S_IFSOCK;
    }
    EXPECT_EQ(copy("t"), 0);
    EXPECT_EQ(lines, COPY_LINES_MAX + 1);
    EXPECT_TRUE(strstr(said, "a\\nb\\x1b[31m: left out: it is a device\n") == said);
    EXPECT_TRUE(strstr(said, "81 more left out") != NULL);
}

TEST(a_directory_that_was_not_told_to_its_end)
{
    mkdir("t", 0700);
    add(COPY_DIRECTORY, "", 0);
    add_named(COPY_DIRECTORY, "sub");
    add(COPY_LEAVE, "", 0)->error = EACCES;
    add(COPY_LEAVE, "", 0)->error = ENOMEM;
    add(COPY_END, "", 0);
    EXPECT_EQ(copy("t"), 0);
    EXPECT_EQ(lines, 2);
    EXPECT_TRUE(strstr(said, "sub/: left out: what could not be read: Permission denied\n") ==
                said);
    EXPECT_TRUE(strstr(said, "\nsub/") == NULL);
    EXPECT_TRUE(strstr(said, ": left out: what could not be read: Cannot allocate memory\n") !=
                NULL);
}

TEST(the_content_of_a_directory_goes_into_the_target)
{
    mkdir("t", 0700);
    add(COPY_DIRECTORY, "", 0);
    add_file("a", "x");
    add(COPY_LEAVE, "", 0);
    add(COPY_END, "", 0);
    EXPECT_EQ(copy_with("t", "d", true, &enough), 0);
    EXPECT_STR(content_of("t/a"), "x");
    add_file("", "x");
    EXPECT_EQ(copy_with("t", "d", true, &enough), -ENOTDIR);
    add_file("", "x");
    EXPECT_EQ(copy_with("new/", "d", false, &enough), -ENOTDIR);
    EXPECT_EQ(mode_of("new"), 0u);
}

/* Below a link that was followed, a ".." would lead one directory further up than was counted. */
TEST(an_archive_has_no_directory_in_the_place_of_a_link)
{
    int fd = open("x.tar", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    struct copy_tar *tar = copy_tar_new(fd, "d");
    struct copy_reader r;
    said[0] = '\0';
    copy_reader_init(&r, &copy_tar_sink, tar, &enough, "what", note);
    add(COPY_DIRECTORY, "", 0);
    add_link("p", ".");
    add_named(COPY_DIRECTORY, "p");
    add_link("l", "../x");
    add(COPY_LEAVE, "", 0);
    add_named(COPY_DIRECTORY, "q");
    add_named(COPY_DIRECTORY, "p");
    add_file("f", "x");
    add(COPY_LEAVE, "", 0);
    add(COPY_LEAVE, "", 0);
    add(COPY_LEAVE, "", 0);
    add(COPY_END, "", 0);
    EXPECT_EQ(take(&r), 0);
    EXPECT_EQ(copy_tar_end(tar, &error), 0);
    EXPECT_EQ(r.left_out, 1u);
    EXPECT_TRUE(strstr(said, "p: left out: something else of this name") == said);
    copy_reader_done(&r);
    copy_tar_free(tar);
    close(fd);
    ASSERT_EQ(system("test \"$(tar tf x.tar | tr '\\n' ' ')\" = 'd/ d/p d/q/ d/q/p/ d/q/p/f '"), 0);
}

TEST(an_archive_is_one_that_tar_reads)
{
    char deep[201];
    int fd = open("x.tar", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    struct copy_tar *tar = copy_tar_new(fd, "d");
    struct copy_reader r;
    memset(deep, 'n', 200);
    deep[200] = '\0';
    copy_reader_init(&r, &copy_tar_sink, tar, &enough, "what", note);
    add(COPY_DIRECTORY, "", 0)->mode = 0755;
    add_named(COPY_DIRECTORY, deep)->mode = 04755;
    add_file(deep, "long");
    add(COPY_LEAVE, "", 0);
    add(COPY_FILE, "holes", 5)->value = 2000;
    add(COPY_DATA, "x", 1)->value = 1000;
    add(COPY_FILE_END, "", 0)->value = 1500;
    add_link("l", "holes");
    add(COPY_LEAVE, "", 0);
    add(COPY_END, "", 0);
    EXPECT_EQ(take(&r), 0);
    EXPECT_EQ(copy_tar_end(tar, &error), 0);
    copy_reader_done(&r);
    copy_tar_free(tar);
    close(fd);
    ASSERT_EQ(system("tar xf x.tar"), 0);
    char path[512];
    snprintf(path, sizeof(path), "d/%s/%s", deep, deep);
    EXPECT_STR(content_of(path), "long");
    struct stat st;
    ASSERT_EQ(stat("d/l", &st), 0);
    EXPECT_EQ(st.st_size, 2000);
}
