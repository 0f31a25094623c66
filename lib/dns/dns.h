// SPDX-License-Identifier: Apache-2.0
/*
 * DNS messages, RFC 1035, as far as a forwarder needs them that answers its client itself: it takes
 * a query apart, reads the addresses or other records out of an upstream's answer, and writes an
 * answer of its own. No message is ever passed on.
 *
 * Both kinds of message come from strangers. Names are bounded, pointers of compression only lead
 * backwards, nothing is allocated, and what is not understood makes the message malformed.
 */
#pragma once

#include "lib/base/base.h"

#include <netinet/in.h>

#define DNS_HEADER_BYTES   12
#define DNS_NAME_MAX_BYTES 255                     /* of text, with room for its NUL */
#define DNS_ADDRESSES_MAX  16                      /* of one answer: further ones are left out */
#define DNS_FOUND_MAX      (2 * DNS_ADDRESSES_MAX) /* of both families */
#define DNS_CHAIN_MAX      16                      /* aliases (CNAME) that are followed */
#define DNS_ANSWER_MAX     4096 /* bytes of an answer that dns_answer_write() makes */
#define DNS_RECORDS_MAX    64   /* of an answer with other records than addresses */

/* TYPE, CLASS, RCODE */
enum {
    DNS_TYPE_A = 1,
    DNS_TYPE_CNAME = 5,
    DNS_TYPE_NULL = 10,
    DNS_TYPE_AAAA = 28,
    DNS_TYPE_OPT = 41,
    DNS_TYPE_SVCB = 64,
    DNS_TYPE_HTTPS = 65,
};
enum { DNS_CLASS_IN = 1 };
enum {
    DNS_NOERROR = 0,
    DNS_FORMERR = 1,
    DNS_SERVFAIL = 2,
    DNS_NXDOMAIN = 3,
    DNS_NOTIMPL = 4,
    DNS_REFUSED = 5,
};

/* Of "extended DNS errors", RFC 8914. */
#define DNS_EDE_BLOCKED 15

struct dns_query {
    uint16_t id;
    bool wants_recursion;
    char name[DNS_NAME_MAX_BYTES]; /* as text: labels with dots between, as it came; "" for the root
                                    */
    uint16_t type, class;
    size_t question_size; /* bytes behind the header that are the question */
    bool has_edns;        /* EDNS, RFC 6891 */
    uint16_t udp_size;    /* of an answer, that it says there is room for; 0: it doesn't say */
};

/*
 * Takes a query apart. 0; -EBADMSG: nothing that can be answered; or a positive DNS_ code to answer
 * with: then id, wants_recursion and question_size (0: none) are set.
 *
 * A label with a dot, a NUL or a byte above 0x7e in it is DNS_FORMERR: as text it would be another
 * name.
 */
int dns_query_parse(const uint8_t *message, size_t size, struct dns_query *ret);

struct dns_address {
    struct in6_addr address; /* IPv4: a mapped one */
    uint32_t ttl;            /* seconds; of the whole chain the least */
};

struct dns_addresses {
    int rcode;
    size_t count;
    struct dns_address list[DNS_FOUND_MAX];
};

/*
 * The addresses (records of type, A or AAAA) of name in an upstream's answer: those of the name at
 * the end of the chain of aliases that begins with it, and no others, whatever else is in the
 * message. A record AAAA that holds an IPv4 address is left out: it would be one of the other
 * family. 0 or -EBADMSG.
 */
int dns_addresses_parse(const uint8_t *message, size_t size, const char *name, uint16_t type,
                        struct dns_addresses *ret);

/* Whether dns_records_parse() takes the type: no addresses, NULL, questions (ANY, AXFR) or OPT. */
bool dns_type_is_copied(uint16_t type);

struct dns_records_wanted {
    const char *name;
    uint16_t type;
    /* Whether a client could get to the target of an SVCB or HTTPS record. Needed for those. */
    bool (*is_target_allowed)(const char *name);
};

struct dns_record {
    uint32_t ttl;        /* seconds; of the whole chain the least */
    uint16_t data, size; /* where in bytes, with nothing compressed */
};

struct dns_records {
    int rcode;
    size_t count;
    struct dns_record list[DNS_RECORDS_MAX];
    uint8_t bytes[DNS_ANSWER_MAX];
};

/*
 * The records of one type in an upstream's answer, of the name at the end of the chain of aliases
 * as above (for CNAME: of the name itself), taken apart and written anew. Names in data have labels
 * of printable bytes only. Of a type that is not known here the data is bytes.
 *
 * SVCB and HTTPS, RFC 9460: without ech, ipv4hint, ipv6hint, and the ids of HTTP/3 in alpn. A
 * record is left out when one of those is mandatory for it, when no protocol remains, or when its
 * target is not allowed.
 *
 * 0; -EBADMSG; -EMSGSIZE: more than an answer of ours can hold. On failure *ret is not defined.
 */
int dns_records_parse(const uint8_t *message, size_t size, const struct dns_records_wanted *wanted,
                      struct dns_records *ret);

struct dns_answer {
    int rcode;
    bool is_stream; /* it goes over TCP */
    const struct dns_records *records;
    const struct dns_address *addresses; /* instead; as many as fit are written */
    size_t address_count;
    const char *blocked; /* why, in words, for an extended error; NULL: none */
};

/*
 * Writes the answer to a query that `query` (the message) and q (what dns_query_parse() made of it)
 * are. The number of bytes: as many as the client takes in a datagram (RFC 6891, 6.2.5), over a
 * stream DNS_ANSWER_MAX. When not all of the records fit, there is none: a datagram says that it
 * is cut (TC), so that the client comes back over TCP, and a stream says SERVFAIL.
 */
size_t dns_answer_write(const uint8_t *query, const struct dns_query *q, const struct dns_answer *a,
                        uint8_t ret[DNS_ANSWER_MAX]);
