// SPDX-License-Identifier: Apache-2.0
/*
 * Java's stores of roots, as an image has them: what one certificate is added to can be added to
 * again, and has all that it had before.
 */
#include "kernel/fs/image/keystore.h"
#include "tests/fuzz/input.h"

#define CERTIFICATE "-----BEGIN CERTIFICATE-----\nT3Vycw==\n-----END CERTIFICATE-----\n"
#define BYTES_MAX   65536
#define HEADER_MAX  64 /* numbers and lengths that change */

/* The whole of a store but what stands before its entries, and the checksum behind them. */
static bool has_entries(const struct buf *b, const uint8_t *data, size_t size)
{
    size_t from = MIN(size, (size_t)HEADER_MAX), to = size - MIN(size - from, (size_t)20);
    return to == from || memmem(b->data, b->size, data + from, to - from) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once = BUF_INIT(BYTES_MAX), twice = BUF_INIT(BYTES_MAX);
    int r = keystore_add(data, size, CERTIFICATE, &once);
    CHECK(r == 0 || r == -EINVAL || r == -E2BIG);
    if (r == 0 && size < BYTES_MAX / 2) {
        CHECK(once.size > size && has_entries(&once, data, size));
        CHECK(memmem(once.data, once.size, "Ours", 4) != NULL);
        CHECK(keystore_add(once.data, once.size, CERTIFICATE, &twice) == 0);
        CHECK(twice.size > once.size);
    }
    buf_done(&once);
    buf_done(&twice);
    return 0;
}
