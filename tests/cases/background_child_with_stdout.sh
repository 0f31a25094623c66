#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A background child that keeps stdout and stderr open must not keep the call open.
rm -f /tmp/case.alive
( sleep 2; echo "late line on the old stdout"; sleep 1; echo "another"; echo alive > /tmp/case.alive; sleep 9 ) &
python3 - <<'P'
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: time.sleep(12); os._exit(0)      # a daemon that forgot to close its streams
    os._exit(0)
os.wait()
P
echo "pid of the background job: $!"
echo ok
