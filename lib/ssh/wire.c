// SPDX-License-Identifier: Apache-2.0
#include "lib/ssh/wire.h"

static const uint8_t *take(struct ssh_reader *r, size_t size)
{
    const uint8_t *at = r->at;
    if (r->failed || size > r->left) {
        r->failed = true;
        return NULL;
    }
    r->at += size;
    r->left -= size;
    return at;
}

uint8_t ssh_read_byte(struct ssh_reader *r)
{
    const uint8_t *at = take(r, 1);
    return at ? *at : 0;
}

bool ssh_read_bool(struct ssh_reader *r)
{
    uint8_t value = ssh_read_byte(r);
    r->failed |= value > 1;
    return value == 1;
}

uint32_t ssh_read_u32(struct ssh_reader *r)
{
    const uint8_t *at = take(r, 4);
    return at ? (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3] : 0;
}

struct ssh_bytes ssh_read_string(struct ssh_reader *r)
{
    size_t size = ssh_read_u32(r);
    const uint8_t *at = take(r, size);
    return at ? (struct ssh_bytes){at, size} : (struct ssh_bytes){NULL, 0};
}

struct ssh_bytes ssh_read_unsigned(struct ssh_reader *r)
{
    struct ssh_bytes n = ssh_read_string(r);
    if (n.size == 0)
        return n;
    bool is_padded = n.data[0] == 0;
    if (n.data[0] & 0x80 || (is_padded && (n.size < 2 || !(n.data[1] & 0x80)))) {
        r->failed = true;
        return (struct ssh_bytes){NULL, 0};
    }
    return is_padded ? (struct ssh_bytes){n.data + 1, n.size - 1} : n;
}

bool ssh_reader_is_done(const struct ssh_reader *r)
{
    return !r->failed && r->left == 0;
}

bool ssh_is_same(struct ssh_bytes a, struct ssh_bytes b)
{
    return a.size == b.size && (a.size == 0 || !memcmp(a.data, b.data, a.size));
}

bool ssh_is_text(struct ssh_bytes a, const char *text)
{
    return ssh_is_same(a, (struct ssh_bytes){(const uint8_t *)text, strlen(text)});
}

void ssh_put_byte(struct buf *b, uint8_t value)
{
    buf_append(b, &value, 1);
}

void ssh_put_u32(struct buf *b, uint32_t value)
{
    const uint8_t bytes[] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                             (uint8_t)value};
    buf_append(b, bytes, sizeof(bytes));
}

void ssh_put_string(struct buf *b, const void *data, size_t size)
{
    ssh_put_u32(b, (uint32_t)size);
    if (size > 0)
        buf_append(b, data, size);
}

void ssh_put_text(struct buf *b, const char *text)
{
    ssh_put_string(b, text, strlen(text));
}

void ssh_put_unsigned(struct buf *b, const uint8_t *data, size_t size)
{
    while (size > 0 && data[0] == 0) {
        data++;
        size--;
    }
    bool is_padded = size > 0 && data[0] & 0x80;
    ssh_put_u32(b, (uint32_t)(size + is_padded));
    if (is_padded)
        ssh_put_byte(b, 0);
    if (size > 0)
        buf_append(b, data, size);
}
