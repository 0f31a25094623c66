// SPDX-License-Identifier: Apache-2.0
#include "sandbox/signals.h"

#include "lib/text/shown.h"

#include <fcntl.h>
#include <stdio.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int others[] = {SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

bool signals_is_ending(int sig)
{
    for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
        if (sig == ending[i])
            return true;
    return false;
}

bool signals_is_echo(struct signals *s, const struct signalfd_siginfo *info, int64_t now_ns)
{
    if (info->ssi_code != SI_KERNEL && s->last == info->ssi_signo &&
        s->last_sender == info->ssi_pid && now_ns - s->last_ns < SIGNALS_ECHO_NS)
        return true;
    s->last = info->ssi_signo;
    s->last_sender = info->ssi_pid;
    s->last_ns = now_ns;
    return false;
}

/* A blocked signal is kept pending even when it is ignored: those that were ignored are left alone.
 */
static void add_unless_ignored(sigset_t *set, const int *signals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sigaction action;
        if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(set, signals[i]);
    }
}

void signals_block(struct signals *s)
{
    sigset_t set;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&set);
    add_unless_ignored(&set, ending, ARRAY_SIZE(ending));
    add_unless_ignored(&set, others, ARRAY_SIZE(others));
    sigprocmask(SIG_BLOCK, &set, &s->mask_before);
    sigaction(SIGPIPE, &ignore, &s->pipe_before);
    s->last = 0;
    s->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

void signals_restore(struct signals *s)
{
    base_closep(&s->fd);
    sigaction(SIGPIPE, &s->pipe_before, NULL);
    sigprocmask(SIG_SETMASK, &s->mask_before, NULL);
}

/* The name may be gone, or any bytes. */
void signals_describe_sender(const struct signalfd_siginfo *info, char *ret, size_t size)
{
    char path[40], name[16], shown[64];
    if (info->ssi_code == SI_KERNEL || info->ssi_pid == 0) {
        snprintf(ret, size, "%s", info->ssi_code == SI_KERNEL ? "the terminal" : "");
        return;
    }
    snprintf(path, sizeof(path), "/proc/%u/comm", info->ssi_pid);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, name, sizeof(name));
    if (length > 0 && name[length - 1] == '\n')
        length--;
    text_line(name, (size_t)MAX(length, (ssize_t)0), shown, sizeof(shown));
    snprintf(ret, size, "process %u%s%s%s of user %u", info->ssi_pid, shown[0] ? " (" : "", shown,
             shown[0] ? ")" : "", info->ssi_uid);
}
