# SPDX-License-Identifier: Apache-2.0
"""E2B's SDKs as they were published, for the tests: got once from their registries, kept beside the build."""
import fcntl
import os
import shutil
import subprocess
import unittest

from cases import GLOVEBOX
from server_tls_test import make_certificate as make_named_certificate

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(GLOVEBOX))), "sdk")
CURRENT, OLD = "current", "old"  # a year older
PYTHON = {CURRENT: "2.63.0", OLD: "2.7.0"}
NODE = {CURRENT: "2.51.0", OLD: "2.7.0"}

# Names below it lead here, for programs with names_and_trust(). TLS for them and for localhost.
DOMAIN = "sandboxes.test"
NAMES_OF_PYTHON = """
import os, socket
ask = socket.getaddrinfo
def getaddrinfo(host, *words, **more):
    name = host.decode() if isinstance(host, bytes) else host
    return ask("127.0.0.1" if name and name.endswith(".DOMAIN") else host, *words, **more)
socket.getaddrinfo = getaddrinfo
try:
    import certifi
    certifi.where = lambda: os.environ["SSL_CERT_FILE"]
except ImportError:
    pass
""".replace("DOMAIN", DOMAIN)
NAMES_OF_NODE = """
const dns = require("dns"), ask = dns.lookup;
dns.lookup = (host, ...more) => ask(host.endsWith(".DOMAIN") ? "127.0.0.1" : host, ...more);
""".replace("DOMAIN", DOMAIN)


def _run(words, folder):
    """Skips when it fails: what is at fault is out of reach, and the last line says what."""
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=600, check=False)
    if done.returncode != 0:
        said = done.stdout.decode(errors="replace").strip().splitlines()
        raise unittest.SkipTest(f"{' '.join(words[:3])}: {said[-1] if said else done.returncode}")


def _get(name, fill):
    """The folder of that name, whole or not at all, also when two tests want it at once."""
    os.makedirs(FOLDER, exist_ok=True)
    path = os.path.join(FOLDER, name)
    with open(os.path.join(FOLDER, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(os.path.join(path, "whole")):
            shutil.rmtree(path, ignore_errors=True)
            os.mkdir(path)
            fill(path)
            with open(os.path.join(path, "whole"), "w", encoding="utf-8"):
                pass
    return path


def python(*packages):
    """A Python that has these packages ("e2b==2.63.0"): the path of its program."""
    def fill(path):
        _run(["python3", "-m", "venv", path], FOLDER)
        _run([os.path.join(path, "bin/pip"), "install", "--quiet", "--disable-pip-version-check", *packages], path)
    return os.path.join(_get("python-" + "+".join(packages), fill), "bin/python")


def node(*packages):
    """A folder from which node's programs find these packages ("e2b@2.51.0")."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise unittest.SkipTest(f"{program} is not here")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip().lstrip("v")
    if [int(n) for n in version.split(".")[:2]] < [20, 18]:
        raise unittest.SkipTest(f"node {version} is older than the SDKs need")

    def fill(path):
        with open(os.path.join(path, "package.json"), "w", encoding="utf-8") as f:
            f.write('{"private": true}\n')
        _run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *packages], path)
    return _get("node-" + "+".join(packages).replace("/", "_"), fill)


def make_certificate(folder):
    """(certificate, key): files."""
    return make_named_certificate(folder, "sandboxes", names=("DNS:localhost", f"DNS:*.{DOMAIN}"))


def names_and_trust(folder, certificate):
    """Variables of a program, Python's or node's, that goes here for names below DOMAIN, and trusts the certificate."""
    for name, text in (("sitecustomize.py", NAMES_OF_PYTHON), ("names.cjs", NAMES_OF_NODE)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    return {"SSL_CERT_FILE": certificate, "PYTHONPATH": folder, "NODE_EXTRA_CA_CERTS": certificate,
            "NODE_OPTIONS": f"--require {os.path.join(folder, 'names.cjs')}"}
