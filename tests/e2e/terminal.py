# SPDX-License-Identifier: Apache-2.0
"""A program on a pseudo-terminal of its own, as a person sits in front of it."""
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time


class Terminal:
    def __init__(self, command, size):
        self.output = b""
        self.status = None
        self.master, slave = pty.openpty()
        self.slave_name = os.ttyname(slave)
        # Held open, so that the attributes can be looked at when the program has ended.
        self.slave = slave
        self.resize(*size)
        self.attributes_before = self.attributes()
        # A keeper leads the session, as a login shell does: its child can be stopped, since its process
        # group is not orphaned. It passes on what wait() said.
        report, self.keeper_end = os.pipe()
        self.keeper = os.fork()
        if self.keeper == 0:
            try:
                os.close(report)
                self._keep(command)
            finally:
                os._exit(99)
        os.close(self.keeper_end)
        self.report = os.fdopen(report, "r", encoding="utf-8")
        self.pid = int(self.report.readline())

    def _keep(self, command):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.close(self.master)
        ready, go = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            os.setpgid(0, 0)
            os.close(go)
            os.read(ready, 1)
            for fd in range(3):
                os.dup2(self.slave, fd)
            os.closerange(3, 100)
            os.execv(command[0] if "/" in command[0] else f"/usr/bin/{command[0]}", command)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            os.setpgid(pid, pid)
        except OSError:
            pass
        os.tcsetpgrp(self.slave, pid)
        os.close(self.slave)
        os.write(self.keeper_end, f"{pid}\n".encode())
        os.close(go)
        while True:
            _, status = os.waitpid(pid, os.WUNTRACED)
            os.write(self.keeper_end, f"{status}\n".encode())
            if not os.WIFSTOPPED(status):
                os._exit(0)

    def attributes(self):
        return termios.tcgetattr(self.slave)

    def has_echo(self):
        return bool(self.attributes()[3] & termios.ECHO)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def write(self, data):
        os.write(self.master, data)

    def _read(self, seconds):
        """Takes what is there; False when nothing came in time or the other side is gone."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.output += data
        return bool(data)

    def expect(self, text, seconds=120):
        end = time.monotonic() + seconds
        while text not in self.output:
            if time.monotonic() > end:
                return False
            self._read(0.1)
        return True

    def _next_status(self, seconds):
        """What waitpid(2) of the program's parent gave next, or None; reads output meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready = select.select([self.master, self.report], [], [], 0.1)[0]
            if self.master in ready:
                self._read(0)
            if self.report in ready:
                line = self.report.readline()
                return int(line) if line else None
        return None

    def wait(self, seconds=120):
        """The exit status (128 + n for signal n) after reading all output; None if it hangs."""
        while self.status is None:
            status = self._next_status(seconds)
            if status is None:
                return None
            if os.WIFEXITED(status):
                self.status = os.WEXITSTATUS(status)
            elif os.WIFSIGNALED(status):
                self.status = 128 + os.WTERMSIG(status)
        while self._read(0.05):
            pass
        return self.status

    def wait_stopped(self, seconds=120):
        status = self._next_status(seconds)
        return status is not None and os.WIFSTOPPED(status)

    def hang_up(self):
        os.close(self.slave)
        os.close(self.master)
        self.slave = self.master = -1

    def close(self):
        if self.status is None:
            for pid in (self.pid, self.keeper):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        os.waitpid(self.keeper, 0)
        self.report.close()
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)
