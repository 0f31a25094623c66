// SPDX-License-Identifier: Apache-2.0
/*
 * A host that lacks something: runs a command whose calls NUMBER, with this first argument if one
 * is given, fail with ERRNO.
 *
 *     lacking NUMBER ERRNO ARGUMENT|- COMMAND...
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    unsigned error = (unsigned)atoi(argv[2]), argument = (unsigned)atoi(argv[3]);
    unsigned char any = strcmp(argv[3], "-") == 0;
    struct sock_filter program[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, (unsigned)atoi(argv[1])},
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, (unsigned char)!any, argument},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    const struct sock_fprog p = {sizeof(program) / sizeof(*program), program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p) < 0)
        return 2;
    execvp(argv[4], argv + 4);
    return 127;
}
