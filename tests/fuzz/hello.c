// SPDX-License-Identifier: Apache-2.0
/*
 * The first bytes of a TLS client: what they are found to be does not depend on the pieces they
 * come in, nor a hello on the records it was cut into.
 */
#include "lib/tls/hello.h"
#include "tests/fuzz/input.h"

static enum tls_hello_progress take(struct tls_hello_parser *p, const uint8_t *data, size_t size,
                                    size_t piece, size_t *ret_taken)
{
    enum tls_hello_progress progress = TLS_HELLO_MORE;
    size_t at = 0;
    tls_hello_init(p);
    while (progress == TLS_HELLO_MORE && at < size) {
        size_t taken, n = MIN(piece, size - at);
        progress = tls_hello_take(p, data + at, n, &taken);
        CHECK(taken <= n && (progress != TLS_HELLO_MORE || taken == n));
        at += taken;
    }
    CHECK(p->message.size <= 4 + TLS_HELLO_MAX_BYTES);
    CHECK((progress == TLS_HELLO_MALFORMED) == (p->wrong != NULL));
    *ret_taken = at;
    return progress;
}

static void check_same(const struct tls_hello *a, const struct tls_hello *b)
{
    CHECK(a->name_kind == b->name_kind && !strcmp(a->server_name, b->server_name));
    CHECK(a->has_ech == b->has_ech && a->version == b->version);
    CHECK(a->versions_size == b->versions_size && a->protocols_size == b->protocols_size);
    CHECK(!a->versions_size || !memcmp(a->versions, b->versions, a->versions_size));
    CHECK(!a->protocols_size || !memcmp(a->protocols, b->protocols, a->protocols_size));
}

static void check_hello(const struct tls_hello *h)
{
    size_t at = 0, size, total = 0;
    CHECK((h->name_kind == TLS_NAME_NONE) == (h->server_name[0] == '\0'));
    for (const char *c = h->server_name; h->name_kind == TLS_NAME_HOST && *c; c++)
        CHECK(strchr("-._", *c) || (*c >= '0' && *c <= '9') ||
              ((*c | 32) >= 'a' && (*c | 32) <= 'z'));
    for (const char *one; (one = tls_hello_next_protocol(h, &at, &size)); total += 1 + size)
        CHECK(size > 0);
    CHECK(total == h->protocols_size);
}

/* The same message in records of another size. */
static void check_records(const struct tls_hello_parser *p, size_t record_size)
{
    static uint8_t records[6 * (4 + TLS_HELLO_MAX_BYTES)];
    struct tls_hello_parser again;
    size_t size = 0, taken;
    for (size_t at = 0; at < p->message.size;) {
        size_t n = MIN(record_size, p->message.size - at);
        memcpy(records + size, (uint8_t[]){22, 3, 3, (uint8_t)(n >> 8), (uint8_t)n}, 5);
        memcpy(records + size + 5, p->message.data + at, n);
        size += 5 + n;
        at += n;
    }
    CHECK(take(&again, records, size, SIZE_MAX, &taken) == TLS_HELLO_DONE && taken == size);
    check_same(&p->hello, &again.hello);
    tls_hello_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tls_hello_parser whole, pieces;
    size_t whole_taken, pieces_taken;
    if (size < 1)
        return 0;
    size_t piece = 1 + data[0];
    data++;
    size--;
    enum tls_hello_progress progress = take(&whole, data, size, SIZE_MAX, &whole_taken);
    CHECK(take(&pieces, data, size, piece, &pieces_taken) == progress);
    CHECK(whole_taken == pieces_taken && whole.wrong == pieces.wrong);
    check_same(&whole.hello, &pieces.hello);
    if (progress == TLS_HELLO_DONE) {
        check_hello(&whole.hello);
        check_records(&whole, piece);
    }
    tls_hello_done(&whole);
    tls_hello_done(&pieces);
    return 0;
}
