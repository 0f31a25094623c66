// SPDX-License-Identifier: Apache-2.0
/* /health and /envs of a sandbox. */
#include "server/envd.h"

#include "server/control.h"

static void answer_health(struct request *r)
{
    request_answer(r, 204, NULL, NULL, 0);
}

static const struct handler health = {.ready = answer_health};

static void answer_variables(struct request *r)
{
    control_answer(r, 200, json_incref(((struct box *)r->box)->env));
}

static const struct handler variables = {.ready = answer_variables};

const struct envd_route envd_plain_routes[] = {
    {"GET", "/health", ENVD_FREE, &health},
    {"GET", "/envs", ENVD_TOKEN, &variables},
    {0},
};
