// SPDX-License-Identifier: Apache-2.0
/*
 * The starter does not read, and the kernel process has no memory left: what somebody waits for
 * still reaches it, in order. meson.build puts this malloc in the place of libc's.
 */
#include "kernel/boot/copy.h"
#include "kernel/boot/files/files.h"
#include "kernel/boot/loop.h"
#include "kernel/boot/ports.h"
#include "kernel/boot/usage.h"
#include "kernel/core/kernel.h"
#include "kernel/core/timer.h"
#include "kernel/core/traffic.h"
#include "kernel/fs/tty/tty.h"
#include "kernel/proc/account.h"
#include "kernel/proc/signal.h"
#include "tests/harness/harness.h"

#include <sys/socket.h>

static int starter_end;
static bool has_memory = true;

/* ---- the rest of the kernel ---- */

struct kernel kernel;
struct traffic traffic;

void loop_stop(void)
{
}

size_t copy_answer(const struct control_packet *p _unused_, const char *text _unused_,
                   char answer[static COPY_ANSWER_MAX] _unused_)
{
    return 0;
}

void files_admit(struct hostfd socket _unused_, struct hostfd memory _unused_)
{
}

void ports_connect(const struct control_packet *p _unused_, struct hostfd fd _unused_)
{
}

void ports_cut(const struct control_packet *p _unused_)
{
}

void ports_list(const struct control_packet *p _unused_)
{
}

void usage_tell(const struct control_packet *p _unused_)
{
}

int host_watch_add(struct host_watch *w _unused_, uint32_t events _unused_)
{
    return 0;
}

void host_watch_change(struct host_watch *w, uint32_t events)
{
    w->events = events;
}

bool host_watch_wait_room(struct hostfd fd _unused_, int limit_ms _unused_)
{
    return false;
}

siginfo_t signal_info_kernel(int sig _unused_)
{
    return (siginfo_t){0};
}

int signal_send_group(struct process_group *g _unused_, int sig _unused_,
                      const siginfo_t *info _unused_)
{
    return 0;
}

void tty_set_window_size(struct tty *t _unused_, uint16_t rows _unused_, uint16_t columns _unused_)
{
}

void tty_signal_foreground(struct tty *t _unused_, int sig _unused_)
{
}

struct account_totals account_totals_with_living(void)
{
    return (struct account_totals){0};
}

int64_t clock_monotonic_ns(void)
{
    return 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
    return has_memory ? __real_malloc(size) : NULL;
}

/* The kernel has number 3 for it, which may be somebody's here. */
#undef CONTROL_FD
#define CONTROL_FD 900
#include "kernel/boot/control.c"

/* ---- the cases ---- */

static void connect_ends(void)
{
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    ASSERT_EQ(dup2(ends[0], CONTROL_FD), CONTROL_FD);
    starter_end = ends[1];
}

/* Until nothing goes into the socket any more; how many it were. */
static size_t fill(void)
{
    const struct control_packet p = {.type = CONTROL_LOG};
    size_t count = 0;
    while (try_send(&p, NULL))
        count++;
    return count;
}

static struct control_packet receive(char *text)
{
    static struct {
        struct control_packet packet;
        char text[CONTROL_PACKET_MAX_BYTES];
    } m;
    send_kept();
    ssize_t n = recv(starter_end, &m, sizeof(m), MSG_DONTWAIT);
    ASSERT_GE(n, (ssize_t)sizeof(m.packet));
    ASSERT_EQ((size_t)n, sizeof(m.packet) + m.packet.text_size);
    memcpy(text, m.text, m.packet.text_size);
    return m.packet;
}

/* All programs at once start and end. */
static void tell_programs(void)
{
    struct control_packet p = {0};
    for (p.value = 1; p.value <= CONTROL_EXECS_MAX; p.value++) {
        p.type = CONTROL_EXEC_STARTED;
        control_send_packet(&p, NULL);
        p.type = CONTROL_EXEC_ENDED;
        control_send_packet(&p, NULL);
    }
}

static void expect_programs(void)
{
    static char text[CONTROL_PACKET_MAX_BYTES];
    for (int32_t i = 1; i <= CONTROL_EXECS_MAX; i++) {
        struct control_packet p = receive(text);
        EXPECT_EQ(p.type, CONTROL_EXEC_STARTED);
        EXPECT_EQ(p.value, i);
        p = receive(text);
        EXPECT_EQ(p.type, CONTROL_EXEC_ENDED);
        EXPECT_EQ(p.value, i);
    }
}

TEST(ends_of_programs_are_told_without_memory)
{
    static char text[CONTROL_PACKET_MAX_BYTES];
    connect_ends();
    /* Again and again, so that places that were used are used again. */
    for (int round = 0; round < 3; round++) {
        size_t count = fill();
        has_memory = false;
        tell_programs();
        while (count-- > 0)
            EXPECT_EQ(receive(text).type, CONTROL_LOG);
        expect_programs();
        has_memory = true;
        EXPECT_TRUE(list_is_empty(&kept));
        EXPECT_EQ(kept_count, 0);
    }
}

TEST(what_has_no_room_is_cut)
{
    static char text[CONTROL_PACKET_MAX_BYTES], words[4000];
    memset(words, 'w', sizeof(words));
    connect_ends();
    size_t count = fill();
    has_memory = false;
    control_send(CONTROL_LOG, 1, words, sizeof(words)); /* can be many: dropped */
    control_send(CONTROL_EXEC_FAILED, 2, words, sizeof(words));
    control_send(CONTROL_COPIED, 3, words, sizeof(words));
    has_memory = true;
    while (count-- > 0)
        EXPECT_EQ(receive(text).value, 0);
    struct control_packet p = receive(text);
    EXPECT_EQ(p.value, 2);
    EXPECT_EQ(p.text_size, RESERVE_TEXT_BYTES);
    EXPECT_EQ(memcmp(text, words, p.text_size), 0);
    p = receive(text);
    EXPECT_EQ(p.value, 3);
    EXPECT_EQ(p.text_size, 0);
}
