// SPDX-License-Identifier: Apache-2.0
#include "kernel/sys/ancillary.h"

#include "kernel/sys/args.h"

#include <asm/socket.h>
#include <linux/capability.h>
#include <netinet/ip.h>

#define LOOPBACK_INDEX 1

/* ---- sending ---- */

static int read_rights(const struct call *c, const char *data, size_t size, struct sending *out)
{
    size_t count = size / sizeof(int);
    if (count == 0)
        return 0;
    if (count > RIGHTS_MAX)
        return -EINVAL;
    if (!out->rights && !(out->rights = rights_new(RIGHTS_MAX)))
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, data + i * sizeof(fd), sizeof(fd));
        struct file *f = args_any_file(c, fd);
        if (!f)
            return -EBADF;
        int r = rights_add(out->rights, f);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Who may say he is who: unix(7), SCM_CREDENTIALS. */
static int check_creds(const struct thread *t, const struct ucred *u)
{
    const struct cred *cred = t->cred;
    bool pid_ok = u->pid == t->process->pid || cred_has_cap(cred, CAP_SYS_ADMIN);
    bool uid_ok = u->uid == cred->uid || u->uid == cred->euid || u->uid == cred->suid ||
                  cred_has_cap(cred, CAP_SETUID);
    bool gid_ok = u->gid == cred->gid || u->gid == cred->egid || u->gid == cred->sgid ||
                  cred_has_cap(cred, CAP_SETGID);
    if (!pid_ok || !uid_ok || !gid_ok)
        return -EPERM;
    if (u->uid == (uid_t)-1 || u->gid == (gid_t)-1)
        return -EINVAL;
    if (!process_find(u->pid))
        process_settle_all();
    return process_find(u->pid) ? 0 : -ESRCH;
}

static int read_creds(const struct call *c, const char *data, size_t size, struct sending *out)
{
    struct ucred creds;
    if (size != sizeof(creds))
        return -EINVAL;
    memcpy(&creds, data, sizeof(creds));
    int r = check_creds(c->thread, &creds);
    if (r < 0)
        return r;
    out->creds = creds;
    out->has_creds = true;
    return 0;
}

/* ip(7), ipv6(7): of these fields only two can be seen by who receives on loopback. */
static int read_packet_field(const struct socket *s, const struct cmsghdr *h, const char *data,
                             size_t size, struct sending *out)
{
    bool v6 = h->cmsg_level == IPPROTO_IPV6 && s->family == AF_INET6;
    int value, least;
    if (s->type != SOCK_DGRAM || (!v6 && h->cmsg_level != IPPROTO_IP))
        return 0;
    bool is_limit = h->cmsg_type == (v6 ? IPV6_HOPLIMIT : IP_TTL);
    bool is_class = h->cmsg_type == (v6 ? IPV6_TCLASS : IP_TOS);
    if (!is_limit && !is_class)
        return 0;
    bool is_byte = is_class && !v6 && size == 1;
    if (size != sizeof(value) && !is_byte)
        return -EINVAL;
    if (is_byte)
        value = (unsigned char)data[0];
    else
        memcpy(&value, data, sizeof(value));
    /* -1 is the socket's own value, which IPv4 has no word for; a limit of 0 goes nowhere there. */
    least = v6 ? -1 : is_limit;
    if (value < least || value > 255)
        return -EINVAL;
    if (is_limit && value >= 0) {
        out->has_hop_limit = true;
        out->hop_limit = value;
    } else if (value >= 0) {
        out->has_class = true;
        out->traffic_class = value;
    }
    return 0;
}

static int read_one(const struct call *c, const struct socket *s, const struct cmsghdr *h,
                    const char *data, struct sending *out)
{
    size_t size = h->cmsg_len - sizeof(*h);
    if (s->family == AF_INET || s->family == AF_INET6)
        return read_packet_field(s, h, data, size, out);
    if (h->cmsg_level != SOL_SOCKET)
        return 0;
    switch (h->cmsg_type) {
    case SCM_RIGHTS:
        return s->family == AF_UNIX ? read_rights(c, data, size, out) : -EINVAL;
    case SCM_CREDENTIALS:
        return read_creds(c, data, size, out);
    default:
        return -EINVAL;
    }
}

int ancillary_read(const struct call *c, const struct socket *s, struct gaddr control, size_t size,
                   struct sending *out)
{
    struct cmsghdr h;
    if (size > ANCILLARY_MAX)
        return -ENOBUFS;
    if (size == 0)
        return 0;
    _cleanup_free_ char *data = malloc(size);
    if (!data)
        return -ENOBUFS;
    int r = call_read(c, data, control, size);
    size_t at = 0;
    while (r == 0 && size - at >= sizeof(h)) {
        memcpy(&h, data + at, sizeof(h));
        if (h.cmsg_len < sizeof(h) || h.cmsg_len > size - at)
            return -EINVAL;
        r = read_one(c, s, &h, data + at + sizeof(h), out);
        at += MIN(CMSG_ALIGN(h.cmsg_len), size - at);
    }
    if (r < 0)
        return r;
    /* A set without files is none. */
    if (out->rights && out->rights->count == 0) {
        rights_free(out->rights);
        out->rights = NULL;
    }
    return 0;
}

/* ---- receiving ---- */

static bool has_header_room(struct ancillary_room *room)
{
    if (room->at.v && room->left >= sizeof(struct cmsghdr))
        return true;
    room->flags |= MSG_CTRUNC;
    return false;
}

static void advance(struct ancillary_room *room, size_t size)
{
    size = MIN(size, room->left);
    room->at = gaddr_plus(room->at, size);
    room->left -= size;
}

/* put_cmsg() of Linux. */
static void put(struct call *c, struct ancillary_room *room, int level, int type, const void *data,
                size_t size)
{
    char buffer[CMSG_LEN(64)];
    if (!has_header_room(room) || CMSG_LEN(size) > sizeof(buffer))
        return;
    size_t length = CMSG_LEN(size);
    if (length > room->left) {
        room->flags |= MSG_CTRUNC;
        length = room->left;
    }
    struct cmsghdr h = {.cmsg_len = length, .cmsg_level = level, .cmsg_type = type};
    memcpy(buffer, &h, sizeof(h));
    memcpy(buffer + sizeof(h), data, size);
    if (call_write(c, room->at, buffer, length) == 0)
        advance(room, CMSG_SPACE(size));
}

static void put_time(struct call *c, const struct socket *s, const struct received *r,
                     struct ancillary_room *room)
{
    struct timespec ts = {r->time_ns / NSEC_PER_SEC, r->time_ns % NSEC_PER_SEC};
    struct timeval tv = {ts.tv_sec, ts.tv_nsec / NSEC_PER_USEC};
    if (s->timestamp_ns)
        put(c, room, SOL_SOCKET, SO_TIMESTAMPNS_OLD, &ts, sizeof(ts));
    else
        put(c, room, SOL_SOCKET, SO_TIMESTAMP_OLD, &tv, sizeof(tv));
}

static void put_destination6(struct call *c, const struct received *r, struct ancillary_room *room)
{
    struct in6_pktinfo info = {r->destination.address, LOOPBACK_INDEX};
    put(c, room, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
}

static void put_destination4(struct call *c, const struct received *r, struct ancillary_room *room)
{
    struct in_pktinfo info = {.ipi_ifindex = LOOPBACK_INDEX};
    info.ipi_addr.s_addr = info.ipi_spec_dst.s_addr = r->destination.address.s6_addr32[3];
    put(c, room, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
}

static void put_packet_fields(struct call *c, const struct received *r, struct ancillary_room *room)
{
    int limit = r->hop_limit, class = r->traffic_class;
    unsigned char tos = (unsigned char)class;
    if (r->has_hop_limit)
        put(c, room, r->is_v4 ? IPPROTO_IP : IPPROTO_IPV6, r->is_v4 ? IP_TTL : IPV6_HOPLIMIT,
            &limit, sizeof(limit));
    if (r->has_class && r->is_v4)
        put(c, room, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
    else if (r->has_class)
        put(c, room, IPPROTO_IPV6, IPV6_TCLASS, &class, sizeof(class));
}

/* One file becomes a descriptor, whose number is written first so that none is made in vain. */
static bool give_file(struct call *c, struct file *f, struct gaddr at, bool cloexec)
{
    struct fdtable *table = c->thread->files;
    size_t limit = process_limit(c->thread->process, RLIMIT_NOFILE);
    int fd = fdtable_install(table, file_get(f), 0, limit, cloexec);
    if (fd < 0) {
        file_put(f);
        return false;
    }
    if (call_write(c, at, &fd, sizeof(fd)) == 0)
        return true;
    fdtable_close(table, fd, table);
    return false;
}

/* scm_detach_fds() of Linux: as many as fit, also into what is padding of the last one. */
static void put_rights(struct call *c, const struct rights *rights, struct ancillary_room *room,
                       bool cloexec)
{
    size_t most = 0, given = 0;
    if (room->at.v && room->left > sizeof(struct cmsghdr))
        most = MIN((room->left - sizeof(struct cmsghdr)) / sizeof(int), rights->count);
    struct gaddr numbers = gaddr_plus(room->at, CMSG_LEN(0));
    while (given < most &&
           give_file(c, rights->files[given], gaddr_plus(numbers, given * sizeof(int)), cloexec))
        given++;
    if (given < rights->count)
        room->flags |= MSG_CTRUNC;
    if (given == 0)
        return;
    struct cmsghdr h = {.cmsg_len = CMSG_LEN(given * sizeof(int)),
                        .cmsg_level = SOL_SOCKET,
                        .cmsg_type = SCM_RIGHTS};
    if (call_write(c, room->at, &h, sizeof(h)) == 0)
        advance(room, CMSG_SPACE(given * sizeof(int)));
}

void ancillary_write(struct call *c, const struct socket *s, const struct received *r,
                     struct ancillary_room *room, bool cloexec)
{
    if (r->has_time)
        put_time(c, s, r, room);
    if (r->has_destination6)
        put_destination6(c, r, room);
    if (r->has_destination4)
        put_destination4(c, r, room);
    put_packet_fields(c, r, room);
    if (r->has_creds)
        put(c, room, SOL_SOCKET, SCM_CREDENTIALS, &r->creds, sizeof(r->creds));
    if (r->rights)
        put_rights(c, r->rights, room, cloexec);
}
