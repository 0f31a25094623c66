// SPDX-License-Identifier: Apache-2.0
/*
 * The control plane's parts: control.c finds the row of a request, control_create.c, control_list.c
 * and control_box.c are what the rows do. Not for other files.
 *
 * In every handler here r->state is the decoded part of the path in place of the row's "*", or
 * NULL, but in control_create.c.
 */
#pragma once

#include "server/front.h"
#include "server/json.h"
#include "server/keys.h"

extern const struct handler control_create, control_list, control_list_running, control_get,
    control_delete, control_set_timeout, control_refresh, control_connect, control_connect_later,
    control_resume, control_set_network, control_measure, control_measure_many, control_list_keys,
    control_make_key, control_rename_key, control_revoke_key, control_audit, control_list_events,
    control_stream_events, control_logs, control_list_webhooks, control_make_webhook,
    control_get_webhook, control_change_webhook, control_remove_webhook;

/* Frees r->state. */
void control_over(struct request *r);

/* The sandbox that the path names, of this key; or it is answered: 400, 404. */
struct box *control_get_box(struct request *r);

/* The object in the body; or it is answered: 400, 503. */
json_t *control_read_body(struct request *r);

/* Answers with a value, which is released; NULL: out of memory. */
void control_answer(struct request *r, unsigned status, json_t *value);

/* Whether the key may give a sandbox so many seconds; or it is answered. */
bool control_check_timeout(struct request *r, int64_t seconds);

/* What a create and a connect answer. NULL: no memory. */
json_t *control_make_handle(const struct box *b);

/* An entry of a list. NULL: no memory. */
json_t *control_make_entry(const struct box *b);

/* The status of HTTP for a negative errno of records and launcher; *ret_why: words. */
unsigned control_status_of(int error, const char **ret_why);

#define ENVD_VERSION "0.6.13"
#define CLIENT_ID    "6532622b"
