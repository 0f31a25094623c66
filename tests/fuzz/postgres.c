// SPDX-License-Identifier: Apache-2.0
/*
 * PostgreSQL's first messages. What must hold: a startup packet that was read is written as it
 * came, whatever follows it, and in no smaller piece; without TLS nobody is logged in who has not
 * proved anything, and no answer has the password in it.
 */
#include "lib/postgres/auth.h"
#include "tests/fuzz/input.h"

#define PASSWORD "correct-horse-battery"

static void try_packet(const uint8_t *data, size_t size)
{
    struct postgres_packet packet, again;
    const char *why;
    struct buf out = BUF_INIT(POSTGRES_PACKET_MAX_BYTES);
    if (postgres_packet_parse(data, size, &packet, &why) != 1)
        return;
    CHECK(packet.size <= size && packet.size <= POSTGRES_PACKET_MAX_BYTES);
    CHECK(postgres_packet_parse(data, packet.size, &again, &why) == 1);
    CHECK(postgres_packet_parse(data, packet.size - 1, &again, &why) <= 0);
    if (packet.kind == POSTGRES_STARTUP) {
        CHECK(packet.user[0] && packet.database[0]);
        CHECK(postgres_write_startup(&out, &packet) == 0);
        CHECK(out.size == packet.size && !memcmp(out.data, data, out.size));
    }
    buf_done(&out);
}

/* An input is a server's messages; those of SCRAM can't know what is drawn, so a nonce is fixed. */
static void try_login(const uint8_t *data, size_t size, bool is_verified)
{
    static const unsigned char random[18];
    struct postgres_auth auth;
    struct postgres_message m;
    const char *why;
    struct buf out = BUF_INIT(1 << 20);
    int r = 0;
    postgres_auth_begin(&auth, "app", is_verified, random);
    while (r == 0 && postgres_message_parse(data, size, &m, &why) == 1) {
        CHECK(m.size <= size && m.body_size < m.size);
        why = NULL;
        r = postgres_auth_take(&auth, m.body, m.body_size, PASSWORD, strlen(PASSWORD), &out, &why);
        CHECK(r != -EPROTO || why);
        data += m.size;
        size -= m.size;
    }
    CHECK(is_verified || r != 1);
    CHECK(is_verified || !out.data || !memmem(out.data, out.size, PASSWORD, strlen(PASSWORD)));
    postgres_auth_end(&auth);
    buf_wipe(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_packet(data, size);
    try_login(data, size, false);
    try_login(data, size, true);
    return 0;
}
