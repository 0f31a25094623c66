// SPDX-License-Identifier: Apache-2.0
/*
 * The agent of SSH: a Unix socket of the kernel's own that programs find in SSH_AUTH_SOCK. What
 * they say to it goes to the gateway, message by message, and its answers back; the kernel knows
 * nothing of them but their sizes. The keys are the gateway's (gateway/ssh_agent.h).
 *
 * Each connection has at most one message under way. One that announces more than
 * GATEWAY_AGENT_MAX, does not read its answers, or is one too many (LIMIT_AGENTS), is closed. When
 * the gateway ends, all are.
 */
#pragma once

#include "kernel/fs/vfs.h"

/*
 * Makes GATEWAY_AGENT_PATH, which belongs to uid and gid and is for nobody else; once, when the
 * tree is complete. 0 or -errno.
 */
int agent_start(uid_t uid, gid_t gid);
