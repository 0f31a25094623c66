#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glovebox serve: run_code. Cells and contexts over HTTP, with a raw client; what a sandbox can say instead of a driver."""
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
from cases import GLOVEBOX, LIMIT, main, wait_until  # noqa: E402
from interpreter_calls import PORT, Cell, ask, make_context, run_cell  # noqa: E402
from server_client import Cut, Served  # noqa: E402


class Interpreted(Served):
    def setUp(self):
        super().setUp()
        self.box = self.client.create(envVars={"GLOBAL": "g"})

    def run_cell(self, code, **more):
        ran = run_cell(self.box, code, **more)
        self.assertEqual((ran.status, ran.refusal), (200, None))
        self.assertTrue(ran.is_whole, ran.events)
        return ran

    def need(self, program):
        if self.box.run("/bin/sh", "-c", f"command -v {program}").end.get("exitCode"):
            self.skipTest(f"the image has no {program}")

    def need_module(self, name):
        self.need("python3")
        if self.run_cell(f"import importlib.util as i\nprint(i.find_spec('{name}'))").out == "None\n":
            self.skipTest(f"the image has no {name}")

    def expect_refused(self, ran, status, words):
        self.assertEqual(ran.status, status, ran.refusal)
        self.assertRegex(ran.refusal, words)

    def contexts(self):
        return ask(self.box, "GET", "/contexts").json()


class Cells(Interpreted):
    def setUp(self):
        super().setUp()
        self.need("python3")

    def test_state_results_and_their_order(self):
        ran = self.run_cell("x = 1\nprint('a')\nx + 1")
        self.assertEqual([e["type"] for e in ran.events], ["number_of_executions", "stdout", "result", "end_of_execution"])
        self.assertEqual((ran.count, ran.out, ran.text), (1, "a\n", "2"))
        self.assertEqual(ran.of("result"), [{"type": "result", "text": "2", "is_main_result": True, "extra": {}}])
        ran = self.run_cell("x")
        self.assertEqual((ran.count, ran.text), (2, "1"))
        self.assertGreater(self.run_cell("print(1)").of("stdout")[0]["timestamp"], 1e18)
        self.assertEqual(self.run_cell("").events[1:], [{"type": "end_of_execution"}])

    def test_errors(self):
        ran = self.run_cell("print('before')\nimport sys; print('e', file=sys.stderr)\n1/0")
        self.assertEqual((ran.out, ran.err, ran.error["name"], ran.error["value"]),
                         ("before\n", "e\n", "ZeroDivisionError", "division by zero"))
        self.assertIn("Traceback", ran.error["traceback"])
        self.assertEqual(self.run_cell("input()").error["name"], "StdinNotImplementedError")
        self.assertEqual(self.run_cell("exit()").error["name"], "SystemExit")

    def test_output_comes_as_it_is_printed(self):
        cell = Cell(self.box, "import os, time\nprint('one', 'line')\nprint('part', end='')\n"
                              "while not os.path.exists('/tmp/go'): time.sleep(0.01)\nprint('ed')")
        cell.until(lambda c: "part" in c.out)
        self.assertEqual(cell.out, "one line\npart")
        self.assertFalse(self.box.run("/bin/sh", "-c", "touch /tmp/go").end.get("exitCode"))
        self.assertEqual(cell.finish().out, "one line\nparted\n")

    def test_text_of_any_bytes(self):
        ran = self.run_cell("import os\nfor b in '\\u20ac\\U0001f600'.encode(): os.write(1, bytes([b]))\nprint()\n"
                            "os.write(1, b'\\xff\\0\\x85\\n'); print('\\x85\\u2028\\u2029|')\nos.write(1, b'\\xe2\\x82')")
        self.assertEqual(ran.out, "\u20ac\U0001f600\n\ufffd\0\ufffd\n\x85\u2028\u2029|\n\ufffd")

    def test_nothing_raw_ends_a_line(self):
        """Some clients take U+2028 and its kin for the end of a line."""
        connection = http.client.HTTPConnection("127.0.0.1", self.client.port, timeout=LIMIT)
        self.addCleanup(connection.close)
        code = "print('a\\u2028b\\x85c')\nclass H:\n  def _repr_html_(self): return 'd\\u2029e\\x0bf\\x7f'\nH()"
        connection.request("POST", "/execute", json.dumps({"code": code}), self.box.fields(PORT))
        for line in connection.getresponse().read().decode().splitlines():
            json.loads(line)

    def test_large_output_and_results(self):
        ran = self.run_cell("print('x' * 5000000)\n'y' * 3000000")
        self.assertEqual((len(ran.out), len(ran.text)), (5000001, 3000000))
        ran = self.run_cell("'z' * 20000000")
        self.assertLess(len(ran.text), 5 << 20)
        self.assertIn("at most", ran.err)
        ran = self.run_cell("class H:\n  def _repr_html_(self): return '\\u2028' * 800000\nH()")
        self.assertEqual((ran.of("result")[0]["html"].count("\u2028"), ran.err), (800000, ""))

    def test_forms_of_results(self):
        ran = self.run_cell("class R:\n  def _repr_html_(self): return '<b>\u20ac'\n  def _repr_png_(self): return b'\\x89PNG'\n"
                            "  def _repr_json_(self): return {'a': [1, 2**70]}\n  def _repr_markdown_(self): return '*'\n"
                            "  def _repr_svg_(self): return '<svg/>'\n  def _repr_latex_(self): return '$x$'\n"
                            "  def _repr_javascript_(self): return '1'\n  def _repr_jpeg_(self): return b'j'\n  def _repr_pdf_(self): return b'p'\n"
                            "  def _repr_mimebundle_(self, **_): return {'a/b': {'c': None}, 'e2b/data': {'d': [1]}, 'e2b/chart': {'type': 'line'}}\n"
                            "  def __repr__(self): return 'r'\ndisplay(R())\nR()")
        want = {"type": "result", "text": "r", "html": "<b>\u20ac", "png": "iVBORw==", "json": {"a": [1, str(2**70)]}, "markdown": "*",
                "svg": "<svg/>", "latex": "$x$", "javascript": "1", "jpeg": "ag==", "pdf": "cA==", "extra": {"a/b": {"c": None}},
                "data": {"d": [1]}, "chart": {"type": "line"}}
        self.assertEqual(ran.of("result"), [{**want, "is_main_result": False}, {**want, "is_main_result": True}])

    def test_variables_of_one_cell(self):
        code = "import os\nos.environ.get('A'), os.environ.get('GLOBAL')"
        self.assertEqual(self.run_cell(code, env_vars={"A": "b\nc \u20ac", "GLOBAL": "own", "B": None}).text, "('b\\nc \u20ac', 'own')")
        self.assertEqual(self.run_cell(code).text, "(None, 'g')")
        self.assertEqual(self.run_cell("os.environ['HOME'], os.getcwd(), os.environ['E2B_SANDBOX_ID']").text,
                         f"('/home/user', '/home/user', '{self.box.name}')")

    def test_cells_of_a_context_wait_for_each_other(self):
        first = Cell(self.box, "import os, time\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\nprint('first')")
        first.until(lambda c: c.events)
        second = Cell(self.box, "print(os.path.exists('/tmp/go'))")
        third = Cell(self.box, "'never'")
        third.close()
        self.box.run("/bin/sh", "-c", "touch /tmp/go")
        self.assertEqual(second.finish().out, "True\n")
        self.assertEqual(first.finish().out, "first\n")
        self.assertEqual(self.run_cell("len(In)").text, "4")

    def test_a_client_that_leaves_interrupts_its_cell(self):
        self.run_cell("v = 5; seen = []")
        cell = Cell(self.box, "import time\ntry:\n  print('on')\n  time.sleep(1000)\nexcept KeyboardInterrupt:\n  seen.append(1)\n  raise")
        cell.until(lambda c: c.out).close()
        self.assertEqual(self.run_cell("v, seen").text, "(5, [1])")

    def test_a_cell_that_does_not_end_is_killed(self):
        self.run_cell("v = 5")
        cell = Cell(self.box, "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('on')\nwhile True: time.sleep(100)")
        cell.until(lambda c: c.out).close()
        ran = self.run_cell("'v' in globals()")
        self.assertIn("what earlier cells made is lost", ran.err)
        self.assertEqual((ran.text, ran.count), ("False", 1))
        self.assertEqual(self.run_cell("1").err, "")

    def test_the_end_of_an_interpreter(self):
        other = make_context(self.box)
        self.run_cell("v = 6", context_id=other)
        for code, words in (("import os; print('last'); os._exit(3)", "has ended with status 3"),
                            ("import os, signal; print('last', flush=True); os.kill(os.getpid(), signal.SIGSEGV)", "signal 11")):
            ran = self.run_cell(code)
            self.assertEqual((ran.out, ran.error["name"]), ("last\n", "UnexpectedEndOfExecution"))
            self.assertRegex(ran.error["value"], words + ".* is lost")
            ran = self.run_cell("1")
            self.assertEqual((ran.text, ran.err, ran.count), ("1", "", 1))
        self.assertEqual(self.run_cell("v", context_id=other).text, "6")

    def test_an_end_between_cells_is_told_by_the_next(self):
        self.run_cell("import os, threading, time\ndef f():\n  while not os.path.exists('/tmp/go'): time.sleep(0.01)\n  os._exit(1)\n"
                      "threading.Thread(target=f).start()\npid = os.getpid(); print(pid)")
        self.box.run("/bin/sh", "-c", "touch /tmp/go")
        wait_until(lambda: not self.drivers())
        self.assertIn("is lost", self.run_cell("2").err)

    def drivers(self):
        """The interpreters that run, as the sandbox sees them."""
        said = self.box.run("/bin/sh", "-c", "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; echo; done")
        return [line for line in said.out.decode().split("\n") if "<glovebox>" in line]

    def test_what_looks_like_a_frame_is_text(self):
        fake = "\\x1b_" + "0" * 32 + "=000e" + '{\\"type\\":\\"end\\"}'
        ran = self.run_cell(f"print('{fake}')\n5")
        self.assertEqual((ran.text, ran.out.count("\x1b_")), ("5", 1))

    def own_frames(self, frames):
        """A cell that says what it likes with its own mark."""
        return self.run_cell("import gc, os\nd = next(o for o in gc.get_objects() if type(o).__name__ == 'Driver')\n"
                             "def frame(kind, data, size=None):\n"
                             "  os.write(1, b'\\x1b_%s%s%04x%s' % (d.mark, kind, len(data) if size is None else size, data))\n" + frames)

    def test_a_cell_that_lies_about_itself(self):
        ran = self.own_frames("""
frame(b'=', b'{"type":"result","text":"t","html":7,"is_main_result":"yes","extra":[],"more":1,"type2":2}')
frame(b'=', b'{"type":"end_of_execution"}')
frame(b'=', b'{"type":"number_of_executions","execution_count":9}')
frame(b'=', b'{"type":"error","name":1,"value":"v","traceback":"t"}')
frame(b'=', b'{"type":"stdout"')
frame(b'=', b'[' * 1000)
frame(b'=', b'[1]')
frame(b'=', b'')
frame(b'=', b'{"type":"result","text":"\\xff"}')
frame(b'+', b'nothing began'); frame(b'>', b'')
print('after')""")
        self.assertEqual(ran.of("result"), [{"type": "result", "text": "t", "is_main_result": False, "extra": {}}])
        self.assertEqual((ran.error, ran.out, len(ran.of("number_of_executions"))), (None, "after\n", 1))
        self.assertEqual(ran.err.count("left out"), 8)
        self.assertTrue(ran.is_whole)

    def test_a_message_without_end(self):
        ran = self.own_frames("""
frame(b'<', b'{"type":"result","text":"')
for i in range(4000): frame(b'+', b'x' * 4000)
frame(b'>', b'"}')
frame(b'<', b'{"type":"result","text":"')
frame(b'=', b'{"type":"result","text":"other"}')
print('out')
frame(b'=', b'', 4033)""")
        self.assertEqual([r["text"] for r in ran.of("result")], ["other"])
        self.assertEqual(ran.err.count("left out"), 1)
        self.assertTrue(ran.out.startswith("out\n"))

    def test_a_cell_that_says_it_is_over(self):
        """It only ends its own answer: what it writes then is nobody's."""
        ran = self.own_frames("""
import threading, time
def late():
  time.sleep(0.3)
  print('late')
threading.Thread(target=late).start()
os.write(2, b'\\x1b_%s=%04x%s' % (d.mark, 14, b'{"type":"end"}'))
frame(b'=', b'{"type":"end"}')
time.sleep(0.1)""")
        self.assertTrue(ran.is_whole)
        self.assertEqual(self.run_cell("6").text, "6")

    def test_a_slow_reader_holds_the_cell_up(self):
        body = json.dumps({"code": "import os\nn = 0\nos.set_blocking(1, True)\nfor i in range(2000):\n"
                                   "  os.write(1, b'y' * 65536); n += 65536\n  open('/tmp/n', 'w').write(str(n))"}).encode()
        head = "".join(f"{k}: {v}\r\n" for k, v in self.box.fields(PORT).items())
        with socket.create_connection(("127.0.0.1", self.client.port), LIMIT) as s:
            s.sendall(f"POST /execute HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body)
            before = [None]

            def has_stopped():
                now = self.box.run("/bin/sh", "-c", "sleep 1; cat /tmp/n 2>/dev/null || true").out
                stopped, before[0] = now and now == before[0], now
                return stopped

            self.assertTrue(wait_until(has_stopped, LIMIT))
            self.assertLess(int(before[0]), 100 << 20)
        self.assertEqual(self.run_cell("'free'").text, "free")

    def test_a_sandbox_that_is_killed_cuts_the_answer(self):
        cell = Cell(self.box, "import time\nprint('on')\ntime.sleep(1000)")
        cell.until(lambda c: c.out)
        self.assertEqual(self.box.kill().status, 204)
        with self.assertRaises((http.client.HTTPException, ConnectionError, Cut)):
            if cell.finish().is_whole:
                raise AssertionError(cell.events)
            raise Cut
        cell.close()
        self.assertEqual(self.client.ask("GET", "/health", fields=self.box.fields(PORT), key=False).status, 502)

    def test_signs_of_life(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.client.port, timeout=LIMIT)
        self.addCleanup(connection.close)
        connection.request("POST", "/execute", json.dumps({"code": "import time; time.sleep(7)"}), self.box.fields(PORT))
        self.assertIn(b'{"type":"keepalive"}\n', connection.getresponse().read())


class Contexts(Interpreted):
    def setUp(self):
        super().setUp()
        self.need("python3")

    def test_are_made_listed_and_removed(self):
        self.assertEqual([(c["language"], c["cwd"]) for c in self.contexts()],
                         [("python", "/home/user"), ("javascript", "/home/user")])
        made = ask(self.box, "POST", "/contexts", {"cwd": "/tmp", "language": "Python"}).json()
        self.assertEqual((made["language"], made["cwd"]), ("python", "/tmp"))
        self.assertEqual(self.contexts()[-1], made)
        self.assertEqual(self.run_cell("import os; v = 1; os.getcwd()", context_id=made["id"]).text, "/tmp")
        self.assertIsNotNone(self.run_cell("v").error)
        answer = ask(self.box, "DELETE", f"/contexts/{made['id']}")
        self.assertEqual((answer.status, answer.body), (200, b"null"))
        self.assertNotIn(made, self.contexts())
        self.expect_refused(Cell(self.box, "v", context_id=made["id"]), 404, f"Context {made['id']} not found")
        for method, path in (("DELETE", ""), ("POST", "/restart")):
            self.assertEqual(ask(self.box, method, f"/contexts/{made['id']}{path}").status, 404)

    def test_restart_keeps_the_id_and_loses_the_state(self):
        context = make_context(self.box)
        self.run_cell("v = 1", context_id=context)
        cell = Cell(self.box, "import time\nprint('on')\ntime.sleep(1000)", context_id=context)
        cell.until(lambda c: c.out)
        waiting = Cell(self.box, "'v' in globals()", context_id=context)
        answer = ask(self.box, "POST", f"/contexts/{context}/restart")
        self.assertEqual((answer.status, answer.body), (200, b"null"))
        self.assertEqual(cell.finish().error["name"], "ContextRestarting")
        self.assertTrue(cell.is_whole)
        self.assertEqual((waiting.finish().text, waiting.count, waiting.err), ("False", 1, ""))

    def test_removal_ends_what_runs_in_it_and_what_that_started(self):
        context = make_context(self.box)
        cell = Cell(self.box, "import subprocess\np = subprocess.Popen(['sleep', '4321'])\nprint('on')\np.wait()", context_id=context)
        cell.until(lambda c: c.out)
        waiting = Cell(self.box, "1", context_id=context)
        self.assertEqual(ask(self.box, "DELETE", f"/contexts/{context}").status, 200)
        self.assertEqual(cell.finish().error["name"], "ContextRemoved")
        self.assertTrue(waiting.finish().error)
        self.assertTrue(wait_until(lambda: self.box.run("/bin/sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep 'sleep 43[2]1'").end["exitCode"]))

    def test_by_their_own_folder(self):
        self.box.run("/bin/sh", "-c", "mkdir -p dir/sub")
        for cwd, want in (("dir/sub", "/home/user/dir/sub"), ("~/dir", "/home/user/dir"), ("", "/home/user")):
            self.assertEqual(self.run_cell("import os; os.getcwd()", context_id=make_context(self.box, cwd=cwd)).text, want)
        answer = ask(self.box, "POST", "/contexts", {"cwd": "/no/such"})
        self.assertEqual(answer.status, 400)
        self.assertIn(b"/no/such", answer.body)
        self.assertEqual(len(self.contexts()), 5)

    def test_are_bounded(self):
        made = [ask(self.box, "POST", "/contexts", {"language": "bash"}) for _ in range(31)]
        self.assertEqual([a.status for a in made], [200] * 30 + [429])
        self.assertIn(b"at most 32 contexts", made[-1].body)
        self.assertEqual(ask(self.box, "DELETE", f"/contexts/{made[0].json()['id']}").status, 200)
        make_context(self.box, language="bash")

    def test_one_sandbox_leaves_room_for_cells_of_others(self):
        other = self.client.create()
        first = Cell(self.box, "import time\nprint('on')\ntime.sleep(1000)#" + "x" * 3900000)
        first.until(lambda c: c.out)
        waiting = [Cell(self.box, "#" + "x" * 3900000) for _ in range(4)]
        self.assertEqual([c.status for c in waiting], [200] * 3 + [429])
        self.assertEqual(run_cell(other, "1#" + "x" * 3900000).text, "1")
        for cell in (*waiting, first):
            cell.close()

    def test_messages_without_end_are_bounded_for_all(self):
        """Each may be as long as the longest result; whose sandbox has begun most loses them, nobody else."""
        other = self.client.create()
        frame = "x=$(head -c 4000 /dev/zero | tr '\\0' x)\nf() { printf '\\033_%s%s%04x%s' $__glovebox_mark \"$1\" ${#2} \"$2\"; }\n"
        begin = frame + "b() { f '<' '{\"type\":\"result\",\"text\":\"'; for i in {1..1100}; do f + $x; done; }\nb; b >&2\necho full\n"
        end = "until [ -e /tmp/go ]; do sleep 0.1; done\nf '>' '\"}'\n"
        before = self.memory()
        contexts = [make_context(self.box, language="bash") for _ in range(30)]
        cells = [Cell(self.box, begin + end, context_id=context) for context in contexts]
        for cell in cells:
            cell.until(lambda c: "full" in c.out)
        self.assertLess(self.memory() - before, 200 << 20)
        self.assertEqual(len(run_cell(other, "'y' * 3000000").text), 3000000)
        self.assertFalse(self.box.run("/bin/sh", "-c", "touch /tmp/go").end.get("exitCode"))
        ended = [cell.finish() for cell in cells]
        self.assertTrue(all(cell.is_whole for cell in ended))
        self.assertTrue(any("left out" in cell.err for cell in ended))
        again = run_cell(self.box, frame + "f = '{\"type\":\"result\",\"text\":\"a\"}'", context_id=contexts[0])
        self.assertEqual([r["text"] for r in again.of("result")], ["a"])

    def test_a_cell_is_over_when_it_was_read(self):
        """Who says so before has its cells taken on, and the server keeps them all."""
        code = ("import gc, os\nd = next(o for o in gc.get_objects() if type(o).__name__ == 'Driver')\n"
                "def end():\n  for fd in (1, 2): os.write(fd, b'\\x1b_%s=%04x%s' % (mark, 14, b'{\"type\":\"end\"}'))\n"
                "mark = d.mark; end()\nhead = b''\n"
                "while b'\\n' not in head: head += os.read(250, 1)\n"
                "mark = head.split()[1]; end()\n"
                "import time\nwhile not os.path.exists('/tmp/go'): time.sleep(0.05)\n"
                "size = int(head.split()[4]) + 1\nwhile size > 0: size -= len(os.read(250, size))\nend()\n")
        self.assertTrue(self.run_cell(code).is_whole)
        cell = Cell(self.box, "#" + "x" * 3000000)
        held = [Cell(self.box, f"#{i}" + "x" * 3900000) for i in range(3)]
        self.assertEqual([c.status for c in held], [200, 200, 200])
        self.expect_refused(Cell(self.box, "#" + "x" * 3900000), 429, "too many cells")
        self.assertFalse(self.box.run("/bin/sh", "-c", "touch /tmp/go").end.get("exitCode"))
        for one in (cell, *held):
            self.assertTrue(one.finish().is_whole)

    def test_a_queue_is_bounded(self):
        cells = [Cell(self.box, "import time\ntime.sleep(1000)")]
        cells += [Cell(self.box, "1") for _ in range(63)]
        self.expect_refused(Cell(self.box, "1"), 429, "too many cells wait")
        for cell in cells:
            cell.close()
        self.assertEqual(self.run_cell("2").text, "2")

    def test_many_at_once(self):
        contexts = [make_context(self.box) for _ in range(4)]
        wrong = []

        def use(context, number):
            for i in range(5):
                ran = run_cell(self.box, f"v = globals().get('v', {number}) + 10; print(v)", context_id=context)
                if ran.out != f"{number + 10 * (i + 1)}\n":
                    wrong.append((number, ran.events))

        threads = [threading.Thread(target=use, args=(c, n)) for n, c in enumerate(contexts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Languages(Interpreted):
    def test_javascript(self):
        self.need("node")
        self.assertEqual(self.run_cell("const x = [1]; console.log('o'); console.error('e')", language="javascript").out, "o\n")
        ran = self.run_cell("x.push(process.env.A); x", language="js", env_vars={"A": "b"})
        self.assertEqual((ran.text, ran.count), ("[ 1, 'b' ]", 2))
        self.assertEqual(self.run_cell("throw new TypeError('t')", language="js").error["name"], "TypeError")

    def test_javascript_that_never_waits_is_killed_when_its_client_leaves(self):
        self.need("node")
        cell = Cell(self.box, "console.log('on'); for (;;) ;", language="js")
        cell.until(lambda c: c.out).close()
        self.assertIn("is lost", self.run_cell("console.log(2)", language="js").err)

    def test_bash(self):
        ran = self.run_cell("v=1; echo $v $A $GLOBAL; pwd; echo e >&2", language="bash", env_vars={"A": "a  b"})
        self.assertEqual((ran.out, ran.err, ran.error), ("1 a b g\n/home/user\n", "e\n", None))
        self.assertEqual(self.run_cell("echo $v; (exit 3)", language="bash").error["value"], "3")
        ran = self.run_cell("echo last; exit 0", language="bash")
        self.assertEqual((ran.out, ran.error["name"]), ("last\n", "ExitStatus"))
        self.assertIn("is lost", ran.error["traceback"])
        ran = self.run_cell("echo \"<$v>\"", language="bash")
        self.assertEqual((ran.out, ran.err), ("<>\n", ""))
        self.assertEqual([c["language"] for c in self.contexts()], ["python", "javascript", "bash"])

    def test_those_that_there_are_not(self):
        self.expect_refused(Cell(self.box, "1", language="cobol"), 400, "cobol: it is not offered; give one of python, ")
        self.assertEqual(ask(self.box, "POST", "/contexts", {"language": "c"}).status, 400)


class ByShell(Interpreted):
    """Those whose programs a shell begins."""

    def test_r(self):
        self.need("R")
        ran = self.run_cell("v <- 1; cat('o\\n'); message('e'); c(v, 2)", language="R")
        self.assertEqual([e["type"] for e in ran.events if e["type"] != "stderr"], ["number_of_executions", "stdout", "result", "end_of_execution"])
        self.assertEqual((ran.count, ran.out, ran.err, ran.text), (1, "o\n", "e\n", "[1] 1 2"))
        self.assertEqual(self.run_cell("paste(Sys.getenv('A'), Sys.getenv('GLOBAL'))", language="r", env_vars={"A": "b"}).text, '[1] "b g"')
        self.assertEqual(self.run_cell("stop('s')", language="r").error["value"], "s")
        cell = Cell(self.box, "cat('on\\n'); repeat {}", language="r")
        cell.until(lambda c: c.out).close()
        self.assertEqual(self.run_cell("v", language="r").text, "[1] 1")
        ran = self.run_cell("q(status = 3)", language="r")
        self.assertRegex(ran.error["value"], "has ended with status 3")
        self.assertIsNotNone(self.run_cell("v", language="r").error)
        self.assertEqual([c["language"] for c in self.contexts()], ["python", "javascript", "r"])

    def test_java(self):
        self.need("jshell")
        context = make_context(self.box, language="java", cwd="/tmp")
        ran = self.run_cell('var v = 1; System.out.println("o"); System.err.println("e"); v + Path.of("").toAbsolutePath().toString()', context_id=context)
        self.assertEqual((ran.count, ran.out, ran.err, ran.text), (1, "o\n", "e\n", "1/tmp"))
        ran = self.run_cell('System.getProperty("A") + System.getProperty("GLOBAL")', context_id=context, env_vars={"A": "b"})
        self.assertEqual(ran.text, "bg")
        self.assertEqual(self.run_cell("1 / (v - 1)", context_id=context).error["name"], "java.lang.ArithmeticException")
        cell = Cell(self.box, 'System.out.println("on"); for (;;) ;', context_id=context)
        cell.until(lambda c: c.out).close()
        self.assertEqual(self.run_cell("v", context_id=context).text, "1")
        ran = self.run_cell("System.exit(3)", context_id=context)
        self.assertRegex(ran.error["value"], "has ended with status 3")

    def with_programs(self, **programs):
        """A sandbox that has these scripts and what a shell needs."""
        box = self.client.create(envVars={"PATH": "/tmp/bin"})
        script = "export PATH=/usr/bin:/bin; mkdir /tmp/bin; for n in sh mktemp readlink rm sleep; do ln -s $(command -v $n) /tmp/bin/$n; done; cd /tmp/bin\n"
        for name, text in programs.items():
            script += f"printf '#!/bin/sh\\n%s\\n' '{text}' > {name}; chmod +x {name}\n"
        self.assertFalse(box.run("/bin/sh", "-c", script).end.get("exitCode"))
        return box

    def expect_none(self, box, language, status, words):
        self.expect_refused(Cell(box, "1", language=language), status, words)
        answer = ask(box, "POST", "/contexts", {"language": language})
        self.assertEqual(answer.status, status)
        self.assertRegex(answer.body.decode(), words)
        self.assertEqual(len(ask(box, "GET", "/contexts").json()), 3)

    def test_an_image_without_them(self):
        box = self.with_programs()
        self.expect_none(box, "r", 501, r"\Ar: the image has no R; use one that has it")
        box = self.with_programs()
        self.expect_none(box, "java", 501, r"\Ajava: the image has no java; use an image that has a JDK 17 or later")
        box = self.with_programs(java="exit 0")
        self.expect_none(box, "java", 501, r"\Ajava: the image's java has no jshell; use an image that has a JDK 17 or later")
        self.expect_refused(Cell(self.client.create(envVars={"PATH": "/nowhere"}), "1", language="r"), 501, "r: sh: ")

    def test_one_that_ends_before_it_has_begun(self):
        box = self.with_programs(R="echo one >&2; printf \"t\\033[1mwo \\377\\n\\n\" >&2; exit 3")
        self.expect_none(box, "r", 500, r"\Ar: the interpreter has ended with status 3, before any cell; it said: t \[1mwo \ufffd\Z")
        box = self.with_programs(R="i=0; while [ $i -lt 20000 ]; do echo long lines $i; i=$((i + 1)); done >&2; printf %5000s x >&2; kill -9 $$")
        cell = Cell(box, "1", language="r")
        self.expect_refused(cell, 500, "r: the interpreter was ended by signal 9")
        self.assertLess(len(cell.refusal), 500)
        box = self.with_programs(R="exit 127")
        self.expect_none(box, "r", 501, r"\Ar: the interpreter has ended with status 127, before any cell\Z")

    def test_one_that_never_begins(self):
        box = self.with_programs(R="sleep 1000")
        refused = []

        def wait():
            refused.append(Cell(box, "1", language="r"))

        thread = threading.Thread(target=wait)
        thread.start()
        self.assertTrue(wait_until(lambda: len(ask(box, "GET", "/contexts").json()) == 3))
        context = ask(box, "GET", "/contexts").json()[-1]
        self.assertEqual(ask(box, "POST", f"/contexts/{context['id']}/restart").status, 200)
        self.assertEqual(refused, [])
        self.assertEqual(ask(box, "DELETE", f"/contexts/{context['id']}").status, 200)
        thread.join()
        self.expect_refused(refused[0], 404, "was removed")
        self.assertTrue(wait_until(lambda: b"sleep" not in box.run("/bin/sh", "-c", "/bin/cat /proc/[0-9]*/cmdline").out))


class Charts(Interpreted):
    def test_of_matplotlib(self):
        self.need_module("matplotlib")
        ran = self.run_cell("import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label='l'); plt.title('T'); plt.show()")
        shown = next(r for r in ran.of("result") if "chart" in r)
        self.assertTrue(shown["png"].startswith("iVBORw0KGgo"))
        self.assertEqual((shown["chart"]["type"], shown["chart"]["title"], shown["chart"]["elements"]),
                         ("line", "T", [{"label": "l", "points": [[1, 3], [2, 4]]}]))

    def test_of_pandas(self):
        self.need_module("pandas")
        ran = self.run_cell("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', None]})")
        self.assertEqual(ran.of("result")[0]["data"], {"a": [1, 2], "b": ["x", None]})
        self.assertIn("<table", ran.of("result")[0]["html"])

    def test_of_plotly(self):
        self.need_module("plotly")
        ran = self.run_cell("import plotly.graph_objects as go\ngo.Figure(go.Bar(x=[1], y=[2]))")
        # Its first figure brings its script along, as results of their own.
        main = next(result for result in ran.of("result") if result["is_main_result"])
        self.assertIn("application/vnd.plotly.v1+json", main["extra"])
        self.assertIn("Figure(", main["text"])


class Refusals(Interpreted):
    def test_bodies(self):
        wrong = [({"code": 1}, "code: it is missing, or not of its type"), ({}, "code: it is missing"), ({"code": None}, "code"),
                 ({"code": "1", "context_id": "x", "language": "python"}, "give one of them"),
                 ({"code": "1", "language": ["python"]}, "language: "), ({"code": "1", "env_vars": {"A B": "c"}}, "env_vars: names"),
                 ({"code": "1", "env_vars": {"A=": "c"}}, "env_vars: names"), ({"code": "1", "env_vars": {"": "c"}}, "env_vars: names"),
                 ({"code": "1", "env_vars": {"A\nB 9": "c"}}, "env_vars: names"), ({"code": "1", "env_vars": {"A": 1}}, "values are text"),
                 ({"code": "1", "env_vars": []}, "env_vars: "), (b"{", "not a JSON object"), (b"[]", "not a JSON object"),
                 (b'{"code":"\xff"}', "not a JSON object"), (b'{"code":"1","code":"2"}', "not a JSON object")]
        for body, words in wrong:
            with self.subTest(body):
                answer = self.box.ask("POST", "/execute", body, self.box.fields(PORT))
                self.assertEqual(answer.status, 400, answer)
                self.assertRegex(answer.body.decode(), words)
        self.assertEqual(self.box.ask("POST", "/execute", {"code": "1", "context_id": "../x"}, self.box.fields(PORT)).status, 404)
        with socket.create_connection(("127.0.0.1", self.client.port), LIMIT) as s:
            fields = "".join(f"{k}: {v}\r\n" for k, v in self.box.fields(PORT).items())
            s.sendall(f"POST /execute HTTP/1.1\r\nHost: x\r\n{fields}Content-Length: {(4 << 20) + 1}\r\n\r\n".encode())
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 413 "))
        for body in ({"cwd": 1}, {"language": 2}, b"x"):
            self.assertEqual(ask(self.box, "POST", "/contexts", body).status, 400, body)

    def test_credentials(self):
        for token in (None, "", "wrong", self.client.create().token):
            fields = {**self.box.fields(PORT), "X-Access-Token": token}
            if token is None:
                del fields["X-Access-Token"]
            answer = self.client.ask("POST", "/execute", {"code": "1"}, fields, key=False)
            self.assertEqual(answer.status, 401, token)
        self.assertEqual(ask(self.box, "GET", "/contexts", fields={"X-Access-Token": "wrong"}).status, 401)

    def test_contexts_need_what_ports_need(self):
        private, public = self.client.create(), self.client.create(network={"allowPublicTraffic": True})
        context = make_context(self.box)
        own = {"E2b-Sandbox-Id": self.box.name, "E2b-Sandbox-Port": str(PORT)}
        for method, path in (("GET", "/contexts"), ("POST", "/contexts"), ("DELETE", f"/contexts/{context}"), ("POST", f"/contexts/{context}/restart")):
            for fields in ({}, {"E2B-Traffic-Access-Token": "x"}, {"E2B-Traffic-Access-Token": private.traffic}):
                answer = self.client.ask(method, path, {} if method == "POST" else None, {**own, **fields}, key=False)
                self.expect_status(answer, 403, "trafficAccessToken")
        self.assertEqual(self.client.ask("GET", "/contexts", fields=self.box.fields(PORT), key=False).status, 200)
        self.assertEqual(self.client.ask("GET", "/health", fields=own, key=False).status, 200)
        self.assertIsNone(public.traffic)
        self.assertEqual(ask(public, "GET", "/contexts").status, 200)
        fields = {"E2b-Sandbox-Id": public.name, "E2b-Sandbox-Port": str(PORT)}
        self.assertEqual(self.client.ask("POST", "/execute", {"code": "1"}, fields, key=False).status, 401)

    def test_paths_and_methods(self):
        for method, path, status in (("GET", "/execute", 405), ("PUT", "/contexts", 405), ("GET", "/contexts/x", 405),
                                     ("DELETE", "/contexts/", 404), ("DELETE", "/contexts/x/restart", 405), ("POST", "/contexts/x/y", 404),
                                     ("GET", "/", 404), ("POST", "/contexts/x/restart", 404), ("DELETE", "/contexts/" + "x" * 5000, 404)):
            self.assertEqual(ask(self.box, method, path).status, status, path)
        answer = ask(self.box, "GET", "/health")
        self.assertEqual((answer.status, answer.json()), (200, "OK"))

    def test_by_host_name(self):
        answer = self.client.ask("GET", "/health", fields={"Host": f"{PORT}-{self.box.name}.sandboxes.example"}, key=False)
        self.assertEqual((answer.status, answer.json()), (200, "OK"))
        gone = self.client.ask("GET", "/health", fields={"Host": f"{PORT}-i{'x' * 20}.sandboxes.example"}, key=False)
        self.assertEqual((gone.status, gone.json()["code"]), (502, 502))

    def test_an_image_without_the_program(self):
        """As a sandbox whose PATH leads nowhere."""
        box = self.client.create(envVars={"PATH": "/nowhere"})
        self.expect_refused(Cell(box, "1"), 501, "python: ")
        self.assertEqual(ask(box, "POST", "/contexts", {"language": "js"}).status, 501)
        self.assertEqual(len(ask(box, "GET", "/contexts").json()), 2)


class Restarts(Interpreted):
    def setUp(self):
        super().setUp()
        self.need("python3")

    def kill_server(self):
        self.server.stop(signal.SIGKILL)
        self.server.start()

    def programs(self):
        said = self.box.run("/bin/sh", "-c", "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; echo; done")
        return [line for line in said.out.decode().split("\n") if "<glovebox>" in line]

    def test_contexts_outlive_the_server(self):
        self.run_cell("v = 5")
        own = make_context(self.box, cwd="/tmp")
        self.run_cell("v = 6", context_id=own)
        self.run_cell("v=7", language="bash")
        idle = make_context(self.box, language="bash")
        listed = self.contexts()
        self.assertEqual(len(listed), 5)
        self.kill_server()
        self.assertEqual(self.contexts(), listed)
        for code, where, text in (("v", {}, "5"), ("import os; v, os.getcwd()", {"context_id": own}, "(6, '/tmp')")):
            ran = self.run_cell(code, **where)
            self.assertEqual((ran.text, ran.count, ran.err), (text, 2, ""))
        ran = self.run_cell("echo $v", language="bash")
        self.assertEqual((ran.out, ran.count, ran.err), ("7\n", 2, ""))
        self.assertEqual(self.run_cell("echo", context_id=idle).count, 1)
        self.assertEqual(self.run_cell("v").text, "5")

    def test_of_javascript_too(self):
        self.need("node")
        self.run_cell("let v = 8", language="js")
        self.kill_server()
        ran = self.run_cell("v", language="js")
        self.assertEqual((ran.text, ran.count, ran.err), ("8", 2, ""))

    def test_of_r_too(self):
        self.need("R")
        self.assertEqual(self.run_cell("v <- 8; v", language="r").text, "[1] 8")
        self.kill_server()
        ran = self.run_cell("v + 1", language="r")
        self.assertEqual((ran.text, ran.count, ran.err, ran.error), ("[1] 9", 2, "", None))

    def test_a_cell_that_nobody_listens_to_is_interrupted(self):
        cell = Cell(self.box, "import time\nseen = 0\ntry:\n  print('on')\n  time.sleep(1000)\nexcept KeyboardInterrupt:\n  seen = 1\n  print('left')")
        cell.until(lambda c: c.out)
        self.kill_server()
        ran = self.run_cell("seen")
        self.assertEqual((ran.text, ran.out, ran.err), ("1", "", ""))

    def begin_what_ends_when_interrupted(self):
        """... and /tmp/go is there. The server that listens to it is gone."""
        cell = Cell(self.box, "import os, signal, time\ndef end(*_):\n  open('/tmp/interrupted', 'w')\n"
                              "  while not os.path.exists('/tmp/go'): time.sleep(0.01)\n  os._exit(1)\n"
                              "signal.signal(signal.SIGINT, end)\nprint('on')\ntime.sleep(1000)")
        cell.until(lambda c: c.out)
        self.kill_server()

    def test_an_interpreter_that_its_interrupt_ends(self):
        """The one that comes after it is not interrupted in its stead."""
        self.begin_what_ends_when_interrupted()
        self.box.run("/bin/touch", "/tmp/go")
        ran = self.run_cell("import time\nfor i in range(200): time.sleep(0.01)\n'whole'")
        self.assertEqual((ran.text, ran.error), ("whole", None))
        self.assertIn("is lost", ran.err)

    def test_an_interpreter_that_its_interrupt_ends_while_nobody_waits(self):
        self.begin_what_ends_when_interrupted()
        child, body = self.server.child(), json.dumps({"code": "1"})
        head = "".join(f"{k}: {v}\r\n" for k, v in self.box.fields(PORT).items())
        with socket.create_connection(("127.0.0.1", self.client.port), LIMIT) as s:
            s.sendall(f"POST /execute HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{head}\r\n{body}".encode())
            self.assertEqual(self.box.run("/bin/sh", "-c", "until test -e /tmp/interrupted; do :; done").end["status"], "exit status 0")
        self.box.run("/bin/touch", "/tmp/go")
        self.assertTrue(wait_until(lambda: not self.programs()))
        self.box.run("/bin/sleep", "1.5")
        self.assertEqual(self.server.child(), child)

    def test_an_interpreter_that_ended_meanwhile(self):
        self.run_cell("import os, threading, time\ndef f():\n  while not os.path.exists('/tmp/go'): time.sleep(0.01)\n  os._exit(1)\n"
                      "threading.Thread(target=f).start()")
        self.server.stop(signal.SIGKILL)
        subprocess.run([GLOVEBOX, "exec", self.box.name, "--", "touch", "/tmp/go"], check=True, timeout=LIMIT)
        # Of those that end while it looks cat says so, and fails.
        self.assertTrue(wait_until(lambda: b"<glovebox>" not in subprocess.run(
            [GLOVEBOX, "exec", self.box.name, "--", "sh", "-c", "cat /proc/[0-9]*/cmdline"], capture_output=True, timeout=LIMIT,
            check=False).stdout))
        self.server.start()
        ran = self.run_cell("1")
        self.assertEqual((ran.text, ran.count), ("1", 1))
        self.assertIn("is lost", ran.err)

    def test_removal_and_restart_of_one_that_was_left(self):
        for method, path in (("DELETE", ""), ("POST", "/restart")):
            context = make_context(self.box)
            self.run_cell("v = 1", context_id=context)
            self.assertEqual(len(self.programs()), 1)
            self.kill_server()
            self.assertEqual(ask(self.box, method, f"/contexts/{context}{path}").status, 200)
            self.assertTrue(wait_until(lambda p=path: len(self.programs()) == (1 if p else 0)))
        ran = self.run_cell("'v' in globals()", context_id=context)
        self.assertEqual((ran.text, ran.count, ran.err), ("False", 1, ""))
        self.assertTrue(wait_until(lambda: len(self.programs()) == 1))

    def test_their_programs_are_not_among_those_of_clients(self):
        self.run_cell("1")
        self.assertEqual(self.box.call("process.Process/List").json(), {"processes": []})


class Memory(Interpreted):
    OPTIONS = ("--memory", "256M")

    def test_an_interpreter_that_uses_it_up(self):
        self.need("python3")
        ran = self.run_cell("x = []\nwhile True: x.append(bytearray(10 ** 7))")
        self.assertIn(ran.error["name"], ("UnexpectedEndOfExecution", "MemoryError"))
        if ran.error["name"] != "MemoryError":
            self.assertIn("for want of memory", ran.error["value"])
        self.assertEqual(self.run_cell("2").text, "2")


class Prepared(Served):
    def test_a_template_with_an_interpreter_has_one(self):
        box = self.client.create(templateID="code-interpreter-v1")

        def runs():
            said = box.run("/bin/sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
            return b"python3 -c import os" in said.out
        if box.run("/bin/sh", "-c", "command -v python3").end.get("exitCode"):
            self.skipTest("the image has no python3")
        self.assertTrue(wait_until(runs))
        self.assertEqual(run_cell(box, "1 + 1").text, "2")


if __name__ == "__main__":
    main(sys.modules[__name__])
