// SPDX-License-Identifier: Apache-2.0
/*
 * Looking at an image, and putting files into its layer while the sandbox starts: at paths from the
 * sandbox's root, wherever the image's links lead them. Without permission checks.
 */
#pragma once

#include "kernel/fs/vfs.h"

/* What a file may have that is read whole. */
#define IMAGE_TEXT_MAX_BYTES (256u * 1024)

struct walk_base image_base(void);

/* Whether there is something of that name, be it a link that leads nowhere. */
bool image_has(const char *path);

/* Makes the directory with all above it, mode 0755, as far as they are missing. 0 or -errno. */
int image_make_directories(const char *path);

/*
 * A counted path to a directory of the layer s itself. -EXDEV: links lead to another file system;
 * or as walk_path().
 */
int image_open_directory(struct super *s, const char *path, struct path *ret);

/*
 * Make a file or link in that directory. What the image has of that name is hidden by it; -EEXIST:
 * the name was made in the layer already. Else as image_open_directory(), -ENOMEM, -ENOSPC.
 */
int image_add_text(struct super *s, const char *directory, const char *name, mode_t mode,
                   const char *text);
int image_add_link(struct super *s, const char *directory, const char *name, const char *target);

/*
 * A file as far as it is read (IMAGE_TEXT_MAX_BYTES - 1), NUL-terminated and the caller's to free;
 * or NULL. ret_size: its size without that NUL, may be NULL.
 */
char *image_read_text(const struct walk_base *base, const char *path, size_t *ret_size);
