// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/allocations.h"

#include <errno.h>
#include <stdlib.h>

static unsigned allocations_left, failures_left;
bool allocations_may_fail;

void allocations_fail(unsigned after, unsigned count)
{
    allocations_left = after;
    failures_left = count;
}

static bool is_refused(void)
{
    if (!allocations_may_fail || failures_left == 0)
        return false;
    if (allocations_left > 0) {
        allocations_left--;
        return false;
    }
    failures_left--;
    errno = ENOMEM;
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return is_refused() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return is_refused() ? NULL : __real_strdup(text);
}
