// SPDX-License-Identifier: Apache-2.0
/*
 * What may be done with an API key. A key that is made with another one can do no more than that:
 * what its maker doesn't say is as with the maker, what he says may only be narrower.
 */
#pragma once

#include "lib/base/base.h"

#include <jansson.h>

/* How far sandboxes may reach, from little to much. */
enum scope_egress {
    SCOPE_EGRESS_NONE,
    SCOPE_EGRESS_NAMED, /* what a list of allowOut names, with all else denied */
    SCOPE_EGRESS_ANY,
};

#define SCOPE_PREFIX_MAX 8 /* what is left of an id is still no one's to guess */

/* Numbers: 0 is no limit beside the server's own. */
struct scope {
    int64_t sandboxes;                   /* at once */
    int64_t per_minute;                  /* that are made */
    int64_t timeout_s;                   /* that one may be given at a time */
    int64_t memory_mb, cpus_thousandths; /* of each */
    int64_t expires_ms;                  /* CLOCK_REALTIME */
    enum scope_egress egress;
    bool read_only; /* sees, and gets no sandbox's token */
    bool manages_keys;
    bool private_ports; /* whoever connects to a sandbox's ports needs its traffic token */
    json_t *templates;  /* names, or NULL: all */
    char prefix[SCOPE_PREFIX_MAX + 1]; /* of [a-z0-9]: of ids, behind their 'i' */
};

#define SCOPE_ALL ((struct scope){.egress = SCOPE_EGRESS_ANY, .manages_keys = true})

void scope_done(struct scope *s);

/*
 * Reads the object of a request (docs/api.md, Keys) as something within `within`. 0 and *ret, to be
 * freed; -EINVAL: it is none, or wider, with a sentence; -ENOMEM.
 */
int scope_read(const json_t *object, const struct scope *within, struct scope *ret,
               const char **ret_why);

/* The same the other way round; NULL: no memory. */
json_t *scope_write(const struct scope *s);

bool scope_allows_template(const struct scope *s, const char *name);
