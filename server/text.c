// SPDX-License-Identifier: Apache-2.0
#include "server/text.h"

#include "lib/http/syntax.h"
#include "lib/text/base64.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

static EVP_MD *sha256;

int text_start(void)
{
    if (!OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL))
        return -ENOMEM;
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    /* gmtime_r(3) reads /etc/localtime when nobody has before. */
    tzset();
    return sha256 ? 0 : -ENOMEM;
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* Bytes that would make some letters likelier than others are thrown away. */
static int make_random(char *out, size_t size, unsigned kinds)
{
    uint8_t bytes[64];
    size_t have = 0;
    unsigned most = 256 / kinds * kinds;
    while (have < size) {
        if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
            return -EIO;
        for (size_t i = 0; i < sizeof(bytes) && have < size; i++)
            if (bytes[i] < most)
                out[have++] = letters[bytes[i] % kinds];
    }
    out[size] = '\0';
    return 0;
}

int text_make_id(const char *prefix, char out[BOX_ID_SIZE + 1])
{
    int size = snprintf(out, BOX_ID_SIZE + 1, "i%s", prefix);
    return make_random(out + size, BOX_ID_SIZE - (size_t)size, 36);
}

int text_make_token(char out[TOKEN_SIZE + 1])
{
    return make_random(out, TOKEN_SIZE, 62);
}

int text_make_api_key(char out[API_KEY_SIZE + 1])
{
    uint8_t bytes[20];
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return -EIO;
    memcpy(out, "e2b_", 4);
    text_hex(bytes, sizeof(bytes), out + 4);
    return 0;
}

int text_make_uuid(char out[UUID_SIZE + 1])
{
    uint8_t bytes[16];
    char hex[33];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return -EIO;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    text_hex(bytes, sizeof(bytes), hex);
    snprintf(out, UUID_SIZE + 1, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
             hex + 20);
    return 0;
}

bool text_is_api_key(const char *text)
{
    return strlen(text) == API_KEY_SIZE && !strncmp(text, "e2b_", 4) &&
           strspn(text + 4, "0123456789abcdef") == API_KEY_SIZE - 4;
}

bool text_read_id(const char *text, size_t size, char out[64])
{
    const char *dash = memchr(text, '-', size);
    if (dash)
        size = (size_t)(dash - text);
    if (size == 0 || size > 63)
        return false;
    for (size_t i = 0; i < size; i++)
        if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= '0' && text[i] <= '9'))
            return false;
    memcpy(out, text, size);
    out[size] = '\0';
    return true;
}

int text_digest(const void *data, size_t size, uint8_t out[DIGEST_SIZE])
{
    return EVP_Digest(data, size, out, NULL, sha256, NULL) ? 0 : -ENOMEM;
}

void text_hex(const uint8_t *data, size_t size, char *out)
{
    for (size_t i = 0; i < size; i++)
        snprintf(out + 2 * i, 3, "%02x", data[i]);
}

bool text_equal_secretly(const char *a, const char *b)
{
    uint8_t da[DIGEST_SIZE], db[DIGEST_SIZE];
    return text_digest(a, strlen(a), da) == 0 && text_digest(b, strlen(b), db) == 0 &&
           CRYPTO_memcmp(da, db, DIGEST_SIZE) == 0;
}

int text_sign(const struct signed_parts *p, char out[SIGNATURE_SIZE + 1])
{
    const char *const parts[] = {p->path, p->operation, p->user, p->token, p->expires};
    struct buf plain = BUF_INIT(65536), text = BUF_INIT(64);
    uint8_t digest[DIGEST_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(parts) && parts[i]; i++)
        buf_printf(&plain, "%s%s", i ? ":" : "", parts[i]);
    int r = plain.failed ? -ENOMEM : text_digest(plain.data, plain.size, digest);
    if (r == 0)
        text_base64_append(&text, digest, sizeof(digest));
    if (r == 0 && text.failed)
        r = -ENOMEM;
    if (r == 0)
        snprintf(out, SIGNATURE_SIZE + 1, "v1_%.43s", text.data);
    buf_done(&plain);
    buf_done(&text);
    return r;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool text_percent_decode(const char *text, size_t size, bool plus, struct buf *out)
{
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '+' && plus)
            c = ' ';
        if (c == '%') {
            int high = i + 2 < size ? hex_digit(text[i + 1]) : -1;
            int low = i + 2 < size ? hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (c == '\0' || buf_append(out, &c, 1) < 0)
            return false;
    }
    return true;
}

/* A decoded copy; NULL when it can't be decoded, or there is no memory. */
static char *decode(const char *text, size_t size)
{
    struct buf out = BUF_INIT(size + 1);
    bool is_good = text_percent_decode(text, size, true, &out);
    char *copy = is_good ? strdup(out.data ? out.data : "") : NULL;
    buf_done(&out);
    return copy;
}

int text_query_get(const char *query, const char *name, char **ret)
{
    size_t name_size = strlen(name);
    while (query && *query) {
        size_t size = strcspn(query, "&");
        const char *equal = memchr(query, '=', size);
        size_t key_size = equal ? (size_t)(equal - query) : size;
        if (key_size == name_size && !strncmp(query, name, name_size)) {
            const char *value = equal ? equal + 1 : "";
            char *text = decode(value, equal ? size - key_size - 1 : 0);
            if (!text)
                return -EINVAL;
            *ret = text;
            return 1;
        }
        query += size + (query[size] ? 1 : 0);
    }
    return 0;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int text_base64_read(const char *text, size_t size, struct buf *out)
{
    uint32_t bits = 0;
    size_t digits = 0, padding = 0;
    for (; padding < 2 && size > 0 && text[size - 1] == '='; size--)
        padding++;
    if (size % 4 == 1 || (padding && (size + padding) % 4 != 0))
        return -EINVAL;
    for (size_t i = 0; i < size; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0)
            return -EINVAL;
        bits = bits << 6 | (uint32_t)digit;
        if (++digits % 4 != 0)
            continue;
        const char bytes[] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
        int r = buf_append(out, bytes, 3);
        if (r < 0)
            return r;
    }
    size_t rest = digits % 4;
    bits <<= rest ? 6 * (4 - rest) : 0;
    const char last[] = {(char)(bits >> 16), (char)(bits >> 8)};
    return rest ? buf_append(out, last, rest - 1) : 0;
}

void text_write_time(int64_t ms, char out[TIME_TEXT_SIZE + 1])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm t = {0};
    char day[20];
    gmtime_r(&seconds, &t);
    strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &t);
    snprintf(out, TIME_TEXT_SIZE + 1, "%s.%03uZ", day, (unsigned)(ms % 1000));
}

/* "+02:00", "Z" or "": minutes east of Greenwich. */
static bool read_zone(const char *text, int *ret)
{
    unsigned hours, minutes;
    int used = 0;
    *ret = 0;
    if (!*text || !strcmp(text, "Z") || !strcmp(text, "z"))
        return true;
    /* A query's '+' that was not encoded has become a blank. */
    if ((*text != '+' && *text != '-' && *text != ' ') ||
        sscanf(text + 1, "%2u:%2u%n", &hours, &minutes, &used) != 2 || text[1 + used] ||
        hours > 23 || minutes > 59)
        return false;
    *ret = (int)(hours * 60 + minutes) * (*text == '-' ? -1 : 1);
    return true;
}

bool text_read_time(const char *text, int64_t *ret_ms)
{
    struct tm t = {0};
    int64_t ms = 0;
    int zone, scale = 100;
    const char *rest = strptime(text, "%Y-%m-%d", &t);
    if (!rest || (*rest != 'T' && *rest != 't' && *rest != ' '))
        return false;
    rest = strptime(rest + 1, "%H:%M:%S", &t);
    if (!rest)
        return false;
    if (*rest == '.')
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, scale /= 10)
            ms += (*rest - '0') * scale;
    if (!read_zone(rest, &zone) || t.tm_year > 8000)
        return false;
    *ret_ms = ((int64_t)timegm(&t) - zone * 60) * 1000 + ms;
    return true;
}

/* One KEY=VALUE of a filter. */
static int pair_matches(const char *pair, size_t size,
                        const char *(*get)(const void *of, const char *key), const void *of)
{
    const char *equal = memchr(pair, '=', size);
    size_t key_size = equal ? (size_t)(equal - pair) : size;
    _cleanup_free_ char *key = decode(pair, key_size);
    _cleanup_free_ char *value = equal ? decode(equal + 1, size - key_size - 1) : strdup("");
    if (!key || !value)
        return -EINVAL;
    const char *has = get(of, key);
    return has && !strcmp(has, value);
}

int text_filter_matches(const char *filter, const char *(*get)(const void *of, const char *key),
                        const void *of)
{
    _cleanup_free_ char *text = decode(filter, strlen(filter));
    int matches = 1;
    if (!text)
        return -EINVAL;
    for (const char *pair = text; *pair;) {
        size_t size = strcspn(pair, "&");
        int r = size ? pair_matches(pair, size, get, of) : 1;
        if (r < 0)
            return r;
        matches &= r;
        pair += size + (pair[size] ? 1 : 0);
    }
    return matches;
}

void text_write_cursor(const struct cursor *c, char out[CURSOR_TEXT_MAX])
{
    snprintf(out, CURSOR_TEXT_MAX, "%" PRId64 "-%s", c->ms, c->id);
}

bool text_read_cursor(const char *text, struct cursor *ret)
{
    uint64_t ms;
    size_t digits = strcspn(text, "-");
    struct cursor c;
    if (!text[digits] || !http_decimal(text, digits, 18, INT64_MAX, &ms) ||
        !text_read_id(text + digits + 1, strlen(text + digits + 1), c.id))
        return false;
    c.ms = (int64_t)ms;
    *ret = c;
    return true;
}
