// SPDX-License-Identifier: Apache-2.0
#include "cli/takers.h"
#include "tests/harness/harness.h"

#include <time.h>

struct target {
    char log[512]; /* "name=value;" for each option taken */
};

static int note(struct target *t, const char *name, const char *value)
{
    size_t size = strlen(t->log);
    snprintf(t->log + size, sizeof(t->log) - size, "%s=%s;", name, value ? value : "-");
    return 0;
}

static int take_mount(void *target, const char *value, struct sandbox_error *e)
{
    return note(target, "mount", value);
}

static int take_tty(void *target, const char *value, struct sandbox_error *e)
{
    return note(target, "tty", value);
}

static int take_stdin(void *target, const char *value, struct sandbox_error *e)
{
    return note(target, "interactive", value);
}

static int refuse(void *target, const char *value, struct sandbox_error *e)
{
    return sandbox_error_set(e, -EINVAL, "reason; advice");
}

static const struct cli_option rows[] = {
    {"mount", 'v', "HOST:GUEST", "help", take_mount, 0},
    {"tty", 't', NULL, "help", take_tty, 0},
    {"interactive", 'i', NULL, "help", take_stdin, 0},
    {"bad", 'b', "VALUE", "help", refuse, 0},
    {"worse", 0, NULL, "help", refuse, 0},
    {0},
};
static const struct cli_foreign_option foreign[] = {{"rm", "leave it out"}, {0}};
static const struct cli_options grammar = {rows, foreign, "x --help", false};

static struct sandbox_error error;
static struct target target;
static int used;

/* Parses the words up to NULL. */
static int parse(char **words)
{
    int count = 0;
    while (words[count])
        count++;
    memset(&error, 0, sizeof(error));
    memset(&target, 0, sizeof(target));
    used = -1;
    return cli_options_parse(&grammar, count, words, &target, &used, &error);
}
#define PARSE(...) parse((char *[]){__VA_ARGS__, NULL})

TEST(a_long_option_takes_the_next_word)
{
    EXPECT_EQ(PARSE("--mount", "a:b", "cmd"), 0);
    EXPECT_STR(target.log, "mount=a:b;");
    EXPECT_EQ(used, 2);
}

TEST(a_long_option_takes_what_is_behind_the_equals_sign)
{
    EXPECT_EQ(PARSE("--mount=a=b", "cmd"), 0);
    EXPECT_STR(target.log, "mount=a=b;");
    EXPECT_EQ(used, 1);
}

TEST(an_empty_value_is_a_value)
{
    EXPECT_EQ(PARSE("--mount=", "cmd"), 0);
    EXPECT_STR(target.log, "mount=;");
    EXPECT_EQ(PARSE("--mount", "", "cmd"), 0);
    EXPECT_STR(target.log, "mount=;");
}

TEST(letters_may_stand_in_one_word)
{
    EXPECT_EQ(PARSE("-it", "cmd"), 0);
    EXPECT_STR(target.log, "interactive=-;tty=-;");
    EXPECT_EQ(PARSE("-itva:b", "cmd"), 0);
    EXPECT_STR(target.log, "interactive=-;tty=-;mount=a:b;");
}

TEST(a_letter_takes_its_value_in_three_forms)
{
    EXPECT_EQ(PARSE("-v", "a:b"), 0);
    EXPECT_EQ(used, 2);
    EXPECT_STR(target.log, "mount=a:b;");
    EXPECT_EQ(PARSE("-va:b"), 0);
    EXPECT_STR(target.log, "mount=a:b;");
    EXPECT_EQ(PARSE("-v=a:b"), 0);
    EXPECT_STR(target.log, "mount=a:b;");
}

TEST(options_end_at_the_first_other_word)
{
    EXPECT_EQ(PARSE("-t", "cmd", "-i", "--nonsense"), 0);
    EXPECT_STR(target.log, "tty=-;");
    EXPECT_EQ(used, 1);
}

TEST(options_may_stand_behind_other_words)
{
    static const struct cli_options anywhere = {rows, foreign, "x --help", true};
    static char *words[] = {"one", "-t", "two", "-v", "/a:/b", "-", "-i", "--", "-t", "--mount"};
    int count = (int)ARRAY_SIZE(words);
    memset(&target, 0, sizeof(target));
    EXPECT_EQ(cli_options_parse(&anywhere, count, words, &target, &used, &error), 0);
    EXPECT_STR(target.log, "tty=-;mount=/a:/b;interactive=-;");
    EXPECT_EQ(used, 5);
    static const char *const left[] = {"one", "two", "-", "-t", "--mount"};
    for (int i = 0; i < (int)ARRAY_SIZE(left); i++)
        EXPECT_STR(words[used + i], left[i]);
    static char *wrong[] = {"one", "--nothing"};
    EXPECT_EQ(cli_options_parse(&anywhere, 2, wrong, &target, &used, &error), -EINVAL);
}

TEST(options_end_at_two_dashes)
{
    EXPECT_EQ(PARSE("-t", "--", "--mount"), 0);
    EXPECT_EQ(used, 2);
    EXPECT_EQ(PARSE("--"), 0);
    EXPECT_EQ(used, 1);
}

TEST(a_single_dash_is_a_word)
{
    EXPECT_EQ(PARSE("-", "-t"), 0);
    EXPECT_EQ(used, 0);
}

TEST(two_dashes_may_be_a_value)
{
    EXPECT_EQ(PARSE("--mount", "--", "cmd"), 0);
    EXPECT_STR(target.log, "mount=--;");
}

TEST(a_missing_value_is_said)
{
    EXPECT_EQ(PARSE("--mount"), -EINVAL);
    EXPECT_STR(error.text, "--mount: its value is missing; write --mount HOST:GUEST");
    EXPECT_EQ(PARSE("-tv"), -EINVAL);
    EXPECT_STR(error.text, "-v: its value is missing; write -v HOST:GUEST");
}

TEST(a_flag_with_a_value_is_refused)
{
    EXPECT_EQ(PARSE("--tty=yes"), -EINVAL);
    EXPECT_STR(error.text, "--tty: takes no value; leave out '=yes'");
}

TEST(an_unknown_option_gets_a_suggestion_when_one_is_close)
{
    EXPECT_EQ(PARSE("--muont", "a:b"), -EINVAL);
    EXPECT_STR(error.text, "--muont: no such option; did you mean --mount?");
    EXPECT_EQ(PARSE("--mounts=a:b"), -EINVAL);
    EXPECT_STR(error.text, "--mounts: no such option; did you mean --mount?");
    EXPECT_EQ(PARSE("--inter"), -EINVAL);
    EXPECT_STR(error.text, "--inter: no such option; did you mean --interactive?");
    EXPECT_EQ(PARSE("--quantum"), -EINVAL);
    EXPECT_STR(error.text, "--quantum: no such option; see x --help");
    EXPECT_EQ(PARSE("-tx"), -EINVAL);
    EXPECT_STR(error.text, "-x: no such option; see x --help");
}

TEST(an_option_of_a_neighbour_gets_advice)
{
    EXPECT_EQ(PARSE("--rm", "cmd"), -EINVAL);
    EXPECT_STR(error.text, "--rm: no such option; leave it out");
}

TEST(an_abbreviation_is_not_an_option)
{
    EXPECT_EQ(PARSE("--mou=a:b"), -EINVAL);
    EXPECT_EQ(PARSE("--"), 0);
    EXPECT_EQ(PARSE("--=x"), -EINVAL);
}

TEST(a_refused_value_is_named)
{
    EXPECT_EQ(PARSE("--bad", "x"), -EINVAL);
    EXPECT_STR(error.text, "--bad x: reason; advice");
    EXPECT_EQ(PARSE("-bx"), -EINVAL);
    EXPECT_STR(error.text, "-b x: reason; advice");
    EXPECT_EQ(PARSE("--worse"), -EINVAL);
    EXPECT_STR(error.text, "--worse: reason; advice");
}

TEST(a_huge_word_is_no_danger)
{
    char huge[100000];
    memset(huge, 'x', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    memcpy(huge, "--", 2);
    EXPECT_EQ(PARSE(huge), -EINVAL);
    EXPECT_EQ(PARSE("--bad", huge), -EINVAL);
    EXPECT_TRUE(strstr(error.text, ": reason; advice") != NULL);
    EXPECT_LT(strlen(error.text), SANDBOX_ERROR_MAX_BYTES);
}

/* ---- values that go into one member ---- */

struct members {
    int before;
    bool flag, help;
    const char *word;
    char *file;
    struct strv list, env;
    uint64_t number, size;
    int64_t time, since;
};

static const struct cli_option member_rows[] = {
    {"flag", 'f', NULL, "help", CLI_FLAG(struct members, flag)},
    {"word", 'w', "WORD", "help", CLI_WORD(struct members, word)},
    {"file", 0, "FILE", "help", CLI_FILE(struct members, file)},
    {"list", 'l', "WORD", "help", CLI_LIST(struct members, list)},
    {"env", 'e', "NAME[=VALUE]", "help", CLI_ENV(struct members, env)},
    {"env-file", 0, "FILE", "help", CLI_ENV_FILE(struct members, env)},
    {"number", 'n', "N", "help", CLI_NUMBER(struct members, number)},
    {"size", 0, "SIZE", "help", CLI_SIZE(struct members, size)},
    {"time", 0, "TIME", "help", CLI_TIME(struct members, time)},
    {"since", 0, "TIME", "help", CLI_AGO(struct members, since)},
    CLI_HELP(struct members, help),
    {0},
};
static const struct cli_options member_grammar = {member_rows, foreign, "x --help", false};

static struct members m;

static int parse_members(char **words)
{
    int count = 0;
    while (words[count])
        count++;
    memset(&error, 0, sizeof(error));
    return cli_options_parse(&member_grammar, count, words, &m, &used, &error);
}

#define PARSE_MEMBERS(...) parse_members((char *[]){__VA_ARGS__, NULL})

TEST(each_value_is_in_its_member_and_nowhere_else)
{
    ASSERT_EQ(PARSE_MEMBERS("-fn", "12", "--word", "a b", "--file=x", "--file=y", "-l1", "-l2"), 0);
    EXPECT_TRUE(m.flag && !m.help);
    EXPECT_EQ(m.number, 12);
    EXPECT_STR(m.word, "a b");
    EXPECT_STR(m.file, "y");
    ASSERT_EQ(m.list.count, 2);
    EXPECT_STR(m.list.items[0], "1");
    EXPECT_STR(m.list.items[1], "2");
    ASSERT_EQ(PARSE_MEMBERS("--size", "2K", "--time=500ms", "-e", "A=1", "-e", "A=2", "-h"), 0);
    EXPECT_EQ(m.size, 2048);
    EXPECT_EQ(m.time, 500 * NSEC_PER_MSEC);
    EXPECT_STR(strv_env_get(&m.env, "A"), "2");
    EXPECT_TRUE(m.help);
    EXPECT_EQ(m.before, 0);
    EXPECT_EQ(m.since, 0);
    free(m.file);
    strv_done(&m.list);
    strv_done(&m.env);
}

TEST(a_time_ago_is_one_on_the_clock)
{
    struct timespec before, after;
    clock_gettime(CLOCK_REALTIME, &before);
    ASSERT_EQ(PARSE_MEMBERS("--since", "1h"), 0);
    clock_gettime(CLOCK_REALTIME, &after);
    int64_t hour = 3600 * NSEC_PER_SEC;
    EXPECT_GE(m.since + hour, before.tv_sec * NSEC_PER_SEC + before.tv_nsec);
    EXPECT_LE(m.since + hour, after.tv_sec * NSEC_PER_SEC + after.tv_nsec);
}

TEST(what_is_wrong_changes_no_member)
{
    static const struct {
        char *word;
        const char *text;
    } wrong[] = {
        {"--number=0", "--number 0: not a number; give one from 1"},
        {"--number=-1", "--number -1: not a number; give one from 1"},
        {"--number=1x", "--number 1x: not a number; give one from 1"},
        {"--number= 1", "--number  1: not a number; give one from 1"},
        {"--number=18446744073709551616",
         "--number 18446744073709551616: not a number; give one from 1"},
        {"--number=", "--number : not a number; give one from 1"},
        {"--file=", "--file : the name is empty; give a file"},
        {"--flag=1", "--flag: takes no value; leave out '=1'"},
        {"--word", "--word: its value is missing; write --word WORD"},
        {"--env-file=/", "--env-file /: it is a directory; give a file"},
    };
    struct members none = {0};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        EXPECT_LT(PARSE_MEMBERS(wrong[i].word), 0);
        EXPECT_STR(error.text, wrong[i].text);
    }
    EXPECT_LT(PARSE_MEMBERS("--size=0"), 0);
    EXPECT_LT(PARSE_MEMBERS("--time=0"), 0);
    EXPECT_LT(PARSE_MEMBERS("--since=soon"), 0);
    EXPECT_LT(PARSE_MEMBERS("-e", "=1"), 0);
    EXPECT_EQ(memcmp(&m, &none, sizeof(m)), 0);
}
