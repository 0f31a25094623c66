// SPDX-License-Identifier: Apache-2.0
/*
 * The image is a directory with the root of some system: what a sandbox needs of it that it can't
 * have. As container engines do, and with the same names:
 *
 *   proc sys dev        empty where they are missing, or are no directories; tmp too
 *   etc/hostname hosts  the sandbox's instead of the image's: its own name is known
 *   etc/resolv.conf     the sandbox's: the kernel answers, or the gateway through it
 *   etc/passwd group    one line more where the image has neither the name "user" nor the number
 *   home/user           where it is missing, and the image has no such user of its own
 *   etc/sudoers.d       one file more, where there is such a folder: sudo asks for no password
 */
#pragma once

#include "kernel/fs/image/host.h"

/*
 * s: the layer over the image, which is the root already; root of the options is not used. Places
 * in which nothing can be made are left out, with a line in the log. 0; -EINVAL for bad options,
 * -ENOMEM, or what making a mount point met.
 */
int image_directory_complete(const struct image_options *options, struct super *s);
