// SPDX-License-Identifier: Apache-2.0
/*
 * Files of a stranger's as an archive (a sink of sandbox/copy_reader.h): ustar, with a pax header
 * where a name, target or size does not fit, which every tar reads. Sources: pax(1) of POSIX,
 * tar(5). All entries are owned by root, in names too: who unpacks decides whose they are. Holes
 * are zeros; a file that became shorter while it was read is filled up with them.
 */
#pragma once

#include "sandbox/copy_reader.h"

struct copy_tar;

extern const struct copy_sink copy_tar_sink;

/* fd: borrowed; may be a pipe, and is waited for. name: of the root. NULL: no memory. */
struct copy_tar *copy_tar_new(int fd, const char *name);

/* The end of the archive. 0, or negative errno with the sentence. */
int copy_tar_end(struct copy_tar *t, struct sandbox_error *e);

void copy_tar_free(struct copy_tar *t);
