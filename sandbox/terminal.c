// SPDX-License-Identifier: Apache-2.0
#include "sandbox/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>

/* So long nothing may come before all has come, and so often something may. */
#define QUIET_MS    20
#define DROP_ROUNDS 50

static struct termios saved;
static volatile sig_atomic_t raw_fd = -1;

void terminal_get_size(int fd, unsigned *ret_rows, unsigned *ret_columns)
{
    struct winsize size = {0};
    ioctl(fd, TIOCGWINSZ, &size);
    *ret_rows = size.ws_row;
    *ret_columns = size.ws_col;
}

bool terminal_is_raw(void)
{
    return raw_fd >= 0;
}

bool terminal_is_in_background(int fd)
{
    pid_t foreground = tcgetpgrp(fd);
    return foreground >= 0 && foreground != getpgrp();
}

/*
 * What was typed for the sandbox's program, and what the terminal answers to its escape sequences,
 * is not for the shell that reads next. The answers to the last ones may be on their way.
 */
static void drop_input(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    for (int i = 0; i < DROP_ROUNDS && tcflush(fd, TCIFLUSH) == 0; i++)
        if (poll(&p, 1, QUIET_MS) <= 0 || p.revents != POLLIN)
            break;
}

/* From here tcsetattr(3) could stop us with SIGTTOU when we are in the background: restore anyway.
 */
void terminal_restore(void)
{
    int error = errno;
    int fd = raw_fd;
    if (fd >= 0) {
        sigset_t ttou, before;
        raw_fd = -1;
        sigemptyset(&ttou);
        sigaddset(&ttou, SIGTTOU);
        sigprocmask(SIG_BLOCK, &ttou, &before);
        if (!terminal_is_in_background(fd))
            drop_input(fd);
        tcsetattr(fd, TCSANOW, &saved);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    errno = error;
}

/* The handler was reset by SA_RESETHAND: the signal comes again and ends us. */
static void on_crash(int sig)
{
    terminal_restore();
    raise(sig);
}

static void catch_crashes(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS,  SIGILL,  SIGFPE, SIGABRT,
                                  SIGSYS,  SIGTRAP, SIGXCPU, SIGALRM};
    static bool caught;
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};
    if (caught)
        return;
    caught = true;
    for (size_t i = 0; i < ARRAY_SIZE(crashes); i++) {
        struct sigaction old;
        if (sigaction(crashes[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(crashes[i], &action, NULL);
    }
    atexit(terminal_restore);
}

int terminal_enter_raw(int fd)
{
    struct termios raw;
    if (tcgetattr(fd, &raw) < 0)
        return -errno;
    if (raw_fd < 0)
        saved = raw;
    cfmakeraw(&raw);
    catch_crashes();
    if (tcsetattr(fd, TCSANOW, &raw) < 0)
        return -errno;
    raw_fd = fd;
    return 0;
}
