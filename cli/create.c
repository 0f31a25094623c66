// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox create: a sandbox that lives on behind its command; and the same for libglovebox.
 */
#include "cli/options.h"
#include "cli/run_options.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "sandbox/create.h"
#include "sandbox/create_ask.h"

#define CREATE_LIFETIME_NS (300 * NSEC_PER_SEC)

static const struct cli_options create_grammar = {
    .options = cli_run_options,
    .foreign = cli_run_foreign,
    .help_command = "glovebox create --help",
};

void cli_create_help(FILE *out)
{
    fputs("Usage: glovebox create [OPTIONS]\n"
          "\n"
          "Makes a sandbox that lives on without a program of its own, and prints its name.\n"
          "glovebox exec runs programs in it; it ends with glovebox stop, or when its lifetime\n"
          "is over: 5 minutes, unless --lifetime says otherwise.\n"
          "\n"
          "Options are those of glovebox run, but for what concerns a command and its output:\n"
          "--timeout, --tty, --trace, --json, --for-model, --output-limit, --raw.\n"
          "\n"
          "More: man glovebox-create\n",
          out);
}

static int check_create(const struct run_options *o, int left, const char *word,
                        struct sandbox_error *e)
{
    const struct {
        bool is_given;
        const char *name;
    } of_commands[] = {{o->limits.is_given[LIMIT_TIMEOUT], "--timeout"},
                       {o->spec.tty, "--tty"},
                       {o->trace != NULL, "--trace"},
                       {o->json, "--json"},
                       {o->for_model, "--for-model"},
                       {o->limits.is_given[LIMIT_OUTPUT], "--output-limit"},
                       {o->raw, "--raw"}};
    for (size_t i = 0; i < ARRAY_SIZE(of_commands); i++)
        if (of_commands[i].is_given)
            return sandbox_error_set(e, -EINVAL,
                                     "%s: is for a command; leave it out here, or see glovebox "
                                     "exec --help",
                                     of_commands[i].name);
    if (left > 0)
        return sandbox_error_set(e, -EINVAL,
                                 "create: starts no command; leave %s out, and run it with "
                                 "glovebox exec NAME",
                                 word);
    return 0;
}

/* 0, and its name was told; or negative errno and the sentence. */
static int create(struct run_options *o, sandbox_name_fn tell, struct sandbox_error *e)
{
    int r = run_options_complete(o, 0, NULL, e);
    if (r == 0)
        r = run_options_check_host(e);
    if (r < 0)
        return r;
    uint64_t *lifetime = &o->spec.limits.value[LIMIT_LIFETIME];
    *lifetime = *lifetime ? *lifetime : (uint64_t)CREATE_LIFETIME_NS;
    return sandbox_create(&o->spec, tell, e);
}

static bool print_name(const char *name)
{
    return puts(name) >= 0 && fflush(stdout) == 0;
}

int cli_create(int count, char **words)
{
    struct run_options o = {.spec.waits = true};
    struct sandbox_error e;
    int used;
    int r = cli_options_parse(&create_grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_create_help(stdout);
        run_options_done(&o);
        return 0;
    }
    if (r == 0)
        r = check_create(&o, count - used, used < count ? words[used] : "", &e);
    if (r == 0)
        r = create(&o, print_name, &e);
    if (r < 0)
        cli_say_error(&e);
    run_options_done(&o);
    return r < 0 ? CLI_STATUS_BAD_USE : 0;
}

/* ---- for libglovebox: sandbox/create_ask.h ---- */

/* All of standard input, which is whole options. */
static int read_options(struct buf *b, struct sandbox_error *e)
{
    char piece[65536];
    ssize_t n;
    while ((n = read(STDIN_FILENO, piece, sizeof(piece))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sandbox_error_set(e, -errno, "create: options: %s; try again", strerror(errno));
        if (buf_append(b, piece, (size_t)n) < 0)
            return sandbox_error_set(e, -E2BIG, "create: the options are too long; shorten them");
    }
    if (b->size > 0 && b->data[b->size - 1] != '\0')
        return sandbox_error_set(e, -EINVAL,
                                 "create: the last option has no end; see man "
                                 "glovebox-create for how to call it");
    return 0;
}

/* As the words of a command line. */
static int make_words(const struct buf *b, struct strv *words, struct sandbox_error *e)
{
    for (const char *at = b->data; b->size > 0 && at < b->data + b->size; at += strlen(at) + 1) {
        size_t size = strcspn(at, "=");
        _cleanup_free_ char *word = NULL;
        if (!create_is_option_name(at, size))
            return sandbox_error_set(e, -EINVAL, "--%.40s: no such option; see man glovebox-run",
                                     at);
        if (words->count >= CREATE_OPTIONS_MAX || asprintf(&word, "--%s", at) < 0 ||
            strv_append(words, word) < 0)
            return sandbox_error_set(e, -ENOMEM, "create: too many options; give fewer");
    }
    return 0;
}

/* error: 0, or negative errno. */
static bool write_answer(int error, const char *text)
{
    struct create_answer a = {.error = error};
    snprintf(a.text, sizeof(a.text), "%s", text);
    return write(STDOUT_FILENO, &a, sizeof(a)) == (ssize_t)sizeof(a);
}

static bool answer_name(const char *name)
{
    return write_answer(0, name);
}

static int answer(struct sandbox_error *e)
{
    struct buf text = BUF_INIT(CREATE_OPTIONS_MAX_BYTES);
    struct run_options o = {.spec.waits = true};
    struct strv words = {0};
    int r = read_options(&text, e);
    if (r == 0)
        r = make_words(&text, &words, e);
    /* One by one: where a value is missing, it is not the next word. */
    for (size_t i = 0; i < words.count && r == 0; i++) {
        int used;
        r = cli_options_parse(&create_grammar, 1, &words.items[i], &o, &used, e);
    }
    if (r == 0 && (o.help || o.version))
        r = sandbox_error_set(e, -EINVAL, "--%s: is for people; leave it out",
                              o.help ? "help" : "version");
    if (r == 0)
        r = check_create(&o, 0, "", e);
    if (r == 0)
        r = create(&o, answer_name, e);
    strv_done(&words);
    buf_done(&text);
    run_options_done(&o);
    return r;
}

int cli_answer(int count _unused_, char **words _unused_)
{
    struct sandbox_error e;
    int r = answer(&e);
    return r == 0 || write_answer(r, e.text) ? 0 : CLI_STATUS_BAD_USE;
}
