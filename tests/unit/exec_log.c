// SPDX-License-Identifier: Apache-2.0
/* What is kept of a program's output: the latest of it, in its order, and nothing that is needed is
 * lost. */
#include "sandbox/exec_log.h"

#include "sandbox/exec_messages.h"
#include "tests/harness/harness.h"

static struct exec_log l;
static char text[70000];

static void expect_at(uint64_t offset, uint32_t stream, const char *words)
{
    size_t size;
    uint32_t found;
    const char *data = exec_log_at(&l, &offset, &size, &found);
    ASSERT_TRUE(data && size >= strlen(words));
    EXPECT_EQ(found, stream);
    EXPECT_TRUE(!memcmp(data, words, strlen(words)));
}

TEST(streams_keep_their_order)
{
    uint64_t at = 0;
    size_t size;
    uint32_t stream;
    exec_log_init(&l);
    EXPECT_TRUE(!exec_log_at(&l, &at, &size, &stream) && size == 0);
    EXPECT_TRUE(exec_log_append(&l, EXEC_OUT, "one", 3));
    EXPECT_TRUE(exec_log_append(&l, EXEC_ERR, "two", 3));
    EXPECT_TRUE(exec_log_append(&l, EXEC_OUT, "three", 5));
    expect_at(0, EXEC_OUT, "one");
    expect_at(2, EXEC_OUT, "e");
    expect_at(3, EXEC_ERR, "two");
    expect_at(6, EXEC_OUT, "three");
    at = 11;
    EXPECT_TRUE(!exec_log_at(&l, &at, &size, &stream));
    exec_log_done(&l);
}

TEST(the_latest_is_kept)
{
    uint64_t at = 0;
    size_t size;
    uint32_t stream;
    exec_log_init(&l);
    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 100; i++)
        EXPECT_TRUE(exec_log_append(&l, EXEC_OUT, text, sizeof(text)));
    EXPECT_EQ(l.end, 100 * sizeof(text));
    EXPECT_TRUE(l.end - l.start <= EXEC_KEPT_BYTES);
    EXPECT_TRUE(l.end - l.start > EXEC_KEPT_BYTES - 2 * sizeof(text));
    EXPECT_TRUE(exec_log_at(&l, &at, &size, &stream) != NULL);
    EXPECT_EQ(at, l.start);
    exec_log_done(&l);
}

/* However little comes at once, and from which stream. */
TEST(memory_is_bounded)
{
    exec_log_init(&l);
    for (int i = 0; i < 300000; i++)
        EXPECT_TRUE(exec_log_append(&l, i % 2 ? EXEC_OUT : EXEC_ERR, "x", 1));
    EXPECT_TRUE(l.memory <= 3 * (size_t)EXEC_KEPT_BYTES);
    EXPECT_EQ(l.end, 300000);
    exec_log_done(&l);
}

TEST(there_is_room_as_long_as_nothing_needed_is_lost)
{
    exec_log_init(&l);
    const size_t most = exec_log_room(&l, 0);
    EXPECT_TRUE(most >= EXEC_KEPT_BYTES / 2 && most <= EXEC_KEPT_BYTES - EXEC_IN_FLIGHT_BYTES);
    uint64_t needed = 0;
    size_t room;
    while ((room = exec_log_room(&l, needed)) > 0)
        EXPECT_TRUE(exec_log_append(&l, EXEC_OUT, text, MIN(room, sizeof(text))));
    EXPECT_EQ(l.start, 0);
    EXPECT_EQ(l.end, most);
    /* Nobody is there: the oldest may go. */
    EXPECT_EQ(exec_log_room(&l, UINT64_MAX), most);
    EXPECT_EQ(exec_log_room(&l, 1000), 1000);
    exec_log_done(&l);
    exec_log_init(&l);
    for (int i = 0; exec_log_room(&l, 0) > 0 && i < 1000000; i++)
        EXPECT_TRUE(exec_log_append(&l, i % 2 ? EXEC_OUT : EXEC_ERR, "x", 1));
    EXPECT_EQ(l.start, 0);
    EXPECT_TRUE(l.memory <= 2 * (size_t)EXEC_KEPT_BYTES + 1024);
    exec_log_done(&l);
}

/* What was sent and not received is still there, however slowly it is taken. */
static void expect_what_is_in_flight(size_t piece, size_t in_flight)
{
    uint64_t needed = 0;
    exec_log_init(&l);
    for (int i = 0; i < 20000; i++) {
        for (size_t room; (room = exec_log_room(&l, needed)) > 0;)
            EXPECT_TRUE(exec_log_append(&l, i++ % 2 ? EXEC_OUT : EXEC_ERR, text, MIN(room, piece)));
        EXPECT_TRUE(l.start + in_flight <= needed || l.start == 0);
        needed += piece;
    }
    EXPECT_GT(l.start, 0);
    exec_log_done(&l);
}

TEST(what_is_in_flight_is_kept)
{
    expect_what_is_in_flight(EXEC_TEXT_MAX_BYTES, EXEC_IN_FLIGHT_BYTES);
    expect_what_is_in_flight(1000, EXEC_IN_FLIGHT_BYTES);
    /* The host reckons each packet with no less than so much. */
    expect_what_is_in_flight(1, EXEC_IN_FLIGHT_BYTES / 512);
}
