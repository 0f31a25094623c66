// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for the parsers of the host's /proc (kernel/fs/proc/host_text.c): the first
 * byte chooses one. What must hold: parsing ends, goes only forwards, and answers within bounds.
 */
#include "kernel/fs/proc/host_text.h"
#include "tests/fuzz/input.h"

static void stat_and_statm(const char *text, size_t size)
{
    static struct host_stat s;
    uint64_t pages[HOST_STATM_FIELDS];
    if (host_stat_parse(text, size, &s) == 0)
        CHECK(memchr(s.name, '\0', sizeof(s.name)));
    host_statm_parse(text, size, pages);
}

static void maps(const char *text, size_t size, bool is_smaps)
{
    const char *at = text, *end = text + size;
    struct host_map map;
    struct host_smaps_line line;
    for (;;) {
        const char *before = at;
        int r = host_map_next(&at, end, &map);
        CHECK(at >= before && at <= end);
        if (r != 1)
            return;
        CHECK(at > before && map.start <= map.end && strlen(map.permissions) == 4);
        for (r = 1; is_smaps && r == 1;) {
            before = at;
            r = host_smaps_next(&at, end, &line);
            CHECK(at >= before && at <= end);
            CHECK(r != -ENOENT || at == before);
            if (r == 1)
                CHECK(at > before && memchr(line.flags, '\0', sizeof(line.flags)));
        }
        if (is_smaps && r != -ENOENT)
            return;
    }
}

static void keys(const char *text, size_t size)
{
    uint64_t number;
    char value[32];
    host_key_number(text, size, "VmRSS", &number);
    if (!host_key_text(text, size, "model name", value, sizeof(value)))
        return;
    CHECK(memchr(value, '\0', sizeof(value)));
    for (const char *c = value; *c; c++)
        CHECK(*c >= ' ' && *c < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    uint8_t kind = input_byte(&in);
    const char *text = (const char *)in.data;
    switch (kind % 4) {
    case 0:
        stat_and_statm(text, in.size);
        break;
    case 1:
        keys(text, in.size);
        break;
    default:
        maps(text, in.size, kind & 1);
    }
    return 0;
}
