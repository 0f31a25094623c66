#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""subprocess, multiprocessing in its three start methods, shared memory, concurrent.futures."""
import concurrent.futures
import multiprocessing
import multiprocessing.shared_memory
import os
import signal
import subprocess
import sys
import tempfile
import threading


def expect(name, got, wanted):
    if got != wanted:
        sys.exit(print(f"FAIL: {name}: {got!r}, not {wanted!r}") or 1)


def square(n):
    return n * n


def add_to(value, lock, name, queue):
    shared = multiprocessing.shared_memory.SharedMemory(name)
    for _ in range(200):
        with lock:
            value.value += 1
    with lock:
        shared.buf[0] += 1
    shared.close()
    queue.put(os.getpid())


def with_subprocess():
    done = subprocess.run("cat; echo err >&2; exit 3", shell=True, input=b"in", capture_output=True)
    expect("run", (done.returncode, done.stdout, done.stderr), (3, b"in", b"err\n"))
    data = os.urandom(3_000_000)
    expect("large pipes", subprocess.run(["cat"], input=data, stdout=subprocess.PIPE).stdout, data)
    first = subprocess.Popen(["seq", "100000"], stdout=subprocess.PIPE)
    second = subprocess.run(["tail", "-1"], stdin=first.stdout, capture_output=True, text=True)
    expect("pipeline", (second.stdout, first.wait()), ("100000\n", 0))
    p = subprocess.Popen(["sleep", "30"])
    try:
        p.wait(0.2)
        expect("timeout", "none", "TimeoutExpired")
    except subprocess.TimeoutExpired:
        p.kill()
    expect("killed", p.wait(), -signal.SIGKILL)
    try:
        subprocess.run(["/no/such/program"])
        expect("missing", "ran", "FileNotFoundError")
    except FileNotFoundError:
        pass
    read, write = os.pipe()
    subprocess.run(["sh", "-c", f"echo passed >&{write}"], pass_fds=[write], check=True)
    expect("pass_fds", os.read(read, 100), b"passed\n")
    expect("session", subprocess.run([sys.executable, "-c", "import os; print(os.getsid(0) == os.getpid())"],
                                     start_new_session=True, capture_output=True).stdout, b"True\n")
    expect("cwd and env", subprocess.run(["sh", "-c", "pwd; echo $A"], cwd="/usr", env={"A": "1"},
                                         capture_output=True).stdout, b"/usr\n1\n")
    results = []
    threads = [threading.Thread(target=lambda: results.append(
        subprocess.run(["/bin/echo", "x"], capture_output=True).stdout)) for _ in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    expect("from threads", results, [b"x\n"] * 20)


def with_multiprocessing(method):
    context = multiprocessing.get_context(method)
    with context.Pool(4) as pool:
        expect(f"{method}: pool", pool.map(square, range(100)), [n * n for n in range(100)])
    value, lock, queue = context.Value("i", 0), context.Lock(), context.Queue()
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=4096)
    workers = [context.Process(target=add_to, args=(value, lock, shared.name, queue)) for _ in range(4)]
    for w in workers:
        w.start()
    pids = {queue.get(timeout=60) for _ in workers}
    for w in workers:
        w.join(60)
    expect(f"{method}: workers", (value.value, shared.buf[0], len(pids), [w.exitcode for w in workers]),
           (800, 4, 4, [0] * 4))
    shared.close()
    shared.unlink()
    here, there = context.Pipe()
    p = context.Process(target=there.send, args=("x" * 200000,))
    p.start()
    expect(f"{method}: pipe", len(here.recv()), 200000)
    p.join()
    p = context.Process(target=os._exit, args=(7,))
    p.start()
    p.join()
    expect(f"{method}: status", p.exitcode, 7)


def main():
    os.chdir(tempfile.mkdtemp())
    with_subprocess()
    for method in ("fork", "spawn", "forkserver"):
        with_multiprocessing(method)
    with concurrent.futures.ProcessPoolExecutor(3) as pool:
        expect("futures", sum(pool.map(square, range(50), chunksize=5)), 40425)
    with multiprocessing.Manager() as manager:
        d = manager.dict(a=1)
        d["b"] = 2
        expect("manager", dict(d), {"a": 1, "b": 2})
    print("ok")


if __name__ == "__main__":
    main()
