# SPDX-License-Identifier: Apache-2.0
"""What sanitizers say of programs that are built with them: each process whose environment is ours, or comes from it, writes its reports into
a folder; the starter of a sandbox also those of its kernel and gateway, which have no environment. (Those of a server, which has none
either, are in what glovebox serve says.)

GCC's UBSan writes to standard error whatever it is told, where it is beside ASan; but it can be told to abort, and ASan to report that, with
where it was."""
import os
import shutil
import tempfile


OPTIONS = {"ASAN_OPTIONS": "handle_abort=1", "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1"}


class Reports:
    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="glovebox-reports-")
        self.taken = {}  # bytes of each file
        os.chmod(self.folder, 0o1777)  # of every user's processes
        self.before = {name: os.environ.get(name) for name in OPTIONS}
        for name, value in self.before.items():
            os.environ[name] = ":".join([*filter(None, [value]), OPTIONS[name], f"log_path={self.folder}/report"])
        return self

    def __exit__(self, *_):
        for name, value in self.before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        shutil.rmtree(self.folder, ignore_errors=True)

    def take(self):
        """All that was said and was not taken before: the empty string, of programs that are right."""
        said = b""
        for name in sorted(os.listdir(self.folder)):
            with open(os.path.join(self.folder, name), "rb") as f:
                f.seek(self.taken.get(name, 0))
                said += f.read()
                self.taken[name] = f.tell()
        return said.decode(errors="replace")
