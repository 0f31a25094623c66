// SPDX-License-Identifier: Apache-2.0
/*
 * What glovebox-courier is told and tells, over a socket of type SOCK_SEQPACKET: one order, one
 * report. It POSTs one message to one URL.
 *
 * An order is texts, each ended by a NUL: the URL; names and values of fields, in turn, as many as
 * there are; an empty one; the content.
 *
 * Descriptors that it is started with: 3, the socket; all others but 0 to 2 are closed. Its
 * arguments are a bundle of authorities ("": the machine's) and networks that may be reached
 * although they are not public.
 */
#pragma once

#include "lib/base/base.h"

#define COURIER_FD        3
#define COURIER_ORDER_MAX 65536
#define COURIER_TEXT_MAX  200
#define COURIER_S         15 /* in all */

struct courier_report {
    int32_t error;               /* 0: there was an answer; else a positive errno */
    uint32_t status;             /* of the answer */
    char text[COURIER_TEXT_MAX]; /* what went wrong, in words */
};
