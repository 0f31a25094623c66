# SPDX-License-Identifier: Apache-2.0
"""TLS servers of internet.py, with certificates that are good, and some that are not."""
import json
import os
import ssl
import subprocess

ROOT = "root.pem"  # in the folder: the authority of all but the strangers
CONFIG = """
[ca]
default_ca = test
[test]
database = index
serial = serial
new_certs_dir = .
certificate = root.pem
private_key = key.pem
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
[root]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
"""


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)


def make_root(folder, name="root", subject="/CN=Test Root"):
    with open(os.path.join(folder, "ca.conf"), "w", encoding="utf-8") as f:
        f.write(CONFIG)
    for empty in ("index", "index.attr"):
        open(os.path.join(folder, empty), "w", encoding="utf-8").close()
    with open(os.path.join(folder, "serial"), "w", encoding="utf-8") as f:
        f.write("01\n")
    openssl(folder, "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", "key.pem")
    openssl(folder, "req", "-x509", "-new", "-config", "ca.conf", "-extensions", "root", "-key", "key.pem", "-subj", subject,
            "-days", "30", "-out", f"{name}.pem")


def make_leaf(folder, name, hosts, end=None):
    """One that the root signs; end: as YYMMDDHHMMSSZ."""
    names = ",".join(f"DNS:{host}" for host in hosts)
    openssl(folder, "req", "-new", "-config", "ca.conf", "-key", "key.pem", "-subj", f"/CN={hosts[0]}", "-addext",
            f"subjectAltName={names}", "-out", f"{name}.csr")
    span = ["-startdate", "200101000000Z", "-enddate", end] if end else ["-days", "30"]
    openssl(folder, "ca", "-batch", "-notext", "-config", "ca.conf", *span, "-in", f"{name}.csr", "-out", f"{name}.pem")


def make_certificates(folder):
    make_root(folder)
    make_leaf(folder, "good", ["*.good.test", "good.test", "api.test"])
    make_leaf(folder, "other", ["evil.test", "*.pkg.test"])
    make_leaf(folder, "expired", ["*.good.test"], "210101000000Z")
    # Signed by itself.
    openssl(folder, "req", "-x509", "-new", "-config", "ca.conf", "-key", "key.pem", "-subj", "/CN=api.good.test", "-addext",
            "subjectAltName=DNS:api.good.test", "-days", "30", "-out", "self.pem")


def context(folder, name):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    c.load_cert_chain(os.path.join(folder, f"{name}.pem"), os.path.join(folder, "key.pem"))
    return c


def mutual(folder):
    """One that wants to know who asks."""
    c = context(folder, "good")
    c.verify_mode = ssl.CERT_REQUIRED
    c.load_verify_locations(os.path.join(folder, ROOT))
    return c


def wrapped(handler, server_context):
    """The handler, behind TLS; a client that does not get through the handshake is let go."""
    class Wrapped(handler):
        def setup(self):
            try:
                self.request = server_context.wrap_socket(self.request, server_side=True)
                self.is_open = True
            except (ssl.SSLError, OSError):
                self.is_open = False
            super().setup()

        def handle(self):
            if self.is_open:
                super().handle()

        def finish(self):
            try:
                super().finish()
                self.request.unwrap()
            except (ssl.SSLError, OSError, ValueError):
                pass
    return Wrapped


def echo_of(request):
    """What a server saw of a request, as it says so itself."""
    return json.dumps({"method": request.command, "path": request.path,
                       "headers": [[name, value] for name, value in request.headers.items()]}).encode()
