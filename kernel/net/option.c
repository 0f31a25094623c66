// SPDX-License-Identifier: Apache-2.0
/*
 * setsockopt(2) and getsockopt(2) at SOL_SOCKET: socket(7). What has no effect where there is no
 * network is kept and reported.
 */
#include "kernel/net/socket.h"

#include "kernel/core/kernel.h"

#include <asm/socket.h>
#include <linux/capability.h>
#include <net/if.h>

#define SEND_BUFFER_MIN    4608 /* SOCK_MIN_SNDBUF */
#define RECEIVE_BUFFER_MIN 2304 /* SOCK_MIN_RCVBUF */
#define PRIORITY_MAX       6    /* the highest without CAP_NET_ADMIN */
#define LINGER_MAX_SECONDS (INT32_MAX / 100)

int option_read(const struct socket_option *o, void *data, size_t size)
{
    if ((size_t)o->size < size)
        return -EINVAL;
    return call_read(o->call, data, o->value, size);
}

int option_read_int(const struct socket_option *o, int *ret)
{
    return option_read(o, ret, sizeof(*ret));
}

int option_write(const struct socket_option *o, const void *data, size_t size)
{
    int given = (int)MIN((size_t)o->size, size);
    int r = call_write(o->call, o->value, data, (size_t)given);
    if (r < 0)
        return r;
    return call_write(o->call, o->size_address, &given, sizeof(given));
}

int option_write_int(const struct socket_option *o, int value)
{
    return option_write(o, &value, sizeof(value));
}

/* Options that are a flag and nothing else. */
static bool *flag_of(struct socket *s, int name)
{
    switch (name) {
    case SO_REUSEADDR:
        return &s->reuse_address;
    case SO_REUSEPORT:
        return &s->reuse_port;
    case SO_KEEPALIVE:
        return &s->keep_alive;
    case SO_BROADCAST:
        return &s->broadcast;
    case SO_OOBINLINE:
        return &s->oob_inline;
    case SO_DONTROUTE:
        return &s->dont_route;
    case SO_NO_CHECK:
        return &s->no_check;
    case SO_RXQ_OVFL:
        return &s->drop_count;
    case SO_ZEROCOPY:
        return &s->zero_copy;
    case SO_PASSSEC:
        return &s->pass_security;
    case SO_DEBUG:
        return &s->debug;
    default:
        return NULL;
    }
}

static int set_flag(struct socket *s, const struct call *c, int name, int value)
{
    if (name == SO_DEBUG && value && !cred_has_cap(c->thread->cred, CAP_NET_ADMIN))
        return -EACCES;
    if (name == SO_REUSEPORT && value && s->family != AF_INET && s->family != AF_INET6)
        return -EOPNOTSUPP;
    if (name == SO_ZEROCOPY && s->family != AF_INET && s->family != AF_INET6)
        return -EOPNOTSUPP;
    *flag_of(s, name) = value != 0;
    return 0;
}

/* Linux doubles what is asked for, to pay for its own bookkeeping, and reports the double:
 * socket(7). */
static size_t buffer_size(int value, size_t max, size_t min)
{
    size_t asked = MIN((size_t)(uint32_t)value, max);
    return MAX(asked * 2, min);
}

static int set_buffer(struct socket *s, struct call *c, int name, int value)
{
    bool forced = name == SO_SNDBUFFORCE || name == SO_RCVBUFFORCE;
    if (forced && !cred_has_cap(c->thread->cred, CAP_NET_ADMIN))
        return -EPERM;
    if (forced && value < 0)
        value = 0;
    size_t max = forced ? LIMIT_SOCKET_BUFFER / 2 : SOCKET_SEND_BUFFER;
    if (name == SO_SNDBUF || name == SO_SNDBUFFORCE) {
        s->send_buffer = buffer_size(value, max, SEND_BUFFER_MIN);
        s->send_buffer_set = true;
        socket_wake(s, SOCKET_WRITABLE);
    } else {
        s->receive_buffer = buffer_size(value, max, RECEIVE_BUFFER_MIN);
        s->receive_buffer_set = true;
    }
    return 0;
}

static int set_timeout(struct socket *s, int name, const struct socket_option *o)
{
    struct timeval tv;
    int r = option_read(o, &tv, sizeof(tv));
    if (r < 0)
        return r;
    if (tv.tv_usec < 0 || tv.tv_usec >= 1000000)
        return -EDOM;
    int64_t ns = 0;
    /* Negative is no time at all, 0 is for ever, and so is what can't be counted. */
    if (tv.tv_sec < 0)
        ns = 1;
    else if (tv.tv_sec < INT64_MAX / NSEC_PER_SEC / 2)
        ns = tv.tv_sec * NSEC_PER_SEC + tv.tv_usec * NSEC_PER_USEC;
    bool sending = name == SO_SNDTIMEO_OLD || name == SO_SNDTIMEO_NEW;
    *(sending ? &s->send_timeout_ns : &s->receive_timeout_ns) = ns;
    if (s->file) {
        s->file->read_timeout_ns = s->receive_timeout_ns;
        s->file->write_timeout_ns = s->send_timeout_ns;
    }
    return 0;
}

static int set_linger(struct socket *s, const struct socket_option *o)
{
    struct linger value;
    int r = option_read(o, &value, sizeof(value));
    if (r < 0)
        return r;
    s->linger = value.l_onoff != 0;
    if (s->linger)
        s->linger_seconds = (int)MIN((unsigned)value.l_linger, (unsigned)LINGER_MAX_SECONDS);
    return 0;
}

static int set_device(struct socket *s, const struct socket_option *o)
{
    char name[IFNAMSIZ] = "";
    int r = call_read(o->call, name, o->value, MIN((size_t)o->size, sizeof(name) - 1));
    if (r < 0)
        return r;
    if (name[0] && strcmp(name, "lo") != 0)
        return -ENODEV;
    s->to_loopback = name[0] != '\0';
    return 0;
}

static int set_pass_creds(struct socket *s, int value)
{
    if (s->family != AF_UNIX && s->family != AF_NETLINK)
        return -EOPNOTSUPP;
    s->pass_creds = value != 0;
    return 0;
}

static int set_receive_low(struct socket *s, int value)
{
    if (value < 0)
        value = INT32_MAX;
    s->receive_low = value ? value : 1;
    socket_wake(s, SOCKET_READABLE);
    return 0;
}

static int set_priority(struct socket *s, struct call *c, int value)
{
    bool allowed = (value >= 0 && value <= PRIORITY_MAX) ||
                   cred_has_cap(c->thread->cred, CAP_NET_ADMIN) ||
                   cred_has_cap(c->thread->cred, CAP_NET_RAW);
    if (!allowed)
        return -EPERM;
    s->priority = value;
    return 0;
}

/* Options whose value is an int and that are no flags. */
static int set_number(struct socket *s, struct call *c, int name, int value)
{
    switch (name) {
    case SO_SNDBUF:
    case SO_RCVBUF:
    case SO_SNDBUFFORCE:
    case SO_RCVBUFFORCE:
        return set_buffer(s, c, name, value);
    case SO_PASSCRED:
        return set_pass_creds(s, value);
    case SO_RCVLOWAT:
        return set_receive_low(s, value);
    case SO_PRIORITY:
        return set_priority(s, c, value);
    case SO_TIMESTAMP_OLD:
    case SO_TIMESTAMPNS_OLD:
        s->timestamp = value != 0;
        s->timestamp_ns = value && name == SO_TIMESTAMPNS_OLD;
        return 0;
    case SO_MARK:
        if (!cred_has_cap(c->thread->cred, CAP_NET_ADMIN) &&
            !cred_has_cap(c->thread->cred, CAP_NET_RAW))
            return -EPERM;
        s->mark = (uint32_t)value;
        return 0;
    case SO_BUSY_POLL:
        if (value < 0)
            return -EINVAL;
        s->busy_poll = value;
        return 0;
    case SO_BSDCOMPAT:
        return 0;
    case SO_DETACH_FILTER:
        return -ENOENT;
    default:
        return -ENOPROTOOPT;
    }
}

static int set_common(struct socket *s, int name, const struct socket_option *o)
{
    int value;
    if (name == SO_BINDTODEVICE)
        return set_device(s, o);
    /* Linux reads an int before it looks at the name. */
    int r = option_read_int(o, &value);
    if (r < 0)
        return r;
    if (flag_of(s, name))
        return set_flag(s, o->call, name, value);
    switch (name) {
    case SO_LINGER:
        return set_linger(s, o);
    case SO_RCVTIMEO_OLD:
    case SO_SNDTIMEO_OLD:
    case SO_RCVTIMEO_NEW:
    case SO_SNDTIMEO_NEW:
        return set_timeout(s, name, o);
    default:
        return set_number(s, o->call, name, value);
    }
}

/* ---- asking ---- */

static int get_timeout(int64_t ns, const struct socket_option *o)
{
    struct timeval tv = {.tv_sec = ns / NSEC_PER_SEC, .tv_usec = ns % NSEC_PER_SEC / NSEC_PER_USEC};
    return option_write(o, &tv, sizeof(tv));
}

static int get_peer_cred(const struct socket *s, const struct socket_option *o)
{
    struct ucred value = {0, (uid_t)-1, (gid_t)-1};
    if (s->peer_cred)
        value = (struct ucred){s->peer_pid, s->peer_cred->euid, s->peer_cred->egid};
    return option_write(o, &value, sizeof(value));
}

static int get_peer_groups(const struct socket *s, const struct socket_option *o)
{
    if (!s->peer_cred)
        return -ENODATA;
    size_t size = s->peer_cred->group_count * sizeof(gid_t);
    int needed = (int)size;
    if ((size_t)o->size < size) {
        int r = call_write(o->call, o->size_address, &needed, sizeof(needed));
        return r < 0 ? r : -ERANGE;
    }
    return option_write(o, s->peer_cred->groups, size);
}

static int get_peer_name(struct socket *s, const struct socket_option *o)
{
    struct net_address a = {0};
    int r = s->ops->name(s, PEER_END, &a);
    if (r < 0)
        return -ENOTCONN;
    return (socklen_t)o->size > a.size ? -EINVAL : option_write(o, a.bytes, (size_t)o->size);
}

/* Values that are an int. */
static int get_number(struct socket *s, int name, int *ret)
{
    switch (name) {
    case SO_TYPE:
        *ret = s->type;
        return 0;
    case SO_PROTOCOL:
        *ret = s->protocol;
        return 0;
    case SO_DOMAIN:
        *ret = s->family;
        return 0;
    case SO_ERROR:
        *ret = -socket_take_error(s);
        return 0;
    case SO_SNDBUF:
        *ret = (int)s->send_buffer;
        return 0;
    case SO_RCVBUF:
        *ret = (int)s->receive_buffer;
        return 0;
    case SO_PASSCRED:
        *ret = s->pass_creds;
        return 0;
    case SO_RCVLOWAT:
        *ret = s->receive_low;
        return 0;
    case SO_SNDLOWAT:
        *ret = 1;
        return 0;
    case SO_PRIORITY:
        *ret = s->priority;
        return 0;
    case SO_MARK:
        *ret = (int)s->mark;
        return 0;
    case SO_BUSY_POLL:
        *ret = s->busy_poll;
        return 0;
    case SO_TIMESTAMP_OLD:
        *ret = s->timestamp && !s->timestamp_ns;
        return 0;
    case SO_TIMESTAMPNS_OLD:
        *ret = s->timestamp_ns;
        return 0;
    case SO_ACCEPTCONN:
        *ret = s->state == SOCKET_LISTENING;
        return 0;
    case SO_BSDCOMPAT:
    case SO_LOCK_FILTER:
        *ret = 0;
        return 0;
    case SO_INCOMING_CPU:
        *ret = -1;
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

static int get_common(struct socket *s, int name, const struct socket_option *o)
{
    const bool *flag = flag_of(s, name);
    struct linger linger = {s->linger, s->linger_seconds};
    int value;
    if (flag)
        return option_write_int(o, *flag);
    switch (name) {
    case SO_LINGER:
        return option_write(o, &linger, sizeof(linger));
    case SO_RCVTIMEO_OLD:
    case SO_RCVTIMEO_NEW:
        return get_timeout(s->receive_timeout_ns, o);
    case SO_SNDTIMEO_OLD:
    case SO_SNDTIMEO_NEW:
        return get_timeout(s->send_timeout_ns, o);
    case SO_PEERCRED:
        return get_peer_cred(s, o);
    case SO_PEERGROUPS:
        return get_peer_groups(s, o);
    case SO_PEERNAME:
        return get_peer_name(s, o);
    case SO_BINDTODEVICE:
        return option_write(o, "lo", s->to_loopback ? sizeof("lo") : 0);
    case SO_COOKIE:
        return o->size < (int)sizeof(s->ino) ? -EINVAL : option_write(o, &s->ino, sizeof(s->ino));
    default:
        break;
    }
    int r = get_number(s, name, &value);
    return r < 0 ? r : option_write_int(o, value);
}

int socket_set_option(struct socket *s, int level, int name, const struct socket_option *o)
{
    if (level == SOL_SOCKET)
        return set_common(s, name, o);
    return s->ops->set_option ? s->ops->set_option(s, level, name, o) : -EOPNOTSUPP;
}

int socket_get_option(struct socket *s, int level, int name, const struct socket_option *o)
{
    if (level == SOL_SOCKET)
        return get_common(s, name, o);
    return s->ops->get_option ? s->ops->get_option(s, level, name, o) : -EOPNOTSUPP;
}
