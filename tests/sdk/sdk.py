# SPDX-License-Identifier: Apache-2.0
"""What the Python programs of this folder share. They are written once, against AsyncSandbox; with "sync" as first word they
run against Sandbox, whose methods are made to look as if they could be awaited. The SDK itself is as it was published."""
import asyncio
import contextlib
import importlib.metadata
import os
import sys
import time
import traceback

import e2b

FACE = sys.argv[1]
VERSION = tuple(int(n) for n in importlib.metadata.version("e2b").split(".")[:3])
LIMIT = 60  # seconds after which nothing comes any more


class Now:
    """What can be awaited and is there already."""

    def __init__(self, value):
        self.value = value

    def __await__(self):
        return self.value
        yield  # makes it a generator


class Patient:
    """An object of the SDK, or a class, whose methods can be awaited."""
    PLAIN = ("get_host", "download_url", "upload_url")  # which nobody awaits
    KINDS = ("Sandbox", "Commands", "Filesystem", "Pty", "CommandHandle", "WatchHandle")

    def __init__(self, thing):
        self.thing = thing

    @staticmethod
    def wrap(value):
        return Patient(value) if type(value).__name__ in Patient.KINDS + ("SandboxPaginator",) else value

    def __getattr__(self, name):
        value = getattr(self.thing, name)
        if not callable(value):
            return Patient.wrap(value)

        def call(*words, **more):
            result = Patient.wrap(value(*words, **more))
            is_plain = name in Patient.PLAIN or type(getattr(result, "thing", None)).__name__ == "SandboxPaginator"
            return result if is_plain else Now(result)
        return call


Sandbox = e2b.AsyncSandbox if FACE == "async" else Patient(e2b.Sandbox)


@contextlib.asynccontextmanager
async def box(*words, **wish):
    """A sandbox, killed at the end."""
    sandbox = await Sandbox.create(*words, **wish)
    try:
        yield sandbox
    finally:
        await sandbox.kill()


class Watch:
    """The events of a folder."""

    def __init__(self):
        self.events = []

    async def start(self, sandbox, path, **more):
        if FACE == "async":
            self.handle = await sandbox.files.watch_dir(path, self.events.append, **more)
        else:
            self.handle = await sandbox.files.watch_dir(path, **more)
        return self

    async def wait_for(self, kind, name):
        end = time.monotonic() + LIMIT
        while not any(e.type.value == kind and e.name == name for e in self.events):
            assert time.monotonic() < end, (kind, name, self.events)
            if FACE == "sync":
                self.events += await self.handle.get_new_events()
            await asyncio.sleep(0.02)


class Terminal:
    """A pty, and what it printed."""

    def __init__(self):
        self.out = b""

    async def start(self, sandbox, rows=24, cols=80, **more):
        size = e2b.PtySize(rows=rows, cols=cols)
        self.sandbox = sandbox
        if FACE == "async":
            self.handle = await sandbox.pty.create(size, self.take, **more)
        else:
            self.handle = await sandbox.pty.create(size, **more)
            self.pieces = iter(self.handle.thing)
        return self

    def take(self, data):
        self.out += bytes(data)

    async def read_until(self, text):
        end = time.monotonic() + LIMIT
        while text not in self.out:
            assert time.monotonic() < end, self.out
            if FACE == "sync":
                self.take(next(self.pieces)[2] or b"")
            else:
                await asyncio.sleep(0.02)
        self.out = self.out.partition(text)[2]

    async def connect(self, sandbox, pid):
        self.sandbox = sandbox
        if FACE == "async":
            self.handle = await sandbox.pty.connect(pid, self.take)
        else:
            self.handle = await sandbox.pty.connect(pid)
            self.pieces = iter(self.handle.thing)
        return self

    async def write(self, text):
        await self.sandbox.pty.send_stdin(self.handle.pid, text)


class Raised:
    error = None


@contextlib.contextmanager
def raises(kinds, *words):
    """One of the kinds, classes or names in the SDK, which an older one may not all have, with the words in what it says."""
    found = Raised()
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    classes = tuple(getattr(e2b, k) if isinstance(k, str) else k for k in kinds if not isinstance(k, str) or hasattr(e2b, k))
    assert classes, kinds
    try:
        yield found
    except classes as e:
        found.error = e
        for word in words:
            assert word in str(e), (word, str(e))
    else:
        raise AssertionError(f"{kinds}: not raised")


def equal(got, expected):
    assert got == expected, f"{got!r}, not {expected!r}"


ALL = getattr(e2b, "ALL_TRAFFIC", "0.0.0.0/0")
CASES = []


def case(since=None, only=None):
    """since: the version with which the SDK began to offer it. only: of its two faces."""
    def add(function):
        if only in (None, FACE) and (since is None or VERSION >= since):
            CASES.append(function)
        return function
    return add


async def run_all(words):
    broken = 0
    for function in CASES:
        name = function.__name__
        if words and not any(word in name for word in words):
            continue
        try:
            await asyncio.wait_for(function(), 3 * LIMIT)
            print("ok", name, flush=True)
        except Exception:  # pylint: disable=broad-except
            broken += 1
            traceback.print_exc(file=sys.stdout)
            print("FAIL", name, flush=True)
    return broken


def main():
    os.environ.setdefault("E2B_VALIDATE_API_KEY", "true")
    broken = asyncio.run(run_all(sys.argv[2:]))
    sys.stdout.flush()
    os._exit(1 if broken else 0)  # threads of the SDK's own HTTP client abort now and then when Python ends around them
