// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of a document that are about all flows, and what holds when it doesn't say.
 */
#include "lib/policy/reader.h"

#define ADDRESSES_MAX    64
#define HOSTS_MAX        1000
#define RESOLVERS_MAX    8
#define PEM_MAX          16
#define PEM_MAX_BYTES    (32 * 1024)
#define CERTS_MAX        64
#define REFERENCE_MAX    255
#define POOL_LEAST_BITS  (96 + 8)
#define POOL_MOST_BITS   (96 + 24)
#define TTL_MOST_S       86400
#define MILLISECONDS_MAX 3600000
#define SECONDS_MAX      604800
#define BYTES_MAX        ((uint64_t)1 << 53)
#define COUNT_MAX        1000000

static int take_address(struct reader *r, json_t *value, void *element)
{
    struct policy_net net;
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    if (strchr(text, '/') || policy_net_parse(text, strlen(text), &net) < 0)
        return reader_fail(r, "is no address; write one as \"192.0.2.1\" or \"2001:db8::1\"");
    *(struct in6_addr *)element = net.address;
    return 0;
}

static int read_pool(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                     void *field)
{
    struct policy_net net;
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    if (policy_net_parse(text, strlen(text), &net) < 0 || !IN6_IS_ADDR_V4MAPPED(&net.address) ||
        net.prefix_bits < POOL_LEAST_BITS || net.prefix_bits > POOL_MOST_BITS)
        return reader_fail(r, "is no IPv4 network of /8 to /24; write one as \"198.18.0.0/15\"");
    *(struct policy_net *)field = net;
    return 0;
}

static int read_types(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                      void *field)
{
    struct policy_dns *dns = field;
    return reader_take_dns_types(r, value, &dns->types, &dns->type_count);
}

static const struct reader_bounds ttl_bounds = {0, TTL_MOST_S, false};
static const struct reader_field ttl_field = {.more = &ttl_bounds};

static int read_ttl(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                    void *field)
{
    struct policy_dns *dns = field;
    uint64_t least, most;
    if (json_array_size(value) != 2 ||
        reader_number(r, json_array_get(value, 0), &ttl_field, &least) < 0 ||
        reader_number(r, json_array_get(value, 1), &ttl_field, &most) < 0 || least > most)
        return reader_fail(r, "is not [LEAST, MOST] in seconds, of at most %d; write [30, 300]",
                           TTL_MOST_S);
    dns->ttl_least_s = least;
    dns->ttl_most_s = most;
    return 0;
}

static int read_resolvers(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                          void *field)
{
    struct policy_dns *dns = field;
    void *list = NULL;
    const char *first = json_string_value(json_array_get(value, 0));
    if (json_array_size(value) == 1 && first && !strcmp(first, "system"))
        return 0;
    int result = reader_list(
        r, value,
        &(struct reader_elements){1, RESOLVERS_MAX, sizeof(*dns->resolvers), take_address}, &list,
        &dns->resolver_count);
    dns->resolvers = list;
    return result;
}

/* A key that is a host name, in canonical form. */
static int take_host_key(struct reader *r, const char *key, const char **ret)
{
    struct policy_host host;
    const char *why = "";
    int result = policy_host_parse(key, strlen(key), &host, &why);
    if (result == -EINVAL)
        return reader_fail(r, "as a host name %s; write one as \"example.com\"", why);
    if (result == 0 && host.kind == POLICY_HOST_ADDRESS)
        return reader_fail(r, "is an address; write a host name");
    char *name = result < 0 ? NULL : arena_copy(r->arena, host.name, strlen(host.name));
    if (!name)
        return reader_no_memory(r);
    *ret = name;
    return 0;
}

static int take_hosts_entry(struct reader *r, const char *key, json_t *value,
                            struct policy_hosts_entry *ret)
{
    void *list = NULL;
    size_t before = reader_enter(r, key);
    int result = take_host_key(r, key, &ret->name);
    if (result == 0)
        result = reader_list(
            r, value,
            &(struct reader_elements){1, ADDRESSES_MAX, sizeof(*ret->addresses), take_address},
            &list, &ret->address_count);
    ret->addresses = list;
    if (result == 0)
        reader_leave(r, before);
    return result;
}

static int read_hosts(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                      void *field)
{
    struct policy_dns *dns = field;
    const char *key;
    json_t *member;
    if (!json_is_object(value) || json_object_size(value) > HOSTS_MAX)
        return reader_fail(r,
                           "is not an object of at most %d names; write {\"NAME\": "
                           "[\"ADDRESS\"]}",
                           HOSTS_MAX);
    struct policy_hosts_entry *list = arena_new(r->arena, json_object_size(value), sizeof(*list));
    if (!list)
        return reader_no_memory(r);
    json_object_foreach(value, key, member)
    {
        int result = take_hosts_entry(r, key, member, &list[dns->host_count]);
        if (result < 0)
            return result;
        dns->host_count++;
    }
    dns->hosts = list;
    return 0;
}

static const char *const dns_modes[] = {"policy", "open"};
static const char *const dns_answers[] = {"pinned", "virtual"};
static const struct reader_bounds rate_bounds = {1, COUNT_MAX, false};

int reader_dns(struct reader *r, json_t *value, const struct reader_field *f _unused_, void *field)
{
    static const struct reader_field fields[] = {
        {"mode", reader_either, offsetof(struct policy_dns, is_open), dns_modes, false},
        {"answer", reader_either, offsetof(struct policy_dns, is_virtual), dns_answers, false},
        READER_FIELD(policy_dns, virtual_pool, read_pool, NULL),
        {"types", read_types, 0, NULL, false},
        READER_FIELD(policy_dns, max_qps, reader_number, &rate_bounds),
        READER_FIELD(policy_dns, max_unique_names, reader_number, &rate_bounds),
        {"ttl_shown", read_ttl, 0, NULL, false},
        {"resolvers", read_resolvers, 0, NULL, false},
        {"hosts", read_hosts, 0, NULL, false},
        {0},
    };
    return reader_object(r, value, fields, field);
}

static int read_tls_ports(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                          void *field)
{
    struct policy_tls_settings *tls = field;
    if (json_is_string(value) && !strcmp(json_string_value(value), "any"))
        return 0;
    return reader_take_ports(r, value, &tls->ports, &tls->port_count);
}

static int take_pem(struct reader *r, json_t *value, void *element)
{
    static const char start[] = "-----BEGIN CERTIFICATE-----";
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    size_t size = strlen(text);
    if (strncmp(text, start, strlen(start)) || size > PEM_MAX_BYTES)
        return reader_fail(r,
                           "is no certificate in PEM of at most %d bytes; write what begins with "
                           "%s",
                           PEM_MAX_BYTES, start);
    *(const char **)element = arena_copy(r->arena, text, size);
    return *(const char **)element ? 0 : reader_no_memory(r);
}

static int read_pems(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                     void *field)
{
    struct policy_tls_settings *tls = field;
    void *list = NULL;
    int result =
        reader_list(r, value, &(struct reader_elements){0, PEM_MAX, sizeof(char *), take_pem},
                    &list, &tls->extra_ca_count);
    tls->extra_ca_pem = list;
    return result;
}

static const struct reader_sizes reference_sizes = {1, REFERENCE_MAX};

static int take_client_cert(struct reader *r, const char *key, json_t *value,
                            struct policy_client_cert *ret)
{
    static const struct reader_field fields[] = {
        {"cert_ref", reader_text, offsetof(struct policy_client_cert, cert_ref), &reference_sizes,
         true},
        {"key_ref", reader_text, offsetof(struct policy_client_cert, key_ref), &reference_sizes,
         true},
        {0},
    };
    size_t before = reader_enter(r, key);
    int result = take_host_key(r, key, &ret->host);
    if (result == 0)
        result = reader_object(r, value, fields, ret);
    if (result == 0)
        reader_leave(r, before);
    return result;
}

static int read_client_certs(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                             void *field)
{
    struct policy_tls_settings *tls = field;
    const char *key;
    json_t *member;
    if (!json_is_object(value) || json_object_size(value) > CERTS_MAX)
        return reader_fail(r,
                           "is not an object of at most %d names; write {\"NAME\": "
                           "{\"cert_ref\": \"...\", \"key_ref\": \"...\"}}",
                           CERTS_MAX);
    struct policy_client_cert *list = arena_new(r->arena, json_object_size(value), sizeof(*list));
    if (!list)
        return reader_no_memory(r);
    json_object_foreach(value, key, member)
    {
        int result = take_client_cert(r, key, member, &list[tls->client_cert_count]);
        if (result < 0)
            return result;
        tls->client_cert_count++;
    }
    tls->client_certs = list;
    return 0;
}

int reader_tls(struct reader *r, json_t *value, const struct reader_field *f _unused_, void *field)
{
    static const struct reader_word versions[] = {{"1.2", 0x0303}, {"1.3", 0x0304}, {0}};
    static const struct reader_field fields[] = {
        READER_FIELD(policy_tls_settings, mode, reader_choice, reader_tls_words),
        {"ports", read_tls_ports, 0, NULL, false},
        {"install_ca", reader_bool, offsetof(struct policy_tls_settings, installs_ca), NULL, false},
        {"extra_ca_pem", read_pems, 0, NULL, false},
        {"client_certs", read_client_certs, 0, NULL, false},
        READER_FIELD(policy_tls_settings, min_version, reader_choice, versions),
        {0},
    };
    return reader_object(r, value, fields, field);
}

static const struct reader_bounds counts = {1, COUNT_MAX, false};
static const struct reader_bounds milliseconds = {1, MILLISECONDS_MAX, false};
static const struct reader_bounds seconds = {1, SECONDS_MAX, false};
static const struct reader_bounds quota = {0, BYTES_MAX, true};
static const struct reader_bounds rate = {1, BYTES_MAX, true};
static const struct reader_bounds header_bytes = {1024, 1 << 20, false};
static const struct reader_bounds header_count = {1, 1000, false};
static const struct reader_bounds line_bytes = {256, 1 << 16, false};
static const struct reader_bounds decode_bytes = {1024, 1 << 30, false};

int reader_limits(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                  void *field)
{
    static const struct reader_field fields[] = {
        READER_FIELD(policy_limits, max_flows, reader_number, &counts),
        READER_FIELD(policy_limits, max_new_per_s, reader_number, &counts),
        READER_FIELD(policy_limits, max_udp_peers, reader_number, &counts),
        READER_FIELD(policy_limits, bytes_up, reader_number, &quota),
        READER_FIELD(policy_limits, bytes_down, reader_number, &quota),
        READER_FIELD(policy_limits, rate_up, reader_number, &rate),
        READER_FIELD(policy_limits, rate_down, reader_number, &rate),
        READER_FIELD(policy_limits, connect_timeout_ms, reader_number, &milliseconds),
        READER_FIELD(policy_limits, first_flight_ms, reader_number, &milliseconds),
        READER_FIELD(policy_limits, nameless_wait_ms, reader_number, &milliseconds),
        READER_FIELD(policy_limits, header_timeout_ms, reader_number, &milliseconds),
        READER_FIELD(policy_limits, idle_tcp_s, reader_number, &seconds),
        READER_FIELD(policy_limits, idle_udp_s, reader_number, &seconds),
        READER_FIELD(policy_limits, idle_http_s, reader_number, &seconds),
        READER_FIELD(policy_limits, write_stall_s, reader_number, &seconds),
        READER_FIELD(policy_limits, header_bytes, reader_number, &header_bytes),
        READER_FIELD(policy_limits, header_count, reader_number, &header_count),
        READER_FIELD(policy_limits, line_bytes, reader_number, &line_bytes),
        READER_FIELD(policy_limits, decode_ratio, reader_number, &header_count),
        READER_FIELD(policy_limits, decode_bytes, reader_number, &decode_bytes),
        {0},
    };
    return reader_object(r, value, fields, field);
}

int reader_log(struct reader *r, json_t *value, const struct reader_field *f _unused_, void *field)
{
    static const struct reader_word levels[] = {
        {"decisions", POLICY_LOG_DECISIONS},
        {"flows", POLICY_LOG_FLOWS},
        {"requests", POLICY_LOG_REQUESTS},
        {0},
    };
    static const char *const on_full[] = {"block", "drop"};
    static const struct reader_field fields[] = {
        READER_FIELD(policy_log, level, reader_choice, levels),
        {"redact_query", reader_bool, offsetof(struct policy_log, redacts_query), NULL, false},
        {"on_full", reader_either, offsetof(struct policy_log, drops_when_full), on_full, false},
        {0},
    };
    return reader_object(r, value, fields, field);
}

static int read_header_name(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                            void *field)
{
    if (!json_is_string(value))
        return reader_fail(r, "is not a text; write the name of a header field in quotes");
    return reader_take_header_name(r, json_string_value(value), field);
}

static int read_host_mask(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                          void *field)
{
    if (json_is_null(value)) {
        *(const char **)field = NULL;
        return 0;
    }
    return reader_take_text(r, value, 1, REFERENCE_MAX, field);
}

int reader_ingress(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                   void *field)
{
    static const struct reader_field fields[] = {
        {"public", reader_bool, offsetof(struct policy_ingress, is_public), NULL, false},
        READER_FIELD(policy_ingress, token_header, read_header_name, NULL),
        READER_FIELD(policy_ingress, host_mask, read_host_mask, NULL),
        {0},
    };
    return reader_object(r, value, fields, field);
}

/* A, AAAA, CNAME, HTTPS, SVCB */
static const uint16_t default_types[] = {1, 28, 5, 65, 64};

void reader_set_defaults(struct policy_document *d)
{
    *d = (struct policy_document){
        .dns =
            {
                .virtual_pool = {.address.s6_addr = {[10] = 0xff, [11] = 0xff, 198, 18},
                                 .prefix_bits = 96 + 15},
                .types = default_types,
                .type_count = ARRAY_SIZE(default_types),
                .max_qps = 50,
                .max_unique_names = 1000,
                .ttl_least_s = 30,
                .ttl_most_s = 300,
            },
        .tls = {.installs_ca = true, .min_version = 0x0303},
        .limits =
            {
                .max_flows = 1024,
                .max_new_per_s = 100,
                .max_udp_peers = 64,
                .bytes_up = POLICY_LIMIT_NONE,
                .bytes_down = POLICY_LIMIT_NONE,
                .rate_up = POLICY_LIMIT_NONE,
                .rate_down = POLICY_LIMIT_NONE,
                .connect_timeout_ms = 10000,
                .first_flight_ms = 10000,
                .nameless_wait_ms = 300,
                .header_timeout_ms = 10000,
                .idle_tcp_s = 3600,
                .idle_udp_s = 60,
                .idle_http_s = 120,
                .write_stall_s = 60,
                .header_bytes = 65536,
                .header_count = 100,
                .line_bytes = 8192,
                .decode_ratio = POLICY_DECODE_RATIO,
                .decode_bytes = POLICY_DECODE_BYTES,
            },
        .log = {.level = POLICY_LOG_REQUESTS, .redacts_query = true},
        .ingress = {.is_public = true, .token_header = "e2b-traffic-access-token"},
    };
}
