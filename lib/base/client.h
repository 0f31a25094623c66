// SPDX-License-Identifier: Apache-2.0
/*
 * What glovebox-client is told and tells: one request to a server of the user's own.
 *
 * Its arguments are a method and a URL. Standard input: the API key, a newline, the content, which
 * is JSON, or nothing. Standard output: the status of the answer, a newline, its content; or 0, a
 * newline, and a sentence why there is none.
 */
#pragma once

#define CLIENT_KEY_MAX     128
#define CLIENT_CONTENT_MAX 65536
#define CLIENT_ANSWER_MAX  (8 * 1024 * 1024)
#define CLIENT_S           60 /* in all */
