# SPDX-License-Identifier: Apache-2.0
"""Files of a sandbox: written, read, listed, moved, watched; and addresses that need no key."""
import os
import time
import urllib.error
import urllib.parse
import urllib.request

import sdk
from sdk import Watch, box, case, equal, raises

MISSING = ("FileNotFoundException", "NotFoundException")


@case()
async def written_and_read():
    async with box() as sandbox:
        for path in ("a.txt", "/tmp/b.txt", "deep/er/c.txt", "sp ace/ü%41+&.txt"):
            wrote = await sandbox.files.write(path, f"of {path}")
            expected = path if path.startswith("/") else f"/home/user/{path}"
            equal((wrote.path, wrote.name), (expected, os.path.basename(path)))
            equal(await sandbox.files.read(path), f"of {path}")
        await sandbox.files.write("a.txt", "again")
        equal(await sandbox.files.read("~/a.txt"), "again")
        equal((await sandbox.commands.run("stat -c '%a %U %G' a.txt deep")).stdout, "644 user user\n755 user user\n")


@case()
async def bytes_and_streams():
    data = os.urandom(1 << 20) * 5
    async with box() as sandbox:
        await sandbox.files.write("big", data)
        equal(bytes(await sandbox.files.read("big", format="bytes")) == data, True)
        stream = await sandbox.files.read("big", format="stream")
        pieces = [p async for p in stream] if sdk.FACE == "async" else list(stream)
        equal(b"".join(pieces) == data, True)
        await sandbox.files.write("empty", b"")
        equal((await sandbox.files.read("empty"), bytes(await sandbox.files.read("empty", format="bytes"))), ("", b""))
        assert "processor" in await sandbox.files.read("/proc/cpuinfo")


@case()
async def many_at_once():
    async with box() as sandbox:
        names = [f"many/{i}" for i in range(30)]
        wrote = await sandbox.files.write_files([{"path": n, "data": f"of {n}"} for n in names])
        equal([w.path for w in wrote], [f"/home/user/{n}" for n in names])
        equal(await sandbox.files.read("many/29"), "of many/29")
        equal(await sandbox.files.write_files([]), [])


@case()
async def as_another_user():
    async with box() as sandbox:
        await sandbox.files.write("r", "root's", user="root")
        equal(await sandbox.files.read("/root/r", user="root"), "root's")
        equal((await sandbox.files.get_info("r", user="root")).owner, "root")
        with raises(MISSING):
            await sandbox.files.read("r")
        with raises("AuthenticationException"):
            await sandbox.files.read("r", user="nobodyhere")


@case()
async def listed():
    async with box() as sandbox:
        await sandbox.commands.run("mkdir -p d/sub/deep; echo 12345 > d/f; ln -s f d/link; chmod 1777 d/sub; ln -s none d/broken")
        entries = {e.name: e for e in await sandbox.files.list("d")}
        equal(sorted(entries), ["f", "link", "sub"])
        f, sub, link = entries["f"], entries["sub"], entries["link"]
        equal((f.type.value, f.size, f.mode, f.permissions, f.owner, f.group), ("file", 6, 0o644, "-rw-r--r--", "user", "user"))
        equal((sub.type.value, sub.path, sub.permissions), ("dir", "/home/user/d/sub", "dtrwxrwxrwx"))
        equal((link.symlink_target, f.symlink_target), ("/home/user/d/f", None))
        assert abs(f.modified_time.timestamp() - time.time()) < 60
        equal([e.path for e in await sandbox.files.list("d", depth=3) if e.type.value == "dir"],
              ["/home/user/d/sub", "/home/user/d/sub/deep"])
        with raises(MISSING, "nosuch"):
            await sandbox.files.list("nosuch")
        with raises("InvalidArgumentException"):
            await sandbox.files.list("d/f")
        with raises("InvalidArgumentException"):
            await sandbox.files.list("d", depth=0)


@case()
async def made_moved_removed():
    async with box() as sandbox:
        equal(await sandbox.files.make_dir("new/er"), True)
        equal(await sandbox.files.make_dir("new/er"), False)
        await sandbox.files.write("new/f", "content")
        with raises("InvalidArgumentException"):
            await sandbox.files.make_dir("new/f")
        moved = await sandbox.files.rename("new/f", "other/place")
        equal((moved.path, moved.name), ("/home/user/other/place", "place"))
        equal((await sandbox.files.exists("new/f"), await sandbox.files.exists("other/place")), (False, True))
        with raises(MISSING):
            await sandbox.files.rename("new/f", "x")
        await sandbox.files.remove("other")
        await sandbox.files.remove("other")
        equal(await sandbox.files.exists("other"), False)
        with raises(MISSING, "other/place"):
            await sandbox.files.read("other/place")
        with raises("InvalidArgumentException"):
            await sandbox.files.read("new")
        with raises(MISSING):
            await sandbox.files.get_info("other")


@case()
async def watched():
    async with box() as sandbox:
        await sandbox.files.make_dir("w")
        watch = await Watch().start(sandbox, "w")
        await sandbox.commands.run("echo a > w/f; echo b >> w/f; chmod 600 w/f; mv w/f w/g; rm w/g")
        for kind, name in (("create", "f"), ("write", "f"), ("chmod", "f"), ("rename", "f"), ("remove", "g")):
            await watch.wait_for(kind, name)
        await watch.handle.stop()
        for path in ("nosuch", "/etc/passwd"):
            with raises(MISSING + ("SandboxException",), path):
                await Watch().start(sandbox, path)


@case()
async def watched_with_what_is_below():
    async with box() as sandbox:
        await sandbox.files.make_dir("w/there")
        watch = await Watch().start(sandbox, "w", recursive=True)
        await sandbox.files.write("w/there/f", "x")
        await watch.wait_for("write", "there/f")
        await sandbox.commands.run("mkdir w/later")
        await watch.wait_for("create", "later")
        await sandbox.files.write("w/later/g", "x")
        await watch.wait_for("write", "later/g")
        await watch.handle.stop()


@case(since=(2, 45, 0))
async def watched_with_what_it_is():
    async with box() as sandbox:
        await sandbox.files.make_dir("w")
        watch = await Watch().start(sandbox, "w", include_entry=True)
        await sandbox.files.write("w/f", "five5")
        await watch.wait_for("write", "f")
        entry = next(e for e in watch.events if e.type.value == "write").entry
        equal((entry.path, entry.type.value, entry.size, entry.owner), ("/home/user/w/f", "file", 5, "user"))
        await sandbox.files.remove("w/f")
        await watch.wait_for("remove", "f")
        equal(next(e for e in watch.events if e.type.value == "remove").entry, None)
        await watch.handle.stop()


def fetch(url, data=None, kind=None):
    request = urllib.request.Request(url, data=data, headers={"Content-Type": kind} if kind else {})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as e:
        return e.code, e.read()


@case()
async def addresses_without_a_key():
    async with box() as sandbox, box() as other:
        await sandbox.files.write("s ü.txt", "shared")
        equal(fetch(sandbox.download_url("s ü.txt")), (200, b"shared"))
        equal(fetch(sandbox.download_url("s ü.txt", use_signature_expiration=1000)), (200, b"shared"))
        status, said = fetch(sandbox.download_url("s ü.txt", use_signature_expiration=-10))
        equal((status, said), (401, b'{"code":401,"message":"signature is already expired"}'))
        equal(fetch(sandbox.download_url("nosuch"))[0], 404)
        equal(fetch(other.download_url("s ü.txt"))[0], 404)
        url = sandbox.download_url("s ü.txt")
        for wrong in (url.replace("signature=v1_", "signature=v1_x"), url.replace("path=s", "path=t"),
                      url.replace("path=s", "username=root&path=s")):
            equal(fetch(wrong)[0], 401)
        body = b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nuploaded\r\n--x--\r\n'
        status, _ = fetch(sandbox.upload_url("up.txt", use_signature_expiration=1000), body, "multipart/form-data; boundary=x")
        equal((status, await sandbox.files.read("up.txt")), (200, "uploaded"))
        equal(fetch(sandbox.download_url("up.txt"), body, "multipart/form-data; boundary=x")[0], 401)
        status, _ = fetch(sandbox.upload_url("r.txt", user="root"), body, "multipart/form-data; boundary=x")
        equal((status, await sandbox.files.read("/root/r.txt", user="root")), (200, "uploaded"))


@case(since=(2, 30, 0))
async def with_words_beside():
    """metadata of files, kept in extended attributes."""
    async with box() as sandbox:
        wrote = await sandbox.files.write("m", "x", metadata={"Purpose": "a test"})
        equal(wrote.metadata, {"purpose": "a test"})
        equal((await sandbox.files.get_info("m")).metadata, {"purpose": "a test"})
        await sandbox.files.write("m", "x")
        assert not (await sandbox.files.get_info("m")).metadata


@case(since=(2, 20, 0))
async def packed_on_the_way():
    text = "packed " * 100000
    async with box() as sandbox:
        await sandbox.files.write("z", text, gzip=True)
        equal(await sandbox.files.read("z", gzip=True), text)


sdk.main()
