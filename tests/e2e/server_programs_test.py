#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of a sandbox as E2B's SDKs see them: how they begin and end, what they are fed, who is connected, terminals. Message by
message; server_rows.py numbers what is shown."""
import base64
import json
import struct
import sys

sys.dont_write_bytecode = True
from cases import main, wait_until  # noqa: E402
from server_client import Served  # noqa: E402

PROCESS = "process.Process/"


def text(data):
    return base64.b64encode(data.encode()).decode()


class Programs(Served):
    def setUp(self):
        super().setUp()
        self.box = self.client.create(envVars={"A": "sandbox", "B": "sandbox", "PATH": "/usr/bin:/bin:/mine"})

    def call(self, method, pid, **more):
        return self.box.call(PROCESS + method, {"process": {"pid": pid}, **more})

    def connect(self, pid):
        stream = self.box.stream(PROCESS + "Connect", {"process": {"pid": pid}})
        self.addCleanup(stream.close)
        return stream

    def start(self, *words, **more):
        """A program that has begun."""
        stream = self.box.start(*words, **more)
        self.addCleanup(stream.close)
        message = stream.next()
        self.assertEqual(list(message["event"]), ["start"], (message, stream.error))
        return stream

    def shell(self, script, **more):
        return self.start("/bin/sh", "-c", script, **more)


class Ends(Programs):
    def events(self, script):
        """Kinds of what came, in its order, and the last event."""
        stream = self.box.start("/bin/sh", "-c", script)
        self.addCleanup(stream.close)
        messages = []
        while (message := stream.next()) is not None:
            messages.append(message)
        self.assertEqual(stream.answer.read(), b"")  # nothing is behind the last frame
        self.assertIsNone(stream.error)
        return [kind for m in messages for kind in m["event"]], messages[-1]["event"].get("end"), stream

    def test_come_last_and_starts_first(self):
        for script, out, err in (("true", 0, 0), ("head -c 700000 /dev/zero; head -c 70000 /dev/zero >&2; exit 7", 700000, 70000)):
            kinds, end, stream = self.events(script)
            self.assertEqual((kinds[0], kinds[-1], set(kinds[1:-1]) - {"data", "keepalive"}), ("start", "end", set()))
            self.assertEqual((len(stream.out), len(stream.err)), (out, err))
            self.assertTrue(end["exited"])

    def test_say_how(self):
        for script, code, exited, status in (("exit 0", 0, True, "exit status 0"), ("exit 3", 3, True, "exit status 3"),
                                             ("exit 255", 255, True, "exit status 255"), ("kill -9 $$", -1, False, "signal: killed"),
                                             ("kill -15 $$", -1, False, "signal: terminated")):
            end = self.events(script)[1]
            self.assertEqual((end.get("exitCode", 0), end.get("exited", False), end["status"]), (code, exited, status))
            self.assertEqual(end.get("error"), status if code else None)

    def test_for_memory_say_so(self):
        key = self.client.ask("POST", "/api-keys", {"name": "small", "scope": {"memoryMB": 128}}).json()["key"]
        done = self.server.client(key).create().run("/usr/bin/python3", "-c", "x = b'x' * (1 << 30)")
        self.assertEqual((done.end["status"], done.end["error"]), ("signal: killed", "signal: killed: memory limit of 128 MiB reached"))

    def test_are_told_while_it_still_runs(self):
        """Each message when there is something to say, not with the next one."""
        stream = self.shell("read a; printf '%s' $a; read b; printf '%s' $b >&2; read c", stdin=True)
        for word, where in (("one", "out"), ("two", "err")):
            self.call("SendInput", stream.pid, input={"stdin": text(word + "\n")})
            stream.read_until(word.encode(), where)
        self.call("SendInput", stream.pid, input={"stdin": text("\n")})
        self.assertEqual(stream.finish().end["status"], "exit status 0")

    def test_of_what_cannot_begin(self):
        self.box.run("/bin/sh", "-c", "echo garbage >/tmp/text; chmod +x /tmp/text")
        for words, more, code in ((("/nosuch",), {}, "invalid_argument"), (("/etc/passwd",), {}, "invalid_argument"),
                                  (("/tmp/text",), {}, "invalid_argument"), (("/bin/true", "x" * 200000), {}, "invalid_argument"),
                                  (("/bin/true",), {"cwd": "/nosuch"}, "invalid_argument")):
            stream = self.box.start(*words, **more)
            self.addCleanup(stream.close)
            self.assertEqual((stream.status, stream.next(), stream.error["code"]), (200, None, code), words)
        self.assertIn("/nosuch", stream.error["message"])


class Signals(Programs):
    def test_reach_the_one_that_is_named(self):
        stream = self.shell("trap 'echo term; exit 5' TERM; echo on; while :; do sleep 0.05; done")
        stream.read_until(b"on")
        self.assertEqual(self.call("SendSignal", stream.pid, signal="SIGNAL_SIGTERM").json(), {})
        stream.finish()
        self.assertEqual((stream.out, stream.end["status"]), (b"on\nterm\n", "exit status 5"))
        other = self.start("/bin/sleep", "1000")
        self.assertEqual(self.box.run("/bin/kill", "-0", str(other.pid)).end["status"], "exit status 0")
        self.assertEqual(self.call("SendSignal", other.pid, signal="SIGNAL_SIGKILL").json(), {})
        self.assertEqual(self.box.run("/bin/kill", "-0", str(other.pid)).end["status"], "exit status 1")
        self.assertEqual(other.finish().end["status"], "signal: killed")
        for pid in (other.pid, 999999):
            answer = self.call("SendSignal", pid, signal="SIGNAL_SIGKILL")
            self.assertEqual((answer.status, answer.json()), (404, {"code": "not_found", "message": f"process with pid {pid} not found"}))

    def test_that_are_none(self):
        stream = self.start("/bin/sleep", "1000")
        for wrong in ("SIGNAL_SIGHUP", "SIGKILL", "", 7000):
            answer = self.call("SendSignal", stream.pid, signal=wrong)
            self.assertIn((answer.status, answer.json()["code"]), ((501, "unimplemented"), (400, "invalid_argument")), wrong)
        self.assertEqual([p["pid"] for p in self.box.call(PROCESS + "List").json()["processes"]], [stream.pid])


class Input(Programs):
    def test_is_open_when_nothing_was_said(self):
        """As versions ask that knew no other."""
        for stdin in (None, True):
            stream = self.start("/bin/cat", stdin=stdin)
            self.assertEqual(self.call("SendInput", stream.pid, input={"stdin": text("fed ü\n")}).json(), {})
            stream.read_until("fed ü\n".encode())
            self.assertEqual(self.call("CloseStdin", stream.pid).json(), {})
            self.assertEqual(stream.finish().end["status"], "exit status 0")

    def test_is_none_when_that_was_said(self):
        done = self.box.run("/bin/sh", "-c", "cat; echo end", stdin=False)
        self.assertEqual(done.out, b"end\n")
        stream = self.start("/bin/sleep", "1000", stdin=False)
        answer = self.call("SendInput", stream.pid, input={"stdin": text("x")})
        self.assertEqual((answer.status, answer.json()["code"]), (500, "internal"))

    def test_waits_for_a_program_that_does_not_read(self):
        stream = self.shell("read go; wc -c", stdin=True)
        self.call("SendInput", stream.pid, input={"stdin": text("go\n")})
        for _ in range(5):
            self.assertEqual(self.call("SendInput", stream.pid, input={"stdin": text("x" * 300000)}).status, 200)
        self.call("CloseStdin", stream.pid)
        self.assertEqual(stream.finish().out.strip(), b"1500000")


class Connected(Programs):
    def test_are_told_from_then_on(self):
        first = self.shell("echo before; read a; echo after; exit 4", stdin=True)
        first.read_until(b"before\n")
        others = [self.connect(first.pid) for _ in range(3)]
        for stream in others:
            self.assertEqual(stream.next(), {"event": {"start": {"pid": first.pid}}})
        self.call("SendInput", first.pid, input={"stdin": text("\n")})
        for stream in others:
            stream.finish()
            self.assertEqual((stream.out, stream.end["status"]), (b"after\n", "exit status 4"))
        self.assertEqual(first.finish().out, b"before\nafter\n")
        late = self.connect(first.pid).finish()  # for a while also behind its end
        self.assertEqual((late.pid, late.out, late.end["status"]), (first.pid, b"", "exit status 4"))

    def test_leave_it_running_when_they_go(self):
        stream = self.shell("echo $$; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo gone on > /tmp/said; exec sleep 1000",
                            tag="mine", fields={"Connect-Timeout-Ms": "600000"})
        stream.read_until(rb"\d+\n")
        stream.close()
        self.box.run("/usr/bin/touch", "/tmp/go")
        self.assertTrue(wait_until(lambda: self.box.ask("GET", "/files?path=/tmp/said").body == b"gone on\n"))
        found = self.box.call(PROCESS + "List").json()["processes"]
        self.assertEqual([(p["pid"], p["tag"], p["config"]["cmd"], p["config"]["args"][0]) for p in found],
                         [(stream.pid, "mine", "/bin/sh", "-c")])
        again = self.box.stream(PROCESS + "Connect", {"process": {"tag": "mine"}})
        self.assertEqual(again.next(), {"event": {"start": {"pid": stream.pid}}})
        self.call("SendSignal", stream.pid, signal="SIGNAL_SIGKILL")
        self.assertEqual(again.finish().end["status"], "signal: killed")


class Variables(Programs):
    def said(self, names, **more):
        done = self.box.run("/bin/sh", "-c", "echo " + " ".join(f"${n}" for n in names), **more)
        return done.out.decode().split()

    def test_are_put_over_each_other(self):
        self.assertEqual(self.said("AB"), ["sandbox", "sandbox"])
        self.assertEqual(self.said("ABC", envs={"B": "own", "C": "own"}), ["sandbox", "own", "own"])
        self.assertEqual(self.said("ABC"), ["sandbox", "sandbox"])
        self.assertEqual(self.said(("HOME", "USER", "LOGNAME", "PATH")), ["/home/user", "user", "user", "/usr/bin:/bin:/mine"])
        self.assertEqual(self.said(("E2B_SANDBOX", "E2B_SANDBOX_ID", "E2B_TEMPLATE_ID")), ["true", self.box.name, "base"])
        self.assertEqual(self.box.ask("GET", "/envs").json()["B"], "sandbox")
        login = self.box.run("/bin/bash", "-l", "-c", "command -v ls; echo $A")
        self.assertRegex(login.out.decode(), r"\A/\S*/ls\nsandbox\n\Z")


class Terminals(Programs):
    SIZE = {"size": {"cols": 100, "rows": 30}}

    def terminal(self, *words, **more):
        return self.start(*words, pty=self.SIZE, stdin=None, envs={"TERM": "xterm-256color", "PS1": "> "}, **more)

    def type(self, stream, words):
        self.assertEqual(self.call("SendInput", stream.pid, input={"pty": text(words)}).json(), {})

    def test_are_their_programs_own(self):
        # Of /proc/self/stat: process, group, session, terminal, the group in its foreground.
        stream = self.terminal("/bin/bash", "-c", "set -- $(cat /proc/$$/stat); echo $1 $5 $6 $8 :; [ $7 -ne 0 ] && tty; stty size; echo $TERM; read a; "
                               "stty size; exit 3")
        stream.read_until(b"xterm-256color\r\n", "pty")
        lines = stream.pty.decode().split("\r\n")
        pid, group, session, foreground, _ = lines[0].split()
        self.assertEqual((int(pid), {group, session, foreground}), (stream.pid, {pid}))
        self.assertRegex(lines[1], r"\A/dev/pts/\d+\Z")
        self.assertEqual(lines[2], "30 100")
        self.assertEqual(self.call("Update", stream.pid, pty={"size": {"cols": 120, "rows": 40}}).json(), {})
        self.type(stream, "\n")
        stream.finish()
        self.assertIn(b"40 120", stream.pty)
        self.assertEqual((stream.out, stream.err, stream.end["status"]), (b"", b"", "exit status 3"))

    def test_interrupt_what_is_in_front(self):
        stream = self.terminal("/bin/bash", "--norc", "-i")
        self.type(stream, "sh -c 'echo beg''un; exec sleep 1000'\n")
        stream.read_until(b"begun", "pty")
        self.type(stream, "\x03")
        stream.read_until(rb"begun[^>]*\^C[^>]*> ", "pty")
        self.type(stream, "echo in''t$?\n")
        stream.read_until(b"int130", "pty")
        self.type(stream, "exit 6\n")
        self.assertEqual(stream.finish().end["status"], "exit status 6")

    def test_need_one(self):
        stream = self.start("/bin/cat", stdin=True)
        self.assertEqual(self.call("Update", stream.pid, pty=self.SIZE).json()["code"], "internal")
        self.assertEqual(self.call("Update", 999999, pty=self.SIZE).status, 404)


class Frames(Programs):
    def test_of_what_is_asked_with_credentials_that_are_wrong(self):
        """The only errors of a stream that are not in its last frame."""
        message = json.dumps({"process": {"cmd": "/bin/true"}}).encode()
        body = struct.pack(">BI", 0, len(message)) + message
        kind = {"Content-Type": "application/connect+json"}
        self.expect_status(self.box.ask("POST", f"/{PROCESS}Start", body, {**kind, "X-Access-Token": "wrong"}), 401, ".")
        self.assertEqual(self.box.ask("POST", f"/{PROCESS}Start", body, kind).status, 200)
        self.box.kill()
        answer = self.box.ask("POST", f"/{PROCESS}Start", body, kind)
        self.assertEqual((answer.status, answer.json()),
                         (502, {"sandboxId": self.box.name, "message": "The sandbox was not found", "code": 502}))


if __name__ == "__main__":
    main(sys.modules[__name__])
