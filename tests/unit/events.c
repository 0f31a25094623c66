// SPDX-License-Identifier: Apache-2.0
#include "sandbox/events.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static int runtime(void)
{
    mkdir("runtime", 0700);
    return open("runtime", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void note(int folder, const char *type)
{
    const struct event e = {.type = type, .sandbox = "box", .status = -1, .wall_ns = -1};
    events_note(folder, &e);
}

static off_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 ? -1 : st.st_size;
}

TEST(what_is_no_file_is_not_written_to)
{
    int folder = runtime();
    ASSERT_EQ(mkdir("runtime/events", 0700), 0);
    int target = open("target", O_CREAT | O_WRONLY, 0600);
    ASSERT_EQ(symlink("../../target", "runtime/events/log"), 0);
    note(folder, "start");
    EXPECT_EQ(size_of("target"), 0);
    ASSERT_EQ(unlink("runtime/events/log"), 0);
    ASSERT_EQ(mkfifo("runtime/events/log", 0600), 0);
    note(folder, "start"); /* and does not wait for a reader */
    ASSERT_EQ(unlink("runtime/events/log"), 0);
    ASSERT_EQ(mkdir("runtime/events/log", 0700), 0);
    note(folder, "start");
    ASSERT_EQ(rmdir("runtime/events/log"), 0);
    note(folder, "start");
    EXPECT_GT(size_of("runtime/events/log"), 0);
    close(target);
    close(folder);
}

TEST(it_does_not_grow_for_ever)
{
    int folder = runtime();
    note(folder, "start");
    off_t one = size_of("runtime/events/log");
    ASSERT_GT(one, 0);
    for (off_t size = 0; size < 5 * (off_t)EVENTS_MAX_BYTES; size += one)
        note(folder, "start");
    EXPECT_LE(size_of("runtime/events/log"), (off_t)EVENTS_MAX_BYTES);
    EXPECT_GT(size_of("runtime/events/log.old"), (off_t)EVENTS_MAX_BYTES);
    EXPECT_LE(size_of("runtime/events/log.old"), (off_t)EVENTS_MAX_BYTES + one);
    close(folder);
}

static size_t count_lines(struct events_reader *r)
{
    const char *line;
    size_t size, count = 0;
    while (events_next(r, &line, &size) == 0) {
        EXPECT_EQ(strlen(line), size);
        count++;
    }
    return count;
}

TEST(each_line_is_read_once)
{
    struct events_reader r;
    struct sandbox_error e;
    int folder = runtime();
    ASSERT_EQ(mkdir("runtime/sandboxes", 0700), 0);
    note(folder, "start");
    ASSERT_EQ(events_open_in(&r, folder, "runtime", &e), 0);
    EXPECT_EQ(count_lines(&r), 1u);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 1000; i++)
            note(folder, "start");
        ASSERT_EQ(count_lines(&r), 1000u);
    }
    EXPECT_GT(size_of("runtime/events/log.old"), 0);
    events_close(&r);
    close(folder);
}
