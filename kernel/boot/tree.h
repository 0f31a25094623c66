// SPDX-License-Identifier: Apache-2.0
/*
 * The sandbox's own tree: the image, what is mounted on it.
 */
#pragma once

#include "kernel/boot/setup.h"
#include "kernel/fs/vfs.h"

/* Builds it; the root mount is vfs_root_mount afterwards. Takes the world's descriptors over. */
int tree_build(const struct spec *spec, struct world *world, struct setup_error *e);
