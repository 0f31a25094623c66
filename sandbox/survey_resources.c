// SPDX-License-Identifier: Apache-2.0
/*
 * Disk, memory, numbers of processes and files, debugging rights.
 */
#include "sandbox/host.h"
#include "sandbox/spec.h"
#include "sandbox/survey.h"

#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#define MIB            (1024ULL * 1024)
#define DISK_FEW_MIB   1024
#define MEMORY_FEW_MIB 256
#define PIDS_FEW       8192
#define FILES_FEW      1024

static const char *name_file_system(const struct statfs *st)
{
    static const struct {
        long type;
        const char *name;
    } known[] = {{EXT4_SUPER_MAGIC, "ext4"},
                 {BTRFS_SUPER_MAGIC, "btrfs"},
                 {TMPFS_MAGIC, "tmpfs"},
                 {0x58465342, "xfs"},
                 {OVERLAYFS_SUPER_MAGIC, "overlay"},
                 {F2FS_SUPER_MAGIC, "f2fs"},
                 {0x2fc12fc1, "zfs"},
                 {NFS_SUPER_MAGIC, "nfs"}};
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (st->f_type == known[i].type)
            return known[i].name;
    return "another file system";
}

void survey_store(struct survey *s)
{
    struct sandbox_spec spec = {0};
    struct sandbox_error e;
    struct statfs st;
    if (sandbox_spec_choose_store(&spec, &e) < 0) {
        survey_lacks_by_error(survey_find(s, "files without a name", "nowhere"), SURVEY_MISSING,
                              &e);
        return;
    }
    if (statfs(spec.store, &st) == 0) {
        uint64_t mib = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize / MIB;
        survey_find(s, "files without a name", "in %s (%s)", spec.store, name_file_system(&st));
        struct survey_finding *f =
            survey_find(s, "disk space for sandboxes", "%" PRIu64 " MiB in %s", mib, spec.store);
        if (mib < DISK_FEW_MIB)
            survey_lacks(f, SURVEY_DEGRADED, "programs that write much get ENOSPC",
                         "free some, or set TMPDIR to a directory on a larger disk");
    }
    sandbox_spec_done(&spec);
}

/* A number of KiB in /proc/meminfo, or 0. */
static uint64_t read_memory(const char *name)
{
    char line[128];
    uint64_t value = 0;
    size_t size = strlen(name);
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, name, size) && line[size] == ':')
            value = strtoull(line + size + 1, NULL, 10);
    if (f)
        fclose(f);
    return value;
}

static void survey_memory(struct survey *s)
{
    uint64_t total = read_memory("MemTotal") / 1024, free = read_memory("MemAvailable") / 1024;
    struct survey_finding *f =
        survey_find(s, "memory", "%" PRIu64 " MiB, of which %" PRIu64 " MiB are free", total, free);
    if (free < MEMORY_FEW_MIB)
        survey_lacks(f, SURVEY_DEGRADED, "programs may be killed for want of memory",
                     "end other programs");
}

static void survey_numbers(struct survey *s)
{
    struct rlimit limit;
    long pids = sandbox_read_setting("/proc/sys/kernel/pid_max");
    struct survey_finding *f = survey_find(s, "kernel.pid_max", "%ld", pids);
    if (pids >= 0 && pids < PIDS_FEW)
        survey_lacks(f, SURVEY_DEGRADED, "few processes fit on this machine",
                     "as root, run: sysctl -w kernel.pid_max=4194304");
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        f = survey_find(s, "open files (ulimit -n)", "%llu", (unsigned long long)limit.rlim_max);
        if (limit.rlim_max < FILES_FEW)
            survey_lacks(f, SURVEY_DEGRADED, "programs with many files get ENFILE",
                         "raise it: ulimit -Hn 65536, or in /etc/security/limits.conf");
    }
    if (getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_max != RLIM_INFINITY) {
        f = survey_find(s, "processor time (ulimit -t)", "%llu s",
                        (unsigned long long)limit.rlim_max);
        survey_lacks(f, SURVEY_DEGRADED,
                     "a sandbox's kernel, or a program, that has used as much is killed",
                     "raise it: ulimit -Ht unlimited, or in /etc/security/limits.conf");
    }
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_max != RLIM_INFINITY) {
        f = survey_find(s, "size of a file (ulimit -f)", "%llu bytes",
                        (unsigned long long)limit.rlim_max);
        survey_lacks(f, SURVEY_DEGRADED, "no file in a sandbox, and no record, may be larger",
                     "raise it: ulimit -Hf unlimited, or in /etc/security/limits.conf");
    }
    if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        f = survey_find(s, "processes (ulimit -u)", "%llu", (unsigned long long)limit.rlim_cur);
        if (limit.rlim_cur < FILES_FEW)
            survey_lacks(f, SURVEY_DEGRADED, "programs of all sandboxes together count against it",
                         "raise it: ulimit -u 65536, or in /etc/security/limits.conf");
    }
}

/* The kernel process is an ancestor of the programs whose memory it reads: 1 does not hinder it. */
static void survey_yama(struct survey *s)
{
    long scope = sandbox_read_setting("/proc/sys/kernel/yama/ptrace_scope");
    if (scope < 0)
        survey_find(s, "kernel.yama.ptrace_scope", "not there");
    else if (scope < 2)
        survey_find(s, "kernel.yama.ptrace_scope", "%ld", scope);
    else
        survey_lacks(survey_find(s, "kernel.yama.ptrace_scope", "%ld", scope), SURVEY_MISSING,
                     "a sandbox's kernel may not read its programs' memory",
                     "as root, run: sysctl -w kernel.yama.ptrace_scope=1");
}

void survey_resources(struct survey *s)
{
    survey_memory(s);
    survey_numbers(s);
    survey_yama(s);
}
