# SPDX-License-Identifier: Apache-2.0
#
# IPython's shell over the module in which the cells run. Part of python.py, executed when IPython
# has been imported.

import builtins

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

rich = driver.part("rich")


class Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, source=None, **_):
        rich["publish"](data, False)

    def clear_output(self, wait=False):
        pass


class Hook(DisplayHook):
    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        rich["publish"](format_dict, True)

    def finish_displayhook(self):
        self._is_active = False


class Shell(InteractiveShell):
    display_pub_class = Type(Publisher)
    displayhook_class = Type(Hook)

    # Of !command: its output is its own, and no terminal is put in between.
    system = InteractiveShell.system_raw

    def init_virtualenv(self):
        pass

    def enable_gui(self, gui=None):
        pass

    def enable_matplotlib(self, gui=None):
        """Figures are shown as they are without this magic."""
        return "inline", "module://glovebox_figures"

    def enable_pylab(self, gui=None, import_all=True):
        from IPython.core.pylabtools import import_pylab

        import_pylab(self.user_ns, import_all)

    def ask_exit(self):
        raise SystemExit

    def _showtraceback(self, kind, value, lines):
        error = driver.part("trace")["describe"](value)
        error["traceback"] = "\n".join(lines)[-(1 << 20) :]
        driver.error = error


def make_shell():
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.autocall = 0
    space = driver.main.__dict__
    before = {name: space[name] for name in ("In", "Out", "_", "__", "___")}
    display = builtins.display
    shell = Shell.instance(config=config, user_module=driver.main)
    shell.autoawait = True
    shell.loop_runner = driver.run_coroutine
    space.update(before)
    shell.history_manager.input_hist_parsed[:] = before["In"]
    space["In"] = shell.history_manager.input_hist_parsed
    shell.history_manager.output_hist.update(before["Out"])
    space["Out"] = shell.history_manager.output_hist
    builtins.display = display
    builtins.get_ipython = shell.get_ipython
    add_forms(shell)
    return shell


def add_forms(shell):
    """What display() of IPython's shows of a table or figure is what the driver's shows."""
    formatter = shell.display_formatter
    format_plainly = formatter.format

    def format(value, include=None, exclude=None):
        forms, metadata = format_plainly(value, include, exclude)
        if forms and not include:
            rich["add_extras"](value, forms)
        return forms, metadata

    formatter.format = format


def run(text):
    shell = driver.shell
    shell.execution_count = driver.number
    shell.displayhook.exec_result = None
    result = shell.run_cell(text, store_history=True)
    if driver.error is None and not result.success:
        error = result.error_before_exec or result.error_in_exec
        driver.error = driver.part("trace")["describe"](error)


driver.shell = make_shell()
