// SPDX-License-Identifier: Apache-2.0
/*
 * What sandboxes use: each is measured soon after it begins and every MEASURE_S, by the launcher,
 * one after the other; the latest MEASURES_MAX are kept in memory.
 */
#pragma once

#include "server/boxes.h"

#define MEASURE_S    5
#define MEASURES_MAX 120

void measure_start(void);

/* There is a new one, which need not wait for its turn. */
void measure_soon(void);

/* An array of samples as the control plane has them, in a window of CLOCK_REALTIME, ends included;
 * NULL: no memory. */
json_t *measure_list(const struct box *b, int64_t start_ms, int64_t end_ms);

/* The last one; NULL: none yet, or no memory. */
json_t *measure_last(const struct box *b);

/* Whole processors that a program sees. */
int measure_cpus(int64_t thousandths);
