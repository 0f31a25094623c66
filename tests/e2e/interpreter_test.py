#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The drivers of interpreter/ in a sandbox: cells, what comes of them, and what cells do to break them."""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, Case, main  # noqa: E402
from interpreter_client import Driver, Stream  # noqa: E402

PNG = "iVBORw0KGgo"  # how every picture begins in base64


class Interpreter(Case):
    language = "python"

    def setUp(self):
        super().setUp()
        name = f"interp-{os.getpid()}-{self.id().rpartition('.')[2].removeprefix('test_')}"[:63]
        done = subprocess.run([GLOVEBOX, "create", "--name", name, *self.options()], capture_output=True, timeout=LIMIT,
                              check=False)
        self.expect(done, out=f"{name}\n".encode(), err=b"")
        self.addCleanup(subprocess.run, [GLOVEBOX, "kill", name], capture_output=True, check=False)
        self.name = name
        found = self.command("which", {"python": "python3", "javascript": "node", "r": "R", "java": "jshell"}.get(self.language, self.language))
        if found.returncode:
            self.skipTest(f"the image has no {self.language}")
        self.driver = self.open()

    def options(self):
        return ()

    def command(self, *words):
        return subprocess.run([GLOVEBOX, "exec", self.name, "--", *words], capture_output=True, timeout=LIMIT, check=False)

    def open(self):
        driver = Driver(self.language, [GLOVEBOX, "exec", "-i", self.name, "--"])
        self.addCleanup(driver.end)
        return driver

    def run_cell(self, code, **more):
        return self.driver.run(code, **more)

    def expect_text(self, code, text):
        ran = self.run_cell(code)
        self.assertIsNone(ran.error, ran.error)
        self.assertEqual(ran.text, text)
        return ran

    def expect_error(self, code, name, value=None):
        ran = self.run_cell(code)
        self.assertIsNotNone(ran.error, vars(ran))
        self.assertEqual(ran.error["name"], name, ran.error)
        if value is not None:
            self.assertRegex(ran.error["value"], value)
        return ran

    def need_module(self, name):
        if self.command("/usr/bin/python3", "-c", f"import importlib.util as i; exit(i.find_spec('{name}') is None)").returncode:
            self.skipTest(f"the image has no {name}")

    def interrupt(self, code, sign=b"on\n"):
        """Of a cell that says it is under way. It is told again, as the server does."""
        ran = self.driver.start(code)
        self.driver.wait(LIMIT, lambda: sign in ran.out)
        for _ in range(LIMIT // 2):
            self.driver.interrupt()
            if self.driver.is_over(2):
                return ran
        self.fail(f"{code!r} could not be interrupted")


class Python(Interpreter):
    def test_state_and_value_of_the_last_expression(self):
        self.expect_text("x = 1\nx + 1", "2")
        self.expect_text("x", "1")
        self.expect_text("_ + 1", "2")
        for code in ("x;", "None", "y = 5", "def f(): pass", ""):
            ran = self.run_cell(code)
            self.assertEqual((ran.results, ran.error), ([], None), code)
        self.expect_text("'it\\'s'", "it's")
        self.expect_text("Out[1], In[1]", "(2, 'x = 1\\nx + 1')")
        self.expect_text("__name__", "__main__")

    def test_long_values_are_broken_into_lines(self):
        self.expect_text("list(range(40))", "[" + ",\n ".join(map(str, range(40))) + "]")
        self.expect_text("{3, 1, 2}", "{1, 2, 3}")
        self.expect_text("{'a': 1, 'b': (1,)}", "{'a': 1, 'b': (1,)}")
        self.assertTrue(self.run_cell("list(range(100000))").text.endswith("999,\n ...]"))
        self.expect_text("a = [1]; a.append(a); a", "[1, [...]]")

    def test_output_stays_in_order_with_what_children_and_c_write(self):
        ran = self.run_cell("import os, ctypes\nprint('a')\nos.system('echo b')\nprint('c', end='')\nos.write(1, b'd\\n')\n"
                            "ctypes.CDLL(None).puts(b'e'); ctypes.CDLL(None).fflush(None)\nprint('f')\n"
                            "import sys; print('g', file=sys.stderr); os.system('echo h >&2')")
        self.assertEqual((ran.out, ran.err, ran.error), (b"a\nb\ncd\ne\nf\n", b"g\nh\n", None))

    def test_output_comes_as_it_is_printed(self):
        ran = self.driver.start("import os, time\nprint('one', end='')\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\nprint('two')")
        self.driver.wait(LIMIT, lambda: ran.out == b"one")
        self.assertEqual(self.command("touch", "/tmp/go").returncode, 0)
        self.driver.wait(LIMIT)
        self.assertEqual(ran.out, b"onetwo\n")

    def test_large_output_and_results_are_whole(self):
        ran = self.run_cell("print('x' * 3000000)\n'y' * 3000000")
        self.assertEqual((len(ran.out), len(ran.text)), (3000001, 3000000))
        ran = self.run_cell("'z' * 20000000")
        self.assertLess(len(ran.text), 5 << 20)
        self.assertIn(b"at most", ran.err)

    def test_errors_have_the_lines_around_them(self):
        ran = self.expect_error("def f():\n    return 1/0\nf()", "ZeroDivisionError", "division by zero")
        trace = ran.error["traceback"]
        for words in ("Cell In[1], line 3\n", "----> 3 f()", "----> 2     return 1/0", "ZeroDivisionError: division by zero"):
            self.assertIn(words, trace)
        self.assertNotIn("<glovebox>", trace)
        self.expect_error("x ==== 1", "SyntaxError", r"invalid syntax \(Cell In\[2\], line 1\)")
        ran = self.expect_error("try:\n  1/0\nexcept Exception as e:\n  raise KeyError('k') from e", "KeyError")
        self.assertRegex(ran.error["traceback"], "(?s)division by zero.*direct cause.*KeyError: 'k'")
        self.expect_error("class E(Exception):\n  def __str__(self): return 1/0\nraise E", "E", "its str failed")
        self.expect_error("def g(): g()\ng()", "RecursionError")
        self.expect_text("1", "1")

    def test_lines_of_errors_are_pythons(self):
        ran = self.expect_error("a = 'b \u2028 \x85 c'\nd = '\x0c'\r\n1/0", "ZeroDivisionError")
        self.assertIn("----> 3 1/0", ran.error["traceback"])

    def test_what_ended_a_cell_before_the_error_is_kept(self):
        ran = self.run_cell("print('before')\nundefined")
        self.assertEqual((ran.out, ran.error["name"]), (b"before\n", "NameError"))

    def test_await_at_the_top(self):
        self.expect_text("import asyncio\nasync def f():\n  await asyncio.sleep(0)\n  return 4\nawait f()", "4")
        self.expect_text("t = asyncio.ensure_future(f()) if False else await asyncio.gather(f(), f())\nt", "[4, 4]")
        self.expect_text("async with asyncio.Lock(): r = 7\nr", "7")

    def test_future_features_hold_for_later_cells(self):
        self.run_cell("from __future__ import annotations")
        self.expect_text("def f(x: nosuch): pass\nf.__annotations__", "{'x': 'nosuch'}")

    def test_nobody_is_asked(self):
        ran = self.expect_error("input('name: ')", "StdinNotImplementedError", "put the value into the code")
        self.assertEqual(ran.out, b"")
        self.expect_text("import sys; sys.stdin.read()", "")
        ran = self.run_cell("import subprocess; subprocess.run(['cat'])")
        self.assertEqual((ran.out, ran.error), (b"", None))

    def test_variables_of_one_cell(self):
        code = "import os\nprint(os.environ.get('A'), os.environ['HOME'], flush=True)\nos.system('echo \"$A\"')"
        self.assertEqual(self.run_cell(code, env={"A": "b c\nd", "HOME": "/x"}).out, b"b c\nd /x\nb c\nd\n")
        self.assertEqual(self.run_cell(code).out, b"None /home/user\n\n")

    def test_interrupt_keeps_the_state(self):
        self.run_cell("v = 5")
        for code in ("print('on')\nwhile True: pass", "import time\nprint('on'); time.sleep(100)",
                     "import asyncio\nprint('on'); await asyncio.sleep(100)",
                     "import subprocess\nprint('on'); subprocess.run(['sleep', '100'])"):
            self.assertEqual(self.interrupt(code).error["name"], "KeyboardInterrupt", code)
        self.expect_text("v", "5")

    def test_interrupt_between_cells_is_nothing(self):
        number = self.run_cell("v = 6; import os; os.getpid()").text
        for _ in range(5):  # sent by a program whose end is waited for, so that none of them comes later
            self.assertEqual(self.command("sh", "-c", f"kill -INT {number}").returncode, 0)
        self.expect_text("v", "6")

    def test_exit_is_an_error_and_the_state_stays(self):
        self.run_cell("v = 7")
        self.expect_error("exit()", "SystemExit")
        self.expect_error("import sys; sys.exit(3)", "SystemExit", "3")
        self.expect_text("v", "7")

    def test_the_end_of_the_process_is_seen(self):
        self.driver.start("print('last'); import os; os._exit(9)")
        ran = self.driver.wait()
        self.assertEqual((ran.out, self.driver.process.wait(LIMIT)), (b"last\n", 9))

    def test_a_fork_does_not_come_back_as_a_second_driver(self):
        self.run_cell("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nelse: print('child')")
        self.expect_text("pid > 0", "True")
        self.expect_text("import multiprocessing as m\ndef f(x): return x * x\nm.get_context('fork').Pool(2).map(f, [1, 2])", "[1, 4]")

    def test_cells_close_and_replace_streams(self):
        self.run_cell("import os, sys\nsys.stdout.close()")
        self.assertEqual(self.run_cell("print('again')").out, b"again\n")
        self.run_cell("os.close(0); os.close(2)")
        self.expect_text("1 + 1", "2")
        self.run_cell("import io; sys.stdout = io.StringIO()")
        self.expect_text("print('x'); sys.stdout.getvalue()", "x\\n")

    def test_sources_of_cells_are_found(self):
        self.expect_text("def f(): return 42\nimport inspect\ninspect.getsource(f)", "def f(): return 42\\n")
        self.expect_text("def g(): return 43\nprint(inspect.getsource(g)); 1", "1")

    def test_rich_forms(self):
        ran = self.run_cell("class R:\n  def _repr_html_(self): return '<b>'\n  def _repr_png_(self): return b'\\x89PNG'\n"
                            "  def _repr_json_(self): return {'a': [1, float('nan')]}\n  def __repr__(self): return 'r'\nR()")
        self.assertEqual(ran.results, [{"type": "result", "is_main_result": True, "text": "r", "html": "<b>",
                                        "png": "iVBORw==",
                                        "json": {"a": [1, None]}, "extra": {}}])
        ran = self.run_cell("class M:\n  def _repr_mimebundle_(self, **_): return {'text/markdown': '*m*', 'application/x-y': {'z': 1}}\ndisplay(M()); 1")
        self.assertEqual([r["is_main_result"] for r in ran.results], [False, True])
        self.assertEqual((ran.results[0]["markdown"], ran.results[0]["extra"]), ("*m*", {"application/x-y": {"z": 1}}))
        ran = self.run_cell("class B:\n  def _repr_html_(self): return 1/0\n  def __repr__(self): raise ValueError('v')\nB()")
        self.assertIn(b"division by zero", ran.err)
        self.assertIn("its repr failed: v", ran.text)
        self.assertIsNone(ran.error)

    def test_tables(self):
        self.need_module("pandas")
        ran = self.run_cell("import pandas as pd\npd.DataFrame({'a': [1, 2], 't': pd.to_datetime(['2020-01-01', None]), 'f': [1.5, float('nan')]})")
        result = ran.results[0]
        self.assertEqual(result["data"], {"a": [1, 2], "t": ["2020-01-01T00:00:00", None], "f": [1.5, None]})
        self.assertIn("<table", result["html"])
        self.assertIn("2020-01-01", result["text"])

    def figure(self, code):
        self.need_module("matplotlib")
        ran = self.run_cell("import matplotlib.pyplot as plt\n" + code)
        self.assertIsNone(ran.error, ran.error)
        shown = [r for r in ran.results if "png" in r]
        self.assertEqual(len(shown), 1, [sorted(r) for r in ran.results])
        self.assertTrue(shown[0]["png"].startswith(PNG))
        self.assertIn("<Figure size", shown[0]["text"])
        return shown[0]

    def test_figures_of_who_looked_for_the_library_first(self):
        self.run_cell("import importlib.util\nimportlib.util.find_spec('matplotlib'), importlib.util.find_spec('IPython')")
        self.assertEqual(self.figure("plt.plot([1, 2]);")["chart"]["type"], "line")

    def test_figures_of_lines(self):
        result = self.figure("plt.plot([1, 2], [3, 4], label='l'); plt.xlabel('Time (s)'); plt.title('T'); plt.show()")
        self.assertFalse(result["is_main_result"])
        chart = result["chart"]
        self.assertEqual({k: chart[k] for k in ("type", "title", "x_label", "x_unit", "y_label", "x_scale", "elements")},
                         {"type": "line", "title": "T", "x_label": "Time (s)", "x_unit": "s", "y_label": None, "x_scale": "linear",
                          "elements": [{"label": "l", "points": [[1, 3], [2, 4]]}]})
        self.assertEqual(len(chart["x_ticks"]), len(chart["x_tick_labels"]))
        result = self.figure("import datetime as d\nplt.plot([d.date(2020, 1, 1), d.date(2020, 2, 1)], [1, 10]); plt.yscale('log')")
        self.assertEqual((result["chart"]["x_scale"], result["chart"]["y_scale"]), ("datetime", "log"))
        self.assertEqual(result["chart"]["elements"][0]["points"][0][0], "2020-01-01T00:00:00+00:00")

    def test_figures_of_other_kinds(self):
        chart = self.figure("plt.bar(['a', 'b'], [1, 2], label='g');")["chart"]
        self.assertEqual((chart["type"], chart["elements"]),
                         ("bar", [{"label": "a", "group": "g", "value": 1}, {"label": "b", "group": "g", "value": 2}]))
        chart = self.figure("plt.barh(['a', 'b'], [1, 2]);")["chart"]
        self.assertEqual([(e["label"], e["value"]) for e in chart["elements"]], [("a", 1), ("b", 2)])
        chart = self.figure("plt.scatter([1, 2], [3, 4]);")["chart"]
        self.assertEqual((chart["type"], chart["elements"]), ("scatter", [{"label": "Dataset 1", "points": [[1, 3], [2, 4]]}]))
        result = self.figure("fig, axes = plt.subplots(1, 2); axes[0].pie([1, 3], labels=['x', 'y']); axes[1].boxplot([[1, 2, 3, 10]]); fig")
        self.assertTrue(result["is_main_result"])
        pie, box = result["chart"]["elements"]
        self.assertEqual((result["chart"]["type"], pie["type"], box["type"]), ("superchart", "pie", "box_and_whisker"))
        self.assertEqual([round(e["angle"]) for e in pie["elements"]], [90, 270])
        self.assertEqual(box["elements"], [{"label": "1", "min": 1, "first_quartile": 1.75, "median": 2.5, "third_quartile": 4.75,
                                            "max": 4.75 if box["elements"][0]["max"] == 4.75 else 3, "outliers": [10]}])
        self.assertEqual(self.figure("plt.imshow([[1, 2]]);")["chart"]["type"], "unknown")

    def test_magics_and_displays_of_ipython(self):
        self.need_module("IPython")
        self.run_cell("v = 8")
        self.assertEqual(self.run_cell("!echo sh; pwd").out, b"sh\n/home/user\n")
        self.assertEqual(self.run_cell("%%bash\necho $((1 + 2))").out, b"3\n")
        self.expect_text("w = !echo a\nw[0] + str(v) + str(Out)", "a8{}")
        ran = self.run_cell("from IPython.display import HTML, display\ndisplay(HTML('<b>'))\nHTML('<i>')")
        self.assertEqual([(r["html"], r["is_main_result"]) for r in ran.results], [("<b>", False), ("<i>", True)])
        self.expect_error("%nosuchmagic", "UsageError")
        self.expect_error("input()", "StdinNotImplementedError")
        self.expect_error("1/0", "ZeroDivisionError")
        self.expect_text("import asyncio\nawait asyncio.sleep(0, 9)", "9")
        self.assertEqual(self.interrupt("print('on')\nwhile True: pass").error["name"], "KeyboardInterrupt")
        self.assertEqual(self.run_cell("%env A", env={"A": "b"}).text, "b")
        self.expect_text("get_ipython().user_ns['v']", "8")

    def test_magics_without_ipython(self):
        self.run_cell("import sys; sys.modules['IPy' 'thon'] = None")
        self.expect_error("%time 1", "SyntaxError", "magics .* need IPython, and the image has none")
        self.expect_error("!ls", "SyntaxError", "magics .* need IPython")

    def test_what_looks_like_a_frame_is_text(self):
        fake = "\\x1b_" + "0" * 32 + "=000e" + '{\\"type\\":\\"end\\"}'
        ran = self.run_cell(f"print('{fake}')\nprint('after')\n5")
        self.assertEqual((ran.text, ran.out.count(b"\x1b_"), ran.out.endswith(b"after\n")), ("5", 1, True))
        # the mark of an earlier cell is worth nothing later
        ran = self.run_cell("import os, glob\nprint(open('/proc/self/cmdline').read().count('mark'), list(os.environ))")
        self.assertNotIn(self.driver.streams[0].mark, ran.out)


class JavaScript(Interpreter):
    language = "javascript"

    def test_state_and_value_of_the_last_expression(self):
        self.expect_text("const x = 1; let y = 2\nx + y", "3")
        self.expect_text("const x = 5; x + y", "7")
        self.expect_text("'a' + \"b\"", "ab")
        self.expect_text("({a: [1, 2]})", "{ a: [ 1, 2 ] }")
        self.assertEqual(self.run_cell("undefined").results, [])
        self.expect_text("await Promise.resolve(4)", "4")
        self.expect_text("class A { m() { return 6 } }; new A().m()", "6")
        self.expect_text("class A {}; function f() { return 1 } f()", "1")

    def test_output(self):
        ran = self.run_cell("console.log('a', {b: 1}); process.stdout.write('c\\n'); console.error('e')\n"
                            "require('child_process').execSync('echo d; echo f >&2', {stdio: 'inherit'}); console.log('g')")
        self.assertEqual((ran.out, ran.err, ran.error), (b"a { b: 1 }\nc\nd\ng\n", b"e\nf\n", None))
        self.assertEqual(len(self.run_cell("console.log('x'.repeat(2000000))").out), 2000001)
        ran = self.run_cell("'\u20ac'.repeat(3000000)")
        self.assertLess(len(ran.text.encode()), 5 << 20)
        self.assertIn(b"at most", ran.err)

    def test_errors(self):
        ran = self.expect_error("function f() { throw new TypeError('bad') }\nf()", "TypeError", "bad")
        self.assertIn("at f (cell_1.js:1:", ran.error["traceback"])
        self.assertNotIn("node:", ran.error["traceback"])
        self.expect_error("x +* 1", "SyntaxError")
        self.expect_error("throw 5", "Error", "5")
        for thrown in ("new Proxy({}, {get() { throw 1 }})", "{name: 'X', get message() { throw new Error('no') }}",
                       "Object.assign(new Error(), {stack: {toString: 1, valueOf: 1}})"):
            self.expect_error(f"throw {thrown}", "Error", "an error that can't be shown: asking it for its name or message fails")
        self.assertEqual(self.run_cell("6").text, "6")
        self.expect_error("await Promise.reject(new RangeError('r'))", "RangeError", "r")
        ran = self.run_cell("setTimeout(() => { throw new Error('late') }, 0); await new Promise(r => setTimeout(r, 50))")
        self.assertIn(b"Uncaught Error: late", ran.err)
        self.expect_text("1", "1")

    def test_imports(self):
        self.expect_text("import fs, { existsSync as has } from 'fs'; import * as path from \"path\"\nimport 'os'\n"
                         "[typeof fs.readFileSync, has('/'), path.join('a', 'b')]", "[ 'function', true, 'a/b' ]")
        self.expect_text("const { join } = await import('path'); join('q', 'r')", "q/r")
        self.expect_text("`import x from 'y' ${/import(1)/.test('import1') ? `${'import(z)'}` : 0}` // import a from 'b'",
                         "import x from \\'y\\' import(z)".replace("\\'", "'"))
        self.expect_error("import x from 'nosuch'", "Error")
        self.run_cell("require('fs').writeFileSync('m.mjs', 'export default 3; export const b = 4')")
        self.expect_text("import m, { b } from './m.mjs'; m + b", "7")

    def test_variables_of_one_cell(self):
        self.assertEqual(self.run_cell("console.log(process.env.A)", env={"A": "b\nc"}).out, b"b\nc\n")
        self.assertEqual(self.run_cell("console.log(process.env.A)").out, b"undefined\n")

    def test_interrupt_keeps_the_state(self):
        self.run_cell("var v = 5")
        self.assertEqual(self.interrupt("console.log('on'); await new Promise(() => {})").error["name"], "KeyboardInterrupt")
        self.expect_text("v", "5")

    def test_nothing_to_read(self):
        self.expect_text("require('fs').readFileSync(0).length", "0")
        ran = self.run_cell("require('child_process').execSync('cat', {stdio: 'inherit'})")
        self.assertIsNone(ran.error)

    def test_display(self):
        ran = self.run_cell("display({_toHtml() { return '<b>' }}); 1")
        self.assertEqual([(r.get("html"), r["is_main_result"]) for r in ran.results], [("<b>", False), (None, True)])


class TypeScript(Interpreter):
    language = "javascript"

    def setUp(self):
        super().setUp()
        self.driver.word = "typescript"

    def options(self):
        return () if "without" in self.id() else ("--mount", f"{self.modules()}:/usr/local/lib/node_modules:ro")

    def modules(self):
        folder = self.path("npm")
        os.mkdir(folder)
        if not shutil.which("npm") or subprocess.run(["npm", "install", "--prefix", folder, "--silent", "--no-audit", "typescript@5"],
                                                     capture_output=True, timeout=LIMIT * 4, check=False).returncode:
            self.skipTest("no registry of npm is in reach")
        return folder + "/node_modules"

    def test_types_are_stripped(self):
        self.expect_text("interface A { x: number }\nenum E { a = 3 }\nconst a: A = { x: 1 }; a.x + E.a", "4")
        self.expect_text("import { join } from 'path'\nconst f = <T,>(x: T): T => x; f(join('a', 'b')) as string", "a/b")
        self.expect_text("a.x", "1")

    def test_without_a_compiler(self):
        if self.command("node", "-e", "process.exit(require('module').stripTypeScriptTypes ? 1 : 0)").returncode:
            self.skipTest("this node has one")
        self.expect_error("const a: number = 1", "Error", "TypeScript needs node 22.13 or later")


class Bash(Interpreter):
    language = "bash"

    def test_state_output_and_status(self):
        ran = self.run_cell("x=1; f() { echo \"f $1\"; }; cd /tmp; echo out; echo err >&2")
        self.assertEqual((ran.out, ran.err, ran.error), (b"out\n", b"err\n", None))
        self.assertEqual(self.run_cell("echo $x; f ä; pwd").out, "1\nf ä\n/tmp\n".encode())
        self.expect_error("(exit 4)", "ExitStatus", "4")
        self.assertIsNone(self.run_cell("true").error)
        self.assertIn(b"syntax error", self.expect_error("if; then", "ExitStatus").err)
        self.assertEqual(self.run_cell("cat; read a; echo \"<$a>\"").out, b"<>\n")
        self.assertEqual(self.run_cell("cat <<END\nhere\nEND").out, b"here\n")

    def test_variables_of_one_cell(self):
        self.run_cell("B=old; export C=old")
        code = "echo \"$A|$B|$C\"; sh -c 'echo \"$A|$B|$C\"'"
        self.assertEqual(self.run_cell(code, env={"A": "a b\nc'\"$", "B": "new", "C": "new"}).out, b"a b\nc'\"$|new|new\n" * 2)
        self.assertEqual(self.run_cell(code).out, b"|old|old\n||old\n")

    def test_interrupt_keeps_the_state(self):
        self.run_cell("v=5")
        for code in ("echo on; while :; do :; done", "echo on; sleep 100; echo no"):
            ran = self.interrupt(code)
            self.assertEqual((ran.error["value"], ran.out), ("130", b"on\n"))
        self.assertEqual(self.run_cell("echo $v").out, b"5\n")

    def test_a_cell_that_ends_its_shell(self):
        ran = self.expect_error("echo last; exit 3", "ExitStatus", "3")
        self.assertIn("ended its shell", ran.error["traceback"])
        self.assertEqual((ran.out, self.driver.process.wait(LIMIT)), (b"last\n", 3))

    def test_a_long_cell(self):
        self.assertEqual(self.run_cell(": " + "x" * 50000 + "\necho end").out, b"end\n")


class Frames(Case):
    """The reader of the tests, which the others rely on."""

    def test_frames_among_text(self):
        got = []
        reader, writer = os.pipe()
        stream = Stream.__new__(Stream)
        stream.fd, stream.waiting, stream.message, stream.mark = reader, b"", None, b"a" * 32
        stream.then = lambda *e: got.append(e)
        head = b"\x1b_" + b"a" * 32
        os.write(writer, b"x\x1b_y" + head + b"<0003[1," + b"z" + head + b">00022]" + b"\x1b_" + b"b" * 32)
        os.close(writer)
        stream.read()
        os.close(reader)
        self.assertEqual([e for e in got if e[0] == "frame"], [("frame", [1, 2])])
        self.assertEqual(b"".join(e[1] for e in got if e[0] == "text"), b"x\x1b_yz\x1b_" + b"b" * 32)


if __name__ == "__main__":
    main(sys.modules[__name__])
