// SPDX-License-Identifier: Apache-2.0
/*
 * What may leave a sandbox: the policy document (docs/policy.md), read once, and the judgements
 * that follow from it. Nothing here touches the network or knows of sandboxes: whoever carries
 * traffic tells what it has seen of a flow so far, and does what the verdict says.
 *
 * Evidence grows, and each time the flow is judged anew:
 *
 *   S0  a DNS question         policy_judge_query()
 *   S1  connect(2), a datagram policy_judge()  protocol, address, port, and the names that our
 *                                              resolver gave this sandbox for the address
 *   S2  the first bytes        policy_judge()  SNI, or that there is none
 *   S3  each HTTP request      policy_judge()  authority, method, path, header fields
 *   S4  just before dialling   policy_judge_candidate()  for each address that a name gave
 *   S5  a new policy           policy_judge()  with what was kept of each flow
 *
 * The rule that holds it together: a flow is dialled the way it was allowed. What was allowed by
 * name goes where our own look-up of that name says, whatever address the guest used; what was
 * allowed by address goes to exactly that address. Once dialled, a later stage can only turn an
 * allow into a deny.
 *
 * The floor (addresses of the machine, its networks, metadata services; TCP port 25) is closed
 * before any rule. A document can't open it: that needs an operator's exemption, which is a
 * parameter here, and an address rule.
 *
 * A policy is immutable, and judging is a function of its arguments alone: it allocates nothing,
 * keeps nothing, and takes a time that the bounds below bound.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/policy/host.h"
#include "lib/policy/net.h"

#define POLICY_DOCUMENT_MAX_BYTES (256 * 1024)
#define POLICY_RULES_MAX          1000
#define POLICY_SECRETS_MAX        64
#define POLICY_PHASES_MAX         16
#define POLICY_ID_MAX_BYTES       64
#define POLICY_WORDS_MAX_BYTES    200
/* Names of one address that are looked at: the last ones. */
#define POLICY_RESOLVED_MAX 64

struct policy;

/*
 * Why a document was refused: one line "[line L, column C: ]POINTER: REASON; NEXT STEP", without
 * the name of the file. What it quotes of the document is made safe to show.
 */
struct policy_error {
    char text[1024];
    char pointer[256];     /* RFC 6901; "" for the document as a whole; cut when longer */
    unsigned line, column; /* from 1, of the value that is wrong; 0: not known */
};

/*
 * Reads a document: UTF-8 JSON of size bytes. NULL and e when anything in it is not as the language
 * has it, or memory ran out: there is no half of a policy. Free with policy_free(). The first call
 * of a process opens /dev/urandom, as jansson seeds its hashes with it.
 */
struct policy *policy_parse(const char *json, size_t size, struct policy_error *e);

/*
 * Takes the policy to another of its phases; before it is used, as it is immutable after that. 0;
 * -ENOENT: the document has no phase of that name. A document without phases has none.
 */
int policy_set_phase(struct policy *p, const char *name);

/* p may be NULL. */
void policy_free(struct policy *p);

enum policy_protocol { POLICY_TCP, POLICY_UDP, POLICY_ICMP };

/* What is known of a name that a flow may show. */
enum policy_name_state {
    POLICY_NAME_PENDING, /* may still come */
    POLICY_NAME_ABSENT,  /* can't come any more: no TLS, no HTTP, or none in it */
    /*
     * There may be one, and we can't tell: a hello that does not parse. It contradicts no name that
     * the resolver gave. So whoever sees an encrypted hello (ECH) whose outer name isn't the flow's
     * own denies it by itself.
     */
    POLICY_NAME_UNREADABLE,
    POLICY_NAME_LITERAL, /* an address stands in its place: agrees with no name */
    POLICY_NAME_GIVEN,
};

struct policy_name {
    enum policy_name_state state;
    const char *text; /* canonical (host.h) when GIVEN; not looked at else */
};

/* A header field of a request; the name in any case. Neither is NULL; borrowed. */
struct policy_field {
    const char *name, *value;
};

/* The request that is judged. state has the meanings above, LITERAL has none. */
struct policy_request {
    enum policy_name_state state;
    const char *method; /* as it came; compared exactly */
    const char *path;   /* begins with '/' (or is "*"), without the query */
    const char *query;  /* behind the '?'; NULL: there is none */
    const struct policy_field *fields;
    size_t field_count;
};

/*
 * What is known of a flow. All that is pointed to is borrowed, and must live as long as the flow
 * and a verdict on it are used.
 */
struct policy_flow {
    enum policy_protocol protocol;
    uint16_t port; /* 0 for ICMP */
    struct in6_addr address;
    const char *const *resolved; /* N0: canonical names that our resolver gave this sandbox for the
                                  * address; the latest one last */
    size_t resolved_count;
    struct policy_name target;    /* N1: the name in a CONNECT or SOCKS request that we answer */
    struct policy_name sni;       /* N2 */
    struct policy_name authority; /* N3: Host or :authority, without its port */
    struct policy_request request;
};

/* A flow at S1: no target; of TCP, all else pending; of others, none can come. */
struct policy_flow policy_flow_init(enum policy_protocol protocol, const struct in6_addr *address,
                                    uint16_t port);

/* What the operator of the machine says; no document can. All zeros: nothing is exempt. */
struct policy_operator {
    const struct policy_net *exempt; /* of the floor; effective for what an address rule of the
                                      * document allows too. Metadata services: only by networks
                                      * that hold nothing else */
    size_t exempt_count;
    const struct policy_net *host; /* class "host": the machine's own addresses, and those that
                                    * lead to it through a NAT */
    size_t host_count;
    const struct policy_net *broadcast; /* directed broadcast of each attached network */
    size_t broadcast_count;
    const struct policy_net *nat64; /* prefixes of /96 besides 64:ff9b::/96 */
    size_t nat64_count;
    bool allows_smtp; /* TCP port 25 is not part of the floor */
};

enum policy_action { POLICY_DENY, POLICY_ALLOW, POLICY_WAIT };

enum policy_cause {
    POLICY_CAUSE_DEFAULT,       /* no rule matched */
    POLICY_CAUSE_RULE,          /* rule:ID */
    POLICY_CAUSE_BUILTIN,       /* rule:builtin:doh-resolvers, below "default": "allow" */
    POLICY_CAUSE_FLOOR,         /* floor:CLASS: the address that the guest used */
    POLICY_CAUSE_RESOLVED,      /* resolved:CLASS: an address that a name gave */
    POLICY_CAUSE_NAME_CONFLICT, /* names that don't agree; in HTTP 421 */
    POLICY_CAUSE_NAME_MISSING,  /* a name is needed, and none will come */
    POLICY_CAUSE_UNREADABLE,    /* a rule that denies names, and a name that can't be read */
    POLICY_CAUSE_MALFORMED,     /* port 0, a name that is none, an address as SNI */
    POLICY_CAUSE_PROTO,         /* DNS over TLS or QUIC, below "default": "allow" */
    POLICY_CAUSE_PORT,          /* only as struct policy_verdict's near, as the next one */
    POLICY_CAUSE_REQUEST,       /* HTTP is not as the rule asks */
    POLICY_CAUSE_DNS_NAME,      /* no rule could allow the name: NXDOMAIN, and no query upstream */
    POLICY_CAUSE_DNS_TYPE,      /* nor this type of record: an empty answer (NODATA) */
    POLICY_CAUSE_PENDING,       /* of WAIT */
    POLICY_CAUSE_NONE,          /* only as near */
};

enum policy_wait {
    POLICY_WAIT_NOTHING,
    POLICY_WAIT_FIRST_BYTES, /* the SNI, or that there is none */
    POLICY_WAIT_REQUEST,     /* HTTP; of TLS only what is terminated shows it */
};

#define POLICY_REASON_MAX_BYTES (POLICY_ID_MAX_BYTES + 16)

struct policy_verdict {
    enum policy_action action;
    enum policy_cause cause;
    /* The cause as logs have it: "default", "rule:ID", "floor:private", "name_conflict", ... */
    char reason[POLICY_REASON_MAX_BYTES];
    int rule; /* its place in the document, or -1 */
    /*
     * DENY: one line for the guest, the rule's own or a general one; borrowed from the policy. NULL
     * for the others.
     */
    const char *words;
    /*
     * ALLOW: the name to look up and dial, borrowed from the flow; NULL: dial exactly the flow's
     * address.
     */
    const char *name;
    /* ALLOW by name: several names of this address are allowed, and no byte says yet which one. */
    bool is_ambiguous;
    /*
     * ALLOW, WAIT: TLS, when this flow is TLS, is to be terminated here. Where it is not, or where
     * no name is known to do it for, neither authority nor request can come: set them to ABSENT.
     */
    bool terminates_tls;
    enum policy_wait wait; /* WAIT: for what */
    /*
     * The document is in audit mode: the action is what is to be done (ALLOW, to the flow's own
     * address), cause, reason and rule are those of the deny that is only to be logged.
     */
    bool would_deny;
    /*
     * A deny by default: the first allow rule that missed by one thing only (PROTO, PORT,
     * NAME_MISSING, REQUEST), to be named in logs and explanations. NONE and -1 else.
     */
    enum policy_cause near;
    int near_rule;
};

/*
 * Judges a flow with what is known of it (S1, S2, S3, S5). op may be NULL. It is the last
 * stage, so never WAIT, once SNI, authority and request are all not PENDING, or a name is
 * UNREADABLE: at a deadline, set what did not come to ABSENT and judge again.
 */
void policy_judge(const struct policy *p, const struct policy_operator *op,
                  const struct policy_flow *flow, struct policy_verdict *ret);

/*
 * Judges one address that the look-up of name gave, for a flow that was allowed by that name (S4):
 * its protocol and port count, what HTTP rules asked is taken as given. ALLOW: it may be dialled;
 * DENY: leave it out (resolved:CLASS, or a rule). Never WAIT.
 */
void policy_judge_candidate(const struct policy *p, const struct policy_operator *op,
                            const struct policy_flow *flow, const char *name,
                            const struct in6_addr *address, struct policy_verdict *ret);

/*
 * Judges a DNS question (S0): whether it may be asked upstream. name is canonical; type as in RFC
 * 1035 (A is 1). Whether the answer's addresses may be shown is for policy_judge_shown().
 */
void policy_judge_query(const struct policy *p, const char *name, uint16_t type,
                        struct policy_verdict *ret);

#define POLICY_DNS_TYPE_SIZE 16 /* bytes of a name of a type, with its NUL */

/* The name by which policies know a type of DNS record: "TXT", or "TYPE65000" (RFC 3597). */
void policy_dns_type_name(uint16_t type, char ret[static POLICY_DNS_TYPE_SIZE]);

/*
 * Judges an address in an answer before the guest sees it: those in the floor are left out, unless
 * an address rule, whatever its ports and protocols, and the operator open it. ALLOW, or DENY with
 * resolved:CLASS.
 */
void policy_judge_shown(const struct policy *p, const struct policy_operator *op,
                        const struct in6_addr *address, struct policy_verdict *ret);

/*
 * What one rule says of a flow by itself, for explanations. For several resolved names, each of
 * them is meant, as none is the flow's own.
 */
enum policy_answer { POLICY_NO, POLICY_YES, POLICY_UNKNOWN };
enum policy_answer policy_answer(const struct policy *p, const struct policy_operator *op,
                                 const struct policy_flow *flow, int rule);

/* The class of an address: "metadata", "loopback", ..., "host", "public". */
const char *policy_address_class(const struct policy_operator *op, const struct in6_addr *address);

/* False: every flow and every question is denied, so that nobody has to carry any. */
bool policy_allows_anything(const struct policy *p);

/* The rules, and the rest of what the document says: document.h. */
const struct policy_document *policy_get_document(const struct policy *p);
