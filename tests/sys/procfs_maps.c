// SPDX-License-Identifier: Apache-2.0
/* /proc/PID/maps and smaps of many mappings, which no read gives at once: proc_pid_maps(5). */
#include "tests/sys/procfs_support.h"

#define PAGE 4096UL

/* count mappings of a page, each apart from the others. */
static uint64_t map_many(size_t count)
{
    char *at =
        mmap(NULL, count * 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_TRUE(at != MAP_FAILED);
    for (size_t i = 0; i < count; i++)
        ASSERT_EQ(mprotect(at + i * 2 * PAGE, PAGE, PROT_READ), 0);
    return (uint64_t)(uintptr_t)at;
}

/* A descriptor's text, taken line by line in small pieces. */
struct reader {
    int fd;
    char data[16384];
    size_t size, used;
    char line[1024];
};

/* The bytes of the next line; 0 at the end. */
static size_t next_line(struct reader *r, size_t piece)
{
    size_t length = 0;
    for (;;) {
        if (r->used == r->size) {
            ssize_t n = read(r->fd, r->data, piece);
            ASSERT_GE(n, 0);
            r->used = 0;
            r->size = (size_t)n;
            if (n == 0)
                return 0;
        }
        char c = r->data[r->used++];
        if (c == '\n')
            break;
        if (length < sizeof(r->line) - 1)
            r->line[length++] = c;
    }
    r->line[length] = '\0';
    return length;
}

/* How many of the lines are of the mappings, which must come in their order and without a gap. */
static size_t count_mappings(struct reader *r, size_t piece, uint64_t first)
{
    size_t count = 0;
    uint64_t last_end = 0, start, end;
    char permissions[5];
    while (next_line(r, piece) > 0) {
        if (sscanf(r->line, "%" SCNx64 "-%" SCNx64 " %4s ", &start, &end, permissions) != 3)
            continue;
        EXPECT_TRUE(start >= last_end);
        last_end = end;
        count += start == first + count * 2 * PAGE && end == start + PAGE &&
                 !strcmp(permissions, "r--p");
    }
    return count;
}

TEST(maps_of_many_mappings_are_whole)
{
    static struct reader r;
    size_t count = 10000;
    uint64_t first = map_many(count);
    r.fd = open("/proc/self/maps", O_RDONLY);
    ASSERT_GE(r.fd, 0);
    EXPECT_EQ(count_mappings(&r, 4096, first), count);
    EXPECT_EQ(lseek(r.fd, 0, SEEK_SET), 0);
    EXPECT_EQ(count_mappings(&r, 1013, first), count);
}

TEST(smaps_of_many_mappings_are_whole)
{
    static struct reader r;
    size_t count = 14000;
    uint64_t first = map_many(count);
    r.fd = open("/proc/self/smaps", O_RDONLY);
    ASSERT_GE(r.fd, 0);
    EXPECT_EQ(count_mappings(&r, sizeof(r.data), first), count);
}

TEST(maps_at_a_place)
{
    static char whole[1 << 20], piece[300];
    size_t size = 0;
    ssize_t n;
    map_many(3000);
    int fd = open("/proc/self/maps", O_RDONLY);
    ASSERT_GE(fd, 0);
    while ((n = read(fd, whole + size, sizeof(whole) - size)) > 0)
        size += (size_t)n;
    EXPECT_EQ(n, 0);
    ASSERT_GT(size, 200000);
    static const size_t places[] = {150000, 100, 199000, 70000, 70300, 0, 180001};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        n = pread(fd, piece, sizeof(piece), (off_t)places[i]);
        ASSERT_GT(n, 0);
        EXPECT_TRUE(!memcmp(piece, whole + places[i], (size_t)n));
    }
    EXPECT_EQ(pread(fd, piece, sizeof(piece), (off_t)size), 0);
    EXPECT_EQ(pread(fd, piece, sizeof(piece), (off_t)size + 100000), 0);
}

#define READERS 11

TEST(maps_for_many_readers_at_once)
{
    static struct reader readers[READERS];
    size_t count = 3000, found[READERS] = {0};
    uint64_t first = map_many(count), start, end;
    for (int i = 0; i < READERS; i++) {
        readers[i].fd = open("/proc/self/maps", O_RDONLY);
        ASSERT_GE(readers[i].fd, 0);
    }
    for (int left = READERS; left > 0;) {
        left = 0;
        for (int i = 0; i < READERS; i++) {
            /* A few hundred lines of each in turn. */
            for (int line = 0; line < 400 && next_line(&readers[i], 4096) > 0; line++) {
                left += line == 0;
                if (sscanf(readers[i].line, "%" SCNx64 "-%" SCNx64 " r--p", &start, &end) == 2)
                    found[i] += found[i] < count && start == first + found[i] * 2 * PAGE;
            }
        }
    }
    for (int i = 0; i < READERS; i++)
        EXPECT_EQ(found[i], count);
}

#define READERS_BESIDE_EACH_OTHER 70

/* Each in a process of its own, as fast as it can: nobody is kept from its end by the others. */
TEST(readers_beside_each_other_come_to_their_end)
{
    static struct reader r;
    size_t count = 500;
    uint64_t first = map_many(count);
    pid_t readers[READERS_BESIDE_EACH_OTHER];
    for (int i = 0; i < READERS_BESIDE_EACH_OTHER; i++) {
        readers[i] = fork();
        ASSERT_GE(readers[i], 0);
        if (readers[i] == 0) {
            r.fd = open("/proc/self/smaps", O_RDONLY);
            _exit(r.fd < 0 || count_mappings(&r, sizeof(r.data), first) != count);
        }
    }
    for (int i = 0; i < READERS_BESIDE_EACH_OTHER; i++) {
        int status = -1;
        ASSERT_EQ(waitpid(readers[i], &status, 0), readers[i]);
        EXPECT_EQ(status, 0);
    }
}

#define HELD 64

/* Of many that are open and rest, also such as went on for a part meanwhile. */
TEST(listings_that_rest_keep_nobody_from_its_end)
{
    static struct reader r;
    size_t count = 500;
    uint64_t first = map_many(count);
    int held[HELD], status = -1;
    char byte;
    for (int i = 0; i < HELD; i++) {
        held[i] = open("/proc/self/smaps", O_RDONLY);
        ASSERT_GE(held[i], 0);
        ASSERT_EQ(pread(held[i], &byte, 1, 0), 1);
    }
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        r.fd = open("/proc/self/smaps", O_RDONLY);
        _exit(r.fd < 0 || count_mappings(&r, sizeof(r.data), first) != count);
    }
    usleep(50000); /* it most likely waits now; if not, nothing is shown */
    for (int i = 0; i < HELD; i++)
        ASSERT_EQ(pread(held[i], &byte, 1, 40000), 1);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

TEST(maps_of_an_ended_process_end)
{
    char data[4096];
    int status;
    pid_t pid = start_sleeper();
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    int fd = open(path, O_RDONLY);
    ASSERT_GE(fd, 0);
    ASSERT_GT(read(fd, data, 100), 0);
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
    EXPECT_EQ(read(fd, data, sizeof(data)), 0);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
}
