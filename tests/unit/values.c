// SPDX-License-Identifier: Apache-2.0
#include "cli/values.h"
#include "tests/harness/harness.h"

static struct sandbox_error error;

/* The size, or -1 when it is refused (and left alone). */
static long long size_of(const char *text)
{
    uint64_t bytes = 4711;
    if (cli_parse_size(text, &bytes, &error) == 0)
        return (long long)bytes;
    EXPECT_EQ(bytes, 4711);
    EXPECT_TRUE(strchr(error.text, ';') != NULL);
    return -1;
}

TEST(sizes_with_units)
{
    EXPECT_EQ(size_of("1"), 1);
    EXPECT_EQ(size_of("4096"), 4096);
    EXPECT_EQ(size_of("4096B"), 4096);
    EXPECT_EQ(size_of("64K"), 65536);
    EXPECT_EQ(size_of("64k"), 65536);
    EXPECT_EQ(size_of("64M"), 64LL << 20);
    EXPECT_EQ(size_of("64MB"), 64LL << 20);
    EXPECT_EQ(size_of("64MiB"), 64LL << 20);
    EXPECT_EQ(size_of("1G"), 1LL << 30);
    EXPECT_EQ(size_of("2T"), 2LL << 40);
    EXPECT_EQ(size_of("9223372036854775807"), INT64_MAX);
}

TEST(nonsense_is_not_a_size)
{
    static const char *const bad[] = {
        "",     " 1",   "1 ",   "0",    "0M",  "-1",  "+1",    "1.5G", "1e9",  "M",    "64X",
        "64MM", "0x10", "64Mi", "64iB", "1 M", "64Q", "sixty", "١",    "1G2M", "64M:",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (size_of(bad[i]) != -1)
            harness_fail(__FILE__, __LINE__, "'%s' was taken for a size", bad[i]);
}

TEST(sizes_that_overflow)
{
    EXPECT_EQ(size_of("9223372036854775808"), -1);
    EXPECT_EQ(size_of("18446744073709551616"), -1);
    EXPECT_EQ(size_of("99999999999999999999999"), -1);
    EXPECT_EQ(size_of("8388608T"), -1);
    EXPECT_EQ(size_of("16777216T"), -1);
    EXPECT_EQ(size_of("18014398509481985K"), -1);
}

static long long time_of(const char *text)
{
    int64_t ns = 4711;
    if (cli_parse_time(text, &ns, &error) == 0)
        return ns;
    EXPECT_EQ(ns, 4711);
    return -1;
}

TEST(times_with_units)
{
    EXPECT_EQ(time_of("30"), 30 * NSEC_PER_SEC);
    EXPECT_EQ(time_of("30s"), 30 * NSEC_PER_SEC);
    EXPECT_EQ(time_of("500ms"), NSEC_PER_SEC / 2);
    EXPECT_EQ(time_of("2m"), 120 * NSEC_PER_SEC);
    EXPECT_EQ(time_of("1h"), 3600 * NSEC_PER_SEC);
    EXPECT_EQ(time_of("1.5"), 1500 * NSEC_PER_MSEC);
    EXPECT_EQ(time_of("0.25s"), 250 * NSEC_PER_MSEC);
    EXPECT_EQ(time_of("1.5m"), 90 * NSEC_PER_SEC);
    EXPECT_EQ(time_of("0.0000000019"), 1);
    EXPECT_EQ(time_of("366h"), 366 * 3600 * NSEC_PER_SEC);
}

TEST(nonsense_is_not_a_time)
{
    static const char *const bad[] = {
        "",
        "0",
        "0s",
        "0.0",
        "-1",
        "+1",
        " 1",
        "1 ",
        "s",
        "1.",
        ".5",
        "1.s",
        "1e3",
        "1,5",
        "1sec",
        "1d",
        "inf",
        "nan",
        "ten",
        "1.5.5",
        "0x1",
        "10000h",
        "9223372036854775807",
        "99999999999999999999",
        "300000000h",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (time_of(bad[i]) != -1)
            harness_fail(__FILE__, __LINE__, "'%s' was taken for a time", bad[i]);
}

static void expect_mount(const char *text, const char *host, const char *guest, bool read_only)
{
    char *h = NULL, *g = NULL;
    bool ro = !read_only;
    ASSERT_EQ(cli_parse_mount(text, &h, &g, &ro, &error), 0);
    EXPECT_STR(h, host);
    EXPECT_STR(g, guest);
    EXPECT_EQ(ro, read_only);
    free(h);
    free(g);
}

TEST(mounts)
{
    expect_mount("/a:/b", "/a", "/b", false);
    expect_mount("./a:/b:rw", "./a", "/b", false);
    expect_mount("a:/b:ro", "a", "/b", true);
    expect_mount("a:b:/c:ro", "a:b", "/c", true);
    expect_mount("a:b:/c", "a:b", "/c", false);
    expect_mount("ro:/c", "ro", "/c", false);
    expect_mount(":/c", "", "/c", false);
}

TEST(mounts_that_are_none)
{
    static const char *const bad[] = {"",         "/a",     "a:ro",
                                      "/a:/b:rx", "/a:/b:", "type=bind,source=/a"};
    char *h = NULL, *g = NULL;
    bool ro;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        EXPECT_EQ(cli_parse_mount(bad[i], &h, &g, &ro, &error), -EINVAL);
        EXPECT_TRUE(strchr(error.text, ';') != NULL);
        EXPECT_TRUE(!h && !g);
    }
}

TEST(tmpfs_with_and_without_a_size)
{
    char *path = NULL;
    uint64_t bytes = 1;
    ASSERT_EQ(cli_parse_tmpfs("/scratch", &path, &bytes, &error), 0);
    EXPECT_STR(path, "/scratch");
    EXPECT_EQ(bytes, 0);
    free(path);
    ASSERT_EQ(cli_parse_tmpfs("/scratch:64M", &path, &bytes, &error), 0);
    EXPECT_EQ(bytes, 64 << 20);
    free(path);
    ASSERT_EQ(cli_parse_tmpfs("/scratch:size=1k", &path, &bytes, &error), 0);
    EXPECT_STR(path, "/scratch");
    EXPECT_EQ(bytes, 1024);
    free(path);
    EXPECT_EQ(cli_parse_tmpfs("/scratch:", &path, &bytes, &error), -EINVAL);
    EXPECT_EQ(cli_parse_tmpfs("/scratch:64Z", &path, &bytes, &error), -EINVAL);
    EXPECT_EQ(cli_parse_tmpfs("/scratch:-1", &path, &bytes, &error), -EINVAL);
}

TEST(environment_entries)
{
    struct strv env = {0};
    setenv("GLOVEBOX_UNIT", "from here", 1);
    unsetenv("GLOVEBOX_ABSENT");
    EXPECT_EQ(cli_take_env(&env, "A=1", &error), 0);
    EXPECT_EQ(cli_take_env(&env, "EMPTY=", &error), 0);
    EXPECT_EQ(cli_take_env(&env, "EQUALS=a=b", &error), 0);
    EXPECT_EQ(cli_take_env(&env, "GLOVEBOX_UNIT", &error), 0);
    EXPECT_EQ(cli_take_env(&env, "GLOVEBOX_ABSENT", &error), 0);
    EXPECT_EQ(cli_take_env(&env, "A=2", &error), 0);
    EXPECT_EQ(env.count, 4);
    EXPECT_STR(strv_env_get(&env, "A"), "2");
    EXPECT_STR(strv_env_get(&env, "EMPTY"), "");
    EXPECT_STR(strv_env_get(&env, "EQUALS"), "a=b");
    EXPECT_STR(strv_env_get(&env, "GLOVEBOX_UNIT"), "from here");
    EXPECT_TRUE(env.items[4] == NULL);
    EXPECT_EQ(cli_take_env(&env, "=x", &error), -EINVAL);
    EXPECT_EQ(cli_take_env(&env, "", &error), -EINVAL);
    EXPECT_EQ(cli_take_env(&env, "A B=x", &error), -EINVAL);
    strv_done(&env);
}

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(name, "w");
    ASSERT_TRUE(f != NULL);
    ASSERT_EQ(fwrite(data, 1, size, f), size);
    fclose(f);
}

TEST(environment_files)
{
    static const char text[] = "# comment\n"
                               "A=1\r\n"
                               "\n"
                               "  B= spaces stay \n"
                               "C=\"quotes stay\"\n"
                               "GLOVEBOX_UNIT\n"
                               "D=the last line has no end";
    struct strv env = {0};
    setenv("GLOVEBOX_UNIT", "from here", 1);
    write_file("env", text, sizeof(text) - 1);
    ASSERT_EQ(cli_take_env_file(&env, "env", &error), 0);
    EXPECT_EQ(env.count, 5);
    EXPECT_STR(strv_env_get(&env, "A"), "1");
    EXPECT_STR(strv_env_get(&env, "B"), " spaces stay ");
    EXPECT_STR(strv_env_get(&env, "C"), "\"quotes stay\"");
    EXPECT_STR(strv_env_get(&env, "GLOVEBOX_UNIT"), "from here");
    EXPECT_STR(strv_env_get(&env, "D"), "the last line has no end");
    strv_done(&env);
}

TEST(environment_files_that_are_refused)
{
    struct strv env = {0};
    EXPECT_EQ(cli_take_env_file(&env, "absent", &error), -ENOENT);
    EXPECT_EQ(cli_take_env_file(&env, ".", &error), -EISDIR);
    write_file("bad", "A=1\nB C=2\n", 10);
    EXPECT_EQ(cli_take_env_file(&env, "bad", &error), -EINVAL);
    EXPECT_TRUE(!strncmp(error.text, "line 2: ", 8));
    write_file("binary", "A=1\0B=2\n", 8);
    EXPECT_EQ(cli_take_env_file(&env, "binary", &error), -EINVAL);
    char *huge = calloc(1, CLI_ENV_FILE_MAX_BYTES + 1);
    memset(huge, 'A', CLI_ENV_FILE_MAX_BYTES + 1);
    write_file("huge", huge, CLI_ENV_FILE_MAX_BYTES + 1);
    EXPECT_EQ(cli_take_env_file(&env, "huge", &error), -E2BIG);
    free(huge);
    strv_done(&env);
}

/* "ADDRESS:PORT GUESTPORT", or what is wrong. */
static const char *forward_of(const char *text)
{
    static char line[PORT_FORWARD_TEXT_MAX + 8];
    struct port_forward f;
    if (cli_parse_forward(text, &f, &error) < 0) {
        EXPECT_TRUE(strchr(error.text, ';') != NULL);
        return "refused";
    }
    port_forward_format(&f.address, f.port, line);
    snprintf(line + strlen(line), 8, " %u", f.guest_port);
    return line;
}

TEST(ports_to_forward)
{
    EXPECT_STR(forward_of("80"), "127.0.0.1:80 80");
    EXPECT_STR(forward_of("8080:80"), "127.0.0.1:8080 80");
    EXPECT_STR(forward_of("0:65535"), "127.0.0.1:0 65535");
    EXPECT_STR(forward_of("192.0.2.1:8080:80"), "192.0.2.1:8080 80");
    EXPECT_STR(forward_of("localhost:8080:80"), "127.0.0.1:8080 80");
    EXPECT_STR(forward_of("[::1]:8080:80"), "[::1]:8080 80");
    EXPECT_STR(forward_of("[2001:DB8::0:1]:1:2"), "[2001:db8::1]:1 2");
}

TEST(nonsense_is_no_port_to_forward)
{
    static const char *const bad[] = {"",
                                      ":",
                                      "::",
                                      ":80",
                                      "80:",
                                      "0",
                                      "65536",
                                      "000080",
                                      "8080:0",
                                      "-1",
                                      "80 ",
                                      "1:2:3:4",
                                      "::1:80:80",
                                      "[::1:80:80",
                                      "::1]:80:80",
                                      "[]:80:80",
                                      "[127.0.0.1]:80:80",
                                      "[::ffff:127.0.0.1]:80:80",
                                      "127.1:80:80",
                                      "host:80:80",
                                      "80:80/udp"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        EXPECT_STR(forward_of(bad[i]), "refused");
}

TEST(numbers_are_within_their_bounds)
{
    uint64_t n = 77;
    EXPECT_TRUE(cli_parse_number("0", 0, 5, &n));
    EXPECT_EQ(n, 0);
    EXPECT_TRUE(cli_parse_number("5", 0, 5, &n));
    EXPECT_EQ(n, 5);
    EXPECT_TRUE(cli_parse_number("18446744073709551615", 1, UINT64_MAX, &n));
    EXPECT_EQ(n, UINT64_MAX);
    n = 77;
    EXPECT_TRUE(!cli_parse_number("6", 0, 5, &n));
    EXPECT_TRUE(!cli_parse_number("0", 1, 5, &n));
    EXPECT_TRUE(!cli_parse_number("+1", 0, 5, &n));
    EXPECT_TRUE(!cli_parse_number("1 ", 0, 5, &n));
    EXPECT_TRUE(!cli_parse_number("", 0, 5, &n));
    EXPECT_EQ(n, 77);
}

TEST(a_choice_is_one_of_two)
{
    struct sandbox_error e;
    bool is_yes = false;
    EXPECT_EQ(cli_parse_choice("allow", "allow", "deny", &is_yes, &e), 0);
    EXPECT_TRUE(is_yes);
    EXPECT_EQ(cli_parse_choice("den", "allow", "deny", &is_yes, &e), -EINVAL);
    EXPECT_TRUE(is_yes);
    EXPECT_STR(e.text, "neither allow nor deny; give one of them");
    EXPECT_EQ(cli_parse_choice("deny", "allow", "deny", &is_yes, &e), 0);
    EXPECT_TRUE(!is_yes);
}
