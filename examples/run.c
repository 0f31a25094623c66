// SPDX-License-Identifier: Apache-2.0
/* A sandbox, one program in it, what that writes, and the end of it.
 * cc run.c $(pkg-config --cflags --libs glovebox) */
#include <glovebox.h>
#include <stdio.h>

int main(void)
{
    struct glovebox_error e;
    struct glovebox_event event = {0};
    struct glovebox_exec *program = NULL;
    struct glovebox_options *options = glovebox_options_new();
    struct glovebox_command *command = glovebox_command_new("python3");
    char name[GLOVEBOX_NAME_SIZE];
    int r = glovebox_options_set(options, "memory", "512M", &e);
    if (r == 0)
        r = glovebox_create(options, name, &e);
    if (r == 0) {
        glovebox_command_add_argument(command, "-c");
        glovebox_command_add_argument(command, "print(sum(range(10)))");
        r = glovebox_exec(name, command, &program, &e);
        while (r == 0 && event.type != GLOVEBOX_ENDED && event.type != GLOVEBOX_FAILED) {
            r = glovebox_exec_next(program, -1, &event, &e);
            if (r == 0 && event.type == GLOVEBOX_OUTPUT)
                fwrite(event.data, 1, event.size, stdout);
        }
        glovebox_kill(name, NULL);
    }
    if (r < 0)
        fprintf(stderr, "run: %s\n", e.text);
    glovebox_exec_free(program);
    glovebox_command_free(command);
    glovebox_options_free(options);
    return r < 0 ? 125 : event.status;
}
