// SPDX-License-Identifier: Apache-2.0
/*
 * A file in memory, to hand bytes to a process of ours, sealed: memfd_create(2), F_ADD_SEALS of
 * fcntl(2).
 */
#pragma once

#include "lib/base/base.h"

/* Its descriptor, close-on-exec, to be read from the start; or -1 and errno. name: for people. */
int memory_file_new(const char *name, const void *data, size_t size);

/* Likewise one of so many zeros, to be written by both; its size stays, and its pages are there. */
int memory_file_new_shared(const char *name, size_t size);
