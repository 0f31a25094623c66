// SPDX-License-Identifier: Apache-2.0
#include "lib/http/error.h"

static const struct {
    unsigned status;
    const char *reason, *words;
} errors[HTTP_ERROR_COUNT] = {
    [HTTP_ERROR_NONE] = {0, "", ""},
    [HTTP_ERROR_MEMORY] = {503, "limit:memory", "no memory for this message"},
    [HTTP_ERROR_START_LINE] = {400, "malformed", "the first line is not one of HTTP/1.1"},
    [HTTP_ERROR_METHOD_LONG] = {501, "limit:method", "the method's name is too long"},
    [HTTP_ERROR_VERSION] = {505, "malformed", "the version is neither HTTP/1.1 nor HTTP/1.0"},
    [HTTP_ERROR_TARGET] = {400, "malformed", "the request's target is none for its method"},
    [HTTP_ERROR_TARGET_LONG] = {414, "limit:target", "the request line is too long"},
    [HTTP_ERROR_BYTE] = {400, "malformed", "a byte that may not stand in a head"},
    [HTTP_ERROR_LINE_END] = {400, "smuggling", "a line that does not end with CR LF"},
    [HTTP_ERROR_EMPTY_LINES] = {400, "malformed", "too many empty lines before the first one"},
    [HTTP_ERROR_FIELD] = {400, "malformed", "a field without a valid name and a colon"},
    [HTTP_ERROR_FIELD_BLANK] = {400, "smuggling", "a blank before a field's colon"},
    [HTTP_ERROR_FIELD_FOLDED] = {400, "smuggling", "a field that goes on in the next line"},
    [HTTP_ERROR_FIELD_LONG] = {431, "limit:field", "a field is too long"},
    [HTTP_ERROR_HEAD_LONG] = {431, "limit:head", "the head is too long"},
    [HTTP_ERROR_FIELDS_MANY] = {431, "limit:fields", "too many fields"},
    [HTTP_ERROR_HOST] = {400, "malformed", "the field Host is no host with an optional port"},
    [HTTP_ERROR_HOST_MISSING] = {400, "malformed", "no field Host"},
    [HTTP_ERROR_HOST_REPEATED] = {400, "smuggling", "two fields Host"},
    [HTTP_ERROR_HOST_OTHER] = {421, "name_conflict", "target and Host name different hosts"},
    [HTTP_ERROR_CONNECTION] = {400, "malformed", "the field Connection is no short list of names"},
    [HTTP_ERROR_LENGTH] = {400, "smuggling", "the field Content-Length is no number of bytes"},
    [HTTP_ERROR_LENGTH_REPEATED] = {400, "smuggling", "two fields Content-Length"},
    [HTTP_ERROR_LENGTH_MISSING] = {411, "malformed", "content without Content-Length"},
    [HTTP_ERROR_LENGTH_AND_CODING] = {400, "smuggling",
                                      "both Content-Length and Transfer-Encoding"},
    [HTTP_ERROR_CODING] = {400, "smuggling", "a Transfer-Encoding other than chunked alone"},
    [HTTP_ERROR_CODING_OLD] = {400, "smuggling", "a Transfer-Encoding in HTTP/1.0"},
    [HTTP_ERROR_CONTENT] = {400, "smuggling", "content where there can be none"},
    [HTTP_ERROR_SWITCH] = {400, "malformed", "a change of protocol that nobody asked for"},
    [HTTP_ERROR_INTERIM_MANY] = {400, "limit:interim", "too many interim responses"},
    [HTTP_ERROR_CHUNK_SIZE] = {400, "smuggling", "a chunk's size is no hexadecimal number"},
    [HTTP_ERROR_CHUNK_EXTENSION] = {400, "smuggling", "a chunk's extension is wrong or too long"},
    [HTTP_ERROR_CHUNK_END] = {400, "smuggling", "a chunk does not end with CR LF"},
    [HTTP_ERROR_TRAILER] = {400, "smuggling", "a field that may not stand in a trailer"},
    [HTTP_ERROR_TRAILERS_LONG] = {431, "limit:trailers", "the trailer is too long"},
    [HTTP_ERROR_BODY_LONG] = {413, "limit:body", "the content is too long"},
    [HTTP_ERROR_TRUNCATED] = {400, "malformed", "the message ends before its end"},
};

unsigned http_error_status(enum http_error e)
{
    return errors[e].status;
}

const char *http_error_reason(enum http_error e)
{
    return errors[e].reason;
}

const char *http_error_words(enum http_error e)
{
    return errors[e].words;
}
