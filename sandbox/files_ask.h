// SPDX-License-Identifier: Apache-2.0
/*
 * Works with the files of a running sandbox of the caller's: a connection to its kernel, over which
 * one question after another is asked (lib/base/files.h says which there are).
 *
 * For a loop that must not wait: files_connect(), then files_send(), and once the socket is
 * readable files_receive(), and so on. For who may wait: files_ask() instead of the latter two.
 */
#pragma once

#include "sandbox/error.h"
#include "sandbox/files_reader.h"

struct files_connection {
    int socket; /* non-blocking; -1: closed. To be watched for POLLIN while is_waiting */
    bool is_waiting;
    struct files_question asked; /* last */
    char *memory; /* memory_size bytes that go out with WRITE and come in with READ: what is in them
                     may change at any time while somebody else has them */
    size_t memory_size;
    int memory_fd; /* of the same, for sendfile(2) and the like */
    struct files_packet *packet;
};

#define FILES_DISCONNECTED ((struct files_connection){.socket = -1, .memory_fd = -1})

/*
 * To the running sandbox of that name; memory_size: how many bytes of files can pass at a time, in
 * the limits of lib/base/files.h. Waits for nobody. 0, to be ended with files_disconnect(); or
 * negative errno with the sentence: -ENOENT, -ECONNREFUSED: there is none.
 */
int files_connect(const char *name, size_t memory_size, struct files_connection *ret,
                  struct sandbox_error *e);
/* Likewise over a socket that is connected already, and is taken over. 0 or negative errno. */
int files_begin(int socket, size_t memory_size, struct files_connection *ret);
void files_disconnect(struct files_connection *c);

struct files_call {
    struct files_question question; /* but for the sizes of the texts */
    const char *user;               /* NULL as "" */
    const char *path;
    const char *more;
    size_t more_size; /* of more, which may hold NULs */
};

/* Whether its texts are no longer than questions have them. */
bool files_call_fits(const struct files_call *call);

/* Nothing else is under way. 0; -ENAMETOOLONG, -EINVAL: it can't be asked; or what send(2) says. */
int files_send(struct files_connection *c, const struct files_call *call);

struct files_result {
    int error;                    /* positive errno: what was asked failed */
    int64_t value;                /* in the question's bounds */
    struct files_records records; /* borrowed until the next files_receive() */
};

/*
 * The answer to what was sent. 0; -EAGAIN: it is not there yet; -ECONNRESET: it ended; -EPROTO: it
 * is none. After these but -EAGAIN the connection is of no use.
 */
int files_receive(struct files_connection *c, struct files_result *ret);

/* Both, and waits at most limit_ms (-1: no limit) in between: -ETIMEDOUT. */
int files_ask(struct files_connection *c, const struct files_call *call, int limit_ms,
              struct files_result *ret);
