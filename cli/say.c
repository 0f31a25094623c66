// SPDX-License-Identifier: Apache-2.0
#include "cli/say.h"

#include "sandbox/terminal.h"

#include <sys/uio.h>

/* In one write, so that lines of several processes don't mix. */
void cli_say(const char *line)
{
    static const char name[] = "glovebox: ";
    const char *end = terminal_is_raw() ? "\r\n" : "\n";
    struct iovec parts[] = {
        {(char *)name, sizeof(name) - 1},
        {(char *)line, strlen(line)},
        {(char *)end, strlen(end)},
    };
    /* Nobody is left to be told when this fails. */
    if (writev(STDERR_FILENO, parts, ARRAY_SIZE(parts)) < 0)
        return;
}

void cli_say_error(const struct sandbox_error *e)
{
    char line[2 * SANDBOX_ERROR_MAX_BYTES];
    text_line(e->text, strlen(e->text), line, sizeof(line));
    cli_say(line);
}

const struct text_style *cli_choose_style(int fd)
{
    const char *term = getenv("TERM");
    if (!isatty(fd))
        return NULL;
    return term && strcmp(term, "dumb") ? &text_style_terminal : &text_style_plain;
}
