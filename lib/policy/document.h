// SPDX-License-Identifier: Apache-2.0
/*
 * What a policy document says, as data: checked, in canonical form, with every default filled in.
 * It belongs to its policy and is never changed. Lists are pointers with a count; a pointer is NULL
 * where something was not given and has no default. Fields are explained in docs/policy.md.
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/policy/policy.h"

#define POLICY_PATTERN_MAX_BYTES 256 /* of text patterns */
#define POLICY_HEADER_NAME_MAX   64
#define POLICY_HEADER_VALUE_MAX  2048
#define POLICY_LIMIT_NONE        UINT64_MAX
#define POLICY_DECODE_RATIO      100 /* when a document says nothing */
#define POLICY_DECODE_BYTES      (64 << 20)

enum policy_text_kind {
    POLICY_TEXT_EXACT,
    POLICY_TEXT_PREFIX,
    POLICY_TEXT_GLOB, /* '*' stands for any bytes, also none, '/' among them */
};

/* "V": what a path or a value of a query or header field is compared with, byte by byte. */
struct policy_text {
    enum policy_text_kind kind;
    const char *text;
};

struct policy_named_text {
    const char *name; /* of a header field in lower case */
    struct policy_text value;
};

/* The predicate on a request: methods OR, everything else AND. */
struct policy_http {
    const char *const *methods;
    size_t method_count; /* 0: any */
    bool has_path;
    struct policy_text path;
    const struct policy_named_text *queries;
    size_t query_count;
    const struct policy_named_text *headers;
    size_t header_count;
};

struct policy_transform {
    const struct policy_http *match; /* NULL: every request */
    const struct policy_field *set;  /* names in lower case; values may hold ${secret.NAME} */
    size_t set_count;
    const char *const *remove; /* in lower case */
    size_t remove_count;
    const char *basic;                     /* "USER:PASSWORD", may hold ${secret.NAME}; or NULL */
    const struct policy_field *parameters; /* of the query; likewise */
    size_t parameter_count;
    const char *forward_url;
    enum policy_scrub { POLICY_SCRUB_OFF, POLICY_SCRUB_BEST_EFFORT, POLICY_SCRUB_STRICT } scrub;
};

enum policy_tls { POLICY_TLS_AUTO, POLICY_TLS_TERMINATE, POLICY_TLS_PASSTHROUGH };

struct policy_port_range {
    uint16_t first, last;
};

struct policy_address_range {
    struct in6_addr first, last; /* both IPv4 (mapped), or neither */
};

/* Patterns of host names, in canonical form; see docs/policy.md for what they match. */
struct policy_patterns {
    const char **exact; /* sorted */
    size_t exact_count;
    const char **below; /* "*.example.com" and ".example.com", as "example.com"; sorted */
    size_t below_count;
    const char **labels; /* "www.*.com": a '*' is one label */
    size_t label_count;
    const char **globs; /* without the "glob:" */
    size_t glob_count;
    bool any; /* "*" */
};

/* Bits of rule.groups; POLICY_GROUP_DOH is of names too. */
enum policy_group {
    POLICY_GROUP_METADATA,
    POLICY_GROUP_LOOPBACK,
    POLICY_GROUP_UNSPECIFIED,
    POLICY_GROUP_LINK_LOCAL,
    POLICY_GROUP_MULTICAST,
    POLICY_GROUP_BROADCAST,
    POLICY_GROUP_PRIVATE,
    POLICY_GROUP_RESERVED,
    POLICY_GROUP_HOST,
    POLICY_GROUP_PUBLIC,
    POLICY_GROUP_DOH,
    POLICY_GROUP_COUNT,
};

enum policy_to { POLICY_TO_DOMAIN, POLICY_TO_CIDR, POLICY_TO_GROUP, POLICY_TO_ANY };

struct policy_rule {
    const char *id;
    bool is_allow;
    enum policy_to to;
    struct policy_patterns patterns;           /* of DOMAIN */
    const struct policy_address_range *ranges; /* of CIDR: sorted, none touches another */
    size_t range_count;
    unsigned groups;    /* of GROUP: 1 << enum policy_group */
    unsigned protocols; /* 1 << enum policy_protocol; never 0 */
    bool has_protocols; /* the document names them */
    const struct policy_port_range *ports;
    size_t port_count; /* 0: all */
    bool is_pinned;    /* "identity": "pinned" */
    enum policy_tls tls;
    const struct policy_http *http; /* NULL: none */
    bool is_raw;                    /* "l7": "raw" */
    bool allows_connect;            /* "connect": "allow" */
    const struct policy_transform *transforms;
    size_t transform_count;
    const uint16_t *dns_types; /* besides those of struct policy_dns */
    size_t dns_type_count;
    const char *reason;
    unsigned phases; /* 1 << place in the document's; 0: it holds in all */
    const char *const *phase_names;
    size_t phase_name_count;
};

struct policy_hosts_entry {
    const char *name;
    const struct in6_addr *addresses;
    size_t address_count;
};

struct policy_dns {
    bool is_open;                   /* "mode": "open" */
    bool is_virtual;                /* "answer": "virtual" */
    struct policy_net virtual_pool; /* IPv4, /8 to /24 */
    const uint16_t *types;          /* of records that may be asked for */
    size_t type_count;
    uint64_t max_qps, max_unique_names;
    uint64_t ttl_least_s, ttl_most_s; /* of answers as the guest sees them */
    const struct in6_addr *resolvers; /* none: the machine's own ("system") */
    size_t resolver_count;
    const struct policy_hosts_entry *hosts;
    size_t host_count;
};

struct policy_client_cert {
    const char *host; /* pattern-free, canonical */
    const char *cert_ref, *key_ref;
};

struct policy_tls_settings {
    enum policy_tls mode;
    const struct policy_port_range *ports; /* on which TLS is looked for */
    size_t port_count;                     /* 0: all */
    bool installs_ca;
    const char *const *extra_ca_pem;
    size_t extra_ca_count;
    const struct policy_client_cert *client_certs;
    size_t client_cert_count;
    unsigned min_version; /* 0x0303: TLS 1.2, 0x0304: TLS 1.3 */
};

enum policy_secret_source {
    POLICY_SECRET_ENV,
    POLICY_SECRET_FILE,
    POLICY_SECRET_FD,
    POLICY_SECRET_EXEC,
    POLICY_SECRET_LITERAL,
};

enum policy_violation {
    POLICY_VIOLATION_BLOCK,
    POLICY_VIOLATION_BLOCK_LOG,
    POLICY_VIOLATION_TERMINATE,
    POLICY_VIOLATION_PASSTHROUGH,
};

/* What a secret is for. */
enum policy_secret_use {
    POLICY_SECRET_IS_FILLED_IN, /* into requests, in place of its placeholder */
    POLICY_SECRET_SIGNS,        /* requests: "sign" */
    POLICY_SECRET_POSTGRES,     /* logs in to a PostgreSQL server: "postgres" */
    POLICY_SECRET_SSH,          /* logs in by SSH: "ssh" */
};

/* "sign": the secret is the secret access key. */
struct policy_aws {
    enum policy_sign { POLICY_SIGN_AWS_SIGV4 } type;
    const char *access_key_id_ref; /* of other secrets, that are filled in */
    const char *session_token_ref; /* NULL: none */
};

struct policy_postgres {
    const char *user, *database; /* database NULL: any */
    bool has_tls;                /* false: "tls": "off" */
};

/* A public key of a server. */
struct policy_host_key {
    const char *text; /* "TYPE BASE64" */
    const uint8_t *blob;
    size_t blob_size;
};

/* "ssh": the secret is a private key. Its hosts are names in full, its ports single ones. */
struct policy_ssh {
    const char *user;
    const struct policy_host_key *host_keys;
    size_t host_key_count;
};

struct policy_secret {
    const char *name;
    enum policy_secret_use use;
    struct policy_aws aws;           /* of SIGNS */
    struct policy_postgres postgres; /* of POSTGRES */
    struct policy_ssh ssh;           /* of SSH */
    enum policy_secret_source source;
    const char *const *source_words; /* EXEC: the command; others: one word */
    size_t source_word_count;
    const char *placeholder; /* NULL: "auto" */
    const char *const *env;  /* variables of the guest that get the placeholder */
    size_t env_count;
    struct policy_patterns hosts;
    const struct policy_port_range *ports; /* none given: 443, or as its use has it */
    size_t port_count;
    const char *const *methods;
    size_t method_count;
    const struct policy_text *paths; /* for plain ones only: policy_path_is_plain() */
    size_t path_count;
    bool in_headers, in_basic, in_query, in_body;
    enum policy_violation on_violation;
    struct policy_patterns passthrough_hosts;
    bool requires_tls;
    enum policy_scrub scrub;
};

struct policy_upstream {
    enum policy_upstream_type {
        POLICY_UPSTREAM_HTTP,
        POLICY_UPSTREAM_HTTPS,
        POLICY_UPSTREAM_SOCKS5,
    } type;
    struct policy_host host;
    uint16_t port;
    const char *username, *password_ref;
    struct policy_patterns no_proxy;
    bool resolves_remotely; /* needs the operator's permission */
};

/* POLICY_LIMIT_NONE where null may be given and is. */
struct policy_limits {
    uint64_t max_flows, max_new_per_s, max_udp_peers;
    uint64_t bytes_up, bytes_down; /* quotas */
    uint64_t rate_up, rate_down;   /* bytes a second */
    uint64_t connect_timeout_ms, first_flight_ms, nameless_wait_ms, header_timeout_ms;
    uint64_t idle_tcp_s, idle_udp_s, idle_http_s, write_stall_s;
    uint64_t header_bytes, header_count, line_bytes;
    uint64_t decode_ratio, decode_bytes;
};

struct policy_log {
    enum policy_log_level {
        POLICY_LOG_DECISIONS, /* neither ends of flows nor requests that were allowed */
        POLICY_LOG_FLOWS,
        POLICY_LOG_REQUESTS,
    } level;
    bool redacts_query;
    bool drops_when_full; /* "on_full": "drop" */
};

struct policy_ingress {
    bool is_public;
    const char *token_header;
    const char *host_mask; /* NULL: none */
};

struct policy_document {
    const char *const *phases;
    size_t phase_count;
    size_t phase; /* that it is in: the first, until policy_set_phase() */
    bool allows_by_default;
    bool denies_nameless; /* "nameless": "deny" */
    const struct policy_rule *rules;
    size_t rule_count;
    struct policy_dns dns;
    struct policy_tls_settings tls;
    const struct policy_secret *secrets;
    size_t secret_count;
    bool has_secrets;                       /* it says which there are, if none */
    const struct policy_upstream *upstream; /* NULL: none */
    struct policy_limits limits;
    struct policy_log log;
    bool spares_live_flows; /* "on_update": "new_only" */
    bool is_audit;          /* "mode": "audit" */
    struct policy_ingress ingress;
};

/* Whether a rule holds in the phase that the document is in. */
bool policy_rule_holds(const struct policy_document *d, const struct policy_rule *rule);

/* Whether a rule has names in it: a domain rule, or one of the group doh-resolvers. */
bool policy_rule_is_of_names(const struct policy_rule *rule);

/* Whether it is for requests: then who talks to its hosts is looked into. */
bool policy_secret_is_for_requests(const struct policy_secret *secret);

/* Whether it may go to that host, whose name is canonical, and port. */
bool policy_secret_is_for(const struct policy_secret *secret, const char *name, uint16_t port);

/* The first secret that logs in to a PostgreSQL server there. NULL: none does. */
const struct policy_secret *policy_find_postgres(const struct policy_document *d, const char *name,
                                                 uint16_t port);

/* Whether a secret logs in by SSH: then programs have an agent. */
bool policy_has_ssh(const struct policy_document *d);

/* Appends the hosts of such secrets as lines of a known_hosts file (sshd(8)). 0 or -ENOMEM. */
int policy_write_known_hosts(const struct policy_document *d, struct buf *b);

/* Whether one of patterns matches name, which is canonical. */
bool policy_patterns_match(const struct policy_patterns *patterns, const char *name);

bool policy_text_matches(const struct policy_text *t, const char *text, size_t size);

/*
 * Whether a path means the same to everybody who reads it: no "." or ".." among its segments and no
 * empty one, also with parameters behind it ("..;a=b"), no escape of what needs none or of what
 * divides paths, no backslash. One that doesn't satisfies no predicate on paths; a rule that denies
 * by path denies it.
 */
bool policy_path_is_plain(const char *path);

/*
 * http may be NULL, which every request satisfies. Whether the request satisfies it however it is
 * read: all fields and parameters of a name have to, if there are several, and one of them under
 * this very name.
 */
bool policy_http_matches(const struct policy_http *http, const struct policy_request *request);

/* The path (without a query) satisfies it however it is read: none that servers differ about does.
 */
bool policy_path_matches(const struct policy_text *wanted, const char *path);

/*
 * Whether a piece of a query (between two '&') has a parameter of that name in one way to read it:
 * encoded, in capitals, behind a ';', as one of several ("name[]"), as PHP's variables are named.
 */
bool policy_query_could_name(const char *piece, size_t size, const char *name);

/* Whether it satisfies it in one way to read it: one of several does, or an encoded one. */
bool policy_http_could_match(const struct policy_http *http, const struct policy_request *request);

/* The number of a type of DNS record by its name ("AAAA", "TYPE65"); -EINVAL: there is none. */
int policy_dns_type_parse(const char *name, uint16_t *ret);
