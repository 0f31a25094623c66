// SPDX-License-Identifier: Apache-2.0
#include "server/say.h"

#include "sandbox/outlet.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

static struct outlet outlet = OUTLET_CLOSED;
static size_t left_out;
static bool is_split; /* what was written last is not the end of a line */

void say_start(void)
{
    outlet_open(&outlet, STDERR_FILENO);
}

/* In the pieces that the outlet takes: a terminal is found writable when it has room for less than
 * a line. How much of it there was room for; a reader that is gone has been told all. */
static size_t write_pieces(const char *text, size_t size)
{
    struct pollfd p = {.fd = outlet.fd, .events = POLLOUT};
    size_t done = 0;
    while (done < size && poll(&p, 1, 0) != 0) {
        ssize_t n = outlet_write(&outlet, text + done, size - done, true);
        if (n == -EAGAIN)
            break;
        if (n <= 0)
            return size;
        done += (size_t)n;
        is_split = text[done - 1] != '\n';
    }
    return done;
}

/* False: there was no room for all of it. Only its newline may be missing, which comes before the
 * next one then. */
static bool write_line(const char *line, size_t size)
{
    if (is_split && write_pieces("\n", 1) == 0)
        return false;
    return write_pieces(line, size) + 1 >= size;
}

static bool say_left_out(void)
{
    char line[100];
    int size = snprintf(line, sizeof(line),
                        "glovebox-server: more was said than was read; %zu line%s left out\n",
                        left_out, left_out == 1 ? " is" : "s are");
    if (left_out > 0 && !write_line(line, (size_t)size))
        return false;
    left_out = 0;
    return true;
}

void say_line(const char *line, size_t size)
{
    if (!say_left_out() || !write_line(line, size))
        left_out++;
}
