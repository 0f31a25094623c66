#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""With a policy the sandbox's programs trust the gateway's own authority, without being set up: by files, by variables, and
for those with a scrubbed environment by files alone."""
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from cases import Case, main, run  # noqa: E402
from internet import Internet, veth_is_there  # noqa: E402

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
AUTHORITY = "/usr/local/share/ca-certificates/glovebox-ca.crt"
CERTIFI = "/usr/lib/python3/dist-packages/pip/_vendor/certifi/cacert.pem"
POLICY = ("--allow", "good.test")
# What turns verification off, or makes clients look at no file any more.
NEVER = ("NODE_TLS_REJECT_UNAUTHORIZED", "GIT_SSL_NO_VERIFY", "PYTHONHTTPSVERIFY", "SSL_CERT_DIR")
PROGRAMS = {name: shutil.which(name, path="/usr/bin:/usr/sbin")
            for name in ("busybox", "curl", "git", "java", "keytool", "node", "openssl", "ruby", "sudo", "su", "wget",
                         "update-ca-certificates")}
URL = "https://api.good.test/of-a-client"
NET = None


def network():
    """The internet, made once."""
    global NET
    if NET is None:
        folder = tempfile.mkdtemp(prefix="glovebox-net-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        NET = Internet(folder)
        atexit.register(NET.close)
    return NET


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Trust(Case):
    def need(self, *names):
        for name in names:
            if not PROGRAMS[name]:
                self.skipTest(f"{name} is not there")

    def shell(self, script, *options, policy=POLICY):
        done = run(*policy, *options, "--", "/bin/sh", "-c", script)
        self.expect(done)
        return done.stdout.decode()

    def python(self, code, *options, policy=POLICY):
        done = run(*policy, *options, "--", "/usr/bin/python3", "-c", "import json, os, ssl\n" + code)
        self.expect(done)
        return json.loads(done.stdout)

    def without_authority(self):
        """A policy that keeps it out."""
        return "--policy", self.path("p.json", json.dumps(
            {"version": 1, "tls": {"install_ca": False},
             "rules": [{"id": "a", "action": "allow", "to": {"domain": ["good.test"]}}]}))


class Files(Trust):
    def test_the_bundle_is_the_images_and_the_authority(self):
        if not os.path.exists(BUNDLE):
            self.skipTest("this machine has no bundle")
        before = read(BUNDLE)
        both = self.shell(f"cat {BUNDLE} {AUTHORITY}").encode()
        self.assertTrue(both.startswith(before + b"\n"))
        added = both[len(before) + 1:]
        authority = added[:len(added) // 2]
        self.assertEqual(added, authority + authority)
        self.assertRegex(authority, rb"\A-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+\n-----END CERTIFICATE-----\n\Z")
        self.assertEqual(read(BUNDLE), before)

    def test_each_sandbox_has_its_own(self):
        self.assertNotEqual(self.shell(f"cat {AUTHORITY}"), self.shell(f"cat {AUTHORITY}"))

    def test_openssl_finds_it_in_the_file_and_in_the_directory(self):
        self.need("openssl")
        said = self.shell(f"""
            unset SSL_CERT_FILE
            openssl verify {AUTHORITY}
            openssl verify -no-CApath -no-CAstore -CAfile {BUNDLE} {AUTHORITY}
            openssl verify -no-CAfile -no-CAstore -CApath /etc/ssl/certs {AUTHORITY}
            readlink -f /etc/ssl/certs/$(openssl x509 -in {AUTHORITY} -noout -subject_hash).0
        """)
        self.assertEqual(said.splitlines(), [f"{AUTHORITY}: OK"] * 3 + [AUTHORITY])

    def test_python_has_it_among_its_roots(self):
        code = f"""
own = ssl.PEM_cert_to_DER_cert(open("{AUTHORITY}").read())
context = ssl.create_default_context()
roots = context.get_ca_certs(binary_form=True)
print(json.dumps([own in roots, len(roots) > 1, context.verify_mode == ssl.CERT_REQUIRED]))
"""
        self.assertEqual(self.python(code), [True, True, True])
        self.assertEqual(self.python("for name in list(os.environ): del os.environ[name]\n" + code), [True, True, True])

    def test_roots_that_libraries_bring_along(self):
        if not os.path.exists(CERTIFI):
            self.skipTest("pip is not there")
        found = self.python(f"own = open('{AUTHORITY}').read()\nfound = open('{CERTIFI}').read()\n"
                            "print(json.dumps([found.endswith(own), found.count('BEGIN CERT')]))")
        self.assertEqual(found, [True, read(CERTIFI).count(b"BEGIN CERT") + 1])

    def test_java_has_it_among_its_roots(self):
        self.need("keytool")
        said = self.shell(f"cat {AUTHORITY}; keytool -exportcert -rfc -alias glovebox-ca -cacerts -storepass changeit")
        _, own, javas = said.split("-----BEGIN CERTIFICATE-----")
        self.assertEqual("".join(javas.split()), "".join(own.split()))

    def test_it_outlives_a_bundle_that_is_made_anew(self):
        self.need("update-ca-certificates", "openssl")
        # Without the public roots: a few hundred links, for each of which it starts a program.
        said = self.shell("find /etc/ssl/certs -type l -delete; "
                          "update-ca-certificates --certsconf /dev/null --hooksdir /none >/dev/null || exit; "
                          f"openssl verify -no-CApath -CAfile {BUNDLE} {AUTHORITY}; "
                          f"openssl verify -no-CAfile -CApath /etc/ssl/certs {AUTHORITY}", "--user", "root")
        self.assertEqual(said.splitlines(), [f"{AUTHORITY}: OK"] * 2)

    def test_an_image_of_its_own(self):
        """As Alpine has it, with a bundle elsewhere; and one with nothing."""
        if not PROGRAMS["busybox"]:
            self.skipTest("busybox is not there")
        if subprocess.run(["ldd", PROGRAMS["busybox"]], capture_output=True, check=False).returncode == 0:
            self.skipTest("busybox needs libraries, which the image has not")
        os.makedirs(self.path("image/bin"))
        shutil.copy(PROGRAMS["busybox"], self.path("image/bin/sh"))
        look = run(*POLICY, "--user", "0", "--image", self.path("image"), "--", "sh", "-c", f"cat {BUNDLE} {AUTHORITY}")
        self.expect(look)
        half = len(look.stdout) // 2
        self.assertEqual(look.stdout[:half], look.stdout[half:])
        os.makedirs(self.path("image/etc/ssl"))
        self.path("image/etc/ssl/cert.pem", "roots\n")
        look = run(*POLICY, "--user", "0", "--image", self.path("image"), "--", "sh", "-c",
                   f"cat {BUNDLE}; cat /etc/ssl/cert.pem; echo roots; echo; cat {AUTHORITY}")
        self.expect(look)
        third = len(look.stdout) // 3
        self.assertTrue(look.stdout.startswith(b"roots\n\n-----BEGIN"))
        self.assertEqual(look.stdout, look.stdout[:third] * 3)

    def test_nothing_of_it_when_the_policy_says_so(self):
        code = (f"print(json.dumps([os.path.exists('{AUTHORITY}'), os.path.exists('/etc/profile.d/glovebox-ca.sh'),"
                f"[n for n in os.listdir('/etc/ssl/certs') if 'glovebox' in n], 'SSL_CERT_FILE' in os.environ,"
                f"os.path.getsize('{BUNDLE}')]))")
        plain = [False, False, [], False, os.path.getsize(BUNDLE)]
        self.assertEqual(self.python(code, policy=self.without_authority()), plain)
        self.assertEqual(self.python(code, policy=()), plain)
        self.assertNotEqual(self.python(code), plain)


class Variables(Trust):
    def test_each_names_a_file_that_has_it(self):
        found = self.python(f"""
own = open("{AUTHORITY}").read()
paths = {{k: v for k, v in os.environ.items() if v.startswith(("/etc/ssl/", "/usr/local/share/ca"))}}
print(json.dumps([sorted(paths), [k for k, v in paths.items() if own not in open(v).read()], dict(os.environ)]))
""")
        names, without, everything = found
        for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "AWS_CA_BUNDLE", "GIT_SSL_CAINFO",
                     "CARGO_HTTP_CAINFO", "NODE_EXTRA_CA_CERTS", "npm_config_cafile", "DENO_CERT"):
            self.assertIn(name, names)
        self.assertEqual(without, [])
        # It adds to Node's roots; the others take the place of all roots.
        self.assertEqual([k for k in names if everything[k] == AUTHORITY], ["NODE_EXTRA_CA_CERTS"])
        self.assertEqual([k for k in NEVER if k in everything], [])

    def test_what_the_caller_says_holds(self):
        found = self.python("print(json.dumps([os.environ[k] for k in ('PIP_CERT', 'CURL_CA_BUNDLE', 'SSL_CERT_FILE')] +"
                            "['npm_config_cafile' in os.environ]))",
                            "--env", "PIP_CERT=/mine.pem", "--env", "CURL_CA_BUNDLE=", "--env", "NPM_CONFIG_CAFILE=/mine.pem")
        self.assertEqual(found, ["/mine.pem", "", BUNDLE, False])

    def test_those_of_another_user(self):
        self.need("sudo", "su")
        self.assertEqual(self.shell("sudo -n printenv SSL_CERT_FILE NODE_EXTRA_CA_CERTS").split(), [BUNDLE, AUTHORITY])
        self.assertEqual(self.shell("su - -c 'printenv SSL_CERT_FILE NODE_EXTRA_CA_CERTS'").split(), [BUNDLE, AUTHORITY])
        self.assertEqual(self.shell("SSL_CERT_FILE=/mine.pem bash -lc 'printenv SSL_CERT_FILE'").split(), ["/mine.pem"])


class Clients(Trust):
    """Requests over TLS that ends in the gateway, by programs that nobody has told of it."""

    def setUp(self):
        super().setUp()
        if not (os.getuid() == 0 and shutil.which("ip") and veth_is_there()):
            self.skipTest("needs root, ip(8) and veth, for network namespaces")

    def terminating(self, **tls):
        return "--policy", self.path("p.json", json.dumps(
            {"version": 1, "tls": {"mode": "terminate", "extra_ca_pem": [network().root], **tls},
             "rules": [{"id": "a", "action": "allow", "to": {"domain": ["api.good.test"]}, "ports": [443]}]}))

    def get(self, command, *options, scrubbed=True, asked="/of-a-client"):
        """Runs it with the variables of the sandbox, and without any. The server has what it asked for."""
        policy = self.terminating()
        script = self.path("script.sh", command)
        for start in ["/bin/sh /script.sh", 'env -i PATH="$PATH" HOME=/tmp /bin/sh /script.sh'][:1 + scrubbed]:
            before = len(NET.counts()["requests"])
            done = run(*policy, "--mount", f"{script}:/script.sh:ro", *options, "--", "/bin/sh", "-c", start)
            self.expect(done)
            self.assertEqual(NET.counts()["requests"][before:], [["GET", "api.good.test", asked]])

    def test_python(self):
        self.get(f"""/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen("{URL}").status)'""")

    def need_module(self, name):
        if run("--", "/usr/bin/python3", "-c", f"import {name}").returncode:
            self.skipTest(f"python3-{name} is not there")

    def test_python_requests(self):
        self.need_module("requests")
        self.get(f"""/usr/bin/python3 -c 'import requests; requests.get("{URL}").raise_for_status()'""")

    def test_python_httpx(self):
        """Both ways: the one that looks at the variables of OpenSSL, and the one that is asynchronous."""
        self.need_module("httpx")
        self.get(f"""/usr/bin/python3 -c 'import httpx; httpx.get("{URL}").raise_for_status()'""")
        code = self.path("a.py", f"""
import asyncio, httpx
async def get():
    async with httpx.AsyncClient() as client:
        (await client.get("{URL}")).raise_for_status()
asyncio.run(get())
""")
        self.get("/usr/bin/python3 /a.py", "--mount", f"{code}:/a.py:ro")

    def test_ruby(self):
        self.need("ruby")
        self.get(f"""ruby -ropen-uri -e 'print URI.open("{URL}").read'""")
        self.get(f"""ruby -rnet/http -e 'Net::HTTP.get_response(URI("{URL}")).value'""")

    def test_pip_and_what_it_carries(self):
        if not os.path.exists(CERTIFI):
            self.skipTest("pip is not there")
        self.get(f"""/usr/bin/python3 -c 'from pip._vendor import requests; requests.get("{URL}").raise_for_status()'""")

    def test_curl(self):
        self.need("curl")
        self.get(f"curl -fsS {URL}")

    def test_curl_where_the_policy_keeps_the_authority_out(self):
        self.need("curl")
        policy = self.terminating(install_ca=False)
        before = len(NET.counts()["requests"])
        done = run(*policy, "--", "curl", "-fsS", URL)
        self.assertEqual((done.returncode, done.stdout), (60, b""), done.stderr)  # CURLE_PEER_FAILED_VERIFICATION
        self.assertEqual(NET.counts()["requests"][before:], [])

    def test_wget(self):
        self.need("wget")
        self.get(f"wget -nv -O - {URL}")

    def test_openssl(self):
        """With the directory alone, too; and it is the authority that has signed."""
        self.need("openssl")
        request = "printf 'GET /of-a-client HTTP/1.1\\r\\nHost: api.good.test\\r\\nConnection: close\\r\\n\\r\\n'"
        client = "openssl s_client -quiet -verify_return_error -servername api.good.test -connect api.good.test:443"
        self.get(f"{request} | {client} -ign_eof")
        self.get(f"{request} | {client} -ign_eof -no-CAfile -CApath /etc/ssl/certs")

    def test_git(self):
        self.need("git")
        self.get(f"git ls-remote {URL} 2>&1 | grep -q 'not valid: .*git repository'",
                 asked="/of-a-client/info/refs?service=git-upload-pack")

    def test_node(self):
        """It has roots of its own, and looks at no others without variables."""
        self.need("node")
        self.get(f"""node -e 'fetch("{URL}").then(r => r.text()).then(console.log)'""", scrubbed=False)

    def test_java(self):
        self.need("java")
        program = self.path("Get.java", f"""
            public class Get {{
                public static void main(String[] words) throws Exception {{
                    new java.net.URL("{URL}").openStream().transferTo(System.out);
                }}
            }}""")
        self.get("java /Get.java", "--mount", f"{program}:/Get.java:ro", scrubbed=False)


if __name__ == "__main__":
    main(sys.modules["__main__"])
