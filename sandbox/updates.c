// SPDX-License-Identifier: Apache-2.0
#include "sandbox/updates.h"

#include "lib/base/update.h"
#include "lib/policy/document.h"
#include "lib/secret/file.h"
#include "lib/secret/pages.h"
#include "sandbox/memory_file.h"
#include "sandbox/scrubber.h"
#include "sandbox/socket_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

/* Of a gateway, before others have their turn. */
#define LINES_AT_ONCE 256
/* Who asks waits for ten seconds, and is to be told why. */
#define KEPT_MAX_NS (5 * NSEC_PER_SEC)

static const char busy[] = "the gateway has no time for it now; try again";
static const char unsearched[] =
    "the sandbox's kernel does not say that connections to its ports, which nobody looked into, "
    "are cut; the secret is not given to it; try again";

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

void updates_init(struct updates *u, updates_line_fn take_line, updates_violation_fn take_violation,
                  void *userdata)
{
    *u = (struct updates){.listener.fd = -1,
                          .gateway = -1,
                          .document = -1,
                          .kept_fd = -1,
                          .generation = 1,
                          .take_line = take_line,
                          .take_violation = take_violation,
                          .userdata = userdata};
    for (size_t i = 0; i < UPDATES_CLIENTS_MAX; i++)
        u->clients[i].fd = -1;
}

int updates_open(struct updates *u, const struct registry *r, int gateway, const struct strv *env,
                 struct sandbox_error *e)
{
    if (strv_append_all(&u->env, env) < 0)
        return sandbox_error_set(e, -ENOMEM, "start: out of memory; free some and try again");
    if (gateway < 0)
        return 0;
    int fd = socket_file_listen(r, UPDATES_CLIENTS_MAX);
    if (fd < 0)
        return sandbox_error_set(e, fd, "%s/sandboxes/%s: socket: %s; make room there", r->path,
                                 r->name, strerror(-fd));
    u->listener.fd = fd;
    u->gateway = gateway;
    return 0;
}

/* ---- clients ---- */

static void drop(struct updates *u, size_t i)
{
    base_closep(&u->clients[i].fd);
    memmove(&u->clients[i], &u->clients[i + 1],
            (UPDATES_CLIENTS_MAX - i - 1) * sizeof(*u->clients));
    u->clients[UPDATES_CLIENTS_MAX - 1] = (struct update_client){.fd = -1};
}

/* Tells and drops. */
static void answer(struct updates *u, size_t i, uint64_t generation, int error, const char *text,
                   size_t size)
{
    struct update_message m = {.packet = {.version = UPDATE_VERSION,
                                          .type = UPDATE_DONE,
                                          .generation = generation,
                                          .error = error,
                                          .text_size = (uint32_t)size}};
    memcpy(m.text, text, size);
    send(u->clients[i].fd, &m, sizeof(m.packet) + size, MSG_DONTWAIT | MSG_NOSIGNAL);
    drop(u, i);
}

static void refuse(struct updates *u, size_t i, int error, const char *text)
{
    answer(u, i, 0, error, text, strlen(text));
}

/* A place for one more: a free one, or that of who has said nothing. -1: all are waiting. */
static int find_place(struct updates *u)
{
    for (int i = 0; i < UPDATES_CLIENTS_MAX; i++)
        if (u->clients[i].fd < 0)
            return i;
    for (size_t i = 0; i < UPDATES_CLIENTS_MAX; i++)
        if (u->clients[i].number == 0) {
            drop(u, i);
            return UPDATES_CLIENTS_MAX - 1;
        }
    return -1;
}

static void admit(struct updates *u)
{
    _cleanup_close_ int fd = listener_accept(&u->listener);
    int place = fd < 0 ? -1 : find_place(u);
    if (place >= 0)
        u->clients[place] = (struct update_client){.fd = TAKE_FD(fd)};
}

/* ---- secrets ---- */

/* A variable that is set already is the user's own, or the image's: as at the start. */
static int set_variables(const struct secrets *s, struct strv *env, struct sandbox_error *e)
{
    const struct policy_document *d = s ? secrets_document(s) : NULL;
    for (size_t i = 0; d && i < d->secret_count; i++) {
        const struct policy_secret *p = &d->secrets[i];
        for (size_t k = 0; k < p->env_count; k++) {
            if (strv_env_get(env, p->env[k]))
                return sandbox_error_set(e, -EINVAL,
                                         "secret %s: its variable %s is set already; choose "
                                         "another one",
                                         p->name, p->env[k]);
            if (strv_env_set(env, p->env[k], secrets_placeholder(s, i)) < 0)
                return sandbox_error_set(e, -ENOMEM,
                                         "secrets: out of memory; free some and try again");
        }
    }
    return 0;
}

static void unset_variables(const struct secrets *s, struct strv *env)
{
    const struct policy_document *d = s ? secrets_document(s) : NULL;
    for (size_t i = 0; d && i < d->secret_count; i++)
        for (size_t k = 0; k < d->secrets[i].env_count; k++)
            strv_env_set(env, d->secrets[i].env[k], NULL);
}

/* What the programs will have. */
static int make_env(struct updates *u, struct sandbox_error *e)
{
    strv_done(&u->next_env);
    if (strv_append_all(&u->next_env, &u->env) < 0)
        return sandbox_error_set(e, -ENOMEM, "secrets: out of memory; free some and try again");
    unset_variables(scrubber_secrets(u->scrubber, false), &u->next_env);
    return set_variables(scrubber_secrets(u->scrubber, true), &u->next_env, e);
}

/*
 * The scrubber has taken in what is to come; r as it said. Likewise. What searches only since then
 * is told so whatever becomes of it: the scrubber is idle never again.
 */
static int begin_change(struct updates *u, int r, bool was_idle, struct sandbox_error *e)
{
    if (was_idle && !scrubber_is_idle(u->scrubber))
        u->begin_search(u->userdata);
    if (r == 1 && (r = make_env(u, e)) == 0)
        r = 1;
    if (r < 0)
        scrubber_settle(u->scrubber, false);
    return r;
}

static void end_change(struct updates *u, bool is_in_force)
{
    u->changing = 0;
    scrubber_settle(u->scrubber, is_in_force);
    if (is_in_force) {
        struct strv old = u->env;
        u->env = u->next_env;
        u->next_env = old;
    }
    strv_done(&u->next_env);
}

/* ---- wishes ---- */

/* Of a sealed memory file, which can't change; negative: it is none. */
static off_t sealed_size(int fd)
{
    const int wanted = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & wanted) == wanted && fstat(fd, &st) == 0 ? st.st_size : -1;
}

/* How many bytes of the file that came are the document. */
static size_t document_size(const struct update_packet *p, off_t size)
{
    return p->document_size ? (size_t)p->document_size : (size_t)size;
}

/* Whether what goes with p is there, and of a size that can be. */
static bool has_what_it_needs(const struct update_packet *p, int fd)
{
    off_t size = fd < 0 ? -1 : sealed_size(fd);
    if (p->type == UPDATE_GET)
        return fd < 0;
    if (fd < 0)
        return p->type == UPDATE_SET && p->phase[0] && !p->document_size;
    if (p->type == UPDATE_SECRET)
        return size >= 0 && size <= POLICY_DOCUMENT_MAX_BYTES && !p->document_size;
    return size >= 0 && p->document_size <= (uint64_t)size &&
           document_size(p, size) <= POLICY_DOCUMENT_MAX_BYTES &&
           (uint64_t)size - document_size(p, size) <= SECRET_FILE_MAX_BYTES;
}

/*
 * Takes in what the file says of secrets. 1: it changes them; 0: it does not; negative errno with
 * the sentence. What is no document, or asks for what is not there, the gateway has words for; it
 * can't come into force there either. A value is told to it by nobody but us.
 */
static int take_secrets(struct updates *u, const char *data, size_t size, size_t document,
                        struct sandbox_error *e)
{
    bool was_idle = scrubber_is_idle(u->scrubber), has_values = document < size;
    int r = scrubber_change(u->scrubber, data, document, data + document, size - document, e);
    if (r == -EINVAL && !has_values)
        return 0;
    if (r == 0 && has_values)
        return sandbox_error_set(e, -EINVAL,
                                 "secrets: a value came that is of no new secret; give the new "
                                 "ones");
    return begin_change(u, r, was_idle, e);
}

/* A document, and what may be behind it. As take_secrets(), and *ret_document is a file of the
 * former. */
static int take_file(struct updates *u, const struct update_packet *p, int fd, int *ret_document,
                     struct sandbox_error *e)
{
    size_t size = (size_t)sealed_size(fd), document = document_size(p, (off_t)size);
    char *data = secret_memory_new(size + 1);
    int r = data && pread(fd, data, size, 0) == (ssize_t)size ? 0 : -ENOMEM;
    *ret_document = r == 0 ? memory_file_new("glovebox-policy", data, document) : -1;
    if (*ret_document < 0)
        r = sandbox_error_set(e, -ENOMEM, "the document can't be read; free memory and try again");
    else
        r = take_secrets(u, data, size, document, e);
    secret_memory_free(data, size + 1);
    return r;
}

static int take_value(struct updates *u, int fd, struct sandbox_error *e)
{
    bool was_idle = scrubber_is_idle(u->scrubber);
    int r = scrubber_renew(u->scrubber, fd, e);
    return r < 0 ? r : begin_change(u, 1, was_idle, e);
}

/* 0 or negative errno: is_change: the gateway gets it when all that comes back is searched. */
static int send_on(struct updates *u, const struct update_packet *p, int fd, bool is_change)
{
    if (!is_change || u->is_searched(u->userdata))
        return updates_send(u->gateway, p, fd);
    u->kept = *p;
    u->kept_until_ns = now_ns() + KEPT_MAX_NS;
    u->kept_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return u->kept_fd < 0 ? -errno : 0;
}

/* To the gateway, with a number of ours. */
static void pass_on(struct updates *u, size_t i, const struct update_packet *asked, int fd)
{
    struct update_packet p = {.version = UPDATE_VERSION,
                              .type = asked->type,
                              .number = ++u->last_number,
                              .generation = asked->generation,
                              .document_size = asked->document_size};
    memcpy(p.phase, asked->phase, sizeof(p.phase));
    _cleanup_close_ int document = -1;
    struct sandbox_error e;
    int r = 0;
    if (u->gateway < 0)
        r = sandbox_error_set(&e, -ECONNRESET, "its gateway has ended; start the sandbox again");
    else if (u->asked_count == UPDATES_ASKED_MAX)
        r = sandbox_error_set(&e, -EAGAIN, busy);
    else if (p.type == UPDATE_SECRET)
        r = take_value(u, fd, &e);
    else if (fd >= 0)
        r = take_file(u, &p, fd, &document, &e);
    if (r >= 0 && send_on(u, &p, fd, r > 0) < 0) {
        if (r > 0)
            end_change(u, false);
        r = sandbox_error_set(&e, -EAGAIN, busy);
    }
    if (r < 0) {
        refuse(u, i, -r, e.text);
        return;
    }
    u->clients[i].number = p.number;
    u->asked[u->asked_count++] = (struct update_asked){p.number, TAKE_FD(document)};
    if (r > 0)
        u->changing = p.number;
}

static void tell_policy(struct updates *u, size_t i)
{
    const struct update_packet p = {
        .version = UPDATE_VERSION, .type = UPDATE_DONE, .generation = u->generation};
    _cleanup_close_ int made = -1;
    if (u->document < 0)
        made = memory_file_new("glovebox-policy", u->policy, strlen(u->policy));
    int fd = u->document < 0 ? made : u->document;
    if (fd < 0)
        refuse(u, i, ENOMEM, "out of memory; free some and try again");
    else if (updates_send(u->clients[i].fd, &p, fd) < 0)
        refuse(u, i, EAGAIN, "the document could not be told; try again");
    else
        drop(u, i);
}

static bool is_wish(const struct update_packet *p)
{
    return p->type == UPDATE_SET || p->type == UPDATE_SECRET || p->type == UPDATE_GET;
}

static void read_client(struct updates *u, size_t i)
{
    struct update_packet p;
    int received;
    if (u->changing)
        return;
    ssize_t n = socket_file_receive(u->clients[i].fd, &p, sizeof(p), &received);
    _cleanup_close_ int fd = n < 0 ? -1 : received;
    if (n == -EAGAIN)
        return;
    if (n <= 0)
        drop(u, i);
    else if (n != sizeof(p) || p.version != UPDATE_VERSION || !is_wish(&p) || p.text_size ||
             !update_has_phase(&p) || u->clients[i].number)
        refuse(u, i, EPROTO, "this is not what another version says; use the same one");
    else if (!has_what_it_needs(&p, fd))
        refuse(u, i, EPROTO, "there is no sealed document with it; use glovebox policy set");
    else if (p.type == UPDATE_GET)
        tell_policy(u, i);
    else
        pass_on(u, i, &p, fd);
}

/* ---- the gateway ---- */

/* What was asked is answered: what came into force is so here too. */
static void settle(struct updates *u, const struct update_packet *done)
{
    size_t i = 0;
    while (i < u->asked_count && u->asked[i].number != done->number)
        i++;
    if (i == u->asked_count)
        return;
    _cleanup_close_ int document = u->asked[i].document;
    u->asked_count--;
    memmove(&u->asked[i], &u->asked[i + 1], (u->asked_count - i) * sizeof(u->asked[0]));
    if (u->changing == done->number)
        end_change(u, done->error == 0);
    if (done->error)
        return;
    u->generation = done->generation;
    if (document >= 0) {
        base_closep(&u->document);
        u->document = TAKE_FD(document);
    }
}

static void forget_kept(struct updates *u)
{
    base_closep(&u->kept_fd);
    u->kept_fd = -1;
}

static void end_gateway(struct updates *u)
{
    u->gateway = -1;
    forget_kept(u);
    /* It may have used a value before it could say so: that is searched for, though nobody is told
     * of a change. */
    if (u->changing) {
        u->changing = 0;
        scrubber_settle(u->scrubber, true);
        strv_done(&u->next_env);
    }
    while (u->asked_count > 0)
        settle(u, &(struct update_packet){.number = u->asked[0].number, .error = ECONNRESET});
    while (u->clients[0].fd >= 0)
        refuse(u, 0, ECONNRESET, "its gateway has ended; start the sandbox again");
}

static void finish(struct updates *u, const struct update_message *m)
{
    settle(u, &m->packet);
    for (size_t i = 0; i < UPDATES_CLIENTS_MAX; i++)
        if (u->clients[i].fd >= 0 && u->clients[i].number == m->packet.number) {
            answer(u, i, m->packet.generation, m->packet.error, m->text, m->packet.text_size);
            return;
        }
}

static void refuse_kept(struct updates *u, const char *text)
{
    struct update_message m = {
        .packet = {.number = u->kept.number, .error = EAGAIN, .text_size = (uint32_t)strlen(text)}};
    memcpy(m.text, text, m.packet.text_size);
    forget_kept(u);
    finish(u, &m);
}

/* The kernel may never say so, as it was stopped, or taken over: others are to have their turn. */
static void send_kept(struct updates *u)
{
    bool is_searched = u->kept_fd >= 0 && u->is_searched(u->userdata);
    if (is_searched && updates_send(u->gateway, &u->kept, u->kept_fd) == 0)
        forget_kept(u);
    else if (is_searched)
        refuse_kept(u, busy);
    else if (u->kept_fd >= 0 && now_ns() >= u->kept_until_ns)
        refuse_kept(u, unsearched);
}

/* Whether it was told of what it answers to: it may have been taken over, and guess numbers. */
static bool is_answer(const struct updates *u, const struct update_packet *p)
{
    return p->type == UPDATE_DONE && p->number && (u->kept_fd < 0 || p->number != u->kept.number);
}

/* False when there is nothing (more) to read. */
static bool read_gateway(struct updates *u)
{
    static struct update_message m;
    ssize_t n = recv(u->gateway, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        end_gateway(u);
        return false;
    }
    if ((size_t)n > sizeof(m) || !update_is_valid(&m, (size_t)n))
        return true; /* a guest may have taken it over; that is no reason to listen to it less */
    if (m.packet.type == UPDATE_LINE)
        u->take_line(u->userdata, m.text, m.packet.text_size);
    else if (m.packet.type == UPDATE_VIOLATION)
        u->take_violation(u->userdata, m.text, m.packet.text_size);
    else if (is_answer(u, &m.packet))
        finish(u, &m);
    return true;
}

/* ---- the loop ---- */

size_t updates_fill_poll(struct updates *u, struct pollfd p[UPDATES_POLL_MAX])
{
    p[0] = (struct pollfd){.fd = u->gateway, .events = POLLIN};
    listener_fill_poll(&u->listener, &p[1]);
    if (u->changing)
        p[1].fd = -1;
    for (size_t i = 0; i < UPDATES_CLIENTS_MAX; i++)
        p[2 + i] = (struct pollfd){.fd = u->changing ? -1 : u->clients[i].fd, .events = POLLIN};
    return UPDATES_POLL_MAX;
}

int64_t updates_deadline(const struct updates *u)
{
    int64_t rest = listener_deadline(&u->listener), kept = u->kept_fd < 0 ? 0 : u->kept_until_ns;
    return rest && kept ? MIN(rest, kept) : MAX(rest, kept);
}

void updates_hear(struct updates *u)
{
    for (int i = 0; u->gateway >= 0 && i < LINES_AT_ONCE && read_gateway(u); i++)
        ;
}

/* Clients are dropped, and their places move: none is looked at twice. */
void updates_step(struct updates *u, const struct pollfd *p, size_t count)
{
    for (size_t i = count - 2; i-- > 0;)
        if (p[2 + i].revents)
            read_client(u, i);
    if (p[1].revents)
        admit(u);
    if (p[0].revents)
        updates_hear(u);
    send_kept(u);
}

void updates_gateway_gone(struct updates *u)
{
    updates_hear(u);
    end_gateway(u); /* it may have given its end of the socket away */
}

void updates_drain(struct updates *u, int limit_ms)
{
    int64_t until = now_ns() + limit_ms * NSEC_PER_MSEC, left;
    while (u->gateway >= 0 && (left = (until - now_ns()) / NSEC_PER_MSEC) > 0) {
        struct pollfd p = {.fd = u->gateway, .events = POLLIN};
        if (poll(&p, 1, (int)left) == 1)
            read_gateway(u);
    }
}

void updates_close(struct updates *u)
{
    end_gateway(u);
    listener_close(&u->listener);
    base_closep(&u->document);
    u->document = -1;
    strv_done(&u->env);
    strv_done(&u->next_env);
}

const struct strv *updates_env(const struct updates *u)
{
    return &u->env;
}
