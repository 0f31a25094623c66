// SPDX-License-Identifier: Apache-2.0
/*
 * Two programs in one sandbox and a loop that never waits for one of them: each gets its input as
 * it takes it, and what they write is shown as it comes, line by line with its number. Then a file
 * that one of them left is read.
 * cc stream.c $(pkg-config --cflags --libs glovebox)
 */
#include <glovebox.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PROGRAMS 2

static const char script[] = "while read -r line; do echo \"$0: $line\"; done; echo $0 >>/tmp/done";
static const char input[] = "one\ntwo\nthree\n";

struct program {
    struct glovebox_exec *exec;
    size_t written;
    int is_over;
};

static struct glovebox_error error;

static int start(const char *sandbox, const char *name, struct program *p)
{
    struct glovebox_command *c = glovebox_command_new("sh");
    if (!c)
        return -1;
    glovebox_command_add_argument(c, "-c");
    glovebox_command_add_argument(c, script);
    glovebox_command_add_argument(c, name);
    glovebox_command_set_input(c, 1);
    int r = glovebox_exec(sandbox, c, &p->exec, &error);
    glovebox_command_free(c);
    return r;
}

/* As much as is taken now; the end of it when that was all. */
static int feed(struct program *p)
{
    size_t left = strlen(input) - p->written;
    if (left == 0)
        return glovebox_exec_end_input(p->exec, &error);
    ssize_t n = glovebox_exec_write(p->exec, input + p->written, left, &error);
    if (n > 0)
        p->written += (size_t)n;
    return n < 0 ? (int)n : 0;
}

static int take(struct program *p)
{
    struct glovebox_event event;
    int r;
    while ((r = glovebox_exec_next(p->exec, 0, &event, &error)) == 0) {
        if (event.type == GLOVEBOX_OUTPUT)
            fwrite(event.data, 1, event.size, event.stream == 2 ? stderr : stdout);
        else if (event.type == GLOVEBOX_STARTED || event.type == GLOVEBOX_INPUT)
            r = feed(p);
        else
            p->is_over = 1;
        if (r < 0 || p->is_over)
            return r;
    }
    return r == -EAGAIN ? 0 : r;
}

static int run_all(struct program *programs)
{
    int running, r = 0;
    do {
        struct pollfd fds[PROGRAMS];
        running = 0;
        for (int i = 0; i < PROGRAMS; i++) {
            fds[i] =
                (struct pollfd){.fd = programs[i].is_over ? -1 : glovebox_exec_fd(programs[i].exec),
                                .events = POLLIN};
            running += !programs[i].is_over;
        }
        if (running > 0)
            poll(fds, PROGRAMS, -1);
        for (int i = 0; i < PROGRAMS && r == 0; i++)
            if (fds[i].revents)
                r = take(&programs[i]);
    } while (running > 0 && r == 0);
    return r;
}

static int show_file(const char *sandbox, const char *path)
{
    struct glovebox_files *files;
    char data[256];
    int r = glovebox_files_open(sandbox, NULL, &files, &error);
    if (r < 0)
        return r;
    r = glovebox_files_read_open(files, path, NULL, &error);
    ssize_t n = r < 0 ? r : glovebox_files_read(files, data, sizeof(data), 0, &error);
    if (n > 0)
        fwrite(data, 1, (size_t)n, stdout);
    glovebox_files_close(files);
    return n < 0 ? (int)n : 0;
}

int main(void)
{
    struct program programs[PROGRAMS] = {{0}};
    struct glovebox_options *options = glovebox_options_new();
    struct glovebox_end end;
    char name[GLOVEBOX_NAME_SIZE] = "";
    int r = glovebox_options_set(options, "lifetime", "1m", &error);
    if (r == 0)
        r = glovebox_create(options, name, &error);
    for (int i = 0; i < PROGRAMS && r == 0; i++)
        r = start(name, i ? "second" : "first", &programs[i]);
    if (r == 0)
        r = run_all(programs);
    if (r == 0)
        r = show_file(name, "/tmp/done");
    for (int i = 0; i < PROGRAMS; i++)
        glovebox_exec_free(programs[i].exec);
    if (r < 0)
        fprintf(stderr, "stream: %s\n", error.text);
    struct glovebox_watch *watch = NULL;
    if (name[0] && glovebox_watch(name, &watch, NULL) == 0) {
        glovebox_stop(name, NULL);
        if (glovebox_watch_wait(watch, -1, &end, NULL) == 0)
            printf("%s\n", end.cause);
    }
    glovebox_watch_free(watch);
    glovebox_options_free(options);
    return r < 0;
}
