// SPDX-License-Identifier: Apache-2.0
/*
 * Numbers of the calls that only our own code in the tasks makes; Linux uses none of them. Also
 * read by the assembler.
 */
#ifndef KERNEL_GUEST_NUMBERS_H
#define KERNEL_GUEST_NUMBERS_H

#define SYS_GLOVEBOX_EXEC   1000 /* what to map: protocol.h */
#define SYS_GLOVEBOX_START  1001 /* mapped; the program begins */
#define SYS_GLOVEBOX_SIGNAL 1002 /* the host's handler asks what to do */
#define SYS_GLOVEBOX_INIT   1003 /* the sandbox's init asks for work */
#define SYS_GLOVEBOX_MOVED  1004 /* the host's handler has moved its frame */

/* In an answer to SYS_GLOVEBOX_SIGNAL: the program's handler runs on the interrupted stack. */
#define STUB_MOVE_FRAME_BIT 62

#endif
