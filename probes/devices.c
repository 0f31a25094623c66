// SPDX-License-Identifier: Apache-2.0
/*
 * Devices, terminals, and ioctl on everything that can be opened.
 */
#include "probes/support.h"

#include <dirent.h>
#include <limits.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/kd.h>
#include <linux/tiocl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <termios.h>

PROBE(open_devices_of_the_host, DEVICES, .expected = "there is no such device",
      .outside = OUTSIDE_MAYBE)
{
    static const char *const names[] = {"/dev/mem",
                                        "/dev/kmem",
                                        "/dev/port",
                                        "/dev/kmsg",
                                        "/dev/sda",
                                        "/dev/vda",
                                        "/dev/nvme0n1",
                                        "/dev/loop0",
                                        "/dev/loop-control",
                                        "/dev/mapper/control",
                                        "/dev/kvm",
                                        "/dev/fuse",
                                        "/dev/vhost-vsock",
                                        "/dev/dri/card0",
                                        "/dev/dri/renderD128",
                                        "/dev/snd/control",
                                        "/dev/input/event0",
                                        "/dev/uinput",
                                        "/dev/rtc0",
                                        "/dev/hpet",
                                        "/dev/watchdog",
                                        "/dev/btrfs-control",
                                        "/dev/bus/usb",
                                        "/dev/hwrng",
                                        "/dev/sgx_enclave",
                                        "/dev/userfaultfd",
                                        "/dev/cpu/0/msr",
                                        "/dev/nvidia0",
                                        "/dev/tty0",
                                        "/dev/tty1",
                                        "/dev/ttyS0",
                                        "/dev/vcs",
                                        "/dev/binder",
                                        "/dev/ashmem",
                                        "/dev/ion",
                                        "/dev/cuse",
                                        "/dev/udmabuf",
                                        "/dev/autofs",
                                        "/dev/rfkill",
                                        "/dev/mqueue",
                                        "/dev/hugepages"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        FAILS(open(names[i], O_RDONLY | O_NONBLOCK | O_NOCTTY));
        FAILS(open(names[i], O_PATH));
    }
}

PROBE(make_device_nodes, DEVICES, .expected = "EPERM, or a name that can't be opened",
      .outside = OUTSIDE_NEVER)
{
    static const unsigned numbers[][2] = {
        {1, 1},    {1, 2},    {1, 4},    {1, 11},  {7, 0},   {8, 0},   {9, 0},   {10, 200},
        {10, 229}, {10, 232}, {10, 237}, {4, 0},   {4, 64},  {5, 1},   {7, 1},   {13, 64},
        {108, 0},  {116, 1},  {202, 0},  {226, 0}, {252, 0}, {253, 0}, {254, 0}, {259, 0}};
    static const mode_t kinds[] = {S_IFBLK, S_IFCHR};
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
            unlink("node");
            if (mknod("node", kinds[k] | 0666, makedev(numbers[i][0], numbers[i][1])) < 0)
                continue;
            if (!probe_is_root())
                probe_escaped("an ordinary user made %u:%u", numbers[i][0], numbers[i][1]);
            FAILS(open("node", O_RDONLY | O_NONBLOCK | O_NOCTTY));
            FAILS(open("node", O_RDWR | O_NONBLOCK | O_NOCTTY));
            FAILS(truncate("node", 0));
        }
}

PROBE(replace_devices_by_files, DEVICES, .expected = "only the sandbox's own /dev changes")
{
    char c = 'x';
    if (!probe_is_root()) {
        REFUSED(unlink("/dev/null"), EACCES, EPERM, EBUSY);
        REFUSED(rename("/dev/zero", "/dev/null"), EACCES, EPERM, EBUSY);
        REFUSED(open("/dev/new", O_CREAT | O_WRONLY, 0600), EACCES, EPERM);
    }
    int zero = open("/dev/zero", O_RDONLY);
    NEED(zero >= 0 && read(zero, &c, 1) == 1 && c == 0);
}

/* ---- terminals ---- */

/* A pair of terminals: the master, and *ret_slave. */
static int open_pair(int *ret_slave)
{
    char name[64];
    int number, unlocked = 0, master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
    NEED(master >= 0 && ioctl(master, TIOCSPTLCK, &unlocked) == 0 &&
         ioctl(master, TIOCGPTN, &number) == 0);
    snprintf(name, sizeof(name), "/dev/pts/%d", number);
    *ret_slave = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK);
    NEED(*ret_slave >= 0);
    return master;
}

PROBE(type_into_a_terminal, DEVICES,
      .expected = "EPERM, EIO or ENOTTY: nobody types in another's name",
      .after = "TIOCSTI, CVE-2017-5226")
{
    int slave, master = open_pair(&slave), tty = open("/dev/tty", O_RDWR | O_NOCTTY);
    const int fds[] = {0, 1, 2, slave, master, tty};
    char c = 'x';
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        FAILS(ioctl(fds[i], TIOCSTI, &c));
}

PROBE(paste_into_a_console, DEVICES, .expected = "ENOTTY, EINVAL or EPERM",
      .after = "CVE-2023-1523: TIOCLINUX", .outside = OUTSIDE_NEVER)
{
    int slave, master = open_pair(&slave);
    const int fds[] = {0, 1, 2, slave, master};
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        for (char command = 0; command < 16; command++) {
            char data[16] = {command};
            FAILS(ioctl(fds[i], TIOCLINUX, data));
        }
}

PROBE(change_the_line_discipline, DEVICES, .expected = "an error, or N_TTY which it is already",
      .after = "CVE-2023-6546 of n_gsm, CVE-2017-2636 of n_hdlc")
{
    int slave, master = open_pair(&slave);
    for (int discipline = 1; discipline < 32; discipline++) {
        FAILS(ioctl(slave, TIOCSETD, &discipline));
        FAILS(ioctl(master, TIOCSETD, &discipline));
    }
}

PROBE(take_over_a_console, DEVICES, .expected = "an error", .after = "TIOCCONS")
{
    int slave, master = open_pair(&slave);
    FAILS(ioctl(slave, TIOCCONS));
    FAILS(ioctl(master, TIOCCONS));
    FAILS(ioctl(slave, KDSETMODE, KD_GRAPHICS));
    FAILS(ioctl(slave, KDSKBENT, NULL));
    FAILS(ioctl(slave, TIOCVHANGUP));
    FAILS(open("/dev/console", O_WRONLY | O_NOCTTY));
}

PROBE(find_the_callers_terminal, DEVICES,
      .expected = "ENXIO: the terminal is the sandbox's own, or there is none")
{
    char target[PATH_MAX];
    int tty = open("/dev/tty", O_RDWR | O_NOCTTY);
    if (tty < 0) {
        NEED(errno == ENXIO || errno == ENOENT);
        return;
    }
    for (int fd = 0; fd < 3; fd++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        if (!strncmp(target, "/dev/tty", 8) && target[8])
            probe_escaped("%d is %.60s", fd, target);
    }
}

PROBE(steal_a_controlling_terminal, DEVICES, .expected = "EPERM: it belongs to another session")
{
    int slave, master = open_pair(&slave);
    NEED(master >= 0);
    pid_t owner = probe_fork();
    int two[2];
    char c;
    if (owner == 0) {
        setsid();
        ioctl(slave, TIOCSCTTY, 0);
        pause();
    }
    NEED(pipe(two) == 0);
    usleep(20000);
    pid_t thief = probe_fork();
    if (thief == 0) {
        setsid();
        close(two[0]);
        c = ioctl(slave, TIOCSCTTY, 0) == 0;
        write(two[1], &c, 1);
        _exit(0);
    }
    close(two[1]);
    NEED(read(two[0], &c, 1) == 1);
    if (c)
        probe_escaped("the terminal changed hands");
    REFUSED(ioctl(slave, TIOCSPGRP, &(pid_t){1}), ENOTTY, EPERM, ESRCH, EINVAL);
}

/* ---- ioctl on everything ---- */

static int everything[16];

static size_t open_everything(void)
{
    int two[2], slave;
    size_t n = 0;
    sigset_t set;
    sigemptyset(&set);
    NEED(pipe2(two, O_NONBLOCK) == 0);
    everything[n++] = two[0];
    everything[n++] = open("file", O_RDWR | O_CREAT, 0600);
    everything[n++] = open("/", O_RDONLY | O_DIRECTORY);
    everything[n++] = open("/dev/null", O_RDWR);
    everything[n++] = open("/dev/urandom", O_RDONLY);
    everything[n++] = open("/proc/self/status", O_RDONLY);
    everything[n++] = open(probe_self(), O_RDONLY);
    everything[n++] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    everything[n++] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    everything[n++] = epoll_create1(0);
    everything[n++] = eventfd(0, EFD_NONBLOCK);
    everything[n++] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    everything[n++] = signalfd(-1, &set, SFD_NONBLOCK);
    everything[n++] = inotify_init1(IN_NONBLOCK);
    everything[n++] = memfd_create("memory", 0);
    everything[n++] = open_pair(&slave);
    return n;
}

PROBE(ask_file_systems_by_ioctl, DEVICES, .expected = "ENOTTY, EPERM and kin from each request",
      .after = "CVE-2022-0185 and holes of file systems' own ioctls")
{
    static const unsigned long requests[] = {FIFREEZE,
                                             FITHAW,
                                             FITRIM,
                                             FIBMAP,
                                             FS_IOC_FIEMAP,
                                             BLKROSET,
                                             BLKDISCARD,
                                             BLKRRPART,
                                             BLKGETSIZE64,
                                             0x4c82 /* LOOP_CTL_GET_FREE */,
                                             0x4c00 /* LOOP_SET_FD */,
                                             0xae01 /* KVM_CREATE_VM */,
                                             0x400454ca /* TUNSETIFF */,
                                             0xc0c8fd00 /* DM_VERSION */,
                                             0x5000940f /* BTRFS_IOC_SNAP_CREATE */,
                                             0x40046607 /* EXT4_IOC_SHUTDOWN */,
                                             0x800c0910 /* RAID_VERSION */,
                                             0x5331 /* CDROM */,
                                             0x2285 /* SG_IO */,
                                             0x5382 /* SCSI_IOCTL_GET_IDLUN */,
                                             0x540e /* TIOCSCTTY */,
                                             0x4b3a /* KDSETMODE */,
                                             0x5606 /* VT_ACTIVATE */,
                                             0x40049409 /* FICLONE */};
    static char data[4096];
    size_t count = open_everything();
    for (size_t i = 0; i < count; i++)
        for (size_t r = 0; r < ARRAY_SIZE(requests); r++) {
            memset(data, 0, sizeof(data));
            FAILS(ioctl(everything[i], requests[r], data));
        }
}

PROBE(set_immutable_flags, DEVICES, .expected = "ENOTTY or EOPNOTSUPP")
{
    int fd = open("file", O_RDWR | O_CREAT, 0600), flags = FS_IMMUTABLE_FL;
    NEED(fd >= 0);
    FAILS(ioctl(fd, FS_IOC_SETFLAGS, &flags));
    FAILS(ioctl(fd, FS_IOC_FSSETXATTR, &(struct fsxattr){0}));
}

PROBE(ask_everything_at_random, DEVICES,
      .expected = "an error, or what is harmless; the kernel lives")
{
    static char data[65536];
    uint32_t state = 8;
    size_t count = open_everything();
    signal(SIGHUP, SIG_IGN);
    for (int i = 0; i < 12000; i++) {
        unsigned long request = probe_random(&state);
        switch (i % 4) {
        case 0:
            request = 0x5400 + request % 256;
            break;
        case 1:
            request = 0x8900 + request % 256;
            break;
        case 2:
            request = (request & 0xff) | 'T' << 8 | (request & 0x3fff) << 16 | (request & 3) << 30;
            break;
        default:
            request |= (unsigned long)probe_random(&state) << 24;
        }
        void *argument =
            i % 5 ? data + probe_random(&state) % 60000 : (void *)(uintptr_t)probe_random(&state);
        ioctl(everything[probe_random(&state) % count], request, argument);
    }
    probe_check_kernel();
}

PROBE(ask_through_bad_memory, DEVICES, .expected = "EFAULT, or an error that comes first")
{
    static const uint64_t places[] = {0, 8, 0xffff888000000000, 0xffffffff81000000, UINT64_MAX - 3};
    size_t count = open_everything();
    for (size_t i = 0; i < count; i++)
        for (unsigned long request = 0x5401; request < 0x5470; request++)
            for (size_t p = 0; p < ARRAY_SIZE(places); p++)
                ioctl(everything[i], request, (void *)places[p]);
    probe_check_kernel();
}

PROBE(write_to_all_of_sys, DEVICES,
      .expected = "EROFS or EACCES: nothing below /sys can be written")
{
    static const char *const folders[] = {"/sys",           "/sys/kernel",
                                          "/sys/class",     "/sys/devices",
                                          "/sys/fs/cgroup", "/sys/devices/system/cpu",
                                          "/sys/kernel/mm"};
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        char path[PATH_MAX];
        DIR *dir = opendir(folders[i]);
        const struct dirent *e;
        while (dir && (e = readdir(dir))) {
            snprintf(path, sizeof(path), "%s/%s", folders[i], e->d_name);
            FAILS(open(path, O_WRONLY));
        }
        if (dir)
            closedir(dir);
        snprintf(path, sizeof(path), "%s/new", folders[i]);
        FAILS(mkdir(path, 0700));
    }
}
