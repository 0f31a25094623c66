// SPDX-License-Identifier: Apache-2.0
/*
 * Extended attributes kept in memory, for file systems whose inodes live there. Permission and name
 * spaces are the caller's (sys/attr.c).
 */
#pragma once

#include "lib/base/base.h"

#define XATTR_NAME_BYTES  255   /* XATTR_NAME_MAX */
#define XATTR_VALUE_BYTES 65536 /* XATTR_SIZE_MAX */
#define XATTR_SET_BYTES   65536 /* names and values of one inode, as the list of Linux is limited */

struct xattr_set;

/* As the operations of struct inode_ops; *set NULL is an empty set, made and freed as needed. */
ssize_t xattr_get(const struct xattr_set *set, const char *name, void *value, size_t size);
int xattr_set(struct xattr_set **set, const char *name, const void *value, size_t size, int flags);
ssize_t xattr_list(const struct xattr_set *set, char *names, size_t size);
void xattr_free(struct xattr_set *set);
