// SPDX-License-Identifier: Apache-2.0
/*
 * What the server asks its launcher to do (serve/job.c), which is a stranger's when the server was
 * taken over: no sandbox without the server's own name or without a lifetime, no limit above the
 * launcher's, and no policy for a sandbox that is none of the server's.
 */
#include "serve/job.c"
#include "tests/fuzz/input.h"

#define MEMORY_BYTES ((uint64_t)2 << 30)
#define CPUS         2000

static void check_creation(const struct job *j)
{
    struct sandbox_spec spec = {0};
    struct sandbox_error e = {0};
    sandbox_limits_set_standard(&spec.limits);
    spec.limits.value[LIMIT_MEMORY] = MEMORY_BYTES;
    spec.limits.value[LIMIT_CPUS] = CPUS;
    const struct sandbox_limits before = spec.limits;
    if (complete(&spec, j, &e) < 0) {
        CHECK(e.text[0]);
    } else {
        CHECK(launch_is_name(spec.name, strlen(spec.name)));
        CHECK(spec.limits.value[LIMIT_LIFETIME] > 0);
        CHECK(spec.limits.value[LIMIT_MEMORY] > 0 && spec.limits.value[LIMIT_CPUS] > 0);
        for (size_t i = 0; i < ARRAY_SIZE(before.value); i++)
            CHECK(i == LIMIT_LIFETIME || spec.limits.value[i] <= before.value[i]);
        CHECK(!spec.image && !spec.mount_count && !spec.secrets && !spec.publish_count);
    }
    sandbox_spec_done(&spec);
}

static void check_policy(const struct job *j)
{
    const char *name, *policy;
    struct sandbox_error e = {0};
    if (read_policy(j, &name, &policy, &e) < 0) {
        CHECK(e.text[0]);
        return;
    }
    CHECK(launch_is_name(name, strlen(name)));
    CHECK(policy > name && policy + strlen(policy) < j->records + j->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct job j = {.size = size};
    if (size == 0 || data[size - 1] != '\0') /* jobs_add() */
        return 0;
    j.records = malloc(size);
    CHECK(j.records);
    memcpy(j.records, data, size);
    check_creation(&j);
    check_policy(&j);
    free(j.records);
    return 0;
}
