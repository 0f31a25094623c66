# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL servers for tests, each at a port of its own: one that is as it should be, and some that are not. Run as a
program in the internet's namespace: FOLDER ADDRESS PASSWORD. It says when they listen; then each login that was tried
is a line on standard output.
"""
import base64
import hashlib
import hmac
import json
import os
import socket
import ssl
import struct
import sys
import threading

GOOD, NO_TLS, STRANGER, BOMB, SMUGGLER, IMPOSTOR, MD5, PLAIN, EAGER, TRUST, FEW, TELLER = PORTS = range(5432, 5444)
SALT = b"0123456789abcdef"
WITHOUT_TLS = (PLAIN, TRUST)


def message(kind, body):
    return kind + struct.pack(">I", len(body) + 4) + body


def ask(number, body=b""):
    return message(b"R", struct.pack(">I", number) + body)


def mac(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()


class Login:
    """One connection."""

    def __init__(self, connection, port, folder, password):
        self.socket, self.port, self.folder, self.password = connection, port, folder, password
        self.seen = {"port": port, "tls": False, "ok": False}

    def read(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def packet(self):
        size, code = struct.unpack(">II", self.read(8))
        return code, self.read(size - 8)

    def message(self):
        kind, size = struct.unpack(">cI", self.read(5))
        return kind, self.read(size - 4)

    def begin_tls(self):
        if self.port == NO_TLS or self.port in WITHOUT_TLS:
            self.socket.sendall(b"N")
            return
        self.socket.sendall(b"SX" if self.port == SMUGGLER else b"S")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        name = "self" if self.port == STRANGER else "good"
        context.load_cert_chain(os.path.join(self.folder, f"{name}.pem"), os.path.join(self.folder, "key.pem"))
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.seen["tls"] = True

    def is_proved(self):
        """By SCRAM-SHA-256, from the server's side."""
        self.socket.sendall(ask(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"))
        _, body = self.message()
        mechanism, _, rest = body.partition(b"\0")
        first = rest[4:]
        assert mechanism == b"SCRAM-SHA-256" and first.startswith(b"n,,"), body
        bare = first[3:]
        nonce = dict(p.split(b"=", 1) for p in bare.split(b","))[b"r"] + b"server"
        count = {BOMB: 2147483647, FEW: 1}.get(self.port, 4096)
        reply = b"r=" + nonce + b",s=" + base64.b64encode(SALT) + b",i=%d" % count
        self.socket.sendall(ask(11, reply))
        kind, final = self.message()
        without, _, proof = final.rpartition(b",p=")
        assert kind == b"p" and without == b"c=biws,r=" + nonce, final
        salted = hashlib.pbkdf2_hmac("sha256", self.password, SALT, count)
        text = b",".join((bare, reply, without))
        key = mac(salted, b"Client Key")
        right = bytes(a ^ b for a, b in zip(key, mac(hashlib.sha256(key).digest(), text)))
        signature = mac(mac(salted, b"Server Key"), text if self.port != IMPOSTOR else b"")
        self.socket.sendall(ask(12, b"v=" + base64.b64encode(signature)))
        return base64.b64decode(proof) == right

    def is_digested(self):
        self.socket.sendall(ask(5, b"salt"))
        _, body = self.message()
        inner = hashlib.md5(self.password + self.seen["user"].encode()).hexdigest().encode()
        return body == b"md5" + hashlib.md5(inner + b"salt").hexdigest().encode() + b"\0"

    def tell(self):
        """What a password is that one had better not say."""
        self.socket.sendall(ask(3))
        _, body = self.message()
        self.seen["ok"] = body == self.password + b"\0"
        words = b" ".join((b"no entry with", self.password, base64.b64encode(self.password)))
        self.socket.sendall(message(b"N", b"M" + words + b"\0\0") + message(b"E", b"SFATAL\0C28000\0M" + words + b"\0\0"))

    def serve(self):
        if self.port == EAGER:
            self.socket.sendall(b"N")
        code, body = self.packet()
        if code == 80877103:
            self.begin_tls()
            code, body = self.packet()
        if code == 80877102:
            self.seen["cancel"] = body.hex()
            self.seen["behind"] = self.socket.recv(100).hex()
            return
        words = body.split(b"\0")
        self.seen.update({k.decode(): v.decode() for k, v in zip(words[::2], words[1::2]) if k})
        if self.port == TELLER:
            self.tell()
            return
        self.seen["ok"] = True if self.port == TRUST else self.is_digested() if self.port == MD5 else self.is_proved()
        if not self.seen["ok"]:
            self.socket.sendall(message(b"E", b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0"))
            return
        self.socket.sendall(ask(0) + message(b"S", b"server_version\x0015.0\0") + message(b"K", struct.pack(">II", 42, 4711))
                            + message(b"Z", b"I"))
        while True:
            kind, _ = self.message()
            if kind != b"Q":
                return
            value = self.seen["user"].encode() + b"@" + self.seen["database"].encode()
            row = struct.pack(">HI", 1, len(value)) + value
            self.socket.sendall(message(b"T", struct.pack(">H", 1) + b"who\0" + struct.pack(">IHIhih", 0, 0, 25, -1, -1, 0))
                                + message(b"D", row) + message(b"C", b"SELECT 1\0") + message(b"Z", b"I"))


def handle(*words):
    login = Login(*words)
    try:
        login.serve()
    except (EOFError, OSError):
        pass
    finally:
        # In one piece: others do so at the same time.
        sys.stdout.write(json.dumps(login.seen) + "\n")
        sys.stdout.flush()
        login.socket.close()


def listen(server, port, folder, password):
    while True:
        connection, _ = server.accept()
        threading.Thread(target=handle, args=(connection, port, folder, password), daemon=True).start()


def main():
    folder, address, password = sys.argv[1:]
    for port in PORTS:
        words = (socket.create_server((address, port)), port, folder, password.encode())
        threading.Thread(target=listen, args=words, daemon=True).start()
    print("{}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
