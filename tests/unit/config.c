// SPDX-License-Identifier: Apache-2.0
#include "cli/config.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct sandbox_error error;
static struct limit_layer layer, most;

static int read_text(const char *text, bool is_operator)
{
    FILE *f = fopen("config", "w");
    fputs(text, f);
    fclose(f);
    layer = most = (struct limit_layer){0};
    return config_read("config", &layer, is_operator ? &most : NULL, &error);
}

TEST(a_file)
{
    EXPECT_EQ(read_text("# limits\n"
                        "\n"
                        "memory = 1G\n"
                        "  cpus=0.5  \r\n"
                        "\ttimeout\t=\t30s\n"
                        "ulimit = nofile=64\n"
                        "ulimit = core=0\n"
                        "max-memory = 4G\n"
                        "grace = 0",
                        true),
              0);
    EXPECT_EQ(layer.limits.value[LIMIT_MEMORY], 1 << 30);
    EXPECT_EQ(layer.limits.value[LIMIT_CPUS], 500);
    EXPECT_EQ(layer.limits.value[LIMIT_TIMEOUT], 30 * NSEC_PER_SEC);
    EXPECT_TRUE(layer.is_given[LIMIT_GRACE]);
    EXPECT_TRUE(!layer.is_given[LIMIT_PIDS]);
    EXPECT_EQ(layer.limits.rlimit_count, 2);
    EXPECT_EQ(most.limits.value[LIMIT_MEMORY], UINT64_C(4) << 30);
    EXPECT_TRUE(!most.is_given[LIMIT_CPUS]);
}

TEST(an_empty_file_and_none)
{
    EXPECT_EQ(read_text("", true), 0);
    EXPECT_EQ(config_read("absent", &layer, &most, &error), 0);
    EXPECT_EQ(config_read("config/below", &layer, &most, &error), 0);
}

TEST(mistakes_name_their_line)
{
    static const struct {
        const char *text, *why;
        bool is_user;
    } cases[] = {
        {"memory = 1G\nmemroy = 1G\n", "config: line 2: memroy: no such key; did you mean memory?",
         false},
        {"max-timeuot = 1", "config: line 1: max-timeuot: no such key; did you mean max-timeout?",
         false},
        {"\n\nxyzzy = 1\n", "config: line 3: xyzzy: no such key; see man glovebox.conf", false},
        {"memory\n", "config: line 1: there is no '='; write KEY = VALUE", false},
        {"memory = 1G # much\n", "config: line 1: memory: '1G # much' is not a size", false},
        {"pids = 1\npids = 2\n", "config: line 2: pids: it is there twice; leave one out", false},
        {"max-pids = 1\nmax-pids = 2\n", "config: line 2: max-pids: it is there twice", false},
        {"max-timeout = none\n", "config: line 1: max-timeout: none is no maximum", false},
        {"max-pids = 9\n", "config: line 1: max-pids: only /etc/glovebox/config sets maxima", true},
        {"pids = none\n", "config: line 1: pids: there must be a process limit", false},
        {"ulimit = files=3\n", "config: line 1: no such resource", false},
        {"= 3\n", "config: line 1: : no such key", false},
        {"max- = 3\n", "config: line 1: max-: no such key", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int r = read_text(cases[i].text, !cases[i].is_user);
        if (r >= 0 || !strstr(error.text, cases[i].why))
            harness_fail(__FILE__, __LINE__, "case %zu: %d, %s", i, r, error.text);
    }
}

TEST(what_is_no_text_file)
{
    EXPECT_EQ(mkdir("folder", 0755), 0);
    EXPECT_EQ(config_read("folder", &layer, &most, &error), -EINVAL);
    EXPECT_EQ(config_read("/dev/null", &layer, &most, &error), -EINVAL);
    EXPECT_EQ(mkfifo("fifo", 0600), 0);
    EXPECT_EQ(config_read("fifo", &layer, &most, &error), -EINVAL);
    int fd = open("zeros", O_WRONLY | O_CREAT, 0600);
    EXPECT_EQ(write(fd, "pids = 1\0\n", 10), 10);
    EXPECT_EQ(config_read("zeros", &layer, &most, &error), -EINVAL);
    EXPECT_EQ(ftruncate(fd, CONFIG_FILE_MAX_BYTES + 1), 0);
    EXPECT_EQ(config_read("zeros", &layer, &most, &error), -EINVAL);
    close(fd);
}

TEST(the_file_of_the_user)
{
    struct config c;
    char here[PATH_MAX - 32], expected[PATH_MAX];
    ASSERT_TRUE(getcwd(here, sizeof(here)) != NULL);
    EXPECT_EQ(mkdir("glovebox", 0755), 0);
    FILE *f = fopen("glovebox/config", "w");
    fputs("pids = 7\n", f);
    fclose(f);
    setenv("XDG_CONFIG_HOME", here, 1);
    ASSERT_EQ(config_load(&c, &error), 0);
    snprintf(expected, sizeof(expected), "%s/glovebox/config", here);
    EXPECT_STR(c.user_file, expected);
    EXPECT_EQ(c.user.limits.value[LIMIT_PIDS], 7);
    /* A relative path is to be ignored: XDG base directories. */
    setenv("XDG_CONFIG_HOME", "glovebox", 1);
    unsetenv("HOME");
    ASSERT_EQ(config_load(&c, &error), 0);
    EXPECT_STR(c.user_file, "");
    EXPECT_TRUE(!c.user.is_given[LIMIT_PIDS]);
}
