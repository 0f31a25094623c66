// SPDX-License-Identifier: Apache-2.0
/*
 * Secrets that log in by SSH: "ssh" of a secret, and what known_hosts(5) has of their hosts.
 */
#include "lib/policy/patterns.h"
#include "lib/policy/reader.h"
#include "lib/ssh/known_hosts.h"
#include "lib/ssh/public_key.h"

#include <stdio.h>

#define USER_MAX_BYTES 64
#define HOST_KEYS_MAX  16

static int take_host_key(struct reader *r, json_t *value, void *element)
{
    struct policy_host_key *key = element;
    uint8_t blob[SSH_BLOB_MAX];
    const char *why = "is not a text";
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    size_t text_size;
    size_t size = ssh_public_key_read(text, strlen(text), blob, &text_size, &why);
    if (size == 0)
        return reader_fail(r, "%s", why);
    void *copy = arena_new(r->arena, 1, size);
    key->text = arena_copy(r->arena, text, text_size);
    if (!copy || !key->text)
        return reader_no_memory(r);
    key->blob = memcpy(copy, blob, size);
    key->blob_size = size;
    return 0;
}

static int read_host_keys(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                          void *field)
{
    struct policy_ssh *ssh = field;
    void *list = NULL;
    int result = reader_list(
        r, value,
        &(struct reader_elements){1, HOST_KEYS_MAX, sizeof(*ssh->host_keys), take_host_key}, &list,
        &ssh->host_key_count);
    ssh->host_keys = list;
    return result;
}

/* A file of known hosts has neither patterns of ours nor ranges. */
static int check_allow(struct reader *r, const struct policy_secret *secret)
{
    const struct policy_patterns *p = &secret->hosts;
    if (p->below_count + p->label_count + p->glob_count > 0)
        return reader_fail(r, "is for hosts by a pattern; write each of \"hosts\" in full, as its "
                              "keys are");
    for (size_t i = 0; i < secret->port_count; i++)
        if (secret->ports[i].first != secret->ports[i].last)
            return reader_fail(r, "is for a range of ports; write each of \"ports\" by itself");
    return 0;
}

int reader_take_ssh(struct reader *r, json_t *value, struct policy_secret *secret)
{
    static const struct reader_sizes user = {1, USER_MAX_BYTES};
    static const struct reader_field fields[] = {
        {"user", reader_text, offsetof(struct policy_ssh, user), &user, false},
        {"host_keys", read_host_keys, 0, NULL, true},
        {0},
    };
    secret->ssh.user = "git";
    secret->scrub = POLICY_SCRUB_OFF; /* it is shown to nobody */
    int result = reader_object(r, value, fields, &secret->ssh);
    return result < 0 ? result : check_allow(r, secret);
}

static void write_hosts(const struct policy_secret *secret, uint16_t port, struct buf *b)
{
    char name[POLICY_NAME_MAX_BYTES + 16];
    for (size_t host = 0; host < secret->hosts.exact_count; host++) {
        ssh_known_host_name(secret->hosts.exact[host], port, name, sizeof(name));
        for (size_t key = 0; key < secret->ssh.host_key_count; key++)
            buf_printf(b, "%s %s\n", name, secret->ssh.host_keys[key].text);
    }
}

bool policy_has_ssh(const struct policy_document *d)
{
    for (size_t i = 0; i < d->secret_count; i++)
        if (d->secrets[i].use == POLICY_SECRET_SSH)
            return true;
    return false;
}

int policy_write_known_hosts(const struct policy_document *d, struct buf *b)
{
    for (size_t i = 0; i < d->secret_count; i++) {
        const struct policy_secret *secret = &d->secrets[i];
        if (secret->use != POLICY_SECRET_SSH)
            continue;
        for (size_t port = 0; port < secret->port_count; port++)
            write_hosts(secret, secret->ports[port].first, b);
    }
    return b->failed ? -ENOMEM : 0;
}
