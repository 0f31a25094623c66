// SPDX-License-Identifier: Apache-2.0
/*
 * Configuration files: lines KEY = VALUE, empty ones, and comments behind a # at the start of a
 * line; glovebox.conf(5). A key that isn't known, or is there twice, is an error: a limit that was
 * meant must not be missing for a typing mistake.
 */
#pragma once

#include "cli/limits.h"
#include "sandbox/strv.h"

#include <limits.h>

#define CONFIG_OPERATOR_FILE  "/etc/glovebox/config"
#define CONFIG_FILE_MAX_BYTES (64 * 1024)

struct config {
    struct limit_layer operator, most, user;
    struct strv
        exempt; /* networks of floor-except, which only the operator can set; the caller's */
    char user_file[PATH_MAX]; /* "" when there is no place for one */
};

/*
 * Reads the operator's file and the user's ($XDG_CONFIG_HOME/glovebox/config, or
 * ~/.config/glovebox/config), those that exist. 0, or negative errno and the sentence "FILE: line
 * N: ...".
 */
int config_load(struct config *c, struct sandbox_error *e);

/*
 * Reads one file. most: where the keys max-NAME go; NULL: they are not allowed. 0, also when there
 * is no such file; or negative errno and the sentence.
 */
int config_read(const char *path, struct limit_layer *l, struct limit_layer *most,
                struct sandbox_error *e);

/* The limits that are in force when the command line says `options`. As limit_resolve(). */
int config_resolve(const struct config *c, const struct limit_layer *options,
                   struct sandbox_limits *ret, struct sandbox_error *e);
