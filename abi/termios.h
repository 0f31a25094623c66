// SPDX-License-Identifier: Apache-2.0
/*
 * Terminal settings as Linux x86-64 hands them over in ioctl_tty(2). They differ from libc's struct
 * termios, whose flag and index constants (ICANON, VMIN, ...) hold for them all the same.
 */
#pragma once

#include <stdint.h>
#include <sys/ioctl.h>
#include <termios.h>

#define ABI_TERMIOS_CC_COUNT 19
#define ABI_TERMIO_CC_COUNT  8

/* TCGETS, TCSETS, TCSETSW, TCSETSF */
struct abi_termios {
    uint32_t iflag, oflag, cflag, lflag;
    uint8_t line;
    uint8_t cc[ABI_TERMIOS_CC_COUNT];
};

/* TCGETS2, TCSETS2, TCSETSW2, TCSETSF2: begins as struct abi_termios */
struct abi_termios2 {
    uint32_t iflag, oflag, cflag, lflag;
    uint8_t line;
    uint8_t cc[ABI_TERMIOS_CC_COUNT];
    uint32_t ispeed, ospeed;
};

/* TCGETA, TCSETA, TCSETAW, TCSETAF */
struct abi_termio {
    uint16_t iflag, oflag, cflag, lflag;
    uint8_t line;
    uint8_t cc[ABI_TERMIO_CC_COUNT];
};

/* Requests that libc's headers name by a struct of the kernel's own, or not at all. */
#define ABI_TCGETS2  0x802c542aU
#define ABI_TCSETS2  0x402c542bU
#define ABI_TCSETSW2 0x402c542cU
#define ABI_TCSETSF2 0x402c542dU

#define ABI_TIOCGPTLCK  0x80045439U
#define ABI_TIOCGEXCL   0x80045440U
#define ABI_TIOCGPKT    0x80045438U
#define ABI_TIOCGPTPEER 0x5441U
#define ABI_TIOCGDEV    0x80045432U
#define ABI_TIOCSIG     0x40045436U

/* Speeds in cflag: the output's in CBAUD, the input's in the same bits shifted by IBSHIFT. */
#define ABI_BOTHER  0010000U /* see ispeed and ospeed */
#define ABI_IBSHIFT 16

_Static_assert(sizeof(struct abi_termios) == 36, "as Linux has it");
_Static_assert(sizeof(struct abi_termios2) == 44, "as Linux has it");
_Static_assert(sizeof(struct abi_termio) == 18, "as Linux has it");
