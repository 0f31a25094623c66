// SPDX-License-Identifier: Apache-2.0
/*
 * Answers of our own: for programs, people and language models, which all read JSON. After one of
 * them the connection ends: what the guest sends behind a request that was not served is not to be
 * taken for another one.
 */
#include "gateway/exchange_parts.h"

#include <stdio.h>

#define ANSWER_MAX_BYTES 4096

static const char *reason_phrase(unsigned status)
{
    static const struct {
        unsigned status;
        const char *phrase;
    } phrases[] = {
        {400, "Bad Request"},
        {403, "Forbidden"},
        {408, "Request Timeout"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {421, "Misdirected Request"},
        {431, "Request Header Fields Too Large"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(phrases); i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "";
}

/* As a string of JSON; bytes from 0x80 on are UTF-8 that the policy's reader has checked. */
static void append_json(struct buf *b, const char *text)
{
    buf_append_str(b, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_printf(b, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            buf_printf(b, "\\u%04x", (unsigned)*text);
        else
            buf_append(b, text, 1);
    }
    buf_append_str(b, "\"");
}

static bool write_answer(struct exchange *x, unsigned status, const char *reason, const char *words)
{
    bool is_denied = status < 500;
    struct buf body = BUF_INIT(ANSWER_MAX_BYTES);
    const struct http_field fields[] = {
        {"Content-Type", "application/json"},
        {is_denied ? "X-Egress-Denied" : "X-Egress-Failed", reason},
    };
    buf_printf(&body,
               "{\"error\":\"%s\",\"reason\":", is_denied ? "egress_denied" : "egress_failed");
    append_json(&body, reason);
    buf_append_str(&body, ",\"message\":");
    append_json(&body, words);
    buf_append_str(&body, "}\n");
    const struct http_response_head head = {
        .status = status,
        .reason = reason_phrase(status),
        .fields = fields,
        .field_count = ARRAY_SIZE(fields),
        .framing = {HTTP_BODY_LENGTH, true, body.size},
        .closes = true,
    };
    size_t before = x->to_guest.size;
    const char *method = x->request.request.method;
    bool is_head = x->request.progress == HTTP_DONE && strcmp(method, "HEAD") == 0;
    bool is_written = !body.failed && exchange_write_response(x, &head) == 0 &&
                      (is_head || buf_append(&x->to_guest, body.data, body.size) == 0) &&
                      exchange_end_response(x, NULL, 0) == 0;
    x->guest_rx += x->to_guest.size - before;
    buf_done(&body);
    return is_written;
}

/* Whether the guest has had no part of a final response. */
static bool can_answer(const struct exchange *x)
{
    return x->response_state == RESPONSE_NONE || x->response_state == RESPONSE_HEAD;
}

static void answer(struct exchange *x, unsigned status, const char *reason, const char *words)
{
    bool is_answered = can_answer(x) && write_answer(x, status, reason, words);
    /* A request that was cut off is not to be taken for a whole one; nor is a response. */
    bool is_cut = x->request_state == REQUEST_BODY || !is_answered;
    bool is_whole = is_answered || x->response_state == RESPONSE_DONE;
    if (is_answered)
        x->status = status;
    exchange_finish(x);
    exchange_close(x, is_whole ? EXCHANGE_CLOSE : EXCHANGE_RESET,
                   is_cut ? EXCHANGE_RESET : EXCHANGE_CLOSE);
}

void exchange_refuse(struct exchange *x, unsigned status, const char *reason, const char *words)
{
    x->is_allowed = x->would_deny = false;
    if (reason != x->reason)
        snprintf(x->reason, sizeof(x->reason), "%s", reason);
    snprintf(x->words, sizeof(x->words), "%s", words ? words : "");
    answer(x, status, reason, words);
}

void exchange_refuse_error(struct exchange *x, enum http_error e)
{
    exchange_refuse(x, http_error_status(e), http_error_reason(e), http_error_words(e));
}

void exchange_refuse_head(struct exchange *x, unsigned status, const char *reason,
                          const char *words)
{
    x->is_recording = true;
    exchange_refuse(x, status, reason, words);
}

void exchange_fail(struct exchange *x, unsigned status, const char *reason, const char *words)
{
    char text[256];
    snprintf(x->reason, sizeof(x->reason), "%s", reason);
    snprintf(text, sizeof(text), "the server failed: %s", words);
    answer(x, status, reason, text);
}

void exchange_close(struct exchange *x, enum exchange_end guest, enum exchange_end server)
{
    x->guest_end = MAX(x->guest_end, guest);
    x->server_end = MAX(x->server_end, server);
}

/* ---- records ---- */

static size_t secret_names(const struct exchange *x, const char *names[POLICY_SECRETS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; x->has_secrets && i < x->document->secret_count; i++)
        if (x->secrets.used & (uint64_t)1 << i)
            names[count++] = x->document->secrets[i].name;
    return count;
}

static void write_record(const struct exchange *x)
{
    bool is_parsed = x->request.progress == HTTP_DONE;
    const char *names[POLICY_SECRETS_MAX];
    const struct exchange_record r = {
        .method = is_parsed ? x->request.request.method : NULL,
        .path = is_parsed ? x->request.request.path : NULL,
        .authority = x->authority[0] ? x->authority : NULL,
        .status = x->status,
        .is_allowed = x->is_allowed,
        .would_deny = x->would_deny,
        .reason = x->reason,
        .rule = x->rule[0] ? x->rule : NULL,
        .words = x->words[0] ? x->words : NULL,
        .guest_tx = x->guest_tx,
        .guest_rx = x->guest_rx,
        .secrets = names,
        .secret_count = secret_names(x, names),
        .violation = x->violation,
        .violation_action = x->violation_action,
    };
    x->setup.log(x->setup.context, &r);
}

void exchange_finish(struct exchange *x)
{
    if (x->is_recording && x->setup.log)
        write_record(x);
    x->is_used = true;
    x->is_recording = x->is_allowed = x->would_deny = x->closes = false;
    x->status = 0;
    x->guest_tx = x->guest_rx = 0;
    x->authority[0] = x->reason[0] = x->rule[0] = x->words[0] = '\0';
    x->violation = x->upgrade = x->proxy_authorization = NULL;
    exchange_sign_end(x);
    exchange_secrets_end(x);
    http_body_done(&x->request_content);
    http_body_done(&x->response_content);
    http_request_reset(&x->request);
    x->request_state = REQUEST_HEAD;
    x->response_state = RESPONSE_NONE;
    x->request_ns = x->response_ns = 0;
    if (x->setup.wire)
        exchange_close(x, EXCHANGE_CLOSE, EXCHANGE_CLOSE);
}
