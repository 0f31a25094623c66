// SPDX-License-Identifier: Apache-2.0
/*
 * The channel's end on this side. The kernel is held for a stranger: a guest may have taken it
 * over. What it sends that is not as lib/base/gateway.h has it ends this process.
 */
#pragma once

#include "gateway/gateway.h"

/* Reads what has come and acts on it. False: the kernel is gone. */
bool channel_read(void);

/*
 * Each waits until the kernel takes it: it always reads, and if it doesn't, nobody else is kept
 * waiting. size is at most GATEWAY_DATA_MAX.
 */
void channel_send_ready(void);
void channel_send_network(bool has_v6);
void channel_send_answer(uint64_t id, const uint8_t *answer, size_t size);
/* fd: the connection, with error 0, or an end of a pair; stays the caller's. */
void channel_send_connected(uint64_t id, int error, int fd);
void channel_send_datagrams(uint64_t id, uint32_t idle_s, int fd);
void channel_send_accepted(uint64_t id, int fd);
/* Of an accepted flow. */
void channel_send_stop(uint64_t id);
void channel_send_direct(uint64_t id, int fd);
void channel_send_finish(uint64_t id);
void channel_send_reset(uint64_t id);
