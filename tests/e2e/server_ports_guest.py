# SPDX-License-Identifier: Apache-2.0
"""Runs in a sandbox: a server on port 8000 that does what its path says, with HTTP and without. It reads heads byte for byte,
so that what came in can be looked at."""
import base64
import hashlib
import json
import os
import socket
import sys
import threading

go = threading.Semaphore(0)
states = {"read": 0, "sent": 0, "ended": None}


class Client:
    def __init__(self, connection):
        self.connection, self.kept = connection, b""

    def more(self):
        data = self.connection.recv(65536)
        self.kept += data
        return data

    def head(self):
        while b"\r\n\r\n" not in self.kept:
            if not self.more():
                return None
        head, _, self.kept = self.kept.partition(b"\r\n\r\n")
        return head.decode("latin-1")

    def exact(self, size):
        while len(self.kept) < size:
            if not self.more():
                raise EOFError
        data, self.kept = self.kept[:size], self.kept[size:]
        return data

    def line(self):
        while b"\r\n" not in self.kept:
            if not self.more():
                raise EOFError
        line, _, self.kept = self.kept.partition(b"\r\n")
        return line

    def body(self, head):
        """Its pieces, and then the trailer's lines."""
        fields = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in head.split("\r\n")[1:]}
        left = int(fields.get("content-length", 0))
        while left:
            data = self.exact(min(left, 65536))
            left -= len(data)
            yield data
        if "transfer-encoding" not in fields:
            return
        while size := int(self.line(), 16):
            yield self.exact(size)
            self.line()
        while line := self.line():
            yield [line.decode("latin-1")]

    def send(self, text):
        self.connection.sendall(text.encode("latin-1") if isinstance(text, str) else text)

    def answer(self, body, fields="", status="200 OK"):
        body = body if isinstance(body, bytes) else body.encode("latin-1")
        self.send(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{fields}\r\n")
        self.send(body)


def sink(client, head, _):
    digest, size, pieces, trailers = hashlib.sha256(), 0, 0, []
    for data in client.body(head):
        if isinstance(data, list):
            trailers += data
            continue
        digest.update(data)
        size, pieces = size + len(data), pieces + 1
    client.answer(json.dumps({"size": size, "digest": digest.hexdigest(), "trailers": trailers}))


def source(client, _, query):
    size, piece = int(query), bytes(range(256)) * 256
    client.send(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")
    while size:
        client.send(piece[:size])
        states["sent"] += min(size, len(piece))
        size -= min(size, len(piece))


def chunks(client, *_):
    client.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n")
    for piece in ("first", "second" * 3000):
        client.send(f"{len(piece):x};extension=1\r\n{piece}\r\n")
    client.send("0\r\nX-Sum: 42\r\n\r\n")


def events(client, *_):
    client.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n\r\n")
    for n in range(3):
        client.send(f"data: {n}\n\n")
        go.acquire()


def give_way(client, *_):
    go.release()
    client.answer("went")


def upgrade(client, head, query):
    fields = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in head.split("\r\n")[1:]}
    accept = base64.b64encode(hashlib.sha1((fields.get("sec-websocket-key", "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
    client.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Accept: {accept.decode()}\r\n\r\n" + ("early" if query == "early" else ""))
    if query == "count":  # to the end of what comes, and then an answer
        size = len(client.kept)
        client.kept = b""
        while data := client.connection.recv(65536):
            size += len(data)
        client.send(f"{size} bytes")
        return
    if query == "half":  # says all it has to, and then listens
        client.send("said")
        client.connection.shutdown(socket.SHUT_WR)
        got = client.kept
        while data := client.connection.recv(65536):
            got += data
        states["ended"] = got.decode("latin-1")
        return
    if query == "leave":
        client.send("bye")
        return
    while data := client.kept or client.connection.recv(65536):
        client.kept = b""
        client.send(data)


def duplex(client, head, _):
    client.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for data in client.body(head):
        if not isinstance(data, list):
            client.send(f"{len(data):x}\r\n")
            client.send(data + b"\r\n")
    client.send("0\r\n\r\n")


def interim(client, *_):
    client.send("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nConnection: Link\r\n\r\n")
    client.answer("done")


def go_on(client, head, query):
    if query == "no":
        client.answer("too much", status="417 Expectation Failed")
        return
    client.send("HTTP/1.1 100 Continue\r\n\r\n")
    sink(client, head, query)


def take_nothing(client, *_):
    states["read"] = len(client.kept)
    go.acquire()


def lead(client, _, query):
    """To what is named in base 64."""
    to = base64.urlsafe_b64decode(query)
    client.send(b"HTTP/1.1 302 Found\r\nLocation: " + to + b"\r\nContent-Location: " + to + b"\r\nContent-Length: 0\r\n\r\n")


def hang(client, *_):
    """Until the other end has gone."""
    states["ended"] = "waits"
    while client.connection.recv(65536):
        pass
    states["ended"] = "gone"


def late(client, *_):
    """Answers when its client has ended its own way."""
    while client.connection.recv(65536):
        pass
    client.answer("after the end")


RAW = {
    "garbage": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "silent": b"",
    "old": b"HTTP/1.0 200 OK\r\n\r\nold as that",
    "short": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
    "short-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nshort",
    "bad-trailer": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n0\r\nContent-Length: 3\r\n\r\n",
    "two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nshorty",
    "length-and-coding": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "gzip-coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "bare-line-end": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    "folded": b"HTTP/1.1 200 OK\r\nX-A: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
    "unasked-switch": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "two-answers": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
    "many-interim": b"HTTP/1.1 102 Processing\r\n\r\n" * 50 + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "origin": b"HTTP/1.1 200 OK\r\nStrict-Transport-Security: max-age=9\r\nClear-Site-Data: \"*\"\r\nAlt-Svc: h2=\":1\"\r\n"
              b"Set-Cookie: a=b\r\nService-Worker-Allowed: /\r\nReport-To: {}\r\nNEL: {}\r\nX-Kept: yes\r\nContent-Length: 0\r\n\r\n",
    "hop": b"HTTP/1.1 200 OK\r\nConnection: X-Mine, close\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\n"
           b"X-Kept: yes\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\nok",
    "x-forwarded": b"HTTP/1.1 302 Found\r\nLocation: /a\r\nX-Forwarded-Prefix: /evil\r\nX-Forwarded-Host: evil\r\nContent-Length: 0\r\n\r\n",
    "split": b"HTTP/1.1 302 Found\r\nLocation: /a\rSet-Cookie: b=c\r\nContent-Length: 0\r\n\r\n",
    "three-locations": b"HTTP/1.1 302 Found\r\n" + b"Location: /a\r\n" * 3 + b"Content-Length: 0\r\n\r\n",
    "no-content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "not-modified": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nETag: \"a\"\r\n\r\n",
    "huge-head": b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"a" * 200000 + b"\r\n\r\n",
}
PATHS = {"sink": sink, "source": source, "chunks": chunks, "events": events, "go": give_way, "upgrade": upgrade, "duplex": duplex,
         "interim": interim, "continue": go_on, "take-nothing": take_nothing, "hang": hang, "lead": lead, "late": late,
         "early": lambda client, *_: client.answer("no more", status="413 Content Too Large"),
         "head": lambda client, head, _: client.answer(head),
         "states": lambda client, *_: client.answer(json.dumps({**states, "threads": threading.active_count()}))}


def serve(connection):
    with connection:
        client = Client(connection)
        head = client.head()
        if head is None:
            return
        path, _, query = head.split(" ")[1].partition("?")
        name = path.rpartition("/")[2]
        try:
            if name in RAW:
                client.send(RAW[name])
            else:
                PATHS.get(name, PATHS["head"])(client, head, query)
        except (OSError, EOFError) as e:
            states["ended"] = type(e).__name__


def main():
    listener = socket.create_server(("0.0.0.0", int(sys.argv[1])), backlog=128)
    print("listens", os.getpid(), flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


main()
