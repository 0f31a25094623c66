// SPDX-License-Identifier: Apache-2.0
/*
 * Questions to the launcher (lib/base/launch.h), each with its answer later. The end of the channel
 * ends the process.
 */
#pragma once

#include "lib/base/launch.h"
#include "lib/base/list.h"

/* A question under way; zeroed before its first use. */
struct ask {
    struct list link;
    uint64_t id; /* 0: it is not under way */
    /*
     * The answer: error 0, or a positive errno and in data a sentence. data is NUL-terminated and
     * borrowed; fd (OPENED, else -1) is the callee's to close. It may free a.
     */
    void (*answered)(struct ask *a, int error, const char *data, size_t size, int fd);
};

/* Waits for KEY, and gives its text, to be freed, and how many servers there were before: before
 * the seal. 0 or negative errno. */
int launcher_start(char **ret_key, uint64_t *ret_starts);

/* Tells that requests are taken, and which key was made (or NULL). */
void launcher_ready(const char *key);

/* Tells why the server ends. False: it can't be told. */
bool launcher_failed(const char *why);

/*
 * Asks. -EAGAIN: too much is asked at once; -ENOBUFS. data_size is at most LAUNCH_DATA_MAX.
 */
int launcher_ask(struct ask *a, enum launch_type type, uint32_t kind, const void *data,
                 size_t data_size);

/* The answer, when it comes, is dropped (and what was made by CREATE stays). */
void launcher_forget(struct ask *a);
