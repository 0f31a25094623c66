// SPDX-License-Identifier: Apache-2.0
/*
 * What calls that wait for many files hold, and its limit.
 */
#include "kernel/event/poll.h"
#include "kernel/core/kernel.h"
#include "kernel/event/eventfd.h"
#include "tests/unit/fs_support.h"

#define PER_CALL 65536

TEST(held_files_are_counted_and_let_go)
{
    struct poll_hold hold = {0};
    struct call c = {0};
    struct file *f;
    fs_start();
    ASSERT_EQ(eventfd_create_file(0, 0, &f), 0);
    EXPECT_EQ(poll_hold_file(&hold, &c, f, 2), 0);
    EXPECT_EQ(poll_hold_file(&hold, &c, f, 2), 0);
    EXPECT_EQ(f->refs, 3);
    EXPECT_EQ(poll_hold_file(&hold, &c, f, 2), -ENOMEM);
    poll_hold_clear(&hold);
    EXPECT_EQ(f->refs, 1);
    EXPECT_EQ(poll_hold_file(&hold, &c, f, 2), 0);
    poll_hold_done(&hold);
    EXPECT_EQ(f->refs, 1);
    file_put(f);
}

TEST(all_calls_together_are_limited)
{
    static struct poll_hold holds[LIMIT_POLL_WAITS / PER_CALL + 1];
    struct call c = {0};
    struct file *f;
    size_t held = 0;
    int r = 0;
    fs_start();
    ASSERT_EQ(eventfd_create_file(0, 0, &f), 0);
    for (size_t i = 0; i < ARRAY_SIZE(holds); i++) {
        for (size_t n = 0; r == 0 && n < PER_CALL; n++) {
            r = poll_hold_file(&holds[i], &c, f, PER_CALL);
            held += r == 0;
        }
    }
    EXPECT_EQ(r, -ENOMEM);
    EXPECT_EQ(held, LIMIT_POLL_WAITS);
    for (size_t i = 0; i < ARRAY_SIZE(holds); i++)
        poll_hold_done(&holds[i]);
    EXPECT_EQ(f->refs, 1);
    EXPECT_EQ(poll_hold_file(&holds[0], &c, f, 1), 0);
}
