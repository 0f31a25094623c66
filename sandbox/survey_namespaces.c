// SPDX-License-Identifier: Apache-2.0
/*
 * Namespaces and what is done in them, tried out in children that end at once.
 */
#include "sandbox/host.h"
#include "sandbox/survey.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define NAMESPACES                                                                             \
    (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | \
     CLONE_NEWCGROUP)

enum step { MAKING, MAPPING, MOUNTING, MOUNTING_PROC, STEPS };

/* What a child says of the step that failed; step STEPS: none. */
struct answer {
    int step, error;
};

static bool write_file(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

_noreturn_ static void say(int out, int step)
{
    struct answer a = {step, step == STEPS ? 0 : errno};
    _exit(write(out, &a, sizeof(a)) == sizeof(a) ? 0 : 1);
}

/* The first process of the new PID namespace: only such a one may mount a /proc of it. */
_noreturn_ static void be_the_first(int out)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("glovebox", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") < 0)
        say(out, MOUNTING);
    if (mount("proc", "/tmp", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        say(out, MOUNTING_PROC);
    say(out, STEPS);
}

_noreturn_ static void be_the_child(int out, uid_t uid, gid_t gid)
{
    char map[32];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(NAMESPACES) < 0)
        say(out, MAKING);
    snprintf(map, sizeof(map), "0 %u 1\n", uid);
    if (!write_file("/proc/self/setgroups", "deny") || !write_file("/proc/self/uid_map", map))
        say(out, MAPPING);
    snprintf(map, sizeof(map), "0 %u 1\n", gid);
    if (!write_file("/proc/self/gid_map", map))
        say(out, MAPPING);
    pid_t first = fork();
    if (first < 0)
        say(out, MAKING);
    if (first == 0)
        be_the_first(out);
    waitpid(first, NULL, 0);
    _exit(0);
}

static struct answer try_all(void)
{
    struct answer a = {MAKING, EIO};
    int two[2];
    if (pipe2(two, O_CLOEXEC) < 0)
        return a;
    pid_t pid = fork();
    if (pid == 0)
        be_the_child(two[1], geteuid(), getegid());
    close(two[1]);
    if (pid > 0 && read(two[0], &a, sizeof(a)) != sizeof(a))
        a = (struct answer){MAKING, EIO};
    close(two[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return a;
}

/* The settings that stand in the way, whether or not they do for this user. */
static void survey_settings(struct survey *s)
{
    for (size_t i = 0; i < sandbox_host_setting_count; i++) {
        const struct sandbox_host_setting *setting = &sandbox_host_settings[i];
        char remedy[SURVEY_TEXT_BYTES];
        long value = sandbox_read_setting(setting->path);
        if (value < 0)
            continue;
        struct survey_finding *f = survey_find(s, setting->name, "%ld", value);
        snprintf(remedy, sizeof(remedy), "as root, run: sysctl -w %s=%ld", setting->name,
                 setting->good);
        if (value == setting->bad)
            survey_lacks(f, SURVEY_DEGRADED,
                         setting->spares_root ? "sandboxes of ordinary users are forbidden"
                                              : "no namespaces can be made",
                         remedy);
        else if (!setting->spares_root && value < SANDBOX_NAMESPACES_FEW)
            survey_lacks(f, SURVEY_DEGRADED, "so many sandboxes can run at once, and no more",
                         remedy);
    }
}

void survey_namespaces(struct survey *s)
{
    struct answer a = try_all();
    struct sandbox_error e;
    struct survey_finding *f =
        survey_find(s, "namespaces", "%s", a.step > MAPPING ? "can be made" : strerror(a.error));
    if (a.step <= MAPPING) {
        sandbox_explain_namespaces(a.error, &e);
        survey_lacks_by_error(f, SURVEY_MISSING, &e);
    } else {
        f = survey_find(s, "mounts in them", "%s",
                        a.step > MOUNTING ? "can be made" : strerror(a.error));
        if (a.step == MOUNTING)
            survey_lacks(f, SURVEY_MISSING, "no sandbox gets a root of its own",
                         "allow mount(2) in user namespaces: in a container --security-opt "
                         "seccomp=unconfined --security-opt apparmor=unconfined");
        else
            f = survey_find(s, "a /proc of their own", "%s",
                            a.step > MOUNTING_PROC ? "can be mounted" : strerror(a.error));
        if (a.step == MOUNTING_PROC)
            survey_lacks(f, SURVEY_MISSING, "a sandbox's kernel can't see the sandbox's processes",
                         "unmask /proc: in a container --security-opt systempaths=unconfined");
    }
    survey_settings(s);
}
