#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Exit statuses tell a normal end, a signal, and a clean stop on SIGTERM apart.
bad() { echo "FAIL: $*" | tr "\n" " "; echo; exit 1; }
bash -c 'exit 77'; [ $? -eq 77 ] || bad "exit 77"
for s in TERM:143 KILL:137 INT:130 HUP:129 SEGV:139 ABRT:134 PIPE:141 USR1:138 XCPU:152; do
  bash -c "ulimit -c 0; kill -${s%:*} \$\$" 2>/dev/null; r=$?; [ $r -eq ${s#*:} ] || bad "killed by ${s%:*}: status $r"
done 2>/dev/null
bash -c 'trap "echo cleaned; exit 0" TERM; echo up; sleep 300 & wait' > /tmp/case.$$ & p=$!
until grep -qx up /tmp/case.$$; do sleep 0.1; done; kill -TERM $p; wait $p; r=$?
[ $r -eq 0 ] && grep -qx cleaned /tmp/case.$$ || bad "TERM trap: status $r, $(cat /tmp/case.$$)"; rm -f /tmp/case.$$
python3 - <<'P' || exit 1
import os, signal, subprocess, sys, time
def bad(m): print("FAIL:", m); sys.exit(1)
c = "import os,signal,sys,time\ndef on(*_): os.write(1,b'bye\\n'); sys.exit(0)\nsignal.signal(signal.SIGTERM,on)\nos.write(1,b'up\\n')\ntime.sleep(60)"
p = subprocess.Popen([sys.executable, "-c", c], stdout=-1); p.stdout.readline(); time.sleep(0.1); t = time.monotonic(); p.terminate()
if p.communicate(timeout=60)[0] != b"bye\n" or p.returncode != 0 or time.monotonic() - t > 50: bad("SIGTERM handler during sleep: %r" % p.returncode)
p = subprocess.Popen([sys.executable, "-c", "import os,time\ntry:\n os.write(1,b'up\\n'); time.sleep(60)\nexcept KeyboardInterrupt: print('ki'); raise SystemExit(5)"], stdout=-1)
p.stdout.readline(); time.sleep(0.1); p.send_signal(signal.SIGINT)
if p.communicate(timeout=60)[0] != b"ki\n" or p.returncode != 5: bad("KeyboardInterrupt: %r" % p.returncode)
for code, want in (("os.abort()", -6), ("os.kill(os.getpid(),9)", -9), ("import ctypes; ctypes.string_at(0)", -11), ("sys.exit('msg')", 1), ("os._exit(255)", 255), ("1/0", 1), ("sys.exit(256+3)", 3)):
    p = subprocess.run([sys.executable, "-c", "import os,sys,resource; resource.setrlimit(resource.RLIMIT_CORE,(0,0)); " + code], stderr=-1)
    if p.returncode != want: bad("%s ended with %d, wanted %d" % (code, p.returncode, want))
p = subprocess.Popen(["sleep", "60"], preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])); time.sleep(0.2); p.terminate(); time.sleep(0.3)
if p.poll() is not None: bad("a blocked SIGTERM ended the program")
if not any(l.startswith("SigBlk") and int(l.split()[1], 16) & 1 << 14 for l in open("/proc/%d/status" % p.pid)): bad("SigBlk of a blocked SIGTERM")
p.kill(); p.wait()
got = []; signal.signal(signal.SIGUSR1, lambda *_: got.append(1)); t = time.monotonic()
if os.fork() == 0: time.sleep(0.2); os.kill(os.getppid(), signal.SIGUSR1); os._exit(0)
time.sleep(0.8); slept = time.monotonic() - t; os.wait()
if len(got) != 1 or slept < 0.75: bad("sleep interrupted by a handled signal")
P
if command -v node >/dev/null; then
  node -e 'process.on("SIGTERM",()=>{console.log("node bye");process.exit(3)});setInterval(()=>{},1000);console.log("up")' > /tmp/casen.$$ & p=$!
  for i in $(seq 600); do grep -q up /tmp/casen.$$ && break; sleep 0.1; done; kill -TERM $p; wait $p; r=$?
  [ $r -eq 3 ] && grep -q 'node bye' /tmp/casen.$$ || bad "node SIGTERM handler: $r"; rm -f /tmp/casen.$$
fi
echo ok
