// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/host.h"

#include "lib/policy/label.h"
#include "lib/policy/net.h"
#include "lib/text/utf8.h"

#include <arpa/inet.h>
#include <idn2.h>

#define PORT_DIGITS_MAX 5

static int refuse(const char **why, const char *reason)
{
    if (why)
        *why = reason;
    return -EINVAL;
}

bool policy_label_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* ASCII, and UTF-8 that decodes; *ret_is_ascii says whether it is the first alone. */
static int look_over(const char *text, size_t size, bool *ret_is_ascii, const char **why)
{
    *ret_is_ascii = true;
    for (size_t i = 0; i < size;) {
        uint32_t code;
        int used = text_utf8_decode(text + i, size - i, &code);
        if (used <= 0)
            return refuse(why, "is not UTF-8");
        if (used > 1)
            *ret_is_ascii = false;
        else if (text[i] != '.' && !policy_label_byte(lower(text[i])))
            return refuse(why, "has a character that no host name has");
        i += (size_t)used;
    }
    return 0;
}

/* UTS 46; what comes out is ASCII of any kind: "％" has become "%". */
static int map_unicode(const char *text, size_t size, struct policy_ascii *ret, const char **why)
{
    char copy[POLICY_HOST_MAX_BYTES + 1];
    char *mapped = NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    int r = idn2_to_ascii_8z(copy, &mapped, IDN2_NONTRANSITIONAL);
    if (r == IDN2_MALLOC)
        return -ENOMEM;
    if (r != IDN2_OK)
        return refuse(why, "has characters that no internationalized name has");
    size_t length = strlen(mapped);
    if (length < sizeof(ret->text)) {
        memcpy(ret->text, mapped, length + 1);
        ret->size = length;
    }
    idn2_free(mapped);
    return length < sizeof(ret->text) ? 0 : refuse(why, "is longer than 253 bytes");
}

int policy_host_to_ascii(const char *text, size_t size, struct policy_ascii *ret, const char **why)
{
    bool is_ascii;
    if (size == 0)
        return refuse(why, "is empty");
    if (size > POLICY_HOST_MAX_BYTES)
        return refuse(why, "is longer than 253 bytes");
    int r = look_over(text, size, &is_ascii, why);
    if (r < 0)
        return r;
    if (!is_ascii) {
        r = map_unicode(text, size, ret, why);
        if (r < 0)
            return r;
    } else if (size < sizeof(ret->text)) {
        memcpy(ret->text, text, size);
        ret->text[size] = '\0';
        ret->size = size;
    } else {
        return refuse(why, "is longer than 253 bytes");
    }
    for (size_t i = 0; i < ret->size; i++) {
        ret->text[i] = lower(ret->text[i]);
        if (ret->text[i] != '.' && !policy_label_byte(ret->text[i]))
            return refuse(why, "has a character that no host name has");
    }
    return 0;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/*
 * The WHATWG's IPv4 number parser: decimal, octal behind 0, hexadecimal behind 0x, of which "0x"
 * alone is 0. What is beyond 32 bits comes out as UINT32_MAX + 1.
 */
static bool parse_number(const char *text, size_t size, uint64_t *ret)
{
    unsigned base = 10;
    if (size == 0)
        return false;
    if (size >= 2 && text[0] == '0' && text[1] == 'x') {
        base = 16;
        text += 2;
        size -= 2;
    } else if (size >= 2 && text[0] == '0') {
        base = 8;
    }
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned digit = (unsigned)digit_of(text[i]);
        if (digit >= base)
            return false;
        number = MIN(number * base + digit, (uint64_t)UINT32_MAX + 1);
    }
    *ret = number;
    return true;
}

static bool is_number(const char *label, size_t size)
{
    uint64_t number;
    return parse_number(label, size, &number) || (size > 0 && strspn(label, "0123456789") >= size);
}

/* The WHATWG's IPv4 parser, for a text whose last label is a number. */
static bool parse_ipv4(const char *text, struct in6_addr *ret)
{
    uint64_t parts[4], address;
    size_t count = 0;
    for (const char *end; text; text = *end ? end + 1 : NULL) {
        end = strchrnul(text, '.');
        if (count == ARRAY_SIZE(parts) || !parse_number(text, (size_t)(end - text), &parts[count]))
            return false;
        count++;
    }
    address = parts[count - 1];
    if (address >= 1ULL << (8 * (5 - count)))
        return false;
    for (size_t i = 0; i + 1 < count; i++) {
        if (parts[i] > 255)
            return false;
        address |= parts[i] << (8 * (3 - i));
    }
    *ret = policy_address_from_ipv4((struct in_addr){htonl((uint32_t)address)});
    return true;
}

static int check_labels(const char *name, const char **why)
{
    for (const char *end; name; name = *end ? end + 1 : NULL) {
        end = strchrnul(name, '.');
        if (end == name)
            return refuse(why, "has an empty label");
        if (end - name > POLICY_LABEL_MAX_BYTES)
            return refuse(why, "has a label of more than 63 bytes");
    }
    return 0;
}

static int parse_bracketed(const char *text, size_t size, struct policy_host *ret, const char **why)
{
    char inner[INET6_ADDRSTRLEN];
    struct policy_host host = {.kind = POLICY_HOST_ADDRESS};
    if (size < 2 || text[size - 1] != ']' || size - 2 >= sizeof(inner) || memchr(text, '\0', size))
        return refuse(why, "has brackets without an IPv6 address in them");
    memcpy(inner, text + 1, size - 2);
    inner[size - 2] = '\0';
    if (inet_pton(AF_INET6, inner, &host.address) != 1)
        return refuse(why, "has brackets without an IPv6 address in them");
    *ret = host;
    return 0;
}

int policy_host_parse(const char *text, size_t size, struct policy_host *ret, const char **why)
{
    struct policy_ascii ascii;
    struct policy_host host = {.kind = POLICY_HOST_NAME};
    if (size > 0 && text[0] == '[')
        return parse_bracketed(text, size, ret, why);
    int r = policy_host_to_ascii(text, size, &ascii, why);
    if (r < 0)
        return r;
    if (ascii.size > 0 && ascii.text[ascii.size - 1] == '.')
        ascii.text[--ascii.size] = '\0';
    if (ascii.size > POLICY_NAME_MAX_BYTES)
        return refuse(why, "is longer than 253 bytes");
    r = check_labels(ascii.text, why);
    if (r < 0)
        return r;
    const char *dot = strrchr(ascii.text, '.');
    const char *last = dot ? dot + 1 : ascii.text;
    if (is_number(last, strlen(last))) {
        if (!parse_ipv4(ascii.text, &host.address))
            return refuse(why, "ends in a number and is no IPv4 address");
        host.kind = POLICY_HOST_ADDRESS;
    } else {
        memcpy(host.name, ascii.text, ascii.size + 1);
    }
    *ret = host;
    return 0;
}

static int parse_port(const char *text, size_t size, uint16_t *ret)
{
    unsigned port = 0;
    if (size < 1 || size > PORT_DIGITS_MAX || text[0] == '0')
        return -EINVAL;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -EINVAL;
        port = 10 * port + (unsigned)(text[i] - '0');
    }
    if (port > UINT16_MAX)
        return -EINVAL;
    *ret = (uint16_t)port;
    return 0;
}

int policy_host_parse_with_port(const char *text, size_t size, struct policy_host *ret,
                                uint16_t *ret_port, const char **why)
{
    const char *colon = memchr(text, ':', size);
    if (size > 0 && text[0] == '[') {
        const char *end = memrchr(text, ']', size);
        colon = end && end + 1 < text + size && end[1] == ':' ? end + 1 : NULL;
    } else if (colon && memchr(colon + 1, ':', size - (size_t)(colon + 1 - text))) {
        return refuse(why, "has two colons; an IPv6 address stands in brackets");
    }
    uint16_t port = 0;
    size_t host_size = colon ? (size_t)(colon - text) : size;
    if (colon && parse_port(colon + 1, size - host_size - 1, &port) < 0)
        return refuse(why, "has a port that is not a number from 1 to 65535");
    int r = policy_host_parse(text, host_size, ret, why);
    if (r == 0)
        *ret_port = port;
    return r;
}

bool policy_host_is_canonical(const char *name)
{
    size_t size = strnlen(name, POLICY_NAME_MAX_BYTES + 1);
    if (size == 0 || size > POLICY_NAME_MAX_BYTES || check_labels(name, NULL) < 0)
        return false;
    for (size_t i = 0; i < size; i++)
        if (name[i] != '.' && !policy_label_byte(name[i]))
            return false;
    const char *dot = strrchr(name, '.');
    const char *last = dot ? dot + 1 : name;
    return !is_number(last, strlen(last));
}
