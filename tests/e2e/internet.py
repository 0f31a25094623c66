#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An internet for tests of what leaves a sandbox: a network namespace with a name server and servers at public
addresses, next to one that stands for this machine. As root, with veth; no packet reaches a real network.

Run as a program it is the internet's end: it serves until its standard input ends, and answers each line there with
what has come in so far, as JSON.
"""
import ctypes
import errno
import http.server
import json
import mimetypes
import os
import shutil
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time

import internet_files
import internet_proxy
import internet_records
import internet_tls

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MACHINE, ROUTER = "45.32.0.1", "45.32.0.2"
RESOLVER, GOOD, EVIL, OTHER = "45.33.32.53", "45.33.32.10", "45.33.32.66", "45.33.32.20"
MACHINE6, ROUTER6 = "2a0f:5707::1", "2a0f:5707::2"
GOOD6, EVIL6, DEAD6 = "2a0f:5708::10", "2a0f:5708::66", "2a0f:5708::99"
HTTP2_PORT = 8450
BIG = bytes(range(251)) * 33500  # 8 MiB and a bit
HUGE_PARTS = 10  # of that: more than all the memory that a gateway may have

libc = ctypes.CDLL(None, use_errno=True)


def veth_is_there():
    """Whether this machine lets us make what the rest stands on, tried in a child's own namespace."""
    return subprocess.run(["unshare", "-n", "ip", "link", "add", "out", "type", "veth", "peer", "name", "inet"],
                          capture_output=True, check=False).returncode == 0


def http2_is_there():
    """What its server is made of."""
    return shutil.which("node")


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def ip(words):
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)


# ---- the internet's end ----

counts = {"queries": [], "connections": [], "datagrams": 0, "requests": [], "authorizations": [], "proxied": []}
said = []  # (server, what) of each datagram that came to a UDP server
asked = []  # the name server's queries, in hexadecimal
lock = threading.Lock()
turns = {}

ZONE = {
    "api.good.test": [GOOD], "git.good.test": [GOOD], "other.good.test": [OTHER], "proxy.test": [OTHER], "inside.test": ["10.0.0.1"],
    "mixed.good.test": [GOOD, "169.254.169.254"], "lan.good.test": ["10.1.2.3"], "local.good.test": ["127.0.0.1"],
    "machine.good.test": [MACHINE], "metadata.good.test": ["169.254.169.254"], "evil.test": [EVIL],
    "api.test": [GOOD], "www.pkg.test": [GOOD],
    "pkg.test": [GOOD], "a.b.c.pkg.test": [GOOD], "evilpkg.test": [EVIL], "dead.good.test": ["45.33.32.99", GOOD],
    "many.good.test": [f"45.33.33.{n}" for n in range(1, 40)], "cut.good.test": [GOOD], "_dmarc.pkg.test": [GOOD],
}
ZONE6 = {
    "api.good.test": [GOOD6], "six.good.test": [GOOD6], "evil.test": [EVIL6], "dead6.good.test": [DEAD6],
    "lan6.good.test": ["fd00::1"], "mapped.good.test": [f"::ffff:{EVIL}"],
}
ZONE |= {name: [GOOD] for name in ("slow6.good.test", "dead6.good.test", "lan6.good.test", "mapped.good.test")}
ALIASES = {"x.pkg.test": "evil.test", "loop.good.test": "loop2.good.test", "loop2.good.test": "loop.good.test"}


def encode(name):
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".") if part) + b"\0"


def record(owner, kind, ttl, data):
    return encode(owner) + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data


def answers(name, kind):
    if kind == 28:
        return [record(name, 28, 60, socket.inet_pton(socket.AF_INET6, a)) for a in ZONE6.get(name, [])]
    if kind != 1:
        return internet_records.answers(name, kind)
    if name == "rebind.good.test":
        turns[name] = turns.get(name, 0) + 1
        return [record(name, 1, 0, socket.inet_aton(GOOD if turns[name] == 1 else "127.0.0.1"))]
    if name.startswith("moves"):
        turns[name] = turns.get(name, 0) + 1
        return [record(name, 1, 0, socket.inet_aton(GOOD if turns[name] == 1 else OTHER))]
    if name == "junk.good.test":
        return [record("bank.test", 1, 60, socket.inet_aton(EVIL)), record(name, 1, 60, socket.inet_aton(GOOD))]
    found, hops = [], 0
    while name in ALIASES and hops < 3:
        found.append(record(name, 5, 60, encode(ALIASES[name])))
        name, hops = ALIASES[name], hops + 1
    return found + [record(name, 1, 60, socket.inet_aton(a)) for a in ZONE.get(name, [])]


def answer(query, is_datagram=True):
    at, labels = 12, []
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
        at += query[at] + 1
    name = ".".join(labels).lower()
    kind = int.from_bytes(query[at + 1:at + 3], "big")
    with lock:
        counts["queries"].append(name + internet_records.SUFFIX.get(kind, f" TYPE{kind}"))
        asked.append(query.hex())
        records = answers(name, kind)
    if name == "garbage.good.test":
        return query[:2] + b"\x81\x80\0\1\0\7\0\0\0\0" + b"\xc0\x0c" * 9
    if name == "silent.good.test" or (name == "slow6.good.test" and kind == 28):
        return b""
    is_cut = is_datagram and (name == "cut.good.test" or sum(map(len, records)) > 1100)
    records = [] if is_cut else records
    code = 2 if name == "broken.good.test" else 0 if records or name in {*ZONE, *ZONE6, *internet_records.NAMES} else 3
    return (query[:2] + struct.pack(">BBHHHH", 0x81 | 2 * is_cut, 0x80 | code, 1, len(records), 0, 0) + query[12:at + 5]
            + b"".join(records))


def serve_names():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((RESOLVER, 53))
    while True:
        query, peer = s.recvfrom(4096)
        reply = answer(query)
        if reply:
            s.sendto(reply, peer)


def hear_groups():
    """What comes for those who ask for names by multicast."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", 5353))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("224.0.0.251") + socket.inet_aton(ROUTER))
    while True:
        s.recv(4096)
        with lock:
            counts["datagrams"] += 1


class NamesOverTcp(socketserver.StreamRequestHandler):
    def handle(self):
        size = int.from_bytes(self.rfile.read(2), "big")
        if size:
            reply = answer(self.rfile.read(size), False)
            self.wfile.write(struct.pack(">H", len(reply)) + reply)


def count_datagrams():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((EVIL, 53))
    while True:
        s.recvfrom(4096)
        with lock:
            counts["datagrams"] += 1


def echo_datagrams(host, port):
    """Each datagram comes back turned round; some ask for more than that."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    s, stranger = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
    s.bind((host, port))
    stranger.bind((host, 0))
    while True:
        data, peer = s.recvfrom(65536)
        with lock:
            said.append((host, data.decode("latin-1")[:40]))
            counts["datagrams"] += 1
        if data == b"a stranger first":
            stranger.sendto(b"strange", peer)
        for _ in range(3 if data == b"three times" else 0 if data == b"nothing" else 1):
            s.sendto(b"x" * 5000 if data == b"much" else data[::-1], peer)


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass  # clients may be cut off

    def process_request(self, request, client_address):
        with lock:
            counts["connections"].append("%s:%d" % self.server_address[:2])
        super().process_request(request, client_address)


class Server6(Server):
    address_family = socket.AF_INET6

    def server_bind(self):
        """An address is there a moment after it was added."""
        for _ in range(100):
            try:
                super().server_bind()
                return
            except OSError as e:
                if e.errno != errno.EADDRNOTAVAIL:
                    raise
                time.sleep(0.05)
        super().server_bind()


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = None

    def reply(self, body, status=200, fields=()):
        with lock:
            counts["requests"].append([self.command, self.headers.get("Host"), self.path])
            counts["authorizations"] += self.headers.get_all("Authorization", [])
        self.send_response(status)
        for name, value in (*fields, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def change_protocol(self):
        """As for a WebSocket, whose frames are not looked at: what is said comes back."""
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()
        while data := self.connection.recv(4096):
            self.wfile.write(data.upper())
        self.close_connection = True

    def do_GET(self):
        if self.headers.get("Upgrade") == "websocket":
            self.change_protocol()
        elif self.path.startswith("/to?"):
            self.reply(b"", 302, [("Location", self.path[4:]), ("Alt-Svc", 'h3=":443"')])
        elif self.path.startswith("/git/"):
            self.serve_git()
        elif path := internet_files.find(self.folder, self.path):
            with open(path, "rb") as f:
                self.reply(f.read(), fields=[("Content-Type", mimetypes.guess_type(path)[0] or "application/octet-stream")])
        elif internet_files.is_missing(self.folder, self.path):
            self.reply(b"", 404)
        elif self.path.startswith("/echo"):
            self.reply(internet_tls.echo_of(self))
        elif self.path == "/huge":
            self.reply(BIG * HUGE_PARTS)
        else:
            self.reply(BIG if self.path == "/big" else f"{self.server.server_address[0]} {self.path}\n".encode())

    def serve_git(self):
        status, fields, content = internet_files.serve_git(self.folder, self)
        self.reply(content, status, fields.items())

    def do_POST(self):
        if self.path.startswith("/git/"):
            self.serve_git()
            return
        left, total = int(self.headers["Content-Length"]), 0
        while left > 0:
            piece = self.rfile.read(min(left, 65536))
            if not piece:
                return
            left, total = left - len(piece), total + sum(piece)
        self.reply(f"{total}\n".encode())

    def log_message(self, *words):
        pass


class Banner(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"SSH-2.0-first\r\n")
        if said := self.request.recv(100):
            self.request.sendall(said.upper())


class Echo(socketserver.BaseRequestHandler):
    """Answers when the client has said all it has to say."""
    def handle(self):
        data = b""
        while piece := self.request.recv(65536):
            data += piece
        self.request.sendall(data[::-1])


class Reset(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(1)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()


class Flood(socketserver.BaseRequestHandler):
    """Speaks much before it listens, and says at its end how much it heard."""
    def handle(self):
        def listen():
            while piece := self.request.recv(65536):
                heard.append(len(piece))
        heard = []
        listener = threading.Thread(target=listen)
        listener.start()
        self.request.sendall(b"f" * 400000)
        listener.join()
        self.request.sendall(b"%d" % sum(heard))


class Silent(socketserver.BaseRequestHandler):
    """Reads nothing until told to by a byte of urgent patience: the client's end."""
    def handle(self):
        self.request.sendall(b"ready")
        self.request.recv(1)
        threading.Event().wait()


def serve6():
    ip(f"addr add {ROUTER6}/64 dev inet nodad")
    for address in (GOOD6, EVIL6):
        ip(f"addr add {address}/128 dev lo nodad")
    ip(f"-6 route add blackhole {DEAD6}")
    for host, handler in ((GOOD6, Web), (EVIL6, Web)):
        threading.Thread(target=Server6((host, 80), handler).serve_forever, daemon=True).start()
    threading.Thread(target=echo_datagrams, args=(GOOD6, 7), daemon=True).start()


def serve_http2(folder):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "internet_http2.js")
    process = subprocess.Popen(["node", script, folder, GOOD, str(HTTP2_PORT)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def serve(folder, has_v6):
    internet_tls.make_certificates(folder)
    Web.folder = folder
    tls = {name: internet_tls.wrapped(Web, internet_tls.context(folder, name))
           for name in ("good", "other", "expired", "self")}
    tls["mutual"] = internet_tls.wrapped(Web, internet_tls.mutual(folder))
    check(libc.unshare(CLONE_NEWNET))
    print("apart", flush=True)
    sys.stdin.readline()
    ip(f"addr add {ROUTER}/30 dev inet")
    ip("link set inet up")
    ip("link set lo up")
    for address in (RESOLVER, GOOD, EVIL, OTHER):
        ip(f"addr add {address}/32 dev lo")
    ip("route add blackhole 45.33.32.99")  # whose packets come to nothing
    for host, port, handler in ((GOOD, 80, Web), (OTHER, 80, Web), (EVIL, 80, Web), (GOOD, 22, Banner), (GOOD, 7, Echo),
                                (GOOD, 9, Reset), (GOOD, 10, Silent), (GOOD, 11, Flood), (EVIL, 53, Web), (GOOD, 443, tls["good"]),
                                (EVIL, 443, tls["other"]), (OTHER, 443, tls["good"]), (GOOD, 8443, tls["other"]),
                                (GOOD, 8444, tls["expired"]), (GOOD, 8445, tls["self"]),
                                (GOOD, 8447, tls["mutual"])):
        threading.Thread(target=Server((host, port), handler).serve_forever, daemon=True).start()
    internet_proxy.Handler.asked = counts["proxied"]
    for port, handler in internet_proxy.SERVERS.items():
        threading.Thread(target=Server((OTHER, port), handler).serve_forever, daemon=True).start()
    threading.Thread(target=Server((RESOLVER, 53), NamesOverTcp).serve_forever, daemon=True).start()
    threading.Thread(target=serve_names, daemon=True).start()
    threading.Thread(target=count_datagrams, daemon=True).start()
    threading.Thread(target=hear_groups, daemon=True).start()
    for host, port in ((GOOD, 7), (GOOD, 8), (GOOD, 443), (OTHER, 7), (EVIL, 7)):
        threading.Thread(target=echo_datagrams, args=(host, port), daemon=True).start()
    if has_v6:
        serve6()
    http2 = serve_http2(folder) if http2_is_there() else None
    print("ready", flush=True)
    for line in sys.stdin:
        with lock:
            print(json.dumps({"said\n": said, "asked\n": asked}.get(line, counts)), flush=True)
    if http2:
        http2.kill()


# ---- this machine's end ----

class Internet:
    """Moves this process into namespaces of its own, from which that internet can be reached."""

    def __init__(self, folder, has_v6=False):
        check(libc.unshare(CLONE_NEWNET | CLONE_NEWNS))
        check(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
        self.folder = folder
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), folder] + ["v6"] * has_v6, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        ip("link set lo up")
        ip(f"link add out type veth peer name inet netns {self.process.pid}")
        ip(f"addr add {MACHINE}/30 dev out")
        ip("link set out up")
        ip(f"route add default via {ROUTER}")
        if has_v6:
            ip(f"addr add {MACHINE6}/64 dev out nodad")
            ip(f"-6 route add default via {ROUTER6}")
        self.ask("go")
        self.show(folder, "resolv.conf", "/etc/resolv.conf", f"nameserver {RESOLVER}\n")
        with open(os.path.join(folder, internet_tls.ROOT), encoding="ascii") as f:
            self.root = f.read()

    def show(self, folder, name, target, text):
        """Puts a file over one of this machine's, for this process and its children."""
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        check(libc.mount(path.encode(), os.path.realpath(target).encode(), None, MS_BIND, None))

    def ask(self, line="counts"):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def counts(self):
        return json.loads(self.ask())

    def said(self):
        return [tuple(one) for one in json.loads(self.ask("said"))]

    def asked(self):
        return [bytes.fromhex(one) for one in json.loads(self.ask("asked"))]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:] == ["v6"])
