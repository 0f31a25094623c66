// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for what the kernel process gets from its starter (kernel/boot/control.c): an
 * input is packets, each with its size in a byte before it. The first byte says whether there is a
 * program, and a terminal.
 */
#include "kernel/boot/loop.h"
#include "lib/base/control.h"
#include "tests/fuzz/world.h"

#include <sys/socket.h>

static int starter_end;
static bool is_stopped;

static void note_stop(void)
{
    is_stopped = true;
}

/* The kernel has number 3 for it, which may be somebody's here. */
#undef CONTROL_FD
#define CONTROL_FD 900
#define loop_stop  note_stop
#include "kernel/boot/control.c"

static struct tty *new_console(struct file **ret_slave)
{
    const struct console_options options = {.rows = 24, .columns = 80, .uid = 1000};
    struct tty *tty;
    CHECK(tty_new_host_console(&options, ret_slave, &tty) == 0);
    tty_make_controlling(tty, world_thread(0)->process);
    return tty;
}

/* What is being copied out, so that it can be ended: open files are counted. */
static int32_t copied[256];
static size_t copied_count;

static void note_copy(const uint8_t *data, size_t size)
{
    struct control_packet p;
    if (size < sizeof(p) || copied_count == ARRAY_SIZE(copied))
        return;
    memcpy(&p, data, sizeof(p));
    if (p.type == CONTROL_COPY_OPEN)
        copied[copied_count++] = p.value;
}

static void end_copies(void)
{
    static char answer[COPY_ANSWER_MAX];
    while (copied_count > 0) {
        const struct control_packet end = {.type = CONTROL_COPY_END,
                                           .value = copied[--copied_count]};
        CHECK(copy_answer(&end, "", answer) == 0);
    }
}

/* Whole records, whatever the question was. */
static void check_answer(const char *text, size_t size)
{
    while (size > 0) {
        struct copy_record r;
        CHECK(size >= sizeof(r));
        memcpy(&r, text, sizeof(r));
        CHECK(r.text_size <= size - sizeof(r));
        text += sizeof(r) + r.text_size;
        size -= sizeof(r) + r.text_size;
    }
}

static void take_packets(void)
{
    static struct {
        struct control_packet head;
        char text[CONTROL_PACKET_MAX_BYTES];
    } m;
    ssize_t n;
    while ((n = recv(starter_end, &m, sizeof(m), MSG_DONTWAIT)) > 0) {
        CHECK(n == (ssize_t)(sizeof(m.head) + m.head.text_size));
        if (m.head.type == CONTROL_COPIED)
            check_answer(m.text, m.head.text_size);
    }
}

static void packets(struct input *in)
{
    while (in->size > 0 && !is_stopped && copied_count < ARRAY_SIZE(copied)) {
        size_t size;
        const uint8_t *data = input_bytes(in, input_byte(in), &size);
        note_copy(data, size);
        CHECK(send(starter_end, data, size, 0) == (ssize_t)size);
        on_ready(&watch, EPOLLIN);
        control_send(CONTROL_LOG, 0, (const char *)data, size);
        take_packets();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    uint8_t what = input_byte(&in);
    int ends[2];
    struct file *slave = NULL;
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    CHECK(dup2(ends[0], CONTROL_FD) == CONTROL_FD && close(ends[0]) == 0);
    starter_end = ends[1];
    is_stopped = false;
    world_begin(1000);
    struct tty *tty = what & 2 ? new_console(&slave) : NULL;
    control_set_program(what & 1 ? world_thread(0)->process : NULL, tty);
    packets(&in);
    end_copies();
    control_set_program(NULL, NULL);
    if (tty) {
        file_put(slave);
        console_hang_up(tty);
    }
    world_end();
    close(CONTROL_FD);
    close(ends[1]);
    return 0;
}
