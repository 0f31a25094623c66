// SPDX-License-Identifier: Apache-2.0
/*
 * What came of the probes, as a table for people or as JSON.
 */
#pragma once

#include "cli/probe_report.h"

struct doctor_result {
    struct probe_report report; /* finished */
    bool is_inside;    /* in a sandbox; else where the probes must see what they look for */
    char trouble[512]; /* why the probes ended early, escaped; or "" */
};

/*
 * Prints it and returns the exit status. Of probes without a sandbox, one that must escape there
 * and does is right: "sees"; it is "blind" when it doesn't.
 */
int doctor_report(const struct doctor_result *r, bool json);
