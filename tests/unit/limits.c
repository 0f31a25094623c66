// SPDX-License-Identifier: Apache-2.0
#include "cli/limits.h"
#include "tests/harness/harness.h"

static struct sandbox_error error;

static uint64_t taken(enum sandbox_limit which, const char *text)
{
    struct limit_layer l = {0};
    if (limit_take(&l, which, text, &error) < 0)
        return UINT64_MAX;
    EXPECT_TRUE(l.is_given[which]);
    return l.limits.value[which];
}

TEST(values)
{
    EXPECT_EQ(taken(LIMIT_MEMORY, "256M"), 256 << 20);
    EXPECT_EQ(taken(LIMIT_MEMORY, "16M"), 16 << 20);
    EXPECT_EQ(taken(LIMIT_CPUS, "2"), 2000);
    EXPECT_EQ(taken(LIMIT_CPUS, "0.5"), 500);
    EXPECT_EQ(taken(LIMIT_CPUS, "1.125"), 1125);
    EXPECT_EQ(taken(LIMIT_CPUS, "0.01"), 10);
    EXPECT_EQ(taken(LIMIT_PIDS, "64"), 64);
    EXPECT_EQ(taken(LIMIT_TIMEOUT, "1.5"), 1500 * NSEC_PER_MSEC);
    EXPECT_EQ(taken(LIMIT_GRACE, "0"), 0);
    EXPECT_EQ(taken(LIMIT_TIMEOUT, "none"), 0);
    EXPECT_EQ(taken(LIMIT_SANDBOXES, "none"), 0);
}

TEST(values_that_are_refused)
{
    static const struct {
        enum sandbox_limit which;
        const char *text, *why;
    } cases[] = {
        {LIMIT_MEMORY, "none", "there must be a memory limit; give a value, be it a large one"},
        {LIMIT_MEMORY, "15M", "less than 16 MiB, the least that works; give more"},
        {LIMIT_MEMORY, "lots", "is not a size"},
        {LIMIT_CPUS, "0.001", "less than 0.01 processors, the least that works; give more"},
        {LIMIT_CPUS, "0", "less than 0.01 processors"},
        {LIMIT_CPUS, "1001", "more than 1000 processors, the most that works; give less"},
        {LIMIT_CPUS, ".5", "is not a number of processors"},
        {LIMIT_CPUS, "1.", "is not a number of processors"},
        {LIMIT_CPUS, "1.0001", "is not a number of processors"},
        {LIMIT_CPUS, "1.5.5", "is not a number of processors"},
        {LIMIT_CPUS, "99999999999999999999", "is not a number of processors"},
        {LIMIT_CPUS, "", "is not a number of processors"},
        {LIMIT_PIDS, "0", "less than 1, the least that works"},
        {LIMIT_PIDS, "-1", "is not a whole number"},
        {LIMIT_PIDS, "99999999999999999999", "is not a whole number"},
        {LIMIT_PIDS, "12x", "is not a whole number"},
        {LIMIT_TIMEOUT, "0", "is not a time"},
        {LIMIT_IDLE, "10ms", "less than 1 s, the least that works"},
        {LIMIT_GRACE, "11m", "more than 600 s, the most that works"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct limit_layer l = {0};
        int r = limit_take(&l, cases[i].which, cases[i].text, &error);
        if (r != -EINVAL || !strstr(error.text, cases[i].why) || l.is_given[cases[i].which])
            harness_fail(__FILE__, __LINE__, "'%s': %d, %s", cases[i].text, r, error.text);
    }
}

TEST(rlimits)
{
    struct limit_layer l = {0};
    EXPECT_EQ(limit_take_rlimit(&l, "nofile=64", &error), 0);
    EXPECT_EQ(limit_take_rlimit(&l, "nofile=32:unlimited", &error), 0);
    EXPECT_EQ(limit_take_rlimit(&l, "core=0:-1", &error), 0);
    EXPECT_EQ(l.limits.rlimit_count, 2);
    EXPECT_EQ(l.limits.rlimits[0].resource, RLIMIT_NOFILE);
    EXPECT_EQ(l.limits.rlimits[0].value.rlim_cur, 32);
    EXPECT_TRUE(l.limits.rlimits[0].value.rlim_max == RLIM_INFINITY);
    static const char *const bad[] = {
        "",          "nofile",   "nofile=",      "files=1",   "nofile=2:1", "=1",
        "nofile=1:", "nofile=x", "nofile=1:2:3", "nofile=-2", "unlimited=1"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (limit_take_rlimit(&l, bad[i], &error) != -EINVAL)
            harness_fail(__FILE__, __LINE__, "'%s' was taken", bad[i]);
    EXPECT_EQ(l.limits.rlimit_count, 2);
}

static void expect_words(enum sandbox_limit which, uint64_t value, const char *words)
{
    char text[64];
    sandbox_limit_format(which, value, text, sizeof(text));
    EXPECT_STR(text, words);
}

TEST(words)
{
    expect_words(LIMIT_MEMORY, 256 << 20, "256 MiB");
    expect_words(LIMIT_MEMORY, (256 << 20) + 1, "268435457 bytes");
    expect_words(LIMIT_MEMORY, UINT64_C(3) << 29, "1536 MiB");
    expect_words(LIMIT_MEMORY, UINT64_C(1) << 62, "4194304 TiB");
    expect_words(LIMIT_CPUS, 1500, "1.5 processors");
    expect_words(LIMIT_CPUS, 1000, "1 processor");
    expect_words(LIMIT_CPUS, 10, "0.01 processors");
    expect_words(LIMIT_TIMEOUT, 1500 * NSEC_PER_MSEC, "1.5 s");
    expect_words(LIMIT_TIMEOUT, 500 * NSEC_PER_MSEC, "500 ms");
    expect_words(LIMIT_TIMEOUT, 60 * NSEC_PER_SEC, "60 s");
    expect_words(LIMIT_TIMEOUT, 7200 * NSEC_PER_SEC, "2 h");
    expect_words(LIMIT_TIMEOUT, 0, "none");
    expect_words(LIMIT_GRACE, 0, "0 ms");
    expect_words(LIMIT_PIDS, 100, "100");
}

/* What three layers and a maximum make of one limit; "" is nobody's word. */
static int resolve(const char *option, const char *user, const char *operator, const char * most,
                   struct sandbox_limits *ret)
{
    const char *const texts[] = {option, user, operator, most };
    static const char *const sources[] = {"--", "USER: ", "OPERATOR: "};
    struct limit_layer l[4] = {0};
    const struct limit_layer *layers[] = {&l[0], &l[1], &l[2]};
    for (size_t i = 0; i < 4; i++)
        if (texts[i][0])
            EXPECT_EQ(limit_take(&l[i], LIMIT_TIMEOUT, texts[i], &error), 0);
    return limit_resolve(layers, sources, 3, &l[3], "OPERATOR", ret, &error);
}

TEST(who_decides)
{
    static const struct {
        const char *option, *user, *operator, * most;
        int64_t seconds; /* -1: refused */
        const char *why;
    } cases[] = {
        {"", "", "", "", 0, NULL},
        {"", "", "3", "", 3, NULL},
        {"", "2", "3", "", 2, NULL},
        {"1", "2", "3", "", 1, NULL},
        {"none", "2", "3", "", 0, NULL},
        {"", "", "", "9", 9, NULL},
        {"", "", "3", "9", 3, NULL},
        {"9", "", "", "9", 9, NULL},
        {"10", "", "", "9", -1,
         "--timeout: more than 9 s, the most that OPERATOR allows; give less"},
        {"none", "", "", "9", -1, "--timeout: more than 9 s"},
        {"", "10", "", "9", -1, "USER: timeout: more than 9 s"},
        {"1", "10", "", "9", 1, NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct sandbox_limits l;
        int r = resolve(cases[i].option, cases[i].user, cases[i].operator, cases[i].most, &l);
        bool good =
            cases[i].seconds < 0
                ? r == -EPERM && strstr(error.text, cases[i].why)
                : r == 0 && l.value[LIMIT_TIMEOUT] == (uint64_t)(cases[i].seconds * NSEC_PER_SEC);
        if (!good)
            harness_fail(__FILE__, __LINE__, "case %zu: %d, %s", i, r, error.text);
    }
}

TEST(everything_has_a_standard)
{
    struct limit_layer none = {0};
    const struct limit_layer *layers[] = {&none};
    static const char *const sources[] = {"--"};
    struct sandbox_limits l;
    ASSERT_EQ(limit_resolve(layers, sources, 1, &none, "", &l, &error), 0);
    EXPECT_EQ(l.value[LIMIT_MEMORY], UINT64_C(2) << 30);
    EXPECT_EQ(l.value[LIMIT_CPUS], 2000);
    EXPECT_EQ(l.value[LIMIT_PIDS], 512);
    EXPECT_EQ(l.value[LIMIT_GRACE], 2 * NSEC_PER_SEC);
    EXPECT_EQ(l.value[LIMIT_SANDBOXES], 100);
    EXPECT_EQ(l.value[LIMIT_TIMEOUT], 0);
    EXPECT_EQ(l.value[LIMIT_RATE], 0);
    for (int i = 0; i < LIMIT_COUNT; i++) {
        const struct limit_row *row = &sandbox_limit_rows[i];
        EXPECT_TRUE(row->may_be_none || (row->standard >= row->least && row->standard > 0));
        EXPECT_LE(row->standard, row->most);
    }
}

TEST(records_for_the_kernel)
{
    struct limit_layer l = {0};
    struct buf b = BUF_INIT(4096);
    const struct sandbox_controls controls = {
        .memory = LIMITED_BY_KERNEL, .cpus = LIMITED_BY_CGROUP_V1, .pids = LIMITED_BY_KERNEL};
    sandbox_limits_set_standard(&l.limits);
    EXPECT_EQ(limit_take(&l, LIMIT_IDLE, "2", &error), 0);
    EXPECT_EQ(limit_take_rlimit(&l, "nofile=64:unlimited", &error), 0);
    sandbox_limits_write(&l.limits, &controls, &b);
    ASSERT_TRUE(!b.failed);
    for (size_t i = 0; i < b.size; i++)
        if (!b.data[i])
            b.data[i] = ';';
    EXPECT_STR(
        b.data,
        "memory_bytes=2147483648;cpu_thousandths=2000;pids=512;"
        "disk_bytes=10737418240;inodes=1000000;idle_ns=2000000000;cpu_budget_ns=0;"
        "write_budget_bytes=0;send_budget_bytes=0;output_rate=0;rlimit=7:64:18446744073709551615;"
        "watch=memory,pids;");
    buf_done(&b);
}
