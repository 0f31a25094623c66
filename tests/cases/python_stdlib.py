#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Ordinary standard-library use must not die from a blocked system call (SIGSYS, EPERM).
import os, shutil, signal, sys
def _uncaught(t, e, tb): sys.__excepthook__(t, e, tb); print("FAIL: %s: %s" % (t.__name__, ascii(str(e))[1:-1]), flush=True)
sys.excepthook = _uncaught
ITEMS = r'''
import json, base64, re, datetime, decimal, random, math, statistics, csv, io, textwrap
import os; assert len(os.sched_getaffinity(0)) > 0; os.sched_yield(); os.getpriority(os.PRIO_PROCESS, 0)
import os; os.stat("/"); os.statvfs("/"); os.scandir("/").close(); list(os.walk("/etc"))[:1]; os.access("/", 4)
import os; r, w = os.pipe(); os.set_blocking(r, False); os.close(r); os.close(w); os.pipe2(os.O_CLOEXEC)
import os, uuid, secrets; os.getrandom(16); uuid.uuid4(); uuid.uuid1(); secrets.token_hex(16)
import tempfile; t = tempfile.NamedTemporaryFile(); t.write(b"x"); t.flush(); tempfile.TemporaryDirectory().cleanup()
import threading; ts = [threading.Thread(target=sum, args=([1],)) for _ in range(8)]; [t.start() for t in ts]; [t.join() for t in ts]
import asyncio; asyncio.run(asyncio.sleep(0.01))
import selectors, socket; a, b = socket.socketpair(); s = selectors.DefaultSelector(); s.register(a, 1); b.send(b"x"); assert s.select(1)
import time; time.sleep(0.01); time.monotonic(); time.process_time(); time.thread_time(); time.clock_gettime(time.CLOCK_BOOTTIME)
import signal; signal.setitimer(signal.ITIMER_REAL, 5); signal.alarm(0); signal.sigtimedwait([signal.SIGUSR1], 0); signal.set_wakeup_fd(-1)
import subprocess; assert subprocess.run(["true"]).returncode == 0
import mmap; m = mmap.mmap(-1, 1 << 16); m[:1] = b"x"; m.resize(1 << 17); m.flush(); m.madvise(mmap.MADV_DONTNEED)
import hashlib, hmac, zlib, bz2, lzma; hashlib.sha256(b"x").hexdigest(); zlib.compress(b"x" * 1000); lzma.compress(b"x")
import ssl; ssl.create_default_context(); ssl.RAND_bytes(8)
import ctypes; ctypes.CDLL(None).getpid()
import fcntl, struct; f = open("/dev/null", "w"); fcntl.fcntl(f, fcntl.F_GETFD); fcntl.flock(f, fcntl.LOCK_EX)
import resource; resource.getrlimit(resource.RLIMIT_NOFILE); resource.getrusage(resource.RUSAGE_SELF); resource.prlimit(0, resource.RLIMIT_CORE)
import pickle, copy, array, struct, heapq, bisect, itertools, functools, collections, enum, typing, dataclasses, contextlib
import urllib.request, http.client, email, html, xml.etree.ElementTree, ipaddress
import logging, logging.handlers, traceback, warnings, inspect, ast, dis, tokenize
import platform; platform.platform(); platform.processor(); platform.libc_ver()
import getpass, pwd, grp, os; pwd.getpwuid(0); grp.getgrgid(0); os.getgroups()
import zipfile, tarfile, io; z = zipfile.ZipFile(io.BytesIO(), "w"); z.writestr("a", "b"); z.close()
import queue, concurrent.futures; concurrent.futures.ThreadPoolExecutor(4).submit(int).result()
import locale, gettext, unicodedata, codecs; locale.setlocale(locale.LC_ALL, ""); "é".encode()
import os; fd = os.memfd_create("x"); os.posix_fallocate(fd, 0, 4096); os.posix_fadvise(fd, 0, 0, 0); os.fdatasync(fd)
import os; r, w = os.pipe(); os.write(w, b"ab"); fd = os.memfd_create("y"); os.splice(r, fd, 2); assert os.pread(fd, 2, 0) == b"ab"
import os; a = os.memfd_create("a"); os.write(a, b"abc"); b = os.memfd_create("b"); os.sendfile(b, a, 0, 3); assert os.pread(b, 3, 0) == b"abc"
import os; fd = os.eventfd(3); assert os.eventfd_read(fd) == 3
import select; r, w = __import__('os').pipe(); e = select.epoll(); e.register(r, select.EPOLLIN | select.EPOLLET); assert e.poll(0) == []; select.poll().poll(0)
import os; os.umask(0o22); os.getloadavg(); os.uname(); os.cpu_count(); os.times(); os.getsid(0); os.getpgid(0); os.nice(0)
import os, tempfile; d = tempfile.mkdtemp(); os.symlink("a", d + "/l"); os.readlink(d + "/l"); os.mkfifo(d + "/p"); os.utime(d, (1, 2)); os.listxattr(d)
import gc, weakref, tracemalloc, faulthandler, sys; tracemalloc.start(); faulthandler.enable(); sys.setrecursionlimit(5000)
import sqlite3; sqlite3.connect(":memory:").execute("select 1")
import curses.ascii, readline
import numpy, pandas; numpy.linalg.inv(numpy.eye(50)); pandas.DataFrame({"a": [1]}).describe()
'''.strip().splitlines()
bad = 0; sys.stdout.flush()
for line in ITEMS:
    pid = os.fork()
    if pid == 0:
        signal.alarm(50); os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
        try: exec(line, {"__name__": "x"}); code = 0
        except (ImportError, AttributeError): code = 77      # not in this Python
        except BaseException as e: print("# %s: %s in: %s" % (type(e).__name__, e, line[:100])); sys.stdout.flush(); code = 1
        os._exit(code)
    st = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(st): print("# killed by signal %d in: %s" % (os.WTERMSIG(st), line[:100])); bad += 1
    elif os.WEXITSTATUS(st) == 77: print("# not installed:", line[:60])
    elif st: bad += 1
print("FAIL: %d of %d items" % (bad, len(ITEMS)) if bad else "ok"); sys.exit(bool(bad))
