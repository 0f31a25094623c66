// SPDX-License-Identifier: Apache-2.0
#include "gateway/ssh_agent.h"

#include "gateway/channel.h"
#include "gateway/log.h"
#include "lib/secret/secrets.h"
#include "lib/ssh/agent.h"
#include "lib/ssh/key.h"

#include <stdio.h>

/* A signature takes milliseconds, in which no flow gets on. */
#define OPERATIONS_PER_S  50
#define SESSION_MAX_BYTES 64 /* of a hash: SHA-512 */

_Static_assert(SSH_AGENT_MESSAGE_MAX <= GATEWAY_DATA_MAX, "a message is one packet");

enum connection_state { UNBOUND, BOUND, REFUSED };

struct connection {
    uint32_t number; /* 0: it is free */
    enum connection_state state;
    size_t session_size, host_key_size;
    uint8_t session[SESSION_MAX_BYTES], host_key[SSH_BLOB_MAX];
};

/* By the secret's place in the document; NULL for secrets of other uses. */
static struct ssh_key *keys[POLICY_SECRETS_MAX];
static struct connection connections[GATEWAY_AGENTS_MAX];
static struct rate operations;

static const struct policy_secret *secret_at(size_t i)
{
    return &gateway.document->secrets[i];
}

static struct ssh_bytes bytes_of(const void *data, size_t size)
{
    return (struct ssh_bytes){data, size};
}

/* ---- keys ---- */

static int refuse(struct secret_error *e, const struct policy_secret *s, const char *why)
{
    e->name = NULL;
    e->reason = (size_t)snprintf(e->text, sizeof(e->text), "secret %s: ", s->name);
    snprintf(e->text + e->reason, sizeof(e->text) - e->reason, "%s", why);
    return -EINVAL;
}

static void free_keys(struct ssh_key *list[POLICY_SECRETS_MAX])
{
    for (size_t i = 0; i < POLICY_SECRETS_MAX; i++) {
        ssh_key_free(list[i]);
        list[i] = NULL;
    }
}

static int read_keys(const struct secrets *s, struct ssh_key *ret[POLICY_SECRETS_MAX],
                     struct secret_error *e)
{
    size_t answer = 1 + 4;
    for (size_t i = 0; s && i < secrets_count(s); i++) {
        const struct policy_secret *secret = &secrets_document(s)->secrets[i];
        const char *why;
        size_t size;
        if (secret->use != POLICY_SECRET_SSH)
            continue;
        const char *text = secrets_value(s, i, &size);
        ret[i] = ssh_key_read(text, size, &why);
        if (!ret[i])
            return refuse(e, secret, why);
        answer += 4 + ssh_key_blob(ret[i]).size + 4 + strlen(secret->name);
        if (answer > SSH_AGENT_MESSAGE_MAX)
            return refuse(e, secret,
                          "the keys for SSH are more than the agent can list; leave some "
                          "out, or give such of Ed25519");
    }
    return 0;
}

int ssh_agent_renew(const struct secrets *next, struct secret_error *e)
{
    struct ssh_key *list[POLICY_SECRETS_MAX] = {NULL};
    int r = read_keys(next, list, e);
    if (r < 0) {
        free_keys(list);
        return r;
    }
    free_keys(keys);
    memcpy(keys, list, sizeof(keys));
    return 0;
}

void ssh_agent_start(void)
{
    struct secret_error e;
    if (ssh_agent_renew(gateway.secrets, &e) < 0)
        gateway_fail("%s", e.text);
}

void ssh_agent_end(void)
{
    free_keys(keys);
}

/* ---- connections ---- */

static struct connection *find_connection(uint32_t number)
{
    for (size_t i = 0; i < GATEWAY_AGENTS_MAX; i++)
        if (connections[i].number == number)
            return &connections[i];
    return NULL;
}

static struct connection *open_connection(uint32_t number)
{
    struct connection *c = number ? find_connection(number) : NULL;
    if (!c)
        c = number ? find_connection(0) : NULL;
    if (!c)
        gateway_fail("the kernel opened more connections to the agent than there may be");
    c->number = number;
    return c;
}

void ssh_agent_forget(uint32_t number)
{
    struct connection *c = number ? find_connection(number) : NULL;
    if (c)
        *c = (struct connection){.number = 0};
}

static struct ssh_bytes host_key_of(const struct connection *c)
{
    return bytes_of(c->host_key, c->host_key_size);
}

static bool is_pinned(const struct policy_secret *s, struct ssh_bytes host_key)
{
    for (size_t i = 0; s->use == POLICY_SECRET_SSH && i < s->ssh.host_key_count; i++) {
        const struct policy_host_key *k = &s->ssh.host_keys[i];
        if (ssh_is_same(host_key, bytes_of(k->blob, k->blob_size)))
            return true;
    }
    return false;
}

/* ---- the log ---- */

/* One request, and what is known of what it is about. */
struct question {
    const struct gateway_packet *packet;
    struct connection *connection;
    const struct policy_secret *secret; /* NULL: of none, or not known */
    struct ssh_bytes user;              /* a guest's */
};

/* The hosts of the secret: which of them it is, only the key of the host tells. */
static void name_hosts(const struct policy_secret *s, char *ret, size_t size)
{
    size_t used = 0;
    ret[0] = '\0';
    for (size_t i = 0; s && i < s->hosts.exact_count && used < size; i++)
        used += (size_t)snprintf(ret + used, size - used, "%s%s", i ? "," : "", s->hosts.exact[i]);
}

static void note(const struct question *q, bool is_allowed, const char *reason, const char *words)
{
    char hosts[512], user[128], program[GATEWAY_PROGRAM_MAX + 1] = "";
    const struct gateway_packet *p = q->packet;
    name_hosts(q->secret, hosts, sizeof(hosts));
    snprintf(user, sizeof(user), "%.*s", (int)MIN(q->user.size, sizeof(user) - 1),
             q->user.size ? (const char *)q->user.data : "");
    memcpy(program, p->program, sizeof(p->program));
    const struct log_login login = {.secret = q->secret ? q->secret->name : NULL,
                                    .user = user[0] ? user : NULL};
    const struct log_entry e = {
        .event = "ssh",
        .name = hosts[0] ? hosts : NULL,
        .port = q->secret && q->secret->port_count == 1 ? q->secret->ports[0].first : 0,
        .pid = p->pid,
        .program = program,
        .is_decision = true,
        .is_allowed = is_allowed,
        .reason = reason,
        .login = &login,
    };
    log_write(&e);
    if (!is_allowed)
        log_denial(&e, words);
}

/* ---- answers ---- */

static void answer(const struct question *q, const struct buf *b)
{
    const uint8_t failure = SSH_AGENT_FAILURE;
    if (b->failed || b->size == 0 || b->size > SSH_AGENT_MESSAGE_MAX)
        channel_send_answer(q->packet->id, &failure, 1);
    else
        channel_send_answer(q->packet->id, (const uint8_t *)b->data, b->size);
}

static void answer_byte(const struct question *q, uint8_t byte)
{
    channel_send_answer(q->packet->id, &byte, 1);
}

static void deny(const struct question *q, const char *reason, const char *words)
{
    note(q, false, reason, words);
    answer_byte(q, SSH_AGENT_FAILURE);
}

/* A bound connection is shown the keys for its host: servers count those that are tried. */
static bool is_shown(const struct connection *c, size_t i)
{
    return keys[i] && (c->state != BOUND || is_pinned(secret_at(i), host_key_of(c)));
}

/* One key may be that of several secrets, for different hosts or users. */
static bool is_listed(const struct connection *c, size_t i)
{
    for (size_t k = 0; k < i && is_shown(c, i); k++)
        if (is_shown(c, k) && ssh_is_same(ssh_key_blob(keys[k]), ssh_key_blob(keys[i])))
            return false;
    return is_shown(c, i);
}

static void list_identities(const struct question *q)
{
    struct buf b = BUF_INIT(SSH_AGENT_MESSAGE_MAX);
    uint32_t count = 0;
    for (size_t i = 0; i < gateway.document->secret_count; i++)
        count += is_listed(q->connection, i);
    ssh_put_byte(&b, SSH_AGENT_IDENTITIES_ANSWER);
    ssh_put_u32(&b, count);
    for (size_t i = 0; i < gateway.document->secret_count; i++) {
        if (!is_listed(q->connection, i))
            continue;
        struct ssh_bytes blob = ssh_key_blob(keys[i]);
        ssh_put_string(&b, blob.data, blob.size);
        ssh_put_text(&b, secret_at(i)->name);
    }
    answer(q, &b);
    buf_done(&b);
}

static void list_extensions(const struct question *q)
{
    struct buf b = BUF_INIT(SSH_AGENT_MESSAGE_MAX);
    ssh_put_byte(&b, SSH_AGENT_EXTENSION_RESPONSE);
    ssh_put_text(&b, SSH_AGENT_QUERY);
    ssh_put_text(&b, SSH_AGENT_BIND);
    answer(q, &b);
    buf_done(&b);
}

/* ---- binding ---- */

static const struct policy_secret *find_by_host(struct ssh_bytes host_key)
{
    for (size_t i = 0; i < gateway.document->secret_count; i++)
        if (is_pinned(secret_at(i), host_key))
            return secret_at(i);
    return NULL;
}

/* NULL, or the reason why not, with words. */
static const char *check_bind(const struct question *q, const struct ssh_agent_message *m,
                              const char **ret_words)
{
    *ret_words = "the connection to the agent is bound to a session already";
    if (q->connection->state != UNBOUND)
        return "ssh:bound_twice";
    *ret_words = "a forwarded agent signs for another machine";
    if (m->is_forwarding)
        return "ssh:forwarded";
    *ret_words = "the server has a key that is not one of \"host_keys\"";
    if (!q->secret)
        return "ssh:host_key";
    *ret_words = "the server has not signed it";
    if (m->session.size == 0 || m->session.size > SESSION_MAX_BYTES ||
        !ssh_verify(m->host_key, m->signature, m->session))
        return "ssh:session";
    return NULL;
}

static void bind_session(struct question *q, const struct ssh_agent_message *m)
{
    struct connection *c = q->connection;
    const char *words;
    q->secret = find_by_host(m->host_key);
    const char *reason = check_bind(q, m, &words);
    if (reason) {
        c->state = REFUSED;
        deny(q, reason, words);
        return;
    }
    memcpy(c->session, m->session.data, m->session.size);
    memcpy(c->host_key, m->host_key.data, m->host_key.size);
    c->session_size = m->session.size;
    c->host_key_size = m->host_key.size;
    c->state = BOUND;
    answer_byte(q, SSH_AGENT_SUCCESS);
}

/* ---- signing ---- */

static const char *check_login(const struct question *q, const struct ssh_agent_message *m,
                               const struct ssh_login *l, const char *algorithm,
                               const char **ret_words)
{
    const struct connection *c = q->connection;
    *ret_words = "the server has a key that is not one of the secret's \"host_keys\"";
    if (!is_pinned(q->secret, host_key_of(c)) ||
        (l->is_host_bound && !ssh_is_same(l->host_key, host_key_of(c))))
        return "ssh:host_key";
    *ret_words = "what is to be signed is for another session than the server has signed";
    if (!ssh_is_same(l->session, bytes_of(c->session, c->session_size)))
        return "ssh:session";
    *ret_words = "the key is for another user";
    if (!ssh_is_text(l->user, q->secret->ssh.user))
        return "ssh:user";
    *ret_words = "the signature is to be of a kind that is not made, such as with SHA-1";
    if (!algorithm || !ssh_is_text(l->algorithm, algorithm) || !ssh_is_same(l->key, m->key))
        return "ssh:algorithm";
    return NULL;
}

/* NULL, or the reason why it is not signed, with words. */
static const char *check_sign(struct question *q, const struct ssh_agent_message *m,
                              const char *algorithm, const char **ret_words)
{
    struct ssh_login l;
    *ret_words = "the client did not say for which session (session-bind@openssh.com); it takes "
                 "OpenSSH 8.9 or newer";
    if (q->connection->state == UNBOUND)
        return "ssh:unbound";
    *ret_words = "the connection to the agent was refused before";
    if (q->connection->state == REFUSED)
        return "ssh:refused";
    *ret_words = "what is to be signed is no request to log in";
    if (!ssh_login_parse(m->data, &l))
        return "ssh:data";
    q->user = l.user;
    return check_login(q, m, &l, algorithm, ret_words);
}

/*
 * Of the secrets that have this key the one that signs, else the one that comes closest, for the
 * log; POLICY_SECRETS_MAX: none has it.
 */
static size_t find_secret(const struct question *asked, const struct ssh_agent_message *m)
{
    size_t best = POLICY_SECRETS_MAX;
    const char *words;
    for (size_t i = 0; i < gateway.document->secret_count; i++) {
        struct question q = *asked;
        if (!keys[i] || !ssh_is_same(m->key, ssh_key_blob(keys[i])))
            continue;
        q.secret = secret_at(i);
        if (!check_sign(&q, m, ssh_key_algorithm(keys[i], m->flags), &words))
            return i;
        if (best == POLICY_SECRETS_MAX || is_pinned(q.secret, host_key_of(q.connection)))
            best = i;
    }
    return best;
}

static void sign(struct question *q, const struct ssh_agent_message *m)
{
    struct buf b = BUF_INIT(SSH_AGENT_MESSAGE_MAX), signature = BUF_INIT(SSH_SIGNATURE_MAX + 64);
    size_t i = find_secret(q, m);
    const char *words;
    if (i == POLICY_SECRETS_MAX) {
        answer_byte(q, SSH_AGENT_FAILURE); /* of a key that nobody was shown */
        return;
    }
    q->secret = secret_at(i);
    const char *algorithm = ssh_key_algorithm(keys[i], m->flags);
    const char *reason = check_sign(q, m, algorithm, &words);
    if (!reason && ssh_key_sign(keys[i], algorithm, m->data, &signature) < 0) {
        reason = "ssh:error";
        words = "the signature could not be made; free memory";
    }
    if (reason) {
        deny(q, reason, words);
    } else {
        ssh_put_byte(&b, SSH_AGENT_SIGN_RESPONSE);
        ssh_put_string(&b, signature.data, signature.size);
        note(q, true, "ssh:login", NULL);
        answer(q, &b);
    }
    buf_done(&signature);
    buf_done(&b);
}

void ssh_agent_take(const struct gateway_packet *p, const uint8_t *message)
{
    struct ssh_agent_message m;
    struct question q = {.packet = p, .connection = open_connection(p->connection)};
    if (!ssh_agent_parse(message, p->data_size, &m)) {
        answer_byte(&q, SSH_AGENT_FAILURE);
        return;
    }
    bool is_costly = m.request == SSH_ASK_SIGN || m.request == SSH_ASK_BIND;
    if (is_costly && !rate_take(&operations, OPERATIONS_PER_S)) {
        deny(&q, "ssh:rate", "the agent is asked too often");
        return;
    }
    switch (m.request) {
    case SSH_ASK_IDENTITIES:
        list_identities(&q);
        return;
    case SSH_ASK_SIGN:
        sign(&q, &m);
        return;
    case SSH_ASK_BIND:
        bind_session(&q, &m);
        return;
    case SSH_ASK_QUERY:
        list_extensions(&q);
        return;
    case SSH_ASK_OTHER:
        answer_byte(&q, SSH_AGENT_FAILURE);
        return;
    }
}
