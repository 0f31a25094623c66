// SPDX-License-Identifier: Apache-2.0
/*
 * The requests of ioctl_tty(2) that get and set struct termios, in its three layouts. Those of the
 * master mean the slave's settings.
 */
#include "kernel/fs/tty/pair.h"
#include "kernel/proc/process.h"

/* Speeds by the low bits of c_cflag; those of CBAUDEX go on where the others end. */
static const uint32_t speeds[] = {
    0,      50,      75,      110,     134,     150,     200,     300,     600,     1200,   1800,
    2400,   4800,    9600,    19200,   38400,   57600,   115200,  230400,  460800,  500000, 576000,
    921600, 1000000, 1152000, 1500000, 2000000, 2500000, 3000000, 3500000, 4000000,
};

#define FIRST_EXTENDED_SPEED 16

/* code: B* of termios(3); other: what ABI_BOTHER stands for. */
static uint32_t speed_of(uint32_t code, uint32_t other)
{
    if (code == ABI_BOTHER)
        return other;
    uint32_t index = code & ~CBAUDEX;
    if (code & CBAUDEX)
        index += FIRST_EXTENDED_SPEED - 1;
    return index < ARRAY_SIZE(speeds) ? speeds[index] : 0;
}

/* ispeed and ospeed from c_cflag, for the layouts that have neither. */
static void derive_speeds(struct abi_termios2 *s)
{
    uint32_t input = s->cflag >> ABI_IBSHIFT & CBAUD;
    s->ospeed = speed_of(s->cflag & CBAUD, s->ospeed);
    s->ispeed = input == B0 ? s->ospeed : speed_of(input, s->ispeed);
}

/* A pty always has eight bits and no parity. */
static void force_pty_flags(struct abi_termios2 *s)
{
    s->cflag &= ~(uint32_t)(CSIZE | PARENB);
    s->cflag |= CS8 | CREAD;
}

/* START and STOP are the usual ones: the master may do flow control by itself. */
static bool has_local_flow(const struct abi_termios2 *s)
{
    return (s->iflag & IXON) && s->cc[VSTOP] == ('S' - 0100) && s->cc[VSTART] == ('Q' - 0100);
}

static void tell_packet_mode(struct tty *t, const struct abi_termios2 *old,
                             const struct abi_termios2 *new)
{
    bool flow = has_local_flow(new);
    if (flow != has_local_flow(old))
        pair_set_packet_status(t, TIOCPKT_DOSTOP | TIOCPKT_NOSTOP,
                               flow ? TIOCPKT_DOSTOP : TIOCPKT_NOSTOP);
    if ((old->lflag | new->lflag) & EXTPROC)
        pair_set_packet_status(t, 0, TIOCPKT_IOCTL);
}

static void apply(struct tty *t, struct abi_termios2 *s)
{
    struct abi_termios2 old = t->discipline.termios;
    force_pty_flags(s);
    tell_packet_mode(t, &old, s);
    discipline_set_termios(&t->discipline, s);
    pair_pump_input(t);
    waitq_wake(&t->slave_wait, EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLWRNORM);
}

enum layout { LAYOUT_TERMIOS, LAYOUT_TERMIOS2, LAYOUT_TERMIO };

static int read_termio(struct call *c, struct gaddr from, struct abi_termios2 *s)
{
    struct abi_termio in;
    int r = call_read(c, &in, from, sizeof(in));
    if (r < 0)
        return r;
    s->iflag = (s->iflag & 0xffff0000) | in.iflag;
    s->oflag = (s->oflag & 0xffff0000) | in.oflag;
    s->cflag = (s->cflag & 0xffff0000) | in.cflag;
    s->lflag = (s->lflag & 0xffff0000) | in.lflag;
    s->line = in.line;
    memcpy(s->cc, in.cc, sizeof(in.cc));
    derive_speeds(s);
    return 0;
}

/* s holds the settings of now, which what the layout lacks is taken from. */
static int read_settings(struct call *c, struct gaddr from, enum layout layout,
                         struct abi_termios2 *s)
{
    if (layout == LAYOUT_TERMIO)
        return read_termio(c, from, s);
    size_t size = layout == LAYOUT_TERMIOS ? sizeof(struct abi_termios) : sizeof(*s);
    int r = call_read(c, s, from, size);
    if (r < 0)
        return r;
    derive_speeds(s);
    return 0;
}

static long get_settings(const struct tty *t, struct call *c, struct gaddr to, enum layout layout)
{
    const struct abi_termios2 *s = &t->discipline.termios;
    if (layout == LAYOUT_TERMIOS)
        return call_write(c, to, s, sizeof(struct abi_termios));
    if (layout == LAYOUT_TERMIOS2)
        return call_write(c, to, s, sizeof(*s));
    struct abi_termio out = {0};
    out.iflag = (uint16_t)s->iflag;
    out.oflag = (uint16_t)s->oflag;
    out.cflag = (uint16_t)s->cflag;
    out.lflag = (uint16_t)s->lflag;
    out.line = s->line;
    memcpy(out.cc, s->cc, sizeof(out.cc));
    return call_write(c, to, &out, sizeof(out));
}

/* Nothing has to drain first: what is written to a pty has been sent (as on Linux). */
static long set_settings(struct tty *t, struct call *c, struct gaddr from, enum layout layout,
                         bool flush)
{
    struct abi_termios2 s = t->discipline.termios;
    long r = tty_check_change(t, SIGTTOU);
    if (r < 0)
        return r;
    r = read_settings(c, from, layout, &s);
    if (r < 0)
        return r;
    if (flush)
        discipline_flush_input(&t->discipline);
    apply(t, &s);
    return 0;
}

static long set_carrier(struct tty *t, struct call *c, struct gaddr from)
{
    struct abi_termios2 s = t->discipline.termios;
    int on;
    int r = call_read(c, &on, from, sizeof(on));
    if (r < 0)
        return r;
    s.cflag = on ? s.cflag | CLOCAL : s.cflag & ~(uint32_t)CLOCAL;
    apply(t, &s);
    return 0;
}

long tty_settings_ioctl(struct tty *t, struct call *c, unsigned request, struct gaddr argument)
{
    int local = (t->discipline.termios.cflag & CLOCAL) != 0;
    switch (request) {
    case TCGETS:
        return get_settings(t, c, argument, LAYOUT_TERMIOS);
    case TCSETS:
    case TCSETSW:
    case TCSETSF:
        return set_settings(t, c, argument, LAYOUT_TERMIOS, request == TCSETSF);
    case ABI_TCGETS2:
        return get_settings(t, c, argument, LAYOUT_TERMIOS2);
    case ABI_TCSETS2:
    case ABI_TCSETSW2:
    case ABI_TCSETSF2:
        return set_settings(t, c, argument, LAYOUT_TERMIOS2, request == ABI_TCSETSF2);
    case TCGETA:
        return get_settings(t, c, argument, LAYOUT_TERMIO);
    case TCSETA:
    case TCSETAW:
    case TCSETAF:
        return set_settings(t, c, argument, LAYOUT_TERMIO, request == TCSETAF);
    case TIOCGSOFTCAR:
        return call_write(c, argument, &local, sizeof(local));
    case TIOCSSOFTCAR:
        return set_carrier(t, c, argument);
    default:
        return -ENOTTY;
    }
}
