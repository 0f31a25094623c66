// SPDX-License-Identifier: Apache-2.0
/*
 * Ways to anybody beyond the sandbox over IP. There is no network: each of them fails at once.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <net/route.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define AT_ONCE_MS 1000

static struct sockaddr_in four(const char *address, long port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    NEED(inet_pton(AF_INET, address, &a.sin_addr) == 1);
    return a;
}

static struct sockaddr_in6 six(const char *address, long port)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    NEED(inet_pton(AF_INET6, address, &a.sin6_addr) == 1);
    return a;
}

/* It is an escape when somebody answers, or when it goes on as if somebody might. */
static void check_stream(const void *address, socklen_t size, const char *what)
{
    int family = ((const struct sockaddr *)address)->sa_family, error = 0;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, address, size) == 0)
        probe_escaped("%s: connected", what);
    if (errno == EINPROGRESS) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        socklen_t error_size = sizeof(error);
        if (poll(&p, 1, AT_ONCE_MS) != 1)
            probe_escaped("%s: it waits for an answer", what);
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size) < 0 || error == 0)
            probe_escaped("%s: connected", what);
    }
    close(fd);
}

static void check_datagram(const void *address, socklen_t size, const char *what)
{
    int family = ((const struct sockaddr *)address)->sa_family;
    int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct iovec v = {(char *)"x", 1};
    struct msghdr m = {
        .msg_name = (void *)address, .msg_namelen = size, .msg_iov = &v, .msg_iovlen = 1};
    struct mmsghdr mm = {.msg_hdr = m};
    if (fd < 0)
        return;
    if (sendto(fd, "x", 1, 0, address, size) >= 0 || sendmsg(fd, &m, 0) >= 0 ||
        sendmmsg(fd, &mm, 1, 0) >= 0)
        probe_escaped("%s: sent", what);
    if (connect(fd, address, size) == 0)
        probe_escaped("%s: a datagram socket is connected", what);
    close(fd);
}

static void check_four(const char *address, long port)
{
    struct sockaddr_in a = four(address, port);
    check_stream(&a, sizeof(a), address);
    check_datagram(&a, sizeof(a), address);
}

static void check_six(const char *address, long port)
{
    struct sockaddr_in6 a = six(address, port);
    check_stream(&a, sizeof(a), address);
    check_datagram(&a, sizeof(a), address);
}

/* ---- the host ---- */

PROBE(connect_to_the_hosts_port, NETWORK,
      .expected = "ECONNREFUSED: 127.0.0.1 is the sandbox's own", .outside = OUTSIDE_ESCAPES)
{
    static const char *const names[] = {"127.0.0.1", "127.0.0.2", "127.1.2.3", "0.0.0.0"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct sockaddr_in a = four(names[i], canary_number("TCP"));
        check_stream(&a, sizeof(a), names[i]);
    }
}

PROBE(connect_to_the_hosts_port_over_ipv6, NETWORK, .expected = "ECONNREFUSED or ENETUNREACH",
      .outside = OUTSIDE_ESCAPES)
{
    struct sockaddr_in6 a = six("::1", canary_number("TCP6"));
    check_stream(&a, sizeof(a), "::1");
    a = six("::", canary_number("TCP6"));
    check_stream(&a, sizeof(a), "::");
}

PROBE(connect_to_the_hosts_port_by_a_mapped_address, NETWORK,
      .expected = "ECONNREFUSED or ENETUNREACH", .outside = OUTSIDE_MAYBE)
{
    static const char *const names[] = {"::ffff:127.0.0.1", "::ffff:0.0.0.0", "::ffff:127.0.0.2"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct sockaddr_in6 a = six(names[i], canary_number("TCP"));
        check_stream(&a, sizeof(a), names[i]);
    }
}

PROBE(send_datagrams_to_the_host, NETWORK, .expected = "nobody gets them; an error comes back")
{
    struct sockaddr_in a = four("127.0.0.1", canary_number("UDP"));
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    char c;
    NEED(fd >= 0);
    /* On loopback a datagram to nobody is sent and refused later; the host says whether one came.
     */
    sendto(fd, "x", 1, 0, (void *)&a, sizeof(a));
    NEED(connect(fd, (void *)&a, sizeof(a)) == 0);
    send(fd, "x", 1, 0);
    if (recv(fd, &c, 1, 0) >= 0)
        probe_escaped("somebody answered");
}

PROBE(connect_to_the_hosts_other_addresses, NETWORK,
      .expected = "ENETUNREACH: only loopback is there")
{
    static const char *const names[] = {"10.0.2.2",    "10.0.0.1",      "172.17.0.1",
                                        "192.168.0.1", "192.168.122.1", "100.64.0.1",
                                        "172.16.0.1",  "10.255.255.254"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        check_four(names[i], canary_number("TCP"));
        check_four(names[i], 22);
    }
}

/* ---- beyond ---- */

PROBE(reach_a_metadata_service, NETWORK, .expected = "ENETUNREACH",
      .after = "keys of cloud machines at 169.254.169.254")
{
    static const char *const names[] = {"169.254.169.254", "169.254.170.2", "100.100.100.200",
                                        "168.63.129.16", "169.254.0.1"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        check_four(names[i], 80);
    check_six("fd00:ec2::254", 80);
    check_six("::ffff:169.254.169.254", 80);
}

PROBE(reach_the_internet, NETWORK, .expected = "ENETUNREACH at once")
{
    static const char *const names[] = {"192.0.2.1", "198.51.100.1", "203.0.113.1", "1.0.0.1"};
    static const long ports[] = {80, 443, 53, 22, 1, 65535};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        for (size_t p = 0; p < ARRAY_SIZE(ports); p++)
            check_four(names[i], ports[p]);
    struct sockaddr_in a = four("192.0.2.1", 80);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    REFUSED(connect(fd, (void *)&a, sizeof(a)), ENETUNREACH);
}

PROBE(reach_the_internet_over_ipv6, NETWORK, .expected = "ENETUNREACH at once")
{
    static const char *const names[] = {"2001:db8::1",      "2000::1",     "64:ff9b::c000:201",
                                        "2002:c000:201::1", "::192.0.2.1", "::ffff:192.0.2.1",
                                        "fc00::1",          "fd00::1"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        check_six(names[i], 443);
        check_six(names[i], 53);
    }
}

PROBE(reach_neighbours_on_the_link, NETWORK, .expected = "ENETUNREACH, EINVAL or EACCES")
{
    static const char *const names[] = {"255.255.255.255", "224.0.0.1", "224.0.0.251",
                                        "239.255.255.250", "192.168.255.255"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        check_four(names[i], 5353);
    check_six("ff02::1", 5353);
    check_six("ff02::fb", 5353);
    check_six("fe80::1", 80);
    for (uint32_t scope = 0; scope < 4; scope++) {
        struct sockaddr_in6 a = six("fe80::1", 80);
        a.sin6_scope_id = scope;
        check_stream(&a, sizeof(a), "fe80::1");
    }
}

PROBE(broadcast_with_permission, NETWORK, .expected = "an error: there is nobody on a link")
{
    struct sockaddr_in a = four("255.255.255.255", 67);
    int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1;
    NEED(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one));
    FAILS(sendto(fd, "x", 1, 0, (void *)&a, sizeof(a)));
    a = four("127.255.255.255", (uint16_t)canary_number("UDP"));
    sendto(fd, "x", 1, 0, (void *)&a, sizeof(a));
}

PROBE(join_groups_of_the_network, NETWORK, .expected = "nothing arrives, and nothing is sent")
{
    struct ip_mreqn group = {.imr_ifindex = 1};
    struct sockaddr_in a = four("224.0.0.251", 5353);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    NEED(fd >= 0);
    group.imr_multiaddr = a.sin_addr;
    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group));
    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &group, sizeof(group));
    FAILS(sendto(fd, "x", 1, 0, (void *)&a, sizeof(a)));
}

PROBE(send_with_the_first_packet, NETWORK, .expected = "EOPNOTSUPP or ENETUNREACH",
      .after = "MSG_FASTOPEN past a check of connect")
{
    struct sockaddr_in away = four("192.0.2.1", 80), host = four("127.0.0.1", canary_number("TCP"));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
    REFUSED(sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (void *)&away, sizeof(away)),
            EOPNOTSUPP, ENETUNREACH);
    FAILS(sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (void *)&host, sizeof(host)));
    setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof(one));
    check_stream(&away, sizeof(away), "192.0.2.1");
}

PROBE(change_the_route_of_a_socket, NETWORK, .expected = "EPERM, ENODEV, or without effect")
{
    struct sockaddr_in a = four("192.0.2.1", 80);
    int one = 1;
    static const char *const devices[] = {"eth0", "ens3", "wlan0", "docker0", "lo", "tun0"};
    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, devices[i], (socklen_t)strlen(devices[i]));
        setsockopt(fd, SOL_SOCKET, SO_DONTROUTE, &one, sizeof(one));
        setsockopt(fd, SOL_SOCKET, SO_MARK, &one, sizeof(one));
        setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one));
        setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof(one));
        FAILS(connect(fd, (void *)&a, sizeof(a)));
        close(fd);
    }
}

PROBE(bind_to_addresses_of_the_host, NETWORK, .expected = "EADDRNOTAVAIL but for loopback")
{
    static const char *const names[] = {"10.0.2.15", "192.168.0.2", "172.17.0.1", "192.0.2.1",
                                        "8.8.8.8"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct sockaddr_in a = four(names[i], 0);
        REFUSED(bind(socket(AF_INET, SOCK_STREAM, 0), (void *)&a, sizeof(a)), EADDRNOTAVAIL);
    }
    struct sockaddr_in6 a = six("2001:db8::1", 0);
    REFUSED(bind(socket(AF_INET6, SOCK_STREAM, 0), (void *)&a, sizeof(a)), EADDRNOTAVAIL);
}

PROBE(connect_after_a_permitted_connection, NETWORK,
      .expected = "the second address is checked as the first",
      .after = "connect to AF_UNSPEC, then elsewhere")
{
    struct sockaddr_in own = four("127.0.0.1", 0), away = four("192.0.2.1", 53);
    socklen_t size = sizeof(own);
    int server = socket(AF_INET, SOCK_DGRAM, 0), fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr unspecified = {.sa_family = AF_UNSPEC};
    NEED(bind(server, (void *)&own, sizeof(own)) == 0 &&
         getsockname(server, (void *)&own, &size) == 0);
    NEED(connect(fd, (void *)&own, sizeof(own)) == 0 &&
         connect(fd, &unspecified, sizeof(unspecified)) == 0);
    FAILS(connect(fd, (void *)&away, sizeof(away)));
    NEED(connect(fd, (void *)&own, sizeof(own)) == 0);
    FAILS(sendto(fd, "x", 1, 0, (void *)&away, sizeof(away)));
}

/* ---- names ---- */

/* A question for the address of a name, as it goes over the wire. */
static size_t make_question(char ret[static 512], const char *name)
{
    size_t size = 12;
    memset(ret, 0, 12);
    ret[1] = 7;
    ret[2] = 1; /* recursion desired */
    ret[5] = 1; /* one question */
    while (*name) {
        size_t part = strcspn(name, ".");
        ret[size++] = (char)part;
        memcpy(ret + size, name, part);
        size += part;
        name += part + (name[part] == '.');
    }
    memcpy(ret + size, "\0\0\1\0\1", 5);
    return size + 5;
}

static void ask(const char *server, const char *name)
{
    char question[512], answer[1024];
    struct sockaddr_in a = four(server, 53);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t size = make_question(question, name);
    if (fd < 0 || connect(fd, (void *)&a, sizeof(a)) < 0 || send(fd, question, size, 0) < 0)
        return;
    if (poll(&p, 1, AT_ONCE_MS) == 1) {
        ssize_t n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
        if (n > 12 && (answer[6] || answer[7]))
            probe_escaped("%s has an address at %s", name, server);
    }
    close(fd);
}

PROBE(resolve_names_of_the_internet, NETWORK, .expected = "no such name, or nobody to ask")
{
    static const char *const names[] = {"example.org", "example.com", "metadata.google.internal",
                                        "a.root-servers.net", "localhost.example.org"};
    static const char *const servers[] = {"127.0.0.53", "127.0.0.1"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        for (size_t s = 0; s < ARRAY_SIZE(servers); s++)
            ask(servers[s], names[i]);
}

PROBE(resolve_the_hosts_name, NETWORK, .expected = "only the sandbox's own name is known")
{
    static const char *const names[] = {"host.docker.internal",
                                        "host.containers.internal",
                                        "gateway.docker.internal",
                                        "_gateway",
                                        "host",
                                        "host.glovebox.internal"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        ask("127.0.0.53", names[i]);
}

PROBE(smuggle_data_in_names, NETWORK, .expected = "no question leaves the sandbox",
      .after = "DNS tunnels")
{
    char name[300];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "%032x.%032x.tunnel.example.org", i, i * 7);
        ask("127.0.0.53", name);
    }
}

PROBE(ask_the_resolver_rubbish, NETWORK, .expected = "an answer with an error, or none")
{
    uint32_t state = 6;
    char data[600];
    struct sockaddr_in a = four("127.0.0.53", 53);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (void *)&a, sizeof(a)) < 0)
        probe_contained("there is no resolver: %s", strerror(errno));
    for (int i = 0; i < 3000; i++) {
        size_t size =
            i % 4 ? make_question(data, "a.b.example.org") : probe_random(&state) % sizeof(data);
        for (uint32_t n = probe_random(&state) % 6; n > 0; n--)
            data[probe_random(&state) % (size + 1) % sizeof(data)] = (char)probe_random(&state);
        send(fd, data, size, 0);
        recv(fd, data, sizeof(data), 0);
    }
    probe_check_kernel();
}

/* ---- configuration ---- */

PROBE(configure_interfaces_by_ioctl, NETWORK,
      .expected = "an error from each request that changes something")
{
    static const unsigned long requests[] = {SIOCSIFADDR,
                                             SIOCSIFFLAGS,
                                             SIOCSIFNETMASK,
                                             SIOCSIFHWADDR,
                                             SIOCSIFMTU,
                                             SIOCSIFNAME,
                                             SIOCADDRT,
                                             SIOCDELRT,
                                             SIOCSARP,
                                             SIOCDARP,
                                             0x89a0 /* SIOCBRADDBR */,
                                             0x89f0 /* SIOCDEVPRIVATE */,
                                             0x8946 /* SIOCETHTOOL */,
                                             0x8983 /* SIOCSIFVLAN */};
    struct ifreq r = {.ifr_name = "lo"};
    struct rtentry route = {0};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    NEED(fd >= 0);
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        FAILS(ioctl(fd, requests[i], &r));
        FAILS(ioctl(fd, requests[i], &route));
    }
}

PROBE(make_a_tunnel_device, NETWORK, .expected = "there is no such device",
      .outside = OUTSIDE_MAYBE)
{
    static const char *const names[] = {"/dev/net/tun", "/dev/tap0", "/dev/vhost-net", "/dev/ppp"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        FAILS(open(names[i], O_RDWR));
}

PROBE(read_connections_of_the_host, NETWORK,
      .expected = "only the sandbox's own sockets are listed", .outside = OUTSIDE_ESCAPES)
{
    static const char *const files[] = {"/proc/net/tcp",   "/proc/self/net/tcp", "/proc/1/net/tcp",
                                        "/proc/net/udp",   "/proc/net/unix",     "/proc/net/arp",
                                        "/proc/net/route", "/proc/net/dev"};
    static char text[1 << 20];
    char tcp[16], udp[16];
    snprintf(tcp, sizeof(tcp), ":%04lX ", canary_number("TCP"));
    snprintf(udp, sizeof(udp), ":%04lX ", canary_number("UDP"));
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        if (probe_read_file(files[i], text, sizeof(text)) <= 0)
            continue;
        if (strstr(text, tcp) || strstr(text, udp) || strstr(text, canary_fact("NAME")) ||
            strstr(text, "eth0"))
            probe_escaped("%s shows the host", files[i]);
    }
}
