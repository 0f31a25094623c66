// SPDX-License-Identifier: Apache-2.0
/* What most conversations have: a policy, a connection to the host that it is about, a request. */
#pragma once

#include "tests/harness/harness.h"
#include "tests/unit/exchange_support.h"

#define POLICY                                                                  \
    "{'version':1,'rules':["                                                    \
    "{'id':'no-delete','action':'deny','to':{'domain':['api.good.test']},"      \
    "'http':{'method':['DELETE']},'reason':'nothing is \\\"deleted\\\" here'}," \
    "{'id':'api','action':'allow','to':{'domain':['api.good.test']},"           \
    "'http':{'path':{'prefix':'/v1/'}}},"                                       \
    "{'id':'other','action':'allow','to':{'domain':['other.test']},'ports':[80,443]}]}"

#define GET     ">GET /v1/a?b=c HTTP/1.1\r\nHost: api.good.test\r\n\r\n"
#define GET_OUT "GET /v1/a?b=c HTTP/1.1\r\nHost: api.good.test\r\n\r\n"
#define OK      "<HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define OK_OUT  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static const struct scene tls = {
    .policy = POLICY, .name = "api.good.test", .sni = "api.good.test", .port = 443, .is_tls = true};
static const struct scene plain = {.policy = POLICY, .name = "api.good.test", .port = 80};

#define EXPECT_DENIED(status, reason)                       \
    do {                                                    \
        EXPECT_EQ(said_to_server.size, 0);                  \
        EXPECT_EQ(status_to_guest(), status);               \
        EXPECT_STR(denied_reason(), reason);                \
        EXPECT_STR(ends, "close close");                    \
        EXPECT_HAS(said_to_guest, "Connection: close\r\n"); \
    } while (0)

#define WEBSOCKET                                                                       \
    ">GET /v1/s HTTP/1.1\r\nHost: api.good.test\r\nConnection: keep-alive, Upgrade\r\n" \
    "Upgrade: websocket\r\nSec-WebSocket-Key: abc\r\n\r\n"
#define SWITCHES "<HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n\r\n"

#define TRANSFORM_POLICY                                                                         \
    "{'version':1,'rules':[{'id':'api','action':'allow','to':{'domain':['api.good.test']},"      \
    "'transforms':["                                                                             \
    "{'set_headers':{'authorization':'Bearer first','x-team':'a'},'remove_headers':['cookie']}," \
    "{'match':{'path':{'prefix':'/v1/'}},'set_headers':{'authorization':'Bearer second'}},"      \
    "{'match':{'method':['PUT']},'set_headers':{'x-put':'1'}}]}]}"
