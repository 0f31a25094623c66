#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# multiprocessing in every start method, with locks, queues and shared memory.
import concurrent.futures, multiprocessing as mp, os, signal, sys
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
def sq(x): return x * x
def bump(v, lock, n):
    for _ in range(n):
        with lock: v.value += 1
def feed(q, n):
    for i in range(n): q.put(("item", i))
def fill(name):
    from multiprocessing import shared_memory
    s = shared_memory.SharedMemory(name=name); s.buf[:5] = b"child"; s.close()
def die(msg): print("FAIL:", " ".join(ascii(str(msg))[1:-1].replace("\\n", " ").split())); sys.stdout.flush(); os._exit(1)
def main():
    signal.signal(signal.SIGALRM, lambda *_: die("timed out")); signal.alarm(110)
    for how in ("fork", "spawn", "forkserver"):
        try:
            ctx = mp.get_context(how)
            with ctx.Pool(3) as p:
                if p.map(sq, range(100)) != [i * i for i in range(100)]: die(how + ": Pool.map")
            v = ctx.Value("i", 0, lock=False); lock = ctx.Lock(); ps = [ctx.Process(target=bump, args=(v, lock, 200)) for _ in range(3)]
            for p in ps: p.start()
            for p in ps: p.join()
            if v.value != 600: die("%s: counter under a lock is %d" % (how, v.value))
            q = ctx.Queue(); p = ctx.Process(target=feed, args=(q, 500)); p.start()
            if [q.get(timeout=20)[1] for _ in range(500)] != list(range(500)): die(how + ": Queue")
            p.join()
            if p.exitcode != 0: die("%s: exit code %r" % (how, p.exitcode))
            sem = ctx.BoundedSemaphore(2); sem.acquire(); sem.acquire()
            if sem.acquire(timeout=0.1): die(how + ": semaphore")
            with concurrent.futures.ProcessPoolExecutor(2, mp_context=ctx) as ex:
                if list(ex.map(sq, [4, 5])) != [16, 25]: die(how + ": ProcessPoolExecutor")
            from multiprocessing import shared_memory
            s = shared_memory.SharedMemory(create=True, size=1 << 20)
            p = ctx.Process(target=fill, args=(s.name,)); p.start(); p.join()
            if bytes(s.buf[:5]) != b"child": die(how + ": shared_memory")
            s.close(); s.unlink()
        except OSError as e: die("%s: %s" % (how, e))
    with mp.Manager() as m:
        d = m.dict(); d["a"] = 1
        if dict(d) != {"a": 1}: die("Manager")
    print("ok")
if __name__ == "__main__": main()
