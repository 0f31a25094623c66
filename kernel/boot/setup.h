// SPDX-License-Identifier: Apache-2.0
/*
 * The surroundings of the kernel process, made in this order by setup_world():
 *
 *   it starts as the first process of new user, PID, mount, IPC, UTS, network and cgroup
 * namespaces; a tmpfs becomes its root, with only what it needs bound into it, read-only where it
 * can be: /image     the image, as a whole or in parts     /host/N   folders that the user mounts
 *     /store     where unnamed content files are made
 *     /shadow    a small tmpfs: the loader stub, and the tasks' host root
 *     /proc      of its own PID namespace
 *   the rest of the host's tree is detached: there is no path to it any more.
 *
 * setup_drop_privileges() comes last, when the tasks' init runs.
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
};

int setup_world(const struct spec *spec, struct world *ret, struct setup_error *e);
int setup_drop_privileges(struct setup_error *e);
