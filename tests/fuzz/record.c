// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for the entries of the registry (sandbox/record.c), which other versions, and
 * a killed starter, may have left half written. What must hold: numbers are in their bounds, and
 * what is written of a record reads as itself.
 */
#include "sandbox/record.h"
#include "tests/fuzz/input.h"

static void check_round_trip(const struct record *r)
{
    static struct record again;
    struct buf b = BUF_INIT(1 << 20);
    record_write(r, &b);
    record_write_started(r, &b);
    CHECK(buf_append(&b, "", 1) == 0);
    record_parse(b.data, &again);
    CHECK(again.pid == r->pid && again.starter == r->starter && again.created_ns == r->created_ns);
    CHECK(!strcmp(again.command, r->command));
    CHECK(!strcmp(again.labels, r->labels));
    CHECK(again.cgroup.count == r->cgroup.count);
    for (int i = 0; i < LIMIT_COUNT; i++)
        CHECK(again.limits.value[i] == r->limits.value[i]);
    buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct record r;
    struct input in = {data, size};
    char *text = input_string(&in, 65536);
    record_parse(text, &r);
    CHECK(r.pid >= 0 && r.starter >= 0 && r.cgroup.count <= CGROUP_GROUPS_MAX);
    CHECK(memchr(r.command, '\0', sizeof(r.command)));
    check_round_trip(&r);
    free(text);
    return 0;
}
