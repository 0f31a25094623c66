# SPDX-License-Identifier: Apache-2.0
"""A connection to a sandbox's kernel about files: lib/base/files.h, in Python."""
import collections
import errno
import fcntl
import mmap
import os
import socket
import struct

from cases import LIMIT

(STAT, MAKE_DIRECTORY, MOVE, LINK, REMOVE, SET_METADATA, LIST, LIST_NEXT, READ_OPEN, READ, WRITE_OPEN, WRITE, COMMIT,
 WATCH, EVENTS, CLOSE) = range(1, 17)
AS_ROOT, PARENTS, EXACT_MODE, WITH_TIME, WITH_DATA, AND_COMMIT, RECURSIVE = (1 << i for i in range(7))
CREATED, WRITTEN, REMOVED, RENAMED, CHANGED, OVERFLOW = range(1, 7)

QUESTION = struct.Struct("<IIIIqQqIIII")
ANSWER = struct.Struct("<IiqII")
ENTRY = struct.Struct("<IIIIqqIiHHHHHHI")
EVENT = struct.Struct("<HHI")

Entry = collections.namedtuple("Entry", "name mode target_mode uid gid size mtime error level target owner group metadata")


def socket_path(name, kind):
    for folder in ("/run/glovebox", os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/nowhere"), "glovebox"),
                   f"/tmp/glovebox-{os.geteuid()}"):
        path = f"{folder}/sandboxes/.{name}{kind}"
        if os.path.exists(path):
            return path
    raise FileNotFoundError(name)


def pairs(text):
    strings = text.split(b"\0")[:-1]
    return dict(zip(strings[::2], strings[1::2]))


class Connection:
    def __init__(self, name, size=1 << 20, user="user"):
        self.user, self.size = user.encode(), size
        fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        self.memory = mmap.mmap(fd, size)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(socket_path(name, "+files"))  # waits for room, as one with a time limit does not
        self.socket.settimeout(LIMIT)
        socket.send_fds(self.socket, [struct.pack("<II", 1, 0)], [fd])
        os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, kind, path=b"", more=b"", flags=0, mode=0, depth=0, offset=0, size=0, mtime=(0, 0), user=None):
        user = self.user if user is None else user.encode()
        path = path.encode() if isinstance(path, str) else path
        more = more.encode() if isinstance(more, str) else more
        self.socket.send(QUESTION.pack(kind, flags, mode, depth, offset, size, *mtime, len(user), len(path), len(more)) +
                         user + path + more)

    def receive(self):
        packet = self.socket.recv(70000)
        if not packet:
            raise ConnectionResetError
        kind, error, value, size, _ = ANSWER.unpack_from(packet)
        assert len(packet) == ANSWER.size + size
        return kind, error, value, packet[ANSWER.size:]

    def ask(self, kind, path=b"", **more):
        """value and records, or an OSError."""
        self.send(kind, path, **more)
        got, error, value, records = self.receive()
        if error:
            raise OSError(error, f"{errno.errorcode.get(error, error)}: {path} ({value})")
        assert got == kind
        return value, records

    @staticmethod
    def entries(records):
        found = []
        while records:
            (mode, target_mode, uid, gid, size, mtime_s, mtime_ns, error, level, *sizes, _) = ENTRY.unpack_from(records)
            records = records[ENTRY.size:]
            texts = []
            for n in sizes:
                texts.append(records[:n])
                records = records[n:]
            name, target, owner, group, metadata = texts
            found.append(Entry(os.fsdecode(name), mode, target_mode, uid, gid, size, mtime_s + mtime_ns / 1e9, error, level,
                               os.fsdecode(target), owner.decode(), group.decode(), pairs(metadata)))
        return found

    def entry(self, kind, path, **more):
        [entry] = self.entries(self.ask(kind, path, **more)[1])
        return entry

    def stat(self, path, **more):
        return self.entry(STAT, path, **more)

    def list(self, path, depth=1, **more):
        over, records = self.ask(LIST, path, depth=depth, **more)
        found = self.entries(records)
        while not over:
            over, records = self.ask(LIST_NEXT)
            found += self.entries(records)
        return found

    def read(self, path, **more):
        size, records = self.ask(READ_OPEN, path, size=self.size, **more)
        content = [self.memory[:size]]
        while size == self.size:
            size, _ = self.ask(READ, offset=sum(map(len, content)), size=self.size)
            content.append(self.memory[:size])
        return b"".join(content)

    def write(self, path, content, flags=PARENTS, **more):
        self.ask(WRITE_OPEN, path, flags=flags, **more)
        for at in range(0, len(content), self.size):
            part = content[at:at + self.size]
            self.memory[:len(part)] = part
            taken, _ = self.ask(WRITE, offset=at, size=len(part))
            assert taken == len(part)
        return self.entry(COMMIT, b"")

    def put(self, path, content, flags=PARENTS, **more):
        """In one question."""
        self.memory[:len(content)] = content
        taken, records = self.ask(WRITE_OPEN, path, flags=flags | WITH_DATA | AND_COMMIT, size=len(content), **more)
        assert taken == len(content)
        return self.entries(records)[0]

    def watch(self, path, recursive=False, **more):
        self.ask(WATCH, path, flags=RECURSIVE if recursive else 0, **more)

    @staticmethod
    def changes(records):
        found = []
        while records:
            kind, size, _ = EVENT.unpack_from(records)
            found.append((kind, os.fsdecode(records[EVENT.size:EVENT.size + size])))
            records = records[EVENT.size + size:]
        return found

    def events(self):
        return self.changes(self.ask(EVENTS)[1])

    def events_until(self, *wanted):
        found = []
        while not set(wanted) <= set(found):
            found += self.events()
        return found


def quiet(connection, seconds=0.3):
    """Nothing is answered."""
    connection.socket.settimeout(seconds)
    try:
        connection.receive()
    except TimeoutError:
        return True
    finally:
        connection.socket.settimeout(LIMIT)
    return False
