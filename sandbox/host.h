// SPDX-License-Identifier: Apache-2.0
/*
 * What the machine must offer, and how to say it when it doesn't.
 */
#pragma once

#include "sandbox/error.h"

/* Below OLDEST nothing works (no SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV); below FAST every call
 * costs ten times as much (no SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP). */
#define SANDBOX_LINUX_OLDEST_MAJOR 5
#define SANDBOX_LINUX_OLDEST_MINOR 19
#define SANDBOX_LINUX_FAST_MAJOR   6
#define SANDBOX_LINUX_FAST_MINOR   6

/* The first two numbers of a kernel release as uname(2) gives it ("6.18.44-amd64"). */
bool sandbox_parse_release(const char *release, unsigned *ret_major, unsigned *ret_minor);

/*
 * The verdict on a release: 0 and *ret_slow says whether it is one of the slow ones, or -ENOSYS
 * with the reason.
 */
int sandbox_check_release(const char *release, bool *ret_slow, struct sandbox_error *e);

/* Whether seccomp has what is needed, and is allowed here. 0, or negative errno with the reason. */
int sandbox_check_seccomp(struct sandbox_error *e);

/* A setting below /proc/sys that may stand in the way of namespaces. */
struct sandbox_host_setting {
    const char *path, *name;
    long bad, good;
    bool spares_root;
};
extern const struct sandbox_host_setting sandbox_host_settings[];
extern const size_t sandbox_host_setting_count;

/* Below it, a number of namespaces is not worth much. */
#define SANDBOX_NAMESPACES_FEW 64

/* The number in a file of /proc/sys or /sys, or -1 when there is no such setting. */
long sandbox_read_setting(const char *path);

/*
 * Looks at this machine: release, and whether seccomp has what is needed (a container may forbid
 * it). 0, or negative errno with the reason.
 */
int sandbox_check_host(bool *ret_slow, struct sandbox_error *e);

/*
 * Why the namespaces could not be made, when the host answered `error` (positive errno) to clone(2)
 * or to the user map: names the setting and what to do. Returns -error.
 */
int sandbox_explain_namespaces(int error, struct sandbox_error *e);
