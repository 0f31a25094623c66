// SPDX-License-Identifier: Apache-2.0
#include "cli/takers.h"

#include "cli/values.h"

#include <time.h>

int cli_take_flag(void *to, const char *value _unused_, struct sandbox_error *e _unused_)
{
    *(bool *)to = true;
    return 0;
}

int cli_take_word(void *to, const char *value, struct sandbox_error *e _unused_)
{
    *(const char **)to = value;
    return 0;
}

int cli_take_file(void *to, const char *value, struct sandbox_error *e)
{
    char **name = to;
    if (!value[0])
        return sandbox_error_set(e, -EINVAL, "the name is empty; give a file");
    char *copy = strdup(value);
    if (!copy)
        return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    free(*name);
    *name = copy;
    return 0;
}

int cli_take_list(void *to, const char *value, struct sandbox_error *e)
{
    if (strv_append(to, value) < 0)
        return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    return 0;
}

int cli_take_variable(void *to, const char *value, struct sandbox_error *e)
{
    return cli_take_env(to, value, e);
}

int cli_take_variables(void *to, const char *value, struct sandbox_error *e)
{
    return cli_take_env_file(to, value, e);
}

int cli_take_number(void *to, const char *value, struct sandbox_error *e)
{
    if (!cli_parse_number(value, 1, UINT64_MAX, to))
        return sandbox_error_set(e, -EINVAL, "not a number; give one from 1");
    return 0;
}

int cli_take_size(void *to, const char *value, struct sandbox_error *e)
{
    return cli_parse_size(value, to, e);
}

int cli_take_time(void *to, const char *value, struct sandbox_error *e)
{
    return cli_parse_time(value, to, e);
}

int cli_take_ago(void *to, const char *value, struct sandbox_error *e)
{
    struct timespec now;
    int64_t ago;
    int r = cli_parse_time(value, &ago, e);
    if (r < 0)
        return r;
    clock_gettime(CLOCK_REALTIME, &now);
    *(int64_t *)to = now.tv_sec * NSEC_PER_SEC + now.tv_nsec - ago;
    return 0;
}
