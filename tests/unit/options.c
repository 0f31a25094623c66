// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"
#include "tests/harness/harness.h"

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
    {"mount", 'v', "HOST:GUEST", "help", take_mount},
    {"tty", 't', NULL, "help", take_tty},
    {"interactive", 'i', NULL, "help", take_stdin},
    {"bad", 'b', "VALUE", "help", refuse},
    {"worse", 0, NULL, "help", refuse},
    {0},
};
static const struct cli_foreign_option foreign[] = {{"rm", "leave it out"}, {0}};
static const struct cli_options grammar = {rows, foreign, "x --help"};

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
