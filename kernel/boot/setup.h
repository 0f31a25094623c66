// SPDX-License-Identifier: Apache-2.0
/*
 * The surroundings of the kernel process: the second step of its jail (boot/jail.h). A tmpfs
 * becomes its root, with only what it needs bound into it, read-only where it can be, and each
 * thing is allowed in the jail as far as it is needed:
 *
 *     /image     the image, as a whole or in parts; of the host's /etc only names that it shows
 *     /host/N    folders and files that the user mounts
 *     /store     the sandbox's own folder, for contents of files
 *     /shadow    a small tmpfs: the loader stub, and the tasks' host root
 *     /proc      of its own PID namespace: processes, and nothing else
 *
 * The rest of the host's tree is detached: there is no path to it any more.
 */
#pragma once

#include "kernel/boot/spec.h"
#include "kernel/host/hostfd.h"

/* What went wrong, for a person: "what: why". */
struct setup_error {
    char text[512];
};
int setup_fail(struct setup_error *e, int error, const char *format, ...) _printf_(3, 4);

/* Opened by setup_world() for what the spec names; O_PATH. */
struct world {
    struct hostfd image;   /* the directory of image=/dir; for the host image one with its parts */
    struct hostfd *mounts; /* one for each mount of the spec */
    struct hostfd oom_score; /* /proc/self/oom_score_adj, to write to; for init_begin() */
};

int setup_world(const struct spec *spec, struct world *ret, struct setup_error *e);
