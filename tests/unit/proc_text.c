// SPDX-License-Identifier: Apache-2.0
/*
 * The parsers of the host's /proc, with what Linux writes and with what a guest may have put into
 * it.
 */
#include "kernel/fs/proc/host_text.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <sys/mman.h>

#define STAT_TAIL                                                                                  \
    " S 1 2 3 34816 5 4194304 7 8 9 10 11 12 -13 14 20 -5 1 0 42 3133440 380 "                     \
    "18446744073709551615 94618635714560 94618635734441 140727372884896 0 0 0 0 0 0 0 0 0 17 1 0 " \
    "0 0 0 0 94618635750448 94618635752064 94619558723584 140727372888744 140727372888780 "        \
    "140727372888780 140727372890091 0\n"

static struct host_stat stat_result;
static struct host_map map_result;
static struct host_smaps_line smaps_result;

static int parse_stat(const char *text)
{
    return host_stat_parse(text, strlen(text), &stat_result);
}

/* One line; 1, 0 or an error, and that the line was taken whole on success. */
static int parse_map(const char *text)
{
    const char *at = text, *end = text + strlen(text);
    int r = host_map_next(&at, end, &map_result);
    if (r == 1)
        EXPECT_EQ(end - at, 0);
    else
        EXPECT_EQ(at - text, 0);
    return r;
}

static int parse_smaps(const char *text)
{
    const char *at = text, *end = text + strlen(text);
    return host_smaps_next(&at, end, &smaps_result);
}

/* ---- stat ---- */

TEST(stat_fields)
{
    ASSERT_EQ(parse_stat("77 (cat)" STAT_TAIL), 0);
    EXPECT_STR(stat_result.name, "cat");
    EXPECT_EQ(stat_result.state, 'S');
    EXPECT_EQ(stat_result.field[1], 77);
    EXPECT_EQ(stat_result.field[4], 1);
    EXPECT_EQ((int64_t)stat_result.field[16], -13);
    EXPECT_EQ((int64_t)stat_result.field[19], -5);
    EXPECT_EQ(stat_result.field[HOST_STAT_RSS], 380);
    EXPECT_TRUE(stat_result.field[25] == UINT64_MAX);
    EXPECT_EQ(stat_result.field[HOST_STAT_ENV_END], 140727372890091);
}

TEST(stat_name_with_parentheses_and_fields)
{
    ASSERT_EQ(parse_stat("77 (a) R 1 2 3 (b)" STAT_TAIL), 0);
    EXPECT_STR(stat_result.name, "a) R 1 2 3 (b");
    EXPECT_EQ(stat_result.state, 'S');
    EXPECT_EQ(stat_result.field[5], 2);
}

TEST(stat_name_with_newline_and_blanks)
{
    ASSERT_EQ(parse_stat("77 (a\n 1) Z )" STAT_TAIL), 0);
    EXPECT_STR(stat_result.name, "a\n 1) Z ");
}

TEST(stat_empty_name)
{
    ASSERT_EQ(parse_stat("77 ()" STAT_TAIL), 0);
    EXPECT_STR(stat_result.name, "");
}

TEST(stat_long_name_is_cut)
{
    char text[1024] = "77 (";
    memset(text + 4, 'x', 300);
    strcpy(text + 304, ")" STAT_TAIL);
    ASSERT_EQ(parse_stat(text), 0);
    EXPECT_EQ(strlen(stat_result.name), sizeof(stat_result.name) - 1);
}

TEST(stat_is_refused_when_cut_anywhere)
{
    static const char whole[] = "77 (cat)" STAT_TAIL;
    for (size_t size = 0; size < strlen(whole); size++)
        EXPECT_EQ(host_stat_parse(whole, size, &stat_result), -EINVAL);
}

TEST(stat_output_is_untouched_on_failure)
{
    stat_result.state = 'q';
    EXPECT_EQ(parse_stat("77 (cat) S 1"), -EINVAL);
    EXPECT_EQ(stat_result.state, 'q');
}

TEST(stat_bad_forms)
{
    EXPECT_EQ(parse_stat(""), -EINVAL);
    EXPECT_EQ(parse_stat("x (cat)" STAT_TAIL), -EINVAL);
    EXPECT_EQ(parse_stat("77 cat" STAT_TAIL), -EINVAL);
    EXPECT_EQ(parse_stat("77 (cat" STAT_TAIL), -EINVAL);
    EXPECT_EQ(parse_stat("-77 (cat)" STAT_TAIL), -EINVAL);
    EXPECT_EQ(parse_stat("99999999999999999999999 (cat)" STAT_TAIL), -EINVAL);
}

TEST(stat_number_overflow_is_refused)
{
    EXPECT_EQ(
        parse_stat("77 (cat) S 18446744073709551616 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "
                   "19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 "
                   "43 44 45 46 47 48 49\n"),
        -EINVAL);
    EXPECT_EQ(parse_stat("77 (cat) S -9223372036854775809 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 "
                         "18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 "
                         "42 43 44 45 46 47 48 49\n"),
              -EINVAL);
}

TEST(stat_two_blanks_are_refused)
{
    EXPECT_EQ(parse_stat("77  (cat)" STAT_TAIL), -EINVAL);
    EXPECT_EQ(parse_stat("77 (cat) " STAT_TAIL), -EINVAL);
}

/* ---- statm ---- */

TEST(statm_fields)
{
    uint64_t v[HOST_STATM_FIELDS];
    ASSERT_EQ(host_statm_parse("765 407 379 5 0 123 0\n", 22, v), 0);
    EXPECT_EQ(v[0], 765);
    EXPECT_EQ(v[2], 379);
    EXPECT_EQ(v[5], 123);
}

TEST(statm_bad_forms)
{
    uint64_t v[HOST_STATM_FIELDS];
    static const char *const bad[] = {"",
                                      "1 2 3 4 5 6\n",
                                      "1 2 3 4 5 6 7",
                                      "1 2 3 4 5 6 7 8\n",
                                      "1 2 3 4 5 6 -7\n",
                                      "1  2 3 4 5 6 7\n",
                                      "1 2 3 4 5 6 18446744073709551616\n"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        EXPECT_EQ(host_statm_parse(bad[i], strlen(bad[i]), v), -EINVAL);
}

/* ---- maps ---- */

TEST(map_of_a_file)
{
    ASSERT_EQ(parse_map("560e1e2bc000-560e1e2c1000 r-xp 00002000 fe:00 247026                     "
                        "/usr/bin/cat\n"),
              1);
    EXPECT_EQ(map_result.start, 0x560e1e2bc000);
    EXPECT_EQ(map_result.end, 0x560e1e2c1000);
    EXPECT_STR(map_result.permissions, "r-xp");
    EXPECT_EQ(map_result.offset, 0x2000);
    EXPECT_EQ(map_result.major, 0xfe);
    EXPECT_EQ(map_result.minor, 0);
    EXPECT_EQ(map_result.inode, 247026);
    EXPECT_EQ(map_result.kind, HOST_MAP_FILE);
}

TEST(map_kinds)
{
    static const struct {
        const char *name;
        enum host_map_kind kind;
    } known[] = {
        {"[heap]", HOST_MAP_HEAP},
        {"[stack]", HOST_MAP_STACK},
        {"[vdso]", HOST_MAP_VDSO},
        {"[vvar]", HOST_MAP_VVAR},
        {"[rollup]", HOST_MAP_ROLLUP},
        {"", HOST_MAP_ANONYMOUS},
        {"[vvar_vclock]", HOST_MAP_VVAR_VCLOCK},
        {"[vsyscall]", HOST_MAP_VSYSCALL},
        {"[heap] ", HOST_MAP_OTHER},
        {"[anon:x]", HOST_MAP_OTHER},
        {"[heap]x", HOST_MAP_OTHER},
        {"/etc/passwd", HOST_MAP_OTHER},
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        char line[256];
        snprintf(line, sizeof(line), "1000-2000 rw-p 00000000 00:00 0             %s\n",
                 known[i].name);
        ASSERT_EQ(parse_map(line), 1);
        EXPECT_EQ(map_result.kind, known[i].kind);
    }
}

TEST(map_without_name_ends_in_a_blank)
{
    ASSERT_EQ(parse_map("1000-2000 rw-p 00000000 00:00 0 \n"), 1);
    EXPECT_EQ(map_result.kind, HOST_MAP_ANONYMOUS);
}

TEST(map_file_called_like_a_special_one)
{
    ASSERT_EQ(parse_map("1000-2000 rw-p 00000000 fe:00 12     [heap]\n"), 1);
    EXPECT_EQ(map_result.kind, HOST_MAP_FILE);
    ASSERT_EQ(parse_map("1000-2000 rw-p 00000000 fe:00 12     /dev/zero (deleted)\n"), 1);
    EXPECT_EQ(map_result.kind, HOST_MAP_FILE);
    ASSERT_EQ(parse_map("1000-2000 rw-p 00000000 fe:00 12     /SYSV00000001 (deleted)\n"), 1);
    EXPECT_EQ(map_result.kind, HOST_MAP_FILE);
}

TEST(map_shared_without_a_file)
{
    ASSERT_EQ(parse_map("1000-2000 rw-s 00000000 00:01 1029     /dev/zero (deleted)\n"), 1);
    EXPECT_EQ(map_result.kind, HOST_MAP_ZERO);
    ASSERT_EQ(parse_map("1000-2000 rw-s 00000000 00:01 3     /SYSV0000002a (deleted)\n"), 1);
    EXPECT_EQ(map_result.kind, HOST_MAP_SYSV);
    EXPECT_EQ(map_result.sysv_key, 0x2a);
}

TEST(map_bad_sysv_names_are_files)
{
    static const char *const names[] = {"/SYSV0000002A (deleted)",  "/SYSV0000002 (deleted)",
                                        "/SYSV00000002a (deleted)", "/SYSV0000002a",
                                        "/SYSV0000002a (deleted) ", "/SYSV-000002a (deleted)"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char line[256];
        snprintf(line, sizeof(line), "1000-2000 rw-s 00000000 00:01 3     %s\n", names[i]);
        ASSERT_EQ(parse_map(line), 1);
        EXPECT_EQ(map_result.kind, HOST_MAP_FILE);
    }
}

TEST(map_highest_address)
{
    ASSERT_EQ(parse_map("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0    [vsyscall]\n"),
              1);
    EXPECT_TRUE(map_result.start == 0xffffffffff600000);
    EXPECT_EQ(map_result.kind, HOST_MAP_VSYSCALL);
}

TEST(map_bad_lines)
{
    static const char *const bad[] = {
        "\n",
        "1000\n",
        "1000-2000\n",
        "1000-2000 rw-p\n",
        "1000-2000 rw-p 00000000 00:00\n",
        "1000-2000 rw-p 00000000 00:00 0x\n",
        "2000-1000 rw-p 00000000 00:00 0\n",
        "1000-1000 rw-p 00000000 00:00 0\n",
        "-2000 rw-p 00000000 00:00 0\n",
        "1000-2000 rwzp 00000000 00:00 0\n",
        "1000-2000 rw-q 00000000 00:00 0\n",
        "1000-2000 wr-p 00000000 00:00 0\n",
        "1000-2000  rw-p 00000000 00:00 0\n",
        "10000000000000000-20000000000000000 rw-p 00000000 00:00 0\n",
        "1000-2000 rw-p 00000000 100000000:00 0\n",
        "1000-2000 rw-p 00000000 00:00 99999999999999999999\n",
        "1000-2000 RW-P 00000000 00:00 0\n",
        "0x1000-0x2000 rw-p 00000000 00:00 0\n",
        "1000-2000 rw-p 00000000 00:00 -1\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        EXPECT_EQ(parse_map(bad[i]), -EINVAL);
}

TEST(map_cut_anywhere_is_refused)
{
    static const char line[] = "1000-2000 rw-p 00000000 fe:00 247026      /usr/bin/cat\n";
    const char *at = line;
    EXPECT_EQ(host_map_next(&at, line, &map_result), 0);
    for (size_t size = 1; size < strlen(line); size++) {
        at = line;
        EXPECT_EQ(host_map_next(&at, line + size, &map_result), -EINVAL);
    }
}

TEST(map_name_that_looks_like_a_line)
{
    /* Linux writes a newline in a name as \012; the parser sees one line. */
    ASSERT_EQ(parse_map("1000-2000 rw-p 00000000 fe:00 3   /tmp/x\\0123000-4000 rw-p 0 00:00 0 "
                        "[stack]\n"),
              1);
    EXPECT_EQ(map_result.kind, HOST_MAP_FILE);
    EXPECT_EQ(map_result.end, 0x2000);
}

TEST(map_with_zero_bytes_in_the_name)
{
    static const char line[] = "1000-2000 rw-p 00000000 00:00 0  [st\0ck]\n";
    const char *at = line;
    ASSERT_EQ(host_map_next(&at, line + sizeof(line) - 1, &map_result), 1);
    EXPECT_EQ(map_result.kind, HOST_MAP_OTHER);
}

/* ---- smaps ---- */

TEST(smaps_values)
{
    ASSERT_EQ(parse_smaps("Rss:                  12 kB\n"), 1);
    EXPECT_STR(smaps_result.key, "Rss");
    EXPECT_EQ(smaps_result.value, 12);
    EXPECT_TRUE(smaps_result.is_kib);
    ASSERT_EQ(parse_smaps("THPeligible:           1\n"), 1);
    EXPECT_EQ(smaps_result.value, 1);
    EXPECT_TRUE(!smaps_result.is_kib);
}

TEST(smaps_flags)
{
    ASSERT_EQ(parse_smaps("VmFlags: rd wr mr ?? \n"), 1);
    EXPECT_STR(smaps_result.flags, "rd wr mr ?? ");
    EXPECT_EQ(parse_smaps("VmFlags: rdwr\n"), -EINVAL);
    EXPECT_EQ(parse_smaps("VmFlags: R< \n"), -EINVAL);
    EXPECT_EQ(parse_smaps("VmFlags: r\n"), -EINVAL);
}

TEST(smaps_flags_too_many)
{
    char line[1024] = "VmFlags:";
    for (int i = 0; i < 100; i++)
        strcat(line, " rd");
    strcat(line, "\n");
    EXPECT_EQ(parse_smaps(line), -EINVAL);
}

TEST(smaps_unknown_key_is_left_out)
{
    ASSERT_EQ(parse_smaps("HostSecret:   12 kB\n"), 1);
    EXPECT_TRUE(smaps_result.key == NULL);
}

TEST(smaps_keys_that_begin_alike)
{
    ASSERT_EQ(parse_smaps("Pss_Dirty:    7 kB\n"), 1);
    EXPECT_STR(smaps_result.key, "Pss_Dirty");
    ASSERT_EQ(parse_smaps("SwapPss:    7 kB\n"), 1);
    EXPECT_STR(smaps_result.key, "SwapPss");
}

TEST(smaps_bad_values)
{
    EXPECT_EQ(parse_smaps("Rss:     12\n"), -EINVAL);
    EXPECT_EQ(parse_smaps("Rss:     12 MB\n"), -EINVAL);
    EXPECT_EQ(parse_smaps("Rss:     -1 kB\n"), -EINVAL);
    EXPECT_EQ(parse_smaps("Rss:     1 kB /etc\n"), -EINVAL);
    EXPECT_EQ(parse_smaps("Rss:     12 kB"), -EINVAL);
}

TEST(smaps_next_mapping_is_not_taken)
{
    EXPECT_EQ(parse_smaps("1000-2000 rw-p 00000000 00:00 0\n"), -ENOENT);
    EXPECT_EQ(parse_smaps("\n"), -ENOENT);
    EXPECT_EQ(parse_smaps(""), 0);
}

/* ---- keys ---- */

static const char keys[] =
    "Name:\tx\nVmPeak:\t    3060 kB\nVmRSS:\t 12 MB\nThreads:\t1\nBad:\t1x\n";

TEST(key_numbers)
{
    uint64_t value = 7;
    EXPECT_TRUE(host_key_number(keys, sizeof(keys) - 1, "VmPeak", &value));
    EXPECT_EQ(value, 3060);
    EXPECT_TRUE(host_key_number(keys, sizeof(keys) - 1, "Threads", &value));
    EXPECT_EQ(value, 1);
    EXPECT_TRUE(!host_key_number(keys, sizeof(keys) - 1, "VmRSS", &value));
    EXPECT_TRUE(!host_key_number(keys, sizeof(keys) - 1, "Bad", &value));
    EXPECT_TRUE(!host_key_number(keys, sizeof(keys) - 1, "Vm", &value));
    EXPECT_TRUE(!host_key_number(keys, sizeof(keys) - 1, "Name", &value));
    EXPECT_EQ(value, 1);
}

TEST(key_text_drops_what_is_not_printable)
{
    static const char text[] = "processor\t: 0\nmodel name\t: A\033[31m B\xff\x7f\nflags: x\n";
    char out[64];
    ASSERT_TRUE(host_key_text(text, sizeof(text) - 1, "model name", out, sizeof(out)));
    EXPECT_STR(out, "A[31m B");
}

TEST(key_text_is_cut_to_its_buffer)
{
    char out[4];
    ASSERT_TRUE(host_key_text("k: abcdefgh\n", 12, "k", out, sizeof(out)));
    EXPECT_STR(out, "abc");
    EXPECT_TRUE(!host_key_text("k: abcdefgh\n", 12, "k", out, 0));
    EXPECT_TRUE(!host_key_text("k: abcdefgh", 11, "k", out, sizeof(out)));
}

/* ---- random bytes, and this process's own files ---- */

TEST(random_bytes_do_no_harm)
{
    unsigned seed = 1;
    char text[257];
    static const char alphabet[] = "0123456789abcdef-: \n()rwxps/[]SRKVm.\0";
    for (int round = 0; round < 20000; round++) {
        size_t size = (size_t)rand_r(&seed) % (sizeof(text) - 1);
        for (size_t i = 0; i < size; i++)
            text[i] = alphabet[(size_t)rand_r(&seed) % (sizeof(alphabet) - 1)];
        /* An exact heap copy, so that a tool that checks memory sees the first byte too far. */
        char *copy = malloc(size + 1);
        ASSERT_TRUE(copy != NULL);
        memcpy(copy, text, size);
        uint64_t v[HOST_STATM_FIELDS];
        char out[32];
        const char *at = copy;
        host_stat_parse(copy, size, &stat_result);
        host_statm_parse(copy, size, v);
        while (host_map_next(&at, copy + size, &map_result) == 1)
            EXPECT_LE(at - copy, size);
        at = copy;
        while (host_smaps_next(&at, copy + size, &smaps_result) == 1)
            EXPECT_LE(at - copy, size);
        host_key_number(copy, size, "Vm", v);
        host_key_text(copy, size, "S", out, sizeof(out));
        free(copy);
    }
}

static size_t read_own(const char *path, char *data, size_t size)
{
    int fd = open(path, O_RDONLY);
    size_t done = 0;
    ssize_t n;
    while (fd >= 0 && done < size && (n = read(fd, data + done, size - done)) > 0)
        done += (size_t)n;
    close(fd);
    return done;
}

TEST(own_files_are_understood)
{
    static char text[1 << 20];
    uint64_t v[HOST_STATM_FIELDS];
    ASSERT_TRUE(mmap(NULL, 8192, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    size_t size = read_own("/proc/self/stat", text, sizeof(text));
    ASSERT_EQ(host_stat_parse(text, size, &stat_result), 0);
    EXPECT_EQ(stat_result.field[1], getpid());
    size = read_own("/proc/self/statm", text, sizeof(text));
    EXPECT_EQ(host_statm_parse(text, size, v), 0);
    size = read_own("/proc/self/maps", text, sizeof(text));
    const char *at = text;
    size_t stacks = 0, zeros = 0;
    int r;
    while ((r = host_map_next(&at, text + size, &map_result)) == 1) {
        stacks += map_result.kind == HOST_MAP_STACK;
        zeros += map_result.kind == HOST_MAP_ZERO;
    }
    EXPECT_EQ(r, 0);
    EXPECT_EQ(stacks, 1);
    EXPECT_EQ(zeros, 1);
}

TEST(own_smaps_is_understood)
{
    static char text[1 << 20];
    size_t size = read_own("/proc/self/smaps", text, sizeof(text));
    const char *at = text;
    size_t lines = 0;
    int r;
    while ((r = host_map_next(&at, text + size, &map_result)) == 1) {
        while ((r = host_smaps_next(&at, text + size, &smaps_result)) == 1)
            lines += smaps_result.key != NULL;
        if (r != -ENOENT)
            break;
    }
    EXPECT_EQ(r, 0);
    EXPECT_GT(lines, 20);
}
