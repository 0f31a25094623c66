// SPDX-License-Identifier: Apache-2.0
#include "server/envd.h"

#include "server/limits.h"
#include "server/server.h"

#include <stdio.h>

#define USER_MAX_BYTES 64

static const struct envd_route *const families[] = {
    envd_plain_routes,
    envd_process_routes,
    envd_files_routes,
    envd_filesystem_routes,
};

/* What only the host of a sandbox may ask of a real envd; from outside there is no such path. */
static const char *const internal[] = {"/init",     "/freeze", "/unfreeze", "/collapse",
                                       "/fsfreeze", "/fsthaw", "/upgrade"};

/* ---- who may ask ---- */

bool envd_is_signed_by(const struct request *r, const struct box *b)
{
    _cleanup_free_ char *path = NULL, *user = NULL, *expires = NULL, *signature = NULL;
    const char *query = r->head->query;
    char expected[SIGNATURE_SIZE + 1];
    if (text_query_get(query, "signature", &signature) != 1 ||
        text_query_get(query, "path", &path) < 0 || text_query_get(query, "username", &user) < 0 ||
        text_query_get(query, "signature_expiration", &expires) < 0)
        return false;
    const struct signed_parts parts = {
        .path = path ? path : "",
        .operation = !strcmp(r->head->method, "POST") ? "write" : "read",
        .user = user ? user : "",
        .token = b->token,
        .expires = expires,
    };
    return text_sign(&parts, expected) == 0 && text_equal_secretly(expected, signature);
}

/* A time that is no number has passed. */
static bool has_expired(const struct request *r)
{
    _cleanup_free_ char *expires = NULL;
    int found = text_query_get(r->head->query, "signature_expiration", &expires);
    if (found == 0)
        return false;
    if (found < 0 || !expires[0] || strlen(expires) > 12 ||
        expires[strspn(expires, "0123456789")] != '\0')
        return true;
    return strtoll(expires, NULL, 10) < server_wall_ms() / 1000;
}

/* What is wrong with a request's credentials, or NULL. */
static const char *check_signature(const struct request *r, const struct box *b)
{
    _cleanup_free_ char *signature = NULL;
    if (text_query_get(r->head->query, "signature", &signature) != 1)
        return "missing signature query parameter";
    if (!envd_is_signed_by(r, b))
        return "invalid signature";
    return has_expired(r) ? "signature is already expired" : NULL;
}

static const char *check_access(const struct request *r, const struct box *b,
                                enum envd_access access)
{
    const char *token = request_field(r, "x-access-token");
    if (access == ENVD_FREE || (token && text_equal_secretly(token, b->token)))
        return NULL;
    if (access == ENVD_SIGNED && !token)
        return check_signature(r, b);
    if (access == ENVD_SIGNED)
        return "access token present in header but does not match";
    return "unauthorized access, please provide a valid access token or method signing if "
           "supported";
}

/* ---- routes ---- */

static bool path_is(const struct envd_route *route, const struct request *r)
{
    return !strcmp(route->path, r->head->path);
}

static bool method_is(const struct envd_route *route, const struct request *r)
{
    return !strcmp(route->method, r->head->method) ||
           (!strcmp(route->method, "GET") && !strcmp(r->head->method, "HEAD"));
}

static const struct envd_route *find_route(const struct request *r, bool *ret_is_known)
{
    *ret_is_known = false;
    for (size_t i = 0; i < ARRAY_SIZE(families); i++)
        for (const struct envd_route *route = families[i]; route->method; route++) {
            bool is_path = path_is(route, r);
            if (is_path && method_is(route, r))
                return route;
            *ret_is_known |= is_path;
        }
    return NULL;
}

static bool is_internal(const struct request *r)
{
    for (size_t i = 0; i < ARRAY_SIZE(internal); i++)
        if (!strcmp(internal[i], r->head->path))
            return true;
    return false;
}

const struct handler *envd_find(struct request *r, struct box *b)
{
    bool is_known;
    const struct envd_route *route = find_route(r, &is_known);
    r->route = route ? route->path : NULL;
    if (is_internal(r) || (!route && !is_known)) {
        request_fail(r, 404, "no such path; docs/api.md lists what is served");
        return NULL;
    }
    if (!route) {
        request_fail(r, 405, "%s: not for this path; docs/api.md lists what is", r->head->method);
        return NULL;
    }
    const char *wrong = check_access(r, b, route->access);
    if (wrong) {
        request_fail(r, 401, "%s", wrong);
        return NULL;
    }
    r->box = b;
    return route->handler;
}

/* ---- users ---- */

static int copy_user(const char *text, size_t size, char **ret)
{
    if (size == 0 || size > USER_MAX_BYTES || memchr(text, '\0', size) || memchr(text, '\n', size))
        return -EINVAL;
    *ret = strndup(text, size);
    return *ret ? 0 : -ENOMEM;
}

/* RFC 7617: base 64 of NAME:PASSWORD. The password says nothing here. */
static int read_basic(const char *text, char **ret)
{
    struct buf decoded = BUF_INIT(2 * USER_MAX_BYTES);
    int r = text_base64_read(text, strlen(text), &decoded);
    if (r == 0) {
        const char *colon = memchr(decoded.data, ':', decoded.size);
        r = colon ? copy_user(decoded.data, (size_t)(colon - decoded.data), ret) : -EINVAL;
    }
    buf_done(&decoded);
    return r == -E2BIG ? -EINVAL : r;
}

/* Without the token it is a signature that let in: who has made it says for whom, in the query. */
int envd_get_user(const struct request *r, char **ret)
{
    _cleanup_free_ char *named = NULL;
    bool has_token = request_field(r, "x-access-token");
    const char *authorization = has_token ? request_field(r, "authorization") : NULL;
    if (authorization && !strncasecmp(authorization, "Basic ", 6))
        return read_basic(authorization + 6, ret);
    int found = text_query_get(r->head->query, "username", &named);
    if (found < 0)
        return found;
    if (found && named[0])
        return copy_user(named, strlen(named), ret);
    *ret = strdup("user");
    return *ret ? 0 : -ENOMEM;
}
