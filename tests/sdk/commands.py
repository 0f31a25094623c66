# SPDX-License-Identifier: Apache-2.0
"""Programs of a sandbox: run, fed, looked for, ended; and terminals."""
import asyncio
import time

import httpcore

import sdk
from sdk import Sandbox, Terminal, box, case, equal, raises


@case()
async def output_and_status():
    async with box() as sandbox:
        out, err = [], []
        if sdk.FACE == "async":
            async def take(text):
                out.append(text)
        else:
            take = out.append
        done = await sandbox.commands.run("echo one; echo two >&2; echo 'ä\"$`'", on_stdout=take, on_stderr=err.append)
        equal((done.stdout, done.stderr, done.exit_code), ('one\nä"$`\n', "two\n", 0))
        equal(("".join(out), "".join(err)), (done.stdout, done.stderr))


@case()
async def failure():
    async with box() as sandbox:
        with raises("CommandExitException") as raised:
            await sandbox.commands.run("echo out; echo err >&2; exit 3")
        e = raised.error
        equal((e.exit_code, e.stdout, e.stderr, e.error), (3, "out\n", "err\n", "exit status 3"))
        with raises("CommandExitException") as raised:
            await sandbox.commands.run("kill -9 $$")
        equal(raised.error.exit_code, -1)


@case()
async def much_output():
    async with box() as sandbox:
        done = await sandbox.commands.run("head -c 3000000 /dev/zero | tr '\\0' 'x'")
        equal(len(done.stdout), 3000000)


@case()
async def where_and_as_whom():
    async with box() as sandbox:
        equal((await sandbox.commands.run("id -un; pwd; echo $HOME")).stdout, "user\n/home/user\n/home/user\n")
        equal((await sandbox.commands.run("id -un; pwd; echo $HOME", user="root")).stdout, "root\n/root\n/root\n")
        equal((await sandbox.commands.run("pwd", cwd="/tmp")).stdout, "/tmp\n")
        equal((await sandbox.commands.run("sudo -n id -un")).stdout, "root\n")
        with raises("InvalidArgumentException", "/nosuch"):
            await sandbox.commands.run("pwd", cwd="/nosuch")
        with raises("AuthenticationException", "nobodyhere"):
            await sandbox.commands.run("pwd", user="nobodyhere")


@case()
async def variables():
    async with box(envs={"A": "of the sandbox", "B": "too"}) as sandbox:
        done = await sandbox.commands.run("echo $A, $B, $C, $E2B_SANDBOX", envs={"B": "of this one", "C": "new"})
        equal(done.stdout, "of the sandbox, of this one, new, true\n")
        equal((await sandbox.commands.run("echo $B$C; echo $E2B_SANDBOX_ID")).stdout, f"too\n{sandbox.sandbox_id}\n")


@case()
async def time_that_is_up():
    async with box() as sandbox:
        with raises("TimeoutException"):
            await sandbox.commands.run("echo begun; exec sleep 1000", timeout=0.5)
        await gone(sandbox, "sleep 1000")
        handle = await sandbox.commands.run("exec sleep 1001", background=True, timeout=0.5)
        with raises("TimeoutException"):
            await handle.wait()
        await gone(sandbox, "sleep 1001")


async def gone(sandbox, words):
    end = time.monotonic() + sdk.LIMIT
    while (await sandbox.commands.run(f"pgrep -fx '{words}' || true")).stdout:
        assert time.monotonic() < end, words


@case()
async def in_the_background():
    async with box() as sandbox:
        handle = await sandbox.commands.run("sleep 0.1; echo done; exit 4", background=True)
        assert handle.pid > 0
        with raises("CommandExitException") as raised:
            await handle.wait()
        equal((raised.error.stdout, raised.error.exit_code), ("done\n", 4))


@case()
async def listed_and_killed():
    async with box() as sandbox:
        handle = await sandbox.commands.run("exec sleep 1000", background=True, cwd="/tmp", envs={"MINE": "1"})
        found = {p.pid: p for p in await sandbox.commands.list()}
        equal(found[handle.pid].cmd, "/bin/bash")
        equal((found[handle.pid].args, found[handle.pid].cwd), (["-l", "-c", "exec sleep 1000"], "/tmp"))
        equal(found[handle.pid].envs["MINE"], "1")
        equal(await sandbox.commands.kill(handle.pid), True)
        with raises("CommandExitException"):
            await handle.wait()
        equal((await sandbox.commands.run(f"kill -0 {handle.pid} 2>&- || echo gone")).stdout, "gone\n")
        equal(await sandbox.commands.kill(handle.pid), False)
        equal(await sandbox.commands.kill(999999), False)


@case()
async def fed():
    async with box() as sandbox:
        handle = await sandbox.commands.run("read a; read b; echo $b $a", background=True, stdin=True)
        await sandbox.commands.send_stdin(handle.pid, "first line\n")
        await sandbox.commands.send_stdin(handle.pid, "second ü\n")
        equal((await handle.wait()).stdout, "second ü first line\n")
        with raises(("NotFoundException", "SandboxException")):
            await sandbox.commands.send_stdin(handle.pid, "late\n")


@case()
async def not_fed():
    """Without stdin=True it is empty, and nothing waits for it."""
    async with box() as sandbox:
        equal((await sandbox.commands.run("cat; echo end")).stdout, "end\n")


@case(since=(2, 30, 0))
async def input_that_ends():
    async with box() as sandbox:
        handle = await sandbox.commands.run("cat", background=True, stdin=True)
        await sandbox.commands.send_stdin(handle.pid, "x" * 300000)
        await sandbox.commands.close_stdin(handle.pid)
        equal(len((await handle.wait()).stdout), 300000)


@case()
async def connected_to_from_elsewhere():
    async with box() as sandbox:
        handle = await sandbox.commands.run("read a; echo got $a", background=True, stdin=True)
        await handle.disconnect()
        other = await Sandbox.connect(sandbox.sandbox_id)
        again = await other.commands.connect(handle.pid)
        await other.commands.send_stdin(again.pid, "it\n")
        equal((await again.wait()).stdout, "got it\n")
        with raises(("NotFoundException", "SandboxException"), "999999"):
            await other.commands.connect(999999)


@case()
async def killed_under_way():
    """Of a sandbox that goes its commands say so, and soon."""
    sandbox = await Sandbox.create()
    handle = await sandbox.commands.run("sleep 1000", background=True, timeout=0)
    await Sandbox.kill(sandbox.sandbox_id)
    if sdk.VERSION < (2, 30, 0):
        with raises(httpcore.ReadError):
            await handle.wait()
        return
    with raises("TimeoutException", "killed or reached its end of life"):
        await handle.wait()


@case(only="async")
async def many_at_once():
    async with box() as sandbox:
        done = await asyncio.gather(*(sandbox.commands.run(f"sleep 0.1; echo {i}") for i in range(20)))
        equal([d.stdout for d in done], [f"{i}\n" for i in range(20)])


@case()
async def a_terminal():
    async with box() as sandbox:
        terminal = await Terminal().start(sandbox, rows=30, cols=100, envs={"MINE": "var"})
        await terminal.write(b"echo $MINE-$TERM; tty; stty size\n")
        await terminal.read_until(b"var-xterm-256color")
        await terminal.read_until(b"/dev/pts/")
        await terminal.read_until(b"30 100")
        await sandbox.pty.resize(terminal.handle.pid, sdk.e2b.PtySize(rows=40, cols=120))
        await terminal.write(b"stty size\n")
        await terminal.read_until(b"40 120")
        await terminal.write(b"sh -c 'echo beg''un; exec sleep 1000'\n")
        await terminal.read_until(b"begun")  # so it is what Ctrl-C is for, and the prompt below is the next one
        await terminal.write(b"\x03")
        await terminal.read_until(b"^C")
        await terminal.read_until(b"$ ")  # what is typed before it would be thrown away
        await terminal.write(b"echo int$?\n")
        await terminal.read_until(b"int130")
        await terminal.write(b"exit\n")
        equal((await terminal.handle.wait()).exit_code, 0)


@case(since=(2, 20, 0))
async def a_terminal_from_elsewhere():
    async with box() as sandbox:
        first = await Terminal().start(sandbox)
        await first.write(b"MINE=kept\n")
        await first.read_until(b"$ ")
        await first.handle.disconnect()
        other = await Terminal().connect(await Sandbox.connect(sandbox.sandbox_id), first.handle.pid)
        await other.write(b"echo it is $MINE; exit\n")
        await other.read_until(b"it is kept")
        equal((await other.handle.wait()).exit_code, 0)


@case()
async def a_terminal_killed():
    async with box() as sandbox:
        terminal = await Terminal().start(sandbox)
        equal(await sandbox.pty.kill(terminal.handle.pid), True)
        with raises("CommandExitException"):
            await terminal.handle.wait()
        equal(await sandbox.pty.kill(terminal.handle.pid), False)


sdk.main()
