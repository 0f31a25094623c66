// SPDX-License-Identifier: Apache-2.0
/*
 * The keys of servers that a policy pins, where clients of SSH look for them by themselves, so that
 * nobody is asked whether a key is the right one.
 */
#pragma once

#include "kernel/fs/filesystems.h"

/*
 * Makes /etc/ssh/ssh_known_hosts of text, or ssh_known_hosts2 where the image has such a file
 * (ssh_config(5), GlobalKnownHostsFile). s: the layer, which is the root already. 0, or -ENOMEM;
 * what else stands in the way is a line in the log.
 */
int image_known_hosts_add(const char *text, struct super *s);
