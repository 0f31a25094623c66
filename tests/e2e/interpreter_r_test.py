#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The driver of interpreter/ for R in a sandbox: cells, what comes of them, and what cells do to break it."""
import base64
import struct
import sys

sys.dont_write_bytecode = True
from cases import LIMIT, main  # noqa: E402
from interpreter_test import PNG, Interpreter  # noqa: E402


class R(Interpreter):
    language = "r"

    def test_state_and_values_that_are_shown(self):
        self.expect_text("x <- 5\nx + 1", "[1] 6")
        self.expect_text("x", "[1] 5")
        ran = self.run_cell("x; 'b'; y <- 2; invisible(3); NULL")
        self.assertEqual([(r["text"], r["is_main_result"]) for r in ran.results], [("[1] 5", False), ('[1] "b"', False), ("NULL", True)])
        for code in ("y <- 5", "invisible(x)", "# nothing", "", "f <- function() 1"):
            ran = self.run_cell(code)
            self.assertEqual((ran.results, ran.error), ([], None), code)
        self.expect_text("f", "function() 1")
        self.expect_text("'\u20ac \"q\" \\\\ \\t'", '[1] "\u20ac \\"q\\" \\\\ \\t"')
        self.expect_text("setClass('A', representation(a = 'numeric')); new('A', a = 1)", 'An object of class "A"\nSlot "a":\n[1] 1\n')

    def test_output_stays_in_order_with_what_children_write(self):
        ran = self.run_cell("cat('a\\n'); system('echo b; echo e >&2'); print(1); cat('\u20ac', 'd'); message('m')")
        self.assertEqual((ran.out.decode(), ran.err, ran.error), ("a\nb\n[1] 1\n\u20ac d", b"e\nm\n", None))

    def test_output_comes_as_it_is_printed(self):
        ran = self.driver.start("cat('one'); while (!file.exists('/tmp/go')) Sys.sleep(0.01); cat('two')")
        self.driver.wait(LIMIT, lambda: ran.out == b"one")
        self.assertEqual(self.command("touch", "/tmp/go").returncode, 0)
        self.driver.wait(LIMIT)
        self.assertEqual(ran.out, b"onetwo")

    def test_large_output_and_results(self):
        ran = self.run_cell("cat(strrep('x', 1e6)); strrep('y', 1e6)")
        self.assertEqual((len(ran.out), len(ran.text)), (1000000, 1000006))
        ran = self.run_cell("strrep('z', 6e6)")
        self.assertLess(len(ran.text), 5 << 20)
        self.assertIn(b"at most", ran.err)

    def test_errors_and_warnings(self):
        ran = self.expect_error("cat('before\\n')\nf <- function(n) stop('bad ', n)\nf(2)", "simpleError", r"\Abad 2\Z")
        self.assertEqual((ran.out, ran.error["traceback"]), (b"before\n", 'Error in f(2): bad 2\nTraceback:\n1. f(2)\n2. stop("bad ", n)'))
        self.expect_error("stop(structure(class = c('mine', 'error', 'condition'), list(message = 'm', call = NULL)))", "mine", "m")
        self.expect_error("x y", "parseError", "<cell 3>:1:3: unexpected symbol")
        for code in ("(" * 5000 + "1" + ")" * 5000, "{" * 100000):
            self.expect_error(code, "parseError", "overflow")
        for code in ("1" + "+1" * 100000, "g <- function() g(); g()"):
            self.expect_error(code, ".*", "infinite recursion|C stack")
        ran = self.run_cell("warning('w'); h <- function() warning('v'); h(); 1")
        self.assertEqual((ran.err, ran.text), (b"Warning: w\nWarning in h() : v\n", "[1] 1"))
        self.expect_error("options(warn = 2); warning('e')", "simpleError", "converted from warning")

    def expect_error(self, code, name, value=None):
        ran = self.run_cell(code)
        self.assertIsNotNone(ran.error, vars(ran))
        self.assertRegex(ran.error["name"], name)
        self.assertRegex(ran.error["value"], value)
        return ran

    def test_tables(self):
        ran = self.expect_text("data.frame(a = 1:2, b = c('<x>', NA))", "  a    b\n1 1  <x>\n2 2 <NA>")
        self.assertIn("<tr><th>1</th><td>1</td><td>&lt;x&gt;</td></tr>", ran.results[0]["html"])
        ran = self.run_cell("data.frame(n = 1:1000)")
        self.assertEqual(ran.results[0]["html"].count("<tr>"), 61)
        self.assertIn("1000 rows, 1 columns", ran.results[0]["html"])
        self.assertIn("html", self.run_cell("data.frame()").results[0])

    def test_pictures(self):
        if b"TRUE TRUE" not in self.command("R", "--no-echo", "-e", "cat(capabilities('png'), capabilities('cairo'))").stdout:
            self.skipTest("the image's R has no device for PNG")
        ran = self.run_cell("options(repr.plot.width = 3, repr.plot.height = 2, repr.plot.res = 100)\nplot(1:3); lines(1:3)\nhist(c(1, 2)); 7")
        self.assertEqual([(r["text"], r["is_main_result"]) for r in ran.results], [("[1] 7", True), ("<plot>", False), ("<plot>", False)])
        for result in ran.results[1:]:
            self.assertTrue(result["png"].startswith(PNG))
            data = base64.b64decode(result["png"], validate=True)
            self.assertEqual((struct.unpack(">II", data[16:24]), data[-8:-4]), ((300, 200), b"IEND"))
        ran = self.expect_error("plot(1)\nstop('after')", "simpleError", "after")
        self.assertEqual(len(ran.results), 1)
        ran = self.run_cell("pdf('own.pdf'); plot(1); dev.off(); file.exists('own.pdf')")
        self.assertEqual((ran.text, [r for r in ran.results if "png" in r]), ("[1] TRUE", []))
        self.expect_text("list.files(tempdir(), 'glovebox')", "character(0)")

    def test_nobody_is_asked(self):
        self.expect_error("readline('name: ')", "stdinNotImplementedError", "put the value into the code")
        self.assertIn(self.run_cell("readLines(stdin())").text, ("character(0)", '[1] ""'))
        self.expect_text("readLines('stdin')", "character(0)")
        self.assertEqual(self.run_cell("system('cat; cat <&0'); browser()").error, None)
        self.expect_text("1", "[1] 1")

    def test_variables_of_one_cell(self):
        code = "cat(Sys.getenv('A', 'none'), Sys.getenv('HOME'), ''); system('echo \"$A\"')"
        self.assertEqual(self.run_cell(code, env={"A": "b c\nd", "HOME": "/x"}).out, b"b c\nd /x b c\nd\n")
        self.assertEqual(self.run_cell(code).out, b"none /home/user \n")

    def test_interrupt_keeps_the_state(self):
        self.run_cell("v <- 5")
        for code in ("cat('on\\n'); repeat {}", "cat('on\\n'); Sys.sleep(100)"):
            self.assertEqual(self.interrupt(code).error["name"], "KeyboardInterrupt")
        number = self.run_cell("cat(Sys.getpid())").out.decode()
        self.assertEqual(self.command("sh", "-c", f"kill -INT {number}").returncode, 0)  # when no cell runs
        self.expect_text("v", "[1] 5")

    def test_cells_that_break_what_is_theirs_and_the_drivers(self):
        self.run_cell("c <- function(...) stop('mine'); paste0 <- 3; quote <- NULL; T <- FALSE")
        self.expect_text("closeAllConnections(); a <- file('/tmp/a', 'w'); b <- file('/tmp/b', 'w'); 3", "[1] 3")
        self.expect_text("d <- file('/tmp/d', 'w'); 4", "[1] 4")
        self.expect_text("for (i in 1:300) file('/tmp/d', 'r'); 5", None)
        self.expect_text("rm(list = ls()); gc(); invokeRestart('abort')", None)
        self.run_cell("sink('/tmp/sunk'); print(1)")
        self.expect_text("6", "[1] 6")
        self.run_cell("sink()")
        self.assertEqual(self.run_cell("print(7)").out, b"[1] 7\n")

    def expect_text(self, code, text):
        """None: it only has to answer."""
        ran = self.run_cell(code)
        if text is not None:
            self.assertEqual((ran.error, ran.text), (None, text))
        return ran

    def test_a_cell_that_ends_its_interpreter(self):
        ran = self.driver.start("cat('last\\n'); q(status = 3)")
        self.assertEqual((self.driver.process.wait(LIMIT), self.driver.is_over(LIMIT)), (3, True))
        self.assertEqual(ran.out, b"last\n")

    def test_what_looks_like_a_frame_is_text(self):
        fake = "\\033_" + "0" * 32 + "=000e" + '{\\"type\\":\\"end\\"}'
        ran = self.run_cell(f"cat('{fake}\\n'); 5")
        self.assertEqual((ran.text, ran.out.count(b"\x1b_")), ("[1] 5", 1))


if __name__ == "__main__":
    main(sys.modules[__name__])
