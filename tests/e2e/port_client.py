# SPDX-License-Identifier: Apache-2.0
"""A connection to a sandbox's starter about ports on which programs listen: sandbox/port_messages.h, in Python."""
import collections
import os
import re
import socket
import struct

from cases import LIMIT, ROOT
from files_client import socket_path

CONNECT, LIST, PUBLISHED = range(1, 4)
QUESTION = struct.Struct("<IIQIHH")
ANSWER = struct.Struct("<IIQiIII")
LISTENER = struct.Struct("<16sHBBIiII16s")
WAIT_MS = 30000

Listener = collections.namedtuple("Listener", "address port v6_only unused uid pid waiting backlog program")


def limit(name, header="lib/base/ports.h"):
    with open(os.path.join(ROOT, header), encoding="utf-8") as f:
        return int(re.search(rf"#define {name}\s+(\d+)", f.read())[1])


class Asker:
    def __init__(self, name):
        self.last = 0
        self.answers = {}
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(socket_path(name, "+port"))  # waits for room, as one with a time limit does not
        self.socket.settimeout(LIMIT)

    def close(self):
        self.socket.close()

    def send(self, kind, port=0, wait_ms=0, fds=(), version=1):
        """The number of the question."""
        self.last += 1
        data = QUESTION.pack(version, kind, self.last, wait_ms, port, 0)
        if fds:
            socket.send_fds(self.socket, [data], list(fds))
        else:
            self.socket.send(data)
        return self.last

    def receive(self):
        data = self.socket.recv(70000)
        if not data:
            raise ConnectionResetError
        version, kind, number, error, is_cut, size, _ = ANSWER.unpack_from(data)
        assert version == 1 and size == len(data) - ANSWER.size
        self.answers[number] = (kind, error, is_cut, data[ANSWER.size:])
        return number

    def wait(self, number):
        while number not in self.answers:
            self.receive()
        kind, error, is_cut, text = self.answers.pop(number)
        if error:
            raise OSError(error, os.strerror(error))
        return kind, is_cut, text

    def give(self, port, given, wait_ms=WAIT_MS):
        """Lets the sandbox have a socket, or a descriptor, as a connection to port."""
        fd = given if isinstance(given, int) else given.fileno()
        return self.wait(self.send(CONNECT, port, wait_ms, [fd]))

    def begin(self, port, wait_ms=WAIT_MS):
        """The number of the question, and our end of what was asked for."""
        mine, given = socket.socketpair()
        with given:
            number = self.send(CONNECT, port, wait_ms, [given.fileno()])
        mine.settimeout(LIMIT)
        return number, mine

    def connect(self, port, wait_ms=WAIT_MS):
        number, mine = self.begin(port, wait_ms)
        try:
            self.wait(number)
        except OSError:
            mine.close()
            raise
        return mine

    def listeners(self):
        _, is_cut, text = self.wait(self.send(LIST))
        assert not is_cut
        return [Listener(*fields) for fields in LISTENER.iter_unpack(text)]
