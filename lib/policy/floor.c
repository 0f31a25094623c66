// SPDX-License-Identifier: Apache-2.0
/*
 * The tables follow the IANA's special-purpose registries (RFC 6890 and its updates), and what
 * clouds write of their metadata services.
 */
#include "lib/policy/floor.h"

const char *const policy_group_names[POLICY_GROUP_COUNT] = {
    [POLICY_GROUP_METADATA] = "metadata",
    [POLICY_GROUP_LOOPBACK] = "loopback",
    [POLICY_GROUP_UNSPECIFIED] = "unspecified",
    [POLICY_GROUP_LINK_LOCAL] = "link_local",
    [POLICY_GROUP_MULTICAST] = "multicast",
    [POLICY_GROUP_BROADCAST] = "broadcast",
    [POLICY_GROUP_PRIVATE] = "private",
    [POLICY_GROUP_RESERVED] = "reserved",
    [POLICY_GROUP_HOST] = "host",
    [POLICY_GROUP_PUBLIC] = "public",
    [POLICY_GROUP_DOH] = "doh-resolvers",
};

#define V4(a, b, c, d)                                               \
    {                                                                \
        {                                                            \
            {                                                        \
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d \
            }                                                        \
        }                                                            \
    }
#define V6(a, b, c, d, e, f, g, h)                                                                 \
    {                                                                                              \
        {                                                                                          \
            {                                                                                      \
                (a) >> 8, (a)&0xff, (b) >> 8, (b)&0xff, (c) >> 8, (c)&0xff, (d) >> 8, (d)&0xff,    \
                    (e) >> 8, (e)&0xff, (f) >> 8, (f)&0xff, (g) >> 8, (g)&0xff, (h) >> 8, (h)&0xff \
            }                                                                                      \
        }                                                                                          \
    }

struct row {
    enum policy_group class;
    struct policy_net net;
};

#define ROW4(class, a, b, c, d, bits)   \
    {                                   \
        POLICY_GROUP_##class,           \
        {                               \
            V4(a, b, c, d), 96 + (bits) \
        }                               \
    }
#define ROW6(class, a, b, c, d, e, f, g, h, bits) \
    {                                             \
        POLICY_GROUP_##class,                     \
        {                                         \
            V6(a, b, c, d, e, f, g, h), (bits)    \
        }                                         \
    }

/* In the order in which they are reported. */
static const struct row rows[] = {
    ROW4(METADATA, 169, 254, 169, 254, 32),
    ROW4(METADATA, 169, 254, 170, 2, 32),
    ROW4(METADATA, 169, 254, 170, 23, 32),
    ROW4(METADATA, 100, 100, 100, 200, 32),
    ROW4(METADATA, 168, 63, 129, 16, 32),
    ROW4(METADATA, 192, 0, 0, 192, 32),
    ROW6(METADATA, 0xfd00, 0xec2, 0, 0, 0, 0, 0, 0, 32),
    ROW6(METADATA, 0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254, 128),
    ROW6(METADATA, 0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe, 128),
    ROW6(METADATA, 0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42, 128),
    ROW6(METADATA, 0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1, 128),
    ROW6(METADATA, 0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200, 128),
    ROW4(LOOPBACK, 127, 0, 0, 0, 8),
    ROW6(LOOPBACK, 0, 0, 0, 0, 0, 0, 0, 1, 128),
    ROW4(UNSPECIFIED, 0, 0, 0, 0, 8),
    ROW6(UNSPECIFIED, 0, 0, 0, 0, 0, 0, 0, 0, 128),
    ROW4(LINK_LOCAL, 169, 254, 0, 0, 16),
    ROW6(LINK_LOCAL, 0xfe80, 0, 0, 0, 0, 0, 0, 0, 10),
    ROW6(LINK_LOCAL, 0xfec0, 0, 0, 0, 0, 0, 0, 0, 10),
    ROW4(MULTICAST, 224, 0, 0, 0, 4),
    ROW6(MULTICAST, 0xff00, 0, 0, 0, 0, 0, 0, 0, 8),
    ROW4(BROADCAST, 255, 255, 255, 255, 32),
    ROW4(PRIVATE, 10, 0, 0, 0, 8),
    ROW4(PRIVATE, 172, 16, 0, 0, 12),
    ROW4(PRIVATE, 192, 168, 0, 0, 16),
    ROW4(PRIVATE, 100, 64, 0, 0, 10),
    ROW6(PRIVATE, 0xfc00, 0, 0, 0, 0, 0, 0, 0, 7),
    ROW4(RESERVED, 192, 0, 0, 0, 24),
    ROW4(RESERVED, 192, 0, 2, 0, 24),
    ROW4(RESERVED, 192, 88, 99, 0, 24),
    ROW4(RESERVED, 198, 18, 0, 0, 15),
    ROW4(RESERVED, 198, 51, 100, 0, 24),
    ROW4(RESERVED, 203, 0, 113, 0, 24),
    ROW4(RESERVED, 240, 0, 0, 0, 4),
    ROW6(RESERVED, 0x100, 0, 0, 0, 0, 0, 0, 0, 64),
    ROW6(RESERVED, 0x64, 0xff9b, 1, 0, 0, 0, 0, 0, 48),
    ROW6(RESERVED, 0x2001, 0, 0, 0, 0, 0, 0, 0, 32),
    ROW6(RESERVED, 0x2001, 2, 0, 0, 0, 0, 0, 0, 48),
    ROW6(RESERVED, 0x2001, 0x10, 0, 0, 0, 0, 0, 0, 28),
    ROW6(RESERVED, 0x2001, 0x20, 0, 0, 0, 0, 0, 0, 28),
    ROW6(RESERVED, 0x2001, 0xdb8, 0, 0, 0, 0, 0, 0, 32),
    ROW6(RESERVED, 0x3fff, 0, 0, 0, 0, 0, 0, 0, 20),
    ROW6(RESERVED, 0x5f00, 0, 0, 0, 0, 0, 0, 0, 16),
};

static const struct in6_addr doh_addresses[] = {
    V4(1, 0, 0, 1),
    V4(1, 0, 0, 2),
    V4(1, 0, 0, 3),
    V4(1, 1, 1, 1),
    V4(1, 1, 1, 2),
    V4(1, 1, 1, 3),
    V4(8, 8, 4, 4),
    V4(8, 8, 8, 8),
    V4(9, 9, 9, 9),
    V4(9, 9, 9, 10),
    V4(9, 9, 9, 11),
    V4(149, 112, 112, 112),
    V4(76, 76, 2, 0),
    V4(76, 76, 10, 0),
    V4(94, 140, 14, 14),
    V4(94, 140, 15, 15),
    V4(185, 228, 168, 9),
    V4(185, 228, 169, 9),
    V4(208, 67, 220, 220),
    V4(208, 67, 222, 222),
    V4(223, 5, 5, 5),
    V4(223, 6, 6, 6),
    V4(194, 242, 2, 2),
    V4(77, 88, 8, 8),
    V6(0x2606, 0x4700, 0x4700, 0, 0, 0, 0, 0x1001),
    V6(0x2606, 0x4700, 0x4700, 0, 0, 0, 0, 0x1111),
    V6(0x2001, 0x4860, 0x4860, 0, 0, 0, 0, 0x8844),
    V6(0x2001, 0x4860, 0x4860, 0, 0, 0, 0, 0x8888),
    V6(0x2620, 0xfe, 0, 0, 0, 0, 0, 9),
    V6(0x2620, 0xfe, 0, 0, 0, 0, 0, 0xfe),
    V6(0x2a10, 0x50c0, 0, 0, 0, 0, 0xad1, 0xff),
    V6(0x2620, 0x119, 0x35, 0, 0, 0, 0, 0x35),
};

/* With a dot in front: the name itself and what is below it. */
static const char *const doh_names[] = {
    "dns.google",
    "dns.google.com",
    ".cloudflare-dns.com",
    "one.one.one.one",
    "dns.quad9.net",
    "dns9.quad9.net",
    "dns10.quad9.net",
    "dns11.quad9.net",
    ".dns.nextdns.io",
    ".adguard-dns.com",
    "dns.adguard.com",
    "doh.opendns.com",
    "dns.opendns.com",
    "doh.cleanbrowsing.org",
    "dns.alidns.com",
    "doh.pub",
    "dns.mullvad.net",
    "freedns.controld.com",
    "dns.controld.com",
    "common.dot.dns.yandex.net",
    "doh.dns.sb",
    "doh.libredns.gr",
    "dns0.eu",
    "doh.applied-privacy.net",
};

static const char *const metadata_names[] = {
    "metadata.google.internal",
    "metadata",
    "instance-data",
    "instance-data.ec2.internal",
};

static bool one_contains(const struct policy_net *nets, size_t count,
                         const struct in6_addr *address)
{
    for (size_t i = 0; i < count; i++)
        if (policy_net_contains(&nets[i], address))
            return true;
    return false;
}

static bool is_nat64(const struct policy_operator *op, const struct in6_addr *address)
{
    static const struct policy_net well_known = {V6(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96};
    return policy_net_contains(&well_known, address) ||
           (op && one_contains(op->nat64, op->nat64_count, address));
}

bool policy_floor_embedded(const struct policy_operator *op, const struct in6_addr *address,
                           struct in6_addr *ret)
{
    static const struct policy_net compatible = {V6(0, 0, 0, 0, 0, 0, 0, 0), 96};
    static const struct policy_net translated = {V6(0, 0, 0, 0, 0xffff, 0, 0, 0), 96};
    const uint8_t *bytes = address->s6_addr;
    struct in_addr inner;
    if (IN6_IS_ADDR_V4MAPPED(address) || IN6_IS_ADDR_UNSPECIFIED(address) ||
        IN6_IS_ADDR_LOOPBACK(address))
        return false;
    bool is_isatap =
        (bytes[8] & 0xfd) == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe;
    if (bytes[0] == 0x20 && bytes[1] == 0x02)
        memcpy(&inner, bytes + 2, sizeof(inner));
    else if (is_isatap || policy_net_contains(&compatible, address) ||
             policy_net_contains(&translated, address) || is_nat64(op, address))
        memcpy(&inner, bytes + 12, sizeof(inner));
    else
        return false;
    *ret = policy_address_from_ipv4(inner);
    return true;
}

bool policy_floor_is_host(const struct policy_operator *op, const struct in6_addr *address)
{
    return op && one_contains(op->host, op->host_count, address);
}

static enum policy_group class_of(const struct policy_operator *op, const struct in6_addr *address)
{
    /* Broadcast of an attached network comes before "private", as in the table. */
    bool is_broadcast = op && one_contains(op->broadcast, op->broadcast_count, address);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (is_broadcast && rows[i].class > POLICY_GROUP_BROADCAST)
            break;
        if (policy_net_contains(&rows[i].net, address))
            return rows[i].class;
    }
    if (is_broadcast)
        return POLICY_GROUP_BROADCAST;
    return policy_floor_is_host(op, address) ? POLICY_GROUP_HOST : POLICY_GROUP_PUBLIC;
}

enum policy_group policy_floor_class(const struct policy_operator *op,
                                     const struct in6_addr *address)
{
    struct in6_addr inner;
    enum policy_group class = class_of(op, address);
    if (class == POLICY_GROUP_PUBLIC && policy_floor_embedded(op, address, &inner))
        class = class_of(op, &inner);
    return class;
}

/* Whoever exempts a network must not open the metadata service in it without meaning to. */
static bool holds_metadata_only(const struct policy_net *net)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows) && rows[i].class == POLICY_GROUP_METADATA; i++)
        if (net->prefix_bits >= rows[i].net.prefix_bits &&
            policy_net_contains(&rows[i].net, &net->address))
            return true;
    return false;
}

bool policy_floor_is_exempt(const struct policy_operator *op, const struct in6_addr *address,
                            enum policy_group class)
{
    for (size_t i = 0; op && i < op->exempt_count; i++) {
        const struct policy_net *net = &op->exempt[i];
        if (policy_net_contains(net, address) &&
            (class != POLICY_GROUP_METADATA || holds_metadata_only(net)))
            return true;
    }
    return false;
}

const char *policy_address_class(const struct policy_operator *op, const struct in6_addr *address)
{
    return policy_group_names[policy_floor_class(op, address)];
}

bool policy_floor_is_metadata_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(metadata_names); i++)
        if (!strcmp(metadata_names[i], name))
            return true;
    return false;
}

static bool is_at_or_below(const char *name, const char *apex)
{
    size_t size = strlen(name), apex_size = strlen(apex);
    return size >= apex_size && !strcmp(name + size - apex_size, apex) &&
           (size == apex_size || name[size - apex_size - 1] == '.');
}

bool policy_floor_is_doh_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(doh_names); i++) {
        const char *known = doh_names[i];
        if (known[0] == '.' ? is_at_or_below(name, known + 1) : !strcmp(name, known))
            return true;
    }
    return false;
}

bool policy_floor_is_doh_address(const struct in6_addr *address)
{
    for (size_t i = 0; i < ARRAY_SIZE(doh_addresses); i++)
        if (IN6_ARE_ADDR_EQUAL(&doh_addresses[i], address))
            return true;
    return false;
}
