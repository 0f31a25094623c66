#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# How a TCP connection ends: half-close, reset, refused, no lost data.
import errno, os, select, signal, socket, struct, sys, threading, time
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
def pair():
    l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen()
    c = socket.create_connection(l.getsockname(), 5); s, _ = l.accept(); l.close(); s.settimeout(10); c.settimeout(10); return c, s
def all_of(s):
    out = b""
    while True:
        b = s.recv(65536)
        if not b: return out
        out += b
c, s = pair()                                              # half-close: request, EOF, answer
c.sendall(b"req"); c.shutdown(socket.SHUT_WR)
check(all_of(s) == b"req", "request before the half-close"); s.sendall(b"answer" * 1000); s.close()
check(all_of(c) == b"answer" * 1000, "answer after the half-close")
c, s = pair(); data = os.urandom(8 << 20)                  # big transfer to a slow reader, then close at once
def send(): c.sendall(data); c.close()
t = threading.Thread(target=send); t.start(); time.sleep(0.3); got = bytearray()
while True:
    b = s.recv(30000)
    if not b: break
    got += b
t.join(); check(bytes(got) == data, "got %d of %d bytes of a closed sender" % (len(got), len(data)))
c, s = pair(); c.sendall(b"unread"); time.sleep(0.2); s.close()     # close with unread data resets
try: r = c.recv(10); check(False, "after a close with unread data the peer read %r instead of a reset" % r)
except ConnectionResetError: pass
c, s = pair(); s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); s.close()
try: c.recv(10); check(False, "SO_LINGER 0 did not reset")
except ConnectionResetError: pass
c, s = pair(); s.close(); c.send(b"1"); time.sleep(0.2)    # writing to a closed peer
try: c.send(b"2"); time.sleep(0.2); c.send(b"3"); check(False, "no error on writing to a closed peer")
except (BrokenPipeError, ConnectionResetError): pass
c, s = pair(); c.sendall(b"peek"); check(s.recv(2, socket.MSG_PEEK) == b"pe" and s.recv(9) == b"peek", "MSG_PEEK")
c, s = pair(); p = select.poll(); p.register(s, select.POLLIN | select.POLLRDHUP); c.close()
ev = dict(p.poll(60000)).get(s.fileno(), 0); check(ev & select.POLLRDHUP and ev & select.POLLIN, "poll after the peer closed: %#x" % ev)
c, s = pair(); s.setblocking(False)
try: s.recv(1); check(False, "non-blocking recv returned")
except BlockingIOError: pass
n = 0
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
try:
    while n < 1 << 26: n += s.send(b"x" * 65536)
    check(False, "a peer that never reads took 64 MiB")
except BlockingIOError: pass
left = n
while left: left -= len(c.recv(min(left, 65536)))
check(select.select([], [s], [], 60)[1], "not writable again after the peer read")
f = socket.socket(); f.bind(("127.0.0.1", 0)); port = f.getsockname()[1]; f.close(); t0 = time.monotonic()
try: socket.create_connection(("127.0.0.1", port), 60); check(False, "connected to a closed port")
except ConnectionRefusedError: check(time.monotonic() - t0 < 50, "refusal took long")
print("ok")
