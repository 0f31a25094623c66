// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox cp: files out of a running sandbox, as a stranger's; and into one.
 */
#include "cli/say.h"
#include "cli/takers.h"
#include "cli/verbs.h"
#include "sandbox/copy_ask.h"
#include "sandbox/copy_folder.h"
#include "sandbox/copy_in.h"
#include "sandbox/copy_tar.h"

#include <inttypes.h>
#include <signal.h>

#define STATUS_NOT_ALL 1

#define STANDARD_MAX_BYTES   (UINT64_C(16) << 30)
#define STANDARD_MAX_ENTRIES 1000000

struct cp_options {
    bool help, follows;
    struct copy_limits limits;
};

static const struct cli_option options[] = {
    {"follow-link", 'L', NULL, "if the source is a symbolic link, copy what it leads to",
     CLI_FLAG(struct cp_options, follows)},
    {"max-size", 0, "SIZE", "copy at most so many bytes (16G)",
     CLI_SIZE(struct cp_options, limits.bytes)},
    {"max-files", 0, "N", "copy at most so many files and directories (1000000)",
     CLI_NUMBER(struct cp_options, limits.entries)},
    CLI_HELP(struct cp_options, help),
    {0},
};

static const struct cli_foreign_option foreign[] = {
    {"archive", "owners are never kept; leave it out"},
    {"quiet", "nothing is said but what was left out; leave it out"},
    {0},
};

static const struct cli_options grammar = {
    .options = options,
    .foreign = foreign,
    .help_command = "glovebox cp --help",
};

void cli_cp_help(FILE *out)
{
    fputs(
        "Usage: glovebox cp [OPTIONS] NAME:PATH TARGET\n"
        "       glovebox cp [OPTIONS] NAME:PATH - > ARCHIVE.tar\n"
        "       glovebox cp [OPTIONS] SOURCE NAME:PATH\n"
        "       glovebox cp [OPTIONS] - NAME:PATH < ARCHIVE.tar\n"
        "\n"
        "Copies a file, or a directory with all that is in it, out of a running sandbox of yours,\n"
        "or into one. On its way out no link is followed in the target, and no device,\n"
        "set-user-ID bit or owner comes along; what comes in belongs to the sandbox's user.\n"
        "\n"
        "Options:\n",
        out);
    cli_options_print(options, out);
    fputs("\nThe names: glovebox ps. More: man glovebox-cp\n", out);
}

/* What was asked for, taken apart. */
struct source {
    char *name, *path; /* NUL-terminated in the word itself */
    char base[COPY_NAME_MAX_BYTES + 1];
    bool is_content; /* of the directory, without itself: PATH/. or / */
};

/* NAME:PATH: the colon; or NULL: it is one of this machine. */
static char *find_colon(char *word)
{
    char *colon = strchr(word, ':');
    return !colon || colon == word || memchr(word, '/', (size_t)(colon - word)) ? NULL : colon;
}

static int parse_source(char *word, struct source *ret, struct sandbox_error *e)
{
    char *colon = find_colon(word);
    *colon = '\0';
    *ret = (struct source){.name = word, .path = colon + 1};
    size_t end = strlen(ret->path);
    while (end > 0 && ret->path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && ret->path[start - 1] != '/')
        start--;
    size_t size = end - start;
    ret->is_content = size == 0 || (size == 1 && ret->path[start] == '.');
    if (!*ret->path || size > COPY_NAME_MAX_BYTES ||
        (size == 2 && !memcmp(ret->path + start, "..", 2)))
        return sandbox_error_set(e, -EINVAL,
                                 "cp: %s:%s: has no name at its end; give a path that has one",
                                 ret->name, ret->path);
    memcpy(ret->base, ret->path + start, size);
    return 0;
}

static void say_left_out(const char *line)
{
    char text[2048];
    snprintf(text, sizeof(text), "cp: %s", line);
    cli_say(text);
}

static int copy(const struct cp_options *o, const struct source *s, struct copy_reader *r,
                struct sandbox_error *e)
{
    int error = copy_ask(s->name, s->path, o->follows, r, e);
    copy_reader_end(r);
    return error;
}

static int copy_to_folder(const struct cp_options *o, const struct source *s, const char *target,
                          uint64_t *ret_left_out, struct sandbox_error *e)
{
    struct copy_folder *folder;
    struct copy_reader reader;
    int r = copy_folder_open(target, s->base, s->is_content, &folder, e);
    if (r < 0)
        return sandbox_error_prefix(e, r, "cp: %s", target);
    copy_reader_init(&reader, &copy_folder_sink, folder, &o->limits, s->path, say_left_out);
    r = copy(o, s, &reader, e);
    *ret_left_out = reader.left_out;
    copy_reader_done(&reader);
    copy_folder_free(folder);
    return r < 0 ? sandbox_error_prefix(e, r, "cp") : 0;
}

static int copy_to_archive(const struct cp_options *o, const struct source *s,
                           uint64_t *ret_left_out, struct sandbox_error *e)
{
    struct copy_reader reader;
    if (isatty(STDOUT_FILENO))
        return sandbox_error_set(e, -EINVAL,
                                 "cp: -: an archive is not for a terminal; send it to a file or "
                                 "into a pipe");
    struct copy_tar *tar = copy_tar_new(STDOUT_FILENO, s->is_content ? "." : s->base);
    if (!tar)
        return sandbox_error_set(e, -ENOMEM, "cp: out of memory; free some and try again");
    copy_reader_init(&reader, &copy_tar_sink, tar, &o->limits, s->path, say_left_out);
    int r = copy(o, s, &reader, e);
    if (r == 0)
        r = copy_tar_end(tar, e);
    *ret_left_out = reader.left_out;
    copy_reader_done(&reader);
    copy_tar_free(tar);
    return r < 0 ? sandbox_error_prefix(e, r, "cp") : 0;
}

/* In the sandbox: from its root, also without a leading slash. */
static int copy_in(const struct cp_options *o, const char *source, char *word,
                   uint64_t *ret_left_out, struct sandbox_error *e)
{
    struct copy_in in;
    char *colon = find_colon(word);
    _cleanup_free_ char *target = NULL;
    *colon = '\0';
    if (!colon[1])
        return sandbox_error_set(e, -EINVAL, "cp: %s: has no path; write NAME:PATH", word);
    if (asprintf(&target, "%s%s", colon[1] == '/' ? "" : "/", colon + 1) < 0) {
        target = NULL;
        return sandbox_error_set(e, -ENOMEM, "cp: out of memory; free some and try again");
    }
    bool is_archive = !strcmp(source, "-");
    if (is_archive && isatty(STDIN_FILENO))
        return sandbox_error_set(e, -EINVAL,
                                 "cp: -: an archive does not come from a terminal; give a file or "
                                 "a pipe");
    int r = copy_in_init(&in, word, say_left_out, e);
    if (r < 0)
        return sandbox_error_prefix(e, r, "cp");
    in.bytes_max = o->limits.bytes;
    in.entries_max = o->limits.entries;
    r = is_archive ? copy_in_archive(&in, STDIN_FILENO, target, e)
                   : copy_in_tree(&in, source, o->follows, target, e);
    copy_in_end(&in);
    *ret_left_out = in.left_out;
    copy_in_done(&in);
    return r < 0 ? sandbox_error_prefix(e, r, "cp") : 0;
}

static int copy_out(const struct cp_options *o, char *word, const char *target,
                    uint64_t *ret_left_out, struct sandbox_error *e)
{
    struct source source;
    int r = parse_source(word, &source, e);
    if (r < 0)
        return r;
    return strcmp(target, "-") ? copy_to_folder(o, &source, target, ret_left_out, e)
                               : copy_to_archive(o, &source, ret_left_out, e);
}

static int copy_words(const struct cp_options *o, char *from, char *to, uint64_t *ret_left_out,
                      struct sandbox_error *e)
{
    bool is_out = find_colon(from), is_in = find_colon(to);
    if (is_out && is_in)
        return sandbox_error_set(e, -EINVAL,
                                 "cp: %s: both are in sandboxes; copy to a folder of this machine "
                                 "in between, or write ./%s",
                                 to, to);
    if (!is_out && !is_in)
        return sandbox_error_set(
            e, -EINVAL, "cp: %s: neither is in a sandbox; write one of them as NAME:PATH", from);
    return is_out ? copy_out(o, from, to, ret_left_out, e) : copy_in(o, from, to, ret_left_out, e);
}

int cli_cp(int count, char **words)
{
    struct cp_options o = {.limits = {STANDARD_MAX_BYTES, STANDARD_MAX_ENTRIES}};
    struct sandbox_error e;
    uint64_t left_out = 0;
    int used;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &e);
    if (r == 0 && o.help) {
        cli_cp_help(stdout);
        return 0;
    }
    signal(SIGPIPE, SIG_IGN);
    if (r == 0 && count - used != 2)
        r = sandbox_error_set(&e, -EINVAL,
                              "cp: give a source and a target, one of them NAME:PATH; glovebox cp "
                              "--help says more");
    if (r == 0)
        r = copy_words(&o, words[used], words[used + 1], &left_out, &e);
    if (r < 0) {
        cli_say_error(&e);
        return CLI_STATUS_BAD_USE;
    }
    return left_out ? STATUS_NOT_ALL : 0;
}
