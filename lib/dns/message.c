// SPDX-License-Identifier: Apache-2.0
#include "lib/dns/message.h"

#include <strings.h>

#define HOP_MAX 32 /* pointers in one name */

unsigned dns_get16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

uint8_t *dns_put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return at + 2;
}

uint8_t *dns_put32(uint8_t *at, uint32_t value)
{
    return dns_put16(dns_put16(at, value >> 16), value & 0xffff);
}

void dns_write(struct dns_writer *w, const void *bytes, size_t size)
{
    if (w->is_full || size > w->size - w->at) {
        w->is_full = true;
        return;
    }
    memcpy(w->data + w->at, bytes, size);
    w->at += size;
}

void dns_write16(struct dns_writer *w, unsigned value)
{
    uint8_t bytes[2];
    dns_put16(bytes, value);
    dns_write(w, bytes, sizeof(bytes));
}

bool dns_read16(struct dns_reader *r, uint16_t *ret)
{
    if (r->size - r->at < 2)
        return false;
    *ret = (uint16_t)dns_get16(r->data + r->at);
    r->at += 2;
    return true;
}

bool dns_read32(struct dns_reader *r, uint32_t *ret)
{
    uint16_t high, low;
    if (!dns_read16(r, &high) || !dns_read16(r, &low))
        return false;
    *ret = (uint32_t)high << 16 | low;
    return true;
}

/* ---- names ---- */

struct dns_walk dns_walk_begin(const struct dns_reader *r)
{
    return (struct dns_walk){.at = r->at, .part = r->at};
}

/* Each pointer must lead to before the place where the name, or the part of it that ended in a
 * pointer, began. */
static bool follow(const struct dns_reader *r, struct dns_walk *w)
{
    if (r->size - w->at < 2 || ++w->hops > HOP_MAX)
        return false;
    size_t to = dns_get16(r->data + w->at) & 0x3fff;
    if (to >= w->part)
        return false;
    if (w->hops == 1)
        w->after = w->at + 2;
    w->at = w->part = to;
    return true;
}

int dns_walk_next(const struct dns_reader *r, struct dns_walk *w)
{
    while (w->at < r->size && r->data[w->at] >= DNS_POINTER)
        if (!follow(r, w))
            return -EBADMSG;
    if (w->at >= r->size)
        return -EBADMSG;
    size_t size = r->data[w->at++];
    if (size > DNS_LABEL_MAX || size > r->size - w->at)
        return -EBADMSG;
    w->label = w->at;
    w->at += size;
    if (size == 0 && w->hops == 0)
        w->after = w->at;
    return (int)size;
}

/* False for a byte that would make the text mean another name, or none. */
static bool append_label(char *name, size_t *length, const uint8_t *label, size_t size)
{
    if (*length + (*length > 0) + size >= DNS_NAME_MAX_BYTES - 1)
        return false;
    if (*length > 0)
        name[(*length)++] = '.';
    for (size_t i = 0; i < size; i++) {
        if (label[i] <= ' ' || label[i] > '~' || label[i] == '.')
            return false;
        name[(*length)++] = (char)label[i];
    }
    return true;
}

bool dns_read_name(struct dns_reader *r, char ret[DNS_NAME_MAX_BYTES])
{
    struct dns_walk w = dns_walk_begin(r);
    size_t length = 0;
    int size;
    while ((size = dns_walk_next(r, &w)) > 0)
        if (!append_label(ret, &length, r->data + w.label, (size_t)size))
            return false;
    if (size < 0)
        return false;
    ret[length] = '\0';
    r->at = w.after;
    return true;
}

bool dns_read_plain_name(struct dns_reader *r, char ret[DNS_NAME_MAX_BYTES])
{
    for (size_t i = r->at; i < r->size && r->data[i] != 0; i += r->data[i] + 1u)
        if (r->data[i] > DNS_LABEL_MAX)
            return false;
    return dns_read_name(r, ret);
}

/* Behind a name of which only the end is wanted. */
static bool skip_name(struct dns_reader *r)
{
    while (r->at < r->size) {
        size_t label = r->data[r->at];
        size_t step = label >= DNS_POINTER ? 2 : label + 1;
        if ((label > DNS_LABEL_MAX && label < DNS_POINTER) || step > r->size - r->at)
            return false;
        r->at += step;
        if (label == 0 || label >= DNS_POINTER)
            return true;
    }
    return false;
}

/* ---- answers of an upstream ---- */

bool dns_read_record(struct dns_reader *r, struct dns_answer_record *ret)
{
    uint16_t size;
    if (!dns_read_name(r, ret->owner) || !dns_read16(r, &ret->type) ||
        !dns_read16(r, &ret->class) || !dns_read32(r, &ret->ttl) || !dns_read16(r, &size) ||
        size > r->size - r->at)
        return false;
    ret->data = r->at;
    ret->data_size = size;
    ret->ttl = ret->ttl > DNS_TTL_MAX ? 0 : ret->ttl;
    r->at += size;
    return true;
}

static bool is_of(const struct dns_answer_record *record, uint16_t type, const char *owner)
{
    return record->type == type && record->class == DNS_CLASS_IN &&
           strcasecmp(record->owner, owner) == 0;
}

/* Makes the owner the name that it is an alias of. -EBADMSG, 0, or 1 when it was one. */
static int follow_alias(struct dns_found *f)
{
    struct dns_reader r = f->records;
    struct dns_answer_record record;
    for (unsigned i = 0; i < f->count; i++) {
        if (!dns_read_record(&r, &record))
            return -EBADMSG;
        if (!is_of(&record, DNS_TYPE_CNAME, f->owner))
            continue;
        struct dns_reader target = {r.data, r.size, record.data};
        if (!dns_read_name(&target, f->owner) || target.at != record.data + record.data_size)
            return -EBADMSG;
        f->ttl = MIN(f->ttl, record.ttl);
        return 1;
    }
    return 0;
}

int dns_found_begin(const uint8_t *message, size_t size, const char *name, uint16_t type,
                    struct dns_found *ret)
{
    if (size < DNS_HEADER_BYTES || !(message[2] & DNS_FLAG_RESPONSE) ||
        strlen(name) >= sizeof(ret->owner))
        return -EBADMSG;
    *ret = (struct dns_found){
        .records = {message, size, DNS_HEADER_BYTES},
        .count = dns_get16(message + 6),
        .rcode = message[3] & DNS_RCODE_MASK,
        .ttl = DNS_TTL_MAX,
    };
    unsigned questions = dns_get16(message + 4);
    for (unsigned i = 0; i < questions; i++) {
        if (!skip_name(&ret->records) || size - ret->records.at < 4)
            return -EBADMSG;
        ret->records.at += 4;
    }
    memcpy(ret->owner, name, strlen(name) + 1);
    for (int hop = 0; type != DNS_TYPE_CNAME; hop++) {
        int alias = follow_alias(ret);
        if (alias < 0 || hop > DNS_CHAIN_MAX)
            return -EBADMSG;
        if (alias == 0)
            break;
    }
    return 0;
}

int dns_found_next(struct dns_found *f, uint16_t type, struct dns_answer_record *ret)
{
    for (; f->count > 0; f->count--) {
        if (!dns_read_record(&f->records, ret))
            return -EBADMSG;
        if (!is_of(ret, type, f->owner))
            continue;
        f->count--;
        ret->ttl = MIN(ret->ttl, f->ttl);
        return 1;
    }
    return 0;
}
