// SPDX-License-Identifier: Apache-2.0
#include "lib/dns/message.h"

/* SvcParamKeys, RFC 9460, 14.3.2 */
enum {
    KEY_MANDATORY = 0,
    KEY_ALPN = 1,
    KEY_NO_DEFAULT_ALPN = 2,
    KEY_PORT = 3,
    KEY_IPV4HINT = 4,
    KEY_ECH = 5,
    KEY_IPV6HINT = 6,
    KEY_INVALID = 65535,
};

struct param {
    uint16_t key;
    const uint8_t *value;
    uint16_t size;
};

/* What the parameters come to, all of them read. */
struct params {
    struct param mandatory; /* size: as much of the list as is not met yet */
    bool is_without_default, has_alpn, loses_alpn, loses_mandatory;
};

/* HTTP/3 and its drafts ("h3-29"), which are QUIC. */
static bool is_http3(const uint8_t *id, size_t size)
{
    return size >= 2 && id[0] == 'h' && id[1] == '3' && (size == 2 || id[2] == '-');
}

/* The ids of an alpn that stay are written to `to`, unless it is NULL. Their size in all, or
 * -EBADMSG. */
static int keep_alpn(const struct param *p, struct dns_writer *to)
{
    int kept = 0;
    for (size_t at = 0, size; at < p->size; at += size + 1) {
        size = p->value[at];
        if (size == 0 || size >= p->size - at)
            return -EBADMSG;
        if (is_http3(p->value + at + 1, size))
            continue;
        kept += (int)size + 1;
        if (to)
            dns_write(to, p->value + at, size + 1);
    }
    return p->size > 0 ? kept : -EBADMSG;
}

static bool is_mandatory_list(const struct param *p)
{
    if (p->size == 0 || p->size % 2)
        return false;
    for (unsigned at = 0, last = KEY_MANDATORY, key; at < p->size; at += 2, last = key) {
        key = dns_get16(p->value + at);
        if (key <= last)
            return false;
    }
    return true;
}

static bool is_value(const struct param *p)
{
    switch (p->key) {
    case KEY_MANDATORY:
        return is_mandatory_list(p);
    case KEY_ALPN:
        return keep_alpn(p, NULL) >= 0;
    case KEY_NO_DEFAULT_ALPN:
        return p->size == 0;
    case KEY_PORT:
        return p->size == 2;
    case KEY_IPV4HINT:
        return p->size > 0 && p->size % 4 == 0;
    case KEY_IPV6HINT:
        return p->size > 0 && p->size % 16 == 0;
    default:
        return p->key != KEY_INVALID;
    }
}

/*
 * Addresses that the resolver did not give lead nowhere, what is encrypted in a hello can't be
 * judged, and without any protocol left to name there is nothing to say.
 */
static bool is_removed(const struct param *p)
{
    return p->key == KEY_IPV4HINT || p->key == KEY_IPV6HINT || p->key == KEY_ECH ||
           (p->key == KEY_ALPN && keep_alpn(p, NULL) == 0);
}

static bool read_param(struct dns_reader *r, struct param *ret)
{
    if (!dns_read16(r, &ret->key) || !dns_read16(r, &ret->size) || ret->size > r->size - r->at)
        return false;
    ret->value = r->data + r->at;
    r->at += ret->size;
    return is_value(ret);
}

/* Keys rise, in the record as in the list of those that are mandatory: one walk meets them all. */
static bool read_params(struct dns_reader r, struct params *ret)
{
    struct param p;
    struct param *left = &ret->mandatory;
    *ret = (struct params){.mandatory = {.size = 0}};
    for (int last = -1; r.at < r.size; last = p.key) {
        if (!read_param(&r, &p) || p.key <= last)
            return false;
        if (left->size > 0 && dns_get16(left->value) == p.key) {
            ret->loses_mandatory |= is_removed(&p);
            left->value += 2;
            left->size -= 2;
        }
        if (p.key == KEY_MANDATORY)
            *left = p;
        ret->has_alpn |= p.key == KEY_ALPN;
        ret->loses_alpn |= p.key == KEY_ALPN && is_removed(&p);
        ret->is_without_default |= p.key == KEY_NO_DEFAULT_ALPN;
    }
    return left->size == 0 && (ret->has_alpn || !ret->is_without_default);
}

static void write_param(const struct param *p, struct dns_writer *to)
{
    dns_write16(to, p->key);
    dns_write16(to, p->key == KEY_ALPN ? (unsigned)keep_alpn(p, NULL) : p->size);
    if (p->key == KEY_ALPN)
        keep_alpn(p, to);
    else
        dns_write(to, p->value, p->size);
}

int dns_svcb_copy(struct dns_reader *r, const struct dns_records_wanted *wanted,
                  struct dns_writer *to)
{
    char target[DNS_NAME_MAX_BYTES];
    struct params all = {.mandatory = {.size = 0}};
    struct param p;
    uint16_t priority;
    const size_t start = r->at;
    if (!dns_read16(r, &priority) || !dns_read_plain_name(r, target))
        return -EBADMSG;
    const size_t head = r->at - start;
    if (priority > 0 && !read_params(*r, &all))
        return -EBADMSG;
    if (target[0] && !wanted->is_target_allowed(target))
        return 0;
    if (all.loses_mandatory || (all.loses_alpn && all.is_without_default))
        return 0;
    dns_write(to, r->data + start, head);
    /* An alias (priority 0) has no parameters, and who reads one looks at none: 2.4.2. */
    while (priority > 0 && r->at < r->size && read_param(r, &p))
        if (!is_removed(&p))
            write_param(&p, to);
    return 1;
}
