// SPDX-License-Identifier: Apache-2.0
/*
 * libglovebox: the rooms below, as include/glovebox.h promises them. What the parts share.
 *
 * Nothing here has state but in objects: a function that is not const-clean down to libc (a static
 * buffer, umask(2), setenv(3)) must not be used.
 */
#pragma once

#include "include/glovebox.h"

#include "sandbox/error.h"

#include <limits.h>

/* All that is exported; the linker hides the rest. */
#define _public_ __attribute__((visibility("default")))

/* Hands a sentence out, if anybody wants it. Returns code. */
int library_fail(struct glovebox_error *e, int code, const struct sandbox_error *from);
int library_fail_with(struct glovebox_error *e, int code, const char *format, ...) _printf_(3, 4);

/* CLOCK_MONOTONIC. */
int64_t library_now_ms(void);

/* When timeout_ms from now is over; INT64_MAX: never. And what is left of it, for poll(2). */
int64_t library_deadline(int timeout_ms);
int library_left(int64_t deadline_ms);

/* Waits until fd is readable: 0, -EAGAIN when the deadline passed, or what poll(2) says. */
int library_wait(int fd, int64_t deadline_ms);

/* The path of the program glovebox: 0, or negative errno and the sentence. */
int library_find_program(char ret[static PATH_MAX], struct sandbox_error *e);
