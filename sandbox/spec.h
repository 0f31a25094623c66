// SPDX-License-Identifier: Apache-2.0
/*
 * What a sandbox is to be: filled in by the CLI (later by the server), checked here, and written as
 * the records that lib/base/control.h describes. The setters check what can be known on this side
 * of the boundary; what depends on the image (is there such a user, such a directory) the kernel
 * finds out.
 *
 * On failure a setter leaves the specification as it was and error->text says "REASON; NEXT STEP".
 */
#pragma once

#include "lib/base/buf.h"
#include "sandbox/error.h"
#include "sandbox/limit_table.h"
#include "sandbox/port_forward.h"
#include "sandbox/strv.h"
#include "sandbox/trust.h"

#define SANDBOX_MOUNTS_MAX         128   /* host folders and tmpfs together */
#define SANDBOX_WORDS_MAX          60000 /* arguments and variables */
#define SANDBOX_NAME_MAX_BYTES     63
#define SANDBOX_HOSTNAME_MAX_BYTES 64
#define SANDBOX_PATH_MAX_BYTES     4095

struct sandbox_mount {
    char *guest;    /* absolute, no "." or "..", no doubled slashes */
    char *host;     /* absolute; NULL: a tmpfs */
    bool read_only; /* of a host folder */
    uint64_t bytes; /* of a tmpfs; 0: only the sandbox's own limit */
};

struct sandbox_secrets;

struct sandbox_spec {
    char *image; /* absolute directory; NULL: the host's own programs */
    char *workdir, *user, *hostname, *name;
    char *store; /* host directory in which the sandbox gets a folder for contents of files */
    struct strv args, env;
    struct strv labels; /* label.h */
    struct sandbox_mount *mounts;
    size_t mount_count;
    struct sandbox_limits limits;
    uint32_t allow_missing;    /* controls that the host need not have: sandbox/jail.h */
    bool speculation_barriers; /* the host's mitigations, at their price */
    bool tty;
    unsigned rows, columns;
    bool trace;
    char *policy;                    /* the egress policy, a document; NULL: there is no network */
    struct sandbox_secrets *secrets; /* of the policy, loaded: secrets.h; NULL: none */
    struct strv exempt;           /* networks that the operator exempts from the policy's floor */
    char *egress_log;             /* file to append the gateway's decisions to, or NULL */
    char policy_words[96];        /* "deny by default, 3 rules" */
    char *known_hosts;            /* of a policy that has keys for SSH; NULL: it has none */
    bool installs_ca;             /* the policy lets its programs trust the gateway's authority */
    const struct sandbox_ca *ca;  /* the authority that they trust, borrowed, or NULL */
    struct port_forward *publish; /* ports of the machine that lead to programs' */
    size_t publish_count;
    bool publishes_openly; /* also where others than this machine can connect */
    bool waits;            /* there is no main program: args are empty, others come */
    bool null_input;       /* standard input is the sandbox's own /dev/null */
    bool forget;           /* nothing is kept of it behind its end */
    bool join_output; /* standard output and error are one stream, in the order of the writes */
};

/* All zero bytes are a valid empty specification. Secrets are wiped. */
void sandbox_spec_done(struct sandbox_spec *s);

/* "host" or a directory, made absolute. */
int sandbox_spec_set_image(struct sandbox_spec *s, const char *image, struct sandbox_error *e);
/* Absolute path in the sandbox. */
int sandbox_spec_set_workdir(struct sandbox_spec *s, const char *path, struct sandbox_error *e);
/* NAME|UID, with an optional :GROUP or :GID. */
int sandbox_spec_set_user(struct sandbox_spec *s, const char *user, struct sandbox_error *e);
int sandbox_spec_set_hostname(struct sandbox_spec *s, const char *hostname,
                              struct sandbox_error *e);
int sandbox_spec_set_name(struct sandbox_spec *s, const char *name, struct sandbox_error *e);

/* host: a file or directory, relative to the working directory or absolute, that exists. */
int sandbox_spec_add_mount(struct sandbox_spec *s, const char *host, const char *guest,
                           bool read_only, struct sandbox_error *e);
int sandbox_spec_add_tmpfs(struct sandbox_spec *s, const char *path, uint64_t bytes,
                           struct sandbox_error *e);

/* f->guest_port of the sandbox is to be had at f->port. */
int sandbox_spec_add_publish(struct sandbox_spec *s, const struct port_forward *f,
                             struct sandbox_error *e);

/* A policy document of size bytes, all of which the gateway can do: egress.h. */
int sandbox_spec_set_policy(struct sandbox_spec *s, const char *json, size_t size,
                            struct sandbox_error *e);

/*
 * Chooses a directory for content files when none is set: $TMPDIR, /var/tmp, /tmp, /dev/shm, the
 * first that can hold files without a name (O_TMPFILE).
 */
int sandbox_spec_choose_store(struct sandbox_spec *s, struct sandbox_error *e);

/* Appends the records to b (BUF_INIT(CONTROL_SPEC_MAX_BYTES)); controls: what holds the limits. */
int sandbox_spec_write(const struct sandbox_spec *s, const struct sandbox_controls *controls,
                       struct buf *b, struct sandbox_error *e);
