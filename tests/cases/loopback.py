#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Loopback works inside the sandbox whatever the outside policy is (dev servers, databases, test suites).
import asyncio, http.server, os, shutil, signal, socket, subprocess, sys, threading, time, urllib.request
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def _late(*_): os.write(1, b"\nFAIL: timed out\n"); os._exit(1)
signal.signal(signal.SIGALRM, _late); signal.alarm(150)
def check(c, msg):
    if not c: print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
t0 = time.monotonic(); names = {i[4][0] for i in socket.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM)}
check("127.0.0.1" in names or "::1" in names, "localhost is %r" % names); check(time.monotonic() - t0 < 60, "resolving localhost took %.1f s" % (time.monotonic() - t0))
class H(http.server.SimpleHTTPRequestHandler):
    def do_GET(self): b = b"hello " + self.path.encode(); self.send_response(200); self.send_header("Content-Length", str(len(b))); self.end_headers(); self.wfile.write(b)
    def log_message(self, *a): pass
for bind, host in (("127.0.0.1", "127.0.0.1"), ("", "127.0.0.1"), ("127.0.0.1", "localhost"), ("0.0.0.0", "127.9.8.7")):
    s = http.server.ThreadingHTTPServer((bind, 0), H); threading.Thread(target=s.serve_forever, daemon=True).start()
    op = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try: got = op.open("http://%s:%d/x" % (host, s.server_port), timeout=10).read()
    except OSError as e: got = str(e)
    check(got == b"hello /x", "server on %r, client to %r: %r" % (bind, host, got))
for k in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
    if os.environ.get(k): no = os.environ.get("no_proxy", os.environ.get("NO_PROXY", "")); check("localhost" in no and "127.0.0.1" in no, "%s is set, yet no_proxy is %r" % (k, no)); break
port = s.server_port
if shutil.which("curl"):
    p = subprocess.run(["curl", "-sS", "-m", "10", "http://localhost:%d/c" % port], capture_output=True); check(p.stdout == b"hello /c", "curl to localhost: %r" % (p.stdout + p.stderr))
if shutil.which("node"):
    js = "const h=require('http').createServer((q,r)=>r.end('node')).listen(0,()=>{const p=h.address().port;fetch('http://localhost:'+p).then(r=>r.text()).then(t=>fetch('http://127.0.0.1:%d/n').then(r=>r.text()).then(u=>{console.log(t,u);process.exit(0)})).catch(e=>{console.log(String(e.cause||e));process.exit(1)})})" % port
    p = subprocess.run(["node", "-e", js], capture_output=True, timeout=30); check(p.stdout == b"node hello /n\n", "node fetch over loopback: %r" % (p.stdout + p.stderr[-200:]))
try:
    s6 = socket.socket(socket.AF_INET6); s6.bind(("::1", 0)); s6.listen(); c = socket.create_connection(s6.getsockname()[:2], 5); s6.accept()[0].sendall(b"six"); check(c.recv(9) == b"six", "IPv6 loopback")
except OSError as e: print("# no IPv6:", e)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", 0)); v = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); v.sendto(b"d" * 20000, u.getsockname()); u.settimeout(5); check(len(u.recv(65536)) == 20000, "UDP of 20000 bytes")
try: v.sendto(b"d" * 70000, u.getsockname()); check(False, "UDP of 70000 bytes")
except OSError as e: check(e.errno == 90, str(e))
async def many():
    async def serve(r, w): w.write((await r.readline()).upper()); await w.drain(); w.close()
    srv = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=256); p = srv.sockets[0].getsockname()[1]
    async def one(i):
        r, w = await asyncio.open_connection("127.0.0.1", p); w.write(b"line %d x\n" % i); got = await r.read(); w.close(); check(got == b"LINE %d X\n" % i, "connection %d: %r" % (i, got))
    await asyncio.gather(*(one(i) for i in range(200)))
asyncio.run(many())
a = socket.socket(); a.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); a.bind(("127.0.0.1", 0)); a.listen(); q = a.getsockname()[1]; c = socket.create_connection(("127.0.0.1", q)); x, _ = a.accept(); x.close(); a.close(); c.close()
b = socket.socket(); b.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); b.bind(("127.0.0.1", q)); b.listen()      # restart of a server on its port
t0 = time.monotonic()
try: socket.getaddrinfo("no-such-host-zz.invalid", 80); check(False, "a name in .invalid resolved")
except socket.gaierror: check(time.monotonic() - t0 < 60, "a failing look-up took %.1f s" % (time.monotonic() - t0))
print("ok")
