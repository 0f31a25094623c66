// SPDX-License-Identifier: Apache-2.0
#include "lib/ssh/agent.h"

#define REQUEST_IDENTITIES 11
#define SIGN_REQUEST       13
#define EXTENSION          27

#define USERAUTH_REQUEST 50 /* RFC 4250, 4.1.2 */

static void read_sign(struct ssh_reader *r, struct ssh_agent_message *ret)
{
    ret->request = SSH_ASK_SIGN;
    ret->key = ssh_read_string(r);
    ret->data = ssh_read_string(r);
    ret->flags = ssh_read_u32(r);
}

static void read_bind(struct ssh_reader *r, struct ssh_agent_message *ret)
{
    ret->request = SSH_ASK_BIND;
    ret->host_key = ssh_read_string(r);
    ret->session = ssh_read_string(r);
    ret->signature = ssh_read_string(r);
    ret->is_forwarding = ssh_read_bool(r);
}

/* What follows is for who knows the type. */
static void skip_rest(struct ssh_reader *r)
{
    r->at += r->left;
    r->left = 0;
}

static void read_extension(struct ssh_reader *r, struct ssh_agent_message *ret)
{
    struct ssh_bytes name = ssh_read_string(r);
    if (ssh_is_text(name, SSH_AGENT_BIND))
        read_bind(r, ret);
    else if (ssh_is_text(name, SSH_AGENT_QUERY))
        ret->request = SSH_ASK_QUERY;
    else
        skip_rest(r);
}

bool ssh_agent_parse(const void *message, size_t size, struct ssh_agent_message *ret)
{
    struct ssh_reader r = SSH_READER(message, size);
    struct ssh_agent_message m = {.request = SSH_ASK_OTHER};
    switch (ssh_read_byte(&r)) {
    case REQUEST_IDENTITIES:
        m.request = SSH_ASK_IDENTITIES;
        break;
    case SIGN_REQUEST:
        read_sign(&r, &m);
        break;
    case EXTENSION:
        read_extension(&r, &m);
        break;
    default:
        skip_rest(&r);
    }
    if (!ssh_reader_is_done(&r))
        return false;
    *ret = m;
    return true;
}

bool ssh_login_parse(struct ssh_bytes data, struct ssh_login *ret)
{
    struct ssh_reader r = SSH_READER(data.data, data.size);
    struct ssh_login l = {.session = ssh_read_string(&r)};
    bool is_request = ssh_read_byte(&r) == USERAUTH_REQUEST;
    l.user = ssh_read_string(&r);
    bool is_login = ssh_is_text(ssh_read_string(&r), "ssh-connection");
    struct ssh_bytes method = ssh_read_string(&r);
    l.is_host_bound = ssh_is_text(method, "publickey-hostbound-v00@openssh.com");
    bool is_by_key = l.is_host_bound || ssh_is_text(method, "publickey");
    bool is_signed = ssh_read_bool(&r);
    l.algorithm = ssh_read_string(&r);
    l.key = ssh_read_string(&r);
    if (l.is_host_bound)
        l.host_key = ssh_read_string(&r);
    if (!is_request || !is_login || !is_by_key || !is_signed || !ssh_reader_is_done(&r))
        return false;
    *ret = l;
    return true;
}
