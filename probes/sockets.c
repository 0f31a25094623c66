// SPDX-License-Identifier: Apache-2.0
/*
 * Families and options of sockets that the host would have, messages that lie, descriptors in
 * messages, the host's Unix sockets.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <linux/filter.h>
#include <linux/if_alg.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

static bool is_ours(int family)
{
    return family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
}

PROBE(make_sockets_of_every_family, SOCKETS,
      .expected = "EAFNOSUPPORT but for Unix, IP and netlink")
{
    for (int family = 0; family < 256; family++)
        for (int type = 0; type < 12; type++)
            for (int protocol = 0; protocol < 20 && !is_ours(family); protocol++)
                REFUSED(socket(family, type, protocol), EAFNOSUPPORT, EINVAL, EPERM,
                        EPROTONOSUPPORT);
}

#define FAMILY(name_, family_, type_, protocol_, after_)                                 \
    PROBE(name_, SOCKETS, .expected = "EAFNOSUPPORT or EPERM, and no module is loaded",  \
          .after = after_)                                                               \
    {                                                                                    \
        REFUSED(socket(family_, type_, protocol_), EAFNOSUPPORT, EPERM, EPROTONOSUPPORT, \
                ESOCKTNOSUPPORT);                                                        \
    }

FAMILY(listen_to_packets, AF_PACKET, SOCK_RAW, 0x300,
       "CVE-2016-8655, CVE-2017-7308, CVE-2020-14386")
FAMILY(use_the_hosts_ciphers, AF_ALG, SOCK_SEQPACKET, 0, "CVE-2017-13215 and kin of AF_ALG")
FAMILY(talk_to_the_hypervisor, AF_VSOCK, SOCK_STREAM, 0, "CVE-2021-26708")
FAMILY(use_the_can_bus, AF_CAN, SOCK_RAW, 1, "CVE-2021-34866, CVE-2021-32606")
FAMILY(use_tipc, AF_TIPC, SOCK_STREAM, 0, "CVE-2021-43267")
FAMILY(use_rds, AF_RDS, SOCK_SEQPACKET, 0, "CVE-2010-3904, CVE-2018-5333")
FAMILY(use_bluetooth, AF_BLUETOOTH, SOCK_RAW, 1, "CVE-2021-3573")
FAMILY(use_nfc, AF_NFC, SOCK_SEQPACKET, 0, "CVE-2020-25670")
FAMILY(use_express_data_paths, AF_XDP, SOCK_RAW, 0, NULL)
FAMILY(use_smc, AF_SMC, SOCK_STREAM, 0, NULL)
FAMILY(send_raw_packets, AF_INET, SOCK_RAW, 255, "CVE-2017-17712")
FAMILY(send_raw_packets_of_version_6, AF_INET6, SOCK_RAW, 58, NULL)
FAMILY(use_sctp, AF_INET, SOCK_STREAM, 132, "CVE-2021-23133")
FAMILY(use_dccp, AF_INET, SOCK_DCCP, IPPROTO_DCCP, "CVE-2017-6074")
FAMILY(use_multipath_tcp, AF_INET, SOCK_STREAM, IPPROTO_MPTCP, NULL)
FAMILY(use_l2tp, AF_INET, SOCK_DGRAM, 115, "CVE-2022-4129")
FAMILY(configure_the_packet_filter, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER,
       "CVE-2022-32250, CVE-2023-32233, CVE-2024-1086")
FAMILY(configure_ipsec, AF_NETLINK, SOCK_RAW, NETLINK_XFRM, "CVE-2017-7184")
FAMILY(use_generic_netlink, AF_NETLINK, SOCK_RAW, NETLINK_GENERIC, NULL)
FAMILY(read_the_audit_log, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT, NULL)
FAMILY(diagnose_sockets_of_the_host, AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG, "CVE-2017-7558")
FAMILY(configure_ciphers, AF_NETLINK, SOCK_RAW, NETLINK_CRYPTO, NULL)
FAMILY(talk_iscsi, AF_NETLINK, SOCK_RAW, NETLINK_ISCSI, "CVE-2021-27365")

/* ---- the host's sockets ---- */

static void check_connect(int family, int type, const void *address, socklen_t size,
                          const char *what)
{
    int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, address, size) == 0 || errno == EINPROGRESS)
        probe_escaped("%s is reached", what);
    close(fd);
}

PROBE(connect_to_the_hosts_socket_by_path, SOCKETS, .expected = "ENOENT",
      .after = "/run/docker.sock", .outside = OUTSIDE_ESCAPES)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    const char *const paths[] = {canary_path("socket"),
                                 "/run/docker.sock",
                                 "/var/run/docker.sock",
                                 "/run/containerd/containerd.sock",
                                 "/run/dbus/system_bus_socket",
                                 "/run/systemd/private",
                                 "/run/udev/control",
                                 "/tmp/.X11-unix/X0",
                                 "/dev/log"};
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
            snprintf(a.sun_path, sizeof(a.sun_path), "%s", paths[i]);
            check_connect(AF_UNIX, types[t], &a, sizeof(a), paths[i]);
        }
}

PROBE(connect_to_the_hosts_abstract_socket, SOCKETS,
      .expected = "ECONNREFUSED: abstract names are the sandbox's", .after = "CVE-2020-15257",
      .outside = OUTSIDE_ESCAPES)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const char *const names[] = {canary_fact("ABSTRACT"), "/tmp/.X11-unix/X0",
                                 "/containerd-shim/x.sock@"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t size = strlen(names[i]);
        memset(a.sun_path, 0, sizeof(a.sun_path));
        memcpy(a.sun_path + 1, names[i], size);
        check_connect(AF_UNIX, SOCK_STREAM, &a,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size), names[i]);
        check_connect(AF_UNIX, SOCK_STREAM, &a, sizeof(a), names[i]);
    }
}

/* ---- netlink ---- */

static int netlink(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd < 0)
        probe_contained("there is no netlink: %s", strerror(errno));
    return fd;
}

/* The error in the answer to a request, 0 for success, or what the call itself said. */
static int request(int fd, uint16_t type, uint16_t flags)
{
    struct {
        struct nlmsghdr header;
        char body[64];
    } m = {.header = {sizeof(m), type, (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags), 1, 0}};
    char answer[8192];
    if (send(fd, &m, sizeof(m), 0) < 0)
        return errno;
    ssize_t n = recv(fd, answer, sizeof(answer), 0);
    const struct nlmsghdr *h = (const void *)answer;
    if (n < (ssize_t)(sizeof(*h) + sizeof(int)) || h->nlmsg_type != NLMSG_ERROR)
        return n < 0 ? errno : ENODATA;
    return -((const struct nlmsgerr *)NLMSG_DATA(h))->error;
}

PROBE(change_interfaces_and_routes, SOCKETS,
      .expected = "EPERM or EOPNOTSUPP from every request that would", .after = "CVE-2022-25636")
{
    static const uint16_t types[] = {RTM_NEWLINK,   RTM_DELLINK,  RTM_SETLINK,   RTM_NEWADDR,
                                     RTM_DELADDR,   RTM_NEWROUTE, RTM_DELROUTE,  RTM_NEWNEIGH,
                                     RTM_NEWRULE,   RTM_NEWQDISC, RTM_NEWTCLASS, RTM_NEWTFILTER,
                                     RTM_NEWACTION, RTM_NEWNSID};
    int fd = netlink();
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (request(fd, types[i], NLM_F_CREATE) == 0)
            probe_escaped("request %u was granted", types[i]);
    probe_check_kernel();
}

PROBE(send_netlink_rubbish, SOCKETS, .expected = "an error, or nothing")
{
    uint32_t state = 5;
    char data[512];
    int fd = netlink();
    for (int i = 0; i < 3000; i++) {
        size_t size = probe_random(&state) % sizeof(data);
        for (size_t n = 0; n < size; n++)
            data[n] = (char)probe_random(&state);
        struct nlmsghdr *h = (void *)data;
        h->nlmsg_type = (uint16_t)(probe_random(&state) % 120);
        if (i % 3)
            h->nlmsg_len = (uint32_t)size;
        if (i % 5)
            h->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_DUMP);
        send(fd, data, size, MSG_DONTWAIT);
        while (recv(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
            ;
    }
    probe_check_kernel();
}

PROBE(forge_events_of_devices, SOCKETS, .expected = "none is heard, and none is told",
      .after = "CVE-2010-1435 of udev")
{
    static const char event[] = "add@/devices/hostile\0ACTION=add\0DEVPATH=/devices/hostile";
    struct sockaddr_nl all = {.nl_family = AF_NETLINK, .nl_groups = 3};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
    int other = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
    char data[64];
    if (fd < 0)
        probe_contained("%s", strerror(errno));
    bind(other, (void *)&all, sizeof(all));
    sendto(fd, event, sizeof(event), 0, (void *)&all, sizeof(all));
    if (recv(other, data, sizeof(data), 0) >= 0 && !probe_is_root())
        probe_escaped("an event of an ordinary user is told");
}

/* ---- options ---- */

PROBE(attach_filters_to_sockets, SOCKETS, .expected = "ENOPROTOOPT: no BPF reaches the host",
      .outside = OUTSIDE_MAYBE)
{
    struct sock_filter accept_all = {BPF_RET | BPF_K, 0, 0, 0xffff};
    struct sock_fprog program = {1, &accept_all};
    int fd = socket(AF_INET, SOCK_DGRAM, 0), number = 3;
    REFUSED(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)), ENOPROTOOPT,
            EPERM);
    REFUSED(setsockopt(fd, SOL_SOCKET, SO_ATTACH_BPF, &number, sizeof(number)), ENOPROTOOPT, EPERM);
    REFUSED(setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)),
            ENOPROTOOPT, EPERM);
}

PROBE(set_options_of_the_packet_filter, SOCKETS, .expected = "ENOPROTOOPT or EPERM",
      .after = "CVE-2016-3134, CVE-2021-22555")
{
    char data[256] = "filter";
    socklen_t size = sizeof(data);
    int four = socket(AF_INET, SOCK_STREAM, 0), six = socket(AF_INET6, SOCK_STREAM, 0);
    for (int option = 64; option < 72; option++) {
        REFUSED(setsockopt(four, IPPROTO_IP, option, data, sizeof(data)), ENOPROTOOPT, EPERM,
                EINVAL);
        REFUSED(getsockopt(four, IPPROTO_IP, option, data, &size), ENOPROTOOPT, EPERM, EINVAL);
    }
    for (int option = 64; option < 66; option++)
        REFUSED(setsockopt(six, IPPROTO_IPV6, option, data, sizeof(data)), ENOPROTOOPT, EPERM,
                EINVAL);
    REFUSED(setsockopt(four, IPPROTO_IP, 17 /* IP_XFRM_POLICY */, data, sizeof(data)), ENOPROTOOPT,
            EPERM, EINVAL);
}

PROBE(hand_a_connection_to_the_kernel, SOCKETS,
      .expected = "ENOPROTOOPT, EPERM, EINVAL or ENOTCONN", .after = "CVE-2023-0461: TCP_ULP")
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    REFUSED(setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 3), ENOPROTOOPT, EPERM, EINVAL, ENOTCONN,
            ENOENT);
    REFUSED(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &one, sizeof(one)), ENOPROTOOPT, EPERM);
    REFUSED(setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &one, sizeof(one)), ENOPROTOOPT, EPERM, EINVAL);
}

PROBE(set_every_option_to_rubbish, SOCKETS, .expected = "an error, or a value that is kept")
{
    static const int families[][2] = {{AF_UNIX, SOCK_STREAM},
                                      {AF_INET, SOCK_STREAM},
                                      {AF_INET6, SOCK_DGRAM},
                                      {AF_NETLINK, SOCK_RAW}};
    static const int levels[] = {SOL_SOCKET,   IPPROTO_IP,  IPPROTO_TCP, IPPROTO_UDP,
                                 IPPROTO_IPV6, SOL_NETLINK, SOL_ALG,     0x7fffffff};
    static const socklen_t sizes[] = {0, 1, 4, 8, 16, 255, 4096, 0x7fffffff, 0xffffffff};
    static char data[8192];
    for (size_t f = 0; f < ARRAY_SIZE(families); f++) {
        int fd = socket(families[f][0], families[f][1], 0);
        for (size_t l = 0; l < ARRAY_SIZE(levels); l++)
            for (int option = 0; option < 90; option++) {
                socklen_t size = sizes[option % (int)ARRAY_SIZE(sizes)];
                memset(data, option % 3 ? 0xff : 1, 64);
                setsockopt(fd, levels[l], option, data, size);
                getsockopt(fd, levels[l], option, data, &size);
            }
        close(fd);
    }
    probe_check_kernel();
}

/* ---- addresses and messages that lie ---- */

PROBE(give_addresses_of_bad_sizes, SOCKETS, .expected = "EINVAL and kin; nothing beyond is read")
{
    static const socklen_t sizes[] = {0, 1, 2, 3, 7, 129, 4096, 0x7fffffff, 0x80000000, 0xffffffff};
    struct sockaddr_storage a = {.ss_family = AF_UNIX};
    static const int families[] = {AF_UNIX, AF_INET, AF_INET6};
    memset((char *)&a + 2, 'x', sizeof(a) - 2);
    for (size_t f = 0; f < ARRAY_SIZE(families); f++)
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
            int fd = socket(families[f], SOCK_STREAM, 0);
            a.ss_family = (sa_family_t)(i % 2 ? families[f] : AF_APPLETALK);
            if (sizes[i] > 128)
                REFUSED(syscall(SYS_bind, fd, &a, sizes[i]), EINVAL);
            else
                syscall(SYS_bind, fd, &a, sizes[i]);
            FAILS(syscall(SYS_connect, fd, &a, sizes[i]));
            syscall(SYS_sendto, fd, "x", 1L, MSG_NOSIGNAL, &a, sizes[i]);
            close(fd);
        }
    probe_check_kernel();
}

static union {
    struct cmsghdr header;
    char space[CMSG_SPACE(300 * sizeof(int))];
} control;

static ssize_t send_control(int over, size_t cmsg_len, size_t control_len)
{
    char c = 'x';
    struct iovec v = {&c, 1};
    control.header.cmsg_len = cmsg_len;
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = control_len};
    return sendmsg(over, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

PROBE(send_control_data_of_bad_sizes, SOCKETS, .expected = "EINVAL, ENOBUFS or EBADF")
{
    static const size_t sizes[] = {0,       1,        15,           17,        19,
                                   1 << 20, SIZE_MAX, SIZE_MAX - 7, 1UL << 32, INT64_MAX};
    int two[2];
    NEED(socketpair(AF_UNIX, SOCK_DGRAM, 0, two) == 0);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        if (sizes[i] >= 16 && sizes[i] < 20)
            send_control(two[0], sizes[i], sizeof(control));
        else
            REFUSED(send_control(two[0], sizes[i], sizeof(control)), EINVAL, ENOBUFS);
        send_control(two[0], CMSG_LEN(4), MIN(sizes[i], sizeof(control)));
    }
    /* More descriptors than a message may have. */
    REFUSED(send_control(two[0], CMSG_LEN(254 * sizeof(int)), CMSG_SPACE(254 * sizeof(int))),
            EINVAL, ETOOMANYREFS);
    probe_check_kernel();
}

static bool send_descriptor(int over, int fd)
{
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    return send_control(over, CMSG_LEN(sizeof(int)), CMSG_SPACE(sizeof(int))) == 1;
}

PROBE(send_descriptors_in_circles, SOCKETS, .expected = "what nobody can reach is freed",
      .after = "CVE-2021-4083, CVE-2022-2602")
{
    for (int i = 0; i < 1500; i++) {
        int a[2], b[2];
        NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0 &&
             socketpair(AF_UNIX, SOCK_DGRAM, 0, b) == 0);
        send_descriptor(a[0], a[0]);
        send_descriptor(a[0], a[1]);
        send_descriptor(a[0], b[0]);
        send_descriptor(b[0], a[1]);
        send_descriptor(b[1], b[0]);
        for (int n = 0; n < 2; n++) {
            close(a[n]);
            close(b[n]);
        }
    }
    probe_check_kernel();
}

PROBE(send_descriptors_inside_descriptors, SOCKETS,
      .expected = "ETOOMANYREFS at some depth; closing it all is no recursion")
{
    int last[2];
    NEED(socketpair(AF_UNIX, SOCK_DGRAM, 0, last) == 0);
    for (int i = 0; i < 20000; i++) {
        int two[2];
        NEED(socketpair(AF_UNIX, SOCK_DGRAM, 0, two) == 0);
        bool sent = send_descriptor(two[0], last[0]);
        close(last[0]);
        close(last[1]);
        last[0] = two[0];
        last[1] = two[1];
        if (!sent)
            break;
    }
    close(last[0]);
    close(last[1]);
    probe_check_kernel();
}

PROBE(forge_credentials_in_a_message, SOCKETS, .expected = "EPERM")
{
    int two[2], one = 1;
    probe_become_user();
    NEED(socketpair(AF_UNIX, SOCK_DGRAM, 0, two) == 0 &&
         setsockopt(two[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) == 0);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_CREDENTIALS;
    const struct ucred lies[] = {
        {1, getuid(), getgid()}, {getpid(), 0, getgid()}, {getpid(), getuid(), 0}};
    for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
        memcpy(CMSG_DATA(&control.header), &lies[i], sizeof(lies[i]));
        REFUSED(
            send_control(two[0], CMSG_LEN(sizeof(struct ucred)), CMSG_SPACE(sizeof(struct ucred))),
            EPERM, ESRCH);
    }
}
