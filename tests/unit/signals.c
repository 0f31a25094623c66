// SPDX-License-Identifier: Apache-2.0
/* When a signal is one with the last. */
#include "sandbox/signals.h"
#include "tests/harness/harness.h"

#define AT(ms) ((ms)*NSEC_PER_MSEC)

static bool is_echo(struct signals *s, int sig, int code, uint32_t sender, int64_t now_ns)
{
    const struct signalfd_siginfo info = {
        .ssi_signo = (uint32_t)sig, .ssi_code = code, .ssi_pid = sender};
    return signals_is_echo(s, &info, now_ns);
}

TEST(sent_to_the_process_and_to_its_group)
{
    struct signals s = {0};
    EXPECT_TRUE(!is_echo(&s, SIGTERM, SI_USER, 7, AT(0)));
    EXPECT_TRUE(is_echo(&s, SIGTERM, SI_USER, 7, AT(0)));
    /* From the one that counted, not from the last echo: who sends without end is heard. */
    EXPECT_TRUE(is_echo(&s, SIGTERM, SI_USER, 7, AT(199)));
    EXPECT_TRUE(!is_echo(&s, SIGTERM, SI_USER, 7, AT(200)));
    EXPECT_TRUE(is_echo(&s, SIGTERM, SI_USER, 7, AT(399)));
}

TEST(others_are_meant)
{
    struct signals s = {0};
    EXPECT_TRUE(!is_echo(&s, SIGTERM, SI_USER, 7, AT(5)));
    EXPECT_TRUE(!is_echo(&s, SIGTERM, SI_USER, 8, AT(6)));
    EXPECT_TRUE(!is_echo(&s, SIGINT, SI_USER, 8, AT(7)));
    EXPECT_TRUE(is_echo(&s, SIGINT, SI_USER, 8, AT(8)));
}

TEST(what_is_typed_comes_once)
{
    struct signals s = {0};
    EXPECT_TRUE(!is_echo(&s, SIGINT, SI_KERNEL, 0, AT(0)));
    EXPECT_TRUE(!is_echo(&s, SIGINT, SI_KERNEL, 0, AT(80)));
}
