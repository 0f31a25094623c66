// SPDX-License-Identifier: Apache-2.0
/*
 * Inside lib/dns: a message, read from its beginning to its end, and written. Every function that
 * reads says false for what is malformed, and then the reader is of no more use.
 */
#pragma once

#include "lib/dns/dns.h"

#define DNS_LABEL_MAX 63
#define DNS_POINTER   0xc0        /* the two highest bits of a label's length: RFC 1035, 4.1.4 */
#define DNS_TTL_MAX   0x7fffffffu /* RFC 2181, 8: more means 0 */

#define DNS_FLAG_RESPONSE  0x80
#define DNS_FLAG_OPCODE    0x78
#define DNS_FLAG_TRUNCATED 0x02
#define DNS_FLAG_RD        0x01
#define DNS_FLAG_RA        0x80
#define DNS_RCODE_MASK     0x0f

/* A message and how far it was read. */
struct dns_reader {
    const uint8_t *data;
    size_t size, at;
};

bool dns_read16(struct dns_reader *r, uint16_t *ret);
bool dns_read32(struct dns_reader *r, uint32_t *ret);

/* A name's labels, one after the other. */
struct dns_walk {
    size_t at;    /* of what comes next */
    size_t part;  /* where the name began, or the part of it that the last pointer led to */
    size_t hops;  /* pointers so far */
    size_t after; /* behind the name, once its end has come */
    size_t label; /* the last one's first byte */
};

struct dns_walk dns_walk_begin(const struct dns_reader *r);

/* The size of the next label; 0: that was the name's end; -EBADMSG. */
int dns_walk_next(const struct dns_reader *r, struct dns_walk *w);

/*
 * A name as text, "" for the root. A dot or what can't be printed in a label makes it malformed.
 * dns_read_plain_name() takes none that is compressed.
 */
bool dns_read_name(struct dns_reader *r, char ret[DNS_NAME_MAX_BYTES]);
bool dns_read_plain_name(struct dns_reader *r, char ret[DNS_NAME_MAX_BYTES]);

struct dns_answer_record {
    char owner[DNS_NAME_MAX_BYTES];
    uint16_t type, class;
    uint32_t ttl;
    size_t data, data_size; /* where in the message */
};

bool dns_read_record(struct dns_reader *r, struct dns_answer_record *ret);

/* An upstream's answer, as far as the records that it holds for a name. */
struct dns_found {
    struct dns_reader records; /* at the first of the answer section */
    unsigned count;            /* that it says there are */
    int rcode;
    char owner[DNS_NAME_MAX_BYTES]; /* the name at the end of the chain of aliases */
    uint32_t ttl;                   /* of that chain */
};

/*
 * Begins to read an answer. For CNAME the name itself is the end of the chain. Then one by one the
 * records of the type: 1, 0 when there are no more, -EBADMSG.
 */
int dns_found_begin(const uint8_t *message, size_t size, const char *name, uint16_t type,
                    struct dns_found *ret);
int dns_found_next(struct dns_found *f, uint16_t type, struct dns_answer_record *ret);

/* ---- writing ---- */

unsigned dns_get16(const uint8_t *at);
uint8_t *dns_put16(uint8_t *at, unsigned value);
uint8_t *dns_put32(uint8_t *at, uint32_t value);

/* Bytes of which there may be too many: then no more are written, and it says so. */
struct dns_writer {
    uint8_t *data;
    size_t size, at;
    bool is_full;
};

void dns_write(struct dns_writer *w, const void *bytes, size_t size);
void dns_write16(struct dns_writer *w, unsigned value);

/* ---- svcb.c ---- */

/*
 * Writes the data of a record of type SVCB or HTTPS anew (RFC 9460), as dns_records_parse() says.
 * r is at its first byte and ends with it. 1: written; 0: to be left out; -EBADMSG.
 */
int dns_svcb_copy(struct dns_reader *r, const struct dns_records_wanted *wanted,
                  struct dns_writer *to);
