// SPDX-License-Identifier: Apache-2.0
/*
 * What an agent of SSH is asked (draft-ietf-sshm-ssh-agent; OpenSSH's PROTOCOL.agent for
 * session-bind@openssh.com), and what it is to sign when somebody logs in (RFC 4252, 7; OpenSSH's
 * PROTOCOL, 3.1, for publickey-hostbound-v00@openssh.com). Parsers that keep nothing: what they
 * find is borrowed from what they were given.
 */
#pragma once

#include "lib/ssh/wire.h"

/* Of a message without its size, in both directions. A bind by a key of RSA of 8192 bits fits. */
#define SSH_AGENT_MESSAGE_MAX 4092

enum ssh_agent_reply {
    SSH_AGENT_FAILURE = 5,
    SSH_AGENT_SUCCESS = 6,
    SSH_AGENT_IDENTITIES_ANSWER = 12,
    SSH_AGENT_SIGN_RESPONSE = 14,
    SSH_AGENT_EXTENSION_FAILURE = 28,
    SSH_AGENT_EXTENSION_RESPONSE = 29,
};

#define SSH_AGENT_BIND  "session-bind@openssh.com"
#define SSH_AGENT_QUERY "query"

#define SSH_AGENT_RSA_SHA2_256 2u
#define SSH_AGENT_RSA_SHA2_512 4u

enum ssh_agent_request {
    SSH_ASK_OTHER, /* of a type, or an extension, that is not known here */
    SSH_ASK_IDENTITIES,
    SSH_ASK_SIGN,
    SSH_ASK_BIND,
    SSH_ASK_QUERY,
};

struct ssh_agent_message {
    enum ssh_agent_request request;
    struct ssh_bytes key, data; /* SIGN */
    uint32_t flags;
    struct ssh_bytes host_key, session, signature; /* BIND */
    bool is_forwarding;
};

/* False: it is malformed, or has something behind its end. */
bool ssh_agent_parse(const void *message, size_t size, struct ssh_agent_message *ret);

/* A request for authentication by a key, as it is signed. */
struct ssh_login {
    struct ssh_bytes session, user, algorithm, key;
    bool is_host_bound;
    struct ssh_bytes host_key; /* when it is */
};

/* False: the data is something else, also a request for another service or by another method. */
bool ssh_login_parse(struct ssh_bytes data, struct ssh_login *ret);
