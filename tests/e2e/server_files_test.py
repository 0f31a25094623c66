#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of a sandbox as E2B's SDKs see them: errors, lists, entries, what is watched, words beside a file, large bodies. Message by
message; server_rows.py numbers what is shown."""
import gzip
import os
import sys
import threading

sys.dont_write_bytecode = True
from cases import is_sanitized, main, wait_until  # noqa: E402
from server_abuse_test import memory_of  # noqa: E402
from server_client import Served  # noqa: E402

FILESYSTEM = "filesystem.Filesystem/"
PLAIN = {"Content-Type": "application/octet-stream"}


class Files(Served):
    def setUp(self):
        super().setUp()
        self.box = self.client.create()

    def call(self, method, path=None, **more):
        return self.box.call(FILESYSTEM + method, {**({"path": path} if path is not None else {}), **more})

    def write(self, path, content=b"x", **fields):
        answer = self.box.ask("POST", f"/files?path={path}", content, {**PLAIN, **fields})
        self.assertEqual(answer.status, 200, answer)
        return answer.json()[0]

    def shell(self, script):
        done = self.box.run("/bin/sh", "-c", script, cwd="/home/user")
        self.assertEqual(done.end["status"], "exit status 0", done.err)
        return done.out.decode()

    def entry(self, path):
        return self.call("Stat", path).json()["entry"]


class Errors(Files):
    def expect_code(self, answer, status, code, words):
        self.assertEqual((answer.status, answer.json()["code"], answer.fields["Content-Type"]), (status, code, "application/json"))
        self.assertIn(words, answer.json()["message"])

    def test_of_calls(self):
        self.write("f")
        self.call("MakeDir", "d")
        for method in ("Stat", "ListDir"):
            self.expect_code(self.call(method, "none"), 404, "not_found", "none")
        self.expect_code(self.call("MakeDir", "d"), 409, "already_exists", "d")
        self.expect_code(self.call("MakeDir", "f"), 400, "invalid_argument", "f")
        self.expect_code(self.call("ListDir", "f"), 400, "invalid_argument", "f")
        self.expect_code(self.call("Move", source="none", destination="there"), 404, "not_found", "none")
        self.expect_code(self.call("RemoveWatcher", watcherId="none"), 404, "not_found", "none")
        self.expect_code(self.call("GetWatcherEvents", watcherId="none"), 404, "not_found", "none")
        self.assertEqual(self.call("Remove", "none").json(), {})
        self.assertEqual(self.call("Remove", "d").json(), {})
        self.assertEqual(self.call("Stat", "d").status, 404)

    def test_of_contents(self):
        self.call("MakeDir", "d")
        self.expect_status(self.box.ask("GET", "/files?path=none"), 404, "none")
        self.expect_status(self.box.ask("GET", "/files?path=d"), 400, "d")
        self.expect_status(self.box.ask("POST", "/files?path=d", b"x", PLAIN), 400, "d")
        self.expect_status(self.box.ask("POST", "/files", b"x", PLAIN), 400, "path")
        self.assertEqual(self.box.ask("GET", "/files?path=/proc/cpuinfo").status, 200)  # says of itself that it is empty
        self.write("empty", b"")
        answer = self.box.ask("GET", "/files?path=empty")
        self.assertEqual((answer.status, answer.body), (200, b""))


class Entries(Files):
    def test_say_what_there_is(self):
        self.shell("echo 12345 > f; mkdir d; chmod 1777 d; chmod 4751 f; ln -s f link; ln -s d todir; ln -s none broken")
        f, d = self.entry("f"), self.entry("d")
        self.assertEqual({k: f[k] for k in f if k != "modifiedTime"},
                         {"name": "f", "type": "FILE_TYPE_FILE", "path": "/home/user/f", "size": "6", "mode": 0o751,
                          "permissions": "urwxr-x--x", "owner": "user", "group": "user"})
        self.assertRegex(f["modifiedTime"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z\Z")
        self.assertEqual((d["type"], d["permissions"], d["mode"]), ("FILE_TYPE_DIRECTORY", "dtrwxrwxrwx", 0o777))
        self.assertGreater(int(d["size"]), 0)
        link = self.entry("link")
        self.assertEqual((link["type"], link["symlinkTarget"], link["mode"], link["path"]),
                         ("FILE_TYPE_FILE", "/home/user/f", 0o751, "/home/user/link"))
        self.assertEqual(link["permissions"], "Lrwxrwxrwx")
        self.assertEqual(self.entry("todir")["type"], "FILE_TYPE_DIRECTORY")
        self.assertNotIn(self.entry("broken")["type"], ("FILE_TYPE_FILE", "FILE_TYPE_DIRECTORY"))

    def test_are_listed_in_order_and_as_deep_as_wished(self):
        self.shell("mkdir -p t/b/c/d t/a; echo > t/b/f; echo > t/z; echo > t/b/c/g; ln -s b t/link")

        def listed(**more):
            return [(e["path"].removeprefix("/home/user/t/"), e["type"][10:13]) for e in self.call("ListDir", "t", **more).json()["entries"]]
        one = [("a", "DIR"), ("b", "DIR"), ("link", "DIR"), ("z", "FIL")]
        self.assertEqual(listed(), one)
        self.assertEqual(listed(depth=0), one)
        self.assertEqual(listed(depth=1), one)
        two = one[:2] + [("b/c", "DIR"), ("b/f", "FIL")] + one[2:]
        self.assertEqual(listed(depth=2), two)
        self.assertEqual(listed(depth=9), two[:3] + [("b/c/d", "DIR"), ("b/c/g", "FIL")] + two[3:])
        self.assertEqual([e["name"] for e in self.call("ListDir", "t/link").json()["entries"]], ["c", "f"])
        self.assertEqual(self.call("ListDir", "t/a").json().get("entries", []), [])

    def test_of_what_was_made_or_moved(self):
        self.write("f", b"moved")
        made, moved = self.call("MakeDir", "one/two").json()["entry"], self.call("Move", source="f", destination="new/g").json()["entry"]
        self.assertEqual((made["path"], made["type"], made["permissions"]), ("/home/user/one/two", "FILE_TYPE_DIRECTORY", "drwxr-xr-x"))
        self.assertEqual((moved["path"], moved["name"], moved["permissions"]), ("/home/user/new/g", "g", "-rw-r--r--"))
        self.assertEqual((self.call("Stat", "f").status, self.box.ask("GET", "/files?path=new/g").body), (404, b"moved"))


class Words(Files):
    """What stands beside a file: metadata."""

    def test_are_kept_replaced_and_cleared(self):
        self.assertEqual(self.write("m", b"1"), {"path": "/home/user/m", "name": "m", "type": "file"})
        self.assertNotIn("metadata", self.entry("m"))
        wrote = self.write("m", b"2", **{"X-Metadata-Purpose": "a test", "x-metadata-n": "1"})
        self.assertEqual(wrote["metadata"], {"purpose": "a test", "n": "1"})
        self.assertEqual(self.entry("m")["metadata"], wrote["metadata"])
        self.assertEqual(self.shell("getfattr -n user.e2b.purpose --only-values m 2>&- || printf 'a test'"), "a test")
        self.assertEqual(self.write("m", b"3", **{"X-Metadata-N": "2"})["metadata"], {"n": "2"})
        self.write("m", b"4")
        self.assertNotIn("metadata", self.entry("m"))

    def test_that_are_none(self):
        for fields in ({"X-Metadata-A": "ü".encode().decode("latin-1")}, {"X-Metadata-A": "x" * 5000}, {"X-Metadata-" + "a" * 250: "x"}):
            answer = self.box.ask("POST", "/files?path=none", b"x", {**PLAIN, **fields})
            self.expect_status(answer, 400, "(?i)metadata")
        self.assertEqual(self.call("Stat", "none").status, 404)


class Bodies(Files):
    def test_are_not_collected(self):
        """Large ones go through the server in pieces, as forms and as they are, packed too; and nothing is lost."""
        piece = os.urandom(1 << 20)
        whole = piece * 96
        head = b'--b0und\r\nContent-Disposition: form-data; name="file"; filename="/tmp/form"\r\n\r\n'
        peak, done = [], threading.Event()
        child = self.server.child()
        before = memory_of(child)

        def look():
            while not done.is_set():
                peak.append(memory_of(child) - before)
                done.wait(0.01)
        looker = threading.Thread(target=look)
        looker.start()
        self.assertEqual(self.box.ask("POST", "/files", head + whole + b"\r\n--b0und--\r\n",
                                      {"Content-Type": "multipart/form-data; boundary=b0und"}).status, 200)
        self.write("/tmp/plain", whole)
        self.write("/tmp/packed", gzip.compress(bytes(96 << 20), 1), **{"Content-Encoding": "gzip"})
        for path in ("form", "plain"):
            self.assertEqual(self.box.ask("GET", f"/files?path=/tmp/{path}").body == whole, True)
        done.set()
        looker.join()
        self.assertEqual(self.box.ask("GET", "/files?path=/tmp/packed").body == bytes(96 << 20), True)
        if not is_sanitized():
            self.assertLess(max(peak), 24 << 20)

    def test_of_many_files(self):
        def post(names):
            parts = b"".join(b'--b0und\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n' % (n, n)
                             for n in names)
            return self.box.ask("POST", "/files", parts + b"--b0und--\r\n", {"Content-Type": "multipart/form-data; boundary=b0und"})
        names = [b"many/%d" % i for i in range(500)]
        answer = post(names)
        self.assertEqual((answer.status, [entry["name"] for entry in answer.json()]), (200, [str(i) for i in range(500)]))
        self.assertEqual(self.box.ask("GET", "/files?path=many/499").body, b"many/499")
        self.expect_status(post([*names, b"many/7"]), 400, "multiple files to the same path")


class Watched(Files):
    def gather(self, name, events):
        events += [(e["type"][11:], e["name"]) for e in self.call("GetWatcherEvents", watcherId=name).json()["events"]]
        return events

    def test_is_what_happens_also_further_down(self):
        self.call("MakeDir", "w/there")
        stream = self.box.stream(FILESYSTEM + "WatchDir", {"path": "w", "recursive": True})
        self.addCleanup(stream.close)
        self.assertEqual(stream.next(), {"start": {}})
        name = self.call("CreateWatcher", "w", recursive=True).json()["watcherId"]
        flat = self.call("CreateWatcher", "w").json()["watcherId"]
        self.shell("echo a > w/f; chmod 600 w/f; mv w/f w/g; rm w/g; echo b > w/there/h; mkdir w/later; mkdir w/later/on")
        self.write("w/later/on/i")
        self.shell("echo > w/last")
        wanted = [("CREATE", "f"), ("WRITE", "f"), ("CHMOD", "f"), ("RENAME", "f"), ("REMOVE", "g"), ("WRITE", "there/h"), ("CREATE", "later"),
                  ("CREATE", "later/on"), ("WRITE", "later/on/i"), ("CREATE", "last")]
        seen, polled = [], []
        while ("CREATE", "last") not in seen:
            message = stream.next()
            if "filesystem" in message:
                seen.append((message["filesystem"]["type"][11:], message["filesystem"]["name"]))
        self.assertTrue(wait_until(lambda: ("CREATE", "last") in self.gather(name, polled)))
        for events in (seen, polled):
            self.assertEqual([e for e in wanted if e not in events], [], events)
            self.assertEqual([events.index(e) for e in wanted[:5]], sorted(events.index(e) for e in wanted[:5]))
        shallow = []
        self.assertTrue(wait_until(lambda: ("CREATE", "last") in self.gather(flat, shallow)))
        self.assertFalse([n for _, n in shallow if "/" in n])
        self.assertEqual(self.gather(name, []), [])  # what was told is not told again
        self.assertEqual(self.call("RemoveWatcher", watcherId=name).json(), {})
        self.assertEqual(self.call("GetWatcherEvents", watcherId=name).status, 404)

    def test_end_with_their_sandbox(self):
        """Whatever of a watcher sees first that its sandbox is gone: the server goes on."""
        for _ in range(4):
            askers = [threading.Thread(target=self.call, args=("Stat", "/tmp")) for _ in range(4)]
            for asker in askers:
                asker.start()
            for asker in askers:
                asker.join()
        names = [self.call("CreateWatcher", "/tmp").json()["watcherId"] for _ in range(8)]
        for name in names:
            self.assertEqual(self.gather(name, []), [])
        server = self.server.child()
        self.box.kill()
        self.assertTrue(wait_until(lambda: self.call("GetWatcherEvents", watcherId=names[0]).status == 502))
        again = self.client.create()  # behind all that the end has told
        self.assertEqual(again.kill().status, 204)
        self.assertEqual(self.server.child(), server, self.server.said())


if __name__ == "__main__":
    main(sys.modules[__name__])
