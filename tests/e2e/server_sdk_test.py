#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""E2B's SDKs for Python and JavaScript, as they were published now and a year ago, against glovebox serve: the programs of
tests/sdk, of which hosts.* speak TLS, and those of examples. docs/e2b-compat.md says what comes of each method."""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import sdks  # noqa: E402
from cases import GLOVEBOX, ROOT, Case, main  # noqa: E402
from server_client import KEY, Server, free_port  # noqa: E402
from server_tls_test import trusting  # noqa: E402

PROGRAMS = ("lifecycle", "commands", "files", "errors", "hosts")
AT_ONCE = 400  # seconds for all cases of a program


class Sdk(Case):
    """One SDK; its server has a small disk for each sandbox, which is filled."""
    OPTIONS = ("--disk", "64M")

    def begin(self, url, *options, port=None, tls=None):
        server = Server(self.folder, *options, port=port)
        server.tls = tls
        self.addCleanup(server.end)
        url = url.replace("PORT", str(server.port))
        kept = {k: v for k, v in os.environ.items() if not k.startswith("E2B_") and not k.lower().endswith("_proxy")}
        self.env = {**kept, "E2B_API_URL": url, "E2B_SANDBOX_URL": url, "E2B_API_KEY": KEY}

    def serve(self, name):
        """The server for one of the programs."""
        if name != "hosts":
            self.begin("http://127.0.0.1:PORT", *self.OPTIONS)
            return
        certificate, key = sdks.make_certificate(self.folder)
        port = free_port()
        self.begin("https://localhost:PORT", "--tls-cert", certificate, "--tls-key", key, "--domain", f"{sdks.DOMAIN}:{port}", port=port,
                   tls=trusting(certificate))
        self.env.update(sdks.names_and_trust(self.folder, certificate))

    def run_program(self, *words, folder=None):
        return subprocess.run(words, cwd=folder or self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=AT_ONCE, check=False)

    def expect_all_ok(self, done):
        """A line "ok NAME" for each case, and no other verdict."""
        text = done.stdout.decode(errors="replace")
        self.assertEqual((done.returncode, re.findall(r"^FAIL .*", text, re.M)), (0, []), text[-6000:])
        self.assertGreater(len(re.findall(r"^ok ", text, re.M)), 5, text)


def add_python(age):
    version = sdks.PYTHON[age]

    class Python(Sdk):
        pass
    Python.__name__ = Python.__qualname__ = f"Python_{age}"
    for face in ("sync", "async"):
        for name in PROGRAMS:
            def test(self, face=face, name=name):
                program = sdks.python(f"e2b=={version}")
                self.serve(name)
                self.expect_all_ok(self.run_program(program, "-B", os.path.join(ROOT, f"tests/sdk/{name}.py"), face))
            setattr(Python, f"test_{face}_{name}", test)
    globals()[Python.__name__] = Python


def add_node(age):
    version = sdks.NODE[age]

    class Node(Sdk):
        pass
    Node.__name__ = Node.__qualname__ = f"Node_{age}"
    for name in PROGRAMS:
        def test(self, name=name):
            folder = sdks.node(f"e2b@{version}")
            programs = os.path.join(folder, f"tests-{os.getpid()}")  # below it, where node finds the SDK
            shutil.copytree(os.path.join(ROOT, "tests/sdk"), programs)
            self.addCleanup(shutil.rmtree, programs)
            self.serve(name)
            self.expect_all_ok(self.run_program("node", f"{programs}/{name}.mjs"))
        setattr(Node, f"test_{name}", test)
    globals()[Node.__name__] = Node


class Examples(Sdk):
    """As the README has it: the lines that glovebox serve prints are pasted, and the programs run unmodified."""
    maxDiff = None
    SAYS = "hello 45\n3 no such luck\ntoo long\nno way out\nnot there\n"

    def paste(self, words):
        process = subprocess.Popen([GLOVEBOX, "serve", "--listen", "0", "--state", self.path("state")], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            lines = []
            while not any("API_KEY" in line for line in lines):
                line = process.stdout.readline().decode()
                self.assertTrue(line, lines)
                lines.append(line)
            said = "".join(line for line in lines if "export" in line)
            return subprocess.run(["bash", "-c", said + 'exec "$@"', "bash", *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=AT_ONCE, check=False)
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()

    def expect_said(self, done):
        self.assertEqual((done.returncode, done.stdout.decode()[-3000:]), (0, self.SAYS))

    def test_python(self):
        program = sdks.python(f"e2b=={sdks.PYTHON[sdks.CURRENT]}")
        self.expect_said(self.paste([program, "-B", os.path.join(ROOT, "examples/e2b_quickstart.py")]))

    def test_node(self):
        folder = sdks.node(f"e2b@{sdks.NODE[sdks.CURRENT]}")
        program = os.path.join(folder, f"quickstart-{os.getpid()}.mjs")
        shutil.copy(os.path.join(ROOT, "examples/e2b_quickstart.mjs"), program)
        self.addCleanup(os.remove, program)
        self.expect_said(self.paste(["node", program]))


class Compat(Case):
    """docs/e2b-compat.md."""

    def setUp(self):
        super().setUp()
        with open(os.path.join(ROOT, "docs/e2b-compat.md"), encoding="utf-8") as f:
            self.page = f.read()

    def test_each_row_names_cases_that_are_there(self):
        named = re.findall(r"^\|.*\| *`(\w+)` ([\w, ]+?) *\|$", self.page, re.M)
        self.assertGreater(len(named), 25)
        known = {}
        for program in (*PROGRAMS, "code"):
            for kind, pattern in (("py", r"^async def (\w+)"), ("mjs", r"^test\('(\w+)'")):
                with open(os.path.join(ROOT, f"tests/sdk/{program}.{kind}"), encoding="utf-8") as f:
                    known.setdefault(program, set()).update(re.findall(pattern, f.read(), re.M))
        for program, cases in named:
            self.assertEqual(set(re.split(r", *", cases)) - known[program], set(), program)

    def test_it_has_the_versions_that_are_tested(self):
        for version in (*sdks.PYTHON.values(), *sdks.NODE.values()):
            self.assertIn(version, self.page)


for age in (sdks.CURRENT, sdks.OLD):
    add_python(age)
    add_node(age)
del Sdk  # has no cases of its own


if __name__ == "__main__":
    main(sys.modules[__name__])
