// SPDX-License-Identifier: Apache-2.0
/*
 * A client's first bytes: what kind they are found to be is the same for the pieces they come in,
 * as long as no piece is judged before another could have come; and they are kept as they were.
 */
#include "gateway/flight.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct flight whole, pieces;
    if (size < 1)
        return 0;
    size_t piece = 1 + data[0], at = 0;
    data++;
    size--;
    flight_init(&whole);
    flight_init(&pieces);
    enum flight_kind kind = flight_take(&whole, data, size);
    while (at < size && pieces.kind == FLIGHT_MORE) {
        size_t n = MIN(piece, size - at);
        flight_take(&pieces, data + at, n);
        at += n;
        CHECK(pieces.bytes.size == at && !memcmp(pieces.bytes.data, data, at));
    }
    /* A word that no method begins with is known for one only when its line came whole. */
    bool is_late = kind == FLIGHT_HTTP && pieces.kind == FLIGHT_OTHER;
    CHECK(pieces.kind == kind || is_late || (pieces.kind != FLIGHT_MORE && at < size));
    CHECK((kind == FLIGHT_TLS) == (whole.hello.progress == TLS_HELLO_DONE));
    CHECK(whole.bytes.size <= FLIGHT_MAX_BYTES);
    CHECK(flight_end(&whole) != FLIGHT_MORE && flight_end(&pieces) != FLIGHT_MORE);
    flight_done(&whole);
    flight_done(&pieces);
    return 0;
}
