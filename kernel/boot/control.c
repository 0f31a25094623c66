// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/control.h"

#include "kernel/boot/loop.h"
#include "kernel/core/kernel.h"
#include "kernel/core/timer.h"
#include "kernel/fs/tty/tty.h"
#include "kernel/proc/account.h"
#include "kernel/proc/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>

static struct host_watch watch;
static struct process *program;
static struct tty *console;

void control_set_program(struct process *p, struct tty *tty)
{
    program = p;
    console = tty;
}

void control_forget_console(void)
{
    console = NULL;
}

static void send_packet(struct control_packet *p, const char *text)
{
    struct iovec parts[2] = {{p, sizeof(*p)}, {(void *)text, p->text_size}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = p->text_size ? 2 : 1};
    while (sendmsg(CONTROL_FD, &m, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

void control_send(enum control_type type, int32_t value, const char *text, size_t text_size)
{
    const size_t most = CONTROL_PACKET_MAX_BYTES - sizeof(struct control_packet);
    struct control_packet p = {
        .type = type, .value = value, .text_size = (uint32_t)MIN(text_size, most)};
    send_packet(&p, text);
}

void control_send_exit(const struct process *ended)
{
    struct account_totals totals = account_totals();
    struct control_packet p = {
        .type = CONTROL_EXITED,
        .value = ended->wait_status,
        .reason = ended->end_reason,
        .wall_ns = clock_monotonic_ns() - kernel.boot_monotonic_ns,
        .user_ns = totals.user_ns,
        .system_ns = totals.system_ns,
        .peak_memory_bytes = totals.peak_memory_bytes,
    };
    send_packet(&p, NULL);
}

void control_send_casualty(struct process *ended)
{
    const char *name = process_leader(ended)->name;
    struct control_packet p = {
        .type = CONTROL_CASUALTY,
        .value = ended->pid,
        .reason = ended->end_reason,
        .text_size = (uint32_t)strlen(name),
    };
    send_packet(&p, name);
}

static void signal_program(int sig)
{
    if (sig < 1 || sig > SIGNAL_COUNT)
        return;
    if (console) {
        tty_signal_foreground(console, sig);
        return;
    }
    if (!program || !program->group)
        return;
    siginfo_t info = signal_info_kernel(sig);
    signal_send_group(program->group, sig, &info);
}

static void take_packet(const struct control_packet *p)
{
    switch (p->type) {
    case CONTROL_WINDOW_SIZE:
        if (console)
            tty_set_window_size(console, (uint16_t)(p->value >> 16), (uint16_t)(p->value & 0xffff));
        break;
    case CONTROL_SIGNAL:
        signal_program(p->value);
        break;
    case CONTROL_KILL:
        loop_stop();
        break;
    }
}

static void on_ready(struct host_watch *w, uint32_t events)
{
    struct control_packet p;
    ssize_t n = recv(CONTROL_FD, &p, sizeof(p), MSG_DONTWAIT);
    if (n == (ssize_t)sizeof(p))
        take_packet(&p);
    else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        loop_stop(); /* the starter is gone */
}

int control_start(void)
{
    watch.fd.n = CONTROL_FD;
    watch.ready = on_ready;
    watch.patient = true;
    return host_watch_add(&watch, EPOLLIN);
}
