// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sandbox/strv.h"

/* To standard output, for secrets that a running sandbox got: each is NAME=PLACEHOLDER. */
void cli_print_placeholders(const struct strv *placeholders);
