# SPDX-License-Identifier: Apache-2.0
#
# Exceptions as text, with the lines around, as IPython shows them. Part of python.py.

import linecache
import sys
import traceback

AROUND = 2  # lines shown before and after
FRAMES = 40  # shown of a traceback: the outermost and innermost half
LONGEST = 1 << 20  # characters of all of it


def header(name):
    return "-" * 75 + "\n" + name + "Traceback (most recent call last)".rjust(75 - len(name))


def place(filename, line):
    if filename.startswith("<cell "):
        return "Cell In[%s], line %d" % (filename[6:-1], line)
    return "File %s:%d" % (filename, line)


def show_frame(frame, line):
    code = frame.f_code
    text = place(code.co_filename, line)
    if code.co_name != "<module>":
        text += ", in " + code.co_name + "()"
    lines = linecache.getlines(code.co_filename, frame.f_globals)
    for number in range(max(1, line - AROUND), min(len(lines), line + AROUND) + 1):
        arrow = ("-" * max(1, 5 - len(str(number))) + "> ") if number == line else "       "
        text += "\n" + (arrow + str(number))[-8:].rjust(7) + " " + lines[number - 1].rstrip()
    return text


def frames_of(error):
    """Without the driver's own."""
    frames, step = [], error.__traceback__
    while step:
        if step.tb_frame.f_code.co_filename != "<glovebox>":
            frames.append((step.tb_frame, step.tb_lineno))
        step = step.tb_next
    return frames


def last_lines(error):
    if isinstance(error, SyntaxError) and (error.filename or "").startswith("<cell "):
        lines = traceback.format_exception_only(type(error), error)
        lines[0] = "  " + place(error.filename, error.lineno or 0) + "\n"
        return "".join(lines)
    return "".join(traceback.format_exception_only(type(error), error))


def show_one(error):
    frames = frames_of(error)
    parts = [header(type(error).__name__)]
    for i, (frame, line) in enumerate(frames):
        if FRAMES // 2 <= i < len(frames) - FRAMES // 2:
            if i == FRAMES // 2:
                parts.append("    [... %d frames ...]" % (len(frames) - FRAMES))
            continue
        parts.append(show_frame(frame, line))
    return "\n".join(parts) + "\n\n" + last_lines(error).rstrip("\n")


def show(error):
    texts, seen = [], set()
    while error is not None and id(error) not in seen and len(seen) < 20:
        seen.add(id(error))
        texts.insert(0, show_one(error))
        if error.__cause__ is not None:
            texts.insert(0, "The above exception was the direct cause of the following exception:")
            error = error.__cause__
        elif error.__context__ is not None and not error.__suppress_context__:
            texts.insert(0, "During handling of the above exception, another exception occurred:")
            error = error.__context__
        else:
            error = None
    return "\n\n".join(texts)


def value_of(error):
    if isinstance(error, SyntaxError) and error.msg:
        where = place(error.filename or "", error.lineno or 0)
        return "%s (%s)" % (error.msg, where)
    return str(error)


def describe(error):
    try:
        value = value_of(error)
    except Exception as e:
        value = "<its str failed: %s>" % type(e).__name__
    try:
        trace = show(error)
    except BaseException as e:
        trace = "%s: %s\n(its traceback can't be shown: %s)" % (type(error).__name__, value, e)
    sys.last_type, sys.last_value = type(error), error
    sys.last_traceback = error.__traceback__
    return {
        "name": type(error).__name__,
        "value": value[:LONGEST],
        "traceback": trace if len(trace) <= LONGEST else trace[-LONGEST:],
    }
