// SPDX-License-Identifier: Apache-2.0
#include "lib/dns/message.h"

#define WIRE_NAME_MAX 255 /* RFC 1035, 2.3.4 */

/*
 * What the data of a type consists of:
 *   1 2 4  so many bytes             n  a name, written without compression
 *   s      a character-string        t  one of letters and digits, not empty
 *   +      character-strings to the end, at least one
 *   *      bytes to the end, maybe none
 *
 * Types whose names may come compressed (RFC 3597, 4) must all be here, or a pointer into the
 * upstream's message would lead somewhere in ours. Of all others the data is bytes.
 */
static const struct {
    uint16_t type;
    const char *fields;
} layouts[] = {
    {2, "n"}, /* NS */
    {3, "n"}, /* MD */
    {4, "n"}, /* MF */
    {DNS_TYPE_CNAME, "n"},
    {6, "nn44444"},    /* SOA */
    {7, "n"},          /* MB */
    {8, "n"},          /* MG */
    {9, "n"},          /* MR */
    {12, "n"},         /* PTR */
    {13, "ss"},        /* HINFO */
    {14, "nn"},        /* MINFO */
    {15, "2n"},        /* MX */
    {16, "+"},         /* TXT */
    {17, "nn"},        /* RP */
    {18, "2n"},        /* AFSDB */
    {21, "2n"},        /* RT */
    {24, "2114442n*"}, /* SIG */
    {26, "2nn"},       /* PX */
    {30, "n*"},        /* NXT */
    {33, "222n"},      /* SRV */
    {35, "22sssn"},    /* NAPTR */
    {36, "2n"},        /* KX */
    {39, "n"},         /* DNAME */
    {43, "211*"},      /* DS */
    {46, "2114442n*"}, /* RRSIG */
    {47, "n*"},        /* NSEC */
    {48, "211*"},      /* DNSKEY */
    {52, "111*"},      /* TLSA */
    {99, "+"},         /* SPF */
    {256, "22*"},      /* URI */
    {257, "1t*"},      /* CAA */
};

bool dns_type_is_copied(uint16_t type)
{
    const bool is_address = type == DNS_TYPE_A || type == DNS_TYPE_AAAA;
    const bool is_meta = type == DNS_TYPE_OPT || (type >= 128 && type <= 255); /* RFC 6895, 3.1 */
    return type != 0 && type != DNS_TYPE_NULL && !is_address && !is_meta;
}

static const char *layout_of(uint16_t type)
{
    for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
        if (layouts[i].type == type)
            return layouts[i].fields;
    return "*";
}

/* Labels of printable bytes; a dot is one of them, as in the mailbox of an SOA. */
static bool copy_name(struct dns_reader *r, struct dns_writer *to)
{
    struct dns_walk w = dns_walk_begin(r);
    int size;
    size_t total = 1;
    while ((size = dns_walk_next(r, &w)) > 0) {
        total += (size_t)size + 1;
        if (total > WIRE_NAME_MAX)
            return false;
        for (int i = 0; i < size; i++)
            if (r->data[w.label + (size_t)i] <= ' ' || r->data[w.label + (size_t)i] > '~')
                return false;
        dns_write(to, r->data + w.label - 1, (size_t)size + 1);
    }
    dns_write(to, "", 1);
    r->at = w.after;
    return size == 0;
}

static bool copy_bytes(struct dns_reader *r, size_t size, struct dns_writer *to)
{
    if (size > r->size - r->at)
        return false;
    dns_write(to, r->data + r->at, size);
    r->at += size;
    return true;
}

static bool copy_string(struct dns_reader *r, struct dns_writer *to)
{
    return r->at < r->size && copy_bytes(r, r->data[r->at] + 1u, to);
}

static bool copy_tag(struct dns_reader *r, struct dns_writer *to)
{
    const size_t size = r->at < r->size ? r->data[r->at] : 0;
    if (size == 0 || size >= r->size - r->at)
        return false;
    for (size_t i = 1; i <= size; i++) {
        unsigned c = r->data[r->at + i], letter = c | 0x20;
        if (!(c >= '0' && c <= '9') && !(letter >= 'a' && letter <= 'z'))
            return false;
    }
    return copy_string(r, to);
}

static bool copy_strings(struct dns_reader *r, struct dns_writer *to)
{
    do
        if (!copy_string(r, to))
            return false;
    while (r->at < r->size);
    return true;
}

static bool copy_field(struct dns_reader *r, char field, struct dns_writer *to)
{
    switch (field) {
    case 'n':
        return copy_name(r, to);
    case 's':
        return copy_string(r, to);
    case 't':
        return copy_tag(r, to);
    case '+':
        return copy_strings(r, to);
    case '*':
        return copy_bytes(r, r->size - r->at, to);
    default:
        return copy_bytes(r, (size_t)(field - '0'), to);
    }
}

/* r ends with the record's data: what a name points to lies before. 1, 0: left out, -EBADMSG. */
static int copy_data(struct dns_reader *r, const struct dns_records_wanted *wanted,
                     struct dns_writer *to)
{
    if (wanted->type == DNS_TYPE_SVCB || wanted->type == DNS_TYPE_HTTPS)
        return dns_svcb_copy(r, wanted, to);
    for (const char *field = layout_of(wanted->type); *field; field++)
        if (!copy_field(r, *field, to))
            return -EBADMSG;
    return r->at == r->size ? 1 : -EBADMSG;
}

int dns_records_parse(const uint8_t *message, size_t size, const struct dns_records_wanted *wanted,
                      struct dns_records *ret)
{
    struct dns_found found;
    struct dns_answer_record record;
    struct dns_writer to = {ret->bytes, sizeof(ret->bytes), 0, false};
    if (!dns_type_is_copied(wanted->type))
        return -EBADMSG;
    int r = dns_found_begin(message, size, wanted->name, wanted->type, &found);
    if (r < 0)
        return r;
    ret->rcode = found.rcode;
    ret->count = 0;
    while ((r = dns_found_next(&found, wanted->type, &record)) > 0) {
        struct dns_reader data = {message, record.data + record.data_size, record.data};
        const size_t start = to.at;
        r = copy_data(&data, wanted, &to);
        if (r < 0)
            return r;
        if (to.is_full || (r > 0 && ret->count == ARRAY_SIZE(ret->list)))
            return -EMSGSIZE;
        if (r > 0)
            ret->list[ret->count++] = (struct dns_record){
                .ttl = record.ttl, .data = (uint16_t)start, .size = (uint16_t)(to.at - start)};
    }
    return r;
}
