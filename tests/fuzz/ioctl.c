// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for ioctl(2) and the terminals (kernel/sys/ioctl.c, kernel/fs/tty): an input
 * is a sequence of requests with their bytes, and of writes and reads in between, on both sides of
 * a terminal, a pipe, a socket, a file and a directory.
 *
 * What must hold: an answer is a plain result, and no read gives more than was asked for.
 */
#include "tests/fuzz/world.h"

#include <asm/termbits.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define STEPS_MAX 100
#define FILES     6
#define ARG_BYTES 128

static const uint32_t requests[] = {
    TCGETS,        TCSETS,      TCSETSW,         TCSETSF,         TCGETS2,     TCSETS2,
    TCSETSW2,      TCSETSF2,    TCGETA,          TCSETA,          TCSETAW,     TCSETAF,
    TCSBRK,        TCXONC,      TCFLSH,          TIOCEXCL,        TIOCNXCL,    TIOCSCTTY,
    TIOCGPGRP,     TIOCSPGRP,   TIOCOUTQ,        TIOCSTI,         TIOCGWINSZ,  TIOCSWINSZ,
    FIONREAD,      TIOCPKT,     FIONBIO,         TIOCNOTTY,       TIOCSETD,    TIOCGETD,
    TCSBRKP,       TIOCGSID,    TIOCGPTN,        TIOCSPTLCK,      TIOCSIG,     TIOCVHANGUP,
    TIOCGPKT,      TIOCGPTLCK,  TIOCGEXCL,       TIOCGPTPEER,     FIONCLEX,    FIOCLEX,
    FIOASYNC,      FIOQSIZE,    TIOCLINUX,       TIOCCONS,        TIOCMGET,    TIOCGSOFTCAR,
    FIGETBSZ,      FIBMAP,      FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, SIOCGIFCONF, SIOCGIFNAME,
    SIOCGIFFLAGS,  SIOCGIFADDR, SIOCATMARK,      SIOCOUTQ,        SIOCGSTAMP,  SIOCGIFINDEX,
    SIOCGIFHWADDR, SIOCGIFMTU,
};

static long files[FILES];

static void open_all(void)
{
    int pipe[2];
    char name[32];
    uint32_t unlocked = 0, number;
    uint64_t at = world_put(&unlocked, sizeof(unlocked));
    files[0] = WORLD_CALL(SYS_open, world_put_string("/dev/ptmx"), O_RDWR | O_NONBLOCK);
    CHECK(files[0] >= 0);
    CHECK(WORLD_CALL(SYS_ioctl, (uint64_t)files[0], TIOCSPTLCK, at) == 0);
    CHECK(WORLD_CALL(SYS_ioctl, (uint64_t)files[0], TIOCGPTN, at) == 0);
    memcpy(&number, world_at(at), sizeof(number));
    snprintf(name, sizeof(name), "/dev/pts/%u", number);
    files[1] = WORLD_CALL(SYS_open, world_put_string(name), O_RDWR | O_NONBLOCK);
    at = world_put(NULL, sizeof(pipe));
    CHECK(WORLD_CALL(SYS_pipe2, at, O_NONBLOCK) == 0);
    memcpy(pipe, world_at(at), sizeof(pipe));
    files[2] = pipe[0];
    files[3] = WORLD_CALL(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    files[4] = WORLD_CALL(SYS_open, world_put_string("f"), O_RDWR | O_CREAT, 0644);
    files[5] = WORLD_CALL(SYS_open, world_put_string("."), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < FILES; i++)
        CHECK(files[i] >= 0);
}

static void step(struct input *in)
{
    uint8_t what = input_byte(in), file = input_byte(in), size = input_byte(in);
    uint64_t fd = (uint64_t)files[file % FILES];
    size_t n;
    const uint8_t *data = input_bytes(in, size % ARG_BYTES, &n);
    uint64_t at = world_put(NULL, ARG_BYTES);
    memset(world_at(at), 0, ARG_BYTES);
    memcpy(world_at(at), data, n);
    long r;
    if (what < ARRAY_SIZE(requests)) {
        r = WORLD_CALL(SYS_ioctl, fd, requests[what], size >= 250 ? n : at);
    } else if (what < 160) {
        r = WORLD_CALL(SYS_write, fd, at, n);
        CHECK(r <= (long)n);
    } else if (what < 240) {
        r = WORLD_CALL(SYS_read, fd, at, size % ARG_BYTES);
        CHECK(r <= size % ARG_BYTES);
    } else {
        r = WORLD_CALL(SYS_ioctl, fd, input_word(in, 4), at);
    }
    CHECK(r >= -4095 || r == WORLD_PARKED || r == WORLD_DEAD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    world_begin(input_byte(&in) & 1 ? 0 : 1000);
    open_all();
    for (int i = 0; i < STEPS_MAX && in.size > 0; i++)
        step(&in);
    world_end();
    return 0;
}
