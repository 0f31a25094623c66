// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for values of the command line (cli/values.c, cli/limits.c): the first byte
 * chooses the kind, the rest is the text. What must hold: a failure says why and leaves the output
 * as it was, a success is within the bounds that the headers promise, and a limit survives being
 * written for people.
 */
#include "cli/limits.h"
#include "cli/values.h"
#include "tests/fuzz/input.h"

#define UNTOUCHED 0x5a5a5a5a5a5a5a5aULL

static struct sandbox_error error;

static void check(int r, bool is_untouched)
{
    CHECK(r <= 0 && (r == 0 || is_untouched));
    CHECK(r == 0 || error.text[0]);
}

static void size_and_time(const char *text)
{
    uint64_t bytes = UNTOUCHED;
    int64_t ns = (int64_t)UNTOUCHED;
    int r = cli_parse_size(text, &bytes, &error);
    check(r, bytes == UNTOUCHED);
    CHECK(r < 0 || (bytes >= 1 && bytes <= INT64_MAX));
    r = cli_parse_time(text, &ns, &error);
    check(r, ns == (int64_t)UNTOUCHED);
    CHECK(r < 0 || (ns > 0 && ns <= CLI_TIME_MAX_NS));
}

static void mount(const char *text)
{
    char *host = NULL, *guest = NULL;
    bool read_only;
    int r = cli_parse_mount(text, &host, &guest, &read_only, &error);
    check(r, !host && !guest);
    if (r == 0)
        CHECK(strlen(host) + strlen(guest) < strlen(text));
    free(host);
    free(guest);
}

static void tmpfs(const char *text)
{
    char *path = NULL;
    uint64_t bytes;
    int r = cli_parse_tmpfs(text, &path, &bytes, &error);
    check(r, !path);
    if (r == 0)
        CHECK(strlen(path) <= strlen(text) && bytes <= INT64_MAX);
    free(path);
}

static void environment(const char *text)
{
    struct strv env = {0};
    check(cli_take_env(&env, text, &error), env.count == 0);
    for (size_t i = 0; i < env.count; i++)
        CHECK(strchr(env.items[i], '=') > env.items[i]);
    strv_done(&env);
}

static void environment_file(const char *text)
{
    static const char name[] = "environment";
    struct strv env = {0};
    FILE *f = fopen(name, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
    int r = cli_take_env_file(&env, name, &error);
    check(r, true);
    for (size_t i = 0; i < env.count; i++)
        CHECK(strchr(env.items[i], '=') > env.items[i] && !strchr(env.items[i], '\n'));
    strv_done(&env);
}

static void limit(const char *text, enum sandbox_limit which)
{
    const struct limit_row *row = &sandbox_limit_rows[which];
    struct limit_layer layer = {0};
    char shown[64] = "";
    int r = limit_take(&layer, which, text, &error);
    uint64_t value = layer.limits.value[which];
    check(r, value == 0 && !layer.is_given[which]);
    if (r < 0)
        return;
    CHECK(layer.is_given[which] && (value == 0 || (value >= row->least && value <= row->most)));
    sandbox_limit_format(which, value, shown, sizeof(shown));
    CHECK(shown[0] && strlen(shown) < sizeof(shown) - 1);
}

static void rlimit(const char *text)
{
    struct limit_layer layer = {0};
    int r = limit_take_rlimit(&layer, text, &error);
    check(r, layer.limits.rlimit_count == 0);
    if (r < 0)
        return;
    const struct sandbox_rlimit *l = &layer.limits.rlimits[0];
    CHECK(layer.limits.rlimit_count == 1 && sandbox_rlimit_name(l->resource));
    CHECK(l->value.rlim_cur <= l->value.rlim_max);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    uint8_t kind = input_byte(&in);
    char *text = input_string(&in, 4096);
    error.text[0] = '\0';
    switch (kind % 32) {
    case 0:
        size_and_time(text);
        break;
    case 1:
        mount(text);
        break;
    case 2:
        tmpfs(text);
        break;
    case 3:
        environment(text);
        break;
    case 4:
        environment_file(text);
        break;
    case 5:
        rlimit(text);
        break;
    default:
        limit(text, (enum sandbox_limit)(kind % LIMIT_COUNT));
    }
    free(text);
    return 0;
}
