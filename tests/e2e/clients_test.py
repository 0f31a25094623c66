#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people use, through the gateway: git, package managers, downloaders; with TLS that passes through, and with TLS that
ends in the gateway. trust_test.py has that they trust it."""
import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

sys.dont_write_bytecode = True
import inspect_test  # noqa: E402
import internet_files  # noqa: E402
from cases import main, run  # noqa: E402
from egress_test import domain, network  # noqa: E402

HOST = "https://api.good.test"
MODES = "passthrough", "terminate"


def wheel():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as z:
        files = {"tiny.py": "VALUE = 42\n",
                 "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
                 "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
        for name, text in files.items():
            z.writestr(name, text)
        z.writestr("tiny-1.0.dist-info/RECORD", "".join(f"{name},,\n" for name in files) + "tiny-1.0.dist-info/RECORD,,\n")
    return packed.getvalue()


def tarball(folder, files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as t:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(text)
            t.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


class Clients(inspect_test.Inspect):
    def setUp(self):
        super().setUp()
        self.served = network().folder

    def need(self, *programs):
        for program in programs:
            if not shutil.which(program, path="/usr/local/go/bin:/usr/bin:/bin"):
                self.skipTest(f"{program} is not there")

    def shell(self, script, mode, *options, status=0):
        policy = self.policy(domain("api.good.test", tls=mode))
        done = run(*policy, "--egress-log", self.log, *options, "--", "/bin/sh", "-ec", script)
        self.expect(done, status)
        return done.stdout.decode()

    def each(self, script, expected, *options):
        """Both ways; only where TLS ends in the gateway are there requests in its record."""
        for mode in MODES:
            with self.subTest(mode):
                self.assertEqual(self.shell(script, mode, *options), expected)
                self.assertEqual(bool(self.decisions("request")), mode == "terminate")
                os.unlink(self.log)

    def test_git_clones_fetches_and_pushes(self):
        self.need("git")
        if not os.path.exists(internet_files.BACKEND):
            self.skipTest("git-http-backend is not there")
        for number, mode in enumerate(MODES):
            bare = internet_files.make_repository(self.served, f"{mode}.git")
            with self.subTest(mode):
                said = self.shell(f"""
                    export HOME=/tmp
                    git -c protocol.version={number + 1} clone -q {HOST}/git/{mode}.git /tmp/c
                    cd /tmp/c
                    head -c 3000000 /dev/urandom > large
                    git add large
                    git -c user.name=A -c user.email=a@example.com commit -q -m second
                    git -c http.postBuffer=1024 push -q origin HEAD:next
                    git fetch -q
                    git rev-parse HEAD origin/next
                    git ls-remote {HOST.replace("api.", "git.")}/git/{mode}.git 2>/dev/null || echo no
                """, mode).split()
                there = subprocess.run(["git", "-c", "safe.directory=*", "-C", bare, "rev-parse", "next"], check=True,
                                       capture_output=True, text=True).stdout.strip()
                self.assertEqual(said, [there, there, "no"])

    def test_pip(self):
        if not os.path.isdir("/usr/lib/python3/dist-packages/pip"):
            self.skipTest("pip is not there")
        data = wheel()
        name = "tiny-1.0-py3-none-any.whl"
        internet_files.publish(self.served, f"packages/{name}", data)
        internet_files.publish(self.served, "simple/tiny/index.html", f'<!DOCTYPE html><a href="/packages/{name}#sha256='
                               f'{hashlib.sha256(data).hexdigest()}">{name}</a>')
        self.each(f"/usr/bin/python3 -m pip install -q --no-cache-dir --disable-pip-version-check --target /tmp/t "
                  f"--index-url {HOST}/simple tiny >&2\nPYTHONPATH=/tmp/t /usr/bin/python3 -c 'import tiny; print(tiny.VALUE)'", "42\n")

    def test_apt(self):
        """A list of packages, and one of them, from a repository that the user trusts."""
        self.need("apt-get", "dpkg-deb")
        os.makedirs(self.path("tiny/DEBIAN"))
        control = "Package: tiny\nVersion: 1.0\nArchitecture: all\nMaintainer: A <a@example.com>\nDescription: tiny\n"
        self.path("tiny/DEBIAN/control", control)
        subprocess.run(["dpkg-deb", "--build", self.path("tiny"), self.path("tiny.deb")], check=True, capture_output=True)
        with open(self.path("tiny.deb"), "rb") as f:
            data = f.read()
        packages = control + f"Filename: ./tiny.deb\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
        internet_files.publish(self.served, "apt/tiny.deb", data)
        internet_files.publish(self.served, "apt/Packages", packages)
        internet_files.publish(self.served, "apt/Release", "Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n "
                               f"{hashlib.sha256(packages.encode()).hexdigest()} {len(packages)} Packages\n")
        self.each(f"""
            mkdir -p /tmp/a/etc/apt.conf.d /tmp/a/etc/preferences.d /tmp/a/state/lists/partial /tmp/a/cache/archives/partial
            cd /tmp/a
            touch state/status
            echo 'deb [trusted=yes] {HOST}/apt ./' > etc/sources.list
            options="-q -o Dir::Etc=/tmp/a/etc -o Dir::State=/tmp/a/state -o Dir::State::status=/tmp/a/state/status
                     -o Dir::Cache=/tmp/a/cache -o APT::Sandbox::User="
            apt-get $options --error-on=any update >&2
            apt-get $options download tiny >&2
            dpkg-deb -f tiny_1.0_all.deb Package Version
        """, "Package: tiny\nVersion: 1.0\n")

    def test_npm(self):
        self.need("npm", "node")
        data = tarball("package", {"package.json": '{"name": "tiny", "version": "1.0.0"}', "index.js": "module.exports = 42"})
        internet_files.publish(self.served, "npm/tiny-1.0.0.tgz", data)
        version = {"name": "tiny", "version": "1.0.0", "dist": {
            "tarball": f"{HOST}/npm/tiny-1.0.0.tgz",
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()}}
        internet_files.publish(self.served, "npm/tiny/index.html", json.dumps(
            {"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}))
        self.each(f"""
            export HOME=/tmp
            mkdir /tmp/n
            cd /tmp/n
            npm install --silent --no-audit --no-fund --no-update-notifier --registry {HOST}/npm/ tiny >&2
            node -p 'require("tiny")'
        """, "42\n")

    def test_go(self):
        self.need("go")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as z:
            for name, text in {"go.mod": "module example.com/tiny\n", "tiny.go": "package tiny\n"}.items():
                z.writestr(f"example.com/tiny@v1.0.0/{name}", text)
        for name, data in {"list": "v1.0.0\n", "v1.0.0.info": '{"Version": "v1.0.0"}', "v1.0.0.mod": "module example.com/tiny\n",
                           "v1.0.0.zip": packed.getvalue()}.items():
            internet_files.publish(self.served, f"go/example.com/tiny/@v/{name}", data)
        self.each(f"""
            export HOME=/tmp PATH=/usr/local/go/bin:$PATH GOPROXY={HOST}/go GONOSUMDB='*' GOFLAGS=-modcacherw GOTOOLCHAIN=local
            mkdir /tmp/g
            cd /tmp/g
            go mod init example.com/x 2>/dev/null
            go mod download -json example.com/tiny@v1.0.0 | grep '"Version"'
        """, '\t"Version": "v1.0.0",\n')

    def test_cargo(self):
        """A crate from a registry, built, and run; with Debian's cargo, or with that of whoever runs the tests."""
        self.need("gcc")
        found = shutil.which("cargo", path="/usr/bin") or shutil.which("cargo")
        if not found:
            self.skipTest("cargo is not there")
        version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout.split()
        if len(version) < 2 or [int(n) for n in version[1].split(".")[:2]] < [1, 68]:
            self.skipTest(f"cargo {' '.join(version[1:2])} has no sparse registries; 1.68 has")
        root = subprocess.run([os.path.join(os.path.dirname(found), "rustc"), "--print", "sysroot"], capture_output=True,
                              text=True, check=True).stdout.strip()
        where, options = ("/opt/rust/bin", ["--mount", f"{root}:/opt/rust:ro"]) if root != "/usr" else ("/usr/bin", [])
        data = tarball("tiny-1.0.0", {"Cargo.toml": '[package]\nname = "tiny"\nversion = "1.0.0"\n',
                                      "src/lib.rs": "pub const VALUE: u32 = 42;\n"})
        line = {"name": "tiny", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
                "cksum": hashlib.sha256(data).hexdigest()}
        internet_files.publish(self.served, "crates/config.json", json.dumps({"dl": f"{HOST}/dl/{{crate}}-{{version}}.crate"}))
        internet_files.publish(self.served, "crates/ti/ny/tiny", json.dumps(line) + "\n")
        internet_files.publish(self.served, "dl/tiny-1.0.0.crate", data)
        self.each(f"""
            export HOME=/tmp CARGO_HOME=/tmp/cargo PATH={where}:$PATH CARGO_REGISTRIES_OWN_INDEX=sparse+{HOST}/crates/
            cargo new -q --vcs none --name use-tiny /tmp/r
            cd /tmp/r
            echo 'tiny = {{ version = "1", registry = "own" }}' >> Cargo.toml
            echo 'fn main() {{ println!("{{}}", tiny::VALUE) }}' > src/main.rs
            cargo run -q
        """, "42\n", *options)

    def test_downloaders_and_large_files(self):
        self.need("curl", "wget")
        internet_files.publish(self.served, "large", os.urandom(3000000))
        self.each(f"""
            cd /tmp
            curl -fsS -o a {HOST}/large
            wget -q -O b {HOST}/large
            cmp a b
            curl -fsS -F file=@b -o /dev/null -w '%{{http_code}} %{{http_version}} %{{size_upload}}\\n' {HOST}/ | cut -c1-7
            curl -fsS --data-binary @b -H 'Transfer-Encoding:' -H 'Expect: 100-continue' -o /dev/null -w '%{{http_code}}\\n' {HOST}/
        """, "200 1.1\n200\n")

    def test_a28_a_user_before_the_host(self):
        self.need("curl")
        for mode in MODES:
            said = self.shell("curl -sS https://api.good.test@evil.test/ || echo $?", mode)
            self.assertEqual(said, "6\n")  # CURLE_COULDNT_RESOLVE_HOST
        self.assertEqual((self.came_in()["requests"], self.came_in()["queries"]), ([], []))

    def test_a1_an_address_on_the_command_line(self):
        self.need("curl")
        for mode in MODES:
            self.shell(f"curl -fsS -o /dev/null --resolve api.good.test:443:45.33.32.66 {HOST}/resolved", mode)
        self.expect_connections(["45.33.32.10:443"] * 2)
        self.assertEqual(len(self.came_in()["requests"]), 2)

    def test_openssl_sees_whose_certificate_it_is(self):
        self.need("openssl")
        script = "openssl s_client -verify_return_error -servername api.good.test -connect api.good.test:443 </dev/null 2>/dev/null"
        for mode, whose in zip(MODES, (True, False)):
            said = self.shell(f"{script} | grep -c 'issuer.*Test Root' || true", mode)
            self.assertEqual(said != "0\n", whose)

    def test_node_with_a_connection_that_is_kept(self):
        self.need("node")
        code = f"""
(async () => {{
  const said = [];
  for (let i = 0; i < 3; i++) {{
    const r = await fetch("{HOST}/n" + i, {{method: i ? "POST" : "GET", body: i ? "x".repeat(100000) : undefined}});
    said.push(r.status, (await r.text()).length > 0);
  }}
  console.log(said.join(" "));
}})()"""
        script = self.path("n.js", code)
        self.each("node /n.js", "200 true 200 true 200 true\n", "--mount", f"{script}:/n.js:ro",
                  "--env", "NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt")  # with the internet's root, too


if __name__ == "__main__":
    main(sys.modules["__main__"])
