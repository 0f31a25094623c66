// SPDX-License-Identifier: Apache-2.0
/*
 * The members of a result, and of what `glovebox inspect` prints, that are about limits.
 */
#pragma once

#include "sandbox/outcome.h"

#include <jansson.h>

/* {"memory_bytes": 268435456, "timeout_ms": null, ...}; NULL when memory runs out. */
json_t *report_make_limits(const struct sandbox_limits *l);

/* {"memory": "cgroup v1", "cpus": "machine", "pids": "watched"}; likewise. */
json_t *report_make_controls(const struct sandbox_controls *c);

/* Sets cause_text, limits, limited_by and what was used of them. 0 or -ENOMEM. */
int report_set_limits(json_t *object, const struct sandbox_outcome *o);
