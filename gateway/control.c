// SPDX-License-Identifier: Apache-2.0
#include "gateway/control.h"

#include "gateway/flows.h"
#include "gateway/kept.h"
#include "gateway/log.h"
#include "gateway/ssh_agent.h"
#include "gateway/trust.h"
#include "lib/base/buf.h"
#include "lib/base/passed.h"
#include "lib/base/update.h"
#include "lib/policy/enforced.h"
#include "lib/policy/same.h"
#include "lib/secret/file.h"
#include "lib/secret/pages.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#define RETIRED_MAX 64

/* A policy that was replaced, of which flows that are open keep words and rules. */
struct retired {
    struct policy *policy;
    uint64_t last_flow; /* that may refer to it */
    bool is_of_secrets; /* those in force refer to its document */
};

/*
 * What the starter left no room for: it goes before any further line, and until then no other
 * policy is taken.
 */
struct unsent {
    bool is_there;
    struct update_packet packet;
    char text[sizeof(((struct policy_error *)NULL)->text)];
};

static bool is_open, has_violation;
static struct unsent unsent_violation, unsent_answer;
static struct buf in_force; /* the text of the policy */
static struct retired retired[RETIRED_MAX];
static size_t retired_count;

void control_start(struct buf *document)
{
    in_force = *document;
    *document = BUF_INIT(0);
    is_open = fcntl(GATEWAY_CONTROL_FD, F_GETFD) >= 0;
    gateway.generation = 1;
}

void control_end(void)
{
    for (size_t i = 0; i < retired_count; i++)
        policy_free(retired[i].policy);
    buf_done(&in_force);
}

bool control_is_open(void)
{
    return is_open;
}

/* 0; or negative errno, -EAGAIN: there is no room now. */
static int send_message(const struct update_packet *p, const char *text)
{
    struct iovec parts[] = {{(void *)p, sizeof(*p)}, {(void *)text, p->text_size}};
    struct msghdr h = {.msg_iov = parts, .msg_iovlen = p->text_size ? 2 : 1};
    ssize_t n;
    do
        n = sendmsg(GATEWAY_CONTROL_FD, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/* False: it still has to wait. */
static bool send_one(struct unsent *u)
{
    int r = u->is_there ? send_message(&u->packet, u->text) : 0;
    u->is_there = r == -EAGAIN || r == -ENOBUFS || r == -ENOMEM;
    return !u->is_there;
}

static bool send_unsent(void)
{
    return send_one(&unsent_violation) && send_one(&unsent_answer);
}

/* p, whose text_size is not known yet, with this text. */
static void send_surely(struct unsent *u, const struct update_packet *p, const char *text)
{
    u->is_there = true;
    u->packet = *p;
    snprintf(u->text, sizeof(u->text), "%s", text);
    u->packet.text_size = (uint32_t)strlen(u->text);
    send_unsent();
}

void control_say_violation(const char *secret)
{
    const struct update_packet p = {.version = UPDATE_VERSION, .type = UPDATE_VIOLATION};
    if (!has_violation && is_open)
        send_surely(&unsent_violation, &p, secret);
    has_violation = true;
}

bool control_send_line(const char *text, size_t size)
{
    const struct update_packet p = {
        .version = UPDATE_VERSION, .type = UPDATE_LINE, .text_size = (uint32_t)size};
    return size <= UPDATE_TEXT_MAX && send_unsent() && send_message(&p, text) == 0;
}

/* The answer to p. r: 0 or negative errno, with the reason. */
static void say_done(const struct update_packet *p, int r, const char *why)
{
    const struct update_packet done = {.version = UPDATE_VERSION,
                                       .type = UPDATE_DONE,
                                       .number = p->number,
                                       .generation = gateway.generation,
                                       .error = -r};
    send_surely(&unsent_answer, &done, why);
}

/* ---- a new policy ---- */

/* So many bytes of it, or the whole. What it is and that it can't change the starter has seen. */
static int read_document(int fd, uint64_t size, struct buf *ret)
{
    char piece[16384];
    ssize_t n;
    for (uint64_t left = size ? size : UINT64_MAX; left > 0; left -= (uint64_t)n) {
        n = pread(fd, piece, (size_t)MIN(left, (uint64_t)sizeof(piece)), (off_t)ret->size);
        if (n <= 0)
            return n < 0 ? -errno : 0;
        if (buf_append(ret, piece, (size_t)n) < 0)
            return -E2BIG;
    }
    return 0;
}

/* What was set up at the start would have to be again. */
static int check_change(const struct policy_document *d, struct policy_error *e)
{
    const char *place = policy_find_lasting_change(gateway.document, d);
    if (place && !strcmp(place, "/secrets"))
        snprintf(e->text, sizeof(e->text),
                 "%s: can't be changed while the sandbox runs, but for secrets that are new or not "
                 "there any more (of all: {}), and none of them for SSH; leave the others as they "
                 "were, or start it again",
                 place);
    else if (place)
        snprintf(e->text, sizeof(e->text),
                 "%s: can't be changed while the sandbox runs; leave it as it was, or start it "
                 "again",
                 place);
    else if (retired_count == RETIRED_MAX)
        snprintf(e->text, sizeof(e->text),
                 "connections are open that were allowed %d policies ago; end some, or start it "
                 "again",
                 RETIRED_MAX);
    return place || retired_count == RETIRED_MAX ? -EOPNOTSUPP : 0;
}

/* Frees those of which nothing is left that may refer to them. */
static void free_retired(void)
{
    size_t kept = 0;
    flows_reap();
    for (size_t i = 0; i < retired_count; i++)
        if (retired[i].is_of_secrets || retired[i].last_flow >= flows_oldest())
            retired[kept++] = retired[i];
        else
            policy_free(retired[i].policy);
    retired_count = kept;
}

/* A policy, or what it is to be. */
struct change {
    struct policy *policy;
    struct buf text;
    bool has_secrets; /* others than those in force */
    struct secrets *secrets;
};

/* Those under way refer to the old ones, and these to a policy. */
static void replace_secrets(struct secrets *next)
{
    for (size_t i = 0; i < retired_count; i++)
        if (retired[i].is_of_secrets) {
            retired[i].is_of_secrets = false;
            retired[i].last_flow = flows_newest();
        }
    secrets_put(gateway.secrets);
    gateway.secrets = next;
}

static bool refer_to_policy(const struct secrets *s, const struct policy *p)
{
    return s && secrets_document(s) == policy_get_document(p);
}

static void put_in_force(struct change *c)
{
    struct policy *p = c->policy;
    if (c->has_secrets)
        replace_secrets(c->secrets);
    retired[retired_count++] = (struct retired){gateway.policy, flows_newest(),
                                                refer_to_policy(gateway.secrets, gateway.policy)};
    gateway.policy = p;
    gateway.document = policy_get_document(p);
    gateway.generation++;
    trust_begin_anew();
    kept_forget_all();
    flows_recheck();
}

/* wanted: "" for the phase that the sandbox is in, if p has that. */
static int set_phase(struct policy *p, const char *wanted, struct policy_error *e)
{
    const struct policy_document *old = gateway.document;
    if (!wanted[0] && old->phase_count > 0)
        policy_set_phase(p, old->phases[old->phase]);
    if (!wanted[0] || policy_set_phase(p, wanted) == 0)
        return 0;
    snprintf(e->text, sizeof(e->text), "it has no phase of that name; look at its \"phases\"");
    return -EINVAL;
}

static int compile(const struct buf *text, const char *phase, struct policy **ret,
                   struct policy_error *e)
{
    struct policy *p = policy_parse(text->data ? text->data : "", text->size, e);
    if (!p)
        return -EINVAL;
    int r = set_phase(p, phase, e);
    if (r == 0)
        r = policy_check_enforced(policy_get_document(p), e);
    if (r == 0)
        r = check_change(policy_get_document(p), e);
    if (r == 0)
        *ret = p;
    else
        policy_free(p);
    return r;
}

/* The document that was sent, or the one in force. */
static int find_document(const struct update_packet *p, int fd, struct buf *ret,
                         struct policy_error *e)
{
    int r = fd >= 0        ? read_document(fd, p->document_size, ret)
            : !p->phase[0] ? -EBADF
                           : buf_append(ret, in_force.data, in_force.size);
    if (r < 0)
        snprintf(e->text, sizeof(e->text),
                 "the document can't be read: %s; make it shorter, and try again", strerror(-r));
    return r;
}

/* What stands in the file behind the document. 0, or negative errno with the reason. */
static int read_values(const struct update_packet *p, int fd, const struct policy_document *d,
                       struct secrets **ret, struct secret_error *e)
{
    char *data = secret_memory_new(SECRET_FILE_MAX_BYTES);
    ssize_t n = data ? 0 : -1;
    if (data && fd >= 0 && p->document_size)
        n = pread(fd, data, SECRET_FILE_MAX_BYTES, (off_t)p->document_size);
    int r = n < 0 ? -ENOMEM : 0;
    if (r < 0)
        snprintf(e->text, sizeof(e->text), "the secrets can't be read; free memory and try again");
    else
        r = secret_file_parse_more(data, (size_t)n, d, gateway.secrets, ret, e);
    secret_memory_free(data, SECRET_FILE_MAX_BYTES);
    return r;
}

/* Makes the secrets of a policy that has others. 0, or negative errno with the reason. */
static int take_secrets(const struct update_packet *p, int fd, struct change *c,
                        struct policy_error *e)
{
    const struct policy_document *d = policy_get_document(c->policy);
    struct secret_error bad;
    if (policy_have_same_secrets(gateway.document, d))
        return 0;
    int r = read_values(p, fd, d, &c->secrets, &bad);
    if (r == 0 && (r = ssh_agent_renew(c->secrets, &bad)) < 0)
        secrets_put(c->secrets);
    c->has_secrets = r == 0;
    if (r < 0)
        snprintf(e->text, sizeof(e->text), "%s", bad.text);
    return r;
}

/* 0, the policy, its text and its secrets; or negative errno with the reason. */
static int take(const struct update_packet *p, int fd, struct change *ret, struct policy_error *e)
{
    *e = (struct policy_error){.line = 0};
    free_retired();
    if (p->generation && p->generation != gateway.generation) {
        snprintf(e->text, sizeof(e->text),
                 "generation %llu is in force, not %llu; look at what was changed meanwhile",
                 (unsigned long long)gateway.generation, (unsigned long long)p->generation);
        return -ESTALE;
    }
    int r = find_document(p, fd, &ret->text, e);
    if (r == 0)
        r = compile(&ret->text, p->phase, &ret->policy, e);
    if (r == 0 && (r = take_secrets(p, fd, ret, e)) < 0)
        policy_free(ret->policy);
    return r;
}

static void set_policy(const struct update_packet *p, int fd)
{
    struct policy_error e;
    struct change next = {.text = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES + 1)};
    int r = take(p, fd, &next, &e);
    if (r == 0) {
        put_in_force(&next);
        buf_done(&in_force);
        in_force = next.text;
    } else {
        buf_done(&next.text);
    }
    log_update(r == 0 ? NULL : e.text);
    say_done(p, r, r == 0 ? "" : e.text);
}

/* ---- another value for a secret ---- */

#define SECRET_FILE_BYTES 16384 /* more than one value's has */

/* 0 and *ret; or negative errno with the reason. */
static int renew(int fd, struct secrets **ret, struct secret_error *e)
{
    char *data = secret_memory_new(SECRET_FILE_BYTES);
    ssize_t n = data && fd >= 0 ? pread(fd, data, SECRET_FILE_BYTES, 0) : -1;
    int r = n < 0 ? -EIO : 0;
    if (r < 0)
        snprintf(e->text, sizeof(e->text), "the secret can't be read; free memory and try again");
    else if (!gateway.secrets)
        r = -ENOENT;
    else
        r = secret_file_parse_one(data, (size_t)n, gateway.secrets, ret, e);
    if (r == -ENOENT && !gateway.secrets)
        snprintf(e->text, sizeof(e->text),
                 "the sandbox has none of that name; to add it, say where it may go: "
                 "NAME=SOURCE@HOST");
    secret_memory_free(data, SECRET_FILE_BYTES);
    return r;
}

/* Requests that have begun keep what they began with. */
static void set_secret(const struct update_packet *p, int fd)
{
    struct secret_error e;
    struct secrets *next;
    int r = renew(fd, &next, &e);
    if (r == 0 && (r = ssh_agent_renew(next, &e)) < 0)
        secrets_put(next);
    if (r == 0) {
        secrets_put(gateway.secrets);
        gateway.secrets = next;
    }
    log_update(r == 0 ? NULL : e.text);
    say_done(p, r, r == 0 ? "" : e.text);
}

/* ---- the loop ---- */

/* False when there is nothing (more) to read. */
static bool read_one(void)
{
    struct update_message m;
    union passed room;
    struct iovec part = {&m, sizeof(m)};
    struct msghdr h = {.msg_iov = &part, .msg_iovlen = 1};
    passed_expect(&h, &room);
    ssize_t n = recvmsg(GATEWAY_CONTROL_FD, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        is_open = false;
        return false;
    }
    _cleanup_close_ int fd = passed_take(&h);
    if (update_is_valid(&m, (size_t)n) && m.packet.type == UPDATE_SET)
        set_policy(&m.packet, fd);
    else if (update_is_valid(&m, (size_t)n) && m.packet.type == UPDATE_SECRET)
        set_secret(&m.packet, fd);
    else
        gateway_fail("the starter said what can't be understood");
    return true;
}

size_t control_fill_poll(struct pollfd p[CONTROL_SOCKETS_MAX])
{
    bool must_wait = unsent_violation.is_there || unsent_answer.is_there;
    if (!is_open)
        return 0;
    p[0] = (struct pollfd){.fd = GATEWAY_CONTROL_FD, .events = must_wait ? POLLOUT : POLLIN};
    return 1;
}

void control_step(const struct pollfd *p, size_t count)
{
    if (count == 1 && p[0].revents)
        while (send_unsent() && read_one())
            ;
}
