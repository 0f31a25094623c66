// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for configuration files (cli/config.c). What must hold: what is refused is
 * named by file and line in one sentence; what is taken gives limits in their bounds, none over the
 * operator's maximum.
 */
#include "cli/config.h"
#include "tests/fuzz/input.h"

static void check_limits(const struct config *c)
{
    static const struct limit_layer nothing;
    struct sandbox_limits limits;
    struct sandbox_error error = {""};
    int r = config_resolve(c, &nothing, &limits, &error);
    CHECK(r == 0 || (r < 0 && error.text[0]));
    for (int i = 0; r == 0 && i < LIMIT_COUNT; i++) {
        const struct limit_row *row = &sandbox_limit_rows[i];
        CHECK(limits.value[i] == 0 ||
              (limits.value[i] >= row->least && limits.value[i] <= row->most));
        if (c->most.is_given[i] && c->most.limits.value[i])
            CHECK(limits.value[i] <= c->most.limits.value[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char name[] = "config";
    struct input in = {data, size};
    struct config c = {.user_file = "user"};
    struct sandbox_error error = {""};
    bool is_operator = input_byte(&in) & 1;
    FILE *f = fopen(name, "w");
    CHECK(f && fwrite(in.data, 1, in.size, f) == in.size && fclose(f) == 0);
    int r = config_read(name, is_operator ? &c.operator: & c.user, is_operator ? &c.most : NULL,
                        &error);
    CHECK(r <= 0);
    if (r == 0)
        check_limits(&c);
    else
        CHECK(!strncmp(error.text, "config: ", 8) && !strchr(error.text, '\n'));
    return 0;
}
