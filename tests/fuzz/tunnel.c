// SPDX-License-Identifier: Apache-2.0
/*
 * What a proxy answers: it is understood the same in any pieces, and no byte is taken that comes
 * behind the answer.
 */
#include "gateway/tunnel.h"
#include "tests/fuzz/input.h"

static void drain(struct tunnel *t)
{
    const char *data;
    size_t size;
    tunnel_pending(t, &data, &size);
    CHECK(size <= 2048);
    tunnel_sent(t, size);
}

/* Returns how many bytes were taken. */
static size_t feed(struct tunnel *t, const uint8_t *data, size_t size, size_t piece,
                   enum tunnel_progress *ret)
{
    size_t at = 0;
    *ret = TUNNEL_MORE;
    drain(t);
    while (at < size && *ret == TUNNEL_MORE) {
        size_t left = MIN(piece, size - at), n = MIN(left, tunnel_room(t));
        CHECK(n > 0);
        *ret = tunnel_take(t, (const char *)data + at, n);
        at += n;
        drain(t);
    }
    CHECK((*ret == TUNNEL_MORE) == (tunnel_room(t) > 0));
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *words, *other_words;
    enum tunnel_progress a, b;
    struct in6_addr to = {.s6_addr = {[10] = 0xff, [11] = 0xff, [12] = 45, 33, 32, 10}};
    if (size < 1)
        return 0;
    struct policy_upstream proxy = {
        .type = data[0] & 1 ? POLICY_UPSTREAM_SOCKS5 : POLICY_UPSTREAM_HTTP,
        .username = data[0] & 2 ? "robot" : NULL,
    };
    size_t piece = 1 + (data[0] >> 2);
    if (data[0] & 4)
        to.s6_addr[0] = 0x20;
    struct tunnel *whole = tunnel_new(&proxy, "word", 4, &to, 443);
    struct tunnel *pieces = tunnel_new(&proxy, "word", 4, &to, 443);
    CHECK(whole && pieces);
    size_t taken = feed(whole, data + 1, size - 1, SIZE_MAX, &a);
    CHECK(feed(pieces, data + 1, size - 1, piece, &b) == taken && a == b);
    if (a == TUNNEL_FAILED)
        CHECK(tunnel_error(whole, &words) == tunnel_error(pieces, &other_words) &&
              words == other_words);
    tunnel_free(whole);
    tunnel_free(pieces);
    return 0;
}
