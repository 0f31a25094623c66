// SPDX-License-Identifier: Apache-2.0
/*
 * What glovebox-server and its launcher (glovebox serve) say to each other, over a socket of type
 * SOCK_SEQPACKET: one packet below per message, with its data behind it. The server parses what
 * strangers send and can start nothing; so the launcher holds it for a stranger's: a packet that is
 * not as said here ends it, and nothing that it can ask goes beyond what the launcher was started
 * with.
 *
 *   LOG kind         launcher, before KEY and at any time later: with a descriptor, to which
 *                    requests are logged from now on
 *   TLS pem, key     launcher, likewise: what new connections of clients are encrypted with; a
 *                    NUL stands between the two
 *   KEY id, text     launcher, first: the API key that is to be valid, or nothing: the server
 *                    makes one when it has none. id: how many servers there were before
 *   READY text       server: takes requests; the key that it has just made, or nothing
 *
 *   FAILED text      server: it ends, and why: a sentence
 *
 *   CREATE id, spec  server: start a sandbox, as the records say
 *   CREATED id       launcher: it runs; or error, and a sentence
 *   POLICY id, spec  server: another policy for a sandbox that has one; of the records name
 *                    and policy, in this order
 *   POLICY_SET id    launcher: it is in force; or error, and a sentence
 *   OPEN id, kind,   server: a connection to a sandbox's keeper, or what that has left; text is
 *        name        its name
 *   OPENED id        launcher: with the descriptor; or error. ENOENT: there is no such sandbox
 *   USAGE id, name   server: what a sandbox uses
 *   USED id, usage   launcher: struct launch_usage; or error
 *
 *   DELIVER id, text server: one message to one URL; text is an order of lib/base/courier.h
 *   DELIVERED id     launcher: text is the answer's status, in decimal; or error, and a sentence
 *
 * Answers come in any order. No more than LAUNCH_OUTSTANDING_MAX questions are without one. Names
 * are of the form that the server makes: an "i" and 20 of [a-z0-9]; the launcher knows no others,
 * so sandboxes that were started otherwise are out of the server's reach. The end of the channel is
 * the end of the server, not of the sandboxes.
 *
 * The specification is a sequence of KEY=VALUE records, each ended by a NUL:
 *
 *   name=...            required
 *   lifetime_ms=N       required; until it is ended by its keeper, whoever lives
 *   template=...        what image it is made of
 *   policy=JSON         its egress policy: lib/policy; without one there is no network
 *   memory_mb=N         less than the launcher was started with; likewise:
 *   cpus_thousandths=N
 *
 * Descriptors that glovebox-server is started with (all others closed):
 *   3  the channel
 *   4  the state folder
 *   5, 6, ...  listening sockets, as many as its first argument says
 */
#pragma once

#include "lib/base/base.h"

#define LAUNCH_CHANNEL_FD    3
#define LAUNCH_STATE_FD      4
#define LAUNCH_LISTENER_FD   5
#define LAUNCH_LISTENERS_MAX 3

#define LAUNCH_VERSION         1
#define LAUNCH_DATA_MAX        131072
#define LAUNCH_OUTSTANDING_MAX 256
#define LAUNCH_NAME_SIZE       21

enum launch_type {
    /* launcher -> server */
    LAUNCH_KEY = 1,
    LAUNCH_LOG,
    LAUNCH_TLS,
    LAUNCH_CREATED,
    LAUNCH_OPENED,
    LAUNCH_USED,
    LAUNCH_POLICY_SET,
    LAUNCH_DELIVERED,
    /* server -> launcher */
    LAUNCH_READY,
    LAUNCH_FAILED,
    LAUNCH_CREATE,
    LAUNCH_OPEN,
    LAUNCH_USAGE,
    LAUNCH_POLICY,
    LAUNCH_DELIVER,
};

/* What OPEN asks for. */
enum launch_kind {
    LAUNCH_EXECS = 1, /* sandbox/exec_messages.h */
    LAUNCH_FILES,     /* lib/base/files.h */
    LAUNCH_PORTS,     /* sandbox/port_messages.h */
    LAUNCH_KEPT,      /* no connection: what is kept of its output (sandbox/ended.h) behind its end,
                         as a file to be read from the start */
};

/* What LOG asks for. */
enum launch_log_kind {
    LAUNCH_JSON = 1,
    LAUNCH_TEXT,
};

struct launch_packet {
    uint32_t version, type;
    uint64_t id;
    int32_t error; /* positive errno, or 0 */
    uint32_t kind;
    uint32_t data_size, unused;
};

struct launch_message {
    struct launch_packet packet;
    char data[LAUNCH_DATA_MAX];
};

/* disk_bytes that a sandbox's kernel did not say. */
#define LAUNCH_NOT_KNOWN UINT64_MAX

/* A sandbox at this moment. */
struct launch_usage {
    uint64_t memory_bytes, memory_limit_bytes;
    uint64_t memory_cache_bytes; /* of memory_bytes: files' */
    uint64_t disk_bytes, disk_limit_bytes;
    int64_t cpu_ns; /* of all its processes, since its start; -1: its kernel did not say */
    uint64_t cpu_thousandths;
};

/* Whether so many bytes are a message of this version. */
static inline bool launch_is_valid(const struct launch_message *m, size_t size)
{
    return size >= sizeof(m->packet) && m->packet.version == LAUNCH_VERSION &&
           m->packet.data_size <= LAUNCH_DATA_MAX &&
           m->packet.data_size == size - sizeof(m->packet);
}

static inline bool launch_is_name(const char *text, size_t size)
{
    if (size != LAUNCH_NAME_SIZE || text[0] != 'i')
        return false;
    for (size_t i = 1; i < size; i++)
        if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= '0' && text[i] <= '9'))
            return false;
    return true;
}
