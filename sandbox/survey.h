// SPDX-License-Identifier: Apache-2.0
/*
 * What this machine offers for sandboxes: each part is tried out where that can be done without
 * leaving a trace, and only read from settings where it can't.
 */
#pragma once

#include "sandbox/error.h"

#define SURVEY_FINDINGS_MAX 48
#define SURVEY_TEXT_BYTES   512

enum survey_state {
    SURVEY_GOOD,
    SURVEY_DEGRADED, /* sandboxes run, but slower, or with less around them */
    SURVEY_MISSING,  /* no safe sandbox runs without it */
};

struct survey_finding {
    const char *name;
    enum survey_state state;
    char found[SURVEY_TEXT_BYTES];  /* what there is */
    char cost[SURVEY_TEXT_BYTES];   /* what its lack costs; "" when good */
    char remedy[SURVEY_TEXT_BYTES]; /* what to do about it; "" */
};

struct survey {
    struct survey_finding findings[SURVEY_FINDINGS_MAX];
    size_t count;
};

/* Looks at everything. Takes some milliseconds, makes processes and namespaces, leaves nothing. */
void survey_machine(struct survey *ret);

/* False when something is missing. */
bool survey_is_enough(const struct survey *s);

/* "good", "degraded", "missing" */
const char *survey_state_name(enum survey_state state);

/* ---- for the parts of a survey ---- */

/* Appends a finding that is good until survey_lacks() says otherwise. */
struct survey_finding *survey_find(struct survey *s, const char *name, const char *format, ...)
    _printf_(3, 4);
void survey_lacks(struct survey_finding *f, enum survey_state state, const char *cost,
                  const char *remedy);
/* The same of an error's sentence: what stands before its last ';' and behind. */
void survey_lacks_by_error(struct survey_finding *f, enum survey_state state,
                           const struct sandbox_error *e);

void survey_seccomp(struct survey *s);    /* survey_seccomp.c */
void survey_namespaces(struct survey *s); /* survey_namespaces.c */
void survey_store(struct survey *s);      /* survey_resources.c */
void survey_resources(struct survey *s);
