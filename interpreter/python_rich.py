# SPDX-License-Identifier: Apache-2.0
#
# Values as they are shown: all the forms that a value has, as frames. Part of python.py.

import sys

KEYS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "e2b/data": "data",
    "e2b/chart": "chart",
}
METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_pdf_": "application/pdf",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
    "_repr_javascript_": "application/javascript",
}
WIDTH = 79
LONGEST_SEQUENCE = 1000
DEEPEST = 50
LARGEST = 5 << 20  # of a result; the server takes no more
CELLS_OF_DATA = 1000000  # of a table whose values are sent

try:
    from _json import encode_basestring_ascii as quote
except ImportError:
    from json.encoder import py_encode_basestring_ascii as quote


def plain(value, depth=0):
    """What JSON can say of it: its own types, other things as text."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float):
        return float(value) if value - value == 0 else None  # neither NaN nor infinite
    if depth > 50:
        return repr(value)
    if isinstance(value, dict):
        return {str(key): plain(v, depth + 1) for key, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v, depth + 1) for v in value]
    if isinstance(value, (bytes, bytearray)):
        return to_base64(value)
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    for name in ("isoformat", "tolist"):
        method = getattr(type(value), name, None)
        if method:
            try:
                return plain(method(value), depth + 1)
            except Exception:
                break
    return str(value)


def to_json(fields):
    """One object as bytes. Strings are the rule; what else there is needs the module json."""
    parts = []
    for key, value in fields.items():
        if isinstance(value, str):
            text = quote(value)
        elif isinstance(value, bool):
            text = "true" if value else "false"
        elif value == {}:
            text = "{}"
        else:
            import json

            text = json.dumps(plain(value), allow_nan=False)
        parts.append(quote(key) + ":" + text)
    return ("{" + ",".join(parts) + "}").encode()


def to_base64(data):
    import binascii

    return binascii.b2a_base64(bytes(data), newline=False).decode()


# ---- text ----


def items_of(value, column):
    """Of a container, as text."""
    if type(value) is dict:
        for _, (key, v) in zip(range(LONGEST_SEQUENCE), value.items()):
            name = pretty(key, column) + ": "
            yield name + pretty(v, column + len(name)).replace("\n", "\n" + " " * len(name))
        return
    if type(value) in (set, frozenset) and len(value) <= LONGEST_SEQUENCE:
        try:
            value = sorted(value)
        except Exception:
            pass
    for _, v in zip(range(LONGEST_SEQUENCE), value):
        yield pretty(v, column)


BRACKETS = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    dict: ("{", "}"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}


def pretty_container(value, column):
    opening, closing = BRACKETS[type(value)]
    items = list(items_of(value, column + len(opening)))
    if len(items) < len(value):
        items.append("...")
    if type(value) is tuple and len(items) == 1:
        closing = ",)"
    flat = opening + ", ".join(items) + closing
    if "\n" not in flat and column + len(flat) <= WIDTH:
        return flat
    indent = "\n" + " " * len(opening)
    return opening + ("," + indent).join(i.replace("\n", indent) for i in items) + closing


def pretty_function(value):
    import inspect

    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        signature = "(...)"
    return "<function %s.%s%s>" % (value.__module__, value.__qualname__, signature)


DOTS = {list: "[...]", tuple: "(...)", dict: "{...}"}
within = []  # the containers that are being shown, by id: one may be in itself


def pretty(value, column=0):
    """As repr, but long containers with a line for each item, as IPython shows them."""
    kind = type(value)
    if isinstance(value, type) and kind.__repr__ is type.__repr__:
        module = value.__module__
        return value.__qualname__ if module == "builtins" else module + "." + value.__qualname__
    if kind is type(pretty):
        return pretty_function(value)
    if kind in BRACKETS and value and len(within) < DEEPEST and id(value) not in within:
        within.append(id(value))
        try:
            return pretty_container(value, column)
        finally:
            within.pop()
    return DOTS.get(kind, "...") if id(value) in within else repr(value)


# ---- bundles: MIME type -> data ----


def call(value, name):
    method = getattr(type(value), name, None)
    if method is None or isinstance(value, type):
        return None
    try:
        return method(value)
    except NotImplementedError:
        return None
    except Exception as e:
        print("%s.%s failed: %s" % (type(value).__name__, name, e), file=sys.stderr)
        return None


def add_table(value, forms):
    """Of a DataFrame: its columns, unless that is out of proportion."""
    pandas = sys.modules.get("pandas")
    frame = pandas and getattr(pandas, "DataFrame", None)
    if frame and isinstance(value, frame) and value.size <= CELLS_OF_DATA:
        forms["e2b/data"] = plain(value.to_dict(orient="list"))


def add_figure(value, forms):
    if "matplotlib.figure" in sys.modules:
        forms.update(driver.part("figures")["forms_of"](value))


def bundle(value):
    forms = {}
    try:
        forms["text/plain"] = pretty(value)
    except Exception as e:
        forms["text/plain"] = "<%s: its repr failed: %s>" % (type(value).__name__, e)
    own = call(value, "_repr_mimebundle_")
    if isinstance(own, tuple):
        own = own[0]
    for name, mime in METHODS.items():
        form = call(value, name)
        if form is not None:
            forms[mime] = form[0] if isinstance(form, tuple) else form
    if isinstance(own, dict):
        forms.update(own)
    add_extras(value, forms)
    return forms


def add_extras(value, forms):
    """The forms that no method of the value gives."""
    add_table(value, forms)
    add_figure(value, forms)


def unquote(text):
    return text[1:-1] if len(text) > 1 and text[0] in "'\"" and text[0] == text[-1] else text


def to_fields(forms, is_main):
    fields, extra = {"type": "result", "is_main_result": is_main}, {}
    for mime, form in forms.items():
        if isinstance(form, (bytes, bytearray)):
            form = to_base64(form)
        if form is None:
            continue
        key = KEYS.get(mime)
        if key not in (None, "json", "data", "chart") and not isinstance(form, str):
            form = "".join(map(str, form)) if isinstance(form, list) else str(form)
        if key == "text":
            form = unquote(form)
        if key in ("png", "jpeg", "pdf"):
            form = form.replace("\n", "")
        if key:
            fields[key] = form
        else:
            extra[str(mime)] = form
    fields["extra"] = extra
    return fields


def size_of(form):
    return len(to_json({"": form}))


def publish(forms, is_main):
    fields = to_fields(forms, is_main)
    data = to_json(fields)
    while len(data) > LARGEST:
        forms = [key for key in fields if key not in ("type", "is_main_result")]
        largest = max(forms, key=lambda key: size_of(fields[key]))
        size = size_of(fields[largest])
        if largest == "text":
            fields["text"] = fields["text"][: LARGEST // 16] + "..."
        elif largest == "extra":
            fields["extra"] = {}
        else:
            del fields[largest]
        print(
            "glovebox: a result's form %s of %d bytes is left out or cut: a result has at most %d"
            % (largest, size, LARGEST),
            file=sys.stderr,
        )
        data = to_json(fields)
    driver.send(driver.out, data)
