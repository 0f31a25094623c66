// SPDX-License-Identifier: Apache-2.0
/*
 * Starting, watching and ending programs in a running sandbox, for whoever asks: glovebox exec and
 * its kin, the server. What is said is sandbox/exec_messages.h.
 *
 * The descriptors are of sockets, blocking unless made otherwise; a caller with a loop of its own
 * sets O_NONBLOCK, polls, and takes each message with exec_receive(). Errors: negative errno, and
 * the whole sentence in e where there is one.
 */
#pragma once

#include "sandbox/error.h"
#include "sandbox/exec_messages.h"
#include "sandbox/strv.h"

/* A connection to the sandbox of that name. A descriptor or negative errno: -ENOENT: there is none.
 */
int exec_connect(const char *name, struct sandbox_error *e);

struct exec_command {
    struct strv args, env;            /* env: beside the sandbox's own */
    const char *user, *workdir, *tag; /* NULL: the sandbox's; none */
    unsigned rows, columns;           /* with EXEC_TTY */
    uint32_t flags;                   /* EXEC_TTY, EXEC_NULL_INPUT */
    int64_t timeout_ns, grace_ns;     /* 0: none */
};

/* Asks for a program. What follows is EXEC_STARTED or EXEC_FAILED, its output and its end. */
int exec_ask_start(int socket, const struct exec_command *c, struct sandbox_error *e);

/* Asks to follow one, whose process id or tag it is, from a byte of its output on. */
int exec_ask_attach(int socket, int64_t pid, const char *tag, uint64_t offset);

/* One question of another kind, p->text_size bytes of text with it. */
int exec_ask(int socket, const struct exec_packet *p, const char *text);

/*
 * The next message: its size in all (sizeof(m->packet) and more), 0 at the end of the connection;
 * -EAGAIN; -EPROTO: it is none.
 */
ssize_t exec_receive(int socket, struct exec_message *m);

/* Asks and waits for the EXEC_ANSWER, on a connection without a program: 0 or negative errno. */
int exec_ask_wait(int socket, const struct exec_packet *p, const char *text,
                  struct sandbox_error *e);
