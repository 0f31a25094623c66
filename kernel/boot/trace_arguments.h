// SPDX-License-Identifier: Apache-2.0
/* The arguments of a call as --trace shows them: as in the program's source, where that is known.
 */
#pragma once

#include "kernel/core/call.h"
#include "lib/base/buf.h"

/*
 * Appends them, separated by commas. result: the call's, by which what it wrote for the program is
 * shown too. At most TRACE_ARGUMENTS_MAX bytes. For trace_call(): the program's memory is as the
 * call leaves it.
 */
#define TRACE_ARGUMENTS_MAX 40000
void trace_show_arguments(const struct call *c, long result, struct buf *b);
