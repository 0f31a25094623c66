# SPDX-License-Identifier: Apache-2.0
"""Sandboxes: made, found, connected to, given time, listed, ended."""
import datetime
import time

import sdk
from sdk import ALL, Sandbox, box, case, equal, raises


@case()
async def a_first_program():
    """What everybody who is new copies."""
    sandbox = await Sandbox.create()
    await sandbox.files.write("/home/user/main.py", "print(sum(range(10)))")
    done = await sandbox.commands.run("python3 /home/user/main.py", timeout=30)
    equal((done.stdout, done.stderr, done.exit_code), ("45\n", "", 0))
    equal(await sandbox.kill(), True)


@case()
async def info_of_one():
    async with box(timeout=120, metadata={"purpose": "info", "ü": "a b&c=d"}) as sandbox:
        info = await sandbox.get_info()
        equal((info.sandbox_id, info.metadata), (sandbox.sandbox_id, {"purpose": "info", "ü": "a b&c=d"}))
        equal(info.state.value, "running")
        assert info.cpu_count >= 1 and info.memory_mb >= 64, info
        equal(round((info.end_at - info.started_at).total_seconds()), 120)
        assert abs((info.started_at - datetime.datetime.now(datetime.timezone.utc)).total_seconds()) < 60
        equal((await Sandbox.get_info(sandbox.sandbox_id)).sandbox_id, sandbox.sandbox_id)
        equal(await sandbox.is_running(), True)


@case()
async def killed_once():
    sandbox = await Sandbox.create()
    equal(await sandbox.kill(), True)
    equal(await sandbox.kill(), False)
    equal(await Sandbox.kill(sandbox.sandbox_id), False)
    equal(await sandbox.is_running(), False)


@case()
async def one_that_never_was():
    equal(await Sandbox.kill("nonexistingsandbox"), False)
    for deed in (lambda: Sandbox.connect("nonexistingsandbox"), lambda: Sandbox.get_info("nonexistingsandbox"),
                 lambda: Sandbox.set_timeout("nonexistingsandbox", 9)):
        with raises(("SandboxNotFoundException", "NotFoundException", "SandboxException"), "nonexistingsandbox"):
            await deed()


@case()
async def connected_to_from_elsewhere():
    async with box(envs={"GREETING": "hello"}) as sandbox:
        await sandbox.files.write("note", "from one")
        other = await Sandbox.connect(sandbox.sandbox_id)
        equal(other.sandbox_id, sandbox.sandbox_id)
        equal(await other.files.read("note"), "from one")
        equal((await other.commands.run("echo $GREETING")).stdout, "hello\n")


@case()
async def connecting_does_not_shorten():
    async with box(timeout=300) as sandbox:
        before = (await sandbox.get_info()).end_at
        await Sandbox.connect(sandbox.sandbox_id, timeout=10)
        equal((await sandbox.get_info()).end_at, before)
        await Sandbox.connect(sandbox.sandbox_id, timeout=1000)
        assert (await sandbox.get_info()).end_at > before


@case()
async def time_that_is_up():
    sandbox = await Sandbox.create(timeout=300)
    await sandbox.set_timeout(1)
    end = time.monotonic() + sdk.LIMIT
    while await sandbox.is_running():
        assert time.monotonic() < end
    with raises("TimeoutException"):
        await sandbox.commands.run("true")


@case()
async def found_by_what_it_was_given():
    mark = f"{time.time_ns()} & more=ä"
    async with box(metadata={"mark": mark, "n": "1"}) as one, box(metadata={"mark": mark, "n": "2"}) as two:
        async def found(query, **more):
            pages, names = Sandbox.list(query=query, **more), []
            while pages.has_next:
                names += [b.sandbox_id for b in await pages.next_items()]
            return names
        both = sdk.e2b.SandboxQuery(metadata={"mark": mark})
        equal(await found(both), [two.sandbox_id, one.sandbox_id])
        equal(await found(both, limit=1), [two.sandbox_id, one.sandbox_id])
        equal(await found(sdk.e2b.SandboxQuery(metadata={"mark": mark, "n": "1"})), [one.sandbox_id])
        equal(await found(sdk.e2b.SandboxQuery(metadata={"mark": "other"})), [])
        equal(await found(sdk.e2b.SandboxQuery(metadata={"mark": mark}, state=[sdk.e2b.SandboxState.PAUSED])), [])


@case()
async def pages_end_with_the_last_one():
    mark = str(time.time_ns())
    query = sdk.e2b.SandboxQuery(metadata={"mark": mark})
    async with box(metadata={"mark": mark}) as one, box(metadata={"mark": mark}) as two:
        pages = Sandbox.list(query=query, limit=1)
        equal([b.sandbox_id for b in await pages.next_items()], [two.sandbox_id])
        equal(pages.has_next, True)
        equal([b.sandbox_id for b in await pages.next_items()], [one.sandbox_id])
        equal(pages.has_next, False)


@case()
async def measured():
    async with box() as sandbox:
        end = time.monotonic() + sdk.LIMIT
        while not (found := await sandbox.get_metrics()):
            assert time.monotonic() < end
        assert found[-1].cpu_count >= 1 and 0 < found[-1].mem_used <= found[-1].mem_total, found
        before = datetime.datetime.now() - datetime.timedelta(hours=1)
        equal(await sandbox.get_metrics(start=before, end=before + datetime.timedelta(minutes=1)), [])


@case()
async def network_that_was_wished():
    wish = {"allow_out": ["example.com", "192.0.2.7"], "deny_out": [ALL]}
    async with box(network=wish) as sandbox:
        done = await sandbox.commands.run("bash -c 'echo > /dev/tcp/192.0.2.1/80'; echo $?")
        assert "ermission denied" in done.stderr, done
        info = await sandbox.get_info()
        if getattr(info, "network", None):
            equal((info.network["allow_out"], info.network["deny_out"]), (wish["allow_out"], wish["deny_out"]))


@case()
async def nothing_leaves_by_itself():
    async with box() as sandbox:
        done = await sandbox.commands.run("bash -c 'echo > /dev/tcp/192.0.2.1/80'; echo $?")
        assert "unreachable" in done.stderr, done
    async with box(allow_internet_access=False) as sandbox:
        done = await sandbox.commands.run("bash -c 'echo > /dev/tcp/192.0.2.1/80'; echo $?")
        assert "unreachable" in done.stderr, done


sdk.main()
