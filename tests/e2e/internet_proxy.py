# SPDX-License-Identifier: Apache-2.0
"""Proxies of internet.py: good ones, some that ask for a password, and some that are none."""
import base64
import socket
import socketserver
import struct
import threading

USER, PASSWORD = "robot", "proxy-password-7d1f2e"


def pass_on(a, b):
    def copy(source, sink):
        try:
            while piece := source.recv(65536):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass
    thread = threading.Thread(target=copy, args=(b, a), daemon=True)
    thread.start()
    copy(a, b)
    thread.join()


def read(s, size):
    data = b""
    while len(data) < size:
        piece = s.recv(size - len(data))
        if not piece:
            raise ConnectionError
        data += piece
    return data


class Handler(socketserver.BaseRequestHandler):
    asked = []  # what proxies were asked for
    wants_password = False

    def handle(self):
        try:
            self.serve(self.request)
        except (OSError, ConnectionError):
            pass

    def reach(self, host, port, ok, failed):
        self.asked.append(f"{host}:{port}")
        try:
            with socket.create_connection((host, port), 10) as peer:
                # In small pieces, with what the server says first right behind.
                for byte in ok:
                    self.request.sendall(bytes([byte]))
                pass_on(self.request, peer)
        except OSError:
            self.request.sendall(failed)


class Socks(Handler):
    def serve(self, s):
        _, count = read(s, 2)
        methods = read(s, count)
        if not self.wants_password:
            s.sendall(b"\5\0")
        elif 2 not in methods:
            s.sendall(b"\5\xff")
            return
        else:
            s.sendall(b"\5\2")
            read(s, 1)
            name = read(s, read(s, 1)[0]).decode()
            word = read(s, read(s, 1)[0]).decode()
            good = (name, word) == (USER, PASSWORD)
            s.sendall(b"\1" + (b"\0" if good else b"\1"))
            if not good:
                return
        _, command, _, kind = read(s, 4)
        host = socket.inet_ntop(*((socket.AF_INET, read(s, 4)) if kind == 1 else (socket.AF_INET6, read(s, 16))))
        port = struct.unpack(">H", read(s, 2))[0]
        reply = lambda code: b"\5" + bytes([code]) + b"\0\3\4name\0\0"
        if command == 1:
            self.reach(host, port, reply(0), reply(5))


class Http(Handler):
    def serve(self, s):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += read(s, 1)
        lines = head.decode().split("\r\n")
        method, target, _ = lines[0].split()
        expected = "Proxy-Authorization: Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.wants_password and expected not in lines:
            s.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        elif method == "CONNECT":
            host, port = target.rsplit(":", 1)
            self.reach(host.strip("[]"), int(port), b"HTTP/1.1 200 Connection established\r\nX-Proxy: 1\r\n\r\n",
                       b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")


class Junk(Handler):
    def serve(self, s):
        s.recv(1)
        s.sendall(b"SSH-2.0-none\r\n" * 4000)


def with_password(handler):
    return type(handler.__name__, (handler,), {"wants_password": True})


SERVERS = {1080: Socks, 1081: with_password(Socks), 1082: Junk, 3128: Http, 3129: with_password(Http)}
