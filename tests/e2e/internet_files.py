# SPDX-License-Identifier: Apache-2.0
"""What real clients get from internet.py: files (an index of packages is some of them), and git's smart HTTP."""
import os
import shutil
import subprocess

FILES, REPOSITORIES = "files", "git"  # in the internet's folder
BACKEND = "/usr/lib/git-core/git-http-backend"


def find(folder, path):
    """The file that a path names, or a folder's index.html."""
    at = os.path.normpath(os.path.join(folder, FILES, path.split("?")[0].lstrip("/")))
    if not at.startswith(os.path.join(folder, FILES) + "/"):
        return None
    at = os.path.join(at, "index.html") if os.path.isdir(at) else at
    return at if os.path.isfile(at) else None


def is_missing(folder, path):
    """It would be in a folder that is there."""
    parent = os.path.dirname(path.split("?")[0]).strip("/")
    return bool(parent) and ".." not in parent and os.path.isdir(os.path.join(folder, FILES, parent))


def content_of(request):
    """Of a request, however it is framed."""
    if request.headers.get("Transfer-Encoding") != "chunked":
        return request.rfile.read(int(request.headers.get("Content-Length", 0)))
    content = b""
    while size := int(request.rfile.readline(), 16):
        content += request.rfile.read(size)
        request.rfile.readline()
    request.rfile.readline()
    return content


def serve_git(folder, request):
    """What /git/... is for; returns what came of it: (status, fields, content). RFC 3875."""
    path, _, query = request.path.partition("?")
    done = subprocess.run([BACKEND], input=content_of(request), capture_output=True, check=False, env={
        "PATH": "/usr/bin:/bin", "GIT_PROJECT_ROOT": os.path.join(folder, REPOSITORIES), "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
        "GIT_CONFIG_KEY_1": "http.receivepack", "GIT_CONFIG_VALUE_1": "true",
        "PATH_INFO": path.removeprefix("/git"), "QUERY_STRING": query, "REQUEST_METHOD": request.command,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""), "REMOTE_USER": "robot", "REMOTE_ADDR": "192.0.2.1",
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "HTTP_GIT_PROTOCOL": request.headers.get("Git-Protocol", "")})
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
    return int(fields.pop("Status", "200").split()[0]), fields, content


def publish(folder, name, data):
    """Puts a file there."""
    path = os.path.join(folder, FILES, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def make_repository(folder, name):
    """A bare one with one commit; returns its path."""
    bare, work = os.path.join(folder, REPOSITORIES, name), os.path.join(folder, "work")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q", "--bare", bare], ["init", "-q", work]):
        subprocess.run([*git, *words], check=True)
    with open(os.path.join(work, "file"), "wb") as f:
        f.write(os.urandom(200000))
    for words in (["add", "."], ["commit", "-q", "-m", "first"], ["push", "-q", bare, "HEAD:main"]):
        subprocess.run([*git, "-C", work, *words], check=True)
    shutil.rmtree(work)
    return bare
