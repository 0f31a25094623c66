// SPDX-License-Identifier: Apache-2.0
/* host calls: recvmsg sendmsg */
#include "kernel/boot/control.h"

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
#include "kernel/proc/process.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Packets that wait for room: of the types that can be many no more than this. */
#define KEPT_MAX 64
/*
 * When there is no memory to keep one. Somebody waits for each of those that can't be many: for a
 * program's start and end, for a piece of a copy, for what the starter has to know once.
 */
#define RESERVE_COUNT (2 * CONTROL_EXECS_MAX + CONTROL_COPIES_MAX + 16)
#define RESERVE_TEXT_BYTES \
    128 /* a longer one is cut; of a copy, where it would be wrong, left out */

struct kept {
    struct list link;
    struct control_packet packet;
    bool is_reserve;
    char text[];
};

static union {
    struct kept kept;
    char room[sizeof(struct kept) + RESERVE_TEXT_BYTES];
} reserve[RESERVE_COUNT];
static struct list reserve_free = {&reserve_free, &reserve_free};
static size_t reserve_used; /* ever; those behind it were not touched */

static struct host_watch watch = {.fd = {CONTROL_FD}, .patient = true};
static struct list kept = {&kept, &kept};
static size_t kept_count;
void (*control_exec)(const struct control_packet *p, struct hostfd *fds, size_t count);

static struct process *program;
static bool has_had_program;
static struct tty *console;

void control_set_program(struct process *p, struct tty *tty)
{
    program = p;
    has_had_program = true;
    console = tty;
}

void control_forget_console(void)
{
    console = NULL;
}

/* False when there is no room. A starter that is gone takes everything. */
static bool try_send(const struct control_packet *p, const char *text)
{
    struct iovec parts[2] = {{(void *)p, sizeof(*p)}, {(void *)text, p->text_size}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = p->text_size ? 2 : 1};
    ssize_t n;
    do
        n = sendmsg(CONTROL_FD, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n >= 0 || (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM);
}

/* NULL: all is in use. */
static struct kept *take_reserve(void)
{
    struct kept *k = list_first(&reserve_free, struct kept, link);
    if (k)
        list_remove(&k->link);
    else if (reserve_used < RESERVE_COUNT)
        k = &reserve[reserve_used++].kept;
    if (k)
        k->is_reserve = true;
    return k;
}

static void keep(const struct control_packet *p, const char *text)
{
    bool can_be_many = p->type == CONTROL_LOG || p->type == CONTROL_STOPPED ||
                       p->type == CONTROL_CASUALTY || p->type == CONTROL_DENIED;
    if (can_be_many && kept_count >= KEPT_MAX)
        return;
    struct kept *k = malloc(sizeof(*k) + p->text_size);
    if (k)
        k->is_reserve = false;
    else if (!can_be_many)
        k = take_reserve();
    if (!k)
        return;
    k->packet = *p;
    if (k->is_reserve && p->text_size > RESERVE_TEXT_BYTES)
        k->packet.text_size = p->type == CONTROL_COPIED ? 0 : RESERVE_TEXT_BYTES;
    if (k->packet.text_size)
        memcpy(k->text, text, k->packet.text_size);
    list_append(&kept, &k->link);
    kept_count++;
}

static void send_kept(void)
{
    while (!list_is_empty(&kept)) {
        struct kept *k = list_first(&kept, struct kept, link);
        if (!try_send(&k->packet, k->text))
            return;
        list_remove(&k->link);
        kept_count--;
        if (k->is_reserve)
            list_append(&reserve_free, &k->link);
        else
            free(k);
    }
}

static void wait_for_room(void)
{
    host_watch_change(&watch, EPOLLIN | EPOLLOUT);
}

void control_send_packet(const struct control_packet *p, const char *text)
{
    if (list_is_empty(&kept) && try_send(p, text))
        return;
    keep(p, text);
    wait_for_room();
}

bool control_offer_trace(const char *text, size_t size, int limit_ms)
{
    const struct control_packet p = {.type = CONTROL_TRACE, .text_size = (uint32_t)size};
    bool is_sent = list_is_empty(&kept) && try_send(&p, text);
    if (!is_sent && limit_ms > 0 && host_watch_wait_room(watch.fd, limit_ms)) {
        send_kept();
        is_sent = list_is_empty(&kept) && try_send(&p, text);
    }
    if (!is_sent)
        wait_for_room();
    return is_sent;
}

void control_drain(void)
{
    for (send_kept(); !list_is_empty(&kept); send_kept())
        host_watch_wait_room(watch.fd, -1);
}

void control_send(enum control_type type, int32_t value, const char *text, size_t text_size)
{
    const size_t most = CONTROL_PACKET_MAX_BYTES - sizeof(struct control_packet);
    struct control_packet p = {
        .type = type, .value = value, .text_size = (uint32_t)MIN(text_size, most)};
    control_send_packet(&p, text);
}

void control_fill_totals(struct control_packet *p)
{
    struct account_totals totals = account_totals_with_living();
    p->wall_ns = clock_monotonic_ns() - kernel.boot_monotonic_ns;
    p->user_ns = totals.user_ns;
    p->system_ns = totals.system_ns;
    p->peak_memory_bytes = totals.peak_memory_bytes;
    p->written_bytes = traffic.written_bytes;
}

void control_send_exit(const struct process *ended)
{
    struct control_packet p = {
        .type = CONTROL_EXITED, .value = ended->wait_status, .reason = ended->end_reason};
    control_fill_totals(&p);
    control_send_packet(&p, NULL);
}

/* The main program has not ended: it is about to, with all others. */
static void send_totals(void)
{
    struct control_packet p = {.type = CONTROL_TOTALS};
    control_fill_totals(&p);
    control_send_packet(&p, NULL);
}

void control_send_over(enum control_reason reason)
{
    static bool is_told;
    struct control_packet p = {.type = CONTROL_OVER, .reason = reason};
    if (is_told)
        return;
    is_told = true;
    control_fill_totals(&p);
    control_send_packet(&p, NULL);
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
    control_send_packet(&p, name);
}

void control_send_denied(int32_t value, unsigned protocol, const char *what)
{
    struct control_packet p = {
        .type = CONTROL_DENIED,
        .value = value,
        .reason = protocol,
        .text_size = what ? (uint32_t)strlen(what) : 0,
    };
    control_send_packet(&p, what);
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

static void answer_copy(const struct control_packet *p, const char *text)
{
    static char answer[COPY_ANSWER_MAX];
    size_t size = copy_answer(p, text, answer);
    if (size > 0)
        control_send(CONTROL_COPIED, p->value, answer, size);
}

static void take_packet(const struct control_packet *p, const char *text, struct hostfd *fds,
                        size_t fd_count)
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
        if (program || !has_had_program)
            send_totals();
        loop_stop();
        break;
    case CONTROL_COPY_OPEN:
    case CONTROL_COPY_NEXT:
    case CONTROL_COPY_END:
        answer_copy(p, text);
        break;
    case CONTROL_EXEC:
    case CONTROL_EXEC_SIGNAL:
    case CONTROL_EXEC_WINDOW:
        if (control_exec)
            control_exec(p, fds, fd_count);
        break;
    case CONTROL_FILES:
        if (fd_count == 2) {
            files_admit(fds[0], fds[1]);
            fds[0] = fds[1] = HOSTFD_NONE;
        }
        break;
    case CONTROL_PORT_CONNECT:
        ports_connect(p, fd_count == 1 ? fds[0] : HOSTFD_NONE);
        if (fd_count == 1)
            fds[0] = HOSTFD_NONE;
        break;
    case CONTROL_PORT_CUT:
        ports_cut(p);
        break;
    case CONTROL_PORT_LIST:
        ports_list(p);
        break;
    case CONTROL_USAGE:
        usage_tell(p);
        break;
    }
}

/* The descriptors that came with a message. */
static size_t take_descriptors(struct msghdr *h, struct hostfd fds[CONTROL_DESCRIPTORS_MAX])
{
    struct cmsghdr *c = CMSG_FIRSTHDR(h);
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t count = MIN((c->cmsg_len - CMSG_LEN(0)) / sizeof(int), (size_t)CONTROL_DESCRIPTORS_MAX);
    for (size_t i = 0; i < count; i++)
        memcpy(&fds[i].n, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
    return count;
}

/* False: the starter is gone. */
static bool receive_one(void)
{
    static struct {
        struct control_packet packet;
        char text[COPY_PATH_MAX_BYTES];
    } m;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(CONTROL_DESCRIPTORS_MAX * sizeof(int))];
    } room;
    struct iovec part = {&m, sizeof(m)};
    struct msghdr h = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room)};
    struct hostfd fds[CONTROL_DESCRIPTORS_MAX];
    ssize_t n = recvmsg(CONTROL_FD, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    size_t count = take_descriptors(&h, fds);
    if (n >= (ssize_t)sizeof(m.packet) && m.packet.text_size == (size_t)n - sizeof(m.packet))
        take_packet(&m.packet, m.text, fds, count);
    for (size_t i = 0; i < count; i++)
        hostfd_close(&fds[i]);
    return true;
}

static void on_ready(struct host_watch *w, uint32_t events)
{
    if (events & EPOLLOUT) {
        send_kept();
        if (list_is_empty(&kept))
            host_watch_change(w, EPOLLIN);
    }
    if ((events & ~(uint32_t)EPOLLOUT) && !receive_one())
        loop_stop();
}

int control_start(void)
{
    watch.ready = on_ready;
    return host_watch_add(&watch, EPOLLIN);
}
