# SPDX-License-Identifier: Apache-2.0
"""E2B's SDK for Python, as it is published, with sandboxes on this machine.

    pip install e2b
    glovebox serve                                # in another terminal; paste the lines that it prints
    python3 e2b_quickstart.py
"""
from e2b import ALL_TRAFFIC, CommandExitException, Sandbox, TimeoutException

# The sandbox is killed at the end of the block, or when its time is up.
with Sandbox.create(timeout=120, envs={"GREETING": "hello"}) as sandbox:
    sandbox.files.write("main.py", "import os\nprint(os.environ['GREETING'], sum(range(10)))\n")
    print(sandbox.commands.run("python3 main.py", timeout=30).stdout, end="")

    # What fails says how, and what takes too long is ended.
    try:
        sandbox.commands.run("echo no such luck >&2; exit 3")
    except CommandExitException as e:
        print(e.exit_code, e.stderr, end="")
    try:
        sandbox.commands.run("sleep 60", timeout=1)
    except TimeoutException:
        print("too long")

    # Nothing leaves the sandbox, since nothing was said of the network.
    print(sandbox.commands.run("curl -sS --max-time 5 http://example.com 2>&1 || echo no way out").stdout.splitlines()[-1])

# Of this one requests go to one host, and to no other.
with Sandbox.create(network={"allow_out": ["example.com"], "deny_out": [ALL_TRAFFIC]}) as sandbox:
    print(sandbox.commands.run("curl -sS --max-time 5 http://example.org 2>&1 || echo not there").stdout.splitlines()[-1])
