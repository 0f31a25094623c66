// SPDX-License-Identifier: Apache-2.0
#include "tests/sys/sockets.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>

static int tcp_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

TEST(a_socket_tells_what_it_is)
{
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_TYPE), SOCK_DGRAM);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_DOMAIN), AF_INET6);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_PROTOCOL), IPPROTO_UDP);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_ACCEPTCONN), 0);
    open_pair(SOCK_SEQPACKET);
    EXPECT_EQ(get_int(pair[0], SOL_SOCKET, SO_TYPE), SOCK_SEQPACKET);
    EXPECT_EQ(get_int(pair[0], SOL_SOCKET, SO_DOMAIN), AF_UNIX);
}

TEST(flags_are_kept)
{
    static const int names[] = {SO_REUSEADDR, SO_REUSEPORT, SO_KEEPALIVE, SO_BROADCAST,
                                SO_OOBINLINE, SO_DONTROUTE, SO_TIMESTAMP};
    int fd = tcp_socket();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        EXPECT_EQ(get_int(fd, SOL_SOCKET, names[i]), 0);
        set_int(fd, SOL_SOCKET, names[i], 42);
        EXPECT_EQ(get_int(fd, SOL_SOCKET, names[i]), 1);
        set_int(fd, SOL_SOCKET, names[i], 0);
        EXPECT_EQ(get_int(fd, SOL_SOCKET, names[i]), 0);
    }
}

TEST(buffers_are_doubled)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_SNDBUF), 212992);
    set_int(fd, SOL_SOCKET, SO_SNDBUF, 10000);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_SNDBUF), 20000);
    set_int(fd, SOL_SOCKET, SO_RCVBUF, 12345);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_RCVBUF), 24690);
    set_int(fd, SOL_SOCKET, SO_SNDBUF, 0);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_SNDBUF), 4608);
    set_int(fd, SOL_SOCKET, SO_RCVBUF, 1);
    EXPECT_EQ(get_int(fd, SOL_SOCKET, SO_RCVBUF), 2304);
    set_int(fd, SOL_SOCKET, SO_SNDBUF, -1);
    EXPECT_GE(get_int(fd, SOL_SOCKET, SO_SNDBUF), 212992);
}

TEST(forced_buffers_need_privilege)
{
    int fd = tcp_socket(), value = 1 << 20;
    if (getuid() == 0)
        SKIP("root has it");
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &value, sizeof(value)), EPERM);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &value, sizeof(value)), EPERM);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_MARK, &value, sizeof(value)), EPERM);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_DEBUG, &value, sizeof(value)), EACCES);
    value = 7;
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &value, sizeof(value)), EPERM);
}

TEST(timeouts_are_kept)
{
    struct timeval tv = {3, 200000}, back = {0, 0};
    socklen_t size = sizeof(back);
    int fd = tcp_socket();
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &back, &size), 0);
    EXPECT_EQ(size, sizeof(back));
    EXPECT_EQ(back.tv_sec, 3);
    EXPECT_EQ(back.tv_usec, 200000);
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &back, &size), 0);
    EXPECT_EQ(back.tv_sec, 0);
    tv.tv_usec = 1000000;
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), EDOM);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, 8), EINVAL);
}

TEST(linger_is_kept)
{
    struct linger value = {1, 15}, back = {0, 0};
    socklen_t size = sizeof(back);
    int fd = tcp_socket();
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &value, sizeof(value)), 0);
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_LINGER, &back, &size), 0);
    EXPECT_EQ(back.l_onoff, 1);
    EXPECT_EQ(back.l_linger, 15);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_LINGER, &value, 4), EINVAL);
}

TEST(sizes_are_checked)
{
    int value = 1;
    socklen_t size = (socklen_t)-1;
    int fd = tcp_socket();
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, 3), EINVAL);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, size), EINVAL);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, (void *)8, 4), EFAULT);
    EXPECT_ERRNO(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, &size), EINVAL);
    EXPECT_ERRNO(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, (socklen_t *)8), EFAULT);
    size = sizeof(value);
    EXPECT_ERRNO(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, (void *)8, &size), EFAULT);
    EXPECT_ERRNO(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, 1), EINVAL);
}

TEST(a_small_buffer_gets_the_first_bytes)
{
    unsigned char back[4] = {9, 9, 9, 9};
    socklen_t size = 1;
    int fd = tcp_socket();
    set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, back, &size), 0);
    EXPECT_EQ(size, 1);
    EXPECT_EQ(back[0], 1);
    EXPECT_EQ(back[1], 9);
}

TEST(unknown_options_are_enoprotoopt)
{
    int fd = tcp_socket(), value = 1;
    socklen_t size = sizeof(value);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, 9999, &value, sizeof(value)), ENOPROTOOPT);
    EXPECT_ERRNO(getsockopt(fd, SOL_SOCKET, 9999, &value, &size), ENOPROTOOPT);
    EXPECT_ERRNO(getsockopt(fd, IPPROTO_TCP, 9999, &value, &size), ENOPROTOOPT);
    EXPECT_ERRNO(setsockopt(fd, IPPROTO_IP, 9999, &value, sizeof(value)), ENOPROTOOPT);
    EXPECT_ERRNO(setsockopt(fd, 9999, 1, &value, sizeof(value)), ENOPROTOOPT);
    EXPECT_ERRNO(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &value, sizeof(value)), ENOPROTOOPT);
    int unix_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_ERRNO(setsockopt(unix_fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof(value)), EOPNOTSUPP);
    EXPECT_ERRNO(getsockopt(unix_fd, IPPROTO_TCP, TCP_NODELAY, &value, &size), EOPNOTSUPP);
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    EXPECT_ERRNO(setsockopt(udp, IPPROTO_TCP, TCP_NODELAY, &value, sizeof(value)), ENOPROTOOPT);
}

TEST(read_only_options_can_not_be_set)
{
    int fd = tcp_socket(), value = 1;
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_TYPE, &value, sizeof(value)), ENOPROTOOPT);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_ERROR, &value, sizeof(value)), ENOPROTOOPT);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, sizeof(value)), ENOPROTOOPT);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_PEERCRED, &value, sizeof(value)), ENOPROTOOPT);
}

TEST(options_of_tcp)
{
    static const struct {
        int name, initial, good, bad;
    } rows[] = {
        {TCP_KEEPIDLE, 7200, 60, 0}, {TCP_KEEPINTVL, 75, 10, 40000}, {TCP_KEEPCNT, 9, 3, 128},
        {TCP_SYNCNT, 6, 2, 200},     {TCP_USER_TIMEOUT, 0, 500, -1},
    };
    int fd = tcp_socket();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        EXPECT_EQ(get_int(fd, IPPROTO_TCP, rows[i].name), rows[i].initial);
        set_int(fd, IPPROTO_TCP, rows[i].name, rows[i].good);
        EXPECT_EQ(get_int(fd, IPPROTO_TCP, rows[i].name), rows[i].good);
        EXPECT_ERRNO(setsockopt(fd, IPPROTO_TCP, rows[i].name, &rows[i].bad, sizeof(int)), EINVAL);
    }
    EXPECT_EQ(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 0);
    set_int(fd, IPPROTO_TCP, TCP_NODELAY, 7);
    EXPECT_EQ(get_int(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    set_int(fd, IPPROTO_TCP, TCP_CORK, 1);
    EXPECT_EQ(get_int(fd, IPPROTO_TCP, TCP_CORK), 1);
}

TEST(congestion_control_has_a_name)
{
    char name[16] = "";
    socklen_t size = sizeof(name);
    int fd = tcp_socket();
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
    EXPECT_GT(strlen(name), 0);
    EXPECT_EQ(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)), 0);
    EXPECT_ERRNO(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "nonsense", 8), ENOENT);
    EXPECT_EQ(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4), 0);
    size = sizeof(name);
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
    EXPECT_STR(name, "reno");
}

TEST(a_negative_time_to_defer_is_none)
{
    int fd = tcp_socket();
    set_int(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, -1);
    EXPECT_EQ(get_int(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT), 0);
}

TEST(options_of_ip)
{
    unsigned char byte = 32;
    int fd = socket(AF_INET, SOCK_DGRAM, 0), bad = 256;
    EXPECT_EQ(get_int(fd, IPPROTO_IP, IP_TTL), 64);
    set_int(fd, IPPROTO_IP, IP_TTL, 7);
    EXPECT_EQ(get_int(fd, IPPROTO_IP, IP_TTL), 7);
    set_int(fd, IPPROTO_IP, IP_TTL, -1);
    EXPECT_EQ(get_int(fd, IPPROTO_IP, IP_TTL), 64);
    EXPECT_ERRNO(setsockopt(fd, IPPROTO_IP, IP_TTL, &bad, sizeof(bad)), EINVAL);
    EXPECT_EQ(setsockopt(fd, IPPROTO_IP, IP_TOS, &byte, 1), 0);
    EXPECT_EQ(get_int(fd, IPPROTO_IP, IP_TOS), 32);
    socklen_t size = 1;
    byte = 0;
    EXPECT_EQ(getsockopt(fd, IPPROTO_IP, IP_TOS, &byte, &size), 0);
    EXPECT_EQ(byte, 32);
    EXPECT_EQ(get_int(fd, IPPROTO_IP, IP_MULTICAST_TTL), 1);
    EXPECT_EQ(get_int(fd, IPPROTO_IP, IP_MULTICAST_LOOP), 1);
}

TEST(options_of_ipv6)
{
    int fd = socket(AF_INET6, SOCK_DGRAM, 0), bad = 256;
    EXPECT_EQ(get_int(fd, IPPROTO_IPV6, IPV6_V6ONLY), 0);
    set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    EXPECT_EQ(get_int(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
    EXPECT_EQ(get_int(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS), 64);
    set_int(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 9);
    EXPECT_EQ(get_int(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS), 9);
    EXPECT_ERRNO(setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &bad, sizeof(bad)), EINVAL);
    set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    EXPECT_EQ(get_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO), 1);
}

TEST(options_of_another_family)
{
    int value = 1, fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &value, sizeof(value)), EOPNOTSUPP);
    EXPECT_ERRNO(setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &value, sizeof(value)), EOPNOTSUPP);
}

TEST(a_socket_can_be_bound_to_the_interface)
{
    char name[IFNAMSIZ] = "?";
    socklen_t size = sizeof(name);
    int fd = tcp_socket();
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3), 0);
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &size), 0);
    EXPECT_STR(name, "lo");
    EXPECT_EQ(size, 3);
    EXPECT_ERRNO(setsockopt(tcp_socket(), SOL_SOCKET, SO_BINDTODEVICE, "eth77", 6), ENODEV);
}

TEST(the_interface_can_be_asked_about)
{
    struct ifreq r;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    memset(&r, 0, sizeof(r));
    strcpy(r.ifr_name, "lo");
    EXPECT_EQ(ioctl(fd, SIOCGIFFLAGS, &r), 0);
    EXPECT_TRUE(r.ifr_flags & IFF_LOOPBACK);
    EXPECT_TRUE(r.ifr_flags & IFF_UP);
    EXPECT_EQ(ioctl(fd, SIOCGIFADDR, &r), 0);
    EXPECT_EQ(ntohl(((struct sockaddr_in *)&r.ifr_addr)->sin_addr.s_addr), INADDR_LOOPBACK);
    EXPECT_EQ(ioctl(fd, SIOCGIFNETMASK, &r), 0);
    EXPECT_EQ(ntohl(((struct sockaddr_in *)&r.ifr_addr)->sin_addr.s_addr), 0xff000000);
    EXPECT_EQ(ioctl(fd, SIOCGIFMTU, &r), 0);
    EXPECT_EQ(r.ifr_mtu, 65536);
    EXPECT_EQ(ioctl(fd, SIOCGIFINDEX, &r), 0);
    EXPECT_EQ(r.ifr_ifindex, 1);
    memset(r.ifr_name, 0, sizeof(r.ifr_name));
    EXPECT_EQ(ioctl(fd, SIOCGIFNAME, &r), 0);
    EXPECT_STR(r.ifr_name, "lo");
    strcpy(r.ifr_name, "nothing0");
    EXPECT_ERRNO(ioctl(fd, SIOCGIFFLAGS, &r), ENODEV);
    EXPECT_ERRNO(ioctl(fd, SIOCGIFFLAGS, 8), EFAULT);
}

TEST(the_interface_has_no_settings_of_a_card)
{
    struct ifreq r;
    struct ethtool_cmd settings = {.cmd = ETHTOOL_GSET};
    struct ethtool_value link = {.cmd = ETHTOOL_GLINK};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    memset(&r, 0, sizeof(r));
    strcpy(r.ifr_name, "lo");
    r.ifr_data = (char *)&settings;
    EXPECT_ERRNO(ioctl(fd, SIOCETHTOOL, &r), EOPNOTSUPP);
    r.ifr_data = (char *)&link;
    EXPECT_EQ(ioctl(fd, SIOCETHTOOL, &r), 0);
    EXPECT_EQ(link.data, 1);
    r.ifr_data = (char *)8;
    EXPECT_ERRNO(ioctl(fd, SIOCETHTOOL, &r), EFAULT);
    EXPECT_ERRNO(ioctl(fd, SIOCETHTOOL, 8), EFAULT);
    r.ifr_data = (char *)&link;
    strcpy(r.ifr_name, "nothing0");
    EXPECT_ERRNO(ioctl(fd, SIOCETHTOOL, &r), ENODEV);
}

TEST(the_interfaces_can_be_listed)
{
    struct ifreq list[16];
    struct ifconf c = {.ifc_len = 0};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    EXPECT_EQ(ioctl(fd, SIOCGIFCONF, &c), 0);
    EXPECT_GE(c.ifc_len, (int)sizeof(list[0]));
    c.ifc_len = sizeof(list);
    c.ifc_req = list;
    EXPECT_EQ(ioctl(fd, SIOCGIFCONF, &c), 0);
    EXPECT_STR(list[0].ifr_name, "lo");
    c.ifc_len = 1;
    EXPECT_EQ(ioctl(fd, SIOCGIFCONF, &c), 0);
    EXPECT_EQ(c.ifc_len, 0);
}

TEST(the_interface_can_not_be_changed)
{
    struct ifreq r;
    if (getuid() == 0 && !harness_is_inside())
        SKIP("root may change it");
    memset(&r, 0, sizeof(r));
    strcpy(r.ifr_name, "lo");
    EXPECT_ERRNO(ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &r), EPERM);
}

TEST(the_kernel_keeps_lists_of_sockets)
{
    char line[256], wanted[32];
    bool found = false;
    int fd = bound_socket(SOCK_STREAM);
    ASSERT_EQ(listen(fd, 1), 0);
    snprintf(wanted, sizeof(wanted), "0100007F:%04X", port_of(fd));
    FILE *f = fopen("/proc/net/tcp", "r");
    if (!f)
        SKIP("no /proc/net/tcp");
    while (fgets(line, sizeof(line), f))
        found = found || (strstr(line, wanted) && strstr(line, " 0A "));
    EXPECT_TRUE(found);
}
