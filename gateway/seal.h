// SPDX-License-Identifier: Apache-2.0
/*
 * What this process gives up before it reads the first byte of the kernel's. Namespaces, empty
 * environment and closed descriptors are the starter's work (sandbox/gateway.c); the host's network
 * it keeps, that is its purpose.
 *
 * It can open no file: not one of the calls on its list does, and Landlock allows none, where the
 * host has that.
 */
#pragma once

#include "lib/base/base.h"

/* 0, or -errno with *ret_what. Then each call that is not on the list ends the process. */
int gateway_seal(const char **ret_what);
