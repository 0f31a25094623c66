// SPDX-License-Identifier: Apache-2.0
/*
 * Whether a request satisfies a predicate. A request can say something twice, or in a way that
 * servers read differently, and nobody here knows which of it the server goes by. So what a rule
 * allows has to hold in each of these readings, and what a rule denies in one of them.
 */
#include "lib/policy/document.h"

#include "lib/http/syntax.h"

#include <ctype.h>

#define VALUE_MAX_BYTES 8192 /* decoded; no request line is longer */

enum reading {
    STRICT, /* it holds, however this is read */
    LOOSE,  /* it could be read so that it holds */
};

/* What was seen of a field's or a parameter's occurrences. */
struct seen {
    bool any_holds;   /* of all that could be taken for it */
    bool surely_does; /* of those that everybody takes for it */
    bool all_hold;    /* as any_holds */
};

static void see(struct seen *seen, bool is_sure, bool holds)
{
    seen->any_holds |= holds;
    seen->surely_does |= holds && is_sure;
    seen->all_hold &= holds;
}

static bool has_method(const struct policy_http *http, const char *method, enum reading reading)
{
    for (size_t i = 0; i < http->method_count; i++)
        if (!(reading == STRICT ? strcmp : strcasecmp)(http->methods[i], method))
            return true;
    return http->method_count == 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next byte of a form's text (WHATWG URL, 5.1) at *at, which is moved behind it. */
static char decode_byte(const char *text, size_t size, size_t *at)
{
    char c = text[(*at)++];
    if (c == '+')
        return ' ';
    if (c != '%' || size - *at < 2)
        return c;
    int high = hex_digit(text[*at]), low = hex_digit(text[*at + 1]);
    if (high < 0 || low < 0)
        return c;
    *at += 2;
    return (char)(16 * high + low);
}

static bool is_name(const char *text, size_t size, const char *name)
{
    size_t at = 0;
    for (; *name && at < size; name++)
        if (decode_byte(text, size, &at) != *name)
            return false;
    return !*name && at == size;
}

/* PHP makes these one, since none but the last can be in a variable's name. */
static char as_variable(char c)
{
    return c && strchr(" .[", c) ? '_' : (char)tolower((unsigned char)c);
}

/*
 * Some server takes it for that name: without regard to capitals, as a variable of PHP's, without
 * blanks in front and what is behind a NUL, or as one of several (name[]=, name[x]=).
 */
static bool could_be_name(const char *text, size_t size, const char *name)
{
    size_t at = 0, next = 0;
    while (next < size && decode_byte(text, size, &next) == ' ' && *name != ' ')
        at = next;
    for (; *name && at < size; name++)
        if (as_variable(decode_byte(text, size, &at)) != as_variable(*name))
            return false;
    if (*name || at == size)
        return !*name;
    char behind = decode_byte(text, size, &at);
    return behind == '[' || behind == '\0';
}

bool policy_query_could_name(const char *piece, size_t size, const char *name)
{
    for (size_t at = 0; at <= size;) {
        const char *end = memchr(piece + at, ';', size - at) ?: piece + size;
        const char *equals = memchr(piece + at, '=', (size_t)(end - piece) - at);
        if (could_be_name(piece + at, (size_t)((equals ?: end) - piece) - at, name))
            return true;
        at = (size_t)(end - piece) + 1;
    }
    return false;
}

/*
 * What was written is compared. A piece of a glob may so be found across the end of an escape
 * ("*20" in "x%20"), which no server reads.
 */
static bool text_holds(const struct policy_text *wanted, const char *text, size_t size,
                       enum reading reading)
{
    char decoded[VALUE_MAX_BYTES];
    size_t used = 0;
    bool holds = policy_text_matches(wanted, text, size);
    bool is_for_decoded = wanted->kind == POLICY_TEXT_GLOB && !strpbrk(wanted->text, "%+");
    if (reading == STRICT ? !holds || !is_for_decoded : holds)
        return holds;
    if (size > sizeof(decoded))
        return reading == LOOSE;
    for (size_t at = 0; at < size;)
        decoded[used++] = decode_byte(text, size, &at);
    return policy_text_matches(wanted, decoded, used);
}

/* "name=value" between any of separators. */
static void see_parameters(const struct policy_named_text *wanted, const char *query,
                           const char *separators, enum reading reading, struct seen *seen)
{
    for (const char *end; query; query = *end ? end + 1 : NULL) {
        end = query + strcspn(query, separators);
        const char *equals = memchr(query, '=', (size_t)(end - query));
        const char *value = equals ? equals + 1 : end;
        size_t name_size = (size_t)((equals ? equals : end) - query);
        if (could_be_name(query, name_size, wanted->name))
            see(seen, is_name(query, name_size, wanted->name),
                text_holds(&wanted->value, value, (size_t)(end - value), reading));
    }
}

static bool holds(const struct seen *seen, enum reading reading)
{
    return reading == LOOSE ? seen->any_holds : seen->surely_does && seen->all_hold;
}

/* Old servers divide parameters at ';', too. */
static bool has_query(const struct policy_named_text *wanted, const char *query,
                      enum reading reading)
{
    struct seen of_new = {.all_hold = true}, of_old = of_new;
    see_parameters(wanted, query, "&", reading, &of_new);
    see_parameters(wanted, query, "&;", reading, &of_old);
    bool for_new = holds(&of_new, reading), for_old = holds(&of_old, reading);
    return reading == LOOSE ? for_new || for_old : for_new && for_old;
}

static bool has_header(const struct policy_named_text *wanted, const struct policy_request *request,
                       enum reading reading)
{
    struct seen seen = {.all_hold = true};
    for (size_t i = 0; i < request->field_count; i++) {
        const struct policy_field *field = &request->fields[i];
        if (!http_names_alike(field->name, wanted->name))
            continue;
        see(&seen, http_words_equal(field->name, wanted->name),
            policy_text_matches(&wanted->value, field->value, strlen(field->value)));
    }
    return holds(&seen, reading);
}

bool policy_path_matches(const struct policy_text *wanted, const char *path)
{
    return policy_path_is_plain(path) && text_holds(wanted, path, strlen(path), STRICT);
}

static bool has_path(const struct policy_http *http, const char *path, enum reading reading)
{
    if (!http->has_path)
        return true;
    if (reading == STRICT)
        return policy_path_matches(&http->path, path);
    return !policy_path_is_plain(path) || text_holds(&http->path, path, strlen(path), LOOSE);
}

static bool matches(const struct policy_http *http, const struct policy_request *request,
                    enum reading reading)
{
    if (!http)
        return true;
    if (!request->method || !request->path || !has_method(http, request->method, reading) ||
        !has_path(http, request->path, reading))
        return false;
    for (size_t i = 0; i < http->query_count; i++)
        if (!has_query(&http->queries[i], request->query, reading))
            return false;
    for (size_t i = 0; i < http->header_count; i++)
        if (!has_header(&http->headers[i], request, reading))
            return false;
    return true;
}

bool policy_http_matches(const struct policy_http *http, const struct policy_request *request)
{
    return matches(http, request, STRICT);
}

bool policy_http_could_match(const struct policy_http *http, const struct policy_request *request)
{
    return matches(http, request, LOOSE);
}
