// SPDX-License-Identifier: Apache-2.0
/*
 * Parts of the host's kernel that no program in a sandbox needs, and in which its holes have been.
 */
#include "probes/support.h"

#include <linux/aio_abi.h>
#include <linux/bpf.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <time.h>

PROBE(add_a_key, INTERFACES, .expected = "ENOSYS", .after = "CVE-2016-0728, CVE-2022-1882",
      .outside = OUTSIDE_MAYBE)
{
    REFUSED(syscall(SYS_add_key, "user", "glovebox-probe", "x", 1L, -3L /* process keyring */),
            ENOSYS, EPERM);
    REFUSED(syscall(SYS_request_key, "user", "glovebox-probe", NULL, 0L), ENOSYS, EPERM);
}

PROBE(use_keyrings, INTERFACES, .expected = "ENOSYS from every command", .after = "CVE-2016-0728",
      .outside = OUTSIDE_MAYBE)
{
    for (long command = 0; command < 34; command++)
        REFUSED(syscall(SYS_keyctl, command, -3L, 0L, 0L, 0L), ENOSYS, EPERM);
}

PROBE(load_a_bpf_program, INTERFACES, .expected = "EPERM",
      .after = "CVE-2020-8835, CVE-2021-3490, CVE-2022-23222", .outside = OUTSIDE_MAYBE)
{
    struct bpf_insn code[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
    union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER};
    attr.insn_cnt = ARRAY_SIZE(code);
    attr.insns = (uintptr_t)code;
    attr.license = (uintptr_t) "GPL";
    REFUSED(syscall(SYS_bpf, (long)BPF_PROG_LOAD, &attr, sizeof(attr)), EPERM, ENOSYS);
}

PROBE(make_a_bpf_map, INTERFACES, .expected = "EPERM from every command", .outside = OUTSIDE_MAYBE)
{
    union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY};
    attr.key_size = attr.value_size = 4;
    attr.max_entries = 1;
    for (long command = 0; command < 38; command++)
        REFUSED(syscall(SYS_bpf, command, &attr, sizeof(attr)), EPERM, ENOSYS);
}

PROBE(open_performance_counters, INTERFACES, .expected = "EACCES, EPERM or ENOSYS",
      .after = "CVE-2013-2094", .outside = OUTSIDE_MAYBE)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_TASK_CLOCK};
    attr.exclude_kernel = attr.exclude_hv = 1;
    REFUSED(syscall(SYS_perf_event_open, &attr, 0L, -1L, -1L, 0L), EACCES, EPERM, ENOSYS);
}

PROBE(make_an_io_uring, INTERFACES, .expected = "ENOSYS",
      .after = "CVE-2021-41073, CVE-2022-29582, CVE-2023-2598", .outside = OUTSIDE_MAYBE)
{
    struct io_uring_params params = {0};
    REFUSED(syscall(SYS_io_uring_setup, 4L, &params), ENOSYS, EPERM);
    params = (struct io_uring_params){.flags = IORING_SETUP_SQPOLL};
    REFUSED(syscall(SYS_io_uring_setup, 4L, &params), ENOSYS, EPERM);
    for (int fd = -1; fd < 8; fd++) {
        REFUSED(syscall(SYS_io_uring_enter, fd, 1L, 0L, 0L, NULL, 0L), ENOSYS);
        REFUSED(syscall(SYS_io_uring_register, fd, 0L, NULL, 0L), ENOSYS);
    }
}

PROBE(make_an_asynchronous_context, INTERFACES, .expected = "ENOSYS",
      .after = "CVE-2015-3290 and kin of AIO", .outside = OUTSIDE_MAYBE)
{
    aio_context_t context = 0;
    REFUSED(syscall(SYS_io_setup, 1L, &context), ENOSYS);
    REFUSED(syscall(SYS_io_submit, context, 0L, NULL), ENOSYS);
    REFUSED(syscall(SYS_io_destroy, context), ENOSYS);
}

PROBE(load_a_module, INTERFACES, .expected = "EPERM")
{
    static const char image[4096] = "\177ELF\2\1\1";
    int fd = open(probe_self(), O_RDONLY);
    REFUSED(syscall(SYS_init_module, image, sizeof(image), ""), EPERM, ENOSYS);
    REFUSED(syscall(SYS_finit_module, fd, "", 0L), EPERM, ENOSYS);
    REFUSED(syscall(SYS_delete_module, "fuse", 0L), EPERM, ENOSYS);
    REFUSED(syscall(SYS_create_module, "x", 4096L), ENOSYS);
}

PROBE(start_another_kernel, INTERFACES, .expected = "EPERM")
{
    int fd = open(probe_self(), O_RDONLY);
    REFUSED(syscall(SYS_kexec_load, 0L, 0L, NULL, 0L), EPERM, ENOSYS);
    REFUSED(syscall(SYS_kexec_file_load, fd, fd, 0L, "", 0L), EPERM, ENOSYS);
}

PROBE(restart_the_machine, INTERFACES, .expected = "EPERM")
{
    static const int commands[] = {RB_DISABLE_CAD, RB_ENABLE_CAD, RB_AUTOBOOT, RB_POWER_OFF,
                                   RB_SW_SUSPEND};
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        REFUSED(reboot(commands[i]), EPERM);
}

PROBE(set_the_clock, INTERFACES, .expected = "EPERM")
{
    struct timeval now;
    struct timespec time = {.tv_sec = 1};
    struct timex change = {.modes = ADJ_OFFSET, .offset = 1};
    NEED(gettimeofday(&now, NULL) == 0);
    REFUSED(settimeofday(&now, NULL), EPERM);
    REFUSED(clock_settime(CLOCK_REALTIME, &time), EPERM);
    REFUSED(adjtimex(&change), EPERM);
    REFUSED(syscall(SYS_clock_adjtime, 0L, &change), EPERM);
}

PROBE(use_swap_quotas_and_accounting, INTERFACES, .expected = "EPERM or ENOSYS")
{
    probe_write_file("file", "x", 1, 0600);
    REFUSED(swapon("file", 0), EPERM, ENOSYS);
    REFUSED(swapoff("file"), EPERM, ENOSYS);
    REFUSED(syscall(SYS_acct, "file"), EPERM, ENOSYS);
    REFUSED(syscall(SYS_quotactl, 0x800002L << 8, "/dev/sda1", 0L, NULL), EPERM, ENOSYS);
    REFUSED(syscall(443 /* quotactl_fd */, 0L, 0L, 0L, NULL), EPERM, ENOSYS);
    REFUSED(syscall(SYS_vhangup), EPERM);
}

PROBE(clear_the_kernels_log, INTERFACES, .expected = "EPERM, or an empty log of the sandbox's own")
{
    char data[64];
    static const int commands[] = {5 /* CLEAR */, 6 /* CONSOLE_OFF */, 8 /* CONSOLE_LEVEL */};
    if (!probe_is_root())
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
            REFUSED(klogctl(commands[i], NULL, 7), EPERM, EINVAL);
    if (klogctl(3, data, sizeof(data)) > 0)
        probe_escaped("the log has text");
}

PROBE(watch_a_whole_file_system, INTERFACES, .expected = "ENOSYS: fanotify is not there",
      .outside = OUTSIDE_MAYBE)
{
    REFUSED(syscall(SYS_fanotify_init, 0L, 0L), ENOSYS, EPERM);
    REFUSED(syscall(SYS_fanotify_mark, 0L, 1L, 1L, AT_FDCWD, "/"), ENOSYS, EPERM);
}

PROBE(use_calls_that_linux_forgot, INTERFACES, .expected = "ENOSYS", .outside = OUTSIDE_MAYBE)
{
    static const long numbers[] = {SYS_uselib,           SYS_ustat,         SYS_sysfs,
                                   SYS__sysctl,          SYS_nfsservctl,    SYS_lookup_dcookie,
                                   SYS_remap_file_pages, SYS_getpmsg,       SYS_putpmsg,
                                   SYS_afs_syscall,      SYS_tuxcall,       SYS_security,
                                   SYS_vserver,          SYS_epoll_ctl_old, SYS_epoll_wait_old,
                                   SYS_query_module};
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        REFUSED(syscall(numbers[i], 0L, 0L, 0L, 0L, 0L), ENOSYS);
}

PROBE(use_posix_message_queues, INTERFACES, .expected = "ENOSYS", .after = "CVE-2017-11176",
      .outside = OUTSIDE_MAYBE)
{
    REFUSED(syscall(SYS_mq_open, "glovebox-probe", O_RDONLY, 0L, NULL), ENOSYS);
    REFUSED(syscall(SYS_mq_unlink, "glovebox-probe"), ENOSYS);
    REFUSED(syscall(SYS_mq_notify, 0L, NULL), ENOSYS);
}

PROBE(use_rules_of_the_security_modules, INTERFACES, .expected = "ENOSYS", .outside = OUTSIDE_MAYBE)
{
    uint64_t attr[2] = {1};
    REFUSED(syscall(444 /* landlock_create_ruleset */, NULL, 0L, 1L), ENOSYS);
    REFUSED(syscall(444, attr, sizeof(attr), 0L), ENOSYS);
    REFUSED(syscall(446 /* landlock_restrict_self */, 0L, 0L), ENOSYS);
    REFUSED(syscall(459 /* lsm_get_self_attr */, 0L, NULL, NULL, 0L), ENOSYS);
    REFUSED(syscall(460 /* lsm_set_self_attr */, 0L, NULL, 0L, 0L), ENOSYS);
}

/* ---- futexes with owners, which the host's kernel would keep ---- */

PROBE(lock_a_futex_with_an_owner, INTERFACES, .expected = "ENOSYS",
      .after = "CVE-2014-3153 (towelroot), CVE-2021-3347", .outside = OUTSIDE_ESCAPES)
{
    uint32_t word = 0;
    REFUSED(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0L, NULL, NULL, 0L), ENOSYS);
    REFUSED(syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI, 0L, NULL, NULL, 0L), ENOSYS);
    REFUSED(syscall(SYS_futex, &word, 13L /* LOCK_PI2 */, 0L, NULL, NULL, 0L), ENOSYS);
}

PROBE(requeue_to_a_futex_with_an_owner, INTERFACES, .expected = "ENOSYS",
      .after = "CVE-2014-3153 (towelroot)")
{
    static const long operations[] = {
        FUTEX_FD, FUTEX_UNLOCK_PI, FUTEX_WAIT_REQUEUE_PI, FUTEX_CMP_REQUEUE_PI, 14, 64, 127};
    uint32_t word = 0, other = 0;
    for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
        REFUSED(syscall(SYS_futex, &word, operations[i], 1L, NULL, &other, 0L), ENOSYS);
        REFUSED(syscall(SYS_futex, &word, operations[i] | FUTEX_PRIVATE_FLAG, 1L, NULL, &other, 0L),
                ENOSYS);
        REFUSED(
            syscall(SYS_futex, &word, operations[i] | FUTEX_CLOCK_REALTIME, 1L, NULL, &other, 0L),
            ENOSYS);
    }
    REFUSED(syscall(449 /* futex_waitv */, NULL, 0L, 0L, NULL, 0L), ENOSYS);
}

PROBE(use_global_memory_barriers, INTERFACES,
      .expected = "EINVAL: no interrupt of other processors", .outside = OUTSIDE_MAYBE)
{
    REFUSED(syscall(SYS_membarrier, 1L /* GLOBAL */, 0L, 0L), EINVAL);
    REFUSED(syscall(SYS_membarrier, 2L /* GLOBAL_EXPEDITED */, 0L, 0L), EINVAL);
}

PROBE(splice_pages_between_files, INTERFACES,
      .expected = "bytes are copied: what was spliced doesn't change later",
      .after = "CVE-2022-0847 and vmsplice holes", .outside = OUTSIDE_MAYBE)
{
    char *page = probe_pages(1, PROT_READ | PROT_WRITE), data[8] = "";
    int two[2];
    struct iovec v = {page, PAGE};
    memset(page, 'a', PAGE);
    NEED(pipe(two) == 0 && vmsplice(two[1], &v, 1, SPLICE_F_GIFT) == (ssize_t)PAGE);
    memset(page, 'b', PAGE);
    NEED(read(two[0], data, sizeof(data)) == sizeof(data));
    if (data[0] != 'a')
        probe_escaped("the pipe shares the program's page");
}
