# SPDX-License-Identifier: Apache-2.0
"""The other end of interpreter/README.md's protocol: starts a driver, runs cells, reads frames."""
import json
import os
import re
import secrets
import signal
import subprocess
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DRIVERS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "interpreter")
FRAME_HEAD = re.compile(rb"\x1b_([0-9a-f]{32})([=<+>])([0-9a-f]{4})")
HEAD_SIZE = 2 + 32 + 1 + 4


def read_driver(name):
    with open(os.path.join(DRIVERS, name), "rb") as f:
        return f.read()


def boot_of(name):
    """The program that reads the driver, without its comment."""
    return "".join(line for line in read_driver(name).decode().splitlines(True) if not re.match(r"(#|//)", line)).strip()


COMMANDS = {  # the command, and what it reads before the first cell
    "python": (lambda: ["python3", "-c", boot_of("python_boot.py")],
               ["python.py", "python_rich.py", "python_trace.py", "python_figures.py", "python_ipython.py"]),
    "javascript": (lambda: ["node", "-e", boot_of("javascript_boot.js")], ["javascript.js", "javascript_scan.js"]),
    "bash": (lambda: ["bash", "--norc", "--noprofile", "-c", boot_of("bash_boot.sh")], ["bash.sh"]),
    "r": (lambda: ["sh", "-c", boot_of("r_boot.sh")], ["r.R"]),
    "java": (lambda: ["sh", "-c", boot_of("java_boot.sh")], ["java.java"]),
}


class Stream:
    """What comes from a descriptor, taken apart: text, and frames with a mark that is in force."""

    def __init__(self, fd, then):
        self.fd, self.then = fd, then
        self.waiting, self.message = b"", None
        self.mark = b"?"
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while data := os.read(self.fd, 65536):
            self.waiting += data
            while self.take():
                pass
        if self.waiting:
            self.then("text", self.waiting)
        self.then("eof", None)

    def take(self):
        at = self.waiting.find(b"\x1b_" + self.mark)
        if at != 0:
            end = at if at > 0 else len(self.waiting)
            if at < 0:  # what could be the beginning of a frame waits
                tail = self.waiting.rfind(b"\x1b", max(0, end - HEAD_SIZE))
                end = tail if tail >= 0 else end
            if end == 0:
                return False
            self.then("text", self.waiting[:end])
            self.waiting = self.waiting[end:]
            return True
        head = FRAME_HEAD.match(self.waiting)
        if not head:
            return False
        size = HEAD_SIZE + int(head[3], 16)
        if len(self.waiting) < size:
            return False
        piece, self.waiting = self.waiting[HEAD_SIZE:size], self.waiting[size:]
        if head[2] in b"=<":
            self.message = b""
        assert self.message is not None, "a frame goes on that has not begun"
        self.message += piece
        if head[2] in b"=>":
            message, self.message = self.message, None
            self.then("frame", json.loads(message))
        return True


class Execution:
    def __init__(self):
        self.out = self.err = b""
        self.events, self.results, self.error = [], [], None

    @property
    def text(self):
        """Of the main result."""
        return next((r.get("text") for r in self.results if r["is_main_result"]), None)


class Driver:
    """prefix: a command that runs a command."""

    def __init__(self, language, prefix=()):
        command, texts = COMMANDS[language]
        self.process = subprocess.Popen([*prefix, *command()], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, bufsize=0, start_new_session=True)
        self.word = "cell"
        self.number, self.current = 0, Execution()
        self.changed = threading.Condition()
        self.ended = set()  # streams on which the cell has, or all
        for name in texts:
            text = read_driver(name)
            self.write(b"%d\n%b" % (len(text), text))
        self.streams = [Stream(self.process.stdout.fileno(), lambda *e: self.came("out", *e)),
                        Stream(self.process.stderr.fileno(), lambda *e: self.came("err", *e))]

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view):]

    def came(self, stream, kind, value):
        with self.changed:
            if kind == "text":
                setattr(self.current, stream, getattr(self.current, stream) + value)
                self.current.events.append((stream, value))
            elif kind == "eof" or value["type"] == "end":
                self.ended.add(stream)
            elif value["type"] == "result":
                self.current.results.append(value)
                self.current.events.append(("result", value))
            else:
                self.current.error = value
            self.changed.notify_all()

    def start(self, code, env=(), mark=None):
        self.number += 1
        self.current, self.ended = Execution(), set()
        mark = mark or secrets.token_hex(16).encode()
        for stream in self.streams:
            stream.mark = mark
        request = b"%b %b %d %d %d\n" % (self.word.encode(), mark, self.number, len(dict(env)), len(code.encode()))
        for name, value in dict(env).items():
            request += b"%b %d\n%b\n" % (name.encode(), len(value.encode()), value.encode())
        self.write(request + code.encode() + b"\n")
        return self.current

    def wait(self, limit=60, until=None):
        until = until or (lambda: len(self.ended) == 2)
        with self.changed:
            assert self.changed.wait_for(until, limit), f"not within {limit} s: {vars(self.current)}"
        return self.current

    def is_over(self, limit):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.ended) == 2, limit)

    def run(self, code, env=(), limit=60):
        self.start(code, env)
        return self.wait(limit)

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self):
        self.process.kill()
        self.process.wait()
        for stream in self.streams:
            stream.thread.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


if __name__ == "__main__":
    import sys
    driver = Driver(sys.argv[1], sys.argv[3:])
    for cell in sys.argv[2].split("\n---\n"):
        started = time.monotonic()
        ran = driver.run(cell)
        print(f"{(time.monotonic() - started) * 1e3:.1f} ms", {k: v for k, v in vars(ran).items() if v})
    driver.end()
