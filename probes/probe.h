// SPDX-License-Identifier: Apache-2.0
/*
 * Probes: small attacks that run inside a sandbox and say what came of them, so that each control
 * proves itself on the very machine and with the very options that somebody relies on.
 *
 * `glovebox doctor --inside` starts the program that is made of them, glovebox-probes, and so do
 * tests/security. A probe is one function that registers itself:
 *
 *   PROBE(read_by_its_path, HOST_FILES, .expected = "no such file", .outside = OUTSIDE_ESCAPES)
 *   {
 *       canary_check_path(canary_path("secret"));
 *   }
 *
 * It runs in a process of its own, in an empty working directory, within a time limit; what it
 * leaves behind is ended. It ends with one of the verdicts below; one that returns is contained.
 * One that crashes, hangs, or gets another answer than the one that must follow is unproved, which
 * counts as a failure: nobody knows what it means.
 *
 * What is needed of the host (a file, a process, sockets) is made by whoever starts the program,
 * see canary.h.
 */
#pragma once

#include "lib/base/base.h"

#include <fcntl.h>
#include <stdio.h>

enum probe_result {
    PROBE_CONTAINED,
    PROBE_ESCAPED,
    PROBE_SKIPPED,
    PROBE_UNPROVED,
    PROBE_RESULT_COUNT,
};

/*
 * Whether a probe may run where no sandbox is, to show that it can fail at all. Most may not: they
 * would do there what they attempt.
 */
enum probe_outside {
    OUTSIDE_NEVER,
    OUTSIDE_MAYBE,   /* harmless; some machines or users are refused without a sandbox too */
    OUTSIDE_ESCAPES, /* harmless, and must say ESCAPED */
};

/* What is to be proved. The words are what people see; docs/threat-model.md says what they promise.
 */
#define HOST_FILES  "host-files"
#define HOST_WRITES "host-writes"
#define DESCRIPTORS "descriptors"
#define EXEC        "exec"
#define MEMORY      "memory"
#define FILTER      "syscall-filter"
#define NAMESPACES  "namespaces"
#define MOUNTS      "mounts"
#define INTERFACES  "kernel-interfaces"
#define PROCESSES   "processes"
#define PRIVILEGES  "privileges"
#define IPC         "ipc"
#define SOCKETS     "sockets"
#define NETWORK     "network"
#define DEVICES     "devices"
#define LIMITS      "limits"
#define SECRETS     "secrets"

struct probe {
    const char *name; /* what it attempts */
    const char *control;
    const char *expected; /* what must follow, in words */
    const char *after;    /* the hole or the technique that it repeats; NULL */
    enum probe_outside outside;
    unsigned seconds; /* 0: PROBE_SECONDS */
    void (*run)(void);
    struct probe *next;
};

/* Of one that hangs; none takes as long, also where the machine is busy. */
#define PROBE_SECONDS 120

void probe_register(struct probe *p);

#define PROBE(name_, control_, ...)                                            \
    static void run_##name_(void);                                             \
    static struct probe probe_##name_ = {                                      \
        .name = #name_, .control = control_, .run = run_##name_, __VA_ARGS__}; \
    __attribute__((constructor)) static void register_##name_(void)            \
    {                                                                          \
        probe_register(&probe_##name_);                                        \
    }                                                                          \
    static void run_##name_(void)

/*
 * The verdicts end the process. Children of a probe may give them too: what escaped anywhere has
 * escaped.
 */
_noreturn_ void probe_contained(const char *format, ...) _printf_(1, 2);
_noreturn_ void probe_escaped(const char *format, ...) _printf_(1, 2);
_noreturn_ void probe_skip(const char *format, ...) _printf_(1, 2);
_noreturn_ void probe_unproved(const char *format, ...) _printf_(1, 2);

/*
 * The call fails with one of these errnos: it is an escape when it doesn't fail, and unproved when
 * it fails otherwise. Returns when all is well.
 */
#define REFUSED(call, ...)                                                          \
    ({                                                                              \
        errno = 0;                                                                  \
        long refused_ = (long)(call);                                               \
        probe_check_refused(#call, refused_, errno, (const int[]){__VA_ARGS__, 0}); \
    })

/* The call fails, with whatever. */
#define FAILS(call)     REFUSED(call, PROBE_ANY_ERROR)
#define PROBE_ANY_ERROR (-1)

void probe_check_refused(const char *call, long result, int error, const int *expected);

/* What the probe needs before it can begin; it is unproved without. */
#define NEED(condition)                                                             \
    do {                                                                            \
        if (!(condition))                                                           \
            probe_unproved("could not begin: %s: %s", #condition, strerror(errno)); \
    } while (0)
