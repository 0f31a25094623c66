#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Package managers against the registries that they are set to on this machine, with those registries' hosts allowed and nothing
else. Where one can't be reached from here, its test is skipped; clients_test.py has the same programs with a server of its own."""
import glob
import ipaddress
import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, main  # noqa: E402

OPERATOR = "/etc/glovebox"
TRIES = 3
PATH = "/usr/local/go/bin:/usr/bin:/bin"


def said_by(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=LIMIT)
    return done.stdout.strip() if done.returncode == 0 else ""


class Registries(Case):
    def setUp(self):
        super().setUp()
        self.log = self.path("egress.log")

    def need(self, *programs):
        for program in programs:
            if not shutil.which(program, path=PATH):
                self.skipTest(f"{program} is not there")

    def fetch(self, url, **fields):
        """What this machine gets there, without a sandbox."""
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=fields), timeout=20) as answer:
                return answer.read()
        except OSError as e:
            self.skipTest(f"{url}: {e}")

    def closed_addresses(self, hosts):
        """A registry in the machine's own network is in the floor, so the operator has to open its addresses, and the policy, too."""
        found = set()
        for host in hosts:
            try:
                found |= {a[4][0] for a in socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM)}
            except OSError as e:
                self.skipTest(f"{host}: {e}")
        return sorted(a for a in found if not ipaddress.ip_address(a).is_global)

    def inside(self, script, hosts, *options, ports=(443,)):
        """Only hosts are allowed."""
        closed = self.closed_addresses(hosts)
        rules = [{"id": "registry", "action": "allow", "to": {"domain": hosts}, "ports": list(ports)}]
        command = [GLOVEBOX, "run"]
        if closed:
            if os.getuid() != 0:
                self.skipTest(f"{closed[0]} is in the floor, and only root can open that for a test")
            nets = [str(ipaddress.ip_network(a)) for a in closed]
            rules.append({"id": "near", "action": "allow", "to": {"cidr": nets}, "ports": list(ports)})
            config = self.path("config", f"floor-except = {', '.join(nets)}\n")
            os.makedirs(OPERATOR, exist_ok=True)
            command = ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none {OPERATOR} && cp {config} {OPERATOR}/config && "
                       'chmod 644 /etc/glovebox/config && exec "$@"', "sh", *command]
        policy = self.path("policy.json", json.dumps({"version": 1, "rules": rules}))
        return subprocess.run([*command, "--policy", policy, "--egress-log", self.log, *options, "--", "/bin/sh", "-ec",
                               f"export HOME=/tmp PATH={PATH}\ncd /tmp\n{script}"],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)

    def get(self, script, hosts, *options, ports=(443,)):
        """It works, though not always at once: another's server is asked. And no connection goes to another name."""
        done = self.inside(script, hosts, *options, ports=ports)
        for _ in range(TRIES - 1):
            if done.returncode != 0:
                done = self.inside(script, hosts, *options, ports=ports)
        self.expect(done)
        with open(self.log, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        allowed = {d.get("name") for d in lines if d["event"] == "connect" and d.get("decision") == "allow"}
        self.assertTrue(allowed and allowed <= set(hosts), allowed)
        return done.stdout.decode()

    def test_pip(self):
        if not os.path.isdir("/usr/lib/python3/dist-packages/pip"):
            self.skipTest("pip is not there")
        python = "/usr/bin/python3"
        index = (os.environ.get("PIP_INDEX_URL") or said_by(python, "-m", "pip", "config", "get", "global.index-url") or
                 said_by(python, "-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"))
        url = f"{index.rstrip('/')}/six/"
        page = json.loads(self.fetch(url, Accept="application/vnd.pypi.simple.v1+json"))
        hosts = sorted({urllib.parse.urlsplit(urllib.parse.urljoin(url, u)).hostname
                        for u in [index, *(f["url"] for f in page["files"])]})
        script = f"{python} -m pip download -q --retries 1 --no-deps --no-cache-dir --disable-pip-version-check -i {index} six\nls"
        self.assertIn("six-", self.get(script, hosts))
        if len(hosts) == 1:
            return
        os.unlink(self.log)
        own, files = urllib.parse.urlsplit(index).hostname, [h for h in hosts if h not in index]
        done = self.inside(script, [own])
        self.assertNotEqual(done.returncode, 0)
        with open(self.log, encoding="utf-8") as f:
            denied = {(d["name"], d["reason"]) for d in map(json.loads, f) if d.get("decision") == "deny"}
        self.assertEqual(denied, {(files[0], "dns_name")})
        self.assertIn(files[0].encode(), done.stderr)

    def test_npm(self):
        self.need("npm", "node")
        registry = said_by("npm", "config", "get", "registry")
        self.fetch(f"{registry.rstrip('/')}/is-number")
        hosts = [urllib.parse.urlsplit(registry).hostname]
        self.assertEqual(self.get(f"npm pack --silent --registry {registry} is-number@7.0.0", hosts), "is-number-7.0.0.tgz\n")

    def test_go(self):
        self.need("go")
        proxy = said_by(shutil.which("go", path=PATH), "env", "GOPROXY").replace("|", ",").split(",")[0]
        if not proxy.startswith("https:"):
            self.skipTest(f"GOPROXY is {proxy}")
        self.fetch(f"{proxy}/rsc.io/quote/@v/v1.5.2.info")
        hosts = [urllib.parse.urlsplit(proxy).hostname]
        said = self.get(f"export GOPROXY={proxy} GONOSUMDB='*' GOFLAGS=-modcacherw GOTOOLCHAIN=local\ngo mod init x.test/x 2>&1\n"
                        "go mod download -json rsc.io/quote@v1.5.2 | grep '\"Version\"'", hosts)
        self.assertIn('"v1.5.2"', said)

    def test_cargo(self):
        found = shutil.which("cargo", path="/usr/bin") or shutil.which("cargo")
        if not found:
            self.skipTest("cargo is not there")
        root = said_by(os.path.join(os.path.dirname(found), "rustc"), "--print", "sysroot")
        where, options = ("/opt/rust/bin", ["--mount", f"{root}:/opt/rust:ro"]) if root != "/usr" else ("/usr/bin", [])
        script = ("cargo new -q --vcs none --name x x\ncd x\necho 'cfg-if = \"=1.0.0\"' >> Cargo.toml\n"
                  "cargo fetch -q\nls $CARGO_HOME/registry/src/*")
        # Which registry it goes to it does not say; it has a folder of that name when it was there.
        home = self.path("cargo")
        try:
            subprocess.run(["sh", "-ec", script], env=os.environ | {"CARGO_HOME": home}, cwd=self.folder, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=20, check=False)
        except subprocess.TimeoutExpired:
            pass
        configs = glob.glob(f"{home}/registry/index/*/config.json")
        if len(configs) != 1 or not os.path.isdir(f"{home}/registry/src"):
            self.skipTest("cargo has no registry here")
        with open(configs[0], encoding="utf-8") as f:
            files = urllib.parse.urlsplit(json.load(f)["dl"]).hostname
        hosts = sorted({os.path.basename(os.path.dirname(configs[0])).rpartition("-")[0], files})
        said = self.get(f"export CARGO_HOME=/tmp/cargo PATH={where}:$PATH CARGO_REGISTRIES_CRATES_IO_PROTOCOL=sparse\n{script}",
                        hosts, *options)
        self.assertIn("cfg-if-1.0.0", said)

    def test_apt(self):
        """A list of packages, signed, and the first of them."""
        self.need("apt-get", "gpgv")
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        targets = said_by("apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(ORIGIN)").splitlines()
        small = [line.split()[:2] for line in targets if line.endswith(("-updates Debian", "-security Debian"))]
        if not small or not os.path.exists(keys):
            self.skipTest("apt has no small list of Debian's here")
        site, suite = small[0]
        self.fetch(f"{site}/dists/{suite}/InRelease")
        hosts = [urllib.parse.urlsplit(site).hostname]
        said = self.get(f"""
            mkdir -p a/etc/apt.conf.d a/etc/preferences.d a/state/lists/partial a/cache/archives/partial
            cd a
            touch state/status
            echo 'deb [signed-by={keys}] {site} {suite} main' > etc/sources.list
            options="-q -o Dir::Etc=/tmp/a/etc -o Dir::State=/tmp/a/state -o Dir::State::status=/tmp/a/state/status
                     -o Dir::Cache=/tmp/a/cache -o APT::Sandbox::User="
            apt-get $options --error-on=any update >&2
            set -- $(apt-cache $options pkgnames tz)
            apt-get $options download $1 >&2
            ls *.deb
        """, hosts, ports=(80, 443))
        self.assertRegex(said, r"\Atz.*\.deb\n\Z")


if __name__ == "__main__":
    main(sys.modules["__main__"])
