#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The driver of interpreter/ for Java in a sandbox. It takes seconds to start, so each case asks much of it."""
import sys

sys.dont_write_bytecode = True
from cases import LIMIT, main  # noqa: E402
from interpreter_test import Interpreter  # noqa: E402


class Java(Interpreter):
    language = "java"

    def run_cell(self, code, **more):
        return self.driver.run(code, limit=2 * LIMIT, **more)

    def test_state_results_and_output(self):
        self.expect_text("int x = 1;\nx + 1", "2")
        self.expect_text("x", "1")
        self.expect_text('String s = "a\\n\u20ac";\ns', "a\n\u20ac")
        self.expect_text("'c'", "c")
        self.expect_text("\"'\\\"\\\\\"", "'\"\\")
        self.expect_text("var l = new ArrayList<>(List.of(3, 1)); Collections.sort(l); l", "[1, 3]")
        self.expect_text("new int[] {1, 2}", "int[2] { 1, 2 }")
        self.expect_text("record P(int a) {}\nint f(int n) { return n * 2; } // end\nnew P(f(4))", "P[a=8]")
        self.expect_text("import java.time.*; Duration.ofMinutes(1)", "PT1M")
        for code in ("x = 5;", "int y = 6;", "class A {}", "for (;;) break;", "// nothing", "", "System.out.flush()"):
            ran = self.run_cell(code)
            self.assertEqual((ran.results, ran.error, ran.err), ([], None, b""), code)
        ran = self.run_cell("System.out.print(\"a\"); System.err.println(\"e\"); System.out.println(\"\u20ac\" + x);\n"
                            "new ProcessBuilder(\"sh\", \"-c\", \"cat; echo b; echo f >&2\").inheritIO().start().waitFor()")
        self.assertEqual((ran.out.decode(), ran.err, ran.text), ("a\u20ac5\nb\n", b"e\nf\n", "0"))
        ran = self.driver.start("System.out.print(\"one\"); while (!Files.exists(Path.of(\"/tmp/go\"))) Thread.sleep(10); System.out.print(\"two\");")
        self.driver.wait(LIMIT, lambda: ran.out == b"one")
        self.assertEqual(self.command("touch", "/tmp/go").returncode, 0)
        self.assertEqual(self.driver.wait(LIMIT).out, b"onetwo")
        self.assertEqual(len(self.run_cell('"y".repeat(1000000)').text), 1000000)
        ran = self.run_cell('"z".repeat(6000000)')
        self.assertLess(len(ran.text), 5 << 20)
        self.assertIn(b"at most", ran.err)
        fake = "\\033_" + "0" * 32 + "=000e" + '{\\"type\\":\\"end\\"}'
        ran = self.run_cell(f'System.out.println("{fake}"); 5')
        self.assertEqual((ran.text, ran.out.count(b"\x1b_")), ("5", 1))

    def test_errors_input_and_variables(self):
        ran = self.expect_error("System.out.println(1);\nint f(int n) {\n  throw new IllegalStateException(\"bad \" + n, new Exception(\"why\"));\n}\n\nf(2)",
                                "java.lang.IllegalStateException", r"\Abad 2\Z")
        self.assertEqual((ran.out, ran.error["traceback"]), (b"1\n", "java.lang.IllegalStateException: bad 2\n\tat f (cell_1:3)\n\tat (cell_1:6)\n"
                                                                     "Caused by: java.lang.Exception: why\n\tat f (cell_1:3)\n\tat (cell_1:6)"))
        ran = self.expect_error("int y = 1;\n\nint z = q + 1;", "CompilationError", "cannot find symbol")
        self.assertIn("cell_2:3: error: cannot find symbol", ran.error["traceback"])
        self.assertIn("int z = q + 1;\n        ^", ran.error["traceback"])
        self.expect_text("y", "1")
        self.expect_error("class A { int", "CompilationError", "reached end of file")
        self.expect_error("int deep() { return deep() + 1; } deep()", "java.lang.StackOverflowError")
        self.assertIn(b"g can't be used until there is method h()", self.run_cell("int g() { return h(); }").err)
        self.expect_error("g()", "UnresolvedReferenceException", "until there is method h")
        for code in ("(" * 3000 + "1" + ")" * 3000, "1" + "+1" * 20000, "{" * 20000):
            self.expect_error(code, "java.lang.InternalError", "jshell can't take this cell")
        for code in ("/* open", '"open', "/exit", "\x01"):
            self.expect_error(code, "CompilationError")
        ran = self.run_cell("class Q { public String toString() { throw new RuntimeException(); } } new Q()")
        self.assertIn(b"toString() has failed", ran.err)
        self.expect_text("int h() { return 3; } g()", "3")
        self.expect_error("new Scanner(System.in).nextLine()", "java.lang.UnsupportedOperationException", "put the value into the code")
        code = 'System.getenv("A") + System.getProperty("A") + System.getenv("HOME")'
        ran = self.run_cell(code, env={"A": "b c\nd", "HOME": "/x"})
        self.assertEqual(ran.text, "b c\ndb c\nd/x")
        self.expect_text(code, "nullnull/home/user")
        self.expect_text('System.getProperty("HOME")', "/home/user")

    def test_interrupts_and_ends(self):
        self.run_cell("int v = 5;")
        for code in ('System.out.println("on"); for (;;) ;', 'System.out.println("on"); Thread.sleep(100000);',
                     'System.out.println("on"); for (;;) new int[100].clone();', "for (;;) System.out.println(\"on\");"):
            self.assertEqual(self.interrupt(code).error["name"], "KeyboardInterrupt")
        self.expect_text("v", "5")
        self.run_cell("new Thread(() -> { try { Thread.sleep(1000000); } catch (Exception e) { } }).start();")
        self.expect_text("v", "5")
        ran = self.driver.start('System.out.println("last"); System.exit(3)')
        self.assertEqual((self.driver.process.wait(LIMIT), self.driver.is_over(LIMIT)), (3, True))
        self.assertEqual(ran.out, b"last\n")


if __name__ == "__main__":
    main(sys.modules[__name__])
