# SPDX-License-Identifier: Apache-2.0
"""Cells of code, with the SDK of the code interpreter."""
import asyncio
import json

import e2b_code_interpreter
import httpx
import sdk
from sdk import case, equal, raises

Sandbox = e2b_code_interpreter.AsyncSandbox if sdk.FACE == "async" else sdk.Patient(e2b_code_interpreter.Sandbox)


class Box:
    def __init__(self, **wish):
        self.wish = wish

    async def __aenter__(self):
        self.sandbox = await Sandbox.create(**self.wish)
        return self.sandbox

    async def __aexit__(self, *_):
        await self.sandbox.kill()


def handler(take):
    """What is called with what comes."""
    if sdk.FACE == "sync":
        return take

    async def take_later(value):
        take(value)
    return take_later


@case()
async def a_first_program():
    """What everybody who is new copies."""
    async with Box() as sandbox:
        await sandbox.run_code("x = 1")
        execution = await sandbox.run_code("x += 1; x")
        equal((execution.text, execution.error, execution.execution_count), ("2", None, 2))


@case()
async def output_results_and_errors_as_they_come():
    async with Box() as sandbox:
        out, err, results, errors = [], [], [], []
        execution = await sandbox.run_code(
            "import sys\nprint('o \u2028 \x85')\nprint('e', file=sys.stderr)\ndisplay('d')\n1/0", on_stdout=handler(lambda m: out.append(m)),
            on_stderr=handler(lambda m: err.append(m)), on_result=handler(results.append), on_error=handler(errors.append))
        equal("".join(m.line for m in out), "o \u2028 \x85\n")
        equal("".join(m.line for m in err), "e\n")
        equal((out[0].error, err[0].error), (False, True))
        equal([r.text for r in results], ["d"])
        equal((errors[0].name, errors[0].value), ("ZeroDivisionError", "division by zero"))
        assert "----> 5 1/0" in execution.error.traceback, execution.error.traceback
        equal(execution.logs.stdout, [m.line for m in out])
        equal(json.loads(execution.error.to_json())["name"], "ZeroDivisionError")


@case()
async def forms_of_results():
    async with Box() as sandbox:
        execution = await sandbox.run_code("class R:\n  def _repr_html_(self): return '<b>'\n  def _repr_json_(self): return {'a': 1}\n"
                                           "  def _repr_mimebundle_(self, **_): return {'a/b': 'c'}\nR()")
        result = execution.results[0]
        equal((result.html, result.json, result.extra, result.is_main_result), ("<b>", {"a": 1}, {"a/b": "c"}, True))
        equal(sorted(result.formats()), ["a/b", "html", "json", "text"])


@case()
async def charts_and_tables():
    async with Box() as sandbox:
        if (await sandbox.run_code("import matplotlib, pandas")).error:
            return
        execution = await sandbox.run_code("import matplotlib.pyplot as plt\nplt.bar(['a', 'b'], [1, 2], label='g'); plt.title('T'); plt.show()")
        chart = execution.results[0].chart
        assert execution.results[0].png
        equal((chart.type.value, chart.title, [(e.label, e.group, e.value) for e in chart.elements]), ("bar", "T", [("a", "g", 1), ("b", "g", 2)]))
        execution = await sandbox.run_code("fig, axes = plt.subplots(1, 2)\naxes[0].pie([1, 3], labels=['a', 'b']); axes[1].plot([1, 2], [3, 4]); plt.show()")
        chart = execution.results[0].chart
        equal((chart.type.value, [c.type.value for c in chart.elements]), ("superchart", ["pie", "line"]))
        execution = await sandbox.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2]})")
        equal(execution.results[0].data, {"a": [1, 2]})


@case()
async def contexts():
    async with Box() as sandbox:
        context = await sandbox.create_code_context(cwd="/tmp", language="python")
        equal((context.language, context.cwd), ("python", "/tmp"))
        await sandbox.run_code("v = 1; import os", context=context)
        equal((await sandbox.run_code("v, os.getcwd()", context=context)).text, "(1, '/tmp')")
        equal((await sandbox.run_code("v")).error.name, "NameError")
        listed = await sandbox.list_code_contexts()
        equal([c.language for c in listed], ["python", "javascript", "python"])
        equal(listed[-1].id, context.id)
        await sandbox.restart_code_context(context)
        equal((await sandbox.run_code("v", context=context)).error.name, "NameError")
        await sandbox.remove_code_context(context.id)
        with raises("NotFoundException", context.id):
            await sandbox.run_code("v", context=context)
        with raises("InvalidArgumentException"):
            await sandbox.run_code("v", context=context, language="python")


@case()
async def languages():
    async with Box() as sandbox:
        execution = await sandbox.run_code("echo $A; pwd", language="bash", envs={"A": "b"})
        equal("".join(execution.logs.stdout), "b\n/home/user\n")
        if not (await sandbox.commands.run("command -v node || true")).stdout:
            return
        equal((await sandbox.run_code("const a = await Promise.resolve([1]); a", language="javascript")).text, "[ 1 ]")
        with raises("SandboxException", "cobol"):
            await sandbox.run_code("1", language="cobol")


@case()
async def r_and_java():
    """Those that an image may lack."""
    async with Box(envs={"A": "of the sandbox"}) as sandbox:
        for language, program, code, text in (("r", "R", "x <- Sys.getenv('A'); x", '[1] "%s"'),
                                              ("java", "jshell", 'var x = System.getProperty("A"); x', "%s")):
            if not (await sandbox.commands.run(f"command -v {program} || true")).stdout:
                with raises("SandboxException", f"{language}: the image.* has no "):
                    await sandbox.run_code(code, language=language)
                continue
            equal((await sandbox.run_code(code, language=language, envs={"A": "own"})).text, text % "own")
            equal((await sandbox.run_code(code, language=language)).text, text % "of the sandbox")
            assert (await sandbox.run_code("x +* 1", language=language)).error


@case()
async def variables():
    async with Box(envs={"A": "of the sandbox"}) as sandbox:
        code = "import os; os.environ.get('A')"
        equal((await sandbox.run_code(code)).text, "of the sandbox")
        equal((await sandbox.run_code(code, envs={"A": "own"})).text, "own")
        equal((await sandbox.run_code(code)).text, "of the sandbox")


@case()
async def a_cell_that_takes_too_long():
    async with Box() as sandbox:
        await sandbox.run_code("v = 1")
        with raises("TimeoutException"):
            await sandbox.run_code("import time\nwhile True: time.sleep(1)", timeout=2)
        equal((await sandbox.run_code("v")).text, "1")


@case()
async def a_sandbox_that_is_killed_meanwhile():
    sandbox = await Sandbox.create()
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def run():
        async def both():
            return await sandbox.run_code("print(1)\nwhile True: pass",
                                          on_stdout=handler(lambda _: loop.call_soon_threadsafe(started.set)))
        return asyncio.run(both())
    task = asyncio.ensure_future(asyncio.to_thread(run)) if sdk.FACE == "sync" else asyncio.ensure_future(
        sandbox.run_code("print(1)\nwhile True: pass", on_stdout=handler(lambda _: started.set())))
    await asyncio.wait_for(started.wait(), sdk.LIMIT)
    await sandbox.kill()
    # An older SDK lets its HTTP library speak.
    with raises("TimeoutException" if sdk.VERSION >= (2, 16) else httpx.TransportError):
        await task


@case()
async def files_beside_code():
    async with Box() as sandbox:
        await sandbox.files.write("data.csv", "a,b\n1,2\n")
        equal((await sandbox.run_code("open('data.csv').read()")).text, "a,b\\n1,2\\n")
        await sandbox.run_code("open('made', 'w').write('by code')")
        equal(await sandbox.files.read("made"), "by code")


sdk.main()
