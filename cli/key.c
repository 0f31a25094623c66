// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox key: API keys of a server, and what they may do. The server is asked as any other
 * client asks it (docs/api.md, Keys).
 */
#include "cli/limits.h"
#include "cli/say.h"
#include "cli/server_ask.h"
#include "cli/takers.h"
#include "cli/values.h"
#include "cli/verbs.h"

#include <inttypes.h>
#include <time.h>

#define JSON_FLAGS JSON_ENSURE_ASCII
#define ID_MAX     20 /* digits */

struct key_options {
    struct server_place place;
    uint64_t sandboxes, per_minute;
    int64_t timeout_ns, expires_ns;
    struct limit_layer limits; /* memory and processors */
    struct strv templates;
    const char *egress, *prefix;
    bool read_only, private_ports, manages_keys, json, help;
};

static int take_memory(void *target, const char *value, struct sandbox_error *e)
{
    return limit_take(&((struct key_options *)target)->limits, LIMIT_MEMORY, value, e);
}

static int take_cpus(void *target, const char *value, struct sandbox_error *e)
{
    return limit_take(&((struct key_options *)target)->limits, LIMIT_CPUS, value, e);
}

#define PLACE_OPTIONS                                                                         \
    {"url", 0, "URL", "the server's (default: E2B_API_URL, or http://127.0.0.1:3000)",        \
     CLI_WORD(struct key_options, place.url)},                                                \
    {                                                                                         \
        "api-key-file", 0, "FILE", "with the key that is shown to it (default: E2B_API_KEY)", \
            CLI_WORD(struct key_options, place.key_file)                                      \
    }

static const struct cli_option create_table[] = {
    {"sandboxes", 0, "NUMBER", "at once, with those of keys made with it",
     CLI_NUMBER(struct key_options, sandboxes)},
    {"sandboxes-per-minute", 0, "NUMBER", "that may be made",
     CLI_NUMBER(struct key_options, per_minute)},
    {"timeout", 0, "TIME", "that a sandbox may be given at a time",
     CLI_TIME(struct key_options, timeout_ns)},
    {"memory", 'm', "SIZE", "of each", take_memory, 0},
    {"cpus", 0, "NUMBER", "processors, of each", take_cpus, 0},
    {"template", 0, "NAME", "only sandboxes of this template; may be repeated",
     CLI_LIST(struct key_options, templates)},
    {"egress", 0, "none|named|any", "how far sandboxes may reach: names alone, or addresses, too",
     CLI_WORD(struct key_options, egress)},
    {"name-prefix", 0, "TEXT", "names of its sandboxes begin with it",
     CLI_WORD(struct key_options, prefix)},
    {"expires", 0, "TIME", "from now on it is valid for so long",
     CLI_TIME(struct key_options, expires_ns)},
    {"read-only", 0, NULL, "it sees, and changes nothing", CLI_FLAG(struct key_options, read_only)},
    {"private-ports", 0, NULL, "its sandboxes have no public ports",
     CLI_FLAG(struct key_options, private_ports)},
    {"manage-keys", 0, NULL, "it makes keys below it", CLI_FLAG(struct key_options, manages_keys)},
    {"json", 0, NULL, "print a JSON object, with the key as \"key\"",
     CLI_FLAG(struct key_options, json)},
    PLACE_OPTIONS,
    CLI_HELP(struct key_options, help),
    {0},
};

static const struct cli_option list_table[] = {
    {"json", 0, NULL, "print an array of JSON objects", CLI_FLAG(struct key_options, json)},
    PLACE_OPTIONS,
    CLI_HELP(struct key_options, help),
    {0},
};

static const struct cli_option plain_table[] = {
    PLACE_OPTIONS,
    CLI_HELP(struct key_options, help),
    {0},
};

static const struct cli_foreign_option foreign[] = {
    {"name", "write the name behind the options: glovebox key create NAME"},
    {0},
};

void cli_key_help(FILE *out)
{
    fputs("Usage: glovebox key create [OPTIONS] NAME\n"
          "       glovebox key list [OPTIONS]\n"
          "       glovebox key rename ID NAME\n"
          "       glovebox key revoke ID...\n"
          "\n"
          "API keys of glovebox serve. create prints a new one, which is not shown again; it may\n"
          "do what the key may that it is made with, less what the options take away. revoke\n"
          "takes it back, with those that were made with it; their sandboxes live on.\n"
          "\n"
          "Options of create:\n",
          out);
    cli_options_print(create_table, out);
    fputs("\nThe ids: glovebox key list. More: man glovebox-key\n", out);
}

/* ---- scopes ---- */

static bool set_number(json_t *scope, const char *name, uint64_t value)
{
    return !value || json_object_set_new(scope, name, json_integer((json_int_t)value)) == 0;
}

static bool set_limits(json_t *scope, const struct limit_layer *limits)
{
    uint64_t memory_mb = 0, cpus = 0;
    if (limits->is_given[LIMIT_MEMORY])
        memory_mb = MAX(limits->limits.value[LIMIT_MEMORY] >> 20, (uint64_t)1);
    if (limits->is_given[LIMIT_CPUS])
        cpus = limits->limits.value[LIMIT_CPUS];
    return set_number(scope, "memoryMB", memory_mb) && set_number(scope, "cpusThousandths", cpus);
}

/* value NULL: nothing is said. */
static bool set_text(json_t *scope, const char *name, const char *value)
{
    return !value || json_object_set_new(scope, name, json_string(value)) == 0;
}

static bool set_expiry(json_t *scope, int64_t from_now_ns)
{
    char text[32];
    time_t at = time(NULL) + (time_t)(from_now_ns / NSEC_PER_SEC);
    struct tm tm;
    if (!from_now_ns)
        return true;
    return gmtime_r(&at, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) > 0 &&
           set_text(scope, "expiresAt", text);
}

static bool set_templates(json_t *scope, const struct strv *names)
{
    json_t *list = names->count ? json_array() : NULL;
    for (size_t i = 0; i < names->count; i++) {
        if (json_array_append_new(list, json_string(names->items[i])) < 0) {
            json_decref(list);
            return false;
        }
    }
    return !names->count || json_object_set_new(scope, "templates", list) == 0;
}

static bool set_rights(json_t *scope, const struct key_options *o)
{
    return (!o->read_only || json_object_set_new(scope, "readOnly", json_true()) == 0) &&
           (!o->private_ports || json_object_set_new(scope, "publicPorts", json_false()) == 0) &&
           (!o->manages_keys || json_object_set_new(scope, "manageKeys", json_true()) == 0);
}

/* NULL: something can't be said; a scope without it would be a wider one. */
static json_t *make_scope(const struct key_options *o)
{
    uint64_t timeout_s = (uint64_t)((o->timeout_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC);
    json_t *scope = json_object();
    if (scope && set_number(scope, "sandboxes", o->sandboxes) &&
        set_number(scope, "sandboxesPerMinute", o->per_minute) &&
        set_number(scope, "timeout", timeout_s) && set_limits(scope, &o->limits) &&
        set_expiry(scope, o->expires_ns) && set_templates(scope, &o->templates) &&
        set_text(scope, "egress", o->egress) && set_text(scope, "namePrefix", o->prefix) &&
        set_rights(scope, o))
        return scope;
    json_decref(scope);
    return NULL;
}

/* What is another than that of a key that may do all: "egress=none sandboxes=2 readOnly". */
static void describe_scope(const json_t *scope, struct buf *ret)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)scope, name, value)
    {
        bool is_usual = json_is_true(value) ? !strcmp(name, "publicPorts")
                        : json_is_false(value)
                            ? strcmp(name, "publicPorts") != 0
                            : json_is_string(value) && !strcmp(json_string_value(value), "any");
        char *text = json_is_boolean(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        if (!is_usual)
            buf_printf(ret, "%s%s%s%s", ret->size ? " " : "", name,
                       json_is_false(value) ? "=false" : "", text ? "=" : "");
        if (!is_usual && text)
            buf_append_str(ret, text);
        free(text);
    }
}

/* ---- what is printed ---- */

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "-";
}

static int print_json(const json_t *value, struct sandbox_error *e)
{
    if (json_dumpf(value, stdout, JSON_FLAGS) < 0)
        return sandbox_error_set(e, -EIO, "key: the answer can't be written; see where it goes");
    putchar('\n');
    return 0;
}

static void print_row(const json_t *key)
{
    char id[ID_MAX + 16], name[160], prefix[48], used[48], may[512];
    struct buf scope = BUF_INIT(65536);
    const char *text = member(key, "id"),
               *shown = member(json_object_get(key, "mask"), "maskedValuePrefix");
    text_line(text, strlen(text), id, sizeof(id));
    text = member(key, "name");
    text_line(text, strlen(text), name, sizeof(name));
    text_line(shown, strlen(shown), prefix, sizeof(prefix));
    text = member(key, "lastUsed");
    text_line(text, strlen(text), used, sizeof(used));
    describe_scope(json_object_get(key, "scope"), &scope);
    text_line(scope.data ? scope.data : "", scope.size, may, sizeof(may));
    printf("%5s  %-20s e2b_%s...  %-24s  %s\n", id, name, prefix, used, may);
    buf_done(&scope);
}

static int print_keys(const json_t *keys, bool as_json, struct sandbox_error *e)
{
    size_t i;
    json_t *key;
    if (as_json)
        return print_json(keys, e);
    printf("%5s  %-20s %-11s  %-24s  %s\n", "ID", "NAME", "KEY", "LAST USED", "SCOPE");
    json_array_foreach(keys, i, key) print_row(key);
    return 0;
}

static int print_made(const json_t *made, bool as_json, struct sandbox_error *e)
{
    char key[128];
    const char *text = member(made, "key");
    if (as_json)
        return print_json(made, e);
    text_line(text, strlen(text), key, sizeof(key));
    puts(key);
    return 0;
}

/* ---- the verbs ---- */

static int create(const struct key_options *o, int count, char **words, struct sandbox_error *e)
{
    json_t *made = NULL;
    if (count != 1)
        return sandbox_error_set(e, -EINVAL,
                                 "create: a key has one name; give it behind the options");
    json_t *scope = make_scope(o);
    if (!scope)
        return sandbox_error_set(e, -EINVAL,
                                 "create: what an option says is no text in UTF-8; write --egress, "
                                 "--template and --name-prefix with letters");
    json_t *body = json_pack("{ss so}", "name", words[0], "scope", scope);
    int r = body ? server_ask(&o->place, "POST", "/api-keys", body, &made, e)
                 : sandbox_error_set(
                       e, -EINVAL, "create: '%s' is no text in UTF-8; give another name", words[0]);
    if (r == 0)
        r = print_made(made, o->json, e);
    json_decref(made);
    json_decref(body);
    return r;
}

static int list(const struct key_options *o, int count, char **words, struct sandbox_error *e)
{
    json_t *keys = NULL;
    if (count)
        return sandbox_error_set(e, -EINVAL, "list: takes no names; leave %s out", words[0]);
    int r = server_ask(&o->place, "GET", "/api-keys", NULL, &keys, e);
    if (r == 0)
        r = print_keys(keys, o->json, e);
    json_decref(keys);
    return r;
}

static int check_id(const char *text, struct sandbox_error *e)
{
    uint64_t id;
    return cli_parse_number(text, 1, INT64_MAX, &id)
               ? 0
               : sandbox_error_set(e, -EINVAL,
                                   "'%s' is no id; glovebox key list has them in its first column",
                                   text);
}

static int rename_one(const struct key_options *o, int count, char **words, struct sandbox_error *e)
{
    char path[sizeof("/api-keys/") + ID_MAX];
    if (count != 2)
        return sandbox_error_set(e, -EINVAL,
                                 "rename: give an id and a name; glovebox key list has them");
    int r = check_id(words[0], e);
    if (r < 0)
        return r;
    snprintf(path, sizeof(path), "/api-keys/%.*s", ID_MAX, words[0]);
    json_t *body = json_pack("{ss}", "name", words[1]);
    r = body ? server_ask(&o->place, "PATCH", path, body, NULL, e)
             : sandbox_error_set(e, -EINVAL, "rename: '%s' is no text in UTF-8; give another name",
                                 words[1]);
    json_decref(body);
    return r;
}

static int revoke_all(const struct key_options *o, int count, char **words, struct sandbox_error *e)
{
    char path[sizeof("/api-keys/") + ID_MAX];
    int r = count ? 0
                  : sandbox_error_set(e, -EINVAL,
                                      "revoke: give ids of keys; glovebox key list has them");
    for (int i = 0; i < count && r == 0; i++)
        r = check_id(words[i], e);
    for (int i = 0; i < count && r == 0; i++) {
        snprintf(path, sizeof(path), "/api-keys/%.*s", ID_MAX, words[i]);
        r = server_ask(&o->place, "DELETE", path, NULL, NULL, e);
        if (r < 0)
            sandbox_error_prefix(e, r, words[i]);
    }
    return r;
}

static const struct key_verb {
    const char *name;
    const struct cli_option *table;
    int (*run)(const struct key_options *o, int count, char **words, struct sandbox_error *e);
} verbs[] = {
    {"create", create_table, create},
    {"list", list_table, list},
    {"rename", plain_table, rename_one},
    {"revoke", plain_table, revoke_all},
};

static int run_verb(const struct key_verb *verb, int count, char **words, struct sandbox_error *e)
{
    struct key_options o = {0};
    const struct cli_options grammar = {
        .options = verb->table,
        .foreign = foreign,
        .help_command = "glovebox key --help",
    };
    int used, r = cli_options_parse(&grammar, count, words, &o, &used, e);
    if (r == 0 && o.help)
        cli_key_help(stdout);
    else if (r == 0)
        r = verb->run(&o, count - used, words + used, e);
    strv_done(&o.templates);
    return r < 0 ? sandbox_error_prefix(e, r, "key") : 0;
}

int cli_key(int count, char **words)
{
    struct sandbox_error e;
    const char *word = count ? words[0] : "";
    int r = -ENOENT;
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
        cli_key_help(stdout);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        if (!strcmp(verbs[i].name, word)) {
            r = run_verb(&verbs[i], count - 1, words + 1, &e);
            if (r < 0)
                cli_say_error(&e);
            return r < 0 ? CLI_STATUS_BAD_USE : 0;
        }
    sandbox_error_set(&e, r, "key: %s; give create, list, rename or revoke",
                      *word ? "no such command" : "a command is missing");
    cli_say_error(&e);
    return CLI_STATUS_BAD_USE;
}
