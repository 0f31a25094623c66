// SPDX-License-Identifier: Apache-2.0
/*
 * What there is on the host to be reached, made by whoever starts the probes and told to them in
 * variables of the environment that begin with GLOVEBOX_PROBE_. Each probe that needs a thing is
 * skipped when it was not told of it.
 *
 *   FOLDER    a directory that everybody may write to, with
 *               secret   a file with the token, readable for everybody
 *               victim   a file that everybody may write to
 *               doomed   likewise
 *               program  a script that everybody may execute
 *               socket   a Unix socket that listens
 *   HASH      of the token, as token_hash() makes it: what was read can be recognised without
 *             being known beforehand
 *   PID       a process that holds the secret open, has FOLDER as its working directory, the token
 * in its environment, and the name NAME ABSTRACT  the abstract Unix socket that listens, without
 * its leading NUL TCP, TCP6, UDP  ports on 127.0.0.1 and ::1 SHM       key of a System V shared
 * memory segment that holds the token HOSTNAME  hash of the host's name, unless the sandbox has the
 * same one IMAGE     "host", or "directory" when the sandbox has a root file system of its own
 *   PROGRAM   path of this very program on the host
 */
#pragma once

#include "probes/probe.h"
#include "probes/token.h"

/* The value of GLOVEBOX_PROBE_NAME; skips the probe when there is none. */
const char *canary_fact(const char *name);
long canary_number(const char *name);

/* FOLDER/NAME, in a buffer of its own that lives until the end. */
const char *canary_path(const char *name);

/* The token is somewhere in these bytes. */
bool canary_is_in(const char *data, size_t size);

/* It is an escape when the token can be read there. The descriptor is left open. */
void canary_check_descriptor(int fd, const char *what);
void canary_check_path(const char *path);
void canary_check_at(int directory, const char *path, int flags, const char *what);
