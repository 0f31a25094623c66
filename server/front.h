// SPDX-License-Identifier: Apache-2.0
/*
 * The first look at a request: whom it is for, whether its credentials are good, and who handles
 * it. What fails here is answered before any of its body was read.
 */
#pragma once

#include "server/boxes.h"
#include "server/request.h"

/* A browser's question whether a page of another origin may ask: it may. */
void request_answer_preflight(struct request *r);

/* For connections_start(). */
const struct handler *front_find(struct request *r);
bool front_look_again(struct request *r);

/* control.c: without a sandbox's address. The key has not been looked at. */
const struct handler *control_find(struct request *r);

/* control.c: the key of a request: true and r->key; or it is answered with 401. */
bool control_has_key(struct request *r);
