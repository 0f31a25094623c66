#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""threading, asyncio, sqlite3, tempfile, pty, ctypes, mmap, signals, sockets and venv."""
import asyncio
import ctypes
import json
import mmap
import os
import pty
import queue
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import zipfile


def expect(name, got, wanted):
    if got != wanted:
        sys.exit(print(f"FAIL: {name}: {got!r}, not {wanted!r}") or 1)


def with_threads():
    work, results = queue.Queue(), []
    lock = threading.Lock()

    def worker():
        while (n := work.get()) is not None:
            with lock:
                results.append(n * 2)
    threads = [threading.Thread(target=worker) for _ in range(16)]
    for t in threads:
        t.start()
    for n in range(5000):
        work.put(n)
    for _ in threads:
        work.put(None)
    for t in threads:
        t.join(60)
    expect("threads", sorted(results), [n * 2 for n in range(5000)])
    barrier, event = threading.Barrier(8), threading.Event()
    passed = []
    for _ in range(8):
        threading.Thread(target=lambda: (barrier.wait(60), event.wait(60), passed.append(1))).start()
    event.set()
    end = time.monotonic() + 60
    while len(passed) < 8 and time.monotonic() < end:
        time.sleep(0.01)
    expect("barrier and event", len(passed), 8)


async def with_asyncio():
    async def echo(reader, writer):
        writer.write(await reader.read())
        await writer.drain()
        writer.close()

    async def ask(port, n):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"x" * n)
        writer.write_eof()
        data = await reader.read()
        writer.close()
        return len(data)
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    expect("asyncio sockets", await asyncio.gather(*(ask(port, n * 1000) for n in range(30))),
           [n * 1000 for n in range(30)])
    server.close()
    process = await asyncio.create_subprocess_shell("cat; exit 4", stdin=-1, stdout=-1)
    out, _ = await process.communicate(b"y" * 100000)
    expect("asyncio subprocess", (len(out), process.returncode), (100000, 4))
    try:
        await asyncio.wait_for(asyncio.sleep(30), 0.1)
        expect("asyncio timeout", "none", "TimeoutError")
    except asyncio.TimeoutError:
        pass
    expect("asyncio thread", await asyncio.to_thread(os.getpid), os.getpid())
    got = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, got.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.wait_for(got.wait(), 20)


def with_sqlite():
    db = sqlite3.connect("t.db")
    db.execute("pragma journal_mode=wal")
    db.execute("create table t(n integer primary key, s text)")
    with db:
        db.executemany("insert into t values(?, ?)", ((n, str(n)) for n in range(20000)))
    other = sqlite3.connect("t.db", timeout=0.1)
    db.execute("begin immediate")
    try:
        other.execute("insert into t values(-1, 'x')")
        expect("sqlite lock", "none", "OperationalError")
    except sqlite3.OperationalError:
        db.rollback()
    expect("sqlite", other.execute("select count(*), max(n) from t").fetchone(), (20000, 19999))
    countries = json.load(open("/usr/share/iso-codes/json/iso_3166-1.json", encoding="utf-8"))["3166-1"]
    expect("countries", len(countries), 249)


def with_files():
    with tempfile.NamedTemporaryFile() as f:
        f.write(b"x" * 10000)
        f.flush()
        expect("tempfile", os.stat(f.name).st_size, 10000)
    with open("map", "wb+") as f:
        f.truncate(1 << 20)
        m = mmap.mmap(f.fileno(), 0)
        m[5:10] = b"hello"
        m.flush()
        f.seek(5)
        expect("mmap then read", f.read(5), b"hello")
        os.pwrite(f.fileno(), b"HELLO", 5)
        expect("write then mmap", m[5:10], b"HELLO")
        pid = os.fork()
        if pid == 0:
            m[0:1] = b"c"
            os._exit(0)
        os.waitpid(pid, 0)
        expect("mmap across fork", m[0:1], b"c")
        private = mmap.mmap(f.fileno(), 4096, access=mmap.ACCESS_COPY)
        private[0:1] = b"p"
        expect("private mmap", m[0:1], b"c")
        expect("find", m.find(b"HELLO"), 5)
        private.close()
        m.close()
    with zipfile.ZipFile("z.zip", "w", zipfile.ZIP_DEFLATED) as z:
        z.write("map")
    expect("zip", zipfile.ZipFile("z.zip").testzip(), None)
    shutil.copytree("/usr/share/iso-codes", "copy")
    shutil.rmtree("copy")
    with os.scandir("/etc") as entries:
        expect("scandir", any(e.name == "passwd" and e.is_file() for e in entries), True)


def with_pty():
    pid, master = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", "test -t 0 && stty size && read x && echo got $x"])
    os.write(master, b"line\n")
    out = b""
    while True:
        try:
            data = os.read(master, 1000)
        except OSError:
            break
        if not data:
            break
        out += data
    expect("pty", (b"got line" in out, os.waitpid(pid, 0)[1]), (True, 0))
    os.close(master)


def with_ctypes():
    libc = ctypes.CDLL("libc.so.6", use_errno=True)
    expect("ctypes", libc.strlen(b"four"), 4)
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 5)(5, 3, 1, 4, 2)
    libc.qsort(numbers, 5, 4, compare(lambda a, b: a[0] - b[0]))
    expect("callback", list(numbers), [1, 2, 3, 4, 5])
    expect("errno", (libc.open(b"/no/such", 0), ctypes.get_errno()), (-1, 2))


def with_signals_and_sockets():
    got = []
    signal.signal(signal.SIGALRM, lambda *_: got.append("alarm"))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    time.sleep(0.5)
    expect("itimer", got, ["alarm"])
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    os.kill(os.getpid(), signal.SIGUSR2)
    expect("sigwait", signal.sigwait([signal.SIGUSR2]), signal.SIGUSR2)
    a, b = socket.socketpair()
    socket.send_fds(a, [b"fd"], [os.open("/etc/passwd", os.O_RDONLY)])
    data, fds, _, _ = socket.recv_fds(b, 10, 1)
    expect("descriptor passed", (data, os.read(fds[0], 4)), (b"fd", b"root"))
    p = select.epoll()
    p.register(b, select.EPOLLIN)
    a.send(b"x")
    expect("epoll", p.poll(5), [(b.fileno(), select.EPOLLIN)])
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=5)
        expect("outside", "connected", "no")
    except OSError as e:
        expect("outside", e.errno in (101, 111), True)


def with_venv():
    if subprocess.run([sys.executable, "-c", "import ensurepip"], capture_output=True).returncode:
        arguments = ["--without-pip"]
    else:
        arguments = []
    subprocess.run([sys.executable, "-m", "venv", *arguments, "env"], check=True, capture_output=True)
    out = subprocess.run(["env/bin/python", "-c", "import sys; print(sys.prefix != sys.base_prefix)"],
                         capture_output=True, text=True).stdout
    expect("venv", out, "True\n")
    if not arguments:
        out = subprocess.run(["env/bin/pip", "--version"], capture_output=True, text=True).stdout
        expect("pip", out.startswith("pip "), True)


def main():
    os.chdir(tempfile.mkdtemp())
    with_threads()
    asyncio.run(with_asyncio())
    with_sqlite()
    with_files()
    with_pty()
    with_ctypes()
    with_signals_and_sockets()
    with_venv()
    print("ok")


if __name__ == "__main__":
    main()
