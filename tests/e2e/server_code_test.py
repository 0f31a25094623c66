#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""E2B's SDKs of the code interpreter for Python and JavaScript, as they were published now and a year ago, against glovebox serve:
the programs tests/sdk/code.*, and examples/interpreter.py. Those of a year ago reach the interpreter by a host name of its own
only, and by TLS: so names of one domain lead here, and they trust a certificate for it."""
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import sdks  # noqa: E402
from cases import ROOT, Case, main  # noqa: E402
from server_client import KEY, Server  # noqa: E402
from server_tls_test import trusting  # noqa: E402

AT_ONCE = 400  # seconds for all cases of a program


class Sdk(Case):
    PYTHON = NODE = ()

    def serve(self, *options, tls=None):
        self.server = Server(self.folder, *options)
        self.server.tls = tls
        self.addCleanup(self.server.end)
        if self.server.client().create().run("/bin/sh", "-c", "command -v python3").end.get("exitCode"):
            self.skipTest("the image has no python3")
        kept = {k: v for k, v in os.environ.items() if not k.startswith("E2B_") and not k.lower().endswith("_proxy")}
        self.env = {**kept, "E2B_API_KEY": KEY}

    def run_program(self, *words):
        done = subprocess.run(words, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=AT_ONCE, check=False)
        return done.returncode, done.stdout.decode(errors="replace")

    def expect_all_ok(self, *words):
        """A line "ok NAME" for each case, and no other verdict."""
        status, said = self.run_program(*words)
        self.assertEqual((status, re.findall(r"^FAIL .*", said, re.M)), (0, []), said[-6000:])
        self.assertGreater(len(re.findall(r"^ok ", said, re.M)), 6, said)

    def test_python_sync(self):
        self.expect_all_ok(sdks.python(*self.PYTHON), "-B", os.path.join(ROOT, "tests/sdk/code.py"), "sync")

    def test_python_async(self):
        self.expect_all_ok(sdks.python(*self.PYTHON), "-B", os.path.join(ROOT, "tests/sdk/code.py"), "async")

    def test_node(self):
        folder = sdks.node(*self.NODE)
        programs = os.path.join(folder, f"tests-{os.getpid()}")  # below it, where node finds the SDK
        shutil.copytree(os.path.join(ROOT, "tests/sdk"), programs)
        self.addCleanup(shutil.rmtree, programs)
        self.expect_all_ok("node", f"{programs}/code.mjs")


class Current(Sdk):
    PYTHON = ("e2b-code-interpreter==2.11.5", "e2b==2.63.0")
    NODE = ("@e2b/code-interpreter@2.8.0",)

    def setUp(self):
        super().setUp()
        self.serve()
        url = f"http://127.0.0.1:{self.server.port}"
        self.env.update(E2B_API_URL=url, E2B_SANDBOX_URL=url)

    def test_example(self):
        status, said = self.run_program(sdks.python(*self.PYTHON), "-B", os.path.join(ROOT, "examples/interpreter.py"))
        self.assertEqual((status, said.splitlines()), (0, ["3 months", "sold: 12", "TypeError: list indices must be integers or slices, not str",
                                                           "other context: False", "bash: month,sold", "network: URLError"]))


class Old(Sdk):
    PYTHON = ("e2b-code-interpreter==2.4.1", "e2b==2.7.0")
    NODE = ("@e2b/code-interpreter@2.4.0", "e2b@2.7.0")

    def setUp(self):
        super().setUp()
        certificate, key = sdks.make_certificate(self.folder)
        self.serve("--tls-cert", certificate, "--tls-key", key, tls=trusting(certificate))
        self.env.update(sdks.names_and_trust(self.folder, certificate), E2B_DOMAIN=f"{sdks.DOMAIN}:{self.server.port}")


del Sdk  # its cases are those of each age


if __name__ == "__main__":
    main(sys.modules[__name__])
