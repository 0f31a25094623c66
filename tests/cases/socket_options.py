#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Socket options that servers query (socket activation, health checks, auth).
import errno, os, select, signal, socket, struct, sys, tempfile
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.exit(1)
S = socket
def opt(s, o): return s.getsockopt(S.SOL_SOCKET, o)
tmp = tempfile.mkdtemp()
for fam, addr in ((S.AF_INET, ("127.0.0.1", 0)), (S.AF_UNIX, tmp + "/s")):
    l = S.socket(fam, S.SOCK_STREAM)
    check(opt(l, S.SO_ACCEPTCONN) == 0, "SO_ACCEPTCONN before listen")
    l.bind(addr); l.listen(5); check(opt(l, S.SO_ACCEPTCONN) == 1, "SO_ACCEPTCONN of a listening %s socket is 0" % fam.name)
    c = S.socket(fam, S.SOCK_STREAM); c.connect(l.getsockname()); a, _ = l.accept()
    check(opt(a, S.SO_ACCEPTCONN) == 0, "SO_ACCEPTCONN of an accepted socket")
    for s in (l, c, a):
        check((opt(s, S.SO_TYPE), opt(s, S.SO_DOMAIN)) == (S.SOCK_STREAM, fam), "SO_TYPE or SO_DOMAIN")
    check(opt(c, S.SO_PROTOCOL) == (6 if fam == S.AF_INET else 0), "SO_PROTOCOL")
    if fam == S.AF_UNIX:
        for s in (a, c):
            who = struct.unpack("3i", s.getsockopt(S.SOL_SOCKET, S.SO_PEERCRED, 12))
            check(who == (os.getpid(), os.geteuid(), os.getegid()), "SO_PEERCRED %r" % (who,))
    clone = S.socket(fileno=os.dup(l.fileno())); check(clone.family == fam and opt(clone, S.SO_ACCEPTCONN) == 1, "a dup is recognised")
free = S.socket(); free.bind(("127.0.0.1", 0)); port = free.getsockname()[1]; free.close()
n = S.socket(); n.setblocking(False); r = n.connect_ex(("127.0.0.1", port))
check(r in (errno.EINPROGRESS, errno.ECONNREFUSED), "non-blocking connect: %d" % r)
if r == errno.EINPROGRESS:
    check(select.select([], [n], [], 3)[1], "no event for a refused connect")
    check(opt(n, S.SO_ERROR) == errno.ECONNREFUSED and opt(n, S.SO_ERROR) == 0, "SO_ERROR of a refused connect")
s = S.socket(); s.setsockopt(S.SOL_SOCKET, S.SO_RCVTIMEO, struct.pack("ll", 0, 200000)); s.bind(("127.0.0.1", 0)); s.listen()
try: s.accept(); check(False, "accept with SO_RCVTIMEO returned")
except BlockingIOError: pass
for o in (S.SO_REUSEADDR, S.SO_KEEPALIVE, S.SO_REUSEPORT, S.SO_BROADCAST, S.SO_OOBINLINE):
    s = S.socket(); s.setsockopt(S.SOL_SOCKET, o, 1); check(opt(s, o) == 1, "option %d does not stick" % o)
s = S.socket(); s.setsockopt(S.IPPROTO_TCP, S.TCP_NODELAY, 1); check(s.getsockopt(S.IPPROTO_TCP, S.TCP_NODELAY) == 1, "TCP_NODELAY")
s.setsockopt(S.SOL_SOCKET, S.SO_RCVBUF, 65536); check(opt(s, S.SO_RCVBUF) >= 65536, "SO_RCVBUF")
a, b = S.socketpair(); S.send_fds(a, [b"fd"], [0, 1]); m, fds, _, _ = S.recv_fds(b, 10, 5)
check(m == b"fd" and len(fds) == 2 and os.fstat(fds[0]).st_ino == os.fstat(0).st_ino, "passing descriptors")
p1 = S.socket(); p1.setsockopt(S.SOL_SOCKET, S.SO_REUSEPORT, 1); p1.bind(("127.0.0.1", 0)); p1.listen()
p2 = S.socket(); p2.setsockopt(S.SOL_SOCKET, S.SO_REUSEPORT, 1); p2.bind(p1.getsockname()); p2.listen()
try: S.socket().bind(p1.getsockname()); check(False, "bind to a used port")
except OSError as e: check(e.errno == errno.EADDRINUSE, str(e))
__import__("shutil").rmtree(tmp, True); print("ok")
