// SPDX-License-Identifier: Apache-2.0
/* What the files of envd_files*.c share. */
#pragma once

#include "server/envd.h"
#include "server/files_link.h"

/*
 * As envd itself does it, work is done as root of the sandbox, and what is made belongs to the user
 * who is named: programs that were written against it count on being able to write anywhere.
 */
#define ENVD_FILES_FLAGS (FILES_AS_ROOT | FILES_PARENTS)

/* Answers a call of the filesystem service that came to that errno (positive). */
void envd_files_fail_call(struct request *r, int error, const char *user, const char *path);

/* The end of a stream, likewise. */
void envd_files_fail_stream(struct request *r, int error, const char *user, const char *path);

/* Answers a request to /files, likewise. */
void envd_files_fail_plain(struct request *r, int error, const char *user, const char *path);

/* ---- POST /files: envd_files_upload.c ---- */

extern const struct handler envd_upload;

/* ---- watches: envd_files_watch.c ---- */

extern const struct handler envd_watch_dir, envd_create_watcher, envd_get_watcher_events,
    envd_remove_watcher;
