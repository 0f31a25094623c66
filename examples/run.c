// SPDX-License-Identifier: Apache-2.0
/* A sandbox, one program in it, what that writes, and the end of it.
 * cc run.c $(pkg-config --cflags --libs glovebox) */
#include <glovebox.h>
#include <stdio.h>

int main(void)
{
    struct glovebox_error e;
    struct glovebox_event event = {.status = 125};
    struct glovebox_exec *program = NULL;
    struct glovebox_command *command = glovebox_command_new("python3");
    char name[GLOVEBOX_NAME_SIZE] = "";
    glovebox_command_add_argument(command, "-c");
    glovebox_command_add_argument(command, "print(sum(range(10)))");
    if (glovebox_create(NULL, name, &e) < 0 || glovebox_exec(name, command, &program, &e) < 0)
        fprintf(stderr, "run: %s\n", e.text);
    while (program && glovebox_exec_next(program, -1, &event, &e) == 0)
        if (event.type == GLOVEBOX_OUTPUT)
            fwrite(event.data, 1, event.size, stdout);
    glovebox_exec_free(program);
    glovebox_command_free(command);
    glovebox_kill(name, NULL);
    return event.status;
}
