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

static void packets(struct input *in)
{
    while (in->size > 0 && !is_stopped) {
        size_t size;
        const uint8_t *data = input_bytes(in, input_byte(in), &size);
        CHECK(send(starter_end, data, size, 0) == (ssize_t)size);
        on_ready(&watch, EPOLLIN);
        control_send(CONTROL_LOG, 0, (const char *)data, size);
        recv(starter_end, &(struct control_packet){0}, sizeof(struct control_packet), 0);
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
