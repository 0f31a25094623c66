// SPDX-License-Identifier: Apache-2.0
/* What a starter makes of a kernel process that says more than there is time for. */
#include "sandbox/run_parts.h"
#include "tests/harness/harness.h"

#include <sys/socket.h>

static size_t lines;

static void count_line(const char *line)
{
    EXPECT_STR(line, "x");
    lines++;
}

/* As many packets as there is room for: their number. */
static size_t fill(int kernel)
{
    char bytes[sizeof(struct control_packet) + 1];
    const struct control_packet head = {.type = CONTROL_LOG, .text_size = 1};
    size_t count = 0;
    memcpy(bytes, &head, sizeof(head));
    bytes[sizeof(head)] = 'x';
    while (send(kernel, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        count++;
    return count;
}

TEST(others_have_their_turn)
{
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    struct sandbox sandbox = {.control = ends[0], .pidfd = -1};
    struct run r = {.sandbox = &sandbox, .is_control_open = true};
    updates_init(&r.updates, NULL, NULL, NULL);
    notices_init(&r.notices, count_line, -1);
    size_t sent = fill(ends[1]);
    /* Whoever fills the room again each time is never heard to the end. */
    EXPECT_TRUE(run_read_control(&r));
    EXPECT_GT(lines, 0U);
    EXPECT_LT(lines, sent);
    sent += fill(ends[1]);
    close(ends[1]);
    while (run_read_control(&r))
        ;
    EXPECT_EQ(lines, sent);
    EXPECT_TRUE(!r.is_control_open);
    notices_done(&r.notices);
    close(ends[0]);
}
