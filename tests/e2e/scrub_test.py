#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No value of a secret comes back from a sandbox, whatever way its output goes."""
import base64
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Tty, main, run  # noqa: E402
from port_client import Asker  # noqa: E402

VALUE = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
SECRET = ("--allow", "a.example", "--secret", "KEY=env:S@a.example")
# Says its input to both streams, a byte at a time where it is asked to.
ECHO = r"""
import os, sys
data = sys.stdin.buffer.read()
step = int(sys.argv[1]) or len(data)
for stream in (1, 2):
    for i in range(0, len(data), step):
        os.write(stream, data[i:i + step])
"""

# Puts its input into files, their names and links, and says what it has in its place.
COPIED = r"""
import os, sys
value = sys.stdin.readline().strip()
os.mkdir("/tmp/d")
os.chdir("/tmp/d")
with open("many", "w") as f:
    f.writelines(f"{i}:{value}\n" for i in range(9000))
with open("sparse", "w") as f:
    f.write(value)
    f.seek(len(value) + (1 << 20))
    f.write(value)
open("a" + value, "w").close()
os.symlink("x" + value, "link")
print(os.environ["KEY"])
print("ready", flush=True)
sys.stdin.read()
"""


class Scrub(Tty):
    def setUp(self):
        super().setUp()
        self.env = {**os.environ, "S": VALUE}

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def echo(self, *options, text=VALUE, step=0):
        return run(*SECRET, *options, "--", "python3", "-c", ECHO, str(step), input=text.encode(), env=self.env)

    def test_streams_however_they_are_cut(self):
        forms = f"<{VALUE}>\n{VALUE}{VALUE}\n" + base64.b64encode(VALUE.encode()).decode() + "\n" + VALUE.encode().hex()
        for step in (0, 1, 2, 7, 39):
            done = self.echo(text=forms, step=step)
            self.assertEqual(done.returncode, 0, done.stderr)
            for stream in (done.stdout, done.stderr):
                self.assertEqual(len(stream), len(forms))
                for form in (VALUE.encode(), base64.b64encode(VALUE.encode())[:-4], VALUE.encode().hex().encode()):
                    self.assertNotIn(form, stream)
                self.assertTrue(stream.startswith(b"<ghp_"))

    def test_results(self):
        done = self.echo("--json")
        self.assertNotIn(VALUE, done.stdout.decode())
        result = json.loads(done.stdout)
        self.assertEqual(len(result["stdout"]), len(VALUE))
        done = self.echo("--json", "--raw", step=3)
        self.assertNotIn(base64.b64encode(VALUE.encode()), done.stdout)
        self.assertNotIn(VALUE.encode(), self.echo("--for-model", step=5).stdout)

    def test_file(self):
        with open(self.path("out"), "wb") as out:
            subprocess.run([GLOVEBOX, "run", *SECRET, "--", "python3", "-c", ECHO, "1"], input=VALUE.encode() * 500, stdout=out,
                           stderr=subprocess.DEVNULL, env=self.env, timeout=LIMIT, check=True)
        with open(self.path("out"), "rb") as f:
            data = f.read()
        self.assertEqual(len(data), 500 * len(VALUE))
        self.assertNotIn(VALUE.encode(), data)

    def test_terminal(self):
        with open(self.path("value"), "w", encoding="ascii") as f:
            f.write(VALUE)
        os.environ["S"] = VALUE
        self.addCleanup(os.environ.pop, "S")
        for options in ((), ("-t",)):
            terminal = self.open(*SECRET, *options, "--mount", f"{self.folder}:/in:ro", "--", "sh", "-c",
                                 "printf 'begin:gh'; cat /in/value; echo :end")
            self.assertTrue(terminal.expect(b":end"), terminal.output)
            self.assertNotIn(VALUE.encode(), terminal.output)
            self.assertIn(b"begin:gh", terminal.output)

    def test_messages_and_traces(self):
        done = run(*SECRET, "--", "/" + VALUE, env=self.env)
        self.assertEqual(done.returncode, 127)
        self.assertNotIn(VALUE.encode(), done.stderr)
        self.assertIn(b"ghp_", done.stderr)
        done = run(*SECRET, "--trace", self.path("trace"), "--", "python3", "-c",
                   "import os\ntry: os.open(input(), 0)\nexcept OSError: pass", input=VALUE.encode() + b"\n", env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("trace"), encoding="utf-8") as f:
            trace = f.read()
        self.assertIn("ENOENT", trace)
        self.assertNotIn(VALUE, trace)

    def test_copied_files(self):
        name, target = f"scrub-{os.getpid()}", self.path("target")
        process = self.start(*SECRET, "--name", name, "--", "python3", "-c", COPIED, env=self.env)
        process.stdin.write(VALUE.encode() + b"\n")
        process.stdin.flush()
        placeholder, line = (process.stdout.readline() for _ in range(2))
        self.assertEqual(line, b"ready\n", process.poll() is not None and process.stderr.read())
        placeholder = placeholder.decode().strip()
        os.mkdir(target)
        done = subprocess.run([GLOVEBOX, "cp", f"{name}:/tmp/d/.", target], capture_output=True, timeout=LIMIT, check=False)
        self.expect(done, out=b"", err=b"")
        self.assertEqual(set(os.listdir(target)), {"many", "sparse", "a" + placeholder, "link"})
        # So long that values lie across the ends of packets, and of what is read at once.
        self.assertEqual(self.read("target/many"), b"".join(b"%d:%s\n" % (i, placeholder.encode()) for i in range(9000)))
        self.assertEqual(self.read("target/sparse"), placeholder.encode() + bytes(1 << 20) + placeholder.encode())
        self.assertEqual(os.readlink(os.path.join(target, "link")), "x" + placeholder)
        done = subprocess.run([GLOVEBOX, "cp", f"{name}:/tmp/d", "-"], capture_output=True, timeout=LIMIT, check=False)
        self.expect(done, err=b"")
        self.assertNotIn(VALUE.encode(), done.stdout)
        self.assertEqual(done.stdout.count(placeholder.encode()), 9000 + 4)

    def test_names_of_listening_programs(self):
        name, value = f"scrub-ports-{os.getpid()}", "word1234"
        process = self.start(*SECRET, "--name", name, "--", "python3", "-c", "import os, socket\n"
                             "open('/proc/self/comm', 'w').write('x' + input())\n"
                             "s = socket.create_server(('127.0.0.1', 8000))\nprint(os.environ['KEY'], flush=True)\ninput()",
                             env={**os.environ, "S": value})
        process.stdin.write(value.encode() + b"\n")
        process.stdin.flush()
        placeholder = process.stdout.readline().decode().strip()
        asker = Asker(name)
        self.addCleanup(asker.close)
        [listener] = asker.listeners()
        self.assertNotIn(value, str(listener.program))
        self.assertIn("x" + placeholder[:len(value)], str(listener.program))

    def test_a_prompt_is_not_kept_back(self):
        process = self.start(*SECRET, "--", "python3", "-c", "print(input('> g'))", env=self.env)
        self.assertEqual(process.stdout.read(3), b"> g")
        process.stdin.write(b"x\n")
        process.stdin.close()
        self.assertEqual(process.stdout.read(), b"x\n")

    def test_all_bytes_come_as_they_are_without_secrets(self):
        data = (VALUE + "\0\xff").encode("latin-1") * 300
        done = run("--", "cat", input=data)
        self.expect(done, out=data)
        done = run("--allow", "a.example", "--", "cat", input=data)
        self.assertEqual(done.stdout, data)


if __name__ == "__main__":
    main(sys.modules[__name__])
