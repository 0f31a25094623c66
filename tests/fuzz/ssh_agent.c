// SPDX-License-Identifier: Apache-2.0
/*
 * Messages to the agent, and what they want to have signed: what is found lies in the input, and
 * written anew it is the same bytes. The first byte says what the rest is.
 */
#include "lib/ssh/agent.h"
#include "lib/ssh/known_hosts.h"
#include "lib/ssh/public_key.h"
#include "tests/fuzz/input.h"

static void check_inside(struct ssh_bytes part, const uint8_t *data, size_t size)
{
    CHECK(part.size == 0 || (part.data >= data && part.data + part.size <= data + size));
}

static void put(struct buf *b, struct ssh_bytes part)
{
    ssh_put_string(b, part.data, part.size);
}

static void check_same(struct buf *b, const uint8_t *data, size_t size)
{
    CHECK(!b->failed && b->size == size && !memcmp(b->data, data, size));
    buf_done(b);
}

static void try_message(const uint8_t *data, size_t size)
{
    struct ssh_agent_message m;
    struct buf b = BUF_INIT(size + 1);
    if (!ssh_agent_parse(data, size, &m))
        return;
    const struct ssh_bytes parts[] = {m.key, m.data, m.host_key, m.session, m.signature};
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        check_inside(parts[i], data, size);
    if (m.request == SSH_ASK_SIGN) {
        ssh_put_byte(&b, 13);
        put(&b, m.key);
        put(&b, m.data);
        ssh_put_u32(&b, m.flags);
        check_same(&b, data, size);
    } else if (m.request == SSH_ASK_BIND) {
        ssh_put_byte(&b, 27);
        ssh_put_text(&b, SSH_AGENT_BIND);
        put(&b, m.host_key);
        put(&b, m.session);
        put(&b, m.signature);
        ssh_put_byte(&b, m.is_forwarding);
        check_same(&b, data, size);
    }
}

static void try_login(const uint8_t *data, size_t size)
{
    struct ssh_login l;
    struct buf b = BUF_INIT(size + 1);
    if (!ssh_login_parse((struct ssh_bytes){data, size}, &l))
        return;
    put(&b, l.session);
    ssh_put_byte(&b, 50);
    put(&b, l.user);
    ssh_put_text(&b, "ssh-connection");
    ssh_put_text(&b, l.is_host_bound ? "publickey-hostbound-v00@openssh.com" : "publickey");
    ssh_put_byte(&b, 1);
    put(&b, l.algorithm);
    put(&b, l.key);
    if (l.is_host_bound)
        put(&b, l.host_key);
    check_same(&b, data, size);
}

static void try_blob(const uint8_t *data, size_t size)
{
    struct ssh_public_key k;
    struct buf b = BUF_INIT(size + 1);
    if (!ssh_public_key_parse((struct ssh_bytes){data, size}, &k))
        return;
    ssh_put_text(&b, ssh_key_type_name(k.type));
    if (k.type == SSH_KEY_RSA) {
        ssh_put_unsigned(&b, k.exponent.data, k.exponent.size);
        ssh_put_unsigned(&b, k.modulus.data, k.modulus.size);
    } else {
        if (ssh_key_curve_name(k.type))
            ssh_put_text(&b, ssh_key_curve_name(k.type));
        put(&b, k.point);
    }
    check_same(&b, data, size);
}

static void try_text(const char *text, size_t size)
{
    struct ssh_known_key keys[4];
    uint8_t blob[SSH_BLOB_MAX];
    const char *why = NULL;
    size_t count = ssh_known_hosts_find(text, size, "git.test", keys, ARRAY_SIZE(keys));
    CHECK(count <= ARRAY_SIZE(keys));
    for (size_t i = 0; i < count; i++) {
        CHECK(keys[i].text >= text && keys[i].text + keys[i].size <= text + size);
        CHECK(ssh_public_key_read(keys[i].text, keys[i].size, blob, NULL, &why) > 0);
    }
    size_t text_size;
    size_t n = ssh_public_key_read(text, size, blob, &text_size, &why);
    CHECK(n > 0 ? text_size <= size : why && strstr(why, "; "));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    switch (data[0] % 4) {
    case 0:
        try_message(data + 1, size - 1);
        break;
    case 1:
        try_login(data + 1, size - 1);
        break;
    case 2:
        try_blob(data + 1, size - 1);
        break;
    default:
        try_text((const char *)data + 1, size - 1);
    }
    return 0;
}
