// SPDX-License-Identifier: Apache-2.0
#include "cli/probe_report.h"
#include "tests/harness/harness.h"

#define TOKEN "glovebox-canary-0123456789abcdef0123456789abcdef"
#define ROW   "probe\thost-files\tread_it\tcontained\tescapes\t12\tno such file\tCVE-1\t\n"

/* Reads a text in pieces of some size and says whether the report was fine. */
static bool read_text(struct probe_report *r, const char *text, size_t size, size_t piece)
{
    probe_report_init(r, TOKEN);
    for (size_t at = 0; at < size; at += piece)
        probe_report_take(r, text + at, MIN(piece, size - at));
    return probe_report_finish(r);
}

static void expect_broken(const char *text, size_t size, const char *problem)
{
    struct probe_report r;
    EXPECT_TRUE(!read_text(&r, text, size, 7));
    EXPECT_STR(r.problem, problem);
    probe_report_done(&r);
}
#define EXPECT_BROKEN(text, problem) expect_broken(text, sizeof(text) - 1, problem)

TEST(a_report_in_pieces_of_any_size)
{
    static const char text[] =
        "glovebox-probes\t1\t2\n" ROW "probe\texec\trun_it\tESCAPED\tnever\t0\tENOEXEC\t\tit ran\n"
        "end\t2\n";
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        struct probe_report r;
        EXPECT_TRUE(read_text(&r, text, sizeof(text) - 1, piece));
        ASSERT_EQ(r.count, 2);
        EXPECT_STR(r.rows[0].control, "host-files");
        EXPECT_STR(r.rows[0].name, "read_it");
        EXPECT_EQ(r.rows[0].result, PROBE_CONTAINED);
        EXPECT_EQ(r.rows[0].outside, OUTSIDE_ESCAPES);
        EXPECT_EQ(r.rows[0].ms, 12);
        EXPECT_STR(r.rows[0].after, "CVE-1");
        EXPECT_EQ(r.rows[1].result, PROBE_ESCAPED);
        EXPECT_STR(r.rows[1].reason, "it ran");
        EXPECT_TRUE(!r.has_token);
        probe_report_done(&r);
    }
}

TEST(what_a_terminal_makes_of_line_ends)
{
    static const char text[] = "glovebox-probes\t1\t0\r\nend\t0\r\n";
    struct probe_report r;
    EXPECT_TRUE(read_text(&r, text, sizeof(text) - 1, 3));
    probe_report_done(&r);
}

TEST(reports_that_are_none)
{
    EXPECT_BROKEN("", "there is none");
    EXPECT_BROKEN("hello\n", "it does not begin as a report of probes");
    EXPECT_BROKEN("glovebox-probes\t2\t0\nend\t0\n", "it does not begin as a report of probes");
    EXPECT_BROKEN("glovebox-probes\t1\t99999999999999\nend\t0\n",
                  "it does not begin as a report of probes");
    EXPECT_BROKEN("glovebox-probes\t1\t-1\n", "it does not begin as a report of probes");
    EXPECT_BROKEN("glovebox-probes\t1\t1001\n", "it does not begin as a report of probes");
}

TEST(reports_that_break_off)
{
    EXPECT_BROKEN("glovebox-probes\t1\t1\n", "it breaks off");
    EXPECT_BROKEN("glovebox-probes\t1\t1\n" ROW, "it breaks off");
    EXPECT_BROKEN("glovebox-probes\t1\t1\n" ROW "end\t1", "its last line has no end");
    EXPECT_BROKEN("glovebox-probes\t1\t2\n" ROW "end\t2\n", "probes are missing in it");
    EXPECT_BROKEN("glovebox-probes\t1\t2\n" ROW "end\t1\n", "probes are missing in it");
    EXPECT_BROKEN("glovebox-probes\t1\t1\n" ROW "end\t1\nmore\n", "it goes on after its end");
}

TEST(lines_that_lie)
{
    static const char part[] = "a line of a probe has a part that is not allowed";
    EXPECT_BROKEN("glovebox-probes\t1\t1\n" ROW ROW "end\t1\n", "a probe is there twice");
    EXPECT_BROKEN("glovebox-probes\t1\t1\nprobe\tc\tn\tfine\tnever\t0\te\t\t\nend\t1\n", part);
    EXPECT_BROKEN("glovebox-probes\t1\t1\nprobe\tc\tn\tcontained\tat home\t0\te\t\t\nend\t1\n",
                  part);
    EXPECT_BROKEN("glovebox-probes\t1\t1\nprobe\tc\tn\tcontained\tnever\t1e3\te\t\t\nend\t1\n",
                  part);
    EXPECT_BROKEN("glovebox-probes\t1\t1\nprobe\tC\tn\tcontained\tnever\t0\te\t\t\nend\t1\n", part);
    EXPECT_BROKEN("glovebox-probes\t1\t1\nprobe\tc\t\tcontained\tnever\t0\te\t\t\nend\t1\n", part);
    EXPECT_BROKEN("glovebox-probes\t1\t1\nprobe\tc\tn\tcontained\tnever\t0\t\x1b[2J\t\t\nend\t1\n",
                  part);
    EXPECT_BROKEN("glovebox-probes\t1\t1\nprobe\tc\tn\tcontained\tnever\t0\t\xff\t\t\nend\t1\n",
                  part);
    EXPECT_BROKEN("glovebox-probes\t1\t1\nprobe\tc\tn\tcontained\tnever\t0\te\t\nend\t1\n",
                  "it has a line that is none of a report");
    EXPECT_BROKEN("glovebox-probes\t1\t1\nprobe\tc\tn\tcontained\tnever\t0\te\t\t\tmore\nend\t1\n",
                  "it has a line that is none of a report");
    EXPECT_BROKEN("glovebox-probes\t1\t1\nprobe\0\n" ROW "end\t1\n", "it has a NUL byte");
    EXPECT_BROKEN("glovebox-probes\t1\t0\n\nend\t0\n", "it has a line that is none of a report");
}

TEST(lines_and_reports_without_an_end)
{
    struct probe_report r;
    probe_report_init(&r, NULL);
    for (int i = 0; i < 100000; i++)
        probe_report_take(&r, "xxxxxxxxxx", 10);
    EXPECT_TRUE(!probe_report_finish(&r));
    EXPECT_STR(r.problem, "it has a line that is too long");
    probe_report_done(&r);

    probe_report_init(&r, NULL);
    static const char begin[] = "glovebox-probes\t1\t1000\n";
    probe_report_take(&r, begin, sizeof(begin) - 1);
    for (int i = 0; i < 3000; i++) {
        char line[128];
        int size = snprintf(line, sizeof(line), "probe\tc\tn%d\tcontained\tnever\t0\te\t\t\n", i);
        probe_report_take(&r, line, (size_t)size);
    }
    EXPECT_TRUE(!probe_report_finish(&r));
    EXPECT_EQ(r.count, PROBE_ROWS_MAX);
    probe_report_done(&r);
}

/* The secret is seen wherever it stands, also where the report is broken there. */
TEST(the_secret_in_a_report)
{
    static const char *const texts[] = {
        "glovebox-probes\t1\t1\nprobe\tc\tn\tcontained\tnever\t0\te\t\t" TOKEN "\nend\t1\n",
        "rubbish " TOKEN " rubbish\n", TOKEN, "\xff" TOKEN "\x1b[0m\nmore\n"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        for (size_t piece = 1; piece < 20; piece += 6) {
            struct probe_report r;
            read_text(&r, texts[i], strlen(texts[i]), piece);
            EXPECT_TRUE(r.has_token);
            probe_report_done(&r);
        }
}
