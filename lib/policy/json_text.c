// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/json_text.h"

static json_malloc_t given_malloc;
static json_free_t given_free;
static bool has_failed;

static void *watch_malloc(size_t size)
{
    void *data = given_malloc(size);
    has_failed |= !data;
    return data;
}

static void begin_watch(void)
{
    json_get_alloc_funcs(&given_malloc, &given_free);
    json_set_alloc_funcs(watch_malloc, given_free);
    has_failed = false;
}

static bool end_watch(void)
{
    json_set_alloc_funcs(given_malloc, given_free);
    return !has_failed;
}

json_t *json_text_load(const char *text, size_t size, json_error_t *error, bool *ret_no_memory)
{
    begin_watch();
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, error);
    *ret_no_memory = !end_watch();
    if (!*ret_no_memory)
        return root;
    json_decref(root);
    return NULL;
}

char *json_text_dump(const json_t *value)
{
    begin_watch();
    char *text = json_dumps(value, JSON_COMPACT);
    if (end_watch())
        return text;
    free(text);
    return NULL;
}
