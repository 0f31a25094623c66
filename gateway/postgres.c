// SPDX-License-Identifier: Apache-2.0
#include "gateway/postgres.h"

#include "gateway/trust.h"
#include "lib/postgres/auth.h"
#include "lib/secret/secrets.h"

#include <stdio.h>
#include <sys/random.h>

#define HELD_BYTES  (64 * 1024) /* plain text of a side that was not looked at */
#define TEXT_BYTES  (64 * 1024) /* plain text for a side */
#define PIECE_BYTES 4096

/* https://www.postgresql.org/docs/current/errcodes-appendix.html */
#define STATE_PROTOCOL   "08P01"
#define STATE_CONNECTION "08001"
#define STATE_NOT_THEIRS "28000"

enum step {
    GUEST_SPEAKS,     /* up to its StartupMessage or CancelRequest */
    SERVER_IS_WANTED, /* by us: it is to be dialled */
    SERVER_ANSWERS,   /* whether it speaks TLS */
    SERVER_GREETS,    /* its TLS begins */
    SERVER_ASKS,      /* who is there */
    OPEN,
    OVER,
};

struct side {
    struct tls_session *tls; /* NULL: none, or none yet */
    struct buf in, out;      /* plain text */
    bool has_ended, is_closed;
};

struct postgres {
    char name[POLICY_NAME_MAX_BYTES + 1];
    uint16_t port;
    void *context;
    void (*log)(void *context, const struct exchange_record *r);
    enum step step;
    bool is_connected, is_broken;
    bool has_gss; /* it was asked for */
    struct side guest, server;
    struct buf packet; /* the guest's, from the last step of it on */
    struct postgres_packet asked;
    const struct policy_document *document; /* secret's; while the guest is logged in */
    struct secrets *secrets;                /* a reference to those that it is of */
    size_t secret;                          /* its place */
    bool has_secret, has_tls;
    struct postgres_auth auth;
    int64_t until_ns;
};

static void set_out(struct side *s)
{
    tls_session_free(s->tls);
    buf_wipe(&s->in);
    buf_wipe(&s->out);
}

struct postgres *postgres_new(const char *name, uint16_t port, void *context,
                              void (*log)(void *context, const struct exchange_record *r))
{
    struct postgres *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    snprintf(p->name, sizeof(p->name), "%s", name);
    p->port = port;
    p->context = context;
    p->log = log;
    p->guest.in = p->server.in = BUF_INIT(HELD_BYTES);
    p->guest.out = p->server.out = BUF_INIT(TEXT_BYTES);
    p->packet = BUF_INIT(POSTGRES_PACKET_MAX_BYTES);
    p->until_ns =
        gateway_now_ns() + (int64_t)gateway.document->limits.first_flight_ms * NSEC_PER_MSEC;
    return p;
}

void postgres_free(struct postgres *p)
{
    if (!p)
        return;
    set_out(&p->guest);
    set_out(&p->server);
    buf_done(&p->packet);
    postgres_auth_end(&p->auth);
    secrets_put(p->secrets);
    free(p);
}

/* ---- ends ---- */

static void note(const struct postgres *p, bool is_allowed, const char *reason)
{
    const char *const names[] = {p->has_secret ? p->document->secrets[p->secret].name : NULL};
    const struct exchange_record r = {
        .is_allowed = is_allowed,
        .reason = reason,
        .secrets = names,
        .secret_count = is_allowed && p->has_secret,
    };
    p->log(p->context, &r);
}

/* The program is told why. */
static void fail(struct postgres *p, const char *reason, const char *state, const char *words)
{
    char text[512];
    if (p->step == OVER)
        return;
    snprintf(text, sizeof(text), "%s (%s)", words, reason);
    p->is_broken = postgres_write_error(&p->guest.out, state, text) < 0;
    p->step = OVER;
    note(p, false, reason);
}

static void refuse(struct postgres *p, const char *words)
{
    fail(p, "malformed", STATE_PROTOCOL, words);
}

void postgres_failed(struct postgres *p, const char *reason, const char *words)
{
    char text[320];
    snprintf(text, sizeof(text), "the server failed: %s", words);
    fail(p, reason, STATE_CONNECTION, text);
}

void postgres_expire(struct postgres *p)
{
    if (p->step == GUEST_SPEAKS)
        fail(p, "limit:first_flight", STATE_PROTOCOL, "the startup packet did not come in time");
    else if (p->step == OVER)
        p->is_broken = true; /* its TLS never came so far that it could be told */
    else
        postgres_failed(p, "upstream", "it did not let anybody in in time");
}

int64_t postgres_deadline_ns(const struct postgres *p)
{
    return p->step == OVER && p->guest.out.size == 0 ? INT64_MAX : p->until_ns;
}

/* ---- the guest ---- */

static bool is_alone(struct postgres *p, const struct postgres_packet *packet)
{
    if (p->guest.in.size == packet->size)
        return true;
    refuse(p, "there is more behind the packet than anybody may say yet");
    return false;
}

static void take_gss(struct postgres *p, const struct postgres_packet *packet)
{
    if (p->has_gss || p->guest.tls) {
        refuse(p, "encryption is asked for twice");
        return;
    }
    p->has_gss = true;
    buf_consume(&p->guest.in, packet->size);
    buf_append_str(&p->guest.out, "N");
}

/* Its answer is not encrypted, so it goes out before TLS begins: to_guest has it already. */
static void take_tls(struct postgres *p, const struct postgres_packet *packet, struct buf *to_guest)
{
    if (p->guest.tls) {
        refuse(p, "encryption is asked for twice");
        return;
    }
    buf_consume(&p->guest.in, packet->size);
    p->guest.tls = tls_session_accept_postgres(trust_authority(), p->name, trust_now_s());
    p->is_broken = !p->guest.tls ||
                   buf_append(to_guest, p->guest.out.data ?: "", p->guest.out.size) < 0 ||
                   buf_append_str(to_guest, "S") < 0;
    buf_reset(&p->guest.out);
}

static bool is_for(const struct policy_secret *s, const struct postgres_packet *asked)
{
    if (asked->kind == POSTGRES_CANCEL)
        return true;
    return !strcmp(s->postgres.user, asked->user) &&
           (!s->postgres.database || !strcmp(s->postgres.database, asked->database));
}

/* The secret for what was asked; false: there is none. */
static bool find_secret(struct postgres *p)
{
    const struct policy_document *d = gateway.document;
    for (size_t i = 0; gateway.secrets && i < d->secret_count; i++) {
        const struct policy_secret *s = &d->secrets[i];
        if (s->use != POLICY_SECRET_POSTGRES || !policy_secret_is_for(s, p->name, p->port) ||
            !is_for(s, &p->asked))
            continue;
        p->document = d;
        p->secrets = secrets_get(gateway.secrets);
        p->secret = i;
        p->has_secret = p->asked.kind == POSTGRES_STARTUP;
        p->has_tls = s->postgres.has_tls;
        return true;
    }
    return false;
}

static void begin_with_server(struct postgres *p);

/* What it wants is known. */
static void take_wish(struct postgres *p, const struct postgres_packet *packet)
{
    const char *why;
    if (buf_append(&p->packet, p->guest.in.data, packet->size) < 0 ||
        postgres_packet_parse(p->packet.data, p->packet.size, &p->asked, &why) != 1) {
        p->is_broken = true;
        return;
    }
    buf_consume(&p->guest.in, packet->size);
    if (p->asked.replication)
        fail(p, "secret_violation", STATE_NOT_THEIRS,
             "the password of this sandbox is not for replication");
    else if (!find_secret(p))
        fail(p, "secret_violation", STATE_NOT_THEIRS,
             "this sandbox has no password for that user and database");
    else
        begin_with_server(p);
}

static bool guest_step(struct postgres *p, struct buf *to_guest)
{
    struct postgres_packet packet;
    const char *why;
    int r = postgres_packet_parse(p->guest.in.data, p->guest.in.size, &packet, &why);
    if (r < 0)
        refuse(p, why);
    if (r <= 0 || !is_alone(p, &packet))
        return r < 0;
    switch (packet.kind) {
    case POSTGRES_ASKS_GSS:
        take_gss(p, &packet);
        return true;
    case POSTGRES_ASKS_TLS:
        take_tls(p, &packet, to_guest);
        return true;
    case POSTGRES_CANCEL:
    case POSTGRES_STARTUP:
        break;
    }
    take_wish(p, &packet);
    return true;
}

/* ---- the server ---- */

static void begin_asking(struct postgres *p)
{
    unsigned char random[18];
    if (p->asked.kind == POSTGRES_CANCEL) {
        p->is_broken |= buf_append(&p->server.out, p->packet.data, p->packet.size) < 0;
        p->step = OPEN;
        note(p, true, "cancel");
        return;
    }
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random) ||
        postgres_write_startup(&p->server.out, &p->asked) < 0) {
        p->is_broken = true;
        return;
    }
    postgres_auth_begin(&p->auth, p->asked.user, p->has_tls, random);
    p->step = SERVER_ASKS;
}

static void begin_with_server(struct postgres *p)
{
    p->until_ns =
        gateway_now_ns() + (int64_t)gateway.document->limits.connect_timeout_ms * NSEC_PER_MSEC;
    p->step = SERVER_IS_WANTED;
    if (!p->is_connected)
        return;
    if (!p->has_tls) {
        begin_asking(p);
        return;
    }
    p->is_broken |= postgres_write_tls_request(&p->server.out) < 0;
    p->step = SERVER_ANSWERS;
}

void postgres_connected(struct postgres *p)
{
    p->is_connected = true;
    if (p->step == SERVER_IS_WANTED)
        begin_with_server(p);
}

bool postgres_wants_server(const struct postgres *p)
{
    return p->step == SERVER_IS_WANTED && !p->is_connected;
}

/* One byte, and what comes behind it is not what TLS protects. */
static bool take_answer(struct postgres *p)
{
    if (p->server.in.size == 0)
        return false;
    if (p->server.in.data[0] != 'S' || p->server.in.size > 1) {
        postgres_failed(p, "upstream_tls",
                        p->server.in.data[0] == 'N' ? "it does not speak TLS, which this policy "
                                                      "wants"
                                                    : "it says what is no answer to a request for "
                                                      "TLS");
        return true;
    }
    buf_consume(&p->server.in, 1);
    p->step = SERVER_GREETS;
    if (trust_roots())
        p->server.tls = tls_session_connect_postgres(
            trust_roots(), p->name, gateway.document->tls.min_version, trust_now_s());
    if (!p->server.tls)
        postgres_failed(p, "upstream_tls", "this machine has no roots; install ca-certificates");
    return true;
}

static bool take_greeting(struct postgres *p)
{
    enum tls_progress progress = tls_session_progress(p->server.tls);
    if (progress == TLS_HANDSHAKE)
        return false;
    const char *why = tls_session_error(p->server.tls);
    if (progress == TLS_OPEN)
        begin_asking(p);
    else
        postgres_failed(p, "upstream_tls", why[0] ? why : "it ended the TLS handshake");
    return true;
}

static void take_request(struct postgres *p, const struct postgres_message *m)
{
    const char *why = "no memory";
    size_t size;
    const char *password = secrets_value(p->secrets, p->secret, &size);
    int r =
        postgres_auth_take(&p->auth, m->body, m->body_size, password, size, &p->server.out, &why);
    if (r < 0) {
        buf_wipe(&p->server.out);
        postgres_failed(p, "upstream", why);
    } else if (r == 1) {
        p->is_broken |= postgres_write_message(&p->guest.out, 'R', m->body, m->body_size) < 0;
        p->step = OPEN;
        note(p, true, "login");
    }
}

/* The server's own words, which may be about the password that it was told. */
static int write_scrubbed(struct postgres *p, const struct postgres_message *m)
{
    const struct secrets_request request = {
        .host = p->name, .port = p->port, .method = "", .path = "", .is_verified_tls = p->has_tls};
    struct buf body = BUF_INIT(2 * POSTGRES_MESSAGE_MAX_BYTES);
    struct secrets_exchange x;
    struct secrets_scrub scrub;
    secrets_begin(&x, p->secrets, &request);
    secrets_scrub_begin(&scrub, &x);
    int e = secrets_scrub_take(&scrub, m->body, m->body_size, &body);
    if (e == 0)
        e = secrets_scrub_end(&scrub, &body);
    if (e == 0)
        e = postgres_write_message(&p->guest.out, m->type, body.data ?: "", body.size);
    secrets_end(&x);
    buf_done(&body);
    return e;
}

static void take_error(struct postgres *p, const struct postgres_message *m)
{
    p->is_broken |= write_scrubbed(p, m) < 0;
    p->step = OVER;
    note(p, false, "upstream");
}

static bool server_step(struct postgres *p)
{
    struct postgres_message m;
    const char *why;
    if (p->guest.in.size > 0) {
        refuse(p, "the program says more than it was asked for");
        return true;
    }
    int r = postgres_message_parse(p->server.in.data, p->server.in.size, &m, &why);
    if (r < 0)
        postgres_failed(p, "upstream", why);
    if (r <= 0)
        return r < 0;
    if (m.type == 'R')
        take_request(p, &m);
    else if (m.type == 'E')
        take_error(p, &m);
    else if (m.type != 'N') /* a notice tells nothing that anybody waits for */
        postgres_failed(p, "upstream", "it says what nobody has asked for yet");
    buf_consume(&p->server.in, m.size);
    return true;
}

/* ---- bytes ---- */

static size_t room(const struct side *s)
{
    if (s->has_ended || s->in.size >= HELD_BYTES / 2)
        return 0;
    return s->tls ? tls_session_room(s->tls) : HELD_BYTES / 2 - s->in.size;
}

size_t postgres_guest_room(const struct postgres *p)
{
    return p->step == OPEN ? 0 : room(&p->guest);
}

size_t postgres_server_room(const struct postgres *p)
{
    return p->step >= OPEN ? 0 : room(&p->server);
}

static void take(struct side *s, const void *data, size_t size)
{
    size_t taken;
    if (s->tls)
        tls_session_take(s->tls, data, size, &taken);
    else
        buf_append(&s->in, data, size);
}

void postgres_from_guest(struct postgres *p, const void *data, size_t size)
{
    take(&p->guest, data, size);
}

/* Before anybody has asked a server it has nothing to say. */
void postgres_from_server(struct postgres *p, const void *data, size_t size)
{
    if (p->step == GUEST_SPEAKS || p->step == SERVER_IS_WANTED)
        postgres_failed(p, "upstream", "it spoke first, which no PostgreSQL does");
    else
        take(&p->server, data, size);
}

static void end(struct side *s)
{
    s->has_ended = true;
    if (s->tls)
        tls_session_end(s->tls);
}

void postgres_guest_ended(struct postgres *p)
{
    end(&p->guest);
    if (p->step < OPEN)
        p->is_broken = true; /* nobody is there to be told */
}

void postgres_server_ended(struct postgres *p)
{
    end(&p->server);
}

static bool decrypt(struct side *s)
{
    char piece[PIECE_BYTES];
    bool has_moved = false;
    size_t n;
    while (s->tls && s->in.size < HELD_BYTES / 2 &&
           (n = tls_session_read(s->tls, piece, sizeof(piece))) > 0) {
        buf_append(&s->in, piece, n);
        has_moved = true;
    }
    return has_moved;
}

static bool send_text(struct side *s, struct buf *out)
{
    const uint8_t *data;
    size_t size = s->out.size;
    if (s->tls)
        size = tls_session_write(s->tls, s->out.data, size);
    else if (size > 0)
        buf_append(out, s->out.data, size);
    /* It may have been the password. */
    if (size > 0 && size == s->out.size)
        buf_wipe(&s->out);
    else
        buf_consume(&s->out, size);
    if (!s->tls)
        return size > 0;
    tls_session_pending(s->tls, &data, &size);
    if (size > 0 && buf_append(out, data, size) == 0)
        tls_session_sent(s->tls, size);
    return size > 0;
}

static bool step(struct postgres *p, struct buf *to_guest)
{
    switch (p->step) {
    case GUEST_SPEAKS:
        return guest_step(p, to_guest);
    case SERVER_ANSWERS:
        return take_answer(p);
    case SERVER_GREETS:
        return take_greeting(p);
    case SERVER_ASKS:
        return server_step(p);
    case SERVER_IS_WANTED:
    case OPEN:
    case OVER:
        break;
    }
    return false;
}

/* A guest whose TLS has failed can't be told, nor a side that is gone. */
static void look_at_ends(struct postgres *p)
{
    bool is_heard = !p->guest.tls || tls_session_progress(p->guest.tls) <= TLS_OPEN;
    if (!is_heard)
        p->is_broken = true;
    else if (p->server.has_ended && p->step < OPEN)
        postgres_failed(p, "upstream", "it ended the connection");
    if (p->step == OVER)
        buf_reset(&p->guest.in); /* nobody reads it any more */
    if (p->step != OVER || !p->guest.tls || p->guest.out.size > 0 || p->guest.is_closed)
        return;
    p->guest.is_closed = true;
    tls_session_close(p->guest.tls);
}

void postgres_run(struct postgres *p, struct buf *to_guest, struct buf *to_server)
{
    bool has_moved = true;
    while (has_moved && !p->is_broken && p->step != OPEN) {
        has_moved = decrypt(&p->guest) | decrypt(&p->server);
        has_moved |= step(p, to_guest);
        has_moved |= send_text(&p->guest, to_guest);
        if (p->step != OVER)
            has_moved |= send_text(&p->server, to_server);
    }
    if (p->step == OPEN && !p->is_broken) {
        send_text(&p->guest, to_guest);
        send_text(&p->server, to_server);
        return;
    }
    look_at_ends(p);
    send_text(&p->guest, to_guest);
    p->is_broken |= p->guest.in.failed || p->server.in.failed || p->guest.out.failed ||
                    p->server.out.failed || to_guest->failed || to_server->failed;
}

enum postgres_progress postgres_progress(const struct postgres *p)
{
    if (p->is_broken)
        return POSTGRES_IS_BROKEN;
    if (p->step == OPEN)
        return POSTGRES_IS_OPEN;
    return p->step == OVER && p->guest.out.size == 0 ? POSTGRES_IS_OVER : POSTGRES_GOES_ON;
}

bool postgres_is_cancel(const struct postgres *p)
{
    return p->asked.kind == POSTGRES_CANCEL;
}

static bool give_up(struct side *s, struct tls_session **ret_tls, struct buf *ret_plain)
{
    *ret_tls = s->tls;
    *ret_plain = s->in;
    s->tls = NULL;
    s->in = BUF_INIT(0);
    return s->has_ended;
}

bool postgres_take_guest(struct postgres *p, struct tls_session **ret_tls, struct buf *ret_plain)
{
    return give_up(&p->guest, ret_tls, ret_plain);
}

bool postgres_take_server(struct postgres *p, struct tls_session **ret_tls, struct buf *ret_plain)
{
    return give_up(&p->server, ret_tls, ret_plain);
}
