// SPDX-License-Identifier: Apache-2.0
/*
 * What the probes try to reach, see probes/canary.h: made on the host before a sandbox starts, and
 * looked at from outside when it has ended. A probe may be mistaken; what lies here tells of
 * itself.
 */
#pragma once

#include "sandbox/spec.h"

#include <limits.h>
#include <sys/stat.h>

enum { CANARY_TCP, CANARY_TCP6, CANARY_UDP, CANARY_PATH_SOCKET, CANARY_ABSTRACT, CANARY_SOCKETS };

#define CANARY_FILES 4
extern const char *const canary_file_names[CANARY_FILES];

/* What there is without us. */
struct canary_host {
    char core_pattern[256], module_loader[256], hostname[65];
    struct stat program, image_file;
    char *modules; /* /proc/modules; NULL */
};

struct canary {
    char folder[PATH_MAX];
    char token[64], name[32]; /* the secret, and the word in the names of things */
    const char *program;      /* glovebox-probes, borrowed */
    int sockets[CANARY_SOCKETS];
    unsigned ports[CANARY_SOCKETS]; /* 0: it could not be made */
    int watch;                      /* inotify of the folder */
    int leaked[2];                  /* left open without close-on-exec */
    pid_t process;
    int process_signals; /* a byte for each signal that the process got */
    int shm;             /* identifier, or -1 */
    key_t shm_key;
    struct stat files[CANARY_FILES];
    struct canary_host host; /* before */
    bool has_host_image;
};

/* Nothing was made yet: canary_done() does nothing. */
#define CANARY_NONE                                                                              \
    {                                                                                            \
        .sockets = {-1, -1, -1, -1, -1}, .watch = -1, .leaked = {-1, -1}, .process_signals = -1, \
        .shm = -1                                                                                \
    }

/* What was found: reason is NULL when all is as it must be. */
typedef void (*canary_found_fn)(void *userdata, const char *control, const char *name,
                                const char *expected, const char *reason);

/*
 * Makes everything, in a directory that no mount of spec shows (spec NULL: for no sandbox). 0, or
 * negative errno with the sentence in e; canary_done() in either case.
 */
int canary_make(struct canary *c, const struct sandbox_spec *spec, const char *program,
                struct sandbox_error *e);

/* Notes the state of the host; modules are to be freed. */
void canary_look_at_host(const struct canary *c, struct canary_host *ret);

/* FOLDER/NAME; name is one of ours, or of the folder's entries. */
void canary_make_path(const struct canary *c, const char *name, char ret[static PATH_MAX]);

/*
 * Adds the variables that tell the probes. hostname: the name of the machine that they run on, NULL
 * for the host itself. 0 or -ENOMEM.
 */
int canary_tell(const struct canary *c, const char *hostname, struct strv *env);

/* The sandbox has ended: says of each thing whether it is unharmed. */
void canary_check(struct canary *c, canary_found_fn found, void *userdata);

void canary_done(struct canary *c);
