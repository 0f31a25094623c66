// SPDX-License-Identifier: Apache-2.0
#include "lib/secret/sigv4.h"

#include "lib/secret/forms.h"
#include "lib/secret/secrets.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>

#define ALGORITHM           "AWS4-HMAC-SHA256"
#define TERMINATOR          "aws4_request"
#define DAY_BYTES           8
#define HASH_BYTES          32
#define CANONICAL_MAX_BYTES (512 * 1024)
#define PARAMETERS_MAX      1024

/* ---- what the guest has signed ---- */

struct word {
    const char *text;
    size_t size;
};

static bool is_scope(const struct word *w, const char *also)
{
    for (size_t i = 0; i < w->size; i++) {
        char c = w->text[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_plain && c != '-' && !strchr(also, c))
            return false;
    }
    return w->size > 0 && w->size <= SIGV4_SCOPE_MAX_BYTES;
}

/* The part up to the next '/', or to the end. */
static struct word next_part(struct word *rest)
{
    const char *slash = memchr(rest->text, '/', rest->size);
    size_t size = slash ? (size_t)(slash - rest->text) : rest->size;
    struct word part = {rest->text, size};
    rest->text += size + (slash != NULL);
    rest->size -= size + (slash != NULL);
    return part;
}

/* ID/20130524/us-east-1/s3/aws4_request */
static bool read_credential(struct word all, struct sigv4_scope *ret)
{
    struct word id = next_part(&all), day = next_part(&all), region = next_part(&all),
                service = next_part(&all);
    if (id.size == 0 || day.size != DAY_BYTES || !is_scope(&region, "") ||
        !is_scope(&service, "_") || all.size != strlen(TERMINATOR) ||
        memcmp(all.text, TERMINATOR, all.size) != 0)
        return false;
    ret->id = id.text;
    ret->id_size = id.size;
    snprintf(ret->region, sizeof(ret->region), "%.*s", (int)region.size, region.text);
    snprintf(ret->service, sizeof(ret->service), "%.*s", (int)service.size, service.text);
    return true;
}

/* NAME=VALUE up to a comma. False: it is none. */
static bool next_pair(const char **at, struct word *name, struct word *value)
{
    const char *from = *at + strspn(*at, " ,");
    const char *end = from + strcspn(from, ","), *equals = memchr(from, '=', (size_t)(end - from));
    if (!equals)
        return false;
    *at = end;
    while (end > equals + 1 && end[-1] == ' ')
        end--;
    *name = (struct word){from, (size_t)(equals - from)};
    *value = (struct word){equals + 1, (size_t)(end - equals - 1)};
    return true;
}

static bool is_word(const struct word *w, const char *text)
{
    return w->size == strlen(text) && !memcmp(w->text, text, w->size);
}

static bool is_hash(const char *text, size_t size)
{
    return size == SIGV4_HASH_BYTES && strspn(text, "0123456789abcdef") >= size;
}

enum sigv4_kind sigv4_parse(const char *authorization, struct sigv4_scope *ret)
{
    enum { CREDENTIAL = 1, SIGNED = 2, SIGNATURE = 4 };
    const char *at = authorization + strlen(ALGORITHM);
    struct word name, value;
    unsigned seen = 0;
    *ret = (struct sigv4_scope){.id = ""};
    if (strncasecmp(authorization, "AWS4-", 5) != 0)
        return SIGV4_NONE;
    if (strncmp(authorization, ALGORITHM, strlen(ALGORITHM)) != 0 || *at != ' ')
        return SIGV4_OTHER;
    while (*(at + strspn(at, " "))) {
        if (!next_pair(&at, &name, &value))
            return SIGV4_BROKEN;
        unsigned which = is_word(&name, "Credential")      ? CREDENTIAL
                         : is_word(&name, "SignedHeaders") ? SIGNED
                         : is_word(&name, "Signature")     ? SIGNATURE
                                                           : 0;
        if (!which || (seen & which) || (which == CREDENTIAL && !read_credential(value, ret)) ||
            (which == SIGNATURE && !is_hash(value.text, value.size)))
            return SIGV4_BROKEN;
        seen |= which;
        if (which == SIGNED) {
            ret->signed_names = value.text;
            ret->signed_size = value.size;
        }
    }
    return seen == (CREDENTIAL | SIGNED | SIGNATURE) ? SIGV4_SIGNATURE : SIGV4_BROKEN;
}

enum sigv4_content sigv4_content_of(const char *value)
{
    if (is_hash(value, strlen(value)) || !strcmp(value, "UNSIGNED-PAYLOAD") ||
        !strcmp(value, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"))
        return SIGV4_CONTENT_HASHED;
    return !strncmp(value, "STREAMING-", 10) ? SIGV4_CONTENT_SIGNED : SIGV4_CONTENT_UNKNOWN;
}

/* ---- the query ---- */

/* A name or a value, as the signature has it: decoded, and encoded in the one way. */
static int append_encoded(struct buf *out, const char *text, size_t size, const char *kept)
{
    static const char digits[] = "0123456789ABCDEF";
    int r = 0;
    for (size_t i = 0; i < size && r == 0; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || (c && strchr("-._~", c)) ||
                        (c && strchr(kept, c));
        const char escape[3] = {'%', digits[c >> 4], digits[c & 15]};
        r = is_plain ? buf_append(out, &c, 1) : buf_append(out, escape, sizeof(escape));
    }
    return r;
}

static int append_recoded(struct buf *out, const char *text, size_t size, const char *kept)
{
    int r = 0;
    for (size_t i = 0; i < size && r == 0; i++) {
        char c = text[i];
        if (c == '%' && size - i > 2 && form_hex_digit((unsigned char)text[i + 1]) >= 0 &&
            form_hex_digit((unsigned char)text[i + 2]) >= 0) {
            c = (char)(form_hex_digit((unsigned char)text[i + 1]) << 4 |
                       form_hex_digit((unsigned char)text[i + 2]));
            i += 2;
        }
        r = append_encoded(out, &c, 1, kept);
    }
    return r;
}

/* Encoded; both lie in one buffer, so they are places in it until that is complete. */
struct parameter {
    const char *name, *value;
    size_t at, name_size, value_size;
};

static int compare_bytes(const char *a, size_t a_size, const char *b, size_t b_size)
{
    int r = memcmp(a, b, MIN(a_size, b_size));
    return r ? r : (a_size > b_size) - (a_size < b_size);
}

static int compare_parameters(const void *a, const void *b)
{
    const struct parameter *x = a, *y = b;
    int r = compare_bytes(x->name, x->name_size, y->name, y->name_size);
    return r ? r : compare_bytes(x->value, x->value_size, y->value, y->value_size);
}

static int read_parameters(const char *query, struct buf *text, struct parameter *list,
                           size_t *ret_count)
{
    size_t count = 0;
    int r = 0;
    for (const char *at = query; at && r == 0;) {
        const char *end = strchrnul(at, '&');
        const char *equals = memchr(at, '=', (size_t)(end - at)) ?: end;
        struct parameter *p = &list[count];
        if (end > at && count++ == PARAMETERS_MAX)
            return -E2BIG;
        if (end > at) {
            p->at = text->size;
            r = append_recoded(text, at, (size_t)(equals - at), "");
            p->name_size = text->size - p->at;
            if (r == 0 && equals < end)
                r = append_recoded(text, equals + 1, (size_t)(end - equals - 1), "");
            p->value_size = text->size - p->at - p->name_size;
        }
        at = *end ? end + 1 : NULL;
    }
    for (size_t i = 0; i < count && r == 0; i++) {
        list[i].name = text->data ? text->data + list[i].at : "";
        list[i].value = list[i].name + list[i].name_size;
    }
    *ret_count = count;
    return r;
}

/* Whether a parameter's name, which may be encoded, means this one. */
static bool is_named(const char *at, size_t size, const char *name)
{
    struct buf text = BUF_INIT(64);
    append_recoded(&text, at, size, "");
    bool is_it = text.size == strlen(name) && !strncasecmp(text.data, name, text.size);
    buf_done(&text);
    return is_it;
}

bool sigv4_parse_query(const char *query, const char **ret_id, size_t *ret_size)
{
    for (const char *at = query; at; at = strchr(at, '&')) {
        at += *at == '&';
        size_t size = strcspn(at, "&=");
        if (at[size] != '=' || !is_named(at, size, "X-Amz-Credential"))
            continue;
        *ret_id = at + size + 1;
        *ret_size = strcspn(*ret_id, "/%&");
        return true;
    }
    return false;
}

static int append_query(struct buf *out, const char *query)
{
    struct parameter *list = calloc(PARAMETERS_MAX, sizeof(*list));
    struct buf text = BUF_INIT(CANONICAL_MAX_BYTES);
    size_t count = 0;
    int r = list ? read_parameters(query, &text, list, &count) : -ENOMEM;
    if (r == 0)
        qsort(list, count, sizeof(*list), compare_parameters);
    for (size_t i = 0; i < count && r == 0; i++)
        r = buf_printf(out, "%s%.*s=%.*s", i ? "&" : "", (int)list[i].name_size, list[i].name,
                       (int)list[i].value_size, list[i].value);
    secret_wipe_buf(&text);
    free(list);
    return r;
}

/* ---- the path ---- */

static bool is_s3(const char *service)
{
    static const char *const names[] = {"s3", "s3-object-lambda", "s3-outposts", "s3express"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (!strcmp(service, names[i]))
            return true;
    return false;
}

/* Back to the '/' before the last segment, but for that of the beginning. */
static void drop_segment(struct buf *path, size_t start)
{
    while (path->size > start && path->data[path->size - 1] != '/')
        path->size--;
    if (path->size > start)
        path->size--;
}

/* RFC 3986, 5.2.4, and empty segments taken out; what is there is encoded again. */
static int append_normalized(struct buf *out, const char *path)
{
    size_t start = out->size, size;
    int r = 0;
    for (const char *at = path; *at && r == 0; at += size) {
        at += strspn(at, "/");
        size = strcspn(at, "/");
        if (size == 2 && !memcmp(at, "..", 2)) {
            drop_segment(out, start);
        } else if (size > 0 && !(size == 1 && *at == '.')) {
            r = buf_append_str(out, "/");
            if (r == 0)
                r = append_encoded(out, at, size, "");
        }
    }
    bool has_end = out->size == start || (*path && path[strlen(path) - 1] == '/');
    return r == 0 && has_end ? buf_append_str(out, "/") : r;
}

/* ---- fields ---- */

static bool is_listed(const struct sigv4_scope *scope, const char *name)
{
    const char *at = scope->signed_names, *end = at + scope->signed_size;
    while (at && at < end) {
        const char *next = memchr(at, ';', (size_t)(end - at)) ?: end;
        if ((size_t)(next - at) == strlen(name) && !strncasecmp(at, name, strlen(name)))
            return true;
        at = next + 1;
    }
    return false;
}

static bool is_signed(const struct sigv4_scope *scope, const char *name)
{
    static const char *const always[] = {"host", "content-type", "content-md5"};
    static const char *const never[] = {"authorization", "user-agent", "x-amzn-trace-id"};
    for (size_t i = 0; i < ARRAY_SIZE(always); i++)
        if (!strcasecmp(name, always[i]))
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(never); i++)
        if (!strcasecmp(name, never[i]))
            return false;
    return !strncasecmp(name, "x-amz-", 6) || is_listed(scope, name);
}

/* By name, and those of one name in the order in which they are sent. */
static int compare_fields(const void *a, const void *b)
{
    const struct policy_field *x = *(const struct policy_field *const *)a,
                              *y = *(const struct policy_field *const *)b;
    int r = strcasecmp(x->name, y->name);
    return r ? r : (x > y) - (x < y);
}

static int append_lower(struct buf *out, const char *name)
{
    int r = 0;
    for (; *name && r == 0; name++) {
        char c = *name >= 'A' && *name <= 'Z' ? (char)(*name + ('a' - 'A')) : *name;
        r = buf_append(out, &c, 1);
    }
    return r;
}

/* Without blanks at its ends, and one in the place of several. */
static int append_value(struct buf *out, const char *value)
{
    int r = 0;
    bool is_first = true;
    while (r == 0 && *(value += strspn(value, " \t"))) {
        size_t size = strcspn(value, " \t");
        if (!is_first)
            r = buf_append_str(out, " ");
        if (r == 0)
            r = buf_append(out, value, size);
        is_first = false;
        value += size;
    }
    return r;
}

static bool continues(const struct policy_field *const *list, size_t i)
{
    return i > 0 && !strcasecmp(list[i - 1]->name, list[i]->name);
}

static int append_fields(struct buf *out, const struct policy_field *const *list, size_t count)
{
    int r = 0;
    for (size_t i = 0; i < count && r == 0; i++) {
        if (continues(list, i)) {
            out->size--; /* the line goes on */
            r = buf_append_str(out, ",");
        } else {
            r = append_lower(out, list[i]->name);
            if (r == 0)
                r = buf_append_str(out, ":");
        }
        if (r == 0)
            r = append_value(out, list[i]->value);
        if (r == 0)
            r = buf_append_str(out, "\n");
    }
    return r;
}

static int append_names(struct buf *out, const struct policy_field *const *list, size_t count)
{
    int r = 0;
    for (size_t i = 0; i < count && r == 0; i++) {
        if (continues(list, i))
            continue;
        if (i > 0)
            r = buf_append_str(out, ";");
        if (r == 0)
            r = append_lower(out, list[i]->name);
    }
    return r;
}

/* ---- the signature ---- */

static void write_hex(const unsigned char hash[HASH_BYTES], char ret[SIGV4_HASH_BYTES + 1])
{
    form_hex((const char *)hash, HASH_BYTES, false, ret);
    ret[SIGV4_HASH_BYTES] = 0;
}

bool sigv4_hash(const void *data, size_t size, char ret[SIGV4_HASH_BYTES + 1])
{
    unsigned char hash[HASH_BYTES];
    if (!EVP_Digest(data, size, hash, NULL, EVP_sha256(), NULL))
        return false;
    write_hex(hash, ret);
    return true;
}

static bool mac(const void *key, size_t key_size, const char *text, size_t size,
                unsigned char ret[HASH_BYTES])
{
    return HMAC(EVP_sha256(), key, (int)key_size, (const unsigned char *)text, size, ret, NULL);
}

static int append_canonical(struct buf *out, const struct sigv4_request *r,
                            const struct sigv4_scope *scope, const struct policy_field *const *list,
                            size_t count)
{
    int e = buf_printf(out, "%s\n", r->method);
    if (e == 0)
        e = is_s3(scope->service) ? append_recoded(out, r->path, strlen(r->path), "/")
                                  : append_normalized(out, r->path);
    if (e == 0)
        e = buf_append_str(out, "\n");
    if (e == 0)
        e = append_query(out, r->query);
    if (e == 0)
        e = buf_append_str(out, "\n");
    if (e == 0)
        e = append_fields(out, list, count);
    if (e == 0)
        e = buf_append_str(out, "\n");
    if (e == 0)
        e = append_names(out, list, count);
    return e < 0 ? e : buf_printf(out, "\n%s", r->content);
}

/* The key of the day, region and service, and with it the signature. */
static bool make_signature(const struct sigv4_request *r, const struct sigv4_scope *scope,
                           const struct sigv4_keys *keys, const char *canonical_hash,
                           char ret[SIGV4_HASH_BYTES + 1])
{
    char first[4 + SECRET_SIGNING_KEY_MAX_BYTES] = "AWS4", text[512];
    unsigned char key[HASH_BYTES];
    memcpy(first + 4, keys->key, keys->key_size);
    int size = snprintf(text, sizeof(text), ALGORITHM "\n%s\n%.*s/%s/%s/" TERMINATOR "\n%s",
                        r->date, DAY_BYTES, r->date, scope->region, scope->service, canonical_hash);
    bool is_made = mac(first, 4 + keys->key_size, r->date, DAY_BYTES, key) &&
                   mac(key, HASH_BYTES, scope->region, strlen(scope->region), key) &&
                   mac(key, HASH_BYTES, scope->service, strlen(scope->service), key) &&
                   mac(key, HASH_BYTES, TERMINATOR, strlen(TERMINATOR), key) &&
                   mac(key, HASH_BYTES, text, (size_t)size, key);
    if (is_made)
        write_hex(key, ret);
    explicit_bzero(first, sizeof(first));
    explicit_bzero(key, sizeof(key));
    return is_made;
}

static int sign(const struct sigv4_request *r, const struct sigv4_scope *scope,
                const struct sigv4_keys *keys, const struct policy_field *const *list, size_t count,
                struct buf *out)
{
    char hash[SIGV4_HASH_BYTES + 1], signature[SIGV4_HASH_BYTES + 1];
    struct buf canonical = BUF_INIT(CANONICAL_MAX_BYTES);
    int e = append_canonical(&canonical, r, scope, list, count);
    if (e == 0 && (!sigv4_hash(canonical.data, canonical.size, hash) ||
                   !make_signature(r, scope, keys, hash, signature)))
        e = -ENOMEM;
    secret_wipe_buf(&canonical);
    if (e == 0)
        e = buf_printf(out, ALGORITHM " Credential=%.*s/%.*s/%s/%s/" TERMINATOR ", SignedHeaders=",
                       (int)keys->id_size, keys->id, DAY_BYTES, r->date, scope->region,
                       scope->service);
    if (e == 0)
        e = append_names(out, list, count);
    return e < 0 ? e : buf_printf(out, ", Signature=%s", signature);
}

int sigv4_sign(const struct sigv4_request *r, const struct sigv4_scope *scope,
               const struct sigv4_keys *keys, struct buf *out)
{
    const struct policy_field **list = calloc(r->field_count + 1, sizeof(*list));
    size_t count = 0;
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < r->field_count; i++)
        if (is_signed(scope, r->fields[i].name))
            list[count++] = &r->fields[i];
    qsort(list, count, sizeof(*list), compare_fields);
    int e = keys->key_size <= SECRET_SIGNING_KEY_MAX_BYTES ? sign(r, scope, keys, list, count, out)
                                                           : -E2BIG;
    free(list);
    return e;
}

void sigv4_date(int64_t now_s, char ret[SIGV4_DATE_BYTES + 1])
{
    time_t t = now_s;
    struct tm utc;
    gmtime_r(&t, &utc);
    strftime(ret, SIGV4_DATE_BYTES + 1, "%Y%m%dT%H%M%SZ", &utc);
}
