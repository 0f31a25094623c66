// SPDX-License-Identifier: Apache-2.0
/* The server's log on a terminal that it shares and nobody reads: it never waits, and counts. */
#include "server/keys.h"
#include "server/log.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/text.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define LINES 4000 /* more than LOG_WAITING_MAX holds */

/* ---- what it needs of the server ---- */

struct key *keys_get(int64_t id _unused_)
{
    return NULL;
}

int timer_set(struct timer *t _unused_, int64_t at_ns _unused_)
{
    return 0;
}

int64_t server_now_ns(void)
{
    return 0;
}

int64_t server_wall_ms(void)
{
    return 0;
}

void server_say(const char *format _unused_, ...)
{
}

void text_write_time(int64_t ms _unused_, char out[TIME_TEXT_SIZE + 1])
{
    snprintf(out, TIME_TEXT_SIZE + 1, "then");
}

/* ---- a log and its reader ---- */

static void read_some(int fd, struct buf *all)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, 10) > 0) {
        char *room = buf_room(all, 4096);
        ASSERT_TRUE(room != NULL);
        ssize_t n = read(fd, room, 4096);
        ASSERT_TRUE(n > 0);
        buf_extend(all, (size_t)n);
    }
}

/* Lines that were read, and the sum of those that were told as lost. */
static size_t count_accounted(const char *all)
{
    size_t count = 0, lost;
    for (const char *at = all; (at = strstr(at, " warn - ")); at++)
        count += sscanf(at, " warn - lines were lost: %zu", &lost) == 1 ? lost : 1;
    return count;
}

static void expect_all_accounted(int from, int to)
{
    struct buf all = BUF_INIT(4u << 20);
    log_open(to, true);
    for (int i = 0; i < LINES; i++) {
        log_say("warn", "one line of many, with what it takes to be about as long as others are");
        log_flush();
    }
    EXPECT_GT(log_lost(), 0);
    for (size_t before = 1; all.size != before;) {
        before = all.size;
        read_some(from, &all);
        log_flush();
        read_some(from, &all);
    }
    ASSERT_EQ(buf_append(&all, "", 1), 0);
    EXPECT_EQ(count_accounted(all.data), LINES);
    buf_done(&all);
}

TEST(a_terminal_that_nobody_reads)
{
    int from = posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_TRUE(from >= 0 && grantpt(from) == 0 && unlockpt(from) == 0);
    int to = open(ptsname(from), O_RDWR | O_NOCTTY);
    ASSERT_TRUE(to >= 0);
    expect_all_accounted(from, to);
}

TEST(a_pipe_that_nobody_reads)
{
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    expect_all_accounted(ends[0], ends[1]);
}
