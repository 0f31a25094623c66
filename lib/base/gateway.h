// SPDX-License-Identifier: Apache-2.0
/*
 * What a sandbox's kernel and its gateway say to each other, over a socket of type SOCK_SEQPACKET:
 * one packet below per message, with its data behind it. Both ends hold the other for a stranger's:
 * a packet of another size, version or type is the end of the channel.
 *
 *   RESOLVE id, protocol, query     kernel: a name that is not the sandbox's own, or what is no
 *                                   query; over TCP the answer may be longer
 *   ANSWER id, answer               gateway: always one
 *
 *   AGENT id, connection, message   kernel: what a program says to the agent of SSH (lib/ssh),
 *                                   without its size; the answer is an ANSWER
 *   AGENT_END connection            kernel: that program has closed its connection
 *
 *   CONNECT id, protocol,           kernel: a program wants to
 *           address, port, who
 *   CONNECTED id, error             gateway: it may not, or could not; or, error 0, a connected
 *                                   socket comes with it, which is flow `id`; of UDP with idle_s
 *   ACCEPTED id                     gateway, instead: one end of a pair of Unix stream sockets
 *                                   comes with it, the gateway is between flow `id` and its peer
 *   CLOSE id, error                 kernel: gives up the flow, or its wish for one. ECONNRESET: it
 *                                   is to be cut off. Of UDP with struct gateway_counts
 *
 *   NETWORK has_v6                  gateway: whether IPv6 leads anywhere. The first that the kernel
 *                                   reads, and again whenever that, or the policy, has changed:
 *                                   what was denied may be asked anew
 *
 * Of a flow that is open:
 *
 *   RESET id                        gateway: was cut off, or its peer did
 *
 * Of one that was ACCEPTED:
 *
 *   STOP id                         gateway: has seen enough. The kernel writes nothing more into
 *                                   the pair, shuts its side of it down, and waits for
 *   DIRECT id                       gateway: the connected TCP socket comes with it. What is still
 *                                   in the pair comes before what is read from that
 *   FINISH id                       gateway: the peer has said its last, what is in the pair is
 *                                   all. Where a pair ends without this, the gateway has ended
 *
 * The gateway keeps a duplicate of each socket. The kernel chooses the ids, which rise. No more
 * than GATEWAY_OUTSTANDING_MAX of its requests are without an answer. The channel's end cuts every
 * flow, on both sides.
 *
 * Descriptors that glovebox-gateway is started with (all others closed):
 *   3  the channel; first it sends READY, once nothing more can fail, with the certificate (DER) of
 *      the authority that the sandbox is to trust; id is the hash of its subject (openssl x509
 *      -subject_hash)
 *   4  the policy, to read once: lib/policy
 *   5  the decision log, for writing; may be closed
 *   6  the secrets' values, to read once; may be closed
 *   7  the socket on which a new policy may come; may be closed
 * Standard error takes lines for the person who started the sandbox.
 */
#pragma once

#include "lib/base/base.h"

#include <netinet/in.h>

#define GATEWAY_KERNEL_FD  8 /* the kernel's end in the kernel process */
#define GATEWAY_CHANNEL_FD 3
#define GATEWAY_POLICY_FD  4
#define GATEWAY_LOG_FD     5
#define GATEWAY_SECRETS_FD 6
#define GATEWAY_CONTROL_FD 7

#define GATEWAY_VERSION         4
#define GATEWAY_OUTSTANDING_MAX 128
#define GATEWAY_DATA_MAX        4096 /* bytes of a query, an answer, a certificate */
#define GATEWAY_QUERY_MAX       512  /* of DNS (RFC 1035, 4.2.1) */
#define GATEWAY_FLOWS_MAX       12288
#define GATEWAY_PROGRAM_MAX     16   /* TASK_COMM_LEN */
#define GATEWAY_AGENTS_MAX      16   /* connections to the agent of SSH, at once */
#define GATEWAY_AGENT_MAX       4092 /* bytes of a message to it, or of its answer */

/* Where programs have it: in SSH_AUTH_SOCK. */
#define GATEWAY_AGENT_FOLDER "/run/glovebox"
#define GATEWAY_AGENT_PATH   GATEWAY_AGENT_FOLDER "/ssh-agent"

enum gateway_type {
    /* kernel -> gateway */
    GATEWAY_RESOLVE = 1,
    GATEWAY_CONNECT,
    GATEWAY_CLOSE,
    /* gateway -> kernel; READY to the starter */
    GATEWAY_ANSWER,
    GATEWAY_CONNECTED,
    GATEWAY_READY,
    GATEWAY_ACCEPTED,
    GATEWAY_STOP,
    GATEWAY_DIRECT,
    GATEWAY_FINISH,
    GATEWAY_RESET,
    GATEWAY_NETWORK,
    /* kernel -> gateway */
    GATEWAY_AGENT,
    GATEWAY_AGENT_END,
};

struct gateway_packet {
    uint32_t version, type;
    uint64_t id;
    int32_t error; /* positive errno, or 0 */
    uint16_t port; /* host order */
    uint16_t data_size;
    uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP */
    uint8_t has_v6;
    uint8_t unused[2];
    struct in6_addr address;           /* IPv4: a mapped one */
    int32_t pid;                       /* in the sandbox */
    char program[GATEWAY_PROGRAM_MAX]; /* a guest's bytes, not NUL-terminated when it is full */
    uint32_t idle_s;     /* after so long without a datagram the kernel is to close it */
    uint32_t connection; /* of AGENT and AGENT_END: a number that the kernel chooses, not 0 */
};

/* CLOSE of UDP: bytes of datagrams, as the kernel has counted. */
struct gateway_counts {
    uint64_t tx, rx;
};

struct gateway_message {
    struct gateway_packet packet;
    uint8_t data[GATEWAY_DATA_MAX];
};

/* Whether so many bytes can be a message of this version. */
static inline bool gateway_is_valid(const struct gateway_message *m, size_t size)
{
    return size >= sizeof(m->packet) && m->packet.version == GATEWAY_VERSION &&
           m->packet.data_size <= GATEWAY_DATA_MAX &&
           m->packet.data_size == size - sizeof(m->packet);
}
