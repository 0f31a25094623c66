// SPDX-License-Identifier: Apache-2.0
/*
 * One TCP connection of the sandbox, as flows.c, dial.c and between.c see it; or what one UDP
 * socket exchanges with one peer, which is judged and dialled alike, and always handed over.
 *
 *   CONNECT --judged--+-- denied ---------------------------------------> EACCES
 *                     +-- allowed ---> dial.c --+-- error --------------> that error
 *                     |                         +-- nothing more to see -> handed over: direct
 *                     |                         +-- else ---------+
 *                     +-- takes more evidence --------------------+-> between.c
 *
 * A flow that between.c has judged is handed over too, unless TLS is terminated or requests are
 * looked into; then the gateway stays between it and its peer to its end.
 */
#pragma once

#include "gateway/gateway.h"
#include "gateway/log.h"
#include "gateway/watch.h"
#include "lib/base/list.h"

enum dial_state { DIAL_NOT_YET, DIAL_LOOKING_UP, DIAL_TRYING, DIAL_DONE };

struct lookup;

/* One address that is tried. */
struct attempt {
    struct watch watch; /* no descriptor: none is under way */
    struct flow *flow;
    struct tunnel *tunnel; /* while a proxy is asked */
    size_t candidate;
    int64_t until_ns;
};

struct dial {
    enum dial_state state;
    struct lookup *lookup;
    struct in6_addr candidates[DNS_FOUND_MAX]; /* in the order in which they are tried */
    size_t candidate_count, next, tried;       /* tried: the one begun last, or that is connected */
    struct attempt attempts[2];
    bool has_proxy;
    struct in6_addr proxy; /* where that is */
    const char *trouble;   /* with it, in words; NULL: none */
    int64_t until_ns;
};

struct between;

struct flow {
    struct list link;  /* of all */
    struct list timed; /* of those with a deadline */
    uint64_t id;
    struct policy_flow evidence;
    /* what evidence points to */
    char *names;
    const char **resolved;
    char sni[POLICY_NAME_MAX_BYTES + 1];
    bool is_tls;                          /* as its first bytes were */
    char name[POLICY_NAME_MAX_BYTES + 1]; /* it was allowed by; "": by address */
    char reason[POLICY_REASON_MAX_BYTES];
    const char *login; /* the secret that is logged in, of a document that outlives this; or NULL */
    bool would_deny;
    bool is_counted; /* of UDP, by the kernel: tx and rx */
    uint64_t tx, rx;
    bool is_answered; /* the kernel knows what became of its wish */
    int pid;
    char program[GATEWAY_PROGRAM_MAX + 1];
    struct dial dial;
    struct watch peer;                      /* the connection, when there is one */
    struct between *between;                /* NULL: handed over, or not there yet */
    int64_t since_ns, told_ns, deadline_ns; /* INT64_MAX: none */
};

/* ---- flows.c ---- */

void flow_set_deadline(struct flow *f, int64_t at_ns);

/* At the end of the step its memory goes, and what is open is closed now. */
void flow_bury(struct flow *f);

struct log_entry flow_log_entry(const struct flow *f, const char *event);

/* The address that is or was dialled last; NULL: none. */
const struct in6_addr *flow_dialled(const struct flow *f);

/* Notes an ALLOW. */
void flow_allow(struct flow *f, const struct policy_verdict *v);

/* Ends of a flow before it is open: noted, told, buried. found: addresses that led to it, or NULL.
 */
void flow_deny(struct flow *f, const char *reason, const char *words,
               const struct dns_addresses *found);
void flow_fail(struct flow *f, int error);

/* The peer is there. */
void flow_connected(struct flow *f);

/* Ends of an open one: noted, and closed; */
void flow_close(struct flow *f);

/* cuts both sides off, which are told by a reset. */
void flow_cut(struct flow *f);
void flow_cut_for(struct flow *f, const char *reason);

/* Only the peer's side: it and whoever holds a duplicate hear of a reset. */
void flow_reset_peer(const struct flow *f);

/* ---- dial.c ---- */

void dial_init(struct flow *f);

/*
 * To f->name, each address of which is judged; without one to exactly the address of evidence.
 * By way of the policy's proxy, if it has one for that name: the proxy is asked for the address.
 */
void dial_begin(struct flow *f);
void dial_cancel(struct flow *f);
void dial_on_time(struct flow *f);

/* ---- between.c ---- */

/* Takes the gateway between, and tells the kernel. The peer may be there already, or not. */
void between_begin(struct flow *f);
/* As flow_bury(). */
void between_bury(struct between *b);
void between_reap(void);

/* The peer that it waited for is there. */
void between_connected(struct between *b);

/* It can't be had. False: the program is to be told by a reset. */
bool between_failed(struct between *b, const char *reason, const char *words);

/* The program has closed its socket: what it wrote before still goes out. */
void between_guest_gone(struct between *b);
void between_on_time(struct between *b);

/* It was decided that what it carries is not looked into. */
bool between_passes(const struct between *b);

/* Where a secret is to log in: what is said there does not just pass. */
bool between_is_for_postgres(const struct flow *f, const struct policy_verdict *v);

/* How long what waits to be sent has not got on; 0: nothing waits. */
int64_t between_stalled_ns(const struct between *b);

/* The memory of what waits in it, and in all of them, as of their last runs. */
size_t between_held_bytes(const struct between *b);
size_t between_all_held_bytes(void);

/* What passed, from and to the program. */
void between_count(const struct between *b, struct log_entry *e);
