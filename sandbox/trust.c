// SPDX-License-Identifier: Apache-2.0
#include "sandbox/trust.h"

#define DER_SEQUENCE  0x30
#define DER_LONG_FORM 0x82 /* two bytes of length follow: X.690, 8.1.3.5 */
#define DER_HEADER    4
#define LINE_BYTES    48 /* that are 64 characters: RFC 7468, 2 */

/* A certificate has more than 127 bytes, and all of them are there. The gateway is no more trusted
 * than that its bytes end up in a file. */
static bool is_der(const uint8_t *der, size_t size)
{
    return size > DER_HEADER && size <= SANDBOX_CA_MAX_BYTES && der[0] == DER_SEQUENCE &&
           der[1] == DER_LONG_FORM && (size_t)(der[2] << 8 | der[3]) == size - DER_HEADER;
}

int sandbox_ca_set(struct sandbox_ca *ret, const void *der, size_t size, uint32_t subject_hash)
{
    if (size > 0 && !is_der(der, size))
        return -EINVAL;
    memcpy(ret->der, der, size);
    ret->size = size;
    ret->subject_hash = subject_hash;
    return 0;
}

/* Up to three bytes as four characters: RFC 4648, 4. */
static void write_group(const uint8_t *bytes, size_t size, struct buf *b)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)bytes[0] << 16;
    if (size > 1)
        bits |= (uint32_t)bytes[1] << 8;
    if (size > 2)
        bits |= bytes[2];
    char group[4] = {digits[bits >> 18], digits[bits >> 12 & 63], '=', '='};
    if (size > 1)
        group[2] = digits[bits >> 6 & 63];
    if (size > 2)
        group[3] = digits[bits & 63];
    buf_append(b, group, sizeof(group));
}

void sandbox_ca_write_pem(const struct sandbox_ca *ca, struct buf *b)
{
    buf_append_str(b, "-----BEGIN CERTIFICATE-----\n");
    for (size_t at = 0; at < ca->size; at += 3) {
        size_t left = ca->size - at;
        write_group(ca->der + at, MIN(left, (size_t)3), b);
        if (left <= 3 || (at + 3) % LINE_BYTES == 0)
            buf_append(b, "\n", 1);
    }
    buf_append_str(b, "-----END CERTIFICATE-----\n");
}
