# SPDX-License-Identifier: Apache-2.0
#
# Runs the cells of one Python context; README.md is the protocol. Executed by a line given to
# python3 -c that reads it from standard input, in a namespace of its own.
#
# The first cell of a fresh sandbox waits for all of this to be read and compiled, so what only some
# cells need is in other files, which are kept as text until then: python_rich.py (results),
# python_trace.py (errors), python_figures.py (matplotlib), python_ipython.py. And only modules
# that an interpreter has in itself are imported here.
#
# Cells run in a module __main__ of their own. When IPython is imported, by a cell or a library, or
# a cell has magics, IPython's shell takes that module over, and runs all later cells.

import builtins
import os
import sys
import _ast
import _io
import _signal

PIECE = 4032  # a whole frame is at most PIPE_BUF, so that the host writes it in one piece
ONLY_AST, TOP_AWAIT, COROUTINE, FUTURES = 0x400, 0x2000, 0x80, 0x1FE0000
PRIVATE = (250, 251, 252)  # where programs that close what they don't know rarely get to


def keep(fd, private):
    try:
        return os.dup2(fd, private, inheritable=False)
    except OSError:
        return os.dup(fd)


requests, out, err = (keep(fd, private) for fd, private in enumerate(PRIVATE))
null = os.open("/dev/null", os.O_RDONLY)
os.dup2(null, 0)
os.close(null)

pid = os.getpid()
waiting = b""


def read_more():
    global waiting
    data = os.read(requests, 65536)
    if not data:
        raise EOFError
    waiting += data


def read_line():
    global waiting
    while b"\n" not in waiting:
        read_more()
    line, waiting = waiting.split(b"\n", 1)
    return line.decode()


def read_bytes(size):
    global waiting
    while len(waiting) < size:
        read_more()
    data, waiting = waiting[:size], waiting[size:]
    return data


class Driver:
    """What the other files share."""

    mark = b""  # of the cell that runs
    number = 0
    flags = 0  # of __future__, which hold for later cells as well
    sources = {}  # file name -> text, of all cells
    shell = None  # IPython's
    loop = None  # asyncio's
    texts = {}  # name of a part -> its text
    after_cell = []  # called when one has run
    error = None
    has_result = False
    main = type(sys)("__main__")

    def send(self, fd, payload):
        pieces = [payload[at : at + PIECE] for at in range(0, len(payload), PIECE)] or [b""]
        for i, piece in enumerate(pieces):
            first, last = i == 0, i == len(pieces) - 1
            kind = b"=" if first and last else b"<" if first else b">" if last else b"+"
            os.write(fd, b"\x1b_%s%s%04x%s" % (self.mark, kind, len(piece), piece))

    def part(self, name):
        """Another file, executed when it is first wanted."""
        if isinstance(self.texts[name], bytes):
            space = {"__name__": "glovebox_" + name, "driver": self}
            exec(compile(self.texts[name], "<glovebox>", "exec"), space)
            self.texts[name] = space
        return self.texts[name]

    def publish(self, bundle, is_main=False):
        self.part("rich")["publish"](bundle, is_main)

    def display(self, *objects, **_):
        rich = self.part("rich")
        for value in objects:
            rich["publish"](rich["bundle"](value), False)

    def show(self, value):
        """The value of a cell's last expression."""
        if value is None:
            return
        space = self.main.__dict__
        space["___"], space["__"] = space.get("__"), space.get("_")
        space["_"] = space["_%d" % self.number] = space["Out"][self.number] = value
        rich = self.part("rich")
        rich["publish"](rich["bundle"](value), True)

    def add_source(self, name, text):
        self.sources[name] = text
        cache = sys.modules.get("linecache")
        if cache:
            # Not splitlines(), for which more characters end a line than for Python.
            lines = _io.StringIO(text, None).readlines()
            cache.cache[name] = (len(text), None, lines, name)


driver = Driver()


class StdinNotImplementedError(NotImplementedError):
    __module__ = "builtins"  # in tracebacks it has no module, as what is built in


def refuse_input(prompt="", *_):
    raise StdinNotImplementedError(
        "input() was called, and nobody is there to type: put the value into the code"
    )


class Importing:
    """Something is done once a module has been imported, by whomever."""

    wanted = {}

    def find_spec(self, name, path=None, target=None):
        if name not in self.wanted:
            return None
        for finder in sys.meta_path:
            spec = finder is not self and finder.find_spec(name, path, target)
            if spec and hasattr(spec.loader, "exec_module"):
                spec.loader = Loading(spec.loader)
                return spec
        return None


class Loading:
    def __init__(self, loader):
        self.loader = loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        then = Importing.wanted.pop(module.__name__, None)
        if then:
            then(module)


def add_all_sources(_):
    for name, text in list(driver.sources.items()):
        driver.add_source(name, text)


Importing.wanted = {
    "linecache": add_all_sources,
    "IPython": lambda _: driver.part("ipython"),
    "matplotlib": lambda module: driver.part("figures")["matplotlib_is_there"](module),
}


def run_coroutine(coroutine):
    """To its end, in a loop that stays: tasks that a cell leaves go on while later ones wait."""
    import asyncio

    if driver.loop is None or driver.loop.is_closed():
        driver.loop = asyncio.new_event_loop()
    asyncio.set_event_loop(driver.loop)
    task = driver.loop.create_task(coroutine)
    try:
        return driver.loop.run_until_complete(task)
    except BaseException:
        if not task.done():
            task.cancel()
            driver.loop.run_until_complete(asyncio.wait([task]))
        raise


def evaluate(code):
    driver.flags |= code.co_flags & FUTURES
    value = eval(code, driver.main.__dict__)
    return run_coroutine(value) if code.co_flags & COROUTINE else value


def run_plainly(text, name):
    flags = driver.flags | TOP_AWAIT
    tree = compile(text, name, "exec", flags | ONLY_AST, True)
    last = None
    if tree.body and isinstance(tree.body[-1], _ast.Expr) and not text.rstrip().endswith(";"):
        last = tree.body.pop()
    if tree.body:
        evaluate(compile(tree, name, "exec", flags, True))
    if last:
        last = compile(_ast.Expression(last.value), name, "eval", driver.flags | TOP_AWAIT, True)
        driver.show(evaluate(last))


def has_magics(text):
    """Of a text that is no Python: whether it is IPython's."""
    for line in text.splitlines():
        word = line.strip()
        if word[:1] in ("%", "!", "?") or word[-1:] == "?" or "= %" in word or "= !" in word:
            return True
    return False


def has_ipython():
    try:
        import IPython  # noqa: its import makes the shell
    except ImportError:
        return False
    return driver.shell is not None


def syntax_error(text, name):
    try:
        compile(text, name, "exec", driver.flags | TOP_AWAIT | ONLY_AST, True)
    except SyntaxError as e:
        return e
    return None


def run(text):
    if driver.shell is None and ("get_ipython" in text or "IPython" in text):
        has_ipython()
    if driver.shell is None:
        name = "<cell %d>" % driver.number
        driver.add_source(name, text)
        driver.main.__dict__["In"].append(text)
        error = syntax_error(text, name)
        if error is None:
            return run_plainly(text, name)
        if not has_magics(text):
            raise error
        if not has_ipython():
            raise SyntaxError(
                "this cell has magics (%, ! or ?), which need IPython, and the image has none"
                " (Debian: python3-ipython)"
            )
        driver.main.__dict__["In"].pop()
    driver.part("ipython")["run"](text)


def set_interrupt(handler):
    while True:
        try:
            return _signal.signal(_signal.SIGINT, handler)
        except KeyboardInterrupt:
            pass


def in_environment(variables, text):
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        run(text)
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def run_cell(handler, variables, text):
    """Returns the handler of SIGINT that the next cell finds."""
    driver.error = None
    try:
        for stream in ("stdout", "stderr"):
            if getattr(sys, stream, None) is None or getattr(sys, stream).closed:
                open_stream(stream)
        set_interrupt(handler)
        in_environment(variables, text)
        for then in driver.after_cell:
            then()
        handler = set_interrupt(_signal.SIG_IGN)
    except BaseException as e:
        handler = set_interrupt(_signal.SIG_IGN)
        if os.getpid() == pid:
            driver.error = driver.part("trace")["describe"](e)
    return handler


def open_stream(name):
    # What is written is passed on at once: so it stays in order with what children write.
    fd = 1 if name == "stdout" else 2
    raw = _io.FileIO(fd, "wb", closefd=False)
    stream = _io.TextIOWrapper(raw, "utf-8", "backslashreplace", "\n", write_through=True)
    stream.mode = "w"
    setattr(sys, name, stream)
    setattr(sys, "__%s__" % name, stream)


def finish():
    end = b'{"type":"end","number":%d}' % driver.number
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    if driver.error:
        driver.send(out, driver.part("rich")["to_json"](dict(driver.error, type="error")))
    driver.send(err, end)
    driver.send(out, end)


def main():
    for name in ("rich", "trace", "figures", "ipython"):
        driver.texts[name] = read_bytes(int(read_line()))
    driver.out = out
    space = driver.main.__dict__
    space.update(__builtins__=builtins, In=[""], Out={}, _="", __="", ___="")
    sys.modules["__main__"] = driver.main
    sys.argv = [""]
    sys.meta_path.insert(0, Importing())
    builtins.input = refuse_input
    builtins.display = driver.display
    driver.refuse_input = refuse_input
    driver.run_coroutine = run_coroutine
    open_stream("stdout")
    open_stream("stderr")
    handler = _signal.default_int_handler
    set_interrupt(_signal.SIG_IGN)
    while True:
        word, mark, number, variables, size = read_line().split(" ")
        driver.mark, driver.error = mark.encode(), None
        environment = {}
        for _ in range(int(variables)):
            name, value_size = read_line().split(" ")
            environment[name] = read_bytes(int(value_size)).decode()
            read_line()
        text = read_bytes(int(size)).decode()
        read_line()
        if word == "nothing":
            finish()
            continue
        driver.number = int(number)
        handler = run_cell(handler, environment, text)
        if os.getpid() != pid:  # a cell forked, and its child came back here
            os._exit(0)
        finish()


try:
    main()
except EOFError:
    pass
