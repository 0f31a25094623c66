// SPDX-License-Identifier: Apache-2.0
/*
 * Allocations of the kernel that fail. The linker leads all of the program's here (--wrap in
 * meson.build); only those that are made while the kernel runs may fail.
 */
#pragma once

#include "lib/base/base.h"

/* Set while the kernel runs, and not the fuzzer around it. */
extern bool allocations_may_fail;

/* From now on so many succeed, then so many fail. */
void allocations_fail(unsigned after, unsigned count);
