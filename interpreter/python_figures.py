# SPDX-License-Identifier: Apache-2.0
#
# matplotlib's figures: a backend that shows them as results, and what is drawn in them as data, in
# the form that E2B's SDKs know as charts. Part of python.py.

import os
import sys

BACKEND = "glovebox_figures"
POINTS = 100000  # of a chart that are sent; longer series are thinned out
shown = set()  # of this cell, that were shown as its value or by display()


# ---- the backend ----


def matplotlib_is_there(matplotlib):
    """Called when it has been imported; makes ours its backend unless somebody chose another."""
    make_backend()
    if "MPLBACKEND" not in os.environ:
        matplotlib.rcParams["backend"] = "module://" + BACKEND
    driver.after_cell.append(show_open_figures)


class Backend(type(sys)):
    """Made up of Agg's, whose import takes long and may not be wanted."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        from matplotlib.backends import backend_agg
        from matplotlib.backend_bases import FigureManagerBase

        watch_boxes()
        self.FigureCanvas = backend_agg.FigureCanvasAgg
        self.FigureManager = FigureManagerBase
        self.backend_version = "1"
        if name not in self.__dict__:
            raise AttributeError(name)
        return self.__dict__[name]


def new_figure_manager(num, *args, FigureClass=None, **kwargs):
    if FigureClass is None:
        from matplotlib.figure import Figure as FigureClass
    return new_figure_manager_given_figure(num, FigureClass(*args, **kwargs))


def new_figure_manager_given_figure(num, figure):
    backend = sys.modules[BACKEND]
    return backend.FigureManager(backend.FigureCanvas(figure), num)


def make_backend():
    backend = Backend(BACKEND)
    backend.show = show
    backend.draw_if_interactive = lambda: None
    backend.new_figure_manager = new_figure_manager
    backend.new_figure_manager_given_figure = new_figure_manager_given_figure
    sys.modules[BACKEND] = backend


def is_ours():
    """Asked in a way that does not choose a backend."""
    import matplotlib

    return dict.get(matplotlib.rcParams, "backend") == "module://" + BACKEND


def show(*_, **__):
    """plt.show(): all open figures, which are closed by it."""
    from matplotlib import _pylab_helpers

    rich = driver.part("rich")
    managers = _pylab_helpers.Gcf.get_all_fig_managers()
    try:
        for manager in managers:
            figure = manager.canvas.figure
            if id(figure) not in shown and (figure.axes or figure.lines or figure.texts):
                rich["publish"](rich["bundle"](figure), False)
    finally:
        shown.clear()
        _pylab_helpers.Gcf.destroy_all()


def show_open_figures():
    if "matplotlib.pyplot" in sys.modules and is_ours():
        show()
    shown.clear()


def forms_of(value):
    from matplotlib.figure import Figure

    if not isinstance(value, Figure):
        return {}
    import io

    shown.add(id(value))
    data = io.BytesIO()
    if value.canvas is None or not hasattr(value.canvas, "print_png"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        FigureCanvasAgg(value)
    value.canvas.print_figure(data, format="png", bbox_inches="tight", dpi=value.dpi,
                              facecolor=value.get_facecolor())
    forms = {"image/png": data.getvalue()}
    try:
        chart = chart_of(value)
    except Exception as e:
        print("glovebox: no chart data of this figure: %s" % e, file=sys.stderr)
        chart = None
    if chart:
        forms["e2b/chart"] = chart
    return forms


# ---- charts ----


def watch_boxes():
    """What a box plot says can't be seen from its lines: its statistics are noted on the way."""
    from matplotlib.axes import Axes

    draw = Axes.bxp
    if hasattr(draw, "glovebox"):
        return

    def bxp(self, bxpstats, *args, **kwargs):
        self._glovebox_boxes = getattr(self, "_glovebox_boxes", []) + list(bxpstats)
        self._glovebox_upright = kwargs.get("vert") is not False and (
            kwargs.get("orientation") != "horizontal"
        )
        return draw(self, bxpstats, *args, **kwargs)

    bxp.glovebox = True
    bxp.__doc__, bxp.__name__ = draw.__doc__, draw.__name__
    Axes.bxp = bxp


def number(value):
    value = float(value)
    return value if value - value == 0 else None


def unit_of(label):
    """Of a label such as "Time (s)"."""
    for opening, closing in ("()", "[]"):
        if label.endswith(closing) and opening in label:
            return label[label.rindex(opening) + 1 : -1] or None
    return None


def converter_of(axis):
    get = getattr(axis, "get_converter", None)
    return type(get() if get else axis.converter).__name__


def scale_of(axis):
    name = converter_of(axis)
    if "Date" in name or "Datetime" in name or name == "PeriodConverter":
        return "datetime"
    return "categorical" if "Category" in name else axis.get_scale()


def reader_of(axis):
    """A function from a coordinate to what it stands for."""
    scale = scale_of(axis)
    if scale == "datetime" and "Period" not in converter_of(axis):
        from matplotlib.dates import num2date

        return lambda x: num2date(x).isoformat() if number(x) is not None else None
    if scale == "categorical":
        names = {v: str(k) for k, v in axis.units._mapping.items()}
        return lambda x: names.get(int(x), number(x)) if number(x) is not None else None
    return number


def thin(values):
    step = -(-len(values) // POINTS)
    return values[::step] if step > 1 else values


def points_of(axes, xs, ys):
    import numpy

    read_x, read_y = reader_of(axes.xaxis), reader_of(axes.yaxis)
    xs, ys = numpy.ma.filled(xs, numpy.nan), numpy.ma.filled(ys, numpy.nan)
    return [[read_x(x), read_y(y)] for x, y in thin(list(zip(xs, ys)))]


def label_of(artist, kind, index):
    label = str(artist.get_label())
    return "%s %d" % (kind, index + 1) if label.startswith("_") or not label else label


def lines_of(axes):
    for i, line in enumerate(axes.lines):
        xs, ys = line.get_xdata(orig=False), line.get_ydata(orig=False)
        yield {"label": label_of(line, "Line", i), "points": points_of(axes, xs, ys)}


def scatters_of(axes):
    for i, dots in enumerate(c for c in axes.collections if is_scatter(c)):
        offsets = dots.get_offsets()
        points = points_of(axes, offsets[:, 0], offsets[:, 1])
        yield {"label": label_of(dots, "Dataset", i), "points": points}


def bars_of(axes, containers):
    for i, container in enumerate(containers):
        is_upright = getattr(container, "orientation", None) != "horizontal"
        axis = axes.xaxis if is_upright else axes.yaxis
        ticks = {round(float(at), 9): t.get_text() for at, t in zip(axis.get_ticklocs(), axis.get_ticklabels())}
        read = reader_of(axis)
        for bar in container.patches:
            start, size = (bar.get_x(), bar.get_width()) if is_upright else (bar.get_y(), bar.get_height())
            middle = start + size / 2
            label = ticks.get(round(float(middle), 9)) or ticks.get(round(float(start), 9))
            yield {
                "label": label or str(read(middle)),
                "group": label_of(container, "Group", i),
                "value": number(bar.get_height() if is_upright else bar.get_width()),
            }


def slices_of(wedges):
    for i, wedge in enumerate(wedges):
        yield {
            "label": label_of(wedge, "Slice", i),
            "angle": number(wedge.theta2 - wedge.theta1),
            "radius": number(wedge.r),
        }


def boxes_of(axes):
    axis = axes.xaxis if axes._glovebox_upright else axes.yaxis
    ticks = [t.get_text() for t in axis.get_ticklabels()]
    for i, box in enumerate(axes._glovebox_boxes):
        yield {
            "label": str(box.get("label") or (ticks[i] if i < len(ticks) else i + 1)),
            "min": number(box["whislo"]),
            "first_quartile": number(box["q1"]),
            "median": number(box["med"]),
            "third_quartile": number(box["q3"]),
            "max": number(box["whishi"]),
            "outliers": [number(x) for x in thin(list(box.get("fliers", ())))],
        }


def is_scatter(collection):
    return type(collection).__name__ == "PathCollection"


def axis_fields(axes, name):
    axis = getattr(axes, name + "axis")
    read = reader_of(axis)
    return {
        name + "_ticks": [read(at) for at in axis.get_ticklocs()],
        name + "_tick_labels": [t.get_text() for t in axis.get_ticklabels()],
        name + "_scale": scale_of(axis),
    }


def with_axes(axes, kind, elements, has_points):
    chart = {"type": kind, "title": axes.get_title() or None}
    for name in ("x", "y"):
        label = getattr(axes, "get_%slabel" % name)()
        chart[name + "_label"] = label or None
        chart[name + "_unit"] = unit_of(label)
        if has_points:
            chart.update(axis_fields(axes, name))
    chart["elements"] = list(elements)
    return chart


def chart_of_axes(axes):
    from matplotlib.patches import Wedge

    wedges = [patch for patch in axes.patches if isinstance(patch, Wedge)]
    bars = [c for c in axes.containers if type(c).__name__ == "BarContainer"]
    if wedges:
        elements = list(slices_of(wedges))
        return {"type": "pie", "title": axes.get_title() or None, "elements": elements}
    if getattr(axes, "_glovebox_boxes", None):
        return with_axes(axes, "box_and_whisker", boxes_of(axes), False)
    if bars:
        return with_axes(axes, "bar", bars_of(axes, bars), False)
    if axes.lines:
        return with_axes(axes, "line", lines_of(axes), True)
    if any(is_scatter(c) for c in axes.collections):
        return with_axes(axes, "scatter", scatters_of(axes), True)
    return {"type": "unknown", "title": axes.get_title() or None, "elements": []}


def chart_of(figure):
    charts = [chart_of_axes(axes) for axes in figure.axes if axes.get_visible()]
    if len(charts) == 1:
        return charts[0]
    title = getattr(figure, "_suptitle", None)
    return charts and {
        "type": "superchart",
        "title": title.get_text() if title else None,
        "elements": charts,
    }
