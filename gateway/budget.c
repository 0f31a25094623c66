// SPDX-License-Identifier: Apache-2.0
#include "gateway/budget.h"

/* What may pass at once after a pause: an eighth of a second's worth, and no less than this. */
#define BURST_LEAST_BYTES 16384

struct account {
    uint64_t spent; /* in all */
    uint64_t tokens;
    int64_t since_ns; /* when tokens was right */
};

static struct account accounts[2];

static uint64_t quota_of(enum budget which)
{
    const struct policy_limits *l = &gateway.document->limits;
    return which == BUDGET_UP ? l->bytes_up : l->bytes_down;
}

static uint64_t rate_of(enum budget which)
{
    const struct policy_limits *l = &gateway.document->limits;
    return which == BUDGET_UP ? l->rate_up : l->rate_down;
}

bool budget_is_set(void)
{
    for (int i = BUDGET_UP; i <= BUDGET_DOWN; i++)
        if (quota_of(i) != POLICY_LIMIT_NONE || rate_of(i) != POLICY_LIMIT_NONE)
            return true;
    return false;
}

static uint64_t burst_of(uint64_t rate)
{
    return MAX(rate / 8, (uint64_t)BURST_LEAST_BYTES);
}

static void refill(struct account *a, uint64_t rate)
{
    int64_t now = gateway_now_ns(), passed = MIN(now - a->since_ns, (int64_t)NSEC_PER_SEC);
    uint64_t more = (uint64_t)((unsigned __int128)rate * (uint64_t)passed / NSEC_PER_SEC);
    if (more == 0 && a->since_ns != 0)
        return;
    a->tokens = a->since_ns == 0 ? burst_of(rate) : MIN(a->tokens + more, burst_of(rate));
    a->since_ns = now;
}

size_t budget_room(enum budget which, size_t size)
{
    struct account *a = &accounts[which];
    uint64_t rate = rate_of(which);
    if (rate == POLICY_LIMIT_NONE)
        return size;
    refill(a, rate);
    return (size_t)MIN((uint64_t)size, a->tokens);
}

int64_t budget_wait_until_ns(enum budget which)
{
    const struct account *a = &accounts[which];
    uint64_t rate = rate_of(which);
    if (rate == POLICY_LIMIT_NONE || a->tokens > 0)
        return INT64_MAX;
    /* Until some bytes are worth the wake-up. */
    uint64_t bytes = MAX(MIN(burst_of(rate) / 4, rate), (uint64_t)1);
    return a->since_ns + (int64_t)(bytes * NSEC_PER_SEC / MAX(rate, (uint64_t)1));
}

bool budget_spend(enum budget which, size_t size)
{
    struct account *a = &accounts[which];
    a->spent += size;
    a->tokens -= MIN(a->tokens, (uint64_t)size);
    return a->spent <= quota_of(which);
}

const char *budget_used_up(void)
{
    if (accounts[BUDGET_UP].spent > quota_of(BUDGET_UP))
        return "limit:bytes_up";
    if (accounts[BUDGET_DOWN].spent > quota_of(BUDGET_DOWN))
        return "limit:bytes_down";
    return NULL;
}
