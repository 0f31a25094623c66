// SPDX-License-Identifier: Apache-2.0
/*
 * The sandbox's own tree: the image, what is mounted on it.
 */
#pragma once

#include "kernel/boot/setup.h"
#include "kernel/fs/vfs.h"

/*
 * The image, and the file systems of the kernel's own on it; the root mount is vfs_root_mount
 * afterwards. Takes the world's descriptors over, and so does tree_add_mounts(), for the rest.
 */
int tree_build(const struct spec *spec, struct world *world, struct setup_error *e);

/* Makes the image's programs trust the specification's authority, if it has one. */
int tree_add_authority(const struct spec *spec, struct setup_error *e);

/* Makes them know the SSH servers that the specification names, and gives them the agent for those.
 * When all is mounted. */
int tree_add_agent(const struct spec *spec, struct setup_error *e);

/* What the specification mounts, in its order. */
int tree_add_mounts(const struct spec *spec, struct world *world, struct setup_error *e);
